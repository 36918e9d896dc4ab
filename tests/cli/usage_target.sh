# No target, two kinds of target, or a PID that is no number: exit 2.
source "$SOURCE_DIR/lib.sh"
run record -d 1
expect_status "$exit_usage" "no target"
expect_said '-p'
run record -d 1 -p $$ -- true
expect_status "$exit_usage" "both -p and a command"
for value in abc 0 -5 12x 99999999999999999999 '' 1,,2; do
  run record -d 1 -p "$value"
  expect_status "$exit_usage" "-p '$value'"
done
expect_no_stdout
expect_no_files
