# --blame: who made whom wait, by label. Each thread of the program waits because of one that is
# known, for a lock, a pipe, or a processor.
source "${BASH_SOURCE%/*}/../lib.sh"
run record --blame tenant -p 1
expect_status "$exit_usage" "--blame with --mode cpu"
expect_said '--blame tenant: .*add --mode offcpu or --mode wall'
run record --mode wall --backend ptrace --blame tenant -p 1
expect_status "$exit_usage" "--blame by ptrace"
expect_said 'it needs --backend bpf'
run record --mode offcpu --blame thread_id -p 1
expect_status "$exit_usage" "--blame of threads"
expect_said 'waits are added up by labels, and by pid and comm'
need_sampling
need_command jq
mkfifo orders
"$BLAMED_WAITS" <orders >said &
program=$!
children+=("$program")
exec {orders}>orders
wait_until "the program has begun" grep -q '^ready' said
start record --mode offcpu -F 199 -p "$program" -o blame.jsonl --blame tenant
begun() { grep -q '^Recording' "$work/stderr" || is_gone "$recorder"; }
wait_until "the recording has begun" begun
pause_ms 1500
echo >&"$orders" # ends the one wait of the thread "late", which has begun before the recording
pause_ms 1500
echo e >&"$orders"
finish
if too_old_for_waits; then
  expect_status 1 "a kernel that is too old"
  skip_before_waits
fi
expect_status "$exit_ok" "a recording of blame"
expect_ledger blame.jsonl
expect_shown '^tenant +waited +'
expect_shown '^mutex-waiter +'
expect_shown '\(timer\)'

blame_of() {
  "$LABELSCOPE" report blame.jsonl --idle show --where "state=$1" --blame tenant --json \
    2>"$work/stderr"
}
blame_of waiting >waiting.json
blame_of runnable >runnable.json
# At least 95 % of what a thread waits is blamed on the one because of which it does.
part_of() {
  jq --arg waiter "$2" --arg by "$3" '.values | map(select(.value == $waiter)) | .[0] as $row
    | ([$row.because_of[] | select(.value == $by or .by == $by) | .time_ns] | add // 0)
      / ([$row.because_of[] | select(.by | . != "process" and . != "kernel") | .time_ns]
         | add // 0)' "$1"
}
for pair in mutex-waiter:mutex-holder reader:writer cond-waiter:notifier consumer:producer \
  joiner:joined parent:child late:late-waker sleeper:timer; do
  part=$(part_of waiting.json "${pair%:*}" "${pair#*:}")
  printf 'FACT: blame/%s %s\n' "$pair" "$part"
  # A thread that ends gives its stack back when it has taken its labels off. If it waits for that
  # (here a fork has the lock of the memory), these are the labels of its last wait.
  least=0.95
  [[ $pair != joiner:* ]] || least=0.6
  jq -ne --argjson part "${part:-0}" "\$part >= $least and \$part <= 1" >/dev/null ||
    fail "only $part of the time of ${pair%:*} is blamed on ${pair#*:}: $(cat waiting.json)"
done
# Others may take the processor, too, and then it is right to blame them: on a busy machine that is most
# of the time, and what nobody can be blamed for is a small part of the whole, but not of the rest. No
# other thread of this program takes it, unless there is only one processor.
right_part_of() {
  jq --arg waiter "$2" --arg by "$3" '.values | map(select(.value == $waiter)) | .[0] as $row
    | ([$row.because_of[] | select(.value == $by) | .time_ns] | add // 0) as $pair
    | ([$row.because_of[] | select(.by == "process" or .by == "kernel") | .time_ns] | add // 0) as $others
    | if $pair > 0 then ($pair + $others) / $row.time_ns else 0 end' "$1"
}
for pair in queue-a:queue-b queue-b:queue-a; do
  (($(nproc) > 1)) || break
  part=$(right_part_of runnable.json "${pair%:*}" "${pair#*:}")
  printf 'FACT: blame/%s %s\n' "$pair" "$part"
  jq -ne --argjson part "${part:-0}" '$part >= 0.95 and $part <= 1' >/dev/null ||
    fail "only $part of the time of ${pair%:*} is blamed on ${pair#*:}: $(cat runnable.json)"
done
# A timer that interrupts a thread is not this thread.
jq -e '[.values[], .without, .unreadable | .because_of[] | select(.value == "bystander")] == []' \
  waiting.json >/dev/null || fail "an interrupted thread is blamed: $(cat waiting.json)"

# Each row adds up to what the label has waited.
"$LABELSCOPE" report blame.jsonl --idle show --blame tenant --summary tenant --json >both.json \
  2>"$work/stderr"
jq -se '(.[0].values | map({key: .value, value: .time_ns}) | from_entries) as $waited
  | .[1] as $blame
  | ($blame.values | length) > 10
    and all($blame.values[]; (.because_of | map(.time_ns) | add) == .time_ns
                             and (.time_ns / $waited[.value] - 1 | fabs) < 0.01)
    and ($blame.values + [$blame.without, $blame.unreadable] | map(.time_ns) | add) == $blame.time_ns
    and ($blame.time_ns / .[0].time_ns - 1 | fabs) < 0.01' both.json >/dev/null ||
  fail "rows do not add up to the time of their label: $(cat both.json)"

# Who made whom wait was added up by labels, for the whole recording.
run report blame.jsonl --since 1s --blame tenant
expect_status "$exit_error" "blame of a part of the time"
expect_said 'was added up for the whole recording'
run report blame.jsonl --where thread_id=1 --blame tenant
expect_status "$exit_no_sample" "blame of a thread that is not there"
sleep 300 &
children+=("$!")
run record --mode offcpu -p "$!" -d 200ms -o without.jsonl
expect_status "$exit_ok" "a recording without blame"
run report without.jsonl --blame tenant
expect_status "$exit_error" "blame that was not recorded"
expect_said 'it was not recorded who made whom wait: labelscope record --mode offcpu --blame KEY'
run report blame.jsonl without.jsonl --blame tenant
expect_status "$exit_error" "blame of two recordings of which one has none"
expect_said 'of one of the recordings, it was not recorded'

# A process that is not recorded has a name. Without labels, processes are told apart.
mkfifo pipe
cat pipe >/dev/null &
reader=$!
(while echo x; do pause_ms 5; done >pipe) &
children+=("$reader" "$!")
start record --mode wall -p "$reader" -o process.jsonl --blame pid
wait_until "the recording has begun" begun
# A processor that is busy gives the two few turns in any time, so turns are waited for.
reads_before=$(status_line "/proc/$reader/status" voluntary_ctxt_switches)
has_read() { (($(status_line "/proc/$reader/status" voluntary_ctxt_switches) >= reads_before + 40)); }
wait_until "it has read what the other one writes" has_read
kill -INT "$recorder"
finish
expect_status "$exit_ok" "a process that waits for another one"
# While it could run, it waits for whoever has the processor.
run report process.jsonl --where state=waiting --blame pid --json
jq -e --arg reader "$reader" '.values[0] | .value == $reader
  and ([.because_of[] | select(.name == "bash")] | .[0].time_ns) / .time_ns > 0.5' \
  "$work/stdout" >/dev/null || fail "a shell feeds it, and is not blamed: $(cat "$work/stdout")"
