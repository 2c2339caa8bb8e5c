#!/usr/bin/env python3
"""What `allreplay diagnose` makes of sharded jobs. Run: python3 tests/programs/command/test_diagnose_sharded.py

Their traces are made by sharded_trace.py, as PyTorch writes them.
"""

import json
import random
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import sharded_trace  # noqa: E402
from diagnose_case import DiagnoseCase  # noqa: E402
from program import needs_program  # noqa: E402
from sharded_trace import Job  # noqa: E402

# Two ranks, two units; every gather and reduction moves for 1 us, and so long takes the optimizer. F = 1 and B = 2 us on
# rank 0, half as long again on rank 1. Unit 2 stays gathered. Rows: rank, op, unit, start, end.
EXAMPLE = """\
0 unit-forward-gather 1 0 1
0 forward-compute 1 1 2
0 unit-forward-gather 2 1 2
0 forward-compute 2 2 3
0 backward-compute 2 3 5
0 backward-compute 1 5 7
0 unit-backward-gather 1 3 5
0 unit-reduce 2 5 8
0 unit-reduce 1 7 11
0 optimizer 0 11 12
1 unit-forward-gather 1 0 1
1 forward-compute 1 1 2.5
1 unit-forward-gather 2 1 2
1 forward-compute 2 2.5 4
1 backward-compute 2 4 7
1 backward-compute 1 7 10
1 unit-backward-gather 1 4 5
1 unit-reduce 2 7 8
1 unit-reduce 1 10 11
1 optimizer 0 11 12
"""


def table(text, step=0):
    """The CSV of such rows."""
    rows = ["step,dp,stage,op,seq,chunk,start_us,duration_us"]
    for line in text.splitlines():
        rank, kind, unit, start, end = line.split()
        seq, chunk = (0, unit) if kind.endswith("compute") else (unit, 0)
        rows.append(f"{step},{rank},0,{kind},{seq},{chunk},{start},{float(end) - float(start)}")
    return "\n".join(rows) + "\n"


class Sharded(DiagnoseCase):
    def traces(self, job, **how):
        return [self.write(f"rank{rank}.json", job.trace(rank, **how)) for rank in job.ranks]

    def assert_same(self, got, expected, places=8):
        """Numbers alike, whatever the workers' ranks and the units are called."""
        self.assertEqual(got.keys(), expected.keys())
        for key in got:
            if key in ("notes", "slowest_workers", "findings", "exposed_by_unit", "most_exposed", "latest"):
                continue
            self.assert_near(got[key], expected[key], key, places)

    def assert_near(self, a, b, key, places):
        if isinstance(a, dict):
            self.assertEqual(a.keys(), b.keys(), key)
            for name in a:
                self.assert_near(a[name], b[name], f"{key}/{name}", places)
        elif isinstance(a, list):
            self.assertEqual(len(a), len(b), key)
            for one, other in zip(a, b):
                self.assert_near(one, other, key, places)
        elif isinstance(a, float) or isinstance(b, float):
            self.assertAlmostEqual(a, b, places, key)
        else:
            self.assertEqual(a, b, key)


@needs_program
class Rules(Sharded):
    def test_the_example(self):
        """12 us, ideal 10.5: F 1.25 and B 2.5 on both. F1 1-2.25, F2 -3.5, B2 -6, R2 6-7, B1 -8.5, R1 8.5-9.5, optimizer
        -10.5. Worker 1 alone mended: the same; worker 0 alone: 12. Rank 0 waits for R1 from 7 to 11, until 10 for rank 1;
        rank 1 from 10 to 11. Without gathers F1 starts at 0: 11; without transfers of reductions the optimizer at 10: 11."""
        self.write("job.csv", table(EXAMPLE))
        got = self.json("job.csv")
        self.assertAlmostEqual(got["measured_s"][0], 12e-6, 12)
        self.assertAlmostEqual(got["replayed_s"][0], 12e-6, 12)
        self.assertAlmostEqual(got["ideal_s"][0], 10.5e-6, 12)
        self.assertAlmostEqual(got["slowdown"], 12 / 10.5, 9)
        self.assertEqual((got["suspects"], got["worst_workers"], got["M_W"]), (["worker"], [[1, 0]], 1.0))
        self.assertAlmostEqual(got["by_worker"]["0,0"], 1)
        self.assertAlmostEqual(got["by_worker"]["1,0"], 12 / 10.5)
        self.assert_near(got["compute_ratios"], {"0,0": 1 / 1.5, "1,0": 1.5}, "compute_ratios", 9)  # "half as long again"
        for one in (got["findings"][0], got["latest"], got["slowest_workers"][0]):
            self.assertAlmostEqual(one["compute_ratio"], 1.5)
        self.assertAlmostEqual(got["exposed_gather_s"], 1e-6, 12)
        self.assertAlmostEqual(got["exposed_reduce_s"], 2.5e-6, 12)
        for key, late, transfer in (("exposed_gather", 0, 1), ("exposed_reduce", 1.5, 1)):
            self.assert_near(got[key], {"late_rank_s": late * 1e-6, "transfer_s": transfer * 1e-6, "gap_s": 0.0}, key, 12)
        self.assert_near(got["waited_for_s"], {"0,0": 0.0, "1,0": 1.5e-6}, "waited_for_s", 12)
        expected = {"gathers take no time": 11, "reductions take no time": 11, "gaps of the slowest host as the median's": 12, "no slow rank": 10.5}
        self.assert_near({one["what"]: one["step_s"] for one in got["what_ifs"]}, {what: time * 1e-6 for what, time in expected.items()}, "what_ifs", 12)

    def test_other_collectives_are_no_computing(self):
        """As above, with a collective of 1 us before the update: all is 1 us longer, and rank 1 still brings back 1.5."""
        for kind in ("other-collective", "optimizer-clip-main-grad"):
            rows = EXAMPLE.replace("optimizer 0 11 12", "optimizer 0 12 13") + "".join(f"{rank} {kind} 0 11 12\n" for rank in (0, 1))
            self.write("job.csv", table(rows))
            got = self.json("job.csv")
            self.assertAlmostEqual(got["replayed_s"][0], 13e-6, 12)
            self.assertAlmostEqual(got["ideal_s"][0], 11.5e-6, 12)
            self.assertAlmostEqual(got["exposed_reduce_s"], 2.5e-6, 12)

    def test_gaps_are_kept(self):
        """As above, but rank 0 starts F2 2 us late, at 4, and all that follows: B2 5-7, G1 gathered 5-6, B1 7-9. Rank 1 is late
        as before. The gap is 2 of 12 us. Rank 0 arrives at G1 last, at 5, so that B1 of rank 1 still starts at 7."""
        late = [line.split() for line in EXAMPLE.splitlines()]
        times = {("0", "forward-compute", "2"): (4, 5), ("0", "backward-compute", "2"): (5, 7), ("0", "backward-compute", "1"): (7, 9),
                 ("0", "unit-backward-gather", "1"): (5, 6), ("1", "unit-backward-gather", "1"): (4, 6), ("0", "unit-reduce", "2"): (7, 8), ("0", "unit-reduce", "1"): (9, 11)}
        self.write("job.csv", table("\n".join(" ".join([*row[:3], *map(str, times.get(tuple(row[:3]), row[3:]))]) for row in late)))
        got = self.json("job.csv")
        self.assertEqual(got["replay_error"], 0)
        self.assertAlmostEqual(got["gap_share"]["0,0"], 2 / 12)
        self.assertAlmostEqual(got["gap_share"]["1,0"], 0)
        # Without the gap rank 0 is as it was, and rank 1 decides.
        self.assertAlmostEqual(got["what_ifs"][2]["step_s"], 12e-6, 12)

    def test_measured_lengths_give_the_measured_steps(self):
        pick = random.Random(5)
        for case in range(12):
            ranks = pick.choice((2, 3, 4))
            job = Job([pick.uniform(0.8, 1.5) for _ in range(ranks)], units=pick.randint(2, 6), batches=pick.randint(1, 3), steps=pick.randint(1, 3),
                      shard=2 if ranks == 4 and pick.random() < 0.5 else 0, gap=pick.choice((0, 7.5)), gather=pick.choice((10, 60, 400)))
            self.write("job.csv", job.table())
            got = self.json("job.csv")
            with self.subTest(case):
                self.assert_near(got["replayed_s"], got["measured_s"], "replayed_s", 10)
                self.assertLess(abs(got["replay_error"]), 1e-9)
                exposed = sum(one["exposed_s"] for one in got["exposed_by_unit"])
                self.assertAlmostEqual(exposed, got["exposed_gather_s"] + got["exposed_reduce_s"], 12)

    def test_a_job_of_equal_ranks_wastes_nothing(self):
        self.write("job.csv", Job([1, 1, 1]).table())
        got = self.json("job.csv")
        self.assertEqual((got["suspects"], got["exposed_gather"]["late_rank_s"]), (["none"], 0))
        self.assertAlmostEqual(got["slowdown"], 1)

    def test_a_slow_rank_stays_late_from_step_to_step(self):
        """Only rank 1's update is slow, 150 us for 50: the next step's first gather waits for it. Steps are replayed one after
        the other, so that it explains the waits of all others there."""
        job = Job([1, 1], steps=1)
        lines = []
        for step in range(3):
            for _, rank, kind, unit, batch, part, start, end in job.ops:
                last = max(op[7] for op in job.ops)
                late, length = step * (last + 100), 100 if (kind, rank) == ("optimizer", 1) else 0
                if step and kind == "unit-forward-gather" and unit == 0 and rank == 0:
                    start -= 100
                lines.append((step, rank, kind, unit, batch, part, start + late, end + late + length))
        job.ops = lines
        self.write("job.csv", job.table())
        got = self.json("job.csv")
        self.assertEqual((got["suspects"][0], got["worst_workers"]), ("worker", [[1, 0]]))
        self.assertLess(abs(got["replay_error"]), 1e-9)

    def test_the_timeline_is_diagnosed_alike(self):
        for job in (Job([1, 1.4, 1]), Job([1, 1, 1, 1.3], shard=2, batches=2, gap=5)):
            self.write("job.csv", job.table())
            first = self.json("job.csv", "--timeline", "t.json")
            self.assert_same(self.json("t.json"), first)

    def test_what_is_wrong_is_named(self):
        good = table(EXAMPLE)
        for wrong, names in (("0,1,0,optimizer,0,0,11,1.0\n", ["twice", "optimizer"]), ("0,1,0,unit-reduce,3,0,10,1\n", ["unit-reduce 3"]),
                             ("0,1,0,forward-send,0,0,10,1\n", ["forward-send"]), ("0,1,1,forward-compute,0,1,10,1\n", ["stage"]),
                             ("0,1,0,unit-gather,0,1,10,1\n", ["unit-gather"])):
            with self.subTest(wrong):
                self.write("job.csv", good + wrong)
                self.refused("job.csv", names=["job.csv", *names])
        self.write("job.csv", "\n".join(line for line in good.splitlines() if ",1,0,unit-reduce,2" not in line) + "\n")
        self.refused("job.csv", names=["replica 1", "unit-reduce 2"])
        # Rank 1 runs its two reductions in the other order: each waits for the other.
        swapped = good.replace("0,1,0,unit-reduce,2,0,7,1.0", "0,1,0,unit-reduce,2,0,10.5,1.0")
        self.write("job.csv", swapped)
        self.refused("job.csv", names=["waits for itself"])
        self.write("job.csv", good)
        for option in ("--cluster-out", "--profile-out"):
            self.refused("job.csv", option, "out.json", names=[option])
        self.refused("job.csv", "--cluster", "fat-tree-16", names=["--cluster", "sizes"])


@needs_program
class Kineto(Sharded):
    def test_traces_say_the_same_as_the_table(self):
        for name, job in (("fsdp2", Job([1, 1.5])), ("three", Job([1, 1, 1.2], units=5, steps=3)), ("micro-batches", Job([1.3, 1], batches=2)),
                          ("hsdp", Job([1, 1, 1.4, 1], shard=2))):
            with self.subTest(name):
                self.write("job.csv", job.table())
                self.assert_same(self.json(*self.traces(job)), self.json("job.csv"))

    def test_spans_of_other_frameworks(self):
        """Without names of modules units are counted, as FSDP1's: the same numbers."""
        job = Job([1, 1.5], steps=3)
        expected = self.json(*self.traces(job))
        for style in ("unnamed", "fsdp1"):
            with self.subTest(style):
                self.assert_same(self.json(*self.traces(job, style=style)), expected)
        # Without spans of units the last two units are one, and their first gather is waited for.
        for style in ("deepspeed", "none"):
            with self.subTest(style):
                got = self.json(*self.traces(job, style=style))
                self.assertEqual((got["suspects"], got["worst_workers"]), (["worker"], [[1, 0]]))
                self.assertLess(abs(got["replay_error"]), 0.03)

    def test_clocks_are_aligned(self):
        job = Job([1, 1.5])
        names = [self.write(f"rank{rank}.json", job.trace(rank, clock=123_456.5 * rank)) for rank in job.ranks]
        done = self.say(*names, "--json")
        self.assertIn("rank 1 123.5 ms ahead", done.stderr)
        self.assertLess(abs(json.loads(done.stdout)["replay_error"]), 1e-9)

    def test_units_are_named_and_sized(self):
        got = self.json(*self.traces(Job([1, 1.5])), "--cluster", "h100x8-8x400gbps")
        rows = {(one["name"], one["kind"]): one for one in got["exposed_by_unit"]}
        gather = rows["layers.1", "unit-forward-gather"]
        bytes_of = 2 * 3 * sharded_trace.ELEMENTS  # unit 2 in bf16
        self.assertEqual((gather["unit"], gather["bytes"]), (2, bytes_of))
        self.assertAlmostEqual(gather["reached_GBps"], bytes_of / 60e-6 * 1e-9, 6)
        done = self.run_program("collective", "--cluster", "h100x8-8x400gbps", "--workers", "2", "--operation", "all-gather", "--bytes", f"{bytes_of}B", "--json")
        self.assertAlmostEqual(gather["expected_s"], json.loads(done.stdout)[0]["time_s"], 12)

    def test_profile_and_cluster(self):
        """Three ranks, so that rank 0 of factor 1.1 is the median one: its root computes 2 x 100 x 1.1 us forward."""
        job = Job([1.1, 1.5, 1])
        self.say(*self.traces(job), "--profile-out", "mine.json", "--cluster-out", "cluster.json")
        profile = json.loads((self.folder / "mine.json").read_text(encoding="utf-8"))
        layers = profile["layers"]
        self.assertEqual([one["name"] for one in layers], ["root", "layers.0", "layers.1", "layers.2"])
        shapes = [[one["shape"] for one in layer["tensors"]] for layer in profile["model"]["layers"]]
        self.assertEqual(shapes, [[[sharded_trace.ELEMENTS * (unit + 1)]] for unit in range(4)])
        self.assertEqual([round(one["forward"], 6) for one in layers], [220, 110, 110, 110])
        cluster = json.loads((self.folder / "cluster.json").read_text(encoding="utf-8"))
        self.assertIn("jitter", cluster)
        self.output("run", "--profile", "mine.json", "--cluster", "cluster.json", "--workers", "3", "--strategy", "fsdp2", "--json")

    def test_a_group_without_ranks_is_refused(self):
        self.refused(*self.traces(Job([1, 1, 1.4, 1], shard=2), names_ranks=False), names=["process group", "PyTorch 2.4"])
        # Of all ranks: nothing has to be told apart.
        self.assertEqual(self.json(*self.traces(Job([1, 1.5]), names_ranks=False))["suspects"], ["worker"])

    def test_unequal_gathers_are_refused(self):
        job = Job([1, 1.5])
        names = [self.write(f"rank{rank}.json", job.trace(rank, drop=[("unit-backward-gather", 2)] if rank else ())) for rank in job.ranks]
        self.refused(*names, names=["rank 0 has", "rank 1 has", "gathers", "the same steps"])

    def test_one_rank_is_refused(self):
        self.refused(self.traces(Job([1, 1.5]))[0], names=["one rank"])

    def test_pictures(self):
        names = self.traces(Job([1, 1.5]))
        self.say(*names, "--html", "page.html", "--plot", "heat.svg")
        self.assertIn("backward-compute of unit 2, micro-batch 0", (self.folder / "page.html").read_text(encoding="utf-8"))

    def test_import_makes_a_profile_of_a_rank(self):
        names = self.traces(Job([1, 1.5]))
        self.output("import", names[0], "--out", "p.json")
        profile = json.loads((self.folder / "p.json").read_text(encoding="utf-8"))
        self.assertEqual(sorted(one["forward"] for one in profile["layers"]), [100, 100, 100, 200])


@needs_program
class Simulated(Sharded):
    def table(self, trace):
        """The CSV of a simulated iteration of fsdp2 on two workers: each layer is a block. The network says when a collective
        moves: as the slow worker starts or ends a computation, so that the fast one was ready as it did the same."""
        rows = ["step,dp,stage,op,seq,chunk,start_us,duration_us"]
        events = [one for one in trace["traceEvents"] if one["ph"] == "X"]
        layers = list(dict.fromkeys(one["name"].split(" ")[1] for one in events if one["name"].startswith("F ")))
        turned = min(one["ts"] for one in events if one["name"].startswith("B "))
        bounds = ({}, {})  # by worker: time of (computation, its start or end)
        for one in events:
            kind, name = one["name"].split(" ", 1)
            if kind in ("F", "B"):
                rows.append(f"0,{one['pid']},0,{'forward' if kind == 'F' else 'backward'}-compute,0,{layers.index(name)},{one['ts']},{one['dur']}")
                bounds[one["pid"]].update({(one["name"], "start"): one["ts"], (one["name"], "end"): round(one["ts"] + one["dur"], 3)})
        for one in events:
            kind, name = one["name"].split(" ", 1)
            if kind in ("F", "B"):
                continue
            block, end = int(name.split()[1]), one["ts"] + one["dur"]
            op = "unit-reduce" if "Reduce" in kind else "unit-forward-gather" if one["ts"] < turned else "unit-backward-gather"
            for rank in (0, 1):
                start = min([one["ts"], *(bounds[rank][bound] for bound, time in bounds[1].items() if abs(time - one["ts"]) < 0.002)])
                rows.append(f"0,{rank},0,{op},{block},0,{start},{end - start}")
        return "\n".join(rows) + "\n"

    def test_our_own_timeline_comes_back(self):
        """Of two workers one takes 1.3 times as long."""
        simulated = self.answer("run", "--profile", "alexnet_p102_b64", "--nodes", "2", "--gpus", "1", "--network", "100Gbps", "--strategy", "fsdp2",
                                "--stragglers", "1:1.3", "--timeline", "t.json")
        self.write("job.csv", self.table(json.loads((self.folder / "t.json").read_text(encoding="utf-8"))))
        got = self.json("job.csv")
        self.assertAlmostEqual(got["measured_s"][0], simulated["iteration_s"], 8)  # times are written to the nanosecond
        self.assertAlmostEqual(got["replayed_s"][0], simulated["iteration_s"], 8)
        self.assertEqual((got["suspects"][0], got["worst_workers"]), ("worker", [[1, 0]]))
        # Both at the mean of 1 and 1.3 times the time, that is, 1.15.
        passes = sum(got["stage_compute_s"]["0"].values())
        self.assertAlmostEqual(passes, 1.15 * (simulated["forward_s"] + simulated["backward_s"]), 6)


if __name__ == "__main__":
    unittest.main()
