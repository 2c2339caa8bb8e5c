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
    """What a program is called with at each size, and how often."""

    starts = 1

    def __init__(self, name, sizes):
        self.name, self.sizes = name, sizes


class NetworkRow(Row):
    def __init__(self, name, sizes, kind, fidelity, collective, command="run", options=(), jitter=False, words=None):
        super().__init__(name, sizes)
        self.kind, self.fidelity, self.collective = kind, fidelity, collective
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


class ApartRow(Row):
    """One ring after another whose ranks start apart: seven iterations of a model of one layer, with jitter."""

    def arguments(self, folder, size):
        profile, cluster = pathlib.Path(folder) / "profile.json", pathlib.Path(folder) / "cluster.json"
        profile.write_text(json.dumps({
            "model": {"name": "one layer", "layers": [{"name": "fc", "tensors": [{"name": "weight", "shape": [25_000_000]}]}]},
            "device": "none", "framework": "none", "batch_size": 1, "precision": "fp32", "origin": "estimated",
            "source": "made up", "unit": "us", "layers": [{"name": "fc", "forward": 10_000, "backward": 20_000}],
        }))
        cluster.write_text(json.dumps({
            "name": "star", "workers": size, "jitter": {"distribution": "lognormal", "sigma": 0.05, "seed": 1},
            "network": {"alpha": "40 us", "gamma": "0 s/B", "line_rate": "10 Gbit/s", "fidelity": "message",
                        "topology": {"kind": "star", "link": LINK}},
        }))
        return ["run", "-p", str(profile), "-c", str(cluster), "-s", "wfbp", "--collective", "ring",
                "-o", "start=ranks", "-o", "iterations=2", "--json"]


class PipelineRow(Row):
    """128 layers as LLaMA-3 70B's, a tensor worker's eighth each, on 16 ranks: so many micro-batches, or workers."""

    def __init__(self, name, sizes, fidelity, words, workers=None):
        super().__init__(name, sizes)
        self.fidelity, self.words, self.workers = fidelity, list(words), workers

    def arguments(self, folder, size):
        names = [f"l{i}" for i in range(128)]
        profile, cluster = pathlib.Path(folder) / "profile.json", pathlib.Path(folder) / "cluster.json"
        profile.write_text(json.dumps({
            "model": {"name": "llama", "layers": [{"name": name, "tensors": [{"name": f"{name}.w", "shape": [106_954_752]}]} for name in names]},
            "device": "none", "framework": "none", "batch_size": 1, "precision": "bf16", "origin": "estimated",
            "source": "made up", "unit": "us", "parallel": {"tp": 8, "cp": 1},
            "layers": [{"name": name, "forward": 9_000, "backward": 18_000, "output_bytes": 134_217_728} for name in names],
        }))
        cluster.write_text(json.dumps({
            "name": "h100", "workers": self.workers or size,
            "network": {"node": {"workers": 8, "alpha": "1 us", "bandwidth": "370 GB/s"}, "alpha": "5 us", "bandwidth": "50 GB/s",
                        "rails": 8, "collective": "ring", "fidelity": self.fidelity},
        }))
        batches = size if self.workers else 64
        return ["run", "-p", str(profile), "-c", str(cluster), "-s", "ddp", "--pp", "16", "--micro-batches", str(batches), *self.words, "--json"]


class SweepRow(Row):
    """So many cheap rows, and their table."""

    def arguments(self, folder, size):
        file = pathlib.Path(folder) / "sweep.json"
        phases = {"each": "random:{}", "from": 1, "to": size}
        file.write_text(json.dumps({"profiles": ["lenet5_2xk40c_b128"], "clusters": ["k80-10gbe"],
                                    "strategies": [{"name": "us-byte", "second_phase": phases}]}))
        return ["sweep", str(file), "--force", "--out", str(pathlib.Path(folder) / "rows.csv")]


class ImportRow(Row):
    """A PyTorch profiler trace of so many MB: steps of 50 layers, each with what PyTorch and its profiler tell of it."""

    def arguments(self, folder, size):
        file = pathlib.Path(folder) / "trace.json"
        with file.open("w") as out:
            out.write('{"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "a GPU"}], "traceEvents": [')
            step = 0
            while out.tell() < size * 1_000_000:
                out.write(("" if step == 0 else ",") + ",\n".join(json.dumps(one) for one in self.step(step)))
                step += 1
            out.write("]}\n")
        return ["import", "--from", "kineto", str(file), "--out", str(pathlib.Path(folder) / "profile.json")]

    @staticmethod
    def step(step):
        layers, start, events = 50, step * 100_000, []

        def add(category, name, thread, ts, dur, **args):
            number = {"External id": step * 10_000 + len(events)} | args
            events.append({"ph": "X", "cat": category, "name": name, "pid": 1, "tid": thread, "ts": start + ts, "dur": dur, "args": number})

        def run(operator, thread, ts, dur, **args):
            for depth in range(4):
                add("python_function", f"torch/nn/modules/module.py({1500 + depth}): _call_impl", thread, ts, dur, **{"Python id": depth, "Python parent id": depth - 1})
            add("cpu_op", operator, thread, ts, dur, **args)
            add("kernel", "sm90_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize128x128x32_stage4_warpsize2x2x1_execute_kernel", 7, ts + 5, dur,
                **{"External id": events[-1]["args"]["External id"], "device": 0, "context": 1, "stream": 7, "correlation": ts, "registers per thread": 128,
                   "shared memory": 98304, "blocks per SM": 1.5, "warps per SM": 12.0, "grid": [8, 16, 1], "block": [128, 1, 1]})

        add("user_annotation", f"ProfilerStep#{step}", 1, 0, 90_000)
        for layer in range(layers):
            run("aten::linear", 1, 100 + 600 * layer, 300, **{"Input Dims": [[32, 1024], [1024, 1024], [1024]], "Sequence number": step * layers + layer, "Fwd thread id": 0})
        for layer in reversed(range(layers)):
            ts = 40_000 + 800 * (layers - layer)
            run("AddmmBackward0", 2, ts, 400, **{"Sequence number": step * layers + layer, "Fwd thread id": 1})
            for shape in ([1024], [1024, 1024]):
                run("torch::autograd::AccumulateGrad", 2, ts + 500, 20, **{"Input Dims": [shape], "Input type": ["float"]})
        return events


class StartRow(Row):
    """So many starts, one after another."""

    def arguments(self, folder, size):
        self.starts = size
        return ["--version"]


SERVER = ("fluid", "parameter-server", "run", ("-s", "wfbp"))
K = 1024
ROWS = [
    NetworkRow("parameter server, ring", (256, 512, K, 2 * K), "ring", *SERVER),
    NetworkRow("parameter server, star", (4 * K, 8 * K, 16 * K, 32 * K), "star", *SERVER),
    NetworkRow("parameter server, Fat-Tree", (2 * K, 4 * K, 8 * K, 16 * K), "fat-tree", *SERVER),
    NetworkRow("parameter server, torus", (K, 2 * K, 4 * K, 8 * K), "torus", *SERVER),
    NetworkRow("halving-doubling, ring", (4 * K, 8 * K, 16 * K, 32 * K), "ring", "fluid", "halving-doubling", "run",
        ("-s", "wfbp")),
    NetworkRow("double trees, ring", (2 * K, 4 * K, 8 * K, 16 * K), "ring", "fluid", "double-binary-tree", "run",
        ("-s", "wfbp")),
    NetworkRow("BML, BCube(n, 4)", (4096, 10_000, 20_736, 65_536), "bcube", "fluid", "bml", "run", ("-s", "wfbp")),
    NetworkRow("bytescheduler, credit 64, Fat-Tree", (256, 512, K, 2 * K), "fat-tree", "fluid", "ring", "run",
        ("-s", "bytescheduler", "-o", "credit=64")),
    NetworkRow("bytescheduler, 2048, in flight", (8, 16, 32, 64), "fat-tree", "fluid", "ring", "run",
        ("-s", "bytescheduler"), words="credit={}"),
    NetworkRow("best, Fat-Tree", (256, 512, K, 2 * K), "fat-tree", "fluid", "ring", "run", ("-s", "best")),
    NetworkRow("tune bytescheduler, Fat-Tree", (256, 512, K, 2 * K), "fat-tree", "fluid", "ring", "tune",
        ("-s", "bytescheduler")),
    NetworkRow("recommend, Fat-Tree", (256, 512, K, 2 * K), "fat-tree", "fluid", "ring", "recommend"),
    NetworkRow("jitter, alpha-beta", (256, 512, K, 2 * K), "star", "alpha-beta", "ring", "run", ("-s", "wfbp"), jitter=True),
    NetworkRow("ring, messages, star", (K, 2 * K, 4 * K, 8 * K), "star", "message", "ring", "collective",
        ("--bytes", "100MB")),
    NetworkRow("ring, messages, Fat-Tree", (512, K, 2 * K, 4 * K), "fat-tree", "message", "ring", "collective",
        ("--bytes", "100MB")),
    NetworkRow("double trees, messages, Fat-Tree", (512, K, 2 * K, 4 * K), "fat-tree", "message", "double-binary-tree",
        "collective", ("--bytes", "100MB")),
    ApartRow("ring, messages, ranks apart, star", (256, 512, K, 2 * K)),
    PipelineRow("pipeline, interleaved, micro-batches", (64, 128, 256, 512), "alpha-beta", ("--schedule", "interleaved", "--chunks", "8"),
        workers=1024),
    PipelineRow("pipeline, 1f1b, fluid, workers", (2 * K, 4 * K, 8 * K, 16 * K), "fluid", ("--schedule", "1f1b")),
    SweepRow("sweep, rows", (12_500, 25_000, 50_000, 100_000)),
    ImportRow("import, MB of a Kineto trace", (250, 500, 1000, 2000)),
    StartRow("starts", (25, 50, 100, 200)),
]


def measure(program, arguments, limit, starts=1):
    """Processor seconds, megabytes, and what it wrote but for the clock and its events; None where the limit came first."""
    if starts > 1:
        several = [measure(program, arguments, limit) for _ in range(starts)]
        return sum(one[0] for one in several), several[0][1], b"" if arguments == ["--version"] else several[0][2]
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
        written = re.sub(rb'"(wall_s|events)": [^,}\s]+', b"", out.read())
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
                arguments = row.arguments(folder, size)
                for program, points in zip(programs, found):
                    late = points and points[-1][1] is None
                    points.append((size, None if late else measure(program, arguments, options.limit, row.starts)))
        both = [[one[2] for _, one in pair] for pair in zip(*found) if all(one for _, one in pair)]
        same = all(len(set(written)) == 1 for written in both) if len(programs) > 1 else None
        result = "" if same is None else "same" if same else "differ"
        before = cell(found[1]) if len(programs) > 1 else ""
        print(f"| {row.name} | {row.sizes[0]} to {row.sizes[-1]} | {cell(found[0])} | {before} | {result} |", flush=True)


if __name__ == "__main__":
    main()
