/* A server that publishes no labels, but knows what it works on: each of its processes has an entry
 * in shared memory that says so, laid out as PostgreSQL's, and reaches it by a variable.
 *
 *   status_server SESSIONS
 *
 * At a line on stdin, one process after the other is forked for a session, and all of them use the
 * same entry:
 *
 *   starting   the entry is still that of the session before: wrong database, wrong query
 *   writing    it is this process's, with an odd number of changes, and half of it is written
 *   running    a query runs; the entry says which
 *   idle       none runs, but the entry still has the number of the last one
 *
 * Each state is computing, so that a sampler meets all of them. A session prints how much CPU time
 * it has spent in each. The database is "db" and the session's number, and its queries are numbered
 * from a thousand times that on, so that values of two sessions are never equal. The parent, which
 * has no entry, is ready again after the last session, and waits for the end of stdin. */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { kQueries = 3, kRunning = 2, kIdle = 1, kMillisecond = 1000000 };

struct status_entry {
  uint32_t changes; /* odd while it is being written */
  int32_t pid;      /* of the process that it belongs to */
  uint8_t unused[224];
  int32_t state;
  uint32_t padding;
  const char* database; /* in the same shared memory */
  uint8_t unused_too[176];
  int64_t query;
  char text[64];
};

/* A preset finds these two by their names. */
struct status_entry* status_entry;
int status_pid;

static struct status_entry* shared;

static int64_t cpu_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Computes for so long, and adds the CPU time that it took. */
static void compute(int64_t ns, int64_t* spent) {
  const int64_t start = cpu_ns();
  volatile uint64_t sum = 0;
  int64_t now = start;
  while ((now = cpu_ns()) < start + ns) {
    for (int i = 0; i < 2000; i++) sum += (uint64_t)i;
  }
  *spent += now - start;
}

static void change(void) { __atomic_add_fetch(&status_entry->changes, 1, __ATOMIC_SEQ_CST); }

static void run_session(int number) {
  int64_t starting = 0, writing = 0, running = 0, idle = 0;
  status_pid = getpid();
  status_entry = shared;
  /* A page of shared memory is not there before it is used. */
  if (shared->changes & 1) _exit(2);
  compute(6 * kMillisecond, &starting);

  change();
  status_entry->pid = status_pid;
  status_entry->query = -1;
  compute(3 * kMillisecond, &writing);
  char* text = status_entry->text;
  snprintf(text, sizeof status_entry->text, "db%d", number);
  status_entry->database = text;
  status_entry->state = kIdle;
  change();

  for (int i = 0; i < kQueries; i++) {
    change();
    status_entry->query = 1000 * (int64_t)number + i;
    status_entry->state = kRunning;
    change();
    compute(5 * kMillisecond, &running);
    change();
    status_entry->state = kIdle;
    change();
    compute(2 * kMillisecond, &idle);
  }
  printf(
      "{\"session\": %d, \"pid\": %d, \"starting_ns\": %lld, \"writing_ns\": %lld, "
      "\"running_ns\": %lld, \"idle_ns\": %lld}\n",
      number, status_pid, (long long)starting, (long long)writing, (long long)running,
      (long long)idle);
  fflush(stdout);
  _exit(0);
}

static int cannot(const char* why) {
  printf("{\"cannot\": \"%s\"}\n", why);
  return 3;
}

static void be_ready(void) {
  printf("ready\n");
  fflush(stdout);
}

int main(int argc, char** argv) {
  const int sessions = argc > 1 ? atoi(argv[1]) : 1;
  shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return cannot("no shared memory");
  be_ready();
  int byte = 0;
  while ((byte = getchar()) != '\n') {
    if (byte == EOF) return 0;
  }
  for (int number = 1; number <= sessions; number++) {
    const pid_t child = fork();
    if (child == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      run_session(number);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
      return cannot("a session has failed");
    }
  }
  be_ready();
  while (getchar() != EOF) {
  }
  return 0;
}
