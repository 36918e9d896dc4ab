# Labels of Node.js by writer-lib/node: shares of requests are those of the program's own account, and
# no sample of asynchronous work has labels of other work.
source "${BASH_SOURCE%/*}/../lib.sh"
need_command node
node -e 'process.exit(parseInt(process.versions.node) < 18 ? 1 : 0)' || skip_test "node $(node --version) is older than 18"
[[ -n $NODE_MODULES ]] || skip_test "the module was not built: there is no node_api.h (Debian package libnode-dev)"
export NODE_PATH=$NODE_MODULES
node -e 'require("customlabels")' 2>"$work/stderr" || skip_test "the addon cannot be loaded: $(head -n 1 "$work/stderr")"
program=$SOURCE_DIR/../targets/node/node_labels.js
backends=(ptrace)
(need_sampling >/dev/null) && backends+=(bpf)

# With one thread, the time of the process is that of JavaScript.
are_shares_true() {
  "$LABELSCOPE" record --backend "$1" -F "$2" --call-graph none -o "$work/shares.jsonl" --overwrite -- \
    node --single-threaded "$program" shares "$3" >"$work/account" 2>"$work/stderr" || fail "record by $1"
  expect_ledger "$work/shares.jsonl"
  # What a request does beside its computing, such as its awaits, has its label, too, and is not in the
  # account.
  python3 "$SOURCE_DIR/tenant_shares.py" "$work/shares.jsonl" "$work/account" --allow 0.01
  local ended=$?
  ((ended != 2)) || exit 1
  return "$ended"
}
expect_true_shares() {
  # One of a hundred recordings has a share beyond three standard errors by chance; two in succession
  # do not.
  are_shares_true "$@" || are_shares_true "$@" || fail "shares of requests by $1"
}
expect_true_shares ptrace 499 4
[[ " ${backends[*]} " != *" bpf "* ]] || expect_true_shares bpf 499 4

# Two thousand pieces of asynchronous work take turns, and each has its witness. Most of the rest has
# no witness because it is node itself. Returns 3 if there are too few samples of a kind: a timer's are
# rare, and none may come while ptrace looks.
has_witness() {
  python3 - "$1" <<'PYTHON'
import collections, json, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
sets = {line["id"]: {label["key"]: label["value"] for label in line["labels"]} for line in lines if line["type"] == "labels"}
seen, without, wrong = collections.Counter(), collections.Counter(), []
parts = {1: "first", 2: "second", 3: "none", 4: "bound"}
for line in lines:
    if line["type"] != "sample": continue
    labels = sets[line["labels"]]
    if "span_id" not in labels:
        without["a task's label" if "task" in labels else "no label"] += line["count"]
        continue
    task, part = int(labels["span_id"], 16), parts[int(labels["root_span_id"], 16)]
    expected = {"task": str(task)} if task else {}
    if part == "second": expected["half"] = "second"
    found = {key: labels[key] for key in ("task", "half") if key in labels}
    if found != expected: wrong.append((part, labels))
    seen[task, part] += line["count"]
samples = sum(seen.values())
print(f"{samples} samples with a witness, of {len({task for task, _ in seen})} tasks, {seen[0, 'none']} of a timer "
      f"and {seen[0, 'bound']} of a bound function, {len(wrong)} wrong; others: {dict(without)}")
if wrong: sys.exit(f"labels of other work: {wrong[:5]}")
if samples < 300 or len(seen) < 200 or not seen[0, "none"] or not seen[0, "bound"]: sys.exit(3)
PYTHON
}
start_target node "$program" tasks
for backend in "${backends[@]}"; do
  for times in 1 3 9; do
    record_for "$((times * $(rounds 400 2000)))" --backend "$backend" -F 499 --call-graph none \
      -p "$target" -o "$work/tasks.jsonl" --overwrite
    expect_status "$exit_ok" "record of tasks by $backend"
    expect_ledger "$work/tasks.jsonl"
    printf 'tasks by %s: ' "$backend"
    has_witness "$work/tasks.jsonl"
    ended=$?
    ((ended == 3)) || break
  done
  ((ended == 0)) || fail "tasks by $backend: $( ((ended == 3)) && echo "too few samples")"
done
# At a moment that the program holds, dump shows the task that it has printed.
echo hold >&8
wait_until "a task holds" grep -q '^{' "$work/truth"
run dump -p "$target" --json
expect_status "$exit_ok" "dump"
jq -se '.[0] as $held | .[1].threads[] | select(.tid == $held.tid) | .labels | map({(.key): .value}) | add
  | . == {task: ($held.task | tostring)}' \
  <(grep '^{' "$work/truth" | head -n 1) "$work/stdout" >/dev/null || fail "dump of a task that holds: $(<"$work/stdout")"
# An addon cannot be loaded at the start, and all else is as ABI v1 wants it.
run check -p "$target" --timeout 5s
! grep -Eq '^ *error' "$work/stdout" || fail "check: $(<"$work/stdout")"
expect_no_files
