#!/usr/bin/env python3
"""The page of a sweep in a headless Chromium: mouse, keys, touch, phone, paper. Run: python3 tests/output/html/test_report_browser.py"""
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import chromium

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from program import PROGRAM, needs_program, rows_of  # noqa: E402


CLUSTERS = {"profiles": ["resnet50_k80_b16", "densenet161_v100_b16"], "clusters": ["k80-10gbe", "v100-10gbe", "v100-56gbib"], "workers": [64],
            "strategies": ["s-sgd", "wfbp", "sync-easgd", "mg-wfbp", "optimal-merge", "ddp", "horovod", "us-byte", "dear"]}
LARGE = {"profiles": ["llama3-8b_h100_b1_bf16"], "clusters": ["h100x8-8x400gbps"], "workers": [64, 512], "strategies": [{"name": name, "memory": "80GB"} for name in ("megatron", "fsdp2")]}
CENTRE = "(e => { e.scrollIntoView({block: 'center'}); const b = e.getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]; })"


@needs_program
class Browser(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        folder = Path(cls.folder.name)
        for name, sweep in (("clusters", CLUSTERS), ("large", LARGE)):
            (folder / f"{name}.json").write_text(json.dumps(sweep), encoding="utf-8")
        for command in (["sweep", "mgwfbp_fig10", "--out", "rows.csv"],
                        ["report", "rows.csv", "--config", "mgwfbp_fig10", "--out", "page.html"],
                        ["sweep", "clusters.json", "--out", "clusters.csv"],
                        ["report", "clusters.csv", "--timelines", "0", "--tie", "0", "--out", "clusters.html"],
                        ["sweep", "large.json", "--out", "large.csv"],
                        ["report", "large.csv", "--timelines", "0", "--out", "large.html"],
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
        """The text of the tip, or None."""
        return self.run_script("(tip => tip.hidden ? null : tip.textContent)(document.getElementById('tip'))")

    def row(self, profile, strategy, workers):
        """That row of the CSV."""
        return next(row for row in self.rows if (row["profile"], row["strategy"], row["workers"]) == (profile, strategy, str(workers)))

    def highlighted(self):
        """The series of the highlighted shapes."""
        return set(self.run_script("[...document.querySelectorAll('.highlighting .highlighted')].map(e => e.dataset.series)"))

    def test_pointing_at_a_chart_tells_the_point_and_highlights_its_series(self):
        # The points of the first panel stand series by series, on 4 to 2048 workers; the last one is drawn above the others.
        for index, (strategy, workers) in ((40, ("optimal-merge", 4)), (44, ("optimal-merge", 64)), (48, ("optimal-merge", 1024))):
            x, y = self.run_script(f"{CENTRE}(document.querySelectorAll('.chart:not([hidden]) figure:first-child .point')[{index}])")
            self.browser.mouse("mouseMoved", x, y)
            series, place, value = self.tip().replace(": ", ", ").split(", ")
            self.assertEqual((series.lower().replace(" ", "-"), place), (strategy, str(workers)))
            self.assertAlmostEqual(float(value), float(self.row("googlenet_k80_b32", strategy, workers)["speedup"]), delta=1e-4 * float(value))
            self.assertEqual(self.highlighted(), {series})
        self.browser.mouse("mouseMoved", 5, 5)
        self.assertIsNone(self.tip())
        self.assertEqual(self.highlighted(), set())

    def test_a_series_of_the_legend_stays_highlighted(self):
        self.browser.open(self.file.with_name("clusters.html"))
        self.run_script("document.querySelector('.legend button[data-series=WFBP]').focus()")
        self.browser.key("Enter", text="\r")
        self.assertEqual(self.highlighted(), {"WFBP"})
        self.assertEqual(self.run_script("document.querySelector('.legend button[data-series=WFBP]').ariaPressed"), "true")
        # Of each cluster, panel and measure: it stays when another measure is shown.
        self.assertEqual(self.run_script("document.querySelectorAll('.highlighted').length"), 3 * 2 * 5)
        self.browser.key("Enter", text="\r")
        self.assertEqual(self.highlighted(), set())

    def test_other_measures(self):
        shown = "[...document.querySelectorAll('.chart')].filter(e => e.getClientRects().length).map(e => e.id)"
        values = self.run_script("[...document.querySelectorAll('input[name=chart]')].map(e => e.value)")
        self.assertEqual(len(values), 5)
        self.assertEqual(self.run_script(shown), values[:1])
        self.run_script("document.querySelector('input[name=chart]').focus()")
        for value in values[1:]:
            self.browser.key("ArrowRight")
            self.assertEqual(self.run_script(shown), [value])

    def column(self, name):
        """The texts of the column whose heading begins with this name."""
        return self.run_script(f"""(() => {{ const i = [...document.querySelectorAll('th')].findIndex(e => e.textContent.startsWith('{name}'));
            return [...document.querySelectorAll('tbody tr')].map(row => row.cells[i].textContent.trim()); }})()""")

    def numbers(self, name):
        return [float(text.rstrip("~*! ")) for text in self.column(name)]

    def unit(self, name):
        return self.run_script(f"[...document.querySelectorAll('th')].find(e => e.textContent.startsWith('{name}')).querySelector('small').textContent")

    def test_every_number_of_the_table_is_the_csv_s(self):
        sizes = {"s": 1, "ms": 1e-3, "µs": 1e-6, "%": 0.01}
        for file, path in ((self.file, "rows.csv"), (self.file.with_name("clusters.html"), "clusters.csv")):
            self.browser.open(file)
            rows = rows_of(file.with_name(path))
            for heading, name in (("iteration", "iteration_s"), ("exposed", "exposed_comm_s"), ("eff.", "efficiency")):
                texts, numbers, size = self.column(heading), self.numbers(heading), sizes[self.unit(heading)]
                decimals = {len(text.rstrip("~").partition(".")[2]) for text in texts}
                self.assertEqual(len(decimals), 1, name)
                for number, row in zip(numbers, rows, strict=True):
                    self.assertAlmostEqual(number, float(row[name]) / size, delta=0.5001 * 10 ** -decimals.copy().pop(), msg=name)

    def test_the_table_fits(self):
        """At 1280 and 1920 px the columns need no scrolling."""
        for width in (1280, 1920):
            for name in ("page.html", "many.html", "clusters.html", "large.html"):
                self.browser.resize(width, 900)
                self.browser.open(self.file.with_name(name))
                self.assertLessEqual(*self.run_script("(e => [e.scrollWidth, e.clientWidth])(document.getElementById('table'))"), f"{name}, {width} wide")

    def test_sorting(self):
        self.assertEqual(len(self.column("iteration")), 100)
        before = self.column("strategy")
        head = "[...document.querySelectorAll('th')].find(e => e.textContent.startsWith('{}'))"
        self.run_script(head.format("iteration") + ".click()")
        times = self.numbers("iteration")
        self.assertEqual(times, sorted(times))
        self.assertEqual(self.run_script(head.format("iteration") + ".ariaSort"), "ascending")
        self.run_script(head.format("iteration") + ".querySelector('[role=button]').focus()")
        self.browser.key("Enter", text="\r")
        times = self.numbers("iteration")
        self.assertEqual(times, sorted(times, reverse=True))
        self.run_script(head.format("strategy") + ".click()")
        self.assertEqual(self.column("strategy"), sorted(before))

    def search(self, words):
        self.run_script(f"(e => {{ e.value = '{words}'; e.dispatchEvent(new Event('input')); }})(document.getElementById('search'))")

    def test_filtering(self):
        self.search("mg-wfbp 64")
        self.assertTrue(set(self.column("strategy")) == {"mg-wfbp"} and "64" in self.column("workers"))
        self.search("no such row")
        self.assertEqual(self.column("strategy"), [])
        self.search("")
        self.assertEqual(len(self.column("strategy")), 100)

    def test_a_long_table_shows_its_first_rows_until_all_are_asked_for(self):
        page, row = self.file.read_text(encoding="utf-8"), "<tr><td>x</td><td>9</td><td>later</td></tr>"
        long = self.file.with_name("long.html")
        long.write_text(page.replace("</tbody>", "</tbody><tbody hidden>" + row * 900 + "</tbody>"), encoding="utf-8")
        self.browser.open(long)
        shown = "[...document.querySelectorAll('tbody tr')].filter(e => e.getClientRects().length).length"
        self.assertEqual(self.run_script(shown), 100)
        self.search("later")
        self.assertEqual(self.run_script(shown), 100)
        self.run_script("document.getElementById('more').click()")
        self.assertEqual(self.run_script(shown), 900)
        self.search("")
        self.assertEqual(self.run_script(shown), 1000)

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
        self.assertRegex(self.tip(), "^backward .*, from 0 s ")  # that of the output layer comes first
        self.browser.key("ArrowDown", modifiers=8)
        self.assertRegex(self.tip(), "^collective block 0 .* MB")
        self.browser.key("Escape")
        self.assertIsNone(self.tip())
        x, y = self.run_script(f"{CENTRE}([...document.querySelectorAll('svg.timeline rect.waiting')].at(-1))")
        self.browser.mouse("mouseMoved", x, y - 12)  # beside its number
        self.assertRegex(self.tip(), "^computation waits ")

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
        return self.run_script("""[...document.querySelectorAll('.chart:not([hidden]) svg, svg.timeline')].flatMap(picture => {
            const boxes = [...picture.querySelectorAll('text:not([visibility=hidden])')].filter(e => getComputedStyle(e).display !== 'none').map(e => [e.textContent, e.getBoundingClientRect()]);
            return boxes.flatMap(([text, a], i) => boxes.slice(i + 1).filter(([, b]) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 &&
                Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 3).map(([other]) => `${text} | ${other}`)); })""")

    def test_labels_do_not_overlap(self):
        for width in (390, 1280):
            self.browser.resize(width, 900)
            for file in (self.file, self.file.with_name("many.html"), self.file.with_name("clusters.html")):
                self.browser.open(file)
                for value in range(5):
                    self.run_script(f"document.querySelectorAll('input[name=chart]')[{value}].click()")
                    self.assertEqual(self.overlaps(), [], f"{file.name}, {value}, {width} wide")

    def test_paper(self):
        self.browser.media("print")
        controls = self.run_script("""[...document.querySelectorAll('button, input, select, fieldset, .controls')]
            .filter(e => e.getClientRects().length).map(e => e.outerHTML.slice(0, 80))""")
        self.assertEqual(controls, [])
        for what in (".chart svg", ".chart h3", "svg.timeline", "table", ".warning", "th"):
            self.assertGreater(self.run_script(f"document.querySelector('{what}').getClientRects().length"), 0, what)
        self.assertEqual(self.run_script("getComputedStyle(document.body).backgroundColor"), "rgb(255, 255, 255)")
        self.browser.media("print", "dark")
        self.assertEqual(self.run_script("getComputedStyle(document.body).backgroundColor"), "rgb(255, 255, 255)")
        for name in ("page.html", "many.html", "clusters.html"):
            self.browser.resize(703, 1000)
            self.browser.open(self.file.with_name(name))
            self.browser.media("print")
            self.run_script("dispatchEvent(new Event('beforeprint'))")
            self.browser.settle()
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
        self.assertEqual(self.run_script("new Set([...document.querySelectorAll('#chart-0 .cross')].map(e => e.closest('g').dataset.series)).size"), 1)
        self.assertEqual([cell.endswith("!") for cell in self.column("memory")], [strategy == "megatron" for strategy in self.column("strategy")])
        self.browser.open(self.file)
        self.assertEqual(self.run_script("document.querySelectorAll('.cross').length"), 0)

    def test_many_series_without_a_configuration(self):
        """15 strategies with options at one size: a row of each, named with what tells them apart."""
        self.browser.open(self.file.with_name("many.html"))
        names = self.run_script("[...document.querySelectorAll('#chart-0 figure')].map(e => [...e.querySelectorAll('text.row')].map(e => e.textContent))")
        self.assertEqual([len(set(one)) for one in names], [15] * 6)
        self.assertIn("us-byte (partition=100 kB)", names[0])

    def test_the_page_of_a_diagnosis_tells_its_ops(self):
        job = Path(__file__).resolve().parents[3] / "docs" / "examples" / "slow_worker.csv"
        page = self.file.with_name("job.html")
        subprocess.run([PROGRAM, "diagnose", job, "--html", page], check=True, capture_output=True)
        self.browser.resize(390, 844)
        self.browser.open(page)
        self.assertLessEqual(self.run_script("document.documentElement.scrollWidth"), 390)
        x, y = self.run_script(f"{CENTRE}(document.querySelector('rect.op'))")
        self.browser.mouse("mouseMoved", x, y)
        self.assertRegex(self.tip(), "^forward-compute 0 of worker 0 .*: 10 ms$")


if __name__ == "__main__":
    if chromium.PROGRAM is None:
        sys.exit(print("skipped: Chromium is not installed (Debian: chromium)"))
    unittest.main()
