# No thread stops for ptrace that the older freezer (of cgroup v1) holds. dump, check and record say so, name
# the group, and print the command that thaws it; BPF reads the labels all the same.
source "${BASH_SOURCE%/*}/../lib.sh"
source "$SOURCE_DIR/stopping.sh"
source "$SOURCE_DIR/control_groups.sh"
need_ptrace
need_command jq
grep -q ' - cgroup [^ ]* [^ ]*\bfreezer\b' /proc/self/mountinfo ||
  skip_test "there is no freezer of version 1, and a thread that version 2 has frozen stops"
make_group freezer
start_target "$CROWD" --threads 2 --stay
echo "$target" >"$group/cgroup.procs" || skip_test "the process cannot be moved to $group"
freeze 1
wait_until "the process is frozen" is_frozen
frozen="frozen: its control group does not let it run \(docker unpause, or echo THAWED >$group/freezer.state\)"

run dump --json --backend ptrace -p "$target"
expect_status "$exit_ok" "dump by ptrace"
expect_said "^labelscope: warning: 3 threads could not be read: .* did not stop, because the process is $frozen"
jq -e '.threads | length == 3 and all(.[]; .labels == {} or .labels == [])' "$work/stdout" >/dev/null ||
  fail "labels of threads that could not be read: $(jq -c '[.threads[].labels]' "$work/stdout")"
if [[ $(id -u) == 0 ]]; then
  run dump --json --stacks -p "$target"
  expect_status "$exit_ok" "dump by either"
  expect_said "^labelscope: warning: 3 threads did not stop, because the process is $frozen; read by BPF instead"
  jq -e '[.threads[] | select(.outcome == "labelled")] | length == 2' "$work/stdout" >/dev/null ||
    fail "its labels were not read: $(jq -c '[.threads[].outcome]' "$work/stdout")"
fi

run check --samples 200 -p "$target"
expect_status "$exit_unchecked" "check of a process of which nothing can be read"
expect_said_or_shown() { grep -qE "$1" "$work/stdout" "$work/stderr" || fail "not said: $1"; }
expect_said_or_shown "it is $frozen"
! grep -q 'waits in the kernel' "$work/stdout" "$work/stderr" || fail "it is said to wait in the kernel"
run record --backend ptrace --mode wall -d 300ms -p "$target" -o frozen.jsonl
expect_status "$exit_ok" "a recording of a process of which nothing can be read"
expect_said "^labelscope: warning: process $target is $frozen"
freeze 0
wait_until "the process is thawed" is_thawed
run check --samples 200 -p "$target"
expect_status "$exit_ok" "check of the process when it runs again"
