# A target that ends, ends the recording, which has its profile and status 0.
source "${BASH_SOURCE%/*}/../lib.sh"
need_sampling
start_busy_target
start record -d 3600 -p "$target" -o out.pb.gz
wait_for_samples
kill -KILL "$target"
finish
expect_status "$exit_ok" "the target ended"
expect_pprof out.pb.gz
