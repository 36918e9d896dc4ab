"""Follows labels to where functions run later: to tasks and callbacks of asyncio, and to pools of threads.

An event loop calls send or throw of a task's coroutine for each step. A task factory is the one
public place where every coroutine passes before it becomes a task; so install sets a factory that
wraps them in Steps. uvloop calls the factory just so.

For callbacks there is no such place. But whoever schedules one asks the loop for a method by its
name: programs, futures (for add_done_callback), and tasks (for their own steps). So install puts
functions of these names into the loop, which call the methods. A callback runs in the context that
it was scheduled with, and this context has the labels.
"""

import concurrent.futures
import functools

from ._labels import Labelled, Steps, inherit, is_labelled


class _Factory:
    def __init__(self, inner, task):
        self._inner = inner
        self._task = task

    def __call__(self, loop, coroutine, **options):
        steps = Steps(coroutine, is_task=True)
        if self._inner is None:
            return self._task(steps, loop=loop, **options)
        return self._inner(loop, steps, **options)


# What a loop calls later, and how many parameters come before the callback.
_SCHEDULERS = {"call_soon": 0, "call_soon_threadsafe": 0, "call_later": 1, "call_at": 1, "add_reader": 1, "add_writer": 1}


def _follow_callbacks(loop, task):
    def labelled(callback, context):
        # Steps already labels the steps of tasks. call_later may call call_at.
        if not is_labelled(context) or isinstance(getattr(callback, "__self__", None), task) or type(callback) is Labelled:
            return callback
        return Labelled(callback)

    def follow(method, has_first):
        if has_first:

            @functools.wraps(method)
            def schedule(first, callback, *arguments, **options):
                return method(first, labelled(callback, options.get("context")), *arguments, **options)

        else:

            @functools.wraps(method)
            def schedule(callback, *arguments, context=None):
                return method(labelled(callback, context), *arguments, context=context)

        return schedule

    for name, has_first in _SCHEDULERS.items():
        setattr(loop, name, follow(getattr(loop, name), has_first))


def install(loop=None, *, callbacks=True):
    """Follows every task that this loop (by default the running one) creates from now on, and every callback."""
    import asyncio  # a program without asyncio need not load it

    loop = loop or asyncio.get_running_loop()
    inner = loop.get_task_factory()
    if isinstance(inner, _Factory):
        return
    loop.set_task_factory(_Factory(inner, asyncio.Task))
    if callbacks:
        _follow_callbacks(loop, asyncio.Task)


def run(main, *, debug=None, loop_factory=None, callbacks=True):
    """Does the same as asyncio.run, and follows all tasks, that of main included, and all callbacks."""
    import asyncio

    with asyncio.Runner(debug=debug, loop_factory=loop_factory) as runner:
        install(runner.get_loop(), callbacks=callbacks)
        return runner.run(main)


class ThreadPoolExecutor(concurrent.futures.ThreadPoolExecutor):
    """Runs each function under the labels of its submitter.

    For asyncio.to_thread: loop.set_default_executor(ThreadPoolExecutor()).
    """

    def submit(self, function, /, *arguments, **names):
        return super().submit(inherit(function), *arguments, **names)
