# ptrace, too, follows a target that loads a library, forks, executes another program and ends.
source "${BASH_SOURCE%/*}/../lib.sh"
source "$SOURCE_DIR/stopping.sh"
need_ptrace
need_command jq

# A library is loaded during the recording, and its labels are read from then on.
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

# A child, another program in the same process, and the end of both: each is a program with a name
# of its own. It waits for a file, because bash's read with a time-out loses a line that it has just
# read when the time is over.
copy_of_bash second-program
second=$copy
copy_of_bash forked-child
child=$copy
bash -c 'until [[ -e $1 ]]; do for ((i = 0; i < 2000; i++)); do :; done; done
  "$3" -c "echo \$\$ >\"$4\"; for ((i = 0; i < 200000; i++)); do :; done" &
  exec "$2" -c "for ((i = 0; i < 200000; i++)); do :; done; wait"' \
  first-program "$work/go" "$second" "$child" "$work/child_pid" </dev/null >/dev/null 2>&1 &
target=$!
children+=("$target")
start record -p "$target" --backend ptrace -o family.jsonl
wait_until "labelscope has begun" grep -q '^Recording' "$work/stderr"
wait_until "the target computes" has_run_until "$target" $(($(cpu_ticks "$target") + 50))
: >"$work/go"
finish
expect_status "$exit_ok" "a target that forks, executes another program and ends"
expect_ledger family.jsonl
expect_named family.jsonl "$target" "$(readlink -f "$(command -v bash)")"
expect_named family.jsonl "$target" "$second"
expect_named family.jsonl "$(<"$work/child_pid")" "$child"
