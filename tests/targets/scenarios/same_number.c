// Processes that have one number, one after the other: two children, of which the second executes
// this program again. Each has a name and a label of its own, and computes for as long.
//
//   same_number MILLISECONDS
//
// It prints the number of the children. Its exit status is 77 if the kernel gives no chosen number.
#define _GNU_SOURCE
#include <customlabels/writer.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void compute(const char* name, long milliseconds) {
  prctl(PR_SET_NAME, name);
  if (custom_labels_thread_set("life", 4, name, strlen(name)) < 0) _exit(1);
  struct timespec now;
  do {
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  } while (now.tv_sec * 1000 + now.tv_nsec / 1000000 < milliseconds);
}

// Returns as fork() does. The child has this number, if it is not 0.
static pid_t fork_as(pid_t number) {
  struct clone_args how = {.exit_signal = SIGCHLD};
  if (number != 0) {
    how.set_tid = (uintptr_t)&number;
    how.set_tid_size = 1;
  }
  return (pid_t)syscall(SYS_clone3, &how, sizeof how);
}

int main(int count, char** arguments) {
  if (count == 3) {
    compute("third", 2 * atol(arguments[1]));
    return 0;
  }
  if (count != 2) return 2;
  pid_t number = 0;
  for (int life = 1; life <= 2; ++life) {
    const pid_t child = fork_as(number);
    if (child < 0) return 77;
    if (child == 0) {
      compute(life == 1 ? "first" : "second", atol(arguments[1]));
      if (life == 2) execl("/proc/self/exe", "same_number", arguments[1], "again", NULL);
      _exit(0);
    }
    number = child;
    if (waitpid(child, NULL, 0) != child) return 1;
  }
  printf("%d\n", number);
  return 0;
}
