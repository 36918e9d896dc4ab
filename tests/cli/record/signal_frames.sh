# The frame below a signal handler is the libc's return from it: one row that is called what it is, with the function that
# was interrupted as its caller.
source "${BASH_SOURCE%/*}/../lib.sh"
need_sampling
cat >"$work/handles.c" <<'EOF'
#include <signal.h>
#include <stddef.h>
#include <sys/time.h>
static volatile unsigned long turns;
__attribute__((noinline)) void handle(int number) {
  for (int i = 0; i < 20000000; i++) turns += (unsigned long)number;
}
__attribute__((noinline)) void interrupted(void) {
  for (;;) turns++;
}
int main(void) {
  const struct itimerval often = {{0, 50000}, {0, 50000}};
  signal(SIGALRM, handle);
  setitimer(ITIMER_REAL, &often, NULL);
  interrupted();
}
EOF
cc -g -O1 -o "$work/handles" "$work/handles.c" || skip_test "no compiler"
"$work/handles" &
target=$!
children+=("$target")
record_for 100 -F 499 -p "$target" -o out.folded
expect_status "$exit_ok" "a program with a signal handler"
grep -Eq 'main;interrupted;<signal handler called>;handle [0-9]+$' out.folded || fail "no frame of a signal: $(cat out.folded)"
! grep -Eq 'libc\.so[^;]*\+0x[^;]*;handle' out.folded || fail "a frame without a name below the handler: $(cat out.folded)"
