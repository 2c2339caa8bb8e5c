#!/usr/bin/env python3
"""How tools/profile_torch.py says how far it has come. Run: python3 tests/tools/test_progress.py"""

import io
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))

from torch_profile.progress import Progress  # noqa: E402


class Terminal(io.StringIO):
    """One that is watched."""

    def isatty(self):
        return True


def said(stream, seconds_each):
    """What is written while ten items take so long each."""
    now = [0.0]
    progress = Progress("measuring", 10, stream, lambda: now[0])
    for _ in progress.over(range(10)):
        now[0] += seconds_each
    return stream.getvalue()


class Says(unittest.TestCase):
    def test_a_log_has_a_line_each_half_minute(self):
        # Each takes 20 s, so that half a minute has passed with every second one: 8 are left then, 160 s.
        self.assertEqual(said(io.StringIO(), 20).splitlines()[:2], ["measuring: 2 of 10, 160 s left", "measuring: 4 of 10, 120 s left"])
        self.assertEqual(said(io.StringIO(), 1), "")

    def test_a_terminal_has_one_line_which_is_cleared(self):
        text = said(Terminal(), 1)
        self.assertIn("measuring: 9 of 10, 1 s left", text)
        self.assertNotIn("\n", text)
        self.assertTrue(text.endswith("\r\033[K"))


if __name__ == "__main__":
    unittest.main()
