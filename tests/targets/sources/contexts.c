// A process with two label sources: the thread context of libthreadcontext.so and custom labels.
//
// It has four threads that compute. They print their numbers, in this order:
//  whole      a context with two tags, and the custom label tenant=acme
//  plain      the custom label tenant=acme only
//  none       neither
//  torn       a context that stays half-written
// Then it prints "ready". It ends when its stdin closes.
#include <pthread.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "customlabels/thread_context.h"
#include "customlabels/writer.h"

enum Part { WHOLE, PLAIN, NONE, TORN, PARTS };
static const char* const names[PARTS] = {"whole", "plain", "none", "torn"};
static pthread_barrier_t in_turn;

static void* work(void* argument) {
  const enum Part part = *(const enum Part*)argument;
  const uint32_t tags[] = {7, 0, 4294967295U};
  if (part == WHOLE || part == TORN) thread_context_put_all(0x2a, 0xfedcba9876543210U, tags, 3);
  // The record looks as between the first and the last store of a write.
  if (part == TORN) __atomic_store_n(&context_tls_v1.checksum, 0, __ATOMIC_RELAXED);
  if (part == WHOLE || part == PLAIN) custom_labels_thread_set("tenant", 6, "acme", 4);
  printf("{\"tid\":%ld,\"part\":\"%s\"}\n", syscall(SYS_gettid), names[part]);
  pthread_barrier_wait(&in_turn);
  for (volatile unsigned long turns = 0;; turns = turns + 1) continue;
  return NULL;
}

int main(void) {
  static const enum Part parts[PARTS] = {WHOLE, PLAIN, NONE, TORN};
  pthread_barrier_init(&in_turn, NULL, 2);
  for (int i = 0; i < PARTS; ++i) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, work, (void*)&parts[i]) != 0) return 2;
    pthread_barrier_wait(&in_turn);
  }
  puts("ready");
  fflush(stdout);
  char byte;
  while (read(STDIN_FILENO, &byte, 1) > 0) continue;
  return 0;
}
