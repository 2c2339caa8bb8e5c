#!/usr/bin/env python3
"""docs/generated/validation.md is what tools/validate.py makes of this program and the published measurements, and no worse than it may be."""
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from program import PROGRAM, REFERENCE, ROOT, needs_program  # noqa: E402

sys.path.insert(0, str(ROOT / "tools"))

from validation import ddl_benchmarks  # noqa: E402
from validation.scored import Scorer  # noqa: E402

needs_measurements = unittest.skipUnless(REFERENCE.is_dir(), f"no published measurements in {REFERENCE}")


class Validation(unittest.TestCase):
    @needs_program
    @needs_measurements
    def test_the_page_and_its_picture_are_up_to_date(self):
        with tempfile.TemporaryDirectory() as folder:
            page = Path(folder) / "validation.md"
            subprocess.run([sys.executable, ROOT / "tools/validate.py", "--reference", REFERENCE, "--program", PROGRAM, "--out", page, "--pictures", folder], check=True)
            self.assertEqual(page.read_text(), (ROOT / "docs/generated/validation.md").read_text(), "run tools/validate.py again")
            picture = "validation_speedups.svg"
            self.assertEqual((Path(folder) / picture).read_text(), (ROOT / "docs/pictures" / picture).read_text(), "run tools/validate.py again")

    @needs_program
    @needs_measurements
    def test_seven_methods_on_three_networks(self):
        """Constants from two methods' rows; of all others the median within 6 %, nine of ten within 20 %, and no advice that costs more than 3 %."""
        with tempfile.TemporaryDirectory() as folder:
            benchmark = ddl_benchmarks.Benchmark(Scorer(PROGRAM, folder), REFERENCE, REFERENCE / "profiles" / "resnet50_v100dgxs_b32_kineto.csv")
            found = benchmark.score("all", ddl_benchmarks.EVERYTHING)
        # 105 rows: 21 of one GPU and 6 suspects are left out, 12 of BSP-A2A and 3 of ByteScheduler-A2A on one node fit.
        self.assertEqual((found["all"]["points"], len(found["points"])), (63, 78))
        self.assertEqual({one["constant"] for one in found["constants"]}, {"beta", "launch"})
        self.assertLessEqual(found["all"]["error"]["median"], 0.06)
        self.assertLessEqual(found["all"]["error"]["p90"], 0.20)
        for null in ("no_communication", "no_overlap"):
            self.assertLess(found["all"]["error"]["median"], found["all"][null]["median"])
            self.assertLess(found["all"]["error"]["p90"], found["all"][null]["p90"])
        for setting in found["methods"]["each"]:
            self.assertLessEqual(setting["regret"], 0.03)

    def test_a_missing_folder_is_said(self):
        done = subprocess.run([sys.executable, ROOT / "tools/validate.py", "--reference", "/nonexistent"], capture_output=True, text=True, check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("/nonexistent: no such folder", done.stderr)


if __name__ == "__main__":
    unittest.main()
