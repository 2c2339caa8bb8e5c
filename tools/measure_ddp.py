#!/usr/bin/env python3
"""Measure what docs/generated/validation.md says of two CPU processes that train with DistributedDataParallel on gloo: by hand, on any machine with PyTorch.

  tools/measure_ddp.py [--runs N] [--out FILE]

Each run measures, one after another: the model alone by tools/profile_torch.py, with one thread; gloo's all-reduce between two processes, by size; and in these
two processes, in turn, an iteration of the model alone and one of real DDP, so that both see the same load. What was measured is written as JSON, from which
tools/validate.py predicts. A busy machine shows in the runs' spread; the load is noted.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent

BATCH, BUCKET_MIB, WORKERS = 8, 1, 2
WARMUP, ITERATIONS = 2, 12
SIZES = [1 << i for i in range(12, 25)]  # 4 KiB to 16 MiB


def make_model():
    """Five convolutions and a linear layer: 3.9 million parameters, of which most have their gradients early."""
    from torch import nn
    layers, channels = [], 3
    for more, pool in ((64, True), (128, True), (256, False), (512, True), (512, False)):
        layers += [nn.Conv2d(channels, more, 3, padding=1), nn.ReLU(), *[nn.MaxPool2d(2)] * pool]
        channels = more
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 10))


def middle_mean(times):
    """The mean over the middle half, as tools/profile_torch.py takes it."""
    ordered = sorted(times)
    quarter = len(ordered) // 4
    return statistics.fmean(ordered[quarter:len(ordered) - quarter])


class Training:
    """The loop of one process."""

    def __init__(self, parallel):
        import torch
        torch.manual_seed(0)
        self.model = make_model()
        if parallel:
            self.model = torch.nn.parallel.DistributedDataParallel(self.model, bucket_cap_mb=BUCKET_MIB)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-6, momentum=0.9)
        self.loss = torch.nn.CrossEntropyLoss()
        self.images, self.labels = torch.randn(BATCH, 3, 32, 32), torch.randint(10, (BATCH,))

    def iterate(self):
        self.optimizer.zero_grad(set_to_none=True)
        self.loss(self.model(self.images), self.labels).backward()
        self.optimizer.step()

    def timed(self):
        start = time.perf_counter()
        self.iterate()
        return time.perf_counter() - start


def all_reduce_times(dist, torch):
    """[[bytes, seconds], ...]"""
    rows = []
    for size in SIZES:
        data, times = torch.ones(size // 4), []
        for repetition in range(3 + 8):
            dist.barrier()
            start = time.perf_counter()
            dist.all_reduce(data)
            if repetition >= 3:
                times.append(time.perf_counter() - start)
            data.fill_(1)
        rows.append([size, middle_mean(times)])
    return rows


def in_turn(dist):
    """Seconds of an iteration of the model alone, in every process at once, and of one with DDP."""
    alone, parallel = Training(False), Training(True)
    times = ([], [])
    for iteration in range(WARMUP + ITERATIONS):
        for training, of in zip((alone, parallel), times):
            dist.barrier()
            took = training.timed()
            if iteration >= WARMUP:
                of.append(took)
    return {"together_s": middle_mean(times[0]), "iteration_s": middle_mean(times[1])}


def worker(rank, rendezvous, out):
    import torch
    import torch.distributed as dist
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{rendezvous}", rank=rank, world_size=WORKERS)
    measured = {"all_reduce_s": all_reduce_times(dist, torch), **in_turn(dist)}
    gathered = [None] * WORKERS
    dist.all_gather_object(gathered, measured)
    if rank == 0:
        mean = {key: statistics.fmean(one[key] for one in gathered) for key in ("together_s", "iteration_s")}
        Path(out).write_text(json.dumps({**mean, "all_reduce_s": gathered[0]["all_reduce_s"]}), encoding="utf-8")


def python():
    """One with torch: this one, or what tools/python.sh finds."""
    return [str(HERE / "python.sh"), "--with", "torch"]


def one_run(folder):
    trace, out = folder / "alone.json", folder / "measured.json"
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}
    subprocess.run([*python(), str(HERE / "profile_torch.py"), f"{HERE / 'measure_ddp.py'}:make_model", "--batch", str(BATCH), "--input", "3x32x32", "--device", "cpu",
                    "--threads", "1", "--optimizer", "sgd", "--iterations", "10", "--seconds", "4", "--warmup", "2", "--out", str(trace)], check=True, env=environment, stdout=subprocess.DEVNULL)
    rendezvous = folder / "rendezvous"
    rendezvous.unlink(missing_ok=True)
    processes = [subprocess.Popen([*python(), __file__, "--rank", str(rank), str(rendezvous), str(out)], env=environment) for rank in range(WORKERS)]
    if any([process.wait() for process in processes]):
        sys.exit("measure_ddp.py: a process failed")
    profile = json.loads(trace.read_text(encoding="utf-8"))
    return {"load": round(os.getloadavg()[0], 1), **json.loads(out.read_text(encoding="utf-8")), "profile": profile}


def rounded(value):
    """Seconds to the microsecond."""
    if isinstance(value, float):
        return round(value, 6)
    if isinstance(value, list):
        return [rounded(one) for one in value]
    return {key: rounded(one) for key, one in value.items()} if isinstance(value, dict) else value


def as_text(runs):
    text = json.dumps({"cores": os.cpu_count(), "bucket_mib": BUCKET_MIB, "runs": runs}, separators=(", ", ": "))
    return text.replace('{"load"', '\n{"load"') + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=10, help="how many times everything is measured (%(default)s)")
    parser.add_argument("--out", type=Path, default=HERE / "validation" / "gloo_ddp.json", help="where the measurements go (%(default)s)")
    parser.add_argument("--rank", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.rank:
        worker(int(arguments.rank[0]), arguments.rank[1], arguments.rank[2])
        return
    runs = []
    with tempfile.TemporaryDirectory() as folder:
        for number in range(arguments.runs):
            runs.append(rounded(one_run(Path(folder))))
            arguments.out.write_text(as_text(runs), encoding="utf-8")  # what is there, is there
            print(f"run {number + 1}: {1e3 * runs[-1]['iteration_s']:.1f} ms an iteration, load {runs[-1]['load']}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
