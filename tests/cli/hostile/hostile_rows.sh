# A file of 20 KB has 20 million rows. There are no lines then, but the name of the function, and
# the reason.
source "${BASH_SOURCE%/*}/../lib.sh"
source "$SOURCE_DIR/hostile.sh"
need_sampling
need_command jq
record_hostile "$HOSTILE/rows"
named_in hostile.jsonl | grep -qx hot || fail "hot() has no name"
problem_in hostile.jsonl "$HOSTILE/rows" | grep -q 'rows of line tables' ||
  fail "the reason is not given"
exit 0
