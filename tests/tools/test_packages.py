#!/usr/bin/env python3
"""Packages name what they depend on, or are not made: cmake/package.cmake, around a program of a few lines.

Run: python3 tests/tools/test_packages.py
"""

import os
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from program import Case, ROOT  # noqa: E402

PROJECT = """\
cmake_minimum_required(VERSION 3.20)
project(packaged VERSION 1.2.3 DESCRIPTION "A program" LANGUAGES C)
file(WRITE ${{CMAKE_BINARY_DIR}}/main.c "int main(void) {{ return 0; }}")
add_executable(packaged ${{CMAKE_BINARY_DIR}}/main.c)
install(TARGETS packaged RUNTIME DESTINATION bin COMPONENT program)
install(FILES ${{CMAKE_BINARY_DIR}}/main.c DESTINATION share COMPONENT development)
set(Python_VERSION_MINOR 11)
include({root}/cmake/package.cmake)
"""
TOOL = "dpkg-shlibdeps"
MISSING = [name for name in ("cmake", "cpack", "cc", "file", "dpkg-deb", TOOL) if shutil.which(name) is None]


@unittest.skipIf(MISSING, f"no {', '.join(MISSING)} (tools/setup.sh --with packages)")
class Packages(Case):
    def setUp(self):
        super().setUp()
        self.write("LICENSE", "none")
        self.write("CMakeLists.txt", PROJECT.format(root=ROOT))
        for words in (("-S", ".", "-B", "build"), ("--build", "build")):
            subprocess.run(["cmake", *words], cwd=self.folder, check=True, capture_output=True)

    def package(self, *arguments, **how):
        return subprocess.run(["cpack", "--config", "build/CPackConfig.cmake", *arguments], cwd=self.folder, capture_output=True, text=True, check=False, **how)

    def test_a_package_depends_on_the_libraries_of_its_program(self):
        done = self.package()
        self.assertEqual(done.returncode, 0, done.stderr)
        (package,) = self.folder.glob("allreplay_1.2.3_*.deb")
        depends = subprocess.run(["dpkg-deb", "--field", package, "Depends"], check=True, capture_output=True, text=True).stdout
        self.assertRegex(depends, r"\blibc6\b")
        self.assertRegex(depends, r"\blibcairo2\b")

    def test_without_the_tool_that_finds_them_there_is_none(self):
        """In a folder of all programs but that one; CMake looks into the system's own by itself."""
        programs = self.folder / "programs"
        programs.mkdir()
        folders = [Path(name) for name in os.environ["PATH"].split(":") if Path(name).is_dir()]
        for folder in folders:
            for program in folder.iterdir():
                if program.name != TOOL and not (programs / program.name).is_symlink():
                    (programs / program.name).symlink_to(program)
        ignored = ";".join(str(folder) for folder in [*folders, Path("/usr/bin"), Path("/bin")])
        done = self.package("-D", f"CMAKE_IGNORE_PATH={ignored}", env={**os.environ, "PATH": str(programs)})
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("no dpkg-shlibdeps: packages would lack what they depend on (tools/setup.sh --with packages)", " ".join(done.stderr.split()))
        self.assertEqual(list(self.folder.glob("*.deb")), [])


if __name__ == "__main__":
    unittest.main()
