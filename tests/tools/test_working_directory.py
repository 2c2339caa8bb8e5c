#!/usr/bin/env python3
"""The scripts run nothing that stands in the working directory, and fetch nothing but what they name.

Run: python3 tests/tools/test_working_directory.py
"""

import json
import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


class WorkingDirectory(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def plant(self, folder):
        """Modules that leave a mark when Python imports them, under the names that the scripts import."""
        for name in ("torch", "json", "numpy", "re", "argparse", "os", "typing", "pathlib", "hashlib", "sitecustomize"):
            (folder / f"{name}.py").write_text(f"open({str(self.folder / 'ran')!r}, 'a').write('{name} ')\n", encoding="utf-8")

    def run_here(self, *command, cwd=None):
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        return subprocess.run(command, cwd=cwd or self.folder, env=environment, capture_output=True, text=True, check=False, timeout=120)

    def test_modules_of_the_working_directory(self):
        self.plant(self.folder)
        scripts = [[ROOT / "tools/python.sh", "--with", module, "--version"] for module in ("torch", "json", "numpy")]
        scripts += [[path, "--help"] for path in sorted((ROOT / "tools").glob("*.py")) if os.access(path, os.X_OK)]
        scripts += [[path, "--help"] for path in sorted((ROOT / "tools").glob("*.sh")) if os.access(path, os.X_OK)]
        self.assertGreater(len(scripts), 12)
        for script in scripts:
            with self.subTest(script=script[0].name):
                (self.folder / "ran").unlink(missing_ok=True)
                self.run_here(*script)
                self.assertFalse((self.folder / "ran").exists(), script)

    def test_python_sh_takes_modules_only(self):
        done = self.run_here(ROOT / "tools/python.sh", "--with", "sys; open('ran', 'w')", "--version")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertFalse((self.folder / "ran").exists())

    def copy_with_manifest(self, **change):
        """A copy of the scripts with one entry of the manifest changed."""
        shutil.copytree(ROOT / "tools", self.folder / "copy/tools")
        (self.folder / "copy/traces").mkdir()
        traces = json.loads((ROOT / "traces/public.json").read_text(encoding="utf-8"))["traces"]
        (self.folder / "copy/traces/public.json").write_text(json.dumps({"traces": [traces[0] | change]}), encoding="utf-8")
        return self.folder / "copy/tools/get_public_traces.sh"

    def test_the_manifest_is_read_by_no_planted_module(self):
        script = self.copy_with_manifest()
        self.plant(self.folder / "copy")  # where the script works
        done = self.run_here(script, "--list")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertFalse((self.folder / "ran").exists())

    def test_names_that_leave_the_folder(self):
        for change in ({"name": "../../evil"}, {"name": "/etc/evil"}, {"name": "-o"}, {"files": [{"path": "a/.."}]}, {"name": "a\x1fb"}, {"repository": "file:///etc"},
                       {"repository": "http://github.com/x/y"}):
            with self.subTest(change=change):
                script = self.copy_with_manifest(**change)
                self.addCleanup(shutil.rmtree, self.folder / "copy", ignore_errors=True)
                done = self.run_here(script, "--list")
                self.assertEqual((done.returncode, done.stdout), (2, ""), done.stdout)
                self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
                shutil.rmtree(self.folder / "copy")

    def test_downloads_are_https_alone(self):
        calls = [line for line in (ROOT / "tools/get_public_traces.sh").read_text(encoding="utf-8").splitlines() if line.strip().startswith("curl ")]
        self.assertEqual(len(calls), 1)
        for option in ("--proto '=https'", "--proto-redir '=https'"):
            self.assertIn(option, calls[0])


if __name__ == "__main__":
    unittest.main()
