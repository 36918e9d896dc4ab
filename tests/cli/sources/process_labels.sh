# Labels of the process, from its environment, its cgroup and the kernel, with every way to read.
# Each program has its own, a forked child its parent's, and a thread's own label of the same key
# wins.
source "${BASH_SOURCE%/*}/../lib.sh"
need_command jq

# This is what the kernel says of a process like ours.
path=$(grep -m1 '^0::/.' /proc/self/cgroup | cut -d: -f3-)
user=$(id -un)
export TEST_JOB=job-1 TEST_ODD=$'\e[31mred' LABELSCOPE_LABELS='tenant=of the process,team=pay%2Cments,odd'
wanted=(--env-label TEST_JOB=job,TEST_ODD,TEST_NONE --env-labels --process-label user,command=cmd)
start_target "$CONTEXTS"
unset TEST_JOB TEST_ODD LABELSCOPE_LABELS
read -r whole plain none torn < <(true_tids | tr '\n' ' ')

# --- dump
run dump -p "$target" "${wanted[@]}"
expect_status "$exit_ok" "dump"
expect_shown '^  of the process: job=job-1@\[environment\]$'
expect_shown '^  of the process: TEST_ODD=.*\\x1b\[31mred.*@\[environment\]$'
expect_shown '^  of the process: team="pay,ments"@\[environment\]$'
expect_shown "^  of the process: user=$user@\\[process\\]\$"
expect_shown "^Thread +$plain .*tenant=acme"
grep -q $'\e' "$work/stdout" && fail "an escape sequence reached the terminal"
expect_said "warning: --env-label: TEST_NONE is not in the environment \\(process $target, $(cat "/proc/$target/comm")\\)"
expect_said 'LABELSCOPE_LABELS: no key=value, and left out: "odd"$'
run dump -p "$target" "${wanted[@]}" --json
expect_status "$exit_ok" "dump --json"
jq -e --arg user "$user" --arg command "$CONTEXTS" '.process_labels == [
  {key: "job", value: "job-1", source: "[environment]"}, {key: "TEST_ODD", value: "\u001b[31mred", source: "[environment]"},
  {key: "user", value: $user, source: "[process]"}, {key: "cmd", value: $command, source: "[process]"},
  {key: "tenant", value: "of the process", source: "[environment]"}, {key: "team", value: "pay,ments", source: "[environment]"}]' \
  "$work/stdout" >/dev/null || fail "dump --json"
# They are not there without the option.
run dump -p "$target" --json
jq -e '.process_labels == []' "$work/stdout" >/dev/null || fail "labels that nobody asked for"
if [[ -n $path ]]; then
  run dump -p "$target" --process-label cgroup
  expect_shown '^  of the process: cgroup=.*@\[cgroup\]$'
fi

# --- record
expect_recorded() {
  local backend=$1
  run record --backend "$backend" -F 199 -d 2 -p "$target" "${wanted[@]}" -o "$work/$backend.jsonl" -o "$work/$backend.pb.gz" --summary job
  expect_status "$exit_ok" "record by $backend"
  expect_shown '^job-1 '
  expect_said 'TEST_NONE is not in the environment'
  expect_ledger "$work/$backend.jsonl"
  expect_pprof "$work/$backend.pb.gz"
  python3 - "$work/$backend.jsonl" "$plain" "$none" <<'PYTHON' || fail "record by $backend"
import json, sys
plain, none = map(int, sys.argv[2:])
lines = [json.loads(line) for line in open(sys.argv[1])]
outcomes = lines[0]["outcomes"]
of = {kind: [line for line in lines if line["type"] == kind] for kind in ("process", "thread", "labels", "sample")}
publishers = of["process"][0]["publishers"]
sets = {line["id"]: {(l["key"], l["value"], publishers[l["publisher"]].split("/")[-1]) for l in line["labels"]} for line in of["labels"]}
threads = {line["id"]: line["tid"] for line in of["thread"]}
seen = {}
for sample in of["sample"]:
    seen.setdefault(threads[sample["thread"]], set()).add((outcomes[sample["outcome"]], frozenset(sets[sample["labels"]])))
assert "unlabelled" in {outcome for outcome, _ in seen[none]}, seen[none]
for tid, tenant in ((plain, "acme"), (none, "of the process")):
    for outcome, labels in seen[tid]:
        # On a busy machine a thread may not stop in time, and then it has only the labels of its
        # process.
        if tid == plain and outcome == "no-thread-pointer": continue
        values = {k: v for k, v, _ in labels}
        assert len(values) == len(labels), labels
        assert values["tenant"] == tenant and values["job"] == "job-1" and values["team"] == "pay,ments", values
        assert ("job", "job-1", "[environment]") in labels, labels
PYTHON
}
expect_recorded ptrace
if (need_sampling >/dev/null); then expect_recorded bpf; fi

# --- another program, with another environment; a child that was forked before has the old one
copy_of_bash second-program
cat >"$work/first.sh" <<'SCRIPT'
spin() { for ((i = 0; i < 20000; i++)); do :; done; }
(while :; do spin; done) &
echo $! >"$1/child"
until [[ -e $1/go ]]; do spin; done
TEST_JOB=job-2 exec "$2" -c 'while :; do :; done'
SCRIPT
TEST_JOB=job-1 bash "$work/first.sh" "$work" "$copy" </dev/null >/dev/null 2>&1 &
target=$!
children+=("$target")
wait_until "the target has a child" test -s "$work/child"
child=$(<"$work/child")
children+=("$child")
follow() {
  local backend=$1
  start record --backend "$backend" -F 199 -p "$target" --env-label TEST_JOB -o "$work/exec.jsonl" --overwrite
  ticks=$(cpu_ticks "$target")
  wait_until "labelscope records" grep -q Recording "$work/stderr"
  wait_until "the target computes" has_run_until "$target" $((ticks + 50))
  wait_until "the child computes" has_run_until "$child" 50
  : >"$work/go"
  is_second() { [[ $(readlink "/proc/$target/exe") == "$copy" ]]; }
  wait_until "the target executes its second program" is_second
  wait_until "the target computes" has_run_until "$target" $(($(cpu_ticks "$target") + 50))
  kill -INT "$recorder"
  finish
  expect_status "$exit_ok" "recording an exec by $backend"
  python3 - "$work/exec.jsonl" "$target" "$child" <<'PYTHON' || fail "after an exec, by $backend"
import json, sys
target, child = map(int, sys.argv[2:])
lines = [json.loads(line) for line in open(sys.argv[1])]
of = {kind: [line for line in lines if line["type"] == kind] for kind in ("thread", "labels", "sample")}
sets = {line["id"]: {l["key"]: l["value"] for l in line["labels"]} for line in of["labels"]}
pids = {line["id"]: line["pid"] for line in of["thread"]}
jobs = {}
for sample in of["sample"]:
    jobs.setdefault(pids[sample["thread"]], []).append(sets[sample["labels"]].get("TEST_JOB"))
assert set(jobs[child]) == {"job-1"}, jobs[child]
assert set(jobs[target]) == {"job-1", "job-2"}, set(jobs[target])
assert jobs[target] == sorted(jobs[target]), "mixed up"
PYTHON
}
if (need_sampling >/dev/null); then follow bpf; else follow ptrace; fi

# --- a server whose workers write their titles over the environment: those that are there and those that come agree
worker_of() { sed -n 's/^{"pid":\([0-9]*\)}$/\1/p' "$work/truth" | sed -n "$1p"; }
has_workers() { (($(grep -c '^ready$' "$work/truth") >= $1)); }
fork_workers() {
  local backend=$1
  TEST_JOB=job-3 LABELSCOPE_LABELS='odd,odd,=x' start_target "$TITLED" argument
  first=$(worker_of 1)
  is_titled() { [[ $(tr -d '\0' <"/proc/$first/environ" | head -c 9) != TEST_JOB= ]] && grep -q worker "/proc/$first/cmdline"; }
  wait_until "the first worker has its title" is_titled
  run dump -p "$first" --env-label TEST_JOB --process-label command=cmd
  expect_status "$exit_ok" "dump of a worker"
  expect_shown '^  of the process: TEST_JOB=job-3@\[environment\]$'
  expect_shown "^  of the process: cmd=\"?$TITLED argument\"?@\[process\]\$"
  start record --backend "$backend" -F 199 -p "$target" --env-label TEST_JOB --env-labels \
    --process-label command=cmd,uid -o "$work/workers.jsonl" --overwrite
  wait_until "labelscope records" grep -q Recording "$work/stderr"
  echo >&8
  wait_until "there is a second worker" has_workers 2
  second=$(worker_of 2)
  for each in "$first" "$second"; do
    wait_until "worker $each computes" has_run_until "$each" $(($(cpu_ticks "$each") + 150))
  done
  kill -INT "$recorder"
  finish
  expect_status "$exit_ok" "recording forking workers by $backend"
  expect_said 'LABELSCOPE_LABELS: no key=value, and left out: "=x", "odd"$'
  (($(grep -c 'no key=value' "$work/stderr") == 1)) || fail "it is said more than once"
  python3 - "$work/workers.jsonl" "$first" "$second" "$TITLED argument" "$(id -u)" <<'PYTHON' || fail "workers, by $backend"
import json, sys
first, second = map(int, sys.argv[2:4])
lines = [json.loads(line) for line in open(sys.argv[1])]
of = {kind: [line for line in lines if line["type"] == kind] for kind in ("thread", "labels", "sample")}
sets = {line["id"]: {l["key"]: l["value"] for l in line["labels"]} for line in of["labels"]}
pids = {line["id"]: line["pid"] for line in of["thread"]}
seen = {first: {}, second: {}}
for sample in of["sample"]:
    if pids[sample["thread"]] not in seen: continue
    labels = sets[sample["labels"]]
    assert (labels["TEST_JOB"], labels["cmd"]) == ("job-3", sys.argv[4]), labels
    counts = seen[pids[sample["thread"]]]
    counts[labels["uid"]] = counts.get(labels["uid"], 0) + sample["count"]
own = "65534" if sys.argv[5] == "0" else sys.argv[5]
assert set(seen[first]) == {own}, seen
# Until labelscope has looked again it has its parent's.
assert seen[second][own] * 2 > sum(seen[second].values()), seen
PYTHON
  stop_target
}
if (need_sampling >/dev/null); then fork_workers bpf; else fork_workers ptrace; fi
# Where the server has one, too, nobody has the environment any more.
TEST_JOB=job-4 start_target "$TITLED" all
run dump -p "$target" --env-label TEST_JOB
expect_said 'env-label: the program has overwritten its environment \(with its title\) \(process [0-9]+, titled\)'
stop_target

# --- meaningless words
run record -p 1 --process-label node
expect_status "$exit_usage" "an unknown fact"
expect_said 'container, pod, unit, cgroup, user, uid and command are known'
run dump --core /dev/null --env-label A
expect_status "$exit_usage" "of a core"
expect_said 'env-label has no meaning with --core'
expect_no_files
