# A target that becomes another program during the recording is followed: one profile, exit 0.
source "$SOURCE_DIR/lib.sh"
need_sampling
# A file that appears, no line to read: bash's read with a time-out drops a line when the time is over by then.
bash -c 'until [[ -e $1 ]]; do for ((i = 0; i < 20000; i++)); do :; done; done
  exec bash -c "while :; do :; done" second-program' first-program "$work/go" </dev/null >/dev/null 2>&1 &
target=$!
children+=("$target")
start record -p "$target" -o out.pb.gz
wait_for_samples
: >"$work/go"
is_second() { tr '\0' ' ' <"/proc/$target/cmdline" | grep -q second-program; }
wait_until "the target executes its second program" is_second
wait_for_samples
kill -INT "$recorder"
finish
expect_status "$exit_ok" "the target became another program"
expect_pprof out.pb.gz
