# --names shows values of a label by the names of a file, in tables and files of record and report; what
# is no such file is refused before anything is recorded, with its line, and values without a name stay.
source "${BASH_SOURCE%/*}/../lib.sh"
need_command python3
python3 -B "$SOURCE_DIR/../formats/made_recording.py" made.jsonl true.json || fail "no recording"
run report made.jsonl --summary tenant --json
mapfile -t values < <(python3 -c 'import json, sys
for one in json.loads(sys.stdin.readline())["values"][:2]: print(json.dumps([one["value"], one["time_ns"]]))' <"$work/stdout")
((${#values[@]} == 2)) || fail "the recording has fewer than two tenants"
python3 - "${values[@]}" >names.csv <<'PYTHON' || fail "no names"
import csv, json, sys
csv.writer(sys.stdout).writerow([json.loads(sys.argv[1])[0], 'The "first",\nof all'])
PYTHON
run report made.jsonl --names tenant=names.csv --summary tenant --json -o named.folded --group-by tenant
expect_status "$exit_ok" "--names"
python3 - "$work/stdout" "${values[@]}" <<'PYTHON' || fail "the table has other names"
import json, sys
shown = {json.dumps(one["value"]): one["time_ns"] for one in json.loads(open(sys.argv[1]).readline())["values"]}
(first, time), (second, other) = map(json.loads, sys.argv[2:])
assert json.dumps(first) not in shown and shown[json.dumps('The "first", of all')] == time, shown
assert shown[json.dumps(second)] == other, shown
PYTHON
grep -q '^tenant=The "first", of all;' named.folded || fail "the file has no name: $(cut -c1-80 named.folded | head -n 5)"

# A pipe is read, too, and a rule without a use is said.
run report made.jsonl --names tenant=<(echo nobody,somebody) --names typo=names.csv -o other.csv
expect_status "$exit_ok" "--names of a pipe"
expect_said 'warning: --names tenant=...: no value of this label is in the file$'
expect_said 'warning: --names typo=...: no label has this key$'

# refused <message> <option...>: nothing is recorded.
refused() {
  run record "${@:2}" -- true
  expect_status "$exit_usage" "${*:2}"
  expect_said "$1"
}
refused 'KEY=FILE is wanted' --names tenant
refused 'KEY=FILE is wanted' --names =names.csv
refused 'the file cannot be opened' --names tenant=nowhere
refused 'the file cannot be read' --names tenant=.
refused 'has a file already' --names tenant=names.csv --names tenant=names.csv
echo 'one column' >wrong
refused 'line 1: it has one column' --names tenant=wrong
refused 'label-deny leaves this label out' --names tenant=names.csv --label-deny tenant
refused 'label-hash makes groups of its values' --names tenant=names.csv --label-hash tenant
# A file without an end is read up to the bound.
refused 'it has more than 16 MiB' --names tenant=/dev/zero

# In a recording, too.
need_sampling
export TENANT=7
start_busy_target
run record -p "$target" -d 1s --env-label TENANT=tenant --names tenant=<(echo 7,seven) --summary tenant -o run.jsonl
expect_status "$exit_ok" "record --names"
expect_shown '^ *seven '
grep -q '"value":"seven"' run.jsonl || fail "the recording has no name"
