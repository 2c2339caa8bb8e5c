#!/usr/bin/env python3
"""`allreplay plot`: figures of small inputs of each kind, and bad input. Run: python3 tests/programs/command/test_plot.py"""

import html
import json
import re
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import program  # noqa: E402
from program import ROOT  # noqa: E402

COLUMNS = "profile,strategy,workers,collective,origin,iteration_s,forward_s,backward_s,exposed_comm_s,codec_s,speedup,efficiency"
SWEEP = f"""{COLUMNS}
alexnet,wfbp,4,ring,measured,0.4,0.1,0.2,0.1,0,3,0.75
alexnet,best,4,ring,measured,0.3,0.1,0.2,0,0,4,1
alexnet,wfbp,16,ring,measured,0.6,0.1,0.2,0.3,0,8,0.5
alexnet,best,16,ring,measured,0.4,0.1,0.2,0.05,0.05,12,0.75
"""
RECONSTRUCTED = SWEEP + SWEEP.partition("\n")[2].replace("alexnet", "vgg16").replace("measured", "reconstructed")

SWEEP_KINDS = ["speedup", "efficiency", "lines", "bars", "columns", "dots", "histogram"]  # and boxes, of a sweep with seeds: test_figures.py


def said():
    """The kinds and keys that `allreplay plot --help` explains."""
    text = program.output("plot", "--help")
    kinds, keys = (text.partition(head)[2].partition("\n\n")[0] for head in ("Kinds (", "Keys of"))
    return re.findall(r"^  ([a-z]+) {2,}\S", kinds, re.M), ["kind", *(key.replace("-", "_") for key in re.findall(r"^  --([a-z-]+) ", keys, re.M))]


@program.needs_program
class Case(program.Case):
    """Runs the program in an empty folder."""

    def write(self, name, content):
        """A file in the folder."""
        path = self.folder / name
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return path

    def plot(self, *arguments):
        """(exit status, what it wrote to standard error); it prints nothing."""
        done = self.run_program("plot", *arguments)
        self.assertEqual(done.stdout, "")
        return done.returncode, done.stderr

    def svg(self, *arguments):
        """The picture."""
        self.assertEqual(self.plot(*arguments, "--out", "x.svg"), (0, ""))
        return (self.folder / "x.svg").read_text(encoding="utf-8")

    def texts(self, *arguments):
        """What the picture says."""
        return [html.unescape(text) for text in re.findall("<text[^>]*>(.*?)</text>", self.svg(*arguments))]

    def points(self, *arguments):
        """What its points say: [(series, x, y)]."""
        titles = re.findall(r'class="point"[^>]*><title>(.*?): (.*?), (.*?)</title>', self.svg(*arguments))
        return [(series, x, float(y)) for series, x, y in titles]

    def refuses(self, place, *arguments, out="x.png"):
        """Bad input: one line, status 2, and no file that was not there."""
        before = sorted(self.folder.iterdir())
        status, message = self.plot(*arguments, "--out", out)
        self.assertEqual((status, program.place_of(message)), (2, place))
        self.assertEqual(sorted(self.folder.iterdir()), before)


class Pictures(Case):
    """What is drawn."""

    def test_every_kind_in_every_format(self):
        self.write("sweep.csv", SWEEP)
        signatures = {"png": b"\x89PNG", "svg": b"<svg", "pdf": b"%PDF"}
        for kind in SWEEP_KINDS:
            outputs = [word for suffix in signatures for word in ("--out", f"{kind}.{suffix}")]
            self.assertEqual(self.plot("sweep.csv", "--kind", kind, *outputs), (0, ""))
            for suffix, signature in signatures.items():
                self.assertTrue((self.folder / f"{kind}.{suffix}").read_bytes().startswith(signature))

    def test_texts_and_units(self):
        self.write("sweep.csv", SWEEP)
        for text in ("WFBP", "Best found", "Ideal", "alexnet", "speed-up over one worker", "workers", "16"):
            self.assertIn(text, self.texts("sweep.csv"))
        self.assertIn("scaling efficiency (%)", self.texts("sweep.csv", "--kind", "efficiency"))
        for text in ("time per iteration (ms)", "Computation", "Compression", "Exposed, WFBP"):
            self.assertIn(text, self.texts("sweep.csv", "--kind", "bars"))
        self.assertNotIn("Ideal", self.texts("sweep.csv", "--set", "ideal=false"))

    def test_points_stand_for_rows(self):
        self.write("sweep.csv", SWEEP)
        self.assertEqual(self.points("sweep.csv"), [("WFBP", "4", 3), ("WFBP", "16", 8), ("Best found", "4", 4), ("Best found", "16", 12)])
        self.assertEqual([y for _, _, y in self.points("sweep.csv", "--kind", "efficiency")], [75, 50, 100, 75])

    def test_configuration(self):
        self.write("sweep.csv", SWEEP)
        self.write("sweep.json", {"plot": {"kind": "bars", "labels": {"alexnet": "AlexNet", "wfbp": "wait-free"}, "where": {"workers": [16]}}})
        texts = self.texts("sweep.csv", "--config", "sweep.json")
        self.assertIn("AlexNet", texts)
        self.assertIn("Exposed, wait-free", texts)
        self.assertNotIn("4", texts)
        self.assertIn("Ideal", self.texts("sweep.csv", "--config", "sweep.json", "--kind", "speedup"))

    def test_kinds_beside_each_other(self):
        self.write("sweep.csv", SWEEP)
        texts = self.texts("sweep.csv", "--set", 'kind=["speedup", "efficiency"]')
        for text in ("speed-up over one worker", "scaling efficiency (%)"):
            self.assertIn(text, texts)
        self.assertEqual(texts.count("alexnet"), 2)

    def test_columns(self):
        self.write("sweep.csv", SWEEP)
        options = {"kind": "columns", "y": "exposed_comm_s", "unit": "ms", "scale": 0.001, "labels": {"workers": "servers", "4": "four"}}
        self.write("sweep.json", {"plot": options})
        texts = self.texts("sweep.csv", "--config", "sweep.json")
        for text in ("100", "300", "50", "exposed communication (ms)", "alexnet, by servers", "four, WFBP", "16, Best found", "WFBP"):
            self.assertIn(text, texts)
        self.assertIn("time per iteration (s)", self.texts("sweep.csv", "--kind", "columns"))

    def test_series_of_rows_that_have_no_value(self):
        """A cluster with one way has no routing."""
        rows = [line + "," + routing for line, routing in zip(SWEEP.splitlines(), ("routing", "", "", "ecmp", "ecmp"))]
        self.write("sweep.csv", "\n".join(rows) + "\n")
        texts = self.texts("sweep.csv", "--kind", "columns", "--set", "series=routing", "--set", "panels=strategy")
        self.assertIn("no routing", texts)
        self.assertNotIn("", texts)

    def test_dots_are_rows_of_series(self):
        """A row for each, the one with the largest number last; a dot for each place, which the legend names."""
        self.write("sweep.csv", SWEEP)
        dots = ("sweep.csv", "--kind", "dots", "--set", "y=speedup", "--set", "unit=x")
        self.assertEqual(self.points(*dots), [("WFBP", "4", 3), ("WFBP", "16", 8), ("Best found", "4", 4), ("Best found", "16", 12)])
        self.assertEqual(re.findall(r'class="row"[^>]*>(.*?)<', self.svg(*dots)), ["WFBP", "Best found"])
        for text in ("workers: 4", "16", "speedup (x)"):
            self.assertIn(text, self.texts(*dots))

    def test_lines_over_other_rows(self):
        self.write("sweep.csv", SWEEP)
        texts = self.texts("sweep.csv", "--kind", "lines", "--set", "y=exposed_comm_s", "--set", "unit=s")
        for text in ("exposed communication (s)", "WFBP", "workers"):
            self.assertIn(text, texts)
        self.assertNotIn("Equal", texts)
        options = {"kind": "lines", "over": {"strategy": "best"}, "where": {"strategy": "wfbp"}, "labels": {"iteration_s": "times the best", "ideal": "as fast"}}
        self.write("over.json", {"plot": options})
        texts = self.texts("sweep.csv", "--config", "over.json")
        for text in ("times the best", "as fast", "WFBP"):
            self.assertIn(text, texts)
        self.assertNotIn("Best found", texts)  # selected away, after the others were divided by it

    def relative(self, over):
        """The iteration_s of the sweep's rows as they are drawn, by profile, strategy and workers."""
        points = self.points("sweep.csv", "--kind", "lines", "--set", f"over={json.dumps(over)}", "--set", "panels=origin",
                             "--set", 'series=["profile", "strategy"]')
        return {(series, x): y for series, x, y in points}

    def test_over_divides_by_the_like(self):
        self.write("sweep.csv", RECONSTRUCTED)
        rows = [("WFBP", "4"), ("Best found", "4"), ("WFBP", "16"), ("Best found", "16")]
        cases = [({"strategy": "best"}, [0.4 / 0.3, 1, 0.6 / 0.4, 1]),  # WFBP and best of 4 workers, of 16
                 ({"workers": 4}, [1, 1, 0.6 / 0.4, 0.4 / 0.3]),  # over the same strategy's with 4 workers
                 ("speedup", [0.4 / 3, 0.3 / 4, 0.6 / 8, 0.4 / 12])]
        for over, by_hand in cases:
            drawn = self.relative(over)
            for profile in ("alexnet", "vgg16"):
                for (strategy, workers), right in zip(rows, by_hand):
                    self.assertAlmostEqual(drawn[f"{profile}, {strategy}", workers], right, 5)

    def test_over_needs_one_row(self):
        self.write("sweep.csv", SWEEP)
        lines = ["sweep.csv", "--kind", "lines", "--set"]
        self.refuses("sweep.csv: line 2", *lines, 'over={"strategy": "p3"}')
        self.refuses("sweep.csv: line 1", *lines, 'over={"strategies": "p3"}')
        self.refuses("sweep.csv: line 1", *lines, "over=backwards_s")
        self.write("twice.csv", SWEEP + "alexnet,best,4,tree,measured,0.3,0.1,0.2,0,0,4,1\n")
        self.refuses("twice.csv: line 6", "twice.csv", *lines[1:], 'over={"strategy": "best"}')
        self.refuses("command line: --set over", *lines, "over=3")
        self.refuses("sweep.csv: line 3: iteration_s", *lines, "over=exposed_comm_s")

    def test_pixels(self):
        self.write("sweep.csv", SWEEP)
        for dpi in ("96", "192"):
            self.assertEqual(self.plot("sweep.csv", "--dpi", dpi, "--out", f"{dpi}.png"), (0, ""))
        wide = [int.from_bytes((self.folder / f"{dpi}.png").read_bytes()[16:20], "big") for dpi in (96, 192)]
        self.assertEqual(wide, [588, 1176])  # a panel of 560 pixels of 1/96 inch, between margins of 14
        self.refuses("command line: --dpi", "sweep.csv", "--dpi", "40")

    def test_histogram(self):
        rows = "".join(f"alexnet,us-byte,8,random:{seed},reconstructed,{0.3 + seed / 1000}\n" for seed in range(50))
        self.write("sweep.csv", "profile,strategy,workers,options,origin,iteration_s\nalexnet,us-byte,8,sequential,reconstructed,0.3\n" + rows)
        options = {"kind": "histogram", "unit": "ms", "scale": 0.001, "mark": {"options": "sequential"},
                   "labels": {"sequential": "in order", "others": "random orders", "rows": "orders"}}
        self.write("sweep.json", {"plot": options})
        texts = self.texts("sweep.csv", "--config", "sweep.json")
        for text in ("in order", "random orders", "orders", "time per iteration (ms)", "320", "Layer times are inferred, not measured: alexnet."):
            self.assertIn(text, texts)
        counts = re.findall(r'class="bar"[^>]*><title>random orders: .*?, (.*?)</title>', self.svg("sweep.csv", "--config", "sweep.json"))
        self.assertEqual(sum(map(float, counts)), 50)  # every row that is not marked, once
        self.assertIn("rows", self.texts("sweep.csv", "--kind", "histogram"))

    def test_trials_of_a_tuning(self):
        about = "alexnet,c,ddp,8,measured"
        self.write("trials.csv", "profile,cluster,strategy,workers,origin,trial,bucket_cap,iteration_s,best_so_far_s\n"
                   f"{about},1,25 MiB,0.3,0.3\n{about},2,1 MiB,0.4,0.3\n{about},3,400 MiB,0.2,0.2\n")
        lines = ("trials.csv", "--kind", "lines", "--set")
        self.assertEqual([y for _, _, y in self.points(*lines, "x=trial")], [0.3, 0.4, 0.2])
        self.assertEqual([y for _, _, y in self.points(*lines, "x=trial", "--set", "y=best_so_far_s")], [0.3, 0.3, 0.2])
        self.assertEqual([x for _, x, _ in self.points(*lines, "x=bucket_cap")], ["25 MiB", "1 MiB", "400 MiB"])

    def test_panels_in_several_rows(self):
        self.write("sweep.csv", SWEEP + "".join(SWEEP.partition("\n")[2].replace("alexnet", name) for name in "bcdef"))
        texts = self.texts("sweep.csv")
        self.assertEqual(texts.count("workers"), 6)

    def test_one_place_of_two_values(self):
        self.write("sweep.csv", SWEEP.replace("best,4,ring", "best,4,bml").replace("best,16,ring", "best,16,bml"))
        labels = {"ring": "its own", "bml": "its own"}
        texts = self.texts("sweep.csv", "--set", "x=collective", "--set", 'series=["strategy", "workers"]', "--set", f"labels={json.dumps(labels)}")
        self.assertEqual(texts.count("its own"), 1)

    def test_one_series_of_two_values(self):
        self.write("sweep.csv", SWEEP.replace("wfbp,16,ring", "wfbp,16,bml"))
        labels = {"ring": "all-reduce", "bml": "all-reduce"}
        texts = self.texts("sweep.csv", "--set", 'series=["strategy", "collective"]', "--set", f"labels={json.dumps(labels)}")
        self.assertEqual(texts.count("WFBP, all-reduce"), 1)

    def test_options_are_columns(self):
        """Also of rows that are not alike."""
        self.write("sweep.csv", "profile,strategy,workers,options,iteration_s\na,mergecomp,8,groups=2;stop=0,0.4\na,mergecomp,8,groups=3,0.3\n")
        arguments = ("sweep.csv", "--kind", "lines", "--set", "x=groups")
        self.assertEqual(self.points(*arguments), [("MergeComp", "2", 0.4), ("MergeComp", "3", 0.3)])
        self.assertIn("stop", self.texts(*arguments, "--set", "x=stop"))

    def test_other_axes(self):
        self.write("sweep.csv", SWEEP)
        texts = self.texts("sweep.csv", "--set", "x=strategy", "--set", 'series=["profile", "workers"]')
        for text in ("alexnet, 4", "strategy", "Best found"):
            self.assertIn(text, texts)

    def test_reconstructed_profiles_are_named(self):
        note = "Layer times are inferred, not measured: vgg16."
        self.write("sweep.csv", SWEEP)
        self.write("both.csv", RECONSTRUCTED)
        for kind in SWEEP_KINDS:
            self.assertIn(note, self.texts("both.csv", "--kind", kind))
            self.assertNotIn("econstructed", " ".join(self.texts("sweep.csv", "--kind", kind)))

    def test_imported_profiles_are_measured(self):
        """A trace that somebody's profiler wrote: nothing was inferred."""
        self.write("both.csv", RECONSTRUCTED.replace("reconstructed", "imported"))
        self.assertNotIn("inferred", " ".join(self.texts("both.csv", "--kind", SWEEP_KINDS[0])))

    def test_estimated_profiles_are_named(self):
        self.write("both.csv", RECONSTRUCTED.replace("reconstructed", "estimated"))
        self.assertIn("Layer times are inferred, not measured: vgg16.", self.texts("both.csv", "--kind", SWEEP_KINDS[0]))

    def test_same_bytes_again(self):
        self.write("sweep.csv", SWEEP)
        for kind in SWEEP_KINDS:
            for suffix in ("svg", "png", "pdf"):
                self.assertEqual(self.plot("sweep.csv", "--kind", kind, "--out", f"a.{suffix}"), (0, ""))
                self.assertEqual(self.plot("sweep.csv", "--kind", kind, "--out", f"b.{suffix}"), (0, ""))
                self.assertEqual((self.folder / f"a.{suffix}").read_bytes(), (self.folder / f"b.{suffix}").read_bytes())


class BadInput(Case):
    """One line each, status 2, nothing written."""

    def test_files(self):
        self.write("empty.csv", "")
        self.write("header.csv", COLUMNS + "\n")
        self.write("column.csv", SWEEP.replace("speedup", "speed_up"))
        self.write("number.csv", SWEEP.replace(",3,0.75", ",fast,0.75"))
        self.write("ragged.csv", SWEEP + "alexnet,wfbp\n")
        self.write("twice.csv", SWEEP + SWEEP.partition("\n")[2])
        self.refuses("none.csv", "none.csv")
        self.refuses("empty.csv", "empty.csv")
        self.refuses("header.csv", "header.csv")
        self.refuses("column.csv: line 1", "column.csv")
        self.refuses("number.csv: line 2: speedup", "number.csv")
        self.refuses("ragged.csv: line 6", "ragged.csv")
        self.refuses("twice.csv: line 6", "twice.csv")
        self.write("sweep.csv", SWEEP)
        self.refuses("command line: --out", self.write("sweep.svg", SWEEP).name, out="sweep.svg")

    def test_more_than_anybody_reads(self):
        rows = "".join(f"model{i},wfbp,8,o{i}=1,2\n" for i in range(1001))
        self.write("many.csv", "profile,strategy,workers,options,speedup\n" + rows)
        self.refuses("many.csv: line 1002: options", "many.csv")
        self.write("many.csv", re.sub("o[0-9]+=1", "", "profile,strategy,workers,options,speedup\n" + rows))
        self.refuses("many.csv: line 102", "many.csv")
        self.refuses("many.csv: line 202", "many.csv",
                     "--set", "series=profile", "--set", "panels=strategy")

    def test_options(self):
        self.write("sweep.csv", SWEEP)
        self.write("key.json", {"plot": {"panel": "profile"}})
        self.write("kind.json", {"plot": {"kind": "bar"}})
        self.write("kinds.json", {"plot": {"kind": ["speedup", "bars"]}})
        self.write("log.json", {"plot": {"log": "yes"}})
        self.refuses("key.json: /plot/panel", "sweep.csv", "--config", "key.json")
        self.refuses("kind.json: /plot/kind", "sweep.csv", "--config", "kind.json")
        self.refuses("kinds.json: /plot/kind",
                     "sweep.csv", "--config", "kinds.json")
        self.refuses("log.json: /plot/log", "sweep.csv", "--config", "log.json")
        self.refuses("command line: --set scale", "sweep.csv", "--set", "scale=0")
        self.refuses("command line: --set labels", "sweep.csv", "--set", 'labels={"a": 1}')
        self.refuses("sweep.csv: line 1", "sweep.csv", "--kind", "columns",
                     "--set", "y=iteration")
        self.refuses("command line: --set", "sweep.csv", "--set", "log")
        self.refuses("sweep.csv: line 1", "sweep.csv", "--set", "x=worker")
        self.refuses("sweep.csv", "sweep.csv", "--set", 'where={"workers": 5}')
        self.refuses("command line: --out", "sweep.csv", out="x.gif")
        self.write("cut.json", '{"plot": {')
        status, message = self.plot("sweep.csv", "--config", "cut.json", "--out", "x.png")
        self.assertEqual((status, program.place_of(message)), (2, "cut.json"))
        status, message = self.plot("sweep.csv", "--kind", "map", "--out", "x.png")
        self.assertEqual((status, program.place_of(message)), (2, "command line: --kind"))


@program.needs_program
class Documentation(unittest.TestCase):
    """docs/plots.md lists what there is."""

    def test_keys_and_kinds(self):
        text = (ROOT / "docs" / "plots.md").read_text(encoding="utf-8")
        kinds, keys = said()
        self.assertEqual(kinds, [*SWEEP_KINDS[:-1], "boxes", SWEEP_KINDS[-1]])
        self.assertEqual(re.findall(r"^\| `(\w+)`", text, re.MULTILINE), [*keys, *kinds])


if __name__ == "__main__":
    unittest.main()
