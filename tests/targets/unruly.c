/* A program that is difficult for a checker. Its executable publishes labels and is correct.
 *
 *   unruly WHAT [FILE]
 *
 * - silent: sets no label for REST_MS, and ends;
 * - status: the same with a label, and status 7;
 * - brief: sets a label, and ends at once;
 * - crash: sets a label, and dies of a null pointer REST_MS later;
 * - forever: sets a label and runs on;
 * - deaf: the same, and blocks every signal;
 * - stopped: the same, and stops itself;
 * - fork: a child sets a label whose value is null for REST_MS; the parent waits for it
 *   and has none;
 * - vfork: the same through vfork and exec of itself;
 * - daemon: sets a label for REST_MS and ends, while a grandchild in a session of its
 *   own, whose parent has ended, writes its pid into FILE and stays. */
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "customlabels/label_abi.h"

__attribute__((used)) const uint32_t custom_labels_abi_version = CUSTOM_LABELS_ABI_VERSION;
__thread const custom_labels_labelset_t* volatile custom_labels_current_set;

static custom_labels_label_t storage[] = {
    {{6, (const unsigned char*)"tenant"}, {4, (const unsigned char*)"acme"}}};
static const custom_labels_labelset_t set = {storage, 1, 1};

static void rest(void) {
  struct timespec left = {REST_MS / 1000, REST_MS % 1000 * 1000000L};
  while (nanosleep(&left, &left) != 0) {
  }
}

static int break_a_rule(void) {
  storage[0].value.buf = NULL;
  custom_labels_current_set = &set;
  rest();
  return 0;
}

/* Returns when the grandchild has written its file. */
static void stay_behind(const char* file) {
  int written[2];
  char ignored;
  if (pipe(written) != 0) exit(3);
  const pid_t child = fork();
  if (child > 0) {
    close(written[1]);
    waitpid(child, NULL, 0);
    if (read(written[0], &ignored, 1) != 0) exit(3);
    close(written[0]);
    return;
  }
  setsid();
  if (fork() != 0) _exit(0);
  signal(SIGTERM, SIG_IGN);
  alarm(300); /* in case no test ends it */
  FILE* out = fopen(file, "w");
  if (out == NULL) _exit(3);
  fprintf(out, "%d\n", (int)getpid());
  fclose(out);
  close(written[1]);
  for (;;) pause();
}

static void wait_for_child(pid_t child) {
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child || status != 0) exit(3);
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
  if (strcmp(what, "silent") == 0) {
    rest();
    return 0;
  }
  if (strcmp(what, "break-a-rule") == 0) return break_a_rule();
  if (strcmp(what, "fork") == 0) {
    const pid_t child = fork();
    if (child == 0) _exit(break_a_rule());
    wait_for_child(child);
    return 0;
  }
  if (strcmp(what, "vfork") == 0) {
    const pid_t child = vfork();
    if (child == 0) {
      execl(argv[0], argv[0], "break-a-rule", (char*)NULL);
      _exit(3);
    }
    wait_for_child(child);
    return 0;
  }
  custom_labels_current_set = &set;
  if (strcmp(what, "brief") == 0) return 0;
  if (strcmp(what, "daemon") == 0 && argc > 2) stay_behind(argv[2]);
  if (strcmp(what, "deaf") == 0) {
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
  }
  if (strcmp(what, "stopped") == 0) raise(SIGSTOP);
  if (strcmp(what, "forever") == 0 || strcmp(what, "deaf") == 0 || strcmp(what, "stopped") == 0) {
    for (;;) pause();
  }
  rest();
  if (strcmp(what, "crash") == 0) *(volatile int*)NULL = 1;
  return strcmp(what, "status") == 0 ? 7 : 0;
}
