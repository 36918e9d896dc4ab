# A target that publishes no labels: a profile all the same, and a line that says so and why.
source "$SOURCE_DIR/lib.sh"
need_sampling
start_busy_target
run record -d 1 -p "$target" -o out.pb.gz
expect_status "$exit_ok" "a target without labels"
expect_pprof out.pb.gz
expect_said 'no .*labels?|labels?.*(not|none)'
expect_said 'custom_labels|publish|libcustomlabels'
