# Processes are found by their cgroup, their systemd unit and their container, which are all parts
# of a cgroup's path. The test makes the cgroups itself.
source "${BASH_SOURCE%/*}/../lib.sh"
need_sampling
root=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/self/mounts)
[[ -n $root ]] || skip_test "no cgroup file system of version 2 is mounted"
top=$root/lstest$RANDOM
mkdir "$top" 2>/dev/null || skip_test "$root is not writable"
id=$(printf 'ab%.0s' {1..31})$(printf '%02x' $((RANDOM % 256)))
unit=lstest$RANDOM
mkdir -p "$top/$unit.service/deep" "$top/docker-$id.scope"
groups=("$top/$unit.service/deep" "$top/$unit.service" "$top/docker-$id.scope" "$top")
leave_groups() {
  local group
  kill -KILL "${members[@]}" 2>/dev/null
  wait "${members[@]}" 2>/dev/null
  for group in "${groups[@]}"; do wait_until "the group is empty" rmdir "$group"; done
}
members=()
trap 'leave_groups; end_test' EXIT
# start_in <group>: starts a process that computes in this group, with its pid in $target.
start_in() {
  start_busy_target
  members+=("$target")
  echo "$target" >"$1/cgroup.procs" || fail "no process can be put into $1"
}
start_in "$top/$unit.service/deep"
deep=$target
start_in "$top/docker-$id.scope"
contained=$target

# pids_of <argument...>: prints the processes that dump shows.
pids_of() {
  run dump --json "$@"
  expect_status "$exit_ok" "dump $*"
  jq -r .pid "$work/stdout" | sort -n | xargs
}
both=$(printf '%s\n' "$deep" "$contained" | sort -n | xargs)
[[ $(pids_of --unit "$unit") == "$deep" ]] || fail "--unit shows $(pids_of --unit "$unit")"
[[ $(pids_of --container "${id:0:12}") == "$contained" ]] || fail "--container does not show its process"
[[ $(pids_of --cgroup "/${top##*/}") == "$both" ]] || fail "--cgroup does not show both"
[[ $(pids_of --cgroup "$top") == "$both" ]] || fail "the folder of a cgroup does not show both"
run dump --unit "${unit}x"
expect_status "$exit_no_target" "no such unit"
expect_said "no process runs in the unit ${unit}x.service; there is $unit.service\$"
run dump --container "${id:0:11}0000"
expect_status "$exit_no_target" "no such container"
run dump --cgroup "/${top##*/}/none"
expect_status "$exit_no_target" "no such cgroup"
run dump --cgroup "$root"
expect_status "$exit_no_target" "the root"
expect_said "the root group holds every process"

# One that comes into the unit later is recorded, too.
start record --unit "$unit" -F 499 -o unit.jsonl
wait_until "labelscope records" has_begun_or_ended
expect_said "Recording --unit $unit \\(1 process\\): $deep "
start_in "$top/$unit.service"
wait_until "it computes" has_run_until "$target" $(($(cpu_ticks "$target") + 100))
kill -INT "$recorder"
finish
expect_status "$exit_ok" "record --unit"
jq -se --argjson pid "$target" '([.[] | select(.type == "thread" and .pid == $pid) | .id]) as $threads
  | [.[] | select(.type == "sample" and (.thread as $one | $threads | index($one))) | .count] | add > 10' \
  unit.jsonl >/dev/null || fail "no samples of the one that came later"
rm unit.jsonl
run record -d 1 -F 499 --cgroup "$top"
expect_status "$exit_ok" "record --cgroup"
[[ -n $(compgen -G "labelscope-${top##*/}-2*.pb.gz") ]] || fail "no file has the group's name: $(ls)"
