#!/usr/bin/env python3
"""The program's pictures, measured: their geometry against the numbers that the program prints and the trace it writes."""
import json
import os
import re
import struct
import subprocess
import sys
import unittest
import xml.etree.ElementTree as ElementTree
import zlib
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import program  # noqa: E402
from program import PROGRAM, ROOT, place_of  # noqa: E402

EXAMPLE = ["--profile", str(ROOT / "docs/examples/six_layers.json"), "--cluster", str(ROOT / "docs/examples/eight_workers.json")]
STRATEGIES = ["s-sgd", "wfbp", "mg-wfbp", "horovod", "bytescheduler", "us-byte", "dear", "best"]
SVG = "{http://www.w3.org/2000/svg}"


class Picture:
    """An SVG file: its boxes by class, in pixels."""

    def __init__(self, path):
        self.size = path.stat().st_size
        self.root = ElementTree.parse(path).getroot()  # refuses what is not well-formed
        self.texts = ["".join(text.itertext()) for text in self.root.iter(f"{SVG}text")]

    def boxes(self, kind):
        """[(x, y, width, height, title)]"""
        return [(*(float(box.get(key)) for key in ("x", "y", "width", "height")), box.findtext(f"{SVG}title"))
                for box in self.root.iter(f"{SVG}rect") if box.get("class") == kind]

    def width(self, kind):
        return sum(box[2] for box in self.boxes(kind))

    def measure(self, kind):
        """The ends of the arrow of this kind."""
        line = next(line for line in self.root.iter(f"{SVG}polyline") if line.get("class") == kind)
        (x1, _), (x2, _) = (map(float, point.split(",")) for point in line.get("points").split())
        return x1, x2


def pixels(path):
    """The size of a PNG, and its rows of RGB bytes; only what cairo writes: 8 bits, no interlacing."""
    data = path.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    chunks, at = {}, 8
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at:at + 8])
        chunks[kind] = chunks.get(kind, b"") + data[at + 8:at + 8 + length]
        assert struct.unpack(">I", data[at + 8 + length:at + 12 + length])[0] == zlib.crc32(data[at + 4:at + 8 + length])
        at += 12 + length
    width, height, depth, colours = struct.unpack(">IIBB", chunks[b"IHDR"][:10])
    assert (depth, colours) == (8, 2)
    raw, stride, rows, before = zlib.decompress(chunks[b"IDAT"]), 3 * width, [], bytearray(3 * width)
    for row in range(height):
        way, line = raw[row * (stride + 1)], bytearray(raw[row * (stride + 1) + 1:(row + 1) * (stride + 1)])
        for i in range(stride):
            left, up = line[i - 3] if i >= 3 else 0, before[i]
            corner = before[i - 3] if i >= 3 else 0
            nearest = min((left, up, corner), key=lambda one: abs(left + up - corner - one))
            line[i] = (line[i] + (0, left, up, (left + up) // 2, nearest)[way]) % 256
        rows.append(bytes(line))
        before = line
    return width, height, rows


class Case(program.Case):
    def allreplay(self, *arguments):
        return self.output(*arguments)

    def run_example(self, strategy, *more):
        """(metrics, slices of the trace by activity, picture)"""
        run = ["run", *EXAMPLE, "--strategy", strategy, "--option", "partition=4 MB", "--option", "threshold=12 MB", *more]
        metrics = json.loads(self.allreplay(*run, "--json", "--timeline", "x.json"))
        self.allreplay(*run, "--timeline", "x.svg")
        slices = {}
        for event in json.loads((self.folder / "x.json").read_text())["traceEvents"]:
            if event["ph"] == "X":
                slices.setdefault(event["args"]["activity"], []).append(event)
        return metrics, slices, Picture(self.folder / "x.svg")


class Timelines(Case):
    def test_each_bar_is_in_its_place(self):
        """One class of workers without jitter replays one iteration, so the trace has each bar once."""
        for strategy in STRATEGIES:
            with self.subTest(strategy):
                metrics, slices, picture = self.run_example(strategy)
                start, end = picture.measure("iteration")
                scale = (end - start) / metrics["iteration_s"] * 1e-6  # pixels per microsecond
                first = min(event["ts"] for event in slices["backward"])
                stages = ["reduce-scatter", "all-gather"] if strategy == "dear" else ["collective"]
                for kinds, events in ((["backward"], slices["backward"]), (["forward"], slices["forward"]), (stages, slices["collective"])):
                    drawn = sorted((x, width) for kind in kinds for x, _, width, _, _ in picture.boxes(kind))
                    expected = sorted((start + scale * (event["ts"] - first), scale * event["dur"]) for event in events)
                    self.assertEqual(len(drawn), len(expected))
                    for (x, width), (right_x, right_width) in zip(drawn, expected):
                        self.assertAlmostEqual(x, right_x, delta=0.02)  # hundredths of a pixel are written
                        self.assertAlmostEqual(width, right_width, delta=0.02)
                self.assertEqual(sum(len(picture.boxes(kind)) for kind in stages), metrics["collectives"])

    def test_what_waits_is_what_is_exposed(self):
        for strategy in STRATEGIES:
            with self.subTest(strategy):
                metrics, slices, picture = self.run_example(strategy)
                start, end = picture.measure("iteration")
                scale = (end - start) / metrics["iteration_s"]
                computing = sorted((event["ts"], event["ts"] + event["dur"]) for event in slices["backward"] + slices["forward"])
                gaps = [(until, begin) for (_, until), (begin, _) in zip(computing, computing[1:]) if begin > until + 1e-6]
                exposed = sum(max(0, min(end, event["ts"] + event["dur"]) - max(begin, event["ts"]))
                              for event in slices["collective"] for begin, end in gaps)
                self.assertAlmostEqual(picture.width("exposed"), exposed * 1e-6 * scale, delta=0.2)
                self.assertAlmostEqual(picture.width("waiting"), metrics["exposed_comm_s"] * scale, delta=0.1)
                start, end = picture.measure("bound")
                self.assertAlmostEqual(end - start, metrics["lower_bound_s"] * scale, delta=0.02)

    def test_lanes_copies_micro_batches_and_memory(self):
        shard = ["--accumulate", "2", "--shard-group", "4", "--option", "update=20 ms"]
        for strategy, more, lanes in (("fsdp2", ["--option", "lanes=separate", "--option", "copy=1 GB/s"], ["gather", "reduce", "replicate"]),
                                      ("fsdp2", ["--option", "copy=1 GB/s"], ["gather and reduce", "replicate"]),
                                      ("fsdp1", [], ["gather and reduce", "replicate"]),
                                      ("megatron", [], ["gather", "reduce"]),
                                      ("bytescheduler", ["--zero", "2"], ["gather", "reduce", "replicate"])):
            with self.subTest(strategy, lanes=lanes):
                metrics, slices, picture = self.run_example(strategy, *shard, *more)
                start, end = picture.measure("iteration")
                scale = (end - start) / metrics["iteration_s"] * 1e-6
                # Where the trace's clock is 0, by the first bar of the compute stream.
                computing = ("copy", "forward", "backward")
                first = min(box[0] for kind in computing for box in picture.boxes(kind))
                first -= scale * min(event["ts"] for kind in computing for event in slices.get(kind, []))
                of_stages = ["reduce-scatter", "all-gather", "all-reduce"]
                for kinds, events in ((["backward"], slices["backward"]), (["forward"], slices["forward"]), (["update"], slices["update"]),
                                      (["copy"], slices.get("copy", [])), (of_stages, slices["collective"])):
                    drawn = sorted(x for kind in kinds for x, *_ in picture.boxes(kind))
                    expected = sorted(first + scale * event["ts"] for event in events)
                    self.assertEqual(len(drawn), len(expected))
                    for x, right in zip(drawn, expected):
                        self.assertAlmostEqual(x, right, delta=0.03)
                    for event in events:
                        self.assertEqual(event["args"].get("micro_batch", 0) in (1, 2), kinds != ["update"])
                self.assertEqual(sum(len(picture.boxes(kind)) for kind in of_stages), metrics["collectives"])
                events = json.loads((self.folder / "x.json").read_text())["traceEvents"]
                threads = {event["tid"]: event["args"]["name"] for event in events if event["name"] == "thread_name" and event["pid"] == 1}
                self.assertEqual([name for name in threads.values() if name in lanes], lanes)
                for name in lanes:
                    self.assertIn(name, picture.texts)
                counter = [event["args"]["bytes"] for event in events if event["ph"] == "C"]
                self.assertAlmostEqual(max(counter), metrics["memory_bytes"], delta=1)
                self.assertIn(f"peak {metrics['memory_bytes'] / 1e6:.4g} MB", picture.texts)

    def test_it_explains_itself(self):
        _, _, picture = self.run_example("wfbp")
        for text in ("six_layers on eight-workers: 8 workers, ring, alpha-beta", "wfbp: iteration 148 ms, exposed communication 46 ms",
                     "iteration 148 ms", "lower bound 108 ms", "backward 68 ms", "forward 34 ms", "46 ms", "all 8 workers", "communication",
                     "time (ms)", "fc5", "5"):
            self.assertIn(text, picture.texts)
        self.assertIn("Numbers on collectives are blocks of the plan", " ".join(picture.texts))
        self.assertIn("reconstructed", " ".join(picture.texts))

    def test_large_ones_are_small_files(self):
        self.allreplay("run", "--profile", "vgg16_p100_b64", "--cluster", "us-byte-10gbe", "--strategy", "p3", "--option", "partition=20 kB",
                       "--timeline", "x.svg")  # 27,000 blocks
        picture = Picture(self.folder / "x.svg")
        self.assertLess(picture.size, 1_000_000)
        self.assertGreater(len(picture.boxes("collective")), 100)
        self.write("deep.csv", "layer,params,forward_us,backward_us\n" + "".join(f"l{i},{1000 * i + 1},{1 + i % 7},{2 + i % 11}\n" for i in range(604)))
        self.allreplay("run", "--profile", "deep.csv", "--cluster", "k80-10gbe", "--strategy", "wfbp", "--timeline", "y.svg")
        self.assertLess(Picture(self.folder / "y.svg").size, 1_000_000)

    def test_other_formats(self):
        for name in ("x.png", "x.pdf", "x.svg"):
            self.allreplay("run", *EXAMPLE, "--strategy", "wfbp", "--timeline", name)
        picture = Picture(self.folder / "x.svg")
        width, height = float(picture.root.get("width")), float(picture.root.get("height"))
        wide, tall, rows = pixels(self.folder / "x.png")
        self.assertEqual((wide, tall), (-int(-2 * width // 1), -int(-2 * height // 1)))
        # In the middle of a bar, off its letters, is the bar's colour.
        for kind, colour in (("backward", (0x00, 0x72, 0xB2)), ("forward", (0xBF, 0xDC, 0xEF)), ("collective", (0xE6, 0x9F, 0x00))):
            x, y, _, _, _ = picture.boxes(kind)[0]
            at = 3 * int(2 * (x + 2))
            self.assertEqual(tuple(rows[int(2 * (y + 2))][at:at + 3]), colour, kind)
        pdf = (self.folder / "x.pdf").read_bytes()
        self.assertTrue(pdf.startswith(b"%PDF-"))
        box = re.search(rb"/MediaBox \[ 0 0 ([\d.]+) ([\d.]+) \]", pdf)
        self.assertAlmostEqual(float(box[1]), 0.75 * width, places=2)
        self.assertAlmostEqual(float(box[2]), 0.75 * height, places=2)

    def test_same_bytes_again(self):
        for name in ("x.svg", "x.png", "x.pdf"):
            for copy in ("a-" + name, "b-" + name):
                self.allreplay("run", *EXAMPLE, "--strategy", "dear", "--timeline", copy)
            self.assertEqual((self.folder / f"a-{name}").read_bytes(), (self.folder / f"b-{name}").read_bytes())


class Comparisons(Case):
    def test_bars_are_what_the_table_says(self):
        rows = json.loads(self.allreplay("compare", *EXAMPLE, "--json", "--plot", "x.svg", "--timeline", "t.svg"))
        picture = Picture(self.folder / "x.svg")
        parts = {}
        for _, _, width, _, title in picture.boxes("part"):
            bar, part = title.split(":")[0].split(", ")
            parts[bar, part] = width
        searched = "best without shards"
        for row in rows:
            row["strategy"] = searched if row["strategy"] == "best" else row["strategy"]
        names = [row["strategy"] for row in rows]
        table = self.allreplay("compare", *EXAMPLE).splitlines()
        in_table = [name for line in table for name in names if line.startswith(name + "  ")][:len(names)]
        self.assertEqual([text for text in picture.texts if text in names], in_table)
        scale = parts["wfbp", "forward"] / rows[names.index("wfbp")]["forward_s"]
        longest = 3 * sorted(row["iteration_s"] for row in rows)[len(rows) // 2]  # longer bars are cut off there
        for row in rows:
            for part, key in (("forward", "forward_s"), ("backward", "backward_s"), ("exposed communication", "exposed_comm_s")):
                seconds = row[key] - max(0, row["iteration_s"] - longest) * (part == "exposed communication")
                self.assertAlmostEqual(parts.get((row["strategy"], part), 0), seconds * scale, delta=0.2)  # twenty times what the scale was read off
        (bound,) = (line for line in picture.root.iter(f"{SVG}polyline") if line.get("class") == "mark")
        left = min(box[0] for box in picture.boxes("part"))
        self.assertAlmostEqual(float(bound.get("points").split(",")[0]) - left, min(row["lower_bound_s"] for row in rows) * scale, delta=0.05)
        texts = Picture(self.folder / "t.svg").texts
        self.assertEqual(texts.count("communication") + texts.count("gather"), len(rows))  # one row, or lanes


class BadInput(Case):
    """One line, status 2, nothing written."""

    def refused(self, place, *arguments):
        before = sorted(self.folder.iterdir())
        self.assertEqual(place_of(self.refusal(*arguments)), place)
        self.assertEqual(sorted(self.folder.iterdir()), before)

    def test_names(self):
        run, compare = ["run", *EXAMPLE, "--strategy", "wfbp"], ["compare", *EXAMPLE]
        for name in ("x.gif", "x", "x.SVG", ".svg"):
            self.refused("command line: --timeline",
                         *run, "--timeline", name)
        self.refused("command line: --plot", *compare, "--plot", "x.json")
        self.refused("command line: --timeline", *compare, "--timeline", "x.json")
        for ending in ("svg", "png", "pdf"):
            self.refused(f"nowhere/x.{ending}",
                         *run, "--timeline", f"nowhere/x.{ending}")
            self.refused(f"nowhere/x.{ending}",
                         *compare, "--plot", f"nowhere/x.{ending}")
        # Of two outputs none is written where one cannot be.
        self.refused("nowhere/y.json",
                     *run, "--plot", "x.svg", "--timeline", "nowhere/y.json")

    def test_names_of_layers_that_are_markup(self):
        self.write("odd.csv", "layer,params,forward_us,backward_us\n<b>&amp;,1000,500,900\n]]>\u5c42,2000,500,900\n")
        for name in ("x.svg", "x.png", "x.pdf"):
            self.allreplay("run", "--profile", "odd.csv", "--cluster", "k80-10gbe", "--strategy", "wfbp", "--timeline", name)
        texts = Picture(self.folder / "x.svg").texts
        self.assertTrue("<b>&amp;" in texts, texts)


class Pages(Case):
    """docs/strategies.md shows every strategy, and docs/plots.md networks, as the program draws them."""

    def test_pictures_are_up_to_date(self):
        subprocess.run([ROOT / "tools/make_pictures.sh", self.folder], check=True, env={**os.environ, "ALLREPLAY_PROGRAM": str(PROGRAM)})
        for part in ("strategies", "networks"):
            shipped, drawn = ROOT / "docs/pictures" / part, self.folder / part
            self.assertEqual(sorted(path.name for path in drawn.iterdir()), sorted(path.name for path in shipped.iterdir()))
            for path in drawn.iterdir():
                self.assertEqual(path.read_text(), (shipped / path.name).read_text(), f"{path.name}: run tools/make_pictures.sh again")

    def test_every_strategy_is_shown(self):
        page = (ROOT / "docs/strategies.md").read_text()
        rows = json.loads(self.allreplay("compare", *EXAMPLE, "--json"))
        for row in rows:
            if row["strategy"] != "s-sgd":  # with wfbp
                self.assertIn(f"(pictures/strategies/{row['strategy']}.svg)", page)
        for picture in re.findall(r"\((pictures/\S+)\)", page):
            self.assertTrue((ROOT / "docs" / picture).is_file(), picture)


if __name__ == "__main__":
    unittest.main()
