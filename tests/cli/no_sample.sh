# A target that never runs gives no sample: exit 5, and the answer says that it was idle or off-CPU.
source "$SOURCE_DIR/lib.sh"
need_sampling
sleep 3600 </dev/null >/dev/null 2>&1 &
target=$!
children+=("$target")
is_asleep() { [[ $(cat "/proc/$target/comm") == sleep && $(state_of "$target") == S ]]; }
wait_until "the target sleeps" is_asleep
run record -d 1 -p "$target" -o out.pb.gz
expect_status "$exit_no_sample" "an idle target"
expect_said 'no sample'
expect_no_stdout
