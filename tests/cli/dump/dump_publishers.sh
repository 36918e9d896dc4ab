# Several publishers: every label is shown with its source, and disagreements are reported. Then one
# publisher whose program is none.
source "${BASH_SOURCE%/*}/../lib.sh"
start_target "$RIVALS_PROGRAM" --dlopen "$RIVALS_LIBRARY"
run dump -p "$target"
expect_status "$exit_ok" "dump"
expect_shown '^  labels from /.*/rivals \(.*\) @rivals$'
expect_shown '^  labels from /.*/libcustomlabels-rival\.so \(.*\) @libcustomlabels-rival\.so$'
expect_shown "tenant=[^ ]+@rivals"
expect_shown "tenant=[^ ]+@libcustomlabels-rival\.so"
expect_shown '\(publishers disagree on .*tenant'
exec 8>&-
wait_until "the process ends" is_gone "$target"

# The program has a copy of the library's version, but is not a publisher, not even a broken one.
rm "$work/stdin"
start_target "$VIOLATORS/live/good-linked/reader" stay
run dump -p "$target" --json
expect_status "$exit_ok" "dump of a program that reads the version"
expect_shown '"publishers":\[\{"path":"/[^"]*/libcustomlabels\.so"'
expect_shown '"refused":\[\]'
