# In a cgroup of 64 MiB, a file whose line tables need gigabytes loses only its own lines.
# labelscope and its workers together stay below the limit, and the recording is written.
source "${BASH_SOURCE%/*}/../lib.sh"
source "$SOURCE_DIR/hostile.sh"
need_sampling
need_command jq
# This is a group below our own, in either version of cgroups.
own=$(sed -n 's/^[0-9]*:memory://p' /proc/self/cgroup)
parent=/sys/fs/cgroup/memory$own limit=memory.limit_in_bytes
if [[ -z $own ]]; then
  parent=/sys/fs/cgroup$(sed -n 's/^0:://p' /proc/self/cgroup) limit=memory.max
fi
group=$parent/labelscope-test.$$
mkdir "$group" 2>/dev/null || skip_test "no cgroup can be made below $parent"
trap 'end_test; rmdir "$group"' EXIT
{ echo 64M >"$group/$limit"; } 2>/dev/null ||
  skip_test "a cgroup below $parent takes no limit of memory"

start_hostile "$HOSTILE/rows"
(
  echo "$BASHPID" >"$group/cgroup.procs" || exit 99
  exec timeout --signal=KILL 90 "$LABELSCOPE" record -d 1 -o out.jsonl -p "$target"
) >"$work/stdout" 2>"$work/stderr" </dev/null
status=$?
expect_status "$exit_ok" "in a cgroup of 64 MiB"
expect_labelled out.jsonl
expect_ledger out.jsonl
named_in out.jsonl | grep -qx hot || fail "hot() has no name"
problem_in out.jsonl "$HOSTILE/rows" | tee "$work/problem"
grep -Eq 'left out' "$work/problem" || fail "the reason is not given"
exit 0
