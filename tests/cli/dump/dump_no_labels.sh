# A process without labels is no error: dump shows its threads, and why there are no labels.
source "${BASH_SOURCE%/*}/../lib.sh"
start_busy_target
run dump -p "$target"
expect_status "$exit_ok" "dump"
expect_shown "^Process $target: bash"
expect_shown '^  no labels: '
expect_shown "^Thread $target  running  +\"bash\"  \(no labels\)$"
expect_said '^1 thread = 0 labelled \+ 1 unlabelled'
run dump --explain -p "$target"
expect_status "$exit_ok" "dump --explain"
expect_shown '^How its labels are found$'
expect_shown '^Findings$'
run dump --json -p "$target"
expect_shown '"publishers":\[\],.*"absence":"[^"]'
[[ $(state_of "$target") == R ]] || fail "the target does not run"
