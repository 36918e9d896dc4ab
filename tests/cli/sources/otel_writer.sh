# OpenTelemetry's contexts as libotelcontext.so publishes them: labelscope finds all of it, with
# each way to read.
source "${BASH_SOURCE%/*}/../lib.sh"
start_target "$OTEL_WRITER"
library=${OTEL_LIBRARY//./\\.}

cat >"$work/expected.py" <<'PYTHON'
import json
trace = "0102030405060708090a0b0c0d0e0f10"
def ids(part): return {"trace_id": trace, "span_id": f"{0xa0 + part:016x}"}
expected = {
    "whole": ("labelled", {**ids(0), "http.route": "GET /pay", "tenant": "acme"}),
    "changed": ("labelled", {**ids(1), "tenant": "globex"}),
    "bare": ("labelled", {"tenant": "bare"}),
    "detached": ("unlabelled", {}),
}
def truth(path):
    told = [json.loads(line) for line in open(path) if line.startswith("{")]
    return {each["tid"]: each["part"] for each in told}
def attributes(name): return [{"key": "service.name", "value": name}, {"key": "service.version", "value": "1.2"}]
PYTHON

# expect_dump <what>: checks the dump of every thread in $work/stdout.
expect_dump() {
  expect_status "$exit_ok" "$1"
  PYTHONPATH=$work python3 - "$work/stdout" "$work/truth" <<'PYTHON' || fail "$1"
import json, sys
from expected import attributes, expected, truth
dump, parts = json.load(open(sys.argv[1])), truth(sys.argv[2])
seen = {}
for thread in dump["threads"]:
    if thread["tid"] not in parts: continue
    labels = {label["key"]: label["value"] for label in thread["labels"]}
    seen[parts[thread["tid"]]] = (thread["outcome"], labels, thread["flags"])
problems = [f"{part}: {seen.get(part)}, not {wanted}" for part, wanted in expected.items() if seen.get(part) != (*wanted, [])]
if dump["attributes"] != attributes("shop"): problems.append(f"attributes {dump['attributes']}")
sys.exit("\n".join(problems) or 0)
PYTHON
}
run dump -p "$target" --backend ptrace --json
expect_dump "dump by ptrace"
run dump -p "$target" --backend ptrace
expect_shown "^  labels from $library \\(otel_thread_ctx_v1, "
expect_shown '^  service\.name=shop$'
if (need_sampling >/dev/null); then
  run dump -p "$target" --backend bpf --json
  if ((status == exit_ok)); then expect_dump "dump by BPF"; fi
fi
if command -v gcore >/dev/null && gcore -o "$work/core" "$target" >"$work/gcore" 2>&1; then
  run dump --core "$work/core.$target" --json
  expect_dump "a core"
fi

# A fork publishes its own context, and has the names of its parent.
echo fork >&8
wait_until "a child" grep -qs '^forked ' "$work/truth"
run dump -p "$(sed -n 's/^forked //p' "$work/truth")" --json
expect_status "$exit_ok" "dump of a fork"
PYTHONPATH=$work python3 - "$work/stdout" <<'PYTHON' || fail "dump of a fork"
import json, sys
from expected import attributes, expected
dump = json.load(open(sys.argv[1]))
labels = {label["key"]: label["value"] for label in dump["threads"][0]["labels"]}
sys.exit(0 if (labels, dump["attributes"]) == (expected["whole"][1], attributes("child")) else f"{dump}")
PYTHON

# It keeps to the rules, as a file, at any moment, and between any two instructions of its updates.
run check --strict "$OTEL_LIBRARY"
expect_status "$exit_ok" "check of the file"
expect_shown ': 6 rules looked at, all met'
for depth in "" --step; do
  # shellcheck disable=SC2086  # no argument at all, or one
  run check --strict $depth --format json -- "$OTEL_WRITER"
  expect_status "$exit_ok" "check $depth"
  grep -q '"LS220"' "$work/stdout" || fail "check $depth does not look at the rules of records"
done
grep -q '"LS250"' "$work/stdout" || fail "the updates were not stepped through"

run inspect "$OTEL_LIBRARY"
expect_status "$exit_ok" "inspect"
expect_shown '^  otel_thread_ctx_v1$'
expect_no_files
