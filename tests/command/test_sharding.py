#!/usr/bin/env python3
"""What sharding refuses, in one line each, and what does not fit into a memory. Run: python3 tests/command/test_sharding.py"""
import json
import re
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
                (["-s", "fsdp2", "--zero", "1"], "--zero", "the strategy shards already"),
                (["-s", "megatron", "-o", "barrier=layer"], "--option barrier", "the framework determines"),
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

    def test_less_than_a_tenth_of_the_memory_free(self):
        """It fits, and may fail all the same: `run` says how much is free, tables mark it. 95 % of a memory is tight, 85 % is not."""
        peak = json.loads(output("run", "-s", "fsdp2", *MODEL, "--json"))["memory_bytes"]
        for share, tight in ((0.95, True), (0.85, False)):
            limit = ["--memory", f"{round(peak / share)} B"]
            self.assertTrue(json.loads(output("run", "-s", "fsdp2", *MODEL, *limit, "--json"))["fits"])
            self.assertEqual("with 5.0 % free: allocators and libraries may need a tenth" in output("run", "-s", "fsdp2", *MODEL, *limit, env=program.WIDE), tight)
            (self.folder / "s.json").write_text(json.dumps({"profiles": [MODEL[1]], "clusters": [MODEL[3]], "workers": [64], "strategies": [{"name": "fsdp2", "memory": limit[1]}]}),
                                                encoding="utf-8")
            told = output("sweep", "s.json", "--out", f"{tight}.csv", cwd=self.folder, env=program.WIDE)
            self.assertEqual("*: leaves less than 10 % of the memory free" in told, tight, told)
            for words in (["compare", "-s", "fsdp2"], ["recommend", "-s", "fsdp2", "--budget", "1"], ["whatif", "-s", "fsdp2", "--budget", "1"]):
                with self.subTest((share, words)):
                    told = output(*words, *MODEL, *limit, env=program.WIDE)
                    if words[0] != "whatif" or tight:  # of its other rows some may be tight
                        self.assertEqual("*: leaves less than 10 % of the memory free" in told, tight, told)

    def test_an_efficiency_above_all_is_explained(self):
        """Each of 64 updates a 64th, and one worker would update all, if it could hold it; DDP's all do."""
        says = "note: an efficiency above 100 %: the optimizer is sharded, so that among more workers each updates less"
        for command in (["run", "-s", "fsdp2"], ["compare", "-s", "ddp,fsdp2"], ["recommend", "-s", "ddp,fsdp2", "--budget", "1"], ["whatif", "-s", "fsdp2", "--budget", "1"]):
            for more in (("--stragglers", "none"), ("--stragglers", "none", "--memory", "1TB")):  # against eight, which can hold it, or one that could
                self.assertIn(says, output(*command, *LLAMA, *more, env=program.WIDE))
        self.assertNotIn(says, output("run", "-s", "ddp", *LLAMA, "--memory", "1TB", env=program.WIDE))
        self.assertNotIn(says, output("run", "-s", "zero-1", *LLAMA, "--memory", "1TB", env=program.WIDE))  # sharded, and below

    def test_efficiency_is_relative_to_the_fewest_workers_on_which_the_fastest_fits(self):
        """LLaMA-3 8B fits on no one and on a node of eight; a GPU's throughput there is what that on 64 is held against."""
        row, = json.loads(output("compare", "-s", "fsdp2", *LLAMA, "--json"))
        node = json.loads(output("run", "-s", "fsdp2", *LLAMA[:-1], "8", "--json"))
        self.assertGreater(json.loads(output("run", "-s", "fsdp2", *LLAMA[:-1], "1", "--json"))["memory_bytes"], 80e9)
        self.assertLess(node["memory_bytes"], 80e9)
        self.assertEqual(row["reference_workers"], 8)
        self.assertAlmostEqual(row["relative_efficiency"], row["samples_per_s_per_gpu"] / node["samples_per_s_per_gpu"], delta=1e-12)
        self.assertEqual((row["fits"], node["relative_efficiency"]), (True, 1))
        roomy = json.loads(output("run", "-s", "fsdp2", *LLAMA, "--memory", "1TB", "--json"))
        self.assertEqual((roomy["reference_workers"], roomy["relative_efficiency"]), (1, row["efficiency"]))
        self.assertIn("eff. from 8", output("compare", "-s", "fsdp2", *LLAMA, env=program.WIDE))
        self.assertIsNone(json.loads(output("run", "-s", "ddp", "--profile", "resnet50_k80_b16", "--cluster", "k80-10gbe", "--json"))["fits"])

    def test_every_command_goes_by_the_memory_of_the_profile_s_device(self):
        """megatron with 16 workers: 86.54 GB of an H100's 85.02 (81079 MiB), and faster than fsdp2, which fits."""
        model = ["--profile", "llama3-8b_h100_b1_bf16", "--cluster", "ec2-a100x8-4x100gbps", "--workers", "16"]
        one, = json.loads(output("compare", *model, "-s", "megatron", "--json"))
        again = json.loads(output("run", *model, "-s", "megatron", "--json"))
        self.assertEqual(again["options"], one["options"])
        self.assertEqual(again["options"]["memory"], "81079 MiB")
        self.assertIn("86.54 GB, does not fit into 85.02 GB", output("run", *model, "-s", "megatron", env=program.WIDE))
        self.assertNotIn("does not fit", output("run", *model, "-s", "megatron", "--memory", "87GB"))
        (self.folder / "s.json").write_text(json.dumps({
            "profiles": [model[1]], "clusters": [model[3], "h100x8-8x400gbps"], "workers": [16], "strategies": ["megatron", "fsdp2", "ddp"]}), encoding="utf-8")
        table = output("sweep", "s.json", "--out", "s.csv", cwd=self.folder, env=program.WIDE)
        self.assertEqual([line.count("!") for line in table.splitlines() if re.search(r"gbps +(megatron|fsdp2|ddp) ", line)], [1, 0, 1, 1, 0, 1])
        self.assertIn("!: does not fit into a worker's memory", table)
        rows = program.rows_of(self.folder / "s.csv")
        self.assertLess(float(rows[0]["iteration_s"]), float(rows[1]["iteration_s"]))  # megatron, were it not for the memory
        self.assertEqual({row["options"].split("memory=")[1].split(";")[0] for row in rows}, {"81079 MiB"})
        output("report", "s.csv", "--out", "s.html", cwd=self.folder)
        page = (self.folder / "s.html").read_text(encoding="utf-8")
        self.assertIn("With 16 workers, fsdp2 wins on every cluster", page)
        self.assertNotIn("megatron wins", page)
        self.assertIn("4 rows need more memory than a worker has", page)
        data = json.loads(page.split('id="data">')[1].split("</script>")[0])
        self.assertEqual([row[-2] for row in data["rows"]], [False, True, False] * 2)
        timelines = [re.findall(r'class="heading"[^>]*>([^<:]*): iteration', one) for one in re.findall("<figure>(.*?)</figure>", page, re.S)]
        self.assertEqual(timelines, [["fsdp2"], ["fsdp2"]])  # what competes: one row each
        output("plot", "s.csv", "--kind", "columns", "--set", "x=strategy", "--set", "panels=cluster", "--out", "s.svg", cwd=self.folder)
        picture = (self.folder / "s.svg").read_text(encoding="utf-8")
        self.assertEqual(picture.count('class="cross"'), 4 * 4)  # four rows, each two strokes and their white
        self.assertIn("×: does not fit into a worker's memory.", picture)

    def test_where_nothing_fits_a_search_alone_says_so_and_among_others_is_marked(self):
        """LLaMA-3 8B on 2 workers: 115 GB at least, of an H100's 85.02."""
        two = [*LLAMA[:-1], "2", "-s", "best", "--zero", "3"]
        self.assertIn("/device: nothing fits into 85.02 GB", self.refused("run", *two))
        for limit in ((), ("--memory", "80GB")):  # whoever says it
            done = self.run_program("compare", *LLAMA, "-s", "best,fsdp2", *limit, env=program.WIDE)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertRegex(done.stdout, r"best without shards .*!")
        self.assertIn("--memory: nothing fits into 80 GB", self.refused("run", *two, "--memory", "80GB"))
        self.assertIn("llama3-8b_h100_b1_bf16: /device: nothing fits into 85.02 GB", self.refused("recommend", *LLAMA[:-1], "2", "-s", "fsdp2,zero-3"))
        (self.folder / "s.json").write_text(json.dumps({
            "profiles": [LLAMA[1]], "clusters": [LLAMA[3]], "workers": [2, 64], "strategies": ["fsdp2", {"name": "best", "zero": 3}]}), encoding="utf-8")
        output("sweep", "s.json", "--out", "s.csv", cwd=self.folder)
        self.assertEqual([float(row["memory_bytes"]) > 80e9 for row in program.rows_of(self.folder / "s.csv")], [True, True, False, False])

    def test_compare_marks_what_does_not_fit(self):
        self.assertIn("does not fit", output("compare", "-s", "fsdp2", *MODEL, "--memory", "1GB"))


if __name__ == "__main__":
    unittest.main()
