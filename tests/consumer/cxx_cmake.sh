# consumer/cxx with CMake: find_package, and one thread's labels as the target itself prints them.
source "$SOURCE_DIR/lib.sh"
build_project "$SOURCE_DIR/cxx"
start_rivals
for thread in "${truth[@]}"; do
  build/read_thread "$target" "$(jq .tid <<<"$thread")" >>out 2>err || {
    skip_if_refused err
    fail "read_thread: $(cat err)"
  }
done
[[ $(printed_labels out) == "$(true_lines)" ]] ||
  fail "printed: $(cat out); the target: $(true_lines)"
