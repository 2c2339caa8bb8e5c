#!/usr/bin/env python3
"""The examples of docs/python.md, in the page's order, with what they print."""

import doctest
import os
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from program import Case, ROOT  # noqa: E402


class Page(Case):
    def test_the_page(self):
        try:
            import numpy  # noqa: F401
            import pandas  # noqa: F401
        except ImportError as missing:
            self.skipTest(f"skipped: {missing}")
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.folder)
        failed, tried = doctest.testfile(str(ROOT / "docs" / "python.md"), module_relative=False,
                                         optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
        self.assertGreater(tried, 10)
        self.assertEqual(failed, 0)


if __name__ == "__main__":
    unittest.main()
