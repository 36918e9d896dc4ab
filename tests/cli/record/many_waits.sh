# Threads that switch as often as they can, under more label sets than there is room for, with a
# small buffer: nothing but single label sets is lost, all time is there, and the program lives.
source "${BASH_SOURCE%/*}/../lib.sh"
need_sampling
need_command jq
run record --mode offcpu -F 999 --ring-size 1 -o many.jsonl -- "$MANY_WAITS" 4 180000
skip_before_waits
expect_status "$exit_ok" "a recording of very many waits"
expect_ledger many.jsonl
truth=$(grep '^{"flood"' "$work/stdout")
expect_said 'waits whose time was shared out by samples alone'
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
# The kernel keeps as many totals as there is room for, and no more.
jq -se 'map(select(.type == "waits")) | length > 0 and length <= 131072' many.jsonl >/dev/null ||
  fail "not as many totals as there is room for: $(grep -c '"waits"' many.jsonl)"
