# --mode cpu counts CPU time: with three threads a processor that all compute, waiting for a processor is not sampled.
source "$SOURCE_DIR/lib.sh"
source "$SOURCE_DIR/stopping.sh"
need_ptrace
need_command jq
start_counting $((3 * $(nproc))) 0
readonly hz=50
before=$(cpu_ticks "$target")
start record -p "$target" --backend ptrace -F "$hz" -o cpu.jsonl
wait_until "the target computes" has_run_until "$target" $((before + 500))
kill -INT "$recorder"
finish
after=$(cpu_ticks "$target")
expect_status "$exit_ok" "many computing threads"
expect_ledger cpu.jsonl
# CPU time in ticks of 10 ms. The target runs a little longer than the recording, and ticks that were skipped have no
# samples; counting all threads at each tick would give three times as many.
jq -se --argjson ran $((after - before)) --argjson hz "$hz" '(map(select(.type == "ledger"))[0]) as $ledger
  | ($ledger.counters | map({key: .name, value: .count}) | from_entries) as $counters
  | ($counters.ticks / ($counters.ticks + ($counters["ticks-skipped"] // 0))) as $kept
  | ($ran / 100 * $hz) as $due
  | $ledger.taken <= 1.2 * $due and $ledger.taken >= 0.6 * $kept * $due' cpu.jsonl >/dev/null ||
  fail "$(tail -n 1 cpu.jsonl) of $((after - before)) ticks of CPU time"
