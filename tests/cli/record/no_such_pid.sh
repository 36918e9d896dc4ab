# If a process does not exist, or no longer, the status is 3, and the sentence names it.
source "${BASH_SOURCE%/*}/../lib.sh"
need_sampling
true &
gone=$!
wait "$gone"
# One has just ended, and one is above the largest that a 64-bit kernel assigns (2^22).
for pid in "$gone" 4194305; do
  run record -d 1 -p "$pid"
  expect_status "$exit_no_target" "-p $pid"
  expect_said "$pid"
  expect_no_stdout
done
expect_no_files
