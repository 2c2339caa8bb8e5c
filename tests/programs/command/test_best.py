#!/usr/bin/env python3
"""The optimum that a search finds: in every fidelity, at every stage, within what is asked for, and behind nobody.
Run: python3 tests/programs/command/test_best.py
"""
import itertools
import json
import random
import re
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from program import Case, listed, needs_program, refusal, rows_of, run  # noqa: E402

FIDELITIES = ("alpha-beta", "fluid", "message")
SHARDING = {"fsdp2": 3, "fsdp1": 3, "composer": 3, "simple-fsdp": 3, "zero-1": 1, "zero-2": 2, "zero-3": 3, "megatron": 1,
            "megatron-fsdp": 3}  # ZeRO's stage of each
LOCAL = ("local-sgd", "diloco")  # train another way, so that nothing compares them unasked
PROFILES = ("vgg16_p100_b64", "resnet50_k80_b16", "bert_base_v100_b32", "googlenet_k80_b32")
CLUSTERS = ("star-64-10gbe", "dgx-8x8-100gbps", "fat-tree-4")
RESNET = ["--profile", "resnet50_k80_b16", "--cluster", "fat-tree-4"]


def row_of(*words):
    """The row of a run; none where it is refused, which takes one line and status 2."""
    done = run("run", *words, "--json")
    if done.returncode == 0:
        return json.loads(done.stdout)
    refused = done.returncode == 2 and done.stdout == "" and re.fullmatch(r"[^\n]+: [^\n]+ \([^\n]+\)\n", done.stderr)
    assert refused, f"allreplay run {' '.join(words)}: exit {done.returncode}: {done.stderr}"
    return None


@needs_program
class Best(Case):
    def test_every_strategy_at_every_stage_in_every_fidelity(self):
        """docs/sharding.md says what is refused: the rest runs, alone, in groups and with ranks that start apart, too."""
        for strategy, zero, fidelity in itertools.product(listed("strategies"), range(4), FIDELITIES):
            with self.subTest(strategy=strategy, zero=zero, fidelity=fidelity):
                words = [*RESNET, "-n", "8", "-s", strategy, "--zero", str(zero), "--fidelity", fidelity]
                possible = (zero == 0 or strategy not in (*SHARDING, *LOCAL) and (zero < 3 or strategy == "best")
                            and (strategy != "dear"))
                self.assertEqual(row_of(*words) is not None, possible)
        for zero, fidelity in itertools.product(("1", "2", "3"), FIDELITIES):
            words = [*RESNET, "-s", "best", "--zero", zero, "--fidelity", fidelity]
            for more in (["-n", "1"], ["-n", "8", "--shard-group", "4"], ["-n", "8", "--accumulate", "2"]):
                self.assertIsNotNone(row_of(*words, *more), [*words, *more])
            apart = row_of(*words, "-n", "8", "-o", "start=ranks", "--stragglers", "1:1.5")
            self.assertEqual(apart is not None, fidelity == "message")

    def assert_not_behind(self, words, zero, memory=None):
        """Whatever else runs and fits at that stage is no faster; returns the row of `best`."""
        best = row_of(*words, "-s", "best", "--zero", zero)
        fitting = 0
        for strategy in listed("strategies"):
            if strategy == "best" or strategy in LOCAL or SHARDING.get(strategy, int(zero)) != int(zero):
                continue
            # On what `best` runs on: by itself byteps has parameter servers where the cluster names no collective.
            same = ["--collective", best["collective"]] if best and strategy == "byteps" and "--collective" not in words else []
            other = row_of(*words, "-s", strategy, *same, *([] if strategy in SHARDING else ["--zero", zero]))
            if other is None or (memory and other["memory_bytes"] > memory):
                continue
            fitting += 1
            self.assertIsNotNone(best, f"{strategy} fits: {other['memory_bytes']}")
            self.assertLessEqual(best["iteration_s"], other["iteration_s"], strategy)
        if best and memory:
            self.assertLessEqual(best["memory_bytes"], memory)
        self.assertTrue(fitting > 0 or memory)
        return best

    def test_behind_no_listed_strategy(self):
        """Of the same stage, barrier, memory and fidelity: each of these twice, on profiles and clusters that are drawn."""
        draw = random.Random(29)
        stages = (("0", None), ("0", "iteration"), ("0", "layer"), ("1", None), ("1", "iteration"), ("2", None), ("2", "layer"), ("3", None))
        for fidelity, (zero, barrier), _ in itertools.product(FIDELITIES, stages, range(2)):
            profile, cluster = draw.choice(PROFILES), draw.choice(CLUSTERS)
            with self.subTest(profile=profile, cluster=cluster, fidelity=fidelity, zero=zero, barrier=barrier):
                words = ["--profile", profile, "--cluster", cluster, "-n", "16", "--fidelity", fidelity,
                         *(["-o", f"barrier={barrier}"] if barrier else [])]
                free = self.assert_not_behind(words, zero)
                if zero >= "2":  # what is in reduction, or gathered, depends on the plan
                    least = sum(free["memory"][part] for part in ("parameters", "gradients", "optimizer"))
                    for share in (0.3, 0.7):
                        memory = int(least + share * (free["memory_bytes"] - least))
                        self.assert_not_behind([*words, "--memory", f"{memory} B"], zero, memory)

    def test_commands_that_ask_for_best_sharded_on_links(self):
        for words in (["compare"], ["recommend", "--budget", "1"], ["whatif", "--budget", "1"], ["plan", "-s", "best"]):
            self.assertEqual(run(*words, *RESNET, "-n", "8", "--fidelity", "fluid", "--zero", "1").returncode, 0, words)

    def test_a_barrier_is_obeyed(self):
        """All of VGG-16 crosses between the end of its last layer's backward pass and the first forward pass."""
        words = ["--profile", "vgg16_p100_b64", "--cluster", "k80-10gbe", "-n", "16"]
        free, obeying = row_of(*words, "-s", "best"), row_of(*words, "-s", "best", "-o", "barrier=iteration")
        self.assertEqual(obeying["options"]["barrier"], "iteration")
        # Nothing that is sent hides behind the forward pass then.
        self.assertGreater(obeying["iteration_s"], obeying["forward_s"] + obeying["comm_busy_s"])
        self.assertLess(free["iteration_s"], free["forward_s"] + free["comm_busy_s"])

    def test_impossible_sharding_is_refused(self):
        self.assertIn("command line: --option barrier: ", refusal("run", *RESNET, "-s", "best", "--zero", "3", "-o", "barrier=iteration"))

    def test_a_memory_that_nothing_fits_is_refused(self):
        for zero in ("0", "1", "2", "3"):
            self.assertIn("command line: --memory: ", refusal("run", *RESNET, "-s", "best", "--zero", zero, "--memory", "1MB"))

    def test_a_memory_that_nothing_fits_stops_no_sweep(self):
        """Each row says what is needed, and what there is."""
        sweep = {"name": "small", "description": "a memory of 1 MB", "profiles": ["resnet50_k80_b16"], "clusters": ["fat-tree-4"],
                 "strategies": [{"name": name, "memory": "1 MB", "zero": 2} for name in ("ddp", "best", "wfbp")]}
        self.write("small.json", sweep)
        self.output("sweep", "small.json", "--out", "small.csv")
        rows = rows_of(self.folder / "small.csv")
        self.assertEqual([row["strategy"] for row in rows], ["ddp", "best", "wfbp"])
        for row in rows:
            self.assertIn("memory=1 MB", row["options"])
            self.assertGreater(float(row["memory_bytes"]), 1e6)


if __name__ == "__main__":
    unittest.main()
