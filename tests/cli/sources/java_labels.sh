# Labels of a running JVM, with the library preloaded as the ABI wants it, and loaded by Java later:
# their shares are those of the program's own clocks, and frames have the names of Java's methods.
source "${BASH_SOURCE%/*}/../lib.sh"
source "$SOURCE_DIR/java.sh"
need_sampling
need_command python3
java+=(-XX:+PreserveFramePointer -XX:CompileCommand=quiet
  "-XX:CompileCommand=dontinline,LabelLoad::compute*")

# ask: has the program print its account, and waits for it.
has_answered() { (($(grep -c '^spent ' "$work/truth") == answers)); }
ask() {
  answers=$((${answers:-0} + 1))
  echo >&8
  wait_until "the program prints its account" has_answered
}

# shares_agree <recording>: compares the samples of each tenant with the time between the last two
# accounts, and the named frames of each tenant with the methods that compute for it alone.
shares_agree() {
  python3 - "$1" "$work/truth" "$with_names" <<'PYTHON'
import json, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
accounts = [list(map(int, line.split()[1:])) for line in open(sys.argv[2]) if line.startswith("spent ")]
spent = [after - before for before, after in zip(*accounts[-2:])]
tids = {json.loads(line)["tid"] for line in open(sys.argv[2]) if line.startswith("{")}
of = lambda what: [line for line in lines if line["type"] == what]
sets = {line["id"]: {label["key"]: label["value"] for label in line["labels"]} for line in of("labels")}
threads = {line["id"]: line["tid"] for line in of("thread")}
names = {line["id"]: {each["function"] for each in line["lines"]} for line in of("location")}
functions = {line["id"]: line.get("name", "") for line in of("function")}
stacks = {line["id"]: [functions.get(f, str(f)) for l in line["locations"] for f in names[l]] for line in of("stack")}
outcomes = lines[0]["outcomes"]
tenants, methods = ["acme", "globex", "zür\U0001F600"], ["computeAcme", "computeGlobex", "computeOther"]
seen, named, problems = [0, 0, 0, 0], [0, 0, 0], []
for sample in of("sample"):
    if threads[sample["thread"]] not in tids: continue
    if outcomes[sample["outcome"]] not in ("labelled", "unlabelled"): problems.append(f"a sample is {outcomes[sample['outcome']]}")
    labels = sets[sample["labels"]]
    which = tenants.index(labels["tenant"]) if "tenant" in labels else 3
    if which < 3 and (labels.get("n") != f"n{which}" or labels.get("root-span-id") != "77"): problems.append(f"not a set of the program: {labels}")
    seen[which] += sample["count"]
    if which == 3: continue
    frames = " ".join(stacks[sample["stack"]])
    named[which] += sample["count"] * (f" LabelLoad.{methods[which]}(" in frames)
    if any(f"LabelLoad.{other}(" in frames for other in methods[:2] if other != methods[which]):
        problems.append(f"{labels['tenant']} has a frame of another tenant: {frames}")
n, total = sum(seen), sum(spent)
print(f"{n} samples:", *(f"{s / n:.3f} of {t / total:.3f}" for s, t in zip(seen, spent)), "named:", named)
for which in range(4):
    share = spent[which] / total
    # A label changes just before or after the clock is read, which is a thousandth of a round.
    if abs(seen[which] / n - share) > 3 * (share * (1 - share) / n) ** 0.5 + 0.002: problems.append(f"tenant {which} has {seen[which] / n:.3f}, not {share:.3f}")
    if which < 3 and sys.argv[3] == "yes" and named[which] < seen[which] / 2: problems.append(f"only {named[which]} of {seen[which]} samples of tenant {which} have the method's name")
sys.exit("\n".join(problems[:5]) or 0)
PYTHON
}

# expect_shares <backend> <how>: one of a hundred recordings misses three standard errors by chance,
# so another one may follow.
expect_shares() {
  local attempt
  for attempt in 1 2; do
    ask
    record_threads 1500 --backend "$1" -F 999 -p "$target" -o "$work/$1.jsonl" --overwrite
    expect_status "$exit_ok" "record by $1, $2"
    ask
    printf '%s by %s: ' "$2" "$1"
    shares_agree "$work/$1.jsonl" && return
  done
  fail "$2 by $1"
}

# try <how> <access> <LS002 or none> <command...>: does all this with one way to load the library.
try() {
  local how=$1 access=$2 rule=$3
  shift 3
  answers=0 with_names=no
  start_target "$@" "${java[@]}" LabelLoad
  run dump -p "$target"
  expect_status "$exit_ok" "dump, $how"
  expect_shown "^  labels from .*/libcustomlabels\.so \\($access\\)"
  run check -p "$target" --timeout 5s --format json
  python3 - "$work/stdout" "$rule" <<'PYTHON' || fail "check, $how"
import json, sys
findings = {finding["rule"] for subject in json.load(open(sys.argv[1]))["subjects"] for finding in subject["diagnostics"]}
sys.exit(f"{findings}" if findings != ({sys.argv[2]} - {"none"}) else 0)
PYTHON
  wait_until "the compilers are done" has_run_until "$target" 300
  # The file in the JVM's /tmp has the names of what is compiled by now.
  if command -v jcmd >/dev/null && jcmd "$target" Compiler.perfmap >"$work/jcmd" 2>&1; then
    with_names=yes
    maps+=("/tmp/perf-$target.map")
  fi
  expect_shares bpf "$how"
  [[ $how != late ]] || expect_shares ptrace "$how"
  stop_target
}
maps=()
trap 'rm -f "${maps[@]}"; end_test' EXIT
try preloaded 'TLSDESC \(static\)' none env LD_PRELOAD="$preload"
try late 'TLSDESC \((static|dynamic)\)' LS002 env
# Now the loader has no place in the static TLS block for libraries that come later.
try late-dynamic 'TLSDESC \(dynamic\)' LS002 env GLIBC_TUNABLES=glibc.rtld.optional_static_tls=0
expect_no_files
