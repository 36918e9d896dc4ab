# A debugger holds the process. BPF reads it all the same; without BPF, one message names the
# debugger.
source "${BASH_SOURCE%/*}/../lib.sh"
need_command gdb
start_target "$CROWD" --threads 4
mkfifo "$work/commands"
gdb -nx -q -p "$target" <"$work/commands" >"$work/gdb" 2>&1 &
gdb=$!
children+=("$gdb")
exec 7>"$work/commands"
echo 'echo attached\n' >&7
is_traced() { [[ $(status_line "/proc/$target/status" TracerPid) == "$gdb" ]] && grep -q attached "$work/gdb"; }
is_refused() { grep -qi 'ptrace: operation not permitted\|could not attach' "$work/gdb"; }
wait_until "gdb has attached" eval 'is_traced || is_refused'
is_traced || skip_test "gdb may not attach here"

run dump --backend ptrace -p "$target"
expect_status "$exit_permission" "by ptrace"
expect_said "traced by gdb \($gdb\)"
expect_no_stdout

run dump -p "$target"
if [[ $status == "$exit_permission" ]]; then
  expect_said "ptrace .*traced by gdb \($gdb\)"
  expect_said '^  bpf '
  printf 'only the message was checked: BPF is not to be had here\n'
else
  expect_status "$exit_ok" "by BPF"
  index=0
  for tid in $(true_tids); do
    expect_shown "^Thread +$tid .*thread\.0=number-$index\b"
    index=$((index + 1))
  done
  expect_said '^5 threads = 4 labelled .*read by BPF, none was stopped$'
  run dump --stacks -p "$target"
  expect_status "$exit_ok" "--stacks by BPF"
  expect_said "warning: .*traced by gdb \($gdb\)"
  expect_said 'no stacks'
fi
# The debugger still traces the process.
is_traced || fail "the debugger has lost its process"
echo 'detach' >&7
