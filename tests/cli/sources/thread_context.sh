# A second label source: the thread context of libthreadcontext.so, beside custom labels in the same
# process.
source "${BASH_SOURCE%/*}/../lib.sh"
start_target "$CONTEXTS"
read -r whole plain none torn < <(true_tids | tr '\n' ' ')
library=${CONTEXT_LIBRARY//./\\.}

# expect_threads <what>: checks each thread of $work/stdout against what the target has printed.
expect_threads() {
  local what=$1
  expect_status "$exit_ok" "$what"
  expect_shown "^  labels from $library \\(context_tls_v1, "
  expect_shown '^  labels from .*/libcustomlabels\.so \('
  local context='span_id=000000000000002a[ @].*root_span_id=fedcba9876543210[ @].*tag0=7[ @].*tag2=4294967295'
  grep -E "^Thread +$whole " "$work/stdout" | grep -E "$context" | grep -q 'tenant=acme' ||
    fail "$what: whole"
  expect_shown "^Thread +$plain  .*tenant=acme"
  ! grep -E "^Thread +$plain " "$work/stdout" | grep -q 'span_id' ||
    fail "$what: a context of another thread"
  expect_shown "^Thread +$none  .*\\(no labels"
  expect_shown "^Thread +$torn  .*\\(unreadable: the thread was just writing its record\\)"
}
run dump -p "$target" --backend ptrace
expect_threads "dump by ptrace"
run dump -p "$target" --json
expect_shown '"variable":"context_tls_v1"'
expect_shown '"malformed":0,"vanished":0,"torn":1'
run dump -p "$target" --explain
expect_shown 'context_tls_v1 in \.dynsym: TLS, .*, 64 bytes'
expect_shown 'the record has span 0x2a, root span 0xfedcba9876543210'
expect_shown 'a checksum of 0: the thread is just writing the record'
expect_shown '^  torn-record: '

# expect_recorded <backend>: checks the share of each thread's time by label, and the ledger.
expect_recorded() {
  local backend=$1
  record_threads 150 --backend "$backend" -F 199 -p "$target" -o "$work/$backend.jsonl" --overwrite
  expect_status "$exit_ok" "record by $backend"
  expect_said 'the thread was just writing its record: [1-9]'
  python3 - "$work/$backend.jsonl" "$whole" "$plain" "$none" "$torn" <<'PYTHON' || fail \
    "record by $backend"
import json, sys
whole, plain, none, torn = map(int, sys.argv[2:])
lines = [json.loads(line) for line in open(sys.argv[1])]
outcomes = lines[0]["outcomes"]
of = {kind: [line for line in lines if line["type"] == kind] for kind in ("thread", "labels", "sample")}
sets = {line["id"]: {label["key"]: label["value"] for label in line["labels"]} for line in of["labels"]}
threads = {line["id"]: line["tid"] for line in of["thread"]}
seen = {}
for sample in of["sample"]:
    # On a busy machine a thread may not stop in time, and then nothing was read.
    if outcomes[sample["outcome"]] == "no-thread-pointer": continue
    labels = json.dumps(sets[sample["labels"]], sort_keys=True)
    seen.setdefault(threads[sample["thread"]], set()).add((outcomes[sample["outcome"]], labels))
context = {"span_id": "000000000000002a", "root_span_id": "fedcba9876543210", "tag0": "7", "tag2": "4294967295"}
def only(outcome, labels): return {(outcome, json.dumps(labels, sort_keys=True))}
expected = {whole: only("labelled", {**context, "tenant": "acme"}), plain: only("labelled", {"tenant": "acme"}),
            none: only("unlabelled", {}), torn: only("torn", {})}
sys.exit(f"seen {seen}, not {expected}" if {t: seen.get(t) for t in expected} != expected else 0)
PYTHON
}
expect_recorded ptrace
if (need_sampling >/dev/null); then
  run dump -p "$target" --backend bpf
  if ((status == exit_ok)); then expect_threads "dump by BPF"; fi
  expect_recorded bpf
fi

if command -v gcore >/dev/null && gcore -o "$work/core" "$target" >"$work/gcore" 2>&1; then
  run dump --core "$work/core.$target"
  expect_threads "a core"
fi
# Now only the file is read.
run inspect "$CONTEXT_LIBRARY"
expect_status "$exit_ok" "inspect"
expect_shown "publishes labels as context_tls_v1 wants it"
expect_shown '^  context_tls_v1$'
! grep -q 'custom_labels' "$work/stdout" || fail "symbols of another source"
run inspect --json "$CONTEXT_LIBRARY"
expect_shown '^ +"context_tls_v1": '
run check "$CONTEXT_LIBRARY"
expect_status "$exit_ok" "check"
expect_shown 'libthreadcontext\.so: 3 rules looked at, all met'
# Both sources of one process are checked, each by its own rules. A torn record counts as one that
# is being written.
run check -p "$target" --format json
expect_status "$exit_ok" "check of both"
python3 - "$work/stdout" <<'PYTHON' || fail "not the rules of both sources"
import json, sys
report = json.load(open(sys.argv[1]))
process = [subject["rules"] for subject in report["subjects"] if subject["name"].startswith("process ")]
sys.exit(process if process != [[f"LS0{n}" for n in [*range(40, 50), 51]] + ["LS110"]] else 0)
PYTHON
# A process has the library and never a context: its file is checked, and nothing else could be. (A
# library with a sanitizer cannot be preloaded, and neither can one whose name has a blank.)
cp "$CONTEXT_LIBRARY" "$work/libthreadcontext.so"
preload=libthreadcontext.so
if LD_LIBRARY_PATH=$work LD_PRELOAD=$preload true 2>/dev/null; then
  LD_LIBRARY_PATH=$work LD_PRELOAD=$preload sleep 1000 &
  children+=($!)
  wait_until "the library is loaded" grep -qs threadcontext "/proc/$!/maps"
  run check -p $! --timeout 5s
  expect_status "$exit_unchecked" "check of a process with contexts alone"
  expect_shown 'libthreadcontext\.so: 3 rules looked at, all met'
  expect_shown 'no thread was seen with labels'
fi
expect_no_files
