# Several processes: each that exists is shown, and the status is that of the one that does not.
source "${BASH_SOURCE%/*}/../lib.sh"
start_target "$CROWD" --threads 2
crowd=$target
start_busy_target
run dump -p "$crowd,$target"
expect_status "$exit_ok" "two processes"
expect_shown "^Process $crowd: "
expect_shown "^Process $target: "
expect_said "^$crowd: 3 threads = 2 labelled"
run dump --json -p "$crowd" -p 4194305 -p "$target"
expect_status "$exit_no_target" "one of three is gone"
expect_said '4194305'
(($(wc -l <"$work/stdout") == 2)) || fail "not two lines"
