# Each wait counts under the labels that the thread had then, whatever it had before, and wherever they lie: a thread's
# labels are remembered from one wait to the next (bpf/programs/label_memory.bpf.h). The program knows by the kernel how often it has waited.
source "${BASH_SOURCE%/*}/../lib.sh"
need_sampling
need_command python3
run record --mode offcpu -F 199 -o changed.jsonl -- "$CHANGED_LABELS" 2000
skip_before_waits
expect_status "$exit_ok" "a recording of waits with changing labels"
expect_ledger changed.jsonl
grep '^{"' "$work/stdout" >truth.json
python3 - changed.jsonl truth.json <<'PYTHON' || fail "not as many waits by label as the program has had"
import json, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
truth = json.load(open(sys.argv[2]))
kinds, outcomes = lines[0]["values"], lines[0]["outcomes"]
UNLABELLED = outcomes.index("unlabelled")
labels = {l["id"]: {x["key"]: x["value"] for x in l["labels"]} for l in lines if l["type"] == "labels"}
seen = {}
for line in lines:
    if line["type"] != "waits":
        continue
    of = labels[line["labels"]]
    tenant = of.get("tenant", "none" if line["outcome"] == UNLABELLED else "unread")
    if kinds[line["value"]] != "runnable":
        seen[tenant] = seen.get(tenant, 0) + line["count"]
wrong = {tenant: (times, seen.get(tenant, 0)) for tenant, times in truth.items() if times != seen.get(tenant, 0)}
if wrong:
    sys.exit(f"by tenant (the program, labelscope): {wrong}")
PYTHON
