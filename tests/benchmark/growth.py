#!/usr/bin/env python3
"""What grows with the workers, beside another version: growth.py PROGRAM [BEFORE] [--rows REGEX] [--limit SECONDS]

Each row runs at four sizes or more, the two programs in turn. The table has processor time and peak memory of the
largest, the exponent of time in size (least squares of the logarithms), and whether both wrote the same results.
The process's start is in all of it, so that exponents of what takes milliseconds say little."""
import argparse
import json
import math
import os
import pathlib
import re
import subprocess
import tempfile

PROFILE = "densenet201_v100_b64"  # 604 tensors
LINK = {"latency": "2.5 us", "bandwidth": "10 Gbit/s"}


def topology(kind, n):
    """A topology of that kind with about n hosts, and how many it has."""
    if kind in ("ring", "star"):  # as many as there are workers
        return {"kind": kind}, n
    if kind == "torus":  # 8 by 2^a by 2^b
        power = (n // 8).bit_length() - 1
        sizes = [8, 2 ** (power // 2), 2 ** (power - power // 2)]
        return {"kind": kind, "dimensions": sizes}, math.prod(sizes)
    if kind == "fat-tree":
        ports = next(k for k in range(4, 200, 2) if k**3 // 4 >= n * 0.97)
        return {"kind": kind, "ports": ports}, min(n, ports**3 // 4)
    n_of_bcube = round(n**0.25)
    return {"kind": "bcube", "n": n_of_bcube, "k": 4}, n_of_bcube**4


class Row:
    def __init__(self, name, sizes, kind, fidelity, collective, command="run", options=(), jitter=False, words=None):
        self.name, self.sizes, self.kind, self.fidelity, self.collective = name, sizes, kind, fidelity, collective
        self.command, self.options, self.jitter, self.words = command, list(options), jitter, words

    def arguments(self, folder, size):
        spec, workers = topology(self.kind, size if self.words is None else 2048)
        cluster = {
            "name": self.kind, "workers": workers,
            "network": {"alpha": "40 us", "gamma": "0 s/B", "line_rate": "10 Gbit/s", "fidelity": self.fidelity,
                        "topology": spec | {"link": LINK}},
        }
        if self.jitter:
            cluster["jitter"] = {"distribution": "lognormal", "sigma": 0.05, "seed": 1}
        file = pathlib.Path(folder) / "cluster.json"
        file.write_text(json.dumps(cluster))
        options = self.options + ([] if self.words is None else ["-o", self.words.format(size)])
        profile = [] if self.command == "collective" else ["-p", PROFILE]
        return [self.command, *profile, "-c", str(file), "--collective", self.collective, *options, "--json"]


SERVER = ("fluid", "parameter-server", "run", ("-s", "wfbp"))
K = 1024
ROWS = [
    Row("parameter server, ring", (256, 512, K, 2 * K), "ring", *SERVER),
    Row("parameter server, star", (4 * K, 8 * K, 16 * K, 32 * K), "star", *SERVER),
    Row("parameter server, Fat-Tree", (2 * K, 4 * K, 8 * K, 16 * K), "fat-tree", *SERVER),
    Row("parameter server, torus", (K, 2 * K, 4 * K, 8 * K), "torus", *SERVER),
    Row("halving-doubling, ring", (4 * K, 8 * K, 16 * K, 32 * K), "ring", "fluid", "halving-doubling", "run",
        ("-s", "wfbp")),
    Row("double trees, ring", (2 * K, 4 * K, 8 * K, 16 * K), "ring", "fluid", "double-binary-tree", "run",
        ("-s", "wfbp")),
    Row("BML, BCube(n, 4)", (4096, 10_000, 20_736, 65_536), "bcube", "fluid", "bml", "run", ("-s", "wfbp")),
    Row("bytescheduler, credit 64, Fat-Tree", (256, 512, K, 2 * K), "fat-tree", "fluid", "ring", "run",
        ("-s", "bytescheduler", "-o", "credit=64")),
    Row("bytescheduler, 2048, in flight", (8, 16, 32, 64), "fat-tree", "fluid", "ring", "run",
        ("-s", "bytescheduler"), words="credit={}"),
    Row("best, Fat-Tree", (256, 512, K, 2 * K), "fat-tree", "fluid", "ring", "run", ("-s", "best")),
    Row("tune bytescheduler, Fat-Tree", (256, 512, K, 2 * K), "fat-tree", "fluid", "ring", "tune",
        ("-s", "bytescheduler")),
    Row("recommend, Fat-Tree", (256, 512, K, 2 * K), "fat-tree", "fluid", "ring", "recommend"),
    Row("jitter, alpha-beta", (256, 512, K, 2 * K), "star", "alpha-beta", "ring", "run", ("-s", "wfbp"), jitter=True),
    Row("ring, messages, star", (K, 2 * K, 4 * K, 8 * K), "star", "message", "ring", "collective",
        ("--bytes", "100MB")),
    Row("ring, messages, Fat-Tree", (512, K, 2 * K, 4 * K), "fat-tree", "message", "ring", "collective",
        ("--bytes", "100MB")),
    Row("double trees, messages, Fat-Tree", (512, K, 2 * K, 4 * K), "fat-tree", "message", "double-binary-tree",
        "collective", ("--bytes", "100MB")),
]


def measure(program, arguments, limit):
    """Processor seconds, megabytes, and what it wrote but for the clock; None where the limit came first."""
    with tempfile.TemporaryFile() as out:
        # The limit is one of processor time, so that a busy machine changes nothing.
        process = subprocess.Popen(["prlimit", f"--cpu={limit}", program, *arguments], stdout=out,
                                   stderr=subprocess.PIPE)
        complaint = process.stderr.read().decode()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode < 0:
            return None
        if process.returncode != 0:
            raise SystemExit(f"{' '.join(arguments)}: {complaint}")
        out.seek(0)
        written = re.sub(rb'"wall_s": [^,}\s]+', b"", out.read())
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, written


def exponent(points):
    """The slope of log(time) over log(size)."""
    logs = [(math.log(size), math.log(max(seconds, 1e-3))) for size, seconds in points]
    mean_x, mean_y = (sum(one[i] for one in logs) / len(logs) for i in (0, 1))
    return sum((x - mean_x) * (y - mean_y) for x, y in logs) / sum((x - mean_x) ** 2 for x, _ in logs)


def cell(points):
    if points[-1][1] is None:
        return f"over the limit, from {next(size for size, found in points if found is None)} on"
    seconds, megabytes, _ = points[-1][1]
    return f"{seconds:.2f} s, {megabytes:.0f} MB, {exponent([(size, found[0]) for size, found in points]):.1f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("before", nargs="?")
    parser.add_argument("--rows", default="")
    parser.add_argument("--limit", type=int, default=60, help="of processor time a run, in seconds")
    options = parser.parse_args()
    programs = [options.program] + ([options.before] if options.before else [])
    print("| what | sizes | now | before | results |\n|---|---|--:|--:|---|")
    for row in (one for one in ROWS if re.search(options.rows, one.name)):
        found = [[] for _ in programs]
        with tempfile.TemporaryDirectory() as folder:
            for size in row.sizes:
                for program, points in zip(programs, found):
                    late = points and points[-1][1] is None
                    points.append((size, None if late else measure(program, row.arguments(folder, size), options.limit)))
        both = [[one[2] for _, one in pair] for pair in zip(*found) if all(one for _, one in pair)]
        same = all(len(set(written)) == 1 for written in both) if len(programs) > 1 else None
        result = "" if same is None else "same" if same else "differ"
        before = cell(found[1]) if len(programs) > 1 else ""
        print(f"| {row.name} | {row.sizes[0]} to {row.sizes[-1]} | {cell(found[0])} | {before} | {result} |", flush=True)


if __name__ == "__main__":
    main()
