#!/usr/bin/env bash
# documented_code_test.sh <page.md> <include folder>: checks that every piece of code of the page
# compiles as it stands.
set -euo pipefail
page=$1 include=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
awk -v folder="$folder" '
  /^```(c|cpp)$/ { language = substr($0, 4); file = folder "/" ++count "." language; next }
  /^```/ { file = "" }
  file != "" { print > file }' "$page"
compiled=0
for code in "$folder"/*.c; do
  "${CC:-cc}" -std=c11 -Wall -Wextra -Werror -fsyntax-only -I "$include" "$code"
  compiled=$((compiled + 1))
done
for code in "$folder"/*.cpp; do
  "${CXX:-c++}" -std=c++17 -Wall -Wextra -Werror -fsyntax-only -I "$include" "$code"
  compiled=$((compiled + 1))
done
echo "$compiled pieces of code compile"
