#!/usr/bin/env python3
"""Measures how soon a recording begins and ends, and what it takes, beside `perf record -g`, in turns.

    tests/bench/start.py --labelscope build/dev/cli/labelscope [--targets small,modules] [--rounds 5]

small     A program with one thread that computes.
modules   One that has loaded 500 libraries.
threads   One with 10,000 threads, of which one computes.
mappings  One with 60,000 mappings of memory.

Each is recorded for one second at 999 Hz. What is printed of a tool:

first     Time from its exec to the first sample.
end       Time from the end of the recording to its exit, when all files are written. Of perf it is the
          time from the last sample on.
CPU       Its own CPU time in milliseconds: until sampling begins, while it samples, after it, and that
          of its children, which name addresses and make unwind tables.
peak      The most memory that it has had at a time, and that of its children. What it shares with the
          kernel is in it: ring buffers and the maps of BPF programs that it has mapped.
maps      Memory of all its BPF maps, by the kernel's own account.

labelscope first is a recording that finds no unwind tables of an earlier one, and labelscope the next;
before is another build (--before), which takes turns with it. All are medians. CPU times hardly depend on what else the machine does; the least of the other times are
printed, too. Needs root and gcc, and perf for the comparison.
"""
import argparse
import contextlib
import json
import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from stack_costs import LOADER, aim, build, many_libraries, peaks

THREADS = 10_000
MAPPINGS = 60_000
BEGINNING = 0.5  # seconds in which the first sample is taken, mostly
PROGRAM = r"""
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
static void* wait(void* unused) { pause(); return unused; }
int main(int argc, char** argv) {
  const int threads = argc > 1 ? atoi(argv[1]) : 0, mappings = argc > 2 ? atoi(argv[2]) : 0;
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 16384);
  pthread_t made;
  for (int i = 0; i < threads; ++i) {
    if (pthread_create(&made, &small, wait, NULL) != 0) { perror("pthread_create"); return 1; }
  }
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  char* area = mmap(NULL, page * ((size_t)mappings + 1), PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  for (int i = 0; i < mappings; i += 2) {
    if (mprotect(area + page * (size_t)i, page, PROT_READ | PROT_WRITE) != 0) { perror("mprotect"); return 1; }
  }
  puts("ready");
  fflush(stdout);
  for (volatile unsigned long n = 0;; ++n) {}
}
"""


class Run:
    """One recording, from its exec to its exit."""

    def __init__(self, command):
        self.seen = {}
        cpu = []
        self.began = time.monotonic()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        clock = (~process.pid << 3) | 2  # of all its threads, as clock_getcpuclockid() makes it
        look = 0
        while True:
            look += 1
            begins = time.monotonic() - self.began < BEGINNING
            with contextlib.suppress(OSError):
                peaks(process.pid, self.seen, with_maps=not begins and look % 10 == 0)
            with contextlib.suppress(OSError):
                cpu.append((time.monotonic(), time.clock_gettime(clock)))
            ended, status, self.used = os.wait4(process.pid, os.WNOHANG)
            if ended:
                break
            time.sleep(0.01)
        self.ended = time.monotonic()
        self.cpu = cpu
        self.pid = process.pid
        said = process.stderr.read().decode(errors="replace")
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            raise RuntimeError(f"{' '.join(command)}: status {process.returncode}: {said}")

    def own_cpu(self, until=None):
        """Returns its CPU time at this moment, or at its end, in milliseconds."""
        return 1e3 * max((used for at, used in self.cpu if until is None or at <= until), default=0)

    def all_cpu(self):
        return 1e3 * (self.used.ru_utime + self.used.ru_stime)

    def peak(self):
        return self.seen.get(self.pid, 0) / 1024

    def peak_of_children(self):
        return max((kib for pid, kib in self.seen.items() if pid not in (self.pid, "maps")),
                   default=0) / 1024


def record_by_labelscope(options, pid, folder, cache=None):
    path = f"{folder}/recording.jsonl"
    keep = ["--unwind-cache", cache or f"{folder}/cache"] if options.keeps_tables else []
    run = Run([options.labelscope, "record", "-q", "-p", str(pid), "-d", "1", "-F", "999", "--overwrite",
               "-o", path, *keep])
    samples, began, duration = [], 0, 0
    for line in open(path, encoding="utf-8"):
        row = json.loads(line)
        if row["type"] == "sample":
            samples.append(row["time_ns"] * 1e-9)
        elif "start_monotonic_ns" in row:
            began, duration = row["start_monotonic_ns"] * 1e-9, row["duration_ns"] * 1e-9
    before, during = run.own_cpu(began), run.own_cpu(began + duration)
    own = run.own_cpu()
    return {"first": 1e3 * (min(samples) - run.began), "end": 1e3 * (run.ended - began - duration),
            "before": before, "during": during - before, "after": own - during,
            "children": run.all_cpu() - own, "peak": run.peak(), "worker": run.peak_of_children(),
            "maps": run.seen.get("maps", 0) / 1024, "samples": len(samples)}


def record_by_another(options, pid, folder):
    return record_by_labelscope(argparse.Namespace(**vars(options) | {"labelscope": options.before}), pid, folder)


def record_first(options, pid, folder):
    return record_by_labelscope(options, pid, folder, "none")


def record_by_perf(_, pid, folder):
    path = f"{folder}/perf.data"
    run = Run(["perf", "record", "-q", "-e", "cpu-clock", "-k", "CLOCK_MONOTONIC", "-g", "-F", "999", "-p",
               str(pid), "-o", path, "--", "sleep", "1"])
    times = subprocess.run(["perf", "script", "-i", path, "-F", "time", "-G"], capture_output=True,
                           text=True, check=True).stdout
    samples = [float(one) for one in re.findall(r"([\d.]+):", times)]
    before, during = run.own_cpu(samples[0]), run.own_cpu(samples[-1])
    own = run.own_cpu()
    return {"first": 1e3 * (samples[0] - run.began), "end": 1e3 * (run.ended - samples[-1]),
            "before": before, "during": during - before, "after": own - during,
            "children": run.all_cpu() - own, "peak": run.peak(), "worker": run.peak_of_children(),
            "maps": 0, "samples": len(samples)}


@contextlib.contextmanager
def running(command):
    target = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        if target.stdout.readline() != "ready\n":
            sys.exit(f"{command[0]} did not get ready")
        yield target.pid
    finally:
        target.kill()
        target.wait()


def make_targets(folder, wanted):
    program = build(folder, "program", PROGRAM, "-pthread")
    targets = {"small": [program], "threads": [program, str(THREADS)], "mappings": [program, "0", str(MAPPINGS)]}
    if "modules" in wanted:
        targets["modules"] = [build(folder, "loader", LOADER, "-ldl"), *many_libraries(folder)]
    return {name: targets[name] for name in wanted}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--labelscope", required=True)
    parser.add_argument("--before", help="another build of labelscope")
    parser.add_argument("--targets", default="small,modules,threads,mappings")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    options.labelscope = os.path.abspath(options.labelscope)
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    listed = subprocess.run([options.labelscope, "record", "--help"], capture_output=True, text=True,
                            check=True).stdout
    options.keeps_tables = "--unwind-cache" in listed
    tools = {"labelscope": record_by_labelscope}
    if options.keeps_tables:
        tools = {"labelscope first": record_first} | tools
    if options.before:
        options.before = os.path.abspath(options.before)
        tools["before"] = record_by_another
    if shutil.which("perf"):
        tools["perf -g"] = record_by_perf
    else:
        print("perf is not installed")
    print(f"load {os.getloadavg()[0]:.1f}, Linux {os.uname().release}, {os.cpu_count()} processors, "
          f"medians of {options.rounds}")
    times = []
    for _ in range(10 * options.rounds):
        began = time.monotonic()
        subprocess.run([options.labelscope, "--help"], stdout=subprocess.DEVNULL, check=True)
        times.append(1e3 * (time.monotonic() - began))
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"--help: {statistics.median(times):.1f} ms (least {min(times):.1f}), CPU "
          f"{1e3 * (used.ru_utime + used.ru_stime) / len(times):.1f} ms")
    refused = {}
    aims = [("--help: ms, the least", min(times), 5)]
    print("\n| target   | tool             | first (least) | end (least) | CPU before, during, after, children"
          " |   peak, children |     maps |")
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for name, command in make_targets(folder, options.targets.split(",")).items():
            runs = {tool: [] for tool in tools}
            with running(command) as pid:
                for _ in range(options.rounds):
                    for tool, record in tools.items():
                        try:
                            runs[tool].append(record(options, pid, folder))
                        except RuntimeError as error:
                            if tool == "labelscope":
                                sys.exit(str(error))
                            refused[tool, name] = str(error)
            for tool, seen in runs.items():
                if not seen:
                    print(f"| {name:8} | {tool:16} | it cannot record this: see below", flush=True)
                    continue
                of = {what: statistics.median(run[what] for run in seen) for what in seen[0]}
                least = {what: min(run[what] for run in seen) for what in ("first", "end")}
                print(f"| {name:8} | {tool:16} | {of['first']:4.0f} ({least['first']:3.0f}) ms | "
                      f"{of['end']:4.0f} ({least['end']:3.0f}) ms | {of['before']:5.0f} {of['during']:5.0f} "
                      f"{of['after']:5.0f} {of['children']:5.0f} ms     | {of['peak']:4.0f} {of['worker']:4.0f} MiB  | "
                      f"{of['maps']:4.0f} MiB |", flush=True)
                if tool == "labelscope":
                    aims += [(f"{name}: ms to the first sample", of["first"], 100),
                             (f"{name}: ms from the end of sampling to the exit", of["end"], 50),
                             (f"{name}: MiB at its peak", of["peak"], 30)]
    for (tool, name), why in refused.items():
        print(f"{tool}, {name}: {why.strip()}")
    for each in aims:
        aim(*each)
    return 0


if __name__ == "__main__":
    sys.exit(main())
