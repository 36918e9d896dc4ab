# Threads that get no processor do not stop in time. BPF reads them where it may, and threads that
# are not read are counted.
source "${BASH_SOURCE%/*}/../lib.sh"
source "$SOURCE_DIR/stopping.sh"
need_sampling
need_ptrace
need_command jq
need_command taskset
need_command chrt
start_counting 20 0
# With this policy they get a three-hundredth of each other thread's share, on one processor for
# all.
cpu=$(taskset -p -c $$ | sed 's/.*: //; s/[-,].*//')
taskset -a -p -c "$cpu" "$target" >"$work/stdout" 2>&1 ||
  skip_test "threads cannot be kept on one processor"
for _ in 1 2 3; do
  taskset -c "$cpu" bash -c 'while :; do :; done' </dev/null >/dev/null 2>&1 &
  children+=("$!")
done
chrt -a --idle -p 0 "$target" >"$work/stdout" 2>&1 ||
  skip_test "threads cannot have the policy SCHED_IDLE"
unreadable() { jq '[.threads[] | select(.outcome | IN("labelled", "unlabelled") | not)] | length' "$work/stdout"; }

run dump --json --backend ptrace -p "$target"
expect_status "$exit_ok" "by ptrace"
left=$(unreadable)
((left > 0)) || fail "all threads stopped in time"
expect_said "^labelscope: warning: $left threads? could not be read: .* waited for a processor"
expect_said '\-\-backend bpf'

# Stacks need a stop.
run dump --json --stacks -p "$target"
expect_status "$exit_ok" "either way"
(($(unreadable) == 0)) || fail "$(unreadable) threads are unreadable"
late=$(jq .late_by_bpf "$work/stdout")
((late > 0)) || fail "no thread was read by BPF"
expect_said "^labelscope: warning: $late threads? waited for a processor .*read by BPF"
# Without stacks nothing waits for them.
run dump --json -p "$target"
expect_status "$exit_ok" "without stacks"
(($(unreadable) == 0)) || fail "$(unreadable) threads are unreadable without stacks"
! grep -q 'did not stop in time' "$work/stderr" || fail "a thread was stopped that got no processor"

# A recording has the same words.
run record --backend ptrace --mode wall -F 20 -d 1 -p "$target" -o late.pb.gz
expect_said 'samples with neither labels nor stack: [0-9]+ \(the thread waited for a processor'
grep -q 'waits in the kernel' "$work/stderr" &&
  fail "a thread that can run is said to wait in the kernel"
exit 0
