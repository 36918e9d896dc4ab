# For tests of a target whose memory keeps a reader waiting for ever (sourced after lib.sh).
#
# It takes from programs.sh: AWKWARD_TARGET.
# shellcheck shell=bash

start_unsupplied() {
  "$AWKWARD_TARGET" unsupplied >"$work/awkward" &
  target=$!
  children+=("$target")
  wait_until "the target is ready, or cannot" grep -qE 'ready|cannot' "$work/awkward"
  grep -q ready "$work/awkward" || skip_test "$(cat "$work/awkward")"
}
target_is_held() { [[ $(state_of "$target") == t ]]; }
target_goes_on() { [[ $(state_of "$target") == S && $(status_line "/proc/$target/status" TracerPid) == 0 ]]; }
