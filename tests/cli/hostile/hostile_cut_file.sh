# A debug file becomes shorter while it is read. It is large, so that there is time for that. It is read
# while the recording runs, too, and whatever goes wrong there is tried again; so the test waits for the end.
# If the cut comes between the two readings, the second one finds a file of another build. Then the test
# tries again.
source "${BASH_SOURCE%/*}/../lib.sh"
source "$SOURCE_DIR/hostile.sh"
need_sampling
need_command jq
need_command objcopy
make_debug_file() {
  objcopy --only-keep-debug --remove-section=.note.gnu.build-id "$HOSTILE/entries_unpacked" \
    "$work/cut.debug" ||
    fail "objcopy"
}
make_debug_file
objcopy --strip-all --remove-section=.note.gnu.build-id --add-gnu-debuglink="$work/cut.debug" \
  "$HOSTILE/entries_unpacked" "$work/cut" ||
  fail "objcopy"
start_hostile "$work/cut"
is_mapped() {
  [[ $(<"$work/stderr") == *"found while it recorded"* ]] &&
    grep -qsF "$work/cut.debug" /proc/[0-9]*/maps
}
is_mapped_or_over() { is_mapped || is_gone "$recorder"; }
# record_and_cut: sets `reason`.
record_and_cut() {
  start record -v -d 1 --overwrite -o cut.jsonl -p "$target"
  wait_until "the debug file is mapped" is_mapped_or_over
  is_gone "$recorder" && fail "the debug file was never mapped"
  truncate -s 4096 "$work/cut.debug"
  finish
  expect_status "$exit_ok" "recording"
  expect_labelled cut.jsonl
  expect_ledger cut.jsonl
  reason=$(problem_in cut.jsonl "$work/cut")
}
for _ in {1..40}; do
  record_and_cut
  [[ $reason == *"is of another build"* ]] || break
  make_debug_file
done
[[ $reason == *"became shorter"* ]] || fail "the reason is not given: $reason"
exit 0
