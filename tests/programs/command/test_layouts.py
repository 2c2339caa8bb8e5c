#!/usr/bin/env python3
"""Degrees, schedules and micro-batches, as users choose among them: profiles of one worker of a group, samples of an
iteration, schedules side by side, layouts that are searched, what-ifs. Run: python3 tests/programs/command/test_layouts.py
"""

import json
import re
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from program import ROOT, WIDE, Case, answer, needs_program, output, pasted, refusal, run  # noqa: E402

CLUSTER = ["--cluster", "h100x8-8x400gbps"]
GPT2 = ["--model", "gpt2-medium", "--device", "h100", "--batch", 1]


@needs_program
class Layouts(Case):
    def estimate(self, *words, name="p.json"):
        output("estimate", *GPT2, *words, "--out", self.folder / name)
        return self.folder / name

    def refused(self, *words):
        return refusal(*words)

    def json_of(self, *words):
        return answer(*words)

    # --- profiles of one worker ---------------------------------------------------------------------------------------

    def test_a_profile_of_one_of_a_group_says_so_and_is_taken_as_that(self):
        profile = json.loads(self.estimate("--tp", 4, "--sequence-parallel", "--recompute", "full").read_text(encoding="utf-8"))
        self.assertEqual(profile["parallel"], {"tp": 4, "cp": 1})
        row = self.json_of("run", "-p", self.folder / "p.json", *CLUSTER, "-n", 16, "-s", "ddp", "--pp", 2)
        self.assertEqual((row["tp"], row["dp"], row["pp"]), (4, 2, 2))
        self.assertGreater(row["layer_comm_s"], 0)
        self.assertIn("--tp: tp 2", self.refused("run", "-p", self.folder / "p.json", *CLUSTER, "-n", 16, "-s", "ddp", "--tp", 2))

    def test_a_profile_of_one_of_a_group_is_rescaled(self):
        before = json.loads(self.estimate("--tp", 4).read_text(encoding="utf-8"))
        printed = output("estimate", "--from", self.folder / "p.json", "--batch", 2, "--out", self.folder / "q.json")
        self.assertIn("tp 4", printed)
        after = json.loads((self.folder / "q.json").read_text(encoding="utf-8"))
        self.assertEqual(after["parallel"], before["parallel"])
        for old, new in zip(before["layers"], after["layers"]):
            self.assertEqual([2 * one["bytes"] for one in old.get("collectives", [])], [one["bytes"] for one in new.get("collectives", [])])

    def test_impossible_cuts_are_refused_at_their_flag(self):
        for flag, words in {"--tp": [*GPT2, "--tp", 3], "--cp": [*GPT2, "--cp", 3], "--sequence-parallel": [*GPT2, "--sequence-parallel"],
                            "--samples-per-second": [*GPT2, "--tp", 2, "--samples-per-second", 9]}.items():
            self.assertIn(f"command line: {flag}: ", self.refused("estimate", *words))
        self.assertTrue(self.refused("estimate", *GPT2, "--seq", 1023, "--tp", 8, "--sequence-parallel"))
        self.assertIn("--pp: ", self.refused("estimate", *GPT2, "--pp", 2))
        self.assertIn("--tp", self.refused("estimate", "--model", "resnet50", "--device", "h100", "--batch", 1, "--tp", 2))
        self.assertIn("--sequence-parallel", self.refused("estimate", "--from", "resnet50_k80_b16", "--batch", 1, "--sequence-parallel"))

    def test_a_speed_of_a_gpu_of_a_group_comes_back(self):
        setting = [*CLUSTER, "--workers", 16, "--strategy", "ddp", "--option", "pp=2", "--accumulate", 4]
        self.estimate("--tp", 4, "--samples-per-second", 3, *setting)
        row = self.json_of("run", "-p", self.folder / "p.json", *setting)
        self.assertAlmostEqual(row["samples_per_s_per_gpu"] / 3, 1, delta=1e-6)

    # --- mixtures of experts ------------------------------------------------------------------------------------------

    MIXTURE = {"family": "llama", "layers": 8, "hidden": 1024, "heads": 16, "kv_heads": 4, "ffn": 4096, "vocab": 32000, "positions": 1024,
               "experts": {"count": 12, "top_k": 2, "ffn": 512}}

    def test_groups_of_experts_are_searched(self):
        self.write("mixture.json", self.MIXTURE)
        search = ["recommend", "--model", self.folder / "mixture.json", "--device", "h100", *CLUSTER, "-n", 16, "--global-batch", 64, "--batch", 1,
                  "--recompute", "none", "--tp", 1, "--cp", 1, "--pp", 1, "--strategies", "fsdp2"]
        rows = self.json_of(*search)
        self.assertEqual(sorted(row.get("ep", 1) for row in rows), [1, 2, 4])  # divisors of 12 and of 16
        for row in rows:
            again, ep = row["estimate"], row.get("ep", 1)
            self.assertEqual(again[again.index("--ep") + 1] if "--ep" in again else "1", str(ep))
            self.assertEqual(f"--parallelism.expert_parallel_degree {ep}" in row["settings"], ep > 1)
        self.assertEqual([row["ep"] for row in self.json_of(*search, "--ep", 2)], [2])
        self.assertIn("--ep: no layout is possible; the nearest fails because ep 5 does not divide 12 experts", self.refused(*search, "--ep", 5))
        self.assertIn("ep 8 does not divide 12 experts", self.refused(*search, "--ep", 8))
        self.assertIn("ep 6 does not divide 16 workers", self.refused(*search, "--ep", 6))

    def test_megatron_is_told_of_experts(self):
        self.write("mixture.json", self.MIXTURE)
        [row] = self.json_of("recommend", "--model", self.folder / "mixture.json", "--device", "h100", *CLUSTER, "-n", 16, "--global-batch", 64, "--batch", 1,
                             "--recompute", "none", "--tp", 1, "--cp", 1, "--pp", 1, "--ep", 4, "--strategies", "megatron")
        self.assertIn("--num-experts 12 --moe-router-topk 2 --moe-grouped-gemm --moe-token-dispatcher-type alltoall --expert-model-parallel-size 4", row["settings"])

    # --- samples of an iteration --------------------------------------------------------------------------------------

    def test_the_samples_of_an_iteration_say_how_many_micro_batches_there_are(self):
        profile = self.estimate()
        for workers, ranks, batches in ((8, 1, 8), (16, 1, 4), (16, 4, 16)):  # 64 samples, one at a time, on D replicas
            row = self.json_of("run", "-p", profile, *CLUSTER, "-n", workers, "-s", "ddp", "--pp", ranks, "--global-batch", 64)
            same = self.json_of("run", "-p", profile, *CLUSTER, "-n", workers, "-s", "ddp", "--pp", ranks, "--micro-batches", batches)
            self.assertEqual(row["iteration_s"], same["iteration_s"])
            self.assertEqual(row["options"]["accumulate"] if batches > 1 else "1", str(batches))
        base = ["run", "-p", profile, *CLUSTER, "-s", "ddp"]
        self.assertIn("--global-batch: 60 samples", self.refused(*base, "-n", 8, "--global-batch", 60))
        self.assertIn("--global-batch: ", self.refused(*base, "-n", 8, "--global-batch", 64, "--accumulate", 4))
        self.assertEqual(run(*base, "-n", 8, "--global-batch", 64, "--accumulate", 8).returncode, 0)
        table = self.folder / "t.csv"
        table.write_text("layer,params,forward_us,backward_us\na,10,1,2\n", encoding="utf-8")
        self.assertIn("--global-batch", self.refused("run", "-p", table, *CLUSTER, "-n", 8, "-s", "ddp", "--global-batch", 64))

    def test_a_sweep_keeps_them_over_numbers_of_workers(self):
        self.estimate()
        config = self.folder / "s.json"
        config.write_text(json.dumps({"profiles": [str(self.folder / "p.json")], "clusters": ["h100x8-8x400gbps"], "workers": [8, 32],
                                      "strategies": [{"name": "ddp", "global_batch": 64}]}), encoding="utf-8")
        output("sweep", config, "--out", self.folder / "s.csv")
        text = (self.folder / "s.csv").read_text(encoding="utf-8")
        self.assertIn("accumulate=8", text)
        self.assertIn("accumulate=2", text)

    # --- side by side -------------------------------------------------------------------------------------------------

    def test_schedules_and_ranks_side_by_side(self):
        profile = self.estimate()
        words = ["compare", "-p", profile, *CLUSTER, "-n", 16, "-s", "ddp", "--pp", "2,4", "--schedule", "1f1b,zbv", "--global-batch", 64]
        rows = self.json_of(*words)
        self.assertEqual([(row["pp"], row["schedule"]) for row in rows], [(2, "1f1b"), (2, "zbv"), (4, "1f1b"), (4, "zbv")])
        for row in rows:  # each is run's
            alone = self.json_of("run", "-p", profile, *CLUSTER, "-n", 16, "-s", "ddp", "--pp", row["pp"], "--schedule", row["schedule"], "--global-batch", 64)
            for key in ("iteration_s", "bubble_s", "exposed_dp_s", "exposed_p2p_s", "memory_bytes", "samples_per_s", "options"):
                self.assertEqual(row[key], alone[key], key)
        screen = output(*words)
        for words_there in ("bubble", "exposed", "memory", "pp 2, 1f1b", "pp 4, zbv"):
            self.assertIn(words_there, " ".join(screen.split()))

    def test_without_a_pipeline_schedules_are_one_row(self):
        profile = self.estimate()
        words = ["compare", "-p", profile, *CLUSTER, "-n", 16, "-s", "ddp", "--pp", "1,2", "--schedule", "1f1b,gpipe", "--micro-batches", 4]
        self.assertEqual([row.get("pp", 1) for row in self.json_of(*words)], [1, 2, 2])
        screen = output(*words)
        self.assertIn("\ndata parallel ", screen)
        self.assertIn("samples/s", " ".join(screen.split()))

    def test_efficiency_is_over_as_many_samples(self):
        """16 workers over those of the node on which it fits: GPU-seconds of the same 64 samples."""
        profile = self.estimate()
        words = ["-p", profile, *CLUSTER, "-s", "ddp", "--pp", 2, "--memory", "30GB"]
        row, = self.json_of("compare", *words, "-n", 16, "--global-batch", 64)
        fewer = row["reference_workers"]
        self.assertTrue(1 < fewer < 16)
        seconds = [count * self.json_of("run", *words, "-n", count, "--global-batch", 64)["iteration_s"] for count in (fewer, 16)]
        self.assertAlmostEqual(row["relative_efficiency"], seconds[0] / seconds[1], places=9)

    def test_who_wins_is_who_does_most_samples_a_second(self):
        # With as many micro-batches on fewer replicas an iteration is shorter, and does less.
        profile = self.estimate()
        words = ["compare", "-p", profile, *CLUSTER, "-n", 16, "-s", "ddp", "--pp", "1,8", "--micro-batches", 8]
        rows = {row.get("pp", 1): row for row in self.json_of(*words)}
        self.assertGreater(rows[1]["samples_per_s"], rows[8]["samples_per_s"])
        self.assertGreater(rows[1]["iteration_s"], rows[8]["iteration_s"])

    # --- what is searched ---------------------------------------------------------------------------------------------

    def test_every_layout_that_is_recommended_comes_back_by_its_words(self):
        rows = self.json_of("recommend", "--model", "gpt2-medium", "--device", "h100", *CLUSTER, "--workers", 16, "--global-batch", 64,
                            "--budget", 12)
        self.assertEqual(len(rows), 12)
        fitting = [row for row in rows if row["fits"]]
        self.assertEqual(fitting, rows[:len(fitting)])
        roomy = [row for row in fitting if row["memory_bytes"] <= 0.9 * 81079 * 2**20]  # of an H100
        self.assertLessEqual(fitting[0]["iteration_s"], 1.02 * min(row["iteration_s"] for row in roomy))
        self.assertEqual({row["framework"] for row in rows}, {"Megatron-LM", "torchtitan"})
        for row in [*rows[:4], *[next(row for row in rows if row["framework"] == name) for name in ("Megatron-LM", "torchtitan")]]:
            words = [str(self.folder / word) if word.endswith(".json") else word for word in row["estimate"]]
            output("estimate", *words, "--force")
            again = self.json_of("run", *(str(self.folder / word) if word.endswith(".json") else word for word in row["run"]))
            self.assertEqual(again["iteration_s"], row["iteration_s"])
            self.assertEqual(again["memory_bytes"], row["memory_bytes"])

    def test_a_known_speed_is_that_of_the_passes_of_every_layout(self):
        """The efficiency that is found gives the passes of one GPU the speed, to the six digits that are printed; what is
        printed gives the row again."""
        given = ["--model", "gpt2-medium", "--device", "h100", *CLUSTER, "-n", 16, "--global-batch", 32, "--tp", 1, "--pp", 1, "--batch", 2,
                 "--recompute", "none", "--strategies", "fsdp2", "--budget", 4]
        for words, tokens_per_s in ((["--tokens-per-second", 30000], 30000), (["--mfu", "30%"], None)):
            with self.subTest(words=words):
                row = self.json_of("recommend", *given, *words)[0]
                self.assertIn("--efficiency", row["estimate"])
                estimate = [str(self.folder / word) if word.endswith(".json") else word for word in row["estimate"]]
                output("estimate", *estimate, "--force")
                profile = json.loads(Path(estimate[-1]).read_text(encoding="utf-8"))
                passes = 1e-6 * sum(layer["forward"] + layer["backward"] for layer in profile["layers"])
                speed = 2 * profile["tokens_per_sample"] / passes
                peak = 989.4e12  # of H100 in bf16, dense, as models/devices/h100.json has it
                if tokens_per_s:
                    self.assertAlmostEqual(speed / tokens_per_s, 1, delta=1e-5)
                else:
                    self.assertAlmostEqual(2 * profile["flops_per_sample"] / passes / peak, 0.3, delta=3e-5)
                replayed = self.json_of("run", *[str(self.folder / word) if word.endswith(".json") else word for word in row["run"]])
                self.assertEqual(replayed["iteration_s"], row["iteration_s"])

    def test_a_known_speed_that_cannot_be(self):
        given = ["--model", "gpt2-medium", "--device", "h100", *CLUSTER, "-n", 16]
        self.assertIn("--mfu: ", self.refused("recommend", *given, "--mfu", "95%"))
        self.assertIn("--tokens-per-second: ", self.refused("recommend", *given, "--tokens-per-second", "30000@1,40000@4"))
        self.assertIn("--mfu: ", self.refused("recommend", "--profile", "resnet50_k80_b16", "--cluster", "k80-10gbe", "--mfu", "40%"))
        self.assertIn("--efficiency: ", self.refused("estimate", *GPT2, "--efficiency", "120%"))
        self.assertIn("--efficiency: ", self.refused("estimate", *GPT2, "--efficiency", "60%", "--mfu", "40%"))

    def test_the_printed_commands_give_the_first_row(self):
        """As they stand below the table, pasted into a shell."""
        asked = ["recommend", "--model", "gpt2-medium", "--device", "h100", *CLUSTER, "--workers", 16, "--global-batch", 64, "--budget", 6]
        for strategy in ("megatron", "fsdp2"):
            row = self.json_of(*asked, "--strategies", strategy)[0]
            text = output(*asked, "--strategies", strategy).split("To repeat the first row:\n")[1]
            make, replay = (pasted(command) for command in re.findall(r"^    (allreplay (?:.*\\\n)*.*)$", text, re.M)[:2])
            self.assertEqual((make[0], replay[0]), ("estimate", "run"))
            output(*make, cwd=self.folder)
            again = answer(*replay, cwd=self.folder)
            for key in ("iteration_s", "memory_bytes", "straggler_s", "exposed_comm_s", "mfu"):
                self.assertEqual(again[key], row[key], key)

    def test_gradients_are_reduced_in_the_framework_s_own_type(self):
        """In fp32 by both, as Megatron-LM's --bf16 and torchtitan's mixed_precision_reduce have it; in bf16 where it is asked for, which saves two bytes
        of each gradient, and which torchtitan has no word for."""
        asked = ["recommend", "--model", "gpt2-medium", "--device", "h100", *CLUSTER, "--workers", 16, "--global-batch", 64, "--pp", 1, "--tp", 1, "--cp", 1,
                 "--batch", 1, "--recompute", "none"]
        own = {row["strategy"]: row for row in self.json_of(*asked)}
        self.assertEqual(set(own), {"megatron", "fsdp2"})
        for row in own.values():
            self.assertEqual(row["options"]["gradient_dtype"], "fp32")
            self.assertIn("gradient_dtype=fp32", row["run"])
        self.assertNotIn("grad-reduce-in-bf16", own["megatron"]["settings"])
        self.assertIn("--training.mixed_precision_param bfloat16 --training.mixed_precision_reduce float32", own["fsdp2"]["settings"])
        self.assertNotIn("digits", output(*asked, env=WIDE))
        short = {row["strategy"]: row for row in self.json_of(*asked, "--option", "gradient_dtype=bf16")}
        self.assertIn("--grad-reduce-in-bf16", short["megatron"]["settings"])
        self.assertEqual((short["fsdp2"]["framework"], short["fsdp2"]["settings"]), (None, None))
        # gpt2-medium: 354,823,168 elements, of which megatron holds a gradient each.
        self.assertEqual(own["megatron"]["memory"]["gradients"] - short["megatron"]["memory"]["gradients"], 2 * 354_823_168)
        self.assertLess(short["megatron"]["memory_bytes"], own["megatron"]["memory_bytes"])

    def test_layers_that_do_not_divide_leave_the_ends_shorter(self):
        """126 layers on 16 ranks, as Llama 3 405B was trained: 7, 14 times 8, 7. A block has 9 layers of the profile, the embedding 1, the end 2."""
        words = ["recommend", "--model", "llama3-405b", "--device", "h100", *CLUSTER, "--workers", 1024, "--budget", 8]
        for strategy, flags in (("megatron", ["--account-for-embedding-in-pipeline-split --account-for-loss-in-pipeline-split"]),
                                 ("fsdp2", ["pipeline_parallel_layers_per_stage 8 ", "first_stage_less_layers 1 ", "last_stage_less_layers 1 "])):
            row = answer(*words, "--strategies", strategy, "--pp", 16, "--schedule", "1f1b", "--recompute", "full")[0]
            self.assertTrue(row["fits"])
            stages = [int(one) for one in re.split("[=,/]", next(word for word in row["run"] if word.startswith("stages=")))[1:]]
            each = stages[1] // 8
            self.assertEqual(stages[1:-1], [8 * each] * 14)
            self.assertEqual((stages[0] // each, stages[-1] // each), (7, 7))
            for flag in flags:
                self.assertIn(flag, row["settings"])

    def test_a_tenth_of_the_memory_stays_free(self):
        words = ["recommend", "--model", "llama3-8b", "--device", "h100", *CLUSTER, "--workers", 8, "--global-batch", 8, "--pp", 1, "--tp", 1, "--cp", 1,
                 "--strategies", "fsdp2"]
        limit = 81079 * 2**20
        rows = self.json_of(*words)
        self.assertTrue(rows[0]["fits"])
        needs = rows[0]["memory_bytes"]
        # With just so much memory it fits, but leaves nothing free: what needs less wins, whatever it takes.
        tight = self.json_of(*words, "--memory", f"{needs / 1e9 * 1.01:.2f}GB")
        self.assertLess(tight[0]["memory_bytes"], 0.9 * 1.01 * needs)
        self.assertGreater(tight[0]["iteration_s"], rows[0]["iteration_s"])
        self.assertIn("--headroom", output(*words, "--memory", f"{needs / 1e9 * 1.01:.2f}GB", env=WIDE))
        free = self.json_of(*words, "--memory", f"{needs / 1e9 * 1.01:.2f}GB", "--headroom", "0%", "--tie", "0")
        self.assertLess(free[0]["iteration_s"], tight[0]["iteration_s"])
        self.assertLess(needs, limit)
        self.assertIn("--headroom: ", self.refused(*words, "--headroom", 2))

    def test_given_values_are_not_searched(self):
        rows = self.json_of("recommend", "--model", "gpt2-medium", "--device", "h100", *CLUSTER, "--workers", 16, "--global-batch", 64,
                            "--budget", 4, "--pp", 2, "--schedule", "zbv", "--batch", 2, "--recompute", "full", "--tp", 2)
        for row in rows:
            self.assertEqual((row["pp"], row["tp"], row["schedule"], row["micro_batch"], row["recompute"]), (2, 2, "zbv", 2, "full"))
            self.assertIn("ZBVZeroBubble", row["settings"])

    def test_frameworks_can_run_the_simulated_layouts(self):
        """24 blocks of 7 layers, 2 before and 2 behind them: chunks of equally many blocks, in torchtitan's words and
        Megatron-LM's too."""
        rows = self.json_of("recommend", "--model", "gpt2-medium", "--device", "h100", *CLUSTER, "--workers", 16, "--global-batch", 64,
                            "--budget", 60, "--pp", 4, "--recompute", "none", "--batch", 1)
        self.assertIn("zb-h1", {row["schedule"] for row in rows})
        for row in rows:
            chunks = 4 * row["chunks"]
            stages = next(word for word in row["run"] if word.startswith("stages="))
            each = 24 // chunks * 7
            self.assertEqual([int(one) for one in re.split("[=,/]", stages)[1:]], [each + 2, *[each] * (chunks - 2), each + 2])
            words = row["settings"]
            if row["framework"] != "torchtitan":
                continue
            # ceil((layers + first + last) / layers per stage) stages, a multiple of pp, one or several as the schedule has
            self.assertIn("first_stage_less_layers 0", words)
            self.assertIn("last_stage_less_layers 0", words)
            self.assertIn(f"layers_per_stage {24 // chunks} ", words)
            self.assertEqual(row["chunks"] > 1, "schedule 1F1B" not in words)

    def test_layouts_that_no_framework_supports_are_left_out(self):
        """24 blocks make no 32 chunks, and no 16 of as many each: pp 8 with one chunk alone."""
        rows = self.json_of("recommend", "--model", "gpt2-medium", "--device", "h100", *CLUSTER, "--workers", 16, "--global-batch", 64,
                            "--budget", 40, "--pp", 8, "--recompute", "none")
        self.assertEqual({(row["schedule"], row["chunks"]) for row in rows}, {("1f1b", 1)})
        model = ["recommend", "--model", "gpt2-medium", "--device", "h100", *CLUSTER, "--workers", 16, "--global-batch", 64]
        self.assertIn("--pp: ", self.refused(*model, "--pp", 16))
        # Three samples go one after another through one replica, but not onto 16.
        self.assertEqual(run(*model[:-1], 3, "--budget", 1).returncode, 0)
        self.assertIn("--global-batch: ", self.refused(*model[:-1], 3, "--pp", 1, "--tp", 1, "--cp", 1))
        self.assertIn("--tp: ", self.refused(*model, "--tp", 3))
        self.assertIn("--schedule: megatron", self.refused(*model, "--strategies", "megatron", "--schedule", "zbv", "--pp", 2))

    def test_if_nothing_fits_a_remedy_is_named(self):
        """What is said to fit does, when it is asked for so."""
        model = ["recommend", "--model", "llama3-70b", "--device", "h100", *CLUSTER, "--budget", 40]
        line = self.refused(*model, "--workers", 8, "--global-batch", 8)
        smallest, workers, room = re.search(r"--device: none of the 40 simulated of \d+ layouts fits into 85.02 GB: the smallest, (.*), needs .*"
                                            r"\((\d+) workers, with which .* fits; or ([\d.]+ GB) a worker\)$", line).groups()
        # 70.55 billion parameters, each with a weight of two bytes, a gradient of four and 12 of state, on eight GPUs: 158.7 GB.
        self.assertTrue(158.73 < float(room.split()[0]) < 163, room)
        self.assertRegex(smallest, "recompute full")
        self.assertEqual(int(workers) % 8, 0)
        self.assertTrue(self.json_of(*model, "--workers", workers, "--global-batch", workers)[0]["fits"])
        more = f"{float(room.split()[0]) + 1}GB"
        self.assertTrue(self.json_of(*model, "--workers", 8, "--global-batch", 8, "--memory", more)[0]["fits"])

    def test_samples_that_no_layout_divides_are_answered_with_some_that_one_does(self):
        words = ["recommend", "--model", "llama3-8b", "--device", "h100", "--cluster", "h100x8-8x400gbps", "--workers", 24, "--global-batch"]
        self.assertIn("24", refusal(*words, 1000).split("(")[-1])

    def test_where_flags_leave_nothing_that_fits_they_are_named(self):
        words = ["recommend", "--model", "llama3-8b", "--device", "h100", *CLUSTER, "--workers", 8, "--global-batch", 8]
        line = self.refused(*words, "--pp", 1, "--tp", 1, "--cp", 1, "--recompute", "none", "--strategies", "megatron", "--memory", "40GB")
        self.assertIn("--memory: ", line)
        self.assertNotIn(".json", line)

    def test_few_rows_replayed_in_parts_are_the_same(self):
        """The table replays its rows alone a second time; JSON has all of them in parts at once."""
        words = ["recommend", "--model", "gpt2-medium", "--device", "h100", *CLUSTER, "--workers", 16, "--global-batch", 64, "--budget", 16,
                 "--pp", 4]
        row = self.json_of(*words)[0]
        table = output(*words, env=WIDE).split("\n-----")[1].splitlines()[1].split()
        self.assertEqual(table[-6], f"{100 * row['bubble_s'] / row['iteration_s']:.1f}", table)
        self.assertGreater(row["bubble_s"], 0)
        # Without a pipeline the stragglers' part is not that of gradients.
        words[words.index("--pp") + 1] = 1
        row = self.json_of(*words)[0]
        table = output(*words, env=WIDE).split("\n-----")[1].splitlines()[1].split()
        self.assertEqual(table[-5], f"{100 * row['straggler_s'] / row['iteration_s']:.1f}", table)
        self.assertGreater(row["straggler_s"], 0)

    def test_every_layout_that_a_sentence_names_is_in_the_table(self):
        model = ROOT / "docs" / "examples" / "configs" / "pretrain.sh"
        text = output("recommend", "--model", model, "--device", "h100", *CLUSTER, "--workers", 64, "--seq", 4096, "--global-batch", 256, "--budget", 20, env=WIDE)
        table, sentences = text.split("\nRun layout ")
        named = {int(place) for place in re.findall(r"layout (\d+)", "layout " + sentences)}
        self.assertGreater(max(named), 12)  # the fastest are there anyway
        self.assertLessEqual(named, {int(place) for place in re.findall(r"^ *(\d+) ", table, re.M)})

    def test_layouts_as_a_picture(self):
        words = ["recommend", "--model", "gpt2-medium", "--device", "h100", *CLUSTER, "--workers", 16, "--global-batch", 64, "--budget", 12]
        rows = self.json_of(*words, "--plot", self.folder / "p.svg", "--framework", "megatron")
        self.assertEqual({row["strategy"] for row in rows}, {"megatron"})
        picture = (self.folder / "p.svg").read_text(encoding="utf-8")
        for name in {f"megatron, {row['schedule']}" if row.get("pp", 1) > 1 else "megatron" for row in rows}:
            self.assertIn(f">{name}<", picture)
        self.assertIn("--plot: ", self.refused(*words, "--plot", self.folder / "p.txt"))
        self.assertIn("--framework: ", self.refused(*words, "--framework", "deepspeed"))

    def test_options_that_do_not_apply_to_a_model(self):
        model = ["recommend", "--model", "gpt2", *CLUSTER]
        for flag, words in {"--device": model, "--profile": [*model, "--device", "h100", "--profile", "resnet50_k80_b16"],
                            "--schedule": [*model, "--device", "h100", "--schedule", "gpipe"],
                            "--accumulate": [*model, "--device", "h100", "--accumulate", 2]}.items():
            self.assertIn(f"command line: {flag}: ", self.refused(*words))
        self.assertIn("--stages: ", self.refused(*model, "--device", "h100", "--stages", "equal"))
        self.assertIn("--device", self.refused("recommend", "--profile", "resnet50_k80_b16", *CLUSTER, "--device", "h100"))

    # --- what if ------------------------------------------------------------------------------------------------------

    def test_whatif_asks_of_ranks_schedules_recomputation_and_half_the_network(self):
        profile = self.estimate()
        answer = self.json_of("whatif", "-p", profile, *CLUSTER, "-n", 16, "-s", "ddp", "--pp", 4, "--global-batch", 64, "--budget", 1)
        rows = {row["change"]: row for row in answer["rows"]}
        for change in ("pp 8 instead of 4", "pp 2 instead of 4", "schedule zbv instead of 1f1b", "schedule interleaved instead of 1f1b",
                       "units recomputed", "network bandwidth /2"):
            self.assertIn(change, rows)
        for row in rows.values():
            again = self.json_of("run", *row["flags"])
            self.assertEqual(again["iteration_s"], row["iteration_s"], row["change"])
        self.assertFalse([one for one in answer["left_out"] if one.startswith("pytorch")])
        self.assertIn("the best data-parallel strategy", rows)
        pytorch = next(row for change, row in rows.items() if change.startswith("pytorch's best"))
        self.assertGreaterEqual(1.02 * (1 + pytorch["gain"]), 1 + rows["FSDP"]["gain"])  # to within the tie of 2 %
        # As many samples an iteration: what is gained is time.
        gain = answer["base"]["iteration_s"] / rows["pp 8 instead of 4"]["iteration_s"] - 1
        self.assertAlmostEqual(rows["pp 8 instead of 4"]["gain"], gain, places=9)

    def test_a_profile_computed_again_is_that_of_a_model_computed_again(self):
        plain, full = self.estimate(name="plain.json"), self.estimate("--recompute", "full", name="full.json")
        words = [*CLUSTER, "-n", 16, "-s", "ddp", "--pp", 2, "--micro-batches", 4]
        changed = self.json_of("run", "-p", plain, *words, "--recompute", "full")
        wanted = self.json_of("run", "-p", full, *words)
        # The two round to picoseconds at different places: of 300 layers, four times.
        self.assertAlmostEqual(changed["iteration_s"], wanted["iteration_s"], delta=300 * 4 * 1e-12)
        self.assertEqual(changed["memory_bytes"], wanted["memory_bytes"])
        self.assertIn("--recompute", self.refused("run", "-p", full, *words, "--recompute", "full"))
        some = self.estimate("--recompute", "selective", name="some.json")
        self.assertTrue(self.refused("run", "-p", some, *words, "--recompute", "full"))
        self.assertEqual([json.loads(file.read_text(encoding="utf-8")).get("recompute") for file in (plain, full, some)], [None, "full", "selective"])
        self.assertIn("--recompute", self.refused("run", "-p", "resnet50_k80_b16", *words, "--recompute", "full"))


if __name__ == "__main__":
    unittest.main()
