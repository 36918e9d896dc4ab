# check -p checks a running process, which runs on. A process that does not exist, or ends
# meanwhile, is no success.
source "${BASH_SOURCE%/*}/../lib.sh"

start_target "$VIOLATORS/live/LS044-value_null/program" stay
run check -p "$target" --samples 20
expect_status "$exit_findings" "a null value"
expect_shown "^process $target \(program\)"
expect_shown 'error LS044 value-not-null: .*"route"'
expect_shown '20 label sets of 1 thread read|2[0-9] label sets of 1 thread read'
is_gone "$target" && fail "the process is gone"
[[ $(state_of "$target") == S ]] || fail "the process was left in state $(state_of "$target")"
[[ $(status_line "/proc/$target/status" TracerPid) == 0 ]] || fail "the process is still traced"
within() {
  run check -p "$target" --timeout "$1ms" --strict
  [[ $status == "$exit_unchecked" ]] && need_more_time "nothing was read"
  expect_status "$exit_findings" "within $1 ms"
}
with_enough_time 50 within
exec 8>&-
wait_until "the process ends by itself" is_gone "$target"

run check -p "$target"
expect_status "$exit_unchecked" "a process that is gone"
expect_shown \
  "not checked +process $target: no process $target|not checked +process $target: process $target has ended"

# The process ends while it is checked, and what was seen counts.
rm "$work/stdin"
start_target "$VIOLATORS/live/good-linked/program" stay
start check -p "$target" --samples 100000 8>&- # otherwise it would keep the target's stdin open
wait_until "labelscope looks at it" has_run_until "$recorder" 3
exec 8>&-
finish
[[ $status == "$exit_ok" || $status == "$exit_unchecked" ]] || fail "status $status"
