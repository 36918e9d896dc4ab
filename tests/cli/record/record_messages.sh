# The messages of a recording: the backend, the answer first, that there are no labels (once, not
# for each process), one hint on the last line, and nothing about a file that was not written.
source "${BASH_SOURCE%/*}/../lib.sh"
need_sampling
# This is long enough for ptrace to find and stop it on any machine.
loop='end=$((${EPOCHREALTIME/./} + 1000000)); while ((${EPOCHREALTIME/./} < end)); do :; done'
cat >"$work/children.sh" <<EOF
for ((n = 0; n < 12; n++)); do bash -c '$loop' & done
wait
EOF
for backend in bpf ptrace; do
  run record --backend "$backend" -o "$backend.pb.gz" -- bash "$work/children.sh"
  expect_status "$exit_ok" "a command with children, by $backend"
  [[ $(grep -ic 'no labels\|publishes' "$work/stderr") == 2 ]] ||
    fail "that there are no labels is not said once, with one reason"
  expect_said "^Recording .* by $backend"
  [[ $(tail -n 1 "$work/stderr") == "next: go tool pprof -top $backend.pb.gz" ]] ||
    fail "the last line is no hint"
  mapfile -t ledger < <(tail -n 3 "$work/stderr")
  [[ ${ledger[0]} == *' samples by '*' written, '* ]] || fail "the ledger is not before it"
  read -r all complete entry incomplete < <(sed -nE \
    's/^([0-9]+) stacks? = ([0-9]+) complete \+ ([0-9]+) at entry code \+ ([0-9]+) incomplete.*/\1 \2 \3 \4/p' <<<"${ledger[1]}")
  ((all > 0 && all == complete + entry + incomplete)) ||
    fail "the stacks do not add up: ${ledger[1]}"
  [[ ${ledger[0]} == *" $all written, "* ]] ||
    fail "the stacks are not those of the samples written"
done

# The device takes nothing: the common error is printed once, without a hint to open the file.
start_busy_target
run record -d 1 -p "$target" -f pprof -o /dev/full
expect_status "$exit_error" "-o /dev/full"
expect_said '^labelscope: cannot write /dev/full: No space left on device$'
expect_said 'no file was written'
! grep -q 'next:\|Wrote' "$work/stderr" || fail "a hint to open what was not written"
timeout --signal=KILL 60 "$LABELSCOPE" --help >/dev/full 2>"$work/stderr"
status=$?
expect_status "$exit_error" "--help >/dev/full"
expect_said '^labelscope: cannot write stdout: No space left on device$'
timeout --signal=KILL 60 "$LABELSCOPE" record -d 1 -p "$target" --summary pid -o s.pb.gz \
  >/dev/full 2>"$work/stderr"
status=$?
expect_status "$exit_error" "--summary >/dev/full"
expect_said '^labelscope: cannot write the summary to stdout: No space left on device$'
expect_said '^next: go tool pprof'

# Several options give tables, which are whole if stdout is no terminal, and JSON.
need_command jq
name=$(printf 'x%.0s' {1..200})
run record -d 1 -p "$target" --overwrite -o t.pb.gz --summary pid --summary comm,thread_id
expect_status "$exit_ok" "two --summary"
for key in pid comm thread_id; do expect_shown "^$key +share"; done
run record -d 1 -p "$target" --overwrite -o t.pb.gz --summary "pid,$name" --json
expect_status "$exit_ok" "--summary --json"
jq -se --arg pid "$target" --arg name "$name" \
  'length == 2 and .[0].key == "pid" and (.[0].values | length) == 1
  and .[0].values[0].value == $pid and .[0].values[0].samples > 0 and .[0].values[0].time_ns > 0
  and .[1].key == $name and .[1].without.samples == .[0].values[0].samples' "$work/stdout" >/dev/null ||
  fail "not the JSON of two tables"
run record -d 1 -p "$target" --json
expect_status "$exit_usage" "--json without --summary"

# Root without capabilities is root of a container, where sudo does not help.
if ((EUID == 0)) && command -v setpriv >/dev/null; then
  timeout --signal=KILL 60 setpriv --bounding-set=-all --inh-caps=-all \
    "$LABELSCOPE" record -d 1 --backend bpf -p "$target" >"$work/stdout" 2>"$work/stderr"
  status=$?
  expect_status "$exit_permission" "root without capabilities"
  expect_said 'cap-add BPF'
  ! grep -q sudo "$work/stderr" || fail "the message advises root to use sudo"
fi

# Only terminals that have colours get them.
if command -v script >/dev/null; then
  for term in xterm dumb; do
    TERM=$term timeout --signal=KILL 60 script -qec \
      "$(printf '%q ' "$LABELSCOPE" record -d 1 -p "$target" --no-progress --overwrite -o t.pb.gz --summary pid)" \
      /dev/null >"$work/stdout" 2>"$work/stderr" </dev/null
    grep -q $'\e\[' "$work/stdout" && colours=yes || colours=no
    [[ $term:$colours == xterm:yes || $term:$colours == dumb:no ]] ||
      fail "TERM=$term: colours: $colours"
  done
fi
exit 0
