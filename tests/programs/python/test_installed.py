#!/usr/bin/env python3
"""What is installed works alone, from another folder: the program, the Python module, the library, pages and completion.

ALLREPLAY_BUILD names the build tree that is installed.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from program import Case, ROOT  # noqa: E402

BUILD = Path(os.environ.get("ALLREPLAY_BUILD", ROOT / "build" / "dev"))


@unittest.skipUnless((BUILD / "cmake_install.cmake").is_file(), f"nothing to install at {BUILD} (ALLREPLAY_BUILD says where)")
class Installed(Case):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="all replay ")
        cls.addClassCleanup(folder.cleanup)
        cls.prefix = Path(folder.name) / "prefix"
        subprocess.run(["cmake", "--install", BUILD, "--prefix", cls.prefix], check=True, capture_output=True)
        # Data of this name is nowhere else: what finds it looks below the prefix.
        traces = cls.prefix / "share" / "allreplay" / "traces"
        shutil.copy(traces / "googlenet_k80_b32.json", traces / "only_here.json")

    def setUp(self):
        super().setUp()
        self.elsewhere = self.folder / "elsewhere"
        self.elsewhere.mkdir()
        self.environment = {"PATH": f"{self.prefix / 'bin'}:/usr/bin:/bin", "HOME": str(self.folder), "LANG": "C.UTF-8"}

    def does(self, *words, **more):
        done = subprocess.run(words, cwd=self.elsewhere, env={**self.environment, **more}, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, f"{words}: {done.stdout}{done.stderr}")
        return done.stdout

    def test_the_smoke_test(self):
        case = ["--profile", "only_here", "--cluster", "k80-10gbe"]
        row = json.loads(self.does("allreplay", "run", *case, "--strategy", "ddp", "--json"))
        self.assertIn("ddp", self.does("allreplay", "compare", *case, "--strategies", "wfbp,ddp"))
        (self.elsewhere / "s.json").write_text(json.dumps(
            {"name": "s", "profiles": ["only_here"], "clusters": ["k80-10gbe"], "strategies": ["wfbp", "ddp"]}))
        self.does("allreplay", "sweep", "s.json", "--out", "s.csv")
        self.assertEqual(len((self.elsewhere / "s.csv").read_text().splitlines()), 3)
        self.does("allreplay", "compare", *case, "--strategies", "wfbp,ddp", "--timeline", "t.svg")

        self.assertTrue((self.prefix / "share" / "allreplay" / "traces" / "LICENCES.txt").is_file())  # of what others measured
        for package in ("allreplay", "liballreplay-dev"):
            self.assertEqual((self.prefix / "share" / "doc" / package / "copyright").read_text(), (ROOT / "LICENSE").read_text())
        if shutil.which("help2man"):
            self.assertIn("\nrecommend\n", (self.prefix / "share" / "man" / "man1" / "allreplay.1").read_text())
        completed = self.does("bash", "-c", f"source '{self.prefix}/share/bash-completion/completions/allreplay'; complete -p allreplay")
        self.assertIn("allreplay", completed)
        for file in ("zsh/site-functions/_allreplay", "fish/vendor_completions.d/allreplay.fish"):
            self.assertTrue((self.prefix / "share" / file).stat().st_size > 0)

        modules = [path.parent for path in self.prefix.rglob("_core*.so")]
        if not modules:
            self.skipTest("skipped: built without the Python module")
        self.assertTrue((modules[0] / "py.typed").is_file())
        code = ("import allreplay; r = allreplay.run('only_here', 'k80-10gbe', 'ddp'); "
                "print(r.iteration_s, allreplay.__file__, len(r.timeline.svg()) > 0, sep='\\n')")
        seconds, file, drawn = self.does(sys.executable, "-c", code, PYTHONPATH=str(modules[0].parent)).splitlines()
        self.assertEqual(float(seconds), row["iteration_s"])
        self.assertTrue(file.startswith(str(self.prefix)))
        self.assertEqual(drawn, "True")

    def test_a_program_of_ones_own(self):
        self.does("cmake", "-S", str(ROOT / "docs" / "examples" / "library"), "-B", "own", f"-DCMAKE_PREFIX_PATH={self.prefix}",
                  "-DCMAKE_BUILD_TYPE=Debug")
        self.does("cmake", "--build", "own")
        said = self.does("own/slowest", str(ROOT / "docs/examples/six_layers.json"), str(ROOT / "docs/examples/eight_workers.json"), "wfbp")
        self.assertRegex(said, r"^allreplay \d+\.\d+\.\d+: an iteration takes \d\.\d+ s; longest in flight is block \d+ \(")
        run = json.loads(self.does("allreplay", "run", "--profile", str(ROOT / "docs/examples/six_layers.json"), "--cluster",
                                   str(ROOT / "docs/examples/eight_workers.json"), "--strategy", "wfbp", "--json"))
        self.assertIn(f"takes {run['iteration_s']:.6f} s", said)
        headers = [path.relative_to(self.prefix) for path in self.prefix.rglob("*.hpp")]
        self.assertTrue(all(str(path).startswith("include/allreplay-3/sim/") for path in headers), headers)
        done = subprocess.run([self.elsewhere / "own/slowest", "nothing", "k80-10gbe", "wfbp"], capture_output=True, text=True,
                              check=False, cwd=self.elsewhere)
        self.assertEqual(done.returncode, 2)
        self.assertIn("nothing: no such file", done.stderr)


if __name__ == "__main__":
    unittest.main()
