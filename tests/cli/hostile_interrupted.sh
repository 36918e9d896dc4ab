# The first Ctrl-C while addresses are named ends that, whatever the file is, and the recording is written.
source "$SOURCE_DIR/lib.sh"
source "$SOURCE_DIR/hostile.sh"
need_sampling
need_command jq
start_hostile "$HOSTILE/entries"
start record -d 1 -o out.jsonl -p "$target"
# The worker has the file open and works on it.
worker_of() { pgrep -P "$recorder" -x labelscope-file | head -n 1; }
works() {
  worker=$(worker_of)
  [[ -n $worker ]] && (($(cpu_ticks "$worker") > 30))
}
works_or_over() { works || is_gone "$recorder"; }
wait_until "a worker looks at the file" works_or_over
is_gone "$recorder" && fail "it ended before it could be interrupted"
from=${EPOCHREALTIME/./}
kill -INT "$recorder"
while kill -0 "$worker" 2>/dev/null && [[ $(state_of "$worker") != Z ]]; do sleep 0.005; done
taken=$(((${EPOCHREALTIME/./} - from) / 1000))
finish
expect_status 130 "Ctrl-C while addresses are named"
expect_said 'gave up naming'
((taken < 1000)) || fail "naming ended after $taken ms"
printf 'naming ended after %s ms\n' "$taken"
expect_labelled out.jsonl
expect_ledger out.jsonl
exit 0
