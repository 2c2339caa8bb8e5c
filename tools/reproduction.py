#!/usr/bin/env python3
"""Set the papers' claims beside the simulator's numbers, and write docs/reproduction.md.

  tools/reproduction.py [--program FILE] [--sweeps DIR] [--out FILE]

DIR keeps the CSV files of the sweeps; what is there already is not simulated again. The page is generated: correct
tools/claims/, not the page. tools/reproduce.sh calls this, and draws the figures.
"""
import argparse
import pathlib
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))

from claims import gtopk, mergecomp  # noqa: E402
from claims.sweeps import Sweeps  # noqa: E402

PAPERS = (gtopk, mergecomp)
HEAD = "| where | claim | paper | ours | difference | verdict | why |\n|---|---|--:|--:|--:|---|---|"


def section(paper, sweeps):
    rows = ["| " + " | ".join(cell.replace("|", "\\|") for cell in claim) + " |" for claim in paper.claims(sweeps)]
    return f"## {paper.TITLE}\n\n{paper.INPUTS}\n\n" + "\n".join([HEAD, *rows]) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=str(ROOT / "build" / "release" / "allreplay"), help="the program allreplay")
    parser.add_argument("--sweeps", type=pathlib.Path, help="folder of the sweeps' CSV files (a temporary one)")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "docs" / "reproduction.md", help="the page to write")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = arguments.sweeps or pathlib.Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        sweeps = Sweeps(arguments.program, folder)
        print("\n".join(section(paper, sweeps) for paper in PAPERS))


if __name__ == "__main__":
    main()
