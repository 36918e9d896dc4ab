#!/usr/bin/env python3
"""This is what scripts/test.sh knows of its tests, from the reports of ctest.

  test_report.py failed FOLDER                names of the tests that failed, one a line
  test_report.py pattern FOLDER               the expression for ctest that matches only these
  test_report.py results FOLDER               a line for each test: verdict, name, reason, by tabs
  test_report.py outputs FOLDER NAME...       what each of these tests printed, in each of its runs
  test_report.py slowest FOLDER               the ten tests that took longest

FOLDER has NAME.xml, a report in JUnit's form for each part of the run. again.xml has the tests
that failed and ran once more: one that passes there is "unsteady". Names from aarch64.xml have that
word before them.
"""
import argparse
import dataclasses
import pathlib
import re
import sys
import xml.etree.ElementTree as xml

AGAIN = "again"


@dataclasses.dataclass
class Run:
    """One run of one test."""

    name: str
    verdict: str
    reason: str
    seconds: float
    output: str


def skip_reason(output):
    """Returns what the test itself printed (skip_test() in tests/support, fail and skip_test in
    tests/cli/lib.sh)."""
    for line in output.splitlines():
        _, said, reason = line.partition("SKIPPED: ")
        if said:
            return reason
    return "no reason given"


def verdict_of(case, output):
    """Returns (verdict, reason). A test is skipped only if it reports that itself, with exit code
    77; a test that could not be started has failed. None stands for a test that is disabled."""
    status = case.get("status")
    skipped = case.find("skipped")
    if status == "run":
        return "passed", ""
    if status == "notrun" and skipped is not None and skipped.get("message", "").startswith("SKIP_"):
        return "skipped", skip_reason(output)
    return (None if status == "disabled" else "failed"), ""


def read_report(path):
    try:
        cases = xml.parse(path).getroot().iter("testcase")
    except (OSError, xml.ParseError) as error:
        sys.exit(f"{path}: {error}")
    prefix = "aarch64: " if path.stem == "aarch64" else ""
    for case in cases:
        output = case.findtext("system-out") or ""
        verdict, reason = verdict_of(case, output)
        if verdict:
            yield Run(prefix + case.get("name"), verdict, reason, float(case.get("time") or 0), output)


def read_folder(folder):
    """Returns (name -> first run, name -> second run)."""
    first, second = {}, {}
    for path in sorted(folder.glob("*.xml"), key=lambda path: (path.stem == AGAIN, path)):
        for run in read_report(path):
            # Tests that prepare others run again with each of those.
            if path.stem != AGAIN:
                first.setdefault(run.name, run)
            elif run.name in first and first[run.name].verdict == "failed":
                second[run.name] = run
    return first, second


def show_failed(first, _second):
    for run in first.values():
        if run.verdict == "failed":
            print(run.name)


def show_pattern(first, _second):
    names = [re.sub(r"([][^$.*+?()|\\])", r"\\\1", run.name) for run in first.values()
             if run.verdict == "failed" and not run.name.startswith("aarch64: ")]
    print("^(" + "|".join(names) + ")$")


def show_results(first, second):
    for run in first.values():
        again = second.get(run.name)
        if again and again.verdict == "passed":
            print("unsteady", run.name, "", sep="\t")
        else:
            print(run.verdict, run.name, run.reason, sep="\t")


def show_outputs(first, second, names):
    for name in names:
        for title, runs in (("first", first), ("second", second)):
            if name in runs:
                print(f"--- {name}, {title} run: {runs[name].verdict} after {runs[name].seconds:.1f} s")
                print(runs[name].output.rstrip())


def show_slowest(first, _second):
    for run in sorted(first.values(), key=lambda run: -run.seconds)[:10]:
        print(f"{run.seconds:8.1f}  {run.name}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["failed", "pattern", "results", "outputs", "slowest"])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    runs = read_folder(arguments.folder)
    if arguments.what == "outputs":
        show_outputs(*runs, arguments.names)
    else:
        show = {"failed": show_failed, "pattern": show_pattern, "results": show_results, "slowest": show_slowest}
        show[arguments.what](*runs)


if __name__ == "__main__":
    main()
