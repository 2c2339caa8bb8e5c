#!/usr/bin/env python3
"""Bad input of every kind: one line that says where and what, exit status 2, and nothing else happens.

The contract: `FILE: /json/path: what is wrong (what would be right)` on standard error; nothing on standard output; no
output file, and no part of one. ALLREPLAY_PROGRAM names the program (build/release/allreplay), and
ALLREPLAY_DAMAGED_FILES another number of randomly damaged files.
"""

import copy
import json
import os
import random
import re
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from program import Case, untimed_rows  # noqa: E402

MODEL = {"name": "tiny", "layers": [{"name": "a", "forward_macs": 10, "tensors": [{"name": "a.w", "shape": [3, 4]}]},
                                    {"name": "b", "forward_macs": 10, "tensors": [{"name": "b.w", "shape": [5]}]}]}
TRACE = {"model": MODEL, "device": "none", "framework": "none", "batch_size": 8, "precision": "fp32",
         "origin": "imported", "source": "written for this test", "unit": "us",
         "layers": [{"name": "a", "forward": 10, "backward": 20}, {"name": "b", "forward": 10, "backward": 20}]}
CLUSTER = {"name": "links", "workers": 4,
           "network": {"alpha": "45 us", "beta": "1.97 ns/B", "gamma": "0 ns/B", "collective": "ring",
                       "fidelity": "alpha-beta"},
           "stragglers": [{"worker": 1, "slowdown": 1.5}],
           "jitter": {"distribution": "lognormal", "sigma": 0.1, "seed": 7}}
MEASURED = {"name": "measured", "workers": 4,
            "network": {"measured": {"collective": "ring", "workers": 16, "a": "972 us", "b": "1.97 ns/B",
                                     "gamma": "0 ns/B"}}}
TABLE = {"name": "table", "workers": 4, "network": {"collective": "ring", "table": [
    {"bytes": "4 KiB", "time": "161.8 us"}, {"bytes": "1 MiB", "time": "3 ms"}]}}
SWEEP = {"name": "sweep", "profiles": ["trace.json"], "clusters": ["cluster.json"], "workers": [2, 4],
         "collectives": ["ring"], "codecs": ["none"],
         "strategies": [{"name": "wfbp"}, {"name": "horovod", "cycle": "5 ms"}]}
CODEC = {"codec": "topk", "device": "none", "origin": "estimated", "source": "written for this test",
         "encode": {"base": "0.1 ms", "per_element": "0.02 ns", "per_element_log2": "0.1 ns"},
         "decode": {"base": "30 us", "per_element": "7 ps"}}
CSV = "layer,params,forward_us,backward_us\na,12,1,2\nb,5,3,4\n"

REMOVE = object()


def changed(document, path, value):
    """A copy of a document with the element at /a/0/b replaced, added or removed."""
    document = copy.deepcopy(document)
    *parents, last = [int(step) if step.isdigit() else step for step in path.strip("/").split("/")]
    target = document
    for step in parents:
        target = target[step]
    if value is REMOVE:
        del target[last]
    else:
        target[last] = value
    return document


# What each file must not be: (document, where the message must point or None, path to change, new value).
NOT_A_NUMBER = ["12", None, True, [], {}]
DOCUMENTS = {
    "trace": (TRACE, [
        ("/", "", "modle", 1), ("/layers/0", "/layers/0", "forwrad", 1), ("/model", "/model", "layer", []),
        ("/model/layers/0", "/model/layers/0", "tensor", []),
        ("/model/layers/0/tensors/0", "/model/layers/0/tensors/0", "shpae", [1])], {
            **{f"/{key}": REMOVE for key in ("model", "layers")},
            **{f"/layers/1/{key}": REMOVE for key in ("name", "forward", "backward")},
            **{f"/model/{key}": REMOVE for key in ("name", "layers")},
            "/model/layers/1/name": REMOVE,
            **{f"/model/layers/1/tensors/0/{key}": REMOVE for key in ("name", "shape")}},
        [("/model", 3), ("/model", "no-such-model"), ("/model", {}), ("/model/layers", {}), ("/model/layers", []),
         ("/model/layers/0/name", "b"), ("/model/layers/0/name", 7), ("/model/layers/0/tensors", {}),
         ("/model/layers/0/tensors/0/shape", [0]), ("/model/layers/0/tensors/0/shape", [-3]),
         ("/model/layers/0/tensors/0/shape", [1.5]), ("/model/layers/0/tensors/0/shape", "3x4"),
         ("/model/layers/0/tensors/0/shape", [2**62, 2**62]), ("/model/layers/0/tensors/0/shape", [10**30]),
         ("/model/layers/0/tensors/0/name", "b.w"), ("/model/layers/0/tensors/0/name", 7),
         ("/batch_size", 0), ("/batch_size", -1), ("/batch_size", 1.5), ("/batch_size", "8"), ("/batch_size", 10**30),
         ("/precision", "fp31"), ("/precision", 32), ("/origin", "guessed"), ("/origin", None), ("/unit", "parsec"),
         ("/unit", 1), ("/layers", []), ("/layers", {}), ("/layers/0", 1), ("/layers/0/name", "c"),
         ("/layers/0/name", 1), ("/layers/0/forward", -1), ("/layers/0/backward", -1e-9),
         ("/layers/0/forward", 1e308), ("/layers/0/backward", 1e13), ("/layers/0/forward", 10**30),
         *(("/layers/0/forward", value) for value in NOT_A_NUMBER), ("/device", 1), ("/framework", []),
         ("/source", {})]),
    "cluster": (CLUSTER, [
        ("/", "", "worker", 1), ("/network", "/network", "alhpa", "1 us"),
        ("/stragglers/0", "/stragglers/0", "slowdwn", 2), ("/jitter", "/jitter", "sede", 2)], {
            "/network": REMOVE, "/workers": REMOVE, "/network/alpha": REMOVE, "/network/beta": REMOVE,
            "/stragglers/0/worker": REMOVE, "/stragglers/0/slowdown": REMOVE,
            "/jitter/distribution": REMOVE, "/jitter/sigma": REMOVE},
        [("/workers", 0), ("/workers", -1), ("/workers", 2.5), ("/workers", "4"), ("/workers", None),
         ("/workers", 10**30), ("/workers", 2**31), ("/workers", 2**63),
         ("/network", []), ("/network", {}), ("/network", None),
         ("/network/alpha", "45"), ("/network/alpha", 45), ("/network/alpha", "45 ns/B"), ("/network/alpha", "-1 us"),
         ("/network/alpha", "nan us"), ("/network/alpha", "inf us"), ("/network/alpha", "1e400 us"),
         ("/network/alpha", "1e308 s"), ("/network/alpha", "us"), ("/network/alpha", ""), ("/network/alpha", "1 2 us"),
         ("/network/alpha", "1 uss"), ("/network/alpha", "0x10 us"), ("/network/alpha", "1,5 us"),
         ("/network/beta", "1 us"), ("/network/beta", "1 GB/s"), ("/network/beta", "-1 ns/B"),
         ("/network/beta", "1e308 s/B"), ("/network/gamma", "1 s"), ("/network/gamma", "-0.1 ns/B"),
         ("/network/bandwidth", "10 Gbit/s"), ("/network/collective", "rong"), ("/network/collective", 1),
         ("/network/fidelity", "alpha-bta"), ("/network/fidelity", 3), ("/stragglers", {}), ("/stragglers/0", 1),
         ("/stragglers/0/worker", 4), ("/stragglers/0/worker", -1), ("/stragglers/0/worker", 0.5),
         ("/stragglers/0/slowdown", 0), ("/stragglers/0/slowdown", -1), ("/stragglers/0/slowdown", "2"),
         ("/stragglers/0/slowdown", 1e308),
         ("/jitter", []), ("/jitter/distribution", "gauss"), ("/jitter/distribution", 1), ("/jitter/sigma", -1),
         ("/jitter/sigma", "x"), ("/jitter/sigma", 1e308), ("/jitter/seed", -1), ("/jitter/seed", 1.5),
         ("/jitter/seed", 10**30)]),
    "measured": (MEASURED, [("/network/measured", "/network/measured", "wrokers", 1)],
                 {f"/network/measured/{key}": REMOVE for key in ("collective", "workers", "a", "b")},
                 [("/network/measured", 1), ("/network/measured/workers", 1), ("/network/measured/workers", 0),
                  ("/network/measured/workers", 10**30), ("/network/measured/a", "972"),
                  ("/network/measured/a", "-1 us"), ("/network/measured/b", "1 us"),
                  ("/network/measured/gamma", "9 us/B"), ("/network/measured/collective", "rnig"),
                  ("/network/alpha", "1 us")]),
    "table": (TABLE, [("/network/table/0", "/network/table/0", "tmie", "1 us")],
              {"/network/table/0/bytes": REMOVE, "/network/table/0/time": REMOVE},
              [("/network/table", []), ("/network/table", {}), ("/network/table/0/bytes", "4 us"),
               ("/network/table/0/bytes", "-4 B"), ("/network/table/0/time", "1 B"),
               ("/network/table/0/time", "-1 us"), ("/network/table/1/bytes", "4 KiB"),
               ("/network/table/1/bytes", "1e400 B"), ("/network/table/1/time", "1 ps")]),
    "sweep": (SWEEP, [("/", "", "profils", []), ("/strategies/0", "/strategies/0", "cycel", "5 ms")],
              {"/profiles": REMOVE, "/clusters": REMOVE, "/strategies": REMOVE, "/strategies/0/name": REMOVE},
              [("/profiles", []), ("/clusters", []), ("/strategies", []), ("/workers", []), ("/collectives", []),
               ("/profiles", "trace.json"), ("/profiles/0", 1), ("/profiles/0", "nowhere.json"),
               ("/clusters/0", "nowhere.json"), ("/clusters/0", None), ("/workers/0", 0), ("/workers/0", "2"),
               ("/workers/0", -2), ("/workers/0", 10**30), ("/collectives/0", "rnig"),
               ("/collectives/0", 1), ("/fidelities", ["fluidd"]), ("/fidelities", []),
               ("/strategies/0", 1), ("/strategies/0/name", "wfpb"), ("/strategies/0/name", 1),
               ("/strategies/1/cycle", "0 ms"), ("/strategies/1/cycle", "5 MB"), ("/strategies/1/cycle", -5),
               ("/strategies/1/threshold", "-1 B"), ("/strategies/1/threshold", "1 ms"), ("/name", 1), ("/plot", 1),
               ("/codecs", []), ("/codecs", "topk"), ("/codecs/0", "topkk"), ("/codecs/0", 1), ("/codecs/0", None),
               ("/codecs/0", "topk"),  # which this sweep's ring cannot carry
               ("/codecs/0", {"name": "topk"}), ("/clusters/0", {"cluster": "cluster.json", "codecs": ["topkk"]}),
               ("/clusters/0", {"cluster": "cluster.json", "codecs": []}),
               ("/strategies/0/codec", "topk"), ("/strategies/0/density", 0), ("/strategies/0/density", 1.5),
               ("/strategies/0/density", "nan"), ("/strategies/0/bits", 0), ("/strategies/0/bits", 17),
               ("/strategies/0/groups", 0), ("/strategies/0/stop", 1), ("/strategies/0/grouping", "best"),
               ("/strategies/0/encode", "-1 s"), ("/strategies/0/decode", 3), ("/strategies/0/codec_stream", "sid"),
               ("/strategies/0/decode_at", "arival")]),
    "codec": (CODEC, [("/", "", "devise", "x"), ("/encode", "/encode", "per_elment", "1 ns"),
                      ("/decode", "/decode", "per_element_log", "1 ns")],
              {**{f"/{key}": REMOVE for key in ("codec", "device", "origin", "source", "encode", "decode")},
               **{f"/{stage}/{key}": REMOVE for stage in ("encode", "decode") for key in ("base", "per_element")}},
              [("/codec", "topkk"), ("/codec", "none"), ("/codec", ""), ("/codec", 1), ("/codec", None), ("/device", 1),
               ("/origin", "guessed"), ("/origin", "reconstructed"), ("/source", 3), ("/encode", []),
               ("/encode", "1 ms"), ("/decode", None), ("/encode/base", 1), ("/encode/base", "1"),
               ("/encode/base", "1 B"), ("/encode/base", "-1 us"), ("/encode/base", "nan s"),
               ("/decode/base", "inf s"), ("/decode/base", "1e400 s"), ("/encode/per_element", "1 ns/B"),
               ("/encode/per_element", "-1 ns"), ("/encode/per_element", 0), ("/encode/per_element_log2", "x"),
               ("/decode/per_element_log2", "-1 ns"), ("/decode/per_element_log2", "1 GB/s")]),
}

CSVS = {
    "empty": "", "header only": "layer,params,forward_us,backward_us\n", "no header": "a,12,1,2\n",
    "missing column": "layer,params,forward_us\na,12,1\n", "short row": CSV + "c,1,2\n",
    "long row": CSV + "c,1,2,3,4\n", "blank forward": CSV + "c,1,,3\n", "blank backward": CSV + "c,1,2,\n",
    "blank params": CSV + "c,,2,3\n", "word": CSV + "c,1,two,3\n",
    "word params": CSV + "c,one,2,3\n", "trailing": CSV + "c,1,2us,3\n", "fraction": CSV + "c,1.5,2,3\n",
    "negative time": CSV + "c,1,-2,3\n", "negative params": CSV + "c,-1,2,3\n", "nan": CSV + "c,1,nan,3\n",
    "inf": CSV + "c,1,2,inf\n", "huge": CSV + "c,1,1e308,3\n", "huger": CSV + "c,1,1e400,3\n",
    "huge params": CSV + "c," + "9" * 30 + ",2,3\n", "unclosed quote": CSV + '"c,1,2,3\n',
    "column twice": "layer,params,params,forward_us,backward_us\na,1,1,1,1\n",
    "layer twice": CSV + "a,1,2,3\n", "NUL": CSV + "c\0,1,2,3\n", "not UTF-8": CSV.encode() + b"\xd7,1,2,3\n",
    "all zero": "layer,params,forward_us,backward_us\na,1,0,0\n",
}

RAW_JSON = {
    "empty": b"", "blank": b" \n", "truncated": json.dumps(CLUSTER).encode()[:-20], "array": b"[]", "number": b"3",
    "string": b'"x"', "null": b"null", "binary": bytes(range(256)), "not UTF-8": b'{"name": "\xff"}',
    "duplicate key": b'{"name": "a", "workers": 2, "workers": 4, "network": {"alpha": "1 us", "beta": "1 ns/B"}}',
    "duplicate inside": b'{"name": "a", "workers": 2, "network": {"alpha": "1 us", "alpha": "2 us", "beta": "1 ns/B"}}',
    "NaN": b'{"name": "a", "workers": NaN, "network": {"alpha": "1 us", "beta": "1 ns/B"}}',
    "Infinity": b'{"name": "a", "workers": Infinity, "network": {"alpha": "1 us", "beta": "1 ns/B"}}',
    "1e400": b'{"name": "a", "workers": 1e400, "network": {"alpha": "1 us", "beta": "1 ns/B"}}',
    "two documents": json.dumps(CLUSTER).encode() * 2, "trailing comma": b'{"name": "a", "workers": 2,}',
    "deep": b"[" * 200000, "deep object": b'{"name":' * 100000,
}


class BadInput(Case):
    def setUp(self):
        super().setUp()
        for name, document in (("trace", TRACE), ("cluster", CLUSTER), ("sweep", SWEEP), ("measured", MEASURED),
                               ("table", TABLE), ("codec", CODEC)):
            self.write(f"{name}.json", json.dumps(document))
        self.write("profile.csv", CSV)

    def write(self, name, text):
        (self.folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
        return name

    def refused(self, arguments, *, file=None, place=None, says=None, title=None):
        """Runs the program in the folder and asserts the contract; `says` must occur in the line."""
        before = {path: path.stat().st_mtime_ns for path in self.folder.rglob("*") if path.is_file()}
        with self.subTest(title or " ".join(arguments)):
            done = self.run_program(*arguments, text=False, timeout=20)
            line = done.stderr.decode(errors="replace")
            self.assertEqual((done.returncode, done.stdout), (2, b""), line[:500])
            self.assertRegex(line, r"\A[^\n]+\n\Z", "exactly one line")
            self.assertRegex(line, r"\A.+: .+ \(.+\)\n\Z", "what is wrong (what would be right)")
            self.assertLess(len(line), 600, "a line that can be read")
            self.assertNotRegex(line, r"[\x00-\x08\x0b-\x1f\x7f]", "no control characters")
            if file is not None:
                self.assertTrue(line.startswith(f"{file}: "), line)
            if place is not None:
                self.assertIn(f": {place}", line)
            if says is not None:
                self.assertIn(says, line)
        after = {path: path.stat().st_mtime_ns for path in self.folder.rglob("*") if path.is_file()}
        with self.subTest("nothing is written: " + (title or " ".join(arguments))):
            self.assertEqual(before, after)

    def use(self, kind, name):
        """The command that reads this kind of file."""
        if kind == "sweep":
            return ["sweep", name, "--out", "out.csv"]
        if kind == "codec":
            return ["run", "--profile", "trace.json", "--cluster", "cluster.json", "--strategy", "wfbp", "--codec",
                    name, "--json", "--timeline", "out.json"]
        pair = ["--profile", name, "--cluster", "cluster.json"] if kind == "trace" else \
            ["--profile", "trace.json", "--cluster", name]
        return ["run", *pair, "--strategy", "wfbp", "--json", "--timeline", "out.json"]

    def test_the_good_files_are_good(self):
        for kind in DOCUMENTS:
            done = self.success(*self.use(kind, f"{kind}.json"), text=False)
        self.assertTrue((self.folder / "out.csv").is_file() and (self.folder / "out.json").is_file())

    def test_what_is_asked_for_and_not_there(self):
        """Is answered with what there is instead."""
        run = ["run", "--profile", "trace.json", "--cluster", "cluster.json", "--strategy"]
        degree, turns = "is another kind of parallelism", "is a pipeline schedule"
        trace, all_workers = "precision is set by the profile", "waits for the gradients of all workers"
        for asked, says in (("tensor", degree), ("TensorParallel", degree), ("tp", degree), ("pipeline", turns), ("moe", degree),
                            ("amp", trace), ("bf16", trace), ("async", all_workers),
                            ("cpu-offload", ": "), ("checkpointing", ": "),
                            ("fsdp", ": "), ("hsdp", "--shard-group"), ("deepspeed", ": "),
                            ("pytorch-ddp", ": "), ("tensorflow", ": "), ("ring", ": "),
                            ("ps", ": "), ("topk", ": "), ("gradient-accumulation", "--accumulate K"),
                            ("dpp", ": ")):  # a slip stays one
            self.refused([*run, asked], file="command line", place="--strategy", says=says)
        for more, says in ((["--option", "tensor_parallel=2"], ": "), (["--option", "amp=true"], trace), (["--fp16"], trace),
                           (["--pipeline-parallel", "2"], ": "), (["--codec", "amp"], trace), (["--precisio", "bf16"], ": ")):
            self.refused([*run, "wfbp", *more], file="command line", says=says)

    def test_unknown_keys(self):
        for kind, (document, unknown, _, _) in DOCUMENTS.items():
            for parent, place, key, value in unknown:
                self.write("bad.json", json.dumps(changed(document, f"{parent}/{key}", value)))
                self.refused(self.use(kind, "bad.json"), file="bad.json", place=f"{place}/", says=key,
                             title=f"{kind}: unknown key {place}/{key}")
                self.refused(self.use(kind, "bad.json"), says=": ",
                             title=f"{kind}: nearest known key of {place}/{key}")

    def test_missing_keys(self):
        for kind, (document, _, missing, _) in DOCUMENTS.items():
            for path in missing:
                self.write("bad.json", json.dumps(changed(document, path, REMOVE)))
                self.refused(self.use(kind, "bad.json"), file="bad.json", says=path.rsplit("/", 1)[1],
                             place=path.rsplit("/", 1)[0], title=f"{kind}: no {path}")

    def test_wrong_values(self):
        for kind, (document, _, _, wrong) in DOCUMENTS.items():
            for path, value in wrong:
                text = json.dumps(value)
                self.write("bad.json", json.dumps(changed(document, path, value)))
                self.refused(self.use(kind, "bad.json"), file=None if "nowhere" in text else "bad.json",
                             title=f"{kind}: {path} = {text}")

    def test_numbers_that_json_does_not_have(self):
        for kind, path in (("trace", "/layers/0/forward"), ("trace", "/batch_size"), ("cluster", "/workers"),
                           ("cluster", "/stragglers/0/slowdown"), ("cluster", "/jitter/sigma"),
                           ("sweep", "/workers/0")):
            for number in ("NaN", "Infinity", "-Infinity", "1e400", "-1e400", "01", "1.", "+1", "0x10"):
                text = json.dumps(changed(DOCUMENTS[kind][0], path, "HERE")).replace('"HERE"', number)
                self.write("bad.json", text)
                self.refused(self.use(kind, "bad.json"), file="bad.json", title=f"{kind}: {path} = {number}")

    def test_duplicate_keys(self):
        for kind, (document, _, _, _) in DOCUMENTS.items():
            text = json.dumps(document)
            for key in sorted(set(re.findall(r'"(\w+)":', text))):
                value = re.search(rf'"{key}": ("[^"]*"|[\d.]+)', text)
                if value:
                    self.write("bad.json", text.replace(value.group(), f"{value.group()}, {value.group()}", 1))
                    self.refused(self.use(kind, "bad.json"), file="bad.json", says=key, title=f"{kind}: {key} twice")

    def test_files_that_are_not_json(self):
        for kind in ("trace", "cluster", "sweep", "codec"):
            for name, text in RAW_JSON.items():
                if kind != "cluster" and name.startswith("duplicate"):
                    continue
                self.write("bad.json", text)
                self.refused(self.use(kind, "bad.json"), file="bad.json", title=f"{kind}: {name}")

    def test_csv_profiles(self):
        for name, text in CSVS.items():
            self.write("bad.csv", text)
            self.refused(self.use("trace", "bad.csv"), file="bad.csv", title=f"CSV: {name}")
        for name in ("short row", "word", "negative time", "nan", "huge", "blank forward", "blank backward"):
            self.write("bad.csv", CSVS[name])
            self.refused(self.use("trace", "bad.csv"), says="4", title=f"CSV: {name}: which line")
        self.write("bad.csv", CSVS["blank forward"])
        self.refused(self.use("trace", "bad.csv"), says="--forward-ratio", title="CSV: blank forward names the way out")
        for ratio in ("x", "-1", "nan", "inf", "1e400", "1e308", "", "0.5us"):
            self.refused([*self.use("trace", "bad.csv"), "--forward-ratio", ratio])

    def test_paths(self):
        (self.folder / "folder").mkdir()
        for kind in ("trace", "cluster", "sweep", "codec"):
            for path in ("folder", "folder/", "nowhere.json", "no-such-name", "", "trace.json/x", "x" * 300 + ".json"):
                self.refused(self.use(kind, path), title=f"{kind} is {path[:20]!r}")
        run = ["run", "--profile", "trace.json", "--cluster", "cluster.json", "--strategy", "wfbp", "--json"]
        for path in ("folder", "folder/", "nowhere/out.json", "trace.json/out.json", ""):
            self.refused([*run, "--timeline", path], title=f"--timeline {path!r}")
            self.refused(["sweep", "sweep.json", "--out", path], title=f"--out {path!r}")

    def test_resume(self):
        self.write("other.csv", "profile,cluster\nx,y\n")
        self.write("binary.csv", bytes(range(256)))
        self.write("blank-lines.csv", "\n\n")
        self.write("blank-line.csv", "\n")
        self.write("notes.txt", "not one line of this is a row")
        self.write("notes.json", json.dumps(TRACE))
        for name in ("other.csv", "binary.csv", "blank-lines.csv", "blank-line.csv", "notes.txt", "notes.json"):
            self.refused(["sweep", "sweep.json", "--out", name, "--resume"])
        self.refused(["sweep", "sweep.json", "--resume"], title="--resume without --out")
        other = SWEEP | {"strategies": [{"name": "s-sgd"}]}
        self.write("other.json", json.dumps(other))
        done = self.success("sweep", "other.json", "--out", "theirs.csv", text=False)
        self.refused(["sweep", "sweep.json", "--out", "theirs.csv", "--resume"], file="theirs.csv",
                     title="rows of another sweep")
        done = self.success("sweep", "sweep.json", "--out", "new.csv", "--resume", text=False)

    def test_resume_after_an_interruption(self):
        """Wherever the file breaks off, a resumed sweep ends with the rows of an uninterrupted one."""
        def sweep(*options):
            done = self.success("sweep", "sweep.json", "--out", "out.csv", *options, text=False)
            return untimed_rows((self.folder / "out.csv").read_text())

        rows = sweep()
        text = (self.folder / "out.csv").read_bytes()
        for length in [0, 1, *range(7, len(text), 61), len(text)]:
            with self.subTest(length=length):
                self.write("out.csv", text[:length])
                self.assertEqual(sweep("--resume"), rows)
        head, rest = text.split(b"\n", 1)
        quoted = b",".join(b'"' + column + b'"' for column in head.split(b","))
        for edited in (text.replace(b"\n", b"\r\n"), b"\xef\xbb\xbf" + text, quoted + b"\n" + rest):  # as spreadsheets save it
            with self.subTest(edited=edited[:40]):
                self.write("out.csv", edited)
                self.assertEqual(sweep("--resume"), rows)
                self.assertEqual((self.folder / "out.csv").read_bytes().split(b"\n")[0], head)

    def test_what_was_there_stays(self):
        """A command that is refused leaves the files of the last one as they were."""
        self.write("out.csv", "precious\n")
        self.write("out.json", "precious\n")
        for kind, path, value in (("trace", "/layers/1/forward", -1), ("cluster", "/network/alpha", "45"),
                                  ("sweep", "/strategies/1/name", "x"), ("sweep", "/workers/1", 0),
                                  ("sweep", "/clusters/0", "nowhere.json")):
            self.write("bad.json", json.dumps(changed(DOCUMENTS[kind][0], path, value)))
            self.refused(self.use(kind, "bad.json"), title=f"over an existing file: {kind}: {path}")
        self.write("bad.json", json.dumps(changed(SWEEP, "/workers", [4, 2, 1])))  # no worker 1 to slow among 1
        self.refused(self.use("sweep", "bad.json"), title="over an existing file: the last row is wrong")

    @unittest.skipUnless(Path("/dev/full").is_char_device(), "needs /dev/full")
    def test_a_full_disk_is_said(self):
        run = ["run", "--profile", "trace.json", "--cluster", "cluster.json", "--strategy", "wfbp"]
        for name in ("full.json", "full.svg", "full.png"):
            (self.folder / name).symlink_to("/dev/full")
        compare = ["compare", "--profile", "trace.json", "--cluster", "cluster.json", "--strategies", "wfbp,fsdp2", "--zero", "1"]  # notes that fsdp2 takes no --zero
        for *arguments, out in (*([*run, "--timeline", f"full.{ending}"] for ending in ("json", "svg", "png")),
                                [*compare, "--timeline", "full.svg"], ["sweep", "sweep.json", "--out", "/dev/full"]):
            with self.subTest(" ".join([*arguments, out])):
                done = self.run_program(*arguments, out, text=False)
                self.assertNotEqual(done.returncode, 0)
                self.assertTrue(done.stderr.startswith(f"{out}: cannot be written: No space left on device".encode()), done.stderr)
        for arguments in ([*run, "--json"], ["list", "strategies"], ["sweep", "sweep.json"]):
            with self.subTest(" ".join(arguments) + " > /dev/full"), open("/dev/full", "wb") as full:
                done = self.run_program(*arguments, text=False, capture_output=False, stdout=full, stderr=subprocess.PIPE)
                self.assertNotEqual(done.returncode, 0)

    def test_random_damage(self):
        """Whatever happens to a file, the program answers: 0 when what is left makes sense, or 2 and one line."""
        pick = random.Random(1912)
        good = [(kind, json.dumps(document).encode()) for kind, (document, *_) in DOCUMENTS.items()]
        good.append(("csv", CSV.encode()))
        for number in range(int(os.environ.get("ALLREPLAY_DAMAGED_FILES", "600"))):
            kind, text = pick.choice(good)
            text = bytearray(text)
            for _ in range(pick.randint(1, 3)):
                place = pick.randrange(max(len(text), 1))
                match pick.randrange(5):
                    case 0: text[place:place + 1] = bytes([pick.randrange(256)])
                    case 1: del text[place:place + pick.randint(1, 8)]
                    case 2: text[place:place] = pick.choice([b"9" * 20, b"-", b"e", b",", b'"', b"}", b"\n", b"null"])
                    case 3: text[place:place] = text[pick.randrange(len(text) + 1):][:pick.randint(1, 30)]
                    case 4: del text[place + 1:]
            self.write("bad.json", bytes(text))
            command = self.use("trace" if kind == "csv" else kind, "bad.json")
            if kind == "csv":
                self.write("bad.csv", bytes(text))
                command = self.use("trace", "bad.csv")
            with self.subTest(number=number, kind=kind, text=bytes(text)):
                done = self.run_program(*command, text=False, timeout=20)
                self.assertIn(done.returncode, (0, 2), done.stderr)
                if done.returncode == 2:
                    self.assertEqual((done.stdout, done.stderr.count(b"\n")), (b"", 1), done.stderr)
                self.assertEqual([path.name for path in self.folder.glob("*.partial*")], [])

    def test_compression(self):
        run = ["run", "--profile", "trace.json", "--cluster", "cluster.json", "--json", "--strategy", "wfbp"]
        topk = [*run, "--codec", "topk"]
        for key, values in {
                "density": ("0", "1.5", "nan", "inf", "-1", "", "x", "1e400", "1 %"),
                "bits": ("0", "17", "-1", "1.5", "x", "", "nan"), "groups": ("0", "-1", "1.5", "x", "1" + "0" * 30),
                "stop": ("1", "1.5", "-0.1", "nan", "x", ""), "grouping": ("best", ""), "codec_stream": ("sid", ""),
                "decode_at": ("arival", ""), "encode": ("-1 s", "5", "1 B", "nan s", "1e400 s", ""),
                "decode": ("-1us", "3", "1 ns/B", "inf s")}.items():
            for value in values:
                self.refused([*topk, "--option", f"{key}={value}"], file="command line", place=f"--option {key}")
        self.refused([*topk, "--option", "denisty=0.1"], says=": ")
        self.refused([*run, "--codec", "topkk"], place="--codec", says=": ")
        for name in ("topk,fp16", "no-such", "models/codecs", "profile.csv"):
            self.refused([*run, "--codec", name])
        self.refused([*run, "--codec", "topk", "--codec", "fp16"])

        all_reduces = ("ring", "binary-tree", "recursive-doubling", "halving-doubling", "double-binary-tree",
                       "parameter-server", "hierarchical")
        for codec in ("topk", "gtopk", "dgc", "randk", "qsgd", "signsgd", "signum", "ef-signsgd", "onebit"):
            tree = ["gtopk-tree"] if codec != "gtopk" else []
            for collective in (*all_reduces, "broadcast", "reduce-scatter", *tree):
                self.refused([*run, "--codec", codec, "--collective", collective], file="command line",
                             place="--collective", says=collective)
        for collective in ("all-gather", "topk-allgather", "gtopk-tree", "broadcast", "reduce-scatter"):
            self.refused([*run, "--codec", "fp16", "--collective", collective], place="--collective", says=collective)
            self.refused([*run, "--collective", collective], place="--collective", says=collective)
        for workers in ("3", "5", "6", "7", "12"):  # the codec chose the tree, nobody named it
            self.refused([*run, "--codec", "gtopk", "--workers", workers], place="--codec", says=f"{workers} workers")
            self.refused([*run, "--codec", "gtopk", "--collective", "gtopk-tree", "--workers", workers],
                         place="--collective", says=f"{workers} workers")
        self.write("bad.json", json.dumps({key: value for key, value in SWEEP.items() if key != "collectives"} |
                                          {"workers": [2, 3], "codecs": ["none", "gtopk"]}))
        self.refused(self.use("sweep", "bad.json"), file="bad.json", place="/codecs/1", says="3 workers")

        for option in ("encode=1e9 s", "decode=1e300 s"):
            self.refused([*topk, "--option", option], place="--option", says="106 days")
        for option in ("encode=1e5 s", "decode=2e5 s", "encode=9e6 s"):
            self.refused([*topk, "--option", option], place="--codec", says=": ")
        for time in ("1e5 s", "1e308 s"):
            self.write("slow.json", json.dumps(changed(CODEC, "/encode/per_element", time)))
            self.refused([*run, "--codec", "slow.json"], place="--codec", says=": ")

    def test_notes_before_an_error(self):
        """They are held back until the command succeeds."""
        self.refused(["codec", "--codec", "fp16", "--elements", "10", "--option", "bits=4", "--correlation", "2"], place="--correlation")
        self.write("llama.json", json.dumps({"model_type": "llama", "num_hidden_layers": 2, "hidden_size": 64}))
        self.refused(["estimate", "--model", "llama.json", "--device", "h100", "--batch", "1", "--seq", "0"], place="--seq")

    def test_command_line(self):
        run = ["run", "--profile", "trace.json", "--cluster", "cluster.json", "--json"]
        compare = ["compare", "--profile", "trace.json", "--cluster", "cluster.json", "--json"]
        self.refused(run, says="--strategy: ")
        self.refused([*run, "--strategy", "mg-wfpb"], says=": ")
        self.refused([*run, "--strategy", ""])
        self.refused([*run, "--strategy", "wfbp", "--collective", "rnig"], says=": ")
        self.refused([*run, "--strategy", "wfbp", "--fidelity", "alpha-btea"], says="alpha-beta")
        self.refused([*run, "--strategy", "horovod", "--option", "cylce=5ms"], says=": ")
        for workers in ("0", "-1", "x", "1.5", "", "1" + "0" * 30, "4 4", "0x4", "2147483648"):
            self.refused([*run, "--strategy", "wfbp", "--workers", workers])
        for option in ("cycle=0", "cycle=0ms", "cycle=-5ms", "cycle=5", "cycle=5MB", "cycle=nan ms", "cycle=1e400s",
                       "cycle=1e9 s", "cycle=", "cycle", "=", "", "threshold=0", "threshold=-1", "threshold=1ms", "threshold=1e400MB"):
            self.refused([*run, "--strategy", "horovod", "--option", option])
        for option in ("bucket_cap=-1", "bucket_cap=0", "bucket_cap=x", "bucket_cap=5 ms", "bucket_cap=nan B"):
            self.refused([*run, "--strategy", "ddp", "--option", option])
        for option in ("servers=-1", "servers=x", "servers=1.5", "sharing=fiar", "tree_bandwidth=physcial",
                       "iterations=0", "iterations=-1", "iterations=x", "iterations=1" + "0" * 30):
            self.refused([*run, "--strategy", "wfbp", "--option", option])
        self.refused([*run], title="no --strategy")
        self.refused(["run", "--strategy", "wfbp", "--cluster", "cluster.json"], title="no --profile")
        self.refused(["run", "--strategy", "wfbp", "--profile", "trace.json"], title="no --cluster")
        self.refused([*run, "--strategy", "wfbp", "--jsn"])
        self.refused([*run, "--strategy", "wfbp", "surplus"])
        self.refused(["rnu"])
        self.refused([], title="no command")
        self.refused(["list"])
        self.refused(["list", "strategeis"], says=": ")
        for names in ("", ",", "wfbp,wfpb", "wfbp;s-sgd"):
            self.refused([*compare, "--strategies", names])
        self.refused([*compare, "--csv"])
        for jobs in ("0", "-1", "x", "1" + "0" * 30):
            self.refused(["sweep", "sweep.json", "--out", "out.csv", "--jobs", jobs])
        tune = ["tune", "--profile", "trace.json", "--cluster", "cluster.json", "--out", "out.csv"]
        for over in ("", "=", "partition", "partition=", "partition=4MB", "partition=8MB:4MB", "partition=0B:4MB", "partition=-1B:4MB", "partition=1MB:",
                     "partition=:1MB", "partition=1ms:4ms", "partition=1:4", "credit=0:4", "credit=8:4", "credit=1.5:4", "credit=x:y", "cycle=1ms:5ms",
                     "sharing=serial:fair", "partition=nan B:1MB", "partition=1MB:1e400MB"):
            self.refused([*tune, "--strategy", "bytescheduler", "--over", over])
        self.refused([*tune, "--strategy", "bytescheduler", "--over", "credti=1:8"], says=": ")
        self.refused([*tune, "--strategy", "bytescheduler", "--over", "credit=1:8", "--over", "credit=2:4"], says="twice")
        self.refused([*tune, "--strategy", "wfbp"], says=": ")
        self.refused([*tune, "--strategy", "bytescheduelr"], says=": ")
        self.refused([*tune, "--strategy", "ddp", "--method", "gird"], says=": ")
        self.refused([*tune, "--strategy", "ddp", "--option", "bucket_cap=0B"])
        recommend = ["recommend", "--profile", "trace.json", "--cluster", "cluster.json"]
        for command in ([*tune, "--strategy", "ddp"], recommend):
            for budget in ("0", "-1", "x", "1.5", "", "1" + "0" * 30):
                self.refused([*command, "--budget", budget])
            for seed in ("-1", "x", "1.5"):
                self.refused([*command, "--seed", seed])
            self.refused([*command, "--jobs", "0"])
        for workers in ("8:4", "8:", ":8", "0:8", "8:16:", "8:16:x1", "8:16:x0", "8:16:+0", "8:16:2", "8:16:x2:x2", "1:100000:+1", "x:8"):
            self.refused([*recommend, "--workers", workers])
        for efficiency in ("0", "-0.5", "1.5", "80 %", "x", "", "nan"):
            self.refused([*recommend, "--efficiency", efficiency])
        self.refused([*recommend, "--framework", "pytroch"], says=": ")
        self.refused([*recommend, "--framework", "pytorch", "--strategies", "ddp"])
        for names in (",", "wfbp,wfpb"):
            self.refused([*recommend, "--strategies", names])
        self.refused([*recommend, "--option", "partitoin=4MB"], says=": ")
        self.refused(["plan", "--profile", "trace.json", "--cluster", "cluster.json", "--strategy", "ddpp"],
                     says=": ")


if __name__ == "__main__":
    unittest.main()
