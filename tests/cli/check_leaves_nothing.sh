# check -- CMD leaves nothing running: not after the timeout, not after Ctrl-C, not what the program has put aside, and
# if labelscope is killed, not the program.
source "$SOURCE_DIR/lib.sh"

# The processes of this test's programs, by their environment: labelscope's children inherit it.
mark=labelscope_test_$$_$RANDOM
export LABELSCOPE_TEST_MARK=$mark
marked() { grep -lsz "^LABELSCOPE_TEST_MARK=$mark\$" /proc/[0-9]*/environ | sed 's,/proc/,,; s,/environ,,'; }
# Those that run unruly, which ends or stays as it is told.
unruly_ones() {
  local pid
  for pid in $(marked); do
    [[ $(readlink "/proc/$pid/exe") == "$UNRULY" && $(state_of "$pid") != Z ]] && echo "$pid"
  done
}
expect_none() {
  local left
  left=$(unruly_ones)
  [[ -z $left ]] || { kill -KILL $left; fail "$1: still running: $left"; }
}
runs_unruly() { [[ -n $(unruly_ones) ]]; }
runs_none() { ! runs_unruly; }

for what in forever deaf stopped; do
  run check --timeout 300ms -- "$UNRULY" "$what"
  expect_status "$exit_ok" "$what: its labels are right"
  expect_shown 'the program still ran after 0\.3 s'
  expect_none "$what"
done

run check -- "$UNRULY" daemon "$work/daemon"
expect_status "$exit_ok" "daemon"
expect_shown "which were ended: unruly \($(cat "$work/daemon")\)"
expect_none daemon

start check -- "$UNRULY" deaf
wait_until "the program runs" runs_unruly
kill -INT "$recorder"
finish
expect_status "$exit_unchecked" "Ctrl-C"
expect_shown 'interrupted'
expect_none "Ctrl-C"

start check -- "$UNRULY" deaf
wait_until "the program runs" runs_unruly
kill -KILL "$recorder"
wait_until "the program is killed with labelscope" runs_none
