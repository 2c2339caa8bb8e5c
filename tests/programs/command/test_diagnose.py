#!/usr/bin/env python3
"""What `allreplay diagnose` reads and writes. Run: python3 tests/programs/command/test_diagnose.py

Its numbers are tests/peer/test_diagnosis.py's. Kineto traces are made here, as PyTorch writes those of DDP on GPUs.
"""

import gzip
import json
import os
import random
import sys
import unittest
import xml.etree.ElementTree as tree
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from diagnose_case import DiagnoseCase  # noqa: E402
from program import ROOT, needs_program  # noqa: E402

# Replica 1 computes 1.5 times as long: a step takes 55 ms, and 47.5 if all take the mean.
SLOW = (ROOT / "docs" / "examples" / "slow_worker.csv").read_text(encoding="utf-8")

FORWARD, BACKWARD, UPDATE = 100, 200, 50  # us of kernels, of each of two layers; of the update
ELEMENTS = (1_000_000, 500_000)           # of the weights of the last and of the first layer, in fp32
A, PER_BYTE = 50, 25e-6                   # us, us/B: what an all-reduce takes from its last start on
CARRYING = [A + PER_BYTE * 4 * elements for elements in ELEMENTS]  # 150, 100 us
PERIOD = 2000


def when(factors, gap):
    """(reductions as (start by rank, end), end of the step) in us after the first kernel: two layers, each reduced as
    soon as its backward pass has ended, `gap` us later, one after the other."""
    reductions, free = [], 0
    for k in range(2):
        starts = [max((2 * FORWARD + (k + 1) * BACKWARD) * f + gap, free) for f in factors]
        free = max(starts) + CARRYING[k]
        reductions.append((starts, free))
    return reductions, free + UPDATE


class Trace:
    """A rank's trace of DDP on a GPU, with all that libkineto's output_json.cpp writes of such since PyTorch 2.3: stream 7
    computes and stream 20 communicates; operators have an External id and launches a correlation, which kernels repeat;
    arrows, annotations of the GPU, and waits for streams stand among them; NCCL's kernels say what they carried."""

    def __init__(self, rank, factors, gap=0, clock=0, steps=2):
        self.rank, self.factor, self.clock, self.pid = rank, factors[rank], clock, 4000 + rank
        self.events, self.correlation, self.external, self.world = [], 0, 0, len(factors)
        self.reductions, self.end = when(factors, gap)
        for name, pid, tid, args in (("process_name", self.pid, 0, {"name": "python3"}), ("process_labels", 0, 0, {"labels": "GPU 0"}),
                                     ("thread_name", 0, 7, {"name": "stream 7 "}), ("thread_name", 0, 20, {"name": "stream 20 "})):
            self.events.append({"name": name, "ph": "M", "ts": 10_000.0, "pid": pid, "tid": tid, "args": args})
        for step in range(steps):
            self.step(step + 5, 10_000 + PERIOD * step)
        self.events.append({"name": "Record Window End", "ph": "i", "s": "g", "pid": "", "tid": "", "ts": 99_000.0})

    def add(self, cat, name, tid, ts, dur, pid=None, **args):
        self.events.append({"ph": "X", "cat": cat, "name": name, "pid": self.pid if pid is None else pid, "tid": tid, "ts": ts + self.clock, "dur": dur, "args": args})

    def operator(self, name, thread, ts, dur, **args):
        self.external += 1
        self.add("cpu_op", name, thread, ts, dur, **{"External id": self.external, "Record function id": 0, **args})

    def kernel(self, name, launched, thread, stream, start, length, **args):
        """Launched from the operator that was added last."""
        self.correlation += 1
        ids = {"External id": self.external, "correlation": self.correlation}
        self.add("cuda_runtime", "cudaLaunchKernelExC" if stream == 20 else "cudaLaunchKernel", thread, launched, 1, cbid=211, **ids)
        for ph, pid, tid, ts in (("s", self.pid, thread, launched), ("f", 0, stream, start)):
            self.events.append({"ph": ph, "id": self.correlation, "pid": pid, "tid": tid, "ts": ts + self.clock, "cat": "ac2g", "name": "ac2g", "bp": "e"})
        self.add("kernel", name, stream, start, length, pid=0, queued=0, device=0, context=1, stream=stream, **ids,
                 **{"registers per thread": 96, "shared memory": 0, "blocks per SM": 1.5, "grid": [16, 8, 1], "block": [256, 1, 1]}, **args)

    def reduce(self, k, at, gpu):
        """DDP's all-reduce of a bucket, behind the last gradient in it."""
        starts, end = self.reductions[k]
        sizes = {"Collective name": "allreduce", "In msg nelems": ELEMENTS[k], "Out msg nelems": ELEMENTS[k], "Group size": self.world, "dtype": "Float",
                 "In split size": "[]", "Out split size": "[]", "Process Group Name": "0", "Process Group Description": "default_pg",
                 "Process Group Ranks": str(list(range(self.world)))}
        start, length = gpu + starts[self.rank], end - starts[self.rank]
        self.operator("c10d::allreduce_", 2, at, 8)
        self.operator("record_param_comms", 2, at + 1, 6, **sizes)
        self.add("user_annotation", "nccl:all_reduce", 2, at + 1, 6)
        self.add("cuda_runtime", "cudaStreamWaitEvent", 2, at + 2, 1, cbid=147, correlation=0)
        self.add("cuda_sync", "Stream Wait Event", 20, start, 0, pid=0, stream=20, device=0)
        self.add("gpu_user_annotation", "nccl:all_reduce", 20, start, length, pid=0)
        self.kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", at + 4, 2, 20, start, length, **sizes)

    def step(self, number, base):
        gpu, f = base + 100, self.factor
        self.add("user_annotation", f"ProfilerStep#{number}", 1, base, PERIOD)
        self.add("gpu_user_annotation", f"ProfilerStep#{number}", 7, gpu, self.end, pid=0)
        for layer in range(2):
            shapes = [[32, 10 * (layer + 1)], [ELEMENTS[1 - layer] // 1000, 1000], [1000]]
            forward = {"Sequence number": 10 * number + layer, "Fwd thread id": 0}
            self.operator("aten::linear", 1, base + 5 * layer, 5, **forward, **{"Input Dims": shapes, "Input type": ["float"]})
            self.operator("aten::addmm", 1, base + 5 * layer + 1, 3, **forward)
            self.kernel("ampere_sgemm_128x64_tn", base + 5 * layer + 2, 1, 7, gpu + layer * FORWARD * f, FORWARD * f)
        for k in range(2):
            at, layer = base + 20 + 30 * k, 1 - k
            backward = {"Sequence number": 10 * number + layer, "Fwd thread id": 1}
            self.operator("autograd::engine::evaluate_function: AddmmBackward0", 2, at, 10, **backward)
            self.operator("AddmmBackward0", 2, at + 1, 8, **backward)
            self.operator("aten::mm", 2, at + 2, 5)
            self.kernel("ampere_sgemm_128x64_nt", at + 3, 2, 7, gpu + (2 * FORWARD + k * BACKWARD) * f, BACKWARD * f)
            self.operator("autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", 2, at + 10, 15)
            self.operator("torch::autograd::AccumulateGrad", 2, at + 11, 3, **{"Input Dims": [[ELEMENTS[k] // 1000, 1000]], "Input type": ["float"]})
            self.reduce(k, at + 15, gpu)
        self.add("user_annotation", "Optimizer.step#SGD.step", 1, base + 90, 20)
        self.operator("aten::_foreach_add_", 1, base + 92, 8)
        self.kernel("void at::native::multi_tensor_apply_kernel", base + 95, 1, 7, gpu + self.end - UPDATE, UPDATE)

    def text(self):
        groups = [{"pg_name": "0", "pg_desc": "default_pg", "backend_config": "cuda:nccl", "pg_size": self.world, "ranks": list(range(self.world))}]
        return json.dumps({"schemaVersion": 1, "distributedInfo": {"backend": "nccl", "rank": self.rank, "world_size": self.world, "pg_count": 1, "pg_config": groups, "nccl_version": "2.20.5"},
                           "deviceProperties": [{"id": 0, "name": "A GPU", "totalGlobalMem": 85_000_000_000, "computeMajor": 8, "numSms": 108}], "record_shapes": 1, "with_stack": 0,
                           "displayTimeUnit": "ms", "baseTimeNanoseconds": 1_700_000_000_000_000_000, "traceEvents": self.events, "traceName": "rank.pt.trace.json"})


def table(factors, gap=0, steps=2):
    """The CSV of the same job."""
    reductions, end = when(factors, gap)
    rows = ["step,dp,stage,op,seq,chunk,start_us,duration_us"]
    for step in range(5, 5 + steps):
        for dp, f in enumerate(factors):
            def add(kind, seq, chunk, start, length):
                rows.append(f"{step},{dp},0,{kind},{seq},{chunk},{start + PERIOD * step},{length}")

            add("forward-compute", 0, 0, 0, 2 * FORWARD * f)
            for k in range(2):
                add("backward-compute", k, k, (2 * FORWARD + k * BACKWARD) * f, BACKWARD * f)
                add("grads-reduce-scatter", k, k, reductions[k][0][dp], reductions[k][1] - reductions[k][0][dp])
            add("optimizer", 0, 0, end - UPDATE, UPDATE)
    return "\n".join(rows) + "\n"


def without_names(answer):
    """The names of workers contain their ranks, which not every file of a job states."""
    return {**answer, "slowest_workers": 0, "findings": [{**one, "names": 0} for one in answer["findings"]]}


@needs_program
class Said(DiagnoseCase):
    def test_a_slow_worker(self):
        """55 ms became 47.5: 13.6 % of the time is wasted, all of it by replica 1."""
        self.write("job.csv", SLOW)
        got = self.json("job.csv")
        self.assertEqual((got["suspects"], got["worst_workers"]), (["worker"], [[1, 0]]))
        self.assertAlmostEqual(got["waste"], 7.5 / 55)
        (finding,) = got["findings"]
        self.assertEqual((finding["what"], finding["workers"]), ("workers", [[1, 0]]))
        self.assertAlmostEqual(finding["step_s"], 47.5e-3)
        self.assertAlmostEqual(finding["waste_share"], 1)
        narrow = self.say("job.csv", env={**os.environ, "COLUMNS": "80"}).stdout
        self.assertLessEqual(max(map(len, narrow.splitlines())), 80)

    def rows(self, name, rows):
        """A CSV of (step, dp, stage, op, seq, start in ms, duration in ms)."""
        lines = [",".join(map(str, (*row[:5], 1000 * row[5], 1000 * row[6]))) for row in rows]
        return self.write(name, "\n".join(["step,dp,stage,op,seq,start_us,duration_us", *lines, ""]))

    def passes(self, lengths, steps=1):
        """Forward computes of these lengths in ms, by replica, in rows of micro-batches, and backward ones twice as long."""
        rows = []
        for step in range(steps):
            for dp, batches in enumerate(lengths):
                at = 0
                for kind, factor in (("forward-compute", 1), ("backward-compute", 2)):
                    for seq, length in enumerate(batches(step)):
                        rows.append((step, dp, 0, kind, seq, at, factor * length))
                        at += factor * length
        return rows

    def test_a_wide_job_accuses_nobody_who_is_not_slow(self):
        """3 % of 100 workers are three, of which one is slow: the other two are faster than the mean."""
        self.rows("wide.csv", self.passes([lambda _, dp=dp: [15 if dp == 37 else 10] for dp in range(100)]))
        got = self.json("wide.csv")
        self.assertEqual(got["worst_workers"], [[37, 0], [0, 0], [1, 0]])
        self.assertEqual([(one["what"], one["workers"]) for one in got["findings"]], [("workers", [[37, 0]])])
        self.assertEqual(len(got["slowest_workers"]), 5)

    def test_a_slow_worker_on_each_stage_accuses_no_others(self):
        """Replica 37 is slow on stage 0, and replica 50 on stage 1: each of them is on both stages as slow as the smaller of
        its own and its stage's slowdown. Workers are counted by stage, then replica."""
        rows = self.passes([lambda _, dp=dp: [20 if dp == 37 else 10] for dp in range(100)])
        rows += [(0, dp, 1, *row) for dp in range(100) for row in (("forward-compute", 0, 0, 20 if dp == 50 else 10), ("backward-compute", 0, 20, 40 if dp == 50 else 20))]
        self.rows("wide.csv", rows)
        got = self.json("wide.csv")
        self.assertEqual(sorted(got["worst_workers"])[-4:], [[37, 0], [37, 1], [50, 0], [50, 1]])
        self.assertEqual(got["findings"][0]["names"], ["worker 37 (replica 37, stage 0)", "worker 150 (replica 50, stage 1)"])

    def test_slow_machines_are_told_from_long_micro_batches(self):
        """Half of eight machines take 1.4 times as long, always; or each has long micro-batches, more of them in
        one step than in another; or the slow machines are slow in two of three steps."""
        for name, batches, expected in (("machines", lambda dp: lambda _: [14 if dp % 2 else 10] * 4, True),
                                        ("batches", lambda dp: lambda step: [14 if k < (dp + step) % 4 else 10 for k in range(4)], False),
                                        ("a step", lambda dp: lambda step: [14 if dp % 2 and step < 2 else 10] * 4, False)):
            with self.subTest(name):
                self.rows("job.csv", self.passes([batches(dp) for dp in range(8)], steps=3))
                self.assertEqual(self.json("job.csv")["suspects"], ["sequence-length"])
                got = self.json("job.csv")["findings"]
                self.assertEqual([one["what"] for one in got], ["workers-in-every-step"] * expected + ["micro-batches"])
                if expected:
                    self.assertEqual(got[0]["workers"], [[dp, 0] for dp in range(1, 8, 2)])

    def pipeline(self, name, length, replicas=2, stages=3, batches=4, steps=1):
        """One forward computes after the other through the stages, then backward, twice as long: of length(replica, stage, kind,
        step) ms. Transfers take nothing; all starts are far apart, so that only the replay says when ops run."""
        rows = []
        for step in range(steps):
            for dp in range(replicas):
                for stage in range(stages):
                    for direction, at, factor in (("forward", 0, 1), ("backward", 10_000, 2)):
                        for k in range(batches):
                            rows.append((step, dp, stage, f"{direction}-compute", k, at + 100 * k, factor * length(dp, stage, direction, step)))
                            into, out = (0, stages - 1) if direction == "forward" else (stages - 1, 0)
                            if stage != into:
                                rows.append((step, dp, stage, f"{direction}-recv", k, at + 100 * k - 50, 0))
                            if stage != out:
                                rows.append((step, dp, stage, f"{direction}-send", k, at + 100 * k + 50, 0))
        return self.rows(name, rows)

    def test_any_heavy_stage_is_named(self):
        """A stage of 15 + 30 ms among those of 10 + 20: with four micro-batches it takes 4 x 45 and the others once 30 each, 240.
        All at the mean, 35, take 6 x 35 = 210; that stage alone at it 4 x 35 + 2 x 30 = 200: 40 / 30 of the waste. (The last
        stage turns round: forwards end at 20 + 60, or later stages', and backwards start at once: the same sums.)"""
        for heavy in (0, 1):
            with self.subTest(heavy):
                self.pipeline("stage.csv", lambda dp, stage, *_: 15 if stage == heavy else 10)
                got = self.json("stage.csv")
                self.assertEqual(got["suspects"], ["spread"])
                self.assertEqual([(one["what"], one.get("stage")) for one in got["findings"]], [("stage", heavy)])
                self.assertAlmostEqual(got["M_stage"][str(heavy)], 4 / 3)
                self.assertAlmostEqual(got["findings"][0]["compute_ratio"], 1.5)

    def test_one_replica_does_not_tell_a_worker_from_its_stage(self):
        self.pipeline("one.csv", lambda dp, stage, *_: 15 if stage == 2 else 10, replicas=1)
        self.assertEqual(self.json("one.csv")["suspects"], ["worker"])

    def test_the_only_replica_is_not_called_slow(self):
        """Another stage takes 20 + 40 ms instead of 10 + 20 in each of three steps: mending one brings back a third."""
        self.pipeline("one.csv", lambda dp, stage, _, step: 20 if stage == step else 10, replicas=1, steps=3)
        self.assertEqual([one["what"] for one in self.json("one.csv")["findings"]], ["micro-batches"])

    def test_a_slow_replica_is_named(self):
        """In every step; or forward alone; or in one step of two, where each what-if of the replica alone is the whole job's."""
        for name, length, what in (("always", lambda dp, *_: 15 if dp == 1 else 10, "workers-in-every-step"),
                                   ("forward", lambda dp, _, kind, __: 20 if dp == 1 and kind == "forward" else 10, "workers-in-every-step"),
                                   ("at times", lambda dp, _, __, step: 15 if dp == 1 and step else 10, "replica")):
            with self.subTest(name):
                self.pipeline("replica.csv", length, replicas=4, steps=2)
                found = self.json("replica.csv")["findings"][0]
                self.assertEqual((found["what"], found["names"] if "names" in found else [f"replica {found['replica']}"]), (what, ["replica 1"]))

    def test_a_kind_of_compute_is_named(self):
        """Of four replicas one takes 40 ms for its backward compute instead of 20, another one in each of four steps."""
        rows = [(*row[:6], 2 * row[6] if row[3] == "backward-compute" and row[0] == row[1] else row[6]) for row in self.passes([lambda _: [10]] * 4, steps=4)]
        self.rows("kind.csv", rows)
        got = self.json("kind.csv")
        self.assertEqual((got["suspects"], [(one["what"], one["kind"]) for one in got["findings"]]), (["spread"], [("kind", "backward-compute")]))

    def test_unequal_buckets_are_nobodys_fault(self):
        """Reductions of 1, 1 and 31 ms: their median is 1, so that the last counts 30 ms of waste, in each step and on all."""
        rows = []
        for step in range(2):
            for dp in range(4):
                rows += [(step, dp, 0, "forward-compute", 0, 0, 10), (step, dp, 0, "backward-compute", 0, 10, 20)]
                rows += [(step, dp, 0, "grads-reduce-scatter", k, start, length) for k, start, length in ((0, 30, 1), (1, 31, 1), (2, 32, 31))]
        self.rows("buckets.csv", rows)
        got = self.json("buckets.csv")
        self.assertEqual((got["suspects"], [(one["what"], one["M"], one["kind"]) for one in got["findings"]]),
                         (["grads-reduce-scatter"], [("sizes", 1.0, "grads-reduce-scatter")]))
        # The second step has the long one at another place: no longer a matter of size.
        self.rows("buckets.csv", [(*row[:5], 100 * row[4] + 50, 31 if row[4] == 2 - row[0] else 1) if row[3] == "grads-reduce-scatter" else row for row in rows])
        self.assertEqual([one["what"] for one in self.json("buckets.csv")["findings"]], ["kind"])

    def test_gaps_have_an_owner(self):
        """Replica 2 waits 5 ms before each of its four computes, the others' reduction for it: 20 ms of 85 lie between ops."""
        rows = []
        for dp in range(4):
            gap = 5 if dp == 2 else 0
            rows += [(0, dp, 0, kind, k, gap * (n + 1) + at, 2 * length) for n, (kind, k, at, length) in enumerate(
                (("forward-compute", 0, 0, 5), ("forward-compute", 1, 10, 5), ("backward-compute", 0, 20, 10), ("backward-compute", 1, 40, 10)))]
            rows.append((0, dp, 0, "grads-reduce-scatter", 0, 60 + 4 * gap, 5 + 20 - 4 * gap))
        self.rows("gaps.csv", rows)
        got = self.json("gaps.csv")
        self.assertEqual(got["suspects"], ["none"])
        for worker, gap in {"0,0": 0, "1,0": 0, "2,0": 20 / 85, "3,0": 0}.items():
            self.assertAlmostEqual(got["gap_share"][worker], gap)
        (note,) = got["notes"]
        self.assertEqual((note["note"], note["workers"]), ("time between ops", ["worker 2 (replica 2, stage 0)"]))
        self.assertAlmostEqual(note["longest_s"], 20e-3)

    def test_nothing_to_mend(self):
        self.rows("equal.csv", self.passes([lambda _: [10]] * 3))
        got = self.json("equal.csv")
        self.assertEqual(([one["what"] for one in got["findings"]], got["replay_error"]), (["none"], 0))
        self.assertAlmostEqual(got["mean"]["ideal_s"], 30e-3)

    def test_steps_that_differ_as_a_whole(self):
        """Both workers take twice as long in the second of two steps: 30 and 60 ms, ideal 45."""
        self.rows("steps.csv", self.passes([lambda step: [10 * (step + 1)]] * 2, steps=2))
        got = self.json("steps.csv")
        self.assertEqual([one["what"] for one in got["findings"]], ["none"])
        self.assertAlmostEqual(got["mean"]["ideal_s"], 45e-3)
        self.assertEqual(got["slowest_step"]["step"], 1)
        self.assertAlmostEqual(got["slowest_step"]["slowdown"], 60 / 45)

    def test_time_between_ops_and_clocks(self):
        """Updates that start 11 ms late: 66 ms measured, 55 replayed. A clock that is 30 ms ahead: of two members of the only
        group one ends before the other starts; of the 85 ms measured the replay knows 45 and the update, whose reduction took
        nothing on the rank that ended it early."""
        self.write("late.csv", SLOW.replace("optimizer,0,49000", "optimizer,0,60000"))
        (note,) = self.json("late.csv")["notes"]
        self.assertEqual(note["note"], "time between ops")
        self.assertAlmostEqual(note["lost_s"], 11e-3)
        ahead = [",".join([*row[:5], str(int(row[5]) + 30000 * int(row[1])), row[6]]) if i else ",".join(row)
                 for i, row in enumerate(line.split(",") for line in SLOW.splitlines())]
        self.write("ahead.csv", "\n".join(ahead) + "\n")
        self.assertEqual([note["share"] for note in self.json("ahead.csv")["notes"] if note["note"] == "clocks differ"], [0.5])
        self.write("job.csv", SLOW)
        self.assertEqual(self.json("job.csv")["notes"], [])

    def test_nothing_promises_more_than_the_ideal(self):
        """Two stages, 10 + 20 and 20 + 40 ms, four micro-batches, one forward and one backward in turn. The last stage is busy
        from 10 ms on: 10 + 4 x 60 + 20 = 270. Ideal, 15 + 30 on both: 15 + 4 x 45 + 30 = 225; with the last stage alone at that
        10 + 4 x 45 + 20 = 210, less than the ideal: (270 - 210) / (270 - 225) = 4/3 of the waste."""
        rows = []
        for dp in range(2):
            for stage, order, forward in ((0, "FFBFBFBB", 10), (1, "FBFBFBFB", 20)):
                seqs = {"F": 0, "B": 0}
                for place, one in enumerate(order):
                    rows.append((0, dp, stage, {"F": "forward-compute", "B": "backward-compute"}[one], seqs[one], 100 * place, forward * (1 if one == "F" else 2)))
                    seqs[one] += 1
                rows += [(0, dp, stage, kind, k, 1000 * k, 0) for kind in (("forward-send", "backward-recv") if stage == 0 else ("forward-recv", "backward-send")) for k in range(4)]
        self.rows("job.csv", rows)
        got = self.json("job.csv")
        self.assertAlmostEqual(got["M_S"], 4 / 3)
        self.assertEqual((got["findings"][0]["stage"], got["findings"][0]["waste_share"]), (1, 1))
        self.assertAlmostEqual(got["findings"][0]["step_s"], 225e-3)

    def test_no_share_of_waste_is_negative(self):
        """Garbage is collected for 8 ms on replica 0 alone, which waits anyway: if both took the mean, 4 ms, a step would be
        longer by them."""
        gc = "".join(f"0,{dp},0,gc,0,{30000 + 15000 * dp},{8000 * (1 - dp)}\n" for dp in range(2))
        self.write("job.csv", SLOW + gc)
        got = self.json("job.csv")
        self.assertLess(got["M_kind"]["gc"], -0.1)
        self.assertEqual([one["waste_share"] for one in got["kinds"] if one["kind"] == "gc"], [0])

    def test_the_slow_one_of_many_is_named_in_the_picture(self):
        self.rows("wide.csv", self.passes([lambda _, dp=dp: [15 if dp == 137 else 10] for dp in range(300)]))
        self.say("wide.csv", "--plot", "heat.svg")
        text = (self.folder / "heat.svg").read_text(encoding="utf-8")
        cells = [one for one in tree.fromstring(text).iter("{http://www.w3.org/2000/svg}rect") if one.get("class") == "worker"]
        self.assertEqual(len(cells), 300)
        self.assertNotIn("#FFFFFF", {one.get("fill").upper() for one in cells})
        self.assertRegex(text, r"replica 137: 1\.4\d\d<")

    def test_other_columns_and_compressed(self):
        """A rank, a chunk and a micro-batch, in any order of columns and rows; what is not known is noted."""
        lines = [line.split(",") for line in SLOW.splitlines()]
        header, rows = lines[0], lines[1:]
        text = "\n".join(",".join([*row[::-1], *more]) for row, more in
                         [(header, ("rank", "chunk", "microbatch", "host")), *((row, (str(7 - int(row[1])), "-1", "0", "h")) for row in rows[::-1])])
        (self.folder / "job.csv.gz").write_bytes(gzip.compress(text.replace("\n", "\r\n").encode()))
        done = self.say("job.csv.gz", "--json")
        self.assertTrue(done.stderr)
        self.write("job.csv", SLOW)
        self.assertEqual(without_names(json.loads(done.stdout)), without_names(self.json("job.csv")))
        self.assertEqual(json.loads(done.stdout)["findings"][0]["names"], ["worker 6 (replica 1, stage 0)"])

    def test_several_files_are_parts_of_one_job(self):
        lines = SLOW.splitlines(keepends=True)
        self.write("a.csv", "".join(lines[:5]))
        self.write("b.csv", "".join([lines[0], *lines[5:]]))
        self.write("job.csv", SLOW)
        self.assertEqual(self.json("a.csv", "b.csv"), self.json("job.csv"))
        self.refused("a.csv", "a.csv", names=["a.csv", "twice"])

    def test_the_analysers_trace(self):
        events = []
        for line in SLOW.splitlines()[1:]:
            step, dp, _, kind, seq, start, duration = line.split(",")
            events.append({"ph": "X", "name": kind, "pid": int(dp), "tid": 5 * int(dp) + 10, "ts": float(start), "dur": float(duration),
                           "args": {"step": int(step), "seq_id": int(seq), "model_chunk": -1, "microbatch": 0}})
            events.append({**events[-1], "tid": 99})
        for dp in range(2):
            events.append({"ph": "M", "name": "thread_name", "pid": dp, "tid": 5 * dp + 10, "args": {"name": "PP rank 0, TP rank 0, compute"}})
            events.append({"ph": "M", "name": "thread_name", "pid": dp, "tid": 99, "args": {"name": "PP rank 0, TP rank 1, compute"}})
        self.write("job.csv", SLOW)
        for name, text in (("object.json", json.dumps({"displayTimeUnit": "ns", "traceEvents": events})), ("list.json", json.dumps(events))):
            done = self.say(self.write(name, text), "--json")
            self.assertEqual(without_names(json.loads(done.stdout)), without_names(self.json("job.csv")))
            self.assertTrue(done.stderr)
            without = json.dumps([one for one in events if one["tid"] != 99])
            self.assertNotIn("tensor-parallel", self.say(self.write("one_each.json", without)).stderr)
        events[0]["name"] = "forward"
        self.refused(self.write("bad.json", json.dumps(events)), names=["bad.json", "/traceEvents/0", "'forward'"])
        self.refused(self.write("bad.json", json.dumps(events[2:-4])), names=["bad.json"])
        self.refused(self.write("bad.json", json.dumps(events)[:-20]), names=["bad.json"])

    def test_pictures_and_page(self):
        self.write("job.csv", SLOW)
        self.say("job.csv", "--plot", "heat.svg", "--timeline", "t.json", "--html", "page.html")
        picture = tree.fromstring((self.folder / "heat.svg").read_text(encoding="utf-8"))
        workers = [one for one in picture.iter("{http://www.w3.org/2000/svg}rect") if one.get("class") == "worker"]
        self.assertEqual(len(workers), 2)
        self.assertNotEqual(workers[0].get("fill"), workers[1].get("fill"))
        events = json.loads((self.folder / "t.json").read_text(encoding="utf-8"))["traceEvents"]
        ran = [one for one in events if one["ph"] == "X"]
        self.assertEqual((len(ran), {one["cat"] for one in ran}), (16, {"replayed", "ideal"}))
        self.assertEqual(max(one["ts"] + one["dur"] for one in ran if one["cat"] == "ideal"), 47500)
        again, first = self.json("t.json"), self.json("job.csv")
        self.assertEqual(again["replay_error"], 0)
        self.assertEqual(again["replayed_s"], first["replayed_s"])
        page = (self.folder / "page.html").read_text(encoding="utf-8")
        for part in ("<!doctype html>", "worker 1 (replica 1, stage 0)", 'class="worker"', "measured", "replayed", "ideal"):
            self.assertIn(part, page)
        self.assertNotIn("http://", page.replace("http://www.w3.org/", ""))
        self.assertEqual((page.count('class="wait"'), page.count("waits for others: 15 ms")), (1, 1))  # replica 0, measured
        self.assertEqual(self.say("job.csv", "--html", "-").stdout, page)
        self.say("job.csv", "--timeline", "t.json.gz")
        self.assertEqual(gzip.decompress((self.folder / "t.json.gz").read_bytes()), (self.folder / "t.json").read_bytes())
        self.assertEqual(self.json("t.json.gz"), again)
        self.refused("job.csv", "--html", "page.html.gz", names=["--html"])
        self.refused("job.csv", "--html", "-", "--json", names=["--html"])
        self.refused("job.csv", "--timeline", "-", names=["--timeline: "])
        self.assertFalse(any((self.folder / name).exists() for name in ("-", "page.html.gz")))
        self.refused("job.csv", "--plot", "heat.txt", names=["--plot"])
        self.refused("job.csv", "--timeline", "job.csv", names=["job.csv"])
        self.refused("job.csv", "--profile-out", "p.json", names=["--profile-out"])

    def test_files_that_are_not_timelines(self):
        self.refused("nowhere.csv", names=["nowhere.csv"])
        self.refused(self.write("words.txt", "words\n"), names=["words.txt"])
        self.refused(names=[": "])
        for text, says in (("{}", ": "), ("[]", ": "), ('{"traceEvents": []}', ": "),
                           ('{"traceEvents": [{"ph": "X", "na', ": "), ('[{"ph": ', ": ")):
            self.write("empty.json", text)
            self.write("more.json", text + "\n")
            self.refused("empty.json", names=["empty.json", says])
            self.refused("empty.json", "more.json", names=["empty.json", says])

    def test_incomplete_timelines(self):
        self.write("job.csv", SLOW)
        self.assertEqual(self.say("job.csv").stderr, "")
        cut = self.say(self.write("cut.csv", SLOW[:-4]))  # 6000 us became 600
        self.assertIn("cut.csv: ", cut.stderr)
        self.refused(self.write("short.csv", SLOW[:-8]), names=["short.csv"])  # without notes
        lines = SLOW.splitlines()
        for chunk in ("-1", ""):
            text = "".join(f"{line},{chunk if i else 'chunk'}\n" for i, line in enumerate(lines))
            self.assertTrue(self.say(self.write("chunks.csv", text)).stderr)
        self.refused(self.write("chunks.csv", text.replace("19000,", "19000,-x")), names=["chunks.csv", "line 4"])
        self.refused(self.write("short.csv", SLOW.replace("19000", "-19000")), names=["line 4"])

    def test_ops_that_end_before_they_start(self):
        """As a published job has them by 21 to 75 us, from clocks that were set back: counted as they stand, said once."""
        job = "step,dp,stage,op,seq,start_us,duration_us\n" + "".join(
            f"0,0,0,{kind},0,{start},{length}\n" for kind, start, length in
            (("forward-compute", 0, 100), ("gc", 250, -21), ("backward-compute", 100, 150), ("optimizer", 229, 200)))
        done = self.say(self.write("job.csv", job), "--json")
        self.assertAlmostEqual(json.loads(done.stdout)["replayed_s"][0], 429e-6)  # 100 + 150 - 21 + 200 us
        self.assertEqual(json.loads(done.stdout)["replay_error"], 0)

    def test_compressed_files_are_whole(self):
        whole = gzip.compress(SLOW.encode())
        for name, data in (("two.gz", gzip.compress(SLOW[:60].encode()) + gzip.compress(SLOW[60:].encode())), ("padded.gz", whole + bytes(700))):
            (self.folder / name).write_bytes(data)
            self.assertEqual(self.json(name), self.json(self.write("job.csv", SLOW)))
        for data, says in ((whole + b"and more", ": "), (whole + bytes(512) + b"more", ": "),
                           (whole[:20] + b"\xff" * 20 + whole[40:], ": "), (whole[:-9], ": ")):
            (self.folder / "bad.csv.gz").write_bytes(data)
            self.refused("bad.csv.gz", names=["bad.csv.gz: ", says])
            self.assertNotIn("fd:", self.run_program("diagnose", "bad.csv.gz").stderr)

    def test_ranks_and_numbers(self):
        lines = SLOW.splitlines()
        for rank, says in ((lambda i: 0, ": "), (lambda i: i, ": ")):
            self.refused(self.write("ranks.csv", "".join(f"{line},{rank(i) if i else 'rank'}\n" for i, line in enumerate(lines))), names=["ranks.csv", says])
        self.refused(self.write("gap.csv", SLOW.replace("\n0,1,", "\n0,2,")), names=["gap.csv"])
        self.refused(self.write("far.csv", SLOW.replace("\n0,1,", "\n0,99999999999999999999,")), names=[": "])
        self.refused(self.write("word.csv", SLOW.replace("\n0,1,", "\n0,x,")), names=[": "])
        self.refused(self.write("word.csv", SLOW.replace("19000", "long")), names=[": "])

    def test_outputs_are_checked_before_any_is_written(self):
        self.write("job.csv", SLOW)
        self.refused("job.csv", "--plot", "heat.svg", "--html", "nowhere/page.html", names=["nowhere/page.html: "])
        self.refused("job.csv", "--plot", "heat.svg", "--timeline", ".", names=[": "])
        self.assertFalse((self.folder / "heat.svg").exists())

    def test_steps(self):
        self.write("job.csv", table((1, 1.5)))
        self.assertTrue(self.say("job.csv", "--steps", "1-5,6").stderr)
        self.assertTrue(self.say("job.csv", "--steps", "5,9").stderr)
        self.assertEqual(self.say("job.csv", "--steps", "5-6").stderr, "")
        for steps in ("-5", "1-", "1,,2", "a", ",", "1-2-3"):
            self.refused("job.csv", f"--steps={steps}", names=["--steps: "])
        self.refused("job.csv", "--steps", "0", names=["job.csv"])
        self.refused("job.csv", "--steps", "5", "--steps", "6", names=[": "])
        self.refused("job.csv", "./job.csv", names=["./job.csv"])
        self.refused("job.csv", "--json", "--json", "--steps", "5", "--steps", "6", names=[": "])


@needs_program
class Kineto(DiagnoseCase):
    def traces(self, factors, gap=0, clocks=(0, 12_345, -400), **how):
        return [self.write(f"rank{rank}.json", Trace(rank, factors, gap, clocks[rank], **how).text()) for rank in range(len(factors))]

    def test_a_job_of_ddp(self):
        """As the CSV of the same ops, whatever the clocks; and the slow rank is found."""
        for factors in ((1, 1.5), (1.25, 1), (1, 1.5, 1)):
            with self.subTest(factors=factors):
                got = self.json(*self.traces(factors))
                expected = self.json(self.write("job.csv", table(factors)))
                for key, value in expected.items():
                    if isinstance(value, float):
                        self.assertAlmostEqual(got[key], value, places=6, msg=key)
                    elif key not in ("microbatch_spread",):
                        self.assertEqual(json.loads(json.dumps(got[key]), parse_float=lambda x: round(float(x), 6)),
                                         json.loads(json.dumps(value), parse_float=lambda x: round(float(x), 6)), key)
                self.assertEqual(got["steps"], [5, 6])
                self.assertEqual(got["suspects"][0], "worker")
                self.assertEqual(got["worst_workers"], [[factors.index(max(factors)), 0]])
                self.assertAlmostEqual(got["replay_error"], 0)

    def test_a_job_on_cpus_that_averages_its_gradients_itself(self):
        """Without Kineto and without marks of steps: a list of events. Behind a backward pass of 200 us each rank waits for
        two all-reduces, of 50 and 30 us from the last start on, and updates in 20: 300 f + 100 us, with the slower f. Both are
        launched behind the pass, so its second part is empty."""
        factors = (1, 1.5)
        for rank, f in enumerate(factors):
            events, last = [], 300 * max(factors)
            for base in (1000, 2000):
                def add(name, tid, ts, dur):
                    events.append({"name": name, "ph": "X", "ts": base + ts + 70 * rank, "dur": dur, "tid": tid, "pid": "CPU functions", "args": {}})

                add("Optimizer.zero_grad#SGD.zero_grad", 1, -20, 5)
                add("aten::zero_", 1, -19, 3)
                add("aten::linear", 1, 0, 90 * f)
                add("aten::cross_entropy_loss", 1, 90 * f, 10 * f)
                add("autograd::engine::evaluate_function: AddmmBackward0", 1, 100 * f, 200 * f)
                for launch, end in ((300 * f, last + 50), (last + 50, last + 80)):
                    add("c10d::allreduce_", 1, launch, 2)
                    add("gloo:all_reduce", 2, launch, end - launch)
                    add("aten::div_", 1, end, 0)
                add("Optimizer.step#SGD.step", 1, last + 80, 20)
            self.write(f"rank{rank}.json", json.dumps(events))
        got = self.json("rank0.json", "rank1.json")
        for key in ("measured_s", "replayed_s"):
            for step in got[key]:
                self.assertAlmostEqual(step, (300 * 1.5 + 100) * 1e-6)
        self.assertEqual((len(got["steps"]), got["suspects"], got["worst_workers"]), (2, ["worker"], [[1, 0]]))
        self.assertAlmostEqual(got["stage_compute_s"]["0"]["forward-compute"], 125e-6)
        self.assertAlmostEqual(got["stage_compute_s"]["0"]["backward-compute"], 125e-6)  # of 250 and of nothing

    def test_files_in_any_order_and_steps(self):
        files = self.traces((1, 1.5))
        self.assertEqual(self.json(*files), self.json(*files[::-1]))
        self.assertEqual(self.json(*files, "--steps", "6")["steps"], [6])

    def test_notes(self):
        done = self.say(*self.traces((1, 1.5)))
        self.assertTrue(done.stderr)
        self.assertTrue(self.say(*self.traces((1, 1.5), clocks=(0, -2))).stderr)
        self.assertEqual(self.json(*self.traces((1, 1.5)))["notes"], [])  # the clocks were set right, and the replay misses nothing
        # 2 ms a step, of which rank 0 is busy with 1050 us but for 600-750: 600-750 is R0's, so 0-1050 without a gap; 950 us.
        self.assertTrue(done.stderr)
        for cluster in ("v100-10gbe", "no-such"):  # an error stands alone
            self.refused(*self.traces((1, 1.5)), "--cluster", cluster, names=["--cluster"])

    def test_a_model_of_the_job(self):
        """Sizes 4 and 2 MB take 150 and 100 us from the last start: a = 50 us, b = 0.025 ns/B; of a ring of two alpha is
        a/2 and beta is b. Collectives start 5 us behind what they wait for."""
        files = self.traces((1, 1.5), gap=5)
        done = self.say(*files, "--profile-out", "mine.json", "--cluster-out", "job.json")
        cluster = json.loads((self.folder / "job.json").read_text(encoding="utf-8"))
        self.assertEqual(cluster["workers"], 2)
        measured = cluster["network"]["measured"]
        self.assertAlmostEqual(float(measured["a"].split()[0]), 50, places=3)
        self.assertAlmostEqual(float(measured["b"].split()[0]), 0.025, places=6)
        self.assertEqual(cluster["network"]["launch"], "5 us")
        # 600 and 900 us of computing, in every step: no jitter, but a straggler.
        self.assertEqual(cluster["stragglers"], [{"worker": 1, "slowdown": 1.5}])
        self.assertNotIn("jitter", cluster)
        self.assertIn("rank0.json", done.stderr)
        fitted = self.json(*files, "--cluster-out", "job.json")["fitted"]
        self.assertEqual((fitted["collectives"], fitted["gaps"], fitted["stragglers"]), (4, 4, cluster["stragglers"]))
        self.assertAlmostEqual(fitted["alpha"], 25e-6)
        profile = json.loads((self.folder / "mine.json").read_text(encoding="utf-8"))
        self.assertEqual([(layer["forward"], layer["backward"]) for layer in profile["layers"]], [(100, 200), (100, 200)])
        self.run_program("import", files[0], "--out", "imported.json")
        self.assertEqual(profile["layers"], json.loads((self.folder / "imported.json").read_text(encoding="utf-8"))["layers"])
        for words in (("run", "-s", "ddp"), ("recommend", "--budget", "1"), ("whatif", "--budget", "1")):
            self.output(*words, "--profile", "mine.json", "--cluster", "job.json", "--json")

    def test_the_model_takes_as_long_as_the_job(self):
        """The slow rank alone makes the others wait: 1.5 times the passes, whatever the jitter of the rest."""
        for factors in ((1, 1.5), (1, 1.02, 1.5)):
            files = self.traces(factors, gap=5)
            measured = self.json(*files, "--profile-out", "mine.json", "--cluster-out", "job.json")["mean"]["measured_s"]
            replay = self.run_program("run", "-s", "ddp", "--profile", "mine.json", "--cluster", "job.json", "--json")
            self.assertAlmostEqual(json.loads(replay.stdout)["iteration_s"] / measured, 1, delta=0.03)

    def test_collectives_of_one_size(self):
        """They do not tell alpha from beta: nothing is written, and without --cluster-out everything is."""
        files = [self.write(f"rank{rank}.json", Trace(rank, (1, 1.5)).text().replace("500000", "1000000")) for rank in range(2)]
        self.refused(*files, "--cluster-out", "job.json", "--profile-out", "mine.json", names=["--cluster-out: ", "leave it out"])
        self.say(*files, "--profile-out", "mine.json")
        self.assertFalse((self.folder / "job.json").exists())

    def test_import_finds_the_collectives_that_diagnose_finds(self):
        """Whose kernels no operator launches, as DDP's hooks do."""
        file = self.traces((1, 1.5))[0]
        trace = json.loads((self.folder / file).read_text(encoding="utf-8"))
        trace["traceEvents"] = [one for one in trace["traceEvents"] if one["name"] != "c10d::allreduce_"]
        for one in trace["traceEvents"]:
            if one["name"] == "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad":
                one["dur"] = 5  # it ends before the all-reduce is launched
        self.write(file, json.dumps(trace))
        self.output("import", file, "--out", "mine.json", "--communication-out", "sizes.csv")
        rows = (self.folder / "sizes.csv").read_text(encoding="utf-8").splitlines()
        self.assertEqual(len(rows), 1 + 4)

    def test_refusals(self):
        one, two = self.traces((1, 1.5))
        self.refused(one, names=["rank0.json"])
        self.refused(one, one, names=["rank0.json", "twice"])
        self.refused(one, self.write("copy.json", (self.folder / one).read_text(encoding="utf-8")), names=["copy.json", "rank0.json"])
        self.refused(one, two, "--steps", "7-9", names=["rank0.json"])
        self.refused(one, self.write("cut.json", (self.folder / two).read_text(encoding="utf-8")[:-90]), names=["cut.json"])
        for old, new, words in ((Trace(1, (1, 1.5)).text(), '{"traceEvents": []}', ["rank1.json", "no event"]), ("Optimizer.step", "fsdp::step", ["rank1.json", "FSDP"]),
                                ("ncclDevKernel", "kernel", ["in common", "rank 0 has 2 collectives of gradients in step 5, rank 1 has 0 collectives"]), ("ProfilerStep#", "ProfilerStep#1", ["in common"]),
                                ("ProfilerStep#6", "ProfilerStep#5", ["rank1.json", "step 5 twice"])):
            text = Trace(1, (1, 1.5)).text()
            self.refused(one, self.write("rank1.json", text.replace(old, new)), names=words)

    def test_collectives_inside_a_pass_that_are_not_of_gradients(self):
        """Whoever waits in one for a late rank would be called slow; those before, between and behind the passes do no harm."""
        whole = self.json(*self.traces((1, 1.5)))
        base = 10_000  # of the first step: layers run at 0 to 10 us on the CPU, the backward pass from 20 to 75, the update from 90
        for name, at, thread, is_inside in (("c10d::alltoall_base_", 3, 1, True), ("nccl:_all_gather_base", 4, 1, True), ("gloo:all_reduce", 6, 1, True),
                                            ("c10d::allreduce_", 7, 1, True), ("c10d::alltoall_base_", 26, 2, True), ("c10d::_allgather_base_", 60, 2, True),
                                            ("c10d::broadcast_", 3, 1, False), ("c10d::allreduce_", 12, 1, False), ("c10d::_allgather_base_", 120, 1, False)):
            with self.subTest(name=name, at=at):
                files = []
                for rank in range(2):
                    trace = Trace(rank, (1, 1.5))
                    trace.operator(name, thread, base + at, 1)
                    files.append(self.write(f"inside{rank}.json", trace.text()))
                if is_inside:
                    self.refused(*files, names=["inside0.json", name])
                else:
                    self.assertEqual(self.json(*files)["by_worker"], whole["by_worker"])

    def test_micro_batches_within_a_step(self):
        """Two passes under one mark: their collectives cannot be told apart."""
        files = []
        for rank in range(2):
            trace = Trace(rank, (1, 1.5))
            trace.events = [{**one, "dur": 2 * PERIOD} if one["name"] == "ProfilerStep#5" else one for one in trace.events if one["name"] != "ProfilerStep#6"]
            files.append(self.write(f"two{rank}.json", trace.text()))
        self.refused(*files, names=["two0.json"])

    def test_damaged_traces_get_one_line(self):
        pick = random.Random(3)
        one, two = self.traces((1, 1.5))
        whole = (self.folder / two).read_bytes()
        for _ in range(80):
            text = bytearray(whole)
            for _ in range(pick.randint(1, 6)):
                at = pick.randrange(len(text))
                text[at:at + pick.randint(0, 4)] = bytes(pick.choice(b'0123456789-"{}[],:eE.') for _ in range(pick.randint(0, 4)))
            (self.folder / "bad.json").write_bytes(text[:pick.randrange(len(text))] if pick.random() < 0.2 else text)
            done = self.run_program("diagnose", one, "bad.json")
            self.assertIn(done.returncode, (0, 2), done.stderr)
            if done.returncode:
                self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)


if __name__ == "__main__":
    unittest.main()
