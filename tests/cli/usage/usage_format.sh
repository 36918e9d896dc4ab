# A format that does not exist, by name or by extension, gives status 2, and the answer lists those
# that exist.
source "${BASH_SOURCE%/*}/../lib.sh"
for arguments in '-f svgz' '-o out.svgz'; do
  # shellcheck disable=SC2086  # two words each
  run record $arguments -d 1 -- true
  expect_status "$exit_usage" "$arguments"
  expect_said 'svgz'
  expect_said 'pprof|pb\.gz'
  expect_said 'folded'
  expect_no_stdout
done
expect_no_files
