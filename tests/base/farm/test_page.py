#!/usr/bin/env python3
"""The examples of docs/clusters.md, as a reader follows them. What needs a tool that is not here is skipped, and said.

Run: python3 tests/base/farm/test_page.py
"""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

import test_mpi  # noqa: E402
from program import PROGRAM, ROOT, Case, needs_program  # noqa: E402
from slurm import CannotStart, Slurm  # noqa: E402
from test_tutorial import BLOCK, matches  # noqa: E402


@needs_program
class Page(Case):
    def slurm_environment(self):
        """Of a Slurm that lives as long as the test; raises CannotStart."""
        if not hasattr(self, "slurm"):
            home = Path(tempfile.mkdtemp(prefix="slurm-"))
            self.addCleanup(shutil.rmtree, home, ignore_errors=True)
            self.slurm = Slurm(home)
            self.addCleanup(self.slurm.stop)
        return self.slurm.environment

    def environment_for(self, commands):
        """What the commands need, or why that is not here."""
        if "mpirun" in commands:
            return test_mpi.ENVIRONMENT, test_mpi.WHY_NOT
        if "parallel" in commands or "some.csv" in commands:
            return os.environ, "" if shutil.which("parallel") else "no GNU parallel (tools/setup.sh --with cluster)"
        if "slurm" in commands or "sbatch" in commands:
            try:
                return self.slurm_environment(), ""
            except CannotStart as error:
                return os.environ, str(error)
        return os.environ, ""

    def test_examples(self):
        (self.folder / "programs").mkdir()
        (self.folder / "programs" / "allreplay").symlink_to(PROGRAM)
        scratch = self.folder / "work"
        scratch.mkdir()
        blocks = list(BLOCK.finditer((ROOT / "docs" / "clusters.md").read_text(encoding="utf-8")))
        self.assertGreaterEqual(len(blocks), 8)
        for block in blocks:
            with self.subTest(commands=block["commands"]):
                environment, why_not = self.environment_for(block["commands"])
                if why_not:
                    self.skipTest(why_not)
                path = f"{self.folder / 'programs'}{os.pathsep}{environment['PATH']}"
                done = subprocess.run(["bash", "-e", "-c", block["commands"]], cwd=scratch, env={**environment, "PATH": path, "LC_ALL": "C.UTF-8"}, stdin=subprocess.DEVNULL,
                                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", check=False, timeout=300)
                self.assertEqual(done.returncode, 0, done.stdout)
                if block["output"] is not None:
                    self.assertTrue(matches(block["output"], done.stdout), f"{block['output']}\nis not\n{done.stdout}")


if __name__ == "__main__":
    unittest.main()
