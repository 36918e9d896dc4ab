"""Holds what labelscope has read of a program against what its threads have printed.

  tracer_labels.py dump|recording FILE TRUTH UNLABELLED

A line of TRUTH is {"tid": N, "labels": {KEY: VALUE}}. The thread has these labels whenever its program runs. It
may have more: some tracers add what a program does not see, such as a number of the thread. UNLABELLED is the
share of samples that may have none, because the thread runs a scheduler or an event loop then. Where too many
threads can run, a few of them do not stop in time for ptrace, and their samples are unreadable.

Exits with 3 if a dump has come at such a moment.
"""
import collections
import json
import sys

KIND, FILE, TRUTH = sys.argv[1:4]
ALLOWED = float(sys.argv[4])
lines = [json.loads(line) for line in open(FILE, encoding="utf-8")]
told = [json.loads(line) for line in open(TRUTH, encoding="utf-8") if line.startswith("{")]
truth = {thread["tid"]: thread["labels"] for thread in told}
if not truth:
    sys.exit("the program has printed no thread")


def pairs(labels):
    return {label["key"]: label["value"] for label in labels}


wrong = []
counts, unlabelled, unreadable = collections.Counter(), collections.Counter(), collections.Counter()
LATE = {"no-thread-pointer", "not-resident"}


def look(tid, outcome, labels, count):
    if tid not in truth:
        return
    counts[tid] += count
    if ALLOWED and outcome == "unlabelled":
        unlabelled[tid] += count
    elif outcome in LATE:
        unreadable[tid] += count
    elif outcome != "labelled" or not truth[tid].items() <= labels.items():
        wrong.append(f"{outcome}, {labels}, not {truth[tid]}")


if KIND == "dump":
    for thread in lines[0]["threads"]:
        look(thread["tid"], thread["outcome"], pairs(thread["labels"]), 1)
    least = 1
else:
    outcomes = lines[0]["outcomes"]
    tids = {line["id"]: line["tid"] for line in lines if line["type"] == "thread"}
    sets = {line["id"]: pairs(line["labels"]) for line in lines if line["type"] == "labels"}
    for line in lines:
        if line["type"] == "sample":
            look(tids[line["thread"]], outcomes[line["outcome"]], sets[line["labels"]], line["count"])
    # Threads that share a second of CPU time at 299 Hz have about 300 samples.
    least = 20
print(f"{KIND}: {dict(counts)}, of them unlabelled {dict(unlabelled)}, unreadable {dict(unreadable)}, "
      f"wrong {len(wrong)}", *wrong[:4], sep="\n  ")
if wrong:
    sys.exit(1)
if seldom := [tid for tid in truth if counts[tid] < least]:
    sys.exit(f"threads {seldom} are seldom there: {dict(counts)}")
if KIND == "dump" and (unlabelled or unreadable):
    sys.exit(3)
if unreadable.total() > 0.1 * counts.total():
    sys.exit(f"{unreadable.total()} of {counts.total()} samples are unreadable")
if unlabelled.total() > ALLOWED * counts.total():
    sys.exit(f"{unlabelled.total()} of {counts.total()} samples are unlabelled")
