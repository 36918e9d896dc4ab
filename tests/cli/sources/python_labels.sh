# Labels of Python by writer-lib/python: shares of threads are those of their own clocks, and no
# sample of a task of asyncio has labels of another task.
source "${BASH_SOURCE%/*}/../lib.sh"
need_command python3
python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' || skip_test "$(python3 --version) is older than 3.11"
LD_PRELOAD=$WRITER_LIBRARY true 2>/dev/null || skip_test "a library with a sanitizer cannot be loaded by another program"
# A launcher, such as that of pyenv, would be recorded instead of Python.
python=$(python3 -c 'import sys; print(sys.executable)')
program=$SOURCE_DIR/../targets/sources/python_labels.py
export PYTHONPATH=$SOURCE_DIR/../../writer-lib/python PYTHONDONTWRITEBYTECODE=1
export CUSTOMLABELS_LIBRARY=$WRITER_LIBRARY
backends=(ptrace)
(need_sampling >/dev/null) && backends+=(bpf)

# Threads. Here the library comes by dlopen, so its variable lies in memory that each thread has for
# itself.
are_shares_true() {
  "$LABELSCOPE" record --backend "$1" -F "$2" --call-graph none -o "$work/threads.jsonl" --overwrite -- \
    "$python" "$program" threads "$3" >"$work/account" 2>"$work/stderr" || fail "record by $1"
  expect_ledger "$work/threads.jsonl"
  python3 "$SOURCE_DIR/tenant_shares.py" "$work/threads.jsonl" "$work/account" --only '[
    {"thread": "one", "tenant": "acme"}, {"thread": "one", "tenant": "globex"},
    {"thread": "two", "tenant": "globex"}, {"thread": "two", "tenant": "initech"}]'
  local ended=$?
  ((ended != 2)) || exit 1
  return "$ended"
}
expect_true_shares() {
  # One of a hundred recordings has a share beyond three standard errors by chance; two in succession
  # do not.
  are_shares_true "$@" || are_shares_true "$@" || fail "shares of threads by $1"
}
expect_true_shares ptrace 499 2
[[ " ${backends[*]} " != *" bpf "* ]] || expect_true_shares bpf 499 3

# Tasks: two thousand of them, with a library that is preloaded. A sample with a witness has the
# labels of that task and no others.
expect_witness() {
  python3 - "$1" <<'PYTHON' || fail "$2"
import collections, json, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
sets = {line["id"]: {label["key"]: label["value"] for label in line["labels"]} for line in lines if line["type"] == "labels"}
seen, without, wrong, called = collections.Counter(), collections.Counter(), [], 0
for line in lines:
    if line["type"] != "sample": continue
    labels = sets[line["labels"]]
    task, half = labels.get("task"), labels.get("half", "first") if "task" in labels else "none"
    if "span_id" not in labels:
        without["a task's label" if task else "no label"] += line["count"]
        continue
    part = int(labels["root_span_id"], 16)
    called += line["count"] if part == 4 else 0
    witness = int(labels["span_id"], 16), {1: "first", 2: "second", 3: "none", 4: "second"}[part]
    if (int(task or 0), half) != witness: wrong.append(labels)
    seen[witness] += line["count"]
samples = sum(seen.values())
print(f"{samples} samples with a witness, of {len({task for task, _ in seen})} tasks {seen[0, 'none']} of a callback without labels and {called} of callbacks of tasks, {len(wrong)} wrong; others: {dict(without)}")
if wrong: sys.exit(f"labels of another task: {wrong[:5]}")
if samples < 300 or len(seen) < 200 or not seen[0, "none"] or not called: sys.exit("too few samples")
PYTHON
}
export LD_PRELOAD=$WRITER_LIBRARY
start_target "$python" "$program" tasks "$CONTEXT_LIBRARY"
unset LD_PRELOAD
for backend in "${backends[@]}"; do
  record_for "$(rounds 200 1000)" --backend "$backend" -F 499 --call-graph none -p "$target" \
    -o "$work/tasks.jsonl" --overwrite
  expect_status "$exit_ok" "record of tasks by $backend"
  expect_ledger "$work/tasks.jsonl"
  printf 'tasks by %s: ' "$backend"
  expect_witness "$work/tasks.jsonl" "tasks by $backend"
done
# At a moment that the program holds, dump shows the task that it has printed.
echo hold >&8
wait_until "a task holds" grep -q '^{' "$work/truth"
run dump -p "$target" --json
expect_status "$exit_ok" "dump"
jq -se '.[0] as $held | .[1].threads[] | select(.tid == $held.tid) | .labels | map({(.key): .value}) | add
  | . == {task: ($held.task | tostring)}' \
  <(grep '^{' "$work/truth") "$work/stdout" >/dev/null || fail "dump of a task that holds"
# The variable of a library that is loaded with the program is where ABI v1 wants it.
run check -p "$target" --timeout 5s
! grep -q LS002 "$work/stdout" || fail "check of a preloaded library"
expect_no_files
