#!/usr/bin/env python3
"""Outputs: never over an input or another output, whatever the names; never a success that did not arrive.

ALLREPLAY_PROGRAM names the program (build/release/allreplay). Run: python3 tests/peer/test_outputs.py
"""

import fcntl
import json
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from program import PROGRAM, Case, place_of, untimed_rows, without_progress  # noqa: E402

CSV = "layer,params,forward_us,backward_us\na,1000,10,20\nb,200000,30,60\n"
CLUSTER = {"name": "c", "workers": 4, "network": {"alpha": "10 us", "beta": "1 ns/B"}}
SWEEP = {"profiles": ["p.csv"], "clusters": ["c.json"], "workers": [2, 4], "strategies": ["wfbp", "s-sgd"]}
LOG = "bytes,seconds\n1024,0.001\n1048576,0.002\n16777216,0.02\n"
MEASURED = "profile,cluster,workers,strategy,codec,iteration_s\np.csv,c.json,4,wfbp,k.json,0.001\n"
CODEC = json.loads((ROOT / "models/codecs").glob("*.json").__next__().read_text(encoding="utf-8"))


class Outputs(Case):
    def setUp(self):
        super().setUp()
        for name, content in (("p.csv", CSV), ("c.json", CLUSTER), ("s.json", SWEEP), ("k.json", CODEC), ("m.csv", MEASURED)):
            self.write(name, content)

    def run_program(self, *arguments, **how):
        return subprocess.run([PROGRAM, *arguments], cwd=self.folder, stdin=subprocess.DEVNULL,
                              **({"capture_output": True, "text": True} | how), check=False, timeout=120)

    def contents(self):
        return {path.name: path.read_bytes() for path in self.folder.iterdir() if path.is_file()}

    def refused(self, *arguments, says):
        """Exit status 2, one line, and every file as it was."""
        before = self.contents()
        self.assertIn(says, self.refusal(*arguments, stdin=subprocess.DEVNULL, timeout=120))
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
        yield ("export", "--to", "csv", *self.SCENARIO[:2], "--out", out), ("p.csv",)
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
                            self.refused(*command, says=": ")

    def test_other_inputs_stay(self):
        self.assertEqual(self.run_program("sweep", "s.json", "--out", "rows.csv").returncode, 0)
        for out in ("rows.csv", "s.json"):
            self.refused("report", "rows.csv", "--config", "s.json", "--out", out, says=": ")
        # Files that are read in a second step, by name: a profile's model, and what a CSV's rows name.
        model = {"name": "m", "layers": [{"name": "a", "forward_macs": 10, "tensors": [{"name": "w", "shape": [3, 4]}]}]}
        self.write("m.json", model)
        trace = {"model": "m.json", "device": "none", "framework": "none", "batch_size": 8, "precision": "fp32", "origin": "imported",
                 "source": "written for this test", "unit": "us", "layers": [{"name": "a", "forward": 10, "backward": 20}]}
        self.write("t.json", trace)
        self.refused("run", "--profile", "t.json", "--cluster", "c.json", "--strategy", "wfbp", "--timeline", "m.json", says=": ")
        self.refused("report", "rows.csv", "--config", "s.json", "--out", "p.csv", says=": ")

    def test_calibrate(self):
        self.write("log.csv", LOG)
        os.link(self.folder / "log.csv", self.folder / "log.svg")
        self.refused("calibrate", "log.csv", "--workers", "4", "--plot", "log.svg", says=": ")
        self.refused("calibrate", "log.csv", "--workers", "4", "--cluster-out", "log.svg", says=": ")
        self.refused("calibrate", "log.csv", "--workers", "4", "--cluster-out", "q.svg", "--plot", "./q.svg", says=": ")

    def test_outputs_stay_apart(self):
        compare = ("compare", *self.SCENARIO, "--strategies", "wfbp")
        self.refused(*compare, "--plot", "q.svg", "--timeline", "q.svg", says=": ")
        self.refused(*compare, "--plot", "q.svg", "--timeline", "../" + self.folder.name + "/q.svg", says=": ")
        (self.folder / "r.svg").symlink_to("q.svg")
        self.refused(*compare, "--plot", "q.svg", "--timeline", "r.svg", says=": ")
        (self.folder / "o.0.et").symlink_to("o.1.et")
        self.refused("export", "--to", "chakra", *self.SCENARIO[:2], "--workers", "2", "--per-worker", "--out", "o", says="twice")
        os.link(self.folder / "p.csv", self.folder / "w.1.et")
        self.refused("export", "--to", "chakra", *self.SCENARIO[:2], "--workers", "2", "--per-worker", "--out", "w", says=": ")
        os.link(self.folder / "s.json", self.folder / "x.csv.rows")
        self.refused("sweep", "s.json", "--out", "x.csv", says=": ")

    def test_a_second_sweep_waits_for_nobody(self):
        """While one process holds the file, another is told who does; a process that was killed holds nothing."""
        self.assertEqual(self.run_program("sweep", "s.json", "--out", "o.csv").returncode, 0)
        with open(self.folder / "o.csv.lock", "w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            lock.write(f"process 4711 on {os.uname().nodename}\n")
            lock.flush()
            for option in ((), ("--resume",), ("--force",)):
                self.refused("sweep", "s.json", "--out", "o.csv", *option, says="o.csv: ")
        done = self.run_program("sweep", "s.json", "--out", "o.csv")
        self.assertEqual((done.returncode, (self.folder / "o.csv.lock").exists()), (0, False), done.stderr)

    def running_sweep(self, out):
        """One that is stopped amid its rows; and the lines that it ends with."""
        rows = 5000
        sweep = SWEEP | {"workers": [4], "strategies": [{"name": "us-byte", "second_phase": {"each": "random:{}", "from": 1, "to": rows}}]}
        self.write("s.json", sweep)
        process = subprocess.Popen([PROGRAM, "sweep", "s.json", "--out", out], cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        end = time.monotonic() + 60
        while (not (self.folder / out).exists() or (self.folder / out).read_bytes().count(b"\n") < 10) and process.poll() is None and time.monotonic() < end:
            time.sleep(0.001)
        process.send_signal(signal.SIGSTOP)
        self.assertTrue(os.WIFSTOPPED(os.waitpid(process.pid, os.WUNTRACED)[1]), "ended before it could be stopped")
        return process, rows + 1

    def test_one_file_has_one_writer_whatever_it_is_called(self):
        process, lines = self.running_sweep("o.csv")
        os.link(self.folder / "o.csv", self.folder / "hard.csv")
        (self.folder / "soft.csv").symlink_to("o.csv")
        own = f"process {process.pid} on {os.uname().nodename}"
        for name, who in (("hard.csv", "another process"), ("soft.csv", own), ("./o.csv", own), (f"../{self.folder.name}/o.csv", own), ("o.csv.rows", "another process"),
                          ("o.csv.lock", "another process")):
            for option in ("--resume", "--force"):
                said = "o.csv" if name == "soft.csv" else name
                self.refused("sweep", "s.json", "--out", name, option, says=f"{said}: ")
        tune = ("tune", *self.SCENARIO, "--strategy", "ddp", "--budget", "2", "--out")
        for name in ("o.csv", "hard.csv"):
            self.refused(*tune, name, says=f"'{name}'")
        process.send_signal(signal.SIGCONT)
        self.assertEqual((bool(without_progress(process.communicate()[1])), process.returncode), (True, 0))
        self.assertEqual((self.folder / "hard.csv").read_text(encoding="utf-8").count("\n"), lines)

    def test_rows_that_nobody_finds_are_no_success(self):
        for done in (lambda file: file.unlink(), lambda file: (self.folder / "p.csv").rename(file)):
            process, _ = self.running_sweep("o.csv")
            done(self.folder / "o.csv")
            process.send_signal(signal.SIGCONT)
            self.assertEqual((place_of(without_progress(process.communicate()[1])), process.returncode), ("o.csv", 2))
            (self.folder / "o.csv").unlink(missing_ok=True)

    def test_a_refused_sweep_leaves_no_empty_file(self):
        self.write("o.csv.rows", "somebody's own")
        self.refused("sweep", "s.json", "--out", "o.csv", says=": ")

    def test_signals_leave_no_lock(self):
        for how in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            process, _ = self.running_sweep("o.csv")
            process.send_signal(how)
            process.send_signal(signal.SIGCONT)
            process.communicate()
            self.assertEqual(process.returncode, -how)
            self.assertEqual(sorted(self.contents()), ["c.json", "k.json", "m.csv", "o.csv", "o.csv.rows", "p.csv", "s.json"])
            (self.folder / "o.csv").unlink()

    def test_a_limit_of_size_is_one_line(self):
        """As a full disk is; ulimit -f."""
        limited = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))}
        for command, file in ((("run", *self.SCENARIO, "--strategy", "wfbp", "--timeline", "t.svg"), "t.svg"), (("sweep", "s.json", "--out", "o.csv"), "o.csv")):
            done = self.run_program(*command, **limited)
            self.assertEqual((done.returncode, place_of(done.stderr)), (2, f"{file}"))
        with open(self.folder / "printed", "wb") as printed:
            done = self.run_program("list", "options", **limited, capture_output=False, stdout=printed, stderr=subprocess.PIPE)
        self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
        self.assertTrue(done.stderr)
        self.assertFalse([name for name in os.listdir(self.folder) if name.startswith((".allreplay", "t.svg"))])

    def outputs_through(self, link):
        """Every way to write: a whole file, a sweep's rows."""
        yield ("run", *self.SCENARIO, "--strategy", "wfbp", "--timeline", link)
        for option in ((), ("--resume",), ("--force",)):
            yield ("sweep", "s.json", "--out", link, *option)

    def test_links_are_followed_where_the_system_does(self):
        """On a file system whose links the system does not follow (nosymfollow), in a name space of the test's own."""
        own = ["unshare", "--mount", "--"] if os.geteuid() == 0 else ["unshare", "--map-root-user", "--mount", "--"]
        mount = "mount -t tmpfs -o nosymfollow none there && ln -s ../victim there/old.svg && ln -s ../new there/new.svg"
        (self.folder / "there").mkdir()
        self.write("victim", "precious")
        if not shutil.which("unshare") or subprocess.run([*own, "sh", "-c", mount], cwd=self.folder, capture_output=True, check=False).returncode != 0:
            self.skipTest("no name space, or no mount option nosymfollow, for this user here")
        for link in ("there/old.svg", "there/new.svg"):
            for command in self.outputs_through(link):
                with self.subTest(command=" ".join(command)):
                    done = subprocess.run([*own, "sh", "-c", mount + ' && exec "$@"', "sh", PROGRAM, *command], cwd=self.folder, capture_output=True, text=True,
                                          check=False, timeout=120)
                    self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
                    self.assertIn(f"{link}: ", done.stderr)
                    self.assertEqual((self.folder / "victim").read_text(encoding="utf-8"), "precious")
                    self.assertFalse((self.folder / "new").exists())

    def test_links_of_others_where_all_may_write(self):
        """As in /tmp: the system follows none but of one's own or of the folder's owner."""
        if pathlib.Path("/proc/sys/fs/protected_symlinks").read_text(encoding="ascii").strip() != "1":
            self.skipTest("fs.protected_symlinks is not 1: this system follows them")
        if os.geteuid() != 0:
            self.skipTest("only root can make links of others")
        (self.folder / "all").mkdir()
        (self.folder / "all").chmod(0o1777)
        self.write("victim", "precious")
        for link, target in (("all/old.svg", "../victim"), ("all/new.svg", "../new")):
            (self.folder / link).symlink_to(target)
            os.lchown(self.folder / link, 65534, 65534)
            for command in self.outputs_through(link):
                self.refused(*command, says=f"{link}: ")
        self.assertFalse((self.folder / "new").exists())

    def test_killed_sweeps_lose_no_row(self):
        """Killed at any time and resumed, a sweep ends with the rows of one that was left alone."""
        sweep = SWEEP | {"strategies": [{"name": "us-byte", "second_phase": {"each": "random:{}", "from": 1, "to": 200}}]}
        self.write("s.json", sweep)
        rows = lambda: untimed_rows((self.folder / "o.csv").read_text(encoding="utf-8"))
        self.assertEqual(self.run_program("sweep", "s.json", "--out", "o.csv").returncode, 0)
        right = rows()
        most = 0
        for delay in (0.05, 0.1, 0.15, 0.2, 0.3):
            self.write("p.csv", CSV.replace(",20\n", f",{20 + delay}\n"))
            self.assertEqual(self.run_program("sweep", "s.json", "--out", "o.csv", "--resume").returncode, 0)
            self.write("p.csv", CSV)
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
        (self.folder / "deep" / "real.svg").write_text("<svg>before", encoding="utf-8")
        (self.folder / "deep" / "real.svg").chmod(0o640)
        (self.folder / "t.svg").symlink_to("deep/real.svg")
        self.write("t.svg.partial", "the user's own")
        self.assertEqual(self.run_program("run", *self.SCENARIO, "--strategy", "wfbp", "--timeline", "t.svg").returncode, 0)
        self.assertTrue((self.folder / "t.svg").is_symlink())
        self.assertIn("<svg", (self.folder / "deep" / "real.svg").read_text(encoding="utf-8"))
        self.assertEqual((self.folder / "deep" / "real.svg").stat().st_mode & 0o777, 0o640)
        self.assertEqual((self.folder / "t.svg.partial").read_text(encoding="utf-8"), "the user's own")


if __name__ == "__main__":
    unittest.main()
