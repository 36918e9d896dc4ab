# For tests of programs whose files are made to do harm (sourced after lib.sh): what these may cost,
# and what they may not.
#
# It takes from programs.sh: HOSTILE (folder of the programs, tests/targets/hostile).
# shellcheck shell=bash

# start_hostile <program>: starts it and waits until it has labelled itself and computes. Its pid is
# in $target.
start_hostile() {
  rm -f "$work/ready"
  "$1" </dev/null >"$work/ready" 2>&1 &
  target=$!
  children+=("$target")
  wait_until "the program is ready" grep -qsx ready "$work/ready"
}

peak_of() { status_line "/proc/$1/status" VmHWM | tr -dc '0-9'; }

# run_watched <argument...>: runs labelscope to its end, for at most a minute, and sets $status,
# $seconds, and $peak, the most memory that it had itself, in KiB.
run_watched() {
  local from=$EPOCHREALTIME now
  peak=0
  start "$@"
  while ! is_gone "$recorder"; do
    now=$(peak_of "$recorder")
    [[ -n $now ]] && peak=$now
    ((${EPOCHREALTIME%.*} - ${from%.*} < 60)) || fail "labelscope $1 has not ended after a minute"
    sleep 0.02
  done
  wait "$recorder"
  status=$?
  seconds=$((${EPOCHREALTIME%.*} - ${from%.*}))
}

# record_hostile <program> [argument...]: records it for a second, and dumps it. The recording is
# written, its labels are right, and labelscope needs at most 64 MiB more than for a harmless
# program.
record_hostile() {
  local usual program=$1
  shift
  start_hostile "$HOSTILE/plain"
  run_watched record -d 1 -o plain.jsonl "$@" -p "$target"
  expect_status "$exit_ok" "recording a harmless program"
  usual=$peak
  expect_labelled plain.jsonl
  { kill -KILL "$target" && wait "$target"; } 2>/dev/null

  start_hostile "$program"
  run_watched record -d 1 -o hostile.jsonl "$@" -p "$target"
  expect_status "$exit_ok" "recording $program"
  ((peak < usual + 65536)) ||
    fail "labelscope needed $peak KiB, and for a harmless program $usual KiB"
  expect_labelled hostile.jsonl
  expect_ledger hostile.jsonl
  printf '%s: %s s, %s KiB (usual: %s)\n' "${program##*/}" "$seconds" "$peak" "$usual"

  run_watched dump --stacks "$@" -p "$target"
  expect_status "$exit_ok" "dumping $program"
  ((peak < usual + 65536)) || fail "dump needed $peak KiB"
}

# expect_labelled <recording>: checks that each sample of the program's own code has the label
# file=hostile.
expect_labelled() {
  jq -se '([.[] | select(.type == "labels") | select(any(.labels[]?; .key == "file" and .value == "hostile")) | .id]) as $sets
    | [.[] | select(.type == "sample")] as $samples
    | ($samples | length) > 0 and ([$samples[] | select(.labels as $one | $sets | index($one) | not)] | length) == 0' \
    "$1" >/dev/null || fail "not every sample of $1 has its label"
}

# named_in <recording>: prints all names of functions, one a line.
named_in() {
  jq -r 'select(.type == "location") | .lines[]?.function' "$1" | sort -u
}
# problem_in <recording> <program>: prints why names or lines are missing.
problem_in() {
  jq -r --arg path "$2" 'select(.type == "module" and .path == $path) | .symbol_problem' "$1"
}
