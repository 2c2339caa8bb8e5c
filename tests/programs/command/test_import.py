#!/usr/bin/env python3
"""allreplay import, as users run it: the published originals against their reduced tables, and bad input.

ALLREPLAY_PROGRAM names the program (build/release/allreplay), ALLREPLAY_REFERENCE_DATA the folder of originals; what
needs them is skipped where it is absent. Run: python3 tests/programs/command/test_import.py
"""

import gzip
import json
import math
import re
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from program import REFERENCE, ROOT, Case, rows_of  # noqa: E402

KINETO = REFERENCE / "originals/kineto/resnet50_bs32_v100dgxs_torch1.9_worker0.1623143089861.pt.trace.json.gz"
PIPEDREAM = REFERENCE / "originals/pipedream/resnet50_graph.txt"

TABLE = "layer,params,forward_us,backward_us\nlinear,10,1250,2500\nrelu,0,0,500\n"


class Import(Case):
    """In a folder of its own."""

    def imported(self, file, *arguments):
        """(trace, what was said on standard error) of an import that works, and that `run` can use."""
        done = self.success("import", file, "--out", "trace.json", *arguments)
        self.assertTrue(all(line.startswith("note: ") for line in done.stderr.splitlines()), done.stderr)
        trace = json.loads((self.folder / "trace.json").read_text(encoding="utf-8"))
        self.assertEqual(trace["origin"], "imported")
        self.assertIn(Path(file).name, trace["source"])
        self.assertEqual([f"note: {note}" for note in trace["details"]["notes"]], done.stderr.splitlines())
        result = self.answer("run", "--profile", "trace.json", "--cluster", "k80-10gbe", "--strategy", "wfbp")
        self.assertAlmostEqual(1e6 * result["forward_s"], total(trace, "forward"), delta=1e-3)
        self.assertAlmostEqual(1e6 * result["backward_s"], total(trace, "backward"), delta=1e-3)
        return trace, done.stderr

    def refused(self, pattern, *arguments):
        """The import fails with one line that matches, and leaves nothing."""
        before = sorted(self.folder.iterdir())
        error = self.refusal("import", *arguments, "--out", "trace.json")
        self.assertRegex(error, pattern)
        self.assertEqual(sorted(self.folder.iterdir()), before)


def total(trace, key):
    """Microseconds of all layers."""
    return sum(layer[key] for layer in trace["layers"])


def parameters(trace):
    """Per layer of the model, and in all."""
    counts = [sum(math.prod(tensor["shape"]) for tensor in layer["tensors"]) for layer in trace["model"]["layers"]]
    return counts, sum(counts)


def reduced(name):
    """The rows of a reduced table, as numbers."""
    return [{**row, "params": int(row["params"]), "forward": float(row["forward_us"]), "backward": float(row["backward_us"])}
            for row in rows_of(REFERENCE / "profiles" / f"{name}.csv")]


@unittest.skipUnless(KINETO.exists(), f"no original at {KINETO}")
class KinetoOriginal(Import):
    """ResNet-50 at batch 32 on a V100, PyTorch 1.9."""

    def test_equals_the_reduced_table(self):
        trace, notes = self.imported(KINETO, "--match", "resnet50")
        rows = reduced("resnet50_v100dgxs_b32_kineto")
        counts, in_all = parameters(trace)
        self.assertEqual([layer["name"] for layer in trace["layers"]], [row["layer"] for row in rows])
        self.assertEqual(counts, [row["params"] for row in rows])
        self.assertEqual(in_all, 25_557_032)
        self.assertEqual(sum(len(layer["tensors"]) for layer in trace["model"]["layers"]), 161)
        self.assertEqual((trace["batch_size"], trace["device"], trace["precision"]), (32, "Tesla V100-DGXS-32GB", "fp32"))
        # The table leaves out the loss (its softmax takes 9 us, its log-likelihood 1) and is rounded to 0.1 us.
        for layer, row in list(zip(trace["layers"], rows))[:-1]:
            self.assertAlmostEqual(layer["forward"], row["forward"], delta=0.06, msg=layer["name"])
        self.assertAlmostEqual(total(trace, "forward"), sum(row["forward"] for row in rows), delta=10.5)
        # Backward, the table counts what stands between two autograd nodes (AccumulateGrad, the sum of a residual's
        # two gradients) to the second node. The trace has both before the first node's gradients are ready, so the
        # import counts it to the first; neighbours differ by as much, and the sums up to any layer by at most the
        # longest such sum (layer1: 3 x 32x256x56x56 x 4 bytes at 900 GB/s, 343 us at least; measured 373).
        ahead = 0
        for layer, row in zip(reversed(trace["layers"]), reversed(rows)):
            ahead += layer["backward"] - row["backward"]
            self.assertLess(abs(ahead), 380, layer["name"])
        self.assertAlmostEqual(total(trace, "backward"), sum(row["backward"] for row in rows), delta=2)
        for part in ("means over 6 of 6 steps", "the optimizer", "before the first layer"):
            self.assertIn(part, notes)

    def test_a_cut_gzip_file(self):
        whole = KINETO.read_bytes()
        for name, size in (("half", len(whole) // 2), ("no_end", len(whole) - 1)):
            (self.folder / f"{name}.json.gz").write_bytes(whole[:size])
            self.refused(".json.gz: ", f"{name}.json.gz")

    def test_a_cut_or_damaged_trace(self):
        text = gzip.decompress(KINETO.read_bytes()).decode(errors="replace")
        self.refused("cut.json: ",
                     self.write("cut.json", text[:20_000_000]))
        self.refused("none.json: ",
                     self.write("none.json", re.sub(r'"cat": "Kernel"', '"cat": "Kernel that was"', text)
                                .replace('"cat": "Memset"', '"cat": "none"')))
        self.refused("forward.json: ",
                     self.write("forward.json", text.replace("AccumulateGrad", "Something")))
        # A kernel's duration that no kernel has.
        kernel = text.index('"ph": "X", "cat": "Kernel"')
        dur = re.compile(r'"dur": \d+').search(text, kernel)
        for value in ("-5", "3600000001", "NaN", "1e300", '"long"'):
            self.refused("bad.json: ",
                         self.write("bad.json", text[:dur.start()] + f'"dur": {value}' + text[dur.end():]))


@unittest.skipUnless(KINETO.exists(), f"no originals in {KINETO.parent}")
class PublishedKineto(Import):
    """Every published trace with a backward pass imports, with its model's parameters, or is refused for a reason that can be accepted."""

    def file(self, start):
        (file,) = KINETO.parent.glob(f"{start}*.json.gz")
        return file

    def test_every_one_imports_or_is_refused(self):
        refused = {"hta_df_index": "is of a compiled model: 1 graph has the gradients of all layers, which cannot be separated",
                   "param_resnet_2080ti": "does not say the shape of a gradient of conv2d .*--match MODEL"}
        for file in sorted(KINETO.parent.glob("*.json.gz")):
            with self.subTest(file.name):
                why = [pattern for start, pattern in refused.items() if file.name.startswith(start)]
                if why:
                    self.refused(why[0], file)
                else:
                    self.imported(file)

    def test_a_trace_without_shapes_and_without_marks_of_steps(self):
        # ResNet-18 on an RTX 2080 Ti, 30 iterations, which only Optimizer.step tells apart. Its kernels carry their launch's number as id.
        file = self.file("param_resnet_2080ti")
        trace, _ = self.imported(file, "--match", "resnet18", "--batch", 64)
        counts, in_all = parameters(trace)
        self.assertEqual((len(counts), in_all), (41, 11_689_512))
        # All kernels of an iteration, by the file's own launches between two ends of Optimizer.step: 135.0 to 136.8 ms
        # but for the first two (155.0, 149.7) and two of 132; their copies of the input are no kernels. So the mean is
        events = json.loads(gzip.decompress(file.read_bytes()))["traceEvents"]
        ends = sorted(event["ts"] + event["dur"] for event in events if event["name"].startswith("Optimizer.step#"))
        launched = {event["args"]["correlation"]: event["ts"] for event in events if event.get("cat") == "cuda_runtime"}
        kernels = sum(event["dur"] for event in events if event.get("cat") in ("kernel", "gpu_memset") and launched[event["args"]["correlation"]] < ends[-1]) / 30
        self.assertAlmostEqual(total(trace, "forward") + total(trace, "backward") + trace["update"], kernels, delta=0.002 * kernels)
        self.refused(": ", file, "--match", "resnet34", "--batch", "64")
        self.refused(": ", self.file("hta_df_index"), "--match", "resnet18")

    def test_a_job_with_ddp_and_checkpointing(self):
        trace, _ = self.imported(self.file("tracelens"), "--match", "resnet18", "--communication-out", "job.csv")
        self.assertEqual(parameters(trace)[1], 11_689_512)
        rows = [row for row in rows_of(self.folder / "job.csv") if row["collective"] == "all-reduce"]
        # Two buckets a step, which hold all gradients in bf16.
        self.assertEqual([int(row["bytes"]) for row in rows], [5_746_640, 17_632_384] * 3)
        self.assertEqual(sum(int(row["bytes"]) for row in rows[:2]), 2 * 11_689_512)
        done = self.run_program("calibrate", "job.csv", "--collective", "ring", "--json")
        self.assertEqual((done.returncode, json.loads(done.stdout)["workers"]), (0, 8), done.stderr)

    def test_two_ranks_of_one_job(self):
        files = sorted(KINETO.parent.glob("param_dlrm_worker*.json.gz"))
        alone = [self.imported(file)[0] for file in files]
        done = self.success("import", *files, "--out", "both.json", "--communication-out", "job.csv")
        both = json.loads((self.folder / "both.json").read_text(encoding="utf-8"))
        for key in ("forward", "backward"):
            self.assertAlmostEqual(total(both, key), sum(total(trace, key) for trace in alone) / 2, delta=1e-3)
        sums = [total(trace, "forward") + total(trace, "backward") for trace in alone]
        for rank, one in enumerate(sums):
            self.assertIn(f"rank {rank} {2 * one / sum(sums):.4f}", done.stderr)
        self.assertEqual(len(list(rows_of(self.folder / "job.csv"))), 3)
        self.refused(": ", files[0], files[0])
        self.refused(": ", files[0], KINETO)


@unittest.skipUnless(KINETO.exists() and PIPEDREAM.exists(), f"no originals in {REFERENCE}")
class ThreeSources(Import):
    """ResNet-50 on a V100 at batch 32 by Kineto, PipeDream (a quarter of batch 128) and gaps between gradients."""

    def test_every_strategy_agrees(self):
        kineto, _ = self.imported(KINETO, "--match", "resnet50")
        units = [layer["name"] for layer in kineto["layers"]]
        table = subprocess.run([sys.executable, "-I", ROOT / "tools/convert_trace.py", "pipedream", PIPEDREAM], capture_output=True, text=True, check=True)
        pipedream, _ = self.imported(self.write("graph.csv", table.stdout), "--batch", 128, "--match", "resnet50")
        gaps = {}  # of tensors "layer1.0.conv1.weight"
        for row in rows_of(REFERENCE / "profiles/resnet50_v100_b32_espresso_pertensor.csv"):
            layer = row["layer"].rpartition(".")[0]
            gaps[layer] = gaps.get(layer, 0) + float(row["backward_us"])
        quarter = {}  # what has no parameters counts to the layer before it, as in the Kineto import
        for layer in pipedream["layers"]:
            unit = layer["name"] if layer["name"] in units else unit
            quarter[unit] = quarter.get(unit, 0) + layer["backward"] / 4
        times = []
        for source in ({layer["name"]: layer["backward"] for layer in kineto["layers"]}, quarter, gaps):
            self.assertEqual(sorted(source), sorted(units))
            rows = [f"{unit},{count},,{source[unit]}\n" for unit, count in zip(units, parameters(kineto)[0])]
            self.write("units.csv", "layer,params,forward_us,backward_us\n" + "".join(rows))
            answer = self.answer("compare", "--profile", "units.csv", "--forward-ratio", "0.5", "--cluster", "k80-10gbe", "--workers", "16")
            times.append({row["strategy"]: row["iteration_s"] for row in answer})
        for strategy in times[0]:
            of_all = [one[strategy] for one in times]
            self.assertLess(max(of_all) / min(of_all), 1.05, strategy)


@unittest.skipUnless(REFERENCE.exists(), f"no reference data at {REFERENCE}")
class Tables(Import):
    """CSV tables become the same traces that `--profile` reads them as."""

    def test_csv(self):
        for path in sorted((REFERENCE / "profiles").glob("*.csv")):
            ratio = ["--forward-ratio", "0.5"]
            with self.subTest(path.stem):
                self.imported(path, "--batch", 32, *ratio)
                runs = [self.run_program("run", "--profile", profile, *arguments, "--cluster", "k80-10gbe", "--strategy",
                                         "mg-wfbp", "--json") for profile, arguments in ((path, ratio), ("trace.json", []))]
                results = [json.loads(run.stdout) for run in runs]
                self.assertEqual(results[0]["iteration_s"], results[1]["iteration_s"])


class BadInput(Import):
    """One line, exit status 2, nothing written."""

    def test_files(self):
        self.refused(": ", "absent")
        self.refused(": ", ".")
        self.refused(": ", self.write("empty", ""))
        self.refused(": ", self.write("odd", "hello\n"))
        (self.folder / "no.gz").write_bytes(b"\x1f\x8b\x08\0\0\0\0\0\0\3 this was never compressed at all")
        self.refused("no.gz: ", "no.gz")

    def test_options(self):
        graph = self.write("graph.csv", TABLE)
        self.refused("graph.csv: ", graph)
        self.refused("command line: --from: ", graph, "--from", "kinetto")
        self.refused("command line: --batch: ", graph, "--batch", "0")
        self.refused("command line: --precision: ", graph, "--batch", "1", "--precision", "fp7")
        self.refused("command line: --forward-ratio: ", graph, "--batch", "1", "--forward-ratio", "-1")
        self.refused("resnot", graph, "--batch", "1", "--match", "resnot")
        self.refused("graph.csv: ", graph, graph, "--batch", "1")
        self.refused("graph.csv: ", graph, "--batch", "1", "--communication-out", "job.csv")
        done = self.run_program("import", graph, "--batch", "1", "--out", graph)
        self.assertEqual((done.returncode, (self.folder / graph).read_text(encoding="utf-8")), (2, TABLE))

    def test_what_was_said_holds(self):
        trace, _ = self.imported(self.write("graph.csv.gz.txt", TABLE), "--batch", 7, "--model", "tiny", "--device",
                                     "a GPU", "--framework", "mine", "--precision", "bf16", "--note", "by hand")
        self.assertEqual([trace[key] for key in ("batch_size", "device", "framework", "precision")], [7, "a GPU", "mine", "bf16"])
        self.assertEqual(trace["model"]["name"], "tiny")
        self.assertEqual([(layer["forward"], layer["backward"]) for layer in trace["layers"]], [(1250, 2500), (0, 500)])

    def test_where_it_is_from_in_words(self):
        self.output("import", self.write("graph", TABLE), "--batch", 1, "--source", "a lab", "--note", "by\nhand", "--out", "trace.json")
        trace = json.loads((self.folder / "trace.json").read_text(encoding="utf-8"))
        self.assertEqual((trace["source"], trace["details"]["notes"][-1]), ("a lab", "by hand"))

    def test_nothing_replaces_what_was_there(self):
        (self.folder / "trace.json").write_text("mine", encoding="utf-8")
        self.refused("--out: 'trace.json' exists", self.write("graph", TABLE), "--batch", "1")
        self.assertEqual((self.folder / "trace.json").read_text(encoding="utf-8"), "mine")
        (self.folder / "trace.json").write_text('{"origin": "imported"}', encoding="utf-8")
        self.refused("^graph: ", self.write("graph", TABLE.replace("1250", "-1250")), "--batch", "1")
        self.assertEqual((self.folder / "trace.json").read_text(encoding="utf-8"), '{"origin": "imported"}')

    def test_listed(self):
        listed = self.run_program("list", "importers").stdout
        for name in ("kineto", "chakra", "csv"):
            self.assertRegex(listed, rf"(?m)^{name} ")


if __name__ == "__main__":
    unittest.main()
