# The clock of a cgroup is an account of the recording only while its processes are those that are
# recorded. Who leaves the group, or enters it, makes no false "counted twice" or "missing", and the
# reason is said.
source "${BASH_SOURCE%/*}/../lib.sh"
need_sampling
root=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/self/mounts)
[[ -n $root ]] || skip_test "no cgroup file system of version 2 is mounted"
top=$root/lstest$RANDOM
mkdir "$top" 2>/dev/null || skip_test "$root is not writable"
grep -q usage_usec "$top/cpu.stat" 2>/dev/null || { rmdir "$top"; skip_test "$root has no cpu.stat"; }
members=()
leave_group() {
  kill -KILL "${members[@]}" 2>/dev/null
  wait "${members[@]}" 2>/dev/null
  wait_until "the group is empty" rmdir "$top"
}
trap 'leave_group; end_test' EXIT
start_busy_target
members+=("$target")
recorded=$target
echo "$recorded" >"$top/cgroup.procs" || fail "no process can be put into $top"
said="the clock of the cgroup $top was not held against the recorded time"

# record_while <command...>: records until the command has returned, and then for half a second of CPU
# time of the recorded process.
record_while() {
  start record -p "$recorded" -F 99 --strict --overwrite -o group.jsonl
  wait_until "labelscope records" has_begun_or_ended
  "$@"
  wait_until "the target computes" has_run_until "$recorded" $(($(cpu_ticks "$recorded") + 50))
  kill -INT "$recorder"
  finish
  expect_status "$exit_ok" "--strict, while: $*"
  expect_ledger group.jsonl
}
computes() { wait_until "$1 computes" has_run_until "$1" $(($(cpu_ticks "$1") + $2)); }

record_while computes "$recorded" 50
! grep -q "not held against" "$work/stderr" || fail "the group's clock was not used"

goes_out() {
  computes "$recorded" 20
  echo "$recorded" >"$root/cgroup.procs"
  computes "$recorded" 100
  echo "$recorded" >"$top/cgroup.procs"
}
record_while goes_out
expect_said "$said: process $recorded is recorded and was not in it all the time"

# A stranger is started in the group, and moves on.
start_busy_target
members+=("$target")
comes_in() {
  echo "$target" >"$top/cgroup.procs"
  computes "$target" 100
  kill -KILL "$target"
}
record_while comes_in
expect_said "$said: process $target was in it and was not recorded"

# One that the same words find is recorded, too, from a moment on that the group's clock does not know.
start_busy_target
members+=("$target")
joins() {
  echo "$target" >"$top/cgroup.procs"
  computes "$target" 100
}
start record --cgroup "$top" -F 99 --strict -o joined.jsonl
wait_until "labelscope records" has_begun_or_ended
joins
kill -INT "$recorder"
finish
expect_status "$exit_ok" "--strict, and a process joins"
expect_said "$said: process $target (came to the recording after it had begun|was in it and was not recorded)"
