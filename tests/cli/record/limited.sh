# A thread that could run, and may not: its control group has used up its quota of CPU time, or is
# frozen. Nobody else is to blame for the first.
source "${BASH_SOURCE%/*}/../lib.sh"
source "$SOURCE_DIR/control_groups.sh"
need_sampling
need_command jq
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
# A frozen program has no sample, and the reason is not that it was idle.
"$SPINNER" >said_frozen &
program=$!
children+=("$program")
wait_until "the program has begun" grep -q '^ready' said_frozen
echo "$program" >"$group/cgroup.procs"
freeze 1
run record -p "$program" -d 300ms -o frozen.jsonl
expect_status "$exit_no_sample" "a recording of a program that is frozen"
grep -q "process $program is frozen: its control group does not let it run" "$work/stderr" ||
  fail "it is not said that it is frozen: $(cat "$work/stderr")"
thaw_it=$(sed -n 's/.*docker unpause, or \(echo [^)]*\)).*/\1/p' "$work/stderr")
run doctor -p "$program"
grep -q 'its control group is frozen' "$work/stdout" || fail "doctor: $(cat "$work/stdout")"
bash -c "$thaw_it" || fail "this thaws nothing: $thaw_it"
wait_until "the command that was printed has thawed it" is_thawed
kill -KILL "$program"
wait_until "it has ended" is_gone "$program"

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
