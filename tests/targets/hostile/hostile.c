/* A program that labels itself, prints that, and computes in hot(). Hostile is what its file says
 * about hot(): each of the files beside this one is linked to it, and makes another program. */
#include <customlabels/writer.h>
#include <unistd.h>

volatile unsigned long turns;

__attribute__((noinline, used)) void hot(void) {
  for (;;) turns = turns * 3 + 1;
}

int main(void) {
  alarm(120);
  if (custom_labels_thread_set("file", 4, "hostile", 7) < 0) return 1;
  static const char kReady[] = "ready\n";
  if (write(STDOUT_FILENO, kReady, sizeof kReady - 1) < 0) return 1;
  hot();
}
