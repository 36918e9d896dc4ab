# Every writer that breaks one rule in its file is found by that rule and by no other. Correct
# writers are clean.
source "${BASH_SOURCE%/*}/../lib.sh"
need_command jq

# One line has everything that is compared: the rules, whether each fails and has a fix, and the
# verdict.
summary='[([.subjects[].diagnostics[].rule] | join(" ")),
  ([.subjects[].diagnostics[] | .fails and (.fix | length > 0) and (.found | length > 0)] | all),
  .verdict, (.subjects | length), (.subjects[0].rules | length > 0)] | map(tostring) | join("|")'

count=0
for folder in "$VIOLATORS"/static/*/; do
  writer=$(basename "$folder")
  run check --strict --format json "$folder"
  told=$(jq -r "$summary" "$work/stdout") || fail "$writer: no JSON"
  if [[ $writer == good-* ]]; then
    [[ $told == '|true|clean|1|true' ]] || fail "$writer: $told"
    expect_status "$exit_ok" "$writer"
  elif [[ $writer == LS013-* ]]; then
    # The ABI permits it, and other writers do so: a note, which fails in no case.
    [[ $told == 'LS013|false|clean|1|true' ]] || fail "$writer: $told"
    expect_status "$exit_ok" "$writer"
  else
    [[ $told == "${writer%%-*}|true|findings|1|true" ]] || fail "$writer: $told"
    expect_status "$exit_findings" "$writer"
  fi
  count=$((count + 1))
done
((count >= 30)) || fail "only $count writers"

# Warnings fail only with --strict.
run check "$VIOLATORS/static/LS023-packed/libcustomlabels.so"
expect_status "$exit_ok" "a warning without --strict"
expect_shown 'warning LS023'

# An error in one writer does not hide what another one has: both are in one run.
run check --format json "$VIOLATORS/static/LS012-two" "$VIOLATORS/static/good-library" \
  "$VIOLATORS/static/LS003-other-name"
expect_status "$exit_findings" "three folders"
[[ $(jq -r '[.subjects[].diagnostics[].rule] | sort | join(" ")' "$work/stdout") == "LS003 LS012" ]] || fail "not both"
[[ $(jq '.subjects | length' "$work/stdout") == 3 ]] || fail "not three subjects"

# This is the bundled writer.
run check --strict "$WRITER_LIBRARY" "$STATIC_WRITER_PROGRAM"
expect_status "$exit_ok" "the bundled writer"
expect_shown 'libcustomlabels\.so: 13 rules looked at, all met'
expect_shown ': 11 rules looked at, all met'
