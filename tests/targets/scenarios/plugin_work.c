/* A plugin of plugin_pair.c: a function that computes. */
#include <time.h>

void go(long us);

static long now_us(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * 1000000L + now.tv_nsec / 1000;
}

void go(long us) {
  volatile unsigned sink = 0;
  for (const long end = now_us() + us; now_us() < end;) {
    for (unsigned i = 0; i < 1u << 16; i++) sink += i;
  }
}
