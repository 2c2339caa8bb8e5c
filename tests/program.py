"""What the scripts of tests share: where things stand, running the program, a folder of one's own, tables.

ALLREPLAY_PROGRAM names the program (build/release/allreplay), ALLREPLAY_REFERENCE_DATA the folder of published
measurements (../shared/data); what needs one of them is skipped where it is absent.
"""

import csv
import importlib.util
import json
import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PROGRAM = Path(os.environ.get("ALLREPLAY_PROGRAM", ROOT / "build" / "release" / "allreplay")).resolve()
REFERENCE = Path(os.environ.get("ALLREPLAY_REFERENCE_DATA", ROOT.parent / "shared" / "data"))

WIDE = {**os.environ, "COLUMNS": "100000"}  # no line is broken on such a screen

needs_program = unittest.skipUnless(PROGRAM.is_file(), f"no program at {PROGRAM} (ALLREPLAY_PROGRAM says where it is)")


def needs(path):
    """Skips a test where a file or folder of published measurements is absent."""
    return unittest.skipUnless(path.exists(), f"no published data at {path} (ALLREPLAY_REFERENCE_DATA says where it is)")


def run(*arguments, **how):
    """The finished process of the program."""
    return subprocess.run([PROGRAM, *map(str, arguments)], **{"capture_output": True, "text": True, "check": False, **how})


def success(*arguments, **how):
    """The finished process of a run of the program that succeeds."""
    done = run(*arguments, **how)
    assert done.returncode == 0, f"allreplay {' '.join(map(str, arguments))}: exit {done.returncode}: {done.stderr}"
    return done


def output(*arguments, **how):
    """What a successful run of the program prints."""
    return success(*arguments, **how).stdout


def answer(*arguments, **how):
    """What a successful run of the program prints with --json, read."""
    return json.loads(output(*arguments, "--json", **how))


def refusal(*arguments, **how):
    """The one line with which the program refuses: it prints nothing else, and its exit status is 2."""
    done = run(*arguments, **how)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), \
        f"allreplay {' '.join(map(str, arguments))}: exit {done.returncode}: {done.stdout}{done.stderr}"
    return done.stderr


def without_progress(stderr):
    """Standard error without the lines of progress, which only a run of over 30 s prints."""
    return re.sub(r"^[^\n]*: \d+ of \d+(, [^\n]* left)?\n", "", stderr, flags=re.MULTILINE)


PLACE = re.compile(r"--?[\w-]+( \w+)?(?=: )|/[^:]*(?=: )|(line|row) \d+([,:] [\w ]+)?(?=: )")


def place_of(error):
    """The file and the place that the one line of an error names: "command line: --workers", "c.json: /network", "m.csv: line 2"."""
    assert re.fullmatch(r"[^\n]+: [^\n]+\n", error), f"not the one line of an error: {error!r}"
    file, rest = error.split(": ", 1)
    place = PLACE.match(rest)
    return f"{file}: {place[0]}" if place else file


def pasted(command):
    """The words that a shell hands to the program, of a command as it is printed."""
    script = 'allreplay() { printf "%s\\0" "$@"; }\n' + command
    done = subprocess.run(["sh", "-e", "-c", script], capture_output=True, text=True, check=True)
    return done.stdout.split("\0")[:-1]


def listed(what):
    """The names that `allreplay list` gives."""
    return output("list", what, "--names").splitlines()


def with_degrees(trace, command):
    """A worked case's trace. The contract's cases leave out that it is one worker's of a tensor group of two."""
    if trace and "--tp 2" in command and not any("collectives" in layer for layer in trace["layers"]):
        return {"parallel": {"tp": 2, "cp": 1}} | trace
    return trace


def rows_of(file):
    """The rows of a CSV file, by column."""
    with open(file, encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def untimed_rows(text):
    """The lines of a CSV of results as lists of fields, without the column wall_s, which differs from run to run."""
    lines = list(csv.reader(text.splitlines()))
    place = lines[0].index("wall_s")
    return [fields[:place] + fields[place + 1:] for fields in lines]


def tool_named(name):
    """A script of tools/ as a module."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Case(unittest.TestCase):
    """In a folder of its own, with a blank in its name."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="all replay ")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def run_program(self, *arguments, **how):
        """The finished process of the program, run in the folder."""
        return run(*arguments, **{"cwd": self.folder, **how})

    def success(self, *arguments, **how):
        return success(*arguments, **{"cwd": self.folder, **how})

    def output(self, *arguments, **how):
        return output(*arguments, **{"cwd": self.folder, **how})

    def answer(self, *arguments, **how):
        return answer(*arguments, **{"cwd": self.folder, **how})

    def refusal(self, *arguments, **how):
        return refusal(*arguments, **{"cwd": self.folder, **how})

    def write(self, name, content):
        """Writes a text, or anything else as JSON, to a file in the folder. Returns its name."""
        (self.folder / name).write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return name
