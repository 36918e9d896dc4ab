"""Tests scopes of one thread that are not left in the reverse order, or never, or elsewhere than they were entered."""

import asyncio
import contextvars
import random
import unittest
import warnings

from customlabels import _labels, labels
from published import published


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


class Overlapping(unittest.TestCase):
    def setUp(self):
        caught = warnings.catch_warnings()
        caught.__enter__()
        self.addCleanup(caught.__exit__, None, None, None)
        warnings.simplefilter("ignore", RuntimeWarning)
        self.addCleanup(_labels._replace, None)


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


if __name__ == "__main__":
    unittest.main()
