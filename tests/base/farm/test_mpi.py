#!/usr/bin/env python3
"""Sweeps and tuning on the ranks of Open MPI, as many as four on this machine.

Skipped where there is no mpirun, or the program was built without MPI. ALLREPLAY_ALL_CONFIGS=1: every file of configs/ whole
instead of one. Run: python3 tests/base/farm/test_mpi.py
"""

import os
import shutil
import signal
import subprocess
import sys
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from program import PROGRAM, Case, listed, needs_program, untimed_rows  # noqa: E402

MPIRUN = shutil.which("mpirun")
# Ranks share cores and run as root in containers; nothing leaves the machine.
ENVIRONMENT = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
               "OMPI_MCA_btl": "self,vader", "OMPI_MCA_pml": "ob1", "OMPI_MCA_plm": "isolated", "OMPI_MCA_hwloc_base_binding_policy": "none",
               "OMPI_MCA_btl_vader_single_copy_mechanism": "none", "OMPI_MCA_orte_base_help_aggregate": "0", "ASAN_OPTIONS": "detect_leaks=0"}
ALL = os.environ.get("ALLREPLAY_ALL_CONFIGS") == "1"


def why_not():
    """Why there is nothing to test here; "" where there is."""
    if MPIRUN is None:
        return "no mpirun (tools/setup.sh --with cluster)"
    if not PROGRAM.with_name("allreplay_mpi.so").is_file():
        return "the program was built without MPI (tools/setup.sh --with cluster, then build)"
    try:
        tried = subprocess.run([MPIRUN, "-n", "2", "true"], env=ENVIRONMENT, capture_output=True, text=True, check=False, timeout=60)
    except subprocess.TimeoutExpired:
        return "mpirun -n 2 true does not end here"
    return "" if tried.returncode == 0 else f"mpirun -n 2 true fails here: {tried.stderr.strip()[:300]}"


WHY_NOT = why_not()


# Two groups of constants, and rows to predict.
MEASURED = """profile,cluster,workers,strategy,iteration_s,calibrate
resnet50_k80_b16,c.json,8,s-sgd,0.75,beta by workers
resnet50_k80_b16,c.json,16,s-sgd,0.8,beta by workers
resnet50_k80_b16,c.json,8,wfbp,0.5,
resnet50_k80_b16,c.json,16,wfbp,0.6,
resnet50_k80_b16,c.json,16,mg-wfbp,0.5,
"""


@needs_program
@unittest.skipIf(WHY_NOT, WHY_NOT)
class Mpi(Case):
    """Each run ends within minutes, or fails."""

    def setUp(self):
        super().setUp()
        self.write("p.csv", "layer,params,forward_us,backward_us\na,1000,10,20\nb,200000,30,60\n")
        self.write("c.json", {"name": "c", "workers": 4, "network": {"alpha": "10 us", "beta": "1 ns/B"}})
        self.write_sweep(rows=40)

    def write_sweep(self, rows):
        sweep = {"profiles": ["p.csv"], "clusters": ["c.json"], "workers": [2, 4],
                 "strategies": ["best", {"name": "us-byte", "second_phase": {"each": "random:{}", "from": 1, "to": rows}}]}
        self.write("s.json", sweep)

    def mpirun(self, ranks, *arguments, **how):
        return subprocess.run([MPIRUN, "-n", str(ranks), PROGRAM, *arguments], cwd=self.folder, stdin=subprocess.DEVNULL, env=ENVIRONMENT,
                              **({"capture_output": True, "text": True, "timeout": 300} | how), check=False)

    def rows(self, name):
        """Without how long a simulation took."""
        return untimed_rows((self.folder / name).read_text(encoding="utf-8"))

    def single(self, *arguments):
        done = self.success(*arguments, timeout=300)
        return done

    def test_four_ranks_write_what_one_process_writes(self):
        one = self.single("sweep", "s.json", "--out", "one.csv")
        four = self.mpirun(4, "sweep", "s.json", "--engine", "mpi", "--out", "four.csv")
        self.assertEqual((four.returncode, self.rows("four.csv")), (0, self.rows("one.csv")), four.stderr)
        self.assertEqual(four.stdout.replace("four.csv", "one.csv"), one.stdout)
        self.assertTrue(four.stderr)
        for option in ("--csv", "--json"):  # on standard output alone, and once
            printed = lambda text: [line for line in text.splitlines() if "wall_s" not in line] if option == "--json" else untimed_rows(text)
            four = self.mpirun(4, "sweep", "s.json", "--engine", "mpi", option)
            self.assertEqual(printed(four.stdout), printed(self.single("sweep", "s.json", option).stdout))
        again = self.mpirun(2, "sweep", "s.json", "--engine", "mpi", "--resume", "--out", "four.csv")
        self.assertTrue(again.stderr)

    def test_configs(self):
        for config in listed("configs") if ALL else ["scaling_by_topology"]:
            with self.subTest(config=config):
                self.single("sweep", config, "--out", "one.csv", "--force")
                four = self.mpirun(4, "sweep", config, "--engine", "mpi", "--out", "four.csv", "--force")
                self.assertEqual((four.returncode, self.rows("four.csv")), (0, self.rows("one.csv")), four.stderr)

    def test_a_killed_rank_and_a_killed_job_lose_nothing(self):
        self.write_sweep(rows=2000)
        self.single("sweep", "s.json", "--out", "one.csv")
        for victim in ("rank", "mpirun"):
            job = subprocess.Popen([MPIRUN, "-n", "3", PROGRAM, "sweep", "s.json", "--engine", "mpi", "--out", f"{victim}.csv"], cwd=self.folder, env=ENVIRONMENT,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
            try:
                notes = self.folder / f"{victim}.csv.rows"
                for _ in range(6000):  # until rows come in
                    if job.poll() is not None or (notes.is_file() and notes.stat().st_size > 5000):
                        break
                    time.sleep(0.01)
                ranks = [int(pid) for pid in Path(f"/proc/{job.pid}/task/{job.pid}/children").read_text(encoding="ascii").split()] if job.poll() is None else []
                if victim == "rank" and ranks:
                    os.kill(ranks[-1], signal.SIGKILL)
                else:
                    job.terminate()
                job.wait(timeout=120)
            finally:
                if job.poll() is None:
                    os.killpg(job.pid, signal.SIGKILL)
                    job.wait()
            noted = {line.split()[0] for line in notes.read_text(encoding="utf-8").splitlines()[1:-1]} if notes.is_file() else set()
            done = self.mpirun(3, "sweep", "s.json", "--engine", "mpi", "--resume", "--out", f"{victim}.csv")
            self.assertEqual((done.returncode, self.rows(f"{victim}.csv")), (0, self.rows("one.csv")), done.stderr)
            kept = int(done.stderr.split("(")[1].split()[0]) if "were there already" in done.stderr else 0
            self.assertGreaterEqual(kept, len(noted) - 1, done.stderr)

    def test_other_commands(self):
        self.write("m.csv", MEASURED)
        scenario = ("--profile", "resnet50_k80_b16", "--cluster", "k80-10gbe")
        for command in (("tune", *scenario, "--strategy", "bytescheduler", "--budget", "12"),
                        ("recommend", *scenario, "--workers", "8:16:x2", "--strategies", "wfbp,ddp,dear,best", "--budget", "6", "--json"),
                        ("whatif", *scenario, "--budget", "3", "--json"), ("validate", "m.csv", "--json")):
            with self.subTest(command=command[0]):
                there = self.mpirun(4, *command, "--engine", "mpi")
                without = lambda text: [line for line in text.splitlines() if '"wall_s"' not in line]
                self.assertEqual((there.returncode, without(there.stdout)), (0, without(self.single(*command).stdout)), there.stderr)

    def test_one_rank_works_and_says_so(self):
        done = self.success("sweep", "s.json", "--engine", "mpi", "--out", "alone.csv", env=ENVIRONMENT, timeout=300)
        self.assertTrue(done.stderr)

    def test_what_is_wrong_is_said_once(self):
        for command, says in ((("sweep", "nothing.json"), "nothing.json: "), (("sweep", "s.json", "--resume"), "--resume: "),
                              (("tune", "--profile", "p.csv", "--cluster", "c.json", "--strategy", "wfbp"), "wfbp")):
            done = self.mpirun(3, *command, "--engine", "mpi")
            self.assertEqual((done.returncode, done.stdout, done.stderr.count(says)), (2, "", 1), done.stderr)
        self.write("c.json", {"name": "c", "workers": 4, "network": {"alpha": "10 us", "beta": "1 ns/B"}, "stragglers": [{"worker": 0, "factor": 1e12}]})
        one = self.run_program("sweep", "s.json")
        three = self.mpirun(3, "sweep", "s.json", "--engine", "mpi")
        self.assertEqual(three.stderr.count(one.stderr.splitlines()[0]), 1, three.stderr)

    def test_shares_by_rank(self):
        done = self.mpirun(3, "sweep", "s.json", "--shard", "auto", "--out", "part-{}.csv")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.single("sweep", "s.json", "--merge", "part-0.csv", "part-1.csv", "part-2.csv", "--out", "all.csv")
        self.single("sweep", "s.json", "--out", "one.csv")
        self.assertEqual(self.rows("all.csv"), self.rows("one.csv"))


if __name__ == "__main__":
    unittest.main()
