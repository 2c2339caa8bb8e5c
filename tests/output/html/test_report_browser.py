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
                        ["report", "clusters.csv", "--tie", "0", "--out", "clusters.html"],
                        ["sweep", "large.json", "--out", "large.csv"],
                        ["report", "large.csv", "--out", "large.html"],
                        ["sweep", "usbyte_fig16", "--out", "many.csv"],
                        ["report", "many.csv", "--out", "many.html"]):
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
            x, y = self.run_script(f"{CENTRE}(document.querySelectorAll('.chart[open] figure:first-child .point')[{index}])")
            self.browser.mouse("mouseMoved", x, y)
            series, place, value = self.tip().replace(": ", ", ").split(", ")
            self.assertEqual((series.lower().replace(" ", "-"), place), (strategy, str(workers)))
            self.assertAlmostEqual(float(value), float(self.row("googlenet_k80_b32", strategy, workers)["speedup"]), delta=1e-4 * float(value))
            self.assertEqual(self.highlighted(), {series})
        self.browser.mouse("mouseMoved", 5, 5)
        self.assertIsNone(self.tip())
        self.assertEqual(self.highlighted(), set())

    def test_pointing_at_the_legend_highlights_a_series(self):
        x, y = self.run_script(f"{CENTRE}(document.querySelector('.chart[open] .legend [data-series=WFBP]'))")
        self.browser.mouse("mouseMoved", x, y)
        self.assertEqual(self.highlighted(), {"WFBP"})

    def test_other_measures(self):
        shown = "[...document.querySelectorAll('.chart')].map(e => e.querySelector('svg').checkVisibility())"
        self.assertEqual(self.run_script(shown), [True] + [False] * 5)
        self.run_script("document.querySelectorAll('.chart summary')[3].click()")
        self.assertEqual(self.run_script(shown), [True, False, False, True, False, False])

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
            for heading, name in (("iteration", "iteration_s"), ("exposed", "exposed_comm_s"), ("scaling eff.", "efficiency")):
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

    def test_a_timeline_is_magnified_about_its_middle(self):
        width = lambda: self.run_script("document.querySelector('.wide svg').getBoundingClientRect().width")
        middle = lambda: self.run_script("(e => (e.scrollLeft + e.clientWidth / 2) / e.scrollWidth)(document.querySelector('.wide'))")
        press = lambda button: self.run_script(f"document.querySelectorAll('.zoom button')[{button}].click()")
        whole = width()
        for factor in (2, 4, 8):
            press(0)
            self.assertAlmostEqual(width() / whole, factor, delta=0.1 * factor)
            self.assertAlmostEqual(middle(), 0.5, delta=0.01)
        press(1)
        self.assertAlmostEqual(width() / whole, 4, delta=0.4)
        press(2)
        self.assertEqual(width(), whole)

    def test_boxes_of_a_timeline_tell_themselves(self):
        x, y = self.run_script(f"{CENTRE}([...document.querySelectorAll('.wide rect.waiting')].at(-1))")
        self.browser.mouse("mouseMoved", x, y)
        self.assertRegex(self.tip(), "^computation waits ")

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
        return self.run_script("""[...document.querySelectorAll('.chart[open] svg, figure.wide svg')].flatMap(picture => {
            const boxes = [...picture.querySelectorAll('text')].filter(e => getComputedStyle(e).display !== 'none').map(e => [e.textContent, e.getBoundingClientRect()]);
            return boxes.flatMap(([text, a], i) => boxes.slice(i + 1).filter(([, b]) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 &&
                Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 3).map(([other]) => `${text} | ${other}`)); })""")

    def test_labels_do_not_overlap(self):
        for width in (390, 1280):
            self.browser.resize(width, 900)
            for file in (self.file, self.file.with_name("many.html"), self.file.with_name("clusters.html")):
                self.browser.open(file)
                self.run_script("document.querySelectorAll('.chart').forEach(e => { e.open = true; })")
                self.assertEqual(self.overlaps(), [], f"{file.name}, {width} wide")

    def test_paper(self):
        self.browser.media("print")
        controls = self.run_script("""[...document.querySelectorAll('button, input, select, fieldset, .controls')]
            .filter(e => e.getClientRects().length).map(e => e.outerHTML.slice(0, 80))""")
        self.assertEqual(controls, [])
        for what in (".chart svg", ".chart summary", "figure.wide svg", "table", ".warning", "th"):
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
        self.assertEqual(self.run_script("new Set([...document.querySelectorAll('.chart[open] .cross')].map(e => e.closest('g').dataset.series)).size"), 1)
        self.assertEqual([cell.endswith("!") for cell in self.column("memory")], [strategy == "megatron" for strategy in self.column("strategy")])
        self.browser.open(self.file)
        self.assertEqual(self.run_script("document.querySelectorAll('.cross').length"), 0)

    def test_many_series_without_a_configuration(self):
        """15 strategies with options at one size: a row of each, named with what tells them apart."""
        self.browser.open(self.file.with_name("many.html"))
        names = self.run_script("[...document.querySelectorAll('.chart[open] figure')].map(e => [...e.querySelectorAll('text.row')].map(e => e.textContent))")
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
