#!/usr/bin/env python3
"""The same results from every build of the program: compilers, levels of optimisation, sanitizers.

  tests/determinism/compare_builds.py build/dev/allreplay build/release/allreplay build/clang/allreplay
  tests/determinism/compare_builds.py --only fig10 PROGRAM PROGRAM

Runs every sweep of configs/ with each program, two timelines, a search for the best plan and a tuning; compares what they write to the
byte, but for the column that says how long a simulation took. Exit status 1 where two differ, with the first line that does.
"""

import argparse
import csv
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RUN = ("--profile", "resnet101_v100_b64", "--cluster", "v100-10gbe", "--workers", "16")
OTHERS = {
    "timeline": ("run", *RUN, "--strategy", "us-byte", "--timeline", "out.svg"),
    "trace": ("run", *RUN, "--strategy", "fsdp2", "--timeline", "out.json"),
    "plan": ("plan", *RUN, "--strategy", "best", "--json"),
    "tune": ("tune", *RUN, "--strategy", "bytescheduler", "--budget", "12", "--json"),
}


def sweep(program, config, folder, jobs):
    """The rows, without their last column."""
    out = Path(folder, "rows.csv")
    subprocess.run([program, "sweep", config, "--jobs", str(jobs), "--out", out, "--force"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with out.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    wall = rows[0].index("wall_s")
    return [",".join(row[:wall] + row[wall + 1:]) for row in rows]


def other(program, command, folder):
    """All that a command prints and writes."""
    done = subprocess.run([program, *command], cwd=folder, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    written = [path.read_text(encoding="utf-8") for path in sorted(Path(folder).glob("out.*"))]
    return "\n".join([done.stdout, *written]).splitlines()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="+", type=Path)
    parser.add_argument("--only", default="", help="sweeps whose name contains this")
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    programs = [path.resolve() for path in arguments.programs]
    cases = [(config.stem, lambda program, folder, config=config: sweep(program, config, folder, arguments.jobs))
             for config in sorted((ROOT / "configs").glob("*.json")) if arguments.only in config.stem]
    if not arguments.only:
        cases += [(name, lambda program, folder, command=command: other(program, command, folder)) for name, command in OTHERS.items()]
    differing = lines = 0
    for name, case in cases:
        results = []
        for program in programs:
            with tempfile.TemporaryDirectory() as folder:
                results.append(case(program, folder))
        lines += len(results[0])
        for program, result in zip(programs[1:], results[1:]):
            if result == results[0]:
                continue
            differing += 1
            first = next((i for i, (a, b) in enumerate(zip(results[0], result)) if a != b), min(len(results[0]), len(result)))
            print(f"{name}: {arguments.programs[0]} and {program} differ in line {first + 1}:")
            for one in (results[0], result):
                print("  " + (one[first] if first < len(one) else "nothing"))
    print(f"{len(cases)} results of {len(programs)} programs, {lines} lines each: {differing or 'none'} differ")
    sys.exit(differing > 0)


if __name__ == "__main__":
    main()
