"""Follows labels to where functions run later: to tasks of asyncio, and to pools of threads.

An event loop calls send or throw of a task's coroutine for each step. A task factory is the one
public place where every coroutine passes before it becomes a task; so install sets a factory that
wraps them in Steps. uvloop calls the factory just so.
"""

import concurrent.futures

from ._labels import Steps, inherit


class _Factory:
    def __init__(self, inner, task):
        self._inner = inner
        self._task = task

    def __call__(self, loop, coroutine, **options):
        steps = Steps(coroutine, is_task=True)
        if self._inner is None:
            return self._task(steps, loop=loop, **options)
        return self._inner(loop, steps, **options)


def install(loop=None):
    """Follows every task that this loop (by default the running one) creates from now on."""
    import asyncio  # a program without asyncio need not load it

    loop = loop or asyncio.get_running_loop()
    inner = loop.get_task_factory()
    if not isinstance(inner, _Factory):
        loop.set_task_factory(_Factory(inner, asyncio.Task))


def run(main, *, debug=None, loop_factory=None):
    """Does the same as asyncio.run, and follows all tasks, that of main included."""
    import asyncio

    with asyncio.Runner(debug=debug, loop_factory=loop_factory) as runner:
        install(runner.get_loop())
        return runner.run(main)


class ThreadPoolExecutor(concurrent.futures.ThreadPoolExecutor):
    """Runs each function under the labels of its submitter.

    For asyncio.to_thread: loop.set_default_executor(ThreadPoolExecutor()).
    """

    def submit(self, function, /, *arguments, **names):
        return super().submit(inherit(function), *arguments, **names)
