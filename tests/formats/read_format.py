#!/usr/bin/env python3
"""read_format.py FILE KEY: prints the nanoseconds of each value of the label KEY in a file of any
format that labelscope writes, as JSON. Each reader is strict: what the format forbids is an error.

Folded stacks, SVG and speedscope show labels only with --group-by KEY. "<none>" stands for samples
without the label, "<unreadable>" for those whose labels could not be read."""

import csv
import gzip
import io
import json
import re
import sys
import xml.etree.ElementTree as xml
from collections import Counter

import otlp
import wire


def plain(text):
    """Undoes what folded stacks escape and other formats do not."""
    return text.replace("\\x3b", ";").replace("\\x20", " ").replace("\\u{fffe}", "\ufffe")


def of_group(frame, key):
    assert frame.startswith(key + "="), frame
    return plain(frame[len(key) + 1 :])


def read_folded(data, key):
    totals = Counter()
    for line in data.decode("utf-8").removesuffix("\n").split("\n"):
        stack, space, weight = line.rpartition(" ")
        assert space and weight.isdigit(), line
        frames = stack.split(";")
        assert all(frames), line
        totals[of_group(frames[0], key)] += int(weight)
    return totals


def read_svg(data, key):
    spaces = "{http://www.w3.org/2000/svg}"
    root = xml.fromstring(data)
    allowed = {spaces + name for name in ("svg", "title", "style", "text", "g", "rect")}
    boxes, whole = Counter(), None
    for element in root.iter():
        assert element.tag in allowed, element.tag
        assert not any(name.lower().startswith("on") or name.endswith("href")
                       for name in element.attrib), element.attrib
    for group in root.iter(spaces + "g"):
        title, rect = group.find(spaces + "title").text, group.find(spaces + "rect")
        said = re.fullmatch(r"(.*) \([^()]*%, ([\d,]+) ns, [\d,]+ samples?\)", title, re.DOTALL)
        assert said, title
        time = int(said[2].replace(",", ""))
        row = round((float(rect.get("y")) - 58) / 17)
        left, width = float(rect.get("x")), float(rect.get("width"))
        assert 10 <= left and left + width <= 1190.02, title
        if row == 0:
            whole = time
        if row == 1:
            boxes[of_group(said[1], key)] += time
    assert sum(boxes.values()) == whole
    return boxes


def read_speedscope(data, key):
    file = json.loads(data)
    assert file["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    frames = file["shared"]["frames"]
    assert len({json.dumps(frame) for frame in frames}) == len(frames), "a frame is there twice"
    assert 0 <= file["activeProfileIndex"] < len(file["profiles"])
    totals = Counter()
    for profile in file["profiles"]:
        assert profile["type"] == "sampled" and profile["unit"] == "nanoseconds"
        assert len(profile["samples"]) == len(profile["weights"])
        assert all(0 <= frame < len(frames) for stack in profile["samples"] for frame in stack)
        assert all(profile["samples"]) and min(profile["weights"]) >= 0
        assert profile["endValue"] - profile["startValue"] == sum(profile["weights"])
        totals[of_group(profile["name"].removesuffix(" (not in the order of time)"),
                        key)] += sum(profile["weights"])
    return totals


def column(table, *names):
    assert all(len(table[name]) == table["length"] for name in names), names
    return [table[name] for name in names]


def nanoseconds(decimal):
    """The file's milliseconds have six decimals, which a float keeps for a hundred days."""
    return round(decimal * 1e6)


def read_firefox(data, key):
    file = json.loads(data)
    assert file["meta"]["preprocessedProfileVersion"] == 60
    shared, strings = file["shared"], file["shared"]["stringArray"]
    frames, prefixes = column(shared["stackTable"], "frame", "prefix")
    assert all(prefix is None or prefix < i
               for i, prefix in enumerate(prefixes)), "a child before its parent"
    funcs, categories = column(shared["frameTable"], "func", "category")
    column(shared["frameTable"], "address", "inlineDepth", "subcategory", "nativeSymbol",
           "innerWindowID", "line", "column")
    names, resources, sources = column(shared["funcTable"], "name", "resource", "source")
    column(shared["funcTable"], "isJS", "relevantForJS", "lineNumber", "columnNumber")
    libs, resource_names = column(shared["resourceTable"], "lib", "name")
    column(shared["resourceTable"], "host", "type")
    filenames, _ = column(shared["sources"], "filename", "uuid")
    for indices, table in ((frames, funcs), (funcs, names),
                           (categories, file["meta"]["categories"]), (names, strings),
                           (libs, file["libs"]), (resource_names, strings), (filenames, strings),
                           ([i for i in resources if i != -1], libs),
                           ([i for i in sources if i is not None], filenames)):
        assert all(0 <= index < len(table) for index in indices)
    schemas = {schema["name"]: schema for schema in file["meta"]["markerSchema"]}
    assert len(schemas) == len(file["meta"]["markerSchema"])
    totals = Counter()
    for thread in file["threads"]:
        assert isinstance(thread["pid"], str)
        stacks, times, weights = column(thread["samples"], "stack", "time", "weight")
        assert all(0 <= stack < len(frames) for stack in stacks)
        assert all(a < b for a, b in zip(times, times[1:])), "two samples at one time"
        marker_names, starts, ends, data, _ = column(thread["markers"], "name", "startTime",
                                                     "endTime", "data", "phase")
        of_key, unreadable = [], []
        for name, start, end, fields in zip(marker_names, starts, ends, data):
            assert start < end
            schema = schemas[fields["type"]]
            assert {field["key"] for field in schema["fields"]} == set(fields) - {"type"}
            value = strings[fields[schema["fields"][0]["key"]]]
            if strings[name] == key:
                of_key.append((start, end, value))
            if strings[name] == "labels unreadable":
                unreadable.append((start, end))
        for time, weight in zip(times, weights):
            # The viewer assigns samples to markers in the same way.
            values = [value for start, end, value in of_key if start <= time < end]
            assert len(values) <= 1, values
            if not values:
                values = ["<unreadable>" if any(start <= time < end for start, end in unreadable)
                          else "<none>"]
            totals[values[0]] += nanoseconds(weight)
    return totals


def read_csv(data, key):
    assert data.endswith(b"\r\n") and b"\n" not in data.replace(b"\r\n", b"")
    totals, seen = Counter(), set()
    for row in csv.DictReader(io.StringIO(data.decode("utf-8"), newline=""), strict=True):
        assert None not in row and None not in row.values(), "rows of different lengths"
        for cell in list(row.values()) + list(row):
            assert not cell.startswith(tuple("=+-@\t\r")) and not re.search(r"[;\x00-\x1f]",
                                                                            cell), cell
        cells = tuple(value for name, value in row.items() if name not in ("time_ns", "samples"))
        assert cells not in seen, "a row is there twice"
        seen.add(cells)
        totals[plain(row[key].removeprefix("'"))] += int(row["time_ns"])
    return totals


def read_otlp(data, key):
    decoded, totals = otlp.decode(data), Counter()
    for value, labels in otlp.samples(decoded, "cpu"):
        missing = "<unreadable>" if "labelscope.outcome" in labels else "<none>"
        totals[labels.get("process.context.label." + key, missing)] += value
    return totals


LABEL = {1: ("key", "int"), 2: ("str", "int"), 3: ("num", "int"), 4: ("unit", "int")}
PPROF = {1: ("types", ["bytes"]), 2: ("samples", [{1: ("locations", "ints"), 2: ("values", "ints"),
                                                   3: ("labels", [LABEL])}]),
         3: ("mappings", ["bytes"]), 4: ("locations", ["bytes"]), 5: ("functions", ["bytes"]),
         6: ("strings", ["str"]),
         9: ("time", "int"), 10: ("duration", "int"), 11: ("period_type", "bytes"),
         12: ("period", "int"),
         13: ("comments", "ints"), 14: ("default", "int")}


def read_pprof(data, key):
    profile, totals = wire.message(gzip.decompress(data), PPROF), Counter()
    strings = profile["strings"]
    for sample in profile["samples"]:
        labels = {strings[label["key"]]: strings[label["str"]] for label in sample["labels"]
                  if label["str"]}
        missing = "<unreadable>" if "labelscope.outcome" in labels else "<none>"
        totals[labels.get(key, missing)] += sample["values"][1]
    return totals


READERS = {".folded": read_folded, ".svg": read_svg, ".speedscope.json": read_speedscope,
           ".firefox.json": read_firefox, ".csv": read_csv, ".otlp": read_otlp,
           ".pb.gz": read_pprof}


def main():
    path, key = sys.argv[1:]
    with open(path, "rb") as file:
        data = file.read()
    reader = next(reader for extension, reader in READERS.items() if path.endswith(extension))
    print(json.dumps(reader(data, key), sort_keys=True))


if __name__ == "__main__":
    main()
