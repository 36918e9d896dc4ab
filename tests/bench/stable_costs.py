#!/usr/bin/env python3
"""Holds costs that are the same on a busy machine and on a quiet one, so that CI can: instructions,
not times.

    tests/bench/stable_costs.py --work BENCH_COUNTED_WORK --programs TEST_PROGRAM_COSTS
                                --compiler NAME [--renew]

  instructions       that the processor executes for a sample from ring buffer to file, and for a
                     call of the writer, by callgrind: the difference of two runs of
                     bench_counted_work, one with twice the work of the other
  bytes              of the record of a sample with 25 frames and five labels
  BPF instructions   of the programs that run often, and the calls of helper functions in their code
  verified           instructions that the verifier looks at, on the kernel that is named

The numbers that they are held against are in stable_costs.json, beside this file. What has grown
by more than the margin fails; what has become smaller by more than that is named, for somebody to
renew the numbers (--renew). Another compiler, C library or processor has other numbers, so there
nothing can be said (status 77); on another kernel, nothing of the BPF programs.
"""
import argparse
import json
import pathlib
import platform
import re
import subprocess
import sys

KEPT = pathlib.Path(__file__).with_name("stable_costs.json")
MARGIN = 0.10
SKIPPED = 77
# One call more of a few is no growth.
SLACK = 3
# The BPF programs that run often: at a sample, when a thread leaves a processor, and is woken.
OFTEN = ("sample", "on_switch", "on_wakeup", "on_waking")
# How often a piece of work is done in the shorter run; a sample is much more than a call.
SAMPLES, CALLS = 10000, 1000


def run(*command):
    return subprocess.run(command, check=False, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE)


def skip(reason):
    print(f"SKIPPED: {reason}")
    sys.exit(SKIPPED)


def instructions_of(*command):
    done = run("valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *command)
    found = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode != 0 or not found:
        sys.exit(f"{' '.join(command)} by callgrind: status {done.returncode}\n{done.stderr}")
    return int(found.group(1))


def count_work(program):
    """Returns instructions by name of work, for one round each, and the bytes of a record."""
    counts = {}
    for name in run(program).stdout.splitlines():
        rounds = SAMPLES if name.startswith(("sample", "record")) else CALLS
        once = instructions_of(program, name, str(rounds))
        counts[name] = round((instructions_of(program, name, str(2 * rounds)) - once) / rounds)
    counts["bytes of a record"] = int(run(program, "--record-bytes").stdout)
    return counts


def program_facts(program):
    """Returns what the verifier of this kernel says; nothing where it may not be asked."""
    done = run(program)
    facts = dict(re.findall(r"^FACT: (\S+) (\d+)$", done.stdout, re.M))
    if done.returncode not in (0, SKIPPED):
        sys.exit(f"{program} failed:\n{done.stdout}{done.stderr}")
    return {name: int(value) for name, value in facts.items() if name.split("/")[-1] in OFTEN}


def kernel():
    return ".".join(platform.release().split(".")[:2])


def machine(compiler, work):
    libraries = subprocess.run(["ldd", work], capture_output=True, text=True, check=True).stdout
    return {"compiler": compiler, "compressor": "ISA-L" if "libisal" in libraries else "zlib",
            "libc": " ".join(platform.libc_ver()), "processor": platform.machine()}


def compare(kept, counts):
    """Prints each number that has changed, and returns how many have grown."""
    grown = 0
    for name in sorted(kept.keys() | counts.keys()):
        before, now = kept.get(name), counts.get(name)
        if before is None or now is None:
            print(f"{name}: {'is new' if before is None else 'is gone'}; renew the numbers")
            grown += 1
            continue
        if abs(now - before) <= max(MARGIN * before, SLACK):
            continue
        change = now / before - 1 if before else 1.0
        word = "has grown" if change > 0 else "has become smaller (renew the numbers)"
        print(f"{name}: {word} by {abs(change):.1%}: {before:,} before, {now:,} now")
        grown += change > 0
    return grown


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", required=True)
    parser.add_argument("--programs", required=True)
    parser.add_argument("--compiler", required=True)
    parser.add_argument("--renew", action="store_true", help="keep the numbers of now")
    options = parser.parse_args()
    if run("sh", "-c", "command -v valgrind").returncode != 0:
        skip("valgrind is not installed")
    kept = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else {}
    here = machine(options.compiler, options.work)
    if not options.renew and kept.get("machine") != here:
        skip(f"the numbers are those of {kept.get('machine')}, and this is {here}")
    now = {"machine": here, "kernel": kernel(), "work": count_work(options.work),
           "programs": program_facts(options.programs)}
    if options.renew:
        KEPT.write_text(json.dumps(now, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        return 0
    grown = compare(kept["work"], now["work"])
    if not now["programs"]:
        print("BPF programs may not be loaded here, so nothing is known of them")
    elif kept["kernel"] != kernel():
        print(f"BPF programs: the numbers are those of Linux {kept['kernel']}, this is {kernel()}")
    else:
        grown += compare(kept["programs"], now["programs"])
    compared = len(kept["work"]) + len(kept["programs"])
    print(f"{compared} numbers, {grown} have grown by more than {MARGIN:.0%}")
    if grown:
        print(f"if that is wanted, renew them: {' '.join(sys.argv)} --renew")
    return 1 if grown else 0


if __name__ == "__main__":
    sys.exit(main())
