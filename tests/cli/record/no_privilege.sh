# Without privilege the status is 4, and one message names the missing capabilities and how to give
# them.
source "${BASH_SOURCE%/*}/../lib.sh"
if ((EUID == 0)); then
  need_other_user
  start_busy_target
else
  # By ptrace, a user may look into processes of its own.
  [[ $(stat -c %u /proc/1) == 0 ]] || skip_test "process 1 is not root's, so it may be looked into"
  target=1
  ((16#$(awk '$1 == "CapEff:" { print $2 }' /proc/self/status) == 0)) ||
    skip_test "this user has capabilities"
  cp "$LABELSCOPE" "$work/labelscope"
  drop=()
fi
for arguments in "-p $target" "--backend bpf -- true"; do
  # shellcheck disable=SC2086  # several words
  ${drop[@]+"${drop[@]}"} timeout --signal=KILL 60 "$work/labelscope" record -d 1 $arguments \
    >"$work/stdout" 2>"$work/stderr" </dev/null
  status=$?
  expect_status "$exit_permission" "$arguments"
  expect_said 'cap_bpf'
  expect_said 'cap_perfmon'
  expect_said 'sudo|setcap'
  expect_no_stdout
  expect_no_files
done
