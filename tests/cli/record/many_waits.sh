# Threads that switch as often as they can, under more label sets than there is room for, with a
# small buffer: all time is there, by each label that has few values, and the program lives.
source "${BASH_SOURCE%/*}/../lib.sh"
need_sampling
need_command jq
run record --mode offcpu -F 999 --ring-size 1 -o many.jsonl -- "$MANY_WAITS" 4 180000
skip_before_waits
expect_status "$exit_ok" "a recording of very many waits"
expect_ledger many.jsonl
truth=$(grep '^{"flood"' "$work/stdout")
# The thread that does not switch much has its own time, whatever the others do.
"$LABELSCOPE" report many.jsonl --summary tenant --json >report.json 2>"$work/stderr"
jq -se --argjson truth "$truth" '.[0].values | map({key: .value, value: .time_ns}) | from_entries
  | (.steady / $truth.steady) as $steady | $steady > 0.98 and $steady < 1.02' \
  report.json >/dev/null || fail "not the time of the quiet thread: $truth $(cat report.json)"
# Time is conserved. Each switch costs some microseconds, which the program's own clocks count
# otherwise, and before and behind its loops the threads wait for each other.
jq -se --argjson truth "$truth" '(map(select(.type == "ledger"))[0].time
    | .attributed_ns + .unsampled_ns) / ($truth.flood + 2 * $truth.steady)
  | . > 0.9 and . < 1.15' many.jsonl >/dev/null ||
  fail "the sum is not the threads' time: $truth $(grep '"ledger"' many.jsonl)"
# Of so many label sets the later ones lose the label with most values. If there are too many totals
# all the same, half as many as are kept stay what they are, and the sums of the others may be among
# these (most_rows.h).
jq -se 'map(select(.type == "waits")) | length >= 65536 and length <= 4 * 65536' many.jsonl \
  >/dev/null || fail "not as many totals as are kept: $(grep -c '"waits"' many.jsonl)"
jq -se 'map(select(.type == "ledger"))[0].counters
  | any(.[]; .name == "label-sets-without-room" and .count > 10000)' many.jsonl >/dev/null ||
  fail "the ledger does not say what was left out: $(grep '"ledger"' many.jsonl)"

# Without that label there are few sets, whose time and blame is all there. Its groups do not make
# fewer sets in the kernel: on a busy machine some totals are not taken out in time.
expect_blame() {
  "$LABELSCOPE" report few.jsonl --idle show --summary tenant --blame tenant --json >report.json \
    2>"$work/stderr"
  jq -se --argjson unknown "$2" '(.[0].values | map({key: .value, value: .time_ns}) | from_entries)
      as $time | .[1] as $blame
    | all($blame.values[]; (.time_ns / $time[.value] - 1 | fabs) < 0.01
        and ([.because_of[] | select(.by == "unknown") | .time_ns] | add // 0)
          < $unknown * .time_ns)' report.json >/dev/null ||
    fail "$1: not the blame of the tenants: $(cat report.json)"
}
expect_tenants() {
  truth=$(grep '^{"flood"' "$work/stdout")
  expect_blame "$1" "$2"
  jq -se --argjson truth "$truth" '.[0].values | map({key: .value, value: .time_ns}) | from_entries
    | (.steady / $truth.steady - 1 | fabs) < 0.02
      and (.flood / $truth.flood | . > 0.9 and . < 1.15)' report.json >/dev/null ||
    fail "$1: not the time of the tenants: $truth $(cat report.json)"
}
while read -r rule unknown; do
  run record --mode offcpu --overwrite -o few.jsonl --blame tenant "$rule" -- "$MANY_WAITS" 2 180000
  expect_status "$exit_ok" "a recording with $rule"
  expect_tenants "$rule" "$unknown"
done <<'RULES'
--label-deny=turn 0.01
--label-allow=tenant 0.01
--label-hash=turn 0.15
RULES

# With that label there are so many pairs that blame is by its key alone.
run record --mode offcpu --overwrite -o few.jsonl --blame tenant -- "$MANY_WAITS" 2 180000
expect_status "$exit_ok" "blame of very many label sets"
expect_blame "all labels" 0.15
jq -se '.[0].blame_keys == ["tenant"]' few.jsonl >/dev/null ||
  fail "the recording does not say which keys blame has: $(head -1 few.jsonl)"
run report few.jsonl --idle show --blame turn
expect_status "$exit_error" "blame by a label that it does not have"
expect_said "added up by tenant alone"
