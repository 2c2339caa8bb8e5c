#!/usr/bin/env python3
"""The errors that `judge` knows (sim/studies/calibration/known_errors.cpp) are those of the pages of docs/generated/.

Run: python3 tests/tools/test_known_errors.py [--update]   (--update writes the pages' numbers into the source)
"""

import re
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "sim" / "studies" / "calibration" / "known_errors.cpp"
PAGES = {name: (ROOT / "docs" / "generated" / f"{name}.md").read_text(encoding="utf-8") for name in ("validation", "hybrids")}
STRING = r'"((?:[^"\\]|\\.)*)"'
TRIPLE = r"\{(\d+), ([\d.]+), ([\d.]+)\}"
ROW = re.compile(rf'\{{{STRING},\s*\{{\w+, \w+, \w+, {STRING}\}},\s*\w+,\s*(?P<all>{TRIPLE})(?:,\s*(?:ErrorQuantiles(?P<matters>{TRIPLE})|std::nullopt))?(?:,\s*"(?P<row>[^"]+)")?')
SIZES = re.compile(rf"\{{{STRING},\s*(?P<points>\d+),\s*(?P<errors>\{{\{{\{{.*?\}}\}}\}})\}}", re.S)
MATTERS = ": where it matters"


def cells(page, name):
    """The cells of the first row of a page that has this name."""
    line = next(line for line in PAGES[page].splitlines() if line.startswith(f"| {name} |"))
    return [cell.strip() for cell in line.strip("|").split("|")][1:]


def cells_under(page, heading, name):
    section = next(one for one in PAGES[page].split("\n## ") if one.startswith(heading + "\n"))
    line = next(line for line in section.splitlines() if line.startswith(f"| {name} |"))
    return [cell.strip() for cell in line.strip("|").split("|")][1:]


def share(percent):
    return float(percent.rstrip(" %")) / 100


def triple(numbers):
    points, median, most = numbers[:3]
    return f"{{{points}, {share(median):.3f}, {share(most):.3f}}}"


def renewed(source):
    """The source with the numbers of the pages."""
    def row(match):
        data, name = match[1], match["row"]
        page = "hybrids" if name else "validation"
        numbers = cells_under(page, data, name) if name else cells(page, data)
        text = match[0].replace(match["all"], triple(numbers))
        if match["matters"]:
            text = text.replace("ErrorQuantiles" + match["matters"], "ErrorQuantiles" + triple(cells(page, data + MATTERS)))
        return text

    def sizes(match):
        points, *errors = cells("validation", match[1])
        pairs = [[share(one) for one in error.split(",")] for error in errors]
        numbers = ", ".join(f"{{0, {median:.3f}, {most:.3f}}}" for median, most in pairs)
        return match[0].replace(match["errors"], "{{" + numbers + "}}").replace(f" {match['points']},", f" {points},", 1)

    return SIZES.sub(sizes, ROW.sub(row, source))


class KnownErrors(unittest.TestCase):
    def test_the_numbers_are_those_of_the_pages(self):
        source = SOURCE.read_text(encoding="utf-8")
        self.assertGreaterEqual(len(ROW.findall(source)), 17)
        self.assertEqual(len(SIZES.findall(source)), 2)
        flat = re.compile(r"\s+").sub
        self.assertEqual(flat(" ", renewed(source)), flat(" ", source), "pages have changed: tests/tools/test_known_errors.py --update")

    def test_a_changed_number_is_found(self):
        source = SOURCE.read_text(encoding="utf-8")
        changed = re.sub(r"\{42, 0\.\d+", "{42, 0.999", source, count=1)
        self.assertNotEqual(changed, source)
        self.assertEqual(re.sub(r"\s+", " ", renewed(changed)), re.sub(r"\s+", " ", renewed(source)))


if __name__ == "__main__":
    if sys.argv[1:] == ["--update"]:
        SOURCE.write_text(renewed(SOURCE.read_text(encoding="utf-8")), encoding="utf-8")
    else:
        unittest.main()
