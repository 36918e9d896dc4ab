# A frequency of zero, below zero, or not a number gives status 2 and a sentence with the value in
# it.
source "${BASH_SOURCE%/*}/../lib.sh"
for value in 0 -1 often ''; do
  run record -F "$value" -d 1 -- true
  expect_status "$exit_usage" "-F '$value'"
  expect_said "(-F|frequency|rate).*${value}"
  expect_no_stdout
done
expect_no_files
