#!/usr/bin/env python3
"""Rows of `allreplay sweep`: those for other programs (--tidy), and of plan files. Run: python3 tests/programs/command/test_sweep_rows.py"""

import csv
import io
import json
import shutil
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import program  # noqa: E402
from program import ROOT  # noqa: E402

EXAMPLES = ROOT / "docs" / "examples"
PROFILE = "resnet20_p102_b128"
NUMBERS = ["nodes", "gpus_per_node", "rails", "bandwidth_GBps"]

try:
    import pandas
except ImportError:
    pandas = None


def rows_of(text):
    """The rows of a CSV below its comment."""
    return list(csv.DictReader(io.StringIO(text.partition("\n")[2])))


@program.needs_program
class Case(program.Case):
    def sweep(self, config, *arguments, status=0):
        """Runs a sweep; returns what it wrote to standard error."""
        self.write("sweep.json", {"profiles": [PROFILE], "strategies": ["wfbp", "ddp"], **config})
        done = self.run_program("sweep", "sweep.json", *arguments)
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stderr

    def text(self, file):
        return (self.folder / file).read_text(encoding="utf-8")

    def full(self, file):
        return list(csv.DictReader(io.StringIO(self.text(file))))


class Tidy(Case):
    """`--tidy FILE.csv`."""

    def test_only_what_is_used(self):
        """The same rows, without the columns that are empty in all, and with the cluster's numbers after its name."""
        self.sweep({"clusters": ["h100x8-8x400gbps"], "workers": [8, 64]}, "--out", "all.csv", "--tidy", "tidy.csv")
        full, tidy = self.full("all.csv"), rows_of(self.text("tidy.csv"))
        used = [key for key in full[0] if any(row[key] for row in full)]
        self.assertLess(len(used), len(full[0]))
        place = used.index("cluster") + 1
        self.assertEqual(list(tidy[0]), used[:place] + NUMBERS + used[place:])
        for one, other in zip(tidy, full, strict=True):
            self.assertEqual({key: one[key] for key in used}, {key: other[key] for key in used})

    def test_numbers_of_clusters(self):
        """h100x8-8x400gbps: nodes of 8 GPUs with 8 ports of 400 Gbit/s, 50 GB/s, of which its file takes a measured part. An overridden
        number is the one that was simulated. A cluster whose collective was measured as a whole has none."""
        words = {"nodes": 4, "gpus": 8, "network": "400 Gbit/s", "inner": "370 GB/s", "rails": 4}
        self.sweep({"clusters": ["h100x8-8x400gbps", words, "k80-10gbe"], "workers": [16], "strategies": ["wfbp"]}, "--tidy", "tidy.csv")
        preset, described, measured = rows_of(self.text("tidy.csv"))
        network = json.loads((ROOT / "topologies" / "h100x8-8x400gbps.json").read_text(encoding="utf-8"))
        self.assertEqual([preset[key] for key in NUMBERS[:3]], ["2", "8", "8"], network)
        self.assertEqual([described[key] for key in NUMBERS], ["2", "8", "4", "50"])
        self.assertEqual([measured[key] for key in NUMBERS], [""] * 4)
        self.sweep({"clusters": [words], "workers": [16], "strategies": ["wfbp"]}, "--tidy", "tidy.csv", "--bandwidth", "x0.5", "--rails", "8")
        self.assertEqual([rows_of(self.text("tidy.csv"))[0][key] for key in NUMBERS], ["2", "8", "8", "25"])

    def test_version_is_a_comment(self):
        self.sweep({"clusters": ["k80-10gbe"], "workers": [8]}, "--tidy", "tidy.csv")
        version = program.output("--version").splitlines()[0]
        self.assertEqual(self.text("tidy.csv").splitlines()[0], f"# {version}")

    def test_our_readers_and_pandas(self):
        """plot draws the same picture of both files, report the same page but for the file's name; a # in a name does not cut a row."""
        cluster = json.loads((EXAMPLES / "eight_workers.json").read_text(encoding="utf-8"))
        self.write("odd.json", {**cluster, "name": "rack #1"})
        config = {"clusters": ["k80-10gbe", "odd.json"], "workers": [8], "codecs": ["none", "topk"]}
        self.sweep(config, "--out", "all.csv", "--tidy", "tidy.csv")
        pictures = []
        for file in ("all.csv", "tidy.csv"):
            done = self.run_program("plot", file, "--kind", "dots", "--panels", "cluster,codec", "--out", f"{file}.svg")
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            pictures.append(self.text(f"{file}.svg"))
            self.assertEqual(self.run_program("report", file, "--out", f"{file}.html").returncode, 0)
        self.assertEqual(*pictures)
        self.assertIn("rack #1", pictures[1])
        if pandas is None:
            self.skipTest("no pandas")
        frame = pandas.read_csv(self.folder / "tidy.csv", comment="#")
        self.assertEqual(list(frame["iteration_s"]), [float(row["iteration_s"]) for row in self.full("all.csv")])
        self.assertEqual(set(frame["cluster"]), {"k80-10gbe", "rack #1"})

    def test_kept_and_merged_rows(self):
        """All rows, not only those that were simulated now."""
        config = {"clusters": ["k80-10gbe"], "workers": [4, 8, 16]}
        self.sweep(config, "--out", "all.csv", "--tidy", "whole.csv")
        self.sweep(config, "--out", "all.csv", "--resume", "--tidy", "resumed.csv")
        self.assertEqual(self.text("whole.csv"), self.text("resumed.csv"))
        for share in (0, 1):
            self.sweep(config, "--out", "part-{}.csv", "--shard", f"{share}/2")
        self.sweep(config, "--merge", "part-0.csv", "--merge", "part-1.csv", "--out", "merged.csv", "--tidy", "tidy.csv")
        without = [{key: value for key, value in row.items() if key != "wall_s"} for row in rows_of(self.text("tidy.csv"))]
        self.assertEqual(without, [{key: value for key, value in row.items() if key != "wall_s"} for row in rows_of(self.text("whole.csv"))])

    def test_json_beside_it(self):
        self.sweep({"clusters": ["k80-10gbe"], "workers": [8]}, "--json", "--tidy", "tidy.csv")
        self.assertEqual([row["strategy"] for row in rows_of(self.text("tidy.csv"))], ["wfbp", "ddp"])

    def test_jobs(self):
        """Rows of jobs have no numbers of a cluster."""
        shutil.copy(EXAMPLES / "two_jobs.json", self.folder)
        self.write("jobs.json", {"name": "jobs", "jobs": [str(EXAMPLES / "two_jobs.json")]})
        self.output("sweep", "jobs.json", "--out", "all.csv", "--tidy", "tidy.csv")
        self.assertEqual(len(rows_of(self.text("tidy.csv"))), len(self.full("all.csv")))

    def test_refused(self):
        config = {"clusters": ["k80-10gbe"], "workers": [8]}
        for arguments in (("--shard", "0/2", "--out", "a.csv"), ("--engine", "slurm", "--out", "a.csv")):
            error = self.sweep(config, *arguments, "--tidy", "tidy.csv", status=2)
            self.assertTrue(program.place_of(error).startswith("command line"))
            self.assertIn("--tidy", error)
        self.assertEqual(program.place_of(self.sweep(config, "--out", "a.csv", "--tidy", "a.csv", status=2)).partition(":")[0], "command line")
        self.assertFalse((self.folder / "tidy.csv").exists())


class Plans(Case):
    """`"plans"`."""

    def setUp(self):
        super().setUp()
        self.setting = {"profiles": [str(EXAMPLES / "six_layers.json")], "clusters": [str(EXAMPLES / "eight_workers.json")]}
        shutil.copy(EXAMPLES / "by_hand.json", self.folder)

    def test_a_row_is_a_run(self):
        """Next to strategies, and instead of them."""
        self.sweep({**self.setting, "plans": ["by_hand.json"]}, "--out", "rows.csv")
        rows = self.full("rows.csv")
        self.assertEqual([(row["strategy"], row["options"].split(";")[-1]) for row in rows][0], ("by-hand", "plan=by_hand"))
        self.assertEqual([row["strategy"] for row in rows[1:]], ["wfbp", "ddp"])
        run = program.answer("run", "--profile", EXAMPLES / "six_layers.json", "--cluster", EXAMPLES / "eight_workers.json",
                             "--plan", EXAMPLES / "by_hand.json")
        self.assertEqual(float(rows[0]["iteration_s"]), run["iteration_s"])
        self.assertNotIn("plan", run["options"])
        self.write("sweep.json", {**self.setting, "plans": ["by_hand.json"]})
        alone = json.loads(self.run_program("sweep", "sweep.json", "--json").stdout)
        self.assertEqual([row["iteration_s"] for row in alone], [run["iteration_s"]])

    def test_plans_of_one_strategy_differ(self):
        """By their files' names, also in a figure and on a page, which replays them."""
        for name, first in (("one", "fc6.weight"), ("two", "conv4.weight")):
            plan = json.loads((EXAMPLES / "by_hand.json").read_text(encoding="utf-8"))
            plan["blocks"].sort(key=lambda block: first not in block["slices"])
            self.write(f"{name}.json", plan)
        self.sweep({**self.setting, "plans": ["one.json", "two.json"]}, "--out", "rows.csv")
        done = self.run_program("plot", "rows.csv", "--kind", "dots", "--series", "strategy,plan", "--out", "x.svg")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("by-hand, two", self.text("x.svg"))
        self.output("report", "rows.csv", "--config", "sweep.json", "--out", "x.html")
        self.assertNotIn("has no such row", self.text("x.html"))

    def test_a_changed_plan_is_computed_again(self):
        config = {**self.setting, "plans": ["by_hand.json"]}
        self.sweep(config, "--out", "rows.csv")
        plan = json.loads((EXAMPLES / "by_hand.json").read_text(encoding="utf-8"))
        plan["blocks"].reverse()
        self.write("by_hand.json", plan)
        before = self.full("rows.csv")
        self.sweep(config, "--out", "rows.csv", "--resume")
        self.assertNotEqual(before[0]["iteration_s"], self.full("rows.csv")[0]["iteration_s"])
        self.assertEqual(before[1], self.full("rows.csv")[1])  # kept, with its wall_s

    def test_refused(self):
        self.assertEqual(program.place_of(self.sweep({**self.setting, "plans": ["none.json"]}, status=2)), "sweep.json: /plans/0")
        self.assertEqual(program.place_of(self.sweep({**self.setting, "profiles": [PROFILE], "plans": ["by_hand.json"]}, status=2)).partition(":")[0], "by_hand.json")
        shutil.copy(EXAMPLES / "by_hand.json", self.folder / "a=b.json")
        self.assertEqual(program.place_of(self.sweep({**self.setting, "plans": ["a=b.json"]}, status=2)), "sweep.json: /plans/0")
        (self.folder / "other").mkdir()
        shutil.copy(EXAMPLES / "by_hand.json", self.folder / "other")
        self.assertEqual(program.place_of(self.sweep({**self.setting, "plans": ["by_hand.json", "other/by_hand.json"]}, status=2)), "sweep.json: /plans/1")
        self.write("sweep.json", self.setting)
        self.assertEqual(self.run_program("sweep", "sweep.json").returncode, 2)


if __name__ == "__main__":
    unittest.main()
