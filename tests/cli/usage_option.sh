# An unknown option, an unknown command, no command: exit 2, nothing on stdout.
source "$SOURCE_DIR/lib.sh"
run record --no-such-option -p 1
expect_status "$exit_usage" "unknown option"
expect_said 'no-such-option'
expect_no_stdout
! grep -q 'did you mean' "$work/stderr" || fail "an option is proposed that nobody means"
for wrong in --sumary --sumary=tenant; do
  run record "$wrong" tenant -p 1
  expect_status "$exit_usage" "$wrong"
  expect_said "not expected: .*$wrong.*; did you mean --summary\\?\$"
done
run no-such-command
expect_status "$exit_usage" "unknown command"
expect_said 'no-such-command'
expect_no_stdout
run
expect_status "$exit_usage" "no command"
expect_no_stdout
expect_no_files
