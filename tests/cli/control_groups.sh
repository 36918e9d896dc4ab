# For tests that move programs into a control group (sourced, behind lib.sh). At the end of the test all
# groups are thawed and removed.
# shellcheck shell=bash
# Makes a group below our own, in either version of cgroups: group CONTROLLER.
make_group() {
  local own
  own=$(sed -n "s/^[0-9]*:$1://p" /proc/self/cgroup)
  group=/sys/fs/cgroup/$1$own
  [[ -n $own ]] || group=/sys/fs/cgroup$(sed -n 's/^0:://p' /proc/self/cgroup)
  group=${group%/}/labelscope-test-$$
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
freeze() {
  if [[ -e $group/freezer.state ]]; then
    if (($1)); then echo FROZEN; else echo THAWED; fi >"$group/freezer.state"
  else
    echo "$1" >"$group/cgroup.freeze"
  fi
}
is_frozen() {
  grep -qsx FROZEN "$group/freezer.state" || grep -qsx 'frozen 1' "$group/cgroup.events"
}
is_thawed() {
  grep -qsx THAWED "$group/freezer.state" || grep -qsx 'frozen 0' "$group/cgroup.events"
}
