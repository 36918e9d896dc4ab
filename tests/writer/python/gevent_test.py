"""Tests that greenlets of gevent never publish a set that another greenlet has freed. They do not follow labels."""

import gevent.monkey

gevent.monkey.patch_all()

import gc  # noqa: E402
import unittest  # noqa: E402

import gevent  # noqa: E402
from customlabels import labels  # noqa: E402
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


if __name__ == "__main__":
    unittest.main()
