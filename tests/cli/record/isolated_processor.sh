# A thread that is never switched out. On aarch64 the kernel's copy of its thread pointer is then
# that of the program before, or none (docs/kernels.md). However labelscope meets such a thread, no
# sample has wrong labels, unreadable ones are reported as such, and within a second of the start
# the labels are seen.
#
# It takes a processor that has nothing else to do: tests/vm boots a guest with one.
source "${BASH_SOURCE%/*}/../lib.sh"
need_sampling
need_command jq
need_command taskset
cpu=$(cat /sys/devices/system/cpu/isolated 2>/dev/null)
[[ -n $cpu ]] || skip_test "no processor is isolated here (isolcpus= on the kernel's command line)"
cpu=${cpu%%[,-]*}

# check_recording <what, in words>: checks r.jsonl.
late_labels=()
check_recording() {
  local counts wrong
  expect_ledger r.jsonl
  wrong=$(jq -c 'select(.type == "labels") | .labels | map({key, value})
    | select(. != [] and . != [{"key": "spinner", "value": "yes"}])' r.jsonl)
  [[ -z $wrong ]] || fail "$1: wrong labels: $wrong"
  # This computes the milliseconds to the first sample with labels, and the samples by outcome. The
  # time begins when labels can be there: at the first sample, or at the last one before labelscope
  # knew the program.
  counts=$(jq -s -r '(map(select(.type == "header"))[0].outcomes) as $outcomes
    | map(select(.type == "sample")) as $samples
    | ($samples | map(select($outcomes[.outcome] == "labelled") | .time_ns) | min) as $labelled
    | ([($samples | map(.time_ns) | min)] + ($samples | map(select($outcomes[.outcome] == "not-relocated") | .time_ns))
       | max) as $first
    | ($samples | map(select($labelled != null and .time_ns > $labelled and $outcomes[.outcome] == "unlabelled")) | length)
        as $lost
    | ($samples | group_by(.outcome) | map("\($outcomes[.[0].outcome])=\(map(.count) | add)") | join(" ")) as $by_outcome
    | "\(if $labelled == null then "never" else (($labelled - $first) / 1000000 | floor) end) \($lost) \($by_outcome)"' r.jsonl)
  printf 'FACT: isolated/%s %s\n' "${1// /-}" "$counts"
  read -r delay lost _ <<<"$counts"
  [[ $delay != never ]] || fail "$1: no sample has labels: $counts"
  ((lost == 0)) || fail "$1: labels were there and then not: $counts"
  ((delay <= 1000)) || late_labels+=("$1: labels came after $delay ms: $counts")
}

# One of two turns may be late, if the machine has made labelscope wait.
for turn in 1 2; do
  # The command outlives its recording.
  start record -F 199 -d 3 --overwrite -o r.jsonl -- taskset -c "$cpu" "$SPINNER"
  wait_until "the recording is written" grep -q '^Wrote' "$work/stderr"
  kill -KILL "$(sed -n 's/^Recording \([0-9]*\) .*/\1/p' "$work/stderr")"
  finish
  check_recording "started $turn"

  taskset -c "$cpu" "$SPINNER" >"$work/spinner" &
  target=$!
  children+=("$target")
  wait_until "the spinner is ready" grep -q ready "$work/spinner"
  run record -F 199 -d 2 --overwrite -o r.jsonl -p "$target"
  expect_status "$exit_ok" "attached"
  check_recording "attached $turn"
  run dump --json -p "$target"
  expect_status "$exit_ok" "dump"
  jq -e '[.. | objects | select(.key? == "spinner" and .value? == "yes")] | length == 1' \
    "$work/stdout" >/dev/null ||
    fail "dump does not show the spinner's labels"
  kill -KILL "$target"

  # A shell that is already sampled becomes the spinner.
  mkfifo "$work/go"
  taskset -c "$cpu" bash -c 'read -r _ <"$1"; exec "$2"' shell "$work/go" "$SPINNER" \
    >"$work/spinner" &
  target=$!
  children+=("$target")
  start record -F 199 --overwrite -o r.jsonl -p "$target"
  wait_until "labelscope opens its perf events" has_perf_events
  echo >"$work/go"
  wait_until "the spinner is ready" grep -q ready "$work/spinner"
  wait_until "the spinner computes" has_run_until "$target" 200
  kill -INT "$recorder"
  finish
  expect_status "$exit_ok" "executed"
  check_recording "executed $turn"
  kill -KILL "$target"
  rm -f "$work/go"
done
for way in started attached executed; do
  late=0
  for each in ${late_labels[@]+"${late_labels[@]}"}; do [[ $each == "$way "* ]] && late=$((late + 1)); done
  ((late < 2)) || fail "both times, ${late_labels[*]}"
done
exit 0
