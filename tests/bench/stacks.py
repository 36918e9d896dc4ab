#!/usr/bin/env python3
"""Measures how many stacks of ordinary programs are whole: labelscope and `perf record`, in the
same minutes.

    tests/bench/stacks.py --labelscope build/dev/cli/labelscope [--programs xz,redis] [--seconds 5]
                          [--rate 199]

Each program runs under load, and is recorded once by each: labelscope with --call-graph dwarf and
fp, perf with --call-graph fp and dwarf. The output has, for each, the share of samples whose stack
reaches the start of its thread, the median number of frames of the user's part, the share of those
frames that have a name, and the number of callers that are wrong (labelscope only). Programs that
are not installed are left out, and named. Needs root, as both tools do.

labelscope reports whether a stack reached the start of its thread (the ledger's counters). For
perf's stacks the name of the last function shows it: one that a thread starts with.

A caller is wrong if the program itself contradicts it, in one of two ways. In the program's memory
there is no call in front of the place to which the frame returns (x86-64, code of files). Or it is
a program that is made here, and its source has no call of the one function in the other.
"""
import argparse
import collections
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

STARTS = {"_start", "__libc_start_main", "__libc_start_main_impl", "__libc_start_main@@GLIBC_2.34",
          "__libc_start_call_main", "clone", "clone3", "__clone", "__clone3", "__GI___clone3",
          "start_thread",
          "runtime.goexit", "runtime.goexit.abi0", "runtime.rt0_go", "runtime.rt0_go.abi0",
          "_rt0_amd64_linux",
          "runtime.mstart", "runtime.mstart.abi0"}

PYTHON = """
import json, re
def parse(n):
    return json.loads(json.dumps([{"a": i, "b": "x" * (i % 50)} for i in range(n)]))
def search(rows):
    return sum(len(re.findall("x+", row["b"])) for row in rows)
while True:
    search(parse(2000))
"""
NODE = """
const crypto = require('crypto');
function parse(n) { return JSON.parse(JSON.stringify(Array.from({length: n}, (_, i) => ({a: i, b: 'x'.repeat(i % 50)})))); }
function search(rows) { return rows.reduce((sum, row) => sum + (row.b.match(/x+/g) || []).length, 0); }
for (;;) { search(parse(2000)); crypto.createHash('sha256').update('y'.repeat(100000)).digest(); }
"""
GO = """
package main
import ("fmt"; "strings"; "sort")
func parse(n int) []string { var all []string; for i := 0; i < n; i++ { all = append(all, fmt.Sprintf("%d", i*7919%n)) }; return all }
func order(all []string) string { sort.Strings(all); return strings.Join(all, ",") }
func main() { for { go order(parse(1000)); order(parse(2000)) } }
"""
JAVA = """
public class Work {
  static volatile long sink;
  static long leaf(long n) {
    long s = n;
    for (long i = 0; i < n; i++) s = s * 31 + (i ^ (s >>> 7));
    return s;
  }
  static long middle(long n) {
    long r = 0;
    for (int i = 0; i < 10; i++) r += leaf(n + i);
    return r;
  }
  static long top(long n) { return middle(n) + middle(n + 1); }
  public static void main(String[] unused) { for (;;) sink += top(20000); }
}
"""
PHP = """<?php
function leaf($n) {
  $s = 0;
  for ($i = 0; $i < $n; $i++) { $s = ($s * 31 + $i) & 0xffffff; }
  return $s;
}
function top($n) { return leaf($n) + strlen(str_repeat('x', 1000)); }
while (true) top(100000);
"""
SQL = """
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000000)
SELECT sum(length(printf('%d', i)) * (i % 7)) FROM n;
"""


class Load:
    """A program under load: the process to record, and all processes that must be ended afterwards.
    """

    def __init__(self, folder):
        self.folder = folder
        self.processes = []
        self.pid = None

    def start(self, *command, text=None, user=None):
        stdin = subprocess.PIPE if text is not None else subprocess.DEVNULL
        process = subprocess.Popen(command, stdin=stdin, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL,
                                   cwd=self.folder, user=user, start_new_session=True)
        if text is not None:
            process.stdin.write(text.encode())
            process.stdin.close()
        self.processes.append(process)
        return process.pid

    def wait_for(self, what, done):
        for _ in range(200):
            if done():
                return
            time.sleep(0.05)
        sys.exit(f"{what} did not come up")

    def end(self):
        for process in reversed(self.processes):
            try:
                os.killpg(process.pid, signal.SIGTERM)
            except ProcessLookupError:
                pass
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def quiet(*command):
    return subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                          check=False).returncode == 0


def children(pid):
    return [int(p) for t in os.listdir(f"/proc/{pid}/task")
            for p in open(f"/proc/{pid}/task/{t}/children", encoding="ascii").read().split()]


def xz(load):
    path = f"{load.folder}/random"
    with open(path, "wb") as out:
        out.write(os.urandom(64 << 20))
    load.pid = load.start("sh", "-c", f"while :; do cat {path}; done | exec xz -T2 -6 -c")
    load.wait_for("xz", lambda: any(name_of(p) == "xz" for p in children(load.pid))
                  or name_of(load.pid) == "xz")
    load.pid = next((p for p in children(load.pid) if name_of(p) == "xz"), load.pid)


def name_of(pid):
    try:
        return open(f"/proc/{pid}/comm", encoding="utf-8").read().strip()
    except OSError:
        return ""


def python3(load):
    load.pid = load.start("python3", "-c", PYTHON)


def sqlite3(load):
    load.pid = load.start("sqlite3", ":memory:", text=SQL)


def redis(load):
    load.pid = load.start("redis-server", "--port", "7399", "--save", "")
    load.wait_for("redis", lambda: quiet("redis-cli", "-p", "7399", "ping"))
    load.start("redis-benchmark", "-p", "7399", "-n", "100000000", "-q", "-t", "set,get,lpush,zadd",
               "-l")


def nginx(load):
    with open(f"{load.folder}/nginx.conf", "w", encoding="utf-8") as out:
        out.write(f"daemon off; worker_processes 1; pid {load.folder}/pid; error_log {load.folder}/log;\n"
                  "events {} http { access_log off; gzip on; gzip_types *; gzip_min_length 1;\n"
                  f"server {{ listen 127.0.0.1:7398; location / {{ root {load.folder}; }} }} }}\n")
    with open(f"{load.folder}/page.html", "w", encoding="utf-8") as out:
        out.write("<p>some text</p>\n" * 2000)
    os.chmod(load.folder, 0o755)
    master = load.start("nginx", "-c", f"{load.folder}/nginx.conf", "-p", load.folder)
    load.wait_for("nginx", lambda: children(master))
    load.pid = children(master)[0]
    load.start("sh", "-c", "while :; do ab -q -k -n 100000 -c 4 -H 'Accept-Encoding: gzip' "
                           "http://127.0.0.1:7398/page.html; done")


def postgres(load, *settings):
    programs = subprocess.run("ls -d /usr/lib/postgresql/*/bin", shell=True, capture_output=True,
                              text=True,
                              check=True).stdout.split()[-1]
    data = f"{load.folder}/data"
    os.mkdir(data)
    shutil.chown(data, "postgres")
    os.chmod(load.folder, 0o755)
    subprocess.run([f"{programs}/initdb", "-D", data, "-A", "trust"], user="postgres", cwd=data,
                   check=True,
                   stdout=subprocess.DEVNULL)
    load.start(f"{programs}/postgres", "-D", data, "-p", "7397", "-k", data, *settings,
               user="postgres")
    psql = ["psql", "-h", data, "-p", "7397", "-U", "postgres", "-qc"]
    load.wait_for("postgres", lambda: quiet(*psql, "select 1"))
    with open(f"{load.folder}/query.sql", "w", encoding="utf-8") as out:
        out.write("select sum(i * 2), count(distinct i % 100), max(md5(i::text)) from generate_series(1, 20000) i;\n")
    load.start("pgbench", "-h", data, "-p", "7397", "-U", "postgres", "-n", "-T", "600", "-f",
               f"{load.folder}/query.sql", "postgres")
    # The first connections of pgbench end soon, so a later one is recorded.
    load.wait_for("pgbench", lambda: backend(psql))
    load.pid = backend(psql)


def backend(psql):
    found = subprocess.run([*psql[:-1], "-Atqc",
                            "select pid from pg_stat_activity where application_name = 'pgbench' "
                            "and query like '%generate_series%'"], capture_output=True, text=True,
                            check=False).stdout
    return int(found.split()[0]) if found.split() else None


def node(load, *options):
    load.pid = load.start("node", *options, "-e", NODE)


def go(load):
    with open(f"{load.folder}/main.go", "w", encoding="utf-8") as out:
        out.write(GO)
    subprocess.run(["go", "build", "-o", "program", "main.go"], cwd=load.folder, check=True,
                   env={**os.environ, "GOCACHE": f"{load.folder}/cache"})
    load.pid = load.start(f"{load.folder}/program")


def built(load, source, *compiler):
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), source)
    subprocess.run([*compiler, "-O2", "-o", f"{load.folder}/program", path], check=True)
    load.pid = load.start(f"{load.folder}/program")


def cxx(load, *options):
    built(load, "stacks_program.cc", "g++", "-std=c++20", *options)


def java(load, *options):
    with open(f"{load.folder}/Work.java", "w", encoding="utf-8") as out:
        out.write(JAVA)
    subprocess.run(["javac", "Work.java"], cwd=load.folder, check=True)
    load.pid = load.start("java", *options, "-XX:CompileCommand=dontinline,Work.*",
                          "-XX:CompileCommand=quiet", "Work")


def php(load):
    with open(f"{load.folder}/work.php", "w", encoding="utf-8") as out:
        out.write(PHP)
    settings = ("zend_extension=opcache", "opcache.enable=1", "opcache.enable_cli=1",
                "opcache.jit=1205", "opcache.jit_buffer_size=64M")
    load.pid = load.start("php", *(word for one in settings for word in ("-d", one)), "work.php")


# Each query is compiled, however short it is. The code has neither call frame information nor frame
# pointers.
JIT = ("-c", "jit=on", "-c", "jit_above_cost=0", "-c", "jit_inline_above_cost=0", "-c",
       "jit_optimize_above_cost=0")
# Which functions call a function, in programs whose source is here.
OF_C = {"leaf": {"third"}, "third": {"second"}, "second": {"first"},
        "first": {"main", "run_thread", "run_fiber"}}
OF_GO = {"main.parse": {"main.main"}, "main.order": {"main.main", "main.main.func1"},
         "main.main": {"runtime.main"}}
OF_CXX = {"check": {"throw_and_catch"}, "throw_and_catch": {"main"}, "recurse": {"recurse", "main"},
          "resume_often": {"main"}, "on_the_stack": {"main"}, "called_by_assembly": {"in_assembly"},
          "in_assembly": {"main"}}
CALLERS = {"go": OF_GO, "C++": OF_CXX, "C++ by lld": OF_CXX, "musl": OF_C, "fibers": OF_C}
PROGRAMS = {
    "xz": (xz, "xz"), "python3": (python3, "python3"), "sqlite3": (sqlite3, "sqlite3"),
    "redis": (redis, "redis-server"),
    "nginx": (nginx, "nginx"), "postgres": (lambda load: postgres(load, "-c", "jit=off"),
                                            "pgbench"),
    "postgres with JIT": (lambda load: postgres(load, *JIT), "pgbench"),
    "node": (node, "node"),
    "node --perf-basic-prof": (lambda load: node(load, "--perf-basic-prof"), "node"),
    "go": (go, "go"),
    "C++": (cxx, "g++"), "C++ by lld": (lambda load: cxx(load, "-fuse-ld=lld"), "ld.lld"),
    "musl": (lambda load: built(load, "stacks_program.c", "musl-gcc", "-static"), "musl-gcc"),
    "fibers": (lambda load: built(load, "stacks_program.c", "gcc", "-DFIBERS"), "gcc"),
    "node --use-largepages=on": (lambda load: node(load, "--use-largepages=on"), "node"),
    "java": (java, "javac"),
    "java -XX:+PreserveFramePointer": (lambda load: java(load, "-XX:+PreserveFramePointer"),
                                       "javac"),
    "php with JIT": (php, "php"),
}
TOOLS = ["labelscope dwarf", "labelscope fp", "perf fp", "perf dwarf"]


# Return addresses that were made, and that no call has left.
MADE = {"__start_context", "make_fcontext", "runtime.goexit", "runtime.goexit.abi0"}
SIGNAL_RETURN = b"\x48\xc7\xc0\x0f\0\0\0\x0f\x05"  # mov $15, %rax; syscall


# A call is e8 and a distance, or ff with 2 in the middle of its ModRM byte and up to 5 bytes more.
def is_behind_call(code):
    return code[-5] == 0xe8 or any(code[-size] == 0xff and code[-size + 1] >> 3 & 7 == 2
                                   for size in range(2, 8))


class Truth:
    """What the program's memory and its source say of callers."""

    def __init__(self, name, pid):
        self.callers = CALLERS.get(name, {})
        self.memory = open(f"/proc/{pid}/mem", "rb", buffering=0)
        self.files = set()
        self.wrong = collections.Counter()
        self.checked = 0

    def add_module(self, row):
        if row["kind"] == "file" and os.uname().machine == "x86_64":
            self.files.add(row["id"])

    def code_at(self, address, size):
        try:
            self.memory.seek(address)
            return self.memory.read(size)
        except (OSError, ValueError):
            return b""  # it was unmapped meanwhile

    def returns_behind_call(self, location):
        code = self.code_at(int(location["address"], 16) + 1 - 8, 8)
        return location["module"] not in self.files or len(code) < 8 or is_behind_call(code)

    def returns_from_signal(self, location):
        # A handler returns to the first byte, and the kernel is behind the last one.
        size = len(SIGNAL_RETURN)
        return SIGNAL_RETURN in self.code_at(int(location["address"], 16) - size, 2 * size + 1)

    def check(self, stack, locations, count):
        names = []
        interrupted = True  # what comes next has not called
        callee = ""
        for number in stack:
            location = locations[number]
            name = plain_name(location["lines"][-1]) if location["lines"] else ""
            names += [plain_name(line) for line in location["lines"]] or [""]
            # What a signal has interrupted has not called, and the kernel has returned to nothing.
            from_signal = self.returns_from_signal(location)
            is_caller = not interrupted and not from_signal and name not in MADE
            self.checked += count * is_caller
            if is_caller and not self.returns_behind_call(location):
                self.wrong[f"no call of {callee} in front of {location['address']} {name}"] += count
            # Go's runtime makes a goroutine call this wherever it is.
            interrupted = from_signal or name.startswith("runtime.asyncPreempt")
            callee = name
        for callee, caller in zip(names, names[1:]):
            if callee in self.callers and caller not in self.callers[callee]:
                self.wrong[f"{caller} does not call {callee}"] += count


def plain_name(line):
    name = line["function"]
    name = name if isinstance(name, str) else "?"
    return name.removeprefix("(anonymous namespace)::").split("(")[0]


def by_labelscope(options, name, pid, how, path):
    subprocess.run([options.labelscope, "record", "-q", "-F", str(options.rate), "-d",
                    str(options.seconds),
                    "--call-graph", how, "--no-kernel", "--overwrite", "-o", path, "-p", str(pid)],
                    check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    named, stacks, depths, frames, with_name, counters, samples = {}, {}, [], 0, 0, {}, 0
    locations, truth = {}, Truth(name, pid)
    for line in open(path, encoding="utf-8"):
        row = json.loads(line)
        if row["type"] == "location":
            named[row["id"]] = any(one["system_name"] for one in row["lines"])  # else an offset
            locations[row["id"]] = row
        elif row["type"] == "module":
            truth.add_module(row)
        elif row["type"] == "stack":
            stacks[row["id"]] = row["locations"]
        elif row["type"] == "sample":
            truth.check(stacks[row["stack"]], locations, row["count"])
            for _ in range(row["count"]):
                stack = stacks[row["stack"]]
                depths.append(len(stack))
                frames += len(stack)
                with_name += sum(named[location] for location in stack)
                samples += 1
        elif row["type"] == "ledger":
            counters = {one["name"]: one["count"] for one in row["counters"]}
    whole = counters.get("stacks-complete", 0) + counters.get("stacks-at-entry", 0)
    reasons = {name[7:]: count for name, count in counters.items()
               if name.startswith("stacks-") and name not in ("stacks-complete", "stacks-at-entry")}
    return samples, whole, depths, frames, with_name, reasons, truth


def by_perf(options, _name, pid, how, path):
    subprocess.run(["perf", "record", "-q", "-e", "cpu-clock:u", "-F", str(options.rate),
                    "--call-graph", how, "-o", path,
                    "-p", str(pid), "--", "sleep", str(options.seconds)], check=True,
                    stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    text = subprocess.run(["perf", "script", "-i", path, "-F", "pid,ip,sym"], capture_output=True,
                          text=True,
                          errors="replace", check=True).stdout
    depths, frames, with_name, whole, samples = [], 0, 0, 0, 0
    for block in text.split("\n\n"):
        names = [line.split(None, 1)[1] if len(line.split(None, 1)) > 1 else "[unknown]"
                 for line in block.strip().split("\n")[1:]]
        if not block.strip():
            continue
        samples += 1
        depths.append(len(names))
        frames += len(names)
        with_name += sum(name != "[unknown]" for name in names)
        whole += bool(names) and names[-1].split("+")[0] in STARTS
    return samples, whole, depths, frames, with_name, {}, None


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--labelscope", required=True)
    parser.add_argument("--programs", default=",".join(PROGRAMS))
    parser.add_argument("--tools", default=",".join(TOOLS))
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--rate", type=int, default=199)
    options = parser.parse_args()
    options.labelscope = os.path.abspath(options.labelscope)
    print(f"| {'program':30} | {'tool':16} | samples | whole % | median depth | named % | "
          "wrong callers | why not |")
    print("|---|---|---|---|---|---|---|---|")
    for name in options.programs.split(","):
        start, needed = PROGRAMS[name]
        if shutil.which(needed) is None:
            print(f"{name}: {needed} is not installed", flush=True)
            continue
        with tempfile.TemporaryDirectory() as folder:
            load = Load(folder)
            try:
                start(load)
                time.sleep(1)  # the target's start is not measured
                for tool in options.tools.split(","):
                    which, how = tool.split()
                    if which == "perf" and shutil.which("perf") is None:
                        continue
                    take = by_labelscope if which == "labelscope" else by_perf
                    samples, whole, depths, frames, with_name, reasons, truth = take(
                        options, name, load.pid, how, f"{folder}/out.jsonl")
                    wrong = f"{sum(truth.wrong.values())} of {truth.checked}" if truth else ""
                    share = 100 * whole / max(samples, 1)
                    named = 100 * with_name / max(frames, 1)
                    print(f"| {name:30} | {tool:16} | {samples:7} | {share:7.2f} | "
                          f"{statistics.median(depths or [0]):12.0f} | {named:7.1f} | {wrong:13} | "
                          f"{dict(collections.Counter(reasons).most_common(3)) or ''} |",
                          flush=True)
                    for what, count in truth.wrong.most_common(3) if truth else ():
                        print(f"    wrong: {count} times {what}", flush=True)
            finally:
                load.end()
    return 0


if __name__ == "__main__":
    sys.exit(main())
