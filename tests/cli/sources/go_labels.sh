# Labels of Go's runtime/pprof, in programs that are linked in each way and know what they computed
# with which labels.
source "${BASH_SOURCE%/*}/../lib.sh"
[[ -x $GO_LABELS/static ]] || need_command go
[[ -x $GO_LABELS/static ]] ||
  fail "the Go programs were not built: cmake --build ... --target labelscope_go_labels"

# Each sample must have all labels of one goroutine, and the shares must be those that the
# goroutines computed.
check_recording() {
  python3 - "$1" "$2" <<'PYTHON' || fail "$3"
import json, os, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
truth = json.loads(open(sys.argv[2]).read().splitlines()[-1])
outcomes = lines[0]["outcomes"]
sets = {line["id"]: {label["key"]: label["value"] for label in line["labels"]} for line in lines if line["type"] == "labels"}
def numbered(worker, count): return {f"k{i:02}": f"{worker}-{i}-{count}" for i in range(1, count)}
def whole(labels):
    worker = labels.get("worker")
    rest = {key: value for key, value in labels.items() if key != "worker"}
    if worker is None: return not rest
    if worker == "w0": return rest == {"tenant": "acme"}
    if worker == "w1": return rest == {"tenant": "globex"}
    if worker == "w3": return rest == numbered("w3", 64)
    if worker == "w4": return rest == {"long1": "w4-1-" + 1000 * "x", "long2": "w4-2-" + 1000 * "y", "empty": ""}
    return worker == "w5" and 9 <= len(labels) <= 64 and rest == numbered("w5", len(labels))
seen, threads, unreadable, total, widths = {}, {}, 0, 0, set()
for sample in lines:
    if sample["type"] != "sample": continue
    labels = sets[sample["labels"]]
    if not whole(labels): sys.exit(f"no goroutine had these labels: {labels}")
    total += sample["count"]
    if outcomes[sample["outcome"]] not in ("labelled", "unlabelled"): unreadable += sample["count"]
    worker = labels.get("worker")
    if worker:
        seen[worker] = seen.get(worker, 0) + sample["count"]
        threads.setdefault(worker, set()).add(sample["thread"])
        if worker == "w5": widths.add(len(labels))
labelled = {worker: units for worker, units in truth.items() if worker != "w2"}
found, done = sum(seen.values()), sum(labelled.values())
print(f"{total} samples, {unreadable} unreadable;", *(f"{w}: {seen.get(w, 0) / found:.3f} of {labelled[w] / done:.3f}," for w in labelled))
for worker, units in labelled.items():
    share = units / done
    error = 4 * (share * (1 - share) / found) ** 0.5 + 0.04
    if abs(seen.get(worker, 0) / found - share) > error: sys.exit(f"{worker} has {seen.get(worker, 0) / found:.3f} of the labelled samples, and {share:.3f} of the work")
# On an emulated processor without access flags of its own, some pages become readable only by a
# fault, which kernels before 6.18 cannot ask for.
if unreadable * (10 if "LABELSCOPE_EMULATED" in os.environ else 50) > total: sys.exit(f"{unreadable} of {total} samples are unreadable")
if max(len(each) for each in threads.values()) < 2: sys.exit("no goroutine was seen in two threads")
enough = 2 if "LABELSCOPE_EMULATED" in os.environ else 3  # of a hundred samples
if len(widths) < enough: sys.exit(f"the growing map was seen with {widths} labels")
PYTHON
}

record_variant() {
  local name=$1 backend=$2
  shift 2
  rm -f "$work/stdin"
  start_target "$@"
  # The program is the child of unshare.
  [[ $1 == unshare ]] && target=$(pgrep -P "$target")
  record_for "$ticks" --backend "$backend" -F "$frequency" -p "$target" \
    -o "$work/$name.$backend.jsonl" --overwrite
  expect_status "$exit_ok" "record of $name by $backend"
  exec 8>&-
  wait_until "$name has printed what it did" grep -q '^{' "$work/truth"
  printf '%s by %s: ' "$name" "$backend"
  check_recording "$work/$name.$backend.jsonl" "$work/truth" "$name by $backend"
}
load_shared=("$GO_LOADER" "$GO_LABELS/shared.so")
# The library wants 1 KiB of static TLS. glibc on aarch64 has that only for libraries that are there
# from the start.
[[ $(uname -m) != aarch64 ]] ||
  load_shared=(env LD_PRELOAD="$GO_LABELS/shared.so" "${load_shared[@]}")
# Samples on an emulated processor take so long that the kernel lowers the highest rate.
frequency=299
ticks=$(rounds 150 800)
variants=(static stripped pie cgo cgo_pie)
if [[ -n ${LABELSCOPE_EMULATED:-} ]]; then
  frequency=99
  ticks=400
  variants=(static cgo_pie)  # without and with thread-local storage; inspect says how each is found
fi
backends=(ptrace)
(need_sampling >/dev/null) && backends+=(bpf)
for backend in "${backends[@]}"; do
  for name in "${variants[@]}"; do record_variant "$name" "$backend" "$GO_LABELS/$name"; done
  record_variant shared.so "$backend" "${load_shared[@]}"
done
# In a pid namespace of its own, as in a container, each thread has another number for itself.
if unshare --pid --fork true 2>/dev/null; then
  for backend in "${backends[@]}"; do
    record_variant in_namespace "$backend" unshare --pid --fork --kill-child "$GO_LABELS/static"
  done
fi

# The place of the running goroutine differs. Without cgo, aarch64 has it in a register only;
# thread-local data of C lies before the thread pointer on x86-64, and behind it on aarch64.
if [[ $(uname -m) == aarch64 ]]; then
  access=register slot='register x28' moved='plus 0x'
else
  access='local exec' slot='TLS, the thread pointer minus 0x8' moved='minus 0x'
fi
# dump says the same of one moment, and how it was found.
rm -f "$work/stdin"
start_target "$GO_LABELS/static"
run dump -p "$target" --explain
expect_status "$exit_ok" "dump"
expect_shown "labels from $GO_LABELS/static \\(runtime/pprof, $access\\)"
expect_shown 'runtime: Go go1\.[0-9]+'
expect_shown "goroutine: in $slot"
expect_shown 'that record is of thread [0-9]+'
expect_shown '\(no goroutine\)'
run dump -p "$target" --json
jq -e '.publishers[0] | .source == "runtime/pprof" and .variable == null' "$work/stdout" \
  >/dev/null || fail "dump --json"
if command -v gcore >/dev/null && gcore -o "$work/core" "$target" >"$work/gcore" 2>&1; then
  run dump --core "$work/core.$target"
  expect_status "$exit_ok" "dump of a core"
  expect_shown 'worker=w[0-5]|no goroutine'
fi
exec 8>&-

# Now only the files are read. With cgo and much thread-local data of C, the slot is not where Go's
# linker would put it.
for name in static stripped pie cgo; do
  run inspect "$GO_LABELS/$name"
  expect_status "$exit_ok" "inspect $name"
  expect_shown 'publishes labels as runtime/pprof does; no rules apply to it'
  expect_shown '^  runtime  Go go1\.'
done
run inspect "$GO_LABELS/static" "$GO_LABELS/pie"
expect_shown '^no-rules  '
run inspect "$GO_LABELS/cgo"
expect_shown "^  goroutine in TLS, the thread pointer $moved"
! grep -q 'minus 0x8$' "$work/stdout" || fail "the slot of $name is not moved by C's data"
run inspect "$GO_LABELS/shared.so"
expect_shown '^  goroutine in TLS, at the distance that the loader writes to 0x'
