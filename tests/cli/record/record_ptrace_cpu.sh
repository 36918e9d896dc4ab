# --mode cpu counts CPU time: of three threads on one processor, all of which compute, those that
# wait for the processor are not sampled.
source "${BASH_SOURCE%/*}/../lib.sh"
source "$SOURCE_DIR/stopping.sh"
need_ptrace
need_command jq
start_counting $((3 * $(nproc))) 0
readonly hz=50
at_first=$(cpu_ticks "$target")
start record -p "$target" --backend ptrace -F "$hz" -o cpu.jsonl
wait_until "labelscope records" has_begun_or_ended
before=$(cpu_ticks "$target")
wait_until "the target computes" has_run_or_ended $((before + 500))
after=$(cpu_ticks "$target")
kill -INT "$recorder"
finish
at_last=$(cpu_ticks "$target")
expect_status "$exit_ok" "many computing threads"
expect_ledger cpu.jsonl
# CPU time is in ticks of 10 ms. The target also runs before and after the recording, which is much
# on a busy machine. So there may be at most as many samples as it has run from first to last, and
# at least as many as it has run while labelscope sampled. Ticks that were skipped have no samples.
# If all threads were counted at each tick, there would be three times as many.
jq -se --argjson most $((at_last - at_first)) --argjson ran $((after - before)) --argjson hz "$hz" \
  '(map(select(.type == "ledger"))[0]) as $ledger
  | ($ledger.counters | map({key: .name, value: .count}) | from_entries) as $counters
  | ($counters.ticks / ($counters.ticks + ($counters["ticks-skipped"] // 0))) as $kept
  | $ledger.taken <= 1.2 * $most / 100 * $hz and $ledger.taken >= 0.6 * $kept * $ran / 100 * $hz' cpu.jsonl >/dev/null ||
  fail "$(tail -n 1 cpu.jsonl) of $((after - before)) ticks of CPU time"
