# Memory that is never supplied keeps a recording by ptrace waiting while it holds a thread. After
# some seconds labelscope reports that and ends, and the thread runs on.
source "${BASH_SOURCE%/*}/../lib.sh"
source "$SOURCE_DIR/unsupplied.sh"
start_unsupplied
start record --backend ptrace --mode wall -p "$target" -o out.pb.gz
wait_until "the thread is held" target_is_held
finish
expect_status "$exit_error" "the thread was held for too long"
expect_said 'held for [0-9]+ s: .*userfaultfd'
expect_no_files
wait_until "the thread goes on" target_goes_on
