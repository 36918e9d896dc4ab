# One recording in all formats. Each has the same time by value of a label, which made_recording.py
# knows; and nothing in the recording, however odd, breaks a format.
source "${BASH_SOURCE%/*}/../lib.sh"
need_command python3
formats=$SOURCE_DIR/../formats
python3 -B "$formats/made_recording.py" made.jsonl true.json || fail "no recording"
extensions="pb.gz folded svg csv otlp speedscope.json firefox.json"
# same_totals <file>: compares the times of a file with the right ones.
same_totals() {
  python3 -B "$formats/read_format.py" "$1" tenant >"$work/totals" 2>"$work/stderr" ||
    fail "$1 breaks a rule of its format"
  python3 -c 'import json, sys; a, b = (json.load(open(path)) for path in sys.argv[1:]); assert a == b, (
    {key: (a.get(key), b.get(key)) for key in a.keys() | b.keys() if a.get(key) != b.get(key)})' \
    true.json "$work/totals" 2>"$work/stderr" || fail "$1 has other totals"
}
outputs=()
for extension in $extensions; do outputs+=(-o "grouped.$extension"); done
run report made.jsonl --group-by tenant "${outputs[@]}"
expect_status "$exit_ok" "all formats"
for extension in $extensions; do same_totals "grouped.$extension"; done
# These formats keep labels in any case.
run report made.jsonl -o plain.pb.gz -o plain.csv -o plain.otlp -o plain.firefox.json -o plain.svg \
  -o plain.speedscope.json
expect_status "$exit_ok" "without groups"
for extension in pb.gz csv otlp firefox.json; do same_totals "plain.$extension"; done

# The table for programs has the same times.
run report made.jsonl --summary tenant --json
python3 -c 'import json, sys; summary = json.loads(sys.stdin.read()); rest = sum(
    value["time_ns"] for value in summary["values"]) + summary["without"]["time_ns"] + summary["unreadable"]["time_ns"]
assert rest == summary["time_ns"] == sum(json.load(open("true.json")).values())
assert len(summary["values"]) == len(json.load(open("true.json"))) - 2' <"$work/stdout" 2>"$work/stderr" ||
  fail "the summary has other totals"

# Labels that are left out are reported and counted, and the rest is unchanged.
run report made.jsonl --label-deny trace_id,span_id -o denied.otlp
expect_status "$exit_ok" "--label-deny"
expect_said "left out by --label-deny or --label-allow: 102$"
same_totals denied.otlp
run report made.jsonl --label-allow tenant -o allowed.csv
same_totals allowed.csv
[[ $(head -n 1 allowed.csv) == *,tenant$'\r' ]] || fail "a label that is not allowed is a column"
run report made.jsonl --label-hash tenant -o hashed.folded --group-by tenant
expect_said "hashed by --label-hash: 60$"
grep -vqE '^tenant=(#[0-9a-f][0-9a-f]|<none>|<unreadable>);' hashed.folded &&
  fail "a value is not hashed"
[[ $(awk '{ sum += $NF } END { print sum }' hashed.folded) == $(awk '{ sum += $NF } END { print sum }' grouped.folded) ]] ||
  fail "hashing changes the sum"
# Naming one file twice is wrong usage; naming an existing one is not.
run report made.jsonl -o twice.csv -o ./twice.csv
expect_status "$exit_usage" "one file twice"
run report made.jsonl -o denied.otlp
expect_status "$exit_error" "a file that exists"

# A key that no label has is reported, whether or not it is a typing error; and a label that is left
# out cannot be shown.
run report made.jsonl --label-deny no_such_key,trace_id -o typo.csv
expect_said 'warning: --label-deny no_such_key: no label has this key$'
! grep -q 'trace_id: no label' "$work/stderr" || fail "a key that labels have is said to be in none"
run report made.jsonl --label-deny tenant --summary tenant
expect_said '--summary tenant: --label-deny leaves this label out'
for wrong in "--label-deny a --label-allow a" "--label-hash a --label-deny b,a" \
  "--label-deny a --summary a" \
  "--label-allow a --group-by b"; do
  # shellcheck disable=SC2086
  run report made.jsonl $wrong
  expect_status "$exit_usage" "$wrong"
done

# With too many label sets, the message names the key and the fix. Without that label, rows are
# equal again.
python3 - <<'END'
import json
lines = open("made.jsonl").read().splitlines()
first = next(i for i, line in enumerate(lines) if json.loads(line)["type"] == "sample")
made = [json.loads(line) for line in lines]
sets = sum(line["type"] == "labels" for line in made)
new = [{"type": "labels", "id": sets + i, "labels": [{"key": "request id", "value": str(i), "publisher": 0},
       {"key": "tenant", "value": str(i % 3), "publisher": 0}]} for i in range(10050)]
samples = [{**made[first], "time_ns": 0, "count": 1, "labels": sets + i} for i in range(10050)]
ledger = made[-1]
ledger["taken"] += 10050
ledger["written"] += 10050
ledger["outcomes"]["labelled"] += 10050
ledger["time"]["attributed_ns"] += 10050 * samples[0]["weight_ns"]
with open("many.jsonl", "w") as file:
    for line in made[:first] + new + made[first:-1] + samples + [ledger]:
        file.write(json.dumps(line) + "\n")
END
run report many.jsonl -o many.folded --group-by tenant
expect_status "$exit_ok" "many label sets"
expect_said 'the label "request id" has 10,050 values. Without it there are [0-9]{2} sets'
run report many.jsonl --label-deny "request id" -o few.jsonl -o few.folded --group-by tenant
grep -q "different label sets" "$work/stderr" &&
  fail "there are few label sets, and it says that there are many"
cmp many.folded few.folded || fail "leaving a label out changes another one"
[[ $(grep -c '"type":"sample"' few.jsonl) -lt 200 ]] || fail "equal rows are not one"
exit 0
