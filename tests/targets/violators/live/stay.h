/* How long a program under check stays:
 *
 *   program          keeps its labels for REST_MS (tests/targets/CMakeLists.txt) and ends
 *   program stay     prints "ready" and keeps them until its stdin closes
 *
 * It ends here, within main(), so that a set on main's stack exists until the last look. */
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static inline void stay(int argc) {
  char ignored[64];
  if (argc < 2) {
    const struct timespec rest = {REST_MS / 1000, REST_MS % 1000 * 1000000L};
    nanosleep(&rest, NULL);
    _exit(0);
  }
  puts("ready");
  fflush(stdout);
  while (read(STDIN_FILENO, ignored, sizeof ignored) > 0) {
  }
  _exit(0);
}
