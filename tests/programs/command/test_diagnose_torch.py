#!/usr/bin/env python3
"""A job of two gloo processes, one of them slow, diagnosed from its own traces. Run: python3 tests/programs/command/test_diagnose_torch.py

Needs PyTorch with gloo (tools/setup.sh --with torch), and says so where it is missing.
"""

import importlib.util
import os
import socket
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from program import ROOT, Case, needs_program  # noqa: E402

PYTHON = [ROOT / "tools" / "python.sh", "--with", "torch"]

if __name__ == "__main__" and not importlib.util.find_spec("torch"):  # start again with a Python that has it
    if subprocess.run([*PYTHON, "-c", ""], capture_output=True, check=False).returncode:
        sys.exit(print("skipped: no python3 here has PyTorch (tools/setup.sh --with torch)"))
    os.execv(PYTHON[0], ["python.sh", *PYTHON[1:], *sys.argv])

JOB = """
import os, sys, torch
from torch.nn.parallel import DistributedDataParallel

def work(rank, slow, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=port)
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", rank=rank, world_size=2)
    torch.manual_seed(0)
    layers = [layer for _ in range(4) for layer in (torch.nn.Linear(384, 384), torch.nn.ReLU())]
    model = DistributedDataParallel(torch.nn.Sequential(*layers, torch.nn.Linear(384, 10)), bucket_cap_mb=1)
    update, loss = torch.optim.SGD(model.parameters(), lr=0.01), torch.nn.CrossEntropyLoss()
    batch = 768 if rank == slow else 192
    x, y = torch.randn(batch, 384), torch.randint(0, 10, (batch,))
    steps = torch.profiler.schedule(wait=1, warmup=2, active=6)
    with torch.profiler.profile(schedule=steps, record_shapes=True) as profile:
        for _ in range(9):
            update.zero_grad()
            loss(model(x), y).backward()
            update.step()
            profile.step()
    profile.export_chrome_trace(f"rank{rank}.json")

if __name__ == "__main__":
    torch.multiprocessing.spawn(work, (int(sys.argv[1]), sys.argv[2]), nprocs=2)
"""


SHARDED = """
import os, sys, torch
import torch.distributed as dist
from torch.profiler import record_function

class Sharded(torch.autograd.Function):
    # x times a weight of which each of two ranks keeps half of the rows, with FSDP2's spans

    @staticmethod
    def gathered(shard, span, name):
        with record_function(f"FSDP::{span} ({name})"), record_function(f"FSDP::all_gather ({name})"):
            parts = [torch.empty_like(shard) for _ in range(2)]
            dist.all_gather(parts, shard)
            return torch.cat(parts)

    @staticmethod
    def forward(context, x, shard, name):
        context.name = name
        context.save_for_backward(x, shard)
        weight = Sharded.gathered(shard.detach(), "pre_forward", name)
        y = x @ weight.t()
        with record_function(f"FSDP::post_forward ({name})"):
            return y

    @staticmethod
    def backward(context, dy):
        x, shard = context.saved_tensors
        weight = Sharded.gathered(shard, "pre_backward", context.name)
        dx, dw = dy @ weight, dy.t() @ x
        with record_function(f"FSDP::post_backward ({context.name})"), record_function(f"FSDP::post_backward_reduce ({context.name})"):
            dist.all_reduce(dw)
        return dx, dw.chunk(2)[dist.get_rank()], None

def work(rank, slow, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=port)
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=2)
    torch.manual_seed(rank)
    shards = [torch.nn.Parameter(0.05 * torch.randn(192, 384)) for _ in range(4)]
    update = torch.optim.SGD(shards, lr=0.01)
    x = torch.randn(1536 if rank == slow else 384, 384)
    steps = torch.profiler.schedule(wait=1, warmup=2, active=6)
    with torch.profiler.profile(schedule=steps, record_shapes=True) as profile:
        for _ in range(9):
            update.zero_grad()
            y = x
            for i, shard in enumerate(shards):
                y = Sharded.apply(y, shard, f"layers.{i}").relu()
            y.square().mean().backward()
            update.step()
            profile.step()
    profile.export_chrome_trace(f"sharded{rank}.json")

if __name__ == "__main__":
    torch.multiprocessing.spawn(work, (int(sys.argv[1]), sys.argv[2]), nprocs=2)
"""


@needs_program
class Gloo(Case):
    def traces_of(self, job, slow, name):
        """The traces of two processes of which one is slow."""
        self.write("job.py", job)
        with socket.socket() as any_port:
            any_port.bind(("127.0.0.1", 0))
            port = any_port.getsockname()[1]
        done = subprocess.run([sys.executable, "job.py", str(slow), str(port)], cwd=self.folder, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return self.answer("diagnose", f"{name}0.json", f"{name}1.json")

    def test_the_slow_process_of_a_sharded_job_is_found(self):
        """FSDP needs GPUs before PyTorch 2.6: the job gathers and reduces by itself, in FSDP2's spans."""
        answer = self.traces_of(SHARDED, 1, "sharded")
        self.assertEqual((answer["replicas"], len(answer["steps"])), (2, 6))
        self.assertEqual({one["name"] for one in answer["exposed_by_unit"]}, {f"layers.{i}" for i in range(4)})
        self.assertIn("worker", answer["suspects"])
        self.assertEqual(answer["worst_workers"], [[1, 0]])
        self.assertLess(abs(answer["replay_error"]), 0.03)
        self.assertGreater(answer["waited_for_s"]["1,0"], answer["waited_for_s"]["0,0"])

    def test_the_slow_process_is_found(self):
        """One of two computes four times as much as the other. Others compute on this machine, too, and may well slow one of
        the two for a while; that the medians of six steps turn round is not to be expected."""
        for slow in (1, 0):
            answer = self.traces_of(JOB, slow, "rank")
            self.assertEqual((answer["replicas"], answer["stages"], len(answer["steps"])), (2, 1, 6))
            self.assertIn("worker", answer["suspects"])
            self.assertEqual(answer["worst_workers"], [[slow, 0]])
            self.assertGreater(answer["slowdown"], 1.2)
            self.assertLess(abs(answer["replay_error"]), 0.2)


if __name__ == "__main__":
    unittest.main()
