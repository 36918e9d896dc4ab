# Stacks and names of a Go program without symbols and call frame information, whose runtime has
# both. Functions without a frame keep their direct caller (runtime.memclrNoHeapPointers), and
# assembly without frame pointers has callers (SHA-256).
source "${BASH_SOURCE%/*}/../lib.sh"
[[ -x $GO_STACKS ]] || need_command go
[[ -x $GO_STACKS ]] ||
  fail "the Go program was not built: cmake --build ... --target labelscope_go_stacks"

check_stacks() {
  python3 - "$1" <<'PYTHON' || fail "$2"
import json, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
of = lambda kind: {line["id"]: line for line in lines if line["type"] == kind}
locations, stacks, program = of("location"), of("stack"), {i for i, m in of("module").items() if m["path"].endswith("/go_stacks/program")}
def name(location):
    found = locations[location]
    return found["lines"][-1]["function"] if found.get("lines") else None
total = nameless = ended = cleared = hashed = 0
ends = {}
for sample in lines:
    if sample["type"] != "sample" or sample["stack"] is None: continue
    stack, count = stacks[sample["stack"]], sample["count"]
    own = [each for each in stack["locations"] if locations[each]["module"] in program]
    if not own: continue
    total += count
    ends[stack["end"]] = ends.get(stack["end"], 0) + count
    names = [name(each) for each in own]
    if None in names or any(each.startswith("+0x") for each in names): nameless += count
    if names[0] == "runtime.memclrNoHeapPointers" and "main.clear" in names:
        cleared += count
        if names[1] == "runtime.makeslice" or names[1].startswith("main."): sys.exit(f"the allocator is left out: {names}")
    if names[0].startswith(("crypto/sha256.block", "crypto/internal/fips140/sha256.block")):
        hashed += count
        if stack["end"] not in ("at-entry", "complete") or "main.hash" not in names: sys.exit(f"{stack['end']} after {names}")
print(f"{total} samples, {nameless} with a frame without a name, {cleared} clear memory, {hashed} hash; ends: {ends}")
if total < 50: sys.exit("too few samples")
if nameless: sys.exit("not all functions have names")
if not cleared or not hashed: sys.exit("the program does not do what it is for")
whole = ends.get("at-entry", 0) + ends.get("complete", 0) + ends.get("left-out", 0)
if ends.get("bad-return-address") or whole * 10 < total * 9: sys.exit("stacks end early")
PYTHON
}
backends=(ptrace)
(need_sampling >/dev/null) && backends+=(bpf)
for backend in "${backends[@]}"; do
  start_target "$GO_STACKS"
  record_for "$(rounds 150 600)" --backend "$backend" -F 299 -p "$target" \
    -o "$work/$backend.jsonl" --overwrite
  expect_status "$exit_ok" "record by $backend"
  stop_target
  printf '%s: ' "$backend"
  check_stacks "$work/$backend.jsonl" "$backend"
done
run inspect --unwind "$GO_STACKS"
expect_shown "functions by the table that Go's runtime has of them"
