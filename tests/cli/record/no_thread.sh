# When no thread can be started, the message says so, and names the limits.
source "${BASH_SOURCE%/*}/../lib.sh"
[[ -z ${ASAN_OPTIONS:-} ]] || skip_test "the sanitizer starts a thread when the program ends"
need_command prlimit
need_other_user  # root may have as many threads as it wants
"${drop[@]}" bash -c 'while :; do :; done' </dev/null >/dev/null 2>&1 &
target=$!
children+=("$target")
is_other_users() { [[ $(stat -c %u "/proc/$target") == 65534 ]]; }
wait_until "the target runs as that user" is_other_users
timeout --signal=KILL 60 "${drop[@]}" prlimit --nproc=1 "$work/labelscope" record --backend ptrace -d 0.2 \
  -p "$target" >"$work/stdout" 2>"$work/stderr" </dev/null
status=$?
expect_status "$exit_error" "no thread"
expect_said '^labelscope: cannot start a thread: .*ulimit -u.*pids\.max'
