# Old programs ask for the time at a fixed address, where the kernel answers in place of a function.
# Their callers are known all the same, and nothing is taken for unknown code of the kernel.
source "${BASH_SOURCE%/*}/../lib.sh"
need_sampling
need_command cc
grep -q '\[vsyscall\]$' /proc/self/maps || skip_test "this kernel has no vsyscall page"
cat >program.c <<'EOC'
#include <stdio.h>
#include <sys/time.h>
#include <unistd.h>
static volatile unsigned long turns;
__attribute__((noinline)) void ask(void) {
  struct timeval now;
  ((int (*)(struct timeval*, void*))0xffffffffff600000)(&now, 0);
  turns++;
}
__attribute__((noinline)) void often(void) {
  for (;;) {
    ask();
    turns++;
  }
}
int main(void) {
  puts("ready");
  fflush(stdout);
  alarm(300);
  often();
}
EOC
cc -g -O1 -fomit-frame-pointer -o program program.c || skip_test "no compiler"
start_target ./program
record_for 100 -p "$target" -o out.folded -o out.jsonl
expect_status "$exit_ok" "a recording"
grep -q 'emulate_vsyscall' out.folded || skip_test "no sample in the kernel's answer"
! grep 'emulate_vsyscall' out.folded | grep -v 'main;often;ask;' || fail "a caller is missing"
! grep -E '\[(kernel|unknown)\+' out.folded || fail "the page is taken for code"
