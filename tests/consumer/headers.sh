# Each installed header compiles alone; those for C as C11 and as C++, the one for BPF as BPF.
source "$SOURCE_DIR/lib.sh"
c_headers=(labelscope.h outcome.h tls_recipe.h label_blocks.h)
includes=$(include_dir)
for header in "${c_headers[@]}" plan.h read_labels.bpf.h; do
  [[ -e $includes/labelscope/$header ]] || fail "$header is not installed"
done

# Compiler and flags, then the header: one line a compilation.
{
  for header in "$includes"/labelscope/*.h; do
    name=$(basename "$header")
    [[ $name == *.bpf.h ]] || echo "$CXX -x c++ -std=c++20 $name"
  done
  for name in "${c_headers[@]}"; do echo "$CC -x c -std=c11 -pedantic $name"; done
} >compilations
# shellcheck disable=SC2016  # the inner shell's
xargs -a compilations -P "$(nproc)" -L 1 bash -c '
  header=${*: -1}
  echo "#include <labelscope/$header>" >"$$.c"
  "${@:1:$#-1}" -I"$0" -Wall -Wextra -Werror -fsyntax-only "$$.c" 2>"$$.log" || { echo "alone: $*"; cat "$$.log"; exit 1; }
' "$includes" || fail "an installed header does not compile alone"
(($(wc -l <compilations) >= 20)) || fail "hardly any header is installed in $includes/labelscope"

# No header leads into the tree that it was built from.
if grep -rnE --include='*.h' --include='*.hpp' '#include "(bpf|cli|src|tests)/' "$includes"; then
  fail "these include files of the tree"
fi
