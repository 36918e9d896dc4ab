# ptrace records a command from its start to its end, with the command's exit status. Ctrl-C writes
# what there is.
source "${BASH_SOURCE%/*}/../lib.sh"
source "$SOURCE_DIR/stopping.sh"
need_ptrace
need_command jq
run record --backend ptrace -o command.jsonl -- bash \
  -c 'for ((i = 0; i < 500000; i++)); do :; done; exit 7'
expect_status 7 "a command's own status"
expect_ledger command.jsonl
jq -se 'map(select(.type == "ledger"))[0] | .taken >= 10' command.jsonl >/dev/null ||
  fail "hardly any sample of the command"

start_counting 1 1
start record -p "$target" --backend ptrace -o interrupted.jsonl
wait_until "labelscope has begun" grep -q '^Recording' "$work/stderr"
before=$(cpu_ticks "$target")
wait_until "the target computes" has_run_until "$target" $((before + 50))
kill -INT "$recorder"
finish
expect_status "$exit_ok" "Ctrl-C"
expect_ledger interrupted.jsonl
expect_target_goes_on "after Ctrl-C"
