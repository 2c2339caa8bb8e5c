#!/usr/bin/env python3
"""Hostile names, streams and contents: one line and exit status 2, or the right answer, and never more.

ALLREPLAY_PROGRAM names the program (build/release/allreplay). Run: python3 tests/peer/test_hostile.py
"""

import gzip
import json
import os
import pathlib
import resource
import shlex
import subprocess
import sys
import tempfile
import threading
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from program import place_of  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("ALLREPLAY_PROGRAM", str(ROOT / "build/release/allreplay"))

CSV = "layer,params,forward_us,backward_us\na,1000,10,20\nb,200000,30,60\n"
CLUSTER = {"name": "c", "workers": 4, "network": {"alpha": "10 us", "beta": "1 ns/B"}}
SWEEP = {"profiles": ["p.csv"], "clusters": ["c.json"], "workers": [2, 4], "strategies": ["wfbp", "s-sgd"]}
RUN = ("run", "--profile", "p.csv", "--cluster", "c.json", "--strategy", "wfbp")
DEEP = "[" * 100_000 + "]" * 100_000


class Hostile(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.write("p.csv", CSV)
        self.write("c.json", json.dumps(CLUSTER))
        self.write("s.json", json.dumps(SWEEP))

    def write(self, name, text):
        path = os.path.join(os.fsencode(self.folder), name if isinstance(name, bytes) else os.fsencode(name))
        with open(path, "wb") as file:
            file.write(text if isinstance(text, bytes) else text.encode())

    def run_program(self, *arguments, **how):
        how = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | how
        return subprocess.run([PROGRAM, *arguments], cwd=self.folder, stdin=subprocess.DEVNULL, check=False, timeout=120, **how)

    def refused(self, *arguments, says=None):
        """Exit status 2 and one line of text, not too long, that moves no cursor."""
        done = self.run_program(*arguments)
        self.assertEqual((done.returncode, done.stdout), (2, b""), (arguments, done.stderr[-500:]))
        line = done.stderr.decode()  # it is UTF-8
        self.assertEqual(line.count("\n"), 1, line)
        self.assertTrue(line.rstrip("\n").isprintable() or "…" in line, ascii(line))
        self.assertNotIn("\033", line)
        self.assertLess(len(line), 8000)
        self.assertNotIn("internal error", line)
        if says:
            self.assertIn(says, line)
        return line

    # --- names -------------------------------------------------------------------------------------------------------

    def test_names_that_no_file_has(self):
        (self.folder / "loop").symlink_to("loop")
        for name in ("x" * 300, "x/" * 3000, "loop", "loop/x", "p.csv/x", "\xff\xfe".encode("latin-1"), b"a\nb", b"\033[2J"):
            for option in ("--profile", "--cluster", "--codec"):
                others = {"--profile": "p.csv", "--cluster": "c.json"} | {option: name}
                self.refused("run", *(word for pair in others.items() for word in pair), "--strategy", "wfbp")
            self.refused("sweep", name)
            self.refused("report", name, "--out", "r.html")
            self.refused("plot", name, "--out", "r.svg")
            self.refused("calibrate", name)
            self.refused("import", name, "--out", "t.json")
            self.refused("sweep", "s.json", "--codec", name)
            self.refused("run", "--config", name, "--cluster", "c.json", "--strategy", "wfbp", says="command line: --config: ")
        for key in ("profiles", "clusters", "codecs"):
            for name in ("x" * 300, "loop", "x/" * 3000):
                self.write("bad.json", json.dumps(SWEEP | {key: [name]}))
                self.refused("sweep", "bad.json")
        for out in ("x" * 300 + ".svg", "loop", "p.csv/x.svg", "x/" * 3000 + ".svg"):
            self.refused("topology", "--cluster", "c.json", "--dot", out)
            self.refused("sweep", "s.json", "--out", out)

    def test_names_that_move_the_cursor(self):
        for name in (b"a\nb", b"\033[2J", b"a\tb", b"\xc2\x9b2J", b"a\rb", b"\xff"):
            self.write(name + b".csv", CSV)
            self.refused("run", "--profile", name + b".csv", "--cluster", "c.json", "--strategy", "wfbp", "--json")
        for name in ("a\nb", "\033[2J", "\u202e", "\x9b2J", "=cmd|' /C calc'!A0", "+1", "@x", "-1"):
            self.write("bad.json", json.dumps(CLUSTER | {"name": name}))
            self.refused("run", "--profile", "p.csv", "--cluster", "bad.json", "--strategy", "wfbp")
        self.write("=1+1.csv", CSV)
        self.refused("run", "--profile", "=1+1.csv", "--cluster", "c.json", "--strategy", "wfbp", says="formula")

    def test_names_inside_files(self):
        """Of layers, tensors, devices, strategies: no formula, nothing invisible, nothing endless."""
        model = {"name": "m", "layers": [{"name": "a", "tensors": [{"name": "w", "shape": [10]}]}]}
        profile = {"model": model, "device": "d", "framework": "f", "precision": "fp32", "origin": "measured", "batch_size": 8, "source": "s", "unit": "us",
                   "layers": [{"name": "a", "forward": 1, "backward": 2, "group": "g"}]}
        for name in ("=cmd|' /C calc'!A0", "+1", "@x", "-1", "\u2066", "a\u200bb", "\ufeffa", "x" * 100_000):
            for old in ('"a"', '"w"', '"m"', '"d"', '"f"', '"g"'):
                self.write("bad.json", json.dumps(profile).replace(old, json.dumps(name)))
                self.refused("run", "--profile", "bad.json", "--cluster", "c.json", "--strategy", "wfbp")
            self.write("bad.csv", CSV.replace("\na,", f"\n{name},"))
            self.refused("run", "--profile", "bad.csv", "--cluster", "c.json", "--strategy", "wfbp")
            self.write("x.json", json.dumps({"name": name, "operation": "all-reduce", "ranks": 2, "chunks": 1, "rounds": [{"sends": [
                {"from": 0, "to": 1, "chunk": 0, "reduce": True}, {"from": 1, "to": 0, "chunk": 0, "reduce": True}]}]}))
            self.refused("collective", "--cluster", "c.json", "--workers", "2", "--collective", "x.json", "--bytes", "1MiB")
            self.write("v.csv", f"profile,cluster,workers,strategy,group,iteration_s\np.csv,c.json,4,wfbp,{name},1\n")
            self.refused("validate", "v.csv")
            self.write("plan.json", json.dumps({"strategy": name, "blocks": [{"slices": ["a", "b"]}]}))
            self.refused("run", "--profile", "p.csv", "--cluster", "c.json", "--plan", "plan.json")

    def test_names_in_jobs_files(self):
        """Of the file, of jobs and of hosts: what tables, pictures and lines of JSON show."""
        graph = {"kind": "graph", "hosts": ["h0", "h1"], "switches": ["s"], "link": {"latency": "1 us", "bandwidth": "1 GB/s"},
                 "links": [{"between": ["h0", "s"]}, {"between": ["h1", "s"]}]}
        jobs = {"name": "file", "cluster": {"name": "c", "workers": 2, "network": {"alpha": "1 us", "gamma": "0 s/B", "fidelity": "fluid", "topology": graph}},
                "iterations": 2, "jobs": [{"name": "job", "profile": "p.csv", "workers": 2}]}
        self.write("jobs.json", json.dumps(jobs))
        self.assertEqual(self.run_program("jobs", "jobs.json").returncode, 0)
        for name in ("=cmd|' /C calc'!A0", "+1", "@x", "-1", "\u2066", "a\u200bb", "\ufeffa", "x" * 100_000):
            for old in ('"file"', '"job"', '"h1"'):
                self.write("bad.json", json.dumps(jobs).replace(old, json.dumps(name)))
                self.refused("jobs", "bad.json")
        for key, most in (("jobs", 1000), ("events", 10_000), ("background", 10_000)):
            self.write("bad.json", json.dumps(jobs | {key: [{}] * (most + 1)}))
            self.refused("jobs", "bad.json", says=f"/{key}: ")

    def test_names_that_another_program_gave_become_names(self):
        nodes = [{"Id": 0, "Name": "COMP_NODE_=1+1_BWD", "NodeType": "COMP_NODE", "runtime": 1}, {"Id": 1, "Name": "COMP_NODE_=1+1_FWD", "NodeType": "COMP_NODE", "runtime": 1},
                 {"Id": 2, "Name": "g", "NodeType": "COMM_COLL_NODE", "data_deps": [0], "comm_type": 0, "comm_size": 4}]
        self.write("t.json", json.dumps({"schema": "chakra", "workload_graph": nodes}))
        done = self.run_program("import", "t.json", "--from", "chakra-json", "--device", "=d", "--batch", "8", "--out", "o.json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads((self.folder / "o.json").read_text(encoding="utf-8"))["device"], "_d")
        self.assertEqual(self.run_program("run", "--profile", "o.json", "--cluster", "c.json", "--strategy", "wfbp").returncode, 0)

    def test_a_folder_without_rights(self):
        closed = self.folder / "closed"
        closed.mkdir()
        self.write("closed/p.csv", CSV)
        self.folder.chmod(0o755)
        closed.chmod(0)
        self.addCleanup(closed.chmod, 0o755)
        if os.geteuid() == 0:
            command = ["setpriv", "--reuid", "65534", "--clear-groups", "--", PROGRAM]
            if subprocess.run([*command, "--version"], capture_output=True, check=False).returncode != 0:
                self.skipTest("nobody cannot run the program here")
        else:
            command = [PROGRAM]
        done = subprocess.run([*command, "run", "--profile", "closed/p.csv", "--cluster", "c.json", "--strategy", "wfbp"], cwd=self.folder, capture_output=True,
                              text=True, check=False)
        self.assertEqual((done.returncode, place_of(done.stderr)), (2, "closed/p.csv"))

    def test_configurations(self):
        """What they hold is quoted in notes and in JSON: visible, short, and not before an error, which is one line."""
        self.write("t.toml", '[model]\nname = "llama3"\nflavor = "8B"\n[training]\nlocal_batch_size = 1\nseq_len = 512\n'
                   '[optimizer]\nname = "\\u202e\\n' + "x" * 5000 + '"\n')
        run = ("run", "--config", "t.toml", "--device", "h100", "--cluster", "c.json", "--json")
        self.refused(*run, "--workers", "0", says="command line: --workers: ")
        done = self.run_program(*run)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(b"note: t.toml (torchtitan): ", done.stderr)
        noted = json.loads(done.stdout)["configs"][0]["not_simulated"]
        self.assertTrue(noted and all(text.isprintable() and len(text.encode()) <= 1000 for text in noted), noted)

    # --- limits ------------------------------------------------------------------------------------------------------

    def test_what_would_fill_the_memory_or_the_disk(self):
        self.write("many.csv", CSV.split("\n", 1)[0] + "\n" + "".join(f"l{i},1000,1,1\n" for i in range(200_001)))
        many = ("--profile", "many.csv", "--cluster", "c.json", "--strategy", "wfbp")
        self.refused("run", *many, "--timeline", "t.json", says=": ")
        self.refused("plan", *many, "--json", says=": ")
        self.refused("export", "--profile", "many.csv", "--to", "chakra-json", "--out", "t.json", says=": ")
        self.refused("import", "many.csv", "--from", "csv", "--device", "d", "--batch", "8", "--out", "t.json", says=": ")
        self.refused("recommend", "--profile", "p.csv", "--cluster", "c.json", "--workers", "1048577", says=": ")
        self.refused("whatif", "--profile", "p.csv", "--cluster", "c.json", "--workers", "16777216", "--strategy", "wfbp", says=": ")
        self.refused("codec", "--codec", "topk", "--elements", str(2**25 + 1), says="33554432")
        self.refused("export", "--profile", "p.csv", "--to", "chakra", "--per-worker", "--workers", "10001", "--out", "t", says=": ")
        self.refused("run", *RUN[1:5], "--strategy", "fsdp2", "--accumulate", "500001", says=": ")
        self.write("large.csv", CSV.replace("200000", "2000000"))
        self.refused("run", "--profile", "large.csv", "--cluster", "c.json", "--strategy", "diloco", "--sync-every", "2", "--bucket", "1B", says=": --bucket: ")
        self.write("prices.json", json.dumps({"gpu_usd": 1, "fabrics": ["c.json"] * 1001}))
        self.refused("whatif", *RUN[1:], "--target", "exposed<5%", "--cost", "prices.json", says="prices.json: /fabrics: ")

    def test_files_of_many_small_values(self):
        self.write("x.json", '{"schema": "chakra", "workload_graph": [' + "1," * 10_000_000 + "1]}")
        self.write("x.et", b"\x07\x0a\x050.0.4" + b"\x02\x08\x01" * 2_000_001)
        for name, says in (("x.json", "x.json: has more than 10000000 values"), ("x.et", "x.et: node 2000001: ")):
            self.refused("import", name, "--device", "d", "--batch", "8", "--out", "t.json", says=says)

    def test_many_constants(self):
        head = "profile,cluster,workers,strategy,group,calibrate,iteration_s\n"
        self.write("v.csv", head + "".join(f"p.csv,c.json,4,wfbp,g{i},update by group,0.1\n" for i in range(501)) + "p.csv,c.json,2,wfbp,h,,0.1\n")
        self.refused("validate", "v.csv", says="v.csv: line 502, calibrate: ")

    def test_many_points(self):
        self.write("v.csv", "profile,cluster,workers,strategy,iteration_s\n" + "p.csv,c.json,4,wfbp,1\n" * 200_001)
        self.refused("validate", "v.csv", says="v.csv: line 200002: ")

    def test_many_sizes(self):
        self.write("log.csv", "bytes,time_us\n" + "".join(f"{4 * i},{100 + i}\n" for i in range(1, 10_002)))
        self.refused("judge", "log.csv", "--cluster", "c.json", "--workers", "4", "--operation", "all-reduce", says="log.csv: ")

    def test_collective_files_that_are_long_to_check(self):
        """At most 3e8 words: 2^24 chunks of 4 words, 20 times; 5000 rounds of 65,536 ranks and a chunk of 1024 + 3 words, of which 4507 are fewer."""
        send = {"from": 0, "to": 1, "chunk": 0}
        for ranks, chunks, rounds, at in ((2, 1 << 24, [{"repeat": 20, "sends": [send | {"count": 1 << 24}]}], 0),
                                          (65_536, 1, [{"sends": [send]}] * 5000, 4507)):
            self.write("x.json", json.dumps({"name": "x", "operation": "broadcast", "ranks": ranks, "chunks": chunks, "rounds": rounds}))
            line = self.refused("collective", "--cluster", "c.json", "--collective", "x.json", "--operation", "broadcast", "--bytes", "1MiB")
            self.assertIn(f"x.json: /rounds/{at}: ", line)

    def test_algorithms_that_send_more_than_memory_holds(self):
        """Eight messages of a million chunks (9 words each) are 2^26 words and more: too much in flight."""
        step = '<step s="{}" type="s" srcbuf="i" srcoff="0" dstbuf="i" dstoff="0" cnt="1000000" depid="-1" deps="-1"/>\n'
        gpus = "".join(f'<gpu id="{gpu}" i_chunks="1000000" o_chunks="0" s_chunks="0">\n<tb id="0" send="{1 - gpu}" recv="-1" chan="0">\n'
                       + "".join(map(step.format, range(8))) + "</tb>\n</gpu>\n" for gpu in (0, 1))
        self.write("x.xml", f'<algo name="m" nchunksperloop="1000000" ngpus="2" coll="allreduce" inplace="1">\n{gpus}</algo>\n')
        self.refused("collective", "--cluster", "c.json", "--workers", "2", "--collective", "x.xml", "--bytes", "1MiB", says="x.xml: line 11: 8000000 chunks in flight")

    def test_a_string_of_gigabytes(self):
        """A trace of kilobytes, compressed: its one long string is not kept."""
        event = b'{"ph": "X", "cat": "cpu_op", "name": "'
        for head in (b'{"traceEvents": [' + event, b'{"other": "', b'{"traceEvents": [{"args": {"Input Dims": [['):
            filler = b"1," if head.endswith(b"[[") else b"1"
            self.write("long.json.gz", gzip.compress(head + filler * (1 << 26), 1))
            self.refused("import", "long.json.gz", "--from", "kineto", "--out", "t.json")
        self.assertLess(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, 4 << 20)  # KiB

    def test_long_values(self):
        long = "x" * 100_000
        for document in (CLUSTER | {"network": {"alpha": long, "beta": "1 ns/B"}}, CLUSTER | {long: 1}, CLUSTER | {"name": 1, "network": [long]}):
            self.write("bad.json", json.dumps(document))
            self.refused("run", "--profile", "p.csv", "--cluster", "bad.json", "--strategy", "wfbp")
        self.write("bad.csv", CSV.replace("10", long))
        self.refused("run", "--profile", "bad.csv", "--cluster", "c.json", "--strategy", "wfbp")

    def test_pipes(self):
        """What a shell's <(…) hands over is a file to read."""
        command = f"{shlex.quote(PROGRAM)} run --profile <(cat p.csv) --cluster <(cat c.json) --strategy wfbp --json"
        done = subprocess.run(["bash", "-c", command], cwd=self.folder, capture_output=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        os.mkfifo(self.folder / "pipe.csv")
        writer = threading.Thread(target=lambda: (self.folder / "pipe.csv").write_text(CSV, encoding="utf-8"))
        writer.start()
        done = self.run_program("run", "--profile", "pipe.csv", "--cluster", "c.json", "--strategy", "wfbp")
        writer.join()
        self.assertEqual((done.returncode, done.stderr), (0, b""))

    # --- contents ----------------------------------------------------------------------------------------------------

    def test_deep_json(self):
        """Where a quantity is expected, where an object is, and where nothing is."""
        places = [json.dumps(CLUSTER).replace('"10 us"', DEEP), json.dumps(CLUSTER).replace("4", DEEP), json.dumps(CLUSTER).replace('"c"', DEEP),
                  json.dumps(CLUSTER)[:-1] + f', "description": {DEEP}}}', DEEP]
        for text in places:
            self.write("bad.json", text)
            self.refused("run", "--profile", "p.csv", "--cluster", "bad.json", "--strategy", "wfbp", says=": ")
            self.refused("run", "--profile", "bad.json", "--cluster", "c.json", "--strategy", "wfbp", says=": ")
            self.refused("run", "--profile", "p.csv", "--cluster", "c.json", "--strategy", "wfbp", "--codec", "bad.json", says=": ")
            self.refused("sweep", "bad.json", says=": ")
            self.refused("import", "bad.json", "--out", "t.json", "--from", "chakra-json", says=": ")
            self.refused("import", "bad.json", "--out", "t.json", "--from", "kineto")

    def test_endless_files(self):
        for command in (("calibrate", "/dev/zero"), ("report", "/dev/zero", "--out", "r.html"), ("plot", "/dev/zero", "--out", "r.svg"), ("sweep", "/dev/zero"),
                        ("run", "--profile", "/dev/zero", "--cluster", "c.json", "--strategy", "wfbp")):
            self.refused(*command, says="/dev/zero: ")
        (self.folder / "zero.csv").symlink_to("/dev/zero")
        self.refused("sweep", "s.json", "--out", "zero.csv", "--resume")

    def test_many_rows(self):
        """Twenty million rows of a few kilobytes compressed: refused before the memory is gone."""
        self.write("many.csv.gz", gzip.compress(CSV.encode() + b"a,1,1,1\n" * 20_000_000, 1))
        self.refused("import", "many.csv.gz", "--from", "csv", "--out", "t.json")
        self.assertLess(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, 4 << 20)  # KiB

    def test_many_tensors_of_one_name(self):
        """Thirty thousand all-reduces of one layer get a number each, without trying all numbers before it."""
        nodes = [{"Id": 0, "Name": "COMP_NODE_a_BWD", "NodeType": "COMP_NODE", "runtime": 1}, {"Id": 1, "Name": "COMP_NODE_a_FWD", "NodeType": "COMP_NODE", "runtime": 1}]
        nodes += [{"Id": 2 + i, "Name": "g", "NodeType": "COMM_COLL_NODE", "data_deps": [0], "comm_type": 0, "comm_size": 4} for i in range(30_000)]
        self.write("many.json", json.dumps({"schema": "chakra", "workload_graph": nodes}))
        done = self.run_program("import", "many.json", "--from", "chakra-json", "--device", "d", "--batch", "8", "--out", "t.json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn('"a#30000"', (self.folder / "t.json").read_text(encoding="utf-8"))

    def test_tiny_numbers(self):
        self.assertEqual(self.run_program("sweep", "s.json", "--out", "o.csv").returncode, 0)
        lines = (self.folder / "o.csv").read_text(encoding="utf-8").splitlines()
        fields = lines[1].split(",")
        fields[lines[0].split(",").index("comm_busy_s")] = "1e-310"
        self.write("o.csv", "\n".join([lines[0], ",".join(fields), *lines[2:], ""]))
        done = self.run_program("report", "o.csv", "--config", "s.json", "--out", "r.html")
        self.assertIn(done.returncode, (0, 2), done.stderr)
        self.assertNotIn(b"internal error", done.stderr)

    def test_numbers_that_no_axis_holds(self):
        self.write("s.json", json.dumps(SWEEP | {"jitter": ["5%"], "seeds": "1:2"}))
        self.assertEqual(self.run_program("sweep", "s.json", "--out", "o.csv").returncode, 0)
        lines = (self.folder / "o.csv").read_text(encoding="utf-8").splitlines()
        plot = ("plot", "o.csv", "--kind", "lines", "--x", "workers", "--y", "iteration_s", "--out", "f.svg")
        for column, value, command in (("efficiency", "1e308", ("report", "o.csv", "--out", "r.html")), ("ci95_s", "x", ("report", "o.csv", "--out", "r.html")),
                                       ("iteration_s", "1e308", plot)):
            fields = lines[1].split(",")
            fields[lines[0].split(",").index(column)] = value
            self.write("o.csv", "\n".join([lines[0], ",".join(fields), *lines[2:], ""]))
            self.refused(*command, says=f"o.csv: line 2: {column}: ")
        self.write("o.csv", "\n".join([*lines, ""]))
        for limits in ("1e-320:1e-310", "0:1e308"):
            self.refused(*plot, "--ylim", limits, says="--ylim: ")

    def test_changed_cells_of_results(self):
        self.assertEqual(self.run_program("sweep", "s.json", "--out", "o.csv").returncode, 0)
        lines = (self.folder / "o.csv").read_text(encoding="utf-8").splitlines()
        columns = lines[0].split(",")

        def change(column, value):
            rows = [[value if name == column else field for name, field in zip(columns, line.split(","))] for line in lines[1:]]
            self.write("x.csv", "\n".join([lines[0], *map(",".join, rows), ""]))

        change("lower_bound_s", "-0")
        self.assertEqual(self.run_program("report", "x.csv", "--config", "s.json", "--out", "r.html").returncode, 0)
        for column in ("strategy", "cluster", "fidelity"):
            for value in ("\u200fR", "\u202eR", '"a\nb"', "a\tb"):
                change(column, value)
                self.refused("report", "x.csv", "--out", "h.html", says=f"x.csv: line 2: {column}: ")
                self.refused("plot", "x.csv", "--out", "h.svg", says=f"x.csv: line 2: {column}: ")

    def test_speeds_that_no_gpu_has(self):
        for number in ("1e-300", "1e300 s", "1e9"):
            self.refused("judge", *RUN[1:], "--iteration", number, says="command line: --iteration: ")

    def test_enormous_links(self):
        """Whatever the links carry, half of the hosts get more than nothing across."""
        for rate in ("10 Gbit/s", "8e10 Gbit/s", "8e15 Gbit/s"):
            names = [f"h{i}" for i in range(4)]
            self.write("fast.json", json.dumps({"name": "fast", "workers": 4, "network": {"alpha": "1 us", "fidelity": "fluid", "topology": {
                "kind": "graph", "hosts": names, "switches": ["s"], "link": {"latency": "1 us", "bandwidth": rate},
                "links": [{"between": [name, "s"]} for name in names]}}}))
            done = self.run_program("topology", "--cluster", "fast.json", "--json")
            self.assertEqual((done.returncode, done.stderr), (0, b""))
            self.assertAlmostEqual(json.loads(done.stdout)["bisection_GBps"] / (float(rate.split()[0]) / 8 * 2), 1, places=9)  # two links of four

    def test_lists_that_no_cluster_uses(self):
        own = {"cluster": "c.json", "workers": [2], "collectives": ["ring"], "fidelities": ["alpha-beta"], "codecs": ["none"], "strategies": ["wfbp"]}
        for key, value in (("workers", ["x"]), ("workers", [0]), ("workers", []), ("collectives", [1]), ("fidelities", [1]), ("codecs", [1]), ("strategies", ["x"])):
            self.write("bad.json", json.dumps(SWEEP | {"clusters": [own], key: value}))
            self.refused("sweep", "bad.json", says=f": /{key}")

    def test_times_beyond_the_clock(self):
        """Each of the times is acceptable, all together are not: the file is named."""
        self.write("long.csv", CSV.split("\n", 1)[0] + "\n" + "".join(f"l{i},1000,9e11,9e11\n" for i in range(12)))
        for command in (("run", "--strategy", "wfbp"), ("plan", "--strategy", "mg-wfbp"), ("compare",)):
            self.refused(*command, "--profile", "long.csv", "--cluster", "c.json", says="long.csv: ")
        self.refused("export", "--to", "csv", "--profile", "long.csv", "--out", "x.csv", says="long.csv: ")
        self.refused("import", "long.csv", "--from", "csv", "--device", "d", "--batch", "8", "--out", "x.json", says="long.csv: ")

    def test_a_report_opens_no_paths(self):
        self.assertEqual(self.run_program("sweep", "s.json", "--out", "o.csv").returncode, 0)
        self.write("secret.json", "QSECRET")
        text = (self.folder / "o.csv").read_text(encoding="utf-8")
        for name in ("secret.json", str(self.folder / "secret.json"), "/etc/hostname", "../secret.json"):
            self.write("evil.csv", text.replace("\np,", f"\n{name},"))
            done = self.run_program("report", "evil.csv", "--config", "s.json", "--out", "r.html")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertNotIn(b"read:", done.stderr)  # what a parser says of the first characters
            self.assertIn(b"the configuration has no such row", done.stderr)

    # --- streams -----------------------------------------------------------------------------------------------------

    def test_a_full_disk_is_no_success(self):
        for command in (("help", "ddp"), ("--help",), ("--version",), ("run", "--help"), ("completion", "bash"), ("list", "strategies"), RUN, (*RUN, "--json"),
                        ("sweep", "s.json", "--csv")):
            with self.subTest(command=command), open("/dev/full", "wb") as full:
                done = self.run_program(*command, stdout=full)
                self.assertEqual((done.returncode, done.stderr.count(b"\n")), (2, 1), done.stderr)
                self.assertIn(b"standard output: cannot be written: No space left on device", done.stderr)
        with open("/dev/full", "wb") as full:  # nobody can be told
            self.assertEqual(self.run_program(*RUN, "--profile", "none", stderr=full).returncode, 2)
            self.assertEqual(self.run_program("sweep", "s.json", "--out", "o.csv", stderr=full).returncode, 0)

    def test_closed_streams(self):
        """A file that is written is not standard output's, and a command that cannot print has failed."""
        command = " ".join(shlex.quote(word) for word in (PROGRAM, *RUN, "--timeline"))
        for closed, status in ((">&-", 2), ("2>&-", 0), ("<&-", 0), (">&- 2>&-", 2), ("<&- >&- 2>&-", 2)):
            with self.subTest(closed=closed):
                done = subprocess.run(["bash", "-c", f"{command} t.svg {closed}"], cwd=self.folder, capture_output=True, check=False)
                self.assertEqual(done.returncode, status, done.stderr)
                text = (self.folder / "t.svg").read_text(encoding="utf-8")
                self.assertTrue(text.startswith("<") and text.rstrip().endswith("</svg>"), text[-200:])
                done = subprocess.run(["bash", "-c", f"{shlex.quote(PROGRAM)} sweep s.json --force --out o.csv {closed}"], cwd=self.folder, capture_output=True, check=False)
                self.assertEqual(done.returncode, status, done.stderr)
                self.assertEqual(len((self.folder / "o.csv").read_text(encoding="utf-8").splitlines()), 5)

    def test_a_reader_that_has_gone(self):
        for command in (("help", "ddp"), ("list", "profiles"), ("completion", "zsh")):
            reading, writing = os.pipe()
            os.close(reading)
            done = self.run_program(*command, stdout=writing)
            os.close(writing)
            self.assertEqual((done.returncode, done.stderr), (2, b""), command)  # `| head` has what it wants

    @unittest.skipIf(os.path.isfile(PROGRAM) and b"__asan_init" in pathlib.Path(PROGRAM).read_bytes(), "a sanitizer's shadow takes more than any limit")
    def test_too_little_memory(self):
        self.write("large.csv", CSV.split("\n", 1)[0] + "\n" + "".join(f"l{i},1000,1,1\n" for i in range(200_000)))
        self.write("many.json", "[" + "{}," * 8_000_000 + "{}]")
        for limit, *command in ((200, "run", "--profile", "large.csv", "--cluster", "c.json", "--strategy", "sync-easgd"),
                                (200, "run", "--profile", "p.csv", "--cluster", "many.json", "--strategy", "wfbp"),
                                (300, "plan", "--profile", "large.csv", "--cluster", "c.json", "--strategy", "wfbp", "--json")):
            with self.subTest(command=command):
                done = self.run_program(*command, preexec_fn=lambda most=limit << 20: resource.setrlimit(resource.RLIMIT_AS, (most, most)))
                self.assertEqual((done.returncode, done.stderr.count(b"\n")), (2, 1), done.stderr)
                self.assertIn(b"the memory is full", done.stderr)


if __name__ == "__main__":
    unittest.main()
