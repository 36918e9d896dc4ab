# --mode wall by BPF: the time on processors, waiting, and waiting for a processor are together the
# time that the threads existed, for each label.
source "${BASH_SOURCE%/*}/../lib.sh"
need_sampling
need_command jq
if ! "$LABELSCOPE" record --backend bpf --mode wall -o probe.jsonl -- true 2>"$work/stderr"; then
  too_old_for_waits || fail "--mode wall by BPF: $(cat "$work/stderr")"
  expect_said '--mode wall --backend ptrace samples threads that wait'
  # Without a wish for BPF it is done by ptrace, and said.
  run record --mode wall -d 300ms -o ptrace.jsonl -- sleep 1
  expect_said 'BPF cannot be had .*Linux 6.18.*sampling by stopping threads'
  skip_test "the kernel lets no thread sample itself (Linux 6.18)"
fi
run record --mode wall -F 499 -o wall.jsonl -- "$TIMED_WAITS" 3
expect_status "$exit_ok" "a recording of the whole time"
expect_ledger wall.jsonl
expect_said 'of threads. time = .*cpu, .*waiting, .*runnable'
expect_said 'by cpu-clock and sched_switch|by cycles and sched_switch'
truth=$(grep '^{"acme"' "$work/stdout")
"$LABELSCOPE" report wall.jsonl --summary tenant,state --json >report.json 2>"$work/stderr"
# Each thread exists for 3 s and a moment, "queue" is two of them, and "even" and "odd" are one.
jq -se '(.[0].values | map(select(.value) | {key: .value, value: .time_ns}) | from_entries) as $seen
  | ([$seen.acme, $seen.holder, $seen.globex, $seen.feeder, $seen.initech, $seen.still,
      $seen.queue / 2, $seen.even + $seen.odd] | map(. / 3e9))
  | all(. > 0.97 and . < 1.1)' report.json >/dev/null ||
  fail "the times of a label are not its threads' time: $(jq -c '.values | map([.value, .times_ns])' report.json)"
# Time off processors is what the threads' own clocks have, and the rest is CPU time.
jq -se --argjson truth "$truth" '(.[0].values | map(select(.value)
    | {key: .value, value: (.times_ns.waiting + .times_ns.runnable)}) | from_entries) as $seen
  | ($truth.queue / $seen.queue) as $queue | ($truth.still / $seen.still) as $still
  | $queue > 0.95 and $queue < 1.05 and $still > 0.97 and $still < 1.03' report.json >/dev/null ||
  fail "not the threads' time off processors: $truth $(jq -c '.values | map([.value, .times_ns])' report.json)"
# All ten threads exist for 3 s at least, and for as long as the recording lasts at most.
jq -se '(map(select(.type == "header"))[0].duration_ns) as $duration
  | map(select(.type == "ledger"))[0].time | .attributed_ns + .unsampled_ns + .lost_ns
  | . > 29e9 and . / $duration < 10.1' wall.jsonl >/dev/null ||
  fail "not the time of ten threads: $(grep -E '"header"|"ledger"' wall.jsonl)"

# Every format has the three kinds.
"$LABELSCOPE" report wall.jsonl --format csv -o wall.csv 2>"$work/stderr" ||
  fail "no CSV: $(cat "$work/stderr")"
for kind in cpu waiting runnable; do
  head -1 wall.csv | grep -q "$kind" || fail "the CSV has no column of $kind: $(head -1 wall.csv)"
done
