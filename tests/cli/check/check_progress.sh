# While a process is checked, a status line shows the progress, but only on a terminal, and not with
# an option against it.
source "${BASH_SOURCE%/*}/../lib.sh"
need_command script
writer=$STEPPERS/conduct-dynamic

# on_terminal <argument...>: runs labelscope on a terminal, whose output goes to $work/stdout.
on_terminal() {
  local line
  printf -v line '%q ' "$LABELSCOPE" "$@"
  TERM=xterm timeout --signal=KILL 90 script -qec "$line" /dev/null >"$work/stdout" 2>"$work/stderr" </dev/null
  status=$?
}
# Waits until the first update is shown.
expect_progress() {
  on_terminal check --timeout "$1ms" -- "$writer" forever
  grep -q 'Ctrl-C' "$work/stdout" || need_more_time "it ended before the status line was shown"
  expect_shown "[0-9.]+ of $(seconds_of "$1") s · [0-9,]+ label sets? · 1 thread · Ctrl-C"
  expect_shown '^.*clean: '
}
expect_progress_of_steps() {
  on_terminal check --step --timeout "$1ms" -- "$writer" forever
  grep -Eq '[1-9][0-9,]* updates? · .*Ctrl-C' "$work/stdout" ||
    need_more_time "it ended before an update was shown"
  expect_shown "[0-9.]+ of $(seconds_of "$1") s · [0-9,]+ instructions? · [0-9,]+ updates? · 1 thread · Ctrl-C"
}
with_enough_time 1500 expect_progress
with_enough_time 1500 expect_progress_of_steps
forever=(--timeout 500ms -- "$writer" forever)
for quiet in --no-progress --quiet; do
  on_terminal check $quiet "${forever[@]}"
  grep -q 'Ctrl-C' "$work/stdout" && fail "a status line in spite of $quiet"
done
run check "${forever[@]}"
grep -q 'Ctrl-C' "$work/stdout" "$work/stderr" && fail "a status line without a terminal"
exit 0
