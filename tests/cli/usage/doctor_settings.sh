# doctor's verdict agrees with what record and dump do then under settings of the whole machine, which
# only a guest (tests/vm) may change: Yama's rule of who may trace whom, and who may sample.
source "${BASH_SOURCE%/*}/../lib.sh"
source "$SOURCE_DIR/agreement.sh"
[[ -n ${LABELSCOPE_EMULATED:-} ]] || skip_test "it changes settings of the whole machine: only in the guests of tests/vm"
need_other_user
need_command jq
readonly yama=/proc/sys/kernel/yama/ptrace_scope paranoid=/proc/sys/kernel/perf_event_paranoid
[[ -w $yama ]] || skip_test "the kernel has no Yama"
read -r yama_before <"$yama"
read -r paranoid_before <"$paranoid"
restore_settings() {
  echo "$yama_before" >"$yama"
  echo "$paranoid_before" >"$paranoid"
  end_test
}
trap restore_settings EXIT
# The process is the user's own, and labelscope is not its parent.
"${drop[@]}" bash -c 'while :; do :; done' </dev/null >/dev/null 2>&1 &
of_user=$!
children+=("$of_user")

# as_user <argument...>: runs labelscope as that user.
as_user() {
  timeout --signal=KILL 60 "${drop[@]}" "$work/labelscope" "$@" >"$work/stdout" 2>"$work/stderr" </dev/null
  status=$?
}

for scope in 1 2; do
  echo "$scope" >"$yama"
  # --- a process that labelscope has not started
  agree "$of_user" "$exit_permission" "${drop[@]}"
  [[ $(verdict access) == missing && $(verdict kernel.yama.ptrace_scope) == limited ]] ||
    fail "with ptrace_scope $scope: $(<"$work/doctor.json")"
  expect_said "kernel.yama.ptrace_scope is $scope"
  as_user dump -p "$of_user"
  expect_status "$exit_permission" "dump, with ptrace_scope $scope"
  expect_said "kernel.yama.ptrace_scope is $scope"
  # --- a command, of which labelscope is the parent
  as_user doctor
  doctor=$status
  as_user record -F 99 -o command.jsonl -- bash -c 'for ((i = 0; i < 50000; i++)); do :; done'
  [[ $scope:$doctor:$status == 1:$exit_error:$exit_ok || $scope:$doctor:$status == 2:$exit_permission:$exit_permission ]] ||
    fail "with ptrace_scope $scope doctor exits with $doctor, and record of a command with $status"
  rm -f command.jsonl
done
# With cap_sys_ptrace it does not matter.
run doctor -p "$of_user"
expect_status "$exit_error" "doctor as root, with ptrace_scope 2"
expect_shown '^fine +kernel.yama.ptrace_scope'
expect_shown '^fine +access'
run record --backend ptrace -F 99 -d 0.4 -p "$of_user" -o root.jsonl
expect_status "$exit_ok" "record as root, with ptrace_scope 2"
echo 0 >"$yama"

# --- The guests' kernels are Debian's, which let cap_perfmon sample all processors only up to 2.
# Linux 5.10 counts maps as locked memory, which that user may not raise.
with_bpf=(prlimit --memlock=unlimited setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all,+bpf,+perfmon --ambient-caps=-all,+bpf,+perfmon)
echo 3 >"$paranoid"
agree "$of_user" "$exit_error" "${with_bpf[@]}"
[[ $(verdict sampling) == limited ]] || fail "with kernel.perf_event_paranoid 3: $(<"$work/doctor.json")"
expect_said 'sudo sysctl kernel.perf_event_paranoid=2 lets CAP_PERFMON do'
echo 2 >"$paranoid"
agree "$of_user" "$exit_error" "${with_bpf[@]}"
[[ $(verdict sampling) == fine ]] || fail "with cap_bpf and cap_perfmon: $(<"$work/doctor.json")"
