#!/usr/bin/env python3
"""What a whole training takes: --tokens, --samples, --price, --pue. Run: python3 tests/programs/command/test_training_cost.py

ALLREPLAY_PROGRAM names the program (build/release/allreplay).
"""

import csv
import io
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from program import WIDE, answer, needs_program, output, refusal  # noqa: E402

LLAMA = ["--profile", "llama3-8b_h100_b1_bf16", "--cluster", "dgx-8x8-100gbps"]
RESNET = ["--profile", "resnet50_k80_b16", "--cluster", "k80-10gbe"]
KEYS = ["training_s", "gpu_hours", "cost_usd", "energy_kwh"]


def rows(*words):
    return answer(*words)


@needs_program
class TrainingCost(unittest.TestCase):
    def check(self, row, amount, per_s, price, watts, useful=1.0):
        """amount / throughput, its hours on all GPUs, these at a price, these at the device's power."""
        seconds = amount / per_s / useful
        hours = seconds / 3600 * row["workers"]
        for key, value in zip(KEYS, (seconds, hours, hours * price, hours * watts / 1000)):
            self.assertAlmostEqual(row[key] / value, 1, 9, key)

    def test_run(self):
        """8192 tokens a sample; an H100's 700 W."""
        row = rows("run", *LLAMA, "--strategy", "fsdp2", "--tokens", "15T", "--price", "2.5/h")
        self.check(row, 15e12, row["samples_per_s"] * 8192, 2.5, 700)
        self.assertAlmostEqual(row["training_s"] * row["tokens_per_s_per_gpu"] * 64 / 15e12, 1, 9)
        self.assertEqual(row["training_s"], rows("run", *LLAMA, "--strategy", "fsdp2", "--tokens", "15Ttok")["training_s"])
        twice = rows("run", *LLAMA, "--strategy", "fsdp2", "--tokens", "15T", "--price", "5", "--pue", "1.2")
        self.assertAlmostEqual(twice["cost_usd"] / row["cost_usd"], 2)
        self.assertAlmostEqual(twice["energy_kwh"] / row["energy_kwh"], 1.2)

    def test_nothing_is_added_unless_asked(self):
        row = rows("run", *LLAMA, "--strategy", "fsdp2")
        self.assertFalse(set(KEYS) & set(row))
        free = rows("run", *RESNET, "--strategy", "wfbp", "--samples", "90M")  # without a price
        self.assertIsNone(free["cost_usd"])
        self.check({**free, "cost_usd": 1}, 90e6, free["samples_per_s"], 1 / free["gpu_hours"], 150)  # a K80 die's watts

    def test_compare(self):
        words = ["compare", *RESNET, "--workers", "8,16", "--strategies", "ddp,wfbp", "--samples", "90M", "--price", "k80-10gbe=0.45/h"]
        for row in rows(*words):
            self.check(row, 90e6, row["samples_per_s"], 0.45, 150)
        table = list(csv.DictReader(io.StringIO(output(*words, "--csv"))))
        self.assertEqual([float(row["cost_usd"]) for row in table], [row["cost_usd"] for row in rows(*words)])
        self.assertEqual(list(table[0])[-4:], KEYS)

    def test_recommend(self):
        """Of several sizes at one price, the least GPU-hours are the cheapest: the smallest size, since efficiency falls."""
        words = ["recommend", *RESNET, "--strategies", "wfbp", "--workers", "8,64", "--budget", "1", "--samples", "90M", "--price", "1"]
        few, many = rows(*words)
        for row in (few, many):
            self.check(row, 90e6, row["samples_per_s"], 1, 150)
        self.assertLess(few["cost_usd"], 0.9 * many["cost_usd"])
        self.assertIn("wfbp on 8 workers", output(*words))

    def test_the_cheapest_is_the_least_cost(self):
        """DDP on 16 workers takes half the time for 0.4 % more."""
        words = ["recommend", *RESNET, "--strategies", "ddp", "--workers", "8,16", "--budget", "1", "--samples", "90M", "--price", "0.45"]
        few, many = rows(*words)
        more = many["cost_usd"] / few["cost_usd"] - 1
        self.assertTrue(0 < more < 0.02)
        self.assertRegex(output(*words, env=WIDE), rf"Cheapest: ddp on 8 workers: \$.* For {100 * more:.1f} % more: ddp on 16 workers, in ")

    def test_recommend_of_a_model(self):
        row = rows("recommend", "--model", "llama3-8b", "--device", "h100", "--cluster", "h100x8-8x400gbps", "--workers", "16",
                   "--global-batch", "32", "--budget", "3", "--tokens", "1T", "--price", "2")[0]
        self.check(row, 1e12, row["tokens_per_s_per_gpu"] * 16, 2, 700)

    def test_goodput(self):
        """With failures the training is longer by the useful fraction."""
        words = [*LLAMA, "--strategy", "fsdp2", "--mtbf", "200 d", "--checkpoint", "60 s", "--restart", "5 min", "--tokens", "15T", "--price", "2.5"]
        row = rows("goodput", *words)
        self.check(row, 15e12, row["samples_per_s"] * 8192, 2.5, 700)
        self.check({**row["goodput"], "workers": 64}, 15e12, row["samples_per_s"] * 8192, 2.5, 700, row["goodput"]["useful_fraction"])

    def test_bad_input(self):
        for words, place in ((["--tokens", "15T"], "--tokens"),  # samples that are no tokens
                             (["--samples", "many"], "--samples"), (["--samples", "0"], "--samples"),
                             (["--price", "2"], "--price"), (["--pue", "1.2"], "--pue"),
                             (["--samples", "1M", "--price", "cheap"], "--price"),
                             (["--samples", "1M", "--pue", "0.5"], "--pue"),
                             (["--samples", "1M", "--tokens", "1M"], "--tokens")):
            with self.subTest(words=words):
                for command in (["run", "--strategy", "wfbp"], ["compare"], ["recommend", "--budget", "1"]):
                    self.assertIn(place, refusal(command[0], *RESNET, *command[1:], *words))


if __name__ == "__main__":
    unittest.main()
