# The process ID of a kernel thread or a zombie: each command names which of them it is, with status
# 3.
source "${BASH_SOURCE%/*}/../lib.sh"
need_sampling
# said <words>: checks that one of the streams has exactly these words.
said() { grep -qF -- "$1" "$work/stdout" "$work/stderr" || fail "nothing says: $1"; }
# called <what> <pid>: checks what each command calls the process.
called() {
  for backend in bpf ptrace; do
    run record -d 1 --backend "$backend" -p "$2"
    expect_status "$exit_no_target" "record --backend $backend -p $2"
    said "$1"
    run dump --backend "$backend" -p "$2"
    expect_status "$exit_no_target" "dump --backend $backend -p $2"
    said "$1"
  done
  run check -p "$2"
  expect_status "$exit_unchecked" "check -p $2"
  said "$1"
}
# Its parent collects no exit status: it executes another program while the child runs, and sleep
# does not know of a child.
mkfifo "$work/gate"
# shellcheck disable=SC2016  # the inner shell's
bash -c 'cat "$0" & exec sleep 300' "$work/gate" </dev/null >/dev/null 2>&1 &
parent=$!
children+=("$parent")
child_of() { zombie=$(cat "/proc/$parent/task/$parent/children" 2>/dev/null); zombie=${zombie% }; [[ -n $zombie ]]; }
wait_until "there is a child" child_of
is_sleep() { [[ $(cat "/proc/$parent/comm") == sleep ]]; }
wait_until "the parent sleeps" is_sleep
: >"$work/gate"
is_zombie() { [[ $(state_of "$zombie") == Z ]]; }
wait_until "the child has ended" is_zombie
called "process $zombie has ended; it is a zombie until its parent, process $parent (sleep), asks" \
  "$zombie"
# The pid namespace of a container has no kernel threads.
for thread in /proc/[0-9]*; do
  # PF_KTHREAD among the flags, field 9: fields 1 and 2 are the number and the name.
  flags=$(sed 's/.*) //' "$thread/stat" 2>/dev/null | cut -d ' ' -f 7)
  ((${flags:-0} & 0x00200000)) || continue
  called "process ${thread#/proc/} ($(cat "$thread/comm")) is a kernel thread" "${thread#/proc/}"
  exit 0
done
skip_test "no kernel thread is seen here"
