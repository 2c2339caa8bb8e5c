#!/usr/bin/env python3
"""`allreplay report` as a user runs it: what is on the page, what is refused. Run: python3 tests/output/html/test_report.py"""
import html.parser
import json
import re
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from program import Case, needs_program, rows_of, run  # noqa: E402

SWEEP = {"name": "small", "description": "a < b & c", "reproduces": "nothing published",
         "profiles": ["googlenet_k80_b32", {"profile": "mine.csv", "forward_ratio": 0.5}], "clusters": ["k80-10gbe"],
         "workers": [4, 64], "strategies": ["wfbp", "s-sgd", "best"], "plot": {"kind": "speedup", "labels": {"mine": "Mine </script>"}}}
PROFILE = "layer,params,forward_us,backward_us\na,1000,,20\nb,3000000,,40000\n"
VOID = {"meta", "link", "input", "br"}


class Outline(html.parser.HTMLParser):
    """Elements, ids and texts; complains of an element that is not closed."""

    def __init__(self, text):
        super().__init__()
        self.open, self.ids, self.links, self.text = [], [], [], {}
        self.feed(text)
        assert not self.open, self.open

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.links += [attrs[key] for key in ("src", "href", "action") if key in attrs]
        if "id" in attrs:
            self.ids.append(attrs["id"])
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, (tag, self.open)
        self.open.pop()

    def handle_data(self, data):
        if self.open:
            self.text[self.open[-1]] = self.text.get(self.open[-1], "") + data


@needs_program
class Report(Case):
    def setUp(self):
        super().setUp()
        self.write("small.json", json.dumps(SWEEP))
        self.write("mine.csv", PROFILE)
        self.run_program("sweep", "small.json", "--out", "rows.csv")

    def call(self, *arguments, folder=None):
        return run(*arguments, cwd=folder or self.folder)

    def run_program(self, *arguments):
        done = self.call(*arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def page(self, *arguments):
        done = self.run_program("report", "rows.csv", "--out", "page.html", *arguments)
        self.assertEqual(done.stdout, "")
        return (self.folder / "page.html").read_text(encoding="utf-8"), done.stderr

    def table(self, page):
        """The page's table: its head, and the cells of its rows."""
        texts = lambda part, tag: [re.sub("<.*?>", "", cell) for cell in re.findall(f"<{tag}.*?>(.*?)</{tag}>", part, re.S)]
        head, body = re.search("<thead>(.*?)</thead>\n<tbody>(.*?)</tbody>", page, re.S).groups()
        return texts(head, "th"), [texts(row, "td") for row in re.findall("<tr>(.*?)</tr>", body, re.S)]

    def test_a_page_that_needs_nothing_else(self):
        page, complaints = self.page("--config", "small.json")
        self.assertEqual(complaints, "")
        outline = Outline(page)
        self.assertEqual(outline.links, ["data:,"])
        self.assertEqual(len(outline.ids), len(set(outline.ids)))
        self.assertIn("a < b & c", outline.text["p"])
        self.assertNotRegex(page.replace("http://www.w3.org/2000/svg", ""), r"https?://")
        self.assertIn("default-src 'none'", page)

    def test_the_numbers_of_the_csv(self):
        head, cells = self.table(self.page("--config", "small.json")[0])
        rows = rows_of(self.folder / "rows.csv")
        self.assertEqual(len(cells), len(rows))
        column, = [i for i, name in enumerate(head) if name.startswith("iteration")]
        unit = {"s": 1, "ms": 1e-3}[head[column].split("\u00a0")[-1]]
        strategy = head.index("strategy\u00a0")
        for line, row in zip(cells, rows):
            self.assertEqual(line[strategy], row["strategy"])
            self.assertAlmostEqual(float(line[column].rstrip("~ ")) * unit, float(row["iteration_s"]), delta=1e-3 * float(row["iteration_s"]))

    def test_the_plan_of_the_configuration_is_drawn(self):
        page = self.page("--config", "small.json")[0]
        captions = re.findall("<figcaption>(.*?)</figcaption>", page)
        self.assertEqual(captions, ["googlenet_k80_b32", "Mine &lt;/script&gt;"] * 6)

    def figures(self, page):
        """The pictures of timelines."""
        return re.findall(r'<figure class="wide">(.*?)</figure>', page, re.S)

    def rows(self):
        """The CSV's rows that have timelines: of each profile, at the largest size, the fastest and the slowest."""
        rows = rows_of(self.folder / "rows.csv")
        time = lambda row: float(row["iteration_s"])
        some = [[row for row in rows if (row["profile"], row["workers"]) == (profile, "64")]
                for profile in dict.fromkeys(row["profile"] for row in rows)]
        return [[min(one, key=time), max(one, key=time)] if len(one) > 1 else one for one in some]

    def seconds(self, figure, pair, *kinds):
        """How long all shapes of these kinds are, and how far off that may be: places are to a hundredth of a pixel."""
        lengths = [float(end) - float(start) for start, end in re.findall(r'points="([^,]+),\S+ ([^,]+),\S+" class="iteration"', figure)]
        across, whole = max(lengths), max(float(row["iteration_s"]) for row in pair)
        widths = [float(width) for width, kind in re.findall(r'width="([^"]*)" height="\S+" class="([^"]*)"[^>]* data-says=', figure) if kind in kinds]
        return sum(widths) / float(across) * float(whole), 0.006 * len(widths) / float(across) * float(whole)

    def test_timelines_are_of_the_rows(self):
        """The fastest and the slowest of the largest size, and what they show adds up to the rows' numbers."""
        page = self.page("--config", "small.json", "--timelines", "4")[0]
        figures, rows = self.figures(page), self.rows()
        self.assertEqual(len(figures), 2)
        for figure, pair in zip(figures, rows):
            headings = re.findall(r'class="heading"[^>]*>([^<:]*): iteration (\S+) (\S+), exposed', figure)
            self.assertEqual(len(headings), len(pair))
            for (name, number, unit), row in zip(headings, pair):
                self.assertTrue(name.startswith(row["strategy"]), name)
                self.assertAlmostEqual(float(number) * {"s": 1, "ms": 1e-3}[unit], float(row["iteration_s"]), delta=1e-3 * float(row["iteration_s"]))
            for kind in ("forward", "backward"):
                found, error = self.seconds(figure, pair, kind)
                self.assertAlmostEqual(found, sum(float(row[f"{kind}_s"]) for row in pair), delta=error)
            transfers = re.findall('data-says="(?:collective|reduce-scatter|all-gather) ', figure)
            self.assertEqual(len(transfers), sum(int(row["collectives"]) for row in pair))

    def test_compression_stands_in_the_timeline(self):
        self.write("coded.json", json.dumps({**SWEEP, "profiles": ["googlenet_k80_b32"], "codecs": ["topk"], "strategies": ["wfbp", "mg-wfbp"]}))
        self.run_program("sweep", "coded.json", "--out", "rows.csv")
        (figure,), (pair,) = self.figures(self.page("--config", "coded.json")[0]), self.rows()
        found, error = self.seconds(figure, pair, "encode", "decode", "encode and decode")
        self.assertGreater(found, 10 * error)
        self.assertAlmostEqual(found, sum(float(row["codec_s"]) for row in pair), delta=error)

    def test_memory_stands_under_the_timeline(self):
        """A worker's memory over time, up to the row's peak; none where nothing is sharded."""
        self.write("sharded.json", json.dumps({**SWEEP, "profiles": ["googlenet_k80_b32"], "strategies": ["fsdp2", "wfbp"]}))
        self.run_program("sweep", "sharded.json", "--out", "rows.csv")
        (figure,), (pair,) = self.figures(self.page("--config", "sharded.json")[0]), self.rows()
        (most,) = re.findall(r'data-says="a worker\'s memory: at most (\S+) MB', figure)
        (row,) = [row for row in pair if row["strategy"] == "fsdp2"]
        self.assertAlmostEqual(float(most), float(row["memory_bytes"]) / 1e6, delta=1e-3 * float(most))

    def test_a_pipeline_is_drawn_by_its_passes(self):
        """A row for each rank with its passes, named as schedules name them, and its sends."""
        self.write("pipeline.json", json.dumps({**SWEEP, "profiles": ["googlenet_k80_b32"],
                                                "strategies": [{"name": "ddp", "pp": 4, "accumulate": 8, "p2p_bytes": "1 MB"}]}))
        self.run_program("sweep", "pipeline.json", "--out", "rows.csv")
        (figure,) = self.figures(self.page("--config", "pipeline.json")[0])
        passes = re.findall(r'data-says="(?:forward|backward) (\S+):', figure)
        self.assertEqual(sorted(passes), sorted(f"{rank}{kind}{batch}" for rank in range(4) for kind in "FB" for batch in range(8)))
        # Three cuts, eight micro-batches, there and back.
        sends = re.findall(r'data-says="send from rank (\d) to (\d) ', figure)
        self.assertEqual(sorted(sends), sorted(pair for cut in range(3) for pair in ((str(cut), str(cut + 1)), (str(cut + 1), str(cut))) for _ in range(8)))

    def test_the_same_bytes(self):
        self.assertEqual(self.page("--config", "small.json"), self.page("--config", "small.json"))
        first = self.page()[0]
        (self.folder / "rows.csv").rename(self.folder / "moved.csv")
        (self.folder / "elsewhere").mkdir()
        (self.folder / "moved.csv").rename(self.folder / "elsewhere" / "rows.csv")
        self.run_program("report", "elsewhere/rows.csv", "--out", "page.html")
        self.assertEqual(first, (self.folder / "page.html").read_text(encoding="utf-8"))

    def test_without_the_configuration_there_are_no_timelines(self):
        page, complaints = self.page()
        self.assertEqual((self.figures(page), complaints), ([], ""))

    def test_a_changed_profile_is_said(self):
        self.write("mine.csv", PROFILE.replace("40000", "50000"))
        page = self.page("--config", "small.json")[0]
        problems = re.findall("No timeline of .*", page)
        self.assertEqual((len(self.figures(page)), len(problems)), (1, 2))

    def test_bad_input(self):
        header, row = (self.folder / "rows.csv").read_text().splitlines()[:2]
        self.write("empty.csv", "")
        self.write("header.csv", header + "\n")
        self.write("other.csv", "layer,params\na,1\n")
        self.write("short.csv", f"{header}\n{row}\na,b\n")
        self.write("word.csv", f"{header}\n{row.replace(',4,', ',four,')}\n")
        self.write("bad.json", "{")
        good = ["rows.csv", "--out", "out.html"]
        for arguments, place in [
                (["nowhere.csv", "--out", "out.html"], "nowhere.csv: "), ([".", "--out", "out.html"], ".: "),
                (["empty.csv", "--out", "out.html"], "empty.csv: "), (["header.csv", "--out", "out.html"], "header.csv: "),
                (["other.csv", "--out", "out.html"], "other.csv: line 1: "), (["short.csv", "--out", "out.html"], "short.csv: line 3: "),
                (["word.csv", "--out", "out.html"], "word.csv: line 2: workers: "), ([*good, "--config", "bad.json"], "bad.json: "),
                ([*good, "--config", "nowhere"], "nowhere: "), ([*good, "--timelines", "-1"], "command line: --timelines: "),
                ([*good, "--timelines", "many"], "command line: --timelines: "), (["rows.csv"], "command line: "),
                (["rows.csv", "--out", "rows.csv"], "command line: --out: "), (["rows.csv", "--out", "nowhere/out.html"], "nowhere/out.html: "),
                ([*good, "--config", "small.json", "--out", "small.json"], "command line: ")]:
            with self.subTest(" ".join(arguments)):
                done = self.call("report", *arguments)
                self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
                self.assertRegex(done.stderr, r"\A[^\n]+ \([^\n]+\)\n\Z")
                self.assertTrue(done.stderr.startswith(place), done.stderr)
                self.assertFalse((self.folder / "out.html").exists())


if __name__ == "__main__":
    unittest.main()
