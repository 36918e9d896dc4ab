# Threads wait in system calls that a stop interrupts for good. Without an option, dump reads their
# labels by BPF, and no call fails. With ptrace some fail, so the target would have noticed.
source "${BASH_SOURCE%/*}/../lib.sh"
need_sampling
need_command jq
start_target "$WAITERS"
wait_until "all threads wait" all_sleep
run dump --backend bpf -p "$target"
((status == exit_ok)) || skip_test "BPF cannot read threads here: $(head -n 1 "$work/stderr")"

for ((i = 0; i < 20; ++i)); do
  run dump --json -p "$target"
  expect_status "$exit_ok" "dump"
  [[ $(jq -c '[.source, .totals.stopped, ([.threads[].labels[].value] | sort)]' "$work/stdout") == \
    '["bpf",0,["epoll_wait","recv","semop","sigtimedwait"]]' ]] || fail "not read, or not without a stop"
done
expect_said '^5 threads = 4 labelled \+ 1 unlabelled .*; read by BPF, none was stopped$'
! grep -q interrupted "$work/truth" || fail "dump has interrupted the target: $(<"$work/truth")"

is_interrupted() {
  run dump --backend ptrace -p "$target"
  expect_status "$exit_ok" "dump by ptrace"
  grep -q interrupted "$work/truth"
}
wait_until "a stop interrupts a call" is_interrupted

# A thread that computes is stopped as well, since its labels may change while they are read.
"$SPINNER" >"$work/spinner_said" &
spinner=$!
children+=("$spinner")
is_stopped() {
  run dump --json -p "$spinner"
  expect_status "$exit_ok" "dump of a thread that computes"
  jq -e '.source == "bpf" and .totals.stopped == 1 and .threads[0].held_ns > 0' "$work/stdout" >/dev/null
}
wait_until "the thread runs on a processor while it is read" is_stopped
expect_said '; read by BPF, and 1 that ran stopped for [0-9]+ us'
