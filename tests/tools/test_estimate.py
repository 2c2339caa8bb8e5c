#!/usr/bin/env python3
"""`allreplay estimate` as users run it. Run: python3 tests/tools/test_estimate.py

What it refuses, each in one line; that its traces can be replayed and say so; its speed; and the errors that docs/generated/estimation_errors.md states,
where the published figures are at hand.
"""
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from program import PROGRAM, REFERENCE, ROOT, Case, answer, needs_program, run, success  # noqa: E402

TOOL = ROOT / "tools" / "estimation_errors.py"
MIXTRAL = ["--model", "mixtral-8x7b"]
GPT2 = ["--model", "gpt2", "--device", "h100", "--batch", "2"]


@needs_program
class Estimates(Case):
    def estimate(self, *arguments):
        """The trace, and what was printed."""
        out = self.folder / "out.json"
        done = success("estimate", *arguments, "--out", out)
        return json.loads(out.read_text(encoding="utf-8")), done.stdout

    def seconds(self, trace):
        """Forward, backward and update."""
        return 1e-6 * (math.fsum(layer["forward"] + layer["backward"] for layer in trace["layers"]) + trace["update"])

    def test_a_trace_says_all_that_sharding_needs(self):
        trace, _ = self.estimate("--model", "llama3-8b", "--device", "h100", "--batch", 2, "--seq", 8192, "--precision", "bf16", "--tokens-per-second", 6667)
        self.assertAlmostEqual(self.seconds(trace), 2 * 8192 / 6667, delta=1e-8)
        self.assertEqual(trace["origin"], "estimated")
        self.assertGreater(trace["update"], 0)
        groups = list(dict.fromkeys(layer["group"] for layer in trace["layers"]))
        self.assertEqual(groups, ["embeddings", *(f"model.layers.{place}" for place in range(32)), "head"])
        self.assertTrue(all("activation_bytes" in layer for layer in trace["layers"]))
        self.assertEqual(sum(math.prod(tensor["shape"]) for layer in trace["model"]["layers"] for tensor in layer["tensors"]), 8_030_261_248)

    def test_lora_holds_and_sends_little(self):
        peaks, exposed = {}, {}
        for name, options in {"full": [], "lora": ["--lora", 8, "--lora-targets", "q,v"]}.items():
            trace, printed = self.estimate("--model", "llama2-7b", "--device", "a100-80gb", "--batch", 1, "--seq", 1024, *options)
            self.assertEqual("trained parameters" in printed, name == "lora")
            self.assertEqual(any(layer.get("frozen") for layer in trace["layers"]), name == "lora")
            for strategy in ("ddp", "fsdp2"):
                done = success("run", "--profile", self.folder / "out.json", "--cluster", "a100x8-8x200gbps", "--workers", 8, "--strategy", strategy, "--json")
                result = json.loads(done.stdout)
                peaks[name, strategy], exposed[name, strategy] = result["memory_bytes"], result["exposed_comm_s"]
        # All parameters take 2 bytes of the 16 that they take in full training with ddp.
        self.assertLess(peaks["lora", "ddp"], 0.3 * peaks["full", "ddp"])
        self.assertLess(peaks["lora", "fsdp2"], peaks["full", "fsdp2"])
        self.assertLess(exposed["lora", "ddp"], exposed["full", "ddp"])

    def test_it_can_be_replayed_and_every_output_says_so(self):
        self.estimate(*GPT2)
        done = success("run", "--profile", self.folder / "out.json", "--cluster", "k80-10gbe", "--strategy", "ddp")
        done = run("run", "--profile", self.folder / "out.json", "--cluster", "k80-10gbe", "--strategy", "ddp", "--json")
        self.assertEqual(json.loads(done.stdout)["origin"], "estimated")

    def test_mfu_in_each_way_of_writing(self):
        traces = [self.estimate(*GPT2, "--mfu", text)[0] for text in ("40%", "40 %", "0.4", "40")]
        for trace in traces:
            self.assertEqual(trace["layers"], traces[0]["layers"])
        # (6P + 12·layers·hidden·sequence) FLOPs of each of 2·1024 tokens at 40 % of 989.4 TFLOP/s.
        flops = 2 * 1024 * (6 * 124_439_808 + 12 * 12 * 768 * 1024)
        self.assertAlmostEqual(self.seconds(traces[0]) / (flops / 0.4 / 989.4e12), 1, delta=1e-6)

    def result(self, command, *arguments):
        """The JSON of a command of the estimated trace."""
        return answer(command, "--profile", self.folder / "out.json", *arguments)

    def test_a_host_is_waited_for_and_said_to_be_the_limit(self):
        trace, _ = self.estimate(*GPT2[:-1], 1, "--seq", 128, "--host", "eager")
        self.assertEqual(trace["host"], {"block_forward": "800 us", "block_backward": "1600 us", "step": "8 ms"})
        setting = ["--cluster", "h100x8-8x400gbps", "--workers", 2]
        result = self.result("run", *setting, "--strategy", "ddp")
        self.assertGreaterEqual(result["forward_s"], 12 * 800e-6)  # of 12 blocks, embeddings and head
        self.assertGreater(result["host_s"], result["iteration_s"] / 2)
        free = self.result("run", *setting, "--strategy", "ddp", "--option", "host_block=0 s", "--option", "host_step=0 s")
        self.assertEqual(free["host_s"], 0)
        changes = [row["change"] for row in self.result("whatif", *setting, "--budget", 1)["rows"]]
        self.assertIn("no host floor (CUDA graphs, compilation)", changes)
        self.assertIn("half the step's overhead", changes)
        self.assertEqual(self.result("recommend", *setting, "--budget", 1)[0]["bound_by"], "host")

    def test_speeds_at_two_batches_come_back_at_both(self):
        setting = ["--cluster", "h100x8-8x400gbps", "--workers", 16, "--strategy", "fsdp2"]
        for batch, speed in ((1, 6667), (4, 7450)):
            trace, _ = self.estimate("--model", "llama3-8b", "--device", "h100", "--batch", batch, "--seq", 8192, "--tokens-per-second", "6667@1,7450@4", *setting)
            self.assertIn("block_forward", trace["host"])
            self.assertAlmostEqual(self.result("run", *setting)["tokens_per_s_per_gpu"] / speed, 1, delta=1e-5)
            # Between them, from either trace, computing that does not wait shrinks, and launching does not.
        out = self.folder / "two.json"
        done = success("estimate", "--from", self.folder / "out.json", "--batch", 1, "--out", out)
        self.assertEqual(json.loads(out.read_text(encoding="utf-8"))["host"], trace["host"])

    def test_words_are_the_preset(self):
        named, _ = self.estimate("--model", "llama3-8b", "--device", "h100", "--batch", 1, "--seq", 4096)
        words, _ = self.estimate("--layers", 32, "--hidden", 4096, "--heads", 32, "--kv-heads", 8, "--ffn", 14336, "--vocab", 128256, "--seq", 4096,
                                 "--device", "h100", "--batch", 1)
        self.assertEqual(named["layers"], words["layers"])

    def test_a_mixture_in_words_is_the_preset(self):
        words = ["--layers", 32, "--hidden", 4096, "--heads", 32, "--kv-heads", 8, "--experts", 8, "--top-k", 2, "--expert-ffn", 14336, "--vocab", 32000]
        split = ["--seq", 4096, "--device", "h100", "--batch", 1, "--ep", 4, "--expert-imbalance", "1.5"]
        named, printed = self.estimate(*MIXTRAL, *split)
        self.assertEqual(named["layers"], self.estimate(*words, *split)[0]["layers"])
        self.assertEqual(named["parallel"], {"tp": 1, "cp": 1, "ep": 4})
        self.assertIn("one worker of", printed)
        # Six of the eight experts of 3·4096·14336 parameters are left out in each of 32 layers; a worker holds two.
        expert = 3 * 4096 * 14336
        here = 46_702_792_704 - 32 * 6 * expert
        self.assertRegex(printed, rf"(?m)^parameters +{here:,} of 46,702,792,704$")
        self.assertRegex(printed, rf"(?m)^active parameters +{here:,}$")
        # 1.5·4096·2 rows of 4096 in two bytes, in each of four exchanges of a block: 12.88 GB.
        self.assertAlmostEqual(32 * 4 * 12288 * 4096 * 2, 12.88e9, delta=5e6)
        self.assertRegex(printed, r"(?m)^sent inside layers +12.88 GB$")
        _, printed = self.estimate(*MIXTRAL, "--device", "h100", "--batch", 1, "--force")
        self.assertRegex(printed, r"(?m)^parameters +46,702,792,704$")

    def test_config_json(self):
        folder = self.folder / "my-model"
        folder.mkdir()
        (folder / "config.json").write_text(json.dumps({"model_type": "llama", "architectures": ["LlamaForCausalLM"], "torch_dtype": "bfloat16",
                                                        "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 128256}), encoding="utf-8")
        trace, _ = self.estimate("--model", folder / "config.json", "--device", "a100-80gb", "--batch", 1)
        self.assertEqual(trace["model"]["name"], "my-model")

    def test_muon_takes_the_same_with_a_model_as_with_its_traces(self):
        # One trace states the times of Newton-Schulz, from the other they follow by its device.
        replayed = ["--cluster", "k80-10gbe", "--strategy", "fsdp2", "--optimizer", "muon", "--json"]
        times = []
        for optimizer in ([], ["--optimizer", "muon"]):
            self.estimate(*GPT2, *optimizer)
            times.append(json.loads(run("run", "--profile", self.folder / "out.json", *replayed).stdout))
        times.append(json.loads(run("run", *GPT2, *replayed).stdout))
        for other in times[1:]:
            self.assertAlmostEqual(other["newton_schulz_s"], times[0]["newton_schulz_s"], delta=1e-9)
        self.assertGreater(times[0]["newton_schulz_s"], 0)

    def test_a_batch_of_a_trace_of_an_unknown_device_is_proportional(self):
        before = json.loads((ROOT / "traces" / "resnet50_xeon_b8.json").read_text(encoding="utf-8"))
        out = self.folder / "out.json"
        done = success("estimate", "--from", "resnet50_xeon_b8", "--batch", 16, "--out", out)
        after = json.loads(out.read_text(encoding="utf-8"))
        self.assertEqual((after["batch_size"], after["origin"]), (16, "estimated"))
        for old, new in zip(before["layers"], after["layers"]):
            self.assertAlmostEqual(new["forward"], 2 * old["forward"], delta=1e-6 * (1 + old["forward"]))

    def test_what_it_refuses(self):
        """Each in one line, with exit status 2."""
        self.estimate(*GPT2)
        trace, table = self.folder / "out.json", self.folder / "t.csv"
        table.write_text("layer,params,forward_us,backward_us\na,1,1,2\n", encoding="utf-8")
        for name, text in (("mixture", '{"model_type": "llama", "num_local_experts": 8}'), ("t5", '{"model_type": "t5"}'), ("none", "{}"), ("list", "[]"),
                           ("heads", '{"model_type": "llama", "num_attention_heads": 31}'), ("text", '{"model_type": "llama", "hidden_size": "4096"}'),
                           ("type", '{"model_type": 5}'), ("device", '{"description": "d", "source": "s", "peak_tflops": {"fp8": 1}, "memory": "1 GB", '
                                                           '"memory_bandwidth": "1 GB/s", "sms": 1}')):
            self.write(f"{name}.json", text)
        h100 = ["--device", "h100", "--batch", "2"]
        words = ["--layers", "2", "--hidden", "12", "--heads", "3", "--vocab", "7"]
        for arguments, said in (
                (["--model", "gpt3", *h100], "no model 'gpt3'"),
                (["--model", self.folder / "mixture.json", *h100], "'llama' has no experts that can be estimated"),
                ([*MIXTRAL, *h100, "--ep", 3], "--ep: 3 does not divide 8 experts of mixtral-8x7b"),
                ([*GPT2, "--ep", 2], "--ep: gpt2 has no experts to divide"),
                (["--model", "resnet50", *h100, "--ep", 2], "--ep: "),
                ([*MIXTRAL, *h100, "--expert-imbalance", "0.9"], "--expert-imbalance: 0.9 times the mean"),
                ([*GPT2, "--expert-imbalance", "1.5"], "--expert-imbalance: gpt2 has no experts"),
                ([*MIXTRAL, *h100, "--experts", 8], "--experts: cannot be combined with --model"),
                ([*words, *h100, "--top-k", 2], "--top-k: needs --experts"),
                ([*words, *h100, "--experts", 4, "--expert-ffn", 8], "--top-k: is required"),
                ([*words, *h100, "--experts", 4, "--expert-ffn", 8, "--top-k", 5], "--top-k: 5 experts for a token, of 4"),
                ([*words, *h100, "--experts", 4, "--expert-ffn", 8, "--top-k", 2, "--ffn", 8], "--ffn: cannot be combined with --experts"),
                ([*words, *h100, "--experts", 4, "--expert-ffn", 8, "--top-k", 2, "--dense-ffn", 8], "--dense-layers: is required"),
                (["--from", trace, "--batch", 4, "--expert-imbalance", 2], "--expert-imbalance: cannot be combined with --from"),
                (["--from", trace, "--batch", 4, "--lora", 8], "--lora: cannot be combined with --from"),
                ([*GPT2, "--lora", 0], "--lora: "),
                ([*GPT2, "--lora", 1000], "--lora: 1000 is more than the 768 x 2304 of transformer.h.0.attn.c_attn"),
                ([*GPT2, "--lora", 8, "--lora-targets", "q"], "--lora-targets: gpt2 has no product 'q' in its blocks"),
                ([*GPT2, "--lora", 8, "--lora-targets", "c_attn,"], "--lora-targets: 'c_attn,' has an empty part"),
                ([*GPT2, "--lora-targets", "c_attn"], "--lora-targets: needs --lora"),
                ([*GPT2, "--lora", 8, "--tp", 2], "--tp: cannot be combined with --lora"),
                ([*GPT2, "--lora", 8, "--freeze", "head"], "--freeze: cannot be combined with --lora"),
                ([*GPT2, "--freeze", "embedding"], "--freeze: 'embedding' names no layer of gpt2"),
                ([*GPT2, "--freeze", "*"], "--freeze: freezes every layer"),
                (["--model", "resnet50", *h100, "--lora", 8], "--lora: resnet50 has no queries and values"),
                (["--model", self.folder / "t5.json", *h100], "'t5' is not an architecture that can be estimated"),
                (["--model", self.folder / "none.json", *h100], "has neither layers nor a model_type"),
                (["--model", self.folder / "list.json", *h100], "list.json: is not a model"),
                (["--model", self.folder / "heads.json", *h100], "31 heads do not divide a width of 4096"),
                (["--model", self.folder / "text.json", *h100], "/hidden_size: "),
                (["--model", self.folder / "type.json", *h100], "/model_type: "),
                (["--model", "gpt2", "--device", self.folder / "device.json", "--batch", 1], "/peak_tflops: "),
                (["--model", "gpt2", "--device", "h1000", "--batch", 1], "did you mean 'h100'"),
                (["--model", "gpt2", "--device", "h100"], "--batch: is required"),
                (["--model", "gpt2", "--batch", 1], "--device: is required"),
                (["--model", "gpt2", "--device", "v100", "--batch", 1, "--precision", "bf16"], "v100 has no bf16 (fp16, fp32)"),
                ([*GPT2, "--precision", "int8"], "unknown precision 'int8'"),
                (["--model", "gpt2", "--device", "a100-80gb", "--batch", 1, "--precision", "fp8"], "a100-80gb has no fp8 (bf16, fp16, tf32, fp32)"),
                (["--model", "resnet50", "--device", "h100", "--batch", 1, "--precision", "fp8"], "only products of blocks run in fp8, and resnet50 has none"),
                (["--from", trace, "--precision", "fp8"], "a profile does not say which layers those are"),
                ([*GPT2, "--host", "graphs"], "unknown 'graphs'"),
                ([*GPT2, "--tokens-per-second", "9e4@2,5e4"], "does not say the batch of 5e4"),
                ([*GPT2, "--tokens-per-second", "9e4@2,5e4@2"], "two speeds at batch 2"),
                ([*GPT2, "--tokens-per-second", "9e4@2,5e4@1", "--host", "eager"], "--host: cannot be combined with several speeds"),
                *(([*GPT2, "--mfu", text], "--mfu: ") for text in ("140%", "140 %", "140", "1.4", "0", "-1", "nan", "%", "40%%", "forty")),
                ([*GPT2, "--tokens-per-second", 0], "--tokens-per-second: "),
                ([*GPT2, "--tokens-per-second", 1e9], "% of the peak of h100 in bf16 (at most "),
                ([*GPT2, "--mfu", "40%", "--samples-per-second", 5], "--samples-per-second: cannot be combined with --mfu"),
                ([*GPT2, "--recompute", "half"], "none, selective or full"),
                ([*GPT2, "--optimizer", "lion"], "adam, adam-unfused, sgd or muon"),
                ([*GPT2, "--seq", 1025], "gpt2 has 1024 positions"),
                ([*GPT2, "--layers", 3], "--layers: cannot be combined with --model"),
                ([*GPT2[:-1], 10**9], "--batch: "),
                (["--model", "resnet50", *h100, "--seq", 5], "leave --seq out"),
                (["--model", "resnet50", *h100, "--tokens-per-second", 5], "not tokens"),
                (["--model", "resnet50", *h100, "--recompute", "full"], "no blocks to recompute"),
                (["--layers", 2, "--hidden", 10, "--heads", 3, "--vocab", 7, *h100], "3 heads do not divide a width of 10"),
                ([*words, "--kv-heads", 2, *h100], "--kv-heads: "),
                ([*words[:-2], *h100], "--vocab: is required"),
                ([*words, "--family", "gtp2", *h100], "did you mean 'gpt2'"),
                ([*words, "--family", "vit", *h100], "--family: "),
                (["--from", trace], "changes nothing"),
                (["--from", trace, "--batch", 4, "--model", "gpt2"], "--model: cannot be combined with --from"),
                (["--from", table, "--batch", 4], "has neither batch size nor device"),
                (["--from", "resnet50_xeon_b8", "--device", "h100"], "--from-device: the device"),
                (["--from", "resnet50_p100_b64", "--device", "h100", "--seq", 4], "--seq: "),
                (["--from", trace, "--batch", 4, "--out", trace], "is an input"),
                ([*GPT2, "--from-device", "h100"], "--from-device: needs --from")):
            with self.subTest(" ".join(map(str, arguments))):
                done = run("estimate", *arguments)
                self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
                self.assertIn(said, done.stderr)
                self.assertRegex(done.stderr, r"\A[^\n]+: [^\n]+ \([^\n]+\)\n\Z")

    def test_every_device_and_model(self):
        """In one table each; what is printed fits 80 columns."""
        for what in ("devices", "models"):
            self.assertEqual(run("list", what).returncode, 0)
        devices = run("list", "devices", "--names").stdout.split()
        self.assertEqual(len(devices), 23)
        models = run("list", "models", "--names").stdout.split()
        self.assertEqual(len(models), len(set(models)))
        for model in ("gpt2", "gpt2-xl", "bert-base", "llama3-405b", "vit-h", "resnet50"):
            self.assertIn(model, models)
        for device in devices:
            self.estimate("--model", "gpt2", "--device", device, "--batch", 1)
        for model in models:
            _, printed = self.estimate("--model", model, "--device", "h100", "--batch", 1)
            self.assertLessEqual(max(map(len, printed.splitlines())), 80, printed)

    def test_shipped_traces_are_regenerated_byte_for_byte(self):
        tool = ROOT / "tools" / "estimate_traces.py"
        subprocess.run([sys.executable, tool, PROGRAM, "--out", self.folder], check=True)
        made = {path.name: path.read_bytes() for path in self.folder.glob("*.json")}
        shipped = {path.name: path.read_bytes() for path in (ROOT / "traces").glob("*.json") if b'"origin": "estimated"' in path.read_bytes()}
        self.assertEqual(set(made), set(shipped))
        for name, text in made.items():
            self.assertTrue(text == shipped[name], name)


@needs_program
class Errors(unittest.TestCase):
    """How good it is, from the figures that others published."""

    page = ROOT / "docs" / "generated" / "estimation_errors.md"

    def test_the_page_states_them(self):
        if not (REFERENCE / "measured" / "llm_foundry_h100.csv").is_file():
            raise unittest.SkipTest(f"no reference data: {REFERENCE} is absent (set ALLREPLAY_REFERENCE_DATA)")
        with tempfile.TemporaryDirectory() as folder:
            page = Path(folder) / self.page.name
            subprocess.run([sys.executable, TOOL, REFERENCE, "--out", page], env={**os.environ, "ALLREPLAY_PROGRAM": str(PROGRAM)}, check=True)
            self.assertEqual(page.read_text(encoding="utf-8"), self.page.read_text(encoding="utf-8"), "run tools/estimation_errors.py again")

    def test_the_program_assumes_what_they_say(self):
        source = (ROOT / "sim" / "inputs" / "estimate" / "roofline.cpp").read_text(encoding="utf-8")
        usual = re.search(r"Usual efficiency: ([\d.]+) on tensor cores, ([\d.]+) in fp32\.", self.page.read_text(encoding="utf-8"))
        for name, text in zip(("tensor_core_efficiency", "fp32_efficiency"), usual.groups()):
            self.assertAlmostEqual(float(re.search(rf"{name} = ([\d.]+);", source)[1]), float(text), delta=0.006)


if __name__ == "__main__":
    unittest.main()
