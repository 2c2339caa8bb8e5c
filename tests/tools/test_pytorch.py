#!/usr/bin/env python3
"""What is printed for PyTorch, against PyTorch itself. Run: python3 tests/tools/test_pytorch.py

`ddp` plans the buckets that PyTorch computes, and sends; the code of `plan --pytorch` sends the buckets of its list, and
averages gradients as DistributedDataParallel does. Needs PyTorch, and says so where it is missing.
"""

import contextlib
import importlib.util
import json
import os
import random
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from program import ROOT, Case, needs_program, output  # noqa: E402

PYTHON = [ROOT / "tools" / "python.sh", "--with", "torch.distributed"]

if __name__ == "__main__" and not importlib.util.find_spec("torch"):  # start again with a Python that has it
    if subprocess.run([*PYTHON, "-c", ""], capture_output=True, check=False).returncode:
        sys.exit(print("skipped: no python3 here has PyTorch (tools/setup.sh --with torch)"))
    os.execv(PYTHON[0], ["python.sh", *PYTHON[1:], *sys.argv])

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
from torch import nn  # noqa: E402

MIB = 1 << 20
TRACES = ("resnet50_p100_b64", "bert_base_v100_b32", "vgg16_p100_b64", "gpt2-xl_a100_b8_bf16")
WORKERS = 2


def small_model():
    """Twelve parameters with a gradient, one without, and buffers."""
    model = nn.Sequential(nn.Linear(20, 30), nn.BatchNorm1d(30), nn.ReLU(), nn.Linear(30, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(),
                          nn.Linear(64, 48), nn.Tanh(), nn.Linear(48, 10))
    model.register_parameter("frozen", nn.Parameter(torch.ones(3), requires_grad=False))
    return model


def trace_of(model):
    """A trace of 100 us forward and 200 us backward for each layer."""
    layers = {}
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:
            layers.setdefault(name.rpartition(".")[0], []).append({"name": name, "shape": list(parameter.shape)})
    return {"model": {"name": "small", "input": "20", "layers": [{"name": name, "tensors": tensors} for name, tensors in layers.items()]},
            "device": "none", "framework": "PyTorch", "batch_size": 4, "precision": "fp32", "origin": "measured", "source": "made up", "unit": "us",
            "layers": [{"name": name, "forward": 100, "backward": 200} for name in layers]}


def batches(step, rank, micro_batches):
    """This worker's data of a step."""
    torch.manual_seed(100 * step + rank)
    return [torch.randn(4, 20) for _ in range(micro_batches)]


def work(rank, folder):
    """One of the workers: what the printed code sent, whether its gradients are DistributedDataParallel's, and what that sent."""
    dist.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=WORKERS)
    with open(f"{folder}/case.json", encoding="utf-8") as file:
        case = json.load(file)
    torch.manual_seed(rank)  # so that weights differ until somebody broadcasts them
    ours, theirs, sent = small_model(), small_model(), []
    all_reduce = dist.all_reduce
    dist.all_reduce = lambda tensor, *more, **how: sent.append(tensor.numel()) or all_reduce(tensor, *more, **how)
    names = {"model": ours}
    exec(case["code"], names)  # pylint: disable=exec-used
    theirs.load_state_dict(ours.state_dict())
    cap = case["bucket_cap"]
    dist._DEFAULT_FIRST_BUCKET_BYTES = cap  # where no cap is given, it would be 1 MiB
    parallel = nn.parallel.DistributedDataParallel(theirs, bucket_cap_mb=cap / MIB, broadcast_buffers=False)
    buckets = []

    def hook(_, bucket):
        buckets.append(bucket.buffer().numel())
        return all_reduce(bucket.buffer().div_(WORKERS), async_op=True).get_future().then(lambda done: done.value()[0])

    parallel.register_comm_hook(None, hook)
    equal, optimizers = True, [torch.optim.SGD(one.parameters(), lr=0.01, momentum=0.9) for one in (ours, theirs)]
    for step in range(3):  # DistributedDataParallel has its buckets from the second step on
        sent.clear(), buckets.clear()
        for optimizer in optimizers:
            optimizer.zero_grad()
        for number, batch in enumerate(batches(step, rank, case["micro_batches"]), 1):
            ours(batch).square().sum().backward()
            with parallel.no_sync() if number < case["micro_batches"] else contextlib.nullcontext():
                parallel(batch).square().sum().backward()
        names["buckets"].wait()
        equal &= all(torch.equal(mine.grad, other.grad) for mine, other in zip(ours.parameters(), theirs.parameters()) if mine.requires_grad)
        for optimizer in optimizers:
            optimizer.step()
    with open(f"{folder}/done.{rank}.json", "w", encoding="utf-8") as file:
        json.dump({"sent": sent, "equal": equal, "ddp": buckets}, file)
    dist.barrier()


@needs_program
class PyTorch(Case):
    def buckets(self, profile, *options, strategy="ddp", cluster="k80-10gbe", workers=4):
        """The bytes of each, as planned."""
        plan = json.loads(output("plan", "--profile", profile, "--cluster", cluster, "--workers", workers, "--strategy", strategy, "--json", *options))
        return [sum(one["bytes"] for one in block["slices"]) for block in plan["blocks"]]

    def tensors(self, profile):
        """The bytes of each gradient, the last layer's first."""
        return self.buckets(profile, strategy="wfbp")

    @staticmethod
    def assigned(tensors, first, cap, size):
        """What DistributedDataParallel's reducer asks for once it has seen in which order gradients become ready."""
        parameters = [torch.empty(1, dtype=torch.float32 if size == 4 else torch.bfloat16).expand(count // size) for count in tensors]
        indices, _ = dist._compute_bucket_assignment_by_size(parameters, [first, cap], [False] * len(tensors), list(range(len(tensors))))
        assert [one for bucket in indices for one in bucket] == list(range(len(tensors)))
        return [sum(tensors[one] for one in bucket) for bucket in indices]

    def test_ddp_s_buckets_are_pytorch_s(self):
        for trace in TRACES:
            tensors, size = self.tensors(trace), 2 if trace.endswith("bf16") else 4
            with self.subTest(trace=trace):
                self.assertEqual(self.buckets(trace), self.assigned(tensors, MIB, 25 * MIB, size))
                for cap in (4096, 10 * MIB, 25 * MIB):
                    option = ["--option", f"bucket_cap={cap} B"]
                    self.assertEqual(self.buckets(trace, *option), self.assigned(tensors, cap, cap, size), cap)
                    self.assertEqual(self.buckets(trace, *option, "--option", "first_bucket=3 MiB"), self.assigned(tensors, 3 * MIB, cap, size), cap)

    def test_of_random_sizes_too(self):
        draw = random.Random(7)
        for _ in range(20):
            counts = [draw.choice((1, 64, 1024, 2304, draw.randint(1, 300_000))) for _ in range(draw.randint(1, 40))]
            table = self.folder / "random.csv"
            table.write_text("layer,params,forward_us,backward_us\n" + "".join(f"{i},{count},100,200\n" for i, count in enumerate(counts)), encoding="utf-8")
            tensors = [4 * count for count in reversed(counts)]
            first, cap = draw.choice(tensors), draw.choice((sum(tensors[:3]), draw.randint(1, sum(tensors)), draw.choice(tensors)))  # sums that end exactly at a cap, too
            self.assertEqual(self.buckets(table, "--option", f"bucket_cap={cap} B", "--option", f"first_bucket={first} B"), self.assigned(tensors, first, cap, 4),
                             (counts, first, cap))

    def test_the_printed_code_sends_its_list_and_averages_like_ddp(self):
        model = small_model()
        trace = self.folder / "small.json"
        trace.write_text(json.dumps(trace_of(model)), encoding="utf-8")
        elements = [4 * p.numel() for p in reversed([*model.parameters()]) if p.requires_grad]
        self.assertEqual(self.tensors(trace), elements)  # else the list below would be of another model
        # A start-up of 0.25 ms for layers of 0.2 ms: some are worth merging, and not all.
        cluster = self.folder / "cluster.json"
        cluster.write_text(json.dumps({"name": "two", "workers": WORKERS, "network": {"alpha": "125 us", "beta": "5 ns/B"}}), encoding="utf-8")
        for strategy, micro_batches, cap in (("optimal-merge", 1, 8192), ("optimal-merge", 3, 20000), ("wfbp", 2, 1), ("sync-easgd", 1, MIB)):
            with self.subTest(strategy=strategy, micro_batches=micro_batches):
                asked = ["--profile", trace, "--cluster", cluster, "--strategy", strategy, "--accumulate", micro_batches]
                planned = self.buckets(trace, "--accumulate", micro_batches, strategy=strategy, cluster=cluster, workers=WORKERS)
                if strategy == "optimal-merge":
                    self.assertTrue(1 < len(planned) < len(elements), planned)
                done = self.of_two_workers({"code": output("plan", *asked, "--pytorch"), "micro_batches": micro_batches, "bucket_cap": cap})
                for one in done:
                    self.assertEqual([4 * count for count in one["sent"]], planned)
                    self.assertTrue(one["equal"])
                    self.assertEqual([4 * count for count in one["ddp"]], self.buckets(trace, "--option", f"bucket_cap={cap} B"))

    def of_two_workers(self, case):
        for old in self.folder.glob("meeting"):
            old.unlink()
        self.write("case.json", case)
        workers = [subprocess.Popen([sys.executable, __file__, "worker", str(rank), self.folder], stderr=subprocess.PIPE, text=True,
                                    env={**os.environ, "GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1"}) for rank in range(WORKERS)]
        for one in workers:
            said = one.communicate(timeout=300)[1]
            self.assertEqual(one.returncode, 0, said)
        return [json.loads((self.folder / f"done.{rank}.json").read_text(encoding="utf-8")) for rank in range(WORKERS)]

    def test_another_model_s_list_is_refused(self):
        code = output("plan", "--profile", "resnet20_p102_b128", "--cluster", "k80-10gbe", "--strategy", "optimal-merge", "--pytorch")
        with self.assertRaisesRegex(ValueError, "is this the model of the profile"):
            exec(code, {"model": small_model()})  # pylint: disable=exec-used


if __name__ == "__main__":
    if sys.argv[1:2] == ["worker"]:
        work(int(sys.argv[2]), sys.argv[3])
        os._exit(0)  # Gloo's threads may still be there, and PyTorch 1.13 ends with an abort where Python has gone before them
    unittest.main()
