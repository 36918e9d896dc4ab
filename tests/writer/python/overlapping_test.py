"""Tests scopes of one thread that are not left in the reverse order, or never, or elsewhere than they were entered."""

import asyncio
import contextvars
import gc
import random
import sys
import threading
import unittest

from customlabels import _labels, labels
from customlabels._labels import LabelSet, Scope, Steps
from published import published
from quiet_case import QuietCase


def alive():
    gc.collect()
    return sum(isinstance(each, (LabelSet, Scope)) for each in gc.get_objects())


def within(name, key="within"):
    """Holds a scope across a yield, as nobody should, but as the dependencies of web frameworks do."""
    with labels({key: name}):
        yield


def entered(name):
    """Returns a scope that is open: the context that can leave it, and its generator."""
    context, generator = contextvars.copy_context(), within(name)
    context.run(next, generator)
    return context, generator


def leave(scope):
    context, generator = scope
    context.run(next, generator, None)


class Task:
    """Is a context with the scopes that it has open. It begins with the labels of the one that has started it."""

    def __init__(self, first):
        self.context, self.first, self.scopes = contextvars.copy_context(), first, []

    def labels(self):
        return self.scopes[-1][1] if self.scopes else self.first

    def start(self):
        return self.context.run(Task, self.labels())

    def enter(self, name):
        generator, found = within(name, key=name), {**self.labels(), name: name}
        self.context.run(next, generator)
        self.scopes.append((generator, found))
        return found

    def leave(self):
        generator, found = self.scopes.pop()
        self.context.run(next, generator, None)
        return found


class Overlapping(QuietCase):
    def setUp(self):
        super().setUp()
        self.addCleanup(_labels._replace, None)


class NeverLeft(Overlapping):
    def test_a_generator_that_ends_in_another_context_keeps_nothing(self):
        def request(number):
            _, generator = entered(number)
            contextvars.copy_context().run(next, generator, None)

        request(0)
        before = alive()
        for number in range(100):
            request(number)
        self.assertLess(alive(), before + 5)

    def test_a_scope_that_another_thread_leaves_is_not_kept_by_the_first(self):
        def request(number):
            scope = entered(number)
            thread = threading.Thread(target=leave, args=(scope,))
            thread.start()
            thread.join()

        request(0)
        before = alive()
        for number in range(100):
            request(number)
        self.assertLess(alive(), before + 5)

    def test_one_whose_inner_scope_was_freed_is_the_last_one_again(self):
        with labels(outer="1"):
            outer = entered("1")
            entered("2")
            gc.collect()
            copies = [outer[0].copy()]
            leave(outer)
            self.assertEqual(published(), {"outer": "1"})
        self.assertIsNone(published())
        del copies

    def test_a_later_step_has_nothing_to_do_with_scopes_of_an_earlier_one(self):
        async def work():
            with labels(task="1"):
                scopes.append(entered("1"))
                await asyncio.sleep(0)
            seen.append(published())

        scopes, seen = [], []
        steps = Steps(work())
        context = contextvars.copy_context()
        context.run(steps.send, None)
        with self.assertRaises(StopIteration):
            context.run(steps.send, None)
        self.assertEqual(seen, [None])
        self.assertIsNone(published())


class TasksWithin(Overlapping):
    """A task that nothing follows starts another within a scope, and leaves this before the other does."""

    def test_a_task_that_was_started_within_a_scope_keeps_its_labels(self):
        seen = []

        async def child(begun, go):
            with labels(who="child"):
                begun.set()
                await go.wait()

        async def parent(go):
            begun = asyncio.Event()
            with labels(who="parent"):
                task = asyncio.create_task(child(begun, go))
                await begun.wait()
            return task

        async def main():
            go = asyncio.Event()
            task = await asyncio.create_task(parent(go))
            seen.append(published())
            go.set()
            await task
            seen.append(published())

        with labels(outer="1"):
            asyncio.run(main())
            self.assertEqual(published(), {"outer": "1"})
        self.assertIsNone(published())
        self.assertEqual(seen, [{"outer": "1", "who": "child"}, {"outer": "1"}])

    def test_the_child_that_leaves_first_brings_back_the_labels_of_its_parent(self):
        with labels(who="parent"):
            leave(entered("child"))
            self.assertEqual(published(), {"who": "parent"})
        self.assertIsNone(published())


class ManyTasks(Overlapping):
    def lines_of_leaving(self, count):
        """Returns how many lines of the module run while so many scopes are left in the order in which they were entered."""
        scopes, lines = [entered(str(number)) for number in range(count)], 0

        def trace(frame, event, _):
            nonlocal lines
            if frame.f_code.co_filename != _labels.__file__:
                return None
            lines += event == "line"
            return trace

        before = sys.gettrace()
        sys.settrace(trace)
        try:
            for each in scopes:
                leave(each)
        finally:
            sys.settrace(before)
        self.assertIsNone(published())
        return lines

    def test_leaving_costs_the_same_however_many_scopes_are_open(self):
        few, many = self.lines_of_leaving(20), self.lines_of_leaving(400)
        self.assertGreater(few, 20)
        self.assertLess(many / 400, 1.2 * few / 20)

    def test_the_one_that_was_entered_last_of_those_that_are_open_is_published(self):
        for seed in range(200):
            with self.subTest(seed=seed):
                self.enter_and_leave(random.Random(seed))

    def enter_and_leave(self, chosen):
        """Enters and leaves scopes of contexts, some of which are copies of others, in any order."""
        tasks, still_open = [Task({})], []
        for number in range(chosen.randrange(5, 40)):
            task, kind = chosen.choice(tasks), chosen.random()
            if kind < 0.45:
                still_open.append(task.enter(str(number)))
            elif kind < 0.6:
                tasks.append(task.start())
            elif task.scopes:
                still_open.remove(task.leave())
            self.assertEqual(published(), still_open[-1] if still_open else None)
        while still_open:
            still_open.remove(chosen.choice([each for each in tasks if each.scopes]).leave())
            self.assertEqual(published(), still_open[-1] if still_open else None)


class Collected(Overlapping):
    def test_a_set_that_the_collector_has_taken_is_not_used_again(self):
        acme = labels(tenant="acme")
        with acme:
            pass
        acme._built[1].__del__()  # as the collector does it in a cycle, before a coroutine of this runs once more
        with acme:
            self.assertEqual(published(), {"tenant": "acme"})
        self.assertIsNone(published())


if __name__ == "__main__":
    unittest.main()
