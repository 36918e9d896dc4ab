# Labels of the process: from its environment, its cgroup and the kernel, by every way of reading. Each program has its
# own, a forked child its parent's, and a thread's own label of the same key wins.
source "${BASH_SOURCE%/*}/../lib.sh"
need_command jq

# What the kernel says of a process like ours.
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
expect_said '1 parts of LABELSCOPE_LABELS are no key=value'
run dump -p "$target" "${wanted[@]}" --json
expect_status "$exit_ok" "dump --json"
jq -e --arg user "$user" --arg command "$CONTEXTS" '.process_labels == [
  {key: "job", value: "job-1", source: "[environment]"}, {key: "TEST_ODD", value: "\u001b[31mred", source: "[environment]"},
  {key: "user", value: $user, source: "[process]"}, {key: "cmd", value: $command, source: "[process]"},
  {key: "tenant", value: "of the process", source: "[environment]"}, {key: "team", value: "pay,ments", source: "[environment]"}]' \
  "$work/stdout" >/dev/null || fail "dump --json"
# Nobody asked.
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
        # On a busy machine a thread may not stop in time: then it has the labels of its process alone.
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

# --- words that mean nothing
run record -p 1 --process-label node
expect_status "$exit_usage" "an unknown fact"
expect_said 'container, pod, unit, cgroup, user, uid and command are known'
run dump --core /dev/null --env-label A
expect_status "$exit_usage" "of a core"
expect_said 'env-label has no meaning with --core'
expect_no_files
