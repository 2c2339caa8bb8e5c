#!/usr/bin/env python3
"""Operations of `collective`, algorithms by operation and as files, routes. Run: python3 tests/programs/command/test_operations.py"""
import json
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from program import ROOT, Case, answer, needs_program, output, refusal, rows_of, run  # noqa: E402

LINK = {"latency": "0 us", "bandwidth": "10 Gbit/s"}
ALPHA_BETA = {"alpha": "10 us", "beta": "1 ns/B"}
DOUBLING = [[(0, 1), (1, 0), (2, 3), (3, 2)], [(0, 2), (1, 3), (2, 0), (3, 1)]]  # who sends everything to whom


def file_of(rounds, **more):
    """A collective as a file, of sends of chunk 0 that are reduced."""
    sends = [{"sends": [{"from": a, "to": b, "chunk": 0, "reduce": True} for a, b in one]} for one in rounds]
    return {"name": "doubling", "operation": "all-reduce", "ranks": 4, "chunks": 1, "rounds": sends, **more}


@needs_program
class Operations(Case):
    def cluster(self, network=None, workers=4, **topology):
        if network is None:
            network = {"alpha": "5 us", "topology": {"kind": "star", "link": LINK, **topology}}
        self.write("c.json", {"name": "c", "workers": workers, "network": network})
        return ["collective", "--cluster", "c.json"]

    def rows(self, cluster, *arguments, size="4000000B"):
        return json.loads(output(*cluster, "--bytes", size, "--json", *arguments, cwd=self.folder))

    def row(self, *arguments, **more):
        return self.rows(*arguments, **more)[-1]

    def refused(self, words, *arguments):
        self.assertIn(words, refusal(*arguments, "--bytes", "1MB", cwd=self.folder))

    def test_bandwidths_are_those_of_nccl_tests(self):
        """4 MB among 4, 10 us and 1 ns/B: all-gather and reduce-scatter 3 x 10 us and 3/4 of 4 ms, busbw 3/4 of algbw;
        all-to-all 10 us and as many bytes; broadcast down a chain in 4 chunks 3 x 10 us and 6 x 1 ms, busbw algbw;
        all-reduce both halves, busbw 2 x 3/4."""
        flags = {"all-reduce": ("ring", 60e-6 + 6e-3, 1.5), "all-gather": ("ring", 30e-6 + 3e-3, 0.75),
                 "reduce-scatter": ("ring", 30e-6 + 3e-3, 0.75), "all-to-all": ("all-to-all", 10e-6 + 3e-3, 0.75)}
        for operation, (collective, time, share) in flags.items():
            row = self.row(self.cluster(ALPHA_BETA), "--operation", operation, "--collective", collective)
            self.assertEqual(list(row)[:3], ["bytes", "operation", "time_s"])
            self.assertEqual(row["operation"], operation)
            self.assertAlmostEqual(row["time_s"], time, delta=1e-9)
            self.assertAlmostEqual(row["algbw_GBps"], 4e-3 / time, delta=1e-6)
            self.assertAlmostEqual(row["busbw_GBps"], share * 4e-3 / time, delta=1e-6)
        chain = self.row(self.cluster(ALPHA_BETA), "--operation", "broadcast", "--collective", "ring", "--option", "chunks=4")
        self.assertAlmostEqual(chain["time_s"], 30e-6 + 6e-3, delta=1e-9)
        self.assertEqual(chain["busbw_GBps"], chain["algbw_GBps"])
        self.assertNotIn("operation", self.row(self.cluster(ALPHA_BETA)))

    def test_unnamed_operations(self):
        """The file's where it can; else ring, all-to-all, binary-tree: two rounds of everything to 4."""
        trees = {**ALPHA_BETA, "collective": "binary-tree"}
        for operation, time in {"all-reduce": 40e-6 + 16e-3, "all-gather": 30e-6 + 3e-3, "all-to-all": 10e-6 + 3e-3,
                                "broadcast": 20e-6 + 8e-3}.items():
            self.assertAlmostEqual(self.row(self.cluster(trees), "--operation", operation)["time_s"], time, delta=1e-9)
        halving = {**ALPHA_BETA, "collective": "halving-doubling"}
        self.assertAlmostEqual(self.row(self.cluster(halving), "--operation", "all-gather")["time_s"], 20e-6 + 3e-3, delta=1e-9)
        own = {**ALPHA_BETA, "collective": {"all-gather": "pat", "broadcast": "ring"}}
        self.assertAlmostEqual(self.row(self.cluster(own), "--operation", "all-gather")["time_s"], 20e-6 + 3e-3, delta=1e-9)
        sixteen_chunks = 30e-6 + 4e-3 * (4 + 16 - 2) / 16
        self.assertAlmostEqual(self.row(self.cluster(own), "--operation", "broadcast")["time_s"], sixteen_chunks, delta=1e-9)
        payloads = {**ALPHA_BETA, "collective": "all-gather"}  # of S/N: two rounds, 1 and 2 MB
        self.assertAlmostEqual(self.row(self.cluster(payloads), "--operation", "all-gather")["time_s"], 20e-6 + 3e-3, delta=1e-9)
        self.assertAlmostEqual(self.row(self.cluster(payloads))["time_s"], 20e-6 + 12e-3, delta=1e-9)

    def test_nccl_does_not_tune_sends(self):
        row = self.row(self.cluster(ALPHA_BETA), "--operation", "all-to-all", "--collective", "nccl")
        self.assertEqual((row["algorithm"], row["protocol"]), ("p2p", "Simple"))
        self.assertAlmostEqual(row["time_s"], 10e-6 + 3e-3, delta=1e-9)

    def test_impossible_operations_are_refused(self):
        for operation, collective in {"all-to-all": "ring", "all-gather": "double-binary-tree", "reduce-scatter": "all-gather",
                                      "broadcast": "halving-doubling", "all-reduce": "all-gather"}.items():
            self.refused("operation", *self.cluster(ALPHA_BETA), "--operation", operation, "--collective", collective)
        self.refused("operation", *self.cluster(ALPHA_BETA), "--operation", "gather")
        self.refused("operation", *self.cluster({**ALPHA_BETA, "collective": {"all-gather": "double-binary-tree"}}))
        self.refused("collective", *self.cluster({**ALPHA_BETA, "collective": {"scan": "ring"}}))

    def test_fidelities_agree_on_an_idle_star(self):
        for operation, collective in (("all-gather", "pat"), ("reduce-scatter", "pat"), ("all-to-all", "all-to-all"),
                                      ("broadcast", "ring"), ("all-gather", "all-gather"), ("all-gather", "parameter-server")):
            times = [self.row(self.cluster(), "--operation", operation, "--collective", collective, "--fidelity", fidelity)["time_s"]
                     for fidelity in ("fluid", "message")]
            closed = self.row(self.cluster({"alpha": "5 us", "beta": "0.8 ns/B"}), "--operation", operation, "--collective", collective)
            self.assertAlmostEqual(times[0], closed["time_s"], delta=1e-10)
            self.assertAlmostEqual(times[1], closed["time_s"], delta=1e-10)

    def test_a_named_all_reduce_is_the_collective_itself(self):
        """An algorithm that asks for the number of workers is served with --operation, too: its all-reduce is the row without
        --operation, and its halves, where it has any, add up to it."""
        link = {"latency": "0 s", "bandwidth": "1 GB/s"}
        star, bcube = {"kind": "star", "link": link}, {"kind": "bcube", "n": 3, "k": 2, "link": link}
        for name, workers, topology, halves in (
                ("ring", 8, star, True), ("halving-doubling", 8, star, True), ("recursive-doubling", 8, star, False),
                ("double-binary-tree", 8, star, False), ("bml", 9, bcube, True)):
            cluster = self.cluster({"alpha": "5 us", "gamma": "0 s/B", "topology": topology}, workers)
            for fidelity in ("alpha-beta", "fluid", "message"):
                with self.subTest(name, fidelity=fidelity):
                    def seconds(*more, name=name, fidelity=fidelity, cluster=cluster):
                        return self.row(cluster, "--collective", name, "--fidelity", fidelity, *more, size="4608B")["time_s"]
                    whole = seconds()
                    self.assertEqual(seconds("--operation", "all-reduce"), whole)
                    if halves:
                        parts = [seconds("--operation", half) for half in ("reduce-scatter", "all-gather")]
                        self.assertAlmostEqual(sum(parts), whole, delta=1e-11)

    def test_groups_of_one_rank_with_per_rank_starts(self):
        """A transfer in groups of one rank sends nothing, and ends when all ranks have come: where nobody else sends,
        the iteration is that of the slowest worker alone."""
        self.write("p.csv", "layer,params,forward_us,backward_us\nl0,1000000,1000,2000\nl1,1000000,1000,2000\n")
        for workers in (2, 4):
            self.cluster(workers=workers)
            for late in ([], ["--stragglers", "1:1.5"]):
                words = ["run", "-p", "p.csv", "-c", "c.json", "--fidelity", "message", "--json", *late]
                for strategy in (["fsdp2", "--shard-group", str(workers)], ["wfbp", "--zero", "1", "--shard-group", "1"], ["fsdp2", "--shard-group", "1"]):
                    with self.subTest(strategy, workers=workers, late=late):
                        together, apart = (json.loads(output(*words, "-s", *strategy, *more, cwd=self.folder))["iteration_s"]
                                           for more in ([], ["-o", "start=ranks"]))
                        self.assertGreaterEqual(apart, (9 if late else 6) * 1e-3)
                        self.assertLessEqual(apart, together + 1e-12)
                        if not late:
                            self.assertEqual(apart, together)

    def test_switches_sum(self):
        """12.5 MB up and down a 10 Gbit/s star at once: 10 ms, 5 us and 1 us each way. On two hosts of 4 GPUs and one
        port: three rounds each around the hosts, of 5 us and a quarter of 8 MB at 10 GB/s, 0.2 ms; and 2 MB of each of
        the four GPUs by the port, 8 MB at 1.25 GB/s, 6.4 ms and 5 us; GPUs' own links are no slower."""
        flat = self.cluster(workers=8, link={"latency": "1 us", "bandwidth": "10 Gbit/s"})
        self.assertAlmostEqual(self.row(flat, "--collective", "in-network", "--fidelity", "fluid", size="12500000B")["time_s"], 10.007e-3, delta=1e-9)
        gpus = {"gpus_per_host": 4, "inner": {"latency": "0 us", "bandwidth": "10 GB/s"}}
        time = self.row(self.cluster(workers=8, **gpus), "--collective", "in-network", "--fidelity", "fluid", size="8000000B")["time_s"]
        self.assertAlmostEqual(time, 6 * (5e-6 + 0.2e-3) + 5e-6 + 6.4e-3, delta=1e-9)
        for nics, port in ((2, 3.2e-3), (4, 1.6e-3)):  # of four GPUs two, or one, to a port
            for planes in (1, nics):
                cluster = self.cluster(workers=8, **gpus, nics=nics, planes=planes)
                for fidelity in ("fluid", "alpha-beta"):
                    row = self.row(cluster, "--collective", "in-network", "--fidelity", fidelity, size="8000000B")
                    self.assertAlmostEqual(row["time_s"], 6 * (5e-6 + 0.2e-3) + 5e-6 + port, delta=1e-9)

    def test_where_no_switch_sums(self):
        gpus = {"gpus_per_host": 4, "inner": LINK}
        flags = ["--collective", "in-network", "--fidelity"]
        self.refused("in-network", *self.cluster(), *flags, "message")
        for fidelity in ("fluid", "alpha-beta"):
            self.refused("in-network", *self.cluster(workers=4, **gpus), *flags, fidelity)
            self.refused("in-network", *self.cluster(workers=6, **gpus), *flags, fidelity)
            torus = {"alpha": "5 us", "topology": {"kind": "torus", "dimensions": [2, 2], "link": LINK}}
            self.refused("in-network", *self.cluster(torus), *flags, fidelity)
        down = {"kind": "leaf-spine", "leaves": 2, "hosts_per_leaf": 2, "spines": 2, "link": LINK}
        down["links"] = [{"between": ["leaf1", "spine0"], "down": True}]
        self.refused("in-network", *self.cluster({"alpha": "5 us", "topology": down}), *flags, "fluid")
        ports = {**down, "gpus_per_host": 2, "inner": LINK, "nics": 2, "links": [{"between": ["h3.nic1", "leaf1"], "down": True}]}
        self.refused(": ", *self.cluster({"alpha": "5 us", "topology": ports}, 8), *flags, "fluid")
        down["links"] = [{"between": ["leaf1", "spine1"], "down": True}]  # in no tree: tree 0's root is spine 0
        self.row(self.cluster({"alpha": "5 us", "topology": down}), *flags, "fluid")
        for strategy, options in (("dear", []), ("wfbp", ["--option", "zero=2"]), ("fsdp2", [])):
            self.cluster(workers=4)
            error = refusal("run", "-p", ROOT / "traces" / "resnet50_k80_b16.json", "--cluster", "c.json", "-s", strategy, *options,
                            *flags, "fluid", cwd=self.folder)
            self.assertIn("in-network", error)

    def test_stages_of_plans_take_their_operation(self):
        """DeAR's halves: both of a ring; or gathers by all-gather's two rounds, 5 us each, in the place of the ring's three."""
        trace = ["-p", ROOT / "traces" / "resnet50_k80_b16.json", "-s", "dear", "--json"]
        slow = {"alpha": "5 ms", "beta": "0.8 ns/B"}  # what is exposed is start-ups

        def seconds(collective):
            self.cluster({**slow, "collective": collective})
            return json.loads(output("run", "--cluster", "c.json", *trace, cwd=self.folder))["iteration_s"]

        ring = seconds("ring")
        self.assertEqual(seconds({"all-reduce": "ring"}), ring)
        self.assertEqual(seconds({"all-reduce": "recursive-doubling"}), ring)  # has no halves: those of ring
        self.assertEqual(seconds({"all-reduce": "in-network"}), ring)
        self.assertLess(seconds({"all-reduce": "ring", "all-gather": "pat"}), ring)
        self.assertEqual(seconds({"reduce-scatter": "halving-doubling", "all-gather": "halving-doubling"}), seconds("halving-doubling"))

    def test_routes(self):
        """Two leaves of two hosts, 4:1, two spines, 312.5 MB/s each. Spread over both a slice of 1 MB takes 1.6 ms, six
        of them 9.6; by one (d-mod-k: 2 and 0 modulo 2, both spine 0) 3.2."""
        leaves = {"kind": "leaf-spine", "leaves": 2, "hosts_per_leaf": 2, "spines": 2, "oversubscription": 4, "link": LINK}
        cluster = self.cluster({"alpha": "0 us", "topology": leaves})
        for routing, time in (("d-mod-k", 19.2e-3), ("adaptive", 9.6e-3)):
            row = self.row(cluster, "--fidelity", "fluid", "--routing", routing, "--links")
            self.assertAlmostEqual(row["time_s"], time, delta=1e-9)
            self.assertEqual(row["links"]["routing"], routing)
            self.assertEqual(row["routing"], routing)
        self.assertNotIn("routing", self.row(cluster, "--fidelity", "fluid"))
        given = self.cluster({"alpha": "0 us", "topology": {**leaves, "routing": "ecmp"}})
        row = self.row(given, "--fidelity", "fluid", "--operation", "all-gather")
        self.assertEqual(list(row)[:3], ["bytes", "operation", "routing"])
        self.assertEqual(row["routing"], "ecmp")
        cluster = self.cluster({"alpha": "0 us", "topology": leaves})
        self.refused("routing", *cluster, "--fidelity", "message", "--routing", "adaptive")
        self.refused("routing", *self.cluster(), "--fidelity", "fluid", "--routing", "ecmp")
        facts = answer("topology", "--cluster", "c.json", cwd=self.folder)
        self.assertEqual((facts["routing"], facts["nics"], facts["planes"]), ("d-mod-k", 1, 1))

    def test_sweeps_vary_the_routing(self):
        leaves = {"kind": "leaf-spine", "leaves": 2, "hosts_per_leaf": 2, "spines": 2, "oversubscription": 4, "link": LINK}
        self.cluster({"alpha": "0 us", "topology": leaves})
        sweep = {"profiles": [str(ROOT / "traces" / "resnet50_k80_b16.json")], "clusters": ["c.json"], "fidelities": ["fluid"],
                 "routing": ["d-mod-k", "adaptive"], "strategies": ["wfbp"]}
        self.write("s.json", sweep)
        output("sweep", "s.json", "--out", "rows.csv", cwd=self.folder)
        rows = rows_of(self.folder / "rows.csv")
        self.assertEqual([row["cluster"] for row in rows], ["c", "c"])
        self.assertEqual([row["routing"] for row in rows], ["d-mod-k", "adaptive"])
        sweep["routing"] = [{"each": "ecmp:flows=2,seed={}", "from": 7, "to": 9}]
        self.write("seeds.json", sweep)
        output("sweep", "seeds.json", "--out", "seeds.csv", cwd=self.folder)
        seeds = rows_of(self.folder / "seeds.csv")
        self.assertEqual([row["routing"] for row in seeds], [f"ecmp:flows=2,seed={seed}" for seed in (7, 8, 9)])
        for row, seed in zip(seeds, (7, 8, 9)):  # the same as the keys in the file
            self.cluster({"alpha": "0 us", "topology": {**leaves, "routing": "ecmp", "flows": 2, "seed": seed}})
            told = answer("run", "-p", sweep["profiles"][0], "--cluster", "c.json", "--fidelity", "fluid", "-s", "wfbp", cwd=self.folder)
            self.assertEqual((told["iteration_s"], told["routing"]), (float(row["iteration_s"]), row["routing"]))
        self.cluster({"alpha": "0 us", "topology": leaves})
        for wrong in ("ecmp:flows=0", "ecmp:turns=2", "ecmp:", "adaptive:seed=2"):
            refusal("topology", "--cluster", "c.json", "--routing", wrong, cwd=self.folder)
        self.assertGreater(float(rows[0]["iteration_s"]), float(rows[1]["iteration_s"]))
        words = ["-p", sweep["profiles"][0], "--cluster", "c.json", "--fidelity", "fluid", "-s", "wfbp", "--json"]
        for command in ("run", "compare"):
            given, none = (json.loads(output(command, *words, *flags, cwd=self.folder)) for flags in (["--routing", "ecmp"], []))
            given, none = (one[0] if command == "compare" else one for one in (given, none))
            self.assertEqual(given["routing"], "ecmp")
            self.assertNotIn("routing", none)

    def test_notes_name_the_deciding_effects(self):
        """A ring of 4, 5 us a message: 6 x 5 us, and 1.5 x 0.8 ns/B: as long at 25 kB."""
        said = lambda *flags, **how: run(*self.cluster(**how), *flags, cwd=self.folder).stderr  # noqa: E731
        for fidelity in ("fluid", "message"):
            self.assertEqual(said("--fidelity", fidelity, "--bytes", "1MB"), "")
        self.assertEqual(said("--bytes", "1kB"), "")
        leaves = {"alpha": "0 us", "topology": {"kind": "leaf-spine", "leaves": 2, "hosts_per_leaf": 2, "spines": 2,
                                                "link": {"latency": "1 us", "bandwidth": "10 Gbit/s"}}}
        trees = ["--fidelity", "fluid", "--bytes", "100MB", "--collective", "double-binary-tree"]
        self.assertEqual(said(*trees), "")
        self.assertIn("reorder", said("--fidelity", "fluid", "--bytes", "1MB", "--routing", "adaptive", network=leaves))
        servers = ["--fidelity", "fluid", "--collective", "parameter-server", "--bytes"]
        self.assertEqual(said(*servers, "100MB", network=leaves), "")
        self.cluster({"alpha": "50 ms", "topology": {"kind": "star", "link": LINK}})
        words = ["-p", ROOT / "traces" / "resnet50_k80_b16.json", "--cluster", "c.json", "--fidelity", "fluid"]
        for command, flags in (("run", ["-s", "wfbp"]), ("compare", ["-s", "wfbp"])):
            self.assertTrue(run(command, *words, *flags, cwd=self.folder).stderr)

    def gpus(self, **more):
        """Four hosts of two GPUs and two NICs in two leaves, 8:1."""
        return {"alpha": "0 us", "nccl": {"gpu": "h100"},
                "topology": {"kind": "leaf-spine", "link": {"latency": "0 us", "bandwidth": "50 GB/s"}, "leaves": 2, "hosts_per_leaf": 2,
                             "spines": 1, "oversubscription": 8, "gpus_per_host": 2, "nics": 2,
                             "inner": {"latency": "0 us", "bandwidth": "370 GB/s"}, **more}}

    def test_nccl_chooses_for_its_rails_and_travels_on_the_links(self):
        """Ring, Simple, 8 in nodes of 2: (8.4 + 8 x 3.4 + 6 x 14) us x 1.4, 14 slices of 1/8 at 2 x 50 GB/s. A leaf's
        uplink has 2 x 2 x 50 / 8 = 25 GB/s for what two ports send at 100: four times the bytes' time. Behind 1:1 nothing
        is added, nor for links of 1 us: what the model says of a hop contains them."""
        size, latency = 268435456, (8.4 + 8 * 3.4 + 6 * 14) * 1.4e-6
        moves = size * 14 / 8 / 100e9
        rows = {fidelity: self.row(self.cluster(self.gpus(), workers=8), "--collective", "nccl", "--fidelity", fidelity, size=f"{size}B")
                for fidelity in ("alpha-beta", "fluid", "message")}
        for row in rows.values():
            self.assertEqual((row["algorithm"], row["protocol"]), ("ring", "Simple"))
        self.assertAlmostEqual(rows["alpha-beta"]["time_s"], latency + moves, delta=1e-9)
        self.assertAlmostEqual(rows["fluid"]["time_s"], latency + 4 * moves, delta=1e-9)
        self.assertLess(rows["message"]["time_s"], latency + 4 * moves)
        self.assertGreater(rows["message"]["time_s"], 4 * moves)
        fair = self.gpus(oversubscription=1)
        row = self.row(self.cluster(fair, workers=8), "--collective", "nccl", "--fidelity", "fluid", size=f"{size}B")
        self.assertAlmostEqual(row["time_s"], latency + moves, delta=1e-9)
        far = self.gpus(oversubscription=1, link={"latency": "1 us", "bandwidth": "50 GB/s"})
        row = self.row(self.cluster(far, workers=8), "--collective", "nccl", "--fidelity", "fluid", size=f"{size}B")
        self.assertAlmostEqual(row["time_s"], latency + moves, delta=1e-9)

    def test_latencies_of_links_are_part_of_nccl_s_own(self):
        """On a fabric that blocks nothing all fidelities take what the rails of the model take: links of 1 us, and of 0.5 us
        inside hosts, whose routes take up to 5 us, are in its hops between nodes (14 us in Simple, at most) and in a node
        (4 us)."""
        links = {"link": {"latency": "1 us", "bandwidth": "50 GB/s"}, "inner": {"latency": "0.5 us", "bandwidth": "370 GB/s"}}
        rails = {"alpha": "0 us", "nccl": {"gpu": "h100"}, "node": {"workers": 2, "alpha": "0 us", "bandwidth": "370 GB/s"},
                 "bandwidth": "50 GB/s", "rails": 2}
        for operation in ("all-reduce", "all-gather", "reduce-scatter", "broadcast"):
            flags = ["--collective", "nccl", "--operation", operation, "--fidelity"]
            for size in ("8B", "64KiB", "256MiB"):
                wanted = self.row(self.cluster(rails, workers=8), *flags, "alpha-beta", size=size)["time_s"]
                for fidelity in ("alpha-beta", "fluid"):
                    row = self.row(self.cluster(self.gpus(oversubscription=1, **links), workers=8), *flags, fidelity, size=size)
                    self.assertAlmostEqual(row["time_s"], wanted, delta=1e-10 + 1e-9 * wanted)
                there = self.row(self.cluster(rails, workers=8), *flags, "message", size=size)["time_s"]
                here = self.row(self.cluster(self.gpus(oversubscription=1, **links), workers=8), *flags, "message", size=size)["time_s"]
                self.assertAlmostEqual(here, there, delta=1e-10 + 1e-9 * there)

    def test_nccl_on_longer_routes(self):
        """Two hosts of a GPU, links of 10 us: a route of 20 us takes 6 more than Simple's hop. An all-gather of 8 B is a ring
        in LL: 6.6 + 5 us, and 6; alpha-beta has no routes, and says so. Inside a host of two, links of 3 us: 2 beyond
        Simple's 4 us, and LL's 6.6 + 0.6 us."""
        flags = ["--collective", "nccl", "--operation", "all-gather", "--fidelity"]
        star = {"kind": "star", "link": {"latency": "10 us", "bandwidth": "50 GB/s"}}
        host = {**star, "gpus_per_host": 2, "inner": {"latency": "3 us", "bandwidth": "370 GB/s"}}
        for topology, time, hop in ((star, 17.6e-6, "14 us"), (host, 9.2e-6, "4 us")):
            cluster = self.cluster({"alpha": "0 us", "nccl": {"gpu": "h100"}, "topology": topology}, workers=2)
            for fidelity in ("fluid", "message"):
                self.assertAlmostEqual(self.row(cluster, *flags, fidelity, size="8B")["time_s"], time, delta=2e-9)
            self.refused(hop, *cluster, *flags, "alpha-beta")

    def test_nccl_on_a_graph(self):
        """A graph of a star's links, listed, is that star; its "link" is the port that NCCL finds. Without one it is asked
        for."""
        hosts = ["a", "b", "c", "d"]
        link = {"latency": "1 us", "bandwidth": "25 GB/s"}
        graph = {"kind": "graph", "hosts": hosts, "switches": ["s"], "link": link, "links": [{"between": [host, "s"]} for host in hosts]}
        more = {"gpus_per_host": 2, "inner": {"latency": "0.5 us", "bandwidth": "370 GB/s"}}
        for gpus, workers in (({}, 4), (more, 8)):
            times = {}
            for topology in ({"kind": "star", "link": link, **gpus}, {**graph, **gpus}):
                cluster = self.cluster({"alpha": "0 us", "nccl": {"gpu": "h100"}, "topology": topology}, workers=workers)
                times[topology["kind"]] = [self.row(cluster, "--collective", "nccl", "--operation", operation, "--fidelity", fidelity, size=size)
                                           for operation in ("all-reduce", "all-gather", "broadcast", "all-to-all")
                                           for fidelity in ("alpha-beta", "fluid", "message") for size in ("8B", "1MiB", "1GiB")]
            for row in times["star"] + times["graph"]:
                row.pop("wall_s", None)
            self.assertEqual(times["star"], times["graph"])
        del graph["link"]
        graph["links"] = [{**one, **link} for one in graph["links"]]
        self.refused('"link"', *self.cluster({"alpha": "0 us", "nccl": {"gpu": "h100"}, "topology": graph}), "--collective", "nccl")

    def test_nccl_by_operation_and_its_own_algorithms(self):
        """PAT among 8 nodes of a GPU: 8 + 8 x 2.8 + 3 x 14 / 3.5 us, and 64 KiB at 0.75 x 50 GB/s. Eight GPUs of one node
        by NVLS: 25 us, 1 GB at 8 x 40 x 0.85 x 7/8 x 2 x 8/14 GB/s, whatever the links."""
        one = {"alpha": "0 us", "nccl": {"gpu": "h100", "pat": True},
               "topology": {"kind": "star", "link": {"latency": "0 us", "bandwidth": "50 GB/s"}}}
        for fidelity in ("alpha-beta", "fluid", "message"):
            row = self.row(self.cluster(one, workers=8), "--collective", "nccl", "--operation", "all-gather", "--fidelity", fidelity, size="64KiB")
            self.assertEqual((row["algorithm"], row["protocol"]), ("pat", "Simple"))
            self.assertAlmostEqual(row["time_s"], (8 + 8 * 2.8 + 12) * 1e-6 + 65536 / 37.5e9, delta=1e-10)
            node = {"alpha": "0 us", "nccl": {"gpu": "h100"}, "node": {"workers": 8, "alpha": "0 us", "bandwidth": "370 GB/s"},
                    "bandwidth": "50 GB/s", "rails": 8}
            row = self.row(self.cluster(node, workers=8), "--collective", "nccl", "--fidelity", fidelity, size="1GB")
            self.assertEqual((row["algorithm"], row["protocol"]), ("nvls", "Simple"))
            self.assertAlmostEqual(row["time_s"], 25e-6 + 1e9 / (476e9 * 8 / 14), delta=1e-10)
            for operation, choice in (("all-to-all", "p2p"), ("broadcast", "ring"), ("reduce-scatter", "ring")):
                row = self.row(self.cluster(node, workers=16), "--collective", "nccl", "--operation", operation, "--fidelity", fidelity, size="1GB")
                self.assertEqual(row["algorithm"], choice)
        bare = {"alpha": "0 us", "topology": one["topology"]}
        self.refused("nccl", *self.cluster(bare), "--collective", "nccl", "--fidelity", "fluid")
        self.refused("node", *self.cluster({"alpha": "0 us", "bandwidth": "1 GB/s", "nccl": {"gpu": "h100"}}), "--collective", "nccl")

    def test_nccl_in_trainings(self):
        """Plans of every kind run with it where links are simulated, rows of links count what travels, and `start=ranks`
        where nobody is late is as together."""
        self.cluster(self.gpus(), workers=8)
        words = ["-p", ROOT / "traces" / "resnet50_k80_b16.json", "--cluster", "c.json", "--collective", "nccl", "--json"]
        for strategy, options in (("wfbp", []), ("dear", []), ("fsdp2", []), ("wfbp", ["zero=1"]), ("bytescheduler", []), ("fsdp2", ["shard_group=2"])):
            times = {}
            for fidelity, more in (("fluid", []), ("message", []), ("message", ["start=ranks"])):
                flags = [flag for option in options + more for flag in ("--option", option)]
                row = json.loads(output("run", *words, "-s", strategy, "--fidelity", fidelity, *flags, cwd=self.folder))
                self.assertGreaterEqual(row["iteration_s"], (row["lower_bound_s"] or 0) * (1 - 1e-9))
                times[fidelity, *more] = row["iteration_s"]
            self.assertEqual(times["message", "start=ranks"], times[("message",)])
            self.assertLess(times[("message",)], times[("fluid",)] * 1.02)
        links = json.loads(output("run", *words, "-s", "wfbp", "--fidelity", "fluid", "--links", cwd=self.folder))["links"]
        self.assertGreater(max(kind["busiest_bytes"] for kind in links["kinds"]), 0)

    def test_one_way_is_every_routing(self):
        leaves = {"kind": "leaf-spine", "leaves": 4, "hosts_per_leaf": 2, "spines": 1, "oversubscription": 2, "link": LINK}
        for collective in ("ring", "parameter-server", "double-binary-tree"):
            for fidelity in ("fluid", "message"):
                cluster = self.cluster({"alpha": "5 us", "gamma": "0.1 ns/B", "topology": leaves}, workers=8)
                flags = ["--collective", collective, "--fidelity", fidelity]
                plain = self.row(cluster, *flags)["time_s"]
                self.assertEqual(self.row(cluster, *flags, "--routing", "ecmp")["time_s"], plain)
                self.write("flows.json", (self.folder / "c.json").read_text(encoding="utf-8").replace('"spines"', '"routing": "ecmp", "flows": 3, "spines"'))
                parts = self.row(["collective", "--cluster", "flows.json"], *flags)["time_s"]  # beside each other, and as fair
                self.assertAlmostEqual(parts / plain, 1, delta=1e-6)
                if fidelity == "fluid":
                    self.assertEqual(self.row(cluster, *flags, "--routing", "adaptive")["time_s"], plain)

    def test_a_star_with_planes_is_a_rail(self):
        inner = {"gpus_per_host": 4, "inner": {"latency": "1 us", "bandwidth": "50 GB/s"}}
        link = {"latency": "2 us", "bandwidth": "25 GB/s"}
        for collective in ("ring", "double-binary-tree", "hierarchical", "parameter-server", "halving-doubling"):
            for fidelity in ("alpha-beta", "fluid", "message"):
                times = [[row["time_s"] for row in self.rows(self.cluster({"alpha": "5 us", "topology": {"link": link, **inner, **kind}}, workers=16),
                                                             "--collective", collective, "--fidelity", fidelity, size="10kB:100MB:x100")]
                         for kind in ({"kind": "star", "nics": 2, "planes": 2}, {"kind": "rail", "rails": 2})]
                self.assertEqual(times[0], times[1], (collective, fidelity))

    def test_a_collective_from_a_file(self):
        """Two rounds of everything: 2 x (10 us + 4 ms), in all fidelities; in the cluster's file beside it, too."""
        self.write("doubling.json", file_of(DOUBLING))
        cluster = self.cluster(ALPHA_BETA)
        self.assertAlmostEqual(self.row(cluster, "--collective", "doubling.json")["time_s"], 8.02e-3, delta=1e-9)
        (self.folder / "clusters").mkdir()
        (self.folder / "clusters" / "doubling.json").write_text(json.dumps(file_of(DOUBLING)), encoding="utf-8")
        self.cluster({**ALPHA_BETA, "collective": "doubling.json"})
        (self.folder / "c.json").rename(self.folder / "clusters" / "c.json")
        (self.folder / "doubling.json").unlink()
        self.assertAlmostEqual(self.row(["collective", "--cluster", "clusters/c.json"])["time_s"], 8.02e-3, delta=1e-9)
        self.write("doubling.json", file_of(DOUBLING))
        for fidelity in ("fluid", "message"):
            row = self.row(self.cluster(), "--collective", "doubling.json", "--fidelity", fidelity)
            self.assertAlmostEqual(row["time_s"], 2 * (5e-6 + 3.2e-3), delta=1e-9)
        done = answer("run", "-p", ROOT / "traces" / "resnet50_k80_b16.json", "--cluster", "c.json", "-s", "wfbp",
                      "--collective", "doubling.json", cwd=self.folder)
        self.assertEqual(done["collective"], "doubling")

    def test_files_that_are_wrong(self):
        def refused(words, content, *arguments, **cluster):
            self.write("f.json", content)
            self.refused(words, *self.cluster(**cluster), "--collective", "f.json", *arguments)

        refused("rank", file_of(DOUBLING[:1]))
        refused("ranks", file_of(DOUBLING), workers=8)
        refused("operation", file_of(DOUBLING), "--operation", "all-gather")
        refused("chunk", file_of(DOUBLING, operation="broadcast"))
        refused("twice", {**file_of([]), "rounds": [{"sends": 2 * [{"from": 0, "to": 1, "chunk": 0}]}]})
        self.write("f.json", file_of(DOUBLING))
        node = {"alpha": "5 us", "bandwidth": "10 GB/s", "node": {"workers": 2, "alpha": "1 us", "bandwidth": "50 GB/s"}}
        self.refused("file", *self.cluster(node), "--collective", "f.json")
        self.refused("pat", *self.cluster(node), "--collective", "pat")


if __name__ == "__main__":
    unittest.main()
