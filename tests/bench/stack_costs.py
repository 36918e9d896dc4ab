#!/usr/bin/env python3
"""What stacks cost: labelscope beside `perf record`, taking turns.

    tests/bench/stack_costs.py --labelscope build/dev/cli/labelscope [--parts sample,target,start] [--rounds 5]

sample  Time that labelscope's programs take in the kernel for a sample, by the kernel's own count
        (kernel.bpf_stats_enabled), for threads that are so many calls deep; without stacks, by frame pointers, by call
        frame information.
target  What a recording costs the program that is recorded: its work for each second of its own CPU time, which has
        in it what the kernel does for samples while the program has the processor. Beside it: bytes that are written.
start   Time from the start of labelscope to the first sample with a complete stack, and memory, for a program that has
        loaded 500 libraries, and one that has loaded libLLVM.

Needs root, gcc, and perf for the comparison. What is not there is left out, and said to be.
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

# Frame pointers are kept, so that both ways follow the same calls. Each call is 64 calls or so of work away from the
# next: the compiler can neither inline it nor turn it into a jump.
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
    subprocess.run(["gcc", "-O1", "-fno-optimize-sibling-calls", *flags, "-o", f"{folder}/{name}", f"{folder}/{name}.c"],
                   check=True)
    return f"{folder}/{name}"


class Worker:
    """The program that works; knows how much it has done, and in how much of its own time."""

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
        """Work a second of its own time, during these seconds."""
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
    return [options.labelscope, "record", "-q", "-F", str(rate), "--call-graph", how, "--overwrite", "-o", path, "-p",
            str(pid), *more]


def perf(pid, rate, how, path):
    return ["perf", "record", "-q", "-e", "cpu-clock", "-F", str(rate), *(["--call-graph", how] if how != "none" else []),
            "-o", path, "-p", str(pid)]


def program_times(pid):
    """Nanoseconds and runs of all BPF programs that this process holds."""
    seen = {}
    for fd in os.listdir(f"/proc/{pid}/fdinfo"):
        with contextlib.suppress(OSError):
            fields = dict(re.findall(r"^(\w+):\s*(\S+)$", open(f"/proc/{pid}/fdinfo/{fd}", encoding="ascii").read(), re.M))
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


def spent(pid, seconds):
    before = program_times(pid)
    time.sleep(seconds)
    after = program_times(pid)
    # The one that runs for each sample; others run for mappings and the like.
    busiest = max(after, key=lambda each: after[each][1] - before.get(each, (0, 0))[1])
    then = before.get(busiest, (0, 0))
    return (after[busiest][0] - then[0]) / max(after[busiest][1] - then[1], 1), after[busiest][1] - then[1]


def start(command):
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def stop(process):
    process.send_signal(signal.SIGINT)
    process.wait()


def of_samples(options, folder):
    program = build(folder, "worker", WORKER, "-fno-omit-frame-pointer")
    print(f"\n| {'calls':>5} | {'none':>9} | {'fp':>9} | {'dwarf':>9} | dwarf / fp | a frame by dwarf |  (median of {options.rounds})")
    print("|---|---|---|---|---|---|")
    with counted_programs():
        for depth in (10, 30, 100):
            times = {"none": [], "fp": [], "dwarf": []}
            with worker(program, depth) as target:
                for _ in range(options.rounds):
                    for how, seen in times.items():
                        recorder = start(labelscope(options, target.pid, 997, how, f"{folder}/out.jsonl", "--no-kernel"))
                        time.sleep(1)
                        nanoseconds, runs = spent(recorder.pid, options.seconds)
                        stop(recorder)
                        if runs < 100:
                            sys.exit(f"only {runs} samples were taken: is the machine idle enough?")
                        seen.append(nanoseconds)
            none, fp, dwarf = (statistics.median(times[how]) for how in ("none", "fp", "dwarf"))
            print(f"| {depth:5} | {none:6.0f} ns | {fp:6.0f} ns | {dwarf:6.0f} ns | {dwarf / fp:10.2f} | "
                  f"{(dwarf - none) / (depth + 3):13.0f} ns |", flush=True)


def of_target(options, folder):
    program = build(folder, "worker", WORKER, "-fno-omit-frame-pointer")
    tools = {"labelscope none": None, "labelscope fp": None, "labelscope dwarf": None}
    if shutil.which("perf"):
        tools |= {"perf none": None, "perf fp": None, "perf dwarf": None}
    else:
        print("perf is not installed")
    print(f"\n| {'Hz':>5} | {'tool':16} | slower by | (least, most) | bytes a second |  30 calls; median of {options.rounds}")
    print("|---|---|---|---|---|")
    with worker(program, 30) as target:
        for rate in (99, 999, 4999):
            slower = {tool: [] for tool in tools}
            size = {tool: [] for tool in tools}
            for _ in range(options.rounds):
                for tool in tools:
                    which, how = tool.split()
                    path = f"{folder}/out"
                    # Before and after, so that what else changes on the machine counts for neither.
                    alone = target.pace(options.seconds / 2)
                    recorder = start(labelscope(options, target.pid, rate, how, path + ".pb.gz") if which == "labelscope"
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
            for tool in tools:
                print(f"| {rate:5} | {tool:16} | {statistics.median(slower[tool]):7.2f} % | ({min(slower[tool]):5.2f}, "
                      f"{max(slower[tool]):5.2f}) | {statistics.median(size[tool] or [0]):14,.0f} |", flush=True)


def first_complete(path, began):
    """Seconds from `began` (monotonic) to the first sample with a complete stack; how many samples came before."""
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


def of_start(options, folder):
    loader = build(folder, "loader", LOADER, "-ldl")
    first = build(folder, "library.so", LIBRARY, "-shared", "-fPIC")
    many = [first]
    for i in range(499):
        # Another build ID for each, so that each is a file of its own for labelscope.
        many.append(f"{folder}/library{i}.so")
        subprocess.run(["gcc", "-shared", "-fPIC", "-O1", f"-DN={i}", f"-Wl,--build-id=0x{i:016x}", "-o", many[-1],
                        f"{folder}/library.so.c"], check=True)
    targets = {"500 libraries": many}
    for found in sorted(glob.glob("/usr/lib/*/libLLVM*.so.*"))[-1:]:
        targets["libLLVM"] = [found, first]
    print(f"\n| {'program':14} | to the first complete stack | samples before | labelscope's memory | more than with fp |")
    print("|---|---|---|---|---|")
    for name, libraries in targets.items():
        target = subprocess.Popen([loader, *libraries], stdout=subprocess.PIPE, text=True)
        target.stdout.readline()
        took, before, memory = [], [], {"fp": [], "dwarf": []}
        for _ in range(options.rounds):
            for how in ("fp", "dwarf"):
                path = f"{folder}/start.jsonl"
                began = time.monotonic()
                recorder = start(labelscope(options, target.pid, 999, how, path, "--no-kernel"))
                time.sleep(3)
                most = [0]
                with contextlib.suppress(OSError):
                    text = open(f"/proc/{recorder.pid}/status", encoding="ascii").read()
                    most.append(int(re.search(r"VmHWM:\s*(\d+)", text)[1]) / 1024)
                stop(recorder)
                memory[how].append(max(most))
                if how == "dwarf":
                    seconds, early = first_complete(path, began)
                    if seconds is None:
                        sys.exit(f"{name}: none of {early} stacks is complete")
                    took.append(seconds)
                    before.append(early)
        target.kill()
        target.wait()
        dwarf, fp = statistics.median(memory["dwarf"]), statistics.median(memory["fp"])
        print(f"| {name:14} | {statistics.median(took):25.2f} s | {statistics.median(before):14.0f} | {dwarf:15.0f} MiB | "
              f"{dwarf - fp:13.0f} MiB |", flush=True)


PARTS = {"sample": of_samples, "target": of_target, "start": of_start}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
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
