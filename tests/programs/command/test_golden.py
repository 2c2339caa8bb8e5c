#!/usr/bin/env python3
"""The text that each command prints, compared with tests/golden/NAME.txt, whose first line is the command.

  tests/programs/command/test_golden.py --update   writes all of these texts again

Texts are compared only here and in the blocks of the tutorial and the pages; all other tests read JSON, CSV and exit statuses.
Every number of a text has to occur in the JSON of the same command.
"""

import difflib
import json
import os
import re
import shlex
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from program import ROOT, WIDE, Case, needs_program  # noqa: E402

FOLDER = ROOT / "tests" / "golden"
SCREEN = {**os.environ, "COLUMNS": "80"}
TEXTS = sorted(path.stem for path in FOLDER.glob("*.txt"))
WITHOUT_JSON = ("error", "estimate", "export", "help", "import", "list", "schedule")

# Numbers of a text that are not in the JSON of its command: where this is an array, they are in the document around its rows
# (tests/programs/command/views_test.cpp). --update writes the list again; a longer one needs a reason.
NOT_IN_JSON = FOLDER / "not_in_json.json"

# How many of a unit make one of what JSON counts in: seconds, bytes, bytes per second, shares.
UNITS = {"s": 1, "ms": 1e3, "us": 1e6, "ns": 1e9, "min": 1 / 60, "h": 1 / 3600, "d": 1 / 86400, "%": 100, "B": 1, "kB": 1e-3, "MB": 1e-6,
         "GB": 1e-9, "TB": 1e-12, "KiB": 2**-10, "MiB": 2**-20, "GiB": 2**-30, "B/s": 1, "MB/s": 1e-6, "GB/s": 1e-9, "Mbit/s": 8e-6,
         "Gbit/s": 8e-9, "Tbit/s": 8e-12, "ns/B": 1e9, "us/B": 1e6, "ps/B": 1e12, "GHz": 1e-9}
UNIT = "|".join(sorted(map(re.escape, UNITS), key=len, reverse=True))
# Not a part of a name, such as k80, 2.0 or fsdp2.
NUMBER = re.compile(rf"(?<![\w./:-])[-+]?(\d+(?:\.\d+)?(?:e[-+]?\d+)?)(?:x(?!\w)| ?({UNIT})(?![\w/]))?(?![\w/]|[-.:]\w)")


def words_of(name):
    """The arguments of the command in the first line."""
    first = (FOLDER / f"{name}.txt").read_text(encoding="utf-8").split("\n", 1)[0]
    assert first.startswith("$ allreplay "), f"{name}.txt does not start with a command: {first}"
    return shlex.split(first)[2:]


def numbers_of_json(value):
    """All numbers of a JSON value, those in its texts included, in the units of JSON; and the sizes of its lists."""
    if isinstance(value, dict):
        scaled = {key: part * 1e9 if key.endswith("_GBps") and part else part for key, part in value.items() if key != "wall_s"}
        return [number for part in scaled.values() for number in numbers_of_json(part)]
    if isinstance(value, list):
        return [len(value), *(number for part in value for number in numbers_of_json(part))]
    if isinstance(value, str):
        return [float(number) / UNITS.get(unit, 1) for number, unit in NUMBER.findall(value)]
    return [] if value is None else [float(value)]


def numbers_of_text(text):
    """Pairs of a number as it is written and the unit behind it, or above it in a table ("" if there is none)."""
    found, units = [], {}
    lines = text.split("\n")
    for place, line in enumerate(lines):
        if not line.strip():
            units = {}
        elif re.fullmatch(r"-{3,}", line):  # the line above has the units, which end where the numbers end
            units = {match.end(): match[0] for match in re.finditer(r"\S+", lines[place - 1]) if match[0] in UNITS}
        elif place + 2 < len(lines) and any(re.fullmatch(r"-{3,}", other) for other in lines[place + 1:place + 4]):
            continue  # names of columns
        else:
            above = {**{end - 1: unit for end, unit in units.items()}, **units}  # a mark may stand behind a number
            found += [(match[1], match[2] or above.get(match.end(), "")) for match in NUMBER.finditer(line)]
    return found


def occurs(written, unit, numbers):
    """True if one of the numbers, in this unit, is rounded to what is written."""
    digits = len(written.split(".")[1]) if re.fullmatch(r"\d+\.\d+", written) else 0
    half = 0.5000001 * 10**-digits if "e" not in written else 0.01 * float(written)
    return any(abs(abs(number) * UNITS.get(unit, 1) - float(written)) <= half for number in numbers)


@needs_program
class Golden(Case):
    def setUp(self):
        super().setUp()
        for name in ("docs", "tests"):
            (self.folder / name).symlink_to(ROOT / name)

    def printed(self, name, screen=None):
        """Returns the results that the command prints, or its error."""
        done = self.run_program(*words_of(name), env=screen or SCREEN)
        self.assertEqual(done.returncode, 2 if name == "error" else 0, done.stderr)
        return done.stderr if name == "error" else done.stdout

    def test_texts_are_as_they_were(self):
        for name in TEXTS:
            with self.subTest(name):
                _, before = (FOLDER / f"{name}.txt").read_text(encoding="utf-8").split("\n", 1)
                difference = list(difflib.unified_diff(before.splitlines(), self.printed(name).splitlines(), "before", "now", n=1, lineterm=""))
                shown = "\n".join(difference[:20])
                self.assertFalse(difference, f"\n{shown}\nIf this is right: ALLREPLAY_PROGRAM=... tests/programs/command/test_golden.py --update")

    def numbers_not_in_json(self, name):
        """Numbers with their units that stand in the text of a command and not in its JSON."""
        numbers = numbers_of_json(self.answer(*words_of(name))) + numbers_of_json(words_of(name))
        return sorted({f"{written} {unit}".strip() for written, unit in numbers_of_text(self.printed(name, WIDE)) if not occurs(written, unit, numbers)})

    def test_every_number_is_in_the_json(self):
        known = json.loads(NOT_IN_JSON.read_text(encoding="utf-8"))
        self.assertEqual([name for name in known if name not in TEXTS], [])
        for name in TEXTS:
            if name not in WITHOUT_JSON:
                with self.subTest(name):
                    self.assertEqual(self.numbers_not_in_json(name), known.get(name, []))


def update():
    """Writes all texts again."""
    case = Golden()
    case.setUp()
    for name in TEXTS:
        path = FOLDER / f"{name}.txt"
        text = path.read_text(encoding="utf-8").split("\n", 1)[0] + "\n" + case.printed(name)
        path.write_text(text, encoding="utf-8")
    missing = {name: case.numbers_not_in_json(name) for name in TEXTS if name not in WITHOUT_JSON}
    NOT_IN_JSON.write_text(json.dumps({name: numbers for name, numbers in missing.items() if numbers}, indent=1) + "\n", encoding="utf-8")
    case.doCleanups()


if __name__ == "__main__":
    if sys.argv[1:] == ["--update"]:
        update()
    else:
        unittest.main()
