# A typing error, or a request for help, gets an answer that fits.
source "${BASH_SOURCE%/*}/../lib.sh"
run -V
expect_status "$exit_ok" "-V"
expect_shown '^labelscope [0-9]+\.'
cp "$work/stdout" "$work/version"
run version
expect_status "$exit_ok" "version"
cmp -s "$work/stdout" "$work/version" || fail "version is not --version"
run --help
cp "$work/stdout" "$work/help"
run help
expect_status "$exit_ok" "help"
cmp -s "$work/stdout" "$work/help" || fail "help is not --help"
for command in record report diff dump inspect check doctor; do
  run "$command" --help
  cp "$work/stdout" "$work/help"
  run help "$command"
  expect_status "$exit_ok" "help $command"
  cmp -s "$work/stdout" "$work/help" || fail "help $command is not $command --help"
done
run help no-such-command
expect_status "$exit_usage" "help of nothing"
expect_said 'unknown command no-such-command'
run --pid 1
expect_status "$exit_usage" "an option without command"
expect_said 'labelscope record --pid 1$'
for command in dump record; do
  run "$command" 4242
  expect_status "$exit_usage" "$command 4242"
  expect_said "labelscope $command -p 4242"
done
run record -d 1 -p $$ -o x.pb
expect_status "$exit_usage" "-o x.pb"
expect_said 'x\.pb\.gz'
run record -d 1 -p $$ -f folded -o t.jsonl
expect_status "$exit_usage" "-f folded -o t.jsonl"
expect_said 'jsonl, and -f says folded'
expect_no_files
