# A label with more values than a recording keeps of it: the values with most time stay, the others are "(other)", and the
# last lines say which label it was, how many values it had, and what keeps them all. Labels of a preset have such a number by
# their class, here 100 for
# the 130 names that a thread takes in turn.
source "${BASH_SOURCE%/*}/../lib.sh"
need_command python3
cat >"$work/names.preset" <<'PRESET'
preset names 1
match  *
label  thread = @comm class=low
PRESET
start_target "$NAMED_THREADS" "$(printf 'job-%d:1,' {1..130})"
backend=ptrace
if (need_sampling >/dev/null); then backend=bpf; fi
record() { record_threads 2500 --backend "$backend" -F 999 --call-graph none -p "$target" --preset "$work/names.preset" "$@"; }
# values_of <recording>: prints how many values the label has, and how many samples have "(other)".
values_of() {
  python3 - "$1" <<'PYTHON'
import json, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
sets = {l["id"]: next((x["value"] for x in l["labels"] if x["key"] == "thread"), None) for l in lines if l["type"] == "labels"}
names = [(sets[l["labels"]], l["count"]) for l in lines if l["type"] == "sample"]
print(len({name for name, _ in names if name}), sum(count for name, count in names if name == "(other)"))
PYTHON
}
over_cap() { sed -n 's/.*"name":"labels-over-cap","count":\([0-9]*\).*/\1/p' "$1"; }

record -o "$work/capped.jsonl"
expect_status "$exit_ok" "a recording of a label with many values"
expect_ledger "$work/capped.jsonl"
expect_said 'warning: the label thread has 1[0-3][0-9] values: the 100 with most time are kept, and the others are \(other\), with .*% of the time; --label-values thread=1[0-3][0-9] keeps them all'
read -r values others < <(values_of "$work/capped.jsonl")
((values == 101 && others > 0)) || fail "$values values, and $others samples of others"
[[ $(over_cap "$work/capped.jsonl") == "$others" ]] || fail "the ledger has $(over_cap "$work/capped.jsonl") labels over the number, not $others"

record --label-values thread=all -o "$work/all.jsonl"
expect_status "$exit_ok" "a recording of all values"
! grep -q 'with most time' "$work/stderr" || fail "values are left out although all are wanted"
read -r values others < <(values_of "$work/all.jsonl")
((values >= 130 && others == 0)) || fail "$values values, and $others samples of others"

# --- afterwards, as few as the user likes; those with most time stay
run report "$work/all.jsonl" --label-values thread=3 --summary thread -o "$work/three.folded"
expect_status "$exit_ok" "report"
expect_said "warning: the label thread has $values values: the 3 with most time are kept"
expect_shown '^\(other\) +9[0-9]'
[[ $(grep -c '^job-' "$work/stdout") == 3 ]] || fail "not three values: $(cat "$work/stdout")"
run report "$work/all.jsonl" --json --summary thread
cp "$work/stdout" "$work/whole.json"
run report "$work/all.jsonl" --label-values thread=3 --json --summary thread
python3 - "$work/whole.json" "$work/stdout" <<'PYTHON' || fail "the three are not those with most time"
import json, sys
whole, three = ({row["value"]: row for row in json.loads(open(path).readline())["values"]} for path in sys.argv[1:])
most = sorted(whole, key=lambda value: list(whole).index(value))[:3]
sys.exit(0 if set(three) - {"(other)"} == set(most) else f"{set(three)} and {most}")
PYTHON

# --- what cannot be
run report "$work/all.jsonl" --label-values thread
expect_status "$exit_usage" "a label without a number"
expect_said 'KEY=N is wanted'
run report "$work/all.jsonl" --label-values thread=0
expect_status "$exit_usage" "no values"
run report "$work/all.jsonl" --label-values thread=3 --label-deny thread
expect_status "$exit_usage" "a label that is left out"
