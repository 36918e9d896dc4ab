#!/usr/bin/env python3
"""Measures what stacks cost: labelscope compared with `perf record`, in turns.

    tests/bench/stack_costs.py --labelscope build/dev/cli/labelscope [--parts sample,target,start]
                               [--rounds 5]

sample  Time that labelscope's programs take in the kernel for a sample, by the kernel's own count
        (kernel.bpf_stats_enabled), for threads of different depths: without stacks, by frame
        pointers, and by call frame information.
target  What a recording costs the program that is recorded: its work for each second of its own
        CPU time, which includes what the kernel does for samples while the program has the
        processor. The bytes that are written are shown beside it.
start   Time from the start of labelscope to the first sample with a complete stack, and memory (of
        labelscope, of its workers, and of its BPF maps), for a program that has loaded 500
        libraries, and one that has loaded libLLVM.

Each part ends with its aims. Needs root, gcc, and perf for the comparison. Missing parts are left
out, and named.
"""
import argparse
import contextlib
import glob
import json
import os
import re
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

# Frame pointers are kept, so that both ways follow the same calls. Each call is some 64 calls' work
# away from the next, so the compiler can neither inline it nor turn it into a jump.
WORKER = r"""
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
static volatile uint64_t done;
static double now(clockid_t id) {
  struct timespec t;
  clock_gettime(id, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
__attribute__((noinline)) static int work(void) {
  uint64_t x = 88172645463325252u;
  for (int i = 0; i < 20000; ++i) { x ^= x << 13; x ^= x >> 7; x ^= x << 17; }
  done += 1;
  return (int)(x & 1);
}
__attribute__((noinline)) static int deeper(int depth) {
  if (depth == 0) {
    for (;;) {
      work();
      if (done % 256 == 0) {
        printf("%llu %.9f\n", (unsigned long long)done, now(CLOCK_PROCESS_CPUTIME_ID));
        fflush(stdout);
      }
    }
  }
  return deeper(depth - 1) + (int)done;
}
int main(int argc, char** argv) { return deeper(argc > 1 ? atoi(argv[1]) : 0); }
"""
# What a writer of ABI v1 publishes.
LABEL_SET = r"""
#include <stddef.h>
#include <stdint.h>
#define EXPORT __attribute__((visibility("default")))
struct text { size_t length; const char* bytes; };
struct label { struct text key, value; };
struct set { struct label* labels; size_t count, capacity; };
"""
LOADER = r"""
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char** argv) {
  int (*last)(void) = 0;
  for (int i = 1; i < argc; ++i) {
    void* library = dlopen(argv[i], RTLD_NOW);
    if (!library) { fprintf(stderr, "%s\n", dlerror()); return 1; }
    void* found = dlsym(library, "turn");
    if (found) last = (int (*)(void))found;
  }
  puts("ready");
  fflush(stdout);
  for (volatile unsigned i = 0;; ++i) if (last) last();
}
"""
LIBRARY = "static volatile int x;\n" + "".join(
    f"__attribute__((noinline)) int f{i}(int a) {{ int b[{i + 1}]; b[0] = a; x += b[0]; return x + {i}; }}\n"
    for i in range(40)) + "int turn(void) { int s = 0; for (int i = 0; i < 1000; ++i) s += f0(i) + f39(i); return s; }\n"


def build(folder, name, source, *flags):
    with open(f"{folder}/{name}.c", "w", encoding="utf-8") as out:
        out.write(source)
    subprocess.run(["gcc", "-O1", "-fno-optimize-sibling-calls", *flags, "-o", f"{folder}/{name}",
                    f"{folder}/{name}.c"],
                   check=True)
    return f"{folder}/{name}"


def aim(what, value, most):
    """Prints an aim like aims.cc."""
    reached = "reached" if value <= most else "not reached"
    print(f"{what}: {value:.4g} (aim: at most {most:.4g}): {reached}", flush=True)
    if path := os.environ.get("LABELSCOPE_BENCH_AIMS"):
        with open(path, "a", encoding="utf-8") as out:
            out.write(f"{what}\t{value:.4g}\tat most {most:.4g}\t{reached}\n")


class Worker:
    """The program that works. It knows how much it has done, and in how much of its own time."""

    def __init__(self, program, depth):
        self.process = subprocess.Popen([program, str(depth)], stdout=subprocess.PIPE, text=True)
        self.pid = self.process.pid
        self.told = (0, 0.0)
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self):
        for line in self.process.stdout:
            done, seconds = line.split()
            self.told = (int(done), float(seconds))

    def pace(self, seconds):
        """Returns the work per second of its own time, during these seconds."""
        before = self.told
        time.sleep(seconds)
        after = self.told
        return (after[0] - before[0]) / max(after[1] - before[1], 1e-9)

    def end(self):
        self.process.kill()
        self.process.wait()


@contextlib.contextmanager
def worker(program, depth=0):
    one = Worker(program, depth)
    try:
        while one.told[0] == 0:
            time.sleep(0.01)
        yield one
    finally:
        one.end()


def labelscope(options, pid, rate, how, path, *more):
    return [options.labelscope, "record", "-q", "-F", str(rate), "--call-graph", how, "--overwrite",
            "-o", path, "-p",
            str(pid), *more]


def perf(pid, rate, how, path):
    return ["perf", "record", "-q", "-e", "cpu-clock", "-F", str(rate),
            *(["--call-graph", how] if how != "none" else []),
            "-o", path, "-p", str(pid)]


def program_times(pid):
    """Returns nanoseconds and runs of all BPF programs that this process holds."""
    seen = {}
    for fd in os.listdir(f"/proc/{pid}/fdinfo"):
        with contextlib.suppress(OSError):
            fields = dict(re.findall(r"^(\w+):\s*(\S+)$", open(f"/proc/{pid}/fdinfo/{fd}",
                                                               encoding="ascii").read(), re.M))
            if "prog_id" in fields and "run_cnt" in fields:
                seen[fields["prog_id"]] = (int(fields["run_time_ns"]), int(fields["run_cnt"]))
    return seen


@contextlib.contextmanager
def counted_programs():
    path = "/proc/sys/kernel/bpf_stats_enabled"
    before = open(path, encoding="ascii").read()
    with open(path, "w", encoding="ascii") as out:
        out.write("1")
    try:
        yield
    finally:
        with open(path, "w", encoding="ascii") as out:
            out.write(before)


def start(command):
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def stop(process):
    process.send_signal(signal.SIGINT)
    process.wait()


def spent(options, pid, how, path, *more):
    """Returns nanoseconds and runs of the program that runs at each event, the share of events that
    were samples, and the share of samples that had labels."""
    recorder = start(labelscope(options, pid, 997, how, path, "--no-kernel", *more))
    time.sleep(1 + options.seconds)
    nanoseconds, runs = max(program_times(recorder.pid).values(), key=lambda each: each[1])
    stop(recorder)
    with contextlib.suppress(OSError):
        ledger = json.loads(open(path, encoding="utf-8").read().strip().rsplit("\n", 1)[-1])
        counters = {one["name"]: one["count"] for one in ledger["counters"]}
        os.remove(path)
        taken = ledger["taken"]
        return (nanoseconds, runs, taken / (taken + counters.get("of-other-processes", 0)),
                ledger["outcomes"]["labelled"] / max(taken, 1))
    return nanoseconds, runs, 0, 0  # no sample, no file


def of_samples(options, folder):
    program = build(folder, "worker", WORKER, "-fno-omit-frame-pointer")
    path = f"{folder}/out.jsonl"
    ratios = {}
    with counted_programs():
        # Events belong to a processor. Many come while no program or another one runs, and end at
        # once.
        sleeper = subprocess.Popen(["sleep", "600"])
        nanoseconds, runs, _, _ = spent(options, sleeper.pid, "none", path)
        sleeper.kill()
        sleeper.wait()
        other = nanoseconds / max(runs, 1)
        print(f"\nan event of another process: {other:.0f} ns; it is not in what follows")
        print(f"\n| {'calls':>5} | {'none':>9} | {'fp':>9} | {'dwarf':>9} | dwarf / fp | a frame by dwarf |  (median of {options.rounds})")
        print("|---|---|---|---|---|---|")
        for depth in (10, 30, 100):
            times = {"none": [], "fp": [], "dwarf": []}
            with worker(program, depth) as target:
                for _ in range(options.rounds):
                    for how, seen in times.items():
                        nanoseconds, runs, share, _ = spent(options, target.pid, how, path)
                        if runs * share < 100:
                            sys.exit(f"only {runs * share:.0f} samples were taken: is the machine idle enough?")
                        seen.append((nanoseconds - runs * (1 - share) * other) / (runs * share))
            none, fp, dwarf = (statistics.median(times[how]) for how in ("none", "fp", "dwarf"))
            ratios[depth] = dwarf / fp
            print(f"| {depth:5} | {none:6.0f} ns | {fp:6.0f} ns | {dwarf:6.0f} ns | {dwarf / fp:10.2f} | "
                  f"{(dwarf - none) / (depth + 3):13.0f} ns |", flush=True)
    aim("BPF time of a sample of 30 calls: dwarf / fp", ratios[30], 2)


def of_target(options, folder):
    program = build(folder, "worker", WORKER, "-fno-omit-frame-pointer")
    tools = {"labelscope none": None, "labelscope fp": None, "labelscope dwarf": None}
    if shutil.which("perf"):
        tools |= {"perf none": None, "perf fp": None, "perf dwarf": None}
    else:
        print("perf is not installed")
    print(f"\n| {'Hz':>5} | {'tool':16} | slower by | (least, most) | bytes a second |  30 calls; median of {options.rounds}")
    print("|---|---|---|---|---|")
    aims = []
    with worker(program, 30) as target:
        for rate in (99, 999, 4999):
            slower = {tool: [] for tool in tools}
            size = {tool: [] for tool in tools}
            for _ in range(options.rounds):
                for tool in tools:
                    which, how = tool.split()
                    path = f"{folder}/out"
                    # The pace is measured before and after, so that other changes on the machine
                    # affect neither side.
                    alone = target.pace(options.seconds / 2)
                    recorder = start(labelscope(options, target.pid, rate, how, path + ".pb.gz")
                                     if which == "labelscope"
                                     else perf(target.pid, rate, how, path + ".data"))
                    time.sleep(1.5)
                    began = time.monotonic()
                    recorded = target.pace(options.seconds)
                    took = time.monotonic() - began + 1.5
                    stop(recorder)
                    alone = (alone + target.pace(options.seconds / 2)) / 2
                    slower[tool].append(100 * (1 - recorded / alone))
                    with contextlib.suppress(OSError):
                        made = path + (".pb.gz" if which == "labelscope" else ".data")
                        size[tool].append(os.path.getsize(made) / took)
                        os.remove(made)
            if silent := [tool for tool in tools if not size[tool]]:
                sys.exit(f"{silent[0]} wrote nothing: is the machine idle enough?")
            for tool in tools:
                print(f"| {rate:5} | {tool:16} | {statistics.median(slower[tool]):7.2f} % | ({min(slower[tool]):5.2f}, "
                      f"{max(slower[tool]):5.2f}) | {statistics.median(size[tool]):14,.0f} |",
                      flush=True)
            ours = statistics.median(slower["labelscope dwarf"])
            for tool in ("labelscope fp", "perf fp"):
                if tool in tools:
                    aims.append((f"{rate} Hz: points that dwarf costs the target more than {tool}",
                                 ours - statistics.median(slower[tool]), 1))
            for tool in ("perf fp", "perf dwarf"):
                if tool in tools:
                    aims.append((f"{rate} Hz: bytes of dwarf / {tool}",
                                 statistics.median(size["labelscope dwarf"]) / statistics.median(size[tool]), 1))
    for each in aims:
        aim(*each)


def first_complete(path, began):
    """Returns the seconds from `began` (monotonic) to the first sample with a complete stack, and
    how many samples came before."""
    ends, samples = {}, []
    for line in open(path, encoding="utf-8"):
        row = json.loads(line)
        if row["type"] == "stack":
            ends[row["id"]] = row["end"]
        elif row["type"] == "sample":
            samples.append((row["time_ns"], row["stack"]))
    samples.sort()
    for number, (at, stack) in enumerate(samples):
        if ends.get(stack) == "complete":
            return at * 1e-9 - began, number
    return None, len(samples)


def peaks(pid, seen, with_maps=True):
    """Adds the most KiB that this process and its children have taken, each, and its BPF maps, to
    `seen`. To look for maps keeps a process up that has hundreds of files open."""
    for one in [pid, *(int(child) for task in os.listdir(f"/proc/{pid}/task")
                       for child in open(f"/proc/{pid}/task/{task}/children",
                                         encoding="ascii").read().split())]:
        with contextlib.suppress(OSError, TypeError):
            text = open(f"/proc/{one}/status", encoding="ascii").read()
            seen[one] = int(re.search(r"VmHWM:\s*(\d+)", text)[1])
    if not with_maps:
        return
    maps = {}
    for fd in os.listdir(f"/proc/{pid}/fdinfo"):
        with contextlib.suppress(OSError):
            fields = dict(re.findall(r"^(\w+):\s*(\S+)$", open(f"/proc/{pid}/fdinfo/{fd}",
                                                               encoding="ascii").read(), re.M))
            if "map_id" in fields:
                maps[fields["map_id"]] = int(fields["memlock"]) / 1024
    seen["maps"] = max(seen.get("maps", 0), sum(maps.values()))


def watched(recorder, seconds):
    """Returns the MiB of all that it has taken in this time."""
    seen = {}
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        with contextlib.suppress(OSError):
            peaks(recorder.pid, seen)
        time.sleep(0.02)
    return sum(seen.values()) / 1024


@contextlib.contextmanager
def loader_of(program, libraries):
    target = subprocess.Popen([program, *libraries], stdout=subprocess.PIPE, text=True)
    try:
        target.stdout.readline()
        yield target
    finally:
        target.kill()
        target.wait()


def many_libraries(folder, count=500):
    """Returns the paths of so many libraries. Each has another build ID, so that labelscope takes it
    for a file of its own."""
    mark = b"\xa5" * 8
    first = build(folder, "library.so", LIBRARY, "-shared", "-fPIC", "-Wl,--build-id=0x"
                  + mark.hex())
    many = [f"{folder}/library{i}.so" for i in range(count)]
    with open(first, "rb") as file:
        library = file.read()
    for i, path in enumerate(many):
        with open(path, "wb") as out:
            out.write(library.replace(mark, i.to_bytes(len(mark), "big")))
    return many


def of_start(options, folder):
    loader = build(folder, "loader", LOADER, "-ldl")
    many = many_libraries(folder)
    targets = {"500 libraries": many}
    for found in sorted(glob.glob("/usr/lib/*/libLLVM*.so.*"))[-1:]:
        targets["libLLVM"] = [found, many[0]]
    aims = []
    print(f"\n| {'program':14} | to the first complete stack | samples before | labelscope's memory | more than with fp |")
    print("|---|---|---|---|---|")
    for name, libraries in targets.items():
        took, before, memory = [], [], {"fp": [], "dwarf": []}
        with loader_of(loader, libraries) as target:
            for how in ("fp", "dwarf") * options.rounds:
                path = f"{folder}/start.jsonl"
                began = time.monotonic()
                recorder = start(labelscope(options, target.pid, 999, how, path, "--no-kernel"))
                memory[how].append(watched(recorder, 5))
                stop(recorder)
                if how == "dwarf":
                    seconds, early = first_complete(path, began)
                    if seconds is None:
                        sys.exit(f"{name}: none of {early} stacks is complete: is the machine idle enough?")
                    took.append(seconds)
                    before.append(early)
        dwarf, fp = statistics.median(memory["dwarf"]), statistics.median(memory["fp"])
        print(f"| {name:14} | {statistics.median(took):25.2f} s | {statistics.median(before):14.0f} | {dwarf:15.0f} MiB | "
              f"{dwarf - fp:13.0f} MiB |", flush=True)
        aims.append((f"{name}: seconds to the first complete stack", statistics.median(took), 2))
        aims.append((f"{name}: MiB that labelscope takes", dwarf, 100))
    for each in aims:
        aim(*each)


PARTS = {"sample": of_samples, "target": of_target, "start": of_start}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--labelscope", required=True)
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2)
    options = parser.parse_args()
    options.labelscope = os.path.abspath(options.labelscope)
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    print(f"load {os.getloadavg()[0]:.1f}, Linux {os.uname().release}, {os.cpu_count()} processors")
    with tempfile.TemporaryDirectory() as folder:
        for part in options.parts.split(","):
            PARTS[part](options, folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
