# Each installed header compiles alone; those for C as C11 and as C++, the one for BPF as BPF, where there are clang and
# libbpf's headers, which it needs before it.
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

cat >reading.bpf.c <<'EOF'
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <labelscope/read_labels.bpf.h>
static __always_inline struct ls_reading* ls_reading_at(__u32 index) {
  (void)index;
  return 0;
}
SEC("perf_event") int sample(void* context) {
  (void)context;
  return ls_read_labels(0, ls_current_thread_pointer());
}
EOF
case $(uname -m) in
  aarch64) architecture=arm64 ;;
  *) architecture=x86 ;;
esac
# Only a header of ours that is wrong makes this fail: that the others are here is tried first.
bpf_compiler=(clang --target=bpf -O2 -g -D__TARGET_ARCH_$architecture -isystem "/usr/include/$(uname -m)-linux-gnu" -I"$includes")
if grep -v labelscope reading.bpf.c | sed '/^static/,$d' | "${bpf_compiler[@]}" -x c -fsyntax-only - 2>others.log; then
  "${bpf_compiler[@]}" -Wall -Wextra -Werror -c reading.bpf.c -o reading.bpf.o 2>bpf.log ||
    fail "read_labels.bpf.h does not compile as BPF: $(cat bpf.log)"
else
  echo "read_labels.bpf.h is not compiled: $(head -1 others.log)"
fi

# No header leads into the tree that it was built from.
if grep -rnE --include='*.h' --include='*.hpp' '#include "(bpf|cli|src|tests)/' "$includes"; then
  fail "these include files of the tree"
fi
