# stdout has data only: nothing without --summary, the folded lines with -o -, and never an escape
# sequence.
source "${BASH_SOURCE%/*}/../lib.sh"
need_sampling
start_busy_target
run record -d 1 -p "$target" -o out.pb.gz
expect_status "$exit_ok" "-o out.pb.gz"
expect_no_stdout
run record -d 1 -p "$target" -f folded -o -
expect_status "$exit_ok" "-o -"
[[ -s $work/stdout ]] || fail "-o - wrote nothing"
grep -Evq '^.+ [0-9]+$' "$work/stdout" && fail "a line of -o - is not 'frames count'"
run record -d 1 -p "$target" -o summary.pb.gz --summary tenant
expect_status "$exit_ok" "--summary"
grep -q 'tenant' "$work/stdout" || fail "--summary is not on stdout"
# Neither stream is a terminal here.
grep -q $'\033' "$work/stdout" "$work/stderr" &&
  fail "an escape sequence although there is no terminal"
exit 0
