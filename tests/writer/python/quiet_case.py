"""A case of a test whose coroutines and scopes do not come to their end, which the interpreter says."""

import unittest
import warnings


class QuietCase(unittest.TestCase):
    def setUp(self):
        caught = warnings.catch_warnings()
        caught.__enter__()
        self.addCleanup(caught.__exit__, None, None, None)
        warnings.simplefilter("ignore", RuntimeWarning)
