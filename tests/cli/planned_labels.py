#!/usr/bin/env python3
"""planned_labels.py RECORDING PLAN [--account FILE] [--ignore KEY,...]: holds the labels of a recording
against what its load can have, and prints what it has found as JSON.

PLAN has a JSON object in each line: labels that a session may have together, each with its value or a
list of values. The labels of a sample are possible if a line has all of them; a session that begins
lacks some. What no line has is listed as impossible (the five most frequent), and what no sample has
wholly as unseen.

An ACCOUNT has a line for each thing that somebody else has measured, {"labels": {...}, "time": 1.5}.
The share of each in the samples is held against its share in the account: it must be within three
standard errors, and 0.3 points for what the two windows do not have in common (--apart). A label of
the account may have a list of values, too. Only samples that have all keys of the account's labels
count. Exit status 1: a share is wrong."""

import argparse
import collections
import json
import sys


class Recording:
    def __init__(self, path, ignored=()):
        lines = collections.defaultdict(list)
        with open(path, encoding="utf-8") as file:
            for line in map(json.loads, file):
                lines[line["type"]].append(line)
        self.header, self.ledger = lines["header"][0], lines["ledger"][0]
        self.sets = [{x["key"]: x["value"] for x in line["labels"] if x["key"] not in ignored}
                     for line in lines["labels"]]
        self.threads = lines["thread"]
        self.samples = lines["sample"]

    def labels(self, sample):
        return self.sets[sample["labels"]]

    def outcome(self, sample):
        return self.header["outcomes"][sample["outcome"]]


def has(row, labels):
    """True if the row has each of these labels with this value."""
    return all(value == row.get(key) or (isinstance(row.get(key), list) and value in row[key])
               for key, value in labels.items())


def read_rows(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]


def impossible(recording, plan):
    """The label sets that no row of the plan has, with the number of their samples."""
    possible = [any(has(row, labels) for row in plan) for labels in recording.sets]
    found = collections.Counter()
    for sample in recording.samples:
        if not possible[sample["labels"]]:
            found[sample["labels"]] += sample["count"]
    return [{"labels": recording.sets[each], "count": count} for each, count in found.most_common()]


def unseen(recording, plan):
    """The rows of the plan of which no label set has all keys."""
    used = [recording.sets[each] for each in {sample["labels"] for sample in recording.samples}]
    return [row for row in plan if not any(set(row) <= set(labels) and has(row, labels) for labels in used)]


def covered(recording):
    """The share of the samples that have each key."""
    found = collections.Counter()
    for sample in recording.samples:
        found.update({key: sample["count"] for key in recording.labels(sample)})
    whole = sum(sample["count"] for sample in recording.samples)
    return {key: round(count / whole, 4) for key, count in found.items()}


def compare(recording, account, apart):
    """Shares of time by the account and in the recording, and whether they agree."""
    keys = set().union(*(row["labels"] for row in account))
    counts, weights = [0] * len(account), [0] * len(account)
    elsewhere = collections.Counter()
    for sample in recording.samples:
        labels = recording.labels(sample)
        if not keys <= set(labels):
            continue
        mine = {key: labels[key] for key in keys}
        for number, row in enumerate(account):
            if has(row["labels"], mine):
                counts[number] += sample["count"]
                weights[number] += sample["weight_ns"]
                break
        else:
            elsewhere[json.dumps(mine)] += sample["count"]
    samples, whole, time = sum(counts), sum(weights), sum(row["time"] for row in account)
    if samples < 500:
        return {"agrees": False, "why": f"only {samples} samples have {sorted(keys)}"}
    rows = []
    for row, weight in zip(account, weights):
        share, truth = weight / whole, row["time"] / time
        error = (truth * (1 - truth) / samples) ** 0.5
        rows.append({"labels": row["labels"], "share": round(share, 4), "account": round(truth, 4),
                     "errors": round((share - truth) / max(error, 1e-9), 2),
                     "agrees": abs(share - truth) <= 3 * error + apart})
    # A statement that runs when the account is read is not in it.
    few = sum(elsewhere.values()) <= 0.01 * samples
    return {"agrees": few and all(row["agrees"] for row in rows), "samples": samples, "rows": rows,
            "not_in_account": dict(elsewhere)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("recording")
    parser.add_argument("plan")
    parser.add_argument("--account", action="append", default=[])
    parser.add_argument("--apart", type=float, default=0.003)
    parser.add_argument("--ignore", default="wait_event")
    options = parser.parse_args()
    recording = Recording(options.recording, options.ignore.split(","))
    outcomes = collections.Counter()
    for sample in recording.samples:
        outcomes[recording.outcome(sample)] += sample["count"]
    plan = read_rows(options.plan)
    wrong = impossible(recording, plan)
    shares = [compare(recording, read_rows(each), options.apart) for each in options.account]
    print(json.dumps({"samples": sum(outcomes.values()), "outcomes": outcomes, "impossible": wrong[:5],
                      "impossible_samples": sum(each["count"] for each in wrong),
                      "unseen": unseen(recording, plan), "covered": covered(recording), "shares": shares}, indent=1))
    sys.exit(0 if all(each["agrees"] for each in shares) else 1)


if __name__ == "__main__":
    main()
