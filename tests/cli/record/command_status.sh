# With a command, labelscope has the command's status, and the profile is written.
source "${BASH_SOURCE%/*}/../lib.sh"
need_sampling
run record -o out.pb.gz -- bash -c 'for ((i = 0; i < 1000000; i++)); do :; done; exit 7'
expect_status 7 "the command's own"
expect_pprof out.pb.gz
# Like a shell, labelscope reports a signal as 128 and its number.
run record -o killed.pb.gz -- bash -c 'for ((i = 0; i < 1000000; i++)); do :; done; kill -KILL $$'
expect_status 137 "killed by signal 9"
expect_pprof killed.pb.gz
