#!/usr/bin/env python3
"""The page of a sweep in a headless Chromium: mouse, keys, touch, phone, paper. Run: python3 tests/html/test_report_browser.py"""
import json
import math
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import chromium

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from program import PROGRAM, needs_program, rows_of  # noqa: E402


CLUSTERS = {"profiles": ["resnet50_k80_b16", "densenet161_v100_b16"], "clusters": ["k80-10gbe", "v100-10gbe", "v100-56gbib"], "workers": [64],
            "strategies": ["s-sgd", "wfbp", "sync-easgd", "mg-wfbp", "optimal-merge", "ddp", "horovod", "us-byte", "dear"]}
LARGE = {"profiles": ["llama3-8b_h100_b1_bf16"], "clusters": ["h100x8-8x400gbps"], "workers": [64, 512], "strategies": [{"name": name, "memory": "80GB"} for name in ("megatron", "fsdp2")]}
ROUTES = {"profiles": ["resnet50_k80_b16"], "clusters": ["star-64-10gbe", {"cluster": "leaf-spine-64", "routing": ["d-mod-k", "ecmp"]}], "workers": [64],
          "fidelities": ["fluid"], "strategies": ["ddp"], "plot": {"kind": "columns", "x": "cluster", "series": ["routing"]}}
CENTRE = "(e => { e.scrollIntoView({block: 'center'}); const b = e.getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]; })"


def shown(seconds):
    """A duration as the page writes it: four digits in a unit of which there is at least one."""
    unit, size = next((one for one in (("s", 1), ("ms", 1e-3), ("µs", 1e-6)) if seconds >= one[1]))
    return f"{float(f'{seconds / size:.4g}'):g} {unit}"


@needs_program
class Browser(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        folder = Path(cls.folder.name)
        for name, sweep in (("clusters", CLUSTERS), ("large", LARGE), ("routes", ROUTES)):
            (folder / f"{name}.json").write_text(json.dumps(sweep), encoding="utf-8")
        for command in (["sweep", "mgwfbp_fig10", "--out", "rows.csv"],
                        ["report", "rows.csv", "--config", "mgwfbp_fig10", "--out", "page.html"],
                        ["sweep", "clusters.json", "--out", "clusters.csv"],
                        ["report", "clusters.csv", "--timelines", "0", "--tie", "0", "--out", "clusters.html"],
                        ["sweep", "large.json", "--out", "large.csv"],
                        ["report", "large.csv", "--timelines", "0", "--out", "large.html"],
                        ["sweep", "routes.json", "--out", "routes.csv"],
                        ["report", "routes.csv", "--config", "routes.json", "--timelines", "0", "--out", "routes.html"],
                        ["sweep", "usbyte_fig16", "--out", "many.csv"],
                        ["report", "many.csv", "--timelines", "2", "--out", "many.html"]):
            subprocess.run([PROGRAM, *command], cwd=folder, check=True, capture_output=True)
        cls.file = folder / "page.html"
        cls.rows = rows_of(folder / "rows.csv")
        cls.browser = chromium.Page()
        cls.addClassCleanup(cls.browser.close)

    def setUp(self):
        self.browser.media()
        self.browser.resize(1280, 900)
        self.browser.open(self.file)

    def tearDown(self):
        self.assertEqual(self.browser.complaints, [])
        self.assertTrue(all(url.startswith(("file:", "data:", "about:")) for url in self.browser.requests), self.browser.requests)

    def run_script(self, script):
        return self.browser.run(script)

    def tip(self):
        """{what: value} of the tooltip, its title under ''."""
        return self.run_script("""(() => { const tip = document.getElementById('tip'); if (tip.hidden) return null;
            const texts = tag => [...tip.querySelectorAll(tag)].map(e => e.textContent);
            return Object.fromEntries([['', texts('strong')[0]], ...texts('dt').map((name, i) => [name, texts('dd')[i]])]); })()""")

    def row(self, profile, strategy, workers):
        """That row of the CSV."""
        return next(row for row in self.rows if (row["profile"], row["strategy"], row["workers"]) == (profile, strategy, str(workers)))

    def assert_tells(self, tip, row):
        self.assertEqual(tip[""], row["strategy"])
        self.assertEqual((tip["profile"], tip["workers"]), (row["profile"], row["workers"]))
        self.assertEqual(tip["iteration"], shown(float(row["iteration_s"])))
        self.assertAlmostEqual(float(tip["speed-up"]), float(row["speedup"]), delta=5e-4 * float(row["speedup"]))
        self.assertEqual(tip["efficiency"], f"{100 * float(row['efficiency']):.1f} %")

    def test_hovering_tells_the_row(self):
        # The first chart's markers stand series by series, as in the file: s-sgd on 4 to 2048 workers, then wfbp.
        for index, (strategy, workers) in ((0, ("s-sgd", 4)), (9, ("s-sgd", 2048)), (18, ("wfbp", 1024))):
            x, y = self.run_script(f"{CENTRE}(document.querySelectorAll('.chart')[0].querySelectorAll('path')[{index}])")
            self.browser.mouse("mouseMoved", x, y)
            self.assert_tells(self.tip(), self.row("googlenet_k80_b32", strategy, workers))
        self.browser.mouse("mouseMoved", 5, 5)
        self.assertIsNone(self.tip())

    def test_arrow_keys_go_from_point_to_point(self):
        self.run_script("document.querySelectorAll('input[name=measure]')[0].focus()")
        for _ in range(2):
            self.browser.key("Tab")
        self.assertEqual(self.run_script("[...document.querySelectorAll('.chart')].indexOf(document.activeElement)"), 1)
        for _ in range(3):
            self.browser.key("ArrowRight")
        tip = self.tip()
        self.assert_tells(tip, self.row("resnet50_107_k80_b16", "s-sgd", tip["workers"]))
        self.browser.key("ArrowRight")
        self.assertEqual(int(self.tip()["workers"]), 2 * int(tip["workers"]))
        self.browser.key("ArrowUp")  # the next higher point with as many workers
        higher = self.tip()
        self.assertEqual(int(higher["workers"]), 2 * int(tip["workers"]))
        self.assert_tells(higher, self.row("resnet50_107_k80_b16", higher[""], higher["workers"]))
        self.assertNotEqual(higher[""], "s-sgd")
        self.browser.key("Escape")
        self.assertIsNone(self.tip())

    def test_points_stand_where_their_values_are(self):
        """On axes that are logarithmic, equal factors are equal distances: 4 to 8 workers as 1024 to 2048."""
        at = self.run_script("""[...document.querySelectorAll('.chart')[0].querySelectorAll('path')].map(e =>
            e.getAttribute('transform').match(/[\\d.]+/g).map(Number))""")
        of = {(strategy, workers): at[10 * s + w] for s, strategy in enumerate(["s-sgd", "wfbp", "sync-easgd", "mg-wfbp", "optimal-merge"])
              for w, workers in enumerate([4 << i for i in range(10)])}
        step = of["wfbp", 8][0] - of["wfbp", 4][0]
        self.assertGreater(step, 10)
        self.assertAlmostEqual(of["wfbp", 2048][0] - of["wfbp", 1024][0], step, 6)
        speedups = {key: float(self.row("googlenet_k80_b32", *key)["speedup"]) for key in of}
        scale = (of["wfbp", 4][1] - of["optimal-merge", 2048][1]) / math.log(speedups["optimal-merge", 2048] / speedups["wfbp", 4])
        for key, (_, y) in of.items():
            self.assertAlmostEqual(y, of["wfbp", 4][1] - scale * math.log(speedups[key] / speedups["wfbp", 4]), 6)

    def test_other_measures(self):
        for value, text in (("efficiency", "Efficiency"), ("iteration", "Iteration time"), ("above", "Above the lower bound")):
            self.run_script(f"document.querySelector('input[name=measure][value={value}]').click()")
            self.assertEqual(self.run_script("document.getElementById('charts-heading').textContent"), f"{text} by workers")
            self.assertEqual(self.run_script("document.querySelectorAll('.chart')[0].querySelectorAll('path').length"), 50)
            self.assertNotIn("NaN", self.run_script("document.getElementById('panels').innerHTML"))

    def column(self, name):
        return self.run_script(f"""(() => {{ const i = [...document.querySelectorAll('th')].findIndex(e => e.dataset.column === '{name}');
            return [...document.querySelectorAll('tbody tr')].map(row => row.cells[i].textContent); }})()""")

    def numbers(self, name):
        return [float(text.replace("\u202f", "")) for text in self.column(name)]

    def unit(self, name):
        return self.run_script(f"document.querySelector('th[data-column={name}] small').textContent")

    def test_units_stand_in_the_header_and_the_exact_value_behind_the_number(self):
        """Every number of a column is the CSV's in the header's unit, to half of its last digit; hovering tells the CSV's own."""
        sizes = {"s": 1, "ms": 1e-3, "µs": 1e-6, "×": 1, "%": 0.01, "samples/s": 1}
        for file, path in ((self.file, "rows.csv"), (self.file.with_name("clusters.html"), "clusters.csv")):
            self.browser.open(file)
            rows = rows_of(file.with_name(path))
            for name in ("iteration_s", "exposed_comm_s", "speedup", "efficiency"):
                texts, numbers, size = self.column(name), self.numbers(name), sizes[self.unit(name)]
                decimals = {len(text.partition(".")[2]) for text in texts}
                self.assertEqual(len(decimals), 1, name)
                self.assertLessEqual(max(len(text.replace("\u202f", "")) for text in texts), 8, name)
                for number, row in zip(numbers, rows):
                    self.assertAlmostEqual(number, float(row[name]) / size, delta=0.5001 * 10 ** -decimals.copy().pop(), msg=name)
            exact = self.run_script("""(() => { const i = [...document.querySelectorAll('th')].findIndex(e => e.dataset.column === 'exposed_comm_s');
                return [...document.querySelectorAll('tbody tr')].map(row => row.cells[i].title); })()""")
            self.assertEqual([float(text.removesuffix(" s")) for text in exact], [float(row["exposed_comm_s"]) for row in rows])

    def test_the_table_fits(self):
        """At 1280 and 1920 px the shown columns need no scrolling, whatever the sweep; the rest is behind a chooser, options last."""
        for width in (1280, 1920):
            for name in ("page.html", "many.html", "clusters.html"):
                self.browser.resize(width, 900)
                self.browser.open(self.file.with_name(name))
                self.assertLessEqual(*self.run_script("(e => [e.scrollWidth, e.clientWidth])(document.getElementById('table'))"), f"{name}, {width} wide")
        self.browser.resize(1280, 900)
        self.browser.open(self.file.with_name("many.html"))
        self.assertEqual(self.run_script("[...document.querySelectorAll('th')].at(-1).dataset.column"), "options")
        for shown in (True, False):
            self.run_script(f"(box => {{ if (box.checked !== {str(shown).lower()}) box.click(); }})(document.querySelector('input[data-column=options]'))")
            self.assertEqual(self.run_script("[...document.querySelectorAll('th')].at(-1).hidden"), not shown)
            self.assertEqual(self.run_script("[...document.querySelectorAll('tbody tr')].every(row => [...row.cells].at(-1).hidden === " + str(not shown).lower() + ")"), True)

    def test_clusters_at_one_size_stand_side_by_side(self):
        """A group for each cluster, a column for each strategy, as high as its value."""
        self.browser.open(self.file.with_name("clusters.html"))
        self.assertEqual(self.run_script("document.getElementById('charts-heading').textContent"), "Speed-up by cluster")
        self.assertEqual(self.run_script("document.querySelectorAll('.chart').length"), 2)
        bars = self.run_script("""[...document.querySelectorAll('.chart')[0].querySelectorAll('g.bar')].map(e => [e.firstChild.getAttribute('x'),
            e.firstChild.getAttribute('height')].map(Number))""")
        rows = [row for row in rows_of(self.file.with_name("clusters.csv")) if row["profile"] == "resnet50_k80_b16"]
        self.assertEqual(len(bars), 27)
        self.assertEqual([x for x, _ in bars], sorted(x for x, _ in bars))
        # Columns stand cluster by cluster, in each strategy by strategy, as in the file.
        scale = bars[0][1] / float(rows[0]["speedup"])
        for (_, height), row in zip(bars, rows):
            self.assertAlmostEqual(height, scale * float(row["speedup"]), delta=0.02)
        texts = self.run_script("[...document.querySelectorAll('.chart')[0].querySelectorAll('text')].map(e => e.textContent)")
        for name in ("k80-10gbe", "v100-10gbe", "v100-56gbib", "cluster"):
            self.assertIn(name, texts)
        self.assertEqual(self.run_script("document.querySelectorAll('#legend span').length"), 9)
        x, y = self.run_script(f"{CENTRE}(document.querySelectorAll('.chart')[0].querySelectorAll('g.bar')[3])")
        self.browser.mouse("mouseMoved", x, y)
        self.assertEqual((self.tip()[""], self.tip()["cluster"]), ("mg-wfbp", "k80-10gbe"))

    def test_series_of_rows_that_have_no_value(self):
        """A star has one way, and so no routing."""
        self.browser.open(self.file.with_name("routes.html"))
        texts = self.run_script("[...document.querySelectorAll('.chart')[0].querySelectorAll('text')].map(e => e.textContent)")
        for name in ("no routing, star-64-10gbe", "d-mod-k, leaf-spine-64", "ecmp, leaf-spine-64"):
            self.assertIn(name, texts)

    def test_the_verdict_is_the_csv_s(self):
        """The fastest pair of each profile, and how much longer the slowest cluster takes at its best, reckoned here again."""
        self.browser.open(self.file.with_name("clusters.html"))
        sentences = self.run_script("[...document.querySelectorAll('.verdict')].map(e => e.textContent)")
        self.assertEqual(len(sentences), 3)
        for profile, sentence in zip(CLUSTERS["profiles"], sentences[1:]):
            best = {}
            for row in rows_of(self.file.with_name("clusters.csv")):
                if row["profile"] == profile:
                    best[row["cluster"]] = min(best.get(row["cluster"], math.inf), float(row["iteration_s"]))
            ranked = sorted(best, key=best.get)
            self.assertTrue(sentence.startswith(f"{profile}: with 64 workers, of the winners {ranked[0]} with "), sentence)
            self.assertIn(f": {shown(best[ranked[0]])} an iteration; {ranked[1]}, the next, takes ", sentence)
            times = best[ranked[2]] / best[ranked[0]]
            self.assertIn(f"{ranked[2]}, the last, takes " + (f"{times:.2f} times as long" if times >= 1.1 else f"{100 * (times - 1):.1f} % longer"), sentence)
        self.assertEqual(self.run_script("document.querySelector('h1').textContent"),
                         "resnet50_k80_b16 and densenet161_v100_b16 on 64 workers: 9 schedules on 3 clusters")

    def test_sorting(self):
        self.assertEqual(len(self.column("iteration_s")), 100)
        before = self.column("series")
        click = "document.querySelector('th[data-column={}] [role=button]').click()"
        self.run_script(click.format("iteration_s"))
        times = self.numbers("iteration_s")
        self.assertEqual(times, sorted(times))
        # From 0.392 s to 14.8 s: seconds lie between, with three decimals for four digits of the least.
        self.assertEqual(self.unit("iteration_s"), "s")
        for ours, theirs in zip(times, sorted(float(row["iteration_s"]) for row in self.rows)):
            self.assertAlmostEqual(ours, theirs, delta=0.00051)
        self.assertEqual(self.run_script("document.querySelector('th[data-column=iteration_s]').getAttribute('aria-sort')"), "ascending")
        self.run_script("document.querySelector('th[data-column=iteration_s] [role=button]').focus()")
        self.browser.key("Enter", text="\r")
        times = self.numbers("iteration_s")
        self.assertEqual(times, sorted(times, reverse=True))
        self.run_script(click.format("series"))
        self.assertEqual(self.column("series"), sorted(before))

    def test_filtering(self):
        self.run_script("(() => { const s = document.getElementById('search'); s.value = 'mg-wfbp 64'; s.dispatchEvent(new Event('input')); })()")
        self.assertTrue(set(self.column("series")) == {"mg-wfbp"} and "64" in self.column("workers"))
        self.run_script("(() => { const s = document.getElementById('search'); s.value = ''; s.dispatchEvent(new Event('input')); })()")
        self.run_script("document.querySelector('input[data-facet=series][value=wfbp]').click()")
        self.assertNotIn("wfbp", self.column("series"))
        self.assertEqual(self.run_script("document.getElementById('count').textContent"), "80 of 100 rows")
        self.assertEqual(self.run_script("document.querySelectorAll('.chart')[0].querySelectorAll('path').length"), 40)
        self.run_script("document.querySelector('input[data-facet=profile]').click()")
        self.assertEqual(self.run_script("document.querySelectorAll('.chart').length"), 1)

    def test_timelines_are_on_one_scale(self):
        fastest, slowest = (float(self.row("googlenet_k80_b32", strategy, 2048)["iteration_s"]) for strategy in ("optimal-merge", "s-sgd"))
        self.assertLess(fastest, 0.5 * slowest)
        ends = self.run_script("""(() => { const picture = document.querySelector('svg.timeline'), left = Number(picture.dataset.field.split(' ')[0]);
            return [...picture.querySelectorAll('rect.next')].map(e => Number(e.getAttribute('x')) - left); })()""")
        self.assertAlmostEqual(ends[0] / ends[1], fastest / slowest, delta=0.001)

    def range(self):
        """From, to and whole, in seconds, of timelines on one scale."""
        text = self.run_script("document.querySelector('.zoom output').textContent")
        units = {"s": 1, "ms": 1e-3, "µs": 1e-6, "ns": 1e-9}
        parts = text.replace(" to ", " ").replace(" of ", " ").split(" ")
        return [float(number) * units[unit] for number, unit in zip(parts[::2], parts[1::2])]

    def middle(self):
        """The middle of the first timeline's field on the screen."""
        x, y = self.run_script(f"{CENTRE}(document.querySelector('svg.timeline'))")
        return x + self.run_script("""(() => { const e = document.querySelector('svg.timeline'), box = e.getBoundingClientRect(), page = e.viewBox.baseVal.width;
            const [left, , across] = e.dataset.field.split(' ').map(Number); return ((left + across / 2) / page - 1 / 2) * box.width; })()"""), y

    def test_a_timeline_zooms_and_pans(self):
        slowest = float(self.row("googlenet_k80_b32", "s-sgd", 2048)["iteration_s"])
        start, end, whole = self.range()
        self.assertEqual(start, 0)
        self.assertAlmostEqual(end, slowest, delta=1e-3 * slowest)
        x, y = self.middle()
        self.browser.mouse("mouseWheel", x, y, deltaX=0, deltaY=-300)
        start, end, _ = self.range()
        self.assertLess(end - start, 0.7 * whole)
        self.assertAlmostEqual((start + end) / 2, whole / 2, delta=0.01 * whole)  # about the pointer
        self.browser.mouse("mousePressed", x, y, button="left", clickCount=1)
        self.browser.mouse("mouseMoved", x + 100, y, button="left", buttons=1)
        self.browser.mouse("mouseReleased", x + 100, y, button="left", clickCount=1)
        moved = self.range()
        self.assertLess(moved[0], start)
        self.assertAlmostEqual(moved[1] - moved[0], end - start, delta=0.002 * whole)
        self.run_script("document.querySelector('svg.timeline').focus()")
        self.browser.key("0", text="0")
        self.assertEqual(self.range(), [0, whole, whole])
        self.browser.key("+", text="+")
        self.assertAlmostEqual(self.range()[0], whole / 4, delta=0.001 * whole)
        self.browser.key("ArrowRight")
        self.assertAlmostEqual(self.range()[0], whole / 4 + whole / 10, delta=0.001 * whole)
        self.run_script("document.querySelectorAll('.zoom button')[2].click()")
        self.assertEqual(self.range(), [0, whole, whole])
        scrolled = self.run_script("scrollY")
        self.browser.mouse("mouseWheel", x, y, deltaX=0, deltaY=100)  # nothing left to zoom out: the page scrolls
        self.assertEqual(self.range(), [0, whole, whole])
        self.run_script("new Promise(done => setTimeout(done, 300))")
        self.assertGreater(self.run_script("scrollY"), scrolled)

    def field(self):
        """[tag, kind, x, width, shown] of all that follows time, and of the axis's words."""
        return self.run_script("""[...document.querySelectorAll('svg.timeline')[0].querySelectorAll('.field > *')].map(e => [e.tagName,
            e.getAttribute('class'), Number(e.getAttribute('x')), Number(e.getAttribute('width')), e.getAttribute('visibility') !== 'hidden'])""")

    def test_what_is_zoomed_into_is_drawn_wider_and_named(self):
        """Sixteen times as wide about the middle: bars and gaps grow so, letters keep their size, names come that have room now."""
        before = self.field()
        left, _, across, _ = map(float, self.run_script("document.querySelector('svg.timeline').dataset.field").split())
        self.run_script("document.querySelector('svg.timeline').focus()")
        for _ in range(4):
            self.browser.key("+", text="+")
        after = self.field()
        self.assertEqual(len(before), len(after))
        place = lambda x: left + 16 * (x - left - across / 2) + across / 2
        bars = 0
        for (tag, kind, x, width, _), (_, _, x_after, width_after, _) in zip(before, after):
            if tag == "rect" and kind:
                bars += 1
                self.assertAlmostEqual(x_after, place(x), delta=0.02)
                if width > 0.4:  # nothing is drawn thinner
                    self.assertAlmostEqual(width_after, 16 * width, delta=0.02)
            elif tag == "text":
                self.assertAlmostEqual(x_after, place(x), delta=0.02)
        self.assertGreater(bars, 100)
        names = lambda shapes: sum(shown for tag, kind, _, _, shown in shapes if (tag, kind) == ("text", "name"))
        self.assertGreater(names(after), names(before))
        self.browser.key("0", text="0")
        self.assertEqual(self.field(), before)

    def test_boxes_of_a_timeline_tell_themselves(self):
        self.run_script("document.querySelector('svg.timeline').focus()")
        self.browser.key("ArrowRight", modifiers=8)
        self.assertRegex(self.tip()[""], "^backward .*, from 0 s ")  # that of the output layer comes first
        self.browser.key("ArrowDown", modifiers=8)
        self.assertRegex(self.tip()[""], "^collective block 0 .* MB")
        self.browser.key("Escape")
        self.assertIsNone(self.tip())
        x, y = self.run_script(f"{CENTRE}([...document.querySelectorAll('svg.timeline rect.waiting')].at(-1))")
        self.browser.mouse("mouseMoved", x, y - 12)  # beside its number
        self.assertRegex(self.tip()[""], "^computation waits ")

    def test_pinching(self):
        self.browser.resize(390, 844, touch=True)
        self.browser.open(self.file)
        whole = self.range()[2]
        x, y = self.run_script(f"{CENTRE}(document.querySelector('svg.timeline'))")
        def touch(kind, spread):
            points = [{"x": x - spread, "y": y, "id": 0}, {"x": x + spread, "y": y, "id": 1}] if spread else []
            self.browser.call("Input.dispatchTouchEvent", type=kind, touchPoints=points)
            self.browser.settle()
        touch("touchStart", 10)
        for spread in (15, 20, 30, 40):
            touch("touchMove", spread)
        touch("touchEnd", 0)
        start, end, _ = self.range()
        self.assertLess(end - start, 0.5 * whole)

    def test_no_screen_scrolls_sideways(self):
        for width in (320, 390, 768, 1280, 1920):
            self.browser.resize(width, 844, touch=width < 1000)
            for file in (self.file, self.file.with_name("many.html"), self.file.with_name("clusters.html")):
                self.browser.open(file)
                self.assertLessEqual(self.run_script("document.documentElement.scrollWidth"), width)
                wide = self.run_script("""[...document.querySelectorAll('body *')].filter(e => !e.closest('#table') && !e.closest('svg') &&
                    e.getBoundingClientRect().right > innerWidth + 1).map(e => e.outerHTML.slice(0, 80))""")
                self.assertEqual(wide, [])

    def overlaps(self):
        """Pairs of texts of one picture that cover each other."""
        return self.run_script("""[...document.querySelectorAll('.chart, svg.timeline')].flatMap(picture => {
            const boxes = [...picture.querySelectorAll('text:not([visibility=hidden])')].filter(e => getComputedStyle(e).display !== 'none').map(e => [e.textContent, e.getBoundingClientRect()]);
            return boxes.flatMap(([text, a], i) => boxes.slice(i + 1).filter(([, b]) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 &&
                Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 3).map(([other]) => `${text} | ${other}`)); })""")

    def test_labels_do_not_overlap(self):
        for width in (320, 390, 800, 1280, 1920):
            self.browser.resize(width, 900)
            for file in (self.file, self.file.with_name("many.html"), self.file.with_name("clusters.html")):
                self.browser.open(file)
                for value in ("speedup", "efficiency", "iteration"):
                    self.run_script(f"document.querySelector('input[name=measure][value={value}]').click()")
                    self.assertEqual(self.overlaps(), [], f"{file.name}, {value}, {width} wide")

    def test_paper(self):
        self.browser.media("print")
        controls = self.run_script("""[...document.querySelectorAll('button, input, select, fieldset, .controls')]
            .filter(e => e.getClientRects().length).map(e => e.outerHTML.slice(0, 80))""")
        self.assertEqual(controls, [])
        for what in (".chart", "svg.timeline", "table", ".warning", ".badge", "th"):
            self.assertGreater(self.run_script(f"document.querySelector('{what}').getClientRects().length"), 0, what)
        self.assertEqual(self.run_script("getComputedStyle(document.body).backgroundColor"), "rgb(255, 255, 255)")
        self.browser.media("print", "dark")
        self.assertEqual(self.run_script("getComputedStyle(document.body).backgroundColor"), "rgb(255, 255, 255)")
        for name in ("page.html", "many.html", "clusters.html"):  # title, verdict, charts and the table's head on A4's 273 mm
            self.browser.resize(703, 1000)
            self.browser.open(self.file.with_name(name))
            self.browser.media("print")
            self.run_script("dispatchEvent(new Event('beforeprint'))")
            self.browser.settle()
            places = self.run_script("""['h1', '.verdict', '.chart', 'tbody tr'].map(e => document.querySelector(e).getBoundingClientRect().bottom + scrollY)""")
            self.assertEqual(places, sorted(places))
            self.assertLess(places[-1], 273 / 25.4 * 96, name)
            self.assertLessEqual(self.run_script("document.documentElement.scrollWidth"), 703)
            self.run_script("dispatchEvent(new Event('afterprint'))")
        self.browser.media("")
        pdf = self.browser.pdf()
        self.assertTrue(pdf.startswith(b"%PDF"))

    def test_dark(self):
        self.browser.media("screen", "dark")
        luminance = lambda colour: sum(map(float, colour[4:-1].split(",")))
        self.assertLess(luminance(self.run_script("getComputedStyle(document.body).backgroundColor")), 150)
        self.assertGreater(luminance(self.run_script("getComputedStyle(document.body).color")), 600)

    def test_what_does_not_fit_is_marked(self):
        """megatron's two rows: 82.0 and 80.7 GB of 80."""
        self.browser.open(self.file.with_name("large.html"))
        self.assertEqual(self.run_script("document.querySelectorAll('.chart .cross').length"), 2)
        self.assertIn("×: does not fit into the memory of a worker", self.run_script("[...document.querySelectorAll('#panels .note')].map(e => e.textContent)"))
        self.assertEqual([cell.endswith("!") for cell in self.column("memory_bytes")], [strategy == "megatron" for strategy in self.column("series")])
        self.assertIn("! does not fit into the memory of a worker", self.run_script("document.getElementById('count').textContent"))
        self.browser.open(self.file)
        self.assertEqual(self.run_script("document.querySelectorAll('.cross').length"), 0)

    def test_many_series_without_a_configuration(self):
        """15 strategies with options at one size: bars, named with what tells them apart."""
        self.browser.open(self.file.with_name("many.html"))
        self.assertEqual(self.run_script("document.querySelectorAll('.chart').length"), 6)
        texts = self.run_script("[...document.querySelectorAll('.chart')[0].querySelectorAll('text')].map(e => e.textContent)")
        self.assertIn("us-byte (partition=100 kB)", texts)
        self.assertIn("wfbp", texts)
        self.assertEqual(self.run_script("document.querySelectorAll('.chart')[0].querySelectorAll('g.bar').length"), 15)


if __name__ == "__main__":
    if chromium.PROGRAM is None:
        sys.exit(print("skipped: Chromium is not installed (Debian: chromium)"))
    unittest.main()
