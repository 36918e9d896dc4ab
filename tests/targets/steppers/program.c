/* The program around a writer: some turns on one thread, or on several. Its arguments are turns and
 * threads. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "stepper.h"

static long turns = 3;

EXPORT NOINLINE void labelscope_update_begin(void) { __asm__ volatile("" ::: "memory"); }
EXPORT NOINLINE void labelscope_update_end(void) { __asm__ volatile("" ::: "memory"); }

static NOINLINE void work(void) {
  for (volatile int i = 0; i < 10000; i++) continue;
}

static void* run(void* unused) {
  stepper_begin();
  for (long turn = 0; turn < turns; turn++) {
    stepper_update((int)turn);
    work();
  }
  stepper_end();
  return unused;
}

int main(int argc, char** argv) {
  long threads = 0;
  if (argc > 1) turns = strtol(argv[1], NULL, 10);
  if (argc > 2) threads = strtol(argv[2], NULL, 10);
  pthread_t all[64];
  if (threads > 64) return 2;
  for (long i = 0; i < threads; i++) {
    if (pthread_create(&all[i], NULL, run, NULL) != 0) return 3;
  }
  if (threads == 0) run(NULL);
  for (long i = 0; i < threads; i++) pthread_join(all[i], NULL);
  return 0;
}
