#!/usr/bin/env python3
"""docs/generated/validation.md is what tools/validate.py makes of this program and the published measurements, and no worse than it may be."""
import statistics
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from program import PROGRAM, REFERENCE, ROOT, needs_program  # noqa: E402

sys.path.insert(0, str(ROOT / "tools"))

import estimation_errors  # noqa: E402
from validation import bert_base, ddl_benchmarks, fsdp_at_scale, mlperf, rates, scaling_loss  # noqa: E402
from validation.scored import Scorer, ScoredTwice, require_apart  # noqa: E402

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

    @needs_measurements
    def test_nothing_is_scored_that_is_known(self):
        row, other = {"gpus": "4"}, {"gpus": "4"}
        require_apart([row], [other])  # alike, and not the same
        with self.assertRaises(ScoredTwice):
            require_apart([row], [other, row])
        for machine in (fsdp_at_scale.MARENOSTRUM, fsdp_at_scale.LEONARDO):
            known, scored = fsdp_at_scale.split(fsdp_at_scale.rows_of(REFERENCE, machine))
            require_apart([one for runs in known.values() for one in runs], scored)
            with self.assertRaises(ScoredTwice):
                fsdp_at_scale.score(None, "", machine, known, [*scored, next(iter(known.values()))[0]])

    @needs_program
    @needs_measurements
    def test_fsdp_on_marenostrum(self):
        """From 64 GPUs on, with one node known: the median within 8 %, nine of ten within 20 %, both null models beaten."""
        with tempfile.TemporaryDirectory() as folder:
            scorer = Scorer(PROGRAM, folder)
            known, scored = fsdp_at_scale.split(fsdp_at_scale.rows_of(REFERENCE, fsdp_at_scale.MARENOSTRUM))
            fsdp_at_scale.estimate(scorer, fsdp_at_scale.MARENOSTRUM, known)
            large = fsdp_at_scale.large(fsdp_at_scale.score(scorer, "rows", fsdp_at_scale.MARENOSTRUM, known, scored))
        self.assertEqual(large["points"], 26)
        self.assertLessEqual(large["error"]["median"], 0.08)
        self.assertLessEqual(large["error"]["p90"], 0.20)
        self.assert_beaten(large)

    def benchmarked(self, benchmark, known, more=()):
        with tempfile.TemporaryDirectory() as folder:
            return benchmark(Scorer(PROGRAM, folder), REFERENCE, *more).score("all", known)

    def assert_beaten(self, group):
        for null in ("no_communication", "no_overlap"):
            self.assertLess(group["error"]["median"], group[null]["median"])
            self.assertLess(group["error"]["p90"], group[null]["p90"])

    @needs_program
    @needs_measurements
    def test_seven_methods_on_three_networks(self):
        """Constants from three methods' rows; of all others the median within 6 %, nine of ten within 20 %, and no advice that costs more than 3 %."""
        found = self.benchmarked(ddl_benchmarks.ResNet50, ddl_benchmarks.EVERYTHING)
        # 105 rows: 21 of one GPU and 6 suspects are left out, 12 of BSP-A2A, 9 of BSP-PS and 3 of ByteScheduler-A2A on one node fit.
        self.assertEqual((found["all"]["points"], len(found["points"])), (54, 78))
        self.assertEqual({one["constant"] for one in found["constants"]}, {"beta", "launch_tensor", "server"})
        self.assertLessEqual(found["all"]["error"]["median"], 0.06)
        self.assertLessEqual(found["all"]["error"]["p90"], 0.20)
        self.assert_beaten(found["all"])
        self.assert_beaten(found["matters"])
        for setting in found["methods"]["each"]:
            self.assertLessEqual(setting["regret"], 0.03)

    @needs_program
    @needs_measurements
    def test_bert_base(self):
        """With interference the median within 5 %, nine of ten within 10 %, and no advice that costs more than 8 %; no row is scored that fits."""
        found = self.benchmarked(bert_base.BertBase, ddl_benchmarks.EVERYTHING._replace(interference=True), ("mlm",))
        # 105 rows: 21 of one GPU are left out, 12 of BSP-A2A, 12 of BSP-PS, 3 of ByteScheduler-A2A and 3 of WFBP-A2A on one node fit.
        self.assertEqual((found["all"]["points"], len(found["points"])), (54, 84))
        self.assertLessEqual(found["all"]["error"]["median"], 0.05)
        self.assertLessEqual(found["all"]["error"]["p90"], 0.10)
        self.assertLessEqual(found["methods"]["worst_regret"], 0.08)
        self.assert_beaten(found["all"])
        fitting = {line for one in found["constants"] for line in one["lines"]}
        self.assertEqual({point["line"] for point in found["points"] if not point["scored"]}, fitting)

    @needs_program
    @needs_measurements
    def test_scaling_losses(self):
        """The mean loss on A100 and on H100 within a half of what was measured, and nearer than "no loss"."""
        with tempfile.TemporaryDirectory() as folder:
            for points, clusters in zip(scaling_loss.found(Scorer(PROGRAM, folder), REFERENCE), (scaling_loss.H100, scaling_loss.A100)):
                cluster, measured = next(iter(clusters)), statistics.mean(point.measured for point in points)
                predicted = [point.predicted[cluster] for point in points]
                self.assertLess(abs(statistics.mean(predicted) - measured), measured / 2)
                self.assertLess(statistics.mean(abs(value - point.measured) for value, point in zip(predicted, points)), statistics.mean(abs(point.measured) for point in points))

    def test_presets_say_no_number_that_is_scored(self):
        """Scores beside which a preset's number was fitted go by fitted constants alone: every network's rows fit its links."""
        with tempfile.TemporaryDirectory() as folder:
            benchmark = ddl_benchmarks.Benchmark(Scorer(PROGRAM, folder), Path("/nonexistent"), rows=[])
            rows = [{"method": method, "network": network, "gpus": gpus, "samples_per_s": "1"} for method in ddl_benchmarks.METHODS for network in ddl_benchmarks.NETWORKS for gpus in ("4", "8")]
            benchmark.profile = lambda known: {}
            points = [benchmark.point(row, ddl_benchmarks.EVERYTHING) for row in rows]
        for network in ddl_benchmarks.NETWORKS.values():
            fits = {(point["workers"], point["calibrate"]) for point in points if point["cluster"].startswith(network) and point["calibrate"]}
            self.assertIn((4, "beta by cluster"), fits)
            self.assertIn((8, "beta by cluster workers"), fits)

    def test_a_missing_folder_is_said(self):
        done = subprocess.run([sys.executable, ROOT / "tools/validate.py", "--reference", "/nonexistent"], capture_output=True, text=True, check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("/nonexistent: no such folder", done.stderr)


class Apart(unittest.TestCase):
    """Nothing is tuned on what it is scored on."""

    def test_a_row_that_is_fitted_and_scored_is_refused(self):
        require_apart([("a", 1)], [("a", 2), ("b", 1)])
        with self.assertRaisesRegex(ValueError, "fitted and scored: .*'a', 1"):
            require_apart([("a", 1), ("b", 1)], [("a", 1)])

    def test_a_models_efficiency_is_of_other_models(self):
        """Left out, a model's own figures change nothing."""
        work = estimation_errors.Work
        figures = [estimation_errors.Figure(estimation_errors.OWN["h100"], "h100", model, "", measured, work(products, attention, 0.1))
                   for model, measured, products, attention in (("a", 3.1, 1, 0.5), ("a", 5.1, 1, 1), ("b", 9, 1, 1), ("c", 4.1, 2, 0.2), ("c", 6.1, 3, 0.3))]
        fit, others = rates.without(figures, "h100", "b")
        self.assertEqual({one.model for one in others}, {"a", "c"})
        figures[2] = figures[2]._replace(measured=0.5)
        self.assertEqual(rates.without(figures, "h100", "b")[0], fit)
        # Without noise the fit is exact: products at 1, attention at 1/4.
        exact = [one._replace(measured=one.work.at(estimation_errors.Efficiency(0.8, 0.25))) for one in figures]
        for value, right in zip(estimation_errors.fitted(exact), (0.8, 0.25)):
            self.assertAlmostEqual(value, right)

    def test_a_series_step_is_of_other_series(self):
        def series(name, pairs):
            return [{"benchmark": "ssd", "accelerator": name, "round": "v", "submitter": "s", "samples_per_gpu": str(batch), "step_ms": str(step)} for batch, step in pairs]
        groups = [series("a", [(8, 24), (4, 16)]), series("b", [(8, 100), (1, 99)]), series("c", [(2, 8), (1, 6)])]
        self.assertAlmostEqual(mlperf.intercept(groups[0]), 8)  # 2 ms a sample
        self.assertAlmostEqual(mlperf.intercept(groups[0], [0, 2]), 4)  # 24 and 14: 2.5 ms a sample
        self.assertAlmostEqual(mlperf.host_step(groups[1], groups, lambda _: None), 6)  # of a and c: 8 and 4
        self.assertIsNone(mlperf.intercept(groups[0][:1]))
        with self.assertRaises(ValueError):
            mlperf.host_step(groups[0], [*groups, list(groups[0])], lambda _: None)  # the same series twice


if __name__ == "__main__":
    unittest.main()
