#!/bin/sh
# under_valgrind.sh <program> [argument...]: fails if valgrind finds an error or a leak. It is
# skipped (77) where valgrind cannot run.
command -v valgrind >/dev/null || { echo "SKIPPED: valgrind is not installed"; exit 77; }
if nm -D "$1" 2>/dev/null | grep -Eq '__(asan|tsan)_init'; then
  echo "SKIPPED: a sanitizer is in the program already"
  exit 77
fi
exec valgrind --quiet --leak-check=full --show-leak-kinds=definite,indirect,possible \
  --errors-for-leak-kinds=definite,indirect,possible --error-exitcode=1 "$@"
