# A target that never runs gives no sample: the status is 5, and the answer says that it was idle or
# off-CPU.
source "${BASH_SOURCE%/*}/../lib.sh"
need_sampling
sleep 3600 </dev/null >/dev/null 2>&1 &
target=$!
children+=("$target")
is_asleep() { [[ $(cat "/proc/$target/comm") == sleep && $(state_of "$target") == S ]]; }
wait_until "the target sleeps" is_asleep
run record -d 1 -p "$target" -o out.pb.gz
expect_status "$exit_no_sample" "an idle target"
expect_said 'no sample'
expect_no_stdout
expect_said 'did not run on a processor'
# A stopped target is not idle.
kill -STOP "$target"
is_stopped() { [[ $(state_of "$target") == T ]]; }
wait_until "the target is stopped" is_stopped
run record -d 1 -p "$target" -o out.pb.gz
expect_status "$exit_no_sample" "a stopped target"
expect_said "process $target is stopped"
! grep -q idle "$work/stderr" || fail "a stopped target is said to be idle"
kill -KILL "$target"
# The target runs in short bursts: it has run, and was never seen.
bash -c 'while :; do for ((i = 0; i < 3000; i++)); do :; done; sleep 0.1; done' \
  </dev/null >/dev/null 2>&1 &
target=$!
children+=("$target")
wait_until "the target has run" has_run_until "$target" 1
run record -d 1 --no-children --backend ptrace -F 1 -p "$target" -o out.pb.gz
expect_status "$exit_no_sample" "short bursts, by ptrace"
expect_said 'ran for (less than )?[0-9]+ ms of .*never when it was looked at, 1 Hz'
