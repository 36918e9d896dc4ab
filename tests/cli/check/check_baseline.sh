# Known findings are accepted and mentioned, new ones fail, and mended ones are reported.
source "${BASH_SOURCE%/*}/../lib.sh"
cp "$VIOLATORS/static/LS031-general-dynamic/libcustomlabels.so" libcustomlabels-a.so
cp "$VIOLATORS/static/LS023-packed/libcustomlabels.so" libcustomlabels-b.so
run check --format json -o known.json libcustomlabels-a.so libcustomlabels-b.so
expect_status "$exit_findings" "the first run"
expect_no_stdout

run check --strict --baseline known.json libcustomlabels-a.so libcustomlabels-b.so
expect_status "$exit_ok" "everything is known"
expect_shown 'error LS031 \(accepted\)'
expect_shown '^clean: .*2 findings accepted by the baseline'

# The same error in another file is new, and so is another error in the same file.
cp libcustomlabels-a.so libcustomlabels-c.so
run check --baseline known.json libcustomlabels-a.so libcustomlabels-c.so
expect_status "$exit_findings" "a new file"
cp "$VIOLATORS/static/LS012-two/libcustomlabels.so" libcustomlabels-a.so
run check --baseline known.json libcustomlabels-a.so
expect_status "$exit_findings" "a new mistake"
expect_shown 'error LS012'

cp "$VIOLATORS/static/good-library/libcustomlabels.so" libcustomlabels-a.so
run check --baseline known.json libcustomlabels-a.so
expect_status "$exit_ok" "the mistake is mended"
expect_shown "baseline's LS031 of libcustomlabels-a.so was not found again"

printf 'no json\n' >wrong.json
for wrong in wrong.json missing.json /dev/null .; do
  run check --baseline "$wrong" libcustomlabels-a.so
  expect_status "$exit_unchecked" "the baseline $wrong"
  expect_said 'the baseline '
  expect_no_stdout
done
