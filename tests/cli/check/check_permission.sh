# If the permission to read a program is missing, the status says so, and the message has the cause
# and the fix.
source "${BASH_SOURCE%/*}/../lib.sh"
program=$VIOLATORS/live/good-linked/program

# This is a security policy that forbids ptrace.
for depth in '' --step; do
  # shellcheck disable=SC2086  # no word at all, or one
  timeout --signal=KILL 90 "$REFUSED" "$LABELSCOPE" check $depth -- "$program" \
    >"$work/stdout" 2>"$work/stderr" </dev/null
  status=$?
  [[ $status == 77 ]] && skip_test "$(cat "$work/stderr")"
  expect_status "$exit_permission" "a policy ($depth)"
  expect_shown 'not checked .*ptrace'
  expect_shown 'seccomp|CAP_SYS_PTRACE'
  expect_shown '^incomplete: '
done

# The user may execute this program but not read it.
need_other_user
cp "$program" "$work/program" && chmod 711 "$work/program"
for depth in '' --step; do
  # shellcheck disable=SC2086
  "${drop[@]}" timeout --signal=KILL 60 "$work/labelscope" check $depth -- "$work/program" \
    >"$work/stdout" 2>"$work/stderr" </dev/null
  status=$?
  expect_status "$exit_permission" "a program that may not be read ($depth)"
  expect_shown 'not checked .*(CAP_SYS_PTRACE|root)'
done
