// A thread that stands at the end of a known chain of calls, in code without frame pointers:
// through the program and a library, and on request through libc and signal handlers. It prints
// {"chain":[...]} with return addresses, the innermost first, and "ready"; then it waits for its
// stdin to close.
//
//  chain [sort] [raise] [fault] [null] [deep] [spin]
//
//    sort     qsort() calls back
//    raise    raise() calls a signal handler
//    fault    a store to unmapped memory calls a signal handler
//    null     a call to address 0 calls a signal handler
//    deep     the chain has 2,000 frames more
//    spin     the program computes until it is killed
#include "chain.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 64, DEEP = 2000 };

static void* notes[MOST];
static int noted;
static int use_sort, use_raise, use_fault, use_null, deep, spin;
static int* volatile no_number;
static int (*volatile nowhere)(int);
volatile unsigned long counter;

void chain_note(void* return_address) {
  if (noted < MOST) notes[noted++] = return_address;
}

__attribute__((noipa)) static int leaf(int argument) {
  CHAIN_NOTE();
  printf("{\"chain\":[");
  for (int i = noted; i-- > 0;) printf("%lu%s", (unsigned long)notes[i], i == 0 ? "" : ",");
  printf("]}\nready\n");
  fflush(stdout);
  char byte;
  while (spin) ++counter;
  while (read(STDIN_FILENO, &byte, 1) > 0) continue;
  exit(argument == 0 ? 1 : 0);
}

__attribute__((noipa)) static int recurse(int depth) {
  volatile int below = depth == 0 ? leaf(1) : recurse(depth - 1);  // no loop can do this
  return below + 1;
}

__attribute__((noipa)) static void on_signal(int number) {
  CHAIN_NOTE();
  volatile int result = leaf(number);
  (void)result;
}

/* The fault is intended, and sanitizers must not report it. */
__attribute__((noipa, no_sanitize("undefined", "address"))) static int interrupted(int argument) {
  CHAIN_NOTE();
  if (use_null) return nowhere(argument) + 1;
  if (use_raise) return raise(SIGUSR1) + 1;
  if (use_fault) return ++*no_number;
  return (deep ? recurse(DEEP) : leaf(argument)) + 1;
}

__attribute__((noipa)) static int compare(const void* a, const void* b) {
  CHAIN_NOTE();
  const int result = interrupted(*(const int*)a - *(const int*)b);
  return result == 0 ? 0 : 1;
}

__attribute__((noipa)) static int sort(int argument) {
  CHAIN_NOTE();
  int numbers[] = {argument + 2, argument};
  if (use_sort) qsort(numbers, 2, sizeof *numbers, compare);
  return compare(numbers, numbers + 1) + 1;
}

__attribute__((noipa)) static int begin(int argument) {
  CHAIN_NOTE();
  return chain_in_library(sort, argument) + 1;
}

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    use_sort |= strcmp(argv[i], "sort") == 0;
    use_raise |= strcmp(argv[i], "raise") == 0;
    use_fault |= strcmp(argv[i], "fault") == 0;
    use_null |= strcmp(argv[i], "null") == 0;
    spin |= strcmp(argv[i], "spin") == 0;
    deep |= strcmp(argv[i], "deep") == 0;
  }
  struct sigaction action = {.sa_handler = on_signal};
  sigaction(SIGUSR1, &action, NULL);
  sigaction(SIGSEGV, &action, NULL);
  return begin(argc > 100) == 0;
}
