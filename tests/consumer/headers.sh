# Each installed header compiles alone, those for C as C11 and as C++; but for preset_walk.h, whose
# includer says how it reads memory. The one for BPF needs libbpf's headers before it. It compiles in the example of its own first comment, if clang and
# those headers are installed.
source "$SOURCE_DIR/lib.sh"
c_headers=(labelscope.h outcome.h tls_recipe.h label_blocks.h)
includes=$(include_dir)
for header in "${c_headers[@]}" plan.h read_labels.bpf.h; do
  [[ -e $includes/labelscope/$header ]] || fail "$header is not installed"
done

# Each line is one compilation: compiler and flags, then the header.
{
  for header in "$includes"/labelscope/*.h; do
    name=$(basename "$header")
    [[ $name == *.bpf.h || $name == preset_walk.h ]] || echo "$CXX -x c++ -std=c++20 $name"
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

# The example is the indented part of the comment, from "A whole program" to the text about it.
sed -n '/^ \* A whole program/,/^ \* .index. goes/s/^ \*   //p' \
  "$includes/labelscope/read_labels.bpf.h" >example.bpf.c
for part in '#include <labelscope/read_labels.bpf.h>' ls_reading_at 'SEC("perf_event")' \
  ls_read_labels bpf_ringbuf_output; do
  grep -Fq "$part" example.bpf.c ||
    fail "the example in read_labels.bpf.h has no $part: $(cat example.bpf.c)"
done
case $(uname -m) in
  aarch64) architecture=arm64 ;;
  *) architecture=x86 ;;
esac
# This must fail only for a wrong header of ours, so the others are tried first.
bpf_compiler=(clang --target=bpf -O2 -g -D__TARGET_ARCH_$architecture -isystem "/usr/include/$(uname -m)-linux-gnu" -I"$includes")
if grep '^#include' example.bpf.c | grep -v labelscope |
  "${bpf_compiler[@]}" -x c -fsyntax-only - 2>others.log; then
  "${bpf_compiler[@]}" -Wall -Wextra -Wno-unused-parameter -Werror -c example.bpf.c \
    -o example.bpf.o 2>bpf.log ||
    fail "the example in read_labels.bpf.h does not compile: $(cat bpf.log)"
else
  echo "read_labels.bpf.h is not compiled: $(head -1 others.log)"
fi

# No header may include files of the tree that it was built from.
if grep -rnE --include='*.h' --include='*.hpp' '#include "(bpf|cli|src|tests)/' "$includes"; then
  fail "these include files of the tree"
fi
