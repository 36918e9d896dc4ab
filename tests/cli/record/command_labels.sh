# A command is recorded from its first instruction: its labels are seen although it had loaded
# nothing when the recording began.
source "${BASH_SOURCE%/*}/../lib.sh"
need_sampling
# Before it begins it has no labels. On a busy machine that may be much of its time in two seconds.
expect_labelled() {
  local labelled taken
  run record -o out.jsonl --overwrite -- "$DEMO_SERVICE" --seconds $(($1 / 1000))
  expect_status "$exit_ok" "the demo service as a command"
  labelled=$(grep -Eo '[0-9,]+ labelled' "$work/stderr" | tail -1 | tr -dc '0-9')
  taken=$(grep -Eo '[0-9,]+ samples' "$work/stderr" | tail -1 | tr -dc '0-9')
  ((labelled > 0)) || fail "no sample of $taken is labelled"
  ((labelled * 10 >= taken * 9)) || need_more_time "$labelled of $taken samples labelled"
}
with_enough_time 2000 expect_labelled
