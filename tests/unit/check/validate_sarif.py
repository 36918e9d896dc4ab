#!/usr/bin/env python3
"""Reads SARIF from stdin, and checks the schema's demands (sarif_schema.json) and those that the
standard makes in words only.

Prints a line for each result: rule, level, URI, line, suppressed or -. Exit status 77 means that a
module is missing.
"""
import json
import os
import sys

try:
    import jsonschema
except ImportError:
    print("python3-jsonschema is not installed")
    sys.exit(77)


def fail(why):
    print(f"not valid: {why}", file=sys.stderr)
    sys.exit(1)


def physical(result):
    """Returns the place of a result, which must have a file and a line: otherwise GitHub refuses
    the whole log."""
    place = result["locations"][0].get("physicalLocation", {})
    if not place.get("artifactLocation", {}).get("uri") or place.get("region", {}).get("startLine",
                                                                                       0) < 1:
        fail(f"no physical location: {result}")
    return place


log = json.loads(sys.stdin.buffer.read().decode("utf-8"))
with open(os.path.join(os.path.dirname(__file__), "sarif_schema.json"), encoding="utf-8") as file:
    schema = json.load(file)
jsonschema.Draft7Validator.check_schema(schema)
for error in jsonschema.Draft7Validator(schema).iter_errors(log):
    fail(f"{list(error.path)}: {error.message}")

run = log["runs"][0]
rules = run["tool"]["driver"]["rules"]
if len({rule["id"] for rule in rules}) != len(rules):
    fail("a rule's id occurs twice")
for result in run["results"]:
    # Section 3.27.6: the index leads to the rule of that id.
    if rules[result["ruleIndex"]]["id"] != result["ruleId"]:
        fail(f"rule index {result['ruleIndex']} is not {result['ruleId']}")
    uri = physical(result)["artifactLocation"]["uri"]
    if uri.startswith("/") or ":" in uri and not uri.startswith("file:///"):
        fail(f"neither a relative path nor a file: {uri}")
    line = physical(result)["region"]["startLine"]
    print(result["ruleId"], result["level"], uri, line, "suppressed" if "suppressions" in result
          else "-")
