#!/usr/bin/env python3
"""docs/validation.md is what tools/validate.py makes of this program and the published measurements."""
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from program import PROGRAM, REFERENCE, ROOT  # noqa: E402


class Validation(unittest.TestCase):
    @unittest.skipUnless(REFERENCE.is_dir(), f"no published measurements in {REFERENCE}")
    def test_the_page_and_its_picture_are_up_to_date(self):
        with tempfile.TemporaryDirectory() as folder:
            page = Path(folder) / "validation.md"
            subprocess.run([sys.executable, ROOT / "tools/validate.py", "--reference", REFERENCE, "--program", PROGRAM, "--out", page, "--pictures", folder], check=True)
            self.assertEqual(page.read_text(), (ROOT / "docs/validation.md").read_text(), "run tools/validate.py again")
            picture = "validation_speedups.svg"
            self.assertEqual((Path(folder) / picture).read_text(), (ROOT / "docs/pictures" / picture).read_text(), "run tools/validate.py again")

    def test_a_missing_folder_is_said(self):
        done = subprocess.run([sys.executable, ROOT / "tools/validate.py", "--reference", "/nonexistent"], capture_output=True, text=True)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("/nonexistent: no such folder", done.stderr)


if __name__ == "__main__":
    unittest.main()
