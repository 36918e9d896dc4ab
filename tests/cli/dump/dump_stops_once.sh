# With stacks, each thread is stopped, and a stop interrupts some system calls for good. A thread that
# waits is stopped once, and for microseconds, also if it is one of thousands: its target would notice.
source "${BASH_SOURCE%/*}/../lib.sh"
need_command jq
start_target "$WAITERS"
for ((round = 1; round <= 5; ++round)); do
  wait_until "all threads wait" all_sleep
  run dump --json --stacks --max-stop 20s --backend ptrace -p "$target"
  expect_status "$exit_ok" "dump --stacks"
  [[ $(jq -c '[.threads[].stack | .cut == "" and (.frames | length) > 3] | unique' "$work/stdout") == '[true]' ]] ||
    fail "a stack is not whole: $(jq -c '.threads[].stack.cut' "$work/stdout")"
done
wait_until "all threads wait again" all_sleep
for call in epoll_wait semop sigtimedwait recv; do
  times=$(grep -c "interrupted $call" "$work/truth")
  ((times <= 5)) || fail "in 5 dumps, $call was interrupted $times times"
done
grep -q interrupted "$work/truth" || fail "a stop interrupts nothing here, so the test sees nothing"

# Thousands that stop at once take a while together, and are no reason to hold many at a time.
threads=20000
(($(</proc/sys/kernel/threads-max) > 2 * threads && $(</proc/sys/vm/max_map_count) > 2 * threads + 1000)) ||
  skip_test "there may be no $threads threads here; that each is stopped once was tested"
need_command python3
python3 -c '
import sys, threading
threading.stack_size(65536)
gate = threading.Event()
for _ in range(int(sys.argv[1])): threading.Thread(target=gate.wait, daemon=True).start()
print("ready", flush=True)
sys.stdin.read()' "$threads" <"$work/stdin" >"$work/crowd_said" 2>&1 &
target=$!
children+=("$target")
wait_until "there are $threads threads" grep -q . "$work/crowd_said"
grep -q ready "$work/crowd_said" || skip_test "no $threads threads: $(tail -n 1 "$work/crowd_said")"
run dump --json --stacks --max-stop 20s --backend ptrace -p "$target"
expect_status "$exit_ok" "dump --stacks of a crowd"
median=$(jq '[.threads[].held_ns] | sort | .[length / 2 | floor]' "$work/stdout")
echo "$(jq '.threads | length' "$work/stdout") threads, each held for $median ns (median)"
((median > 0 && median < 2000000)) || fail "threads are held for $median ns (median)"
