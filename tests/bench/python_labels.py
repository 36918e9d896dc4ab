#!/usr/bin/env python3
"""What labels cost a program in Python, beside the same calls in C.

    CUSTOMLABELS_LIBRARY=.../libcustomlabels.so tests/bench/python_labels.py

All take turns in one process, and the medians of the rounds are shown. The C calls are a scope of
writer.h, entered and left in a loop of C. For tasks, an awaited sleep(0) is one step of a task: it
is run by asyncio as it is, and with each task followed.
"""

import asyncio
import ctypes
import functools
import os
import statistics
import subprocess
import sys
import tempfile
import time

here = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(here, "../../writer-lib/python"))
import customlabels  # noqa: E402
from customlabels import labels  # noqa: E402

ROUNDS, SCOPES, TASKS, STEPS = 15, 20000, 100, 200
C_LOOP = """
#include "customlabels/writer.h"
void loop(int n) {
  static const custom_labels_label_t label = {{6, (const unsigned char*)"tenant"}, {4, (const unsigned char*)"acme"}};
  static custom_labels_saved_t saved;
  for (int i = 0; i < n; i++) { custom_labels_thread_enter(&saved, &label, 1); custom_labels_thread_leave(&saved); }
}
"""


class Nothing:
    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


def c_loop(folder):
    library = os.path.realpath(customlabels.path)
    file = os.path.join(folder, "loop.so")
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-I", os.path.join(here, "../../writer-lib/include"), "-x", "c", "-", "-o", file,
                    "-x", "none", library, f"-Wl,-rpath,{os.path.dirname(library)}"], input=C_LOOP, text=True, check=True)
    return ctypes.CDLL(file).loop


def enter(scope):
    for _ in range(SCOPES):
        with scope:
            pass


def enter_new():
    for number in range(SCOPES):
        with labels(tenant=number):
            pass


async def rest():
    for _ in range(STEPS):
        await asyncio.sleep(0)


async def rest_labelled(number):
    with labels(task=number):
        await rest()


def tasks(run, make):
    async def main():
        await asyncio.gather(*map(make, range(TASKS)))

    run(main())


def main():
    with tempfile.TemporaryDirectory() as folder:
        loop, constant, nothing = c_loop(folder), labels(tenant="acme"), Nothing()
        steps = TASKS * STEPS
        rows = {
            "a scope in C": (lambda: loop(SCOPES * 10), SCOPES * 10),
            "a `with` that does nothing": (lambda: enter(nothing), SCOPES),
            "a `with` of labels that were made before": (lambda: enter(constant), SCOPES),
            "with labels(tenant=number)": (enter_new, SCOPES),
            "a step of a task, asyncio.run": (lambda: tasks(asyncio.run, lambda _: rest()), steps),
            "the same, customlabels.run, no labels": (lambda: tasks(customlabels.run, lambda _: rest()), steps),
            "the same, customlabels.run, a label": (lambda: tasks(customlabels.run, rest_labelled), steps),
            "the same, callbacks=False": (lambda: tasks(functools.partial(customlabels.run, callbacks=False), rest_labelled), steps),
        }
        times = {name: [] for name in rows}
        for _ in range(ROUNDS):
            for name, (work, count) in rows.items():
                begin = time.perf_counter_ns()
                work()
                times[name].append((time.perf_counter_ns() - begin) / count)
        for name, each in times.items():
            print(f"{name:42} {statistics.median(each):8.0f} ns")


if __name__ == "__main__":
    main()
