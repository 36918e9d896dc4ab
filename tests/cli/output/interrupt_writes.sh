# Ctrl-C (SIGINT) ends a recording without a duration: the profile is written, the status is 0, and
# the target runs on.
source "${BASH_SOURCE%/*}/../lib.sh"
need_sampling
start_busy_target
start record -p "$target" -o out.pb.gz
wait_for_samples
kill -INT "$recorder"
finish
expect_status "$exit_ok" "SIGINT"
expect_pprof out.pb.gz
expect_said 'samples'
expect_no_stdout
is_gone "$target" && fail "the target was ended, too"
exit 0
