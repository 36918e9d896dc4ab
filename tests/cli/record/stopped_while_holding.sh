# Somebody stops labelscope by SIGSTOP while it holds a thread. The thread goes on soon, and
# labelscope is stopped all the same; after SIGCONT it goes on.
source "${BASH_SOURCE%/*}/../lib.sh"
source "$SOURCE_DIR/stopping.sh"
source "$SOURCE_DIR/unsupplied.sh"
need_ptrace
need_command jq
is_stopped() { [[ $(state_of "$recorder") == T ]]; }
not_stopped() { ! is_stopped; }
# within_a_second <command...>: waits until the condition holds, and returns false if that takes
# longer. On a busy machine, where the guardian waits for a processor as this shell does, a hundred
# looks take more than a second.
within_a_second() {
  local looks
  for ((looks = 0; looks < 100; looks++)); do
    "$@" && return 0
    pause_ms 10
  done
  return 1
}
# One program looks at all threads, before the guardian does something.
any_is_held() { grep -qs '^State:[[:space:]]*[tT]' /proc/"$target"/task/*/status; }
only_labelscope_is_stopped() { is_stopped && ! any_is_held; }
# Half a second later, the guardian has had its turn. A SIGCONT of this test beside its own would be
# one signal with it, and labelscope could not know that both have sent one.
stays_stopped() {
  local looks
  for ((looks = 0; looks < 50; looks++)); do
    only_labelscope_is_stopped || return 1
    pause_ms 10
  done
  return 0
}
# Prints the guardian of $recorder.
guardian() {
  local child
  for child in $(cat "/proc/$recorder/task/$recorder/children"); do
    [[ $(cat "/proc/$child/comm") == labelscope-stop ]] && echo "$child"
  done
}

guardian_is_sealed() {
  local guard
  guard=$(guardian)
  [[ -n $guard && $(status_line "/proc/$guard/status" CapEff) =~ ^0+$ && $(ls "/proc/$guard/fd") == 0 ]]
}

# Samples of many threads at each tick: labelscope holds one or the other most of the time.
stopped_again() {
  local round turns guard met=0 before
  start_counting 1 100
  start record --backend ptrace --mode wall -F 4999 -p "$target" -o stopped.jsonl
  wait_until "labelscope records" has_begun_or_ended
  wait_until "the guardian has no rights, and one open file" guardian_is_sealed
  turns=$(rounds 10 100)
  for ((round = 1; round <= turns || (met < 3 && round <= 100); round++)); do
    pause_ms $((10 + RANDOM % 30))
    kill -STOP "$recorder"
    wait_until "labelscope is stopped" is_stopped
    any_is_held && ((++met))
    within_a_second only_labelscope_is_stopped ||
      fail "round $round: labelscope is in state $(state_of "$recorder"), and these threads: $(stopped_threads)"
    before=$(counts)
    within_a_second has_counted_since "$before" || fail "round $round: not every thread counts on"
    wait_until "round $round: labelscope stays stopped" stays_stopped
    kill -CONT "$recorder"
    wait_until "labelscope goes on" not_stopped
  done
  ((met >= 3)) || fail "a thread was held in $met of $round rounds only"
  printf 'a thread was held in %s of %s rounds\n' "$met" "$((round - 1))"
  guard=$(guardian)
  kill -INT "$recorder"
  finish
  expect_status "$exit_ok" "a recording that was stopped and continued"
  expect_ledger stopped.jsonl
  jq -se '[.[] | select(.type == "sample") | .thread] | unique | length == 102' stopped.jsonl \
    >/dev/null || fail "not every thread was sampled"
  is_gone "$guard" || fail "the guardian outlives labelscope"
  expect_target_goes_on "after the recording"
}

# A read that nothing ever ends: only the end of labelscope lets go of the thread, so labelscope must
# not stay stopped, and comes to its end. stopped_for_ever <argument...>: runs labelscope with these.
stopped_for_ever() {
  start_unsupplied
  start "$@" -p "$target"
  wait_until "the thread is held" target_is_held
  kill -STOP "$recorder"
}
of_record() {
  stopped_for_ever record --backend ptrace --mode wall -o out.pb.gz
  finish
  expect_said 'held for [0-9]+ s'
  wait_until "the thread goes on" target_goes_on
}
of_check() {
  stopped_for_ever check
  finish
  expect_said 'held for [0-9]+ s'
  wait_until "the thread goes on" target_goes_on
}
of_dump() {
  stopped_for_ever dump --backend ptrace
  kill -INT "$recorder"
  finish
  wait_until "the thread goes on" target_goes_on
}

for scenario in stopped_again of_record of_check of_dump; do beside "$scenario"; done
together
