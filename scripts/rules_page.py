#!/usr/bin/env python3
"""This makes the manual page of the rules from the rules themselves.

    labelscope check --rules --format json | scripts/rules_page.py > docs/man/labelscope-rules.7

A test (tests/cli/check/check_rules.sh) holds the page against its source.
"""
import json
import re
import sys
import textwrap

HEAD = r""".\" labelscope-rules(7): made by scripts/rules_page.py from the rules in reader/src; edit them there.
.Dd November 21, 2026
.Dt LABELSCOPE-RULES 7
.Os labelscope
.Sh NAME
.Nm labelscope-rules
.Nd what labelscope check asks of a writer of labels
.Sh DESCRIPTION
A source of labels has a description: version 1 of the Custom Labels ABI, a thread
context
.Pq Li context_tls_v1 ,
or OpenTelemetry's thread context
.Pq Li otel_thread_ctx_v1
with the process context that names its keys.
Each sentence of it that a writer can break is a rule.
The number and the name of a rule never change their meaning and are never used again.
An error breaks the description; a warning is legal by the letter, but some readers
fail, or fail at some moments; a note is legal and good to know.
Errors make
.Nm labelscope check
fail, warnings with
.Fl -strict ,
notes never.
"""
TAIL = r""".Sh SEE ALSO
.Xr labelscope-check 1 ,
.Xr labelscope-inspect 1
"""
ARTICLE = {"error": "an", "warning": "a", "note": "a"}
TOOLS = [("fix_gcc", "gcc"), ("fix_clang", "clang"), ("fix_rust", "Rust"), ("fix_cmake", "CMake")]


def escaped(text):
    return text.replace("\\", "\\e").replace("-", "\\-")


def paragraph(text):
    """Returns lines of text, each sentence on a new line; no line becomes a request of mdoc."""
    lines = []
    for sentence in re.split(r"(?<=[.;:)]) (?=[A-Z(])", text):
        lines += textwrap.wrap(escaped(sentence), 78, break_long_words=False, break_on_hyphens=False)
    return "".join(("\\&" if line[0] in ".'" else "") + line + "\n" for line in lines)


def quoted(text):
    return '"' + escaped(text).replace('"', "\\(dq") + '"'


def section(rule):
    out = f".Ss {rule['rule']} {escaped(rule['name'])}\n"
    out += paragraph(f"Wanted: {rule['title']}.")
    out += f"This is {ARTICLE[rule['severity']]} {rule['severity']},\nseen by a {rule['depth']} check.\n.Pp\n"
    out += paragraph(rule["requirement"]) + paragraph(rule["reason"])
    if rule["fix"]:
        out += ".Pp\n" + paragraph(rule["fix"])
    tools = [(name, rule[field]) for field, name in TOOLS if rule[field]]
    if tools:
        out += '.Bl -tag -width "clang"\n'
        out += "".join(f".It {name}\n{paragraph(text)}" for name, text in tools)
        out += ".El\n"
    return out


def main():
    heading = None
    out = HEAD
    for rule in json.load(sys.stdin):
        if (rule["source"], rule["section"]) != heading:
            heading = rule["source"], rule["section"]
            out += f".Sh RULES OF {escaped(rule['source'])}: {quoted(rule['section'])}\n"
        out += section(rule)
    sys.stdout.write(out + TAIL)


if __name__ == "__main__":
    main()
