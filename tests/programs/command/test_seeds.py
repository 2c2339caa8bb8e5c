#!/usr/bin/env python3
"""Statistics over seeds: --seeds, and lists of seeds and sigmas in sweeps. Run: python3 tests/programs/command/test_seeds.py

ALLREPLAY_PROGRAM names the program (build/release/allreplay).
"""

import csv
import io
import json
import math
import pathlib
import re
import statistics
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from program import WIDE, answer, needs_program, output, place_of, run  # noqa: E402

PROFILE = ["--profile", "resnet50_v100_b32"]
CLUSTER = {"name": "noisy", "workers": 4, "network": {"alpha": "30 us", "beta": "0.8 ns/B"}, "jitter": {"distribution": "lognormal", "sigma": 0.08, "seed": 1}, "spread": {"sigma": 0.02, "seed": 1}}
ADDED = ["seeds", "sd_s", "ci95_s", "least_s", "p25_s", "p50_s", "p75_s", "p95_s", "most_s"]
T4 = 2.7764451  # tables of Student's t: 4 degrees of freedom, 0.975


@needs_program
class Seeds(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.cluster = cls.write("noisy.json", CLUSTER)

    @classmethod
    def write(cls, name, document):
        path = pathlib.Path(cls.folder.name, name)
        path.write_text(json.dumps(document), encoding="utf-8")
        return str(path)

    def check(self, row, values):
        """Statistics by Python's own module; "inclusive" quantiles are those of type 7."""
        self.assertEqual(list(row)[list(row).index("seeds"):][: len(ADDED)], ADDED)
        cuts = statistics.quantiles(values, n=20, method="inclusive")
        sd = statistics.stdev(values)
        expected = [len(values), sd, T4 * sd / math.sqrt(5), min(values), cuts[4], statistics.median(values), cuts[14], cuts[18], max(values)]
        for key, value in zip(ADDED, expected):
            self.assertAlmostEqual(float(row[key]) / value, 1, 7, key)

    def test_compare(self):
        """Each seed alone is what a cluster file with this seed gives, to the bit; the row is their mean, the paired
        difference that of the rows of one seed."""
        words = ["compare", *PROFILE, "--strategies", "ddp,fsdp2", "--json"]
        each = []
        for seed in range(3, 8):
            alone = json.loads(output(*words, "--cluster", self.cluster, "--seeds", seed))
            if seed < 5:
                stated = {**CLUSTER, "jitter": {**CLUSTER["jitter"], "seed": seed}, "spread": {**CLUSTER["spread"], "seed": seed}}
                for one, row in zip(alone, json.loads(output(*words, "--cluster", self.write("stated.json", stated)))):
                    self.assertEqual({**{key: one[key] for key in row}, "wall_s": 0}, {**row, "wall_s": 0})
            each.append([row["iteration_s"] for row in alone])
            self.assertEqual([(row["seeds"], row["sd_s"], row["ci95_s"]) for row in alone], [(1, None, None)] * 2)
        rows = json.loads(output(*words, "--cluster", self.cluster, "--seeds", "3:7"))
        for row, values in zip(rows, zip(*each)):
            self.assertAlmostEqual(row["iteration_s"] / statistics.mean(values), 1, 12)
            self.check(row, values)
        best = min((0, 1), key=lambda i: rows[i]["iteration_s"])
        differences = [values[1 - best] - values[best] for values in each]
        self.assertIsNone(rows[best]["over_best_s"])
        self.assertAlmostEqual(rows[1 - best]["over_best_s"] / statistics.mean(differences), 1, 9)
        self.assertAlmostEqual(rows[1 - best]["over_best_ci95_s"] / (T4 * statistics.stdev(differences) / math.sqrt(5)), 1, 7)
        self.assertLess(rows[1 - best]["over_best_ci95_s"], math.hypot(rows[0]["ci95_s"], rows[1]["ci95_s"]))  # that of independent draws

    def test_screens(self):
        """One line of facts, two columns, one note."""
        words = [*PROFILE, "--cluster", self.cluster, "--seeds", "1:5"]
        text = output("run", *words, "--strategy", "ddp", env=WIDE)
        row = answer("run", *words, "--strategy", "ddp")
        self.assertRegex(text, rf"over seeds +mean of 5 ± .* \(95 % confidence\), standard deviation .*, median {row['p50_s'] * 1e3:.1f}")
        text = output("compare", *words, "--strategies", "ddp,fsdp2,s-sgd", env=WIDE)
        self.assertIn("over fastest", text)
        calm = [*PROFILE, "--cluster", "k80-10gbe", "--workers", "4", "--jitter", "1%", "--seeds", "1:5"]  # 196 ms, ± 5 us
        lines = output("compare", *calm, "--strategies", "ddp,s-sgd", env=WIDE).splitlines()
        units = lines[next(i for i, line in enumerate(lines) if "over fastest" in line) + 1].split()
        self.assertEqual(len({"s", "ms", "us", "ns"} & {*units}), 1, units)  # of means, intervals and differences
        self.assertIn("same 5 seeds", text)
        self.assertNotIn("small differences may be chance", text)
        self.assertIn("small differences may be chance", output("compare", *words[:-2], "--strategies", "ddp,fsdp2", env=WIDE))

    def test_nothing_random(self):
        calm = self.write("calm.json", {"name": "calm", **{key: CLUSTER[key] for key in ("workers", "network")}})
        text = output("compare", *PROFILE, "--cluster", calm, "--strategies", "ddp,wfbp", "--seeds", "1:20", env=WIDE)
        self.assertEqual(text.count("nothing is random here: all seeds give one number"), 1)
        row = answer("run", *PROFILE, "--cluster", calm, "--strategy", "ddp", "--seeds", "1:20")
        self.assertEqual((row["seeds"], row["sd_s"], row["ci95_s"], row["p95_s"]), (20, 0, 0, row["iteration_s"]))
        text = output("collective", "--cluster", "fat-tree-4", "--bytes", "1MiB", "--seeds", "1:3", env=WIDE)
        self.assertIn("nothing is random here", text)
        for clusters, notes in (([calm, self.cluster], 0), ([calm], 1)):
            sweep = self.write("calm_sweep.json", {"profiles": ["resnet50_v100_b32"], "clusters": clusters, "strategies": ["ddp"], "seeds": "1:3"})
            self.assertEqual(output("sweep", sweep, "--out", pathlib.Path(self.folder.name, f"calm{notes}.csv"), env=WIDE).count("nothing is random here"), notes)

    def test_pictures(self):
        """`compare --plot`: the line at a bar's end is the confidence interval, in pixels that the bar itself tells; boxes and bands
        of a sweep come from its statistics."""
        words = ["compare", *PROFILE, "--cluster", self.cluster, "--strategies", "ddp,fsdp2"]
        picture = pathlib.Path(self.folder.name, "bars.svg")
        output(*words, "--seeds", "1", "--plot", picture)
        self.assertNotIn('class="error"', picture.read_text(encoding="utf-8"))
        rows = sorted(json.loads(output(*words, "--seeds", "1:5", "--json", "--plot", picture)), key=lambda row: row["iteration_s"])
        svg = picture.read_text(encoding="utf-8")
        lines = re.findall(r'points="([\d.]+),([\d.]+) ([\d.]+),\2" class="error"', svg)[::2]  # each has a white one behind it
        parts = [(float(x), float(width)) for x, width in re.findall(r'<rect x="([\d.]+)" y="[\d.]+" width="([\d.]+)" height="[\d.]+" class="part"', svg)]
        start = min(x for x, _ in parts)
        for row, (low, _, high) in zip(rows, lines, strict=True):
            middle, half = (float(low) + float(high)) / 2, (float(high) - float(low)) / 2
            self.assertAlmostEqual(half / (middle - start), row["ci95_s"] / row["iteration_s"], delta=0.001)
        sweep = self.write("boxes.json", {"profiles": ["resnet50_v100_b32"], "clusters": [self.cluster], "strategies": ["ddp", "wfbp"], "workers": [2, 4], "seeds": "1:5"})
        out = pathlib.Path(self.folder.name, "boxes.csv")
        output("sweep", sweep, "--out", out)
        for words, shape, count in ((("--kind", "boxes"), 'class="box"', 4), (("--kind", "lines", "--band", "p25_s,p75_s"), 'class="band"', 2)):
            output("plot", out, *words, "--out", picture)
            self.assertEqual(picture.read_text(encoding="utf-8").count(shape), count)
        self.assertIn("Bands: lower quartile over seeds to upper quartile over seeds.", picture.read_text(encoding="utf-8"))

    def test_collective(self):
        words = ["collective", "--cluster", "fat-tree-4", "--collective", "halving-doubling", "--fidelity", "fluid", "--bytes", "16MiB", "--json"]
        values = [json.loads(output(*words, "--routing", f"ecmp:seed={seed}"))[0]["time_s"] for seed in range(1, 6)]
        self.assertGreater(len(set(values)), 1)
        row = json.loads(output(*words, "--routing", "ecmp", "--seeds", "1:5"))[0]
        self.assertAlmostEqual(row["time_s"] / statistics.mean(values), 1, 12)
        self.assertAlmostEqual(row["algbw_GBps"] * 1e9 * row["time_s"] / 2**24, 1, 9)
        self.check(row, values)
        picture = pathlib.Path(self.folder.name, "busbw.svg")
        random = [*words[:-3], "--bytes", "1MiB,16MiB", "--routing", "ecmp", "--plot", picture, "--collective", "halving-doubling,ring"]
        for seeds, intervals in ((("--seeds", "1:5"), 2), ((), 0)):  # a ring's neighbours never share a link
            output(*random, *seeds)
            lines = re.findall(r'points="([\d.]+),[\d.]+ \1,[\d.]+" class="error"', picture.read_text(encoding="utf-8"))
            self.assertEqual(len(lines), intervals)

    def test_sweep(self):
        """Rows are settings, with a column for each sigma; the command line's seeds win; --resume knows the seeds."""
        base = {"profiles": ["resnet50_v100_b32"], "clusters": [self.cluster], "strategies": ["ddp", "wfbp"]}
        file = self.write("sweep.json", {**base, "jitter": [0, {"each": "{}%", "from": 4, "to": 5}], "spread": [0.01], "seeds": [3, "4:6", 7], "plot": {"kind": "lines", "x": "jitter"}})
        out = pathlib.Path(self.folder.name, "sweep.csv")
        output("sweep", file, "--out", out)
        table = list(csv.DictReader(io.StringIO(out.read_text(encoding="utf-8"))))
        self.assertEqual([(row["jitter"], row["spread"], row["strategy"], row["seeds"]) for row in table], [(sigma, "0.01", strategy, "5") for sigma in ("0", "0.04", "0.05") for strategy in ("ddp", "wfbp")])
        one = answer("run", *PROFILE, "--cluster", self.cluster, "--jitter", "5%", "--spread", "1%", "--seeds", "3:7", "--strategy", "ddp")
        for key in ("iteration_s", *ADDED):
            self.assertEqual(float(table[4][key]), one[key], key)
        kept = run("sweep", file, "--out", out, "--resume")
        self.assertIn("(6 were there already)", kept.stderr)
        other = run("sweep", file, "--out", out, "--resume", "--seeds", "3:4")
        self.assertNotIn("already", other.stderr.splitlines()[-1])
        self.assertEqual({row["seeds"] for row in csv.DictReader(io.StringIO(out.read_text(encoding="utf-8")))}, {"2"})
        picture = pathlib.Path(self.folder.name, "sweep.svg")
        output("plot", out, "--config", file, "--out", picture)
        self.assertIn(">jitter (relative deviation)<", picture.read_text(encoding="utf-8"))  # 0.05, which the sweep's file may call 5%

    def test_bad_seeds(self):
        words = ["run", *PROFILE, "--cluster", self.cluster, "--strategy", "ddp"]
        for wrong in ("3:1", "1,1", "x", "1:", "-1", "1:2:3"):
            done = run(*words, f"--seeds={wrong}")
            self.assertEqual((done.returncode, place_of(done.stderr)), (2, "command line: --seeds"), wrong)
        self.assertEqual(place_of(run(*words, "--jitter", "200%").stderr), "command line: --jitter")
        base = {"profiles": ["resnet50_v100_b32"], "clusters": [self.cluster], "strategies": ["ddp"]}
        for key, wrong in (("seeds", "5:1"), ("seeds", [1, 1]), ("jitter", [2]), ("spread", ["x"]), ("jitter", 0.1)):
            file = self.write("bad.json", {**base, key: wrong})
            done = run("sweep", file)
            self.assertEqual(done.returncode, 2, key)
            self.assertIn(f"/{key}", place_of(done.stderr))


if __name__ == "__main__":
    unittest.main()
