# A debug link leads to a packed file, which would be half a gigabyte.
source "${BASH_SOURCE%/*}/../lib.sh"
source "$SOURCE_DIR/hostile.sh"
need_sampling
need_command jq
need_command objcopy
head -c 512M /dev/zero | gzip -1 >"$work/packed.debug"
objcopy --strip-all --remove-section=.note.gnu.build-id --add-gnu-debuglink="$work/packed.debug" \
  "$HOSTILE/plain" "$work/packed" ||
  fail "objcopy"
record_hostile "$work/packed"
problem_in hostile.jsonl "$work/packed" | grep -q 'it is not an ELF file' ||
  fail "the reason is not given"
exit 0
