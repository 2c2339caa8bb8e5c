#!/usr/bin/env python3
"""Pipelines as users run them: the worked cases of the contract, which lie beside the published measurements and are
skipped where they are absent; schedules and their files; what is refused, and by which word.
"""

import json
import shlex
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import program
from program import REFERENCE

WORKED = REFERENCE.parent / "cases" / "pipelines.json"


def differences(expected, found, scale, where=""):
    """Where an answer is not what it should be: times to 1e-6 of the iteration, everything else to 1e-6 of itself."""
    if isinstance(expected, dict):
        return [d for key, value in expected.items() for d in differences(value, found.get(key), scale, f"{where}/{key}")]
    if isinstance(expected, list):
        if len(expected) != len(found):
            return [f"{where}: {len(found)} instead of {len(expected)}"]
        return [d for i, value in enumerate(expected) for d in differences(value, found[i], scale, f"{where}/{i}")]
    if isinstance(expected, (int, float)) and found is not None:
        most = 1e-6 * (scale if where.endswith("_s") else abs(expected))
        return [] if abs(expected - found) <= most else [f"{where}: {found} instead of {expected}"]
    return [] if expected == found else [f"{where}: {found} instead of {expected}"]


@program.needs_program
class PipelineCases(program.Case):
    def run_case(self, case):
        for name, text in {**case.get("files", {}), "trace.json": json.dumps(case.get("trace")),
                           "cluster.json": json.dumps(case.get("cluster"))}.items():
            (self.folder / name).write_text(text, encoding="utf-8")
        return self.run_program(*shlex.split(case["command"])[1:])

    @program.needs(WORKED)
    def test_worked_cases(self):
        for case in json.loads(WORKED.read_text(encoding="utf-8")):
            with self.subTest(case["name"]):
                done = self.run_case(case)
                if "refused" in case:
                    self.assertEqual(done.returncode, 2, done.stdout)
                    self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
                    self.assertIn(case["refused"], done.stderr)
                    continue
                self.assertEqual(done.returncode, 0, done.stderr)
                if "rows" in case:
                    self.assertEqual(done.stdout, case["rows"])
                    continue
                expected = {key: value for key, value in case["answers"].items() if key != "order"}
                found = json.loads(done.stdout)
                self.assertEqual(differences(expected, found, expected["iteration_s"]), [], case["derivation"])


if __name__ == "__main__":
    unittest.main()
