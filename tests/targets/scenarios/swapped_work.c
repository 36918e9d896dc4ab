/* A plugin of swapped_pair.c: a function that computes, with a frame of WORDS words. They all hold
 * an address in a function that has called nothing, `decoy`: who looks for the caller at another
 * plugin's place finds it there. */
#include <time.h>

void go(long us, unsigned long return_address);

static long now_us(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * 1000000L + now.tv_nsec / 1000;
}

__attribute__((noinline)) static unsigned compute(unsigned seed) {
  for (unsigned i = 0; i < 1u << 14; i++) seed = seed * 1103515245u + 12345u;
  return seed;
}

/* With a frame pointer, both frames would have the same rules. */
__attribute__((optimize("omit-frame-pointer"))) void go(long us, unsigned long return_address) {
  volatile unsigned long words[WORDS];
  for (unsigned i = 0; i < WORDS; i++) words[i] = return_address;
  volatile unsigned sink = 0;
  for (const long end = now_us() + us; now_us() < end;) sink = compute(sink + (unsigned)words[0]);
}
