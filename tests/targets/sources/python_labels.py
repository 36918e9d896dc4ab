"""Programs in Python that set labels and know what they computed with which.

    python_labels.py threads SECONDS        prints the CPU time of each label, by time.thread_time
    python_labels.py tasks libthreadcontext.so   until stdin ends

The tasks have a witness: a second label source, to which a task writes its number by itself, only
while it computes, with no code of the module. So a sample with the span_id n is of task n, and its
root_span_id is 1 or 2, by the half of the task's round; or it is 3 in a callback of the event loop
that has no labels, and 4 in one that the task has scheduled in the second half.
"""

import asyncio
import collections
import ctypes
import json
import os
import sys
import threading
import time

import customlabels
from customlabels import labels

TASKS = 2000


def compute(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        sum(range(200))


def threads(seconds):
    spent, total = collections.Counter(), collections.Counter()

    def work(name, plan):
        begin = time.thread_time()
        while time.thread_time() - begin < seconds:
            for tenant, milliseconds in plan:
                with labels(thread=name, tenant=tenant):
                    entered = time.thread_time()
                    compute(milliseconds / 1000)
                    spent[tenant] += time.thread_time() - entered
                compute(0.001)

    plans = {"one": [("acme", 6), ("globex", 3)], "two": [("globex", 2), ("initech", 5)]}
    workers = [threading.Thread(target=work, args=each) for each in plans.items()]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    print(json.dumps(spent))


def tasks(witness_library):
    witness = ctypes.PyDLL(witness_library)
    witness.thread_context_put.argtypes = [ctypes.c_uint64, ctypes.c_uint64]
    ended, held = False, None

    def read():
        nonlocal ended, held
        word = os.read(0, 100).decode()
        ended = not word
        if word:
            held = TASKS // 2

    def compute_with_witness(number, part):
        witness.thread_context_put(number, part)
        compute(0.0001)
        # The number must be taken away before the task rests.
        witness.thread_context_clear()

    async def work(number):
        nonlocal held
        loop = asyncio.get_running_loop()
        while not ended:
            with labels(task=number):
                compute_with_witness(number, 1)
                await asyncio.sleep(0)
                compute_with_witness(number, 1)
                with labels(half="second"):
                    compute_with_witness(number, 2)
                    loop.call_soon(compute_with_witness, number, 4)
                    await asyncio.sleep(0.001 if number % 3 == 0 else 0)
                    compute_with_witness(number, 2)
                if held == number:
                    print(json.dumps({"tid": threading.get_native_id(), "task": number}), flush=True)
                    os.read(0, 100)
                    held = None

    def call_back(loop):
        for _ in range(200):
            compute_with_witness(0, 3)
        if not ended:
            loop.call_later(0.005, call_back, loop)

    async def main():
        call_back(asyncio.get_running_loop())
        asyncio.get_running_loop().add_reader(0, read)
        running = [asyncio.create_task(work(1 + number)) for number in range(TASKS)]
        print("ready", flush=True)
        await asyncio.gather(*running)

    customlabels.run(main())


if __name__ == "__main__":
    {"threads": lambda: threads(float(sys.argv[2])), "tasks": lambda: tasks(sys.argv[2])}[sys.argv[1]]()
