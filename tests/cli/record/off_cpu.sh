# --mode offcpu: how long threads wait, by label, is what their own clocks say; and by the system
# call that they wait in. Waits that began before the recording, or that do not end in it, count.
source "${BASH_SOURCE%/*}/../lib.sh"
need_sampling
need_command jq
need_command chrt
run record --mode offcpu -F 499 -o off.jsonl -- "$TIMED_WAITS" 3
if too_old_for_waits; then
  expect_status 1 "a kernel that is too old"
  expect_said 'waits are sampled by the threads themselves, and the kernel has no .*: --mode wall --backend ptrace'
  skip_before_waits
fi
expect_status "$exit_ok" "a recording of waits"
expect_ledger off.jsonl
truth=$(grep '^{"acme"' "$work/stdout")
"$LABELSCOPE" report off.jsonl --summary tenant,wait --json >report.json 2>"$work/stderr"
# Totals by label are exact, whether or not waits were drawn. But each switch costs some microseconds
# that one account has and the other has not, which is 2 or 3 % for "initech", and the first waits
# come before the labels can be read.
jq -se --argjson truth "$truth" '.[0].values
  | map(select(.value) | {key: .value, value: .time_ns}) | from_entries as $seen
  | ($truth | to_entries | map({key, ratio: (($seen[.key] // 0) / .value)}))
  | all(.ratio > 0.95 and .ratio < 1.05)' report.json >/dev/null ||
  fail "not the threads' own times: $truth $(jq -c '.values | map([.value, .time_ns])' report.json)"
by_call() { jq -se --arg call "$1" --argjson truth "$truth" "$2" report.json >/dev/null; }
by_call read '(.[1].values | map(select(.value == $call)) | .[0].time_ns) as $time
  | ($time / $truth.globex - 1) | fabs < 0.1' || fail "reading the pipe is not the system call read"
by_call preempted '(.[1].values | map(select(.value == $call)) | .[0].times_ns) as $times
  | $times.waiting == 0 and $times.runnable > 0.8 * $truth.queue' ||
  fail "threads that compute on one processor do not wait for each other"
# The sums are exact: no time of a thread is missing, and none counts twice.
jq -se --argjson truth "$truth" '(map(select(.type == "ledger"))[0].time.attributed_ns)
  / ($truth | add | . + 3e9) | . > 0.97 and . < 1.1' off.jsonl >/dev/null ||
  fail "the sum is not the threads' time: $(grep '"ledger"' off.jsonl)"

# In a program with labels, a thread without one that waits for work is idle. It is one line, without
# a stack, and its time stays; the recording has all of it.
run report off.jsonl --summary wait
expect_status "$exit_ok" "a report of waits"
expect_shown '^\(idle\) +'
expect_said 'of waits for work are in one row'
summary_of() { "$LABELSCOPE" report off.jsonl --idle "$1" --summary wait --json 2>/dev/null; }
summary_of show >shown.json
summary_of fold >folded.json
summary_of drop >dropped.json
jq -se '(map([.values[].time_ns] | add)) as [$shown, $folded, $dropped]
  | (map(.idle.time_ns)) as [$none, $idle, $left_out]
  | $none == null and $left_out == null and $idle > 0
    and $shown == $folded + $idle and $dropped == $folded' shown.json folded.json dropped.json >/dev/null ||
  fail "idle time is not kept, or not left out: $(cat shown.json folded.json dropped.json)"

# A thread that sleeps all the time has one sample, of the whole recording, and no stack.
sleep 300 &
children+=("$!")
run record --mode offcpu -p "$!" -d 700ms -o sleeper.jsonl --summary wait
expect_status "$exit_ok" "waits of a sleeping process"
expect_shown '^clock_nanosleep +100.0%'
jq -se '(map(select(.type == "header"))[0].duration_ns) as $all
  | (map(select(.type == "ledger"))[0]) as $ledger
  | $ledger.taken == 1 and $ledger.outcomes.unlabelled == 1
    and ($ledger.time.attributed_ns / $all | . > 0.9 and . < 1.1)' sleeper.jsonl >/dev/null ||
  fail "not one wait of the whole recording: $(grep '"ledger"' sleeper.jsonl)"

# The labels of a process are those of all its waits, whether or not a sample shows them.
SERVICE=web sh -c 'while :; do sleep 0.002; done' &
children+=("$!")
run record --mode offcpu -p "$!" -d 700ms -F 19 --env-label SERVICE -o service.jsonl --summary SERVICE --json
expect_status "$exit_ok" "waits of a process with a label of its own"
jq -se '.[0].values | length == 1 and .[0].value == "web" and .[0].time_ns > 3e8' \
  "$work/stdout" >/dev/null || fail "time has lost the label of its process: $(cat "$work/stdout")"

# A thread that is woken again and again within one system call comes back to user mode after the
# recording, so it cannot take a sample of what was drawn. It has its time all the same.
mkfifo slow_pipe
dd if=/dev/zero of=slow_pipe bs=32M count=1 2>dd_said &
writer=$!
(while sleep 0.02; do head -c 4096; done <slow_pipe >/dev/null) &
children+=("$writer" "$!")
in_write() { grep -q '^1 ' "/proc/$writer/syscall" || grep -q '^64 ' "/proc/$writer/syscall"; }
wait_until "the program writes" in_write
run record --mode offcpu -p "$writer" -d 1 -F 199 -o writer.jsonl --summary wait
expect_status "$exit_ok" "waits within one system call"
expect_shown '^write +(100|99)'
jq -se '(map(select(.type == "header"))[0].duration_ns) as $all
  | (map(select(.type == "ledger"))[0].time.attributed_ns) / $all | . > 0.9 and . < 1.1' \
  writer.jsonl >/dev/null || fail "time is missing: $(grep '"ledger"' writer.jsonl)"

# A thread that waits for a processor since before the recording. The busy one beside it has nearly
# all of their processor's time.
processor=$(taskset -cp $$ | sed 's/.*[:,-] *//')
taskset -c "$processor" "$SPINNER" >busy_said &
children+=("$!")
taskset -c "$processor" chrt --idle 0 "$SPINNER" >queued_said &
queued=$!
children+=("$queued")
is_idle_class() { chrt -p "$queued" 2>/dev/null | grep -q SCHED_IDLE; }
wait_until "the program has the lowest class" is_idle_class
is_spinner() { [[ "/proc/$queued/exe" -ef $SPINNER ]]; }
wait_until "the program is its own" is_spinner
run record --mode offcpu -p "$queued" -d 500ms -o queued.jsonl --summary wait
expect_status "$exit_ok" "a process that waits for a processor"
jq -se '(map(select(.type == "header"))[0].duration_ns) as $all
  | (map(select(.type == "ledger"))[0].time.attributed_ns) / $all | . > 0.9 and . < 1.05' \
  queued.jsonl >/dev/null || fail "not the time in the queue: $(grep -E '"header"|"ledger"' queued.jsonl)"
kill "$queued" "${children[-2]}"

# A thread that is stopped waits for no page.
"$SPINNER" >spinner_said &
spinner=$!
children+=("$spinner")
wait_until "the program computes" has_run_until "$spinner" 5
kill -STOP "$spinner"
run record --mode offcpu -p "$spinner" -d 300ms -o stopped.jsonl --summary wait
expect_status "$exit_ok" "waits of a stopped process"
expect_shown '^stopped +100.0%'
kill -CONT "$spinner"
"$LABELSCOPE" record --mode offcpu -p "$spinner" -d 1 -o stopped_later.jsonl --summary wait \
  >"$work/stdout" 2>"$work/stderr" &
recorder=$!
children+=("$recorder")
until is_gone "$recorder"; do
  kill -STOP "$spinner"
  sleep 0.05
  kill -CONT "$spinner"
  sleep 0.05
done
finish
expect_status "$exit_ok" "a process that was stopped meanwhile"
expect_shown '^stopped '

# The labels of a wait that is open in the end have the names that those of others have.
run record --mode offcpu -d 1 --variable errno:i32 -o open.jsonl -- "$TIMED_WAITS" 3
expect_status "$exit_ok" "a recording with a variable"
jq -se '(map(select(.type == "labels")) | map({key: (.id | tostring), value: [.labels[].key]})
    | from_entries) as $keys
  | map(select(.type == "sample" and (.labels | type) == "number") | $keys[.labels | tostring])
  | any(index("errno")) and all(index("variable0") | not)' open.jsonl >/dev/null ||
  fail "a variable without its name: $(grep '"labels"' open.jsonl | head -3)"
