/* Loads two plugins in turn, which mostly come to the same address, and computes in each for a
 * short while. The variable `current` says in which.
 *
 *   plugin_pair SECONDS FIRST SECOND */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int current;

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const double end = now() + atof(argv[1]);
  while (now() < end) {
    for (int i = 1; i <= 2; i++) {
      void (*go)(long) = NULL;
      void* library = dlopen(argv[1 + i], RTLD_NOW);
      void* symbol = library ? dlsym(library, "go") : NULL;
      if (!symbol) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
      }
      memcpy(&go, &symbol, sizeof go);
      current = i;
      /* The second one has a third of the first one's time. */
      go(i == 1 ? 600 : 200);
      current = 0;
      dlclose(library);
    }
  }
  return 0;
}
