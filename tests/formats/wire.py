"""Reads the wire format of protobuf strictly: what is not allowed is an error, and no field is
skipped."""

import struct


class Malformed(Exception):
    pass


def varint(data, at):
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise Malformed("a varint without end")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def signed(value):
    return value - (1 << 64) if value >> 63 else value


def fields(data):
    """Yields (number, value) for each field: an int, or bytes."""
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        number, kind = tag >> 3, tag & 7
        if number == 0:
            raise Malformed("a field with the number 0")
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 1:
            value, at = struct.unpack("<Q", data[at : at + 8])[0], at + 8
        elif kind == 2:
            size, at = varint(data, at)
            value, at = data[at : at + size], at + size
        else:
            raise Malformed(f"wire type {kind}")
        if at > len(data):
            raise Malformed("a field is longer than its message")
        yield number, value


def packed(data):
    at, values = 0, []
    while at < len(data):
        value, at = varint(data, at)
        values.append(signed(value))
    return values


def message(data, schema):
    """Returns a dictionary by `schema`: {number: (name, kind)}. Kinds are "int", "str", "bytes",
    "ints", or a schema, and are in a list where the field may repeat. A field that the schema does
    not know is an error."""
    out = {name: [] if isinstance(kind, list) or kind == "ints" else None
           for name, kind in schema.values()}
    for number, value in fields(data):
        if number not in schema:
            raise Malformed(f"field {number} is not in the schema of {sorted(schema)}")
        name, kind = schema[number]
        of_one = kind[0] if isinstance(kind, list) else kind
        if (of_one == "int") != isinstance(value, int) and of_one != "ints":
            raise Malformed(f"{name}: wrong wire type")
        if of_one == "ints":
            out[name] += packed(value) if isinstance(value, bytes) else [signed(value)]
            continue
        if of_one == "int":
            value = signed(value)
        elif of_one == "str":
            value = value.decode("utf-8")  # strictly
        elif isinstance(of_one, dict):
            value = message(value, of_one)
        if isinstance(kind, list):
            out[name].append(value)
        elif out[name] is not None:
            raise Malformed(f"{name}: twice")
        else:
            out[name] = value
    return out
