/* Many threads, each with labels of its own, and threads that come and go.
 *
 *   crowd [--threads N] [--stay pause|work|burn] [--churn N] [--counters FILE]
 *
 * Each of N threads labels itself, prints its truth and stays: asleep, or counting every fifth of a
 * millisecond, or without a pause. With --churn this number of further threads start short-lived
 * labelled ones, one after the other, without end. With --counters the counts, 8 bytes for each
 * thread in the order of the truth, are in this file, so that a test can see whether a thread
 * works. It ends when stdin closes. */
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "publisher.h"
#include "truth.h"

enum { kMaxThreads = 4096, kMaxChurn = 16 };

static struct truth truths[kMaxThreads];
static _Atomic uint64_t own_counters[kMaxThreads];
static _Atomic uint64_t* counters = own_counters;
static const char* module;
static int works;
static int burns;
static pthread_barrier_t labelled;

__attribute__((noinline)) static void rest(void) {
  const struct timespec fifth = {0, 200000};
  nanosleep(&fifth, NULL);
}

__attribute__((noinline)) static void serve(int index) {
  for (;;) {
    if (works) {
      atomic_fetch_add_explicit(&counters[index], 1, memory_order_relaxed);
      if (!burns) rest();
    } else {
      pause();
    }
  }
}

static void* run_worker(void* argument) {
  struct truth* truth = argument;
  const int index = (int)(truth - truths);
  char name[16];
  snprintf(name, sizeof name, "crowd-%d", index);
  prctl(PR_SET_NAME, name);
  truth_take_identity(truth);
  truth->variables[0].address = publisher_variable();
  truth_make_labels(&truth->variables[0], index, 0);
  *publisher_variable() = &truth->variables[0].set;
  pthread_barrier_wait(&labelled);
  serve(index);
  return NULL;
}

static custom_labels_label_t churn_labels[] = {
    {{5, (const unsigned char*)"churn"}, {3, (const unsigned char*)"yes"}}};
static custom_labels_labelset_t churn_set = {churn_labels, 1, 1};

static void* live_shortly(void* unused) {
  *publisher_variable() = &churn_set;
  for (volatile int i = 0; i < 20000; i++) {
  }
  *publisher_variable() = NULL;
  return unused;
}

static void* churn(void* unused) {
  for (;;) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, live_shortly, NULL) == 0) pthread_join(thread, NULL);
  }
  return unused;
}

static void start(pthread_attr_t* attributes, void* (*body)(void*), void* argument) {
  pthread_t thread;
  if (pthread_create(&thread, attributes, body, argument) != 0) {
    truth_cannot("pthread_create", "no more threads");
  }
}

static void share_counters(const char* path) {
  const int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0 || ftruncate(fd, sizeof own_counters) != 0) truth_cannot(path, "cannot be written");
  void* mapped = mmap(NULL, sizeof own_counters, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (mapped == MAP_FAILED) truth_cannot(path, "cannot be mapped");
  counters = mapped;
  close(fd);
}

static int number(const char* text, int most) {
  const long value = strtol(text, NULL, 10);
  if (value < 0 || value > most) truth_cannot(text, "not a number of threads");
  return (int)value;
}

int main(int argc, char** argv) {
  int threads = 4;
  int churning = 0;
  const char* slash = strrchr(argv[0], '/');
  module = slash != NULL ? slash + 1 : argv[0];
  for (int i = 1; i + 1 < argc; i += 2) {
    if (strcmp(argv[i], "--threads") == 0) {
      threads = number(argv[i + 1], kMaxThreads);
    } else if (strcmp(argv[i], "--stay") == 0) {
      burns = strcmp(argv[i + 1], "burn") == 0;
      works = burns || strcmp(argv[i + 1], "work") == 0;
    } else if (strcmp(argv[i], "--churn") == 0) {
      churning = number(argv[i + 1], kMaxChurn);
    } else if (strcmp(argv[i], "--counters") == 0) {
      share_counters(argv[i + 1]);
    } else {
      truth_cannot(argv[i], "no such option");
    }
  }
  pthread_barrier_init(&labelled, NULL, (unsigned)threads + 1);
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, (size_t)PTHREAD_STACK_MIN + 65536);
  for (int i = 0; i < threads; i++) {
    truths[i].kind = "worker";
    start(&small, run_worker, &truths[i]);
  }
  pthread_barrier_wait(&labelled);
  for (int i = 0; i < churning; i++) start(&small, churn, NULL);
  for (int i = 0; i < threads; i++) truth_print(&truths[i], &module, 1);
  puts("ready");
  fflush(stdout);
  struct pollfd input = {STDIN_FILENO, POLLIN, 0};
  char ignored[64];
  for (;;) {
    if (poll(&input, 1, -1) > 0 && read(STDIN_FILENO, ignored, sizeof ignored) <= 0) _exit(0);
  }
}
