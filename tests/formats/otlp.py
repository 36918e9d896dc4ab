"""Decodes OTLP profiles (opentelemetry-proto 1.11.0), and checks the rules of `profcheck`, the
conformance checker of OpenTelemetry's profiling group, with all of its optional checks: duplicates,
sample shapes, orphans."""

import wire

VALUE = {1: ("string", "str"), 2: ("bool", "int"), 3: ("int", "int"), 7: ("bytes", "bytes")}
KEY_VALUE = {1: ("key", "str"), 2: ("value", VALUE)}
TYPE = {1: ("type", "int"), 2: ("unit", "int")}
SAMPLE = {1: ("stack", "int"), 2: ("attributes", "ints"), 3: ("link", "int"), 4: ("values", "ints"),
          5: ("timestamps", ["int"])}
PROFILE = {1: ("sample_type", TYPE), 2: ("samples", [SAMPLE]), 3: ("time", "int"),
           4: ("duration", "int"),
           5: ("period_type", TYPE), 6: ("period", "int"), 7: ("id", "bytes"),
           11: ("attributes", "ints")}
SCOPE = {1: ("name", "str"), 2: ("version", "str")}
RESOURCE = {1: ("attributes", [KEY_VALUE])}
SCOPES = {1: ("scope", SCOPE), 2: ("profiles", [PROFILE])}
RESOURCES = {1: ("resource", RESOURCE), 2: ("scopes", [SCOPES])}
DICTIONARY = {
    1: ("mappings", [{1: ("start", "int"), 2: ("limit", "int"), 3: ("offset", "int"),
                      4: ("filename", "int"),
                      5: ("attributes", "ints")}]),
    2: ("locations", [{1: ("mapping", "int"), 2: ("address", "int"),
                       3: ("lines", [{1: ("function", "int"), 2: ("line", "int")}]),
                       4: ("attributes", "ints")}]),
    3: ("functions", [{1: ("name", "int"), 2: ("system_name", "int"), 3: ("filename", "int")}]),
    4: ("links", [{1: ("trace_id", "bytes"), 2: ("span_id", "bytes")}]),
    5: ("strings", ["str"]),
    6: ("attributes", [{1: ("key", "int"), 2: ("value", VALUE), 3: ("unit", "int")}]),
    7: ("stacks", [{1: ("locations", "ints")}]),
}
DATA = {1: ("resources", [RESOURCES]), 2: ("dictionary", DICTIONARY)}


def check(rule, holds, *what):
    if not holds:
        raise AssertionError(f"{rule}: {what}")


def decode(data):
    decoded = wire.message(data, DATA)
    tables = decoded["dictionary"]
    seen = {name: {0} for name in tables}

    def refer(table, index):
        index = index or 0
        check("an index is in its table", 0 <= index < len(tables[table]), table, index)
        seen[table].add(index)
        return index

    def attributes(indices):
        keys = [tables["strings"][tables["attributes"][refer("attributes", i)]["key"] or 0]
                for i in indices]
        check("no key of attributes occurs twice", len(set(keys)) == len(keys), keys)

    for name, table in tables.items():
        check("a table has an entry 0, the empty one", table and not any(
            table[0].values() if isinstance(table[0], dict) else table[0]), name)
        entries = [repr(entry) for entry in table]
        check("no entry is there twice", len(set(entries)) == len(entries), name)
    check("there are resources", decoded["resources"])
    for resource in decoded["resources"]:
        check("a resource has scopes", resource["scopes"])
        keys = [attribute["key"] for attribute in resource["resource"]["attributes"]]
        check("no key of a resource occurs twice", len(set(keys)) == len(keys), keys)
        for scope in resource["scopes"]:
            check("a scope has profiles", scope["profiles"])
            for profile in scope["profiles"]:
                attributes(profile["attributes"])
                for of in (profile["sample_type"], profile["period_type"]):
                    refer("strings", of["type"])
                    refer("strings", of["unit"])
                for sample in profile["samples"]:
                    refer("stacks", sample["stack"])
                    refer("links", sample["link"])
                    attributes(sample["attributes"])
                    check("a sample without times has one value", len(sample["values"]) == 1,
                          sample)
                    check("no sample has times where others have none", not sample["timestamps"],
                          sample)
    for stack in tables["stacks"]:
        for index in stack["locations"]:
            refer("locations", index)
    for location in tables["locations"]:
        refer("mappings", location["mapping"])
        attributes(location["attributes"])
        for line in location["lines"]:
            refer("functions", line["function"])
            check("a line is not negative", (line["line"] or 0) >= 0, line)
    for mapping in tables["mappings"]:
        start, limit = (mapping["start"] or 0) % 2**64, (mapping["limit"] or 0) % 2**64
        check("a mapping is a range", start < limit or start == limit == 0, mapping)
        refer("strings", mapping["filename"])
        attributes(mapping["attributes"])
    for function in tables["functions"]:
        for index in function.values():
            refer("strings", index)
    for attribute in tables["attributes"]:
        refer("strings", attribute["key"])
        refer("strings", attribute["unit"])
    for link in tables["links"][1:]:
        check("IDs have 16 and 8 bytes", len(link["trace_id"]) == 16 and len(link["span_id"]) == 8,
              link)
    for name, table in tables.items():
        orphans = set(range(len(table))) - seen[name]
        check("something refers to each entry", not orphans, name, orphans)
    return decoded


def samples(decoded, type_name):
    """Returns (value, {key: text or number}) of all samples of the profiles of that type."""
    tables = decoded["dictionary"]
    for resource in decoded["resources"]:
        for scope in resource["scopes"]:
            for profile in scope["profiles"]:
                if tables["strings"][profile["sample_type"]["type"]] != type_name:
                    continue
                for sample in profile["samples"]:
                    labels = {}
                    for index in sample["attributes"]:
                        attribute = tables["attributes"][index]
                        value = attribute["value"]
                        labels[tables["strings"][attribute["key"]]] = (
                            value["string"] if value["string"] is not None else value["int"])
                    if sample["link"]:
                        link = tables["links"][sample["link"]]
                        labels["trace_id"], labels["span_id"] = link["trace_id"].hex(), link["span_id"].hex()
                    yield sample["values"][0], labels
