#!/usr/bin/env python3
"""What sharding refuses, in one line each, and what does not fit into a memory. Run: python3 tests/programs/command/test_sharding.py"""
import json
import re
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from program import WIDE, Case, answer, needs_program, output, rows_of  # noqa: E402

LLAMA = ["--profile", "llama3-8b_h100_b1_bf16", "--cluster", "h100x8-8x400gbps", "--workers", "64"]
MODEL = ["--profile", "gpt2-xl_h100_b8_bf16", "--cluster", "h100x8-8x400gbps", "--workers", "64"]


@needs_program
class Sharding(Case):
    def refused(self, *arguments):
        """The one line with which the program refuses."""
        line, = self.refusal(*arguments).splitlines()
        return line

    def test_bad_input(self):
        for words, place, right in (
                (["-s", "fsdp2", "--shard-group", "7"], "--shard-group", "a divisor of the number of workers"),
                (["-s", "zero-3", "-o", "reduce_bucket=0"], "--option reduce_bucket", "from 1"),
                (["-s", "fsdp2", "--codec", "fp16"], "--codec", "no codec"),
                (["-s", "fsdp2", "--zero", "1"], "--zero", "the strategy shards already"),
                (["-s", "megatron", "-o", "barrier=layer"], "--option barrier", "the framework determines"),
                (["-s", "ddp", "--zero", "3"], "--zero", "fsdp2"),
                (["-s", "fsdp2", "-o", "gradient_dtype=fp9"], "--option gradient_dtype", "bf16"),
                (["-s", "fsdp2", "--accumulate", "0"], "--accumulate", "from 1")):
            with self.subTest(words):
                line = self.refused("run", *words, *MODEL)
                self.assertIn(place + ":", line)
                self.assertIn(right, line)

    def test_thousands_of_micro_batches(self):
        """NVIDIA's BERT accumulates 8,192: all but the last only compute. Each ZeRO-2 batch reduces, which takes more memory."""
        bert = ["--profile", "bert-large_v100_b8", "--cluster", "v100-10gbe", "--workers", "8", "--strategy", "ddp"]
        few, many = (answer("run", *bert, "--accumulate", count) for count in ("2", "8192"))
        passes = many["forward_s"] + many["backward_s"]
        self.assertAlmostEqual((many["iteration_s"] - few["iteration_s"]) / (8190 * passes), 1, delta=1e-9)
        self.assertIn("at most 4975", self.refused("run", *bert, "--zero", "2", "--accumulate", "8192"))

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
                self.assertIn("--memory: ", line)
        least = min(row["memory_bytes"] for row in json.loads(output("compare", "--json", "-s", "fsdp2,zero-3", *MODEL)))
        self.refused("recommend", "-s", "fsdp2,zero-3", *MODEL, "--memory", f"{int(least) // 2} B")
        self.assertIn("zero-3", output("recommend", "-s", "fsdp2,zero-3", *MODEL, "--memory", f"{int(least) + 1} B"))

    def test_efficiency_is_relative_to_the_fewest_workers_on_which_the_fastest_fits(self):
        """LLaMA-3 8B fits on no one and on a node of eight; a GPU's throughput there is what that on 64 is held against."""
        row, = answer("compare", "-s", "fsdp2", *LLAMA)
        node = answer("run", "-s", "fsdp2", *LLAMA[:-1], "8")
        self.assertGreater(answer("run", "-s", "fsdp2", *LLAMA[:-1], "1")["memory_bytes"], 80e9)
        self.assertLess(node["memory_bytes"], 80e9)
        self.assertEqual(row["reference_workers"], 8)
        self.assertAlmostEqual(row["relative_efficiency"], row["samples_per_s_per_gpu"] / node["samples_per_s_per_gpu"], delta=1e-12)
        self.assertEqual((row["fits"], node["relative_efficiency"]), (True, 1))
        roomy = answer("run", "-s", "fsdp2", *LLAMA, "--memory", "1TB")
        self.assertEqual((roomy["reference_workers"], roomy["relative_efficiency"]), (1, row["efficiency"]))
        self.assertIsNone(answer("run", "-s", "ddp", "--profile", "resnet50_k80_b16", "--cluster", "k80-10gbe")["fits"])

    def test_the_reference_of_efficiency_can_be_run(self):
        """Groups of 16 need 16 workers. A group of all workers is one on fewer, too. Where the model never fits, a
        replica of 8 workers has no single worker to compare with."""
        words = ["-s", "fsdp2", *LLAMA[:-1]]
        row = answer("run", *words, "64", "--shard-group", "16")
        self.assertEqual(row["reference_workers"], 16)
        there = answer("run", *words, "16", "--shard-group", "16")
        self.assertAlmostEqual(row["relative_efficiency"], row["samples_per_s_per_gpu"] / there["samples_per_s_per_gpu"], delta=1e-12)
        self.assertEqual(answer("run", *words, "64", "--shard-group", "64")["reference_workers"], 8)
        tensor = ["--profile", "llama3-70b_h100_b1_bf16_tp8", "--cluster", "h100x8-8x400gbps", "--workers", "64", "-s", "ddp"]
        self.assertIn("per GPU, relative to computation alone", " ".join(output("run", *tensor).split()))

    def test_screens_name_the_reference_of_efficiency(self):
        for command in ("compare", "recommend"):
            budget = ["--budget", "1"] if command == "recommend" else []
            text = " ".join(output(command, "-s", "fsdp2", *LLAMA, *budget, env=WIDE).split())
            self.assertIn("relative to fsdp2 on --workers 8, the fewest that it fits on", text)
            self.assertIn("scaling eff.", text)
        self.assertIn("relative to --workers 1\n", output("compare", "-s", "ddp", "--profile", "resnet50_k80_b16", "--cluster", "k80-10gbe", env=WIDE))

    def test_every_command_goes_by_the_memory_of_the_profile_s_device(self):
        """megatron with 16 workers: 86.54 GB of an H100's 85.02 (81079 MiB), and faster than fsdp2, which fits."""
        model = ["--profile", "llama3-8b_h100_b1_bf16", "--cluster", "ec2-a100x8-4x100gbps", "--workers", "16"]
        one, = answer("compare", *model, "-s", "megatron")
        again = answer("run", *model, "-s", "megatron")
        self.assertEqual(again["options"], one["options"])
        self.assertEqual(again["options"]["memory"], "81079 MiB")
        self.write("s.json", {
"profiles": [model[1]], "clusters": [model[3], "h100x8-8x400gbps"], "workers": [16], "strategies": ["megatron", "fsdp2", "ddp"]})
        table = output("sweep", "s.json", "--out", "s.csv", cwd=self.folder, env=WIDE)
        self.assertEqual([line.count("!") for line in table.splitlines() if re.search(r"^(megatron|fsdp2|ddp) +\S+gbps", line)], [1, 0, 1, 1, 0, 1])
        rows = rows_of(self.folder / "s.csv")
        self.assertLess(float(rows[0]["iteration_s"]), float(rows[1]["iteration_s"]))  # megatron, were it not for the memory
        self.assertEqual({row["options"].split("memory=")[1].split(";")[0] for row in rows}, {"81079 MiB"})
        output("report", "s.csv", "--config", "s.json", "--out", "s.html", cwd=self.folder)
        page = (self.folder / "s.html").read_text(encoding="utf-8")
        timelines = [re.findall(r'class="heading"[^>]*>([^<:]*): iteration', one) for one in re.findall('<figure class="wide">(.*?)</figure>', page, re.S)]
        self.assertEqual(timelines, [["fsdp2"], ["fsdp2"]])  # what competes: one row each
        output("plot", "s.csv", "--kind", "columns", "--set", "x=strategy", "--set", "panels=cluster", "--out", "s.svg", cwd=self.folder)
        picture = (self.folder / "s.svg").read_text(encoding="utf-8")
        self.assertEqual(picture.count('class="cross"'), 4 * 4)  # four rows, each two strokes and their white

    def test_if_nothing_fits_a_single_search_fails_and_one_among_others_is_marked(self):
        """LLaMA-3 8B on 2 workers: 115 GB at least, of an H100's 85.02."""
        two = [*LLAMA[:-1], "2", "-s", "best", "--zero", "3"]
        self.assertIn("/device: ", self.refused("run", *two))
        for limit in ((), ("--memory", "80GB")):  # whoever says it
            done = self.run_program("compare", *LLAMA, "-s", "best,fsdp2", *limit, env=WIDE)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("--memory: ", self.refused("run", *two, "--memory", "80GB"))
        self.assertIn("llama3-8b_h100_b1_bf16: /device: ", self.refused("recommend", *LLAMA[:-1], "2", "-s", "fsdp2,zero-3"))
        self.write("s.json", {
"profiles": [LLAMA[1]], "clusters": [LLAMA[3]], "workers": [2, 64], "strategies": ["fsdp2", {"name": "best", "zero": 3}]})
        output("sweep", "s.json", "--out", "s.csv", cwd=self.folder)
        self.assertEqual([float(row["memory_bytes"]) > 80e9 for row in rows_of(self.folder / "s.csv")], [True, True, False, False])


if __name__ == "__main__":
    unittest.main()
