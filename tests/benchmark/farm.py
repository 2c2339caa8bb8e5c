#!/usr/bin/env python3
"""What a sweep costs in several processes: 100,000 cheap rows by --jobs, by shares at once, and by ranks of MPI, in one run.

By hand: tests/benchmark/farm.py [PROGRAM] [ROWS]. Times by the clock and of all processors; figures: docs/dev/performance.md.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build" / "release" / "allreplay").resolve()
ROWS = int(sys.argv[2]) if len(sys.argv) > 2 else 100_000
ENVIRONMENT = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
               "OMPI_MCA_hwloc_base_binding_policy": "none"}


def measured(commands, folder):
    """(seconds by the clock, seconds of processors) of commands that run at once."""
    used = lambda: sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
    start, before = time.monotonic(), used()
    running = [subprocess.Popen(command, cwd=folder, env=ENVIRONMENT, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for command in commands]
    for process in running:
        if process.wait() != 0:
            sys.exit(f"{' '.join(map(str, process.args))}: exit status {process.returncode}")
    return time.monotonic() - start, used() - before


def main():
    with tempfile.TemporaryDirectory() as folder:
        sweep = {"profiles": ["lenet5_2xk40c_b128"], "clusters": ["k80-10gbe"], "strategies": [{"name": "us-byte", "second_phase": {"each": "random:{}", "from": 1, "to": ROWS}}]}
        Path(folder, "s.json").write_text(json.dumps(sweep), encoding="utf-8")
        command = [PROGRAM, "sweep", "s.json", "--force"]
        ways = [(f"--jobs {jobs}", [[*command, "--jobs", str(jobs), "--out", "jobs.csv"]]) for jobs in (1, 2, 4)]
        ways += [(f"{count} shares at once", [[*command, "--jobs", "1", "--shard", f"{i}/{count}", "--out", f"part-{i}.csv"] for i in range(count)]) for count in (1, 2, 4)]
        ways += [("--merge of the 4", [[*command, "--merge", *(f"part-{i}.csv" for i in range(4)), "--out", "merged.csv"]])]
        ways += [(f"mpirun, rank 0 and {ranks - 1} more", [["mpirun", "-n", str(ranks), *command, "--engine", "mpi", "--out", "mpi.csv"]]) for ranks in (2, 3, 5)]
        for name, commands in ways:
            wall, used = measured(commands, folder)
            print(f"{name:28} {wall:7.1f} s by the clock {used:7.1f} s of processors {used / ROWS * 1e6:7.1f} us a row", flush=True)


if __name__ == "__main__":
    main()
