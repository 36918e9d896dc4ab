#!/usr/bin/env python3
"""Writes a large recording, for measuring formats and the page; it is the same every time.

    large_recording.py [--samples N] [--stacks N] [--sets N] >large.jsonl

It has a million samples, 100,000 stacks of 30 frames, 10,000 label sets of five of eight keys, and
64 threads. Samples have nothing in common with their neighbours, which is the worst case for
compression.
"""
import argparse
import json
import random
import sys

FUNCTIONS = 20_000
DEPTH = 30
THREADS = 64
PERIOD_NS = 10_101_010
CARDINALITIES = [3, 5, 10, 50, 200, 1000, 5000, 10_000]


def zipf(random_source, count):
    """Returns numbers below count, mostly small ones."""
    return min(count - 1, int(count ** random_source.random()) - 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=1_000_000)
    parser.add_argument("--stacks", type=int, default=100_000)
    parser.add_argument("--sets", type=int, default=10_000)
    options = parser.parse_args()
    dice = random.Random(4242)
    out = sys.stdout

    def line(type, **fields):
        out.write(json.dumps({"type": type, **fields}, separators=(",", ":")) + "\n")

    duration = options.samples * PERIOD_NS // THREADS
    line("header", format="labelscope-recording", version=1, tool_version="bench",
         event="cpu-clock", mode="cpu",
         backend="bpf", call_graph="dwarf", command_line="large_recording.py", kernel_release="-",
         start_unix_ns=1_700_000_000_000_000_000, start_monotonic_ns=1_000_000_000,
         duration_ns=duration,
         period_ns=PERIOD_NS, outcomes=["labelled", "unlabelled"], flags=[])
    line("process", id=0, pid=1000, comm="large", publishers=["/opt/large"])
    for thread in range(THREADS):
        line("thread", id=thread, pid=1000, tid=1001 + thread, name=f"worker-{thread}",
             account=thread)
    line("module", id=0, kind="file", path="/opt/large", start="0x400000", end="0x4000000")
    for function in range(FUNCTIONS):
        name = f"service::module_{function % 97}::Handler<{function % 13}>::process_request_{function}(Request const&)"
        line("location", id=function, module=0, address=hex(0x400000 + 64 * function),
             lines=[{"function": name, "system_name": f"_Z{function}",
                     "file": f"src/module_{function % 97}.cc",
                     "line": function % 500 + 1}])
    # Stacks grow out of former ones, as calls do, so most of a stack is shared with another one.
    stacks = []
    for stack in range(options.stacks):
        kept = dice.choice(stacks)[:dice.randrange(DEPTH)] if stacks else []
        frames = kept + [zipf(dice, FUNCTIONS) for _ in range(DEPTH - len(kept))]
        stacks.append(frames)
        line("stack", id=stack, locations=frames[::-1], end="complete")
    for number in range(options.sets):
        keys = dice.sample(range(len(CARDINALITIES)), 5)
        line("labels", id=number, labels=[{"key": f"key{key}",
                                           "value": f"value-{zipf(dice, CARDINALITIES[key])}",
                                           "publisher": 0} for key in sorted(keys)])
    time = 1_000_000_000
    step = PERIOD_NS // THREADS
    attributed = 0
    for _ in range(options.samples):
        time += step
        weight = PERIOD_NS + dice.randrange(-1000, 1000)
        attributed += weight
        out.write(f'{{"type":"sample","time_ns":{time},"thread":{dice.randrange(THREADS)},"stack":'
                  f'{zipf(dice, options.stacks)},"labels":{zipf(dice, options.sets)},"count":1,"weight_ns":'
                  f'{weight},"outcome":0,"flags":0}}\n')
    line("ledger", taken=options.samples, outcomes={"labelled": options.samples}, dropped=0,
         written=options.samples,
         truncated=0, time={"attributed_ns": attributed, "unsampled_ns": 0, "lost_ns": 0},
         counters=[{"name": "stacks-complete", "count": options.samples}])


if __name__ == "__main__":
    main()
