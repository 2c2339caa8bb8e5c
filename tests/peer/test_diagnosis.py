#!/usr/bin/env python3
"""`allreplay diagnose` against its peer, worked cases, a measured job, and laws. Run: python3 tests/peer/test_diagnosis.py

`diagnosis.py` beside this file is naive and shares nothing with the program. The worked cases and the measured job lie
beside the measured profiles, and are skipped where they are absent. ALLREPLAY_DIAGNOSIS_CASES is the number of random jobs.
"""

import csv
import io
import json
import os
import random
import statistics
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import diagnosis  # noqa: E402
from program import REFERENCE, Case, needs, needs_program  # noqa: E402

CASES = int(os.environ.get("ALLREPLAY_DIAGNOSIS_CASES", "40"))
WORKED = REFERENCE.parent / "cases" / "diagnose.json"
MEASURED = REFERENCE / "hybrids" / "straggler_st.csv.gz"
COLUMNS = ("step", "dp", "stage", "op", "seq", "chunk", "start_us", "duration_us")


# ---- random jobs ----------------------------------------------------------------------------------------------------

def passes(stage, stages, batches):
    """Forward and backward computes of a stage, one forward and one backward in turn, as 1F1B has them."""
    ahead = min(stages - stage - 1, batches)
    order = ["forward-compute"] * ahead
    for k in range(batches):
        order += ["forward-compute"] * (k < batches - ahead) + ["backward-compute"]
    return order


def random_job(pick):
    """Rows. Each stage's order is that of a pipeline; durations and, on all but the first replica, starts are anything."""
    replicas, stages, batches, steps = pick.randint(1, 3), pick.randint(1, 4), pick.randint(1, 4), pick.randint(1, 3)
    chunks = pick.randint(1, 2)
    extras = [kind for kind in ("gc", "layernorm-grads-all-reduce", "separate-grads-all-reduce", "optimizer-clip-main-grad",
                                "optimizer") if pick.random() < 0.6]
    gathers, reductions, overlapped = pick.randint(0, chunks), pick.randint(0, 2 * chunks), pick.random() < 0.5
    embedding = stages > 1 and pick.random() < 0.5
    rows = []
    for stage in range(stages):
        chunk_of = [pick.randrange(chunks) for _ in range(batches)]
        for step in range(steps):
            for replica in range(replicas):
                def add(kind, count, since, until, chunk=lambda k: 0):
                    for k, start in enumerate(sorted(pick.uniform(since, until) for _ in range(count))):
                        rows.append((step + 7, replica, stage, kind, k, chunk(k), start, pick.uniform(10, 5000)))

                order = passes(stage, stages, batches)
                seqs = dict.fromkeys(set(order), 0)
                for kind, start in zip(order, sorted(pick.uniform(10_000, 50_000) for _ in order)):
                    rows.append((step + 7, replica, stage, kind, seqs[kind], chunk_of[seqs[kind]], start, pick.uniform(10, 5000)))
                    seqs[kind] += 1
                for kind, there in (("forward-recv", stage > 0), ("forward-send", stage + 1 < stages),
                                    ("backward-recv", stage + 1 < stages), ("backward-send", stage > 0)):
                    add(kind, batches if there else 0, 10_000, 50_000)
                add("params-all-gather", gathers, 0, 9_000, lambda k: k)
                add("grads-reduce-scatter", reductions, *((20_000, 60_000) if overlapped else (60_000, 61_000)), lambda k: k % chunks)
                for kind in extras:
                    add(kind, 1, 60_000, 70_000)
                if embedding and stage in (0, stages - 1):
                    add("embedding-grads-all-reduce", 1, 60_000, 70_000)
    pick.shuffle(rows)
    return rows


# Keys that follow from the others; tests/programs/command/test_diagnose.py and tests/output/report check them.
DERIVED = {"compute_ratios", "findings", "ops", "step_count", "mean", "slowest_step", "kinds", "stage_rows", "slowest_workers", "notes"}


def text_of(rows, columns=COLUMNS):
    return "\n".join([",".join(columns), *(",".join(f"{x:.3f}" if isinstance(x, float) else str(x) for x in row) for row in rows)]) + "\n"


def dicts_of(text):
    return list(csv.DictReader(io.StringIO(text)))


def changed(text, change):
    """The CSV with every row, as a dictionary, changed."""
    rows = dicts_of(text)
    for row in rows:
        change(row)
    return "\n".join([",".join(rows[0]), *(",".join(map(str, row.values())) for row in rows)]) + "\n"


class Diagnose(Case):
    maxDiff = None

    def refused(self, text, *words, name="job.csv"):
        self.write(name, text)
        error = self.refusal("diagnose", name)
        for word in (name, *words):
            self.assertIn(word, error)

    def diagnosis(self, text, *options):
        self.write("job.csv", text)
        return json.loads(self.output("diagnose", "job.csv", "--json", *options))

    def assert_alike(self, got, expected, tolerance=1e-6, where=""):
        """Numbers relative, or absolute where they are below 1 (parts of a whole, correlations); all else equal."""
        if not where:
            got, expected = ({key: value for key, value in one.items() if key not in DERIVED} for one in (got, expected))
        if isinstance(expected, dict):
            self.assertEqual(sorted(got), sorted(expected), where)
            for key in expected:
                self.assert_alike(got[key], expected[key], tolerance, f"{where}/{key}")
        elif isinstance(expected, list):
            self.assertEqual(len(got), len(expected), where)
            for i, (one, other) in enumerate(zip(got, expected)):
                self.assert_alike(one, other, tolerance, f"{where}/{i}")
        elif isinstance(expected, float):
            self.assertAlmostEqual(got, expected, delta=tolerance * (abs(expected) if where.split("/")[1].endswith("_s") else max(1, abs(expected))), msg=where)
        else:
            self.assertEqual(got, expected, where)


@needs_program
class Peer(Diagnose):
    def test_random_jobs(self):
        for seed in range(CASES):
            with self.subTest(seed=seed):
                text = text_of(random_job(random.Random(seed)))
                got, expected = self.diagnosis(text), diagnosis.diagnose(dicts_of(text))
                # What is waste of a few nanoseconds is rounding in either.
                if abs(expected["slowdown"] - 1) < 1e-6:
                    for key in ("M_W", "M_S", "M_kind", "M_stage"):
                        del got[key], expected[key]
                self.assert_alike(got, expected, 1e-6 / min(1, max(1e-3, abs(expected["slowdown"] - 1))))

    @needs(WORKED)
    def test_worked_cases(self):
        for case in json.loads(WORKED.read_text(encoding="utf-8")):
            with self.subTest(case["name"]):
                got = self.diagnosis(case["timeline"])
                self.assert_alike({key: got[key] for key in case["answers"]}, case["answers"])

    @needs(MEASURED)
    def test_a_measured_job(self):
        """The job ST: its published answers (OSDI'25's analyser, result-*.json, ms-*.json, mw-*.json), to as many digits."""
        done = self.run_program("diagnose", MEASURED, "--json")
        got = json.loads(done.stdout)
        self.assertEqual((got["replicas"], got["stages"], len(got["steps"])), (2, 4, 32))
        self.assertAlmostEqual(statistics.fmean(got["replayed_s"]), 2.1727, delta=0.00005)
        self.assertAlmostEqual(got["slowdown"], 1.1787, delta=0.00005)
        self.assertAlmostEqual(got["M_W"], 0.0314, delta=0.00005)
        self.assertAlmostEqual(got["M_S"], 1.2194, delta=0.00005)
        # Of the published 2.2144 s the CSV lacks 0.1 ms: its transfers start at their group's latest start already.
        self.assertAlmostEqual(statistics.fmean(got["measured_s"]), 2.2144, delta=0.0001)
        self.assertEqual(got["suspects"], ["last-stage"])
        self.assertLess(abs(got["replay_error"]), 0.02)
        self.assert_alike(got, diagnosis.diagnose(diagnosis.rows_of(MEASURED)))
        some = json.loads(self.run_program("diagnose", MEASURED, "--json", "--steps", "23-25,30").stdout)
        self.assertEqual(some["steps"], [step for step in got["steps"] if step in (23, 24, 25, 30)])


@needs_program
class Laws(Diagnose):
    def setUp(self):
        super().setUp()
        self.texts = [text_of(random_job(random.Random(1000 + seed))) for seed in range(6)]

    def test_scaling_all_times_scales_all_times_and_no_ratio(self):
        for text in self.texts:
            # Own durations below -10 ms count as 0: an absolute time, so no group may come near it when scaled up.
            small = changed(text, lambda row: row.update({key: float(row[key]) / 16 for key in ("start_us", "duration_us")}))
            large = changed(text, lambda row: row.update({key: float(row[key]) / 8 for key in ("start_us", "duration_us")}))
            one, two = self.diagnosis(small), self.diagnosis(large)
            for key in ("measured_s", "replayed_s", "ideal_s"):
                one[key] = [2 * value for value in one[key]]
            one["stage_compute_s"] = {stage: {kind: 2 * value for kind, value in each.items()} for stage, each in one["stage_compute_s"].items()}
            self.assert_alike(two, one)

    def test_equal_durations(self):
        text = text_of([(0, dp, 0, kind, seq, 0, start, 10.0) for dp in range(3)
                        for kind, seq, start in (("forward-compute", 0, 0.0), ("backward-compute", 0, 10.0), ("optimizer", 0, 20.0))])
        got = self.diagnosis(text)
        self.assertEqual((got["slowdown"], got["waste"], got["suspects"]), (1, 0, ["none"]))

    def test_a_slow_replica_is_found(self):
        """x times as slow on one of D replicas, in a job of equal ones: that worker is all of the waste."""
        for replicas in (2, 5):
            for slow in (0, replicas - 1):
                rows = []
                for dp in range(replicas):
                    x = 1.7 if dp == slow else 1.0
                    rows += [(0, dp, 0, "forward-compute", 0, 0, 0.0, 1000 * x), (0, dp, 0, "backward-compute", 0, 0, 1000 * x, 2000 * x),
                             (0, dp, 0, "grads-reduce-scatter", 0, 0, 3000 * x, 5100 - 3000 * x + 400), (0, dp, 0, "optimizer", 0, 0, 5500.0, 10.0)]
                got = self.diagnosis(text_of(rows))
                self.assertEqual((got["suspects"], got["worst_workers"]), (["worker"], [[slow, 0]]))
                self.assertAlmostEqual(got["M_W"], 1)

    def test_relabelling_replicas_permutes_the_answers(self):
        """Of a job whose order is the same on all replicas, since the first one's counts."""
        for seed in range(4):
            rows = [row for row in random_job(random.Random(seed)) if row[1] == 0]
            pick = random.Random(seed)
            rows = [(*row[:1], dp, *row[2:7], row[7] * pick.uniform(1, 2)) for dp in range(3) for row in rows]
            one = self.diagnosis(text_of(rows))
            two = self.diagnosis(text_of([(row[0], (row[1] + 1) % 3, *row[2:]) for row in rows]))
            for i in range(3):
                self.assertAlmostEqual(one["by_replica"][str(i)], two["by_replica"][str((i + 1) % 3)])
            self.assert_alike(two["by_stage"], one["by_stage"], where="/by_stage")
            self.assert_alike(two["replayed_s"], one["replayed_s"], where="/replayed_s")

    def test_every_step_twice_changes_nothing(self):
        for text in self.texts:
            rows = dicts_of(text)
            again = changed(text, lambda row: row.update(step=int(row["step"]) + 100))
            one, two = self.diagnosis(text), self.diagnosis(text + again.split("\n", 1)[1])
            self.assertEqual(len(two["steps"]), 2 * len({row["step"] for row in rows}))
            for key in ("slowdown", "waste", "by_kind", "by_stage", "by_worker", "critical_share", "microbatch_spread", "suspects"):
                self.assert_alike(two[key], one[key], where=f"/{key}")

    def test_the_replayed_timeline_replays_as_it_is(self):
        texts = [self.diagnosable(seed) for seed in range(6)] + [self.overlapping(seed) for seed in range(20)]
        for text in texts:
            one = self.diagnosis(text, "--timeline", "replayed.json")
            two = self.answer("diagnose", "replayed.json")
            self.assertAlmostEqual(two["replay_error"], 0, places=6)
            self.assert_alike(two["replayed_s"], one["replayed_s"], where="/replayed_s")
            self.assert_alike(two["by_worker"], one["by_worker"], 1e-5, where="/by_worker")

    @staticmethod
    def overlapping(seed):
        """A job of DDP as it would happen: a reduction starts on each replica once its own part of the backward pass has ended."""
        pick = random.Random(seed)
        replicas, parts = pick.randint(2, 3), pick.randint(2, 5)
        length = [pick.randint(100, 4000) for _ in range(parts)]  # of reductions, us
        rows, free, at = [], [0] * replicas, []
        for dp in range(replicas):
            slow = pick.randint(1, 3)
            rows.append((0, dp, 0, "forward-compute", 0, 0, 0, 500 * slow))
            at.append([500 * slow])
            for k in range(parts):
                rows.append((0, dp, 0, "backward-compute", k, k, at[dp][-1], 400 * slow))
                at[dp].append(at[dp][-1] + 400 * slow)
        for k in range(parts):
            starts = [max(free[dp], at[dp][k + 1]) for dp in range(replicas)]
            for dp in range(replicas):
                free[dp] = max(starts) + length[k]
                rows.append((0, dp, 0, "grads-reduce-scatter", k, k, starts[dp], free[dp] - starts[dp]))
        rows += [(0, dp, 0, "optimizer", 0, 0, max(free[dp], at[dp][-1]), 100) for dp in range(replicas)]
        return text_of(rows)

    @staticmethod
    def diagnosable(seed):
        """A random job of one step whose transfers overlap nothing, and that really happened: that has been replayed once."""
        pick = random.Random(seed)
        rows, stages, batches = [], pick.randint(2, 4), pick.randint(2, 4)
        for dp in range(2):
            for stage in range(stages):
                at, seqs = 0.0, {}
                for kind in [*passes(stage, stages, batches), "gc", "grads-reduce-scatter", "optimizer"]:
                    length = pick.uniform(100, 5000)
                    rows.append((0, dp, stage, kind, seqs.setdefault(kind, 0), 0, at, length))
                    for other, there in ((kind.replace("compute", "send"), stage + 1 < stages if kind[0] == "f" else stage > 0),
                                         (kind.replace("compute", "recv"), stage > 0 if kind[0] == "f" else stage + 1 < stages)):
                        if there and kind.endswith("compute"):
                            rows.append((0, dp, stage, other, seqs[kind], 0, at, pick.uniform(100, 5000)))
                    seqs[kind] += 1
                    at += length
        return text_of(rows)


@needs_program
class Refusals(Diagnose):
    GOOD = [(0, dp, stage, kind, 0, 0, start, 10.0) for dp in range(2) for stage in range(2)
            for kind, start in (("forward-recv" if stage else "forward-send", 0.0), ("forward-compute", 1.0), ("backward-compute", 11.0),
                                ("backward-send" if stage else "backward-recv", 5.0), ("optimizer", 21.0))]

    def test_the_good_one(self):
        self.assertEqual(self.diagnosis(text_of(self.GOOD))["stages"], 2)

    def test_what_is_wrong_is_named(self):
        good, lines = text_of(self.GOOD), text_of(self.GOOD).splitlines()
        without = lambda *words: "\n".join(line for line in lines if not any(word in line for word in words)) + "\n"
        self.refused(good.replace("optimizer", "optimiser", 1), "optimiser", "did you mean 'optimizer'?")
        self.refused(good + lines[-1] + "\n", "optimizer", "twice")
        self.refused(without("0,1,1,optimizer"), "optimizer", "replica 1, stage 1", "has no")
        self.refused(without("0,1,1,"), "replica 1, stage 1", "has no")
        self.refused(without("0,0,1,optimizer"), "optimizer", "has no")
        self.refused(good + "1,0,0,forward-compute,0,0,0,1\n", "step 1", "has no")
        self.refused(without("1,forward-compute"), "stage 1", "forward-compute")
        self.refused(without("backward-compute"), "backward-compute")
        self.refused(without("forward-recv"), "forward-send", "forward-recv")
        self.refused(without("backward-send"), "backward-recv", "backward-send")
        self.refused(good.replace(",10.000", ",ten", 1), "'ten'", "line 2")
        self.refused(good.replace(",10.000", ",nan", 1), "'nan'", "line 2")
        self.refused(good.replace(",10.000", ",-10000.5", 1), "'-10000.5'", "line 2")
        self.refused(good.replace(",10.000", ",1e300", 1), "'1e300'")
        self.refused(good.replace(",0.000,", ",inf,", 1), "'inf'")
        self.refused(good.replace("start_us", "start", 1), "job.csv")
        self.refused(good.replace(",seq,", ",number,", 1), "seq")
        self.refused(good[:-9], "line 21")
        self.refused("", "empty")
        self.refused("step,dp,stage,op,seq,start_us,duration_us\n", "no op")
        self.refused(good.replace("0,0,0,forward-compute,0", "0,0,0,forward-compute,1"), "forward-compute 0")
        self.refused(good.replace("\n0,1,", "\n0,4000000000,"), "4000000000")
        self.refused(good.replace("\n0,1,", "\n0,9000000,"), "there is no replica 1")

    def test_a_cycle(self):
        """Stage 0 sends the first batch behind its second compute, and stage 1 computes it behind what it answers."""
        rows = []
        for dp in range(1):
            for kind, seq, start in (("backward-compute", 0, 0.0), ("forward-compute", 0, 50.0), ("forward-send", 0, 60.0), ("backward-recv", 0, 0.0)):
                rows.append((0, dp, 0, kind, seq, 0, start, 10.0))
            for kind, seq, start in (("forward-recv", 0, 0.0), ("forward-compute", 0, 10.0), ("backward-compute", 0, 20.0), ("backward-send", 0, 30.0)):
                rows.append((0, dp, 1, kind, seq, 0, start, 10.0))
        self.refused(text_of(rows), "cycle", "waits for itself")

    def test_steps(self):
        for steps in ("x", "3-1", "-3", "1-", "1,,2"):
            (self.folder / "job.csv").write_text(text_of(self.GOOD), encoding="utf-8")
            self.assertIn("--steps", self.refusal("diagnose", "job.csv", f"--steps={steps}"))
        self.refusal("diagnose", "job.csv", "--steps", "5-9")

    def test_damaged_files_get_one_line(self):
        pick, good = random.Random(5), text_of(self.GOOD)
        done = self.diagnosis(good, "--timeline", "trace.json")
        self.assertEqual(done["replicas"], 2)
        for name in ("job.csv", "trace.json"):
            whole = (self.folder / name).read_bytes()
            for _ in range(60):
                text = bytearray(whole)
                for _ in range(pick.randint(1, 4)):
                    at = pick.randrange(len(text))
                    text[at:at + pick.randint(0, 3)] = bytes(pick.randrange(256) for _ in range(pick.randint(0, 3)))
                if pick.random() < 0.3:
                    del text[pick.randrange(len(text)):]
                (self.folder / f"bad {name}").write_bytes(text)
                done = self.run_program("diagnose", f"bad {name}", text=False)
                self.assertIn(done.returncode, (0, 2), (bytes(text), done.stderr))
                if done.returncode:
                    self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)


if __name__ == "__main__":
    unittest.main()
