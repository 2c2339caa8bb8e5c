#!/usr/bin/env python3
"""Pipelines as users run them: the worked cases of the contract, which lie beside the published measurements and are
skipped where they are absent; schedules and their files; what is refused, and by which word.
"""

import functools
import json
import re
import shlex
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
import program
from program import REFERENCE, ROOT, place_of

WORKED = REFERENCE.parent / "cases" / "pipelines.json"


def differences(expected, found, scale, where=""):
    """Where an answer is not what it should be: times to 1e-6 of the iteration, everything else to 1e-6 of itself."""
    if isinstance(expected, dict):
        return [d for key, value in expected.items() for d in differences(value, found.get(key), scale, f"{where}/{key}")]
    if isinstance(expected, list):
        if len(expected) != len(found):
            return [f"{where}: {len(found)} instead of {len(expected)}"]
        return [d for i, value in enumerate(expected) for d in differences(value, found[i], scale, f"{where}/{i}")]
    if isinstance(expected, (int, float)) and found is not None:
        most = 1e-6 * (scale if where.endswith("_s") else abs(expected))
        return [] if abs(expected - found) <= most else [f"{where}: {found} instead of {expected}"]
    return [] if expected == found else [f"{where}: {found} instead of {expected}"]


@program.needs_program
class PipelineCases(program.Case):
    def run_case(self, case):
        for name, text in {**case.get("files", {}), "trace.json": json.dumps(program.with_degrees(case.get("trace"), case["command"])),
                           "cluster.json": json.dumps(case.get("cluster"))}.items():
            self.write(name, text)
        return self.run_program(*shlex.split(case["command"])[1:])

    @program.needs(WORKED)
    def test_worked_cases(self):
        for case in json.loads(WORKED.read_text(encoding="utf-8")):
            with self.subTest(case["name"]):
                done = self.run_case(case)
                if "refused" in case:
                    self.assertEqual(done.returncode, 2, done.stdout)
                    self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
                    self.assertIn(case["refused"], done.stderr)
                    continue
                self.assertEqual(done.returncode, 0, done.stderr)
                if "rows" in case:
                    self.assertEqual(done.stdout, case["rows"])
                    continue
                expected = {key: value for key, value in case["answers"].items() if key != "order"}
                found = json.loads(done.stdout)
                self.assertEqual(differences(expected, found, expected["iteration_s"]), [], case["derivation"])


def trace(layers, **more):
    """A profile of (forward, backward) in us, 240 elements each; `more` of every layer."""
    return {"model": {"name": "m", "layers": [{"name": f"l{i}", "tensors": [{"name": f"l{i}.w", "shape": [240]}]}
                                              for i in range(len(layers))]},
            "device": "x", "framework": "x", "batch_size": 1, "precision": "fp32", "origin": "measured", "source": "test",
            "unit": "us", "layers": [{"name": f"l{i}", "forward": f, "backward": b, "output_bytes": 0,
                                      "activation_bytes": 100, **more} for i, (f, b) in enumerate(layers)]}


def cluster(workers, **network):
    """Links of 10 us and 1 ns/B, or what `network` says."""
    return {"name": "c", "workers": workers,
            "network": {"alpha": "10 us", "beta": "1 ns/B", "collective": "ring", **network}}


FREE = {"alpha": "0 us", "beta": "0 ns/B"}


@program.needs_program
class Pipelines(program.Case):
    def given(self, trace_, cluster_):
        for name, what in (("trace.json", trace_), ("cluster.json", cluster_)):
            self.write(name, what)

    def started(self, *words, strategy="wfbp"):
        return self.run_program("run", "-p", "trace.json", "-c", "cluster.json", "-s", strategy, *words, "--json")

    def result(self, *words, **how):
        done = self.started(*words, **how)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def refusal(self, *words, **how):
        done = self.started(*words, **how)
        self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stdout + done.stderr)
        return done.stderr

    def test_bubbles(self):
        """Equal chunks and nothing to send: closed forms. f = 10 us, b = 20 us of a layer, i = w = 10 us."""
        for ranks, batches in ((2, 4), (3, 6), (4, 8)):
            self.given(trace([(10, 20)] * (2 * ranks)), cluster(ranks, **FREE))
            def iteration(name, *words, ranks=ranks, batches=batches):
                return round(self.result("--pp", ranks, "--micro-batches", batches, "--schedule", name, *words)["iteration_s"] * 1e6, 6)
            with self.subTest(ranks=ranks):
                for name in ("gpipe", "1f1b"):  # chunks of two layers: (M + P - 1)(f + b)
                    self.assertEqual(iteration(name), (batches + ranks - 1) * 60)
                for name in ("interleaved", "looped-bfs"):  # V = 2: M V (f + b) + (P - 1)(f + b)
                    self.assertEqual(iteration(name, "--chunks", 2), 2 * batches * 30 + (ranks - 1) * 30)
                # (P - 1) f beside the work, f of two layers
                self.assertEqual(iteration("zb-h1"), batches * 60 + (ranks - 1) * 20)
                # no rank idles between its first and last task; it starts up to P - 1 forward passes late
                self.assertEqual(iteration("zbv", "-o", "update_barrier=stage"), batches * 60)
                self.assertEqual(iteration("zbv"), batches * 60 + (ranks - 1) * 10)

    def test_degrees_that_do_not_divide_are_reported_at_their_place(self):
        """The command line's last word before a file's."""
        in_all = [{"op": "all-reduce", "group": group, "bytes": 960, "pass": "forward"} for group in ("tp", "cp", "ep")]
        self.given(trace([(10, 20)] * 4, collectives=in_all), cluster(12))
        for words, blamed in ((["--pp", 5], "command line: --pp"), (["--tp", 5], "command line: --tp"), (["--cp", 5], "command line: --cp"),
                              (["--pp", 2, "--tp", 2, "--cp", 2], "command line: --pp"), (["-n", 10, "--pp", 4], "command line: --pp"),
                              (["--ep", 5], "command line: --ep")):
            self.assertTrue(self.refusal(*words).startswith(blamed + ": "), words)
        for block in ({"pp": 5}, {"tp": 5}, {"tp": 2, "cp": 5}):
            self.given(trace([(10, 20)] * 4, collectives=in_all), {**cluster(12), "parallel": block})
            self.assertTrue(self.refusal().startswith("cluster.json: /workers: "))
            self.assertTrue(self.refusal("-n", 11).startswith("command line: --workers: "))
        self.given({**trace([(10, 20)] * 4), "parallel": {"tp": 5, "cp": 1}}, cluster(12))
        self.assertTrue(self.refusal("-n", 11).startswith("command line: --workers: "))
        star = {"kind": "fat-tree", "ports": 4, "link": {"latency": "1 us", "bandwidth": "1 GB/s"}}
        self.given(trace([(10, 20)] * 4), {"name": "c", "workers": 17, "network": {"alpha": "0 us", "topology": star, "collective": "ring"}})
        self.assertTrue(self.refusal().startswith("cluster.json: /network/topology: "))
        self.assertTrue(self.refusal("-n", 18).startswith("command line: --workers: "))

    def test_links_of_a_pipeline(self):
        """Two ranks of two replicas: a micro-batch's activations go one way, its gradients the other."""
        star = {"kind": "star", "link": {"latency": "1 us", "bandwidth": "1 GB/s"}}
        self.given(trace([(10, 20)] * 4, output_bytes=5000), {"name": "c", "workers": 4, "network": {"alpha": "0 us", "topology": star, "collective": "ring"}})
        for fidelity in ("fluid", "message"):
            found = self.result("--pp", 2, "--micro-batches", 3, "--fidelity", fidelity, "--links", "--timeline", "t.json", "--plot", "t.svg")
            # Three micro-batches of 5 kB from each worker, and, in a ring of two, its two layers' 240 elements of 4 bytes once.
            for link in found["links"]["hottest"]:
                self.assertAlmostEqual(link["bytes"], 3 * 5000 + 2 * 240 * 4, delta=1e-6)
            events = json.loads((self.folder / "t.json").read_text(encoding="utf-8"))["traceEvents"]
            used = [event for event in events if event["ph"] == "C" and "busiest" in event["name"]]
            area = sum(before["args"]["use"] / 100 * (after["ts"] - before["ts"]) for before, after in zip(used, used[1:])) * 1e-6
            # The busiest link at each instant: at least what one link carries, at most what all eight do.
            self.assertGreaterEqual(area * 1e9, 0.99 * (3 * 5000 + 2 * 240 * 4))
            self.assertLessEqual(area * 1e9, 8 * (3 * 5000 + 2 * 240 * 4))
            self.assertIn("<svg", (self.folder / "t.svg").read_text(encoding="utf-8"))

    def test_commands_without_pipelines_name_those_with(self):
        self.given(trace([(10, 20)] * 4), cluster(4))
        words = ["-p", "trace.json", "-c", "cluster.json", "--pp", 2]
        for command, instead in ((["recommend"], "recommend --model"), (["tune", "-s", "ddp"], "compare"),
                                 (["export", "-s", "ddp", "--to", "chakra", "--out", "x"], "plan --json")):
            line = self.run_program(*command, *words).stderr
            self.assertIn("--pp: pp 2, but ", line)
            self.assertIn(instead, line.split("(pp 1; or ")[1])

    def test_one_micro_batch_is_named(self):
        self.given(trace([(10, 20)] * 4), cluster(8))
        one = self.run_program("run", "-p", "trace.json", "-c", "cluster.json", "--pp", 2, "--micro-batches", 1, "-s", "ddp").stdout
        self.assertIn("1 micro-batch\n", one)

    def test_work_that_continues_in_the_next_iteration(self):
        """Rank 0 has no tensors, and goes on when rank 1 reduces: an all-reduce of two, 2 * 10 us and 2 * 1/2 * 960 ns, in each iteration."""
        given = trace([(10, 0), (10, 20)])
        given["model"]["layers"][0]["tensors"] = []
        self.given(given, cluster(4))
        for strategy in ("p3", "ddp"):
            found = self.result("--pp", 2, "--micro-batches", 2, "-o", "update_barrier=stage", strategy=strategy)
            self.assertAlmostEqual(found["comm_busy_s"] * 1e6, 20.96, 6, strategy)

    def test_activations(self):
        """A layer and micro-batch keep 100 bytes: gpipe holds all M, 1f1b min(P - r, M)."""
        self.given(trace([(10, 20)] * 3), cluster(3, **FREE))
        for name, held in (("gpipe", [5, 5, 5]), ("1f1b", [3, 2, 1])):
            stages = self.result("--pp", 3, "--micro-batches", 5, "--schedule", name)["stages"]
            self.assertEqual([one["memory"]["activations"] for one in stages], [100 * count for count in held])

    def test_parts_add_up(self):
        self.given({**trace([(10, 20), (15, 25), (5, 30), (10, 10)]), "parallel": {"tp": 2, "cp": 1}, "update": 40}, cluster(8))
        for strategy in ("wfbp", "ddp", "bytescheduler", "horovod", "megatron", "fsdp2", "best"):
            for words in (["1f1b"], ["gpipe", "-o", "p2p=blocking"], ["interleaved"], ["zbv"]):
                with self.subTest(strategy=strategy, words=words):
                    found = self.result("--pp", 2, "--tp", 2, "--micro-batches", 4, "-o", "p2p_bytes=2kB",
                                        "--schedule", *words, strategy=strategy)
                    parts = 4 * (found["forward_s"] + found["backward_s"]) / 2 + sum(
                        found[key] for key in ("update_s", "layer_comm_s", "bubble_s", "exposed_p2p_s", "exposed_dp_s"))
                    self.assertAlmostEqual(found["iteration_s"], parts, delta=1e-11)
                    self.assertGreaterEqual(found["iteration_s"], found["lower_bound_s"] - 1e-12)

    def test_a_file_is_its_schedule(self):
        self.given(trace([(10, 20), (15, 25), (5, 30), (10, 10)]), cluster(4))
        for name in ("gpipe", "1f1b", "looped-bfs", "interleaved", "zb-h1", "zbv", "dualpipe-v"):
            with self.subTest(name):
                words = ["--pp", 2, "--micro-batches", 4]
                self.write("rows.csv", program.output("schedule", name, *words))
                known = self.result(*words, "--schedule", name, "-o", "p2p_bytes=1kB")
                found = self.result("--pp", 2, "--schedule", "rows.csv", "-o", "p2p_bytes=1kB")
                for key in ("iteration_s", "bubble_s", "memory_bytes", "stages", "micro_batches", "lower_bound_s"):
                    self.assertEqual(found[key], known[key], key)

    def test_fidelities_agree(self):
        """On a star nobody meets another rank's bytes but in a worker's own port; without start-ups a send alone takes
        bytes / bandwidth everywhere."""
        star = {"topology": {"kind": "star", "link": {"latency": "0 us", "bandwidth": "1 GB/s"}}, "alpha": "0 us"}
        self.given(trace([(100, 200)] * 2), cluster(2, **star))
        for fidelity in ("alpha-beta", "fluid", "message"):
            # 10 us a send: 0F0 0-100 0F1 100-200; 1F0 110-210 1B0 210-410 1F1 410-510 1B1 510-710, sent -720; 0B1 -920
            found = self.result("--pp", 2, "--micro-batches", 2, "-o", "p2p_bytes=10kB", "--fidelity", fidelity)
            self.assertAlmostEqual(found["iteration_s"], 920e-6, delta=1e-11, msg=fidelity)

    def test_ranks_that_do_not_fill_nodes(self):
        """Six workers of a rank in nodes of four. 0F 0-100, 1F -200, 1B -400, 0B -600 us; then rank 0's ring sends 960 B, 160
        in each of ten rounds, on links between nodes of 1 GB/s: 601.6. Rank 1's ring is done before; a byte is sent on."""
        star = {"kind": "star", "link": {"latency": "0 us", "bandwidth": "1 GB/s"}, "gpus_per_host": 4,
                "inner": {"latency": "0 us", "bandwidth": "4 GB/s"}}
        self.given(trace([(100, 200)] * 2), cluster(12, topology=star, alpha="0 us"))
        words = ["--pp", 2, "--micro-batches", 1, "-o", "p2p_bytes=1B"]
        for fidelity in ("fluid", "message"):
            found = self.result(*words, "--fidelity", fidelity, "--collective", "ring")
            self.assertAlmostEqual(found["iteration_s"], 601.6e-6, delta=2e-8, msg=fidelity)
        for more in (["--fidelity", "alpha-beta"], ["--fidelity", "fluid", "--collective", "hierarchical"]):
            self.assertIn("--fidelity fluid --collective ring", self.refusal(*words, *more))

    def test_detailed_fidelities(self):
        """Rails without latencies: closed forms and the others agree where nobody meets. Each rank of the pipeline is
        a node; its groups use it one after another, and sends have no bytes."""
        network = {"node": {"workers": 4, "alpha": "0 us", "beta": "0.5 ns/B"}, "alpha": "0 us", "beta": "1 ns/B",
                   "rails": 4}
        inside = [{"op": op, "group": "tp", "bytes": 960, "pass": one} for op in ("all-reduce", "all-to-all")
                  for one in ("forward", "backward")]
        self.given(trace([(10, 20)] * 4, collectives=inside), cluster(8, **network))
        for strategy in ("ddp", "fsdp2"):
            words = ["--pp", 2, "--tp", 2, "--micro-batches", 2]
            known = self.result(*words, strategy=strategy)
            for fidelity in ("fluid", "message"):
                found = self.result(*words, "--fidelity", fidelity, strategy=strategy)
                for key in ("iteration_s", "layer_comm_s", "exposed_dp_s", "exposed_p2p_s"):
                    self.assertAlmostEqual(found[key], known[key], delta=1e-6 * known["iteration_s"], msg=(fidelity, key))

    def test_an_algorithm_for_each_operation_inside_layers(self):
        """Sums down a tree, halves round a ring: with sums alone as slow as a tree, with halves as a ring, in all
        fidelities; an all-to-all is what it is. Latencies tell them apart: 4 workers of a node, no bytes beyond one."""
        network = {"node": {"workers": 4, "alpha": "10 us", "beta": "0.5 ns/B"}, "alpha": "0 us", "beta": "1 ns/B", "rails": 4}
        by_operation = {"all-reduce": "recursive-doubling", "reduce-scatter": "ring", "all-gather": "ring"}

        def layer_comm(op, collective, fidelity):
            inside = [{"op": op, "group": "tp", "bytes": 960, "pass": "forward"}]
            self.given(trace([(10, 20)] * 4, collectives=inside), cluster(8, **{**network, "collective": collective}))
            return self.result("--tp", 4, "--fidelity", fidelity)["layer_comm_s"]

        for op, alone in (("all-reduce", "recursive-doubling"), ("reduce-scatter", "ring"), ("all-gather", "ring"), ("all-to-all", "ring")):
            want = layer_comm(op, alone, "alpha-beta")
            for fidelity in ("alpha-beta", "fluid", "message"):
                self.assertAlmostEqual(layer_comm(op, by_operation, fidelity), want, delta=1e-11, msg=(op, fidelity))

    def test_interference(self):
        """A rank feels its own reductions, and no sends. Two layers a rank and two workers a group: an all-reduce of 960 B
        takes 2 * 1/2 * 960 * 10 ns = 9.6 us, at 0.1 GB/s. F 0-40, rank 1: B l3 40-60; B l2, without tensors, does 6.4 us in
        the 9.6 of l3's all-reduce, which rank 0 would not feel, and ends at 83.2; B l1 -103.2, B l0 -126.4 likewise, and
        its all-reduce -136."""
        star = {"topology": {"kind": "star", "link": {"latency": "0 us", "bandwidth": "0.1 GB/s"}}, "alpha": "0 us", "beta": "10 ns/B"}
        profile = trace([(10, 20)] * 4)
        profile["model"]["layers"][2]["tensors"] = []
        for fidelity, felt in (("alpha-beta", {}), ("fluid", {}), ("message", {}), ("alpha-beta", {"at": "0.1 GB/s"}),
                               ("fluid", {"at": "0.1 GB/s"})):
            with self.subTest(fidelity, **felt):
                words = ["--pp", 2, "--fidelity", fidelity]
                self.given(profile, {**cluster(4, **star), "interference": {"compute": 1.5, **felt}})
                self.assertAlmostEqual(self.result(*words)["iteration_s"], 136e-6, delta=1e-11)
                # One replica: nothing but sends, of 10 us each, beside the next micro-batch.
                words += ["--micro-batches", 3, "-o", "p2p_bytes=1kB"]
                alone = cluster(2, **star)
                self.given(trace([(10, 20)] * 4), alone)
                free = self.result(*words)["iteration_s"]
                self.given(trace([(10, 20)] * 4), {**alone, "interference": {"compute": 1.5, **felt}})
                self.assertEqual(self.result(*words)["iteration_s"], free)

    def test_blocking(self):
        """gpipe, three micro-batches, sends of 10 us; rank 0 takes 30 and 20 us, rank 1 10 and 20. Rank 0 F0 0-30, sends -40, F1
        -70, sends -80, F2 -110; F2's activations 110-120, and beside them rank 0 waits for B0's gradient. Rank 1 F2 120-130,
        B0 -150, sends -160. Rank 0 B0 and rank 1 B1 -180, send -190; B1 and B2 -210, send -220; B2 -240."""
        words = ["--pp", 2, "--micro-batches", 3, "--schedule", "gpipe", "-o", "p2p=blocking", "-o", "p2p_bytes=10kB"]
        wires = {"alpha": "0 us", "beta": "1 ns/B"}
        profile = trace([(30, 20), (10, 20)])
        self.given(profile, cluster(2, **wires))
        self.assertAlmostEqual(self.result(*words)["iteration_s"], 240e-6, delta=1e-11)
        # Updates of 10 and 60 us: F0 10-40, but rank 1 receives from 60 on: -70, F1 -100, -110, F2 -140; then as above.
        profile["model"]["layers"][1]["tensors"][0]["shape"] = [6 * 240]
        self.given({**profile, "update": 70}, cluster(2, **wires))
        self.assertAlmostEqual(self.result(*words)["iteration_s"], 270e-6, delta=1e-11)
        # Three ranks, 10 and 20 us: between two forward, or two backward passes rank 1 receives when its send has ended. Its F0
        # 20-30, send -40, receipt -50, F1 -60, send -70, receipt -80, F2 -90, send -100; rank 2 F2 -110, B0 -130, send -140;
        # rank 1 B0 -160, send -170, receipt -180, B1 -200, send -210, receipt -220, B2 -240, send -250; rank 0 B2 -270.
        self.given(trace([(10, 20)] * 3), cluster(3, **wires))
        words[1] = 3
        self.assertAlmostEqual(self.result(*words)["iteration_s"], 270e-6, delta=1e-11)

    def test_blocks_do_not_wait_for_the_last_exchange(self):
        """gpipe, two micro-batches, sends of 200 us, an all-reduce of 2 ms on rank 1. Rank 0 F0 0-100, sends -300, F1 -400, sends
        -600, B0 1100-2100, receives -2300, B1 -3300. Rank 1 F1 600-700, B0 -900, sends -1100, B1 -1300: its gradients are
        ready, and the all-reduce ends at 3300 with rank 0, although B1's send is taken at 2100 only. It is the same if a layer
        without tensors and times is below the gradient's, and if the gradients are released with the whole backward pass."""
        words = ["--pp", 2, "--micro-batches", 2, "--schedule", "gpipe", "-o", "p2p=blocking", "-o", "p2p_bytes=100kB"]
        wires = {"alpha": "0 us", "beta": "2 ns/B"}
        for layers, stages in (([(100, 1000), (100, 200)], []), ([(100, 1000), (0, 0), (100, 200)], ["--stages", "1,2"])):
            profile = trace(layers)
            for layer in profile["model"]["layers"]:
                layer["tensors"] = []
            profile["model"]["layers"][-1]["tensors"] = [{"name": "w", "shape": [250_000]}]
            self.given(profile, cluster(4, **wires))
            for strategy in ("wfbp", "s-sgd"):
                with self.subTest(strategy, layers=len(layers)):
                    self.assertAlmostEqual(self.result(*words, *stages, strategy=strategy)["iteration_s"], 3300e-6, delta=1e-11)

    def test_the_network_bounds(self):
        """Two layers of 960 kB a rank, on two replicas: 2 * 1/2 * 960 us each, and hardly anything to compute."""
        profile = trace([(1, 2)] * 4)
        for layer in profile["model"]["layers"]:
            layer["tensors"][0]["shape"] = [240_000]
        self.given(profile, cluster(4))
        self.assertAlmostEqual(self.result("--pp", 2)["lower_bound_s"], 1920e-6, delta=1e-11)

    def test_a_profile_without_tensors_has_its_computing_and_exchanges(self):
        """F 2 ms, B 4 ms, and an all-to-all of 1 MB among 4 at 10 us and 1 ns/B, 10 us + 3/4 ms: 6.76 ms by every strategy."""
        profile = trace([(1000, 2000)] * 2)
        profile["layers"][0]["collectives"] = [{"op": "all-to-all", "group": "ep", "bytes": 1_000_000, "pass": "forward"}]
        for layer in profile["model"]["layers"]:
            layer["tensors"] = []
        self.given(profile, cluster(4))
        words = ("-p", "trace.json", "-c", "cluster.json", "--ep", "4")
        rows = self.answer("compare", *words)
        self.assertGreater(len(rows), 20)
        for row in rows:
            self.assertAlmostEqual(row["iteration_s"], 6.76e-3, 9, row["strategy"])
        for command, more in (("whatif", ()), ("recommend", ("--budget", "1"))):
            self.output(command, *words, *more)

    def test_buckets_of_megatron(self):
        """Two layers a chunk, of a bucket each, are two buckets in the first chunk of rank 0 and one in the other three."""
        self.given(trace([(10, 20)] * 8), cluster(4))
        words = ["--pp", 2, "--schedule", "interleaved", "--micro-batches", 2, "-o", "bucket_size=240", "-o", "distributed_optimizer=false"]
        self.assertEqual(self.result(*words, strategy="megatron")["collectives"], 5)

    # Four layers in chunks 0 and 2 on rank 0, 1 and 3 on rank 1; two workers a rank, 1 ns/B, no latency; 960 B a layer but
    # l3's 100,000 B. Rank 0 runs 0F0 0F1 2F0 2F1 2B0 2B1 0B0 0B1, rank 1 1F0 1F1 3F0 3B0 3F1 3B1 1B0 1B1.
    INTERLEAVED = ["--pp", 2, "--schedule", "interleaved", "--micro-batches", 2]

    def given_a_large_last_layer(self):
        profile = trace([(10, 20)] * 4)
        profile["model"]["layers"][3]["tensors"][0]["shape"] = [25_000]
        self.given(profile, cluster(4, alpha="0 us"))

    def test_megatron_launches_together(self):
        """3B0 40-60, 3B1 70-90, 1B0 90-110, 1B1 110-130. Rank 1 launches chunk 3's all-reduce (100 us) a pass late, at 110,
        and then chunk 1's (0.96 us): 210.96. Left to itself it launches at 90. Rank 0 ends at 150.96."""
        self.given_a_large_last_layer()
        for aligned, end in (("true", 210.96), ("false", 190.96)):
            found = self.result(*self.INTERLEAVED, "-o", "distributed_optimizer=false", "-o", f"align_grad_reduce={aligned}", strategy="megatron")
            self.assertAlmostEqual(found["iteration_s"], end * 1e-6, delta=1e-11)

    def test_a_timeline_names_its_transfers(self):
        """A layer's 960 B for each of two ranks' all-reduces; of a send what p2p_bytes says, there and back for each of two."""
        self.given(trace([(10, 20)] * 2), cluster(4))
        for barrier in ("iteration", "layer"):  # one iteration replayed, or several
            self.result("--pp", 2, "--micro-batches", 2, "-o", "p2p_bytes=500B", "-o", f"barrier={barrier}", "--timeline", "t.json")
            events = json.loads((self.folder / "t.json").read_text(encoding="utf-8"))["traceEvents"]
            sent = sorted(one["args"]["bytes"] for one in events if "bytes" in one.get("args", {}) and one["ph"] == "X")
            self.assertEqual(sent, [500] * 4 + [960] * 2, barrier)

    def test_megatron_gathers_ahead_of_activations(self):
        """Rank 1 gathers chunk 1 0-0.48 and at once, while it waits for 0F0 until 10.48, chunk 3 -50.48: 3F0 -60.48, 3B0
        -80.48, 3F1 -90.48, 3B1 -110.48, 1B0 -130.48, where chunk 3's 50 us of reducing start, and chunk 1's 0.48 behind."""
        self.given_a_large_last_layer()
        found = self.result(*self.INTERLEAVED, strategy="megatron")
        self.assertAlmostEqual(found["iteration_s"], 180.96e-6, delta=1e-11)

    def test_sends_split_among_a_tensor_group(self):
        """10 kB at 1 ns/B, there and back, between passes of 10, 10, 20 and 20 us: each of the two sends half."""
        self.given({**trace([(10, 20)] * 2), "parallel": {"tp": 2}}, cluster(4, alpha="0 us"))
        for split, each in (("false", 10), ("true", 5)):
            found = self.result("--pp", 2, "--tp", 2, "-o", "p2p_bytes=10kB", "-o", f"p2p_split={split}")
            self.assertAlmostEqual(found["iteration_s"], (60 + 2 * each) * 1e-6, delta=1e-11)

    def test_a_file_says_how_many_ranks(self):
        self.given(trace([(10, 20)] * 4), cluster(4, **FREE))
        self.write("rows.csv", program.output("schedule", "gpipe", "--pp", 4, "--micro-batches", 2))
        found = self.result("--schedule", "rows.csv")
        self.assertEqual((found["pp"], found["micro_batches"]), (4, 2))
        self.assertEqual(found["iteration_s"], self.result("--pp", 4, "--schedule", "rows.csv")["iteration_s"])
        self.assertIn("4 rows", self.refusal("--pp", 2, "--schedule", "rows.csv"))
        self.write("empty.csv", "")
        self.assertIn("empty.csv: ", self.refusal("--schedule", "empty.csv"))
        self.assertTrue(self.refusal("--pp", 2, "--schedule", "nothing.csv"))

    def test_options_without_effect_without_pp(self):
        self.given(trace([(10, 20)] * 4), cluster(4))
        for flag, value in (("--schedule", "zbv"), ("--stages", "equal")):
            self.assertTrue(self.started(flag, value).stderr)

    def test_parameters_gathered_again(self):
        """Rank 0 frees its layer's 960 B behind F0, when it asks for them again: it never holds them twice."""
        self.given(trace([(10, 20)] * 2), cluster(4))
        rows = "0UNSHARD,0F0,0RESHARD,0UNSHARD,0B0,0REDUCE_GRAD\n1UNSHARD,1F0,1B0,1REDUCE_GRAD\n"
        self.write("rows.csv", rows)
        stages = self.result("--pp", 2, "--schedule", "rows.csv", strategy="fsdp2")["stages"]
        self.assertEqual([one["memory"]["gathered"] for one in stages], [960, 960])

    def test_parameters_gathered_for_a_backward_pass(self):
        """Two layers a rank, in a unit: its gather takes 10 us + 1/2 * 1920 ns = 10.96 us. F 10.96-50.96; rank 1 gathers again
        -61.92, and its whole backward pass waits, -101.92; rank 0's -141.92, and its reduction -152.88."""
        self.given(trace([(10, 20)] * 4), cluster(4))
        rows = "0UNSHARD,0F0,0B0,0REDUCE_GRAD\n1UNSHARD,1F0,1RESHARD,1UNSHARD,1B0,1REDUCE_GRAD\n"
        self.write("rows.csv", rows)
        found = self.result("--pp", 2, "--schedule", "rows.csv", "--stages", "2,2", "-o", "wrap=1MB", strategy="fsdp2")
        self.assertAlmostEqual(found["iteration_s"], 152.88e-6, delta=1e-11)

    def test_updates_by_layer(self):
        """A layer's share of the update waits for no activations: 20 us each. Rank 0 U 0-20, F -30; rank 1 has updated while
        rank 0 ran backward: F 30-40, B -60; rank 0 B -80."""
        self.given({**trace([(10, 20)] * 2), "update": 40}, cluster(2, **FREE))
        self.assertAlmostEqual(self.result("--pp", 2, "-o", "barrier=layer")["iteration_s"], 80e-6, delta=1e-11)

    def test_launches_of_tensors(self):
        """What is tied holds no tensors to launch: only the ranks' own reductions pay. 10 us of l3, behind B, and of l0 at
        the end, where the tied sum (free) waits for both: F 0-20, B 20-60, l0's launch -70."""
        tied = {**trace([(10, 20)] * 2), "tied": ["l0.w", "l1.w"]}
        self.given(tied, {**cluster(4, **FREE), "network": {**FREE, "collective": "ring", "launch_tensor": "10 us"}})
        self.assertAlmostEqual(self.result("--pp", 2)["iteration_s"], 70e-6, delta=1e-11)

    def test_a_plan_by_hand(self):
        """Four workers a rank: a hop of `eight-workers` takes 4/14 ms + 8/7 ns/B, so a send of 1 MB takes s = 10/7 ms, an
        all-reduce 6 hops of a quarter: 12/7 ms + 12/7 ns/B. F 22 and 12 ms, B 44 and 24: rank 1 F0 at 22 + s, B0 ends at 58
        + s, B1 at 94 + s; rank 0 B0 at 58 + 2 s and B1 ends at 146 + 2 s; conv3's 8.6 ms are hidden; conv2 and conv1, 3
        MB, take 48/7 ms more: 146 + 68/7."""
        words = ["-p", ROOT / "docs/examples/six_layers.json", "-c", ROOT / "docs/examples/eight_workers.json"]
        found = program.answer("run", *words, "--plan", ROOT / "docs/examples/two_ranks.json")
        self.assertAlmostEqual(found["iteration_s"], (146 + 68 / 7) * 1e-3, delta=1e-11)
        self.assertAlmostEqual(found["exposed_p2p_s"], 20 / 7 * 1e-3, delta=1e-11)
        self.assertEqual((found["strategy"], found["pp"], found["micro_batches"], found["schedule"]), ("by-hand", 2, 2, "1f1b"))
        # With a limit of memory, efficiency is over fewer workers, but a plan is one for so many.
        limited = program.answer("run", *words, "--plan", ROOT / "docs/examples/two_ranks.json", "--memory", "80GB")
        self.assertEqual((limited["iteration_s"], limited["reference_workers"]), (found["iteration_s"], 8))

    def test_a_schedule_of_one_row(self):
        self.write("one.csv", "0F0,0B0\n")
        self.given(trace([(10, 20)] * 2), cluster(4, **FREE))
        done = self.run_program("run", "-p", "trace.json", "-c", "cluster.json", "-s", "ddp", "--schedule", "one.csv")
        self.assertEqual((done.returncode, done.stdout, place_of(done.stderr)), (2, "", "one.csv"))

    def refused_plan(self, plan, *words):
        self.write("plan.json", plan)
        done = self.run_program("run", "-p", "trace.json", "-c", "cluster.json", "--plan", "plan.json", *words)
        self.assertEqual((done.returncode, done.stderr.count("\n"), done.stdout), (2, 1, ""), done.stderr)
        return done.stderr

    def test_bad_plans(self):
        """One line, and by which word."""
        words = ["-p", "trace.json", "-c", "cluster.json", "--pp", 2, "--micro-batches", 2, "-o", "update_barrier=stage", "--json"]

        def print_plan(strategy):
            return self.output("plan", *words, "-s", strategy)
        self.given({**trace([(10, 20)] * 4), "tied": ["l0.w", "l3.w"]}, cluster(8))
        ties = print_plan("ddp")
        tied = ["transfers", next(i for i, one in enumerate(json.loads(ties)["transfers"])
                                  if (one["op"], one["axis"]) == ("all-reduce", "0 to 1"))]

        def changed(*path, to=None, of):
            plan = json.loads(of)
            place = plan
            for key in path[:-1]:
                place = place[key]
            if to is None:
                del place[path[-1]]
            else:
                place[path[-1]] = to
            return plan
        for wrong, named in ((changed(*tied, of=ties), "tied"), (changed(*tied, "after", to=[], of=ties), "may start before"),
                             (changed(*tied, "before", to=[], of=ties), "does not wait"),
                             (changed(*tied, "axis", to="data 0", of=ties), "cannot be sent on")):
            with self.subTest(named):
                self.assertIn(named, self.refused_plan(wrong))
        self.given(trace([(10, 20)] * 4), cluster(8))
        self.assertTrue(self.refused_plan(json.loads(ties)))
        printed, shards = print_plan("ddp"), print_plan("fsdp2")
        plan = json.loads(printed)
        number = {name: next(i for i, one in enumerate(plan["transfers"]) if one["op"] == op and one["axis"] == axis)
                  for name, op, axis in (("send", "send", "0 to 1"), ("reduce", "all-reduce", "data 0"))}
        send, reduce = (["transfers", number[name]] for name in ("send", "reduce"))
        gather = ["transfers", next(i for i, one in enumerate(json.loads(shards)["transfers"]) if one["op"] == "all-gather")]
        work = {"forward": "l1", "rank": 0}
        changed = functools.partial(changed, of=printed)
        for wrong, named in (
                (changed("ranks", 1), "pp is 2"), (changed("parallel"), "parallel"), (changed("parallel", "pp", to=3), "pp is 3"),
                (changed("parallel", "tp", to=3), "workers"), (changed("parallel", "ep", to=3), "ep"),
                (changed("parallel", "stages", to=[1, 2]), "stages"), (changed("parallel", "stages", to=[1, 3]), "missing"),
                (changed("parallel", "update_barrier", to="none"), "update_barrier"),
                (changed("parallel", "update_barrier", to="all"), "next"),
                (changed("step", "accumulate", to=1), "batch"), (changed("step", "accumulate", to=3), "passes"),
                (changed("ranks", 0, "program", 1, to={"forward": "l1"}), "back to back"),
                (changed("ranks", 0, "program", 0), "not in the program"), (changed("ranks", 0, "program", 3, to={"mark": 0}), "back to back"),
                (changed(*send), "is not sent the"),
                (changed(*send, "after", to=[]), "may start before"), (changed(*send, "before", to=[]), "no pass "),
                (changed(*send, "bytes", to=-1), "bytes"), (changed(*send, "axis", to="0 to 2"), "axis"),
                (changed(*send, "axis", to="1 to 0"), "no pass "), (changed(*send, "axis", to="data 0"), "cannot be sent on"),
                (changed(*send, "lane", to="network 0"), "lane"),
                (changed("lanes", 2, "tick", to="5 us"), "ticks"), (changed(*send, "block", to=0), "block"),
                (changed(*reduce), "not reduced"), (changed(*reduce, "after", to=[{**work}]), "may start before"),
                (changed(*reduce, "before", to=[]), "may end after"), (changed(*reduce, "axis", to="data 1"), "not reduced"),
                (changed(*reduce, "op", to="all-gather"), "not reduced"),
                (changed(*reduce, "op", to="send"), "cannot be sent on"), (changed(*reduce, "lane", to="network 1"), "lane"),
                (changed(*reduce, "after", to=["start"]), "not a valid start or end"),
                (changed(*reduce, "after", to=[{"forward": "l1", "rank": 2}]), "rank"),
                (changed(*reduce, "after", to=[{"transfer": reduce[1]}]), "waits for itself"),
                (changed(*gather, "axis", to="data 1", of=shards), "lane"),
                (changed(*gather, "block", to=len(json.loads(shards)["blocks"]) - 1, of=shards), "is not gathered"), (changed(*gather, of=shards), "is not gathered"), (changed(*gather, "after", to=[], of=shards), "before the update"),
                (changed(*gather, "before", to=[], of=shards), "no pass "), (changed(*gather, "held_until", of=shards), "holds it"),
                (changed("order", to="priority"), "order")):
            with self.subTest(named):
                self.assertIn("plan.json: ", self.refused_plan(wrong))
        example = json.loads((ROOT / "docs/examples/two_ranks.json").read_text(encoding="utf-8"))
        self.write("trace.json", (ROOT / "docs/examples/six_layers.json").read_text(encoding="utf-8"))
        program_of_0 = example["ranks"][0]["program"]
        for begin, named in (([], "begin"), ([{"copy-in": 0}], "begin"), ([{"update": "everything"}, {"mark": 0}], "out of place"),
                             ([{"update": "everything"}, {"update": "conv1"}], "out of place")):
            wrong = {**example, "ranks": [{"program": [*begin, *program_of_0[1:]]}, example["ranks"][1]]}
            self.assertIn(named, self.refused_plan(wrong))
        self.given(trace([(10, 20)] * 4), cluster(8))
        for more, named in ((["--pp", 4], "pp"), (["--tp", 2], "tp"), (["--micro-batches", 4], "accumulate"), (["--zero", 1], "zero"),
                            (["--schedule", "gpipe"], "schedule"), (["--chunks", 2], "chunks"), (["--stages", "1,3"], "stages"),
                            (["-o", "p2p_bytes=1kB"], "p2p_bytes"), (["-o", "update_barrier=all"], "update_barrier"),
                            (["-n", 3], "workers"), (["--codec", "fp16"], "codec")):
            with self.subTest(more=more):
                self.assertIn(named, self.refused_plan(plan, *more))
        flat = self.run_program("plan", "-p", "trace.json", "-c", "cluster.json", "-s", "ddp", "--json").stdout
        self.assertIn("pp", self.refused_plan(json.loads(flat), "--pp", 2))

    def test_without_a_pipeline(self):
        """P = 1: `schedule` and what says of sends are ignored; T apart, R = N / T take part; collectives inside layers
        are longer layers."""
        self.given(trace([(10, 20)] * 2), cluster(4))
        plain = self.result("-n", 4)
        self.assertNotIn("pp", plain)
        self.assertEqual(self.result("--pp", 1, "--schedule", "zbv", "-o", "p2p=blocking")["iteration_s"],
                         plain["iteration_s"])
        half = self.result("-n", 2)
        self.given({**trace([(10, 20)] * 2), "parallel": {"tp": 2}}, cluster(4))
        found = self.result("--tp", 2)
        self.assertEqual(found["iteration_s"], half["iteration_s"])
        self.assertEqual((found["tp"], found["dp"], found["bubble_s"]), (2, 2, 0))
        # an all-reduce of two, 10 us and 2 * 1/2 * 960 ns, twice: 20.96 us more in each layer's forward pass
        inside = [{"op": "all-reduce", "group": "tp", "bytes": 960, "pass": "forward"}]
        self.given(trace([(10, 20)] * 2, collectives=inside), cluster(4))
        self.assertAlmostEqual(self.result("--tp", 2)["layer_comm_s"], 2 * 20.96e-6, delta=1e-12)

    def test_ep_follows_the_profile(self):
        exchange = [{"op": "all-to-all", "group": "ep", "bytes": 960, "pass": "forward"}]
        self.given({**trace([(10, 20)] * 2, collectives=exchange), "parallel": {"ep": 4}}, cluster(8))
        self.assertEqual(self.result()["ep"], 4)
        self.assertEqual(self.result()["iteration_s"], self.result("--ep", 4)["iteration_s"])
        self.assertRegex(self.refusal("--ep", 2), r"ep 2, but .* was taken with ep 4")

    def test_whatif_asks_for_other_groups_of_experts(self):
        exchange = [{"op": "all-to-all", "group": "ep", "bytes": 960, "pass": "forward"}]
        self.given(trace([(10, 20)] * 2, collectives=exchange), cluster(8))
        asked = ["whatif", "-p", "trace.json", "-c", "cluster.json", "-s", "ddp", "--ep", 2, "--json"]
        answer = json.loads(self.run_program(*map(str, asked)).stdout)
        rows = {row["change"]: row for row in answer["rows"] if row["change"].startswith("ep ")}
        self.assertEqual({change.split(",")[0] for change in rows}, {"ep 4 instead of 2", "ep 1 instead of 2"})
        for row in rows.values():
            replayed = json.loads(self.run_program("run", *map(str, row["flags"]), "--json").stdout)
            self.assertAlmostEqual(replayed["iteration_s"], row["iteration_s"], delta=1e-12)
        self.given({**trace([(10, 20)] * 2, collectives=exchange), "parallel": {"ep": 2}}, cluster(8))
        self.assertNotIn("ep 4", self.run_program(*map(str, asked)).stdout)

    def test_refusals(self):
        self.given(trace([(10, 20)] * 4), cluster(8))
        pipeline = ["--pp", 2, "--micro-batches", 2]
        for strategy in ("dear", "mergecomp", "fsdp1", "zero-1", "zero-2", "zero-3"):
            self.assertIn(strategy, self.refusal(*pipeline, strategy=strategy))
        for words, named in ((["--pp", 3], "workers"), (["--pp", 2, "--ep", 3], "ep"), (["--pp", 8], "8 chunks"),
                             ([*pipeline, "--codec", "fp16"], "codec"), ([*pipeline, "--zero", 1, "--shard-group", 2], "shard_group"),
                             ([*pipeline, "--chunks", 2], "chunks"), ([*pipeline, "--schedule", "nonsense"], "schedule"),
                             ([*pipeline, "--stages", "1,2"], "stages"),
                             (["--pp", 4, "--micro-batches", 2, "-o", "p2p=blocking"], "p2p"),
                             ([*pipeline, "--schedule", "zb-h1", "-o", "p2p=blocking"], "p2p"),
                             ([*pipeline, "-o", "barrier=layer", "-o", "update_barrier=all"], "update_barrier"),
                             (["--pp", 0], "pp"),
                             ([*pipeline, "--accumulate", 2], "--micro-batches: is the same option as --accumulate"),
                             ([*pipeline, "--schedule", "interleaved", "--chunks", 1], "at least 2 chunks per rank")):
            with self.subTest(words=words):
                self.assertIn(named, self.refusal(*words))
        for option in ("prefetch=2", "reduce_buffers=2", "copy=1GB/s", "reshard=all", "reduce=every"):
            self.assertIn(option.split("=")[0], self.refusal(*pipeline, "-o", option, strategy="fsdp2"))
        no_bytes = trace([(10, 20)] * 4)
        for layer in no_bytes["layers"]:
            del layer["output_bytes"]
        self.given(no_bytes, cluster(8))
        self.assertIn("'l1'", self.refusal(*pipeline))
        self.given({**trace([(10, 20)] * 4), "parallel": {"tp": 4}}, cluster(8))
        self.assertTrue(self.refusal("--tp", 2))
        self.assertEqual(self.result("--pp", 2, "--micro-batches", 2)["tp"], 4)
        for command in ("tune", "recommend"):
            done = self.run_program(command, "-p", "trace.json", "-c", "cluster.json", "--pp", 2,
                                    *(["-s", "ddp"] if command != "recommend" else []))
            self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), (command, done.stderr))
            self.assertTrue(done.stderr)

    def test_in_files(self):
        """A cluster file says degrees, and flags win; a schedule that it names lies beside it."""
        self.write("rows.csv", program.output("schedule", "gpipe", "--pp", 2, "--micro-batches", 2))
        inside = [{"op": "all-reduce", "group": "tp", "bytes": 960, "pass": "forward"}]
        self.given(trace([(10, 20)] * 4, collectives=inside), {**cluster(8), "parallel": {"pp": 2, "tp": 2, "schedule": "rows.csv", "stages": [1, 3]}})
        found = self.result()
        self.assertEqual([found[key] for key in ("pp", "tp", "cp", "ep", "dp", "schedule", "chunks", "micro_batches")],
                         [2, 2, 1, 1, 2, "rows.csv", 1, 2])
        self.assertEqual([one["chunks"] for one in found["stages"]],
                         [[{"chunk": 0, "first": 0, "layers": 1}], [{"chunk": 1, "first": 1, "layers": 3}]])
        self.assertEqual(self.result("--tp", 4, "--schedule", "1f1b")["tp"], 4)

    def test_a_profile_of_the_whole_model_is_no_member_of_a_group(self):
        """Every way that asks for groups inside layers is refused: each member would compute the whole model."""
        asked = {"tp": 2, "cp": 2, "ep": 2}
        whole = {"tp": "whole model", "cp": "whole model", "ep": "no experts"}
        self.given(trace([(10, 20)] * 4), cluster(8))
        common = ["-p", "trace.json", "-c", "cluster.json"]
        sweep = {"name": "s", "profiles": ["trace.json"], "clusters": ["cluster.json"]}
        star = {"topology": {"kind": "star", "link": {"latency": "1 us", "bandwidth": "1 GB/s"}}, "fidelity": "fluid"}
        for name, degree in asked.items():
            flag = f"--{name}"
            self.write("sweep.json", {**sweep, "strategies": [{"name": "ddp", name: [1, degree]}]})
            self.write("star.json", cluster(8, **star))
            self.write("jobs.json", {"cluster": "star.json", "jobs": [{"profile": "trace.json", "workers": 4, "strategy": {"name": "ddp", name: degree}}]})
            self.write("degrees.json", {**cluster(8), "parallel": {name: degree}})
            for words in (["run", *common, "-s", "ddp", flag, degree], ["run", *common, "-s", "ddp", "-o", f"{name}={degree}"],
                          ["run", "-p", "trace.json", "-c", "degrees.json", "-s", "ddp"], ["plan", *common, "-s", "ddp", flag, degree],
                          ["compare", *common, flag, f"1,{degree}"], ["compare", *common, "--strategies", "ddp", flag, degree],
                          ["recommend", *common, flag, degree], ["whatif", *common, "-s", "ddp", flag, degree],
                          ["tune", *common, "-s", "ddp", flag, degree], ["sweep", "sweep.json", "--out", "rows.csv"],
                          ["jobs", "jobs.json"]):
                with self.subTest(words=words):
                    done = self.run_program(*words)
                    self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stdout + done.stderr)
                    self.assertTrue(done.stderr)
                    self.assertIn(whole[name], done.stderr)
        # Of one member: a profile that says so, or whose layers communicate in such groups; one degree is not another.
        inside = [{"op": "all-reduce", "group": "tp", "bytes": 960, "pass": "forward"}]
        for more in ({"parallel": {"tp": 2}}, {"layers": trace([(10, 20)] * 4, collectives=inside)["layers"]}):
            self.given({**trace([(10, 20)] * 4), **more}, cluster(8))
            self.assertEqual(self.result("--tp", 2)["tp"], 2)
            self.assertTrue(self.refusal("--tp", 2, "--cp", 2))

    def test_the_remedy_is_a_command(self):
        """An estimated transformer: the refusal holds the command that makes the profile."""
        self.output("estimate", "--model", "gpt2-xl", "--device", "h100", "--batch", 1, "--out", "whole.json")
        self.write("cluster.json", cluster(8))
        run = ["-c", "cluster.json", "-s", "ddp", "--tp", 5, "-n", 5]
        done = self.run_program("run", "-p", "whole.json", *run)
        self.assertEqual(done.returncode, 2, done.stdout)
        remedy = re.search("`allreplay (estimate [^`]*)`", done.stderr)[1]
        self.output(*shlex.split(remedy), "--out", "member.json")
        self.output("run", "-p", "member.json", *run)

    def test_sweeps_and_comparisons(self):
        self.given(trace([(10, 20)] * 4), cluster(8))
        self.write("sweep.json", {"name": "s", "profiles": ["trace.json"], "clusters": ["cluster.json"],
"strategies": [{"name": "ddp", "pp": [1, 2], "schedule": ["1f1b", "gpipe"], "micro-batches": 4}]})
        self.output("sweep", "sweep.json", "--out", "rows.csv")
        rows = program.rows_of(self.folder / "rows.csv")
        self.assertEqual([row["pp"] for row in rows].count("2"), 2)
        answer = self.answer("compare", "-p", "trace.json", "-c", "cluster.json", "--strategies", "all", "--pp", 2, "--micro-batches", 2)
        names = {row["strategy"]: row["iteration_s"] for row in answer}
        self.assertNotIn("dear", names)
        self.assertEqual(min(names.values()), names["best"] if "best" in names else min(names.values()))


@program.needs_program
class Spread(program.Case):
    def test_a_rank_is_as_slow_as_its_slowest_worker(self):
        """Two equal layers on two ranks, a network that takes no time, four micro-batches of 1 + 2 ms: (4 + 1) · 3 = 15 ms, times 1 + 0.3·m(S) for the S workers
        of a rank: m(1) = 0, m(2) = 0.5641896, m(4) = 1.0293754 (the mean largest of S normal numbers)."""
        self.write("p.csv", "layer,params,forward_us,backward_us\na,1,1000,2000\nb,1,1000,2000\n")
        words = ["run", "--profile", "p.csv", "--cluster", "c.json", "-s", "ddp", "--pp", "2", "--accumulate", "4", "-o", "p2p_bytes=0B", "--json"]
        for workers, largest in ((2, 0), (4, 0.5641896), (8, 1.0293754)):
            for spread in ({"sigma": 0.3}, {"sigma": 0.3, "seed": 1}):
                cluster = {"name": "c", "workers": workers, "network": {"alpha": "0 s", "beta": "0 s/B"}, "spread": spread}
                self.write("c.json", cluster)
                done = self.run_program(*words)
                if "seed" in spread:
                    self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1))
                    self.assertIn("seed", done.stderr)
                else:
                    self.assertAlmostEqual(json.loads(done.stdout)["iteration_s"] / 15e-3, 1 + 0.3 * largest, 6)


if __name__ == "__main__":
    unittest.main()
