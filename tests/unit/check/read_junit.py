#!/usr/bin/env python3
"""Reads JUnit's XML from stdin with junitparser, and prints a line for each case: suite, name,
outcome.

The numbers in the file must be those of its cases. Exit status 77 means that the module is missing.
"""
import sys

try:
    import junitparser
except ImportError:
    print("python3-junitparser is not installed")
    sys.exit(77)


def outcome(case):
    results = case.result or []
    if not results:
        return "passed"
    return "+".join(type(result).__name__.lower() for result in results)


suites = junitparser.JUnitXml.fromstring(sys.stdin.buffer.read())
told = [(suite.tests, suite.failures, suite.errors, suite.skipped) for suite in suites]
totals = (suites.tests, suites.failures, suites.errors, suites.skipped)
for suite in suites:
    for case in suite:
        assert case.classname == suite.name, (case.classname, suite.name)
        print(suite.name, case.name, outcome(case), sep="|")
for suite in suites:
    suite.update_statistics()
counted = [(suite.tests, suite.failures, suite.errors, suite.skipped) for suite in suites]
assert told == counted, (told, counted)
assert totals == tuple(sum(column) for column in zip(*counted)) if counted else totals == (0, 0, 0, 0), totals
