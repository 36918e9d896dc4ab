// A server that forks workers, as nginx and postgres do: each worker writes a title over its
// arguments and its environment, and becomes another user if it may. One worker comes at once,
// another one with a line on stdin. Prints {"pid":N} for each, and "ready" behind it. The workers
// compute; all end with the server, which ends with its stdin. With "all" the server has a title,
// too.
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

extern char** environ;

static void overwrite(char** arguments) {
  char* start = arguments[0];
  char* end = start + strlen(start) + 1;
  for (char** each = environ; *each != NULL; ++each) end = *each + strlen(*each) + 1;
  memset(start, 0, (size_t)(end - start));
  snprintf(start, (size_t)(end - start), "titled: worker process");
}

static void compute(void) {
  for (volatile unsigned long turns = 0;; turns = turns + 1) continue;
}

static int start_worker(char** arguments) {
  const int pid = fork();
  if (pid < 0) return -1;
  if (pid == 0) {
    overwrite(arguments);
    if (getuid() == 0 && setuid(65534) != 0) _exit(1);
    // Last, because the kernel forgets it when the user changes.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    compute();
  }
  printf("{\"pid\":%d}\nready\n", pid);
  fflush(stdout);
  return 0;
}

int main(int argc, char** argv) {
  if (argc < 1) return 2;
  char line[16];
  if (argc > 1 && strcmp(argv[1], "all") == 0) overwrite(argv);
  do {
    if (start_worker(argv) != 0) return 2;
  } while (fgets(line, sizeof line, stdin) != NULL);
  return 0;
}
