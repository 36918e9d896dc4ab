# check -- CMD leaves no process running after the timeout or after Ctrl-C, including background
# processes of the program. If labelscope is killed, the program is gone, too.
source "${BASH_SOURCE%/*}/../lib.sh"

mark_processes

expect_ended() {
  run check --timeout "$2ms" -- "$UNRULY" "$1"
  expect_none_runs "$UNRULY" "$1"
  [[ $status == "$exit_unchecked" ]] && need_more_time "no thread had labels yet"
  expect_status "$exit_ok" "$1: its labels are right"
  expect_shown "the program still ran after $(seconds_of "$2") s"
}
for what in forever deaf stopped; do with_enough_time 300 expect_ended "$what"; done

run check -- "$UNRULY" daemon "$work/daemon"
expect_status "$exit_ok" "daemon"
expect_shown "which were ended: unruly \($(cat "$work/daemon")\)"
expect_none_runs "$UNRULY" "daemon"

start check -- "$UNRULY" deaf
wait_until "the program runs" any_runs "$UNRULY"
kill -INT "$recorder"
finish
expect_status "$exit_unchecked" "Ctrl-C"
expect_shown 'interrupted'
expect_none_runs "$UNRULY" "Ctrl-C"

start check -- "$UNRULY" deaf
wait_until "the program runs" any_runs "$UNRULY"
kill -KILL "$recorder"
wait_until "the program is killed with labelscope" none_runs "$UNRULY"
