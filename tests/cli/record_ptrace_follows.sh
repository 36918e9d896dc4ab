# By ptrace, too, a target is followed when it loads a library, forks, executes another program and ends.
source "$SOURCE_DIR/lib.sh"
source "$SOURCE_DIR/stopping.sh"
need_ptrace
need_command jq

# A library that is loaded during the recording: its labels are read from then on.
mkfifo "$work/orders"
"$LATE_LOADER" "$WRITER_LIBRARY" <"$work/orders" >"$work/said" 2>&1 &
target=$!
children+=("$target")
exec 4>"$work/orders"
has_said() { grep -q "$1" "$work/said"; }
wait_until "the target is ready" has_said ready
start record -p "$target" --backend ptrace -o late.jsonl
wait_until "labelscope has begun" grep -q '^Recording' "$work/stderr"
wait_until "the target computes" has_run_until "$target" $(($(cpu_ticks "$target") + 50))
echo go >&4
wait_until "the target has loaded the library" has_said labelled
wait_until "the target computes" has_run_until "$target" $(($(cpu_ticks "$target") + 100))
kill -INT "$recorder"
finish
expect_status "$exit_ok" "a target that loads a library"
expect_ledger late.jsonl
jq -se 'map(select(.type == "sample"))
  | (map(select(.outcome == 0)) | length) >= 20 and (map(select(.outcome == 1)) | length) >= 20' late.jsonl >/dev/null ||
  fail "not half a second of samples with and without labels"
exec 4>&-

# A child, another program in the same process, and the end of both. It waits for a file that appears: bash's read with a
# time-out drops the line that it has just read when the time is over by then.
bash -c 'until [[ -e $1 ]]; do for ((i = 0; i < 2000; i++)); do :; done; done
  bash -c "exec -a forked-child bash -c \"for ((i = 0; i < 200000; i++)); do :; done\"" &
  exec -a second-program bash -c "for ((i = 0; i < 200000; i++)); do :; done; wait"' first-program "$work/go" \
  </dev/null >/dev/null 2>&1 &
target=$!
children+=("$target")
start record -p "$target" --backend ptrace -o family.jsonl
wait_until "labelscope has begun" grep -q '^Recording' "$work/stderr"
wait_until "the target computes" has_run_until "$target" $(($(cpu_ticks "$target") + 50))
: >"$work/go"
finish
expect_status "$exit_ok" "a target that forks, executes another program and ends"
expect_ledger family.jsonl
jq -se '[.[] | select(.type == "process") | .pid] | unique | length >= 2' family.jsonl >/dev/null ||
  fail "the child was not followed"
# Before and after the exec the same function is at different addresses: a stack is named in both.
jq -se 'map(select(.type == "module" and .kind == "file" and (.path | tostring | test("bash$")))) | length >= 2' \
  family.jsonl >/dev/null || fail "the second program is not among the modules"
