#!/usr/bin/env python3
"""What real clusters do (docs/models.md, docs/network.md), as users run it: workers that differ, BytePS and its servers, NCCL between nodes, and what of it measured rows fit.

Run: python3 tests/programs/command/test_real_clusters.py
"""
import csv
import json
import math
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from program import ROOT, WIDE, Case, needs_program  # noqa: E402

ONE = "layer,params,forward_us,backward_us\nl0,1000000,1000.0,2000.0\n"  # a tensor of 4 MB
TWO = ONE + "l1,1000000,1000.0,2000.0\n"
MEASURED = {"measured": {"collective": "ring", "workers": 8, "a": "1 ms", "b": "1 ns/B"}, "collective": "ring"}
SERVERS = {"alpha": "0 us", "beta": "1 ns/B", "gamma": "0 ns/B", "collective": "parameter-server"}
MEGABYTES = ["--option", "server_hosts=dedicated", "--option", "servers=4", "--option", "partition=1000000B"]
BYTEPS = ["byteps", *MEGABYTES]
# Iterations of (trace, cluster's network, workers, what else the cluster says, strategy and options): milliseconds, and why.
ITERATIONS = {
    "spread": (ONE, MEASURED, 8, {"spread": {"sigma": 0.05}}, ["wfbp"], 8.2135400459),  # m(8) = 1.4236003: 3 ms x 1.07118002, then 1 + 4 ms
    # The mean of exp(0.2 z - 0.02) for the largest z of 8 is 1.31297 by quadrature.
    "spread, lognormal": (ONE, MEASURED, 8, {"spread": {"sigma": 0.2, "distribution": "lognormal"}}, ["wfbp"], 8.938923767273864),
    # 1.5 x (1 + 0.05 x 1.4236003) on one worker, for which all wait.
    "spread and straggler": (ONE, MEASURED, 8, {"spread": {"sigma": 0.05}, "stragglers": [{"worker": 3, "slowdown": 1.5}]}, ["wfbp"], 9.82031006885),
    "byteps": (ONE, SERVERS, 4, {}, BYTEPS, 8),  # four partitions of 1 MB: pushes of 1 ms from 2 ms on, pulls one behind: 2 + 4 + 1, then 1 ms forward
    "byteps, released late": (TWO, SERVERS, 4, {}, [*BYTEPS, "--option", "release=backward"], 15),  # gradients go at 4 ms: pushes to 12, last pull 13, 2 ms forward
    "byteps, released by layer": (TWO, SERVERS, 4, {}, BYTEPS, 13),  # the upper layer's go at 2 ms, the lower's behind: pushes to 10, pull 11, 2 ms forward
    "server": (ONE, {**SERVERS, "server": {"beta": "2 ns/B"}}, 4, {}, BYTEPS, 13),  # pushes of 2 ms: 2 + 8 + 2 + 1
    # Two tensors of 4 MB in partitions of 2 MB; launches of 1 ms for the first of each: upper ready at 2, launched at 3, a to 4, bytes 4-6-8; lower ready at 4,
    # launched at 5, a to 6, bytes 8-10-12; forward 2.
    "launch_tensor": (TWO, {**MEASURED, "launch_tensor": "1 ms"}, 8, {},
                      ["bytescheduler", "--option", "partition=2000000B", "--option", "barrier=iteration", "--option", "credit=4"], 14),
}


def nodes(workers, bandwidth, port, rails, **more):
    return {"node": {"workers": workers, "alpha": "0 s", "bandwidth": bandwidth}, "alpha": "0 s", "bandwidth": port, "rails": rails, **more}


def nccl(workers, bandwidth, port, **more):
    return nodes(workers, bandwidth, port, workers, collective="nccl", nccl={"gpu": "h100", **more})


ALPS = {"ll128": False, "rendezvous": {"from": "2 KiB", "time": "14 us"}, "scale": {"network": {"tree": 0.5, "ll": 0.15}}}
# A collective of (network, workers, bytes): seconds, NCCL's choice, and why.
COLLECTIVES = {
    # 0.92 x 200 = 184 GB/s, not halved (node/2 = 185): 8.4 + 2 (7 x 4 + 14) us + M/184.
    "two nodes": (nccl(8, "370 GB/s", "25 GB/s", ll128=False), 16, 1 << 32, 92.4e-6 + (1 << 32) / 184e9, "tree/Simple"),
    # Ring: 1.4 (8.4 + 28 x 3.4 + 2 x 14) us + M x 30/16 / 200.
    "two nodes, as a ring": (nccl(8, "370 GB/s", "25 GB/s", ll128=False, two_node_tree=False), 16, 1 << 32, 1.4 * 131.6e-6 + (1 << 32) * 30 / 16 / 200e9, "ring/Simple"),
    # Tree: 8.4 + 2 (3 x 4 + 4 x 14) us, correction 0.5 of 0.92 x 96 / 2, half of it, and 8 hops of 14 us.
    "rendezvous": (nccl(4, "360 GB/s", "24 GB/s", **ALPS), 64, 1 << 20, 144.4e-6 + 112e-6 + (1 << 20) / 11.04e9, "tree/Simple"),
    # The tree's 0.9 x 44.16 x 0.5 = 19.9 GB/s loses; ring 1.4 (8.4 + 96 x 3.4 + 30 x 14) + 30 x 14 us + M x 126/64 / 96.
    "tree gives way": (nccl(4, "360 GB/s", "24 GB/s", **ALPS), 64, 1 << 28, 1.4 * 754.8e-6 + 420e-6 + (1 << 28) * 126 / 64 / 96e9, "ring/Simple"),
    # 60 GB/s x 6 = 360 is more than 320: 320 x 0.85 x 5/6 x 2 = 453.3 GB/s of bus: 25 us + M x 10/6 / 453.3.
    "NVLS on six": (nccl(8, "370 GB/s", "50 GB/s"), 6, 1 << 30, 25e-6 + (1 << 30) * 10 / 6 / (320e9 * 0.85 * 5 / 6 * 2), "nvls/Simple"),
    # Rendezvous only above its size: LL's tree of 2 KiB on 16 nodes of 4: 6.8 + 2 (3 x 0.6 + 4 x 5) us; min(min(0.92 x 96, 4 x 36)/3.8, 20.4) GB/s, no correction
    # (index 5: 0.8), a half, 0.15 of it.
    "no rendezvous": (nccl(4, "360 GB/s", "24 GB/s", **ALPS), 64, 2048, 50.4e-6 + 2048 / (0.15 * 0.8 * 20.4e9 / 2), "tree/LL"),
}


@needs_program
class RealClusters(Case):
    def output(self, *arguments):
        done = self.success(*arguments, env=WIDE)
        return done.stdout

    def cluster(self, network, workers=8, **more):
        return self.write("cluster.json", json.dumps({"name": "mine", "workers": workers, "network": network, **more}))

    def seconds(self, trace, *words):
        return json.loads(self.output("run", "--profile", self.write("trace.csv", trace), "--cluster", "cluster.json", "--strategy", *words, "--json"))["iteration_s"]

    def test_iterations(self):
        for name, (trace, network, workers, more, words, milliseconds) in ITERATIONS.items():
            with self.subTest(name):
                self.cluster(network, workers, **more)
                self.assertAlmostEqual(self.seconds(trace, *words), 1e-3 * milliseconds, delta=1e-9 * milliseconds)

    def test_launch_of_a_tensor(self):
        self.cluster({**MEASURED, "launch_tensor": "1 ms"}, 8)
        self.write("trace.csv", TWO)
        of = lambda *words: json.loads(self.output("run", "--profile", "trace.csv", "--cluster", "cluster.json", "--strategy", *words, "--json"))
        # Upper: ready at 2, launched at 3, there at 8; lower: launched at 9, there at 14; forward 2. The bound has one launch: backward 4, 1 + 1 + 4, forward 2.
        found = of("wfbp")
        self.assertAlmostEqual(found["iteration_s"], 16e-3, delta=1e-9)
        self.assertAlmostEqual(found["lower_bound_s"], 12e-3, delta=1e-9)
        # One block of two tensors: launched from 4 to 6, a reduce-scatter of 0.5 + 4 to 10.5; its gather pays no launch: to 15; forward 2.
        self.assertAlmostEqual(of("dear")["iteration_s"], 17e-3, delta=1e-9)
        # Planners count it.
        self.assertAlmostEqual(of("optimal-merge", "--launch", "2 ms")["iteration_s"], min(of(one, "--launch", "2 ms")["iteration_s"] for one in ("wfbp", "sync-easgd")), delta=1e-9)
        # Nobody to talk to, nothing to launch.
        self.assertAlmostEqual(of("wfbp", "--workers", "1")["iteration_s"], 6e-3, delta=1e-9)

    def test_collectives(self):
        for name, (network, workers, size, seconds, choice) in COLLECTIVES.items():
            with self.subTest(name):
                self.cluster(network, workers)
                row, = json.loads(self.output("collective", "--cluster", "cluster.json", "--bytes", f"{size}B", "--json"))
                self.assertEqual(f"{row['algorithm']}/{row['protocol']}", choice)
                self.assertAlmostEqual(row["time_s"], seconds, delta=1e-6 * seconds)

    def test_alpha_by_nodes(self):
        alphas = [{"nodes": 2, "alpha": "120 us"}, {"nodes": 8, "alpha": "60 us"}]
        self.cluster({**nodes(4, "5 GB/s", "1 GB/s", 1), "alpha": alphas}, 16)
        ask = lambda workers: self.run_program("collective", "--cluster", "cluster.json", "--collective", "ring", "--bytes", "1000000B", "--workers", workers, "--json")
        # Half way in log(nodes): 90 us; ring: 2 x 3 x 90 us + 2 x 15/16 ns/B. Beyond 8 nodes 60 us: 2 x 15 of them on 16 nodes.
        for workers, seconds, warned in ((16, 540e-6 + 15 / 8 * 1e-3, False), (64, 1800e-6 + 2 * 63 / 64 * 1e-3, True), (4, 2 * 3 / 4 * 0.2e-3, False)):
            done = ask(workers)
            self.assertAlmostEqual(json.loads(done.stdout)[0]["time_s"], seconds, delta=1e-9)
            self.assertEqual(bool(done.stderr), warned, done.stderr)
        # A change is one of all of them: at 4 nodes 45 us.
        found = json.loads(self.output("run", "--profile", self.write("trace.csv", ONE), "--cluster", "cluster.json", "--strategy", "wfbp", "--latency", "x0.5", "--json"))
        self.assertAlmostEqual(found["iteration_s"], 3e-3 + 6 * 45e-6 + 4 * 15 / 8 * 1e-3, delta=1e-9)

    def test_bandwidth_by_nodes(self):
        # 4 nodes are half way from 2 to 8 in log(nodes): of 4 and 1 GB/s, 2.5; of 0.25 and 1 ns/B, 0.625. A ring of 16 sends 2 x 15/16 of 1 MB; beyond 8 nodes the end holds.
        lists = {"bandwidth": ([{"nodes": 2, "bandwidth": "4 GB/s"}, {"nodes": 8, "bandwidth": "1 GB/s"}], 0.4),
                 "beta": ([{"nodes": 2, "beta": "0.25 ns/B"}, {"nodes": 8, "beta": "1 ns/B"}], 0.625)}
        for key, (by_nodes, middle) in lists.items():
            network = nodes(4, "50 GB/s", "1 GB/s", 1)
            del network["bandwidth"]
            self.cluster({**network, key: by_nodes}, 16)
            for workers, per_byte, warned in ((8, 0.25, False), (16, middle, False), (32, 1, False), (64, 1, True)):
                done = self.run_program("collective", "--cluster", "cluster.json", "--collective", "ring", "--bytes", "1000000B", "--workers", workers, "--json")
                self.assertAlmostEqual(json.loads(done.stdout)[0]["time_s"], 2 * (workers - 1) / workers * per_byte * 1e-3, delta=1e-12)
                self.assertEqual(f"{key} is given for 2 to 8 nodes" in done.stderr, warned, done.stderr)
        # Twice as fast a network is so at all numbers of nodes: 0.3125 ns/B.
        fast = self.run_program("run", "--profile", self.write("trace.csv", ONE), "--cluster", "cluster.json", "--strategy", "wfbp", "--bandwidth", "x2", "--json")
        self.assertAlmostEqual(json.loads(fast.stdout)["iteration_s"], 3e-3 + 4 * 15 / 8 * 0.3125e-3, delta=1e-9)

    def test_interference_on_one_node(self):
        # 4 MB in a ring of 4 at 2 GB/s: 3 ms, in which twice the time of 1.5 ms of the upper tensor's 2 ms backward pass... on two nodes nothing slows down.
        self.write("trace.csv", TWO)
        network = nodes(4, "2 GB/s", "2 GB/s", 1)
        for workers, nodes_of_it, slower in ((4, None, True), (4, 1, True), (8, None, True), (8, 1, False)):
            limit = {} if nodes_of_it is None else {"nodes": nodes_of_it}
            self.cluster(network, workers, interference={"compute": 2, **limit})
            slow = json.loads(self.output("run", "--profile", "trace.csv", "--cluster", "cluster.json", "--strategy", "wfbp", "--json"))["iteration_s"]
            self.cluster(network, workers)
            plain = json.loads(self.output("run", "--profile", "trace.csv", "--cluster", "cluster.json", "--strategy", "wfbp", "--json"))["iteration_s"]
            self.assertEqual(slow > plain, slower, (workers, nodes_of_it))

    def test_advice_in_doubt(self):
        # 3 ms of computing; 4 MB between two workers take 4 ms at 1 ns/B, 2 ms as fp16, which costs 1.5 ms each for encoding and decoding: 7 and 8 ms. With half of
        # the bandwidth 11 and 10 ms: the order turns, by 1.1. With a fifth more or less (x 0.9: 7.44 and 8.22) it does not.
        self.write("trace.csv", ONE)
        self.cluster({"alpha": "0 us", "beta": "1 ns/B"}, 2)
        words = ("compare", "--profile", "trace.csv", "--cluster", "cluster.json", "--strategy", "wfbp", "--codec", "none,fp16", "--decode", "{0} ms", "--encode", "{0} ms")
        ask = lambda cost, *more: " ".join(self.output(*(word.format(cost) for word in words), *more).split())
        self.assertIn("If collectives among 2 nodes reach half of this bandwidth, wfbp, fp16 is 1.10 times as fast (10 ms instead of 11 ms).", ask(1.5))
        self.assertNotIn("If collectives", ask(1.5, "--doubt", "0.9"))
        self.assertNotIn("If collectives", ask(1.5, "--doubt", "none"))
        rows = json.loads(self.output(*(word.format(1.5) for word in words), "--json"))
        for row, seconds in zip(rows, (11e-3, 10e-3)):
            self.assertAlmostEqual(row["doubted_iteration_s"], seconds, delta=1e-9)
        # At 1.02 ms they tie (7 and 7.04 ms): the plain one is simpler to run, but loses 11 - 9.04 ms there.
        self.assertIn("Run wfbp, fp16: 7.04 ms", ask(1.02))
        self.assertIn("Run wfbp, no codec: 7 ms", ask(1.02, "--doubt", "none"))
        self.refusal(*(word.format(1) for word in words), "--doubt", "1.5")
        # On one node there is no network to doubt.
        self.cluster(nodes(2, "1 GB/s", "1 GB/s", 1), 2)
        self.assertNotIn("If collectives", ask(1.5))

    def test_copies_of_a_device(self):
        # One unit of 4 MB on an H100: gathered once, copied out, and its gradient copied in: 8 MB at 670 GB/s, unless none or another rate is asked for.
        trace = {"model": {"name": "m", "layers": [{"name": "l0", "tensors": [{"name": "w", "shape": [1000000]}]}]}, "device": "h100", "framework": "pytorch", "batch_size": 1, "precision": "fp32", "origin": "measured",
                 "source": "a test", "unit": "us", "layers": [{"name": "l0", "forward": 1000.0, "backward": 2000.0}]}
        self.write("trace.json", json.dumps(trace))
        self.write("other.json", json.dumps({**trace, "device": "unheard of"}))
        self.cluster(nodes(4, "5 GB/s", "1 GB/s", 1), 4)
        ask = lambda trace, *more: json.loads(self.output("run", "--profile", trace, "--cluster", "cluster.json", "--strategy", "fsdp2", *more, "--json"))["iteration_s"]
        none = ask("trace.json", "--copy", "none")
        self.assertAlmostEqual(ask("trace.json") - none, 8e6 / 670e9, delta=1e-11)
        self.assertAlmostEqual(ask("trace.json", "--copy", "1 GB/s") - none, 8e-3, delta=1e-11)
        self.assertEqual(ask("other.json"), none)

    def test_tables_between(self):
        table = lambda scale: [{"bytes": "1 kB", "time": f"{scale} us"}, {"bytes": "2 kB", "time": f"{2 * scale} us"}]
        self.cluster({"tables": [{"workers": 16, "table": table(100)}, {"workers": 64, "table": table(300)}]}, 16)
        done = lambda workers: self.run_program("collective", "--cluster", "cluster.json", "--workers", workers, "--bytes", "1kB", "--json")
        self.assertTrue(done(32).stderr)
        self.assertAlmostEqual(json.loads(done(32).stdout)[0]["time_s"], 200e-6)
        self.assertEqual(done(16).stderr + done(64).stderr, "")
        self.assertTrue(done(128).stderr)

    def test_own_collective_of_byteps(self):
        # Named by nobody: servers between nodes, a ring inside one; and `best` stays on the network's.
        self.cluster(nodes(4, "5 GB/s", "1 GB/s", 1), 8)
        self.write("trace.csv", ONE)
        of = lambda *words: json.loads(self.output("run", "--profile", "trace.csv", "--cluster", "cluster.json", *words, "--json"))["collective"]
        self.assertEqual(of("-s", "byteps"), "parameter-server")
        self.assertEqual(of("-s", "byteps", "--workers", "4"), "ring")
        self.assertEqual(of("-s", "byteps", "--collective", "hierarchical"), "hierarchical")
        self.assertEqual(of("-s", "wfbp"), "ring")
        self.assertEqual(of("-s", "best"), "ring")

    def test_server_is_the_servers_own(self):
        # All formulas of parameter-server, and no other collective's.
        times = {}
        for server in ({}, {"server": {"alpha": "7 us", "bandwidth": "0.5 GB/s"}}):
            self.cluster({**nodes(4, "5 GB/s", "1 GB/s", 1), **server}, 8)
            for words in (("ring",), ("parameter-server",), ("parameter-server", "--option", "local=true"),
                          ("parameter-server", "--option", "local=true", "--option", "server_hosts=dedicated")):
                row, = json.loads(self.output("collective", "--cluster", "cluster.json", "--bytes", "1MB", "--json", "--collective", *words))
                times.setdefault(words, []).append(row["time_s"])
        # Colocated: 2 α_o + 2 max(7/8 · 0.2, 4/8 · 4 · β_o); local: 2 x 3/4 · 0.2 inside, twice max(4/4, 2/2) β_o outside.
        for words, expected in {("ring",): None, ("parameter-server",): (14e-6, 4 * 2), ("parameter-server", "--option", "local=true"): (14e-6, 0.3 + 4),
                                ("parameter-server", "--option", "local=true", "--option", "server_hosts=dedicated"): (14e-6, 0.3 + 4)}.items():
            before, after = times[words]
            if expected is None:
                self.assertEqual(before, after)
            else:
                self.assertAlmostEqual(after, expected[0] + 1e-3 * expected[1], delta=1e-10)
                self.assertLess(before, after)

    def test_spread_with_a_seed(self):
        self.cluster(MEASURED, 8, spread={"sigma": 0.05, "seed": 4})
        slow = (self.seconds(ONE, "wfbp") - 5e-3) / 3e-3
        self.assertNotEqual(slow, 1 + 0.05 * 1.4236003)
        # What strategy and options are leaves the factors alone; fewer workers draw the same.
        self.assertAlmostEqual((self.seconds(ONE, "s-sgd") - 5e-3) / 3e-3, slow, delta=1e-9)
        self.assertAlmostEqual((self.seconds(ONE, "wfbp", "--launch", "1 ms") - 6e-3) / 3e-3, slow, delta=1e-9)
        self.cluster(MEASURED, 8, spread={"sigma": 0.1, "seed": 4})
        self.assertAlmostEqual((self.seconds(ONE, "wfbp") - 5e-3) / 3e-3, 1 + 2 * (slow - 1), delta=1e-8)  # the same z, twice the sigma

    def test_whatif_of_a_spread(self):
        self.cluster(MEASURED, 8, spread={"sigma": 0.05})
        for change, sigma in (("x0.5", 0.025), ("none", 0), ("x2", 0.1)):
            self.assertAlmostEqual(self.seconds(ONE, "wfbp", "--stragglers", change), 3e-3 * (1 + sigma * 1.4236003) + 5e-3, delta=1e-9)

    def test_refusals(self):
        refused = {
            "spread": ({"spread": {"sigma": 1.5}}, {}, "/spread/sigma: 1.5 is not a valid spread (0 to 1, such as 0.024)"),
            "spread's kind": ({"spread": {"sigma": 0.1, "distribution": "uniform"}}, {}, "/spread/distribution: unknown distribution 'uniform'"),
            "server": ({}, {"server": {}}, "/network/server: does not describe the servers' links"),
            "server twice": ({}, {"server": {"beta": "1 ns/B", "bandwidth": "1 GB/s"}}, "/network/server/bandwidth: repeats beta"),
            "alpha": ({}, {"alpha": []}, "/network/alpha: is empty"),
            "alpha's order": ({}, {"alpha": [{"nodes": 4, "alpha": "1 us"}, {"nodes": 2, "alpha": "2 us"}]}, "/network/alpha/1/nodes: 2 nodes do not exceed the 4 before"),
            "bandwidth": ({}, {"bandwidth": []}, "/network/bandwidth: is empty"),
            "bandwidth's order": ({}, {"bandwidth": [{"nodes": 4, "bandwidth": "1 GB/s"}, {"nodes": 4, "bandwidth": "2 GB/s"}]}, "/network/bandwidth/1/nodes: 4 nodes do not exceed the 4 before"),
            "bandwidth's key": ({}, {"bandwidth": [{"nodes": 4, "beta": "1 ns/B"}]}, "/network/bandwidth/0/beta: unknown key 'beta'"),
            "interference's nodes": ({"interference": {"compute": 2, "nodes": 0}}, {}, "/interference/nodes"),
            "tree": ({}, {"nccl": {"gpu": "h100", "scale": {"node": {"tree": 0.5}}}}, "/network/nccl/scale/node/tree: unknown key 'tree'"),
            "rendezvous": ({}, {"nccl": {"gpu": "h100", "rendezvous": {"from": "2 KiB"}}}, "/network/nccl/rendezvous: the key 'time' is missing"),
        }
        self.write("trace.csv", ONE)
        for name, (more, network, message) in refused.items():
            with self.subTest(name):
                self.cluster({**nodes(4, "5 GB/s", "1 GB/s", 1), **network}, 8, **more)
                self.assertIn(message, self.refusal("run", "--profile", "trace.csv", "--cluster", "cluster.json", "--strategy", "wfbp"))
        self.cluster({**nodes(4, "5 GB/s", "1 GB/s", 1), "server": {"beta": "1 ns/B"}}, 8)
        error = self.refusal("run", "--profile", "trace.csv", "--cluster", "cluster.json", "--strategy", "byteps", "--fidelity", "fluid")
        self.assertIn("/network/server: ", error)

    def test_composer_is_fsdp1_that_gathers_late(self):
        self.cluster(nodes(4, "5 GB/s", "1 GB/s", 1), 8)
        self.write("trace.csv", TWO + "l2,3000000,500.0,700.0\n")
        of = lambda *words: json.loads(self.output("plan", "--profile", "trace.csv", "--cluster", "cluster.json", "--strategy", *words, "--json"))
        composer, fsdp1, early = of("composer"), of("fsdp1", "--option", "backward_prefetch=post"), of("fsdp1")
        self.assertEqual({**composer, "strategy": "fsdp1"}, fsdp1)
        self.assertNotEqual(early, fsdp1)
        done = self.run_program("run", "--profile", "trace.csv", "--cluster", "cluster.json", "--strategy", "composer", "--option", "reshard=but-last")
        self.assertTrue(done.stderr)

    def estimated(self, *words):
        self.output("estimate", "--model", "bert-base", "--device", "v100", "--precision", "fp32", "--batch", "8", *words, "--out", "made.json")
        return json.loads((self.folder / "made.json").read_text(encoding="utf-8"))

    def test_head_of_bert(self):
        plain, mlm = self.estimated(), self.estimated("--head", "mlm")
        elements = lambda trace: sum(math.prod(tensor["shape"]) for layer in trace["model"]["layers"] for tensor in layer["tensors"])
        # h² + h, 2h, V and 2h + 2 beside 109,482,240, the decoder being the embedding, which stays with the first layer.
        self.assertEqual((elements(plain), elements(mlm)), (109_482_240, 109_482_240 + 768 * 768 + 768 + 2 * 768 + 30522 + 2 * 768 + 2))
        self.assertEqual(elements(mlm), 110_106_428)
        layers = {layer["name"]: layer for layer in mlm["model"]["layers"]}
        self.assertEqual([layer["name"] for layer in mlm["model"]["layers"][-4:]],
                         ["cls.predictions.transform.dense", "cls.predictions.transform.LayerNorm", "cls.predictions.decoder", "cls.seq_relationship"])
        # 2h² + 2hV FLOPs of each of 512 tokens.
        self.assertEqual(layers["cls.predictions.transform.dense"]["forward_macs"] + layers["cls.predictions.decoder"]["forward_macs"], 512 * (768 * 768 + 768 * 30522))
        for words, message in ((("--model", "llama3-8b", "--device", "h100", "--batch", "1", "--head", "mlm"), "--head: "),
                               (("--model", "resnet50", "--device", "v100", "--batch", "1", "--head", "mlm"), "--head: "),
                               (("--model", "bert-base", "--device", "v100", "--batch", "1", "--head", "cls"), "--head: ")):
            self.assertIn(message, self.refusal("estimate", *words))

    def test_unfused_adam(self):
        fused, unfused = (self.estimated("--optimizer", optimizer)["update"] for optimizer in ("adam", "adam-unfused"))
        self.assertAlmostEqual(unfused / fused, 76 / 28, delta=0.01)  # bytes of a parameter; and the start of a kernel

    # What rows fit: rows that the program itself made, with constants that the file's clusters do not have.

    def rows(self, name, rows):
        with open(self.folder / name, "w", newline="", encoding="utf-8") as stream:
            writer = csv.DictWriter(stream, list(dict.fromkeys(key for row in rows for key in row)), restval="")
            writer.writeheader()
            writer.writerows(rows)
        return name

    def fitted(self, truth, base, constants, settings, *words):
        """What rows made on `truth` fit on `base`: each setting's workers, strategy and options; the last is scored."""
        self.write("trace.csv", TWO)
        for name, cluster in (("truth", truth), ("base", base)):
            self.write(f"{name}.json", json.dumps({"name": name, "workers": 8, **cluster}))
        rows = []
        for place, (workers, strategy, options) in enumerate(settings):
            given = [word for key, value in options.items() for word in ("--option", f"{key}={value}")]
            found = json.loads(self.output("run", "--profile", "trace.csv", "--cluster", "truth.json", "--workers", workers, "--strategy", strategy, *given, "--json"))
            rows.append({"profile": "trace.csv", "cluster": "base.json", "workers": workers, "strategy": strategy, **options, "iteration_s": repr(found["iteration_s"]),
                         "calibrate": constants if place + 1 < len(settings) else ""})
        answer = json.loads(self.output("validate", self.rows("rows.csv", rows), *words, "--json"))
        return {one["constant"]: one["value"] for one in answer["constants"]}, answer

    def test_fitted_constants(self):
        two = nodes(4, "50 GB/s", "8 GB/s", 1)
        settings = [(8, "wfbp", {}), (8, "s-sgd", {}), (8, "sync-easgd", {})]
        found, answer = self.fitted({"network": two, "interference": {"compute": 1.3}}, {"network": two}, "interference", settings)
        self.assertAlmostEqual(found["interference"], 1.3, delta=1e-3)
        self.assertEqual(answer["constants"][0]["for"], {"cluster": "base.json", "profile": "trace.csv"})
        self.assertEqual(answer["constants"][0]["lines"], [2, 3])
        self.assertLess(answer["all"]["error"]["median"], 1e-3)
        found, _ = self.fitted({"network": two}, {"network": two}, "interference", settings)
        self.assertEqual(found["interference"], 1)  # an answer
        fast = nodes(4, "5000 GB/s", "5000 GB/s", 1)
        found, _ = self.fitted({"network": fast, "spread": {"sigma": 0.05}}, {"network": fast}, "spread", settings)
        self.assertAlmostEqual(found["spread"], 0.05, delta=1e-4)
        found, _ = self.fitted({"network": fast}, {"network": fast}, "spread", settings)
        self.assertEqual(found["spread"], 0)
        options = {"collective": "parameter-server"}
        byteps = [(8, "byteps", {"partition": "1MB"}), (8, "byteps", {"partition": "2MB"}), (8, "byteps", {})]
        found, _ = self.fitted({"network": {**two, **options, "server": {"beta": "2.5 ns/B"}}}, {"network": {**two, **options}}, "server", byteps)
        self.assertAlmostEqual(found["server"], 2.5e-9, delta=2.5e-12)
        found, answer = self.fitted({"network": {**two, "launch_tensor": "3 ms"}}, {"network": two}, "launch_tensor by cluster", settings)
        self.assertAlmostEqual(found["launch_tensor"], 3e-3, delta=3e-6)

    def test_spread_needs_rows_that_compute(self):
        two = nodes(4, "5 GB/s", "1 GB/s", 1)
        self.write("trace.csv", TWO)
        self.write("base.json", json.dumps({"name": "base", "workers": 8, "network": two}))
        row = {"profile": "trace.csv", "cluster": "base.json", "workers": 8, "strategy": "wfbp", "iteration_s": 0.02}
        self.assertIn("rows.csv: line 3, calibrate: ", self.refusal("validate", self.rows("rows.csv", [row, {**row, "calibrate": "spread"}])))

    def test_at_most_four_constants(self):
        two = nodes(4, "5 GB/s", "1 GB/s", 1)
        self.write("trace.csv", TWO)
        self.write("base.json", json.dumps({"name": "base", "workers": 8, "network": two}))
        row = {"profile": "trace.csv", "cluster": "base.json", "workers": 8, "strategy": "wfbp", "iteration_s": 0.02}
        fits = [{**row, "calibrate": one} for one in ("alpha", "beta", "server", "launch_tensor", "interference")]
        self.assertIn("four", self.refusal("validate", self.rows("rows.csv", [row, *fits])))

    def test_where_it_matters(self):
        two = nodes(4, "5 GB/s", "1 GB/s", 1)
        self.write("trace.csv", TWO)
        self.write("base.json", json.dumps({"name": "base", "workers": 8, "network": two}))
        # 6 ms of computing and 14 ms of bytes: without communication the first is off by 40 %, the second by 4 %.
        row = {"profile": "trace.csv", "cluster": "base.json", "workers": 8, "strategy": "wfbp"}
        file = self.rows("rows.csv", [{**row, "iteration_s": 0.01}, {**row, "iteration_s": 0.00625}])
        answer = json.loads(self.output("validate", file, "--where-it-matters", "5%", "--json"))
        self.assertEqual((answer["all"]["points"], answer["matters"]["points"]), (2, 1))
        self.assertAlmostEqual(answer["matters"]["no_communication"]["median"], 0.4)
        self.assertEqual(set(answer["matters"]), set(answer["all"]))
        self.assertNotIn("matters", json.loads(self.output("validate", file, "--json")))
        # Neither is missed by half: there is no such point, and no score of none.
        answer = json.loads(self.output("validate", file, "--where-it-matters", "50%", "--json"))
        self.assertEqual((answer["matters"]["points"], answer["matters"]["error"]["median"], answer["matters"]["no_overlap"]["p90"]), (0, None, None))
        self.assertEqual(set(answer["matters"]), set(answer["all"]))

    def test_a_constant_at_its_limit(self):
        fast = nodes(4, "5000 GB/s", "5000 GB/s", 1)
        settings = [(8, "wfbp", {}), (8, "s-sgd", {}), (8, "sync-easgd", {})]
        # A sigma of 0.5 is more than is fitted, and so is a factor of 6; less leaves a trace in every row.
        found, answer = self.fitted({"network": fast, "spread": {"sigma": 0.5}}, {"network": fast}, "spread", settings)
        self.assertEqual((found["spread"], answer["constants"][0]["at_limit"]), (0.3, True))
        two = nodes(4, "50 GB/s", "8 GB/s", 1)
        found, answer = self.fitted({"network": two, "interference": {"compute": 6}}, {"network": two}, "interference", settings)
        self.assertEqual((found["interference"], answer["constants"][0]["at_limit"]), (4, True))
        _, answer = self.fitted({"network": fast, "spread": {"sigma": 0.05}}, {"network": fast}, "spread", settings)
        self.assertFalse(answer["constants"][0]["at_limit"])

    def test_servers_that_nothing_uses(self):
        self.cluster({**nodes(4, "5 GB/s", "1 GB/s", 1), "server": {"beta": "1 ns/B"}}, 8)
        words = ("run", "--profile", self.write("trace.csv", ONE), "--cluster", "cluster.json", "--strategy", "wfbp")
        self.assertTrue(self.run_program(*words).stderr)
        self.assertEqual(self.run_program(*words, "--collective", "parameter-server").stderr, "")

    def test_help_knows_every_key_of_a_cluster(self):
        """As the schema describes it, also where it is an option or a collective, too."""
        schema = json.loads((ROOT / "docs" / "schema" / "cluster.schema.json").read_text(encoding="utf-8"))
        kinds = [kind["properties"] for kind in schema["$defs"]["topology"]["oneOf"]]
        known = {}
        for part in (schema["properties"], schema["$defs"]["network"]["properties"], schema["$defs"]["nccl"]["properties"], *kinds):
            known.update({key: about["description"] for key, about in part.items() if "description" in about})
        self.assertGreater(len(known), 35)
        helps = {key: self.output("help", key) for key in known}
        for key in known:
            with self.subTest(key):
                self.assertIn("".join(known[key].split()), "".join(helps[key].split()))

    def test_help_offers_what_a_strategy_takes(self):
        self.assertIn("--reshard all|none ", self.output("help", "composer"))
        self.assertNotIn("but-last", self.output("help", "composer") + self.output("help", "fsdp1"))
        self.assertIn("--reshard but-last|all|none\n", self.output("help", "fsdp2"))
        self.assertIn("but-last (fsdp2, simple-fsdp), all or none. Default: but-last; fsdp1: all; composer: all", " ".join(self.output("help", "reshard").split()))

    def test_next_smaller_number(self):
        self.write("base.json", json.dumps({"name": "base", "workers": 8, "network": {"alpha": "0 us", "beta": "1 ns/B"}}))
        rows = [{"cluster": "base.json", "collective": "ring", "workers": workers, "bytes": size, "time_s": time}
                for workers, size, time in ((2, 1000, 1e-6), (4, 1000, 2e-6), (8, 1000, 2.5e-6), (8, 2000, 4e-6))]
        answer = json.loads(self.output("validate", self.rows("rows.csv", rows), "--json"))
        # 4 as 2: 1 of 2 us is half too fast; 8 as 4: 2 of 2.5 us a fifth; 2 kB were measured at 8 alone.
        self.assertEqual(answer["all"]["smaller"]["points"], 2)
        self.assertAlmostEqual(answer["all"]["smaller"]["median"], 0.35)
        self.assertAlmostEqual(answer["all"]["smaller"]["p90"], 0.2 + 0.9 * 0.3)
        # Ring: 2(N-1)/N of 1 us: 1.5 of 2 us, 1.75 of 2.5.
        self.assertAlmostEqual(answer["all"]["error_where_smaller"]["median"], (0.25 + 0.3) / 2)
        self.assertIn("smaller", answer["groups"][0])


if __name__ == "__main__":
    unittest.main()
