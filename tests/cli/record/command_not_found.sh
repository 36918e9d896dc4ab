# A command that does not exist: 127, as a shell has it; one that is no program: 126. Nothing is left behind.
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
