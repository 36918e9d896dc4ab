# consumer/c with pkg-config and each C compiler that is here: against the shared library, and with the archive, which
# needs the C++ run time and elfutils named for it.
source "$SOURCE_DIR/lib.sh"
flags=(-std=c11 -pedantic -Wall -Wextra -Werror)
source=$SOURCE_DIR/c/print_labels.c
# Words of flags: not to be quoted.
# shellcheck disable=SC2046,SC2086
build() {
  local compiler=$1 module=$2 static=${3:-}
  "$compiler" "${flags[@]}" $CFLAGS "$source" $(pkg-config $static --cflags --libs "$module") -o print_labels 2>log ||
    { cat log; fail "$compiler does not build against $module $static"; }
}
start_rivals
built=0
for compiler in gcc clang; do
  command -v "$compiler" >/dev/null || continue
  # A sanitizer's run time belongs to one compiler.
  [[ -n $CFLAGS && $(basename "$CC") != "$compiler"* && ! ($(basename "$CC") == cc && $compiler == gcc) ]] && continue
  for module in labelscope labelscope-reader "labelscope-reader --static"; do
    # The archive takes its time to link: once is enough.
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
