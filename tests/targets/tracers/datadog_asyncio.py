"""Two tasks of asyncio take turns for some seconds, each in a span of its own: datadog_asyncio.py SECONDS

Prints the CPU time of each span by the clock of the thread.
"""
import ddtrace.auto  # noqa: F401  before asyncio: it then follows tasks

import asyncio
import json
import sys
import time

from ddtrace.trace import tracer

spent = {}


def compute(milliseconds):
    begin = time.thread_time()
    while time.thread_time() < begin + milliseconds / 1000:
        pass
    return time.thread_time() - begin


async def task(name, milliseconds, end):
    with tracer.trace(name) as span:
        key = f"{span.span_id:016x}"
        spent[key] = 0
        while time.thread_time() < end:
            spent[key] += compute(milliseconds)
            await asyncio.sleep(0)


async def main():
    end = time.thread_time() + float(sys.argv[1])
    await asyncio.gather(task("often", 6, end), task("seldom", 2, end))


asyncio.run(main())
print(json.dumps(spent))
