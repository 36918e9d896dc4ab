# With ptrace, the demo service's split by tenant and route is the one that the service measured
# itself, the stacks are whole, and the ledger adds up.
source "${BASH_SOURCE%/*}/../lib.sh"
source "$SOURCE_DIR/stopping.sh"
need_ptrace
need_command jq

"$DEMO_SERVICE" --seconds 300 >"$work/service" &
target=$!
children+=("$target")
wait_until "the demo service is ready" grep -q '^ready' "$work/service"

# This takes as many samples as demo_test.sh.
record_for 700 -F 199 -p "$target" --backend ptrace -o demo.jsonl --summary tenant,http.route
expect_status "$exit_ok" "recording the demo service by ptrace"
kill -TERM "$target"
wait "$target" || fail "the demo service ended with status $?"
tail -n 1 "$work/service" >"$work/truth"

# Shares are of the samples that were read, since on a loaded machine some threads do not stop in
# time.
for key in tenant http.route; do
  jq -sr --arg key "$key" --slurpfile truth "$work/truth" '
    (map(select(.type == "labels")) | map({key: (.id | tostring), value: .labels}) | from_entries) as $sets
    | map(select(.type == "sample" and .outcome == 0)) as $samples
    | $truth[0].labels[$key] | to_entries[]
    | .key as $value
    | (100 * .value / $truth[0].cpu_ns) as $own
    | (100 * ([$samples[] | select($sets[.labels | tostring] | any(.key == $key and .value == $value))] | length)
       / ($samples | length)) as $seen
    | select($seen - $own > 5 or $own - $seen > 5)
    | "\($key)=\($value) is at \($seen) %; the service says \($own) %"' demo.jsonl >"$work/wrong"
  [[ ! -s $work/wrong ]] || fail "$(cat "$work/wrong")"
done
expect_ledger demo.jsonl
jq -se 'map(select(.type == "header"))[0] | .backend == "ptrace" and .call_graph == "dwarf" and .mode == "cpu"' demo.jsonl \
  >/dev/null || fail "the header does not say how it was recorded"
# The service is built with the default flags. Its threads begin in start_thread() or clone3() of
# libc, which nine of ten stacks reach unless they were cut.
jq -se '(map(select(.type == "location")) | map({key: (.id | tostring), value: (.lines | map(.function))}) | from_entries)
    as $names
  | (map(select(.type == "stack")) | map({key: (.id | tostring), value: .locations}) | from_entries) as $stacks
  | map(select(.type == "sample" and .outcome == 0 and (.flags / 512 | floor % 2) == 0)) as $samples
  | ([$samples[] | select($stacks[.stack | tostring] | any($names[tostring] | any(test("clone3?$|start_thread"))))]
     | length) >= 0.9 * ($samples | length)' demo.jsonl >/dev/null || fail "stacks do not reach where threads begin"
expect_said 'each stopped its thread for [0-9,]+ us \(median\), [0-9,]+ us at most'
