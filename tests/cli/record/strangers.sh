# The time of processes that are not followed is nobody else's: wait4() of the command has it, and
# two short processes that were sampled must not stand for it. With --strict the difference is an
# exit status.
source "${BASH_SOURCE%/*}/../lib.sh"
need_sampling
need_command jq
# Two processes of 40 ms, then eight of half a second, of which two find room.
burn() { printf 'time.process_time() < %s' "$1"; }
python=$(command -v python3) || skip_test "no python3"
program="import time
while $(burn 0.04): pass"
long="import time
while $(burn 0.5): pass"
cat >many.sh <<EOF
"$python" -S -E -c '$program'; "$python" -S -E -c '$program'
for i in 1 2 3 4 5 6 7 8; do "$python" -S -E -c '$long' & done
wait
EOF
run record -o strangers.jsonl --max-processes 3 --strict -- bash many.sh
expect_status "$exit_account" "accounts that differ, with --strict"
expect_said 'missing: [0-9.]+ s of CPU time that is in no recorded thread'"'"'s account'
expect_said "in no thread's account: [0-9.]+ s"
# Six of eight are strangers: three seconds and more, and the others have one.
jq -se '(map(select(.type == "ledger"))[0].time)
  | .missing_ns > 2.5e9 and .unsampled_ns > 2.5e9 and .attributed_ns < 2.5e9 and .twice_ns == 0' \
  strangers.jsonl >/dev/null || fail "where is the time of strangers? $(grep '"type":"ledger"' strangers.jsonl)"

# All are followed: the command's own status, and nothing is missing.
run record -o all.jsonl --strict -- bash many.sh
expect_status "$exit_ok" "accounts that agree, with --strict"
expect_ledger all.jsonl
jq -se '(map(select(.type == "ledger"))[0].time) | .attributed_ns > 3.9e9' all.jsonl >/dev/null ||
  fail "not all time is attributed: $(grep '"type":"ledger"' all.jsonl)"
