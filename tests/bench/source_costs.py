#!/usr/bin/env python3
"""Measures what each label source costs in the kernel for a sample, compared with ABI v1, in turns.

    tests/bench/source_costs.py --labelscope build/dev/cli/labelscope
                                [--go build/dev/tests/targets/go_labels/static]

One thread computes and publishes by one source. The time is that of labelscope's program by the
kernel's own count (kernel.bpf_stats_enabled), without stacks, less the time of events of other
processes. Each source has the labels that it has in practice: ABI v1 five labels of 16 to 32 bytes,
OpenTelemetry two IDs and three attributes, context_tls_v1 two IDs and two tags, Elastic three IDs,
--tls a number or a text behind a pointer, Go (with --go) those of that program. "silent" has the
symbols of ABI v1 and no labels, "none" no source at all. "postgres" is a session of a real
PostgreSQL, if one is installed, with all labels of the preset of that name.

Needs root and gcc. Each number is a median; the ratio to ABI v1 is what matters.
"""
import argparse
import contextlib
import glob
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

from stack_costs import LABEL_SET, aim, build, counted_programs, spent

PROGRAM = LABEL_SET + r"""
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#if defined(V1) || defined(SILENT)
EXPORT const uint32_t custom_labels_abi_version = 1;
EXPORT __thread struct set* custom_labels_current_set;
#elif defined(OTEL)
EXPORT __thread const unsigned char* otel_thread_ctx_v1;
#elif defined(CONTEXT)
EXPORT __thread uint64_t context_tls_v1[8] __attribute__((aligned(64)));
#elif defined(ELASTIC)
EXPORT __thread const unsigned char* elastic_apm_profiling_correlation_tls_v1;
#endif
EXPORT __thread uint32_t number = 42;
EXPORT __thread const char* name = "a text of twenty bytes.";
int main(void) {
  number++;
#if defined(V1)
  static struct label labels[5];
  static char keys[5][17], values[5][33];
  for (int i = 0; i < 5; ++i) {
    memset(keys[i], 'a' + i, 16);
    memset(values[i], 'k' + i, 16 + 4 * i);
    labels[i] = (struct label){{16, keys[i]}, {16 + 4 * (size_t)i, values[i]}};
  }
  static struct set set = {labels, 5, 5};
  custom_labels_current_set = &set;
#elif defined(OTEL)
  static unsigned char record[128] __attribute__((aligned(8)));
  memset(record, 0x11, 24);
  record[24] = 1;
  record[26] = 3 * 22;
  for (int i = 0; i < 3; ++i) {
    record[28 + 22 * i] = (unsigned char)i;
    record[29 + 22 * i] = 20;
    memset(record + 30 + 22 * i, 'x', 20);
  }
  otel_thread_ctx_v1 = record;
#elif defined(CONTEXT)
  const uint64_t m = 0x9E3779B97F4A7C15u, span = 7, root = 9;
  context_tls_v1[0] = span;
  context_tls_v1[1] = root;
  context_tls_v1[2] = span * m ^ (root << 32 | root >> 32) * m;
  context_tls_v1[3] = 1 | 2ull << 32;
#elif defined(ELASTIC)
  static unsigned char record[37];
  memset(record, 0x11, sizeof record);
  record[2] = record[3] = 1;
  elastic_apm_profiling_correlation_tls_v1 = record;
#elif defined(SILENT)
  custom_labels_current_set = 0;
#endif
  __asm__ volatile("" ::: "memory"); /* who loops for ever needs no stores, as the compiler sees it */
  for (volatile unsigned long turns = 0;; turns = turns + 1) continue;
}
"""
KINDS = ["none", "silent", "v1", "otel", "context", "elastic", "number", "text"]
NAMED = {"number": ["--tls", "number:u32"], "text": ["--tls", "name:*str"],
         "postgres": ["--preset", "postgres"]}


class Session:
    """A backend of PostgreSQL that computes, as a target: what is asked of it is its pid, and to end."""

    def __init__(self, pid, client):
        self.pid, self.client = pid, client

    def kill(self):
        self.client.kill()


@contextlib.contextmanager
def postgres(folder):
    """Yields a session of a server of its own, or None and why there is none."""
    bins = sorted(glob.glob("/usr/lib/postgresql/1[4-8]/bin"))
    if not bins or not shutil.which("psql") or not shutil.which("runuser"):
        print("no PostgreSQL 14 to 18 is installed: its row is left out")
        yield None
        return
    os.chmod(folder, 0o755)
    home = f"{folder}/postgres"
    os.mkdir(home)
    shutil.chown(home, "postgres", "postgres")
    user = ["runuser", "-u", "postgres", "--"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": home}
    subprocess.run([*user, f"{bins[-1]}/initdb", "-D", f"{home}/data", "-A", "trust"], check=True, **quiet)
    server = subprocess.Popen([*user, f"{bins[-1]}/postgres", "-D", f"{home}/data", "-k", home, "-h", "", "-F",
                               "-c", "compute_query_id=on", "-c", "max_parallel_workers_per_gather=0"], **quiet)
    client = ["psql", "-h", home, "-U", "postgres", "-AtqX"]
    loop, pid = None, ""
    try:
        while subprocess.run([*client, "-c", "select 1"], check=False, **quiet).returncode != 0:
            if server.poll() is not None:
                sys.exit("source_costs.py: PostgreSQL has ended at once")
            time.sleep(0.1)
        # This statement never ends, reads no table, and needs no more memory as it goes on.
        loop = subprocess.Popen([*client, "-c", "with recursive t(n) as (select 1::bigint union all "
                                 "select (n + 1) % 1000 from t) select count(*) from t"],
                                env={**os.environ, "PGAPPNAME": "bench"}, **quiet)
        while not pid:
            time.sleep(0.1)
            pid = subprocess.run([*client, "-c", "select pid from pg_stat_activity where application_name = 'bench' "
                                  "and state = 'active'"], check=True, capture_output=True, text=True).stdout.strip()
        yield Session(int(pid), loop)
    finally:
        if pid:
            os.kill(int(pid), signal.SIGCONT)
        if loop:
            loop.kill()
            loop.wait()
        # A stopped session would not see that the server ends.
        postmaster = int(open(f"{home}/data/postmaster.pid", encoding="ascii").readline())
        os.kill(postmaster, signal.SIGQUIT)
        server.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--labelscope", required=True)
    parser.add_argument("--go", help="a program that has labels of runtime/pprof")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2)
    options = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("source_costs.py: BPF needs root")
    with tempfile.TemporaryDirectory() as folder, counted_programs(), postgres(folder) as session:
        path = f"{folder}/out.jsonl"
        targets = {}
        for kind in KINDS:
            program = build(folder, kind, PROGRAM, f"-D{kind.upper()}", "-rdynamic")
            targets[kind] = subprocess.Popen([program])
        if options.go:
            targets["go"] = subprocess.Popen([options.go], stdin=subprocess.PIPE,
                                             stdout=subprocess.PIPE, text=True)
            targets["go"].stdout.readline()
        if session:
            targets["postgres"] = session
        # All targets are stopped at first, since only one at a time may run.
        for target in targets.values():
            os.kill(target.pid, 19)
        sleeper = subprocess.Popen(["sleep", "3600"])
        try:
            nanoseconds, runs, _, _ = spent(options, sleeper.pid, "none", path)
            other = nanoseconds / max(runs, 1)
            print(f"an event of another process: {other:.0f} ns; it is not in what follows")
            times = {kind: [] for kind in targets}
            for _ in range(options.rounds):
                for kind, target in targets.items():
                    os.kill(target.pid, 18)
                    nanoseconds, runs, share, labelled = spent(options, target.pid, "none", path,
                                                               *NAMED.get(kind, []))
                    os.kill(target.pid, 19)
                    if runs * share < 100:
                        sys.exit(f"{kind}: only {runs * share:.0f} samples were taken: is the machine idle enough?")
                    if (labelled > 0.5) != (kind not in ("none", "silent")):
                        sys.exit(f"{kind}: {100 * labelled:.0f} % of the samples have labels")
                    times[kind].append((nanoseconds - runs * (1 - share) * other) / (runs * share))
            beside = statistics.median(times["v1"])
            print(f"\n| source  | a sample | (least, most)     | beside ABI v1 |  (median of {options.rounds})\n|---|---|---|---|")
            for kind, seen in times.items():
                middle = statistics.median(seen)
                print(f"| {kind:7} | {middle:5.0f} ns | ({min(seen):5.0f}, {max(seen):5.0f}) ns | {middle / beside:13.2f} |")
            if session:
                ratio = statistics.median(times["postgres"]) / beside
                aim("BPF time of a sample: preset postgres / five labels of ABI v1", ratio, 3)
        finally:
            sleeper.kill()
            for target in targets.values():
                target.kill()


if __name__ == "__main__":
    main()
