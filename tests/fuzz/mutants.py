#!/usr/bin/env python3
"""Runs the whole tool on files that are damaged at random: no crash, no hang, no gigabyte, and
right labels.

  mutants.py --labelscope FILE [--debug N] [--elf N] [--files N] [--only KIND] [--seed N]
             [--keep FOLDER]

--debug N: programs whose debug information, symbols or call frame information is damaged. Each
  runs, labels itself and is recorded; the recording is written, every sample of the program has
  its label, and the ledger adds up.
--elf N: the same program with damage anywhere in its headers and tables (it need not run):
  inspect and check look at it.
--files N: of each kind of other files that labelscope reads: recordings, pprof files, presets,
  baselines, perf maps, tables of the unwind cache, debug files. A command that reads it ends with
  a status of its own. --only KIND leaves the other kinds out.

At the end stands what the slowest mutant of each kind took, what the one with most memory needed
(labelscope, or a worker of its), and with which statuses all of them ended.

A mutant is made from its number and the seed, so that a finding can be repeated. Mutants with
findings are kept in FOLDER. The fuzzers beside this file reach deeper into each parser; this tests
all of them together, with the limits in force.
"""

import argparse
import collections
import gzip
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
import zlib

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
        self.name = "sound"  # of the mutant that is recorded
        self.slowest = {}  # by kind: seconds, name
        self.largest = {}  # by kind: MiB, name
        self.statuses = collections.defaultdict(collections.Counter)  # by kind

    def measure(self, kind, name, result):
        self.slowest[kind] = max(self.slowest.get(kind, (0, "")), (result[2], name))
        self.largest[kind] = max(self.largest.get(kind, (0, "")), (result[3], name))
        self.statuses[kind][result[0]] += 1

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
                self.measure("record", self.name, result)
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
        self.name = f"debug-{packed}-{number}"
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
            result = run([self.options.labelscope, *arguments, program])
            self.measure(" ".join(arguments), f"elf-{number}", result)
            problem = complaint(result, allowed, usual_peak)
            if problem:
                self.note(f"elf-{number}", data, what, f"{' '.join(arguments)} {problem}")


# What a parser of text may stumble over.
TOKENS = (b"[" * 5000, b'{"a":' * 5000, b"-1", b"18446744073709551616", b"9" * 400, b"1e999", b"null",
          b"\0", b"\xff\xfe", b'"', b"\n", b"\n\n", b"{}", b"[]", b"%", b"*" * 5000, b"a" * 70000)


def damage_text(data, chance):
    """Damages one place of a text: bytes, numbers, a token, lines twice, gone or in another order."""
    kind = chance.randrange(6)
    if kind == 0:
        return damage(data, chance, 0, len(data))
    at = chance.randrange(len(data))
    if kind == 1:
        data[at:at + chance.choice((0, 0, 1, 8))] = chance.choice(TOKENS)
        return None
    if kind == 2:
        digits = [i for i, byte in enumerate(data) if 48 <= byte <= 57]
        if digits:
            at = chance.choice(digits)
            data[at:at + 1] = chance.choice((b"0", b"9999999999", b"-", b"4294967295", b"7.5"))
        return None
    lines = data.split(b"\n")
    at, other = chance.randrange(len(lines)), chance.randrange(len(lines))
    if kind == 3:
        lines[at:at] = [lines[other]] * chance.choice((1, 1, 2, 300))
    elif kind == 4:
        del lines[at]
    else:
        lines[at], lines[other] = lines[other], lines[at]
    data[:] = b"\n".join(lines)
    return None


def text_mutant(original, chance):
    data = bytearray(original)
    for _ in range(chance.choice((1, 1, 2, 4, 16))):
        damage_text(data, chance)
        if not data:
            data = bytearray(b"\n")
    if chance.randrange(16) == 0:
        del data[chance.randrange(len(data)):]
    return bytes(data)


def bytes_mutant(original, chance):
    data = bytearray(original)
    for _ in range(chance.choice((1, 1, 2, 4, 16))):
        damage(data, chance, 0, len(data))
    return bytes(data)


def packed_mutant(original, chance):
    """Damages what is packed, or once in eight times the packed file."""
    if chance.randrange(8) == 0:
        return bytes_mutant(original, chance)
    return gzip.compress(bytes_mutant(gzip.decompress(original), chance), 1)


def table_mutant(original, chance):
    """Damages a table of the unwind cache. Most have the right checksum (table_cache.cc)."""
    head = 32 + 5 * 8 + 3 * 8
    data = bytearray(original)
    for _ in range(chance.choice((1, 1, 2, 4, 16))):
        damage(data, chance, head, len(data) - head)
    del data[len(original):]
    if chance.randrange(8) != 0:
        struct.pack_into("<Q", data, head - 8, zlib.crc32(data[head:]))
    return bytes(data)


def debug_mutant(original, chance):
    return mutant(original, chance, (".debug", ".symtab", ".strtab", ".eh_frame", ".note"))[0]


# It runs code in memory without a file, so that its perf map is read.
GENERATED = r"""
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
int main(void) {
  char* code = mmap((void*)0x200000000, 1 << 16, 7, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
#if defined(__x86_64__)
  for (int i = 0; i < 1 << 16; i++) code[i] = (char)0x90;
  memcpy(code + (1 << 16) - 5, "\xe9\x00\x00\xff\xff", 5);
#else
  for (int i = 0; i < 1 << 16; i += 4) memcpy(code + i, "\x1f\x20\x03\xd5", 4);
  memcpy(code + (1 << 16) - 4, "\x01\xc0\xff\x17", 4);
  __builtin___clear_cache(code, code + (1 << 16));
#endif
  puts("ready");
  fflush(stdout);
  ((void (*)(void))code)();
}
"""


class Files:
    """The kinds of files besides programs: how a sound one is made and damaged, and what reads it.
    """

    def __init__(self, trial, program):
        self.trial = trial
        self.folder = trial.folder
        self.labelscope = trial.options.labelscope
        self.program = program
        self.children = []

    def call(self, *arguments):
        subprocess.run([self.labelscope, *arguments], check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)

    def start(self, program):
        child = subprocess.Popen([program], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        self.children.append(child)
        assert child.stdout.readline() == b"ready\n"
        return child

    def recorded(self, ending):
        path = self.folder / f"sound{ending}"
        target = self.start(self.program)
        self.call("record", "-d", "0.5", "-F", "997", "-o", path, "-p", str(target.pid))
        target.kill()
        return path.read_bytes()

    def report(self, ending):
        return lambda path: [["report", path, "--summary", "file"],
                             ["report", path, "-o", self.folder / "out.html", "--overwrite"]]

    def perf_map(self):
        source = self.folder / "generated.c"
        source.write_text(GENERATED)
        subprocess.run(["cc", "-o", self.folder / "generated", source], check=True)
        child = self.start(self.folder / "generated")
        lines = [f"{0x200000000 + 64 * i:x} 40 function_{i}" for i in range(1024)]
        # Both names of the file must be damaged together, so it is written where it is read.
        path = pathlib.Path(f"/tmp/perf-{child.pid}.map")
        return "\n".join(lines).encode() + b"\n", path, [
            ["record", "-d", "0.1", "-F", "499", "--overwrite", "-o", self.folder / "map.jsonl", "-p",
             str(child.pid)]]

    def cached_table(self):
        cache = self.folder / "cache"
        child = self.start(self.program)
        words = ["record", "-d", "0.1", "-F", "499", "--overwrite", "--unwind-cache", cache, "-o",
                 self.folder / "cached.jsonl", "-p", str(child.pid)]
        self.call(*words)
        path = max(cache.glob("*.table"), key=lambda each: each.stat().st_size)
        return path.read_bytes(), path, [words]

    def debug_file(self):
        path = self.folder / "split.debug"
        split = self.folder / "split"
        subprocess.run(["objcopy", "--only-keep-debug", self.program, path], check=True)
        subprocess.run(["objcopy", "--strip-all", f"--add-gnu-debuglink={path}", self.program, split],
                       check=True)
        child = self.start(split)
        return path.read_bytes(), path, [
            ["record", "-d", "0.1", "-F", "499", "--overwrite", "--debug-dir", self.folder, "-o",
             self.folder / "debug.jsonl", "-p", str(child.pid)]]

    def kinds(self):
        recording = self.folder / "mutant.jsonl"
        pprof = self.folder / "mutant.pb.gz"
        preset = self.folder / "mutant.preset"
        baseline = self.folder / "baseline.json"
        report = self.report("")
        target = lambda: str(self.start(self.program).pid)

        def sound_baseline():
            with open(baseline, "wb") as out:
                subprocess.run([self.labelscope, "check", "--format", "json", self.program],
                               stdout=out, stderr=subprocess.DEVNULL, check=False)
            return baseline.read_bytes()

        return {
            "recording": lambda: (text_mutant, self.recorded(".jsonl"), recording, report(recording)),
            "pprof": lambda: (packed_mutant, self.recorded(".pb.gz"), pprof, report(pprof)),
            "preset": lambda: (text_mutant, (ROOT / "reader/presets/postgres.preset").read_bytes(),
                               preset, [["dump", "-p", target(), "--preset", preset]]),
            "baseline": lambda: (text_mutant, sound_baseline(), baseline,
                                 [["check", "--baseline", baseline, self.program]]),
            "perf-map": lambda: (text_mutant, *self.perf_map()),
            "table": lambda: (table_mutant, *self.cached_table()),
            "debug-file": lambda: (debug_mutant, *self.debug_file()),
        }

    def run(self, kind, make, count):
        damaged, sound, path, calls = make()
        path.write_bytes(sound)
        usual = 0
        for words in calls:
            for _ in range(20):
                result = run([self.labelscope, *words])
                if result[0] != 5:  # On a busy machine the program may not run in so short a time.
                    break
            # The program is no server of the preset, and check has findings in it.
            if result[0] not in (0, {"preset": 1, "baseline": 3}.get(kind)):
                sys.exit(f"{kind}: the file that is not damaged: {result[:2]}")
            usual = max(usual, result[3])
        for number in range(count):
            name = f"{kind}-{number}"
            data = damaged(sound, random.Random(f"{self.trial.options.seed}/{name}"))
            self.trial.counts[kind] += 1
            for words in calls:
                path.write_bytes(data)
                result = run([self.labelscope, *words])
                self.trial.measure(kind, name, result)
                # A status of labelscope's own, whatever it says of the file
                problem = complaint(result, range(0, 10), usual)
                if problem:
                    self.trial.note(name, data, words[0], problem)
        path.unlink(missing_ok=True)

    def end(self):
        for child in self.children:
            child.kill()
            child.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--labelscope", required=True, type=pathlib.Path)
    parser.add_argument("--debug", type=int, default=448)
    parser.add_argument("--elf", type=int, default=700)
    parser.add_argument("--files", type=int, default=100)
    parser.add_argument("--only")
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
        files = Files(trial, programs["none"])
        try:
            for kind, make in files.kinds().items():
                if options.only in (None, kind):
                    files.run(kind, make, options.files)
        finally:
            files.end()
    for kind, (seconds, name) in trial.slowest.items():
        memory, of = trial.largest[kind]
        ended = ", ".join(f"{count} with {status}"
                          for status, count in trial.statuses[kind].most_common())
        print(f"{kind}: at most {seconds:.1f} s ({name}), {memory:.0f} MiB ({of}); ended: {ended}")
    print(", ".join(f"{count} {what}" for what, count in sorted(trial.counts.items())) +
          f"; {len(trial.findings)} findings")
    sys.exit(1 if trial.findings else 0)


if __name__ == "__main__":
    main()
