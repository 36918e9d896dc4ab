# Code that is mapped at one new place after the other costs no memory, and fills no file: only code
# with samples is kept. What was dropped is counted.
source "${BASH_SOURCE%/*}/../lib.sh"
need_sampling
need_command jq
mkfifo "$work/stdin"
"$MAPPER" flood <"$work/stdin" >"$work/mapper_said" &
target=$!
children+=("$target")
exec 8>"$work/stdin"
wait_until "the flood has begun" grep -qs ready "$work/mapper_said"
start record -p "$target" -o out.jsonl
wait_for_samples
peak() { status_line "/proc/$recorder/status" VmHWM | tr -dc 0-9; }
# By then everything that is bounded is full: there are some tens of thousands of mappings.
wait_until "the target has run for two seconds" has_run_until "$target" \
  $(($(cpu_ticks "$target") + 200))
before=$(peak)
wait_until "the target has run for eight more" has_run_until "$target" \
  $(($(cpu_ticks "$target") + 800))
after=$(peak)
kill -INT "$recorder"
finish
expect_status "$exit_ok" "a flood of mappings"
((after - before < 6000)) || fail "labelscope has grown from $before to $after KiB in eight seconds"
expect_ledger out.jsonl
(($(grep -c '"type":"module"' out.jsonl) < 200)) ||
  fail "$(grep -c '"type":"module"' out.jsonl) modules"
expect_said 'mappings of code that were forgotten.*: [0-9,]+ \('
