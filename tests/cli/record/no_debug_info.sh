# With --no-debug-info names come from symbol tables alone: functions are whole, without lines and inlined calls, by a
# recording and by dump, and names of code that was made at run time stay.
source "${BASH_SOURCE%/*}/../lib.sh"
need_sampling
need_command python3
cat >"$work/inlines.c" <<'EOF'
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
static volatile unsigned long turns;
static inline __attribute__((always_inline)) void inlined(void) {
  for (int i = 0; i < 1000; i++) turns++;
}
__attribute__((noinline)) void calls(void) { inlined(); }
/* Code that is made at run time: a short loop. The program names it in its perf map. */
static const unsigned char loop[] = {
#if defined(__x86_64__)
    0xb9, 0xa0, 0x86, 0x01, 0x00, 0xff, 0xc9, 0x75, 0xfc, 0xc3 /* mov $100000,%ecx; dec %ecx; jne; ret */
#else
    0x00, 0x6a, 0x98, 0xd2, 0x00, 0x04, 0x00, 0xf1, 0xe1, 0xff, 0xff, 0x54, 0xc0, 0x03, 0x5f, 0xd6
#endif
};
int main(int argc, char **argv) {
  (void)argv;
  while (argc > 1) calls();
  char *made = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memcpy(made, loop, sizeof loop);
  mprotect(made, 4096, PROT_READ | PROT_EXEC);
  __builtin___clear_cache(made, made + sizeof loop);
  char path[64];
  snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
  FILE *map = fopen(path, "w");
  fprintf(map, "%lx %zx made_at_run_time\n", (unsigned long)made, sizeof loop);
  fclose(map);
  for (;;) {
    for (int i = 0; i < 50; i++) calls();
    ((void (*)(void))made)();
  }
}
EOF
cc -g -O2 -o "$work/inlines" "$work/inlines.c" 2>"$work/cc" || skip_test "no compiler: $(head -n 1 "$work/cc")"
"$work/inlines" &
target=$!
children+=("$target")
# shows <recording>: the functions of the program with their lines, as "calls;inlined lines".
shows() {
  python3 - "$1" <<'EOF'
import json, sys
for line in open(sys.argv[1], encoding="utf-8"):
    found = json.loads(line)
    lines = found.get("lines") or []
    names = [one["function"] for one in reversed(lines)]
    if "calls" in names or "made_at_run_time" in names:
        print(";".join(names), "lines" if any(one.get("line") for one in lines) else "none")
EOF
}
record_for 100 -F 499 -p "$target" -o with.jsonl
expect_status "$exit_ok" "with debug information"
record_for 100 -F 499 --no-debug-info -p "$target" -o without.jsonl
expect_status "$exit_ok" "--no-debug-info"
kill -KILL "$target" && wait "$target" 2>/dev/null
rm -f "/tmp/perf-$target.map"
with=$(shows with.jsonl)
without=$(shows without.jsonl | sort -u)
grep -qx 'calls;inlined lines' <<<"$with" || fail "no inlined call with debug information: $with"
[[ $without == $'calls none\nmade_at_run_time none' ]] ||
  fail "not the names of symbols and of the perf map alone: $without"
"$work/inlines" calls-alone &
target=$!
children+=("$target")
run dump --stacks -p "$target"
expect_status "$exit_ok" "dump"
expect_shown '^    calls \(.*inlines\.c:[0-9]+\)$'
run dump --stacks --no-debug-info -p "$target"
expect_status "$exit_ok" "dump --no-debug-info"
expect_shown '^    calls \(inlines\)$'
! grep -qE 'inlined|inlines\.c' "$work/stdout" || fail "dump has read debug information"
run record --no-inline -p 1
expect_status "$exit_usage" "perf's option"
expect_said "--no-debug-info leaves inlined calls and lines out"
