#!/usr/bin/env python3
"""Dockerfile: its steps with stand-ins for apt-get, cmake and cpack, its first command; the image itself where Docker or Podman answers.

Run: python3 tests/tools/test_container.py
"""

import fnmatch
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from program import Case, ROOT, needs_program  # noqa: E402

TEXT = (ROOT / "Dockerfile").read_text(encoding="utf-8")
FIRST, *_ = FOR_USERS = re.findall(r"^# docker run --rm (?:-v \S+ )?allreplay (.+)$", TEXT, re.M)
# Replaces a tool: logs how it is called, one line per call, and makes the folder that `cmake --build` would make.
STAND_IN = """#!/bin/sh
echo "${0##*/} $*" >> "$ASKED"
case "$*" in *--build*) mkdir -p build/release ;; esac
"""


def instructions():
    """[(instruction, its words as text)], in lines joined."""
    lines = "\n".join(line for line in TEXT.splitlines() if not line.startswith("#")).replace("\\\n", "")
    return [tuple(line.split(None, 1)) for line in lines.splitlines() if line.strip()]


def engine():
    """Docker or Podman, if one answers."""
    for name in ("docker", "podman"):
        if shutil.which(name) and subprocess.run([name, "info"], capture_output=True, check=False).returncode == 0:
            return name
    return None


class Steps(Case):
    def stages(self):
        """The instructions of each stage."""
        stages = []
        for one in instructions():
            if one[0] == "FROM":
                stages.append([])
            stages[-1].append(one)
        return stages

    def test_two_stages_of_one_release(self):
        build, image = ([words for name, words in stage if name == "FROM"][0] for stage in self.stages())
        self.assertEqual(build.split(" AS ")[0] + "-slim", image)

    def test_what_is_copied_is_there(self):
        for words in (words for name, words in self.stages()[0] if name == "COPY"):
            for source in words.split()[:-1]:
                self.assertTrue((ROOT / source).exists(), source)

    def test_the_build(self):
        """Its RUN lines, as they stand, in a folder with what was copied before each: packages are those of tools/setup.sh, and the
        preset is one of ours."""
        programs, asked = self.folder / "programs", self.folder / "asked"
        programs.mkdir()
        for name in ("apt-get", "dpkg-query", "cmake", "cpack", "sudo"):
            (programs / name).write_text(STAND_IN if name not in ("sudo", "dpkg-query") else '#!/bin/sh\n' + ('exec "$@"\n' if name == "sudo" else ""), encoding="utf-8")
            (programs / name).chmod(0o755)
        source = self.folder / "src"
        source.mkdir()
        for name, words in self.stages()[0]:
            if name == "COPY" and not words.startswith("."):
                *files, folder = words.split()
                (source / folder).mkdir(parents=True)
                for file in files:
                    shutil.copy(ROOT / file, source / folder)
            if name == "RUN":
                done = subprocess.run(["sh", "-e", "-c", words], cwd=source, env={**os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "ASKED": str(asked)},
                                      capture_output=True, text=True, check=False)
                self.assertEqual(done.returncode, 0, done.stderr)
        update, install, configure, build, pack = (shlex.split(line) for line in asked.read_text(encoding="utf-8").splitlines())
        named = subprocess.run([ROOT / "tools" / "setup.sh", "--names", "debian"], capture_output=True, text=True, check=True).stdout.split()
        packaging = re.search(r"^packaging=\((.*)\)$", (ROOT / "tools" / "setup.sh").read_text(encoding="utf-8"), re.M)[1].split()
        self.assertEqual(update[:2], ["apt-get", "update"])
        self.assertEqual({word for word in install[2:] if not word.startswith("-")}, {*named, *packaging})
        presets = json.loads((ROOT / "CMakePresets.json").read_text(encoding="utf-8"))
        self.assertIn(configure[2], [preset["name"] for preset in presets["configurePresets"]])
        self.assertIn(build[3], [preset["name"] for preset in presets["buildPresets"]])
        for option in re.findall(r"-D(\w+)=", " ".join(configure)):
            self.assertRegex((ROOT / "CMakeLists.txt").read_text(encoding="utf-8"), rf"option\({option}\b")
        self.assertEqual(pack, ["cpack"])

    def test_packages_of_the_image(self):
        """Those that are copied are installed, and cpack makes each; the font of pictures, which they only recommend, is there."""
        packed = re.findall(r"^set\(CPACK_DEBIAN_\w+_PACKAGE_NAME ([\w-]+)\)", (ROOT / "cmake" / "package.cmake").read_text(encoding="utf-8"), re.M)
        copied = next(words for name, words in self.stages()[1] if name == "COPY").split()[1:-1]
        run = next(words for name, words in self.stages()[1] if name == "RUN")
        self.assertEqual([Path(word).name for word in copied], [Path(word).name for word in run.split() if word.startswith("/tmp/") and word != "/tmp/*.deb"])
        for pattern in copied:
            self.assertEqual(len(fnmatch.filter([f"{name}_3.0.0_amd64.deb" for name in packed], Path(pattern).name)), 1, pattern)
        self.assertIn("fonts-dejavu-core", run.split())


@needs_program
class Commands(Case):
    def test_the_first_command(self):
        self.output(*shlex.split(FIRST))

    def test_with_a_file_of_the_user(self):
        shutil.copy(ROOT / "docs" / "examples" / "six_layers.json", self.folder / "mine.json")
        for command in FOR_USERS[1:]:
            self.output(*shlex.split(command))
        self.assertTrue((self.folder / "t.svg").is_file())


class Image(Case):
    def test_it_builds_and_runs(self):
        tool = engine()
        if tool is None:
            self.skipTest("neither docker nor podman answers")
        subprocess.run([tool, "build", "-t", "allreplay-test", str(ROOT)], check=True)
        self.addCleanup(subprocess.run, [tool, "rmi", "allreplay-test"], check=False)
        done = subprocess.run([tool, "run", "--rm", "allreplay-test", *shlex.split(FIRST)], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("best", done.stdout.lower())


if __name__ == "__main__":
    unittest.main()
