# consumer/c with CMake: find_package in a project of C only, and every thread's labels as the
# target itself prints them.
source "$SOURCE_DIR/lib.sh"
build_project "$SOURCE_DIR/c"
start_rivals
build/print_labels "$target" >out 2>err || {
  skip_if_refused err
  fail "print_labels: $(cat err)"
}
[[ $(printed_labels out) == "$(true_lines)" ]] ||
  fail "printed: $(cat out); the target: $(true_lines)"
# The output has an explanation: what was planned, and the way to the first thread's labels.
(($(grep -c '^# ' out) >= 5)) || fail "no explanation: $(cat out)"
grep '^# ' out | grep -Fq "$(basename "$RIVALS_LIBRARY")" ||
  fail "the explanation does not name the library"
grep '^# ' out | grep -q 'of-publisher-' || fail "the explanation does not show the labels"
# An error is a value whose text names what was tried.
build/print_labels 2147483647 >out 2>err && fail "a process that does not exist was read"
grep -q 2147483647 err || fail "the error does not name the process: $(cat err)"
build/print_labels /etc/hostname >out 2>err && fail "a file that is no core was read"
[[ -s err ]] || fail "no error for a file that is no core"
