#!/usr/bin/env python3
"""`allreplay codec` as users run it, and the tool that measures codecs with it. Run: python3 tests/programs/command/test_codec.py"""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import program  # noqa: E402
from program import PROGRAM, ROOT, refusal  # noqa: E402

TOOL = ROOT / "tools" / "measure_codecs.py"

tool = program.tool_named("measure_codecs")

# 1000 elements: 8 bytes for each of k = 1 (density 0.001); 2 bytes each; a byte each and the norm; a bit each, and 4 or 8.
BYTES = {"topk": 8, "gtopk": 8, "dgc": 8, "randk": 8, "fp16": 2000, "qsgd": 1004, "signsgd": 125, "ef-signsgd": 129,
         "onebit": 133, "signum": 125}


def run(*arguments):
    """The finished process of `allreplay codec ARGUMENTS`."""
    return program.run("codec", *arguments)


class Codec(unittest.TestCase):
    """The command."""

    def report(self, *arguments):
        """Its JSON."""
        done = run(*arguments, "--json")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return json.loads(done.stdout)

    def refuse(self, *arguments):
        """The one line of a refusal."""
        return refusal("codec", *arguments).strip()

    def test_every_codec(self):
        for codec, size in BYTES.items():
            with self.subTest(codec=codec):
                report = self.report("--codec", codec, "--elements", 1000, "--workers", 4)
                self.assertEqual(report["bytes"], size)
                self.assertEqual(report["ratio"], 4000 / size)
                self.assertGreater(report["encode_s"], 0)
                self.assertGreater(report["decode_s"], 0)
                # 4 workers: 2 * 3/4 of an all-reduced payload, 3 payloads gathered, log2 4 up and down the tree.
                factor = {"fp16": 1.5, "gtopk": 2}.get(codec, 3)
                self.assertEqual(report["aggregated"]["bytes_per_worker"], factor * size)
                self.assertEqual(report["mean_error_feedback"] is None, codec in ("fp16", "qsgd", "signsgd", "signum"))

    def test_options(self):
        self.assertEqual(self.report("--codec", "topk", "--elements", 1000, "--option", "density=0.05")["bytes"], 400)
        report = self.report("--codec", "qsgd", "--elements", 1001, "--option", "bits=3")
        self.assertEqual((report["bytes"], report["options"]), (376 + 4, {"bits": 3}))  # 3003 bits
        done = run("--codec", "topk", "--elements", 10, "--option", "bits=3")
        self.assertEqual((done.returncode, bool(done.stderr)), (0, True))

    def test_deterministic_by_seed(self):
        def report(seed):
            result = self.report("--codec", "qsgd", "--elements", 999, "--workers", 2, "--seed", seed,
                                 "--distribution", "lognormal")
            return {key: value for key, value in result.items() if key not in ("encode_s", "decode_s", "seed")}

        self.assertEqual(report(1), report(1))
        self.assertNotEqual(report(1), report(2))

    def test_gtopk_loses_as_printed(self):
        arguments = ["--codec", "gtopk", "--elements", 1000, "--option", "density=0.02", "--workers", 8, "--iterations", 20]
        self.assertLess(self.report(*arguments)["aggregated"]["lost"], 1e-5)
        printed = self.report(*arguments, "--residuals", "as-printed")["aggregated"]
        self.assertGreater(printed["lost"], 1e-3)
        self.assertEqual(printed["residuals"], "as-printed")

    def test_table(self):
        done = run("--codec", "gtopk", "--elements", 2000, "--workers", 2)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_bad_input(self):
        for arguments, expected in [
                (["--codec", "tokp", "--elements", 5], "command line: --codec: no codec 'tokp' (did you mean 'topk'?)"),
                (["--codec", "topk", "--elements", 0], "command line: --elements: "),
                (["--codec", "topk", "--elements", "1e30"], "command line: --elements: "),
                (["--codec", "topk", "--elements", 2**25 + 1], "command line: --elements: "),
                (["--codec", "topk", "--elements", 2**25, "--workers", 2], "command line: --workers: "),
                (["--codec", "topk", "--elements", 9, "--workers", 0], "command line: --workers: "),
                (["--codec", "gtopk", "--elements", 9, "--workers", 6], "command line: --workers: 6 is not a power of two"),
                (["--codec", "topk", "--elements", 9, "--option", "density=0"], "command line: --option density: "),
                (["--codec", "topk", "--elements", 9, "--option", "density=1.01"], "command line: --option density: "),
                (["--codec", "topk", "--elements", 9, "--option", "density=nan"], "command line: --option density: "),
                (["--codec", "qsgd", "--elements", 9, "--option", "bits=0"], "command line: --option bits: "),
                (["--codec", "qsgd", "--elements", 9, "--option", "bits=17"], "command line: --option bits: "),
                (["--codec", "qsgd", "--elements", 9, "--option", "bit=7"], "command line: --option bit: unknown option"),
                (["--codec", "topk", "--elements", 9, "--distribution", "cauchy"], "command line: --distribution: "),
                (["--codec", "topk", "--elements", 9, "--correlation", "1.5"], "command line: --correlation: "),
                (["--codec", "topk", "--elements", 9, "--correlation", "nan"], "command line: --correlation: "),
                (["--codec", "topk", "--elements", 9, "--residuals", "no"], "command line: --residuals: "),
                (["--codec", "topk", "--elements", 9, "--seed", -1], "command line: --seed: "),
                (["--codec", "topk", "--elements", 9, "--iterations", 0], "command line: --iterations: "),
                (["--elements", 9], "command line: --codec is required")]:
            with self.subTest(arguments=arguments):
                self.assertTrue(self.refuse(*arguments).startswith(expected), self.refuse(*arguments))


class Fit(unittest.TestCase):
    """The line through measured times."""

    def test_exact_line(self):
        line = tool.fit([(2**e, 3e-6 + 2e-9 * 2**e) for e in range(6, 25)])
        self.assertAlmostEqual(line.base, 3e-6, delta=1e-11)
        self.assertAlmostEqual(line.per_element, 2e-9, delta=1e-14)
        self.assertAlmostEqual(line.worst, 1, delta=1e-4)

    def test_small_sizes_count(self):
        """A step of 10 % at a million elements does not drown the base, as it would if seconds were squared."""
        line = tool.fit([(2**e, (3e-6 + 2e-9 * 2**e) * (1.1 if e >= 20 else 1)) for e in range(6, 25)])
        self.assertAlmostEqual(line.base, 3e-6, delta=0.2e-6)

    def test_half_and_double_are_alike(self):
        """Points a factor of 2 above and below a line through the origin: the line, and not one nearer the lower."""
        line = tool.fit([(2**e, 1e-9 * 2**e * (2 if e % 2 else 0.5)) for e in range(6, 26)])
        self.assertAlmostEqual(line.per_element, 1e-9, delta=2e-10)
        self.assertAlmostEqual(line.worst, 2, delta=0.5)

    def test_flat(self):
        line = tool.fit([(2**e, 5e-6) for e in range(6, 25)])
        self.assertAlmostEqual(line.base, 5e-6, delta=1e-8)
        self.assertLess(line.per_element * 2**24, 1e-8)

    def test_durations_and_names(self):
        self.assertEqual([tool.duration(t) for t in (0, 1.5e-12, 2.34567e-10, 2e-9, 3.1e-6, 0.25)],
                         ["0 s", "1.5 ps", "234.6 ps", "2 ns", "3.1 us", "250 ms"])
        self.assertEqual(tool.device_name("Intel(R) Xeon(R) Processor"), "cpu-intel-xeon-processor")
        self.assertEqual(tool.device_name("AMD EPYC 7763 64-Core Processor"), "cpu-amd-epyc-7763-64-core-processor")


class Measure(unittest.TestCase):
    """The tool."""

    def run_tool(self, *arguments):
        """The finished process."""
        return subprocess.run([sys.executable, TOOL, *map(str, arguments)], capture_output=True, text=True, check=False)

    def test_measures_what_a_run_then_takes(self):
        with tempfile.TemporaryDirectory() as folder:
            done = self.run_tool("--codecs", "topk,fp16", "--to", 9, "--option", "density=0.01", "--device", "here",
                                 "--out", folder, "--program", PROGRAM)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            written = json.loads((Path(folder) / "topk_here.json").read_text(encoding="utf-8"))
            self.assertEqual((written["codec"], written["device"], written["origin"]), ("topk", "here", "measured"))
            self.assertIn("density 0.01", written["source"])
            for codec in ("topk", "fp16"):
                command = [PROGRAM, "run", "--profile", "lenet5_2xk40c_b128", "--cluster", "gtopk-1gbe", "--strategy", "wfbp",
                           "--codec", str(Path(folder) / f"{codec}_here.json"), "--json"]
                ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
                self.assertEqual(ran.returncode, 0, ran.stderr)
                self.assertGreater(json.loads(ran.stdout)["codec_s"], 0)

    def test_bad_input(self):
        for arguments, expected in [(["--from", 5, "--to", 5], "command line: --to must be above --from"),
                                    (["--to", 40], "command line: argument --to: "),
                                    (["--out", "/no/such"], "/no/such: file: no such folder"),
                                    (["--program", "/no/such"], "/no/such: file: No such file"),
                                    (["--codecs", "tokp", "--program", PROGRAM], "command line: --codec: no codec 'tokp'")]:
            done = self.run_tool(*arguments)
            self.assertEqual((done.returncode, done.stdout.count("\n") <= 1, len(done.stderr.splitlines())), (2, True, 1))
            self.assertTrue(done.stderr.startswith(expected), done.stderr)


if __name__ == "__main__":
    unittest.main()
