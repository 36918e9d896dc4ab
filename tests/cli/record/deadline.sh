# A thread with a deadline has used up its runtime: until its next period it is throttled, and nobody
# else is to blame.
source "${BASH_SOURCE%/*}/../lib.sh"
need_waits
need_command jq
need_command chrt
"$SPINNER" >said &
program=$!
children+=("$program")
wait_until "the program has begun" grep -q '^ready' said
# It gets a tenth of a processor.
chrt --deadline --sched-runtime 10000000 --sched-deadline 100000000 --sched-period 100000000 -p 0 "$program" \
  2>"$work/stderr" || skip_test "no thread can have a deadline: $(cat "$work/stderr")"
run record --mode wall -p "$program" -d 2s -o deadline.jsonl --blame comm --json
expect_status "$exit_ok" "a recording of a thread with a deadline"
throttled() { "$LABELSCOPE" report deadline.jsonl --summary wait --json 2>"$work/stderr"; }
throttled | jq -e '(.values | map(select(.value == "throttled")) | .[0].times_ns.runnable) / .time_ns
  | . > 0.7 and . < 0.95' >/dev/null || fail "it is not throttled: $(throttled)"
jq -e '.values[0].because_of[0] | .by == "quota"' "$work/stdout" >/dev/null ||
  fail "another one is blamed for its runtime: $(cat "$work/stdout")"
