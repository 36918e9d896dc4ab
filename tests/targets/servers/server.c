/* The common part of the servers (server.h): states, threads and children. */
#include "server.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

static bool burns;
static bool flips;
static char* title_start;
static size_t title_room;
static pid_t child;
static pthread_barrier_t other_has_begun;

static void compute(void) {
  for (volatile unsigned turns = 0; turns < 20000; turns++) continue;
}

/* Computes or waits until there is something to read. */
static void work(void) {
  struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
  while (poll(&in, 1, burns || flips ? 0 : -1) == 0) {
    if (!flips) compute();
    for (unsigned turn = 0; flips && turn < 10000; turn++) the_server()->flip(turn);
  }
}

/* Reads a line without its end; false at the end of stdin. */
static bool read_line(char* line, size_t room) {
  size_t length = 0;
  for (;;) {
    char byte = 0;
    if (length == 0) work();
    if (read(STDIN_FILENO, &byte, 1) != 1) return false;
    if (byte == '\n') break;
    if (length + 1 < room) line[length++] = byte;
  }
  line[length] = '\0';
  return true;
}

static _Noreturn void stay(void) {
  for (;;) {
    if (burns) {
      compute();
    } else {
      pause();
    }
  }
}

static void* other_thread(void* unused) {
  (void)unused;
  if (the_server()->begin_other != NULL) the_server()->begin_other();
  pthread_barrier_wait(&other_has_begun);
  stay();
}

void set_title(const char* title) {
  memset(title_start, 0, title_room);
  strncpy(title_start, title, title_room - 1);
}

void fork_child(void (*become)(void), const char* first) {
  fflush(stdout);
  int begun[2];
  if (pipe(begun) != 0) _exit(2);
  child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    become();
    if (write(begun[1], "", 1) != 1) _exit(2);
    stay();
  }
  char byte = 0;
  if (child < 0 || read(begun[0], &byte, 1) != 1) _exit(2);
  close(begun[0]);
  close(begun[1]);
  printf("{\"child\": %d, \"first\": \"%s\"}\n", (int)child, first);
}

static void end_child(void) {
  if (child <= 0) return;
  kill(child, SIGKILL);
  waitpid(child, NULL, 0);
  child = 0;
}

static void ready(void) {
  printf("ready\n");
  fflush(stdout);
}

static void put(const struct state* state) {
  end_child();
  if (the_server()->title != NULL) set_title(the_server()->title);
  the_server()->reset();
  if (state->put != NULL) state->put();
  printf("{\"state\": \"%s\", \"first\": \"%s\", \"other\": \"%s\"}\n", state->name, state->first,
         state->other != NULL ? state->other : "unlabelled");
}

/* "random 17", behind the word fill. */
static bool fill_memory(char* words) {
  char* number = strrchr(words, ' ');
  if (number == NULL) return false;
  *number++ = '\0';
  end_child();
  if (the_server()->list_areas == NULL) {
    memset(title_start, 'x', title_room);
    return true;
  }
  struct area areas[kMostAreas + 1] = {{0}};
  the_server()->reset();
  the_server()->list_areas(areas);
  return fill(areas, words, strtoull(number, NULL, 10));
}

static void say_states(void) {
  const char* separator = "";
  printf("{\"preset\": \"%s\", \"states\": [", the_server()->preset);
  for (const struct state* each = the_server()->states; each->name != NULL; each++) {
    printf("%s\"%s\"", separator, each->name);
    separator = ", ";
  }
  printf("], \"fills\": [");
  separator = "";
  for (const char* const* each = fill_kinds; *each != NULL; each++) {
    printf("%s\"%s\"", separator, *each);
    separator = ", ";
  }
  printf("]}\n");
}

/* Does what a line says, or returns false. */
static bool obey(char* line) {
  flips = strcmp(line, "flip") == 0 && the_server()->flip != NULL;
  if (flips) {
    end_child();
    the_server()->reset();
    the_server()->flip(0); /* before "ready" */
    return true;
  }
  if (strncmp(line, "fill ", 5) == 0) return fill_memory(line + 5);
  const struct state* each = the_server()->states;
  while (each->name != NULL && strcmp(each->name, line) != 0) each++;
  if (each->name != NULL) put(each);
  return each->name != NULL;
}

/* A title may be as long as all arguments and the environment. */
static void keep_title(char** arguments) {
  title_start = arguments[0];
  char* end = title_start;
  for (char** each = arguments; *each != NULL; each++) end = *each + strlen(*each) + 1;
  for (char** each = environ; *each != NULL; each++) end = *each + strlen(*each) + 1;
  title_room = (size_t)(end - title_start);
}

int main(int argc, char** argv) {
  if (argc < 1) return 2;
  burns = argc > 1 && strcmp(argv[1], "--burn") == 0;
  keep_title(argv);
  the_server()->reset();
  pthread_t other;
  pthread_barrier_init(&other_has_begun, NULL, 2);
  if (pthread_create(&other, NULL, other_thread, NULL) != 0) return 2;
  pthread_barrier_wait(&other_has_begun);
  say_states();
  ready();
  char line[80];
  while (read_line(line, sizeof line)) {
    if (!obey(line)) {
      printf("{\"cannot\": \"there is no such state\"}\n");
      return 3;
    }
    ready();
  }
  end_child();
  return 0;
}
