#!/usr/bin/env python3
"""Plots of small inputs of each kind, and bad input. Run: python3 tests/tools/test_plot.py"""

import contextlib
import importlib.util
import io
import json
import os
import re
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import program  # noqa: E402
from program import ROOT  # noqa: E402

TOOL = ROOT / "tools" / "plot.py"

tool = program.tool_named("plot")

if __name__ == "__main__" and not importlib.util.find_spec("matplotlib"):  # start again with a Python that has it
    os.execv(ROOT / "tools" / "python.sh", ["python.sh", *sys.argv])

COLUMNS = "profile,strategy,workers,collective,origin,iteration_s,forward_s,backward_s,exposed_comm_s,codec_s,speedup,efficiency"
SWEEP = f"""{COLUMNS}
alexnet,wfbp,4,ring,measured,0.4,0.1,0.2,0.1,0,3,0.75
alexnet,best,4,ring,measured,0.3,0.1,0.2,0,0,4,1
alexnet,wfbp,16,ring,measured,0.6,0.1,0.2,0.3,0,8,0.5
alexnet,best,16,ring,measured,0.4,0.1,0.2,0.05,0.05,12,0.75
"""
RECONSTRUCTED = SWEEP + SWEEP.partition("\n")[2].replace("alexnet", "vgg16").replace("measured", "reconstructed")

SWEEP_KINDS = [kind for kind in tool.CSV_COLUMNS if kind != "trials"]


class Case(program.Case):
    """Runs the tool in an empty folder."""

    def setUp(self):
        super().setUp()
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.folder)

    def write(self, name, content):
        """A file in the folder."""
        path = self.folder / name
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return path

    def plot(self, *arguments):
        """(exit status, what it wrote to standard error)."""
        with contextlib.redirect_stderr(io.StringIO()) as messages:
            status = tool.main([*arguments])
        return status, messages.getvalue()

    def texts(self, *arguments):
        """What the picture says: an SVG names each of its texts in a comment."""
        self.assertEqual(self.plot(*arguments, "--out", "x.svg"), (0, ""))
        return re.findall("<!-- (.*) -->", (self.folder / "x.svg").read_text(encoding="utf-8"))

    def refuses(self, line, *arguments, out="x.png"):
        """Bad input: one line, status 2, and no file that was not there."""
        before = sorted(self.folder.iterdir())
        self.assertEqual(self.plot(*arguments, "--out", out), (2, line + "\n"))
        self.assertEqual(sorted(self.folder.iterdir()), before)


class Pictures(Case):
    """What is drawn."""

    def test_every_kind_in_every_format(self):
        self.write("sweep.csv", SWEEP)
        signatures = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}
        for kind in SWEEP_KINDS:
            self.assertEqual(self.plot("sweep.csv", "--kind", kind, "--out", *(f"new/{kind}.{suffix}" for suffix in signatures)), (0, ""))
            for suffix, signature in signatures.items():
                self.assertTrue((self.folder / f"new/{kind}.{suffix}").read_bytes().startswith(signature))

    def test_texts_and_units(self):
        self.write("sweep.csv", SWEEP)
        for text in ("WFBP", "Best found", "Ideal", "alexnet", "speed-up over one worker", "workers", "16"):
            self.assertIn(text, self.texts("sweep.csv"))
        self.assertIn("scaling efficiency (%)", self.texts("sweep.csv", "--kind", "efficiency"))
        for text in ("time per iteration (ms)", "Computation", "Compression", "Exposed, WFBP"):
            self.assertIn(text, self.texts("sweep.csv", "--kind", "bars"))
        self.assertNotIn("Ideal", self.texts("sweep.csv", "--option", "ideal=false"))

    def test_configuration(self):
        self.write("sweep.csv", SWEEP)
        self.write("sweep.json", {"plot": {"kind": "bars", "labels": {"alexnet": "AlexNet", "wfbp": "wait-free"}, "where": {"workers": [16]}}})
        texts = self.texts("sweep.csv", "--config", "sweep.json")
        self.assertIn("AlexNet", texts)
        self.assertIn("Exposed, wait-free", texts)
        self.assertNotIn("4", texts)
        self.assertIn("Ideal", self.texts("sweep.csv", "--config", "sweep.json", "--kind", "speedup"))

    def test_columns(self):
        self.write("sweep.csv", SWEEP)
        options = {"kind": "columns", "y": "exposed_comm_s", "unit": "ms", "scale": 0.001, "labels": {"workers": "servers", "4": "four"}}
        self.write("sweep.json", {"plot": options})
        texts = self.texts("sweep.csv", "--config", "sweep.json")
        for text in ("100", "300", "50", "exposed comm (ms)", "servers", "four", "16", "WFBP", "Best found"):
            self.assertIn(text, texts)
        self.assertIn("iteration (s)", self.texts("sweep.csv", "--kind", "columns"))

    def test_lines_over_other_rows(self):
        self.write("sweep.csv", SWEEP)
        texts = self.texts("sweep.csv", "--kind", "lines", "--option", "y=exposed_comm_s", "--option", "unit=s")
        for text in ("exposed comm (s)", "WFBP", "workers"):
            self.assertIn(text, texts)
        self.assertNotIn("Equal", texts)
        options = {"kind": "lines", "over": {"strategy": "best"}, "where": {"strategy": "wfbp"}, "labels": {"iteration_s": "times the best", "ideal": "as fast"}}
        self.write("over.json", {"plot": options})
        texts = self.texts("sweep.csv", "--config", "over.json")
        for text in ("times the best", "as fast", "WFBP"):
            self.assertIn(text, texts)
        self.assertNotIn("Best found", texts)  # selected away, after the others were divided by it

    def relative(self, **options):
        """The iteration_s of the sweep's rows as they are drawn."""
        defaults = {key: default for key, (default, _, _) in tool.KEYS.items()}
        return [row["iteration_s"] for row in tool.read_rows("sweep.csv", {**defaults, "kind": "lines", **options})]

    def test_over_divides_by_the_like(self):
        self.write("sweep.csv", RECONSTRUCTED)
        by_hand = [0.4 / 0.3, 1, 0.6 / 0.4, 1]  # WFBP and best of 4 workers, of 16
        for mine, right in zip(self.relative(over={"strategy": "best"}), 2 * by_hand, strict=True):
            self.assertAlmostEqual(mine, right)
        by_hand = [1, 1, 0.6 / 0.4, 0.4 / 0.3]  # over the same strategy's with 4 workers
        for mine, right in zip(self.relative(over={"workers": 4}), 2 * by_hand, strict=True):
            self.assertAlmostEqual(mine, right)
        by_hand = [0.4 / 3, 0.3 / 4, 0.6 / 8, 0.4 / 12]
        for mine, right in zip(self.relative(over="speedup"), 2 * by_hand, strict=True):
            self.assertAlmostEqual(mine, right)

    def test_over_needs_one_row(self):
        self.write("sweep.csv", SWEEP)
        lines = ["sweep.csv", "--kind", "lines", "--option"]
        self.refuses('sweep.csv: no row to divide alexnet, 4 by ("over" selects one)', *lines, 'over={"strategy": "p3"}')
        self.refuses("sweep.csv: line 1: no column 'strategies' (did you mean 'strategy'?)", *lines, 'over={"strategies": "p3"}')
        self.refuses("sweep.csv: line 1: no column 'backwards_s' (did you mean 'backward_s'?)", *lines, "over=backwards_s")
        self.write("twice.csv", SWEEP + "alexnet,best,4,tree,measured,0.3,0.1,0.2,0,0,4,1\n")
        self.refuses('twice.csv: two rows to divide alexnet, 4 by ("over" selects one)', "twice.csv", *lines[1:], 'over={"strategy": "best"}')
        self.refuses('--option over=3: over is 3 (the name of a column of numbers, or {"column": value})', *lines, "over=3")

    def test_pixels(self):
        self.write("sweep.csv", SWEEP)
        for dpi in ("60", "120"):
            self.assertEqual(self.plot("sweep.csv", "--dpi", dpi, "--out", f"{dpi}.png"), (0, ""))
        wide = [int.from_bytes((self.folder / f"{dpi}.png").read_bytes()[16:20], "big") for dpi in (60, 120)]
        self.assertEqual(wide, [204, 408])  # 3.4 inches

    def test_histogram(self):
        rows = "".join(f"alexnet,us-byte,8,random:{seed},reconstructed,{0.3 + seed / 1000}\n" for seed in range(50))
        self.write("sweep.csv", "profile,strategy,workers,options,origin,iteration_s\nalexnet,us-byte,8,sequential,reconstructed,0.3\n" + rows)
        options = {"kind": "histogram", "unit": "ms", "scale": 0.001, "mark": {"options": "sequential"},
                   "labels": {"sequential": "in order", "others": "random orders", "rows": "orders"}}
        self.write("sweep.json", {"plot": options})
        texts = self.texts("sweep.csv", "--config", "sweep.json")
        for text in ("in order", "random orders", "orders", "iteration (ms)", "320", "Reconstructed profile: layer times are inferred, not measured."):
            self.assertIn(text, texts)
        self.assertIn("rows", self.texts("sweep.csv", "--kind", "histogram"))

    def test_trials(self):
        head = "profile,cluster,strategy,workers,origin,trial"
        about = "alexnet,c,ddp,8,measured"
        self.write("one.csv", f"{head},bucket_cap,iteration_s,best_so_far_s\n{about},1,25 MiB,0.3,0.3\n{about},2,1 MiB,0.4,0.3\n{about},3,400 MiB,2,0.3\n")
        for text in ("alexnet, DDP", "Trial", "Best", "bucket cap", "1 MiB", "25 MiB", "400 MiB", "time per iteration (ms)", "2048"):
            self.assertIn(text, self.texts("one.csv", "--kind", "trials"))
        by_number = self.texts("one.csv", "--kind", "trials", "--option", "x=trial")
        self.assertIn("Best so far", by_number)
        self.assertIn("trial", by_number)
        self.write("two.csv", f"{head},partition,credit,iteration_s,best_so_far_s\n{about},1,4 MB,4,0.3,0.3\n{about},2,1 MB,2,0.2,0.2\n")
        self.assertIn("Best so far", self.texts("two.csv", "--kind", "trials"))
        self.write("words.csv", f"{head},sharing,iteration_s,best_so_far_s\n{about},1,fair,0.3,0.3\n")
        self.refuses("words.csv: trial 1: sharing is 'fair' (a number, a size or a time; or draw by x=trial)", "words.csv", "--kind", "trials")
        self.write("sweep.csv", SWEEP)
        self.refuses("sweep.csv: line 1: no column 'trial' (did you mean 'profile'?)", "sweep.csv", "--kind", "trials")

    def test_panels_in_several_rows(self):
        self.write("sweep.csv", SWEEP + "".join(SWEEP.partition("\n")[2].replace("alexnet", name) for name in "bcdef"))
        texts = self.texts("sweep.csv")
        self.assertEqual(texts.count("workers"), 6)

    def test_one_place_of_two_values(self):
        self.write("sweep.csv", SWEEP.replace("best,4,ring", "best,4,bml").replace("best,16,ring", "best,16,bml"))
        labels = {"ring": "its own", "bml": "its own"}
        texts = self.texts("sweep.csv", "--option", "x=collective", "--option", 'series=["strategy", "workers"]', "--option", f"labels={json.dumps(labels)}")
        self.assertEqual(texts.count("its own"), 1)

    def test_one_series_of_two_values(self):
        self.write("sweep.csv", SWEEP.replace("wfbp,16,ring", "wfbp,16,bml"))
        labels = {"ring": "all-reduce", "bml": "all-reduce"}
        texts = self.texts("sweep.csv", "--option", 'series=["strategy", "collective"]', "--option", f"labels={json.dumps(labels)}")
        self.assertEqual(texts.count("WFBP, all-reduce"), 1)

    def test_other_axes(self):
        self.write("sweep.csv", SWEEP)
        texts = self.texts("sweep.csv", "--option", "x=strategy", "--option", 'series=["profile", "workers"]')
        for text in ("alexnet, 4", "strategy", "Best found"):
            self.assertIn(text, texts)

    def test_reconstructed_profiles_are_named(self):
        note = "Reconstructed profile (vgg16): layer times are inferred, not measured."
        self.write("sweep.csv", SWEEP)
        self.write("both.csv", RECONSTRUCTED)
        for kind in SWEEP_KINDS:
            self.assertIn(note, self.texts("both.csv", "--kind", kind))
            self.assertNotIn("econstructed", " ".join(self.texts("sweep.csv", "--kind", kind)))

    def test_estimated_profiles_are_named(self):
        self.write("both.csv", RECONSTRUCTED.replace("reconstructed", "estimated"))
        self.assertIn("Estimated profile (vgg16): layer times are inferred, not measured.", self.texts("both.csv", "--kind", SWEEP_KINDS[0]))

    def test_as_a_program_from_any_python(self):
        self.write("sweep.csv", SWEEP)
        for command in ([TOOL], ["python3", TOOL], [ROOT / "tools" / "python.sh", TOOL]):
            done = subprocess.run([*command, "sweep.csv", "--out", "x.png"], capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        self.assertEqual(subprocess.run([TOOL, "none.csv", "--out", "x.png"], capture_output=True, check=False).returncode, 2)

    def test_same_bytes_again(self):
        self.write("sweep.csv", SWEEP)
        for name in ("a.svg", "b.svg", "a.png", "b.png", "a.pdf", "b.pdf"):
            self.assertEqual(self.plot("sweep.csv", "--out", name), (0, ""))
        for suffix in ("svg", "png", "pdf"):
            self.assertEqual((self.folder / f"a.{suffix}").read_bytes(), (self.folder / f"b.{suffix}").read_bytes())


class BadInput(Case):
    """One line each, status 2, nothing written."""

    def test_files(self):
        self.write("empty.csv", "")
        self.write("header.csv", COLUMNS + "\n")
        self.write("column.csv", SWEEP.replace("speedup", "speed_up"))
        self.write("number.csv", SWEEP.replace(",3,0.75", ",fast,0.75"))
        self.write("ragged.csv", SWEEP + "alexnet,wfbp\n")
        self.write("twice.csv", SWEEP + SWEEP.partition("\n")[2].replace("ring", "bml"))
        self.refuses("none.csv: cannot be read: No such file or directory (the path of a file)", "none.csv")
        self.refuses("empty.csv: is empty (the CSV of a sweep: a header and rows)", "empty.csv")
        self.refuses("header.csv: has a header, and no rows (at least one)", "header.csv")
        self.refuses("column.csv: line 1: no column 'speedup' (did you mean 'speed_up'?)", "column.csv")
        self.refuses("number.csv: line 2: speedup is 'fast' (a number of at least 0)", "number.csv")
        self.refuses("ragged.csv: line 6: has not as many fields as the header (12)", "ragged.csv")
        self.refuses("twice.csv: two rows for alexnet, WFBP, workers = 4 (make 'collective' one of the series or panels, "
                     "or select with \"where\")", "twice.csv")
        self.refuses("twice.csv: is one file too many (speedup is drawn from one CSV)", "twice.csv", "twice.csv")

    def test_options(self):
        self.write("sweep.csv", SWEEP)
        self.write("key.json", {"plot": {"panel": "profile"}})
        self.write("kind.json", {"plot": {"kind": "bar"}})
        self.write("log.json", {"plot": {"log": "yes"}})
        self.write("cut.json", '{"plot": {')
        self.refuses("key.json: /plot/panel: unknown key 'panel' (did you mean 'panels'?)", "sweep.csv", "--config", "key.json")
        self.refuses("kind.json: /plot/kind: kind is \"bar\" (did you mean 'bars'?)", "sweep.csv", "--config", "kind.json")
        self.refuses('log.json: /plot/log: log is "yes" (true or false)', "sweep.csv", "--config", "log.json")
        self.refuses("cut.json: line 1: Expecting property name enclosed in double quotes (JSON)", "sweep.csv", "--config", "cut.json")
        self.refuses("--option scale=0: scale is 0 (a number above 0: one unit, in the unit of the column)", "sweep.csv", "--option", "scale=0")
        self.refuses("sweep.csv: line 1: no column 'iteration' (did you mean 'iteration_s'?)", "sweep.csv", "--kind", "columns",
                     "--option", "y=iteration")
        self.refuses("--kind: kind is \"map\" (one of speedup, efficiency, lines, bars, columns, histogram, trials)", "sweep.csv", "--kind", "map")
        self.refuses("--option log: has no value (KEY=VALUE)", "sweep.csv", "--option", "log")
        self.refuses("sweep.csv: line 1: no column 'worker' (did you mean 'workers'?)", "sweep.csv", "--option", "x=worker")
        self.refuses("sweep.csv: no row has workers = 5 (\"where\" selects at least one row)", "sweep.csv", "--option", 'where={"workers": 5}')
        self.refuses("--out x.gif: unknown format '.gif' (.png, .svg, .pdf)", "sweep.csv", out="x.gif")


class Documentation(unittest.TestCase):
    """docs/plots.md lists what there is."""

    def test_keys_and_kinds(self):
        text = (ROOT / "docs" / "plots.md").read_text(encoding="utf-8")
        self.assertEqual(re.findall(r"^\| `(\w+)`", text, re.MULTILINE), [*tool.KEYS, *tool.KINDS])


if __name__ == "__main__":
    unittest.main()
