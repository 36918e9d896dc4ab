# A process that does not exist, or no longer: exit 3, and the sentence names it.
source "${BASH_SOURCE%/*}/../lib.sh"
need_sampling
true &
gone=$!
wait "$gone"
# One that just ended, and one above the largest that a 64-bit kernel gives out (2^22).
for pid in "$gone" 4194305; do
  run record -d 1 -p "$pid"
  expect_status "$exit_no_target" "-p $pid"
  expect_said "$pid"
  expect_no_stdout
done
expect_no_files
