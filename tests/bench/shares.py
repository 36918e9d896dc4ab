#!/usr/bin/env python3
"""Measures the error of shares by label, on programs whose work comes at fixed periods.

  shares.py --labelscope PATH --periodic PATH [--runs 10] [--seconds 8] [--rates 99,199,997]
            [--backends bpf,ptrace] [--scenarios NAME,...] [--no-perf]

The program itself reports the truth: CPU time by label, by the clocks of its threads. In the same
seconds `perf record` samples it, too, if there is a perf: its thread numbers stand for labels where
each thread has one. Errors are in points of a per cent: root mean square and the worst, over all
labels and runs. `chance` is the error of as many independent samples. `time` compares the ledger's
total with the kernel's clocks of the program and its children, for the middle run: if a machine's
host stands still between the program's last word and its end, the kernel counts that for the
program. The status is 1 if a bound that was given (--max-...) is not kept.
"""
import argparse
import json
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

SCENARIOS = {
    # Each name has the threads of tests/targets/periodic.cc, and whether each label belongs to one
    # thread.
    "three threads": (["a:6/10.1", "b:3/10.1", "c:1/10.1"], True),
    "2 labels, 10.0 ms": (["a:6.67,b:3.33"], False),
    "2 labels, 10.1 ms": (["a:6.73,b:3.37"], False),
    "2 labels, 10.15 ms": (["a:6.77,b:3.38"], False),
    "2 labels, 20.2 ms": (["a:13.47,b:6.73"], False),
    "2 labels, 5.05 ms": (["a:3.37,b:1.68"], False),
    "5 labels, 10.1 ms": (["a:4,b:3,c:1.5,d:1,e:0.6"], False),
    "5 labels, 20.2 ms": (["a:8,b:6,c:3,d:2,e:1.2"], False),
    "8 workers, random": (["a:~4,b:~2,c:~1/20"] * 4 + ["b:~2,c:~3,a:~1/20"] * 4, False),
    "idle mostly": (["a:0.12,b:0.08/10.1"], False),
    "threads of 1 ms": (["thread!a:1", "b:5/10.1"], False),
    "processes of 1 ms": (["process!a:1", "b:5/10.1"], False),
    "waits often": (["--one-processor", "a:4,b:@2"], False),
    "busy machine": (["a:6/10.1", "b:3/10.1", "c:1/10.1"], True),
}


def shares_of(amounts):
    whole = sum(amounts.values())
    return {label: 100 * amount / whole for label, amount in amounts.items()} if whole else {}


def read_recording(path):
    labels, amounts, whole, samples = {}, {}, 0, 0
    for line in open(path, encoding="utf-8"):
        entry = json.loads(line)
        if entry["type"] == "labels":
            labels[entry["id"]] = next((l["value"] for l in entry["labels"]
                                        if l["key"] == "tenant"), None)
        elif entry["type"] == "sample":
            samples += entry["count"]
            label = labels.get(entry["labels"])
            if label is not None:
                amounts[label] = amounts.get(label, 0) + entry["weight_ns"]
        elif entry["type"] == "ledger":
            whole = sum(entry["time"].values())
    return amounts, whole, samples


def read_perf(data, by_thread):
    script = subprocess.run(["perf", "script", "-i", data, "-F", "tid,period"], capture_output=True,
                            text=True)
    amounts = {}
    for line in script.stdout.splitlines():
        numbers = re.findall(r"\d+", line)
        if len(numbers) < 2 or int(numbers[0]) not in by_thread:
            continue
        label = by_thread[int(numbers[0])]
        amounts[label] = amounts.get(label, 0) + int(numbers[1])
    return amounts


def threads_by_label(pid, labels):
    """The program starts its threads in the order of its arguments."""
    threads = sorted(int(tid) for tid in os.listdir(f"/proc/{pid}/task"))[1:]
    return dict(zip(threads, labels))


def start_perfs(pid, rate, folder):
    return [subprocess.Popen(
        ["perf", "record", "-q", "-e", "cpu-clock", "-F", str(rate), *target, "-o",
         f"{folder}/{name}"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for name, target in (("p", ["-p", str(pid)]), ("a", ["-a"]))]


class Errors:
    def __init__(self):
        self.all = []

    def add(self, seen, truth):
        self.all += [seen.get(label, 0) - share for label, share in truth.items()]

    def rms(self):
        return math.sqrt(sum(e * e for e in self.all) / len(self.all))

    def text(self):
        return "%6.2f %7.2f" % (self.rms(),
                                max(abs(e) for e in self.all)) if self.all else "%14s" % "-"


def run(options, scenario, rate, backend, folder):
    """Records the program for all its life, so that its truth is of the same time. Returns whether
    the run was good enough."""
    threads, by_thread = SCENARIOS[scenario]
    ours, perf_p, perf_a, chance, time_errors, sampled = Errors(), Errors(), Errors(), [], [], 0
    others = [subprocess.Popen(["sh", "-c", "while :; do :; done"])
              for _ in range(os.cpu_count() + 1 if scenario == "busy machine" else 0)]
    try:
        for number in range(options.runs):
            recording, by_tid, perfs = f"{folder}/{number}.jsonl", {}, []
            recorder = subprocess.Popen(
                [options.labelscope, "record", "-F", str(rate), "--backend", backend,
                 "--call-graph", "none", "-q",
                 "-o", recording, *options.options.split(), "--", options.periodic, "--seconds",
                 str(options.seconds),
                 *threads], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            pid = int(recorder.stdout.readline().split()[1])
            if options.perf and by_thread:
                by_tid = threads_by_label(pid, [t.split(":")[0] for t in threads])
                perfs = start_perfs(pid, rate, folder)
            truth = json.loads(recorder.stdout.readline())
            for process in perfs:
                process.send_signal(signal.SIGINT)
                process.wait()
            if recorder.wait() != 0:
                sys.exit(f"labelscope ended with status {recorder.returncode}")
            if not os.path.exists(recording):
                print(f"{scenario}: a recording took no sample", flush=True)
                continue
            true_shares = shares_of(truth["labels"])
            amounts, whole, samples = read_recording(recording)
            ours.add(shares_of(amounts), true_shares)
            chance += [share * (100 - share) / max(samples, 1) for share in true_shares.values()]
            sampled += samples
            time_errors.append(100 * (whole / (truth["process_ns"] + truth["children_ns"]) - 1))
            if perfs:
                perf_p.add(shares_of(read_perf(f"{folder}/p", by_tid)), true_shares)
                perf_a.add(shares_of(read_perf(f"{folder}/a", by_tid)), true_shares)
            os.unlink(recording)
    finally:
        for process in others:
            process.kill()
            process.wait()
    time_error = sorted(time_errors, key=abs)[(len(time_errors) - 1) // 2]
    independent = math.sqrt(sum(chance) / len(chance))
    print("%-20s %6d %-7s %s  %7.2f  %s  %s  %7.2f%% %7d" % (
        scenario, rate, backend, ours.text(), independent, perf_p.text(), perf_a.text(),
        time_error, sampled / options.runs), flush=True)
    return ((options.max_rms is None or ours.rms() <= options.max_rms)
            and (options.max_chance is None or ours.rms() <= options.max_chance * independent)
            and (options.max_time is None or abs(time_error) <= options.max_time))


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--labelscope", required=True)
    parser.add_argument("--periodic", required=True)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--seconds", type=int, default=8)
    parser.add_argument("--rates", default="99,199,997")
    parser.add_argument("--backends", default="bpf,ptrace")
    parser.add_argument("--scenarios", default=",".join(SCENARIOS).replace(", ", "; "))
    parser.add_argument("--no-perf", dest="perf", action="store_false")
    parser.add_argument("--options", default="", help="more of labelscope record's options")
    parser.add_argument("--max-rms", type=float, help="error in points that no scenario may exceed")
    parser.add_argument("--max-chance", type=float,
                        help="the same, as a multiple of that of independent samples")
    parser.add_argument("--max-time", type=float, help="error of the ledger of time in per cent")
    options = parser.parse_args()
    options.perf = options.perf and shutil.which("perf") is not None
    print("%-20s %6s %-7s %6s %7s  %7s  %14s  %14s  %9s %7s" % (
        "", "Hz", "backend", "RMS", "worst", "chance", "perf -p", "perf -a", "time", "samples"))
    good = True
    with tempfile.TemporaryDirectory() as folder:
        for scenario in (name.replace("; ", ", ") for name in options.scenarios.split(",")):
            if scenario not in SCENARIOS:
                sys.exit(f"unknown scenario: {scenario}")
            for rate in options.rates.split(","):
                for backend in options.backends.split(","):
                    good = run(options, scenario, int(rate), backend, folder) and good
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
