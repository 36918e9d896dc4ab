#!/usr/bin/env python3
"""Checks that the numbers behind the +- are true: of 100 recordings of a program whose shares are
known, 68 must lie within one standard error, and 95 within two.

  true_errors.py --labelscope PATH --periodic PATH [--recordings 50] [--seconds 3] [--rate 99]
                 [--cycles 0.7,0.9,1,1.1] [--share 0.5]

The program works in cycles near the sampler's period, which is the worst that it can do: the given
share of each cycle is under one label, the rest under another. Its truth is the CPU time by label
by its own clocks, of the seconds in which it is recorded. The unit test test_share_error does the
same with a made-up processor, and two hundred recordings of each kind.
"""
import argparse
import json
import os
import subprocess
import sys


def record(options, cycle):
    """Returns the error of one recording, in standard errors as they are shown."""
    whole = 1000 / options.rate * cycle
    thread = f"a:{whole * options.share:.4f},b:{whole * (1 - options.share):.4f}"
    program = subprocess.Popen([options.periodic, thread], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, text=True)
    pid = program.stdout.readline().split()[1]

    def truth():
        program.stdin.write("\n")
        program.stdin.flush()
        return json.loads(program.stdout.readline())["labels"]

    before = truth()
    said = subprocess.run(
        [options.labelscope, "record", "-p", pid, "-d", f"{options.seconds}s", "-F",
         str(options.rate), "--call-graph", "none", "--summary", "tenant", "--json", "-o",
         os.devnull, "-f", "jsonl", "-q", "--overwrite"],
        stdout=subprocess.PIPE, text=True, check=True)
    after = truth()
    program.stdin.close()
    program.wait()
    ran = {label: after[label] - before.get(label, 0) for label in after}
    true_share = ran["a"] / sum(ran.values())
    summary = json.loads(said.stdout.splitlines()[0])
    value = next(value for value in summary["values"] if value["value"] == "a")
    return (value["time_ns"] / summary["time_ns"] - true_share) / value["share_error"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--labelscope", required=True)
    parser.add_argument("--periodic", required=True)
    parser.add_argument("--recordings", type=int, default=50)
    parser.add_argument("--seconds", type=int, default=3)
    parser.add_argument("--rate", type=int, default=99)
    parser.add_argument("--cycles", default="0.7,0.9,1,1.1")
    parser.add_argument("--share", type=float, default=0.5)
    options = parser.parse_args()
    everything = []
    for cycle in (float(word) for word in options.cycles.split(",")):
        errors = [record(options, cycle) for _ in range(options.recordings)]
        everything += errors
        show(f"cycle of {cycle} periods", errors)
    show("all", everything)
    # A recording on a busy machine has fewer samples at some moments, and its truth is that of some
    # milliseconds more.
    count = len(everything)
    chance = 2 * (0.68 * 0.32 / count) ** 0.5
    one = sum(abs(error) <= 1 for error in everything) / count
    return 0 if one >= 0.68 - chance else 1


def show(name, errors):
    one = sum(abs(error) <= 1 for error in errors)
    two = sum(abs(error) <= 2 for error in errors)
    rms = (sum(error * error for error in errors) / len(errors)) ** 0.5
    print(f"{name}: {one} of {len(errors)} within one, {two} within two, "
          f"root mean square {rms:.2f}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
