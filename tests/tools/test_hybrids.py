#!/usr/bin/env python3
"""docs/generated/hybrids.md is what tools/validate_hybrids.py makes of this program and the published measurements, and says
what it has to say. Run: python3 tests/tools/test_hybrids.py
"""

import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from program import PROGRAM, REFERENCE, ROOT, needs_program  # noqa: E402

PAGE = ROOT / "docs" / "generated" / "hybrids.md"


class Hybrids(unittest.TestCase):
    @needs_program
    @unittest.skipUnless((REFERENCE / "hybrids").is_dir(), f"no published measurements in {REFERENCE}")
    def test_the_page_is_up_to_date(self):
        with tempfile.TemporaryDirectory() as folder:
            page = Path(folder) / "hybrids.md"
            subprocess.run([sys.executable, ROOT / "tools/validate_hybrids.py", REFERENCE, "--out", page],
                           env={**os.environ, "ALLREPLAY_PROGRAM": str(PROGRAM)}, check=True)
            self.assertEqual(page.read_text(encoding="utf-8"), PAGE.read_text(encoding="utf-8"), "run tools/validate_hybrids.py again")

    def test_replaying_beats_both_null_models_and_one_known_rate_is_enough(self):
        tables = re.findall(r"\| (replayed|no bubble|bubble by formula) \| \d+ \| ([\d.]+) % \| ([\d.]+) %", PAGE.read_text(encoding="utf-8"))
        self.assertEqual(len(tables), 9)
        for first in range(0, 9, 3):
            (_, replayed, _), *nulls = tables[first:first + 3]
            for _, median, _ in nulls:
                self.assertLess(float(replayed), float(median))
        _, median, ninth = tables[3]  # vTrain
        self.assertLessEqual(float(median), 4)
        self.assertLessEqual(float(ninth), 12)


if __name__ == "__main__":
    unittest.main()
