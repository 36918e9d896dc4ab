# The first Ctrl-C while addresses are named ends that within 200 ms, whatever the file is, and the recording is written.
# On a busy machine one of five may be later.
source "$SOURCE_DIR/lib.sh"
source "$SOURCE_DIR/hostile.sh"
need_sampling
need_command jq
start_hostile "$HOSTILE/entries"
worker_of() { pgrep -P "$recorder" -x labelscope-file | head -n 1; }
works() {
  worker=$(worker_of)
  [[ -n $worker ]] && (($(cpu_ticks "$worker") > 30))
}
works_or_over() { works || is_gone "$recorder"; }
# Without a program that has to be started first.
tells() { [[ $(<"$work/stderr") == *"gave up naming"* ]]; }

# interrupted_after: how long naming went on after Ctrl-C, in $taken (ms).
interrupted_after() {
  local from
  start record --call-graph fp -d 0.3 -o out.jsonl --overwrite -p "$target"
  wait_until "a worker has the file open and looks at it" works_or_over
  is_gone "$recorder" && fail "it ended before it could be interrupted"
  from=${EPOCHREALTIME/./}
  kill -INT "$recorder"
  until tells || is_gone "$recorder"; do sleep 0.002; done
  taken=$(((${EPOCHREALTIME/./} - from) / 1000))
  finish
  expect_status 130 "Ctrl-C while addresses are named"
  expect_said 'gave up naming'
  is_gone "$worker" || fail "the worker is still there"
  expect_labelled out.jsonl
  expect_ledger out.jsonl
}
late=0
for _ in 1 2 3 4 5; do
  interrupted_after
  printf 'naming ended after %s ms\n' "$taken"
  ((taken <= 200)) || late=$((late + 1))
done
((late <= 1)) || fail "$late of 5 times, naming did not end within 200 ms"
exit 0
