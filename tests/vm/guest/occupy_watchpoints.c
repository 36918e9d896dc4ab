/* Takes all hardware watchpoints of an emulated x86-64 machine and keeps them, as root, until it is
 * killed.
 *
 * If a watchpoint is hit while a thread is single-stepped, QEMU (7.2) delivers its trap again and
 * again, at the first instruction of the kernel's own handler, and the machine stands still. A
 * debugger that finds no watchpoint free works without them, on real machines too, and this can be
 * tested here.
 *
 * Prints "ready" when they are taken, and exits with 1 if they cannot be. The source is
 * perf_event_open(2). */
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { kWatchpoints = 4 };

static uint64_t never_written[kWatchpoints];

static int occupy(int cpu, int index) {
  struct perf_event_attr event;
  memset(&event, 0, sizeof event);
  event.type = PERF_TYPE_BREAKPOINT;
  event.size = sizeof event;
  event.bp_type = HW_BREAKPOINT_W;
  event.bp_addr = (uint64_t)(uintptr_t)&never_written[index];
  event.bp_len = HW_BREAKPOINT_LEN_8;
  event.pinned = 1; /* what is not pinned gives way to others */
  return (int)syscall(SYS_perf_event_open, &event, -1, cpu, -1, 0);
}

int main(void) {
  const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
  for (int cpu = 0; cpu < cpus; cpu++) {
    for (int i = 0; i < kWatchpoints; i++) {
      if (occupy(cpu, i) >= 0) continue;
      perror("occupy_watchpoints");
      return 1;
    }
  }
  puts("ready");
  fflush(stdout);
  for (;;) pause();
}
