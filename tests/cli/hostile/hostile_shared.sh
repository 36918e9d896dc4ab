# A file says that a part of its debug information is in a FIFO, which must not be opened. Only the
# user can say where that part really is.
source "${BASH_SOURCE%/*}/../lib.sh"
source "$SOURCE_DIR/hostile.sh"
need_sampling
need_command jq
need_command objcopy
chmod 755 "$work"
mkfifo "$work/pipe"
{ printf '%s\0' "$work/pipe"; printf 'twentybytesofbuildid'; } >"$work/link"
objcopy --add-section .gnu_debugaltlink="$work/link" "$HOSTILE/shared" "$work/shared" ||
  fail "objcopy"
record_hostile "$work/shared"
named_in hostile.jsonl | grep -qx hot || fail "hot() has no name"
exit 0
