#!/usr/bin/env python3
"""Runs the whole tool on files that are damaged at random: no crash, no hang, no gigabyte, and
right labels.

  mutants.py --labelscope FILE [--debug N] [--elf N] [--seed N] [--keep FOLDER]

--debug N: programs whose debug information, symbols or call frame information is damaged. Each
  runs, labels itself and is recorded; the recording is written, every sample of the program has
  its label, and the ledger adds up.
--elf N: the same program with damage anywhere in its headers and tables (it need not run):
  inspect and check look at it.

A mutant is made from its number and the seed, so that a finding can be repeated. Mutants with
findings are kept in FOLDER. The fuzzers beside this file reach deeper into each parser; this tests
all of them together, with the limits in force.
"""

import argparse
import collections
import json
import os
import pathlib
import random
import resource
import struct
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
SECONDS = 20  # limit for one call of labelscope, whose watchdogs have shorter ones
MEMORY_MIB = 64  # more than the same call needs for the file that is not damaged

Section = collections.namedtuple("Section", "name offset size")


def build(folder, packed):
    """Builds the program of the hostile tests, with debug information."""
    program = folder / f"program-{packed}"
    sources = [ROOT / "tests/targets/hostile/hostile.c",
               *sorted((ROOT / "writer-lib/src").glob("*.c"))]
    subprocess.run(
        ["cc", "-O2", "-g", "-I", ROOT / "writer-lib/include", *sources, "-pthread", "-rdynamic",
         f"-Wl,--compress-debug-sections={packed}", "-o", program],
        check=True)
    return program


def sections_of(data):
    """Returns the sections of a sound 64-bit file that have bytes in it."""
    table, = struct.unpack_from("<Q", data, 0x28)
    size, count, names = struct.unpack_from("<HHH", data, 0x3A)
    heads = [struct.unpack_from("<IIQQQQ", data, table + i * size) for i in range(count)]
    text = heads[names][4]
    found = []
    for name, kind, _, _, offset, length in heads:
        if kind in (0, 8) or length == 0:  # SHT_NULL, SHT_NOBITS
            continue
        end = data.index(b"\0", text + name)
        found.append(Section(data[text + name:end].decode(), offset, length))
    return found


def damage(data, chance, offset, size):
    """Damages one place: a byte, an integer of the kind that overflows, a copy from elsewhere in
    the file, or zeros."""
    at = offset + chance.randrange(size)
    kind = chance.randrange(5)
    if kind == 0:
        data[at] ^= 1 << chance.randrange(8)
    elif kind == 1:
        data[at] = chance.randrange(256)
    elif kind == 2:
        width = chance.choice((2, 4, 8))
        value = chance.choice((0, 1, 0x7F, 0xFF, 1 << 15, 1 << 31, (1 << 32) - 1, 1 << 62,
                               (1 << 64) - 1))
        patch = (value & ((1 << 8 * width) - 1)).to_bytes(width, "little")
        data[at:at + width] = patch[:max(0, offset + size - at)]
    else:
        length = min(chance.randrange(1, 64), offset + size - at)
        start = chance.randrange(len(data) - length)
        data[at:at + length] = data[start:start + length] if kind == 3 else bytes(length)


def mutant(original, chance, names):
    """Makes a mutant. `names` are the beginnings of the names of sections to damage; None stands
    for headers and tables of the whole file."""
    data = bytearray(original)
    length = len(data)
    if names is None:
        loaded = [s for s in sections_of(original) if not s.name.startswith(".debug")
                  and s.name != ".text"]
        places = [Section("header", 0, 64), Section("segments", 64, 56 * 13), *loaded]
    else:
        places = [s for s in sections_of(original) if s.name.startswith(names)]
    wounded = [chance.choice(places) for _ in range(chance.choice((1, 1, 2, 4, 16)))]
    for place in wounded:
        damage(data, chance, place.offset, place.size)
    del data[length:]
    if names is None and chance.randrange(8) == 0:
        del data[chance.randrange(length):]
    return bytes(data), "+".join(sorted({place.name for place in wounded}))


def run(argv):
    """Returns status, stderr, seconds and peak memory in MiB of one call. The status is None if it
    did not end."""
    started = time.monotonic()
    with tempfile.TemporaryFile() as err, subprocess.Popen(argv, stdout=subprocess.DEVNULL,
                                                           stderr=err) as child:
        status = None
        usage = None
        while time.monotonic() - started < SECONDS:
            pid, code, usage = os.wait4(child.pid, os.WNOHANG)
            if pid:
                status = os.waitstatus_to_exitcode(code)
                child.returncode = status
                break
            time.sleep(0.005)
        else:
            child.kill()
        err.seek(0)
        text = err.read().decode(errors="replace")
    peak = usage.ru_maxrss / 1024 if usage and status is not None else 0
    return status, text, time.monotonic() - started, peak


def complaint(result, allowed, usual_peak):
    status, text, seconds, peak = result
    if status is None:
        return f"has not ended after {SECONDS} s"
    if status not in allowed:
        return f"ended with {status}: {text[-300:]}"
    if "internal error" in text:
        return f"internal error: {text[-300:]}"
    if peak > usual_peak + MEMORY_MIB:
        return f"needed {peak:.0f} MiB, and {usual_peak:.0f} for the file that is not damaged"
    return None


def recording_complaint(path):
    """Returns what is wrong with a recording of a program that always has the label file=hostile.
    """
    lines = [json.loads(line) for line in path.read_text(errors="replace").splitlines()]
    right = {line["id"] for line in lines if line["type"] == "labels"
             and any(label["key"] == "file" and label["value"] == "hostile"
                     for label in line["labels"])}
    samples = [line for line in lines if line["type"] == "sample"]
    if not samples:
        return "no sample"
    if any(sample["labels"] not in right for sample in samples):
        return "a sample without the label that its thread had"
    return None


class Trial:
    def __init__(self, options, folder):
        self.options = options
        self.folder = folder
        self.findings = []
        self.counts = collections.Counter()

    def note(self, name, data, what, problem):
        self.findings.append(name)
        print(f"{name} ({what}): {problem}", file=sys.stderr)
        if self.options.keep:
            self.options.keep.mkdir(parents=True, exist_ok=True)
            (self.options.keep / name).write_bytes(data)

    def record(self, program, usual_peak):
        """Records a running program. Returns the complaint, or None, and the peak."""
        with subprocess.Popen([program], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE) as target:
            try:
                if target.stdout.readline() != b"ready\n":
                    return "cannot run", 0
                recording = self.folder / "recording.jsonl"
                recording.unlink(missing_ok=True)
                result = run([self.options.labelscope, "record", "-d", "0.3", "-F", "499", "-o",
                              recording, "-p",
                              str(target.pid)])
                problem = complaint(result, (0,), usual_peak) or recording_complaint(recording)
                if problem is None:
                    result = run([self.options.labelscope, "dump", "--stacks", "-p",
                                  str(target.pid)])
                    problem = complaint(result, (0,), usual_peak)
                return problem, result[3]
            finally:
                target.kill()

    def debug(self, number, original, packed, usual_peak):
        chance = random.Random(f"{self.options.seed}/debug/{number}")
        data, what = mutant(original, chance,
                            (".debug", ".zdebug", ".symtab", ".strtab", ".eh_frame", ".note"))
        program = self.folder / "mutant"
        program.write_bytes(data)
        program.chmod(0o755)
        problem, _ = self.record(program, usual_peak)
        self.counts["cannot run" if problem == "cannot run" else "recorded"] += 1
        if problem not in (None, "cannot run"):
            self.note(f"debug-{packed}-{number}", data, what, problem)

    def elf(self, number, original, usual_peak):
        chance = random.Random(f"{self.options.seed}/elf/{number}")
        data, what = mutant(original, chance, None)
        program = self.folder / "mutant.so"
        program.write_bytes(data)
        self.counts["inspected"] += 1
        for arguments, allowed in ((["inspect"], (0, 1)), (["inspect", "--unwind"], (0, 1)),
                                   (["check"], (0, 1, 3))):
            problem = complaint(run([self.options.labelscope, *arguments, program]), allowed,
                                usual_peak)
            if problem:
                self.note(f"elf-{number}", data, what, f"{' '.join(arguments)} {problem}")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--labelscope", required=True, type=pathlib.Path)
    parser.add_argument("--debug", type=int, default=448)
    parser.add_argument("--elf", type=int, default=700)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=pathlib.Path)
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        trial = Trial(options, folder)
        programs = {packed: build(folder, packed) for packed in ("none", "zlib")}
        usual, peaks = {}, []
        for packed, program in programs.items():
            problem, peak = trial.record(program, 1 << 20)
            if problem:
                sys.exit(f"the program that is not damaged: {problem}")
            usual[packed] = program.read_bytes()
            peaks.append(peak)
        for number in range(options.debug):
            packed = ("none", "zlib")[number % 2]
            trial.debug(number, usual[packed], packed, max(peaks))
        for number in range(options.elf):
            trial.elf(number, usual["none"], max(peaks))
    print(", ".join(f"{count} {what}" for what, count in sorted(trial.counts.items())) +
          f"; {len(trial.findings)} findings")
    sys.exit(1 if trial.findings else 0)


if __name__ == "__main__":
    main()
