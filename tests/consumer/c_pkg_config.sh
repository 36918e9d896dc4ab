# consumer/c with pkg-config and each C compiler that is installed: against the shared library, and
# with the archive, which also needs the C++ run time and elfutils.
source "$SOURCE_DIR/lib.sh"
flags=(-std=c11 -pedantic -Wall -Wextra -Werror)
source=$SOURCE_DIR/c/print_labels.c
# The flags are several words, which must not be quoted.
# shellcheck disable=SC2046,SC2086
build() {
  local compiler=$1 module=$2 static=${3:-}
  "$compiler" "${flags[@]}" $CFLAGS "$source" $(pkg-config $static --cflags --libs "$module") \
    -o print_labels 2>log ||
    { cat log; fail "$compiler does not build against $module $static"; }
}
start_rivals
built=0
for compiler in gcc clang; do
  command -v "$compiler" >/dev/null || continue
  # A sanitizer's run time works with one compiler only.
  [[ -n $CFLAGS && $(basename "$CC") != "$compiler"* &&
    ! ($(basename "$CC") == cc && $compiler == gcc) ]] && continue
  for module in labelscope labelscope-reader "labelscope-reader --static"; do
    # Linking the archive is slow, so one compiler is enough for it.
    [[ $module != labelscope && $compiler != gcc ]] && command -v gcc >/dev/null && continue
    # shellcheck disable=SC2086
    build "$compiler" $module
    LD_LIBRARY_PATH=$(library_dir) ./print_labels "$target" >out 2>err || {
      skip_if_refused err
      fail "print_labels ($compiler, $module): $(cat err)"
    }
    [[ $(printed_labels out) == "$(true_lines)" ]] || fail "$compiler, $module: $(cat out)"
    built=$((built + 1))
  done
done
((built > 0)) || skip_test "neither gcc nor clang is here"
