# A thread that could run, and may not: its control group has used up its quota of CPU time, or is
# frozen. Nobody else is to blame for the first.
source "${BASH_SOURCE%/*}/../lib.sh"
need_sampling
need_command jq
# Makes a group below our own, in either version of cgroups: group CONTROLLER.
make_group() {
  local own
  own=$(sed -n "s/^[0-9]*:$1://p" /proc/self/cgroup)
  group=/sys/fs/cgroup/$1$own
  [[ -n $own ]] || group=/sys/fs/cgroup$(sed -n 's/^0:://p' /proc/self/cgroup)
  group=${group%/}/labelscope-limited-$$
  mkdir "$group" 2>/dev/null || skip_test "no cgroup can be made: $group"
  groups+=("$group")
}
groups=()
# A frozen process does not end, and a group goes when its processes are reaped.
thaw() {
  local group
  for group in ${groups[@]+"${groups[@]}"}; do
    [[ -e $group/freezer.state ]] && echo THAWED >"$group/freezer.state"
    [[ -e $group/cgroup.freeze ]] && echo 0 >"$group/cgroup.freeze"
  done
}
trap 'thaw; end_test; rmdir ${groups[@]+"${groups[@]}"}' EXIT

make_group cpu
if [[ -e $group/cpu.cfs_quota_us ]]; then
  echo 100000 >"$group/cpu.cfs_period_us" && echo 10000 >"$group/cpu.cfs_quota_us"
else
  echo '10000 100000' >"$group/cpu.max"
fi 2>/dev/null || skip_test "the cgroup $group takes no quota of CPU time"
"$SPINNER" >said &
program=$!
children+=("$program")
wait_until "the program has begun" grep -q '^ready' said
echo "$program" >"$group/cgroup.procs"
run record --mode wall -p "$program" -d 2s -o limited.jsonl --blame comm --json
skip_before_waits
expect_status "$exit_ok" "a recording of a program with a quota"
throttled() { "$LABELSCOPE" report limited.jsonl --summary wait --json 2>"$work/stderr"; }
# It has a tenth of a processor.
throttled | jq -e '(.values | map(select(.value == "throttled")) | .[0].times_ns.runnable) / .time_ns
  | . > 0.7 and . < 0.95' >/dev/null || fail "it is not throttled: $(throttled)"
jq -e '.values[0].because_of[0] | .by == "quota"' "$work/stdout" >/dev/null ||
  fail "another one is blamed for its quota: $(cat "$work/stdout")"

make_group freezer
freeze() {
  if [[ -e $group/freezer.state ]]; then
    if (($1)); then echo FROZEN; else echo THAWED; fi >"$group/freezer.state"
  else
    echo "$1" >"$group/cgroup.freeze"
  fi
}
"$SPINNER" >said_too &
program=$!
children+=("$program")
wait_until "the program has begun" grep -q '^ready' said_too
echo "$program" >"$group/cgroup.procs"
start record --mode offcpu -p "$program" -o limited.jsonl --overwrite
begun() { grep -q '^Recording' "$work/stderr" || is_gone "$recorder"; }
wait_until "the recording has begun" begun
freeze 1
pause_ms 500
freeze 0
pause_ms 300
kill -INT "$recorder" 2>/dev/null || true
finish
expect_status "$exit_ok" "a recording of a program that is frozen"
throttled | jq -e '.values | map(select(.value == "frozen")) | .[0].times_ns.waiting > 400000000' \
  >/dev/null || fail "it is not frozen: $(throttled)"
