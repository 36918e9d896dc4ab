# OpenTelemetry's thread context and process context, of a program that writes both by the
# documents: every record of its threads, with each way to read.
source "${BASH_SOURCE%/*}/../lib.sh"
start_target "$OTEL_CONTEXTS"

# This is what each thread has, before and after the process names the key 9.
cat >"$work/expected.py" <<'PYTHON'
import json
trace = "0102030405060708090a0b0c0d0e0f10"
def ids(part): return {"trace_id": trace, "span_id": f"{0xa0 + part:016x}"}
def expected(grown):
    late = {"late.key": "grown"} if grown else {}
    no_name = [] if grown else ["unknown-key"]
    return {
        "whole": ("labelled", {**ids(0), "datadog.local_root_span_id": "00000000000000aa", "http.route": "GET /pay"}, []),
        "duplicate": ("labelled", {**ids(1), "http.route": "last"}, ["duplicate-key"]),
        "unknown": ("labelled", {**ids(2), "http.route": "GET /cart", **late}, no_name),
        "bare": ("labelled", late, []) if grown else ("no-keys", {}, no_name),
        "incomplete": ("labelled", {**ids(4), "http.route": "GET /"}, ["incomplete-label"]),
        "oversize": ("labelled", {**ids(5), "http.route": "GET /all", "user.id": "x" * 250}, ["truncated-bytes", "duplicate-key"]),
        "invalid": ("unlabelled", {}, []),
        "none": ("unlabelled", {}, []),
    }
def truth(path):
    told = [json.loads(line) for line in open(path) if line.startswith("{")]
    return {each["tid"]: each["part"] for each in told}
attributes = [{"key": "service.name", "value": "shop"}, {"key": "service.version", "value": "1.2\x1b[31m"}]
PYTHON

# expect_dump <what> <grown: 0 or 1>: checks the dump of every thread in $work/stdout.
expect_dump() {
  expect_status "$exit_ok" "$1"
  PYTHONPATH=$work python3 - "$work/stdout" "$work/truth" "$2" <<'PYTHON' || fail "$1"
import json, sys
from expected import attributes, expected, truth
dump, parts, wanted = json.load(open(sys.argv[1])), truth(sys.argv[2]), expected(sys.argv[3] == "1")
seen = {}
for thread in dump["threads"]:
    if thread["tid"] not in parts: continue
    labels = {label["key"]: label["value"] for label in thread["labels"]}
    seen[parts[thread["tid"]]] = (thread["outcome"], labels, thread["flags"])
problems = [f"{part}: {seen.get(part)}, not {wanted[part]}" for part in wanted if seen.get(part) != wanted[part]]
if dump["attributes"] != attributes: problems.append(f"attributes {dump['attributes']}")
sys.exit("\n".join(problems) or 0)
PYTHON
}

# expect_recording <backend> <grown>: checks a recording.
expect_recording() {
  expect_status "$exit_ok" "record by $1"
  expect_ledger "$work/$1.jsonl"
  PYTHONPATH=$work python3 - "$work/$1.jsonl" "$work/truth" "$2" <<'PYTHON' || fail "record by $1"
import json, sys
from expected import attributes, expected, truth
lines = [json.loads(line) for line in open(sys.argv[1])]
parts, wanted = truth(sys.argv[2]), expected(sys.argv[3] == "1")
of = {kind: [line for line in lines if line["type"] == kind] for kind in ("process", "thread", "labels", "sample")}
outcomes, flags = lines[0]["outcomes"], lines[0]["flags"]
sets = {line["id"]: {label["key"]: label["value"] for label in line["labels"]} for line in of["labels"]}
threads = {line["id"]: line["tid"] for line in of["thread"]}
seen = {}
for sample in of["sample"]:
    # On a busy machine a thread may not stop in time, and then nothing was read.
    if outcomes[sample["outcome"]] == "no-thread-pointer": continue
    part = parts.get(threads[sample["thread"]])
    words = [flag for bit, flag in enumerate(flags) if sample["flags"] >> bit & 1 and flag not in ("retried", "stack-cut")]
    one = (outcomes[sample["outcome"]], sets[sample["labels"]], words)
    if one not in seen.setdefault(part, []): seen[part].append(one)
problems = [f"{part}: {seen.get(part)}, not {wanted[part]}" for part in wanted if seen.get(part) != [wanted[part]]]
if of["process"][0]["attributes"] != attributes: problems.append(f"attributes {of['process'][0]['attributes']}")
sys.exit("\n".join(problems) or 0)
PYTHON
}
record() { record_threads 150 --backend "$1" -F 199 -p "$target" --call-graph none -o "$work/$1.jsonl" --overwrite; }
by_bpf=0
if (need_sampling >/dev/null); then by_bpf=1; fi

run dump -p "$target" --backend ptrace --json
expect_dump "dump by ptrace" 0
run dump -p "$target" --backend ptrace
expect_shown '^  labels from .*/otel_contexts \(otel_thread_ctx_v1, local exec\)'
expect_shown '^  service\.name=shop$'
expect_shown '^  service\.version=1\.2\\x1b\[31m$'
expect_shown 'unreadable: the process does not publish the names of the keys'
run dump -p "$target" --explain
expect_shown 'otel_thread_ctx_v1 in \.dynsym: TLS, .*, 8 bytes'
expect_shown 'the process has a process context at 0x[0-9a-f]+: 2 attributes, names of 9 keys'
expect_shown 'attribute with key 1, http\.route=GET /pay'
expect_shown '^  LS220 unknown-key: '
expect_shown '^  LS216 incomplete-attribute: '
expect_shown '^  LS212 record-invalid: '
record ptrace
at_rest expect_recording ptrace 0
if ((by_bpf)); then
  run dump -p "$target" --backend bpf --json
  if ((status == exit_ok)); then expect_dump "dump by BPF" 0; fi
  record bpf
  at_rest expect_recording bpf 0
fi

if command -v gcore >/dev/null && gcore -o "$work/core" "$target" >"$work/gcore" 2>&1; then
  run dump --core "$work/core.$target" --json
  expect_dump "a core" 0
fi

# A running recording gets the name that the process publishes later. (Earlier samples have none.)
backend=ptrace
if ((by_bpf)); then backend=bpf; fi
start record --backend "$backend" -F 199 -p "$target" --call-graph none -o "$work/grown.jsonl" \
  --overwrite
wait_until "labelscope records" has_begun_or_ended
wait_until "the target computes" has_run_or_ended $(($(cpu_ticks "$target") + 50))
echo grow >&8
wait_until "the process has another key" grep -qsx grown "$work/truth"
let_look 1500  # labelscope looks once a second
wait_until "there are samples after that" has_run_or_ended $(($(cpu_ticks "$target") + 100))
kill -INT "$recorder"
finish
jq -se '[.[] | select(.type == "labels") | .labels[] | select(.key == "late.key" and .value == "grown")] != []' \
  "$work/grown.jsonl" >/dev/null || fail "the key that was named later"
run dump -p "$target" --json
expect_dump "dump with the new key" 1
record "$backend"
at_rest expect_recording "$backend" 1

# A fork has records, and its parent's names.
echo fork >&8
wait_until "a child" grep -qs '^forked ' "$work/truth"
run dump -p "$(sed -n 's/^forked //p' "$work/truth")" --json
expect_status "$exit_ok" "dump of a fork"
jq -e '.threads[0].labels | map(select(.key == "http.route" and .value == "GET /pay")) != []' \
  "$work/stdout" >/dev/null ||
  fail "names of keys in a fork"

# The other formats have what the process says of itself.
run report "$work/$backend.jsonl" --summary span_id
expect_shown "^process $target: service\\.name=shop"
run report "$work/$backend.jsonl" -o "$work/out.pb.gz"
gzip -dc "$work/out.pb.gz" | grep -aq "attribute of process $target: service.name=shop" ||
  fail "the comment in pprof"

# Now only the file is read.
run inspect "$OTEL_CONTEXTS"
expect_status "$exit_ok" "inspect"
expect_shown '^  otel_thread_ctx_v1$'
expect_no_files
