# Variables of a process label its first thread, and its title labels all threads: in a program that publishes no
# labels, and in the child that it has forked, by every way of reading.
source "${BASH_SOURCE%/*}/../lib.sh"
need_command jq
start_target "$GLOBALS" "room for a title"
tid_of() { sed -n "s/^{\"tid\":\([0-9]*\),\"what\":\"$1\"}/\1/p" "$work/truth"; }
wait_until "the child computes" grep -q child "$work/truth"
first=$(tid_of first) beside=$(tid_of beside) child=$(tid_of child)

options=(--variable 'current_request->+8:str24=route' --variable 'current_request->+32:cstr=user' --variable shard:u32
  --variable turn:i32 --variable @title)
of_first='route=/checkout shard=40 title=shop:_/checkout turn=0 user=ada'
of_beside='title=shop:_/checkout'
of_child='route=/search shard=41 title=shop:_/search turn=-1'

# expect_thread <what> <tid> <labels>
expect_thread() {
  local labels
  labels=$(jq -r --argjson tid "$2" '.threads[] | select(.tid == $tid) | .labels[] | "\(.key)=\(.value)"' "$work/stdout" | tr ' ' '_' | sort | paste -sd' ')
  [[ $labels == "$3" ]] || fail "$1: thread $2 has $labels, not $3"
}
all_of() {
  local what=$1
  shift
  run dump --json "$@" "${options[@]}"
  expect_status "$exit_ok" "$what"
  expect_thread "$what" "$first" "$of_first"
  expect_thread "$what" "$beside" "$of_beside"
}
all_of "dump by ptrace" -p "$target" --backend ptrace
run dump --json -p "$child" --backend ptrace "${options[@]}"
expect_thread "the child, by ptrace" "$child" "$of_child"
if (need_sampling >/dev/null); then
  run dump -p "$target" --backend bpf
  if ((status == exit_ok)); then all_of "dump by BPF" -p "$target" --backend bpf; fi
fi
if command -v gcore >/dev/null && gcore -o "$work/core" "$target" >"$work/gcore" 2>&1; then
  run dump --json --core "$work/core.$target" "${options[@]}"
  expect_thread "a core" "$first" "${of_first/ title=shop:_\/checkout/}"
  expect_said 'warning: --variable @title: .*core'
fi

# --- for people: that a variable is the process's, and whose label it is
run dump -p "$target" --explain --variable shard:u32
expect_shown 'the process has it once, at 0x[0-9a-f]+, for its first thread'
expect_shown 'only its first thread has a label from it: this is another thread'

# --- what cannot be
run dump -p "$target" --variable current_request+8:u32
expect_said 'current_request\+8:u32 lies outside of the variable, which has 8 bytes'
run dump -p "$target" --variable main:u64
expect_said 'main is no variable but a function'
run dump -p "$target" --variable @titel
expect_status "$exit_usage" "a name behind @ that there is not"
expect_said '@title'

# --- record: the child, which is followed, has its own values
expect_recorded() {
  record_threads 250 --backend "$1" -F 199 -p "$target" "${options[@]}" -o "$work/$1.jsonl"
  expect_status "$exit_ok" "record by $1"
  expect_said 'shard.*first thread'
  expect_ledger "$work/$1.jsonl"
  python3 - "$work/$1.jsonl" "$first" "$of_first" "$beside" "$of_beside" "$child" "$of_child" <<'PYTHON' || fail "record by $1"
import json, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
of = {kind: [line for line in lines if line["type"] == kind] for kind in ("thread", "labels", "sample")}
sets = {l["id"]: " ".join(sorted(f'{x["key"]}={x["value"]}'.replace(" ", "_") for x in l["labels"])) for l in of["labels"]}
threads = {line["id"]: line["tid"] for line in of["thread"]}
seen = {}
for sample in of["sample"]:
    # On a busy machine a thread may not stop in time.
    if lines[0]["outcomes"][sample["outcome"]] == "no-thread-pointer": continue
    seen.setdefault(threads[sample["thread"]], set()).add(sets[sample["labels"]])
for tid, labels in zip(map(int, sys.argv[2::2]), sys.argv[3::2]):
    if seen.get(tid) != {labels}: sys.exit(f"thread {tid} has {seen.get(tid)}, not {labels}")
PYTHON
}
expect_recorded ptrace
if (need_sampling >/dev/null); then expect_recorded bpf; fi
