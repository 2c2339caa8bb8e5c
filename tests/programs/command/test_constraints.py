#!/usr/bin/env python3
"""What a user asks for holds: every option with every command that chooses something. Run: python3 tests/programs/command/test_constraints.py

Either the command refuses it in one line, or the settings of what it found say it, or nothing that it found reads it: the same
words without the option give the same numbers. A strategy of a list that does not take the option runs without it.
"""
import functools
import json
import re
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from program import WIDE, Case, listed, needs_program  # noqa: E402

# Of every option a value that is not its default, as results write it; and what it takes that anything reads it.
VALUES = {
    "bucket_cap": "10 MiB", "first_bucket": "2 MiB", "threshold": "10 MiB", "cycle": "2 ms", "partition": "2 MB", "credit": "8 MB", "release": "backward",
    "first_phase": "sequential", "second_phase": "random:3", "groups": "5", "stop": "0.1", "grouping": "even",
    "density": "0.01", "bits": "4", "rank": "2", "encode": "3 ms", "decode": "3 ms", "codec_stream": "side", "decode_at": "encode",
    "sharing": "fair", "start": "ranks", "servers": "3", "server_hosts": "dedicated", "local": "true", "launch": "100 us", "launch_tensor": "100 us",
    "tree_bandwidth": "paper", "chunks": "4", "iterations": "7",
    "accumulate": "3", "global_batch": "1024", "zero": "1", "shard_group": "4", "barrier": "iteration", "update": "5 ms", "gradient_dtype": "bf16",
    "parameter_dtype": "fp16", "state": "4", "memory": "150 MB",
    "reorder": "none", "unit_size": "7000000", "double_buffer": "true", "sync": "every", "outer": "optim",
    "wrap": "layer", "reshard": "none", "reduce": "last", "lanes": "separate", "prefetch": "3", "reduce_buffers": "2", "copy": "10000000000 B/s",
    "backward_prefetch": "post", "limit": "3", "reduce_bucket": "3000000", "allgather_bucket": "5000000", "overlap_comm": "true",
    "bucket_op": "reduce-scatter", "prefetch_bucket": "3000000", "persistence": "3000", "max_live": "9000000", "max_reuse": "9000000",
    "pp": "2", "tp": "2", "cp": "2", "ep": "2", "schedule": "gpipe", "stages": "equal", "microbatch_group": "2", "p2p": "blocking",
    "p2p_bytes": "1 MB", "p2p_split": "true", "update_barrier": "stage", "reduce_grad": "async", "align_grad_reduce": "true",
    "hpz": "4", "qwz": "true", "qgz": "true", "quantise": "10000000000 B/s", "optimizer": "muon", "muon": "owned", "muon_overlap": "false",
    "sync_every": "6", "fragments": "4", "delay": "1", "outer_update": "1 ms", "bucket": "16 MiB", "quantize": "true", "backup": "device", "replica": "2",
    "host_block": "900 us", "host_step": "5 ms", "ep_overlap": "true",
    "bucket_size": "3000000", "distributed_optimizer": "false", "overlap_grad_reduce": "false", "overlap_param_gather": "false",
}
FLAT = ["--cluster", "flat.json"]
SERVERS = ["--collective", "parameter-server"]
TREES = ["--collective", "double-binary-tree"]
NEEDS = {
    "density": ["--codec", "topk"], "bits": ["--codec", "qsgd"], "rank": ["--codec", "powersgd"], "encode": ["--codec", "fp16"], "decode": ["--codec", "fp16"],
    "codec_stream": ["--codec", "fp16"], "decode_at": ["--codec", "fp16"], "start": ["--fidelity", "message", "--stragglers", "1:1.5"],
    "servers": FLAT + SERVERS, "server_hosts": FLAT + SERVERS, "local": SERVERS, "tree_bandwidth": FLAT + TREES, "chunks": [*TREES, "--fidelity", "fluid"],
    "iterations": ["--cluster", "jitter.json"],
}
# What a row of `whatif` asks is what it changes.
ASKS = {"accumulate": "micro-batches", "host_block": "host floor", "host_step": "step's overhead", "gradient_dtype": "fp16 gradients", "zero": "DDP|FSDP|'s best"}
NETWORK = {"node": {"workers": 4, "alpha": "1 us", "bandwidth": "20 GB/s"}, "alpha": "5 us", "bandwidth": "50 Gbit/s"}


@needs_program
class Constraints(Case):
    def setUp(self):
        super().setUp()
        flat = {key: NETWORK[key] for key in ("alpha", "bandwidth")}
        jitter = {"distribution": "lognormal", "sigma": 0.1, "seed": 3}
        for name, network, more in (("plain", NETWORK, {}), ("flat", flat, {}), ("jitter", NETWORK, {"jitter": jitter})):
            cluster = {"name": name, "workers": 8, "network": network, **more}
            self.write(f"{name}.json", cluster)
        self.numbers = functools.cache(self.numbers)

    def answer(self, *words):
        """What a command says as JSON; none where it refuses, in one line."""
        done = self.run_program(*words, "--json")
        if done.returncode == 0:
            return json.loads(done.stdout)
        self.assertEqual((done.returncode, done.stdout), (2, ""), words)
        self.assertRegex(done.stderr, r"\A[^\n]+ \([^\n]+\)\n\Z", words)
        return None

    def numbers(self, *words):
        """Of a run: what it takes, and needs."""
        row = self.answer("run", *words)
        return row and (row["iteration_s"], row["memory_bytes"], row["collectives"])

    def assert_obeys(self, row, option, words):
        """`words` make `run` say the row; without the option only where `run` would refuse it."""
        pair = f"{option}={VALUES[option]}"
        if pair not in words:
            self.assertIsNone(self.numbers(*words, "--option", pair))
            return
        if option in row["options"]:
            self.assertEqual(row["options"][option], VALUES[option])
            return
        at = words.index(pair)
        without = words[:at - 1] + words[at + 1:]
        self.assertEqual(self.numbers(*words), self.numbers(*without), f"{option} is read, and not among the settings")

    def given(self, option):
        cluster = [] if "--cluster" in NEEDS.get(option, []) else ["--cluster", "plain.json"]
        return ["--profile", "googlenet_k80_b32", *cluster, *NEEDS.get(option, []), "--option", f"{option}={VALUES[option]}"]

    def test_every_option_is_asked(self):
        self.assertEqual(set(VALUES), set(listed("options")))

    def test_best(self):
        for option in VALUES:
            for zero in range(4):
                with self.subTest(option=option, zero=zero):
                    stage = [] if option == "zero" else ["--zero", str(zero)]
                    words = [*self.given(option), "--strategy", "best", *stage]
                    row = self.answer("run", *words)
                    if row is None:
                        continue
                    self.assert_obeys(row, option, words)
                    if option == "memory":
                        self.assertLessEqual(row["memory_bytes"], 150e6)

    def test_tune(self):
        """What is given is not varied, and the best is what `run` says with it."""
        for option in VALUES:
            for strategy in ("ddp", "bytescheduler", "fsdp2", "zero-2", "megatron", "megatron-fsdp"):
                with self.subTest(option=option, strategy=strategy):
                    words = [*self.given(option), "--strategy", strategy]
                    answer = self.answer("tune", *words, "--budget", "3")
                    if answer is None:
                        continue
                    self.assertFalse(any(option in trial["options"] for trial in answer["trials"]))
                    chosen = [word for pair in answer["best"]["options"].items() for word in ("--option", "=".join(pair))]
                    row = self.answer("run", *words, *chosen)
                    self.assertEqual(row["iteration_s"], answer["best"]["iteration_s"])
                    self.assert_obeys(row, option, [*words, *chosen])
                    if option == "memory":
                        self.assertLessEqual(row["memory_bytes"], 150e6)

    def test_recommend(self):
        for option in VALUES:
            with self.subTest(option=option):
                rows = self.answer("recommend", *self.given(option), "--budget", "2")
                for row in rows or []:
                    with self.subTest(strategy=row["strategy"]):
                        self.assert_obeys(row, option, row["run"])
                        if option == "memory":
                            self.assertTrue(row["strategy"] != "best" or row["memory_bytes"] <= 150e6)

    def test_recommend_without_compression(self):
        """What compression is held against has the same micro-batches, barrier and sizes."""
        options = ["--option", "accumulate=3", "--option", "barrier=iteration", "--option", "bucket_cap=40MiB"]
        words = ["--profile", "googlenet_k80_b32", "--cluster", "flat.json", *options]
        done = self.run_program("recommend", *words, "--strategies", "ddp", "--codec", "fp16", "--budget", "2", env=WIDE)
        strategy, number, unit = re.search(r"Untuned, .*, and (\S+) ([0-9.]+) (m?s) without", done.stdout).groups()
        row = self.answer("run", *words, "--strategy", strategy)
        self.assertAlmostEqual(float(number) * {"s": 1, "ms": 1e-3}[unit] / row["iteration_s"], 1, 3)

    def test_whatif(self):
        for option in VALUES:
            with self.subTest(option=option):
                answer = self.answer("whatif", *self.given(option), "--budget", "2")
                for row in [answer["base"], *answer["rows"], *answer["together"]] if answer else []:
                    with self.subTest(change=row["change"]):
                        if option in ASKS and re.search(ASKS[option], row["change"]):
                            continue
                        self.assert_obeys(row, option, row["flags"])
                        if option == "memory":
                            self.assertEqual(row["fits"], row["memory_bytes"] <= 150e6)


if __name__ == "__main__":
    unittest.main()
