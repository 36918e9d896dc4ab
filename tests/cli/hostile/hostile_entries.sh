# A hundred million entries must be walked again for each function.
source "${BASH_SOURCE%/*}/../lib.sh"
source "$SOURCE_DIR/hostile.sh"
need_sampling
need_command jq
record_hostile "$HOSTILE/entries"
named_in hostile.jsonl | grep -qx hot || fail "hot() has no name"
problem_in hostile.jsonl "$HOSTILE/entries" | grep -q 'left out' || fail "the reason is not given"
exit 0
