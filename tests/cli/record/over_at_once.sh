# A recording that ends before it has begun says so, and says nothing of a target that computes all
# the time.
source "${BASH_SOURCE%/*}/../lib.sh"
need_sampling
start_busy_target
# Ctrl-C comes while labelscope starts, as soon as it keeps signals for itself. Before it is
# executed, the shell's own child holds signals back for a moment, too.
takes_signals() {
  [[ $(<"/proc/$recorder/comm") == labelscope ]] &&
    ((16#$(status_line "/proc/$recorder/status" SigBlk) >> 1 & 1))
}
for backend in bpf ptrace; do
  start record --backend "$backend" -F 1 -p "$target" -o out.pb.gz --summary tenant \
    --env-label NO_SUCH_VARIABLE
  wait_until "labelscope takes signals" takes_signals
  kill -INT "$recorder"
  finish
  expect_status "$exit_no_sample" "interrupted at once, by $backend"
  expect_said \
    'no sample was taken: the recording was interrupted (before|[0-9]+ ms after) labelscope (began|had begun) to sample'
  ! grep -Eq 'idle|tenant|NO_SUCH_VARIABLE' "$work/stderr" ||
    fail "something is said of labels or of idleness"
done
# The target ends while labelscope starts.
for life in 0.02 0.1 0.3; do
  bash -c 'end=$((${EPOCHREALTIME/./} + '"$(awk "BEGIN {print int($life * 1e6)}")"')); while ((${EPOCHREALTIME/./} < end)); do :; done' &
  short=$!
  run record -p "$short" -d 60 -F 1 -o out.pb.gz
  wait "$short"
  ! grep -Eq 'of 0 ms|after 0 ms|idle' "$work/stderr" ||
    fail "a target that lived $life s: what is said makes no sense"
done
# The target sleeps, and the message says how to see where.
sleep 300 &
children+=("$!")
run record -p "$!" -d 300ms -o out.pb.gz --summary tenant --label-deny nothing
expect_status "$exit_no_sample" "an idle target"
expect_said 'idle or waiting: --mode wall'
! grep -q 'tenant\|nothing' "$work/stderr" ||
  fail "something is said of labels, and there is no sample"
expect_no_files
