# An addon of node that keeps its labels in AsyncLocalStorage exports symbols that show that.
# labelscope then says that these labels cannot be read, and what to do. A library with the symbols
# is enough for this test.
source "${BASH_SOURCE%/*}/../lib.sh"
cat >"$work/addon.c" <<'EOF'
#include <stdint.h>
__thread int custom_labels_als_identity_hash;
#ifdef WITH_PAIR
const uint32_t custom_labels_abi_version = 1;
__thread void* custom_labels_current_set;
#endif
int addon(void) { return ++custom_labels_als_identity_hash; }
EOF
cat >"$work/node.c" <<'EOF'
#include <stdio.h>
int addon(void);
int main(void) {
  printf("%d\nready\n", addon());
  fflush(stdout);
  return getchar() == EOF ? 0 : 1;
}
EOF
for pair in "" -DWITH_PAIR; do
  # shellcheck disable=SC2086  # none, or a word
  cc $pair -shared -fPIC -o "$work/libcustomlabels-node.so" "$work/addon.c" &&
    cc -o "$work/node" "$work/node.c" "$work/libcustomlabels-node.so" -Wl,-rpath,"$work" ||
    skip_test "no compiler"
  rm -f "$work/stdin"
  start_target "$work/node"
  run dump -p "$target"
  expect_status "$exit_ok" "a node process (${pair:-without the pair of symbols})"
  expect_shown AsyncLocalStorage
  run dump -p "$target" --explain
  tr -s ' \n' ' ' <"$work/stdout" >"$work/words"
  grep -q 'AsyncLocalStorage' "$work/words" || fail "--explain does not name AsyncLocalStorage"
  grep -q 'parca-agent' "$work/words" || fail "--explain does not say what to do"
  ! grep -q 'nothing is wrong' "$work/words" || fail "something is wrong"
  run inspect "$work/libcustomlabels-node.so"
  tr -s ' \n' ' ' <"$work/stdout" | grep -q AsyncLocalStorage ||
    fail "inspect does not name AsyncLocalStorage"
  exec 8>&-
done
