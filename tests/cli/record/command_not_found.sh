# For a command that does not exist the status is 127, as in a shell; for one that is no program it
# is 126. Nothing is left behind.
source "${BASH_SOURCE%/*}/../lib.sh"
need_sampling
run record -- /no/such/program argument
expect_status 127 "no such command"
expect_said '/no/such/program'
! grep -q Recording "$work/stderr" || fail "a recording is announced that never began"
run record -- labelscope-no-such-program
expect_status 127 "not in PATH"
run record -- /etc/passwd
expect_status 126 "not executable"
expect_no_stdout
expect_no_files
