# doctor's verdict agrees with what record does then: as root, as a user, and with each right taken
# away.
source "${BASH_SOURCE%/*}/../lib.sh"
source "$SOURCE_DIR/agreement.sh"
need_other_user
need_sampling
need_command jq
start_busy_target
of_root=$target
"${drop[@]}" bash -c 'while :; do :; done' </dev/null >/dev/null 2>&1 &
of_user=$!
children+=("$of_user")

# bash has no labels, which is a limit.
agree "$of_root" 1 env
[[ $(verdict labels) == limited && $(verdict sampling) == fine && $(verdict access) == fine ]] ||
  fail "as root: $(<"$work/doctor.json")"
agree "$of_root" 4 "${drop[@]}"
agree "$of_user" 1 "${drop[@]}"
[[ $(verdict cap_bpf) == limited && $(verdict sampling) == limited ]] ||
  fail "as a user: $(<"$work/doctor.json")"
# One at a time, and those for which cap_sys_admin stands in with it. Without cap_sys_ptrace nobody
# may look at a process that has it.
for gone in bpf perfmon sys_admin syslog sys_nice checkpoint_restore dac_read_search; do
  agree "$of_root" 1 setpriv --bounding-set="-$gone" --inh-caps="-$gone"
done
for gone in bpf perfmon; do
  # The target, which has more rights, may only be looked at with cap_sys_ptrace, which stays.
  agree "$of_root" 1 setpriv --bounding-set="-$gone,-sys_admin" --inh-caps="-$gone,-sys_admin"
  [[ $(verdict "cap_$gone") == limited && $(verdict sampling) == limited ]] ||
    fail "without cap_$gone: $(<"$work/doctor.json")"
done
agree "$of_root" 4 setpriv --bounding-set=-sys_ptrace --inh-caps=-sys_ptrace
[[ $(verdict cap_sys_ptrace) == limited && $(verdict access) == missing ]] ||
  fail "without cap_sys_ptrace: $(<"$work/doctor.json")"

# A process with labels, a symbol table and call frame information is whole, and the text says so.
start_target "$CROWD" --threads 2 --stay burn
"$work/labelscope" doctor -p "$target" >"$work/stdout" 2>"$work/stderr"
status=$?
expect_status "$exit_ok" "a process with labels: $(cat "$work/stdout")"
expect_shown "^fine +labels +$target \\(.*labels from "
expect_said 'record will work whole'
stop_target

# It is stopped, or gone; and others name it when they refuse.
kill -STOP "$of_root"
run doctor -p "$of_root"
expect_status "$exit_error" "a stopped process"
expect_shown '^limited state '
expect_shown "fix: kill -CONT $of_root\$"
kill -CONT "$of_root"
run doctor -p 4194305
expect_status "$exit_no_target" "no such process"
for command in "record -d 1" dump check; do
  # shellcheck disable=SC2086  # several words
  "${drop[@]}" "$work/labelscope" $command -p "$of_root" >"$work/stdout" 2>"$work/stderr" </dev/null
  cat "$work/stdout" >>"$work/stderr"
  expect_said "labelscope doctor -p $of_root says what is missing"
done
# A command that was not started is gone, so nothing can be said of its process.
"${drop[@]}" "$work/labelscope" record --backend bpf -- true >"$work/stdout" 2>"$work/stderr" </dev/null
status=$?
expect_status "$exit_permission" "a command without rights"
expect_said 'cannot record the command: permission is missing'
expect_said 'doctor   labelscope doctor says what is missing$'
! grep -Eq 'process [0-9]+|doctor -p' "$work/stderr" || fail "a process that is gone is named: $(<"$work/stderr")"
"${drop[@]}" "$work/labelscope" doctor -p "$of_root" >"$work/stdout" 2>"$work/stderr" </dev/null
grep -q '^MISSING' "$work/stdout" || fail "a user may record a process of root: $(<"$work/stdout")"
! grep -q 'says what is missing' "$work/stdout" || fail "doctor names itself"
