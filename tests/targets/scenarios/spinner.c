/* A program whose only thread labels itself, prints that, and then computes without ever calling
 * the kernel. On a processor with nothing else to do, no context switch stores that thread's
 * registers. It ends when it is killed. */
#include <customlabels/writer.h>
#include <unistd.h>

int main(void) {
  if (custom_labels_thread_set("spinner", 7, "yes", 3) < 0) return 1;
  static const char kReady[] = "ready\n";
  if (write(STDOUT_FILENO, kReady, sizeof kReady - 1) < 0) return 1;
  for (volatile unsigned long turns = 0;; turns++) {
  }
}
