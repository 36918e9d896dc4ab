#!/usr/bin/env python3
"""Measures how the cost of a sample grows: with calls, labels, threads, processes and modules.

    tests/bench/growth.py --labelscope build/dev/cli/labelscope [--rounds 3] [--only labels,threads]

A program of one process and two threads, 25 calls deep, with five labels (ABI v1) and its few
libraries, is compared with programs that differ from it in one number, in turns. The columns:

kernel    Time that labelscope's program takes in the kernel for a sample, by the kernel's own count
          (kernel.bpf_stats_enabled), less what events of other processes take.
own       CPU time of labelscope itself for a sample while it records, by schedstat: from the ring
          buffer to rows in memory. Its start and its end are not in it (start.py measures them).

Needs root and gcc.
"""
import argparse
import contextlib
import glob
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time

from stack_costs import (LABEL_SET, aim, build, counted_programs, labelscope,
                         many_libraries, program_times, start, stop)

PROGRAM = LABEL_SET + r"""
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
EXPORT const uint32_t custom_labels_abi_version = 1;
EXPORT __thread struct set* custom_labels_current_set;
static volatile uint64_t result;
static int calls, count;
__attribute__((noinline)) static uint64_t deeper(int depth, uint64_t x) {
  if (depth > 0) return deeper(depth - 1, x + (uint64_t)depth) + 1;
  for (;;) {
    for (int i = 0; i < 100000; ++i) { x ^= x << 13; x ^= x >> 7; x ^= x << 17; }
    result = x;
  }
}
static void* work(void* unused) {
  struct label labels[64];
  char text[64][2][24];
  for (int i = 0; i < count; ++i) {
    const size_t key = (size_t)sprintf(text[i][0], "key-of-label-%02d", i);
    const size_t value = (size_t)sprintf(text[i][1], "value-of-label-%02d", i);
    labels[i] = (struct label){{key, text[i][0]}, {value, text[i][1]}};
  }
  struct set set = {labels, (size_t)count, 64};
  custom_labels_current_set = &set;
  deeper(calls, 88172645463325252u);
  return unused;
}
int main(int argc, char** argv) {
  const int processes = atoi(argv[1]), threads = atoi(argv[2]);
  calls = atoi(argv[3]);
  count = atoi(argv[4]);
  for (int i = 5; i < argc; ++i) if (!dlopen(argv[i], RTLD_NOW)) return 1;
  for (int i = 1; i < processes; ++i) if (fork() == 0) break;
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 128 << 10);
  for (int i = 0; i < threads; ++i) {
    pthread_t thread;
    if (pthread_create(&thread, &small, work, NULL)) return 1;
  }
  puts("ready");
  fflush(stdout);
  for (;;) pause();
}
""".replace("#include <dlfcn.h>", "#define _GNU_SOURCE\n#include <dlfcn.h>", 1)

# What the first program has, and the larger numbers that are compared with it.
FIRST = {"processes": 1, "threads": 2, "calls": 25, "labels": 5, "modules": 0}
LARGER = {"calls": (50, 100), "labels": (0, 20, 64), "threads": (100, 2000), "processes": (50, 500),
          "modules": (500,)}
RATE = 4999


@contextlib.contextmanager
def target(program, folder, numbers):
    libraries = [f"{folder}/library{i}.so" for i in range(numbers["modules"])]
    one = subprocess.Popen([program, str(numbers["processes"]), str(numbers["threads"]),
                            str(numbers["calls"]), str(numbers["labels"]), *libraries],
                           stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        for _ in range(numbers["processes"]):
            if one.stdout.readline() != "ready\n":
                sys.exit("the program did not begin")
        yield one.pid
    finally:
        os.killpg(one.pid, 9)
        one.wait()


def own_time(pid):
    """Returns the nanoseconds that the threads of this process have had a processor."""
    total = 0
    for path in glob.glob(f"/proc/{pid}/task/*/schedstat"):
        with contextlib.suppress(OSError), open(path, encoding="ascii") as file:
            total += int(file.read().split()[0])
    return total


def events(pid):
    """Returns nanoseconds and runs of the program that runs at each event, or zeros."""
    return max(program_times(pid).values(), key=lambda each: each[1], default=(0, 0))


def cost(options, pid, path):
    """Returns the nanoseconds of a sample: in the kernel, and of labelscope itself."""
    recorder = start(labelscope(options, pid, RATE, "dwarf", path, "--no-kernel"))
    # Mappings, tables and names are there after a while. None of that is of a sample.
    until = time.monotonic() + 20
    while events(recorder.pid)[1] < options.least and time.monotonic() < until:
        time.sleep(0.05)
    time.sleep(2)
    before, own_before = events(recorder.pid), own_time(recorder.pid)
    time.sleep(options.seconds)
    after, own_after = events(recorder.pid), own_time(recorder.pid)
    stop(recorder)
    runs = after[1] - before[1]
    with open(path, encoding="utf-8") as file:
        ledger = json.loads(file.read().strip().rsplit("\n", 1)[-1])
    os.remove(path)
    counters = {one["name"]: one["count"] for one in ledger["counters"]}
    if counters.get("dropped-samples", 0) * 100 > ledger["taken"]:
        sys.exit("more than a hundredth of the samples was dropped: is the machine idle enough?")
    samples = runs * ledger["taken"] / (ledger["taken"] + counters.get("of-other-processes", 0))
    if samples < options.least:
        sys.exit(f"only {samples:.0f} samples were taken: is the machine idle enough?")
    return (after[0] - before[0]) / samples, (own_after - own_before) / samples


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--labelscope", required=True)
    parser.add_argument("--only", default=",".join(LARGER))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--least", type=int, default=1000, help="samples of a measurement")
    options = parser.parse_args()
    options.labelscope = os.path.abspath(options.labelscope)
    if os.geteuid() != 0:
        print("this needs root")
        return 77  # skipped, for ctest
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    rows = [("", FIRST)] + [(f"{number} {what}", FIRST | {what: number})
                            for what in options.only.split(",") for number in LARGER[what]]
    with tempfile.TemporaryDirectory() as folder, counted_programs():
        program = build(folder, "program", PROGRAM, "-fno-omit-frame-pointer", "-rdynamic",
                        "-pthread", "-ldl")
        many_libraries(folder, max(numbers["modules"] for _, numbers in rows))
        seen = {name: [] for name, _ in rows}
        for _ in range(options.rounds):
            for name, numbers in rows:
                with target(program, folder, numbers) as pid:
                    seen[name].append(cost(options, pid, f"{folder}/out.jsonl"))
    first = [statistics.median(one[i] for one in seen[""]) for i in range(2)]
    print(f"\nload {os.getloadavg()[0]:.1f}, Linux {os.uname().release}, {os.cpu_count()} processors; medians of {options.rounds}")
    print(f"\n| {'a program with':20} | kernel | beside the first | own | beside the first |")
    print("|---|---:|---:|---:|---:|")
    for name, _ in rows:
        kernel, own = (statistics.median(one[i] for one in seen[name]) for i in range(2))
        print(f"| {name or '2 threads, 5 labels':20} | {kernel:,.0f} ns | {kernel / first[0]:.2f} | {own:,.0f} ns | "
              f"{own / first[1]:.2f} |", flush=True)
        if name.endswith(("threads", "processes", "modules")):
            aim(f"{name}: a sample's time in the kernel beside that of 2 threads", kernel / first[0], 1.5)
    return 0


if __name__ == "__main__":
    sys.exit(main())
