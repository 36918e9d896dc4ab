"""Holds the shares of `tenant` in a recording against the program's own account.

    tenant_shares.py RECORDING ACCOUNT [--only SETS] [--allow SHARE]
    tenant_shares.py RECORDING ACCOUNT --key KEY [--allow SHARE]

ACCOUNT has a line of JSON: how much time each tenant took. SETS is a line of JSON with the label
sets that there are; without it, each is a tenant of the account alone. With KEY, ACCOUNT has the values
of that label, and there may be other labels. The exit status is 1 if a
share is off by more than three standard errors and SHARE, or there are fewer than 300 samples, and
2 if a sample has labels that nothing in the program had.
"""
import argparse
import collections
import json
import sys

parser = argparse.ArgumentParser()
parser.add_argument("recording")
parser.add_argument("account")
parser.add_argument("--only", type=json.loads)
parser.add_argument("--key")
parser.add_argument("--allow", type=float, default=0)
given = parser.parse_args()
with open(given.account, encoding="utf-8") as file:
    account = json.load(file)
with open(given.recording, encoding="utf-8") as file:
    lines = [json.loads(line) for line in file]
there_are = given.only or [{"tenant": tenant} for tenant in account]
sets = {
    line["id"]: {label["key"]: label["value"] for label in line["labels"]}
    for line in lines
    if line["type"] == "labels"
}
found, samples = collections.Counter(), 0
for line in lines:
    if line["type"] != "sample" or not (labels := sets[line["labels"]]):
        continue
    if given.key and labels.get(given.key) not in account or not given.key and labels not in there_are:
        print(f"FAILED: nothing had these labels: {labels}")
        sys.exit(2)
    found[labels[given.key or "tenant"]] += line["weight_ns"]
    samples += line["count"]
wrong = samples < 300
for tenant, spent in account.items():
    truth = spent / sum(account.values())
    share = found[tenant] / max(1, sum(found.values()))
    error = (truth * (1 - truth) / max(1, samples)) ** 0.5
    off = (share - truth) / error
    print(f"{tenant}: {share:.4f} of {truth:.4f}, {off:+.1f} standard errors of {samples} samples")
    wrong |= abs(share - truth) > 3 * error + given.allow
sys.exit(wrong)
