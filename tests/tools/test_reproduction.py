#!/usr/bin/env python3
"""docs/generated/reproduction.md is what tools/reproduction.py makes of this program, and how claims are judged. Run: python3 tests/tools/test_reproduction.py"""
import json
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from program import PROGRAM, ROOT, needs_program  # noqa: E402

PAGE = ROOT / "docs" / "generated" / "reproduction.md"
sys.path.insert(0, str(ROOT / "tools"))
from claims import claim, findings  # noqa: E402
from claims.sweeps import parsed  # noqa: E402


class Page(unittest.TestCase):
    """The page as it is committed."""

    @needs_program
    def test_it_is_up_to_date(self):
        with tempfile.TemporaryDirectory(prefix="all replay ") as folder:
            page = Path(folder) / "reproduction.md"
            subprocess.run([sys.executable, ROOT / "tools/reproduction.py", "--program", PROGRAM, "--out", page], check=True, cwd=folder)
            self.assertEqual(page.read_text(encoding="utf-8"), PAGE.read_text(encoding="utf-8"), "run tools/reproduce.sh again")

    def test_its_links_lead_somewhere(self):
        targets = re.findall(r"\]\(([^)#]+)\)", PAGE.read_text(encoding="utf-8"))
        self.assertGreater(len(targets), 30)
        for target in targets:
            self.assertTrue((PAGE.parent / target).is_file(), target)

    def test_every_figure_of_a_paper_is_named(self):
        named = set(re.findall(r"\.\./configs/(\w+)\.json", PAGE.read_text(encoding="utf-8")))
        ours = {file.stem for file in (ROOT / "configs").glob("*.json") if not json.loads(file.read_text(encoding="utf-8"))["reproduces"].startswith("no published")}
        self.assertEqual(named, ours)

    def test_pictures_are_small(self):
        for _, _, _, picture in findings.FINDINGS:
            self.assertLess((ROOT / "docs" / "pictures" / picture).stat().st_size, 100_000)


class Verdicts(unittest.TestCase):
    """How a claim is judged."""

    def test_a_number(self):
        def verdict(paper, ours, **how):
            return claim.compared("", "", paper, ours, **how).verdict
        self.assertEqual(verdict(1.78, 1.70), claim.REPRODUCED)  # 4 % less
        self.assertEqual(verdict(1.78, 1.28), claim.DIRECTION)  # a gain, but 28 % smaller
        self.assertEqual(verdict(1.78, 0.99), claim.NOT_REPRODUCED)
        self.assertEqual(verdict(1.05, 0.99), claim.NOT_REPRODUCED)  # within 6 %, but a loss
        self.assertEqual(verdict(58.0, 60.0, neutral=None, within=0.02), claim.NOT_REPRODUCED)  # no direction: 3 % is too much
        self.assertEqual(verdict(58.0, 58.5, neutral=None, within=0.02), claim.REPRODUCED)
        self.assertEqual(claim.compared("", "", 2.0, 1.9999).difference, "+0 %")  # never -0

    def test_a_range(self):
        def verdict(paper, ours):
            return claim.ranged("", "", paper, ours).verdict
        self.assertEqual(verdict((1.11, 1.26), (1.05, 1.30)), claim.REPRODUCED)  # -5 and +3 %
        self.assertEqual(verdict((1.21, 1.56), (1.0, 1.28)), claim.DIRECTION)
        self.assertEqual(verdict((1.09, 1.15), (1.0, 1.23)), claim.DIRECTION)  # -8 and +7 %, but no gain somewhere
        self.assertEqual(verdict((1.11, 1.26), (0.8, 1.28)), claim.NOT_REPRODUCED)  # behind somewhere
        self.assertEqual(verdict((1.04, 1.07), (1.0, 1.001)), claim.NOT_REPRODUCED)  # ahead nowhere
        self.assertEqual(claim.ranged("", "", (1.11, 1.26), (0.8, 1.28)).ours, "-20 to 28 %")

    def test_options_are_columns(self):
        row = parsed({"workers": "8", "collectives": "3", "speedup": "", "options": "partition=4 MB;credit=2", "iteration_s": "0.5"})
        self.assertEqual((row["workers"], row["credit"], row["partition"], row["iteration_s"], row["speedup"]), (8, "2", "4 MB", 0.5, None))

    def test_where_compression_pays(self):
        self.assertEqual(findings.pays({2: 1.2, 4: 0.5, 8: 0.8}), "4 to 8 (best 2.00x)")
        self.assertEqual(findings.pays({2: 0.5, 4: 0.5}), "everywhere (best 2.00x)")
        self.assertEqual(findings.pays({2: 0.995, 4: 1.5}), "nowhere")  # half a per cent does not count


if __name__ == "__main__":
    unittest.main()
