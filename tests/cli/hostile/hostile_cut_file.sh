# A debug file becomes shorter while it is read. It is large, so that there is time for that. It is read
# while the recording runs, too, and whatever goes wrong there is tried again; so the test waits for the end.
source "${BASH_SOURCE%/*}/../lib.sh"
source "$SOURCE_DIR/hostile.sh"
need_sampling
need_command jq
need_command objcopy
objcopy --only-keep-debug --remove-section=.note.gnu.build-id "$HOSTILE/entries_unpacked" \
  "$work/cut.debug" ||
  fail "objcopy"
objcopy --strip-all --remove-section=.note.gnu.build-id --add-gnu-debuglink="$work/cut.debug" \
  "$HOSTILE/entries_unpacked" "$work/cut" ||
  fail "objcopy"
start_hostile "$work/cut"
start record -v -d 1 -o cut.jsonl -p "$target"
is_mapped() {
  [[ $(<"$work/stderr") == *"found while it recorded"* ]] &&
    grep -qsF "$work/cut.debug" /proc/[0-9]*/maps
}
is_mapped_or_over() { is_mapped || is_gone "$recorder"; }
wait_until "the debug file is mapped" is_mapped_or_over
is_gone "$recorder" && fail "the debug file was never mapped"
truncate -s 4096 "$work/cut.debug"
finish
expect_status "$exit_ok" "recording"
expect_labelled cut.jsonl
expect_ledger cut.jsonl
problem_in cut.jsonl "$work/cut" | grep -q 'became shorter' ||
  fail "the reason is not given: $(problem_in cut.jsonl "$work/cut")"
exit 0
