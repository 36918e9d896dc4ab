"""Tests what is published after exceptions of signal handlers, and when coroutines are closed."""

import contextlib
import contextvars
import dis
import gc
import sys
import types
import unittest
import warnings

import customlabels
from customlabels import _labels, inherit, labels
from customlabels._labels import Labelled, LabelSet, Steps
from published import published
from quiet_case import QuietCase


class TimedOut(Exception):
    """Stands for what a handler of a signal raises."""


def places_of(code):
    """Returns where handlers may run in this code: the offset behind each call, or behind RESUME, with that instruction's name.

    The interpreter raises in the call itself. So a call is left out whose next instruction has another `except` or `finally`.
    """
    covers = dis._parse_exception_table(code)
    target = lambda offset: [each.target for each in covers if each.start <= offset < each.end]
    every = [each for each in dis.get_instructions(code) if each.opname != "CACHE"]
    return {after.offset: one.opname for one, after in zip(every, every[1:])
            if (one.opname == "RESUME" or one.opname.startswith("CALL")) and target(one.offset) == target(after.offset)}


def codes_in(code):
    yield code
    for each in code.co_consts:
        if isinstance(each, types.CodeType):
            yield from codes_in(each)


with open(Steps.send.__code__.co_filename) as source:
    NAMES = {each.co_name for each in codes_in(compile(source.read(), "", "exec")) if each.co_name != "__del__"}


class Raising:
    """Raises at the nth place of the module at which a handler may run. `at` is the name and line of the function there."""

    def __init__(self, number):
        self.left, self.at, self.places = number, None, {}

    def reach(self, code, offset):
        if code.co_filename != Steps.send.__code__.co_filename or code.co_name not in NAMES:
            return
        if code not in self.places:
            self.places[code] = places_of(code)
        before = self.places[code].get(offset)
        # The documentation names the one place that is not covered.
        if before is None or (before == "RESUME" and code.co_name == "__exit__"):
            return
        self.left -= 1
        if self.left == 0:
            self.at = f"{code.co_name} at {offset}"
            raise TimedOut

    def trace(self, frame, event, _):
        frame.f_trace_opcodes = True
        if event == "opcode":
            self.reach(frame.f_code, frame.f_lasti)
        return self.trace

    # Since Python 3.12, tracing misses instructions of code that has run before.
    def __enter__(self):
        if sys.version_info < (3, 12):
            sys.settrace(self.trace)
        else:
            watch, tool = sys.monitoring, sys.monitoring.DEBUGGER_ID
            watch.use_tool_id(tool, "raise")
            watch.register_callback(tool, watch.events.INSTRUCTION, self.reach)
            watch.set_events(tool, watch.events.INSTRUCTION)
        return self

    def __exit__(self, *_):
        if sys.version_info < (3, 12):
            sys.settrace(None)
        else:
            sys.monitoring.set_events(sys.monitoring.DEBUGGER_ID, 0)
            sys.monitoring.free_tool_id(sys.monitoring.DEBUGGER_ID)


class Interrupted(QuietCase):
    def setUp(self):
        super().setUp()
        self.addCleanup(setattr, sys, "unraisablehook", sys.unraisablehook)
        sys.unraisablehook = lambda _: None

    @labels(scope="decorated")
    def decorated(self):
        return published()

    @labels(scope="coroutine")
    async def coroutine(self):
        with labels(scope="within"):
            await pause()
        return published()

    def scope(self):
        with labels(scope="scope"), labels(scope="nested"):
            pass

    def steps(self):
        steps = Steps(self.coroutine())
        steps.send(None)
        try:
            steps.send(None)
        except StopIteration:
            pass

    def closed(self):
        steps = Steps(self.coroutine())
        steps.send(None)
        steps.close()

    def inherited(self):
        inherit(published)()

    def callback(self):
        Labelled(published)()

    def test_what_a_handler_raises_leaves_no_labels_wherever_it_runs(self):
        for work in self.scope, self.decorated, self.steps, self.closed, self.inherited, self.callback:
            number, at = 0, "the beginning"
            while at:
                number += 1
                with labels(tenant="acme", number=number):
                    before = published()
                    with contextlib.suppress(TimedOut), Raising(number) as raising:
                        work()
                    at = raising.at
                    gc.collect()
                    with self.subTest(work=work.__name__, number=number, at=at):
                        self.assertEqual((published(), customlabels.current()), (before, before))
                self.assertIsNone(published())
            self.assertGreater(number, 5, work.__name__)

    def test_a_scope_whose_set_could_not_be_made_says_nothing_when_it_is_freed(self):
        half = LabelSet.__new__(LabelSet)
        half.handle = None
        del half


@types.coroutine
def pause():
    yield


class Closed(unittest.TestCase):
    """A coroutine is suspended within a scope, and ends under the labels of that, whoever ends it."""

    def setUp(self):
        self.acme, self.seen = labels(tenant="acme"), []

    def suspended(self):
        async def work():
            try:
                with self.acme:
                    await pause()
            finally:
                self.seen.append(published())

        steps = Steps(work())
        with labels(task="1"):
            contextvars.copy_context().run(steps.send, None)
        return steps

    def check(self, end):
        with self.acme:
            end()
            self.assertEqual(published(), {"tenant": "acme"})
            self.assertEqual(customlabels.current(), {"tenant": "acme"})
        self.assertIsNone(published())
        self.assertEqual(self.seen, [{"task": "1"}])

    def test_it_is_closed_in_a_scope_of_the_same_object(self):
        self.check(self.suspended().close)

    def test_the_collector_ends_it(self):
        steps = [self.suspended()]
        self.check(steps.clear)

    def test_a_coroutine_that_another_has_goes_on(self):
        async def work():
            with self.acme:
                await pause()
            return published()

        coroutine = work()
        steps = Steps(coroutine)
        steps.send(None)
        del steps
        with self.assertRaises(StopIteration):
            coroutine.send(None)

    def test_scopes_that_are_left_within_one_that_fails_are_forgotten(self):
        suspended = []

        async def within():
            with labels(within="1"):
                await pause()

        async def work():
            with self.acme:
                suspended.append(within())
                suspended[-1].send(None)
                raise TimedOut

        caught = warnings.catch_warnings()
        caught.__enter__()
        self.addCleanup(caught.__exit__, None, None, None)
        warnings.simplefilter("ignore", RuntimeWarning)
        for _ in range(3):
            with self.assertRaises(TimedOut):
                contextvars.copy_context().run(Steps(work()).send, None)
            with contextlib.suppress(TimedOut), self.acme:
                contextvars.copy_context().run(within().send, None)
                raise TimedOut
            self.assertIsNone(published())
            self.assertIsNone(_labels._thread.published.scope)

    def test_one_that_has_not_begun_is_reported_as_ever(self):
        async def work():
            pass

        with self.assertWarnsRegex(RuntimeWarning, "never awaited"):
            Steps(work())


if __name__ == "__main__":
    unittest.main()
