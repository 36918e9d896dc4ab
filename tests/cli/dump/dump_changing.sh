# A server whose values have another owner every microsecond, dumped again and again: all labels of a
# dump are one owner's, or it says that they are of none.
source "${BASH_SOURCE%/*}/../lib.sh"
need_command jq
start_target "$PRESET_SERVERS/postgres-15"
for command in running flip; do
  before=$(grep -csx ready "$work/truth")
  answered() { (($(grep -csx ready "$work/truth") > before)); }
  echo "$command" >&8
  wait_until "the server has done: $command" answered
done
for ((i = $(rounds 25 200); i > 0; --i)); do
  run dump --json -p "$target" --preset "$SOURCE_DIR/../../reader/presets/postgres.preset"
  expect_status "$exit_ok" "a dump"
  jq -c '.. | objects | select(.labels? != null and (.labels | length) > 0) | [.labels[] | "\(.key)=\(.value)"] | sort' \
    "$work/stdout" >>"$work/seen"
done
sort "$work/seen" | uniq -c
[[ -s $work/seen ]] || fail "no dump had labels"
grep -vE '^\["application=(one|two)","db=\1","db_oid=(1|2)","query_id=\2","role_oid=\2","user=\1","user_oid=\2"\]$' "$work/seen" &&
  fail "a dump has labels of two owners"
! grep -qE 'application=one.*db_oid=2|application=two.*db_oid=1' "$work/seen" || fail "a dump has labels of two owners"
