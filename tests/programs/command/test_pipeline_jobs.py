#!/usr/bin/env python3
"""Slow workers in pipelines, and pipelines as jobs: a job alone is `run`, and events act on ranks of the pipeline."""

import json
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from program import Case, answer, needs_program, output
from test_pipelines import trace

LAYERS = [(10, 20), (15, 25), (5, 30), (10, 10), (20, 40), (5, 5), (10, 30), (15, 15)]
SETTINGS = [
    {"name": "ddp", "pp": 2, "micro_batches": 4},
    {"name": "ddp", "pp": 2, "tp": 2, "micro_batches": 4, "schedule": "interleaved", "update_barrier": "stage"},
    {"name": "bytescheduler", "pp": 4, "micro_batches": 4, "partition": "300 B"},  # iterations overlap, by priority
    {"name": "mg-wfbp", "pp": 2, "micro_batches": 3, "schedule": "gpipe", "p2p": "blocking", "update_barrier": "stage"},
    {"name": "megatron", "pp": 2, "micro_batches": 4, "schedule": "zb-h1"},
    {"name": "fsdp2", "pp": 4, "micro_batches": 4, "update_barrier": "stage"},
    {"name": "horovod", "pp": 2, "micro_batches": 4, "cycle": "30 us"},
    {"name": "wfbp", "pp": 2, "cp": 2, "zero": 2, "micro_batches": 4, "schedule": "zbv"},
    {"name": "wfbp", "tp": 2, "micro_batches": 2},  # no pipeline, and collectives inside layers
]
SLOW = [{"worker": 2, "slowdown": 1.5}, {"worker": 5, "slowdown": 1.25}, {"worker": 6, "slowdown": 2}]


def profile(scale=1, **more):
    """Eight layers whose activations and gradients take some microseconds, and an update. SETTINGS have groups of both
    kinds, in which nothing is sent unless `more` says so."""
    more.setdefault("collectives", [{"op": "all-reduce", "group": group, "bytes": 0, "pass": "forward"} for group in ("tp", "cp")])
    made = trace([(scale * forward, scale * backward) for forward, backward in LAYERS], output_bytes=2000, **more)
    for layer in made["model"]["layers"]:
        layer["tensors"][0]["shape"] = [1000]
    return made | {"update": scale * 40}


def cluster(workers=8, fidelity="fluid", **more):
    return {"name": "star", "workers": workers, **more, "network": {
        "alpha": "1 us", "collective": "ring", "fidelity": fidelity,
        "topology": {"kind": "star", "link": {"latency": "0.5 us", "bandwidth": "10 Gbit/s"}}}}


@needs_program
class PipelineJobs(Case):
    def write(self, **files):
        for name, content in files.items():
            (self.folder / f"{name}.json").write_text(json.dumps(content), encoding="utf-8")

    def run_of(self, strategy, **more):
        """What `run` says of the profile and cluster that were written."""
        self.write(**more)
        options = [word for key, value in strategy.items() if key != "name" for word in ("-o", f"{key.replace('micro_batches', 'accumulate')}={value}")]
        found = answer("run", "-p", "profile.json", "-c", "cluster.json", "-s", strategy["name"], *options, cwd=self.folder)
        return {key: value for key, value in found.items() if key != "wall_s"}

    def jobs(self, *rows, words=(), **more):
        self.write(jobs={"cluster": "cluster.json", "jobs": [{"profile": "profile.json", **row} for row in rows], **more})
        return json.loads(self.output("jobs", "jobs.json", "--json", "--each", *words))["jobs"]

    def refusal(self, row, **more):
        self.write(jobs={"cluster": "cluster.json", "jobs": [{"profile": "profile.json", **row}], **more})
        done = self.run_program("jobs", "jobs.json", "--json")
        self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (2, "", 1), done.stderr)
        return done.stderr

    # ---- slow workers of `run` ----

    def test_slowness_of_one_is_none(self):
        self.write(profile=profile())
        for strategy in SETTINGS:
            with self.subTest(strategy):
                same = cluster(stragglers=[{"worker": worker, "slowdown": 1} for worker in range(8)])
                self.assertEqual(self.run_of(strategy, cluster=same), self.run_of(strategy, cluster=cluster()))

    def test_all_slow_is_a_slow_profile(self):
        """Each worker at half its speed, and a profile that takes twice as long: plans and times to the bit. What counts from unslowed times differs."""
        slow = cluster(stragglers=[{"worker": worker, "slowdown": 2} for worker in range(8)])
        for strategy in [*SETTINGS, {"name": "optimal-merge", "pp": 2, "micro_batches": 2}, {"name": "best", "pp": 4, "micro_batches": 4}]:
            with self.subTest(strategy):
                one = self.run_of(strategy, cluster=slow, profile=profile())
                other = self.run_of(strategy, cluster=cluster(), profile=profile(2))
                for key in ("iteration_s", "comm_busy_s", "lower_bound_s", "collectives", "memory_bytes"):
                    self.assertEqual(one[key], other[key], key)

    def test_a_rank_waits_for_its_slowest_worker(self):
        """So one slow worker of a rank, and all of them, are the same; and the plans of `alpha-beta` and `message`, too."""
        for fidelity in ("alpha-beta", "fluid", "message"):
            for strategy in SETTINGS[:-1]:
                degree = 8 // strategy["pp"]
                rank = [{"worker": degree + worker, "slowdown": 1.5} for worker in range(degree)]
                with self.subTest((fidelity, strategy)):
                    network = {"alpha": "1 us", "bandwidth": "10 Gbit/s"} if fidelity == "alpha-beta" else {}
                    one, all_, none = ({**cluster(fidelity=fidelity, stragglers=slow)} for slow in (rank[:1], rank, []))
                    for made in (one, all_, none):
                        made["network"] |= network
                    found = self.run_of(strategy, cluster=one, profile=profile())
                    self.assertEqual(found, self.run_of(strategy, cluster=all_))
                    plain = self.run_of(strategy, cluster=none)
                    self.assertGreater(found["iteration_s"], plain["iteration_s"])
                    # at most half of what that rank does, later
                    own = plain["stages"][1]
                    self.assertLessEqual(found["iteration_s"], plain["iteration_s"] + 0.5 * (own["compute_s"] + own["layer_comm_s"] + own["update_s"]) + 1e-9)

    def test_a_slow_rank_by_hand(self):
        """gpipe of equal chunks, f = 10 us, b = 20 us, nothing to send. A rank F times as slow, F >= 1, has its first task when the first micro-batch has
        passed the ranks before it, and is never idle until its M forward passes have ended; its first backward pass comes when the last
        forward pass has gone through the ranks behind it and come back, and again it is the slowest. The last gradient passes the ranks before it:
        M F (f + b) + (P - 1)(f + b), whichever rank it is."""
        for ranks, batches in ((2, 3), (3, 4), (4, 2)):
            self.write(profile={**trace([(10, 20)] * ranks)})
            for rank in range(ranks):
                for factor in (1, 1.5, 3):
                    slow = cluster(ranks, stragglers=[{"worker": rank, "slowdown": factor}])
                    found = self.run_of({"name": "wfbp", "pp": ranks, "micro_batches": batches, "schedule": "gpipe"}, cluster=slow)
                    self.assertAlmostEqual(found["iteration_s"] * 1e6, (batches * factor + ranks - 1) * 30, 6)
                    # The bubble is that of ranks that nothing slows, (P - 1)(f + b); what the slow one costs is a part of its own.
                    self.assertAlmostEqual(found["bubble_s"] * 1e6, (ranks - 1) * 30, 6)
                    self.assertAlmostEqual(found["straggler_s"] * 1e6, batches * (factor - 1) * 30, 6)
                    # The bound of a rank: one micro-batch of each rank before it, and its own work. Largest is the slow rank's, or the last one's.
                    last = batches + ranks - 2 + factor if rank < ranks - 1 else 0
                    self.assertAlmostEqual(found["lower_bound_s"] * 1e6, max(rank + batches * factor, last) * 30, 6)

    def test_what_stays_refused(self):
        self.write(profile=profile())
        for more, word in (({"jitter": {"distribution": "normal", "sigma": 0.1}}, "jitter"), ({"spread": {"sigma": 0.1, "seed": 1}}, "seed")):
            self.write(cluster=cluster(**more))
            done = self.run_program("run", "-p", "profile.json", "-c", "cluster.json", "-s", "ddp", "--pp", 2)
            self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
            self.assertIn(word, done.stderr)
            self.assertIn(word, self.refusal({"workers": 8, "strategy": SETTINGS[0]}))

    def test_compare_and_whatif(self):
        """The flag, and the file: the same."""
        self.write(profile=profile(), cluster=cluster())
        words = ["compare", "-p", "profile.json", "-c", "cluster.json", "--strategies", "ddp,wfbp", "--pp", 2, "--micro-batches", 4, "--json"]
        flagged = json.loads(output(*words, "--stragglers", "2:1.5,5:1.25,6:2", cwd=self.folder))
        self.write(cluster=cluster(stragglers=SLOW))
        written = json.loads(output(*words, cwd=self.folder))
        self.assertEqual([row["iteration_s"] for row in flagged], [row["iteration_s"] for row in written])
        self.assertEqual({row["iteration_s"] for row in written if row["strategy"] == "ddp"}, {self.run_of(SETTINGS[0])["iteration_s"]})

    # ---- pipelines as jobs ----

    def test_alone_is_run(self):
        """On the seats of a list, with slow workers, interference and launches, in both fidelities: to the bit."""
        hosts = ["h3", "h1", "h7", "h0", "h2", "h6", "h5", "h4"]
        inside = [{"op": "all-reduce", "group": "tp", "bytes": 960, "pass": "forward"}, {"op": "all-reduce", "group": "cp", "bytes": 0, "pass": "forward"}]
        self.write(profile=profile(collectives=inside))
        for fidelity in ("fluid", "message"):
            for strategy in SETTINGS:
                for more in ({}, {"interference": {"compute": 1.5}}):
                    with self.subTest((fidelity, strategy, more)):
                        made = cluster(fidelity=fidelity, **more)
                        made["network"]["launch"] = "3 us"
                        row, = self.jobs({"workers": 8, "strategy": strategy, "placement": hosts, "stragglers": SLOW}, cluster=made)
                        made["network"]["topology"]["placement"] = hosts
                        alone = self.run_of(strategy, cluster={**made, "stragglers": SLOW})
                        self.assertEqual((row["iteration_s"], row["alone_s"], row["samples_per_s"]), (alone["iteration_s"], alone["iteration_s"], alone["samples_per_s"]))
                        self.assertEqual(row["hosts"], hosts)

    def test_events_by_hand(self):
        """gpipe of two ranks and two micro-batches, f = 10 us and b = 20 us each: 90 us. Rank 1 stalls from 5 to 105 us: its forward passes end at 115 and
        125, its backward passes at 145 and 165, and rank 0's last one at 185. Or rank 0 is half as fast until 30 us: its forward passes end at 20 and
        35 (the second has done a half by 30); then rank 1's at 30, 45, 65, 85 and rank 0's last at 105."""
        self.write(profile=trace([(10, 20)] * 2))
        row = {"name": "a", "workers": 2, "strategy": {"name": "wfbp", "pp": 2, "micro_batches": 2, "schedule": "gpipe"}, "iterations": 3}
        for fidelity in ("fluid", "message"):
            for event, first in (({"job": "a", "worker": 1, "at": "5 us", "stall": "100 us"}, 185), ({"node": "h0", "at": "0 s", "for": "30 us", "slowdown": 2}, 105)):
                with self.subTest((fidelity, event)):
                    found, = self.jobs(row, cluster=cluster(2, fidelity), events=[event])
                    self.assertEqual([round(time * 1e6, 6) for time in found["each_s"]], [first, 90, 90])
                    self.assertEqual((round(found["alone_s"] * 1e6, 6), round(found["end_s"] * 1e6, 6)), (90, first + 180))
                    # computing is 60 us of either rank: the bubble is exposed
                    self.assertAlmostEqual(found["exposed_alone_s"] * 1e6, 30, 6)

    def test_events_for_ever_are_stragglers(self):
        """Where planners, who see stragglers and no events, do not look at times."""
        self.write(profile=profile(), cluster=cluster())
        for strategy in SETTINGS:
            if strategy["name"] in ("horovod", "mg-wfbp"):
                continue
            with self.subTest(strategy):
                events = [{"at": "0 s", "job": "a", "worker": one["worker"], "slowdown": one["slowdown"]} for one in SLOW]
                row, = self.jobs({"name": "a", "workers": 8, "strategy": strategy, "iterations": 12}, events=events)
                slow, = self.jobs({"name": "a", "workers": 8, "strategy": strategy, "stragglers": SLOW, "iterations": 12})
                for one, other in zip(row["each_s"], slow["each_s"]):  # each end is rounded by itself
                    self.assertAlmostEqual(one, other, delta=1e-11)
                same, = self.jobs({"name": "a", "workers": 8, "strategy": strategy, "iterations": 12}, events=[{"at": "7 us", "for": "9 us", "job": "a", "worker": 3, "slowdown": 1}])
                self.assertEqual((same["slowdown"], set(same["each_s"])), (1, set(same["each_s"])))

    def test_two_pipelines_meet_on_links_alone(self):
        """On a star with hosts of their own they feel nothing, whatever their order in the file; through one uplink both are slowed."""
        self.write(profile=profile())
        rows = [{"name": "a", "workers": 4, "strategy": SETTINGS[0], "placement": ["h0", "h1", "h2", "h3"]},
                {"name": "b", "workers": 4, "strategy": SETTINGS[2], "placement": ["h4", "h5", "h6", "h7"]}]
        for fidelity in ("fluid", "message"):
            found = self.jobs(*rows, cluster=cluster(fidelity=fidelity), iterations=8)
            self.assertEqual([row["slowdown"] for row in found], [1, 1])
            turned = self.jobs(*rows[::-1], cluster=cluster(fidelity=fidelity), iterations=8)
            self.assertEqual({row["name"]: row["iteration_s"] for row in found}, {row["name"]: row["iteration_s"] for row in turned})
            leaves = cluster(fidelity=fidelity)
            leaves["network"]["topology"] |= {"kind": "leaf-spine", "leaves": 2, "hosts_per_leaf": 4, "spines": 1, "oversubscription": 4}
            apart = [{**row, "strategy": {**row["strategy"], "p2p_bytes": "100 kB"}, "placement": [f"h{host}" for host in hosts]} for row, hosts in zip(rows, ((0, 1, 4, 5), (2, 3, 6, 7)))]
            for row in self.jobs(*apart, cluster=leaves, iterations=8):
                self.assertGreater(row["slowdown"], 1)
                self.assertIn("leaf", row["contention"][0]["link"])

    def test_workers_of_another_kind(self):
        """Ranks on devices at half the speed are ranks of workers that take twice as long; the collectives inside layers stay the job's own."""
        self.write(profile=profile(), half={**profile(2), "update": 80}, cluster=cluster())
        row = {"workers": 8, "strategy": {"name": "ddp", "pp": 4, "micro_batches": 4, "schedule": "1f1b"}}
        mixed, = self.jobs({**row, "classes": [{"workers": 4}, {"workers": 4, "profile": "half.json"}]})
        slow, = self.jobs({**row, "stragglers": [{"worker": worker, "slowdown": 2} for worker in (4, 5, 6, 7)]})
        self.assertEqual((mixed["iteration_s"], mixed["batches"]), (slow["iteration_s"], [1] * 8))
        for change, word in (({"batch": 16}, "batch"), ({"balance": "speed"}, "balance"), ({"classes": [{"workers": 8, "batch": 2}]}, "batch")):
            self.assertIn(word, self.refusal({**row, **change}))
        self.assertIn("workers", self.refusal({**row, "workers": 6}))

    def test_timeline_and_goodput(self):
        """A row per rank in the timeline; elastic training loses a replica with its node, and numbers that do not divide are refused."""
        self.write(profile=profile(), cluster=cluster())
        row = {"workers": 8, "strategy": SETTINGS[4]}
        self.jobs(row, words=["--timeline", "timeline.json"])
        events = json.loads((self.folder / "timeline.json").read_text(encoding="utf-8"))["traceEvents"]
        names = {event["args"]["name"] for event in events if event["name"] == "thread_name"}
        self.assertLessEqual({"4 workers like rank 0, worker 0", "4 workers like rank 1, worker 4", "0 to 1", "1 to 0"}, names)
        self.assertLessEqual({"F l0", "I l0", "W l0", "send"}, {event["name"] for event in events})
        reliability = {"mtbf": "100 h", "checkpoint": "10 s", "restart": "60 s"}
        found, = self.jobs({**row, "reliability": reliability})
        self.assertEqual(found["goodput"]["nodes"], 8)
        self.assertIn("workers", self.refusal({**row, "reliability": {**reliability, "elastic": True, "spares": 0, "repair": "10 h"}}))


if __name__ == "__main__":
    unittest.main()
