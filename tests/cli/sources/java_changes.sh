# 200 threads of a JVM that change their labels all the time, read at 4,999 Hz: each sample has a set
# that the program makes, never a mixture of two.
source "${BASH_SOURCE%/*}/../lib.sh"
source "$SOURCE_DIR/java.sh"
need_sampling
need_command python3
start_target "${java[@]}" LabelChurn

# A busy machine takes fewer samples in the same time.
enough=$(rounds 4000 40000)
record_changes() {
  record_for $(($1 / 10)) --backend bpf -F 4999 --call-graph none -p "$target" -o "$work/out.jsonl" --overwrite
  expect_status "$exit_ok" "record"
  python3 - "$work/out.jsonl" "$enough" <<'PYTHON'
import json, re, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
outcomes = lines[0]["outcomes"]
sets = {line["id"]: {label["key"]: label["value"] for label in line["labels"]} for line in lines if line["type"] == "labels"}
threads = {line["id"]: (line["pid"], line["tid"]) for line in lines if line["type"] == "thread"}
def number(text):
    match = re.fullmatch(r"(\d+)(-*)", text)
    return int(match[1]) if match and len(match[2]) == int(match[1]) % 100 else None
def whole(labels):
    if set(labels) - {"span-id", "root-span-id", "a", "b", "c"}: return False
    if "span-id" in labels or "root-span-id" in labels:
        if int(labels.get("root-span-id", -1)) != 3 * int(labels.get("span-id", -1)) + 1: return False
    a, b, c = labels.get("a"), labels.get("b"), labels.get("c")
    if a is None: return b is None and c is None
    if a == "inner": return b == "inner" and (c is None or number(c) is not None)
    return a == b and number(a) is not None and c in (None, a)
def span(labels): return int(labels["span-id"]) if "span-id" in labels else None
torn = [labels for labels in sets.values() if not whole(labels)]
if torn: sys.exit(f"{len(torn)} of {len(sets)} sets are mixtures: {torn[:3]}")
total, labelled, seen = 0, 0, set()
for sample in (line for line in lines if line["type"] == "sample"):
    total += sample["count"]
    if outcomes[sample["outcome"]] == "labelled":
        labelled += sample["count"]
        seen.add(sample["thread"])
    elif outcomes[sample["outcome"]] != "unlabelled": sys.exit(f"a sample is {outcomes[sample['outcome']]}")
kinds = {frozenset(labels) for labels in sets.values()}
print(f"{total} samples, {labelled} labelled, {len(sets)} sets of {len(kinds)} kinds in {len(seen)} threads")
if labelled < int(sys.argv[2]): sys.exit(75)
if len(seen) < 150 or len(kinds) < 4: sys.exit("the program's threads or sets were not seen")
PYTHON
  case $? in
    0) return ;;
    75) need_more_time "$(wc -l <"$work/out.jsonl") lines in the recording" ;;
    *) fail "labels of 200 threads" ;;
  esac
}
with_enough_time 2500 record_changes
stop_target
expect_no_files
