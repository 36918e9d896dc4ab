# A target that becomes another program during the recording is followed: one profile has both, and
# the status is 0.
source "${BASH_SOURCE%/*}/../lib.sh"
need_sampling
need_command jq
copy_of_bash second-program
# It waits for a file instead of a line, because bash's read with a time-out loses a line when the
# time is over.
bash -c 'until [[ -e $1 ]]; do for ((i = 0; i < 20000; i++)); do :; done; done
  exec "$2" -c "while :; do :; done"' first-program "$work/go" "$copy" </dev/null >/dev/null 2>&1 &
target=$!
children+=("$target")
start record -p "$target" -o out.pb.gz -o out.jsonl
wait_for_samples
: >"$work/go"
is_second() { [[ $(readlink "/proc/$target/exe") == "$copy" ]]; }
wait_until "the target executes its second program" is_second
wait_for_samples
kill -INT "$recorder"
finish
expect_status "$exit_ok" "the target became another program"
expect_pprof out.pb.gz
expect_ledger out.jsonl
expect_named out.jsonl "$target" "$(readlink -f "$(command -v bash)")"
expect_named out.jsonl "$target" "$copy"
