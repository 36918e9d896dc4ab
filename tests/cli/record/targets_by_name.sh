# Processes are found by their name and by the port that they listen on, also those that start
# later. Files are named after what was asked for.
source "${BASH_SOURCE%/*}/../lib.sh"
need_sampling
name=lsnamed$RANDOM
copy_of_bash "$name"
# start_named: starts a process of that name that computes, with its pid in $target.
start_named() {
  "$copy" -c 'while :; do :; done' </dev/null >/dev/null 2>&1 &
  target=$!
  children+=("$target")
}
is_stopped() { [[ $(state_of "$1") == T ]]; }
samples_of() {
  jq -se --argjson pid "$2" '([.[] | select(.type == "thread" and .pid == $pid) | .id]) as $threads
    | [.[] | select(.type == "sample" and (.thread as $one | $threads | index($one))) | .count]
    | add // 0' "$1"
}

# Nobody has the name, and then one nearly has it.
run record -d 1 -p "$name"
expect_status "$exit_no_target" "nobody is called that"
expect_said "-p $name: no process is called that"
start_named
first=$target
run dump -p "${name}x"
expect_status "$exit_no_target" "nobody is called that, for dump"
expect_said "there is $name\$"
run check -p "${name}x"
expect_status "$exit_unchecked" "nobody is called that, for check"
expect_no_files

# One is there, and another starts meanwhile: it is not a child of the first. What it has computed
# before it has the name is not counted.
start record -p "$name" --no-children -F 499 -o two.jsonl
wait_until "labelscope records" has_begun_or_ended
"$BASH" -c 'for ((i = 0; i < 200000; ++i)); do :; done; exec "$0" -c "while :; do :; done"' "$copy" \
  </dev/null >/dev/null 2>&1 &
second=$!
children+=("$second")
runs_copy() { [[ $(readlink "/proc/$1/exe") == "$copy" ]]; }
wait_until "the second has the name" runs_copy "$second"
past=$(cpu_ticks "$second")
wait_until "the second computes" has_run_until "$second" $((past + 100))
kill -INT "$recorder"
finish
expect_status "$exit_ok" "record -p NAME"
after=$(cpu_ticks "$second")
expect_said "Recording -p $name \\(1 process\\): $first \\($name\\)"
for pid in "$first" "$second"; do
  (($(samples_of two.jsonl "$pid") > 20)) || fail "no samples of $pid: $(samples_of two.jsonl "$pid")"
done
expect_ledger two.jsonl
# In nanoseconds; a tick is 10 ms.
weight=$(jq -se --argjson pid "$second" '([.[] | select(.type == "thread" and .pid == $pid) | .id]) as $threads
  | [.[] | select(.type == "sample" and (.thread as $one | $threads | index($one))) | .weight_ns] | add' two.jsonl)
((weight <= (after - past + 5) * 10000000)) ||
  fail "the second has $weight ns, and ran for $(((after - past) * 10)) ms since it has the name"
rm two.jsonl

# Two match; dump shows both, check takes one, and the files have the name.
run record -d 1 -F 499 -p "$name"
expect_status "$exit_ok" "two of the name"
expect_said "-p $name \\(2 processes\\)"
[[ -n $(compgen -G "labelscope-$name-2*.pb.gz") ]] || fail "no file has the name: $(ls)"
rm labelscope-"$name"-2*
run dump --json -p "$name"
expect_status "$exit_ok" "dump -p NAME"
[[ $(wc -l <"$work/stdout") == 2 ]] || fail "dump does not show both"
run check -p "$name"
expect_said "of these 2 processes the first, [0-9]+, is checked"
run record -d 1 -F 499 --backend ptrace -p "$name,$first" -o both.jsonl
expect_status "$exit_ok" "by ptrace, one of them named twice"
(($(jq -s '[.[] | select(.type == "process")] | length' both.jsonl) == 2)) || fail "not two processes"
rm both.jsonl
# One of the two ends after dump has found it, and before dump looks at it: meanwhile dump waits to
# write its first line to a pipe that is full. The pipe is a big one of zeros.
mkfifo "$work/full"
exec 7<>"$work/full"
head -c 1048576 /dev/zero | dd of="$work/full" oflag=nonblock bs=4096 status=none 2>/dev/null
"$LABELSCOPE" dump -p "$name" >"$work/stdout" 2>"$work/full" </dev/null 7<&- &
recorder=$!
children+=("$recorder")
writes_to_pipe() { grep -qs pipe_write "/proc/$recorder/stack" "/proc/$recorder/wchan"; }
wait_until "dump has found them" writes_to_pipe
kill -KILL "$second"
wait_until "the second has ended" is_gone "$second"
tr -d '\0' <"$work/full" >"$work/stderr" 7<&- &
drain=$!
children+=("$drain")
exec 7>&-
wait "$recorder"
status=$?
wait "$drain"
rm "$work/full"
expect_status "$exit_ok" "dump of two, one of which has ended"
expect_said "process $second"
expect_shown "^Process $first: "
! grep -q "^Process $second: " "$work/stdout" || fail "dump shows a process that has ended"
kill -KILL "$first"
wait_until "both have ended" is_gone "$first"
wait_until "both have ended" is_gone "$second"

# It is waited for.
start record --wait-for "$name" -F 499 -o waited.jsonl
wait_until "labelscope waits" grep -q "^Waiting for $name" "$work/stderr"
start_named
wait_until "labelscope records" has_begun_or_ended
wait_until "it computes" has_run_until "$target" $(($(cpu_ticks "$target") + 50))
kill -INT "$recorder"
finish
expect_status "$exit_ok" "--wait-for"
(($(samples_of waited.jsonl "$target") > 20)) || fail "no samples of $target"
rm waited.jsonl
kill -KILL "$target"
start record --wait-for "$name-never" -o never.jsonl
wait_until "labelscope waits" grep -q "^Waiting for $name-never" "$work/stderr"
kill -INT "$recorder"
finish
expect_status "$exit_no_target" "interrupted while it waits"

# One that ends while the sampler is opened is named, and the next one is waited for. labelscope is
# stopped as soon as it has loaded a BPF program, before it looks at the process: if that comes too
# late, the test tries again.
loads_bpf() { readlink "/proc/$recorder/fd/"* 2>/dev/null | grep -q bpf || has_begun_or_ended; }
held=
for _ in {1..20}; do
  start record --wait-for "$name" -F 499 -o early.jsonl
  wait_until "labelscope waits" grep -q "^Waiting for $name" "$work/stderr"
  start_named
  wait_until "labelscope loads programs" loads_bpf
  kill -STOP "$recorder"
  wait_until "labelscope is stopped" is_stopped "$recorder"
  if ! grep -q '^Recording' "$work/stderr"; then
    held=$target
    break
  fi
  kill -KILL "$target" "$recorder"
  wait "$recorder" 2>/dev/null
done
[[ -n $held ]] || fail "labelscope was never stopped before it recorded"
kill -KILL "$held"
wait "$held" 2>/dev/null
kill -CONT "$recorder"
wait_until "labelscope waits again" grep -q "waiting for the next one$" "$work/stderr"
expect_said "--wait-for $name: process $held ended before it could be recorded; waiting for the next one"
start_named
wait_until "labelscope records" has_begun_or_ended
wait_until "it computes" has_run_until "$target" $(($(cpu_ticks "$target") + 50))
kill -INT "$recorder"
finish
expect_status "$exit_ok" "--wait-for, with one that ends early"
(($(samples_of early.jsonl "$target") > 20)) || fail "no samples of $target, after one that ended early"
rm early.jsonl
kill -KILL "$target"

# Who listens on a port has its socket.
command -v python3 >/dev/null || skip_test "no python3 that could listen"
python3 -c '
import socket
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
while True: pass' </dev/null >"$work/port" 2>/dev/null &
target=$!
children+=("$target")
wait_until "somebody listens" test -s "$work/port"
port=$(<"$work/port")
run record -d 1 -F 499 --port "$port" -o port.jsonl
expect_status "$exit_ok" "--port"
expect_said "Recording --port $port \\(1 process\\): $target "
run dump --port "$port"
expect_status "$exit_ok" "dump --port"
kill -KILL "$target"
wait "$target" 2>/dev/null
run dump --port "$port"
expect_status "$exit_no_target" "nobody listens any more"
expect_said "--port $port: nothing listens on this TCP port"
rm port.jsonl
expect_no_files
