#!/usr/bin/env python3
"""Keeps the results of scripts/bench.sh, and compares them with those of another day.

    tests/bench/trend.py AIMS [--json FILE] [--compare OLD.json]

AIMS has a line for each aim: what was measured, its value, the aim and whether it was reached, with
tabs between. FILE gets them as JSON, with the kernel, the number of processors and the load. With
OLD each line also has the value of then, and how much it has changed. Values are ratios, points or
times (docs: tests/bench/README.md); those of two machines say little about each other, so a
different kernel or number of processors is named.
"""
import argparse
import json
import os
import sys
import time

WIDTH = 66


def read_aims(path):
    aims = []
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            what, value, aim, result = line.rstrip("\n").split("\t")
            aims.append({"what": what, "value": value, "aim": aim, "result": result})
    return aims


def machine():
    return {"kernel": os.uname().release, "processor": os.uname().machine,
            "processors": os.cpu_count()}


def change(new, old):
    """Returns how a value has changed, as text."""
    try:
        before, now = float(old), float(new)
    except ValueError:
        return ""
    if before == 0 or before * now < 0:
        return f"{now - before:+.3g}"
    return f"x {now / before:.2f}"


def read_old(path):
    try:
        with open(path, encoding="utf-8") as file:
            old = json.load(file)
        return old["machine"], {aim["what"]: aim["value"] for aim in old["aims"]}
    except (OSError, ValueError, KeyError, TypeError) as error:
        sys.exit(f"trend.py: {path} is no result of bench.sh --json: {error}")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("aims")
    parser.add_argument("--json")
    parser.add_argument("--compare")
    options = parser.parse_args()
    aims = read_aims(options.aims)
    here, old = machine(), {}
    if options.compare:
        there, old = read_old(options.compare)
        for key, value in here.items():
            if there.get(key) != value:
                print(f"another {key} then: {there.get(key)}, and {value} now")
    for aim in aims:
        before = old.pop(aim["what"], None)
        then = "" if before is None else f"  then {before} ({change(aim['value'], before)})"
        print(f"{aim['what']:{WIDTH}} {aim['value']:>10}   {aim['aim']:18} {aim['result']}{then}")
    for what, before in old.items():
        print(f"{what:{WIDTH}} not measured now, then {before}")
    if options.json:
        result = {"machine": here, "load": round(os.getloadavg()[0], 2),
                  "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "aims": aims}
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(result, file, indent=1)
            file.write("\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
