# Impossible arguments are refused with status 2 and a sentence that names them.
source "${BASH_SOURCE%/*}/../lib.sh"
refused() {
  local words=$1
  shift
  run check "$@"
  expect_status "$exit_usage" "$*"
  expect_said "$words"
  expect_no_stdout
}
refused 'nothing to check'
refused 'exclude each other' -p $$ file
refused 'exclude each other' file -- true
refused 'exclude each other' -p $$ -- true
refused 'exclude each other' --rules -p $$
refused 'file name is empty' ''
refused 'one process' -p "$$,1"
refused 'step needs a program' --step file
refused 'step needs a program' --step -p $$
refused 'update has a meaning with --step' --update f -- true
refused 'name is empty' --step --update '' -- true
refused 'timeout has a meaning' --timeout 5 file
refused '--timeout 0' --timeout 0 -- true
refused '--samples has a meaning' --samples 5 file
refused '--samples has a meaning' --samples 5 --step -- true
refused '--samples 0' --samples 0 -p $$
refused '--format xml.*known' --format xml file
refused 'formats text and json' --rules --format sarif
refused '--output: the file name is empty' -o '' file
refused '--baseline: the file name is empty' --baseline '' file
refused 'a program is wanted' --
refused '--color' --color pink file
run check --help
expect_status "$exit_ok" "check --help"
for option in \
  --pid --step --update --samples --timeout --rules --format --output --strict --baseline --color --quiet; do
  grep -q -- "$option" "$work/stdout" || fail "check --help does not explain $option"
done
run --help
grep -q 'check' "$work/stdout" || fail "--help does not list check"
expect_no_files
