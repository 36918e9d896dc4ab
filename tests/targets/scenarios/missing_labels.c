// Two threads of one processor pass a byte to and fro. Each of their waits begins with labels that
// can be read, or with a pointer to labels that leads nowhere, by turns of half a second.
//
//   missing_labels SECONDS
//
// It prints "ready", and at the end a line of JSON: the CPU time of a wait in nanoseconds, with
// labels and without.
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
struct text {
  size_t length;
  const char* bytes;
};
struct label {
  struct text key, value;
};
struct set {
  const struct label* storage;
  size_t count, capacity;
};
EXPORT const uint32_t custom_labels_abi_version = 1;
EXPORT __thread const struct set* custom_labels_current_set;

static const struct label kLabels[] = {{{6, "tenant"}, {4, "acme"}}};
static const struct set kSet = {kLabels, 1, 1};
static int to[2], fro[2];
static const struct set* volatile current = &kSet;

static double now(clockid_t id) {
  struct timespec time;
  clock_gettime(id, &time);
  return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static void* echo(void* unused) {
  char byte;
  while (read(to[0], &byte, 1) == 1) {
    custom_labels_current_set = current;
    if (write(fro[1], &byte, 1) != 1) abort();
  }
  return unused;
}

int main(int count, char** arguments) {
  if (count != 2 || pipe(to) != 0 || pipe(fro) != 0) return 2;
  cpu_set_t first;
  CPU_ZERO(&first);
  CPU_SET(0, &first);
  sched_setaffinity(0, sizeof first, &first);
  pthread_t other;
  if (pthread_create(&other, NULL, echo, NULL) != 0) return 1;
  puts("ready");
  fflush(stdout);
  double cpu_ns[2] = {0, 0}, waits[2] = {0, 0};
  const double end = now(CLOCK_MONOTONIC) + atof(arguments[1]) * 1e9;
  for (int missing = 0; now(CLOCK_MONOTONIC) < end; missing = !missing) {
    current = missing ? (const struct set*)0x10000 : &kSet;
    custom_labels_current_set = current;
    const double until = now(CLOCK_MONOTONIC) + 5e8, before = now(CLOCK_PROCESS_CPUTIME_ID);
    char byte = 'x';
    for (; now(CLOCK_MONOTONIC) < until; waits[missing] += 2) {
      if (write(to[1], &byte, 1) != 1 || read(fro[0], &byte, 1) != 1) abort();
    }
    cpu_ns[missing] += now(CLOCK_PROCESS_CPUTIME_ID) - before;
  }
  printf("{\"labels\": %.0f, \"missing\": %.0f}\n", cpu_ns[0] / waits[0], cpu_ns[1] / waits[1]);
  return 0;
}
