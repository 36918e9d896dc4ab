# No target, two kinds of target, or an impossible PID gives status 2.
source "${BASH_SOURCE%/*}/../lib.sh"
run record -d 1
expect_status "$exit_usage" "no target"
expect_said '-p'
run record -d 1 -p $$ -- true
expect_status "$exit_usage" "both -p and a command"
for value in 0 -5 99999999999999999999 '' 1,,2 abc,; do
  run record -d 1 -p "$value"
  expect_status "$exit_usage" "-p '$value'"
done
# Each option takes one word, so what follows is neither another target nor another output.
# refused <what stderr says> <argument...>: checks this.
refused() {
  run record "${@:2}"
  expect_status "$exit_usage" "${*:2}"
  expect_said "$1"
  expect_no_stdout
}
refused "not expected: 1; .*commas.*: labelscope record -p $$,1\$" -p $$ 1
refused 'not expected: ./job.html; a program to start goes after --' -o a.html ./job.html
refused 'not expected: true; a program to start goes after --' --env-label HOME true
for option in \
  --tls --process-label --debug-dir --group-by --label-deny --label-allow --label-hash --summary; do
  refused 'not expected: true' "$option" x true
done
# The IDs that pgrep has found are one word, or none.
refused 'there is no process ID in it' -p ''
refused 'there is no process ID in it' -p $'\n'
refused '1, ,2: process IDs or names are wanted' -p '1, ,2'
for found in $'4194305\n4194306' '4194305 4194306' ' 4194305, 4194306'; do
  run record -d 1 -p "$found"
  expect_status "$exit_no_target" "-p '$found'"
  expect_said 'no process 4194305$'
done
expect_no_stdout
expect_no_files
