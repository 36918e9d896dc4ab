#!/usr/bin/env python3
"""Measures how much slower a program gets while it is recorded, beside the tools that people would
use instead, in turns.

    tests/bench/overhead.py --labelscope build/dev/cli/labelscope [--rates 99,999,9999] [--rounds 5]

Two busy threads, 25 calls deep and with five labels each (ABI v1), do a fixed amount of work. What
counts is the time on the clock until it is done, the program's own CPU time, and the CPU time of the
tool with all its processes, from its start to its end. The tools:

event       A perf event for each thread that nothing reads: the floor of everything that samples.
program     An empty BPF program at each event (bpftrace): the floor of everything that uses BPF.
labelscope  Whole stacks and labels, to a pprof file.
perf        perf record -g: stacks by frame pointers and no labels.
bpftrace    User stacks counted in the kernel, and no labels.

Each tool does the work once and three times over. What the second and third times add is the cost of
samples, in percent; what is left of the first is the cost of a recording whatever it lasts (its
start and end, as far as they are beside the work), in milliseconds. "Both" is how much longer the
work takes, as wall-clock time, with the tool beside it: on a machine whose processors are all busy,
as here, this has the tool's own CPU time in it. Needs root and gcc; perf and bpftrace for their rows. A row
that cannot be measured is left out, and named.
"""
import argparse
import contextlib
import ctypes
import os
import platform
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import typing

from stack_costs import LABEL_SET, aim, build

PROGRAM = LABEL_SET + r"""
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
EXPORT const uint32_t custom_labels_abi_version = 1;
EXPORT __thread struct set* custom_labels_current_set;
static volatile uint64_t result;
static long turns;
static pthread_barrier_t begin;
static double now(clockid_t id) {
  struct timespec t;
  clock_gettime(id, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
__attribute__((noinline)) static uint64_t deeper(int depth, uint64_t x) {
  if (depth > 0) return deeper(depth - 1, x + (uint64_t)depth) + 1;
  for (long i = 0; i < turns; ++i) { x ^= x << 13; x ^= x >> 7; x ^= x << 17; }
  return x;
}
static struct text text(const char* bytes) { return (struct text){strlen(bytes), bytes}; }
static void* work(void* name) {
  struct label labels[] = {{text("tenant"), text("acme-incorporated")},
                           {text("http.route"), text("/shop/{id}/checkout")},
                           {text("http.method"), text("PUT")},
                           {text("zone"), text("north-3b")},
                           {text("worker"), text(name)}};
  struct set set = {labels, 5, 5};
  custom_labels_current_set = &set;
  pthread_barrier_wait(&begin);
  result += deeper(25, 88172645463325252u);
  custom_labels_current_set = NULL;
  return NULL;
}
int main(int argc, char** argv) {
  turns = argc > 1 ? atol(argv[1]) : 1;
  pthread_t threads[2];
  pthread_barrier_init(&begin, NULL, 3);
  pthread_create(&threads[0], NULL, work, "first");
  pthread_create(&threads[1], NULL, work, "second");
  puts("ready");
  fflush(stdout);
  if (getchar() == EOF) return 1;
  const double wall = now(CLOCK_MONOTONIC), cpu = now(CLOCK_PROCESS_CPUTIME_ID);
  pthread_barrier_wait(&begin);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  printf("%.6f %.6f\n", now(CLOCK_MONOTONIC) - wall, now(CLOCK_PROCESS_CPUTIME_ID) - cpu);
}
"""
# The tools differ in how long they take until they sample. The work begins when each of them does.
START = 2.0
# The work of the longer run, in shorter ones.
LONGER = 3
PERF_EVENT_OPEN = {"x86_64": 298, "aarch64": 241}


class Target:
    def __init__(self, program, turns):
        self.process = subprocess.Popen([program, str(turns)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        self.process.stdout.readline()
        self.pid = self.process.pid

    def work(self):
        """Returns the seconds of the work: on the clock, and of CPU time."""
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        wall, cpu = self.process.stdout.readline().split()
        self.process.wait()
        return float(wall), float(cpu)


@contextlib.contextmanager
def empty_events(pid, rate):
    """Opens an event of the CPU clock for each thread, with no buffer behind it."""
    # This is struct perf_event_attr up to its first 64 bytes (PERF_ATTR_SIZE_VER0): software events,
    # the CPU clock, a frequency, and PERF_SAMPLE_IP.
    flag_freq = 1 << 10
    attributes = struct.pack("=IIQQQQQ", 1, 64, 0, rate, 1, 0, flag_freq).ljust(64, b"\0")
    libc = ctypes.CDLL(None, use_errno=True)
    opened = []
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            fd = libc.syscall(PERF_EVENT_OPEN[platform.machine()], attributes, int(thread), -1, -1,
                              0)
            if fd < 0:
                raise OSError(ctypes.get_errno(), "perf_event_open")
            opened.append(fd)
        yield
    finally:
        for fd in opened:
            os.close(fd)


def command(options, tool, pid, rate, folder):
    if tool == "labelscope":
        return [options.labelscope, "record", "-q", "-F", str(rate), "--overwrite",
                "-o", f"{folder}/out.pb.gz", "-p", str(pid)]
    if tool == "perf":
        return ["perf", "record", "-q", "-e", "cpu-clock", "-g", "-F", str(rate),
                "-o", f"{folder}/out.data", "-p", str(pid)]
    # A condition in the program is work; without one it runs for events of other processes, too,
    # and there are none to speak of while the work is done.
    body = "{ @[ustack] = count(); }" if tool == "bpftrace" else "{ }"
    where = f" /pid == {pid}/ " if tool == "bpftrace" else " "
    return ["bpftrace", "-q", "-e", f"profile:hz:{rate}{where}{body}"]


def measure(options, program, tool, rate, folder, times):
    """Returns seconds: on the clock, of the program's CPU, of the tool's CPU. Does the work `times`
    over."""
    target = Target(program, options.turns * times)
    if tool == "none":
        time.sleep(START / 4)
        return (*target.work(), 0.0)
    if tool == "event":
        with empty_events(target.pid, rate):
            return (*target.work(), 0.0)
    before = os.times()
    with open(f"{folder}/said", "w", encoding="utf-8") as said:
        recorder = subprocess.Popen(command(options, tool, target.pid, rate, folder), stdout=said,
                                    stderr=said)
    time.sleep(START)
    if recorder.poll() is not None:
        with open(f"{folder}/said", encoding="utf-8") as said:
            sys.exit(f"{tool} ended before the work began: {said.read()}")
    wall, cpu = target.work()
    with contextlib.suppress(ProcessLookupError):
        recorder.send_signal(signal.SIGINT)
    recorder.wait()
    after = os.times()
    took = after.children_user + after.children_system - before.children_user - \
        before.children_system
    # The target is a child, too.
    return wall, cpu, max(took - cpu, 0.0)


def least(runs):
    """Other work on the machine makes the same work take longer, never shorter."""
    return [min(run[i] for run in runs) for i in range(3)]


class Costs(typing.NamedTuple):
    whole: float     # percent, on the clock, of the longer run
    samples: float   # the same, of what the longer run has more than the shorter one
    once: float      # milliseconds on the clock, beside the samples
    cpu: float       # percent of the program's CPU time, of samples
    own: float       # CPU time of the tool for samples, in percent of the program's
    own_once: float  # milliseconds of the tool's CPU time, beside the samples


def costs(none, tool):
    """Both are what the shorter and the longer run took at least."""
    more = [tool["long"][i] - tool["short"][i] for i in range(3)]
    plain = [none["long"][i] - none["short"][i] for i in range(3)]
    slope = more[0] / plain[0]
    own = more[2] / plain[1]
    return Costs(100 * (tool["long"][0] / none["long"][0] - 1), 100 * (slope - 1),
                 1000 * (tool["short"][0] - none["short"][0] * slope), 100 * (more[1] / plain[1] - 1),
                 100 * own, 1000 * (tool["short"][2] - none["short"][1] * own))


def tools_here():
    tools = ["none", "event", "program", "labelscope", "perf", "bpftrace"]
    for needed, rows in (("perf", ["perf"]), ("bpftrace", ["program", "bpftrace"])):
        if shutil.which(needed):
            continue
        print(f"{needed} is not installed: without {' and '.join(rows)}")
        tools = [tool for tool in tools if tool not in rows]
    return tools


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--labelscope", required=True)
    parser.add_argument("--rates", default="99,999,9999")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--turns", type=int, default=1_000_000_000, help="work of each thread")
    parser.add_argument("--tools", default="event,program,labelscope,perf,bpftrace",
                        help="which are compared with none at all")
    options = parser.parse_args()
    options.labelscope = os.path.abspath(options.labelscope)
    if os.geteuid() != 0 or not shutil.which("gcc"):
        print("this needs root and gcc")
        return 77  # skipped, for ctest
    print(f"load {os.getloadavg()[0]:.1f}, Linux {os.uname().release}, {os.cpu_count()} processors")
    tools = [tool for tool in tools_here() if tool in ["none", *options.tools.split(",")]]
    print(f"\n| {'Hz':>5} | {'tool':10} | both, {LONGER} x |  both: samples |   and once | CPU of the program: samples |"
          f" CPU of the tool: samples |   and once | the least of {options.rounds}")
    print("|---|---|---|---|---|---|---|---|")
    aims = []
    with tempfile.TemporaryDirectory() as folder:
        # -O1 without sibling calls keeps each of the 25 frames.
        program = build(folder, "program", PROGRAM, "-fno-omit-frame-pointer", "-rdynamic",
                        "-pthread")
        for rate in map(int, options.rates.split(",")):
            seen = {(tool, times): [] for tool in tools for times in (1, LONGER)}
            for _ in range(options.rounds):
                for times in (1, LONGER):
                    for tool in tools:
                        seen[tool, times].append(measure(options, program, tool, rate, folder, times))
            slower = {}
            for tool in tools[1:]:
                row = costs(*({part: least(seen[which, times]) for part, times in (("short", 1), ("long", LONGER))}
                              for which in ("none", tool)))
                slower[tool] = row.samples
                print(f"| {rate:5} | {tool:10} | {row.whole:8.1f} % | {row.samples:12.1f} % | {row.once:7.0f} ms | "
                      f"{row.cpu:25.1f} % | {row.own:22.1f} % | {row.own_once:7.0f} ms |", flush=True)
            if "perf" in slower:
                aims.append((f"{rate} Hz: points that samples of labelscope cost more than those of perf record -g",
                             slower["labelscope"] - slower["perf"], 0))
            if "event" in slower:
                aims.append((f"{rate} Hz: points that samples of labelscope cost more than an empty event",
                             slower["labelscope"] - slower["event"], 3))
    for each in aims:
        aim(*each)
    return 0


if __name__ == "__main__":
    sys.exit(main())
