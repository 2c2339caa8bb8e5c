#!/usr/bin/env python3
"""Outputs: never over an input or another output, whatever the names; never a success that did not arrive.

ALLREPLAY_PROGRAM names the program (build/release/allreplay). Run: python3 tests/peer/test_outputs.py
"""

import fcntl
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from program import untimed_rows  # noqa: E402

PROGRAM = os.environ.get("ALLREPLAY_PROGRAM", str(ROOT / "build/release/allreplay"))

CSV = "layer,params,forward_us,backward_us\na,1000,10,20\nb,200000,30,60\n"
CLUSTER = {"name": "c", "workers": 4, "network": {"alpha": "10 us", "beta": "1 ns/B"}}
SWEEP = {"profiles": ["p.csv"], "clusters": ["c.json"], "workers": [2, 4], "strategies": ["wfbp", "s-sgd"]}
LOG = "bytes,seconds\n1024,0.001\n1048576,0.002\n16777216,0.02\n"
MEASURED = "profile,cluster,workers,strategy,codec,iteration_s\np.csv,c.json,4,wfbp,k.json,0.001\n"
CODEC = json.loads((ROOT / "models/codecs").glob("*.json").__next__().read_text(encoding="utf-8"))


class Outputs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        for name, text in (("p.csv", CSV), ("c.json", json.dumps(CLUSTER)), ("s.json", json.dumps(SWEEP)), ("k.json", json.dumps(CODEC)),
                           ("m.csv", MEASURED)):
            (self.folder / name).write_text(text, encoding="utf-8")

    def run_program(self, *arguments, **how):
        return subprocess.run([PROGRAM, *arguments], cwd=self.folder, stdin=subprocess.DEVNULL,
                              **({"capture_output": True, "text": True} | how), check=False, timeout=120)

    def contents(self):
        return {path.name: path.read_bytes() for path in self.folder.iterdir() if path.is_file()}

    def refused(self, *arguments, says):
        """Exit status 2, one line, and every file as it was."""
        before = self.contents()
        done = self.run_program(*arguments)
        self.assertEqual((done.returncode, done.stdout), (2, ""), f"{arguments}: {done.stderr}")
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertIn(says, done.stderr)
        self.assertEqual(self.contents(), before, arguments)

    SCENARIO = ("--profile", "p.csv", "--cluster", "c.json")

    def commands(self, out):
        """Every command that reads files and writes one, with what it reads."""
        coded = (*self.SCENARIO, "--codec", "k.json")
        yield ("run", *coded, "--strategy", "wfbp", "--timeline", out), ("p.csv", "c.json", "k.json")
        yield ("compare", *coded, "--strategies", "wfbp", "--plot", out), ("p.csv", "c.json", "k.json")
        yield ("compare", *coded, "--strategies", "wfbp", "--timeline", out), ("p.csv", "c.json", "k.json")
        yield ("tune", *coded, "--strategy", "ddp", "--budget", "2", "--out", out), ("p.csv", "c.json", "k.json")
        for option in ("--out", "--plot"):
            yield ("validate", "m.csv", option, out), ("m.csv", "p.csv", "c.json", "k.json")
        yield ("export", "--to", "astra-sim", *self.SCENARIO[:2], "--out", out), ("p.csv",)
        yield ("export", "--to", "chakra", *self.SCENARIO, "--strategy", "wfbp", "--out", out), ("p.csv", "c.json")
        yield ("topology", "--cluster", "c.json", "--dot", out), ("c.json",)
        yield ("sweep", "s.json", "--codec", "k.json", "--out", out), ("p.csv", "c.json", "k.json", "s.json")
        yield ("sweep", "s.json", "--codec", "k.json", "--force", "--out", out), ("p.csv", "c.json", "k.json", "s.json")
        yield ("sweep", "s.json", "--codec", "k.json", "--resume", "--out", out), ("p.csv", "c.json", "k.json", "s.json")

    def test_inputs_stay(self):
        """By their own names, by hard links and by symbolic links, with an ending that the option takes."""
        for kind, link in (("hard", os.link), ("soft", os.symlink)):
            for name in ("p.csv", "c.json", "k.json", "s.json", "m.csv"):
                link(self.folder / name, self.folder / f"{kind}-{name}.svg")
                for command, inputs in self.commands(f"{kind}-{name}.svg"):
                    if name in inputs:
                        with self.subTest(command=" ".join(command)):
                            self.refused(*command, says="is what is read")

    def test_other_inputs_stay(self):
        self.assertEqual(self.run_program("sweep", "s.json", "--out", "rows.csv").returncode, 0)
        for out in ("rows.csv", "s.json"):
            self.refused("report", "rows.csv", "--config", "s.json", "--out", out, says="is what is read")
        # Files that are read in a second step, by name: a profile's model, and what a CSV's rows name.
        model = {"name": "m", "layers": [{"name": "a", "forward_macs": 10, "tensors": [{"name": "w", "shape": [3, 4]}]}]}
        (self.folder / "m.json").write_text(json.dumps(model), encoding="utf-8")
        trace = {"model": "m.json", "device": "none", "framework": "none", "batch_size": 8, "precision": "fp32", "origin": "imported",
                 "source": "written for this test", "unit": "us", "layers": [{"name": "a", "forward": 10, "backward": 20}]}
        (self.folder / "t.json").write_text(json.dumps(trace), encoding="utf-8")
        self.refused("run", "--profile", "t.json", "--cluster", "c.json", "--strategy", "wfbp", "--timeline", "m.json", says="is one of the files that were read")
        self.refused("report", "rows.csv", "--config", "s.json", "--out", "p.csv", says="is one of the files that were read")

    def test_calibrate(self):
        (self.folder / "log.csv").write_text(LOG, encoding="utf-8")
        os.link(self.folder / "log.csv", self.folder / "log.svg")
        self.refused("calibrate", "log.csv", "--workers", "4", "--plot", "log.svg", says="is what is read")
        self.refused("calibrate", "log.csv", "--workers", "4", "--cluster-out", "log.svg", says="is what is read")
        self.refused("calibrate", "log.csv", "--workers", "4", "--cluster-out", "q.svg", "--plot", "./q.svg", says="is the file of --cluster-out, too")

    def test_outputs_stay_apart(self):
        compare = ("compare", *self.SCENARIO, "--strategies", "wfbp")
        self.refused(*compare, "--plot", "q.svg", "--timeline", "q.svg", says="is the file of --plot, too")
        self.refused(*compare, "--plot", "q.svg", "--timeline", "../" + self.folder.name + "/q.svg", says="is the file of --plot, too")
        (self.folder / "r.svg").symlink_to("q.svg")
        self.refused(*compare, "--plot", "q.svg", "--timeline", "r.svg", says="is the file of --plot, too")
        (self.folder / "o.0.et").symlink_to("o.1.et")
        self.refused("export", "--to", "chakra", *self.SCENARIO[:2], "--workers", "2", "--per-worker", "--out", "o", says="twice")
        os.link(self.folder / "p.csv", self.folder / "w.1.et")
        self.refused("export", "--to", "chakra", *self.SCENARIO[:2], "--workers", "2", "--per-worker", "--out", "w", says="is what is read")
        os.link(self.folder / "s.json", self.folder / "x.csv.rows")
        self.refused("sweep", "s.json", "--out", "x.csv", says="is what is read")

    def test_a_second_sweep_waits_for_nobody(self):
        """While one process holds the file, another is told who does; a process that was killed holds nothing."""
        self.assertEqual(self.run_program("sweep", "s.json", "--out", "o.csv").returncode, 0)
        with open(self.folder / "o.csv.lock", "w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            lock.write(f"process 4711 on {os.uname().nodename}\n")
            lock.flush()
            for option in ((), ("--resume",), ("--force",)):
                self.refused("sweep", "s.json", "--out", "o.csv", *option, says=f"o.csv: is being written by process 4711 on {os.uname().nodename}")
        done = self.run_program("sweep", "s.json", "--out", "o.csv")
        self.assertEqual((done.returncode, (self.folder / "o.csv.lock").exists()), (0, False), done.stderr)

    def test_killed_sweeps_lose_no_row(self):
        """Killed at any time and resumed, a sweep ends with the rows of one that was left alone."""
        sweep = SWEEP | {"strategies": [{"name": "us-byte", "second_phase": {"each": "random:{}", "from": 1, "to": 200}}]}
        (self.folder / "s.json").write_text(json.dumps(sweep), encoding="utf-8")
        rows = lambda: untimed_rows((self.folder / "o.csv").read_text(encoding="utf-8"))
        self.assertEqual(self.run_program("sweep", "s.json", "--out", "o.csv").returncode, 0)
        right = rows()
        most = 0
        for delay in (0.05, 0.1, 0.15, 0.2, 0.3):
            (self.folder / "p.csv").write_text(CSV.replace(",20\n", f",{20 + delay}\n"), encoding="utf-8")  # all rows are stale
            self.assertEqual(self.run_program("sweep", "s.json", "--out", "o.csv", "--resume").returncode, 0)
            (self.folder / "p.csv").write_text(CSV, encoding="utf-8")
            process = subprocess.Popen([PROGRAM, "sweep", "s.json", "--out", "o.csv", "--resume"], cwd=self.folder,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(delay)
            process.send_signal(signal.SIGKILL)
            process.wait()
            most = max(most, len(rows()))
            done = self.run_program("sweep", "s.json", "--out", "o.csv", "--resume")
            self.assertEqual((done.returncode, rows()), (0, right), done.stderr)

    def test_links_and_permissions_stay(self):
        (self.folder / "deep").mkdir()
        (self.folder / "deep" / "real.svg").write_text("before", encoding="utf-8")
        (self.folder / "deep" / "real.svg").chmod(0o640)
        (self.folder / "t.svg").symlink_to("deep/real.svg")
        (self.folder / "t.svg.partial").write_text("the user's own", encoding="utf-8")
        self.assertEqual(self.run_program("run", *self.SCENARIO, "--strategy", "wfbp", "--timeline", "t.svg").returncode, 0)
        self.assertTrue((self.folder / "t.svg").is_symlink())
        self.assertIn("<svg", (self.folder / "deep" / "real.svg").read_text(encoding="utf-8"))
        self.assertEqual((self.folder / "deep" / "real.svg").stat().st_mode & 0o777, 0o640)
        self.assertEqual((self.folder / "t.svg.partial").read_text(encoding="utf-8"), "the user's own")


if __name__ == "__main__":
    unittest.main()
