# A duration below zero, or no duration, gives status 2 and a sentence with the value in it.
source "${BASH_SOURCE%/*}/../lib.sh"
for value in -1 -1s soon 5parsecs ''; do
  run record -d "$value" -- true
  expect_status "$exit_usage" "-d '$value'"
  expect_said "(-d|duration).*${value}"
  expect_no_stdout
done
expect_no_files
