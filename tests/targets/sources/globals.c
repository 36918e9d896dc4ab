// A server that publishes no labels and knows what it works on: in variables of the process, and in
// the title that it writes over its arguments. Its first thread and a second one compute, and so
// does a child. Prints {"tid":N,"what":...} for each, then "ready". Ends when its stdin closes.
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

struct request {
  uint64_t padding;
  char route[24];
  const char* user;
};

struct request requests[2] = {{0, "/checkout", "ada"}, {0, "/search", NULL}};
struct request* current_request;
// The names of both stand in .symtab alone.
__attribute__((visibility("hidden"))) uint32_t shard;
static volatile int32_t turn;

static void announce(const char* what) {
  printf("{\"tid\":%ld,\"what\":\"%s\"}\n", syscall(SYS_gettid), what);
  fflush(stdout);
}

static void compute(void) {
  for (volatile unsigned long turns = 0;; turns = turns + 1) continue;
}

static void* compute_beside(void* argument) {
  announce("beside");
  pthread_barrier_wait(argument);
  compute();
  return NULL;
}

static void work_on(int number, char* title, size_t room) {
  current_request = &requests[number];
  shard = 40U + (uint32_t)number;
  turn = -number;
  memset(title, 0, room);
  snprintf(title, room, "shop: %s", requests[number].route);
}

static void* wait_for_end(void* argument) {
  char byte;
  (void)argument;
  while (read(STDIN_FILENO, &byte, 1) > 0) continue;
  _exit(turn == 7);
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  // The arguments stand one behind the other.
  const size_t room = (size_t)(argv[argc - 1] + strlen(argv[argc - 1]) + 1 - argv[0]);
  const int child = fork();
  if (child < 0) return 2;
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    work_on(1, argv[0], room);
    announce("child");
    compute();
  }
  work_on(0, argv[0], room);
  static pthread_barrier_t both;
  pthread_barrier_init(&both, NULL, 2);
  pthread_t thread;
  if (pthread_create(&thread, NULL, compute_beside, &both) != 0) return 2;
  pthread_barrier_wait(&both);
  if (pthread_create(&thread, NULL, wait_for_end, NULL) != 0) return 2;
  announce("first");
  puts("ready");
  fflush(stdout);
  compute();
}
