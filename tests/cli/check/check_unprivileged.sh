# labelscope may check without privileges what it starts itself. For another user's process it needs
# them, and says so.
source "${BASH_SOURCE%/*}/../lib.sh"
need_other_user
cp "$VIOLATORS/live/LS046-key_null/program" "$work/program" && chmod 755 "$work/program"
as_nobody() {
  "${drop[@]}" timeout --signal=KILL 60 "$work/labelscope" "$@" >"$work/stdout" 2>"$work/stderr" \
    </dev/null
  status=$?
}
scope=$(cat /proc/sys/kernel/yama/ptrace_scope 2>/dev/null || echo 0)
((scope < 2)) || skip_test "kernel.yama.ptrace_scope is $scope"

as_nobody check --strict -- "$work/program"
expect_status "$exit_ok" "a program of its own"
expect_shown 'note LS046'

start_target "$VIOLATORS/live/good-linked/program" stay
as_nobody check -p "$target"
expect_status "$exit_permission" "a process of root"
expect_shown 'CAP_SYS_PTRACE'
