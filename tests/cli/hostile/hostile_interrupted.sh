# The first Ctrl-C while addresses are named ends that within 200 ms, whatever the file is, and the
# recording is written. A busy machine lets labelscope wait now and then, so the middle of five is
# judged.
source "${BASH_SOURCE%/*}/../lib.sh"
source "$SOURCE_DIR/hostile.sh"
need_sampling
need_command jq
start_hostile "$HOSTILE/entries"
worker_of() { pgrep -P "$recorder" -x labelscope-file | head -n 1; }
works() {
  # The recording is over, and the worker is another one.
  [[ $(<"$work/stderr") == *"found while it recorded"* ]] || return 1
  worker=$(worker_of)
  [[ -n $worker ]] && (($(cpu_ticks "$worker") > 30))
}
works_or_over() { works || is_gone "$recorder"; }
# This starts no other program, which would take its time on a busy machine.
tells() { [[ $(<"$work/stderr") == *"gave up naming"* ]]; }

# interrupted_after: measures how long naming went on after Ctrl-C, in $taken (ms). Returns 1 if
# the names were found while it recorded, as happens on a busy machine: nothing was left to do.
interrupted_after() {
  local from i
  start record -v --call-graph fp -F 999 -d 0.5 -o out.jsonl --overwrite -p "$target"
  wait_until "a worker has the file open and looks at it" works_or_over
  if is_gone "$recorder"; then
    finish
    expect_status 0 "a recording whose names were found in time"
    return 1
  fi
  from=${EPOCHREALTIME/./}
  kill -INT "$recorder"
  for ((i = 1; i < 20000; i++)); do
    tells && break
    ((i % 100)) || ! is_gone "$recorder" || break
    pause_ms 2
  done
  taken=$(((${EPOCHREALTIME/./} - from) / 1000))
  finish
  expect_status 130 "Ctrl-C while addresses are named"
  expect_said 'gave up naming'
  # The worker was killed, and ends when the kernel has released its memory.
  wait_until "the worker is gone" is_gone "$worker"
  expect_labelled out.jsonl
  expect_ledger out.jsonl
}
times=()
for _ in {1..15}; do
  ((${#times[@]} < 5)) || break
  interrupted_after || continue
  printf 'naming ended after %s ms\n' "$taken"
  times+=("$taken")
done
((${#times[@]} == 5)) || fail "it ended before it could be interrupted, 11 times of 15"
middle=$(printf '%s\n' "${times[@]}" | sort -n | sed -n 3p)
((middle <= 200)) || fail "naming ended $middle ms after Ctrl-C, in the middle of ${times[*]}"
# What only a busy machine makes slow is slow once or twice, and not for seconds.
for taken in "${times[@]}"; do
  ((taken <= 2000)) || fail "naming went on for $taken ms after Ctrl-C, once in ${times[*]}"
done
exit 0
