#!/usr/bin/env python3
"""`allreplay plot` as papers need it: width, letters, limits, bases, order, legend, error bars. Run: python3 tests/programs/command/test_figures.py"""

import re
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import test_plot  # noqa: E402

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


class Papers(test_plot.Case):
    """Figures as a paper needs them."""

    def setUp(self):
        super().setUp()
        self.write("spread.csv", SPREAD)

    def lengths_of_errors(self, *arguments):
        """Of the error bars without their caps, which are 6 long and at right angles."""
        ends = re.findall(r'<polyline points="([\d.]+),([\d.]+) ([\d.]+),([\d.]+)" class="error"', self.svg(*arguments))
        spans = [(abs(float(x1) - float(x0)), abs(float(y1) - float(y0))) for x0, y0, x1, y1 in ends]
        along = 0 if {"columns", "dots", "boxes"} & {*arguments} else 1
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

    def test_a_missing_family_is_named(self):
        code, said = self.plot(*LINES, "--font", "No Such Family", "--out", "x.svg", "--out", "x.pdf")
        self.assertEqual(code, 0)
        used = re.fullmatch(r"note: this machine has no font 'No Such Family'; '([^']+)' is used instead\n", said)[1]
        self.assertIn(used.replace(" ", "").encode(), (self.folder / "x.pdf").read_bytes())

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

    def test_band(self):
        """An area between the ends: its corners are the points' upper ends from left to right, then their lower ends back. In pixels,
        0.48 (0.2 to 0.44: 0.24) and 1.6 (5 to 6.6) are in the ratio of the values; beyond the limits it ends at the field."""
        def band(*arguments):
            svg = self.svg(*LINES, "--where", "strategy=wfbp", "--log", "false", "--band", "low,high", *arguments)
            corners = re.search(r'<polygon points="([^"]+)" class="band" fill="#[0-9a-f]+" fill-opacity="0.2"', svg)[1].split()
            return [tuple(float(number) for number in corner.split(",")) for corner in corners]
        corners = band("--ylim", "0:7")
        self.assertEqual(len(corners), 6)
        heights = [corners[5 - i][1] - corners[i][1] for i in range(3)]
        self.assertAlmostEqual(heights[2] / heights[0], 1.6 / 0.24, delta=0.1)
        self.assertAlmostEqual(heights[1] / heights[0], 0.16 / 0.24, delta=0.03)
        inside = band("--ylim", "0.3:2")
        field = [float(y) for y in re.findall(r'<text class="tick" x="[\d.]+" y="([\d.]+)"', self.svg(*LINES, "--ylim", "0.3:2"))]
        self.assertLess(max(y for _, y in inside) - min(y for _, y in inside), max(field) - min(field) + 20)
        self.assertEqual(len(self.svg(*LINES, "--band", "std").split('class="band"')), 3)
        self.assertIn("Bands: low to high.", self.svg(*LINES, "--band", "low,high"))
        self.assertIn("Error bars: ± σ.", self.svg(*LINES, "--error", "std", "--set", 'labels={"std": "σ"}'))

    def test_boxes(self):
        """A box from 1 to 3 of an axis on which the line goes from 0.5 to 6.5: widths as 2 to 6; a row of one seed has none."""
        header = "strategy,workers,iteration_s,least_s,p25_s,p50_s,p75_s,most_s\n"
        self.write("seeds.csv", header + "wfbp,4,2,0.5,1,2.5,3,6.5\nbest,4,2,,,,,\nwfbp,8,3,1,2,3,4,5\n")
        boxes = ("seeds.csv", "--kind", "boxes", "--panels", "strategy")
        svg = self.svg(*boxes)
        places = [(float(x), float(width)) for x, width in re.findall(r'<rect x="([\d.]+)" y="[\d.]+" width="([\d.]+)" height="[\d.]+" class="box"', svg)]
        medians = [float(x) for x in re.findall(r'<polyline points="([\d.]+),[\d.]+ [\d.]+,[\d.]+" class="median"', svg)]
        lines = [length for length in self.lengths_of_errors(*boxes)]
        self.assertEqual((len(places), len(medians)), (2, 2))
        (x, width), median = places[0], medians[0]
        self.assertAlmostEqual((median - x) / width, 0.75, delta=0.01)
        self.assertAlmostEqual(lines[0] / width, 3, delta=0.03)
        self.assertAlmostEqual(lines[1] / width, 2, delta=0.03)
        ticks = re.findall(r'class="tick"[^>]*>([^<]*)<', self.svg(*boxes, "--ylim", "0:8"))
        self.assertEqual((ticks[0], ticks[-1]), ("0", "8"))
        milliseconds = self.write("milliseconds.csv", header + "wfbp,4,2,0.0005,0.001,0.0025,0.003,0.0065\n")
        ticks = re.findall(r'class="tick"[^>]*>([^<]*)<', self.svg(milliseconds, *boxes[1:], "--ylim", "0:0.008"))
        self.assertEqual((ticks[0], ticks[-1]), ("0", "8"))  # given in seconds, shown in ms
        self.refuses("seeds.csv", *boxes, "--where", "strategy=best")
        self.refuses("seeds.csv", *boxes, "--error", "iteration_s")

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
        for arguments in (("--error", "std", "--kind", "speedup"), ("--band", "std", "--kind", "dots"),  ("--kind", "columns", "--ylim", "1:"), ("--kind", "columns", "--log", "y=10"),
                          ("--kind", "dots", "--xlim", "1:2"), ("--kind", "lines", "--x", "strategy", "--panels", "workers", "--xlim", "1:2"),
                          ("--kind", "lines", "--order", "p3"), ("--kind", "lines", "--width", "50mm", "--across", "3"),
                          ("--kind", "lines", "--log", "y=10", "--ylim", "0:"), ("--kind", "dots", "--ylim", "100:"), ("--kind", "histogram", "--ylim", "100:")):
            with self.subTest(arguments=arguments):
                self.refuses("spread.csv", "spread.csv", "--panels", "strategy", *arguments)
        for option, value in (("--width", "85"), ("--width", "1mm"), ("--xlim", "5"), ("--xlim", "5:4"), ("--font", '"a,b"'), ("--font-size", "50"),
                              ("--legend", "inside"), ("--log", "3"), ("--log", "z=2"), ("--across", "0"), ("--error", "a,b,c"), ("--band", "a,b,c")):
            with self.subTest(option=option, value=value):
                self.refuses(f"command line: {option}", "spread.csv", "--kind", "lines", option, value)
        self.write("spread.csv", SPREAD.replace("0.2,0.44", "0.5,0.44"))
        self.refuses("spread.csv: line 2: high", *LINES, "--error", "low,high")


if __name__ == "__main__":
    unittest.main()
