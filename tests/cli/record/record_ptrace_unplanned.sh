# With ptrace, a program that publishes nothing is unlabelled from its first sample on, whatever it
# executes and forks: samples from before its files were read had no labels either.
source "${BASH_SOURCE%/*}/../lib.sh"
source "$SOURCE_DIR/stopping.sh"
need_ptrace
need_command jq
loop='for ((i = 0; i < 100000; i++)); do :; done'
cat >"$work/many.sh" <<EOF
for ((n = 0; n < 6; n++)); do bash -c '$loop'; done
EOF
run record --backend ptrace -F 500 -o many.jsonl -- bash "$work/many.sh"
expect_status "$exit_ok" "many programs, one after the other"
expect_ledger many.jsonl
jq -se '(map(select(.type == "ledger"))[0].outcomes["not-relocated"] // 0) == 0
  and (map(select(.type == "sample" and .outcome == 3)) | length) == 0' many.jsonl >/dev/null ||
  fail "samples of programs that publish nothing are unreadable: $(tail -n 1 many.jsonl)"
