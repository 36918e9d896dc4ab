# A program that its loader has started ("ld-linux-x86-64.so.2 ./prog") is the program, for whoever
# plans and judges it, and not a library.
source "${BASH_SOURCE%/*}/../lib.sh"
source "$SOURCE_DIR/stopping.sh"
need_ptrace
need_command jq
need_command cc
need_command readelf
cat >"$work/writer.c" <<'EOT'
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

struct string { unsigned long len; const char* buf; };
struct label { struct string key, value; };
struct set { const struct label* storage; unsigned long count, capacity; };
const uint32_t custom_labels_abi_version = 1;
__thread const struct set* custom_labels_current_set;

int main(void) {
  static const struct label label = {{6, "tenant"}, {4, "acme"}};
  static const struct set set = {&label, 1, 1};
  custom_labels_current_set = &set;
  puts("ready");
  fflush(stdout);
  while (getchar() != EOF) {}
  return 0;
}
EOT
exported='-Wl,--export-dynamic-symbol=custom_labels_abi_version -Wl,--export-dynamic-symbol=custom_labels_current_set'
# expect_finding <program> <finding of dump, a pattern>
expect_finding() {
  local loader how
  loader=$(readelf -lW "$1" | sed -n 's/.*interpreter: \(.*\)]/\1/p')
  [[ -x $loader ]] || fail "$1 has no loader: $loader"
  for how in "" "$loader"; do
    # shellcheck disable=SC2086  # without a loader it is no word
    start_target $how "$1"
    run dump --explain --backend ptrace -p "$target"
    expect_status "$exit_ok" "dump of $how $1"
    expect_shown '^Thread .*tenant=acme$'
    expect_shown ": main executable, "
    sed -n '/^Findings/,$p' "$work/stdout" | grep -E '^  (LS|nothing)' >found
    [[ $(wc -l <found) == 1 ]] && grep -Eq "$2" found || fail "$how $1: $(cat found), not $2"
    stop_target
  done
  run check --samples 20 -- "$loader" "$1" </dev/null
  grep -q LS003 "$work/stdout" && fail "check takes $1 for a library"
  rm found
}
for compiler in cc musl-gcc; do
  command -v "$compiler" >/dev/null || continue
  # shellcheck disable=SC2086  # several options
  "$compiler" -O1 $exported -o "$work/exports-$compiler" "$work/writer.c" || fail "$compiler: the program cannot be compiled"
  "$compiler" -O1 -o "$work/hides-$compiler" "$work/writer.c" || fail "$compiler: the program cannot be compiled"
  expect_finding "$work/exports-$compiler" '^  nothing is wrong'
  expect_finding "$work/hides-$compiler" '^  LS010 not-exported'
done
