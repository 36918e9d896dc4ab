# Impossible arguments are refused with status 2 and a sentence that names them.
source "${BASH_SOURCE%/*}/../lib.sh"
refused() {
  local words=$1
  shift
  run dump "$@"
  expect_status "$exit_usage" "$*"
  expect_said "$words"
  expect_no_stdout
}
refused '-p PID' --json
refused 'exclude' -p $$ --core core
refused 'starts no program' -p $$ -- true
refused '--backend perf.*known' -p $$ --backend perf
refused '--stacks needs' -p $$ --backend bpf --stacks
refused '--max-stop has no meaning' -p $$ --backend bpf --max-stop 1ms
refused '--max-stop' -p $$ --max-stop 0
refused '--sysroot has a meaning with --core' -p $$ --sysroot /
refused '--backend has no meaning with --core' --core core --backend ptrace
refused 'empty' --core ''
refused 'empty' --core core --files ''
for value in 0 -5 ''; do refused '-p|--pid|process' -p "$value"; done
run dump --help
expect_status "$exit_ok" "dump --help"
for option in \
  -p --core --json --stacks --explain --backend --max-stop --exe --sysroot --files --color -q; do
  grep -q -- "$option" "$work/stdout" || fail "dump --help does not explain $option"
done
run --help
grep -q 'dump' "$work/stdout" || fail "--help does not list dump"
expect_no_files
