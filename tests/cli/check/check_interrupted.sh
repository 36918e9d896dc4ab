# Ctrl-C ends a check. The findings so far and the verdict are shown; a program that check has
# started is gone, and a process that was there before runs on.
source "${BASH_SOURCE%/*}/../lib.sh"
mark_processes

# This writer is wrong in every turn, for ever.
writer=$STEPPERS/length_first-executable-O2
for depth in '' --step; do
  program=("$writer" 1000000000)
  rule=LS050
  [[ -z $depth ]] && program=("$VIOLATORS/live/LS044-value_null/program" stay) && rule=LS044
  mkfifo "$work/hold"
  # shellcheck disable=SC2086  # no word at all, or one
  env --default-signal=INT "$LABELSCOPE" check $depth --timeout 90s -- "${program[@]}" \
    >"$work/stdout" 2>"$work/stderr" <>"$work/hold" &
  recorder=$!
  children+=("$recorder")
  wait_until "the program runs" any_runs "${program[0]}"
  wait_until "labelscope has looked at it" has_run_until "$recorder" 20
  kill -INT "$recorder"
  finish
  rm "$work/hold"
  expect_status "$exit_findings" "Ctrl-C ($depth)"
  expect_shown "error $rule"
  expect_shown 'not checked .*interrupted'
  expect_shown '^findings: .*1 not checked'
  expect_none_runs "${program[0]}" "Ctrl-C ($depth)"
done

start_target "$VIOLATORS/live/LS044-value_null/program" stay
start check -p "$target" --samples 100000000 --timeout 90s
listens() { find "/proc/$recorder/fd" -lname 'anon_inode:\[signalfd\]' 2>/dev/null | grep -q .; }
wait_until "labelscope takes signals" listens
wait_until "labelscope looks at it" has_run_until "$recorder" $(($(cpu_ticks "$recorder") + 10))
kill -TERM "$recorder"
finish
expect_status "$exit_findings" "SIGTERM"
expect_shown 'error LS044'
expect_shown 'not checked .*interrupted'
is_gone "$target" && fail "the process is gone"
[[ $(status_line "/proc/$target/status" TracerPid) == 0 ]] || fail "the process is still traced"
