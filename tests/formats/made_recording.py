#!/usr/bin/env python3
"""made_recording.py RECORDING TOTALS: writes a recording (docs/schema/recording-format.md) with
everything that is hard for a format, and the time by value of its label "tenant", which must be the
same in every format."""

import base64
import json
import sys

OUTCOMES = ["labelled", "unlabelled", "no-recipe", "not-relocated", "no-thread-pointer", "bad-dtv",
            "not-resident",
            "malformed", "vanished", "torn"]

# These are the labels that are recorded, and those that every format shows
# (docs/schema/recording-format.md, "Labels in pprof").
TENANTS = [
    (b"acme", "acme"),
    (b"", "<empty>"),
    (b"=HYPERLINK(\"http://x\")", "=HYPERLINK(\"http://x\")"),
    (b"+1", "+1"), (b"-5", "-5"), (b"@x", "@x"), (b"'quoted", "'quoted"),
    (b"a,b\"c", "a,b\"c"),
    (b"</title></script><script>alert(1)</script>&amp;",
     "</title></script><script>alert(1)</script>&amp;"),
    (b"two\r\nlines\ttab", "two\\x0d\\x0alines\\x09tab"),
    (b"\xff\xfe bad", "\\xff\\xfe bad"),
    ("right\u202eleft".encode(), "right\\u{202e}left"),
    ("\ufffe".encode(), "\ufffe"),
    (b"x" * 10000, "x" * 10000),
    (b"</b>;c", "</b>;c"),
    (b" edges ", " edges "),
    (b"nul\0nul", "nul\\x00nul"),
]


def as_bytes(raw):
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        text = "\0"
    return {"base64": base64.b64encode(raw).decode()} if "\0" in text else text


class Recording:
    def __init__(self):
        self.lines = []
        self.count = {}
        self.samples = []

    def add(self, line_type, **more):
        number = self.count.get(line_type, 0)
        self.count[line_type] = number + 1
        self.lines.append({"type": line_type, "id": number, **more})
        return number

    def labels(self, *pairs):
        return self.add("labels", labels=[{"key": as_bytes(key), "value": as_bytes(value),
                                           "publisher": 0}
                                          for key, value in sorted(pairs)])

    def write(self, path):
        outcomes = {name: 0 for name in OUTCOMES}
        for sample in self.samples:
            outcomes[OUTCOMES[sample["outcome"]]] += sample["count"]
        taken = sum(outcomes.values())
        header = {"type": "header", "format": "labelscope-recording", "version": 1,
                  "tool_version": "1",
                  "event": "cpu-clock", "mode": "cpu", "backend": "bpf", "call_graph": "dwarf",
                  "command_line": "labelscope record -- </style><b>'\"", "kernel_release": "6.1",
                  "start_unix_ns": 1700000000123456789, "start_monotonic_ns": 5000000000,
                  "duration_ns": 1000000000, "period_ns": 10000000, "outcomes": OUTCOMES,
                  "flags": []}
        ledger = {"type": "ledger", "taken": taken, "outcomes": outcomes, "dropped": 0,
                  "written": taken,
                  "truncated": 0, "counters": [],
                  "time": {"attributed_ns": sum(s["weight_ns"] for s in self.samples),
                           "unsampled_ns": 0, "lost_ns": 0}}
        with open(path, "w", encoding="utf-8") as file:
            for line in [header, *self.lines, *self.samples, ledger]:
                file.write(json.dumps(line, ensure_ascii=False) + "\n")


def main():
    made, totals = Recording(), {}
    for pid, comm in ((100, "shop"), (200, "a;b \"c\"")):
        made.add("process", pid=pid, comm=comm, publishers=["/opt/shop/libshop.so"])
    threads = [made.add("thread", pid=pid, tid=tid, name=name, account=i)
               for i, (pid, tid, name) in enumerate(
                   [(100, 100, "main"), (100, 101, "=worker"), (200, 201, "")])]
    file = made.add("module", kind="file", path="/opt/shop/shop", build_id="ab12", start="0x400000",
                    end="0x500000",
                    file_offset="0x0", load_bias="0x0", symbol_problem="", program=True)
    kernel = made.add("module", kind="kernel", path="[kernel]", build_id="",
                      start="0xffffffff80000000",
                      end="0xffffffffc0000000", file_offset="0x0", load_bias="0x0",
                      symbol_problem="", program=False)

    def location(module, address, *functions):
        return made.add("location", module=module, address=address, by_frame_pointer=False, lines=[
            {"function": name, "system_name": name, "file": "shop.cc", "line": 7}
            for name in functions])

    entry = location(file, "0x401000", "main")
    leaf = location(file, "0x402000", "inlined<int>", "serve(std::string const&)")
    nameless = location(file, "0x403000")
    call = location(kernel, "0xffffffff80001000", "do_syscall")
    formula = location(file, "0x404000", "=1+1</text>")
    stacks = [made.add("stack", locations=frames, end=end) for frames, end in (
        ([leaf, entry], "complete"), ([call, leaf, entry], "complete"), ([nameless], "no-table"),
        ([formula, entry], "complete"), ([], "missing"))] + [None]

    def sample(thread, stack, labels, outcome, shown, time=True):
        number = len(made.samples)
        weight = 10_000_000 + 7919 * number
        made.samples.append({"type": "sample", "time_ns": 5_000_000_000 + 3_000_000 * number if time
                             else 0,
                             "thread": thread, "stack": stack, "labels": labels, "count": 1 if time
                             else 3,
                             "weight_ns": weight, "outcome": outcome, "flags": 0})
        totals[shown] = totals.get(shown, 0) + weight

    number = 0
    for value, shown in TENANTS:
        labels = made.labels((b"tenant", value), (b"type", b"t"), (b"=key", b"k"), (b"pid", b"7"),
                             (b"", b"empty key"),
                             (b"trace_id", b"%032x" % (number + 1)),
                             (b"span_id", b"%016x" % (number + 1)))
        for thread in threads:
            sample(thread, stacks[number % len(stacks)], labels, 0, shown)
            number += 1
    none = made.labels()
    for thread in threads:
        sample(thread, stacks[0], none, 1, "<none>")
        sample(thread, stacks[1], None, 6, "<unreadable>")
        sample(thread, stacks[0], made.labels((b"tenant", b"acme")), 0, "acme", time=False)
    made.write(sys.argv[1])
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        json.dump(totals, file, ensure_ascii=False)


if __name__ == "__main__":
    main()
