#!/usr/bin/env python3
"""Measures how fast addresses get names, beside perf script, addr2line, eu-addr2line and
llvm-symbolizer, in turns, and compares the names.

    tests/bench/naming.py --bench build/dev/tests/bench/bench_naming [--targets llvm,node,large]
                          [--addresses 100000] [--megabytes 1024] [--rounds 3] [--patience 120]
                          [--tools "labelscope;labelscope, symbols;perf script"]

llvm    libLLVM of this machine. It has the symbols that it exports, and no debug information.
node    Node.js of this machine. It has all symbols, and debug information of a few files.
large   A C++ program with so many megabytes of debug information, which is made here: eight sources
        with templates, compiled by g++ -O2 -g and linked again and again. That takes two minutes on
        two processors. It is kept in --folder, for the next run.

Addresses are drawn from all functions of the symbol table, by their size. All tools get the same ones,
in the same random order, when the file is in memory already.

labelscope          bench_naming: labelscope's own code, from a profile without names to one with all:
                    names, inlined calls, files and lines, demangled, in the worker, which is sealed
labelscope, symbols the same with --symbols, as record --no-debug-info: from symbol tables alone
perf script         a recording that has one sample at each address, made here byte by byte, for a real
                    one would not hit so many addresses; names alone
perf script, lines  the same with -F +srcline, without inlined calls
addr2line           addr2line -f -i, and the same of elfutils and LLVM

What is printed of a tool: the median of its time, its rate beside that of labelscope, and the most memory
that a process of it had (of labelscope its worker; anonymous memory is what is no view of the file). perf
script without lines is held against labelscope with symbols alone. A
tool that needs more than --patience seconds is ended, and its rate is that of the addresses that it has
answered. A tool that needs more than ten seconds has one turn.

Names of symbols alone have to be those of the functions that labelscope finds otherwise. These are compared
with addr2line. Where they differ, llvm-symbolizer says who is right. Kinds:

alias     Both are names of the same function.
unnamed   labelscope gives no name: it says why, or a bound of its own was reached.
line      The names are the same, but not all lines. A file without a line, which addr2line knows from the
          symbol table, counts as none.
names     The functions are others, or the inlined calls. addr2line gives an inlined call the name of the
          function around it, if both begin at one address, and hand-written assembly the name of the last label.
"""
import argparse
import collections
import json
import os
import random
import re
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import time

from stack_costs import aim

SOURCES = 8
GROUPS = 24
MOST_MEMORY = 300  # MiB
SLOW = 10
GROUP = r"""
struct Row@ { int key; std::string name; double weight; std::vector<int> parts;
  bool operator<(const Row@& other) const { return key < other.key; } };
template <int N> struct Step@ {
  static long run(const std::vector<Row@>& items, long sum) {
    for (const Row@& item : items) sum += item.key * N + static_cast<long>(item.parts.size());
    return Step@<N - 1>::run(items, sum ^ N);
  }
};
template <> struct Step@<0> { static long run(const std::vector<Row@>&, long sum) { return sum; } };
class Table@ {
 public:
  void add(int key, const std::string& name) {
    items_[key].push_back({key, name, 1.0 / (key + 1), {key, key + @}});
    index_[name] = key;
    total_ += key;
  }
  long sum(const std::function<long(const Row@&)>& each) const {
    long all = 0;
    for (const auto& [key, items] : items_) { for (const Row@& item : items) all += each(item); }
    return all;
  }
  std::vector<Row@> sorted() const {
    std::vector<Row@> all;
    for (const auto& [key, items] : items_) all.insert(all.end(), items.begin(), items.end());
    std::sort(all.begin(), all.end());
    return all;
  }
 private:
  std::map<int, std::vector<Row@>> items_;
  std::unordered_map<std::string, int> index_;
  long total_ = %d;
};
__attribute__((used, noinline)) long work@(int count) {
  Table@ table;
  for (int i = 0; i < count; ++i) table.add(i * %d, std::to_string(i));
  auto shared = std::make_shared<Table@>(table);
  const long offset = %d;
  long all = shared->sum([offset](const Row@& item) { return item.key + offset; });
  const auto sorted = shared->sorted();
  return Step@<%d>::run(sorted, all);
}
"""


def source(number, groups):
    """Returns C++ whose names are in an unnamed namespace: so each copy of its object file can be linked."""
    draw = random.Random(number)
    includes = "".join(f"#include <{one}>\n" for one in ("algorithm", "functional", "map", "memory", "string",
                                                         "unordered_map", "vector"))
    parts = [GROUP.replace("@", str(group)) % (draw.randrange(1000), draw.randrange(3, 99), draw.randrange(100),
                                               draw.randrange(2, 7)) for group in range(groups)]
    return f"{includes}namespace {{{''.join(parts)}}}\n"


def debug_bytes(path):
    """Returns the size of all sections of debug information but strings, which the linker merges."""
    out = subprocess.run(["readelf", "-SW", path], capture_output=True, text=True, check=True).stdout
    return sum(int(size, 16) for name, size in re.findall(r"\] \.debug_(\S+)\s+\S+ +\S+ \S+ (\S+)", out)
               if not name.endswith("str"))


def make_large(folder, megabytes):
    path = f"{folder}/large_{megabytes}"
    if os.path.exists(path):
        return path
    began = time.monotonic()
    few = megabytes < 200
    sources, groups = (1, 4) if few else (SOURCES, GROUPS)
    objects = []
    running = []
    for number in range(sources):
        name = f"{folder}/large_source_{number}_{groups}"
        objects.append(f"{name}.o")
        with open(f"{name}.cc", "w", encoding="utf-8") as out:
            out.write(source(number, groups))
        running.append(subprocess.Popen(["g++", "-std=c++20", "-O2", "-g", "-c", f"{name}.cc", "-o", f"{name}.o"]))
        if len(running) == os.cpu_count():
            if running.pop(0).wait(timeout=300) != 0:
                sys.exit("g++ could not compile a source")
    if any(process.wait(timeout=300) != 0 for process in running):
        sys.exit("g++ could not compile a source")
    with open(f"{folder}/large_main.cc", "w", encoding="utf-8") as out:
        out.write("int main() { return 0; }\n")
    times = max(1, round(megabytes * 2**20 / sum(debug_bytes(one) for one in objects)))
    subprocess.run(["g++", "-g", "-o", f"{path}.new", f"{folder}/large_main.cc", *(objects * times)], check=True,
                   timeout=600)
    os.rename(f"{path}.new", path)
    print(f"made a program of {os.path.getsize(path) >> 20} MiB in {time.monotonic() - began:.0f} s", flush=True)
    return path


def find_llvm():
    found = [f"{folder}/{name}" for folder, _, names in os.walk("/usr/lib") for name in names
             if re.fullmatch(r"libLLVM[-.\d]*\.so[.\d]*", name) and not os.path.islink(f"{folder}/{name}")]
    return max(found, key=os.path.getsize, default=None)


def symbols(path):
    """Returns the functions of the symbol table by their range, with all their names."""
    found = collections.defaultdict(set)
    for table in ("-s", "--dyn-syms"):
        out = subprocess.run(["readelf", "-W", table, path], capture_output=True, text=True, check=False).stdout
        for line in out.splitlines():
            fields = line.split()  # number, value, size, type, binding, visibility, section, name
            if len(fields) >= 8 and fields[3] in ("FUNC", "IFUNC") and fields[6] != "UND" and fields[2] != "0":
                found[int(fields[1], 16), int(fields[2], 0)].add(fields[7].split("@")[0])
        if found:
            break
    return found


def draw_addresses(functions, count):
    draw = random.Random(1)
    spans = sorted(functions)
    weights = [size for _, size in spans]
    if sum(weights) < 2 * count:
        sys.exit(f"its functions have too few bytes for {count} addresses: use --addresses")
    addresses = {}
    while len(addresses) < count:
        for start, size in draw.choices(spans, weights, k=count - len(addresses)):
            addresses[start + draw.randrange(size)] = None
    return list(addresses)


def write_recording(path, program, addresses):
    """Writes a perf.data with the mapping of a program's code, as if its load bias were 0, and a sample at each
    address. Source: tools/perf/Documentation/perf.data-file-format.txt, perf_event_open(2)."""
    sample_type = 1 | 2 | 4  # IP, TID, TIME
    attribute = struct.pack("<IIQQQQQIIQQQQIiQIHH", 1, 112, 0, 1000000, sample_type, 0,
                            1 << 8 | 1 << 9 | 1 << 23,  # mmap, comm, mmap2
                            *[0] * 12)

    def event(kind, misc, body):
        body += b"\0" * (-len(body) % 8)
        return struct.pack("<IHH", kind, misc, 8 + len(body)) + body

    page = 4096
    data = [event(3, 0, struct.pack("<II", 1000, 1000) + b"program\0")]
    out = subprocess.run(["readelf", "-lW", program], capture_output=True, text=True, check=True).stdout
    for offset, start, size in re.findall(r"LOAD +(\S+) (\S+) \S+ (\S+) \S+ R.E", out):
        offset, start, size = int(offset, 16), int(start, 16), int(size, 16)
        before = offset % page
        data.append(event(10, 2, struct.pack("<IIQQQIIQQII", 1000, 1000, start - before,
                                             size + before + page - (size + before) % page, offset - before, 0, 0, 0, 0,
                                             5, 2) + os.fsencode(program) + b"\0"))
    data += [event(9, 2, struct.pack("<QIIQ", address, 1000, 1000, 1000000 + at)) for at, address in enumerate(addresses)]
    body = b"".join(data)
    head = 104
    each = len(attribute) + 16
    with open(path, "wb") as file:
        file.write(b"PERFILE2" + struct.pack("<8Q", head, each, head, each, head + each, len(body), 0, 0) + bytes(32))
        file.write(attribute + bytes(16) + body)


class Turn:
    """One run of a tool."""

    def __init__(self, command, patience, stdin=None, output=None):
        began = time.monotonic()
        with open(stdin or os.devnull, "rb") as given, open(output or os.devnull, "wb") as taken, \
                tempfile.TemporaryFile() as said:
            process = subprocess.Popen(command, stdin=given, stdout=taken, stderr=said)
            self.ended = False
            while not self.ended and time.monotonic() - began < patience:
                self.ended, status, used = os.wait4(process.pid, os.WNOHANG)
                time.sleep(0.002)
            if not self.ended:
                process.kill()
                _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            self.seconds = time.monotonic() - began
            self.memory = used.ru_maxrss / 1024
            said.seek(0)
            self.said = said.read().decode(errors="replace").strip()
        if self.ended and process.returncode != 0:
            raise RuntimeError(f"{' '.join(command)}: status {process.returncode}: {self.said}")


class Target:
    """A file, with addresses in the forms that the tools need."""

    def __init__(self, path, folder, count):
        self.path = path
        self.folder = folder
        self.functions = symbols(path)
        self.addresses = draw_addresses(self.functions, count)
        self.list = f"{folder}/addresses"
        with open(self.list, "w", encoding="ascii") as out:
            out.writelines(f"{address:#x}\n" for address in self.addresses)
        self.recording = f"{folder}/perf.data"
        write_recording(self.recording, path, self.addresses)


def run_labelscope(name, *how):
    def run(target, options):
        output = f"{target.folder}/{name}"
        turn = Turn([options.bench, target.path, target.list, "--names", f"{output}.names", *how], options.patience,
                    output=output)
        measured = json.load(open(output, encoding="utf-8"))
        # The program prints its own time: it reads the list of addresses before, and writes names afterwards.
        turn.seconds = measured["seconds"]
        turn.memory = measured["worker_kib"] / 1024
        turn.anonymous = measured["worker_anonymous_kib"] / 1024
        turn.answered = len(target.addresses)
        return turn
    return run


def run_perf(fields):
    def run(target, options):
        output = f"{target.folder}/perf"
        turn = Turn(["perf", "script", "-i", target.recording, "-F", fields], options.patience, output=output)
        with open(output, "rb") as out:
            turn.answered = sum(1 for line in out if re.match(rb" *[0-9a-f]{4,} ", line))
        return turn
    return run


def run_lister(*command):
    def run(target, options):
        output = f"{target.folder}/{command[0]}.names"
        turn = Turn([*command, "-e", target.path], options.patience, target.list, output)
        with open(output, "rb") as out:
            turn.answered = sum(1 for line in out if line.startswith(b"0x"))
        return turn
    return run


SYMBOLS = "labelscope, symbols"
TOOLS = {
    "labelscope": (None, run_labelscope("labelscope")),
    SYMBOLS: (None, run_labelscope("symbols", "--symbols")),
    "perf script": ("perf", run_perf("ip,sym")),
    "perf script, lines": ("perf", run_perf("ip,sym,srcline")),
    "addr2line": ("addr2line", run_lister("addr2line", "-a", "-f", "-i")),
    "eu-addr2line": ("eu-addr2line", run_lister("eu-addr2line", "-a", "-f", "-i")),
    "llvm-symbolizer": ("llvm-symbolizer", run_lister("llvm-symbolizer", "--output-style=GNU", "-a", "-f", "--inlines",
                                                      "--no-demangle")),
}


def read_names(path):
    """Returns the functions and places of each address, innermost first."""
    found, now = {}, None
    with open(path, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            line = line.rstrip("\n")
            if re.fullmatch(r"0x[0-9a-f]+", line):
                now = found[int(line, 16)] = []
            elif now is not None and line:
                now.append(line)
    return {address: list(zip(lines[::2], lines[1::2])) for address, lines in found.items()}


def demangled(names):
    """Returns the last part of each name as the source has it: without scopes, arguments and the suffix of clones."""
    names = sorted(names)
    out = subprocess.run(["c++filt", "-p"], input="\n".join(names), capture_output=True, text=True, check=True).stdout
    short = {}
    for name, text in zip(names, out.split("\n")):
        text = re.sub(r"( \[clone [^]]*\]|\.(constprop|isra|part|cold)(\.\d+)*)+", "", text)
        if "operator" in text:
            short[name] = "operator"
            continue
        while (shorter := re.sub(r"<[^<>]*>|\([^()]*\)", "", text)) != text:
            text = shorter
        short[name] = text.rsplit("::", 1)[-1].removesuffix(" const")
    return short


def place(text):
    """Returns the name of the file and the line, or None."""
    found = re.match(r"(.*):(\d+)( \(discriminator \d+\))?$", text)
    return (found[1].rsplit("/", 1)[-1], int(found[2])) if found and found[2] != "0" else None


def compare(target, tool):
    """Compares the names of labelscope with those of a tool, and prints how many differ, and who is right."""
    ours, its = (read_names(f"{target.folder}/{name}.names") for name in ("labelscope", tool))
    judge = f"{target.folder}/llvm-symbolizer.names"
    judge = read_names(judge) if os.path.exists(judge) else {}
    every = {name for answers in (ours, its, judge) for lines in answers.values() for name, _ in lines}
    short = demangled(every)
    aliases = {}
    for names in target.functions.values():
        for name in names:
            aliases[name] = names

    def names_of(lines):
        return [short[name] for name, _ in lines]

    def places_of(lines):
        return [place(where) for _, where in lines]

    kinds, right, examples = collections.Counter(), collections.defaultdict(collections.Counter), {}
    for address, theirs in its.items():
        mine = ours[address]
        if mine[-1][0] == "??" != theirs[-1][0]:
            kind = "unnamed"
        elif names_of(mine) == names_of(theirs):
            kind = "same" if places_of(mine) == places_of(theirs) else "line"
        elif len(mine) == len(theirs) == 1 and theirs[0][0] in aliases.get(mine[0][0], ()):
            kind = "alias"
        else:
            kind = "names"
        kinds[kind] += 1
        if kind in ("line", "names") and address in judge:
            of = places_of if kind == "line" else names_of
            said = of(judge[address])
            agrees = "labelscope" if said == of(mine) else tool if said == of(theirs) else "neither"
            right[kind][agrees] += 1
            examples.setdefault((kind, agrees), (address, mine, theirs))
    print(f"names beside {tool}: {len(its)} compared, " + ", ".join(f"{count} {kind}" for kind, count in kinds.most_common()))
    for kind, who in right.items():
        print(f"  {kind}: llvm-symbolizer says as " + ", ".join(f"{name} {count}" for name, count in who.most_common()))
    for (kind, agrees), (address, mine, theirs) in examples.items():
        if agrees != "labelscope":
            print(f"  {kind}, as {agrees}: {address:#x}\n    labelscope {mine}\n    {tool} {theirs}"[:1500])
    return kinds


def compare_symbols(target):
    """Compares the names of symbols alone with the functions that labelscope finds otherwise. There may be none, where
    a bound of labelscope's own was reached."""
    ours, symbols_alone = (read_names(f"{target.folder}/{name}.names") for name in ("labelscope", "symbols"))
    kinds = collections.Counter()
    for address, lines in ours.items():
        name, found = lines[-1][0], symbols_alone[address]
        if len(found) != 1 or place(found[0][1]):
            kinds["with lines or inlined calls"] += 1
        elif found[0][0] == name:
            kinds["the same"] += 1
        elif "??" in (name, found[0][0]):
            kinds["named by symbols alone" if name == "??" else "unnamed"] += 1
        else:
            same = any({name, found[0][0]} <= names for names in target.functions.values())
            kinds["another name of the function" if same else "another function"] += 1
    print(f"names of symbols alone: {len(ours)} compared, " + ", ".join(f"{count} {kind}" for kind, count in kinds.most_common()))


def measure(name, target, options):
    subprocess.run(["cat", target.path], stdout=subprocess.DEVNULL, check=True)
    turns = {tool: [] for tool in TOOLS}
    for _ in range(options.rounds):
        for tool, (program, run) in TOOLS.items():
            if tool not in options.tools or (program and not shutil.which(program)):
                continue
            if any(turn.seconds > SLOW for turn in turns[tool]):
                continue
            try:
                turns[tool].append(run(target, options))
            except RuntimeError as error:
                print(f"{tool}: {error}", flush=True)
    ours = turns["labelscope"]
    if not ours or SYMBOLS in options.tools and not turns[SYMBOLS]:
        sys.exit("labelscope could not name the addresses")
    seconds = {}
    for tool, each in turns.items():
        if tool not in options.tools:
            continue
        if not each:
            why = "failed" if not TOOLS[tool][0] or shutil.which(TOOLS[tool][0]) else "is not installed"
            print(f"| {name:5} | {tool:19} | {why}")
            continue
        taken = statistics.median(turn.seconds for turn in each)
        answered = max(turn.answered for turn in each)
        seconds[tool] = taken * len(target.addresses) / max(answered, 1)
        memory = statistics.median(turn.memory for turn in each)
        note = f", {answered} answered" if answered < len(target.addresses) else ""
        if tool in ("labelscope", SYMBOLS):
            note = f", {statistics.median(turn.anonymous for turn in each):.0f} anonymous"
        beside = seconds[SYMBOLS if tool == "perf script" and SYMBOLS in seconds else "labelscope"]
        print(f"| {name:5} | {tool:19} | {taken:7.2f} s | {seconds[tool] / beside:7.2f} times |"
              f" {memory:5.0f} MiB{note}", flush=True)
    for said in {turn.said for turn in ours if turn.said}:
        print(said)
    if turns[SYMBOLS]:
        compare_symbols(target)
    if turns["addr2line"]:
        compare(target, "addr2line")
    aims = [(f"{name}: MiB of the worker", statistics.median(turn.memory for turn in ours), MOST_MEMORY)]
    for own, tool in ((SYMBOLS, "perf script"), ("labelscope", "perf script, lines"), ("labelscope", "addr2line")):
        if own in seconds and tool in seconds:
            aims.append((f"{name}: time of {own} beside {tool}", seconds[own] / seconds[tool], 1))
    return aims


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bench", required=True, help="the program bench_naming")
    parser.add_argument("--targets", default="llvm,node,large")
    parser.add_argument("--addresses", type=int, default=100_000)
    parser.add_argument("--megabytes", type=int, default=1024, help="debug information of the large program")
    parser.add_argument("--folder", default=f"{tempfile.gettempdir()}/labelscope-bench-naming",
                        help="where the large program is kept")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--tools", default=";".join(TOOLS), help="which, with semicolons; labelscope is always one")
    parser.add_argument("--patience", type=float, default=120, help="seconds, the most of a turn")
    options = parser.parse_args()
    options.tools = ["labelscope", *options.tools.split(";")]
    options.bench = os.path.abspath(options.bench)
    os.makedirs(options.folder, exist_ok=True)
    files = {"llvm": find_llvm, "node": lambda: shutil.which("node"),
             "large": lambda: make_large(options.folder, options.megabytes)}
    print(f"load {os.getloadavg()[0]:.1f}, Linux {os.uname().release}, {os.cpu_count()} processors, "
          f"{options.addresses} addresses, medians of {options.rounds}", flush=True)
    aims, measured = [], 0
    for name in options.targets.split(","):
        path = files[name]()
        if path is None:
            print(f"{name}: it is not on this machine")
            continue
        measured += 1
        print(f"\n{name}: {os.path.realpath(path)}, {os.path.getsize(path) >> 20} MiB")
        with tempfile.TemporaryDirectory() as folder:
            aims += measure(name, Target(os.path.realpath(path), folder, options.addresses), options)
    print()
    for each in aims:
        aim(*each)
    return 0 if measured else 77


if __name__ == "__main__":
    sys.exit(main())
