// A program whose threads say in their names what they work on, and which knows how long it worked
// under each name: the truth for shares of time.
//
//   named_threads NAME:MS[,NAME:MS...]...
//
// There is a thread for each argument. Under each of its names it works for so many milliseconds of
// its own CPU time, in turn, again and again. Prints {"tid":N,"names":...} for each, then "ready";
// and for each line on stdin one row for each name, as tests/cli/planned_labels.py takes them:
// {"labels":{"thread":NAME},"time":SECONDS}. Ends when its stdin closes.
#define _GNU_SOURCE // pthread_setname_np()
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { kMostThreads = 8, kMostNames = 200 };

struct name {
  char text[16];
  long work_ns;
  _Atomic long worked_ns;
};
struct worker {
  struct name names[kMostNames];
  int count;
  const char* argument;
};
static struct worker workers[kMostThreads];
static pthread_barrier_t named;

static long cpu_time(void) {
  struct timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return time.tv_sec * 1000000000L + time.tv_nsec;
}

// Returns the time at which it has ended, at least `until`.
__attribute__((noinline)) static long compute(long until) {
  long now;
  while ((now = cpu_time()) < until) {
    for (volatile int turn = 0; turn < 2000; turn = turn + 1) continue;
  }
  return now;
}

static void* work(void* argument) {
  struct worker* worker = argument;
  pthread_setname_np(pthread_self(), worker->names[0].text);
  printf("{\"tid\":%ld,\"names\":\"%s\"}\n", syscall(SYS_gettid), worker->argument);
  pthread_barrier_wait(&named);
  long begun = cpu_time();
  for (int i = 0;; i = (i + 1) % worker->count) {
    struct name* name = &worker->names[i];
    if (worker->count > 1) pthread_setname_np(pthread_self(), name->text);
    const long ended = compute(begun + name->work_ns);
    atomic_fetch_add(&name->worked_ns, ended - begun);
    begun = ended;
  }
  return NULL;
}

static int parse(struct worker* worker, char* text) {
  worker->argument = strdup(text);
  for (char* part = strtok(text, ","); part != NULL; part = strtok(NULL, ",")) {
    char* colon = strrchr(part, ':');
    if (colon == NULL || worker->count == kMostNames) return 0;
    struct name* name = &worker->names[worker->count++];
    *colon = 0;
    if (strlen(part) >= sizeof name->text) return 0;
    memcpy(name->text, part, strlen(part));
    name->work_ns = atol(colon + 1) * 1000000L;
    if (name->work_ns <= 0) return 0;
  }
  return worker->count > 0;
}

static void print_account(int count) {
  for (int i = 0; i < count; ++i) {
    for (int j = 0; j < workers[i].count; ++j) {
      printf("{\"labels\":{\"thread\":\"%s\"},\"time\":%.9f}\n", workers[i].names[j].text,
             (double)atomic_load(&workers[i].names[j].worked_ns) * 1e-9);
    }
  }
  puts("said");
  fflush(stdout);
}

int main(int argc, char** argv) {
  const int count = argc - 1;
  if (count < 1 || count > kMostThreads) return 2;
  pthread_barrier_init(&named, NULL, (unsigned)count + 1);
  for (int i = 0; i < count; ++i) {
    pthread_t thread;
    if (!parse(&workers[i], argv[i + 1])) return 2;
    if (pthread_create(&thread, NULL, work, &workers[i]) != 0) return 2;
  }
  pthread_barrier_wait(&named);
  puts("ready");
  fflush(stdout);
  char line[64];
  while (fgets(line, sizeof line, stdin) != NULL) print_account(count);
  return 0;
}
