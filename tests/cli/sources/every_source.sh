# Every source of labels that one process can have at once, in a program of C and in one of Go that
# loads the library. Every way to read gives all labels of each thread. Where two sources use one
# key, both values are there, and the one with precedence comes first.
source "${BASH_SOURCE%/*}/../lib.sh"
need_command jq

# expect_parts <what> <Go or empty>: checks that each thread of the dump in $work/stdout has what
# its part has published.
expect_parts() {
  expect_status "$exit_ok" "$1"
  python3 - "$work/stdout" "$work/truth" "$2" <<'PYTHON' || fail "$1"
import json, sys
parts = {each["tid"]: each["part"] for each in (json.loads(line) for line in open(sys.argv[2]) if line[0] == "{")}
threads = {thread["tid"]: thread for thread in json.load(open(sys.argv[1]))["threads"]}
for tid, n in parts.items():
    wanted = [("which", f"v1-{n}"), ("tenant", f"part-{n}"), ("trace_id", f"{n:032x}"), ("span_id", f"{n:016x}"),
              ("which", f"otel-{n}"), ("transaction_id", f"{n:016x}"), *([("goroutine", f"go-{n}")] if sys.argv[3] else []),
              ("span_id", f"{256 + n:016x}"), ("root_span_id", f"{n:016x}"), ("plain_number", str(n))]
    found = [(label["key"], label["value"]) for label in threads[tid]["labels"]]
    # Between two stretches of a goroutine Go's scheduler runs, and there is no goroutine.
    if sys.argv[3] and len(found) < len(wanted): wanted = [label for label in wanted if label[0] != "goroutine"]
    if found != wanted: sys.exit(f"thread {tid} has {found}, not {wanted}")
    if "key-conflict" not in threads[tid]["flags"]: sys.exit(f"thread {tid} has the flags {threads[tid]['flags']}")
PYTHON
}

# expect_recorded <what> <Go or empty>: checks the same for each sample of these threads, by key.
expect_recorded() {
  expect_status "$exit_ok" "$1"
  python3 - "$work/recording.jsonl" "$work/truth" "$2" <<'PYTHON' || fail "$1"
import json, sys
parts = {each["tid"]: each["part"] for each in (json.loads(line) for line in open(sys.argv[2]) if line[0] == "{")}
lines = [json.loads(line) for line in open(sys.argv[1])]
sets = {line["id"]: [(label["key"], label["value"]) for label in line["labels"]] for line in lines if line["type"] == "labels"}
tids = {line["id"]: line["tid"] for line in lines if line["type"] == "thread"}
seen, no_goroutine, total = set(), 0, 0
for sample in lines:
    if sample["type"] != "sample" or tids[sample["thread"]] not in parts: continue
    # On a busy machine a thread may not stop in time, and then nothing was read.
    if lines[0]["outcomes"][sample["outcome"]] == "no-thread-pointer": continue
    n = parts[tids[sample["thread"]]]
    total += sample["count"]
    wanted = [("which", f"v1-{n}"), ("tenant", f"part-{n}"), ("trace_id", f"{n:032x}"), ("span_id", f"{n:016x}"),
              ("which", f"otel-{n}"), ("transaction_id", f"{n:016x}"), *([("goroutine", f"go-{n}")] if sys.argv[3] else []),
              ("span_id", f"{256 + n:016x}"), ("root_span_id", f"{n:016x}"), ("plain_number", str(n))]
    wanted.sort(key=lambda label: label[0])
    between = [label for label in wanted if label[0] != "goroutine"]
    if sys.argv[3] and sets[sample["labels"]] == between: no_goroutine += sample["count"]; continue
    if sets[sample["labels"]] != wanted: sys.exit(f"a sample of part {n} has {sets[sample['labels']]}, not {wanted}")
    seen.add(n)
if no_goroutine * 50 > total: sys.exit(f"{no_goroutine} of {total} samples without a goroutine")
sys.exit(0 if seen == {1, 2, 3} else f"samples of the parts {seen}")
PYTHON
}

# all_ways <name> <Go or empty>: checks all ways to read a program.
all_ways() {
  local backends=(ptrace) backend
  (need_sampling >/dev/null) && backends+=(bpf)
  for backend in "${backends[@]}"; do
    run dump --json -p "$target" --backend "$backend" --tls plain_number:u32
    # Kernels before 5.18 have no dump by BPF, and labelscope says so.
    if [[ $backend == ptrace ]] || ((status == exit_ok)); then expect_parts "$1: dump by $backend" "$2"; fi
    record_threads 500 --backend "$backend" -F 199 -p "$target" --tls plain_number:u32 \
      -o "$work/recording.jsonl" --overwrite
    expect_recorded "$1: record by $backend" "$2"
  done
  if command -v gcore >/dev/null && gcore -o "$work/core" "$target" >"$work/gcore" 2>&1; then
    run dump --json --core "$work/core.$target" --tls plain_number:u32
    expect_parts "$1: a core" "$2"
  fi
}

start_target "$EVERY_SOURCE"
all_ways "a program of C" ""
stop_target
if command -v go >/dev/null && [[ -x $GO_LABELS/cgo ]]; then
  start_target env C_PUBLISHERS="$EVERY_SOURCE_LIBRARY" "$GO_LABELS/cgo"
  all_ways "a program of Go" go
  stop_target
else
  echo "left out: a program of Go (there is no Go here)"
fi
