# Memory that is never supplied does not keep check waiting for ever. A process runs on; a program
# that check has started is ended with all of its children. Each case takes the time after which
# labelscope gives up, so they run together.
source "${BASH_SOURCE%/*}/../lib.sh"
source "$SOURCE_DIR/unsupplied.sh"
of_a_process() {
  start_unsupplied
  start check -p "$target"
  wait_until "the thread is held" target_is_held
  finish
  expect_status "$exit_unchecked" "the thread was held for too long"
  expect_said 'held for [0-9]+ s: .*userfaultfd.*labelscope ends'
  expect_no_stdout
  wait_until "the thread goes on" target_goes_on
}

live() {
  mark_processes live
  run check --timeout 60s -- "$AWKWARD_TARGET" shared
  expect_status "$exit_unchecked" "live"
  expect_shown 'held for [0-9]+ s: .*userfaultfd.*the program was ended'
  expect_none_runs "$AWKWARD_TARGET" "live"
}

# A thread that is stepped waits for its tracer before it ends, and the tracer waits for the memory.
# Only the end of labelscope helps.
step() {
  mark_processes step
  run check --step --timeout 1s -- "$AWKWARD_TARGET" shared
  expect_status "$exit_unchecked" "step"
  expect_said '(was killed and does not end|has not come back for [0-9]+ s).*labelscope ends'
  wait_until "the program and its child are gone" none_runs "$AWKWARD_TARGET"
  expect_none_runs "$AWKWARD_TARGET" "step"
}

# If another process holds the userfaultfd, only the end of labelscope helps.
step_kept() {
  mark_processes step_kept
  start check --step --timeout 2s -- "$AWKWARD_TARGET" unsupplied
  wait_until "the program runs" any_runs "$AWKWARD_TARGET"
  has_userfaultfd() { [[ -e /proc/$(marked_that_run "$AWKWARD_TARGET")/fd/99 ]]; }
  wait_until "the program has a userfaultfd" has_userfaultfd
  "$AWKWARD_TARGET" keep "$(marked_that_run "$AWKWARD_TARGET")" >"$work/keeper" &
  keeper=$!
  children+=("$keeper")
  wait_until "it is kept" grep -qE 'ready|cannot' "$work/keeper"
  grep -q ready "$work/keeper" || skip_test "$(cat "$work/keeper")"
  finish
  expect_status "$exit_unchecked" "step, kept"
  expect_said '(was killed and does not end|has not come back for [0-9]+ s).*labelscope ends'
  only_keeper_runs() { [[ $(marked_that_run "$AWKWARD_TARGET") == "$keeper" ]]; }
  wait_until "the program is gone" only_keeper_runs
}

for scenario in of_a_process live step step_kept; do beside "$scenario"; done
together
