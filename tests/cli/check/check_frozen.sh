# A process whose control group is frozen (docker pause) is checked like any other, and no instruction of
# it runs meanwhile: what it has counted is the same. It goes on when it is thawed.
source "${BASH_SOURCE%/*}/../lib.sh"
source "$SOURCE_DIR/stopping.sh"
need_ptrace
need_command jq
unified=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
[[ -n $unified ]] || skip_test "there are no cgroups of version 2, and in the older freezer no thread stops"
group=$unified$(sed -n 's/^0:://p' /proc/self/cgroup)
group=${group%/}/labelscope-check-$$
mkdir "$group" 2>/dev/null || skip_test "no cgroup can be made: $group"
freeze() { echo "$1" >"$group/cgroup.freeze"; }
# A frozen process does not end, and the group goes when its processes are gone.
trap 'freeze 0; end_test; rmdir "$group"' EXIT
start_target "$CROWD" --threads 2 --stay burn --counters "$work/counters"
counted() { od -An -v -t u8 -w8 -N 16 "$work/counters"; }
has_counted() { [[ $(counted) != "$before" ]]; }
echo "$target" >"$group/cgroup.procs" || skip_test "the process cannot be moved to $group"
freeze 1
is_frozen() { grep -qsx 'frozen 1' "$group/cgroup.events"; }
wait_until "the process is frozen" is_frozen
before=$(counted)
run check --samples 200 --format json -p "$target"
expect_status "$exit_ok" "check of a frozen process"
jq -e '.verdict == "clean" and .effort.labelled >= 100' "$work/stdout" >/dev/null ||
  fail "its labels were not read: $(jq -c '[.verdict, .effort, .problems, .gaps]' "$work/stdout")"
[[ $(counted) == "$before" ]] || fail "the frozen process has run: $before, and then $(counted)"
freeze 0
wait_until "the process goes on" has_counted
