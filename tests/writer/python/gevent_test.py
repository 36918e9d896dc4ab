"""Tests that greenlets of gevent never publish a set that another greenlet has freed, and leave none behind.

They do not follow labels.
"""

import gevent.monkey

gevent.monkey.patch_all()

import gc  # noqa: E402
import itertools  # noqa: E402
import unittest  # noqa: E402

import gevent  # noqa: E402
from customlabels import inherit, labels  # noqa: E402
from customlabels._labels import LabelSet  # noqa: E402
from gevent.event import Event  # noqa: E402
from published import published  # noqa: E402


class Greenlet:
    """Enters a scope, and leaves it when it is told to."""

    def __init__(self, name):
        self._entered, self._may_leave = Event(), Event()
        self._greenlet = gevent.spawn(self._run, name)
        self._entered.wait()

    def _run(self, name):
        with labels(greenlet=name):
            self._entered.set()
            self._may_leave.wait()

    def leave(self):
        self._may_leave.set()
        self._greenlet.join()


class Overlapping(unittest.TestCase):
    def test_the_set_of_a_greenlet_that_has_ended_is_kept(self):
        one, two = Greenlet("one"), Greenlet("two")
        one.leave()
        del one
        gc.collect()
        others = [LabelSet({b"reused": b"%d" % number}) for number in range(100)]
        self.assertEqual(published(), {"greenlet": "two"})
        two.leave()
        self.assertIsNone(published())
        del others


class Inherited(unittest.TestCase):
    def begin(self, name, nested=False):
        """Starts a greenlet that runs a function with inherited labels until it is told to end."""
        entered, may_leave = Event(), Event()

        def wait():
            entered.set()
            may_leave.wait()

        def run():
            if not nested:
                return wait()
            with labels(within=name):
                return inherit(wait)()

        with labels(greenlet=name):
            greenlet = gevent.spawn(inherit(run))
        entered.wait()

        def end():
            may_leave.set()
            greenlet.join()

        return end

    def test_in_whatever_order_they_end_no_labels_are_left(self):
        for nested in (False, True):
            for order in itertools.permutations(range(3)):
                with self.subTest(order=order, nested=nested):
                    ends = [self.begin(f"{number}", nested) for number in range(3)]
                    for number in order:
                        ends[number]()
                    self.assertIsNone(published())

    def test_labels_from_before_are_back(self):
        with labels(outer="main"):
            ends = [self.begin(name) for name in ("one", "two")]
            ends[0]()
            self.assertEqual(published()["greenlet"], "two")
            ends[1]()
            self.assertEqual(published(), {"outer": "main"})
        self.assertIsNone(published())


if __name__ == "__main__":
    unittest.main()
