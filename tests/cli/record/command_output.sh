# The command keeps its own stdin, stdout and arguments; labelscope adds nothing to its stdout.
source "${BASH_SOURCE%/*}/../lib.sh"
need_sampling
echo 'from stdin' | timeout --signal=KILL 90 "$LABELSCOPE" record -o out.pb.gz -- bash -c \
  'for ((i = 0; i < 500000; i++)); do :; done; read -r line; printf "%s|%s|%s" "$line" "$1" "$2"' \
  name 'a b' --help >"$work/stdout" 2>"$work/stderr"
status=$?
expect_status "$exit_ok" "the command's own"
[[ $(<"$work/stdout") == 'from stdin|a b|--help' ]] ||
  fail "the command's stdin, arguments or stdout were changed"
expect_pprof out.pb.gz
