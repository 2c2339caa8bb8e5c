#!/usr/bin/env python3
"""Several jobs on one cluster as users run them (docs/jobs.md). Run: python3 tests/programs/command/test_jobs.py

Numbers come from an independent implementation (tests/peer/test_jobs_peer.py); here is what it does not ask.
ALLREPLAY_PROGRAM names the program (build/release/allreplay).
"""

import json
import re
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import program  # noqa: E402
from program import ROOT, needs_program  # noqa: E402

EXAMPLE = ROOT / "docs" / "examples" / "two_jobs.json"
PROFILE = "layer,params,forward_us,backward_us\nl0,500000,400,500\nl1,500000,300,700\n"


def cluster(**network):
    """Of so many hosts on one switch that jobs on different hosts share no link."""
    return {"name": "star", "workers": 8, "network": {
        "alpha": "1 us", "gamma": "0.05 ns/B", "collective": "ring",
        "topology": {"kind": "star", "link": {"latency": "1 us", "bandwidth": "10 Gbit/s"}}, **network}}


def leaves(*links):
    """Two switches of four hosts, and one way between them; NCCL chooses."""
    topology = {"kind": "leaf-spine", "leaves": 2, "hosts_per_leaf": 4, "spines": 1, "oversubscription": 4, "link": {"latency": "1 us", "bandwidth": "2.5 Gbit/s"}}
    return {**cluster(collective="nccl", nccl={"gpu": "v100"}, topology=topology | ({"links": list(links)} if links else {})), "name": "leaves"}


# Two nodes in which NCCL has NVLS.
NODES = {"name": "nodes", "workers": 16, "network": {
    "node": {"workers": 8, "alpha": "1 us", "bandwidth": "300 GB/s"}, "alpha": "2 us", "bandwidth": "100 Gbit/s", "rails": 8,
    "collective": "nccl", "nccl": {"gpu": "h100"}}}


@needs_program
class Jobs(program.Case):
    def answer(self, document, *words):
        self.write("p.csv", PROFILE)
        self.write("jobs.json", document)
        return json.loads(self.output("jobs", "jobs.json", "--json", *words))

    def refusal(self, document, *words):
        self.write("p.csv", PROFILE)
        self.write("jobs.json", document)
        done = self.run_program("jobs", "jobs.json", *words)
        self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (2, "", 1), done.stderr)
        return done.stderr

    def two(self, **more):
        rows = [{"name": name, "profile": "p.csv", "workers": 4} for name in "ab"]
        return {"cluster": cluster(), "fidelity": "message", "iterations": 4, "jobs": rows, **more}

    def test_who_shares_no_link_shares_nothing(self):
        """On a star four hosts each: no link is common, ranks have the same numbers, and reduce at the same time; each job's own
        transfers slow it, and nobody else's."""
        for fidelity in ("fluid", "message"):
            document = self.two(fidelity=fidelity)
            document["cluster"] = {**cluster(), "interference": {"compute": 1.5}}
            for row in self.answer(document)["jobs"]:
                self.assertEqual((row["slowdown"], row["contention"]), (1, []))

    def test_shared_links_need_no_fidelity(self):
        document = json.loads(EXAMPLE.read_text(encoding="utf-8"))
        usual = self.answer({name: value for name, value in document.items() if name != "fidelity"})
        fluid = self.answer({**document, "fidelity": "fluid"})
        self.assertEqual(*({**answer, "wall_s": 0} for answer in (usual, fluid)))

    def test_nccl_alone_is_run(self):
        """Whatever it chooses (rings, trees, NVLS; a size of its own for each bucket), on nodes and on one level: a job alone is `run`."""
        for network in (NODES, cluster(collective="nccl", nccl={"gpu": "v100"})):
            for fidelity in ("fluid", "message"):
                for strategy, workers in (("wfbp", 8), ("ddp", 16 if network is NODES else 4), ("fsdp2", 8), ("wfbp", 2)):
                    with self.subTest((network["name"], fidelity, strategy, workers)):
                        job = {"profile": "p.csv", "strategy": strategy, "workers": workers}
                        row = self.answer({"cluster": network, "fidelity": fidelity, "jobs": [job]})["jobs"][0]
                        self.write("c.json", network)
                        words = ["run", "--profile", "p.csv", "--cluster", "c.json", "--workers", workers, "--fidelity", fidelity, "--strategy", strategy, "--json"]
                        alone = json.loads(program.output(*words, cwd=self.folder))
                        self.assertEqual((row["iteration_s"], row["alone_s"]), (alone["iteration_s"], alone["iteration_s"]))

    def test_micro_batches_come_in_their_order(self):
        """Hosts of two leaves with one way of 10 GB/s between them: 1 MB among two takes 100 us; F 100 us, B 200. Job a, two micro-batches:
        F1 0-100 B1 100-300 F2 300-400 B2 400-600, all-reduce 600-700, F1 700-800: S(1) = 100 us, S(2) = 800, S(3) = 1500. Job b: F 0-100
        B 100-300, all-reduce 300-400, F 400-500 B 500-700, all-reduce 700-800, F 800-900: S(3) = 900. They never send together."""
        topology = {"kind": "leaf-spine", "leaves": 2, "hosts_per_leaf": 2, "spines": 1, "oversubscription": 2, "link": {"latency": "0 us", "bandwidth": "10 GB/s"}}
        network = {"alpha": "0 us", "gamma": "0 s/B", "collective": "ring", "topology": topology}
        self.write("q.csv", "layer,params,forward_us,backward_us\nl0,250000,100,200\n")
        rows = [{"name": name, "profile": "q.csv", "workers": 2, "placement": hosts, "strategy": {"name": "wfbp", "accumulate": batches}, "iterations": 2}
                for name, hosts, batches in (("a", ["h0", "h2"], 2), ("b", ["h1", "h3"], 1))]
        for fidelity in ("fluid", "message"):
            one, other = self.answer({"cluster": {"name": "c", "workers": 4, "network": network}, "fidelity": fidelity, "jobs": rows}, "--each")["jobs"]
            self.assertEqual((one["each_s"], one["end_s"], one["contention"]), ([0.0007, 0.0007], 0.0015, []))
            self.assertEqual((other["each_s"], other["end_s"], other["contention"]), ([0.0004, 0.0004], 0.0009, []))

    def test_micro_batches_alone_are_run(self):
        """Where an iteration begins is no matter of its length: also if blocks go at ticks, or layers wait for their own blocks only."""
        self.write("c.json", cluster())
        for strategy in ({"name": "wfbp"}, {"name": "horovod"}, {"name": "horovod", "cycle": "130 us"}, {"name": "bytescheduler"}, {"name": "dear"},
                         {"name": "ddp", "zero": 1}, {"name": "horovod", "zero": 2}, {"name": "zero-1"}, {"name": "fsdp1"}, {"name": "megatron"}):
            for more in ({}, {"stragglers": [{"worker": 1, "slowdown": 1.3}]}):
                with self.subTest((strategy, more)):
                    options = {**strategy, "accumulate": 3, "update": "50 us"}
                    row = self.answer({"cluster": cluster(), "fidelity": "fluid", "jobs": [{"profile": "p.csv", "strategy": options, "workers": 4, **more}]})["jobs"][0]
                    words = [word for key, value in options.items() if key != "name" for word in ("-o", f"{key}={value}")]
                    self.write("c.json", {**cluster(), **more})
                    alone = program.answer("run", "-p", "p.csv", "-c", "c.json", "--workers", 4, "--fidelity", "fluid", "-s", strategy["name"], *words, cwd=self.folder)
                    self.assertEqual((row["iteration_s"], row["alone_s"]), (alone["iteration_s"], alone["iteration_s"]))

    def test_nccl_on_shared_and_changing_links(self):
        """Two equal jobs, each with two hosts on either leaf, share the one way between the leaves: each is as alone on half of it, as a cluster has it, and
        as an event makes it; but for each round's end, a whole picosecond."""
        for fidelity in ("fluid", "message"):
            document = {"cluster": leaves(), "fidelity": fidelity, "iterations": 4, "jobs": [
                {"name": name, "profile": "p.csv", "workers": 4, "placement": hosts} for name, hosts in (("a", ["h0", "h1", "h4", "h5"]), ("b", ["h2", "h3", "h6", "h7"]))]}
            with self.subTest(fidelity):
                shared = self.answer(document)["jobs"]
                self.assertGreater(shared[0]["slowdown"], 1.2)
                self.assertEqual(shared[0]["iteration_s"], shared[1]["iteration_s"])
                one = {**document, "jobs": document["jobs"][:1]}
                times = [self.answer({**one, **change})["jobs"][0]["iteration_s"] for change in (
                    {"cluster": leaves({"between": ["leaf0", "spine0"], "bandwidth": "1.25 Gbit/s"})},
                    {"events": [{"at": "0 s", "link": ["leaf0", "spine0"], "bandwidth": "x0.5"}]})]
                self.assertEqual(times[0], times[1])
                self.assertAlmostEqual(shared[0]["iteration_s"], times[0], delta=1e-9)
                same = self.answer({**document, "events": [{"at": "1 ms", "for": "1 ms", "link": ["leaf0", "spine0"], "bandwidth": "x1"}]})["jobs"]
                self.assertAlmostEqual(same[0]["iteration_s"], shared[0]["iteration_s"], delta=1e-12)

    def test_a_spread_has_an_order_everywhere(self):
        """A star has no switches of a few hosts: `spread` is the order of the hosts."""
        document = self.two()
        document["jobs"][0]["placement"] = "spread"
        self.assertEqual(self.answer(document)["jobs"][0]["hosts"], ["h0", "h1", "h2", "h3"])

    def test_a_spread_deals_whole_hosts_where_these_have_nics(self):
        """Three leaves of two hosts: in turn h0, h2, h4, then h1, h3, h5; a job of four GPUs has two hosts of two. On rails,
        where every host is on every switch, a spread is refused."""
        gpus = {"gpus_per_host": 2, "inner": {"latency": "0 us", "bandwidth": "100 GB/s"}, "link": {"latency": "1 us", "bandwidth": "10 GB/s"}}
        shape = {"kind": "leaf-spine", "leaves": 3, "hosts_per_leaf": 2, "spines": 1, **gpus}
        rows = [{"name": name, "profile": "p.csv", "workers": 4, "placement": "spread"} for name in ("a", "b")]
        def on(topology):
            network = {"alpha": "1 us", "topology": topology}
            return {"cluster": {"name": "gpus", "workers": 12, "network": network}, "fidelity": "fluid", "iterations": 4, "jobs": rows}
        for nics in ({"nics": 2}, {"nics": 2, "planes": 2}):
            self.assertEqual([row["hosts"][::2] for row in self.answer(on({**shape, **nics}))["jobs"]],
                             [["h0.gpu0", "h2.gpu0"], ["h4.gpu0", "h1.gpu0"]])
        self.assertEqual([row["hosts"][::2] for row in self.answer(on({"kind": "star", "nics": 2, **gpus}))["jobs"]],
                         [["h0.gpu0", "h1.gpu0"], ["h2.gpu0", "h3.gpu0"]])
        self.assertIn("spread", self.refusal(on({"kind": "rail", "rails": 2, **gpus})))

    def test_a_nic_that_fails_in_its_plane_slows_its_host(self):
        """Its host passes on over NVLink what comes by the other NIC: twice as much there, and nobody is cut off."""
        topology = {"kind": "star", "gpus_per_host": 2, "nics": 2, "planes": 2, "inner": {"latency": "0 us", "bandwidth": "100 GB/s"},
                    "link": {"latency": "1 us", "bandwidth": "10 Gbit/s"}}
        for fidelity in ("fluid", "message"):
            document = {"cluster": {"name": "planes", "workers": 4, "network": {"alpha": "1 us", "topology": topology}}, "fidelity": fidelity,
                        "iterations": 4, "jobs": [{"profile": "p.csv", "workers": 4}]}
            whole = self.answer(document)["jobs"][0]["iteration_s"]
            half = self.answer({**document, "events": [{"at": "0 s", "link": ["h1.nic1", "s0.p1"], "down": True}]})["jobs"][0]["iteration_s"]
            self.assertGreater(half, 1.2 * whole)
            self.assertLess(half, 3 * whole)

    def test_long_runs_of_messages_are_told_beforehand(self):
        """A ring of 64 sends 64 x 126 messages for each of p.csv's tensors, in each of 2 jobs and of 7 iterations (2 to warm up, 4, and
        one that begins behind them): far less than half a minute at 1 us each. Those of 60,003 iterations are not."""
        row = {"profile": "p.csv", "workers": 64, "strategy": "wfbp"}
        document = {"cluster": cluster(), "fidelity": "message", "warm_up": 2, "iterations": 4, "jobs": [{"name": name, **row} for name in ("a", "b")]}
        document["cluster"]["workers"] = 128
        def told(**more):
            self.write("p.csv", PROFILE)
            self.write("long.json", {**document, **more})
            done = program.success("jobs", "long.json", cwd=self.folder, env=program.WIDE)
            return done.stderr
        self.assertEqual(told(), "")
        self.assertEqual(told(iterations=60000, fidelity="fluid"), "")

    def test_an_hour_of_events_and_background(self):
        """One link at half its bandwidth slows the job on it, and the other not; after the event all is as before: of 8 iterations
        from 0 on, those before 3 ms and behind 30 ms are the job's alone."""
        document = self.two(events=[{"at": "3 ms", "for": "10 ms", "link": ["h1", "s0"], "bandwidth": "x0.5"}])
        for row in document["jobs"]:
            row["iterations"] = 20
        first, second = self.answer(document, "--each")["jobs"]
        self.assertEqual(second["slowdown"], 1)
        self.assertGreater(max(first["each_s"]), 1.1 * first["alone_s"])
        for time in first["each_s"][-4:]:
            self.assertAlmostEqual(time, first["alone_s"], 11)

    def test_who_is_over_may_be_cut_off(self):
        """The first job has ended after its one iteration of 2 ms and what it sends; then its link fails, and the second feels nothing."""
        for fidelity in ("fluid", "message"):
            document = self.two(fidelity=fidelity, events=[{"at": "1 s", "link": ["h0", "s0"], "down": True}])
            document["jobs"][0]["iterations"], document["jobs"][1]["iterations"] = 1, 500
            self.assertEqual([row["slowdown"] for row in self.answer(document)["jobs"]], [1, 1])

    def test_the_example(self):
        before = program.answer("jobs", EXAMPLE)
        found = json.loads(program.output("jobs", EXAMPLE, "--json", "--place"))
        self.assertEqual(found["before"]["worst"], max(row["slowdown"] for row in before["jobs"]))
        self.assertLess(found["search"]["worst"], found["before"]["worst"])

    def text(self, document, *words):
        """What people read, on lines without an end."""
        self.answer(document, *words)
        return program.output("jobs", "jobs.json", *words, cwd=self.folder, env=program.WIDE)

    def notes(self, document, *words):
        return [line for line in self.text(document, *words).splitlines() if line.startswith("note: ")]

    def long_and_short(self, **of_long):
        """Jobs that never meet; an iteration of the second takes 1000 times as long to compute, 1.9 s."""
        self.write("long.csv", "layer,params,forward_us,backward_us\nl0,500000,900000,1000000\n")
        document = self.two(fidelity="fluid")
        document["jobs"][1].update(profile="long.csv", **of_long)
        return document

    def test_a_short_job_is_measured_in_one_phase_of_a_long_one(self):
        """Four iterations of 2 ms are less than one of 1.9 s, and 2.493 ms of communication; where the long one ends, the short one is measured until then."""
        note, = self.notes(self.long_and_short())
        self.assertIn("1.902 s", note)
        self.assertEqual(self.notes(self.long_and_short(iterations=4)), [])
        self.assertEqual(self.notes(self.long_and_short(), "--stagger", "2"), [note])
        self.assertEqual(self.notes(self.two(fidelity="fluid")), [])

    def test_an_event_outside_what_was_measured(self):
        """At 1000 s all is over; at 0 s, for an hour, nothing is. Of a link it is anybody's."""
        for event, unfelt in (({"at": "1000 s", "node": "h0", "slowdown": 2}, True),
                              ({"at": "1000 s", "link": ["h0", "s0"], "bandwidth": "x0.5"}, True),
                              ({"at": "0 s", "for": "1 h", "node": "h0", "slowdown": 2}, False),
                              ({"at": "0 s", "for": "1 h", "link": ["h0", "s0"], "bandwidth": "x0.5"}, False),
                              ({"at": "0 s", "node": "h9", "slowdown": 2}, True)):
            with self.subTest(event):
                document = self.two(events=[event])
                document["cluster"]["workers"] = 10
                self.assertEqual(len([note for note in self.notes(document) if "events 0" in note]), unfelt)

    def test_what_events_cost(self):
        """With events the verdict has the slow-down without them, too."""
        text = self.text(self.two(events=[{"at": "0 s", "node": "h0", "slowdown": 5000}]))
        name, without = re.search(r"(\w+) is slowed down most: .* ([\d.]+) times without", text).group(1, 2)
        self.assertEqual(name, "a")
        self.assertAlmostEqual(float(without), self.answer(self.two())["jobs"][0]["slowdown"], delta=5e-4)

    def test_jitter_is_no_slowdown(self):
        """Jobs that never meet: random times make the measured means differ, and no job is slowed."""
        document = self.two(fidelity="fluid", iterations=20)
        document["jobs"][0]["jitter"] = {"distribution": "lognormal", "sigma": 0.5, "seed": 3}
        document["jobs"][1]["start"] = "7 ms"
        answer = self.answer(document)
        self.assertGreater(abs(answer["jobs"][0]["slowdown"] - 1), 5e-4)
        self.assertNotIn("slowed down most", self.text(document))

    def test_long_durations(self):
        for long, short in (("0.001 min", "60 ms"), ("0.00001 h", "36 ms")):
            both = [self.answer(self.two(events=[{"at": at, "for": at, "node": "h0", "slowdown": 2}], iterations=40)) for at in (long, short)]
            self.assertEqual(both[0]["jobs"], both[1]["jobs"])
            self.assertGreater(both[0]["jobs"][0]["slowdown"], 1)

    def test_words_of_jobs_have_help(self):
        for topic in ("placements", "contention", "slowdown"):
            self.assertIn(topic, program.output("help", topic, env=program.WIDE))
        self.assertIn("--stagger [N]", program.output("jobs", "--help"))

    def test_how_many_offsets(self):
        """A value of its own, or 8: the first run, and seven more offsets of the second job, at least once."""
        for words, evaluations in ((["--stagger"], 8), (["--stagger", "2"], 2), (["--stagger=3"], 3)):
            with self.subTest(words):
                document = self.two(fidelity="fluid")
                self.assertEqual(self.answer(document, *words)["search"]["evaluations"], evaluations)
        self.assertIn("--stagger", self.refusal(self.two(), "--stagger", "0"))
        self.assertIn("--minimise", self.refusal(self.two(), "--place", "--minimise", "least"))
        self.assertIn("--each", self.refusal(self.two(), "--each"))

    def test_too_many_iterations_are_said_at_once(self):
        """What is kept of 13 times 10 million iterations is more than 4 GB, at 32 B for each."""
        rows = [{"profile": "p.csv", "workers": 2, "iterations": 10_000_000} for _ in range(13)]
        self.assertIn("/iterations: ", self.refusal(self.two(cluster={**cluster(), "workers": 26}, jobs=rows)))

    def test_what_is_wrong_is_named(self):
        """Also with the clock's end: 5e12 times 0.9 ms is beyond 106 days."""
        for change, says in (({"placement": ["h0", "h1"]}, "/jobs/0/placement: "),
                             ({"placement": "random"}, '"random:SEED"'), ({"name": "b"}, ": ")):
            with self.subTest(change):
                document = self.two()
                document["jobs"][0].update(change)
                self.assertIn(says, self.refusal(document))
        for event, says in (({"node": "h0"}, ": "), ({"slowdown": 2}, ": "),
                            ({"at": "200 d", "node": "h0", "slowdown": 2}, "/events/0/at: "),
                            ({"link": ["h0", "s0"], "bandwidth": "x0"}, ": "),
                            ({"node": "h0", "slowdown": 5e12}, "jobs.json: /events/0: ")):
            with self.subTest(event):
                self.assertIn(says, self.refusal(self.two(events=[{"at": "0 s", **event}])))

    def test_a_search_of_too_many_runs_is_refused(self):
        """10,000 in a pass: 909 offsets of each of eleven jobs, or 10,000 placements."""
        rows = [{"profile": "p.csv", "workers": 1} for _ in range(12)]
        self.assertIn("--stagger: ", self.refusal(self.two(cluster={**cluster(), "workers": 12}, jobs=rows), "--stagger", "910"))
        document = self.two()
        document["jobs"][0]["placements"] = ["packed"] * 10_000
        self.assertIn("--place: ", self.refusal(document, "--place"))

    def test_what_jobs_are_not(self):
        document = self.two()
        document["jobs"][0]["strategy"] = {"name": "ddp", "start": "ranks"}
        self.assertIn("start", self.refusal(document))
        for event, word in (({"node": "h0", "down": True}, "down"), ({"node": "h0", "bandwidth": "x0.5"}, "bandwidth"),
                            ({"node": "s0", "slowdown": 2}, "switch"), ({"node": "h99", "stall": "1 us"}, "h99"),
                            ({"link": ["h0", "s0"], "down": True}, "/events/0")):
            with self.subTest(event):
                self.assertIn(word, self.refusal(self.two(events=[{"at": "1 us", **event}])))


if __name__ == "__main__":
    unittest.main()
