#!/usr/bin/env python3
"""Measures the calls of the existing C API for ABI v1 in one program, with one library or the other.

    tests/bench/drop_in.py --program build/bench/tests/bench/bench_drop_in
                           --ours build/bench/writer-lib/libcustomlabels.so
                           --reference FILE [--other NAME=FILE...] [--rounds 9] [--batches 9]

The program (drop_in_calls.c) is linked once, and the loader gives it the library: the reference
library, ours, and others (an older build of ours, for example). They take turns, each in a process
of its own; shown are medians. FILE is the shared library of the public writer for ABI v1, built
from its sources as they say (`make` in a checkout of polarsignals/custom-labels).
LABELSCOPE_REFERENCE_WRITER names it too. Without it there is nothing to compare with, and the
status is 77.
"""
import argparse
import os
import statistics
import subprocess
import sys
import tempfile

from stack_costs import aim

# The file's name is a part of the ABI, and what the program asks the loader for.
NAME = "libcustomlabels.so"
# What a row's time must be at most, as a part of the reference's. The others must not be slower, but
# for what two runs of the same code differ in.
AIMS = [("replace one value, of", 0.5), ("replace each value in turn", 0.5), ("run_with", 0.2)]
NOT_SLOWER = 1.1


def aim_of(row):
    for start, part in AIMS:
        if row.startswith(start) and not row.endswith("not installed"):
            return part
    return NOT_SLOWER


def run(program, folder, batches):
    """Returns the nanoseconds of each row with the library of that folder."""
    environment = dict(os.environ, LD_LIBRARY_PATH=folder)
    done = subprocess.run([program, str(batches)], env=environment, stdout=subprocess.PIPE,
                          text=True, check=False)
    lines = done.stdout.splitlines()
    if done.returncode != 0 or not lines:
        sys.exit(f"drop_in.py: {program} ended with status {done.returncode}")
    if os.path.dirname(lines[0]) != folder:
        sys.exit(f"drop_in.py: the loader gave {program} {lines[0]} instead of {folder}/{NAME}")
    return {name: float(time) for name, time in (line.split("\t") for line in lines[1:])}


def measure(options, libraries):
    """Returns, for each library, the median of each row."""
    times = {name: [] for name in libraries}
    with tempfile.TemporaryDirectory() as work:
        folders = {}
        for number, (name, file) in enumerate(libraries.items()):
            folders[name] = os.path.join(work, str(number))
            os.mkdir(folders[name])
            os.symlink(os.path.abspath(file), os.path.join(folders[name], NAME))
        for _ in range(options.rounds):
            for name, folder in folders.items():
                times[name].append(run(options.program, folder, options.batches))
    return {name: {row: statistics.median(one[row] for one in all_rounds) for row in all_rounds[0]}
            for name, all_rounds in times.items()}


def report(medians):
    others = [name for name in medians if name != "reference"]
    width = max(len(row) for row in medians["reference"])
    print(f"{'ns':{width}}" + "".join(f" {name:>11}" for name in medians) + "   ours / reference")
    for row, reference in medians["reference"].items():
        ratio = medians["ours"][row] / reference
        print(f"{row:{width}} {reference:11.1f}"
              + "".join(f" {medians[name][row]:11.1f}" for name in others) + f"   {ratio:.2f}")
    print()
    for row, reference in medians["reference"].items():
        aim(f"drop-in writer / reference: {row}", medians["ours"][row] / reference, aim_of(row))


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--ours", required=True)
    parser.add_argument("--reference", default=os.environ.get("LABELSCOPE_REFERENCE_WRITER", ""))
    parser.add_argument("--other", action="append", default=[], metavar="NAME=FILE")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--batches", type=int, default=9)
    options = parser.parse_args()
    if not options.reference:
        print("The drop-in API was not compared: no reference library. Build the public writer for "
              "ABI v1 (`make` in a checkout of polarsignals/custom-labels), and name its "
              f"{NAME} with --reference or LABELSCOPE_REFERENCE_WRITER.")
        return 77
    libraries = {"reference": options.reference}
    for other in options.other:
        name, _, file = other.partition("=")
        libraries[name] = file
    libraries["ours"] = options.ours
    for name, file in libraries.items():
        if not os.path.isfile(file):
            sys.exit(f"drop_in.py: the library '{name}' is not there: {file or 'no file is named'}")
    report(measure(options, libraries))
    return 0


if __name__ == "__main__":
    sys.exit(main())
