# Memory that nobody supplies keeps a recording by ptrace waiting with a thread held: after some seconds labelscope says
# so and ends, and the thread goes on.
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
