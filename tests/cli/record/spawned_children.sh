# A program that starts others as posix_spawn() does: the child has its parent's memory until it executes
# its program, and then none of these files any more. That labelscope could not open them is no loss.
source "${BASH_SOURCE%/*}/../lib.sh"
need_sampling
need_command cc
cat >"$work/spawn.c" <<'EOT'
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>

extern char** environ;

int main(int argc, char** argv) {
  char* nothing[] = {argv[2], 0};
  const time_t end = time(0) + atoi(argv[1]);
  while (argc > 2 && time(0) < end) {
    pid_t child;
    if (posix_spawn(&child, argv[2], 0, 0, nothing, environ) != 0) return 1;
    waitpid(child, 0, 0);
  }
  return 0;
}
EOT
cc -O1 -o "$work/spawn" "$work/spawn.c" || fail "the program cannot be compiled"
run record --backend bpf -F 999 -o spawned.jsonl -- "$work/spawn" 5 "$(type -P true)"
expect_status "$exit_ok" "a recording of a program that starts others"
expect_ledger spawned.jsonl
! grep -q 'call frame information was not used' "$work/stderr" || fail "files that are gone are said to be damaged"
