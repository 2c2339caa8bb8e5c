#!/usr/bin/env python3
"""Every file in configs/ runs through the program and gives a picture. Run: python3 tests/tools/test_configs.py"""

import json
import math
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from program import PROGRAM, ROOT, needs_program, rows_of  # noqa: E402

CONFIGS = sorted((ROOT / "configs").glob("*.json"))
AXES = ["workers", "collectives", "fidelities", "codecs", "strategies"]


def values_of(option):
    """How many values an option of a strategy takes."""
    if isinstance(option, list):
        return sum(map(values_of, option))
    return option["to"] - option["from"] + 1 if isinstance(option, dict) else 1


def choices_of(entry):
    """How many rows an entry of a list stands for: a strategy's options may take several values."""
    return math.prod(map(values_of, entry.values())) if isinstance(entry, dict) else 1


def rows_in(config):
    """How many rows a sweep has: a cluster's own lists hold for it instead of the sweep's. Of jobs each is a row."""
    if "jobs" in config:
        assert "clusters" not in config
        lists = [*AXES, "profiles", "routing", "placements", "searches"]
        return sum(len(file["jobs"]) for file in config["jobs"]) * math.prod(sum(map(choices_of, config.get(axis, [None]))) for axis in lists)
    clusters = [cluster if isinstance(cluster, dict) else {} for cluster in config["clusters"]]
    return len(config["profiles"]) * sum(math.prod(sum(map(choices_of, {**config, **cluster}.get(axis, [None]))) for axis in AXES) for cluster in clusters)


@needs_program
class Configs(unittest.TestCase):
    """Sweeps as users run them, from a folder elsewhere."""

    def run_in(self, folder, *command):
        """What a successful command printed."""
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_sweeps_and_plots(self):
        for config in CONFIGS:
            with self.subTest(config=config.stem), tempfile.TemporaryDirectory(prefix="all replay ") as folder:
                what = json.loads(config.read_text(encoding="utf-8"))
                self.assertEqual(what["name"], config.stem)
                self.assertTrue(what["description"] and what["reproduces"])
                self.run_in(folder, PROGRAM, "sweep", config, "--out", "rows.csv")
                rows = rows_of(Path(folder, "rows.csv"))
                self.assertEqual(len(rows), rows_in(what))
                for row in rows if "jobs" not in what else ():
                    self.assertGreaterEqual(float(row["iteration_s"]), float(row["forward_s"]) + float(row["backward_s"]))
                    if row["lower_bound_s"]:
                        self.assertGreaterEqual(float(row["iteration_s"]), float(row["lower_bound_s"]) * (1 - 1e-9))
                self.run_in(folder, PROGRAM, "plot", "rows.csv", "--config", config, "--out", "x.png", "--out", "x.svg")
                for picture in ("x.png", "x.svg"):
                    self.assertGreater(Path(folder, picture).stat().st_size, 4_000)


if __name__ == "__main__":
    unittest.main()
