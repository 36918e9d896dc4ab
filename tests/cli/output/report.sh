# A recording, and the files that report makes of it: the same as those of record, of all samples or
# of a selection.
source "${BASH_SOURCE%/*}/../lib.sh"
need_sampling
need_command jq
start_busy_target
extensions="jsonl pb.gz folded html speedscope.json firefox.json svg csv otlp"
run record -d 1 -F 499 -p "$target" $(printf -- '-o a.%s ' $extensions)
expect_status "$exit_ok" "the recording"
run report a.jsonl $(printf -- '-o b.%s ' $extensions)
expect_status "$exit_ok" "the report"
for extension in $extensions; do
  cmp a.$extension b.$extension || fail "the report's .$extension is not the recording's"
done
# Every format with stacks has groups.
run record -d 1 -F 499 -p "$target" --group-by comm,thread_id $(printf -- '-o g.%s ' $extensions)
run report g.jsonl --group-by comm,thread_id $(printf -- '-o h.%s ' $extensions)
for extension in $extensions; do
  cmp g.$extension h.$extension ||
    fail "with groups, the report's .$extension is not the recording's"
done
samples() { jq -s 'map(select(.type == "sample").count) | add' "$1"; }
all=$(samples a.jsonl)

# This is the output without any option, and with a label.
run report a.jsonl
expect_status "$exit_ok" "no option"
[[ -s $work/stdout ]] || fail "nothing is printed"
key=comm
value=bash
run report a.jsonl --where "$key=$value" -o one.jsonl --summary "$key"
expect_status "$exit_ok" "one value"
expect_shown "^$value  *100\.0%"
run report a.jsonl --where "$key!=$value" -o rest.jsonl
rest=0
[[ ! -e rest.jsonl ]] || rest=$(samples rest.jsonl)
(($(samples one.jsonl) + rest == all)) || fail "a value and all others are not all samples"
run report a.jsonl --since 500ms -o late.jsonl
run report a.jsonl --until 500ms -o early.jsonl
(($(samples early.jsonl) + $(samples late.jsonl) == all)) ||
  fail "before and after are not all samples"
run report a.jsonl a.jsonl -o twice.jsonl
(($(samples twice.jsonl) == 2 * all)) || fail "twice is not the double"

# No sample is left; then recordings that are cut, damaged, none, of a later version, or missing.
run report a.jsonl --where "$key=$value" -o one.html -o one.svg -o one.pb.gz --overwrite
grep -q "\"part\":\"only samples with $key=$value\"" one.html ||
  fail "the page does not say that it is a part"
grep -q "only samples with $key=$value: .* time in these samples" one.svg ||
  fail "the picture does not say that it is a part"
for part in one.jsonl one.pb.gz; do
  run report "$part"
  expect_status "$exit_ok" "$part"
  expect_said '^[0-9.]+ m?s of CPU time in these samples$'
done
run report a.jsonl --where tennant=acme
expect_status "$exit_no_sample" "a key that is not there"
expect_said 'no sample has the label tennant of --where; there are: .*thread_id'
run report a.jsonl --where 'tennant!=acme'
expect_status "$exit_ok" "a key that is not there, and no value"
expect_said 'no sample has the label tennant of --where'
run report a.jsonl a.jsonl
expect_said 'a\.jsonl: the same recording as one before, so its samples count twice'
run report a.jsonl -o a.otlp
run report a.otlp
expect_status "$exit_error" "a file of another kind"
expect_said 'OTLP\), which labelscope writes and does not read'
run report .
expect_said 'it is a directory'
run report a.jsonl -o .
expect_status "$exit_usage" "a directory for a file"
rm -f one.html one.svg one.pb.gz a.otlp
run report a.jsonl --where "$key=no such value"
expect_status "$exit_no_sample" "no sample left"
expect_said "--where $key=no such value: no sample has such a value; there are: .*$value"
run report a.jsonl --since 1h
expect_said 'no sample is left of the recording, which is'
for asked in summary group-by; do
  run report a.jsonl "--$asked" thread_nam
  expect_said "no sample has the label thread_nam of --$asked; there are: .*thread_name"
done
run report a.jsonl --since 0
expect_status "$exit_ok" "from the start"
run report a.jsonl -o no/such/x.html
expect_status "$exit_error" "a folder that is not there"
expect_said 'cannot write no/such/x\.html: there is no folder no/such$'
run report a.jsonl -o /proc/x.html
expect_status "$exit_error" "a folder where no file can be made"
expect_said 'cannot write /proc/x\.html: no file can be made in the folder /proc$'
head -c $(($(stat -c %s a.jsonl) * 9 / 10)) a.jsonl >cut.jsonl
run report cut.jsonl -o cut.folded
expect_status "$exit_error" "a recording that is cut short"
expect_said 'cut.jsonl: it was cut short'
[[ -s cut.folded ]] || fail "what is there is not written"
sed '2s/.*/damaged/' a.jsonl >damaged.jsonl
run report damaged.jsonl
expect_status "$exit_error" "a damaged recording"
expect_said '1 line cannot be read, the first one is line 2'
for extension in csv svg html folded; do
  run report a.jsonl -o "a.$extension" --overwrite
  run report "a.$extension"
  expect_status "$exit_error" "no recording"
  expect_said "\\.$extension\\), which labelscope writes and does not read"
done
# The message about a file of another tool names the tool, and the fix.
for begin in 'PERFILE2 and more' 'heap profile: 1: 2 [3: 4] @ heap/1024' 'goroutine profile: total 6' 'goroutine 1 [running]:' \
  'shop  4242  7012.345678:   10101010 cpu-clock: '; do
  echo "$begin" >foreign
  run report foreign
  expect_status "$exit_error" "$begin"
  expect_said 'foreign: it is .*(perf_to_profile|go tool pprof -proto|without debug=2)'
done
head -c 100M /dev/zero | gzip >zeros.gz
run report zeros.gz
expect_status "$exit_error" "a hundred million zeros"
rm -f foreign zeros.gz
run report a.jsonl --value cpu
expect_status "$exit_ok" "the value that a recording has"
run report a.jsonl --value inuse_space
expect_status "$exit_error" "a value that a recording does not have"
expect_said 'it has no value inuse_space; there is: cpu$'
line=$(grep -n '"type":"labels"' a.jsonl | head -n 1 | cut -d: -f1)
sed "${line}s/.*/damaged/" a.jsonl >lost.jsonl
run report lost.jsonl -o lost.csv
expect_status "$exit_error" "a recording whose labels are damaged"
grep -q ',lost,' lost.csv || fail "labels of a line that is damaged are not lost"
rm -f lost.csv
run report /etc/passwd
expect_status "$exit_error" "a file of another kind"
expect_said 'recordings \(\.jsonl\) and pprof files are read'
cat a.jsonl damaged.jsonl >two.jsonl
run report two.jsonl -o two.folded
expect_status "$exit_error" "two recordings in one file"
expect_said 'give them as two files'
run report a.jsonl -o one.folded
cmp one.folded two.folded || fail "of two recordings in one file, not the first is read"

# It is reported if stdout does not take everything.
for options in "--summary comm -q" "--summary comm --json -q" "-q"; do
  # shellcheck disable=SC2086
  timeout --signal=KILL 60 "$LABELSCOPE" report a.jsonl $options >/dev/full 2>"$work/stderr"
  status=$?
  expect_status "$exit_error" "$options >/dev/full"
  expect_said '^labelscope: cannot write .* to stdout: No space left on device$'
  # shellcheck disable=SC2086
  timeout --signal=KILL 60 "$LABELSCOPE" report a.jsonl $options >&- 2>"$work/stderr"
  status=$?
  expect_status "$exit_error" "$options >&-"
  expect_said '^labelscope: cannot write .* to stdout: Bad file descriptor$'
done
sed '1s/"version":2/"version":3/' a.jsonl >later.jsonl
run report later.jsonl
expect_status "$exit_error" "a later version"
expect_said 'a newer labelscope is needed'
gzip -k a.jsonl
run report a.jsonl.gz -o packed.folded
expect_status "$exit_ok" "a compressed recording"
run report a.jsonl -o plain.folded
cmp plain.folded packed.folded || fail "a compressed recording is another one"
head -c $(($(stat -c %s a.jsonl.gz) * 9 / 10)) a.jsonl.gz >cut.jsonl.gz
run report cut.jsonl.gz -o cut.gz.folded
expect_status "$exit_error" "a compressed recording that is cut short"
expect_said 'its compressed data end too early'
[[ -s cut.gz.folded ]] || fail "what is there is not written"

# Of pprof files, ours give the same again, and one that is cut gives what can be read.
run report a.pb.gz -o again.pb.gz --summary comm,thread_id
expect_status "$exit_ok" "a pprof file"
expect_shown "^$value  *100\.0%"
if command -v go >/dev/null && pprof -tags a.pb.gz >"$work/tags" 2>/dev/null; then
  pprof -tags again.pb.gz >"$work/tags again"
  cmp "$work/tags" "$work/tags again" ||
    fail "go tool pprof finds other labels in a file that was read and written"
fi
run report a.pb.gz --since 1s
expect_status "$exit_error" "times of a pprof file"
expect_said 'does not say when its samples were taken: leave --since out'
run report a.jsonl a.pb.gz
expect_said "of $all samples it is not known how the stack ends"
run report a.pb.gz -o pprof.csv
! grep -q not-wanted pprof.csv || fail "stacks of a pprof file are not wanted"
grep -q ,unknown, pprof.csv || fail "ends of stacks of a pprof file are not unknown"
head -c $(($(stat -c %s a.pb.gz) / 2)) a.pb.gz >cut.pb.gz
run report cut.pb.gz
expect_status "$exit_error" "a pprof file that is cut short"
expect_said 'its compressed data end too early'
run report nowhere.jsonl
expect_status "$exit_no_target" "not there"
for wrong in "--where tenant" "--where tenant~(" "--since 2 --until 1" "-f folded"; do
  # shellcheck disable=SC2086
  run report a.jsonl $wrong
  expect_status "$exit_usage" "$wrong"
done
run report a.jsonl --since 3s --until 2s
expect_said '--until \(2\.00 s\) must be later than --since \(3\.00 s\)'
run report a.jsonl --where 'tenant~(['
expect_said 'a \[ is not closed with \]'
run report a.jsonl --where 'tenant~*'
expect_said 'nothing to repeat'
run report a.jsonl -f csv
expect_said 'add -o - or -o FILE\.csv'
rm -f ./[a-h].* ./*.csv ./*.svg ./*.jsonl ./*.gz ./*.folded ./*.html ./*.pb.gz
