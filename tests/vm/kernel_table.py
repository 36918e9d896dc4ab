#!/usr/bin/env python3
"""Writes the tables of docs/kernels.md, from the reports of the guests (build/vm/reports/*.tsv,
tests/vm/run.sh).

  tests/vm/kernel_table.py           rewrites the tables between the markers of docs/kernels.md
  tests/vm/kernel_table.py --check   says where the reports contradict them; exits 1 if they do, and 77
                                     if there is no report

The rows of guests that have a report are checked. A feature that no test of a guest shows is an
error: the tables have no blanks.
"""
import argparse
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "kernels.md"
REPORTS = ROOT / "build" / "vm" / "reports"
FEATURES = pathlib.Path(__file__).with_name("features.txt")
BEGIN, END = "<!-- begin: {} -->", "<!-- end: {} -->"
# This is BPF_COMPLEXITY_LIMIT_INSNS of the kernel.
VERIFIER_LIMIT = 1_000_000


def read_features():
    """Returns [(name, compiled pattern)] in the order of the columns."""
    features = []
    for line in FEATURES.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            name, pattern = re.split(r" {2,}", line, maxsplit=1)
            features.append((name, re.compile(pattern.strip())))
    return features


class Report:
    """What one guest reported: facts by name, and (verdict, test, reason) of each test."""

    def __init__(self, path):
        self.guest = path.stem
        self.facts, self.tests = {}, []
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            fields = line.split("\t")
            if fields[0] == "fact":
                self.facts[fields[1]] = fields[2]
            else:
                self.tests.append((fields[0], fields[1], fields[3] if len(fields) > 3 else ""))

    @property
    def counts(self):
        """Returns whether the guest counts: one that did not boot shows nothing, and those with an
        isolated processor and with PREEMPT_RT run only a few tests."""
        return "kernel" in self.facts and not self.guest.endswith(("-isolated", "-rt"))

    def cell(self, pattern):
        """Returns ("yes" | "no" | "fails" | "", reason)."""
        found = [test for test in self.tests if pattern.search(test[1])]
        if any(verdict == "failed" for verdict, _, _ in found):
            return "fails", ""
        if any(verdict == "passed" for verdict, _, _ in found):
            return "yes", ""
        return ("no", found[0][2]) if found else ("", "")


def order(report):
    """Sorts aarch64 first, and old kernels first."""
    arch, version, *processor = report.guest.split("-")
    return arch, [int(part) for part in version.split(".")], processor


def feature_rows(reports):
    """Returns {guest: markdown row} and [footnote]."""
    rows, notes = {}, []
    for report in reports:
        cells = []
        for name, pattern in read_features():
            text, reason = report.cell(pattern)
            if not text:
                sys.exit(f"{report.guest}: no test shows '{name}': the table would have a blank")
            if text == "no":
                # Several kernels' sentences differ in the kernel's name only.
                note = re.sub(r"^Linux \S+ ", "this kernel ", reason) or "no reason given"
                if note not in notes:
                    notes.append(note)
                text = f"no ({notes.index(note) + 1})"
            cells.append(text)
        rows[report.guest] = f"| {report.guest} | " + " | ".join(cells) + " |"
    return rows, [f"{number}. {note}" for number, note in enumerate(notes, 1)]


def feature_table(reports):
    names = [name for name, _ in read_features()]
    rows, notes = feature_rows(reports)
    head = ["| guest | " + " | ".join(names) + " |", "|" + " --- |" * (len(names) + 1)]
    return "\n".join(head + list(rows.values()) + [""] + notes)


# Programs that get a row beside the largest one of their object: they run at each switch and each
# wake-up of the machine, or once for each thread. All objects that measure waits have the same ones,
# so those of one are enough.
SHOWN = {f"sampler_retry/{program}" for program in ("on_switch", "on_block", "on_waking", "thread_times")}


def program_table(reports):
    """Makes the table of the instructions that the verifier looked at, for the largest program of
    each object and for those in SHOWN."""
    lines = ["| guest | kernel | program | instructions | of the limit |",
             "| --- | --- | --- | ---: | ---: |"]
    for report in reports:
        largest, shown = {}, set()
        for name, value in report.facts.items():
            if name.startswith("verified/"):
                _, obj, program = name.split("/")
                largest[obj] = max(largest.get(obj, (0, "")), (int(value), program))
                if f"{obj}/{program}" in SHOWN:
                    shown.add((obj, int(value), program))
        shown |= {(obj, count, program) for obj, (count, program) in largest.items()}
        for obj, count, program in sorted(shown, key=lambda row: (row[0], -row[1])):
            lines.append(f"| {report.guest} | {report.facts['kernel']} | {obj}: {program} | {count:,} | "
                         f"{100 * count / VERIFIER_LIMIT:.1f} % |")
    return "\n".join(lines)


def between(text, name):
    match = re.search(re.escape(BEGIN.format(name)) + r"\n(.*?)\n" + re.escape(END.format(name)),
                      text, re.S)
    if not match:
        sys.exit(f"{PAGE} has no markers for '{name}'")
    return match


def rewrite(reports):
    text = PAGE.read_text(encoding="utf-8")
    for name, table in (("features", feature_table(reports)), ("programs", program_table(reports))):
        match = between(text, name)
        text = text[: match.start(1)] + table + text[match.end(1):]
    PAGE.write_text(text, encoding="utf-8")


def without_note_number(row):
    return re.sub(r"no \(\d+\)", "no", row)


def check(reports):
    documented = {}
    for line in between(PAGE.read_text(encoding="utf-8"), "features").group(1).splitlines():
        if line.startswith("| "):
            documented[line.split("|")[1].strip()] = without_note_number(line)
    contradictions = 0
    for guest, row in feature_rows(reports)[0].items():
        if documented.get(guest) != without_note_number(row):
            print(f"docs/kernels.md: {guest}:\n  documented: {documented.get(guest)}\n  reported:   {row}")
            contradictions += 1
    return 1 if contradictions else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true")
    parser.add_argument("guest", nargs="*", help="only these guests")
    arguments = parser.parse_args()
    reports = [Report(path) for path in REPORTS.glob("*.tsv")]
    reports = sorted((report for report in reports if report.counts and
                      (not arguments.guest or report.guest in arguments.guest)), key=order)
    if not reports:
        print(f"skipped: no guest has left a report in {REPORTS}", file=sys.stderr)
        sys.exit(77)
    if arguments.check:
        sys.exit(check(reports))
    rewrite(reports)


if __name__ == "__main__":
    main()
