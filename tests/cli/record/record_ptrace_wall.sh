# By ptrace, --mode wall samples every thread at every tick, asleep or not. --mode cpu samples only
# those that run.
source "${BASH_SOURCE%/*}/../lib.sh"
source "$SOURCE_DIR/stopping.sh"
need_ptrace
need_command jq
# One thread computes, three sleep and wake, and the first one waits for its stdin.
start_counting 1 3
run record -p "$target" --backend ptrace --mode wall -d 3s -F 50 -o wall.jsonl
expect_status "$exit_ok" "wall mode"
expect_ledger wall.jsonl
jq -se 'map(select(.type == "header"))[0] | .backend == "ptrace" and .mode == "wall"' wall.jsonl \
  >/dev/null ||
  fail "the header does not say how it was recorded"
# Ticks that were skipped have no samples. Each tick that was kept has one of every thread.
jq -se '(map(select(.type == "ledger"))[0]) as $ledger
  | ($ledger.counters | map({key: .name, value: .count}) | from_entries) as $counters
  | $ledger.taken == 5 * $counters.ticks
    and ($counters.ticks + ($counters["ticks-skipped"] // 0)) >= 140' wall.jsonl >/dev/null ||
  fail "not every thread was sampled at every tick"
expect_target_goes_on "after a recording"

run record -p "$target" --backend ptrace --mode cpu -d 3s -F 50 -o cpu.jsonl
expect_status "$exit_ok" "cpu mode"
# A dozing thread runs for some microseconds in each millisecond; waiting for stdin takes no time.
jq -se --argjson pid "$target" \
  '(map(select(.type == "thread")) | map({key: (.id | tostring), value: .tid}) | from_entries)
    as $tids
  | map(select(.type == "sample") | $tids[.thread | tostring]) as $samples
  | ($samples | group_by(.) | map(length) | max) >= 0.5 * ($samples | length)
    and all($samples[]; . != $pid)' cpu.jsonl >/dev/null || fail "cpu mode samples threads that do not run"

# A target that never runs has samples in wall mode, and none in cpu mode.
sleep 300 &
target=$!
children+=("$target")
run record -p "$target" --backend ptrace --mode wall -d 500ms -o sleeper.jsonl
expect_status "$exit_ok" "wall mode on a sleeping process"
jq -se 'any(.[].lines[]?; .function | test("nanosleep"))' sleeper.jsonl >/dev/null ||
  fail "the stack is not that of sleep"
run record -p "$target" --backend ptrace -d 500ms -o none.jsonl
expect_status "$exit_no_sample" "cpu mode on a sleeping process"
