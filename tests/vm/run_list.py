#!/usr/bin/env python3
"""Chooses from ctest's list of tests those that run in a guest, and writes them as the guest reads them.

  ctest --test-dir BUILD --show-only=json-v1 | run_list.py --arch ARCH --build BUILD --source SOURCE --left-out FILE \
      [--quick FILE] --out DIR

Writes into DIR:
  tests      one test a line, fields separated by tabs: name, seconds, what a shell does before it (folder, environment),
             command
  files      absolute paths that the tests name in their commands and environments, one a line
  left_out   "name<TAB>reason" of each test that stays on the host
"""
import argparse
import fnmatch
import json
import os
import shlex
import sys

# These tiers need a kernel of their own, which a guest has and an emulated program on the host has
# not.
GUEST_TIERS = {"process", "kernel", "writer", "cli"}
# This is for tests to which ctest gives no time-out.
DEFAULT_TIMEOUT = 300


def read_patterns(path):
    """Returns (pattern, reason) of each line "pattern<two or more spaces>reason"; '#' begins a
    comment. A pattern may begin with an architecture and ": "; then it is only for guests of that
    one."""
    patterns = []
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            line = line.rstrip("\n")
            if not line or line.startswith("#"):
                continue
            pattern, separator, reason = line.partition("  ")
            if not separator or not reason.strip():
                sys.exit(f"{path}: a pattern without a reason: {line}")
            patterns.append((pattern, reason.strip()))
    return patterns


class Test:
    """One entry of ctest's list, with the properties that matter here."""

    def __init__(self, entry):
        properties = {item["name"]: item["value"] for item in entry.get("properties", [])}
        self.name = entry["name"]
        self.command = entry.get("command", [])
        self.labels = set(properties.get("LABELS", []))
        self.environment = properties.get("ENVIRONMENT", [])
        self.timeout = int(properties.get("TIMEOUT", DEFAULT_TIMEOUT))
        self.folder = properties.get("WORKING_DIRECTORY", "/")
        self.skip_code = properties.get("SKIP_RETURN_CODE")
        self.by_output = "PASS_REGULAR_EXPRESSION" in properties

    def line(self):
        setup = ["cd " + shlex.quote(self.folder)]
        for item in self.environment:
            name, _, value = item.partition("=")
            setup.append(f"export {name}={shlex.quote(value)}")
        command = " ".join(shlex.quote(word) for word in self.command)
        return "\t".join([self.name, str(self.timeout), "; ".join(setup), command])


def without_emulator(test, build):
    """Returns the command without the host's emulator and its options, with which a cross build's
    command begins; a guest needs none."""
    if test.command and os.path.basename(test.command[0]).startswith("qemu-"):
        first = next(i for i, word in enumerate(test.command) if word.startswith(build + "/tests/")
                     or word.startswith(build + "/cli/"))
        test.command = test.command[first:]


def read_quick(path):
    with open(path, encoding="utf-8") as lines:
        return [line.strip() for line in lines if line.strip() and not line.startswith("#")]


def quick_tests(tests, patterns):
    """Returns the tests that a pattern names. A pattern without a test is an error, since its tests
    would be missed silently."""
    chosen = []
    for test in tests:
        if any(fnmatch.fnmatchcase(test.name, pattern) for pattern in patterns):
            chosen.append(test)
    for pattern in patterns:
        if not pattern.startswith("vm/") and not any(fnmatch.fnmatchcase(test.name, pattern)
                                                     for test in chosen):
            sys.exit(f"no test is called {pattern}")
    return chosen


def select(tests, patterns):
    """Returns (tests for the guest, [(name, reason)] of those that stay on the host)."""
    chosen, left_out = [], []
    for test in tests:
        if not test.labels & GUEST_TIERS or not test.command:
            continue
        reason = next((why for pattern, why in patterns if fnmatch.fnmatchcase(test.name, pattern)),
                      None)
        if reason is None and test.by_output:
            reason = "its verdict is a pattern in the output of a compiler"
        if reason is None:
            chosen.append(test)
        else:
            left_out.append((test.name, reason))
    return chosen, left_out


def named_paths(tests, folders):
    """Returns the absolute paths below `folders` that a command or an environment names."""
    paths = set()
    for test in tests:
        words = list(test.command) + [item.partition("=")[2] for item in test.environment]
        for word in words:
            if word.startswith(folders) and os.path.exists(word):
                paths.add(os.path.normpath(word))
    return sorted(paths)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--source", required=True)
    parser.add_argument("--arch", required=True)
    parser.add_argument("--left-out", required=True)
    parser.add_argument("--quick", help="patterns of the tests that run; without, all do")
    parser.add_argument("--out", required=True)
    arguments = parser.parse_args()

    tests = [Test(entry) for entry in json.load(sys.stdin)["tests"]]
    for test in tests:
        without_emulator(test, arguments.build)
    if arguments.quick:
        tests = quick_tests(tests, read_quick(arguments.quick))
    patterns = [(pattern.removeprefix(arguments.arch + ": "), reason)
                for pattern, reason in read_patterns(arguments.left_out)]
    chosen, left_out = select(tests, patterns)
    if not chosen:
        sys.exit("ctest lists no test that runs in a guest: is everything built?")

    def write(name, lines):
        with open(os.path.join(arguments.out, name), "w", encoding="utf-8") as file:
            file.writelines(line + "\n" for line in lines)

    write("tests", [test.line() for test in chosen])
    write("files", named_paths(chosen, (arguments.build + "/", arguments.source + "/")))
    write("left_out", ["\t".join(pair) for pair in left_out])


if __name__ == "__main__":
    main()
