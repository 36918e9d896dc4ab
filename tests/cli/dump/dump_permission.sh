# Another user's process, without capabilities: the status is 4, and one message says why each way
# was refused, and what helps.
source "${BASH_SOURCE%/*}/../lib.sh"
need_other_user
start_busy_target
for backend in auto ptrace bpf; do
  "${drop[@]}" timeout --signal=KILL 60 "$work/labelscope" dump --backend "$backend" -p "$target" \
    >"$work/stdout" 2>"$work/stderr" </dev/null
  status=$?
  expect_status "$exit_permission" "--backend $backend"
  (($(grep -c '^labelscope: ' "$work/stderr") == 1)) || fail "not one message"
  [[ $backend == bpf ]] ||
    expect_said 'belongs to root and labelscope runs as user 65534: .*CAP_SYS_PTRACE.*sudo'
  [[ $backend == ptrace ]] || expect_said 'cap_bpf'
  expect_no_stdout
done

# Its first thread has ended, but the process is not gone.
"$AWKWARD_TARGET" headless >"$work/awkward" &
target=$!
children+=("$target")
wait_until "the other thread runs" grep -q ready "$work/awkward"
wait_until "the first thread has ended" eval '[[ $(state_of "$target") == Z ]]'
"${drop[@]}" timeout --signal=KILL 60 "$work/labelscope" dump --backend ptrace -p "$target" \
  >"$work/stdout" 2>"$work/stderr" </dev/null
status=$?
expect_status "$exit_permission" "the first thread has ended"
expect_said 'belongs to root and labelscope runs as user 65534'
