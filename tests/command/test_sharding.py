#!/usr/bin/env python3
"""What sharding refuses, in one line each, and what does not fit into a memory. Run: python3 tests/command/test_sharding.py"""
import json
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import program  # noqa: E402
from program import needs_program, output  # noqa: E402

LLAMA = ["--profile", "llama3-8b_h100_b1_bf16", "--cluster", "h100x8-8x400gbps", "--workers", "64"]
MODEL = ["--profile", "gpt2-xl_h100_b8_bf16", "--cluster", "h100x8-8x400gbps", "--workers", "64"]


@needs_program
class Sharding(program.Case):
    def refused(self, *arguments):
        """The one line with which the program refuses."""
        done = self.run_program(*arguments)
        self.assertEqual((done.returncode, done.stdout), (2, ""), arguments)
        line, = done.stderr.splitlines()
        return line

    def test_bad_input(self):
        for words, place, right in (
                (["-s", "fsdp2", "--shard-group", "7"], "--shard-group", "a divisor of the number of workers"),
                (["-s", "zero-3", "-o", "reduce_bucket=0"], "--option reduce_bucket", "from 1"),
                (["-s", "fsdp2", "--codec", "fp16"], "--codec", "no codec"),
                (["-s", "fsdp2", "--zero", "1"], "--zero", "a way of sharding already"),
                (["-s", "megatron", "-o", "barrier=layer"], "--option barrier", "the framework's"),
                (["-s", "ddp", "--zero", "3"], "--zero", "fsdp2"),
                (["-s", "fsdp2", "-o", "gradient_dtype=fp9"], "--option gradient_dtype", "bf16"),
                (["-s", "fsdp2", "--accumulate", "0"], "--accumulate", "from 1")):
            with self.subTest(words):
                line = self.refused("run", *words, *MODEL)
                self.assertIn(place + ":", line)
                self.assertIn(right, line)

    def test_units_are_consecutive(self):
        layers = [{"name": name, "forward": 1e-3, "backward": 1e-3, "group": group} for name, group in zip("abc", "xyx")]
        model = {"name": "m", "layers": [{"name": name, "tensors": [10]} for name in "abc"]}
        trace = self.folder / "trace.json"
        trace.write_text(json.dumps({"name": "t", "model": model, "batch_size": 1, "origin": "measured", "layers": layers}), encoding="utf-8")
        self.assertIn("trace.json", self.refused("run", "-s", "fsdp2", "--profile", trace, *MODEL[2:]))

    def test_a_memory_that_nothing_fits(self):
        """The smallest is said, and holds: with a little more than that it fits."""
        for words in (["recommend", "-s", "fsdp2,zero-3"], ["tune", "-s", "fsdp2", "--budget", "4"], ["run", "-s", "best", "--zero", "3"]):
            with self.subTest(words):
                line = self.refused(*words, *MODEL, "--memory", "1GB")
                self.assertRegex(line, r"--memory: nothing fits into 1 GB \(at least [0-9.]+ [GM]i?B, which .+ needs\)")
        least = min(row["memory_bytes"] for row in json.loads(output("compare", "--json", "-s", "fsdp2,zero-3", *MODEL)))
        self.refused("recommend", "-s", "fsdp2,zero-3", *MODEL, "--memory", f"{int(least) // 2} B")
        self.assertIn("zero-3", output("recommend", "-s", "fsdp2,zero-3", *MODEL, "--memory", f"{int(least) + 1} B"))

    def test_an_efficiency_above_all_is_explained(self):
        """Each of 64 updates a 64th, and speed-up compares with one that updates all; DDP's all do."""
        says = "note: an efficiency above 100 %: the optimizer is sharded, so that each worker updates less than one alone"
        for command in (["run", "-s", "fsdp2"], ["compare", "-s", "ddp,fsdp2"], ["recommend", "-s", "ddp,fsdp2", "--budget", "1"], ["whatif", "--budget", "1"]):
            self.assertIn(says, output(*command, *LLAMA, env=program.WIDE))
        self.assertNotIn(says, output("run", "-s", "ddp", *LLAMA, env=program.WIDE))
        self.assertNotIn(says, output("run", "-s", "zero-1", *LLAMA, env=program.WIDE))  # sharded, and below

    def test_compare_marks_what_does_not_fit(self):
        self.assertIn("does not fit", output("compare", "-s", "fsdp2", *MODEL, "--memory", "1GB"))


if __name__ == "__main__":
    unittest.main()
