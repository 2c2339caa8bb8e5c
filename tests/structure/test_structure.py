#!/usr/bin/env python3
"""The architecture, checked: who may include whom, and where each package may be used (docs/dev/design.md)."""
import re
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from program import ROOT  # noqa: E402

SIM = ROOT / "sim"

PAGE = (ROOT / "docs" / "dev" / "design.md").read_text(encoding="utf-8")


def table(head):
    """The rows of the page's table with this head: a tuple of cells each."""
    lines = PAGE.split(head + "\n|---", 1)[1].split("\n\n", 1)[0].splitlines()[1:]
    return [tuple(cell.strip().replace("`", "") for cell in line.strip("|").split("|")) for line in lines]


def names(cell):
    return [] if cell == "–" else [name.strip() for name in cell.split(",")]


ROWS = table("| folder | module | uses | knows |")
FOLDERS = {module: folder for folder, module, _, _ in ROWS}
USES = {module: names(uses) for _, module, uses, _ in ROWS}  # directly; what those use may be used, too
USES["main.cpp"] = ["command"]
USES["allreplay.hpp"] = ["experiment"]  # the library's header
PACKAGES = {  # the modules whose sources may include a package's headers; only these two may stand in headers: fmt's and, as JsonValue, nlohmann's
    header: set(USES) if where == "all" else set(names(where)) for _, header, where in table("| package | headers | modules |")}


def reachable(module):
    seen, todo = set(), [module]
    while todo:
        one = todo.pop()
        if one not in seen:
            seen.add(one)
            todo += USES[one]
    return seen


def sources():
    for path in sorted(SIM.rglob("*.[ch]pp")):
        relative = path.relative_to(SIM)
        yield path, relative.parts[1 if len(relative.parts) > 1 else 0], re.findall(r'^#include [<"]([^>"]+)[>"]', path.read_text(), re.M)


class Structure(unittest.TestCase):
    def test_every_module_stands_in_the_page(self):
        found = {(path.parent.name, path.name) for path in SIM.glob("*/*") if path.is_dir()}
        self.assertEqual({(folder, module) for module, folder in FOLDERS.items()}, found)
        self.assertTrue(set().union(*USES.values(), *PACKAGES.values()) <= set(USES))

    def test_every_package_stands_in_the_page(self):
        own = {"sim"}
        for path, _, includes in sources():
            for include in includes:
                if "/" in include and not include.startswith("sys/"):
                    self.assertIn(re.match(r"\w+", include).group(), own | set(PACKAGES), f"{path.relative_to(ROOT)} includes {include}")

    def test_modules_include_only_allowed_ones(self):
        for path, module, includes in sources():
            for include in includes:
                if include.startswith("sim/"):
                    self.assertIn(include.split("/")[2], reachable(module), f"{path.relative_to(ROOT)} includes {include}")

    def test_packages_stand_where_they_belong(self):
        for path, module, includes in sources():
            for include in includes:
                package = re.match(r"\w+", include).group()
                if package in PACKAGES:
                    self.assertIn(module, PACKAGES[package], f"{path.relative_to(ROOT)} includes {include}")
                    if path.suffix == ".hpp":
                        self.assertIn(package, ("fmt", "nlohmann"), f"{path.relative_to(ROOT)} brings {include} into a header")

    def test_cmake_links_the_same_table(self):
        text = (SIM / "CMakeLists.txt").read_text()
        for folder, module, body in re.findall(r"allreplay_module\((\w+)/(\w+)(.*?)\)", text, re.S):
            self.assertEqual(folder, FOLDERS[module])
            uses = re.search(r"USES ([\w ]+)", body)
            self.assertEqual(uses.group(1).split() if uses else [], USES[module], module)

    def test_examples_of_the_page_are_tested(self):
        page = (ROOT / "docs" / "dev" / "adding.md").read_text(encoding="utf-8")
        test = (ROOT / "tests" / "output" / "report" / "adding_test.cpp").read_text(encoding="utf-8")
        for file in sorted((ROOT / "docs" / "examples").glob("*.cpp")):
            self.assertIn(f"](../examples/{file.name})", page)
            self.assertIn(f'#include "docs/examples/{file.name}"', test)

    def test_commands_speak_through_the_console(self):
        """So that whoever calls them as functions hears them."""
        for path in sorted((SIM / "programs" / "command").glob("*.cpp")):
            if path.name != "console.cpp":
                self.assertNotRegex(path.read_text(), r"fmt::print\(|std::(cout|cerr|f?printf|f?puts|fwrite)", path.name)

    def test_every_source_is_listed(self):
        text = (SIM / "CMakeLists.txt").read_text()
        for path in SIM.rglob("*.cpp"):
            self.assertRegex(text, rf"\b{re.escape(path.name)}\b", str(path.relative_to(ROOT)))

    def test_every_test_is_run(self):
        """A file of tests that is in no list is never built, and nobody sees that it fails."""
        text = (ROOT / "tests" / "CMakeLists.txt").read_text()
        listed = {f"{module}/{file}" for module, files in re.findall(r"allreplay_test\(([\w/]+) ([^)]*)\)", text) for file in files.split()}
        listed |= set(re.findall(r"[\w/]+/\w+\.(?:cpp|py)", text))
        files = [path.relative_to(ROOT / "tests").as_posix() for pattern in ("*_test.cpp", "test_*.py") for path in sorted((ROOT / "tests").rglob(pattern))]
        self.assertGreater(len(files), 150)
        self.assertEqual([file for file in files if file not in listed], [])


MOST_LINES_OF_FILE, MOST_LINES_OF_FUNCTION = 450, 60


def functions(lines):
    """(line, number of lines) of every block that ends with a brace alone; in formatted sources what it contains is indented more than its first
    line. A table, from `= {`, `return {` or `all{` on, counts as one line: it is data."""
    indent = [len(line) - len(line.lstrip()) if line and line[0] != "#" else 1000 for line in lines]
    in_table = [0] * len(lines)
    for first, line in enumerate(lines):
        if re.search(r"(= |return |\w)\{$", line):
            last = next(i for i in range(first + 1, len(lines)) if indent[i] <= indent[first])
            in_table[first + 1:last + 1] = [1] * (last - first)
    for last, line in enumerate(lines):
        if line.strip() == "}":
            first = next(i for i in range(last - 1, -1, -1) if indent[i] <= indent[last])
            yield first + 1, last + 1 - first - sum(in_table[first:last + 1])


class Sizes(unittest.TestCase):
    def test_files_and_functions_are_short(self):
        for path in sorted(SIM.rglob("*.[ch]pp")):
            lines = path.read_text(encoding="utf-8").splitlines()
            with self.subTest(source=str(path.relative_to(ROOT))):
                self.assertLessEqual(len(lines), MOST_LINES_OF_FILE, "right: two files, or less")
                self.assertEqual([at for at, length in functions(lines) if length > MOST_LINES_OF_FUNCTION], [], "right: functions that are read at a glance")

    def test_the_check_finds_them(self):
        body = [f"  step({i});" for i in range(59)]
        table = ["  static const Row rows[] = {", *(f"      {{{i}}}," for i in range(100)), "  };", "  return rows;"]
        source = ["int f(int a,", "      int b)", "    : c(a) {", *body, "}", "", "Rows g() {", *table, "}"]
        self.assertEqual(list(functions(source)), [(1, 63), (65, 4)])


class Units(unittest.TestCase):
    """A number has one unit: a hole of a view writes its own, unless it has decimals ({busbw_GBps:2})."""

    UNIT = r"(?:[kMGT]?i?B|[kMGT]?bit|[mun]?s|ns/B|%)(?:/s)?"

    def test_texts(self):
        two = re.compile(rf"\d {self.UNIT} {self.UNIT}(?![\w/-])")
        for file in [*sorted((ROOT / "tests" / "golden").glob("*.txt")), *sorted((ROOT / "docs").rglob("*.md")), ROOT / "README.md"]:
            with self.subTest(file=file.name):
                self.assertEqual(two.findall(file.read_text(encoding="utf-8")), [])

    def test_views(self):
        two = re.compile(rf"\{{[\w/]*(?:_s|bytes|bandwidth|GBps|per_byte|share|efficiency|mfu)\}} {self.UNIT}(?![\w/-])")
        for file in sorted((ROOT / "sim" / "output" / "report").glob("*.cpp")):
            with self.subTest(file=file.name):
                self.assertEqual(two.findall(file.read_text(encoding="utf-8")), [])


class Release(unittest.TestCase):
    def test_one_version(self):
        """The version that is built is the newest that the changelog describes, is cited by, and the library's example asks for."""
        version = re.search(r"^project\(allreplay VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text(), re.M)[1]
        newest = re.search(r"^## (\d+\.\d+\.\d+) \((.*)\)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.M)
        citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
        self.assertEqual(newest[1], version)
        self.assertEqual(re.search(r"^version: (.*)$", citation, re.M)[1], version)
        self.assertEqual(re.search(r'^date-released: "(.*)"$', citation, re.M)[1], newest[2])
        example = (ROOT / "docs" / "examples" / "library" / "CMakeLists.txt").read_text()
        self.assertEqual(re.search(r"find_package\(allreplay (\d+) ", example)[1], version.split(".")[0])


if __name__ == "__main__":
    unittest.main()
