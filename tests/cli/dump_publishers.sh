# Several publishers: every label with its source, and no disagreement in silence.
source "$SOURCE_DIR/lib.sh"
start_target "$RIVALS_PROGRAM" --dlopen "$RIVALS_LIBRARY"
run dump -p "$target"
expect_status "$exit_ok" "dump"
expect_shown '^  labels from /.*/rivals \(.*\) @rivals$'
expect_shown '^  labels from /.*/libcustomlabels-rival\.so \(.*\) @libcustomlabels-rival\.so$'
expect_shown "tenant=[^ ]+@rivals"
expect_shown "tenant=[^ ]+@libcustomlabels-rival\.so"
expect_shown '\(publishers disagree on .*tenant'
