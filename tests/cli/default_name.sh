# Without -o the profile is named after the target and the time, and two recordings do not touch each other.
source "$SOURCE_DIR/lib.sh"
need_sampling
start_busy_target
run record -d 1 -p "$target"
expect_status "$exit_ok" "no -o"
shopt -s nullglob
files=(labelscope-bash-"$target"-[0-9]*Z.pb.gz)
((${#files[@]} == 1)) || fail "no file labelscope-bash-$target-<UTC>.pb.gz, but: $(ls -A .)"
expect_pprof "${files[0]}"
expect_said "${files[0]}"
run record -d 1 -p "$target"
expect_status "$exit_ok" "the second recording"
files=(labelscope-bash-"$target"-*.pb.gz)
((${#files[@]} == 2)) || fail "two recordings left ${#files[@]} files"
