# Stacks of programs that were not built for profiling are whole. The programs are the
# distribution's own, and compute; at most one stack of a thousand ends before the start of its
# thread. They have no frame pointers, and no debug symbols are needed. (tests/bench/stacks.py has
# servers, too, and compares with perf.)
source "${BASH_SOURCE%/*}/../lib.sh"
need_sampling
need_command jq

tried=0
# The kernel lowers the rate where a sample takes long, as on an emulated processor.
rate=997
ticks=$(rounds 120 200)
# There, sampling begins seconds after the recording, when the program's tables are built, and a
# program takes seconds to load its libraries: stacks that lead into one that was mapped a moment
# ago are another test's subject.
first=20
[[ -z ${LABELSCOPE_EMULATED:-} ]] || { rate=199 && ticks=400 && first=300; }
# expect_whole <program> <argument...>: records one that computes without end, on the given standard
# input, if any.
expect_whole() {
  local program name=${1##*/} complete all
  program=$(command -v "$1") || return 0
  tried=$((tried + 1))
  shift
  "$program" "$@" >/dev/null 2>&1 </dev/urandom &
  target=$!
  children+=("$target")
  wait_until "$name computes" has_run_until "$target" "$first"
  record_for "$ticks" -F "$rate" -p "$target" --backend bpf --call-graph dwarf -o "$name.jsonl"
  kill -KILL "$target" && wait "$target" 2>/dev/null
  expect_status "$exit_ok" "$name"
  expect_ledger "$name.jsonl"
  read -r complete all < <(jq -sr '.[] | select(.type == "ledger") | .written as $all
    | ([.counters[] | select(.name == "stacks-complete" or .name == "stacks-at-entry") | .count] | add // 0)
    | "\(.) \($all)"' "$name.jsonl")
  # On an emulated processor building a program's tables takes longer than a recording waits for
  # them.
  if [[ -n ${LABELSCOPE_EMULATED:-} ]]; then
    all=$((all - $(jq -sr '[.[] | select(.type == "ledger") | .counters[] | select(.name == "stacks-no-table") | .count] | add // 0' "$name.jsonl")))
  fi
  ((all >= 50)) || fail "$name: only $all samples"
  (((all - complete) * 1000 <= all || all - complete <= 1)) ||
    fail "$name: $complete of $all stacks are whole: $(tail -n 1 "$name.jsonl")"
}
expect_whole xz -9 -c
expect_whole gzip -9 -c
expect_whole sqlite3 :memory: 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)
  SELECT sum(length(printf("%d", i)) * (i % 7)) FROM n;'
expect_whole /usr/bin/python3 -c 'import json
while True: json.loads(json.dumps([{"a": j, "b": "x" * (j % 50)} for j in range(1000)]))'
# shellcheck disable=SC2016
expect_whole perl -e 'for (;;) { $i++; $x{$i % 1000} .= "y"; $x{$i % 1000} = "" if $i % 77 == 0; }'
expect_whole openssl speed -seconds 30 sha256
expect_whole awk \
  'BEGIN { for (;;) { i++; x[i % 1000] = x[(i * 7) % 1000] "z"; if (i % 5000 == 0) split("", x) } }'
expect_whole bash -c 'while :; do x=$((x + 1)); y=${x//1/2}; done'
((tried >= 3)) || skip_test "none of these programs is installed"
