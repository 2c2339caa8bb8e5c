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

SWEEP_KINDS = ["speedup", "efficiency", "lines", "bars", "columns", "dots", "histogram"]


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
        self.refuses("command line: --set", *lines, "over=3")
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


SPREAD = """strategy,workers,iteration_s,std,low,high
wfbp,4,0.4,0.04,0.2,0.44
best,4,0.3,,0.3,0.33
wfbp,16,0.6,0.06,0.5,0.66
best,16,0.4,0.04,0.4,0.44
wfbp,64,6,0.6,5,6.6
best,64,5,0.5,5,5.5
"""
LINES = ("spread.csv", "--kind", "lines", "--panels", "strategy")
PIXELS = 96 / 25.4  # per mm


class Papers(Case):
    """Figures as a paper needs them."""

    def setUp(self):
        super().setUp()
        self.write("spread.csv", SPREAD)

    def lengths_of_errors(self, *arguments):
        """Of the error bars without their caps, which are 6 long and at right angles."""
        ends = re.findall(r'<polyline points="([\d.]+),([\d.]+) ([\d.]+),([\d.]+)" class="error"', self.svg(*arguments))
        spans = [(abs(float(x1) - float(x0)), abs(float(y1) - float(y0))) for x0, y0, x1, y1 in ends]
        along = 0 if "columns" in arguments or "dots" in arguments else 1
        return [span[along] for span in spans if span[along] > 0]

    def test_width_is_that_of_the_picture(self):
        """A column of ACM's: (8.5 in - 108 pt - 24 pt) / 2 with 72.27 points an inch is 3.3367 in, 320.33 pixels or 240.25 points of PDF."""
        for width, pixels in (("column", 320.33), ("page", (8.5 - 108 / 72.27) * 96), ("85mm", 85 * PIXELS), ("3.5in", 336), ("180pt", 240)):
            out = ("--width", width, "--out", "x.svg", "--out", "x.pdf", "--out", "x.png")
            self.assertEqual(self.plot("spread.csv", "--kind", "lines", "--panels", "workers", *out), (0, ""))
            svg, pdf, png = ((self.folder / f"x.{suffix}").read_bytes() for suffix in ("svg", "pdf", "png"))
            self.assertAlmostEqual(float(re.search(rb'width="([\d.]+)"', svg)[1]), pixels, delta=0.01)
            self.assertAlmostEqual(float(re.search(rb"MediaBox \[ 0 0 ([\d.]+)", pdf)[1]), pixels * 0.75, delta=0.01)
            self.assertAlmostEqual(int.from_bytes(png[16:20], "big"), 2 * pixels, delta=1)

    def test_panels_share_the_width(self):
        """One below the other in a column; as many next to each other as asked for."""
        def places(*arguments):
            return {x for x in re.findall(r'<text class="panel" x="([\d.]+)"', self.svg(*LINES, *arguments))}
        self.assertEqual(len(places("--width", "column")), 1)
        self.assertEqual(len(places("--width", "page")), 2)
        self.assertEqual(len(places("--across", "1")), 1)

    def test_letters(self):
        """In points at the picture's own size; widths of texts are measured in the same family."""
        for size in (6, 8.25, 12):
            svg = self.svg("spread.csv", "--kind", "lines", "--panels", "workers", "--width", "page", "--font-size", str(size), "--font", "DejaVu Serif")
            width, units = (float(number) for number in re.search(r' width="([\d.]+)".*?viewBox="0 0 ([\d.]+) ', svg).groups())
            letters = float(re.search(r'class="axis"[^>]*font-size="([\d.]+)"', svg)[1])
            self.assertAlmostEqual(letters * width / units * 0.75, size, delta=0.01)
            self.assertIn('font-family="DejaVu Serif, ', svg)

    def test_pdf_embeds_the_family(self):
        for family in ("DejaVu Serif", "DejaVu Sans"):
            self.assertEqual(self.plot("spread.csv", "--kind", "lines", "--panels", "workers", "--font", family, "--out", "x.pdf"), (0, ""))
            self.assertIn(family.replace(" ", "").encode(), (self.folder / "x.pdf").read_bytes())

    def test_error_bars(self):
        """On a linear axis, bars are as long as their values: 0.04, 0.06, 0.6 of wfbp are as 2 : 3 : 30; an empty cell has no bar."""
        wfbp = (*LINES, "--where", "strategy=wfbp", "--set", "log=false")
        first, second, third = self.lengths_of_errors(*wfbp, "--error", "std", "--ylim", "0:7", "--where", "workers=4,16,64")
        self.assertAlmostEqual(second / first, 1.5, delta=0.02)
        self.assertAlmostEqual(third / first, 15, delta=0.2)
        first, _, third = self.lengths_of_errors(*wfbp, "--error", "low,high", "--ylim", "0:7")
        self.assertAlmostEqual(third / first, 1.6 / 0.24, delta=0.05)
        self.assertEqual(len(self.lengths_of_errors(*LINES, "--error", "std")), 5)
        for kind in ("columns", "dots"):
            self.assertEqual(len(set(self.lengths_of_errors("spread.csv", "--kind", kind, "--panels", "strategy", "--where", "workers=64", "--error", "std"))), 2)

    def test_scaled_and_divided_error_bars(self):
        """Half the length and the value have one divisor: the bars look as before."""
        linear = (*LINES, "--error", "std", "--log", "false", "--where", "strategy=wfbp")
        before = self.lengths_of_errors(*linear, "--ylim", "0:8")
        self.assertEqual(before, self.lengths_of_errors(*linear, "--ylim", "0:8000", "--unit", "ms", "--scale", "0.001"))
        halved = self.lengths_of_errors(*linear, "--ylim", "0:20", "--over", '{"workers": 4}')  # 0.4 s: 1 of 20, as 0.4 of 8
        for one, other in zip(before, halved, strict=True):
            self.assertAlmostEqual(one, other, delta=0.02)

    def test_limits(self):
        """Values beyond have no markers; the line goes on to the side of the field."""
        self.assertEqual([x for _, x, _ in self.points(*LINES, "--xlim", "8:", "--where", "strategy=wfbp")], ["16", "64"])
        self.assertEqual([y for _, _, y in self.points(*LINES, "--ylim", "0.35:0.65")], [0.4, 0.6, 0.4])
        ticks = re.findall(r'class="tick"[^>]*>([^<]*)<', self.svg(*LINES, "--ylim", "0:10", "--set", "log=false", "--where", "strategy=wfbp"))
        self.assertEqual((ticks[3], ticks[-1]), ("0", "10"))
        columns = ("spread.csv", "--kind", "columns", "--panels", "strategy")
        bars = self.svg(*columns, "--where", "strategy=wfbp", "--ylim", ":1")
        widths = [float(width) for width in re.findall(r'<rect x="[\d.]+" y="[\d.]+" width="([\d.]+)" height="[\d.]+" class="part"', bars)]
        self.assertAlmostEqual(widths[0] / widths[2], 0.4, delta=0.01)  # of 0.4 and of 6, which ends at 1
        self.assertEqual([y for _, _, y in self.points("spread.csv", "--kind", "dots", "--panels", "strategy", "--ylim", "4:7")], [6, 5])

    def test_base(self):
        ticks = re.findall(r'class="tick"[^>]*>([^<]*)<', self.svg(*LINES, "--log", "x=10", "--xlim", "1:100", "--where", "strategy=wfbp"))
        self.assertEqual([tick for tick in ticks if tick in ("1", "10", "100")][:3], ["1", "10", "100"])
        powers = re.findall(r'class="tick"[^>]*>([^<]*)<', self.svg(*LINES, "--log", "y=2", "--where", "strategy=best"))
        self.assertIn("0.25", powers)

    def test_order(self):
        legend = r'class="legend"[^>]*>([^<]*)<'
        shared = ("spread.csv", "--kind", "lines", "--set", "panels=iteration_s", "--where", "workers=4")
        self.assertEqual(re.findall(legend, self.svg(*shared)), ["WFBP", "Best found"])
        self.assertEqual(re.findall(legend, self.svg(*shared, "--order", "best")), ["Best found", "WFBP"])
        names = re.findall(r'class="panel"[^>]*>([^<]*)<', self.svg(*LINES, "--order", "Best found"))
        self.assertEqual(names, ["Best found", "WFBP"])
        rows = re.findall(r'class="row"[^>]*>([^<]*)<', self.svg("spread.csv", "--kind", "columns", "--panels", "workers", "--where", "workers=4", "--order", "best"))
        self.assertEqual(rows, ["Best found", "WFBP"])

    def test_legend(self):
        def entries(*arguments):
            svg = self.svg("spread.csv", "--kind", "lines", "--panels", "workers", "--series", "strategy", *arguments)
            found = re.findall(r'<text class="legend" x="([\d.]+)" y="([\d.]+)"', svg)
            return [(float(x), float(y)) for x, y in found], [float(y) for y in re.findall(r'<text class="axis" x="[\d.]+" y="([\d.]+)"', svg)]
        self.assertEqual(entries("--legend", "none")[0], [])
        top, axes = entries("--legend", "top")
        self.assertLess(max(y for _, y in top), min(axes))
        bottom, axes = entries("--legend", "bottom")
        self.assertGreater(min(y for _, y in bottom), max(axes))
        right, _ = entries("--legend", "right", "--width", "page")
        self.assertEqual(len({x for x, _ in right}), 1)
        self.assertGreater(right[0][0], 400)

    def test_refused(self):
        self.write("spread.csv", SPREAD.replace("low", "speedup"))
        for arguments in (("--error", "std", "--kind", "speedup"), ("--kind", "columns", "--ylim", "1:"), ("--kind", "columns", "--log", "y=10"),
                          ("--kind", "dots", "--xlim", "1:2"), ("--kind", "lines", "--x", "strategy", "--panels", "workers", "--xlim", "1:2"),
                          ("--kind", "lines", "--order", "p3"), ("--kind", "lines", "--width", "50mm", "--across", "3"),
                          ("--kind", "lines", "--log", "y=10", "--ylim", "0:"), ("--kind", "dots", "--ylim", "100:"), ("--kind", "histogram", "--ylim", "100:")):
            with self.subTest(arguments=arguments):
                self.refuses("spread.csv", "spread.csv", "--panels", "strategy", *arguments)
        for option, value in (("--width", "85"), ("--width", "1mm"), ("--xlim", "5"), ("--xlim", "5:4"), ("--font", '"a,b"'), ("--font-size", "50"),
                              ("--legend", "inside"), ("--log", "3"), ("--log", "z=2"), ("--across", "0"), ("--error", "a,b,c")):
            with self.subTest(option=option, value=value):
                self.refuses(f"command line: {option}", "spread.csv", "--kind", "lines", option, value)
        self.write("spread.csv", SPREAD.replace("0.2,0.44", "0.5,0.44"))
        self.refuses("spread.csv: line 2: high", *LINES, "--error", "low,high")


class BadInput(Case):
    """One line each, status 2, nothing written."""

    def test_files(self):
        self.write("empty.csv", "")
        self.write("header.csv", COLUMNS + "\n")
        self.write("column.csv", SWEEP.replace("speedup", "speed_up"))
        self.write("number.csv", SWEEP.replace(",3,0.75", ",fast,0.75"))
        self.write("ragged.csv", SWEEP + "alexnet,wfbp\n")
        self.write("twice.csv", SWEEP + SWEEP.partition("\n")[2].replace("ring", "bml"))
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
        self.refuses("command line: --set", "sweep.csv", "--set", "scale=0")
        self.refuses("command line: --set", "sweep.csv", "--set", 'labels={"a": 1}')
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
        self.assertEqual(kinds, SWEEP_KINDS)
        self.assertEqual(re.findall(r"^\| `(\w+)`", text, re.MULTILINE), [*keys, *kinds])


if __name__ == "__main__":
    unittest.main()
