#!/usr/bin/env python3
"""The examples of docs/python.md, in the page's order, with what they print. --update writes that anew."""

import doctest
import os
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from program import Case, ROOT  # noqa: E402

PAGE = ROOT / "docs" / "python.md"
OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL


class Runner(doctest.DocTestRunner):
    """Keeps what examples gave that is not what the page has."""

    def __init__(self):
        super().__init__(optionflags=OPTIONS, verbose=False)
        self.differs = []

    def report_failure(self, out, test, example, got):
        self.differs.append((example, got))

    def report_unexpected_exception(self, out, test, example, exc_info):
        raise AssertionError(f"line {example.lineno + 1}: {example.source}") from exc_info[1]


def differences():
    """(example, what it gave) for each that the page shows otherwise; and how many there are."""
    test = doctest.DocTestParser().get_doctest(PAGE.read_text(encoding="utf-8"), {}, PAGE.name, str(PAGE), 0)
    runner = Runner()
    runner.run(test)
    return runner.differs, len(test.examples)


class Page(Case):
    def test_the_page(self):
        try:
            import numpy  # noqa: F401
            import pandas  # noqa: F401
        except ImportError as missing:
            self.skipTest(f"skipped: {missing}")
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.folder)
        differs, count = differences()
        self.assertGreater(count, 10)
        self.assertEqual([(example.lineno + 1, example.source, got) for example, got in differs], [])


def update():
    """Writes the page with what its examples print."""
    lines = PAGE.read_text(encoding="utf-8").split("\n")
    differs, _ = differences()
    for example, got in reversed(differs):
        first = example.lineno + example.source.count("\n")
        lines[first:first + example.want.count("\n")] = [line.rstrip() for line in got.rstrip("\n").split("\n")] if got else []
    PAGE.write_text("\n".join(lines), encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:] == ["--update"]:
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            update()
    else:
        unittest.main()
