#!/usr/bin/env python3
"""Every column of CSV and of JSON rows is in the registry, `allreplay list columns --json`. Run: python3 tests/programs/command/test_columns.py"""

import csv
import json
import re
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from program import ROOT, Case, answer, listed, needs_program, output  # noqa: E402

EXAMPLES = ROOT / "docs" / "examples"
SETTING = ("--profile", "resnet20_p102_b128", "--cluster", "k80-10gbe")
ONE = (*SETTING, "--strategy", "ddp", "--workers", "8")
JOBS = {"name": "two", "jobs": [str(EXAMPLES / "two_jobs.json")], "searches": [{"stagger": 2}]}

UNITS = {"_s": "s", "_bytes": "B", "_GBps": "GB/s", "_hours": "h", "_usd": "USD", "_kwh": "kWh"}  # by the ending of a key


@needs_program
class Columns(Case):
    """The registry, and what the commands write."""

    def setUp(self):
        super().setUp()
        self.registry = {row["key"]: row for row in answer("list", "columns")}

    def described(self, keys, where):
        self.assertEqual([key for key in keys if key not in self.registry], [], where)

    def test_each_row_is_whole(self):
        self.assertEqual(len(self.registry), len(answer("list", "columns")))  # keys are unique
        for key, row in self.registry.items():
            with self.subTest(column=key):
                self.assertEqual(list(row), ["name", "key", "title", "axis", "unit", "role", "lower_is_better", "about"])
                self.assertTrue(row["about"] and row["title"] and row["axis"])
                self.assertEqual(row["role"] == "measure", row["lower_is_better"] is not None)
                unit = UNITS.get(re.search(f"(_per_s|{'|'.join(UNITS)}|)$", key)[1])
                self.assertIn(row["unit"], [unit] if unit else ["", "1", "s", "B", "samples/s", "tokens/s", "as measured"])

    def test_lists_of_columns_are_alike(self):
        """As every list, they have names; and what the registry has."""
        of_jobs = answer("list", "job-columns")
        self.assertEqual([row["name"] for row in of_jobs], listed("job-columns"))
        for row in of_jobs:
            self.assertEqual(row, self.registry[row["name"]])

    def test_json(self):
        for words in (("run", *ONE), ("compare", *SETTING, "--workers", "8"), ("recommend", *SETTING, "--workers", "8"), ("whatif", *ONE),
                      ("recommend", "--model", "llama3-8b", "--device", "h100", "--global-batch", "64", "--workers", "16",
                       "--cluster", "h100x8-8x400gbps", "--strategies", "fsdp2"),
                      ("jobs", EXAMPLES / "two_jobs.json"), ("jobs", EXAMPLES / "two_jobs.json", "--stagger", "2"),
                      ("collective", "--cluster", "k80-10gbe", "--workers", "8"),
                      ("goodput", *ONE, "--mtbf", "1000h", "--checkpoint", "10s", "--restart", "60s")):
            answer = json.loads(output(*words, "--json"))
            rows = answer if isinstance(answer, list) else answer["jobs"] if words[0] == "jobs" else [answer]
            if words[0] == "whatif":
                rows = [answer["base"], *answer["rows"], *answer["together"]]
            for row in rows:
                self.described(row, words)
                for key, value in row.items():  # what has a unit is a number, or numbers
                    if self.registry[key]["unit"]:
                        self.assertNotIsInstance(value, str, f"{words}: {key}")
                    else:
                        self.assertNotIsInstance(value, float, f"{words}: {key}")

    def test_csv(self):
        jobs, measured, validated = (self.folder / name for name in ("jobs.json", "measured.csv", "validated.csv"))
        jobs.write_text(json.dumps(JOBS), encoding="utf-8")
        measured.write_text("profile,cluster,workers,strategy,iteration_s\nresnet20_p102_b128,k80-10gbe,8,ddp,0.1\n", encoding="utf-8")
        output("validate", measured, "--out", validated)
        for words in (("compare", *SETTING, "--workers", "8", "--csv"), ("tune", *ONE, "--budget", "3", "--csv"), ("sweep", jobs, "--csv")):
            self.described(self.head(output(*words)) - set(listed("options")), words)
        self.described(self.head(validated.read_text(encoding="utf-8")), "validate")

    @staticmethod
    def head(text):
        return set(next(csv.reader(text.splitlines())))


if __name__ == "__main__":
    unittest.main()
