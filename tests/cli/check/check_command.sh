# check -- CMD: the verdict on what the program did. Its own output is kept apart, its own failure
# is no success, and every problem with it is reported in words.
source "${BASH_SOURCE%/*}/../lib.sh"
live=$VIOLATORS/live

expect_clean() {
  run check --strict -- "$LINKED_WRITER_PROGRAM" --threads 2 --ms "$1"
  grep -q 'label sets of 2 threads read' "$work/stdout" || need_more_time "it ended before both threads were read"
  expect_status "$exit_ok" "the bundled writer"
  expect_shown '^clean: 2 subjects'
}
with_enough_time 400 expect_clean

# The program's output is its own, and a report in a data format has a file of its own.
run check --format json -o report.json -- sh -c 'echo its own words; exec "$0"' \
  "$live/LS044-value_null/program"
expect_status "$exit_findings" "a null value"
[[ $(cat "$work/stdout") == "its own words" ]] || fail "something else on stdout"
# shellcheck disable=SC2016  # jq's variables
jq -e --arg comm program \
  '[.subjects[] | select(.name | test("^process [0-9]+ \\(program\\)$")) | .diagnostics[]
  | .rule] == ["LS044"]' report.json >/dev/null || fail "the report: $(cat report.json)"

# A finding in a label set is shown at the file that publishes it.
run check --format sarif -- "$live/LS044-value_null/program"
expect_status "$exit_findings" "a null value as SARIF"
jq -e '.runs[0].results | length == 1 and all(.[].locations[0];
  (.physicalLocation.artifactLocation.uri | endswith("/LS044-value_null/program")) and
  .physicalLocation.region.startLine == 1 and .logicalLocations[0].kind == "process")' "$work/stdout" >/dev/null ||
  fail "no place of the finding: $(cat "$work/stdout")"

# An annotation begins a line, even if the program left an open line. In a file there is nothing
# before it.
run check --format github -- sh -c 'printf "an open line"; exec "$0"' \
  "$live/LS044-value_null/program"
expect_status "$exit_findings" "a null value as annotations"
expect_shown '^an open line$'
expect_shown '^::error title=LS044 '
run check --format github -o annotations -- "$live/LS044-value_null/program"
expect_status "$exit_findings" "annotations in a file"
[[ $(head -c 8 annotations) == '::error ' ]] || fail "the file: $(cat annotations)"

run check -- "$UNRULY" silent
expect_status "$exit_unchecked" "no labels"
expect_shown 'no thread was seen with labels'
run check -- "$UNRULY" status
expect_status "$exit_unchecked" "the program failed"
expect_shown 'ended with status 7'
run check -- "$UNRULY" crash
expect_status "$exit_unchecked" "the program crashed"
expect_shown 'killed by signal 11'
run check -- sleep 0.1
expect_status "$exit_unchecked" "no publisher"
expect_shown 'sets no labels that labelscope knows \([0-9]+ loaded files looked at\)'
run check -- true
expect_status "$exit_unchecked" "a program that is gone at once"

run check -- ./missing
expect_status "$exit_unchecked" "no such program"
expect_shown 'not checked +\./missing: cannot run \./missing: No such file'
printf 'no program\n' >text
run check -- ./text
expect_status "$exit_unchecked" "not executable"
expect_shown 'cannot run \./text: Permission denied'
