/* Loads two plugins in turn, which mostly come to the same address and have frames of different
 * sizes, and computes in each for some milliseconds. Only main() calls them.
 *
 *   swapped_pair SECONDS FIRST SECOND */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { kWords = 256, kTurnUs = 3000 };

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

__attribute__((noinline, used)) void decoy(void) { puts("nobody calls this"); }

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  /* So that it can be a return address. */
  const unsigned long inside = (unsigned long)&decoy + 8;
  volatile unsigned long words[kWords];
  for (int i = 0; i < kWords; i++) words[i] = inside;
  const double end = now() + atof(argv[1]);
  void* last = NULL;
  unsigned same = 0;
  while (now() < end) {
    for (int i = 1; i <= 2; i++) {
      void (*go)(long, unsigned long) = NULL;
      void* library = dlopen(argv[1 + i], RTLD_NOW);
      void* symbol = library ? dlsym(library, "go") : NULL;
      if (!symbol) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
      }
      same += symbol == last;
      last = symbol;
      memcpy(&go, &symbol, sizeof go);
      go(kTurnUs, inside);
      dlclose(library);
    }
  }
  printf("%u times at the place of the other one\n", same);
  return words[0] == 0;
}
