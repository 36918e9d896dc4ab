# While a check of a process runs, a status line on a terminal says how far it is; nowhere else, and not if unwanted.
source "$SOURCE_DIR/lib.sh"
need_command script
writer=$STEPPERS/conduct-dynamic

# on_terminal <argument...>: labelscope with a terminal; what that shows, in $work/stdout.
on_terminal() {
  local line
  printf -v line '%q ' "$LABELSCOPE" "$@"
  TERM=xterm timeout --signal=KILL 90 script -qec "$line" /dev/null >"$work/stdout" 2>"$work/stderr" </dev/null
  status=$?
}
# Long enough for a loaded machine to come to the first update.
some_time=(--timeout 2500ms -- "$writer" forever)
forever=(--timeout 500ms -- "$writer" forever)
on_terminal check "${some_time[@]}"
expect_shown '[0-9.]+ of 2\.5 s · [0-9,]+ label sets? · 1 thread · Ctrl-C'
expect_shown '^.*clean: '
on_terminal check --step "${some_time[@]}"
expect_shown '[0-9.]+ of 2\.5 s · [0-9,]+ instructions? · [0-9,]+ updates? · 1 thread · Ctrl-C'
for quiet in --no-progress --quiet; do
  on_terminal check $quiet "${forever[@]}"
  grep -q 'Ctrl-C' "$work/stdout" && fail "a status line in spite of $quiet"
done
run check "${forever[@]}"
grep -q 'Ctrl-C' "$work/stdout" "$work/stderr" && fail "a status line without a terminal"
exit 0
