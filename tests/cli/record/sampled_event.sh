# --event chooses what samples threads that run, and the recording says which it was.
source "${BASH_SOURCE%/*}/../lib.sh"
need_sampling
need_command jq
run record --event clock -F 499 -o clock.jsonl -- sh -c 'i=0; while [ $i -lt 300000 ]; do i=$((i + 1)); done'
expect_status "$exit_ok" "a recording by the clock"
expect_said 'Hz of cpu-clock by BPF'
[[ $(head -n 1 clock.jsonl | jq -r .event) == cpu-clock ]] || fail "$(head -n 1 clock.jsonl)"
if "$LABELSCOPE" record --event cycles -F 499 -o cycles.jsonl -- sh -c 'i=0; while [ $i -lt 300000 ]; do i=$((i + 1)); done' 2>"$work/stderr"; then
  [[ $(head -n 1 cycles.jsonl | jq -r .event) == cycles ]] || fail "$(head -n 1 cycles.jsonl)"
  run diff clock.jsonl cycles.jsonl
  expect_status "$exit_ok" "a diff of both"
else
  # It is not replaced by the clock in silence.
  expect_said 'the hardware does not count cycles here'
  expect_said 'fix .*--event clock'
  [[ ! -e cycles.jsonl ]] || fail "there is a file of nothing"
fi
