#!/usr/bin/env python3
"""Measures what it costs to measure waits, beside the tools that people would use instead, in turns.

    tests/bench/waits.py --labelscope build/dev/cli/labelscope [--rates 1000,20000,100000,0]
                         [--rounds 5]

Two threads with five labels each (ABI v1) pass a byte to and fro through two pipes, on one processor,
and compute in between, so that they switch so many times a second; 0 is as often as they can. What
counts is the CPU time of the program for a fixed number of switches, which includes what the kernel
does at each of them; and the CPU time of the tool.

labelscope  Exact times by label, sampled stacks (record --mode offcpu).
wall        The same, with samples of threads that run (record --mode wall).
blame       As labelscope, and who made whom wait (record --mode offcpu --blame tenant).
other       labelscope records another program meanwhile: what everybody pays.
sums        bpftrace adds up times at sched_switch by thread, without labels and stacks.
offcputime  bpftrace adds up times by user stack, as bcc's offcputime does.

`perf record --off-cpu` is measured where perf is built with it; Debian's is not. Needs root and gcc.
"""
import argparse
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

from stack_costs import LABEL_SET, aim, build

PROGRAM = LABEL_SET + r"""
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
EXPORT const uint32_t custom_labels_abi_version = 1;
EXPORT __thread struct set* custom_labels_current_set;
static int to[2], fro[2];
static long turns, rounds;
static volatile uint64_t result;
static double now(clockid_t id) {
  struct timespec t;
  clock_gettime(id, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
static struct text text(const char* bytes) { return (struct text){strlen(bytes), bytes}; }
static void pass(const char* name, int in, int out, int first) {
  struct label labels[] = {{text("tenant"), text("acme-incorporated")},
                           {text("http.route"), text("/shop/{id}/checkout")},
                           {text("http.method"), text("PUT")},
                           {text("zone"), text("north-3b")},
                           {text("worker"), text(name)}};
  struct set set = {labels, 5, 5};
  custom_labels_current_set = &set;
  char byte = 'x';
  uint64_t x = 88172645463325252u;
  for (long i = 0; i < rounds; ++i) {
    if (!first && read(in, &byte, 1) != 1) abort();
    for (long j = 0; j < turns; ++j) { x ^= x << 13; x ^= x >> 7; x ^= x << 17; }
    if (write(out, &byte, 1) != 1) abort();
    if (first && read(in, &byte, 1) != 1) abort();
  }
  result += x;
  custom_labels_current_set = NULL;
}
static void* other(void* unused) {
  pass("second", to[0], fro[1], 0);
  return unused;
}
int main(int argc, char** argv) {
  if (argc != 3) return 2;
  turns = atol(argv[1]);
  rounds = atol(argv[2]);
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(1, &one);
  sched_setaffinity(0, sizeof one, &one);
  if (pipe(to) || pipe(fro)) return 1;
  puts("ready");
  fflush(stdout);
  if (getchar() == EOF) return 1;
  const double wall = now(CLOCK_MONOTONIC), cpu = now(CLOCK_PROCESS_CPUTIME_ID);
  pthread_t thread;
  pthread_create(&thread, NULL, other, NULL);
  pass("first", fro[0], to[1], 1);
  pthread_join(thread, NULL);
  printf("%.6f %.6f\n", now(CLOCK_MONOTONIC) - wall, now(CLOCK_PROCESS_CPUTIME_ID) - cpu);
}
"""
START = 2.0  # until every tool has begun
SWITCHES_A_ROUND = 2
SCRIPTS = {
    "sums": """tracepoint:sched:sched_switch {
        if (@left[args->next_pid]) {
          @ns[args->next_pid] = sum(nsecs - @left[args->next_pid]);
          delete(@left[args->next_pid]); }
        if (comm == "waits") { @left[tid] = nsecs; } }""",
    "offcputime": """tracepoint:sched:sched_switch {
        if (@left[args->next_pid]) {
          @ns[args->next_pid, @stack[args->next_pid]] = sum(nsecs - @left[args->next_pid]);
          delete(@left[args->next_pid]); }
        if (comm == "waits") { @left[tid] = nsecs; @stack[tid] = ustack; } }""",
}
# bpftrace finds tracepoints in tracefs. Where that is not mounted, it is for bpftrace alone.
IN_TRACEFS = ["unshare", "--mount", "sh", "-c",
              "[ -e /sys/kernel/tracing/events ] || mount -t tracefs tracefs /sys/kernel/tracing; "
              'exec "$0" "$@"']


def command(options, tool, pid, folder):
    if tool in SCRIPTS:
        return [*IN_TRACEFS, "bpftrace", "-q", "-e", SCRIPTS[tool]]
    if tool == "perf":
        return ["perf", "record", "-q", "--off-cpu", "-g", "-o", f"{folder}/out.data", "-p", str(pid)]
    mode = "wall" if tool == "wall" else "offcpu"
    more = ["--blame", "tenant"] if tool == "blame" else []
    return [options.labelscope, "record", "-q", "--mode", mode, *more, "--overwrite", "-o",
            f"{folder}/out.pb.gz", "-p", str(pid)]


def measure(options, program, tool, turns, rounds, folder):
    """Returns the CPU seconds of the program, and of the tool."""
    target = subprocess.Popen([program, str(turns), str(rounds)], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True)
    target.stdout.readline()
    idle = subprocess.Popen(["sleep", "60"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    recorder = None
    with open(f"{folder}/said", "w", encoding="utf-8") as said:
        if tool != "none":
            pid = idle.pid if tool == "other" else target.pid
            recorder = subprocess.Popen(command(options, tool, pid, folder), stdout=said, stderr=said)
            time.sleep(START)
    if recorder and recorder.poll() is not None:
        with open(f"{folder}/said", encoding="utf-8") as said:
            sys.exit(f"{tool} ended before the work began: {said.read()}")
    target.stdin.write("\n")
    target.stdin.flush()
    _, cpu = target.stdout.readline().split()
    target.wait()
    took = 0.0
    if recorder:
        if recorder.poll() is None:
            recorder.send_signal(signal.SIGINT)
        took = sum(os.wait4(recorder.pid, 0)[2][:2])
    idle.kill()
    idle.wait()
    return float(cpu), took


def tools_here(folder):
    tools = ["none", "other", "labelscope", "wall", "blame"]
    if shutil.which("bpftrace"):
        tools += ["sums", "offcputime"]
    else:
        print("bpftrace is not installed: without its rows")
    if shutil.which("perf"):
        said = subprocess.run(["perf", "record", "--off-cpu", "-o", f"{folder}/probe", "true"],
                              stderr=subprocess.STDOUT, stdout=subprocess.PIPE, check=False).stdout
        if b"being ignored" in said or b"rror" in said:
            print("perf is built without --off-cpu: without its row")
        else:
            tools.append("perf")
    return tools


def turns_for(program, rate):
    """Returns how much the threads compute between two switches, so that they come at this rate."""
    if rate == 0:
        return 0
    turns = 1000
    for _ in range(4):
        cpu = calibrate(program, turns)
        turns = max(0, int(turns + (1 / rate - cpu) * turns / max(cpu - calibrate(program, 0), 1e-9)))
    return turns


def calibrate(program, turns, rounds=2000):
    ran = subprocess.run([program, str(turns), str(rounds)], input="\n", capture_output=True,
                         text=True, check=True)
    return float(ran.stdout.splitlines()[1].split()[1]) / (rounds * SWITCHES_A_ROUND)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--labelscope", required=True)
    parser.add_argument("--rates", default="1000,20000,100000,0")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0, help="of work, without a tool")
    options = parser.parse_args()
    options.labelscope = os.path.abspath(options.labelscope)
    if os.geteuid() != 0 or not shutil.which("gcc") or os.cpu_count() < 2:
        print("this needs root, gcc and two processors")
        return 77  # skipped, for ctest
    print(f"load {os.getloadavg()[0]:.1f}, Linux {os.uname().release}, {os.cpu_count()} processors")
    aims = []
    with tempfile.TemporaryDirectory() as folder:
        program = build(folder, "waits", PROGRAM, "-O2", "-pthread", "-D_GNU_SOURCE")
        tools = tools_here(folder)
        print(f"\n| switches a second | {'tool':10} | CPU of the program | (least, most) | ns a switch "
              f"| CPU of the tool |  median of {options.rounds}")
        print("|---|---|---|---|---|---|")
        for rate in (int(text) for text in options.rates.split(",")):
            turns = turns_for(program, rate)
            each = calibrate(program, turns)
            rounds = max(100, int(options.seconds / each / SWITCHES_A_ROUND))
            seen = {tool: [] for tool in tools}
            for _ in range(options.rounds):
                for tool in tools:
                    seen[tool].append(measure(options, program, tool, turns, rounds, folder))
            base = statistics.median(cpu for cpu, _ in seen["none"])
            switches = rounds * SWITCHES_A_ROUND
            for tool in tools:
                ratios = sorted(cpu / base for cpu, _ in seen[tool])
                ratio = statistics.median(ratios)
                took = statistics.median(own for _, own in seen[tool])
                more = (ratio - 1) * base / switches * 1e9
                print(f"| {switches / base:9,.0f} | {tool:10} | {ratio:5.3f} "
                      f"| {ratios[0]:5.3f} to {ratios[-1]:5.3f} | {more:6.0f} | {took:5.2f} s |",
                      flush=True)
                if tool == "other":
                    aims.append((f"another program is recorded, {rate or 'most'} switches", ratio, 1.03))
                if tool == "labelscope" and rate in (20000, 100000):
                    aims.append((f"{rate} switches a second", ratio, 1.02 if rate == 20000 else 1.05))
    print()
    for name, ratio, most in aims:
        aim(name, ratio, most)
    return 0


if __name__ == "__main__":
    sys.exit(main())
