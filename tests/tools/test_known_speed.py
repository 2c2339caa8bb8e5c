#!/usr/bin/env python3
"""A speed that was measured, given to `allreplay estimate` with the setting in which it was, comes back from `allreplay run`.

Of settings of many kinds; of the trainings that llm-foundry publishes, where they are at hand; and what is said where it cannot.
"""
import csv
import json
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from program import REFERENCE, ROOT, Case, needs, needs_program  # noqa: E402

sys.path.insert(0, str(ROOT / "tools"))

from validation import scaling_loss  # noqa: E402

TABLE = REFERENCE / "measured" / "llm_foundry_h100.csv"
LLAMA = ["--model", "llama3-8b", "--device", "h100", "--batch", "2", "--seq", "4096", "--precision", "bf16"]
GPT2 = ["--model", "gpt2", "--device", "a100-80gb", "--batch", "8", "--precision", "bf16"]
WORDS = ["--nodes", "2", "--gpus", "4", "--network", "200Gbit/s", "--inner", "200GB/s"]


class KnownSpeed(Case):
    def estimate(self, *arguments):
        """The finished process that writes t.json."""
        done = self.success("estimate", *arguments, "--out", "t.json")
        return done

    def replayed(self, *setting):
        """What `run --json` says of t.json."""
        return self.answer("run", "--profile", "t.json", *setting)

    def assert_comes_back(self, model, setting, known, column, value):
        self.estimate(*model, *setting, *known)
        self.assertAlmostEqual(self.replayed(*setting)[column] / value, 1, delta=1e-6, msg=f"{setting} {known}")


@needs_program
class Settings(KnownSpeed):
    def test_every_kind_of_setting(self):
        dgx = ["--cluster", "h100x8-8x400gbps"]
        for setting in ([*dgx, "--workers", "64", "--strategy", "fsdp2"],
                        [*dgx, "--workers", "64", "--strategy", "fsdp1", "--backward-prefetch", "post", "--accumulate", "4"],
                        [*dgx, "--workers", "16", "--strategy", "megatron", "--shard-group", "8", "--gradient-dtype", "fp32"],
                        [*dgx, "--workers", "8", "--strategy", "zero-3", "--update", "300 ms", "--launch", "20us"],
                        [*WORDS, "--strategy", "ddp", "--zero", "1", "--bandwidth", "x2", "--stragglers", "0:1.2"],
                        [*WORDS, "--strategy", "wfbp", "--fidelity", "fluid", "--collective", "hierarchical"]):
            with self.subTest(setting=setting):
                self.assert_comes_back(LLAMA, setting, ["--tokens-per-second", "4321"], "tokens_per_s_per_gpu", 4321)

    def test_mfu_and_samples(self):
        setting = [*WORDS, "--strategy", "ddp", "--accumulate", "3"]
        self.assert_comes_back(GPT2, setting, ["--mfu", "31.4%"], "mfu", 0.314)
        self.assert_comes_back(GPT2, setting, ["--samples-per-second", "99"], "samples_per_s_per_gpu", 99)
        # A sample of 1024 tokens; (6P + 12·layers·hidden·sequence) FLOPs each, over 312 TFLOP/s.
        row = self.replayed(*setting)
        self.assertAlmostEqual(row["tokens_per_s_per_gpu"], 1024 * row["samples_per_s_per_gpu"])
        self.assertAlmostEqual(row["mfu"], row["tokens_per_s_per_gpu"] * (6 * 124_439_808 + 12 * 12 * 768 * 1024) / 312e12)
        self.assertAlmostEqual(row["samples_per_s"], 8 * row["samples_per_s_per_gpu"])

    def test_one_gpu_with_micro_batches(self):
        self.estimate(*GPT2, "--accumulate", "4", "--tokens-per-second", "50000")
        alone = ["--nodes", "1", "--gpus", "1", "--network", "1GB/s", "--strategy", "wfbp"]
        self.assertAlmostEqual(self.replayed(*alone, "--accumulate", "4")["tokens_per_s_per_gpu"] / 50000, 1, delta=1e-6)

    def test_the_update_is_the_rooflines_or_what_is_said(self):
        update = lambda: json.loads((self.folder / "t.json").read_text(encoding="utf-8"))["update"]
        self.estimate(*LLAMA)
        rooflines = update()
        self.estimate(*LLAMA, "--cluster", "h100x8-8x400gbps", "--strategy", "fsdp2", "--tokens-per-second", "5000")
        self.assertEqual(update(), rooflines)
        self.estimate(*LLAMA, "--cluster", "h100x8-8x400gbps", "--strategy", "fsdp2", "--update", "25 ms", "--tokens-per-second", "5000")
        self.assertEqual(update(), 25000)
        self.assertNotIn("--option", self.estimate(*LLAMA, "--tokens-per-second", "5000").stdout)

    def test_the_trace_says_what_was_known(self):
        done = self.estimate(*LLAMA, "--cluster", "h100x8-8x400gbps", "--workers", "32", "--strategy", "fsdp2", "--tokens-per-second", "5000")
        trace = json.loads((self.folder / "t.json").read_text(encoding="utf-8"))
        self.assertEqual(trace["tokens_per_sample"], 4096)
        self.assertRegex(done.stdout, r"tokens/s of a GPU +5000\n")

    def test_a_plan_instead_of_a_strategy(self):
        self.estimate(*GPT2)
        plan = self.run_program("plan", "--profile", "t.json", *WORDS, "--strategy", "ddp", "--json").stdout
        (self.folder / "plan.json").write_text(plan, encoding="utf-8")
        self.assert_comes_back(GPT2, [*WORDS, "--plan", "plan.json"], ["--tokens-per-second", "60000"], "tokens_per_s_per_gpu", 60000)

    def test_a_device_of_ones_own(self):
        device = json.loads((ROOT / "models" / "devices" / "h100.json").read_text(encoding="utf-8"))
        (self.folder / "mine.json").write_text(json.dumps({**device, "also": []}), encoding="utf-8")
        done = self.estimate("--model", "gpt2", "--device", "mine.json", "--batch", "8", "--mfu", "20%")
        self.assertRegex(done.stdout, r"MFU +20\.0 %")
        alone = self.replayed("--nodes", "1", "--gpus", "1", "--network", "1GB/s", "--strategy", "wfbp")
        self.assertIsNone(alone["mfu"])  # nobody can find it any more


@needs_program
class WhatIsSaid(KnownSpeed):
    def refused(self, *arguments):
        error = self.refusal("estimate", *arguments, "--out", "no.json")
        self.assertRegex(error, r"\A[^\n]+: [^\n]+ \([^\n]+\)\n\Z")
        self.assertFalse((self.folder / "no.json").exists())
        return error

    def test_an_unreachable_speed(self):
        """32 GB of gradients through one port of 10 Gbit/s: the limit that is named is just possible, and nothing beyond it."""
        slow = ["--nodes", "2", "--gpus", "1", "--network", "10Gbit/s", "--strategy", "ddp", "--update", "0 s"]
        said = self.refused(*LLAMA, *slow, "--tokens-per-second", "2000")
        self.assertIn("--tokens-per-second: ", said)
        limit = float(said.split("less than ")[1].split(" ")[0])
        # 8,030,261,248 gradients of 2 bytes at 1.25 GB/s, for 2·4096 tokens; start-ups of 5 us a bucket take the rest.
        self.assertAlmostEqual(limit / (2 * 4096 / (8_030_261_248 * 2 / 1.25e9)), 1, delta=1e-3)
        self.estimate(*LLAMA, *slow, "--tokens-per-second", str(0.999 * limit))
        self.refused(*LLAMA, *slow, "--tokens-per-second", str(1.001 * limit))

    def test_a_missing_setting(self):
        done = self.estimate(*LLAMA, "--tokens-per-second", "5000")
        self.assertTrue(done.stderr)
        # Nor does a whole replica: nobody measured that.
        whole = ["--tokens-per-second", "5000", "--cluster", "h100x8-8x400gbps", "--strategy"]
        self.assertTrue(self.estimate(*LLAMA, *whole, "ddp").stderr)
        # 28 bytes of each parameter at 49 % of 3.35 TB/s: 137 ms, in which 7475 tokens/s are 1024.
        self.refused("--model", "llama3-8b", "--device", "h100", "--batch", "1", "--seq", "1024", "--tokens-per-second", "9000")

    def test_settings_that_are_none(self):
        for arguments, says in ((["--strategy", "fsdp2"], "--cluster: "),
                                (["--workers", "8"], "--cluster: "),
                                (["--bandwidth", "x2"], "--cluster: "),
                                (["--cluster", "nvl72"], "--strategy: "),
                                (["--gpus", "8", "--strategy", "ddp"], "--nodes: "),
                                (["--cluster", "nvl72", "--strategy", "fsdp3"], "fsdp3"),
                                (["--cluster", "nvl72", "--strategy", "ddp", "--option", "cap=3"], "cap")):
            self.assertIn(says, self.refused(*LLAMA, "--tokens-per-second", "5000", *arguments))
        self.estimate(*GPT2)
        for arguments in (["--cluster", "nvl72"], ["--accumulate", "4"], ["--strategy", "ddp"]):
            self.assertTrue(self.refused("--from", "t.json", "--batch", "4", *arguments))

    def test_nothing_that_is_read_is_overwritten(self):
        (self.folder / "c.json").write_text((ROOT / "topologies" / "nvl72.json").read_text(encoding="utf-8"), encoding="utf-8")
        (self.folder / "d.json").write_text((ROOT / "models" / "devices" / "h100.json").read_text(encoding="utf-8"), encoding="utf-8")
        arguments = ["estimate", "--model", "gpt2", "--device", "d.json", "--batch", "1", "--cluster", "c.json", "--strategy", "ddp"]
        for name in ("c.json", "d.json"):
            before = (self.folder / name).read_bytes()
            done = self.run_program(*arguments, "--out", name)
            self.assertEqual((done.returncode, (self.folder / name).read_bytes()), (2, before))
            self.assertTrue(done.stderr)

    def test_what_is_unknown_is_null(self):
        setting = ["--cluster", "k80-10gbe", "--workers", "4", "--strategy", "wfbp", "--json"]
        row = json.loads(self.run_program("run", "--profile", "resnet50_k80_b16", *setting).stdout)
        self.assertEqual((row["tokens_per_s_per_gpu"], row["mfu"]), (None, None))
        self.assertAlmostEqual(row["samples_per_s_per_gpu"], row["samples_per_s"] / 4)
        (self.folder / "t.csv").write_text("layer,params,forward_us,backward_us\na,1,1,2\n", encoding="utf-8")
        row = json.loads(self.run_program("run", "--profile", "t.csv", *setting).stdout)
        self.assertEqual([row[name] for name in ("tokens_per_s_per_gpu", "samples_per_s_per_gpu", "mfu")], [None, None, None])

    def test_changes_keep_them_right(self):
        """What a sample is does not depend on how many there are, nor in which precision: the peak does."""
        self.estimate(*GPT2)
        setting = [*WORDS, "--strategy", "ddp"]
        flops = 1024 * (6 * 124_439_808 + 12 * 12 * 768 * 1024)
        for change, peak in (([], 312e12), (["--batch", "x2"], 312e12), (["--precision", "fp32"], 19.5e12)):
            row = self.replayed(*setting, *change)
            self.assertAlmostEqual(row["tokens_per_s_per_gpu"], 1024 * row["samples_per_s_per_gpu"])
            self.assertAlmostEqual(row["mfu"] / (row["samples_per_s_per_gpu"] * flops / peak), 1)


@needs_program
@needs(TABLE)
class Published(KnownSpeed):
    def test_llm_foundry(self):
        """Each row's own tokens/s, in its own setting, on the presets that docs/generated/validation.md uses."""
        with open(TABLE, encoding="utf-8", newline="") as stream:
            rows = [row for row in csv.DictReader(stream) if row["precision"] == "amp_bf16"]
        self.assertEqual(len(rows), 70)
        for row in rows:
            model, training = scaling_loss.llm_foundry_words(row, "h100")
            rate = float(row["tokens_per_s"]) / int(row["gpus"])
            for cluster in scaling_loss.H100:
                with self.subTest(row=row["model"], gpus=row["gpus"], batch=row["batch_per_gpu"], cluster=cluster):
                    setting = ["--cluster", cluster, "--workers", row["gpus"], *training]
                    self.assert_comes_back(model, setting, ["--tokens-per-second", repr(rate)], "tokens_per_s_per_gpu", rate)


if __name__ == "__main__":
    unittest.main()
