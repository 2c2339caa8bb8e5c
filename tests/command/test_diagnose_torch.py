#!/usr/bin/env python3
"""A job of two gloo processes, one of them slow, diagnosed from its own traces. Run: python3 tests/command/test_diagnose_torch.py

Needs PyTorch with gloo (tools/setup.sh --with torch), and says so where it is missing.
"""

import importlib.util
import json
import os
import socket
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import program  # noqa: E402
from program import ROOT, needs_program  # noqa: E402

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


@needs_program
class Gloo(program.Case):
    def test_the_slow_process_is_found(self):
        """One of two computes four times as much as the other. Others compute on this machine, too, and may well slow one of
        the two for a while; that the medians of six steps turn round is not to be expected."""
        (self.folder / "job.py").write_text(JOB, encoding="utf-8")
        for slow in (1, 0):
            with socket.socket() as any_port:
                any_port.bind(("127.0.0.1", 0))
                port = any_port.getsockname()[1]
            done = subprocess.run([sys.executable, "job.py", str(slow), str(port)], cwd=self.folder, capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            done = self.run_program("diagnose", "rank0.json", "rank1.json", "--json")
            self.assertEqual(done.returncode, 0, done.stderr)
            answer = json.loads(done.stdout)
            self.assertEqual((answer["replicas"], answer["stages"], len(answer["steps"])), (2, 1, 6))
            self.assertIn("worker", answer["suspects"])
            self.assertEqual(answer["worst_workers"], [[slow, 0]])
            self.assertGreater(answer["slowdown"], 1.2)
            self.assertLess(abs(answer["replay_error"]), 0.2)


if __name__ == "__main__":
    unittest.main()
