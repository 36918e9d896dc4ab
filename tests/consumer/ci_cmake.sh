# docs/checking-in-ci.md, "CMake and ctest": the project on that page builds and passes its own
# tests. A fault in the library fails the test that looks deep enough to see it.
source "$SOURCE_DIR/lib.sh"
page=${TREE}docs/checking-in-ci.md
mkdir project
for file in CMakeLists.txt my_labels.c use_labels.c; do
  code_of "$page" "\`$file\`" >"project/$file"
  [[ -s project/$file ]] || fail "the page has no $file"
done

# run_tests <name of the fault, or good>: builds the project, and puts the names of the tests that
# failed into $failed.
run_tests() {
  cmake -S project -B build -G Ninja -DCMAKE_C_COMPILER="${GCC:-gcc}" \
    -DLABELSCOPE="$PREFIX/bin/labelscope" >log 2>&1 &&
    cmake --build build >>log 2>&1 || { cat log; fail "$1 does not build"; }
  ctest --test-dir build --parallel 3 --timeout 120 --output-on-failure >log 2>&1
  failed=$(sed -n 's/^.* - \(labels\.[a-z]*\) (.*/\1/p' log | sort | tr '\n' ' ')
}

command -v gcc >/dev/null || skip_test "gcc is not installed"
run_tests good
grep -q 'tests passed, 0 tests failed out of 3' log ||
  { cat log; fail "the project of the page is not clean"; }

cp -r project good
sed -i 's/-mtls-dialect=gnu2/-mtls-dialect=gnu/; s/-ftls-model=global-dynamic)/-ftls-model=initial-exec)/' project/CMakeLists.txt
run_tests "the library without TLS descriptors"
[[ $failed == *labels.static* ]] && grep -q LS031 log ||
  { cat log; fail "LS031 was not found: $failed"; }

rm -rf project && cp -r good project
sed -i 's/label->value = .*/label->value = (struct text){0, value ? NULL : NULL};/' \
  project/my_labels.c
run_tests "the library with null values"
[[ $failed != *labels.static* && $failed == *labels.live* && $failed == *labels.step* ]] &&
  grep -q LS044 log ||
  { cat log; fail "LS044 was not found: $failed"; }

rm -rf project && cp -r good project
# Only an interruption between the two statements shows the fault.
sed -i 's/^  places\[next\]\.set = .*/  custom_labels_current_set = \&places[next].set;\n  atomic_signal_fence(memory_order_release);\n&/' project/my_labels.c
run_tests "the library that publishes before the set is in place"
[[ $failed == *labels.step* ]] || { cat log; fail "the early publication was not found: $failed"; }
