#!/usr/bin/env python3
"""The shell scripts: their help, wrong arguments, and what setup.sh would install. Run: python3 tests/tools/test_scripts.py"""

import os
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from program import ROOT, Case  # noqa: E402

TOOLS = ROOT / "tools"
NEEDED = ["basename", "bash", "dirname", "env", "grep", "sed"]  # by setup.sh and test.sh, beside what the tests put in their place


class Scripts(Case):
    """From a folder elsewhere, with a space in its name."""

    def run_script(self, name, *arguments, **how):
        """The finished process."""
        return subprocess.run([TOOLS / name, *arguments], cwd=self.folder, capture_output=True, text=True, check=False, **how)

    def with_needed_only(self, script, *arguments):
        """The finished script, where only NEEDED and what the test has put beside them exist."""
        for name in NEEDED:
            if not (self.folder / name).exists():
                (self.folder / name).symlink_to(shutil.which(name))
        return self.run_script(script, *arguments, env={**os.environ, "PATH": str(self.folder), "LOG": str(self.folder / "log")})

    def setup_with(self, *arguments, **stubs):
        """Run setup.sh with these one-line scripts beside NEEDED; returns (process, what apt-get was asked to do)."""
        for name, line in stubs.items():
            path = self.folder / name.replace("_", "-")
            path.write_text(f"#!{shutil.which('bash')}\n{line}\n", encoding="utf-8")
            path.chmod(0o755)
        done = self.with_needed_only("setup.sh", *arguments)
        log = self.folder / "log"
        return done, log.read_text(encoding="utf-8").splitlines() if log.exists() else []

    def test_help_teaches(self):
        for script in sorted(TOOLS.glob("*.sh")):
            if os.access(script, os.X_OK):
                with self.subTest(script=script.name):
                    done = self.run_script(script.name, "--help")
                    self.assertEqual((done.returncode, done.stderr), (0, ""))
                    self.assertIn(f"  tools/{script.name}", done.stdout)

    def test_wrong_arguments(self):
        for name, argument, start in [("demo.sh", "fig99", "demo.sh: no configs/fig99.json (there are: bml_fig5 "),
                                      ("test.sh", "debug", "test.sh: no preset 'debug' (there are: check dev release asan)"),
                                      ("reproduce.sh", "fig99", "reproduce.sh: no configs/fig99.json (there are: bml_fig5 "),
                                      ("reproduce.sh", "--jobs", "reproduce.sh: --jobs takes a number of at least 1, not ''"),
                                      ("reproduce.sh", "--job", "reproduce.sh: no option --job"),
                                      ("setup.sh", "--with", "setup.sh: does not know '--with'"),
                                      ("profile_all.sh", "--fast", "profile_all.sh: no option '--fast'"),
                                      ("profile_all.sh", "--budget", "profile_all.sh: --budget needs a value")]:
            done = self.run_script(name, argument)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertEqual(len(done.stderr.splitlines()), 1)
            self.assertTrue(done.stderr.startswith(start), done.stderr)

    def test_sanitizers_without_clang(self):
        done = self.with_needed_only("test.sh", "check", "asan")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertRegex(done.stderr, r"\Atest\.sh: preset asan needs clang\+\+[^\n]*\n\Z")

    def test_python_imports_nothing_from_the_working_directory(self):
        for name in ("json", "runpy"):
            self.write(f"{name}.py", "print('this one')\n")
        done = self.run_script("python.sh", "--with", "json", "-c", "import json, runpy, sys; print(json.dumps(sys.argv[1:]))", "a b")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, '["a b"]\n', ""))

    INSTALLED = 'for p in "${@:4}"; do [ "$p" = cmake ] || echo "installed $p"; done'
    RECORD = 'echo "$*" >> "$LOG"'

    def test_installs_what_is_missing(self):
        done, asked = self.setup_with(dpkg_query=self.INSTALLED, apt_get=self.RECORD, id="echo 0")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(asked, ["update -q", "install -y -q --no-install-recommends cmake"])

    def test_installs_torch_or_what_packages_are_made_with_where_asked(self):
        for missing, groups in (("python3-torch", ("torch", "tests")), ("dpkg-dev", ("packages", "tests"))):
            installed = self.INSTALLED.replace("= cmake", f"= {missing}")
            for group in ("", "torch", "cluster", "packages", "tests"):
                with self.subTest(missing=missing, group=group):
                    (self.folder / "log").unlink(missing_ok=True)
                    done, log = self.setup_with(*(("--with", group) if group else ()), dpkg_query=installed, apt_get=self.RECORD, id="echo 0")
                    self.assertEqual((done.returncode, done.stderr), (0, ""))
                    self.assertEqual(log[1:], [f"install -y -q --no-install-recommends {missing}"] if group in groups else [])

    def test_uses_sudo_unless_root(self):
        sudo = 'echo sudo >> "$LOG"; "$@"'
        done, asked = self.setup_with(dpkg_query=self.INSTALLED, apt_get=self.RECORD, id="echo 1000", sudo=sudo)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(asked, ["sudo", "update -q", "sudo", "install -y -q --no-install-recommends cmake"])

    def test_says_what_root_should_do_without_sudo(self):
        done, asked = self.setup_with(dpkg_query=self.INSTALLED, apt_get=self.RECORD, id="echo 1000")
        self.assertEqual((done.returncode, asked), (1, []))
        self.assertIn("apt-get install -y --no-install-recommends cmake\n", done.stderr)

    def test_does_nothing_when_all_is_there(self):
        done, asked = self.setup_with(dpkg_query=self.INSTALLED.replace("cmake", "-"), apt_get=self.RECORD, id="echo 1000")
        self.assertEqual((done.returncode, done.stderr, asked), (0, "", []))

    def test_names_the_packages_elsewhere(self):
        done, _ = self.setup_with(id="echo 1000")
        self.assertEqual(done.returncode, 1)
        self.assertIn("libboost-graph-dev", done.stderr)
        self.assertIn("setup.sh: c++ is missing\n", done.stderr)

    def test_names_the_packages_of_other_systems(self):
        for system, name in [("debian", "libboost-graph-dev"), ("fedora", "boost-devel"), ("arch", "onetbb"),
                             ("alpine", "py3-numpy"), ("homebrew", "nlohmann-json")]:
            names = self.run_script("setup.sh", "--names", system).stdout.split()
            self.assertIn(name, names)
            self.assertNotIn("-", names)
        done = self.run_script("setup.sh", "--names", "beos")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("knows no packages of 'beos' (only of debian fedora", done.stderr)

    def test_goes_on_elsewhere_when_the_tools_are_there(self):
        done, _ = self.setup_with(**{"c++": "", "cmake": "", "ninja": "", "python3": ""})
        self.assertEqual(done.returncode, 0)
        self.assertIn("libboost-graph-dev", done.stderr)


if __name__ == "__main__":
    unittest.main()
