# There are 100,000 functions of a million empty ranges each.
source "${BASH_SOURCE%/*}/../lib.sh"
source "$SOURCE_DIR/hostile.sh"
need_sampling
need_command jq
record_hostile "$HOSTILE/ranges"
named_in hostile.jsonl | grep -qx hot || fail "hot() has no name"
problem_in hostile.jsonl "$HOSTILE/ranges" | grep -q 'left out' || fail "the reason is not given"
exit 0
