# OpenTelemetry's thread context of node, in a program that makes up node's objects: each of the
# four ways from an object to its record, and errors of a map, with each way to read.
source "${BASH_SOURCE%/*}/../lib.sh"

cat >"$work/expected.py" <<'PYTHON'
import json
def labelled(part):
    ids = {"trace_id": "0102030405060708090a0b0c0d0e0f10", "span_id": f"{0xb0 + part:016x}"}
    return "labelled", {**ids, "http.route": "GET /pay"}
expected = {"alone": labelled(0), "colliding": labelled(1), "replaced": ("torn", {}),
            **{part: ("unlabelled", {}) for part in ("absent", "idle", "closed", "unset")},
            **{part: ("malformed", {}) for part in ("garbage", "circle", "beyond")}}
def parts(path):
    told = [json.loads(line) for line in open(path) if line.startswith("{")]
    return {each["tid"]: each["part"] for each in told}
def compare(seen):
    return "\n".join(f"{part}: {seen.get(part)}, not {wanted}" for part, wanted in expected.items()
                     if seen.get(part) != wanted)
PYTHON

expect_dump() {
  expect_status "$exit_ok" "$1"
  PYTHONPATH=$work python3 - "$work/stdout" "$work/truth" <<'PYTHON' || fail "$1"
import json, sys
from expected import compare, parts
known = parts(sys.argv[2])
sys.exit(compare({known[thread["tid"]]: (thread["outcome"], {label["key"]: label["value"] for label in thread["labels"]})
                  for thread in json.load(open(sys.argv[1]))["threads"] if thread["tid"] in known}) or 0)
PYTHON
}
expect_recording() {
  expect_status "$exit_ok" "$1"
  expect_ledger "$2"
  PYTHONPATH=$work python3 - "$2" "$work/truth" <<'PYTHON' || fail "$1"
import json, sys
from expected import compare, parts
lines = [json.loads(line) for line in open(sys.argv[1])]
known, outcomes = parts(sys.argv[2]), lines[0]["outcomes"]
sets = {line["id"]: {label["key"]: label["value"] for label in line["labels"]} for line in lines if line["type"] == "labels"}
threads = {line["id"]: line["tid"] for line in lines if line["type"] == "thread"}
seen = {}
for line in lines:
    if line["type"] != "sample" or outcomes[line["outcome"]] in ("no-thread-pointer", "not-relocated"): continue
    one = outcomes[line["outcome"]], sets[line["labels"]]
    part = known.get(threads[line["thread"]])
    if seen.setdefault(part, one) != one: seen[part] = f"{seen[part]} and {one}"
sys.exit(compare(seen) or 0)
PYTHON
}
by_bpf=0
if (need_sampling >/dev/null); then by_bpf=1; fi

for writer in 5.16 5.17 5.19 5.20; do
  start_target "$NODE_CONTEXTS" "$writer"
  run dump -p "$target" --backend ptrace --json
  expect_dump "dump by ptrace, $writer"
  if ((by_bpf)); then
    run dump -p "$target" --backend bpf --json
    if ((status == exit_ok)); then expect_dump "dump by BPF, $writer"; fi
    record_threads 100 --backend bpf -F 199 -p "$target" --call-graph none -o "$work/bpf.jsonl" \
      --overwrite
    at_rest expect_recording "record by BPF, $writer" "$work/bpf.jsonl"
  fi
  stop_target
done

# The process says later how its objects are laid out. Until then samples report that this is
# missing, and from then on they have labels.
start_target "$NODE_CONTEXTS" 5.17 quiet
run dump -p "$target" --explain
expect_shown 'neither the entry nor the process context says where an object has its record'
backend=ptrace
if ((by_bpf)); then backend=bpf; fi
start record --backend "$backend" -F 199 -p "$target" --call-graph none -o "$work/late.jsonl" \
  --overwrite
wait_until "labelscope records" has_begun_or_ended
wait_until "the target computes" has_run_or_ended $(($(cpu_ticks "$target") + 50))
echo tell >&8
wait_until "the process has published its context" grep -qsx told "$work/truth"
let_look 6000  # labelscope looks for a process context every five seconds
wait_until "there are samples after that" has_run_or_ended $(($(cpu_ticks "$target") + 50))
kill -INT "$recorder"
finish
jq -se '(.[0].outcomes) as $outcomes | [.[] | select(.type == "sample") | $outcomes[.outcome]] | index("no-keys") and index("labelled")' \
  "$work/late.jsonl" >/dev/null || fail "labels do not come after the context"

run dump -p "$target" --explain
expect_shown 'the frame.s map has nothing for the writer.s key'
expect_shown 'the thread.s entry is empty'
expect_shown 'a bucket of the map has more than 32 entries'
expect_shown 'attribute with key 0, http\.route=GET /pay'
run dump -p "$target"
expect_shown '^  labels from .*/node_contexts \(otel_thread_ctx_nodejs_v1, local exec\)'
if command -v gcore >/dev/null && gcore -o "$work/core" "$target" >"$work/gcore" 2>&1; then
  run dump --core "$work/core.$target" --json
  expect_dump "a core"
fi
record_threads 100 --backend ptrace -F 199 -p "$target" --call-graph none -o "$work/ptrace.jsonl"
at_rest expect_recording "record by ptrace" "$work/ptrace.jsonl"

run inspect "$NODE_CONTEXTS"
expect_status "$exit_ok" "inspect"
expect_shown '^  otel_thread_ctx_nodejs_v1$'
