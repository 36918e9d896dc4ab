# The names of threads as labels (@comm of a preset), in a program that publishes nothing and whose threads name
# themselves, one of them anew for each piece of work: by BPF and by ptrace the shares of time by name are those that the
# program itself has measured, and a dump has the name that each thread has now. A core file has no names of threads.
source "${BASH_SOURCE%/*}/../lib.sh"
need_command jq
need_command python3
cat >"$work/names.preset" <<'PRESET'
preset names 1
match  *
label  thread = @comm
label  pool   = @comm after "pool-" word 1
label  title  = @title
PRESET
grep -v title "$work/names.preset" >"$work/only.preset"
start_target "$NAMED_THREADS" "pool-a job:6,pool-b job:2" http-nio-8080-e:5 'conn 123':5
changing=$(sed -n 's/^{"tid":\([0-9]*\),"names":"pool-.*/\1/p' "$work/truth")

has_said() { (($(grep -cx said "$work/truth") == accounts)); }
accounts=0
account() {
  accounts=$((accounts + 1))
  echo account >&8
  wait_until "the target says what it has done" has_said
  grep '"labels"' "$work/truth" | tail -n 4 >"$1"
}
# expect_shares <backend> <hertz>
expect_shares() {
  account "$work/before"
  record_threads 1500 --backend "$1" -F "$2" -p "$target" --preset "$work/names.preset" -o "$work/$1.jsonl"
  expect_status "$exit_ok" "record by $1"
  account "$work/after"
  expect_ledger "$work/$1.jsonl"
  python3 - "$work/before" "$work/after" >"$work/account" <<'PYTHON'
import json, sys
before, after = ([json.loads(line) for line in open(path)] for path in sys.argv[1:])
for was, now in zip(before, after):
    print(json.dumps({"labels": now["labels"], "time": now["time"] - was["time"]}))
PYTHON
  cat >"$work/plan" <<'PLAN'
{"thread": "pool-a job", "pool": "a"}
{"thread": "pool-b job", "pool": "b"}
{"thread": "http-nio-8080-e"}
{"thread": "conn 123"}
PLAN
  python3 "$SOURCE_DIR/planned_labels.py" "$work/$1.jsonl" "$work/plan" --ignore title --account "$work/account" >"$work/found" ||
    fail "$1: shares by name are not the program's: $(cat "$work/found")"
  jq -e '.impossible == [] and .unseen == []' "$work/found" >"$work/checked" || fail "$1: $(cat "$work/found")"
}
expect_shares ptrace 199
if (need_sampling >/dev/null); then expect_shares bpf 499; fi

# expect_names <what>: each thread of the dump has the name that it has now, and the one of two names one of these.
expect_names() {
  expect_status "$exit_ok" "$1"
  jq -e --argjson changing "$changing" '[.threads[] | select(.tid != $changing) |
    (.labels | map(select(.key == "thread"))[0].value) == .name] | length == 3 and all' "$work/stdout" >"$work/checked" ||
    fail "$1: $(jq -c '.threads[] | [.tid, .name, .labels]' "$work/stdout")"
  jq -e --argjson changing "$changing" '.threads[] | select(.tid == $changing) | .labels | map(select(.key == "pool"))[0].value |
    . == "a" or . == "b"' "$work/stdout" >"$work/checked" || fail "$1: the thread of two names"
}
run dump --json -p "$target" --backend ptrace --preset "$work/names.preset"
expect_names "dump by ptrace"
if (need_sampling >/dev/null); then
  run dump --json -p "$target" --backend bpf --preset "$work/names.preset"
  if ((status == exit_ok)); then expect_names "dump by BPF"; fi
fi
run dump -p "$target" --explain --preset "$work/names.preset"
expect_shown 'label thread: the label thread is http-nio-8080-e'

if command -v gcore >/dev/null && gcore -o "$work/core" "$target" >"$work/gcore" 2>&1; then
  run dump --core "$work/core.$target" --preset "$work/only.preset"
  expect_said "a core file has the name of the process, and none of its threads' names"
fi
