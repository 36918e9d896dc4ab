# When memory ends, the message says so and names the limit.
source "${BASH_SOURCE%/*}/../lib.sh"
[[ -z ${ASAN_OPTIONS:-} ]] || skip_test "a sanitizer needs more address space than any limit leaves"
truncate --size=60M base.json
(ulimit -v 60000 &&
  exec timeout --signal=KILL 60 "$LABELSCOPE" check --baseline base.json "$LABELSCOPE") \
  >"$work/stdout" 2>"$work/stderr" </dev/null
status=$?
expect_status "$exit_error" "less memory than the file needs"
expect_said '^labelscope: out of memory: .*58 MiB.*ulimit -v'
# With any limit it is no internal error.
for limit in 30000 40000 50000 60000 80000; do
  (ulimit -v "$limit" &&
    exec timeout --signal=KILL 60 "$LABELSCOPE" record -d 0.2 -o "$limit.jsonl" -- sleep 0.1) \
    >"$work/stdout" 2>"$work/stderr" </dev/null
  ! grep -q 'internal error' "$work/stderr" || fail "with ulimit -v $limit"
done
