# Faulty process contexts: each fault is reported by its name, and loses only the names of keys,
# never the IDs.
source "${BASH_SOURCE%/*}/../lib.sh"

# expect_fault <fault of the program> <finding> <what is said>: checks the report of this fault.
expect_fault() {
  "$OTEL_CONTEXTS" "$1" <"$work/stdin" >"$work/truth" 2>/dev/null &
  target=$!
  children+=("$target")
  wait_until "the target is ready" grep -qsx ready "$work/truth"
  run dump -p "$target" --explain
  expect_status "$exit_ok" "$1"
  expect_shown "^  $2: .*process context"
  expect_shown "$3"
  expect_shown 'span_id=00000000000000a0'
  ! grep -q 'http.route=' "$work/stdout" || fail "$1: a name from nowhere"
  kill -KILL "$target"
}
mkfifo "$work/stdin" || fail "no fifo"
exec 8<>"$work/stdin"
expect_fault version 'LS232 context-version' 'has version 7, and only 2 is known'
expect_fault size 'LS233 context-size' 'claims a payload of 1073741824 bytes'
expect_fault garbage 'LS233 context-malformed' 'no message of its kind'
expect_fault pointer 'LS233 bad-pointer' 'a payload at 0x8 that cannot be read'
expect_fault changing 'LS234 context-changing' 'was being replaced at each look'
expect_no_files
