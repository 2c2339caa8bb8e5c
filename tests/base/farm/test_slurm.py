#!/usr/bin/env python3
"""Sweeps as jobs of a real Slurm, which this test starts and stops. Skipped, with the reason, where it cannot start.

ALLREPLAY_ALL_CONFIGS=1: every file of configs/ instead of one. Run: python3 tests/base/farm/test_slurm.py
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from program import PROGRAM, Case, listed, needs_program, untimed_rows  # noqa: E402
from slurm import CannotStart, Slurm  # noqa: E402

ALL = os.environ.get("ALLREPLAY_ALL_CONFIGS") == "1"
PATIENCE = 600 if ALL else 120  # seconds, for what takes one or two


class Sweeps(Case):
    """A small sweep, to be handed in."""

    def setUp(self):
        super().setUp()
        self.write("p.csv", "layer,params,forward_us,backward_us\na,1000,10,20\nb,200000,30,60\n")
        self.write("c.json", {"name": "c", "workers": 4, "network": {"alpha": "10 us", "beta": "1 ns/B"}})
        self.write_sweep(rows=9)

    def write_sweep(self, rows):
        """2 + 2 ROWS of them."""
        sweep = {"profiles": ["p.csv"], "clusters": ["c.json"], "workers": [2, 4],
                 "strategies": ["best", {"name": "us-byte", "second_phase": {"each": "random:{}", "from": 1, "to": rows}}]}
        self.write("s.json", sweep)


@needs_program
class Submissions(Sweeps):
    """What happens before Slurm has anything, beside commands that only answer."""

    SBATCH = 'echo "$@" >> asked\nwhile [ -e wait ]; do sleep 0.01; done\necho 7'

    def setUp(self):
        super().setUp()
        self.programs = self.folder / "programs"
        self.programs.mkdir()
        for name, script in (("sbatch", self.SBATCH), ("squeue", "exit 0"), ("scontrol", "exit 0"), ("scancel", "exit 0")):
            (self.programs / name).write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
            (self.programs / name).chmod(0o755)
        self.environment = {**os.environ, "PATH": f"{self.programs}:{os.environ['PATH']}"}

    def submit(self, *arguments):
        return self.run_program("sweep", "s.json", "--engine", "slurm", "--detach", *arguments, env=self.environment, timeout=PATIENCE)

    def refused(self, *arguments, says):
        done = self.submit(*arguments)
        self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (2, "", 1), done.stderr)
        self.assertIn(says, done.stderr)
        self.assertFalse((self.folder / "asked").exists())

    def test_a_folder_that_no_sweep_made_stays(self):
        """Whatever it is called, and whatever it holds; of the sweep's own, only a folder of this user."""
        self.assertEqual(self.submit("--out", "own.csv").returncode, 0)
        (self.folder / "asked").unlink()
        mark = (self.folder / "own.csv.slurm" / "shares").read_text(encoding="utf-8")
        shares = self.folder / "o.csv.slurm" / "shares"
        shares.parent.mkdir()
        (shares.parent / "precious").write_text("mine", encoding="utf-8")
        for held in ("", "of the company", "3\n", mark.replace("1", "2", 1), f" {mark}"):
            shares.write_text(held, encoding="utf-8")
            for option in ((), ("--resume",), ("--force",)):
                self.refused("--out", "o.csv", *option, says=": ")
            self.assertEqual((shares.read_text(encoding="utf-8"), sorted(path.name for path in shares.parent.iterdir())), (held, ["precious", "shares"]))
        shares.unlink()
        shares.mkdir()
        self.refused("--out", "o.csv", says=": ")
        (self.folder / "l.csv.slurm").symlink_to("own.csv.slurm")
        self.refused("--out", "l.csv", says=": ")
        if os.geteuid() == 0:
            os.chown(self.folder / "own.csv.slurm", 65534, 65534)
            self.refused("--out", "own.csv", "--resume", says=": ")
            os.chown(self.folder / "own.csv.slurm", 0, 0)
        self.assertEqual(self.submit("--out", "own.csv").returncode, 0)

    def test_one_is_handed_in_at_a_time(self):
        (self.folder / "wait").touch()
        command = ["sweep", "s.json", "--engine", "slurm", "--detach", "--out", "o.csv"]
        first = subprocess.Popen([PROGRAM, *command], cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.addCleanup(first.stderr.close)
        end = time.monotonic() + PATIENCE
        while not (self.folder / "asked").exists() and time.monotonic() < end:
            time.sleep(0.01)
        try:
            for option in ((), ("--resume",), ("--force",)):
                done = self.submit("--out", "o.csv", *option)
                self.assertEqual((done.returncode, bool(done.stderr)), (2, True))
        finally:
            (self.folder / "wait").unlink()
        first.communicate(timeout=PATIENCE)
        self.assertEqual(first.returncode, 0)
        self.assertEqual((self.folder / "asked").read_text(encoding="utf-8").splitlines(),
                         ["--parsable o.csv.slurm/array.sh", "--parsable --dependency=afterany:7 o.csv.slurm/merge.sh"])
        self.assertFalse((self.folder / "o.csv.slurm.lock").exists())

    def test_names_that_no_job_could_write_are_refused_before(self):
        (self.folder / "folder").mkdir()
        for out, says in (("{}", ": "), ("part-{}.csv", ": "),
                          ('a"b', ": "), ("folder", ": "), ("/dev/null", "/dev/null: ")):
            self.refused("--force", f"--out={out}", says=says)


@needs_program
class OnSlurm(Sweeps):
    """One Slurm for all tests."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.home = Path(tempfile.mkdtemp(prefix="slurm-"))
        cls.addClassCleanup(shutil.rmtree, cls.home, ignore_errors=True)
        try:
            cls.slurm = Slurm(cls.home)
        except CannotStart as error:
            raise unittest.SkipTest(str(error)) from error
        cls.addClassCleanup(cls.slurm.stop)

    def sweep(self, *arguments, sweep="s.json", **how):
        return self.run_program("sweep", sweep, "--engine", "slurm", "--jobs", "1", *arguments,
                                **{"env": self.slurm.environment, "timeout": PATIENCE, "stdin": subprocess.DEVNULL, **how})

    def rows(self, name):
        """Without how long a simulation took."""
        return untimed_rows((self.folder / name).read_text(encoding="utf-8"))

    def one(self, sweep="s.json"):
        self.output("sweep", sweep, "--out", "one.csv", "--force")
        return self.rows("one.csv")

    def jobs(self, out):
        return (self.folder / f"{out}.slurm" / "jobs").read_text(encoding="ascii").split()

    def running(self, out):
        """The tasks that run: 'JOB_TASK'."""
        listing = self.slurm.command("squeue", "--noheader", "--array", "--states=RUNNING", "--format=%F_%K").stdout.split()
        return [task for task in listing if task.startswith(self.jobs(out)[0] + "_")]

    def until(self, what, complaint):
        end = time.monotonic() + PATIENCE
        while not what():
            self.assertLess(time.monotonic(), end, complaint)
            time.sleep(0.05)

    def test_an_array_writes_what_one_process_writes(self):
        done = self.sweep("--chunk", "5", "--out", "all rows.csv")  # 20 rows, 4 tasks
        self.assertEqual((done.returncode, bool(done.stderr)), (0, True))
        self.assertEqual(self.rows("all rows.csv"), self.one())
        self.assertEqual(len(list((self.folder / "all rows.csv.slurm").glob("part-*.csv"))), 4)
        refused = self.sweep("--out", "p.csv")
        self.assertEqual((refused.returncode, refused.stderr.count("\n")), (2, 1), refused.stderr)

    def test_names_that_look_like_options(self):
        (self.folder / "s.json").rename(self.folder / "-s.json")
        right = self.one("./-s.json")
        for out in ("-a", "-out=x", "a b", "%a'$b"):
            with self.subTest(out=out):
                done = self.run_program("sweep", "--engine=slurm", "--jobs=1", f"--out={out}", "--chunk=10", "--", "-s.json", env=self.slurm.environment,
                                        timeout=PATIENCE, stdin=subprocess.DEVNULL)
                self.assertEqual((done.returncode, done.stderr.count("\n")), (0, 1), done.stderr)
                self.assertEqual(self.rows(out), right)

    def test_configs(self):
        for config in listed("configs") if ALL else ["scaling_by_topology"]:
            with self.subTest(config=config):
                one = self.one(config)
                done = self.sweep("--out", f"{config}.csv", "--chunk", str(max(40, len(one) // 10)), sweep=config)
                self.assertEqual((done.returncode, self.rows(f"{config}.csv")), (0, one), done.stderr)

    def test_dry_run_prints_both_scripts_and_hands_in_nothing(self):
        done = self.sweep("--chunk", "5", "--partition", "main", "--time", "10:00", "--dry-run", "--out", "o.csv")
        self.assertEqual(done.returncode, 0, done.stderr)
        for words in ("# o.csv.slurm/array.sh\n#!/bin/bash\n", "#SBATCH --array=0-3\n", "#SBATCH --partition=main\n", "#SBATCH --time=10:00\n", "#SBATCH --cpus-per-task=1\n",
                      '--shard "$SLURM_ARRAY_TASK_ID/4" --resume', "# o.csv.slurm/merge.sh\n#!/bin/bash\n", "--merge o.csv.slurm/part-*.csv --out o.csv\n"):
            self.assertIn(words, done.stdout)
        self.assertFalse((self.folder / "o.csv.slurm").exists())
        # MaxArraySize is 101 here.
        self.write_sweep(rows=99)
        self.assertIn("#SBATCH --array=0-100\n", self.sweep("--chunk", "1", "--dry-run", "--out", "o.csv").stdout)

    def test_a_refusal_is_one_line(self):
        for arguments, says in ((("--partition", "nowhere"), ": "), (("--time", "yesterday"), ": "), (("--partition", "a b"), ": "),
                                (("--chunk", "0"), "--chunk: "), (("--shard", "0/2"), "--shard")):
            done = self.sweep("--out", "o.csv", *arguments)
            self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (2, "", 1), done.stderr)
            self.assertIn(says, done.stderr)
        done = self.sweep("--out", "o.csv", env={**self.slurm.environment, "PATH": ""})
        self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
        self.assertTrue(done.stderr)

    def node(self, names, state):
        self.slurm.command("scontrol", "update", f"nodename={names}", f"state={state}", "reason=test")

    def test_detached_then_killed_requeued_and_resumed(self):
        """Tasks are killed and requeued, and the controller restarts; --resume waits, names what failed, and computes it."""
        self.addCleanup(self.node, "one,two", "resume")
        self.write_sweep(rows=1000)
        self.node("one", "drain")  # the other node has one processor: tasks run one after another
        done = self.sweep("--chunk", "500", "--detach", "--out", "o.csv")
        self.assertTrue(done.stderr)
        job = self.jobs("o.csv")[0]
        self.until(lambda: self.running("o.csv"), "no task starts")
        for task in self.running("o.csv"):
            self.slurm.command("scontrol", "requeue", task)
        self.until(lambda: self.running("o.csv"), "no other task starts")
        self.node("two", "drain")
        for task in self.running("o.csv"):
            self.slurm.command("scancel", "--signal=KILL", "--full", task)
        refused = self.sweep("--out", "o.csv")  # beside jobs that are not over
        self.assertEqual((refused.returncode, refused.stderr.count("\n")), (2, 1), refused.stderr)
        self.assertTrue(refused.stderr)
        waiting = subprocess.Popen([PROGRAM, "sweep", "s.json", "--engine", "slurm", "--jobs", "1", "--resume", "--out", "o.csv"], cwd=self.folder,
                                   env=self.slurm.environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.addCleanup(waiting.kill)
        self.slurm.stop_controller()
        time.sleep(0.5)
        self.slurm.start_controller()
        self.until(lambda: self.slurm.command("squeue").returncode == 0, "the controller does not come back")
        self.slurm.command("scancel", f"{job}_4")  # before it has started
        for task in range(4):  # what is requeued may wait for two minutes
            self.slurm.command("scontrol", "update", f"jobid={job}_{task}", "starttime=now")
        self.node("one,two", "resume")
        stderr = waiting.communicate(timeout=PATIENCE)[1]
        self.assertEqual(waiting.returncode, 1, stderr)
        self.assertTrue(stderr)
        self.assertIn("o.csv: ", stderr)
        missing = int(re.search(r"(\d+) of 2002 rows are missing", stderr)[1])
        self.assertEqual(len(self.rows("o.csv")), 1 + 2002 - missing)
        done = self.sweep("--resume", "--out", "o.csv")
        self.assertEqual((done.returncode, bool(done.stderr)), (0, True))
        again = re.findall(r"task (\d+) failed", stderr)
        self.assertRegex((self.folder / "o.csv.slurm" / "array.sh").read_text(encoding="utf-8"), rf"#SBATCH --array=[-,\d]*\b{again[-1]}\n")
        self.assertEqual(self.rows("o.csv"), self.one())

    def test_shares_by_array_task(self):
        """A script of the user's own: numbers that start at 1, and go in steps."""
        script = f'#!/bin/bash\nexec "{PROGRAM}" sweep s.json --shard auto --out part-{{}}.csv\n'
        (self.folder / "own.sh").write_text(script, encoding="utf-8")
        done = subprocess.run(["sbatch", "--wait", "--array=1-5:2", "--output=own-%a.log", "own.sh"], cwd=self.folder, env=self.slurm.environment, capture_output=True,
                              text=True, check=False, timeout=PATIENCE)
        self.assertEqual(done.returncode, 0, done.stderr)
        merged = self.run_program("sweep", "s.json", "--merge", "part-0.csv", "part-1.csv", "part-2.csv", "--out", "all.csv")
        self.assertEqual((merged.returncode, self.rows("all.csv")), (0, self.one()), merged.stderr)


if __name__ == "__main__":
    unittest.main()
