# How the time of each thread divides: CPU time, runnable, waiting and open waits are together the time
# for which it exists, and each is what the thread's own clock and its schedstat say.
source "${BASH_SOURCE%/*}/../lib.sh"
need_waits
need_command jq

# expect_small_residues <recording>: at most 0.5 % of the time of each thread that lived longer than
# a second, 25 us for each switch (thread_ledger.h: 7 us on a quiet machine, 17 us were measured beside
# two other recordings, whose programs run before ours), and what the host took from this machine.
stolen_ticks() { awk '$1 == "cpu" { print $9 }' /proc/stat; }
ticks=$(stolen_ticks)
expect_small_residues() {
  local stolen=$((($(stolen_ticks) - ticks + 2) * 10000000))
  jq -se --argjson stolen "$stolen" 'map(select(.type == "thread_ledger" and .wall_ns > 1e9)) as $threads
    | ($threads | length) >= 9 and ($threads | all(.wall_ns == .cpu_ns + .runnable_ns + .waiting_ns
        + .blocked_ns + .open_ns + .residue_ns
      and (.residue_ns | fabs) <= .wall_ns * 0.005 + .waits * 25000 + $stolen))' "$1" >/dev/null ||
    fail "the parts of a thread's time are not its time: $(grep thread_ledger "$1")"
}

run record --mode wall -F 199 -o whole.jsonl -- "$TIMED_WAITS" 3
expect_status "$exit_ok" "a recording of the whole time"
expect_small_residues whole.jsonl
expect_said 'of 10 threads = .* cpu \+ .* runnable \+ .* waiting .* residue, [0-9,]+ waits'
# The threads have lived within the recording. What they do before and after they look at their clocks
# takes less than 20 ms of CPU time; but until a thread has ended, it may wait for a processor. From a
# wake-up to its switch the kernel often counts the thread as running already.
grep '^{"threads"' "$work/stdout" >truth.json
jq -se --slurpfile truth truth.json 'def near($a; $b; $slack): $a - $b > -(2e7 + 0.01 * $b) and $a - $b < 2e7 + 0.01 * $b + $slack;
  (map(select(.type == "thread_ledger") | {key: (.tid | tostring), value: .}) | from_entries) as $seen
  | $truth[0].threads | length == 9 and all(. as $own | $seen[.tid | tostring] | (.wall_ns - $own.lived_ns) as $more
    | $more > 0 and near(.cpu_ns; $own.ran_ns; 0)
      and near(.runnable_ns; $own.queued_ns; $more + 25000 * .waits))' whole.jsonl >/dev/null ||
  fail "not what the threads say: $(cat truth.json) $(grep thread_ledger whole.jsonl)"

# Two seconds out of their lives: each thread is there all the time, and no longer. The waits of "still"
# and of the first thread are open.
"$TIMED_WAITS" 6 >said &
target=$!
children+=("$target")
all_threads_run() { [[ $(ls "/proc/$target/task" 2>/dev/null | wc -l) == 10 ]]; }
wait_until "all threads run" all_threads_run
run record --mode offcpu -p "$target" -d 2 -o middle.jsonl
expect_status "$exit_ok" "a recording of some seconds"
expect_small_residues middle.jsonl
jq -se '(map(select(.type == "header"))[0].duration_ns) as $duration
  | map(select(.type == "thread_ledger")) as $threads
  | ($threads | length == 10 and all(.wall_ns / $duration | . > 0.99 and . <= 1))
    and ([$threads[] | select(.open_ns > 0.95 * .wall_ns and .waits == 0)] | length) == 2' middle.jsonl >/dev/null ||
  fail "not ten threads all the time, two of them in one wait: $(grep -E 'thread_ledger|header' middle.jsonl)"

# A recording that is read again has the same sums; a part of it has none.
run report middle.jsonl -v
expect_said 'of 10 threads = '
expect_said "  thread $target of process $target: .* open \+ "
"$LABELSCOPE" report middle.jsonl -o again.jsonl 2>"$work/stderr" || fail "no recording again"
cmp <(grep -E 'thread_ledger|other_threads' middle.jsonl) <(grep -E 'thread_ledger|other_threads' again.jsonl) ||
  fail "the ledgers of threads have changed"
"$LABELSCOPE" report middle.jsonl --where tenant=queue -o part.jsonl 2>"$work/stderr" || fail "no part"
! grep -q thread_ledger part.jsonl || fail "a part of the samples has the ledgers of whole threads"
