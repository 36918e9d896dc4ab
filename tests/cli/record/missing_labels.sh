# A thread whose labels cannot be read, wherever its pointer leads, waits as cheaply as another one; and
# labels that can be read again are read at once.
source "${BASH_SOURCE%/*}/../lib.sh"
need_sampling
need_command jq
run record --mode offcpu --call-graph none -o missing.jsonl -- "$MISSING_LABELS" 4
skip_before_waits
expect_status "$exit_ok" "a recording of waits without labels"
costs=$(grep '^{"labels"' "$work/stdout")
# To read with page faults allowed at each wait costs four times as much as all else.
jq -e '.missing < 2 * .labels' <<<"$costs" >/dev/null || fail "a wait without labels costs too much: $costs"
# Each half has its waits.
jq -se '(map(select(.type == "header"))[0].outcomes) as $outcomes
  | map(select(.type == "waits") | {outcome: $outcomes[.outcome], count, time_ns}) | group_by(.outcome)
  | map({key: .[0].outcome, value: (map(.time_ns) | add)}) | from_entries
  | .labelled > 1e9 and ."not-resident" > 1e9' missing.jsonl >/dev/null ||
  fail "not as much time with labels as without: $(grep '"waits"' missing.jsonl)"
