#!/usr/bin/env python3
"""The reconstructed traces and the tool that makes them. Run: python3 tests/tools/test_reconstruct_trace.py"""

import json
import math
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from program import REFERENCE, ROOT  # noqa: E402

TOOL = ROOT / "tools" / "reconstruct_trace.py"

sys.path.insert(0, str(TOOL.parent))

import reconstruct_trace as tool  # noqa: E402

V100, TITAN_X = tool.V100, tool.TITAN_X

# (profile, model, GPU, batch, other rows added to the layer before them): direction -> what the check measured:
# (sum of |difference| / total, correlation, largest running-sum deviation / total)
MEASURED = {
    ("googlenet_k80_b32_caffe", "googlenet_caffe64", tool.K80_DIE, 32, False): {"backward": (0.668, 0.867, 0.172)},
    ("googlenet_titanx_b128_caffe", "googlenet_caffe64", TITAN_X, 128, False): {
        "forward": (0.100, 0.997, 0.023), "backward": (0.327, 0.878, 0.098)},
    ("googlenet_titanx_b128_caffe", "googlenet_caffe64", TITAN_X, 128, True): {
        "forward": (0.334, 0.958, 0.046), "backward": (0.517, 0.817, 0.106)},
    ("resnet50_v100dgxs_b32_kineto", "resnet50", V100, 32, False): {
        "forward": (0.332, 0.798, 0.023), "backward": (0.291, 0.803, 0.039)},
}


def read_trace(name):
    """A shipped trace, parsed."""
    return json.loads((ROOT / "traces" / f"{name}.json").read_text(encoding="utf-8"))


def nanoseconds(trace):
    """All times of a trace in integer nanoseconds: forward, then backward."""
    return [round(1000 * layer[key]) for key in ("forward", "backward") for layer in trace["layers"]]


class Shipped(unittest.TestCase):
    """The files in traces/ that the tool makes."""

    def test_regenerated_byte_for_byte(self):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([sys.executable, TOOL, "--all", "--out", folder], check=True)
            for name in tool.shipped():
                with self.subTest(name):
                    self.assertEqual((Path(folder) / f"{name}.json").read_bytes(),
                                     (ROOT / "traces" / f"{name}.json").read_bytes())

    def test_every_reconstructed_trace_is_made_by_the_tool(self):
        made = sorted(path.stem for path in (ROOT / "traces").glob("*.json")
                      if json.loads(path.read_text(encoding="utf-8")).get("origin") == "reconstructed")
        self.assertEqual(made, sorted(tool.shipped()))

    def test_sums_are_the_totals(self):
        for name, one in tool.shipped().items():
            with self.subTest(name):
                self.assertEqual(sum(nanoseconds(read_trace(name))), round(one.total_s * 1e9))

    def test_published_throughputs(self):
        """Images/s of one node of two dies, B-Caffe repository."""
        for name, published in (("googlenet_k80_b32", 163.36), ("resnet50_107_k80_b16", 76.85), ("resnet50_k80_b16", 76.85)):
            trace = read_trace(name)
            with self.subTest(name):
                self.assertAlmostEqual(2 * trace["batch_size"] / (sum(nanoseconds(trace)) / 1e9), published, places=4)

    def test_published_totals_of_us_bytes_networks(self):
        """Samples/s of one GPU: Dell's of a P100, PaddlePaddle's benchmark of a V100, torchvision's of eight V100 over eight."""
        for name, published in (("googlenet_p100_b128", 468), ("bert_base_v100_b32", 109.44), ("mobilenet_v2_v100_b32", 1_281_167 / 392 / 8)):
            trace = read_trace(name)
            with self.subTest(name):
                self.assertAlmostEqual(trace["batch_size"] / (sum(nanoseconds(trace)) / 1e9), published, places=4)
                self.assertIn("total: ", trace["source"])

    def test_totals_that_are_not_published(self):
        """The roofline at the efficiency of the nearest published training, and the source says that it is not this one's."""
        efficiency = tool.kepler_efficiency()
        self.assertAlmostEqual(efficiency, 0.793, places=3)
        self.assertGreater(tool.total_of(tool.K80_DIE, "vgg16", 32), 32 / 35.4)  # not at base clock: it would beat the roofline
        for name, one in tool.shipped().items():
            if one.gpu != tool.K40C:
                continue
            with self.subTest(name):
                self.assertEqual(one.total_s, tool.total_of(tool.K40C, one.model, one.batch) / efficiency)

    def test_totals_of_mg_wfbps_v100(self):
        """The roofline at the efficiency of u39kun's benchmark: 136.5 and 142.5 ms for 16 images; Inception-v4 does 6.16 of 12.284 GMACs at 224x224."""
        totals = {name: one.total_s for name, one in tool.shipped().items()}
        for model, nearest, share, large, small in (("resnet152", "resnet152", 1, 128, 32), ("inceptionv4", "resnet152", 6.16 / 12.284, 128, 32),
                                                    ("densenet161", "densenet161", 1, 64, 16), ("densenet201", "densenet161", 1, 64, 16)):
            efficiency = tool.total_of(V100, nearest, 16) / {"resnet152": 0.1365, "densenet161": 0.1425}[nearest]
            for batch in (large, small):
                with self.subTest(model, batch=batch):
                    self.assertAlmostEqual(totals[f"{model}_v100_b{batch}"], share * tool.total_of(tool.V100_PCIE, model, batch) / efficiency, places=4)

    def test_us_bytes_gpus(self):
        """The part of the roofline is that of the same model's published training: 97.2 ms at 32, 154 images/s at 64, 3.420 steps/s at 32."""
        known = {"resnet50": (V100, 32, 0.09718), "vgg16": (tool.P100, 64, 64 / 154), "bert_base_128": (V100, 32, 1 / 3.420)}
        for name, one in tool.shipped().items():
            if one.gpu not in (tool.V100S, tool.RTX_3090):
                continue
            gpu, batch, total_s = known[one.model]
            part = tool.total_of(gpu, one.model, batch) / total_s
            with self.subTest(name):
                self.assertAlmostEqual(tool.total_of(one.gpu, one.model, one.batch) / one.total_s, part, places=12)

    def test_form(self):
        for name, one in tool.shipped().items():
            trace = read_trace(name)
            with self.subTest(name):
                self.assertEqual(list(trace), ["model", "device", "framework", "batch_size", "precision", "origin",
                                               "source", "unit", "layers"])
                self.assertEqual((trace["model"], trace["batch_size"], trace["unit"]), (one.model, one.gpus * one.batch, "us"))
                self.assertEqual([layer["name"] for layer in trace["layers"]],
                                 [layer["name"] for layer in tool.read_model(one.model)["layers"]])
                self.assertTrue(all(time > 0 for time in nanoseconds(trace)))

    def test_no_time_is_finer_than_a_nanosecond(self):
        for name in tool.shipped():
            trace = read_trace(name)
            with self.subTest(name):
                self.assertTrue(all(round(layer[key], 3) == layer[key] for layer in trace["layers"]
                                    for key in ("forward", "backward")))

    def test_granularity_does_not_change_the_times(self):
        self.assertEqual(read_trace("resnet50_107_k80_b16")["layers"], read_trace("resnet50_k80_b16")["layers"])


class Method(unittest.TestCase):
    """The roofline and the scaling."""

    gpu = tool.Gpu(flops=2e12, bandwidth=1e11)
    launch = 5e-6

    def times(self, *layers, batch=2):
        """Of layers given as (MACs, bytes of the output, shapes)."""
        return tool.roofline(self.gpu, [{"name": f"l{place}", "forward_macs": macs, "activation_bytes": output, "tensors": [{"shape": shape} for shape in shapes]}
                                        for place, (macs, output, *shapes) in enumerate(layers)], batch)

    def assert_times(self, times, forward, backward):
        self.assertAlmostEqual(times.forward, forward, delta=1e-15)
        self.assertAlmostEqual(times.backward, backward, delta=1e-15)

    def test_convolution(self):
        """64 channels of 8x8 from 3 of 8x8 by 3x3 kernels, batch 2: 2 * 64*27*64 MACs of 2 FLOPs at 2 TFLOP/s are 0.221 us; outputs 2*4*64*64 bytes, inputs
        2*4*3*64, weights 4*64*27 at 100 GB/s 0.412 us. The first layer has one product backward, others two; then 2 and 3 passes over the output."""
        convolution, end = (64 * 27 * 64, 4 * 64 * 64, [64, 3, 3, 3]), (0, 0)
        one = (2 * 4 * 64 * 64 + 2 * 4 * 3 * 64 + 4 * 64 * 27) / 1e11 + self.launch
        passes = [count * 2 * 4 * 64 * 64 / 1e11 + self.launch for count in (2, 3)]
        first, second, _ = self.times(convolution, convolution, end)
        self.assert_times(first, one + passes[0], one + passes[1])
        self.assert_times(second, one + passes[0], 2 * one + passes[1])

    def test_arithmetic_where_it_is_slower(self):
        """2 * 10^9 MACs of 2 FLOPs at 2 TFLOP/s: 2 ms; nothing follows."""
        self.assert_times(self.times((10**9, 4, [1000, 1000]))[0], 2e-3 + self.launch, 2e-3 + self.launch)

    def test_kinds(self):
        """Without tensors, normalisation (only vectors), embedding (a matrix, no MACs): passes over 1 MB a sample, 20 us at 100 GB/s for two."""
        plain, normal, table = self.times((0, 10**6), (0, 10**6, [4], [4]), (0, 10**6, [25_000, 100]))
        once = 2e6 / 1e11
        self.assert_times(plain, 2 * once + self.launch, 2 * (2 * once + self.launch))  # a normalisation follows
        self.assert_times(normal, 3 * once + self.launch + 2 * once + self.launch, 5 * once + self.launch + 3 * once + self.launch)
        self.assert_times(table, 2 * once + self.launch, once + 1e7 / 1e11 + self.launch)

    def test_spread_is_exact(self):
        for total in (0, 1, 7, 10**12 + 1):
            self.assertEqual(sum(tool.spread(total, [0.1, 3, 1e-9, 2.7])), total)

    def test_forward_ratio(self):
        times = tool.scaled([tool.Times(1, 1), tool.Times(3, 1)], 0.3, forward_ratio=0.5)
        self.assertEqual(times, [(25_000_000, 100_000_000), (75_000_000, 100_000_000)])

    def test_every_model_can_be_spread(self):
        for path in sorted((ROOT / "models").glob("*.json")):
            with self.subTest(path.stem):
                times = tool.scaled(tool.roofline(V100, tool.read_model(path.stem)["layers"], 32), 1.0)
                self.assertEqual(sum(map(sum, times)), 10**9)


class Agreement(unittest.TestCase):
    """The check against measured profiles."""

    def test_a_perfect_split(self):
        self.assertEqual(tool.agreement([1.0, 2.0, 3.0], [2, 4, 6]), (0, 1, 0))

    def test_by_hand(self):
        """Measured 1, 3; spread 2, 2: each is 1 of 4 off, and the first running sum is 1 of 4 off."""
        self.assertEqual(tool.agreement([1.0, 3.0], [1, 1]), (0.5, 0, 0.25))

    def test_other_rows_go_to_the_layer_before(self):
        profile = [("input", tool.Times(9, 9)), ("a", tool.Times(1, 2)), ("relu", tool.Times(3, 4)), ("b", tool.Times(None, 5))]
        layers = [{"name": "a"}, {"name": "b"}]
        self.assertEqual(tool.matched(profile, layers, fold=True), {"a": [4, 6], "b": [None, 5]})
        self.assertEqual(tool.matched(profile, layers, fold=False), {"a": [1, 2], "b": [None, 5]})

    def test_measured_profiles(self):
        """The figures that the tool gives today: a change of the method must restate them, for better or worse."""
        for (profile, model, gpu, batch, fold), figures in MEASURED.items():
            path = REFERENCE / "profiles" / f"{profile}.csv"
            if not path.exists():
                self.skipTest(f"no reference data: {path} is absent (set ALLREPLAY_REFERENCE_DATA)")
            _, found = tool.compare(tool.read_profile(path), tool.read_model(model), gpu, batch, fold)
            with self.subTest(profile, fold=fold):
                self.assertEqual({key: tuple(round(value, 3) for value in one) for key, one in found.items()}, figures)


def made_up(model, roofline, *measured):
    """A held profile of this model, with these backward times."""
    return tool.Held(tool.Known("", model, V100, "V100", 1), list(measured), list(roofline))


class LeaveOneOut(unittest.TestCase):
    """The error of the method, out of sample."""

    def test_the_median_of_the_others(self):
        """Others that reach 1/2 and 1/4 of the roofline: 3/8 in the middle, so a roofline of 3 s becomes 8 s."""
        one, half, quarter = made_up("a", [1, 2], 4, 4), made_up("b", [1, 1], 2, 2), made_up("c", [1, 1], 4, 4)
        self.assertEqual((half.efficiency(), quarter.efficiency()), (0.5, 0.25))
        self.assertEqual(tool.predicted(one, [half, quarter]), 8)
        self.assertIsNone(tool.predicted(one, []))

    def test_a_profile_does_not_predict_itself(self):
        """Its times doubled, it is predicted as before."""
        profiles = REFERENCE / "profiles"
        if not profiles.is_dir():
            self.skipTest(f"no reference data: {profiles} is absent (set ALLREPLAY_REFERENCE_DATA)")
        before = tool.leave_one_out(profiles)
        with tempfile.TemporaryDirectory() as folder:
            for known in tool.KNOWN:
                (Path(folder) / known.file).write_bytes((profiles / known.file).read_bytes())
            path = Path(folder) / "vgg16_pipedream.csv"
            head, *rows = path.read_text(encoding="utf-8").splitlines()
            doubled = [",".join([name, params, forward, str(2 * float(backward)), rest]) for name, params, forward, backward, rest in
                       (row.split(",") for row in rows)]
            path.write_text("\n".join([head, *doubled]), encoding="utf-8")
            after = tool.leave_one_out(Path(folder))
        for (one, error), (other, again) in zip(before, after):
            with self.subTest(one.known.file):
                if one.known.file != path.name:
                    self.assertEqual((one.measured, error.split), (other.measured, again.split))
                    continue
                self.assertAlmostEqual(1 + error.other_models, 2 * (1 + again.other_models))  # the same seconds, of twice as many
                self.assertAlmostEqual(1 + error.same_model, 2 * (1 + again.same_model))
                self.assertAlmostEqual(error.split.difference, again.split.difference)

    def test_the_documented_table(self):
        profiles = REFERENCE / "profiles"
        if not profiles.is_dir():
            self.skipTest(f"no reference data: {profiles} is absent (set ALLREPLAY_REFERENCE_DATA)")
        done = subprocess.run([sys.executable, TOOL, "--leave-one-out", profiles], capture_output=True, text=True, check=True)
        self.assertEqual(len(done.stdout.splitlines()), 2 + len(tool.KNOWN) + 1)
        self.assertIn(done.stdout, (ROOT / "docs" / "generated" / "estimation_errors.md").read_text(encoding="utf-8"), "run tools/estimation_errors.py again")

    def test_splits_are_those_of_the_check(self):
        """Where a profile names the model's layers, both ways of matching it find the same."""
        path = REFERENCE / "profiles/resnet50_v100dgxs_b32_kineto.csv"
        if not path.exists():
            self.skipTest(f"no reference data: {path} is absent (set ALLREPLAY_REFERENCE_DATA)")
        one = tool.held(path.parent, tool.KNOWN[0])
        self.assertAlmostEqual(math.fsum(one.measured), 0.0644354)
        _, found = tool.compare(tool.read_profile(path), tool.read_model("resnet50"), V100, 32, fold=False)
        for ours, theirs in zip(tool.agreement(one.measured[::-1], one.roofline[::-1]), found["backward"]):
            self.assertAlmostEqual(ours, theirs)


class Command(unittest.TestCase):
    """The command line."""

    full = ["--batch", "8", "--peak-tflops", "10", "--memory-gbs", "500", "--device", "D", "--source", "S"]

    def run_tool(self, *arguments):
        """The tool's (status, standard output, standard error)."""
        done = subprocess.run([sys.executable, TOOL, *map(str, arguments)], capture_output=True, text=True)
        return done.returncode, done.stdout, done.stderr

    def refuse(self, *arguments):
        """Run the tool; it must end with status 2 and one line."""
        status, output, error = self.run_tool(*arguments)
        self.assertEqual((status, output, error.count("\n")), (2, "", 1), error)
        return error

    def test_images_per_second(self):
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "t.json"
            self.assertEqual(self.run_tool("lenet5", *self.full, "--images-per-second", 1000, "--out", out), (0, "", ""))
            self.assertEqual(sum(nanoseconds(json.loads(out.read_text(encoding="utf-8")))), 8_000_000)

    def test_check_prints_the_figures(self):
        with tempfile.TemporaryDirectory() as folder:
            profile = Path(folder) / "p.csv"
            profile.write_text("layer,params,forward_us,backward_us\nconv1,156,,2\nconv2,2416,,4\n", encoding="utf-8")
            status, output, _ = self.run_tool("lenet5", "--check", profile, *self.full[:6])
            self.assertEqual(status, 0)
            self.assertNotIn("forward ", output)

    def test_bad_input(self):
        with tempfile.TemporaryDirectory() as folder:
            bad, out = Path(folder) / "bad.json", Path(folder) / "t.json"
            run = [*self.full, "--iteration-seconds", 1, "--out", out]
            self.assertIn("nonesuch.json: ", self.refuse("nonesuch", *run))
            bad.write_text("{", encoding="utf-8")
            self.assertIn("bad.json: line 1:", self.refuse(bad, *run))
            bad.write_text('{"name": "bad", "layers": 5}', encoding="utf-8")
            self.assertIn("bad.json: /layers: missing", self.refuse(bad, *run))
            bad.write_text('{"name": "bad", "layers": [{"name": "a", "tensors": []}]}', encoding="utf-8")
            self.assertIn("bad.json: /layers/0/forward_macs: missing", self.refuse(bad, *run))
            bad.write_text("layer,forward_us,backward_us\nconv1,x,2\n", encoding="utf-8")
            self.assertIn("bad.json: line 2: ", self.refuse("lenet5", "--check", bad, *self.full[:6]))
            bad.write_text("layer,forward_us,backward_us\nother,1,2\n", encoding="utf-8")
            self.assertTrue(self.refuse("lenet5", "--check", bad, *self.full[:6]))

    def test_bad_command_line(self):
        self.assertTrue(self.refuse())
        self.assertTrue(self.refuse("lenet5", "--leave-one-out", "x"))
        self.assertIn("nonexistent/resnet50_v100dgxs_b32_kineto.csv: ", self.refuse("--leave-one-out", "/nonexistent"))
        self.assertTrue(self.refuse("lenet5"))
        self.assertTrue(self.refuse("lenet5", *self.full, "--out", "x"))
        self.assertTrue(self.refuse("lenet5", "--batch", 0))


if __name__ == "__main__":
    unittest.main()
