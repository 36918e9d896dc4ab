// A process whose work can be watched from outside: each thread counts in a mapped file, so that a
// test notices if labelscope stops or kills the process, or leaves it stopped.
//
//  counting FILE COMPUTING SLEEPING
//    FILE: created, 8 bytes a thread   COMPUTING: threads that never wait
//    SLEEPING: threads that sleep for a millisecond, count once, and so on
// It prints "ready" when every thread has counted, and runs until its stdin closes.
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 1024 };

static void* compute(void* argument) {
  atomic_ulong* count = argument;
  while (atomic_fetch_add_explicit(count, 1, memory_order_relaxed) != -1UL) continue;
  return NULL;
}

static void* doze(void* argument) {
  atomic_ulong* count = argument;
  const struct timespec rest = {.tv_nsec = 1000000};
  do {
    nanosleep(&rest, NULL);
  } while (atomic_fetch_add_explicit(count, 1, memory_order_relaxed) != -1UL);
  return NULL;
}

int main(int argc, char** argv) {
  const int computing = argc == 4 ? atoi(argv[2]) : 0;
  const int threads = argc == 4 ? computing + atoi(argv[3]) : 0;
  if (threads < 1 || threads > MOST) return 2;
  const int fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  const size_t size = (size_t)threads * sizeof(atomic_ulong);
  if (fd < 0 || ftruncate(fd, (off_t)size) != 0) return 2;
  atomic_ulong* counts = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (counts == MAP_FAILED) return 2;
  for (int i = 0; i < threads; ++i) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, i < computing ? compute : doze, &counts[i]) != 0) return 2;
  }
  for (int i = 0; i < threads; ++i) {
    while (atomic_load(&counts[i]) == 0) usleep(1000);
  }
  puts("ready");
  fflush(stdout);
  char byte;
  while (read(STDIN_FILENO, &byte, 1) > 0) continue;
  return 0;
}
