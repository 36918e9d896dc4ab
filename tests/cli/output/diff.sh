# Two recordings and their difference: none between a recording and itself, and what was taken out
# of one where something was.
source "${BASH_SOURCE%/*}/../lib.sh"
need_sampling
need_command jq
start_busy_target
run record -d 1 -F 499 -p "$target" -o a.jsonl -o a.pb.gz
expect_status "$exit_ok" "the recording"
samples=$(jq -s 'map(select(.type == "sample").count) | add' a.jsonl)

run diff a.jsonl a.jsonl
expect_status "$exit_ok" "a recording and itself"
expect_shown '^A  a\.jsonl'
expect_shown '^function \(alone\)'
! grep -q '~' "$work/stdout" || fail "a recording differs from itself by chance"
run diff --json --summary comm a.jsonl a.jsonl
jq -se --argjson samples "$samples" \
  'map(.by) == ["label", "function", "function-and-below"] and .[0].key == "comm"
  and all(.[]; .a.samples == $samples and all(.rows[]; .difference == 0 and .noise))
  and (.[0].rows | map(.a.samples) | add) == $samples' "$work/stdout" >/dev/null || fail "a recording differs from itself"

# Our pprof file of it is the same recording, but for the times.
run diff --json --summary comm,thread_id a.jsonl a.pb.gz
expect_status "$exit_ok" "a recording and its pprof file"
jq -se 'all(.[]; all(.rows[]; .a == .b))' "$work/stdout" >/dev/null ||
  fail "a recording differs from its pprof file"

# Half of the samples are taken out, all of them from one half of the time: this is a true
# difference of amounts, not of shares.
run report a.jsonl --until 500ms -o half.jsonl
run diff --json --summary comm a.jsonl half.jsonl
jq -se '.[0] | .b.time_ns < .a.time_ns and .rows[0].difference == 0' "$work/stdout" >/dev/null ||
  fail "a half is not a half"

run diff a.jsonl half.jsonl -o diff.html
expect_status "$exit_ok" "a page"
expect_said 'open diff.html'
grep -q '"compare_by":"recording"' diff.html || fail "the page does not compare"
run diff a.jsonl half.jsonl -o diff.html
expect_status "$exit_error" "a page that exists"
if command -v node >/dev/null; then
  node "$SOURCE_DIR/../page/read_page.mjs" diff.html >"$work/page" || fail "the page cannot be read"
  half=$(jq -s 'map(select(.type == "sample").count) | add' half.jsonl)
  jq -e --argjson a "$samples" --argjson b "$half" '.allowed and .same_script and
    ([.samples[] | select(.labels.recording == "A").count] | add) == $a and
    ([.samples[] | select(.labels.recording == "B").count] | add) == $b' "$work/page" >/dev/null ||
    fail "the page has not all samples of both"
fi

run diff a.jsonl a.jsonl --where "comm=no such value"
expect_status "$exit_no_sample" "no sample left"
expect_said \
  '^labelscope: a\.jsonl: --where comm=no such value: no sample has such a value; there are: '
run diff a.jsonl a.jsonl --summary comn
expect_said 'no sample has the label comn of --summary; there are: comm'
head -n 1 a.jsonl >none.jsonl
for command in "report" "diff a.jsonl"; do
  # shellcheck disable=SC2086
  run $command none.jsonl
  expect_status "$exit_error" "$command: a recording that is cut before its samples"
  expect_said 'none\.jsonl: it was cut short before its first sample'
done
sed '1s/"mode":"cpu"/"mode":"wall"/' a.jsonl >wall.jsonl
run diff a.jsonl wall.jsonl
expect_status "$exit_error" "CPU time and all time"
expect_said 'wall\.jsonl: it counts wall time, and the one before cpu time; give'
run diff a.jsonl nowhere.jsonl
expect_status "$exit_no_target" "not there"
head -c $(($(stat -c %s a.jsonl) * 9 / 10)) a.jsonl >cut.jsonl
run diff a.jsonl cut.jsonl
expect_status "$exit_error" "a recording that is cut short"
expect_said 'cut.jsonl: it was cut short'
expect_shown '^B  cut\.jsonl'
for wrong in "a.jsonl" "a.jsonl a.jsonl a.jsonl" "- -" "a.jsonl a.jsonl -o x.folded" \
  "a.jsonl a.jsonl --json -o -"; do
  # shellcheck disable=SC2086
  run diff $wrong
  expect_status "$exit_usage" "$wrong"
done
rm -f ./*.jsonl ./*.html ./*.pb.gz
