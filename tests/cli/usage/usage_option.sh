# An unknown option, an unknown command, or no command gives status 2, and nothing on stdout.
source "${BASH_SOURCE%/*}/../lib.sh"
run record --no-such-option -p 1
expect_status "$exit_usage" "unknown option"
expect_said 'no-such-option'
expect_no_stdout
! grep -q 'did you mean' "$work/stderr" || fail "a meaningless option is proposed"
for wrong in --sumary --sumary=tenant; do
  run record "$wrong" tenant -p 1
  expect_status "$exit_usage" "$wrong"
  expect_said "not expected: .*$wrong.*; did you mean --summary\\?\$"
done
run no-such-command
expect_status "$exit_usage" "unknown command"
expect_said 'no-such-command'
expect_no_stdout
# refused <what stderr says> <argument...>: checks this, and that there is no word of the library
# that parses options.
refused() {
  local words=$1
  shift
  run "$@"
  expect_status "$exit_usage" "$*"
  expect_said "$words"
  expect_no_stdout
  ! grep -Eiq 'required|at most|disallowed|subcommand' "$work/stderr" ||
    fail "in the words of the option library"
}
refused 'a command is wanted: record, .* or doctor$'
refused 'unknown command recrod; did you mean record\?' recrod
refused 'unknown command chek; did you mean check\?' chek
refused 'unknown command rec; did you mean record\?' rec
refused 'unknown command re; record, report, .* are known' re
refused 'labelscope record -p PID' top
refused '--duration is given more than once: 1 and 2' record -d 1 -d 2 -p $$
refused '--pid: a value is wanted, like --pid PID' record -p
refused '--pid: a value is wanted, and -d is an option' record -p -d 5
refused '--duration: a value is wanted, and -p is an option' record --duration -p $$
refused '--overwrite takes no value' record --overwrite=false -p $$
refused 'there is no such option' record --no-such-option -p $$

# perf and py-spy have these names for options, and the answer has labelscope's.
refused '-g; stacks are taken without -g' record -g -p $$
refused '--summary thread_id' record -t $$
refused '-p PID' record -a
refused '-F HZ' record -c 1000 -p $$
refused '-d 1 says how long' record -p $$ sleep 1
expect_no_files
