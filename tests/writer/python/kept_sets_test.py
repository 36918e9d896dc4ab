"""Tests that a set which a thread publishes, or will publish again, is not freed, whoever drops it."""

import collections
import contextvars
import ctypes
import gc
import threading
import types
import unittest


class Greenlets:
    """Stands for gevent: greenlets take turns on one thread, and threading.local is one of each greenlet."""

    current = "main"
    values = collections.defaultdict(dict)  # of each greenlet, for each local

    class Local:
        @property
        def published(self):
            own = Greenlets.values[Greenlets.current]
            if self not in own:
                own[self] = None
                self.__init__()
            return own[self]

        @published.setter
        def published(self, value):
            Greenlets.values[Greenlets.current][self] = value


# gevent's program begins with monkey.patch_all().
_of_threads, threading.local = threading.local, Greenlets.Local
import customlabels  # noqa: E402

threading.local = _of_threads
from customlabels import _labels, labels  # noqa: E402
from customlabels._labels import LabelSet, Steps  # noqa: E402
from published import published  # noqa: E402
from quiet_case import QuietCase  # noqa: E402


def reuse_what_is_free():
    """Lets other sets take the memory of those that have just been freed."""
    return [LabelSet({b"reused": b"%d" % number}) for number in range(100)]


@types.coroutine
def pause():
    yield


class Kept(QuietCase):
    def setUp(self):
        super().setUp()
        self.addCleanup(_labels._replace, None)

    def test_greenlets_whose_scopes_overlap(self):
        def greenlet(name):
            with labels(greenlet=name):
                yield
            yield

        runs = {name: (contextvars.copy_context(), greenlet(name)) for name in ("one", "two")}

        def switch_to(name):
            Greenlets.current = name
            runs[name][0].run(next, runs[name][1])
            Greenlets.current = "main"

        def end(name):
            del runs[name]
            Greenlets.values.pop(name, None)
            gc.collect()

        switch_to("one")
        switch_to("two")
        switch_to("one")
        end("one")
        others = reuse_what_is_free()
        self.assertEqual(published(), {"greenlet": "two"})
        switch_to("two")
        end("two")
        self.assertIsNone(published())
        del others

    def watch_publications(self, seen):
        """Lets seen(handle) look after each publication."""
        inner = _labels._replace

        def replace(handle):
            before = inner(handle)
            seen(handle)
            return before

        _labels._replace = replace
        self.addCleanup(setattr, _labels, "_replace", inner)

    def test_the_collector_finds_a_set_and_the_coroutine_that_runs_under_it(self):
        seen, others = [], []

        async def work():
            try:
                await pause()
            finally:
                others.extend(reuse_what_is_free())

        def leave_a_cycle():
            with labels(tenant="acme"):
                steps = Steps(work())
                context = contextvars.copy_context()
                context.run(steps.send, None)
                cycle = [steps, context]
                cycle.append(cycle)

        gc.collect()
        gc.disable()
        self.addCleanup(gc.enable)
        leave_a_cycle()
        self.watch_publications(lambda handle: seen.append(published()))
        gc.collect()
        self.assertEqual(len(others), 100)
        self.assertEqual(seen, [None, None])

    def test_a_scope_that_another_thread_leaves_has_nothing_of_its_first_thread(self):
        writer = ctypes.PyDLL(None if customlabels.path == "the process" else customlabels.path)
        replaced = []
        context = contextvars.copy_context()

        def within():
            with labels(tenant="acme"):
                yield

        generator = within()

        def first():
            writer.custom_labels_thread_set(b"c", ctypes.c_size_t(1), b"c", ctypes.c_size_t(1))
            context.run(next, generator)

        thread = threading.Thread(target=first)
        thread.start()
        thread.join()
        self.watch_publications(replaced.append)
        context.run(generator.close)
        # The own set of the first thread has ended with it.
        self.assertEqual(replaced, [None])
        self.assertIsNone(published())

    def test_a_step_does_not_keep_the_scopes_of_whoever_runs_it(self):
        async def work():
            with labels(within="1"):
                await pause()

        context = contextvars.copy_context()
        with labels(tenant="acme"):
            context.run(Steps(work()).send, None)
            self.assertIsNone(context[_labels._innermost].below)
            self.assertEqual(published(), {"tenant": "acme"})

    def test_a_thread_of_c_is_without_labels_between_calls_of_python(self):
        seen = []
        generators, context = [], contextvars.copy_context()
        libc = ctypes.CDLL(None)
        called = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)
        key = ctypes.c_uint()

        def within():
            with labels(tenant="acme"):
                yield

        @called
        def start(_):
            generators.append(within())
            context.run(next, generators[0])
            seen.append(published())
            libc.pthread_setspecific(key, ctypes.c_void_p(1))

        # At its end the thread calls Python again, which has forgotten it in between.
        @called
        def end(_):
            seen.append(published())

        self.assertEqual(libc.pthread_key_create(ctypes.byref(key), end), 0)
        thread = ctypes.c_ulong()
        self.assertEqual(libc.pthread_create(ctypes.byref(thread), None, start, None), 0)
        libc.pthread_join(thread, None)
        self.assertEqual(seen, [{"tenant": "acme"}, None])


if __name__ == "__main__":
    unittest.main()
