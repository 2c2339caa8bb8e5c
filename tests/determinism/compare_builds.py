#!/usr/bin/env python3
"""The same results from every build of the program: compilers, levels of optimisation, sanitizers, versions.

  tests/determinism/compare_builds.py build/dev/allreplay build/release/allreplay build/clang/allreplay
  tests/determinism/compare_builds.py --only fig10 PROGRAM PROGRAM
  tests/determinism/compare_builds.py --only none --random 300 --allow-new-keys BEFORE AFTER

Runs every sweep of configs/ with each program, two timelines, a search for the best plan and a tuning, and so many random settings of
all commands; compares what they write to the byte, except for measured times. Of a command that fails, only the exit status is compared.
Exit status 1 if two differ, with the first line that does.
"""

import argparse
import csv
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from random_settings import Settings

ROOT = Path(__file__).resolve().parents[2]
RUN = ("--profile", "resnet101_v100_b64", "--cluster", "v100-10gbe", "--workers", "16")
OTHERS = {
    "timeline": ("run", *RUN, "--strategy", "us-byte", "--timeline", "out.svg"),
    "trace": ("run", *RUN, "--strategy", "fsdp2", "--timeline", "out.json"),
    "plan": ("plan", *RUN, "--strategy", "best", "--json"),
    "tune": ("tune", *RUN, "--strategy", "bytescheduler", "--budget", "12", "--json"),
}

# Keys and columns of times that this machine takes, which differ from run to run.
MEASURED = ("wall_s", "encode_s", "decode_s", "encode_s_per_byte", "decode_s_per_byte", "exchange_s")


def sweep(program, config, folder, jobs):
    """The rows, without their last column."""
    out = Path(folder, "rows.csv")
    subprocess.run([program, "sweep", config, "--jobs", str(jobs), "--out", out, "--force"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with out.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    wall = rows[0].index("wall_s")
    return [",".join(row[:wall] + row[wall + 1:]) for row in rows]


def printed(program, command, folder, texts=True):
    """The lines that a command prints and writes, or its exit status if it fails. Without `texts`: what it prints only if that is data."""
    for name, text in (word for word in command if isinstance(word, tuple)):
        Path(folder, name).write_text(text, encoding="utf-8")
    words = [word for word in command if not isinstance(word, tuple)]
    done = subprocess.run([program, *words], cwd=folder, check=False, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    if done.returncode != 0:
        return [f"exit status {done.returncode}"]
    written = [path.read_text(encoding="utf-8") for path in sorted(Path(folder).glob("out.*"))]
    data = texts or {"--json", "--csv"} & set(words) or words[0] == "schedule"
    return [untimed(line) for line in "\n".join([*([done.stdout] if data else []), *written]).splitlines()]


def untimed(line):
    """A line of JSON without measured times."""
    return re.sub(rf'"({"|".join(MEASURED)})": ?[^,}}\n]*', r'"\1": 0', line)


def columns_of(lines):
    """The columns of a CSV by name, without measured times; None if the lines are no CSV."""
    rows = list(csv.reader(lines))
    if len(rows) < 2 or len(rows[0]) < 2 or any(len(row) != len(rows[0]) for row in rows) or not all(re.fullmatch(r"\w+", cell) for cell in rows[0]):
        return None
    return {name: column for name, *column in zip(*rows) if name not in MEASURED}


def value_of(lines):
    """The JSON value that the lines hold, its numbers as they are written; or the columns of a CSV; or the lines themselves."""
    try:
        return json.loads("\n".join(lines), parse_float=str, parse_int=str)
    except ValueError:
        return columns_of(lines) or lines


def difference(old, new, new_keys, place=""):
    """The first place at which a value differs from an older one, or None. Keys that only the newer one has are added to new_keys."""
    if isinstance(old, dict) and isinstance(new, dict):
        new_keys.update(re.sub(r"\d+", "N", f"{place}/{key}") for key in new.keys() - old.keys())
        pairs = [(key, old[key], new.get(key, "nothing")) for key in old]
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        pairs = [(index, *pair) for index, pair in enumerate(zip(old, new))]
    else:
        return None if old == new else f"{place}: {str(old)[:200]} and {str(new)[:200]}"
    return next((found for key, one, other in pairs if (found := difference(one, other, new_keys, f"{place}/{key}"))), None)


class Comparison:
    """Counts the results that differ, and prints where."""

    def __init__(self, allow_new_keys):
        self.allow_new_keys = allow_new_keys
        self.differing = self.lines = self.failing = 0
        self.new_keys = set()

    def add(self, name, programs, results):
        self.lines += len(results[0])
        self.failing += results[0][:1] == ["exit status 2"]
        for program, result in zip(programs[1:], results[1:]):
            found = self.compare(results[0], result)
            if found:
                self.differing += 1
                print(f"{name}: {programs[0]} and {program} differ:\n  {found}", flush=True)

    def compare(self, old, new):
        if self.allow_new_keys:
            return difference(value_of(old), value_of(new), self.new_keys)
        if columns_of(old):
            return difference(columns_of(old), columns_of(new), set()) or difference(columns_of(new), columns_of(old), set())
        if old == new:
            return None
        first = next((i for i, (a, b) in enumerate(zip(old, new)) if a != b), min(len(old), len(new)))
        return f"line {first + 1}\n  " + "\n  ".join(one[first] if first < len(one) else "nothing" for one in (old, new))


def cases_of(arguments):
    """Pairs of a name and a function that gives the lines that a program prints."""
    cases = [(config.stem, lambda program, folder, config=config: sweep(program, config, folder, arguments.jobs))
             for config in sorted((ROOT / "configs").glob("*.json")) if arguments.only in config.stem]
    if not arguments.only:
        cases += [(name, lambda program, folder, command=command: printed(program, command, folder)) for name, command in OTHERS.items()]
    settings = Settings(arguments.seed)
    for _ in range(arguments.random):
        command = settings.draw()
        name = " ".join(str(word) for word in command if not isinstance(word, tuple))
        cases.append((name, lambda program, folder, command=command: printed(program, command, folder, texts=False)))
    return cases


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="+", type=Path)
    parser.add_argument("--only", default="", help="sweeps whose name contains this")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--random", type=int, default=0, metavar="N", help="also so many random settings (0)")
    parser.add_argument("--seed", type=int, default=1, help="of the random settings (1)")
    parser.add_argument("--allow-new-keys", action="store_true", help="a later program may print more keys and columns, which are listed")
    arguments = parser.parse_args()
    programs = [path.resolve() for path in arguments.programs]
    comparison = Comparison(arguments.allow_new_keys)
    cases = cases_of(arguments)
    for name, case in cases:
        results = []
        for program in programs:
            with tempfile.TemporaryDirectory() as folder:
                results.append(case(program, folder))
        comparison.add(name, programs, results)
    for key in sorted(comparison.new_keys):
        print(f"new key {key}")
    print(f"{len(cases)} results of {len(programs)} programs, {comparison.lines} lines each, {comparison.failing} of them refusals: "
          f"{comparison.differing or 'none'} differ, {len(comparison.new_keys)} new keys")
    sys.exit(comparison.differing > 0)


if __name__ == "__main__":
    main()
