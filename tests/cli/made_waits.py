"""Makes a recording (docs/schema/recording-format.md) of half a minute with CPU time and waits of tenants and
routes, and who made whom wait, for command lines that want something in a recording."""

import itertools
import json

SECOND = 1_000_000_000
OUTCOMES = ["labelled", "unlabelled"]
TENANTS, ROUTES = ("acme", "globex", "42"), ("/search", "/checkout", "/pay")
CPU, WAITING = 0, 1
SAMPLES = 90  # of each kind of time
WEIGHT = 10_000_000


def made_waits(path):
    lines = [{"type": "process", "id": 0, "pid": 100, "comm": "shop", "publishers": ["/opt/shop/shop", "[scheduler]"],
              "attributes": []},
             {"type": "thread", "id": 0, "pid": 100, "tid": 100, "name": "main", "account": 0},
             {"type": "module", "id": 0, "kind": "file", "path": "/opt/shop/shop", "build_id": "ab12", "start": "0x400000",
              "end": "0x500000", "file_offset": "0x0", "load_bias": "0x0", "symbol_problem": "", "program": True},
             *({"type": "location", "id": number, "module": 0, "address": f"0x40{number + 1}000", "by_frame_pointer": False,
                "lines": [{"function": name, "system_name": name, "file": "shop.cc", "line": 7}]}
               for number, name in enumerate(("main", "serve"))),
             {"type": "stack", "id": 0, "locations": [1, 0], "end": "complete"}]
    sets = list(itertools.product((CPU, WAITING), TENANTS, ROUTES))
    for number, (kind, tenant, route) in enumerate(sets):
        labels = [{"key": "http.route", "value": route, "publisher": 0}, {"key": "query_id", "value": "7", "publisher": 0},
                  {"key": "tenant", "value": tenant, "publisher": 0}]
        if kind == WAITING:
            labels.append({"key": "wait", "value": "futex", "publisher": 1})
        lines.append({"type": "labels", "id": number, "labels": labels})
    total = dict.fromkeys(range(len(sets)), 0)
    for number in range(2 * SAMPLES):
        own = number % len(sets)
        total[own] += WEIGHT
        lines.append({"type": "sample", "time_ns": (5 + 30 * number // (2 * SAMPLES)) * SECOND, "thread": 0, "stack": 0,
                      "labels": own, "count": 1, "weight_ns": WEIGHT, "outcome": 0, "flags": 0, "value": sets[own][0]})
    for own, (kind, _, _) in enumerate(sets):
        if kind == WAITING:
            waits = {"pid": 100, "labels": own, "outcome": 0, "value": WAITING, "time_ns": total[own], "count": 10}
            lines.append({"type": "waits", **waits, "lengths": [0] * 10 + [10]})
            lines.append({"type": "blame", **waits, "by": "thread", "by_pid": 100, "by_labels": 0, "by_outcome": 0})
    header = {"type": "header", "format": "labelscope-recording", "version": 1, "tool_version": "1", "event": "cpu-clock",
              "mode": "cpu", "values": ["cpu", "waiting"], "blame": True, "backend": "bpf", "call_graph": "dwarf",
              "command_line": "labelscope record", "kernel_release": "6.18", "start_unix_ns": 1700000000123456789,
              "start_monotonic_ns": 5 * SECOND, "duration_ns": 30 * SECOND, "period_ns": WEIGHT, "outcomes": OUTCOMES,
              "flags": []}
    ledger = {"type": "ledger", "taken": 2 * SAMPLES, "outcomes": {"labelled": 2 * SAMPLES, "unlabelled": 0}, "dropped": 0,
              "written": 2 * SAMPLES, "truncated": 0, "counters": [{"name": "stacks-complete", "count": 2 * SAMPLES}],
              "time": {"attributed_ns": 2 * SAMPLES * WEIGHT, "unsampled_ns": 0, "lost_ns": 0}}
    with open(path, "w", encoding="utf-8") as file:
        for line in (header, *lines, ledger):
            file.write(json.dumps(line) + "\n")
