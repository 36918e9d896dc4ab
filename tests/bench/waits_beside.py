#!/usr/bin/env python3
"""Holds the waits of real programs against their own accounts, schedstat, perf and bpftrace.

    tests/bench/waits_beside.py --labelscope build/dev/cli/labelscope [--programs nginx,redis,go,java]
                                [--seconds 4] [--check]

Each program (waiting_programs.py) works for some seconds, in which all of these look at it:

labelscope  record --mode wall: the ledger of each thread, and the times by system call.
schedstat   /proc/PID/task/TID/schedstat: the kernel's count of time on processors and in their queues.
own         What the program says: nginx's log of upstream times, redis's statistics of commands, and
            the clocks of threads in Go and Java around each of their waits.
perf        perf sched timehist --summary --state, of the same seconds.
bpftrace    Adds up the time between two switches, as offcputime does.

A line says how far labelscope and the other are apart, in per cent of the other, and by how many
milliseconds. With --check it is a failure if labelscope is further from schedstat or the program's own
account than 2 % and 30 ms. (What perf and bpftrace say is shown and not judged.) Needs root.
"""
import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

from waiting_programs import PROGRAMS, Runtime, Samples, missing

# Prints each stretch in which a thread of the process was on no processor.
BPFTRACE = """
tracepoint:sched:sched_switch {
  if (pid == $1) { @left[tid] = nsecs; }
  if (@left[args->next_pid]) {
    printf("%d %llu %llu\\n", args->next_pid, @left[args->next_pid], nsecs);
    delete(@left[args->next_pid]);
  }
}
END { clear(@left); }
"""


class Tool:
    """A program that looks at the same seconds."""

    def __init__(self, command, folder):
        self.said = os.path.join(folder, os.path.basename(command[0]) + ".said")
        with open(self.said, "w") as said:
            self.process = subprocess.Popen(command, stdout=said, stderr=subprocess.STDOUT, cwd=folder)

    def text(self):
        with open(self.said) as file:
            return file.read()

    def wait_until(self, ready):
        deadline = time.monotonic() + 60
        while not ready():
            if self.process.poll() is not None or time.monotonic() > deadline:
                return False
            time.sleep(0.05)
        return True

    def end(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        self.process.wait()


class Schedstat:
    """The kernel's count of time on processors and in queues, of all threads of a process, again and again."""

    def __init__(self, pid):
        self.pid, self.over = pid, False
        self.ran, self.queued = Samples(), Samples()
        self.thread = threading.Thread(target=self.repeat, daemon=True)
        self.thread.start()

    def repeat(self):
        while not self.over:
            ran = queued = 0
            for tid in os.listdir(f"/proc/{self.pid}/task"):
                try:
                    with open(f"/proc/{self.pid}/task/{tid}/schedstat") as file:
                        numbers = file.read().split()
                except OSError:
                    continue  # it has ended
                ran, queued = ran + int(numbers[0]), queued + int(numbers[1])
            self.ran.add(ran)
            self.queued.add(queued)
            time.sleep(0.02)

    def end(self):
        self.over = True
        self.thread.join()


def read_recording(path, labelscope):
    """Returns the window, the ledgers by thread, and the time of waits by system call."""
    ledgers = {}
    with open(path) as file:
        for line in map(json.loads, file):
            if line["type"] == "header":
                begin, duration = line["start_monotonic_ns"], line["duration_ns"]
            elif line["type"] == "thread_ledger":
                ledgers[line["tid"]] = line
    report = subprocess.run([labelscope, "report", path, "--idle", "show", "--summary", "wait", "--json"],
                            capture_output=True, check=True)
    by_call = {each["value"]: each["time_ns"] for each in json.loads(report.stdout)["values"]}
    return (begin, begin + duration), ledgers, by_call


def perf_times(folder, window, wanted):
    """Returns (waiting, runnable) of each thread, as perf's own summary has them."""
    command = ["perf", "sched", "timehist", "-i", "perf.data", "--summary", "--state",
               "--time", ",".join(f"{ns / 1e9:.9f}" for ns in window)]
    text = subprocess.run(command, cwd=folder, capture_output=True, text=True).stdout
    times = {}
    for line in text.splitlines():
        # comm[tid/pid] parent sched-in run-time sleep iowait preempt delay
        name, bracket, rest = line.rpartition("]")
        if not bracket or "[" not in name:
            continue
        numbers = name.rsplit("[", 1)[1].split("/")
        fields = rest.split()
        if len(fields) < 7 or not numbers[0].isdigit() or int(numbers[0]) not in wanted:
            continue
        _, _, _, sleep, iowait, preempt, delay = (float(each) * 1e6 for each in fields[:7])
        times[int(numbers[0])] = (sleep + iowait, preempt + delay)
    return times


def bpftrace_times(text, window):
    """Returns the time off processors of each thread, within the window."""
    times = {}
    for line in text.splitlines():
        fields = line.split()
        if len(fields) == 3 and all(each.isdigit() for each in fields):
            tid, left, back = map(int, fields)
            times[tid] = times.get(tid, 0) + max(0, min(back, window[1]) - max(left, window[0]))
    return times


class Table:
    def __init__(self, check):
        self.check, self.wrong = check, 0

    def line(self, who, what, ours, other, name, slack=None, less=0):
        """`slack`, `less`: by how much more or less ours may be; no slack if the other is not the truth."""
        apart = ours - other
        share = f"{100 * apart / other:+8.2f} %" if other > 0 else " " * 10
        margin = max(0.02 * other, 30e6)
        bad = slack is not None and not -margin - less <= apart <= margin + slack
        self.wrong += bad
        print(f"{who:35}{what:24} {ours / 1e6:10.1f} {other / 1e6:10.1f} {share} {apart / 1e6:+9.2f}  {name}"
              + ("  WRONG" if bad and self.check else ""))


def measure(name, labelscope, seconds, table):
    with tempfile.TemporaryDirectory() as folder:
        program = PROGRAMS[name](folder)
        try:
            program.start()
            compare(program, name, labelscope, seconds, table, folder)
        finally:
            program.end()


def begin_others(pid, folder):
    """Starts perf and bpftrace. Returns those that run, by name."""
    tools = {}
    if shutil.which("perf"):
        perf = Tool(["perf", "record", "-k", "CLOCK_MONOTONIC", "-m", "2048", "-a", "-o", "perf.data", "-e",
                     "sched:sched_switch,sched:sched_wakeup,sched:sched_wakeup_new,sched:sched_migrate_task"], folder)
        if perf.wait_until(lambda: os.path.exists(os.path.join(folder, "perf.data"))):
            tools["perf"] = perf
    if shutil.which("bpftrace"):
        script = BPFTRACE + 'BEGIN { printf("ready\\n"); }'
        bpftrace = Tool(["bpftrace", "-q", "-e", script, str(pid)], folder)
        if bpftrace.wait_until(lambda: "ready" in bpftrace.text()):
            tools["bpftrace"] = bpftrace
    for name in ("perf", "bpftrace"):
        if name not in tools:
            print(f"without {name}: it is not installed, or does not run here")
    return tools


def compare(program, name, labelscope, seconds, table, folder):
    pid = program.pids[0]
    path = os.path.join(folder, "recording.jsonl")
    others = begin_others(pid, folder)
    kernel = Schedstat(pid)
    recorder = Tool([labelscope, "record", "--mode", "wall", "-p", str(pid), "-o", path], folder)
    if not recorder.wait_until(lambda: "Recording" in recorder.text()):
        recorder.end()
        sys.exit("labelscope: " + recorder.text())
    time.sleep(0.5)  # it begins a moment after it has said so
    program.work(seconds)
    time.sleep(0.3)  # threads that have said their account end
    for tool in (recorder, *others.values(), kernel):
        tool.end()
    window, ledgers, by_call = read_recording(path, labelscope)

    theirs = {}
    if "perf" in others:
        theirs["perf"] = perf_times(folder, window, ledgers)
    if "bpftrace" in others:
        theirs["bpftrace"] = bpftrace_times(others["bpftrace"].text(), window)
    if isinstance(program, Runtime):
        groups = [(own["name"], [tid], own["ran_ns"], own["queued_ns"]) for tid, own in program.threads.items()]
    else:
        groups = [("all threads", list(ledgers), kernel.ran.within(window), kernel.queued.within(window))]
    for group, tids, ran, queued in groups:
        who = f"{name}: {group}"
        sums = {key: sum(ledgers[tid][key] for tid in tids) for key in ledgers[tids[0]] if key.endswith("_ns")}
        # The others cut a wait at the end of the window, if it ends at all. They see no wait that began
        # before they did, which is why threads that lived before their work, or hardly work, are left out.
        steady = not isinstance(program, Runtime)
        busy = [ledgers[tid] for tid in tids if ledgers[tid]["waits"] >= 10]
        cut = sum(ledger[key] for ledger in busy for key in ("waiting_ns", "blocked_ns", "open_ns"))
        # From a wake-up to the switch the kernel often counts the thread as running already.
        switches = 10e3 * sum(ledgers[tid]["waits"] for tid in tids)
        # A thread of a pool has done other work before, and goes on after it has looked at its schedstat.
        more = 0 if steady else 50e6
        table.line(who, "on processors", sums["cpu_ns"], ran, "schedstat", more)
        table.line(who, "runnable", sums["runnable_ns"], queued, "schedstat", more + switches)
        if "perf" in theirs:
            seen = [theirs["perf"].get(tid, (0, 0)) for tid in tids]
            table.line(who, "runnable", sums["runnable_ns"], sum(each[1] for each in seen), "perf")
            if steady:
                perf_waits = sum(theirs["perf"].get(ledger["tid"], (0, 0))[0] for ledger in busy)
                table.line(who, "waiting", cut, perf_waits, "perf")
        if "bpftrace" in theirs and steady:
            seen = sum(theirs["bpftrace"].get(ledger["tid"], 0) for ledger in busy)
            lost = "bpftrace, which has lost events" if "Lost" in others["bpftrace"].text() else "bpftrace"
            table.line(who, "off processors", cut + sums["runnable_ns"], seen, lost)
        table.line(who, "all parts", sums["wall_ns"] - sums["residue_ns"], sums["wall_ns"], "the clock", switches)
    for what, tid, call, own, slack in program.claims(window):
        ours, less = by_call.get(call, 0), 0
        if tid is not None:
            # Before and after its work a thread of a pool waits for some.
            ledger = ledgers[tid]
            ours = sum(ledger[key] for key in ("waiting_ns", "blocked_ns", "runnable_ns", "open_ns"))
            ours -= max(0, ledger["wall_ns"] - program.threads[tid]["lived_ns"])
            less = ledger["cpu_ns"]  # it is between the thread's two looks at its clock
        table.line(f"{name}: {what}", call or "off processors", ours, own, "its own account", slack, less)


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--labelscope", required=True, type=os.path.abspath)
    arguments.add_argument("--programs", default=",".join(PROGRAMS))
    arguments.add_argument("--seconds", type=float, default=4)
    arguments.add_argument("--check", action="store_true")
    options = arguments.parse_args()
    table = Table(options.check)
    print(f"{'':59} {'labelscope':>10} {'other':>10} {'apart':>10} {'':>9}  (milliseconds)")
    measured = 0
    for name in options.programs.split(","):
        if missing(name):
            print(f"without {name}: not installed: {', '.join(missing(name))}")
            continue
        measure(name, options.labelscope, options.seconds, table)
        measured += 1
    if options.check:
        sys.exit(77 if measured == 0 else table.wrong != 0)


if __name__ == "__main__":
    main()
