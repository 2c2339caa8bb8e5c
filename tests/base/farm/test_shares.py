#!/usr/bin/env python3
"""`sweep --shard` and `--merge` as users meet them: what they print, and one line for what is wrong.

Run: python3 tests/base/farm/test_shares.py
"""

import os
import shutil
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from program import Case, needs_program, place_of  # noqa: E402

OWN = {name: value for name, value in os.environ.items() if not name.startswith(("SLURM_", "OMPI_", "PMI"))}


@needs_program
class Shares(Case):
    def setUp(self):
        super().setUp()
        self.write("p.csv", "layer,params,forward_us,backward_us\na,1000,10,20\nb,200000,30,60\n")
        self.write("c.json", {"name": "c", "workers": 4, "network": {"alpha": "10 us", "beta": "1 ns/B"}})
        self.write("s.json", {"profiles": ["p.csv"], "clusters": ["c.json"], "workers": [2, 4, 8], "strategies": ["wfbp", "s-sgd", "ddp"]})

    def sweep(self, *arguments, **environment):
        return self.run_program("sweep", "s.json", *arguments, env={**OWN, **environment})

    def refused(self, *arguments, says, **environment):
        done = self.sweep(*arguments, **environment)
        self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (2, "", 1), f"{arguments}: {done.stderr}")
        self.assertIn(says, done.stderr)
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["c.json", "p.csv", "s.json"])

    def test_bad_input_is_one_line(self):
        for shard, says in (("3/3", ": "), ("0/0", ": "), ("-1/3", ": "), ("1", ": "),
                            ("1/3x", ": "), ("0/100001", "100001 shares"), ("auto", ": ")):
            self.refused("--shard", shard, "--out", "o.csv", says="command line: --shard: ")
        self.refused("--engine", "cloud", says="--engine: ")
        self.refused("--shard", "0/2", "--merge", "p.csv", "--out", "o.csv", says="--shard")
        self.refused("--merge", "p.csv", says="--merge")
        self.refused("--engine", "slurm", says="--engine slurm")
        self.refused("--chunk", "3", says="--chunk")
        self.refused("--merge", "p.csv", "--out", "p.csv", says=": ")
        self.refused("--merge", "p.csv", "--out", "o.csv", says="p.csv: line 1: ")
        self.refused("--merge", "nothing.csv", "--out", "o.csv", says="nothing.csv: ")
        array = {"SLURM_ARRAY_TASK_ID": "7", "SLURM_ARRAY_TASK_MIN": "1", "SLURM_ARRAY_TASK_COUNT": "3"}
        self.refused("--shard", "auto", "--out", "o.csv", says=": ", **array)
        self.refused("--shard", "auto", "--out", "o.csv", says=": ", **{**array, "SLURM_ARRAY_TASK_ID": "x"})
        self.refused("--shard", "auto", "--out", "o.csv", says=": ", PMI_RANK="4", PMI_SIZE="4")

    def test_what_slurm_says_is_read_as_a_number(self):
        """Its largest array has no more digits than a number has."""
        programs = self.folder.parent / f"{self.folder.name}.programs"
        programs.mkdir()
        self.addCleanup(shutil.rmtree, programs)
        (programs / "scontrol").write_text("#!/bin/sh\necho 'MaxArraySize = 99999999999999999999999'\n", encoding="ascii")
        (programs / "scontrol").chmod(0o755)
        self.refused("--engine", "slurm", "--dry-run", "--out", "o.csv", says=": ",
                     PATH=f"{programs}{os.pathsep}{os.environ['PATH']}")

    def test_auto(self):
        for environment, share in (({"SLURM_ARRAY_TASK_ID": "12", "SLURM_ARRAY_TASK_MIN": "10", "SLURM_ARRAY_TASK_COUNT": "3"}, "2/3"),
                                   ({"SLURM_ARRAY_TASK_ID": "12", "SLURM_ARRAY_TASK_MIN": "0", "SLURM_ARRAY_TASK_COUNT": "4", "SLURM_ARRAY_TASK_STEP": "6"}, "2/4"),
                                   ({"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "3"}, "1/3"), ({"PMI_RANK": "0", "PMI_SIZE": "2"}, "0/2")):
            with self.subTest(share=share):
                self.assertEqual(self.sweep("--shard", "auto", **environment).stdout, self.sweep("--shard", share).stdout)

    def test_missing_rows_are_named_and_exit_status_1_says_so(self):
        for i in range(3):
            done = self.sweep("--shard", f"{i}/3", "--out", "part-{}.csv")
            self.assertEqual((done.returncode, bool(done.stderr)), (0, True))
        done = self.sweep("--merge", "part-0.csv", "part-2.csv", "--out", "all.csv")
        # All rows cost the same: share 1 has each third, from row 2.
        self.assertEqual((done.returncode, done.stdout, place_of(done.stderr)), (1, "", "all.csv"))
        self.assertEqual(len((self.folder / "all.csv").read_text(encoding="utf-8").splitlines()), 7)
        self.assertTrue(self.sweep("--resume", "--out", "all.csv").stderr)
        self.assertTrue(self.sweep("--merge", "part-0.csv", "part-1.csv", "part-2.csv", "--out", "all.csv").stderr)


if __name__ == "__main__":
    unittest.main()
