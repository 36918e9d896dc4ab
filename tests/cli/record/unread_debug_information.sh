# Debug information that is there and is not read: inlined calls are missing, and it is said once for the file.
source "${BASH_SOURCE%/*}/../lib.sh"
need_sampling
cat >"$work/inlines.c" <<'EOF'
static volatile unsigned long turns;
static inline __attribute__((always_inline)) void inlined(void) {
  for (int i = 0; i < 1000; i++) turns++;
}
__attribute__((noinline)) void calls(void) { inlined(); }
int main(void) {
  for (;;) calls();
}
EOF
# record_built <how> <compiler option>...: with the stacks in out.folded.
record_built() {
  local how=$1
  shift
  cc -g -O2 "$@" -o "$work/inlines" "$work/inlines.c" 2>"$work/cc" || { echo "not tried: cc does not take $*: $(head -n 1 "$work/cc")"; return 1; }
  "$work/inlines" &
  target=$!
  children+=("$target")
  record_for 50 -F 199 --overwrite -p "$target" -o out.folded
  kill -KILL "$target"
  expect_status "$exit_ok" "$how"
  grep -q ';calls' out.folded || fail "$how: the function has no name: $(cat out.folded)"
}
record_built "as it is" || skip_test "no compiler"
grep -q ';calls;inlined ' out.folded || fail "no inlined call where the debug information can be read: $(cat out.folded)"
! grep -q 'is left out' "$work/stderr" || fail "something is said to be left out"

# expect_left_out <how> <words>
expect_left_out() {
  grep -q ';calls;inlined ' out.folded && { echo "$1: read here"; return; }
  expect_said "^Something is left out of .*/inlines \\([0-9.]+% of the frames\\): .*$2"
  (($(grep -c 'left out of' "$work/stderr") == 1)) || fail "$1: it is said more than once"
}
cd "$work" || exit 1 # where the compiler leaves what is split off
if record_built "split" -gsplit-dwarf; then expect_left_out "split" 'split debug information'; fi
if record_built "packed" -Wl,--compress-debug-sections=zstd; then expect_left_out "packed" 'packed with zstd'; fi
exit 0
