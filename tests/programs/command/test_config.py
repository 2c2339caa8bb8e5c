#!/usr/bin/env python3
"""--config: users' own configurations in `run`, `compare`, `recommend`, `whatif` and `judge`, and the round trip of what
`recommend` prints. Run: python3 tests/programs/command/test_config.py
"""

import json
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from program import ROOT, Case, answer, needs_program, output, place_of, refusal, run, success  # noqa: E402

SAMPLES = ROOT / "docs" / "examples" / "configs"
ON_H100 = ["--device", "h100", "--cluster", "h100x8-8x400gbps"]
LLAMA = ["--model", "llama3-8b", *ON_H100]
# Each sample with what it leaves open, and the command line that it stands for.
EQUAL = [
    ("llama3_8b.toml", [], "--model llama3-8b --seq 8192 --batch 2 --global-batch 128 --tp 2 --sequence-parallel --strategy fsdp2 "
                           "--workers 64 --shard-group 8 --precision bf16 --gradient-dtype fp32 --recompute selective"),
    ("zero3.json", ["--model", "llama2-7b"],
     "--strategy zero-3 --reduce-bucket 16777216 --prefetch-bucket 50000000 --persistence 100000 --max-live 1000000000 "
     "--max-reuse 1000000000 --overlap-comm true --precision bf16 --batch 4 --workers 64"),
    # 32 blocks in 8 chunks of 4: 10 layers each, an embedding before, norm and head after.
    ("pretrain.sh", ["--workers", 64],
     "--seq 4096 --batch 1 --global-batch 256 --tp 2 --sequence-parallel --pp 4 --strategy megatron --precision bf16 --gradient-dtype fp32 --overlap-param-gather true "
     "--chunks 2 --schedule interleaved --stages 41,40,40,40,40,40,40,42"),
    # GPT-2's blocks of 7 layers, 12 on each rank, behind two embeddings and before norm and head.
    ("megatron.log", [], "--seq 1024 --batch 4 --global-batch 64 --tp 2 --pp 2 --workers 16 --strategy megatron --precision bf16 "
                         "--gradient-dtype fp32 --overlap-param-gather false --p2p blocking --stages 86,86"),
    ("fsdp.yaml", ["--model", "llama2-7b", "--batch", 1, "--seq", 2048], "--strategy fsdp1 --precision bf16 --workers 32"),
    ("trainer.yaml", ["--workers", 16],
     f"--model {SAMPLES}/tiny-llama --batch 8 --micro-batches 4 --recompute full --precision bf16 --seq 2048 --strategy fsdp1"),
    ("tiny-llama", ["--batch", 2, "--strategy", "ddp"], f"--model {SAMPLES}/tiny-llama/config.json"),
]


def result(text):
    """What depends on the plan and the profile."""
    row = json.loads(text)
    return {key: value for key, value in row.items() if key not in ("wall_s", "profile", "model", "configs")}


@needs_program
class Config(Case):
    def test_a_configuration_is_the_command_line_that_it_stands_for(self):
        for name, given, flags in EQUAL:
            with self.subTest(name):
                words = flags.split()
                if "--model" not in words + given:
                    words += ["--model", str(SAMPLES / name)]
                own = success("run", "--config", SAMPLES / name, *ON_H100, *given, "--json")
                self.assertEqual(result(own.stdout), result(output("run", *words, *ON_H100, *given, "--json")))
                self.assertIn(name, own.stderr)

    def test_commands_take_every_format(self):
        """The slow ones, which simulate many variants, every other format."""
        for number, (name, given, _) in enumerate(EQUAL):
            slow = [("whatif", ["--budget", 1]), ("recommend", ["--budget", 2])][number % 2]
            for command, more in (("compare", []), slow, ("judge", ["--iteration", 1])):
                if command == "compare":
                    more = ["--strategies", "ddp" if name in ("zero3.json", "fsdp.yaml", "trainer.yaml", "tiny-llama") else "megatron,fsdp2"]
                words = [word for word in given if command in ("whatif", "judge") or word not in ("--strategy", "ddp")]
                with self.subTest(name=name, command=command):
                    self.assertTrue(answer(command, "--config", SAMPLES / name, *ON_H100, *words, *more))

    def test_the_command_line_wins_and_the_note_says_so(self):
        done = run("run", "--config", SAMPLES / "llama3_8b.toml", *ON_H100, "--tp", 4, "--workers", 32, "--json")
        self.assertEqual(json.loads(done.stdout)["tp"], 4)
        self.assertEqual(json.loads(done.stdout)["workers"], 32)
        note = next(line for line in done.stderr.splitlines() if "torchtitan" in line)
        self.assertRegex(note, "given otherwise: .*--tp")
        self.assertRegex(note, "ignored: .*job.description")

    def write(self, name, text):
        (self.folder / name).write_text(text, encoding="utf-8")
        return self.folder / name

    def test_json_lists_what_was_not_taken(self):
        file = self.write("c.toml", (SAMPLES / "llama3_8b.toml").read_text(encoding="utf-8").replace(
            'name = "AdamW"', 'name = "SGD"') + "\n[training.more]\nof_a_fork = 3\n")
        config, = answer("run", "--config", file, *ON_H100)["configs"]
        self.assertEqual(config["format"], "torchtitan")
        self.assertEqual(config["unknown"], ["training.more.of_a_fork"])
        self.assertIn("job.description", config["ignored"])
        self.assertTrue([text for text in config["not_simulated"] if text.startswith("optimizer.name")])
        self.assertIn("--seq 8192", config["taken"])

    def test_a_misspelt_key_is_an_error_at_its_place(self):
        for name, right, wrong in (("llama3_8b.toml", "tensor_parallel_degree", "tensor_paralel_degree"), ("zero3.json", "overlap_comm", "overlap_coms"),
                                   ("pretrain.sh", "tensor-model-parallel-size", "tensor-model-paralel-size"),
                                   ("fsdp.yaml", "fsdp_sharding_strategy", "fsdp_sharding_stategy")):
            with self.subTest(wrong):
                text = (SAMPLES / name).read_text(encoding="utf-8")
                self.assertIn(right, text)
                error = refusal("run", "--config", self.write(name, text.replace(right, wrong)), *LLAMA, "--batch", 1, "--workers", 64)
                self.assertIn(f"{name}: line" if name != "zero3.json" else name, place_of(error.splitlines(True)[-1]))
                for word in (wrong, right):
                    self.assertIn(word, error.splitlines()[-1])

    def test_a_number_of_a_model_that_is_wrong_is_named_by_its_argument(self):
        file = self.write("gpt.sh", "x --num-layers 2 --hidden-size 64 --num-attention-heads 5 --vocab-size 64 --seq-length 32 --bf16 --micro-batch-size 1\n")
        for words in (["run", "--config", file, *ON_H100, "--workers", 8], ["estimate", "--model", file, "--device", "h100", "--batch", 1]):
            self.assertIn("gpt.sh: line 1: --num-attention-heads: ", refusal(*words))

    def test_a_trainer_file_without_fsdp_chooses_no_strategy(self):
        trainer = self.write("t.yaml", "per_device_train_batch_size: 2\nbf16: true\nmax_seq_length: 2048\nmodel_name_or_path: meta-llama/Meta-Llama-3-8B\n")
        own = ["run", "--config", trainer, *ON_H100, "--json"]
        row = json.loads(output(*own, "--config", SAMPLES / "fsdp.yaml"))
        self.assertEqual((row["strategy"], row["profile"].split("_")[0]), ("fsdp1", "llama3-8b"))
        self.assertEqual(json.loads(output(*own, "--workers", 16))["strategy"], "ddp")

    def test_a_hybrid_without_machines_shards_in_nodes(self):
        file = self.write("h.json", '{"per_device_train_batch_size": 2, "bf16": true, "fsdp": "hybrid_shard auto_wrap"}')
        config, = answer("run", "--config", file, *LLAMA, "--seq", 2048, "--workers", 16)["configs"]
        self.assertIn("--shard-group 8", config["taken"])

    def test_a_script_reads_the_file_that_it_names(self):
        (self.folder / "configs").mkdir()
        self.write("configs/c.toml", (SAMPLES / "llama3_8b.toml").read_text(encoding="utf-8"))
        script = self.write("run.sh", "torchrun -m torchtitan.train --job.config_file ./configs/c.toml --training.local_batch_size 1\n")
        words = ["run", *ON_H100, "--json"]
        row = json.loads(output(*words, "--config", script))
        self.assertEqual(result(json.dumps(row)), result(output(*words, "--config", SAMPLES / "llama3_8b.toml", "--batch", 1)))
        both = json.loads(output(*words, "--config", script, "--config", self.folder / "configs" / "c.toml"))
        self.assertEqual(row["iteration_s"], both["iteration_s"])

    def test_a_mixture_of_experts_is_read_from_arguments(self):
        file = self.write("moe.sh", "x --num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 --num-attention-heads 32 --group-query-attention "
                          "--num-query-groups 8 --swiglu --position-embedding-type rope --disable-bias-linear --untie-embeddings-and-output-weights "
                          "--vocab-size 32000 --max-position-embeddings 32768 --num-experts 8 --moe-router-topk 2 --moe-grouped-gemm "
                          "--moe-token-dispatcher-type alltoall --seq-length 4096 --micro-batch-size 1 --bf16 --use-distributed-optimizer "
                          "--expert-model-parallel-size 8 --pipeline-model-parallel-size 4 --num-virtual-stages-per-pipeline-rank 2 --global-batch-size 64 "
                          "--overlap-grad-reduce --overlap-param-gather --overlap-moe-expert-parallel-comm\n")
        words = ["run", "--config", file, *ON_H100, "--workers", 32, "--json"]
        row, mixtral = json.loads(output(*words)), json.loads(output(*words, "--model", "mixtral-8x7b"))
        self.assertEqual(row["iteration_s"], mixtral["iteration_s"])
        self.assertIn("--ep-overlap true", row["configs"][0]["taken"])
        self.assertEqual(row["configs"][0]["not_simulated"], [])

    def test_names_of_the_hub(self):
        words = ["run", "--device", "h100", "--batch", 1, "--cluster", "h100x8-8x400gbps", "--strategy", "ddp", "--json", "--model"]
        for hub, own in (("meta-llama/Llama-3.1-8B-Instruct", "llama3-8b"), ("mistralai/Mixtral-8x7B-Instruct-v0.1", "mixtral-8x7b")):
            self.assertEqual(json.loads(output(*words, hub, "--seq", 1024))["profile"], json.loads(output(*words, own, "--seq", 1024))["profile"])
        done = run(*words, "meta-llama/Llama-3.2-1B")
        self.assertEqual((done.returncode, place_of(done.stderr)), (2, "command line: --model"))
        self.assertNotIn("did you mean", done.stderr)

    def test_options_of_other_commands_are_said_to_be_theirs(self):
        for command, option, owner in (("run", "--lora", "estimate"), ("run", "--freeze", "estimate"), ("import", "--force", "estimate")):
            done = run(command, option, 8)
            self.assertEqual((done.returncode, place_of(done.stderr)), (2, f"command line: {option}"))
            self.assertIn(owner, done.stderr)

    def test_what_is_simulated_as_something_else_is_not_left_out(self):
        file = self.folder / "c.toml"
        file.write_text("[training]\nseq_len = 8192\nlocal_batch_size = 1\n[activation_checkpoint]\nmode = 'selective'\n", encoding="utf-8")
        done = success("run", "--config", file, *LLAMA, "--strategy", "fsdp2", "--json")
        self.assertIn("selective_ac_option", done.stderr)
        self.assertNotIn("not simulated", done.stderr)

    def test_two_files_add_up_and_contradictions_are_refused(self):
        both = ["run", "--config", SAMPLES / "zero3.json", "--config", SAMPLES / "tiny-llama", *ON_H100, "--seq", 2048]
        self.assertEqual(answer(*both)["strategy"], "zero-3")
        error = refusal("run", "--config", SAMPLES / "zero3.json", "--config", SAMPLES / "fsdp.yaml", *ON_H100)
        self.assertIn("fsdp.yaml", place_of(error.splitlines(True)[-1]))

    def test_errors_name_the_place_in_the_file(self):
        file = self.folder / "c.toml"
        file.write_text((SAMPLES / "llama3_8b.toml").read_text(encoding="utf-8").replace("tensor_parallel_degree = 2", "tensor_parallel_degree = 3"),
                        encoding="utf-8")
        done = run("run", "--config", file, *ON_H100)
        self.assertEqual(done.returncode, 2)
        self.assertIn("tensor_parallel_degree", done.stderr.splitlines()[-1])  # after a note

    def test_a_page_of_text_is_no_configuration(self):
        self.assertEqual(place_of(refusal("run", "--config", ROOT / "README.md", *LLAMA)), str(ROOT / "README.md"))

    def test_recommend_s_command_for_a_model_repeats_the_plan(self):
        seen = set()
        for more in (["--framework", "megatron"], ["--framework", "torchtitan"], ["--pp", 4, "--framework", "megatron"],
                     ["--pp", 2, "--framework", "torchtitan"]):
            rows = answer("recommend", *LLAMA, "--workers", 64, "--global-batch", 128, "--budget", 12, *more)
            for row in rows[:6]:
                if not row["settings"]:
                    continue
                file = self.folder / "settings.txt"
                file.write_text(row["settings"], encoding="utf-8")
                own = answer("run", "--config", file, *LLAMA, "--workers", 64)
                output("estimate", *row["estimate"], cwd=self.folder)
                again = answer("run", *row["run"], cwd=self.folder)
                self.assertEqual(own["iteration_s"], again["iteration_s"], row["settings"])
                self.assertEqual(own["stages"] if row.get("pp", 1) > 1 else 0, again["stages"] if row.get("pp", 1) > 1 else 0)
                seen.add((row["framework"], row.get("pp", 1) > 1))
        self.assertEqual(seen, {(framework, pipeline) for framework in ("Megatron-LM", "torchtitan") for pipeline in (False, True)})

    def test_recommend_ranks_the_layout_of_the_file(self):
        words = ["recommend", "--config", SAMPLES / "llama3_8b.toml", *ON_H100, "--budget", 4]
        rows = answer(*words)
        (place,) = [i for i, row in enumerate(rows) if row["yours"]]
        own = rows[place]
        self.assertEqual(own["tp"], 2)
        text = " ".join(output(*words).split())
        self.assertIn(f"Yours is layout {place + 1} (tp 2, 2 x 2 samples, recompute selective, fsdp2, shard_group=8", text)
        self.assertIn(f"layout 1 is {100 * (own['iteration_s'] / rows[0]['iteration_s'] - 1):.1f} % faster", text)
        # It stays the file's where the search is restricted, and is ranked last where it does not fit.
        small = answer(*words, "--strategies", "megatron", "--tp", 1, "--memory", "40GB")
        self.assertEqual([(row["yours"], row["tp"], row["fits"]) for row in small if row["strategy"] == "fsdp2"], [(True, 2, False)])
        self.assertTrue(small[-1]["yours"])
        self.assertNotIn("yours", answer("recommend", *LLAMA, "--budget", 1)[0])
        for name in ("llama3_8b.toml", "pretrain.sh", "megatron.log"):
            case = ["--config", SAMPLES / name, *ON_H100]
            (own,) = [row for row in answer("recommend", *case, "--budget", 2) if row["yours"]]
            for again in (answer("run", *case), answer("run", *own["run"])):
                self.assertEqual([own[key] for key in ("iteration_s", "memory_bytes")], [again[key] for key in ("iteration_s", "memory_bytes")])

    def test_a_layout_that_was_tried_anyway_is_not_there_twice(self):
        for framework in ("megatron", "torchtitan"):
            words = ["--workers", 64, "--global-batch", 128, "--budget", 8, "--framework", framework]
            first = answer("recommend", *LLAMA, *words)[0]
            file = self.folder / "settings.txt"
            file.write_text(first["settings"], encoding="utf-8")
            rows = answer("recommend", "--config", file, *LLAMA, *words)
            self.assertEqual(len(rows), 8)
            self.assertEqual([row["iteration_s"] for row in rows if row["yours"]], [first["iteration_s"]])

    def test_a_layout_that_cannot_be_compared_is_said_to_be_left_out(self):
        done = success("recommend", "--config", SAMPLES / "llama3_8b.toml", *ON_H100, "--budget", 1, "--mfu", "40%")
        self.assertRegex(" ".join(done.stderr.split()), "your own layout is left out: .*measured speed")
        file = self.folder / "c.toml"
        file.write_text((SAMPLES / "llama3_8b.toml").read_text(encoding="utf-8").replace("tensor_parallel_degree = 2", "tensor_parallel_degree = 3"),
                        encoding="utf-8")
        done = success("recommend", "--config", file, *ON_H100, "--workers", 64, "--budget", 1)
        self.assertIn("your own layout is left out: ", " ".join(done.stderr.split()))

    def test_recommend_s_command_for_a_profile_repeats_the_plan(self):
        setting = ["--profile", "resnet50_k80_b16", "--cluster", "k80-10gbe", "--workers", 16]
        rows = answer("recommend", *setting, "--budget", 4)
        rows += answer("recommend", *setting, "--budget", 4, "--strategies", "local-sgd,diloco")
        frameworks = set()
        for row in rows:
            # No framework has a setting for these: a plan, code for buckets, a number in a paper.
            if row["framework"] in (None, "us-byte", "dear") or row["settings"].startswith(("no flags", "the plan of", "# ")):
                continue
            file = self.folder / ("settings.json" if row["settings"].startswith("{") else "settings.txt")
            file.write_text(row["settings"], encoding="utf-8")
            own = answer("run", "--config", file, *setting)
            self.assertEqual(own["strategy"], row["strategy"])
            self.assertEqual(own["iteration_s"], row["iteration_s"], row["settings"])
            frameworks.add(row["framework"])
        self.assertLessEqual({"torchft", "torchtitan", "pytorch", "composer", "deepspeed", "megatron", "horovod", "byteps", "bytescheduler", "mxnet-p3"}, frameworks)

    def test_a_model_instead_of_a_profile_equals_its_estimate(self):
        words = ["--model", "llama3-8b", "--device", "h100", "--batch", 2, "--seq", 4096, "--tp", 2, "--sequence-parallel",
                 "--recompute", "full"]
        output("estimate", *words, "--out", self.folder / "p.json")
        own = answer("run", *words, "--cluster", "h100x8-8x400gbps", "--strategy", "ddp")
        again = answer("run", "--profile", self.folder / "p.json", "--cluster", "h100x8-8x400gbps", "--strategy", "ddp")
        self.assertEqual(own["iteration_s"], again["iteration_s"])
        self.assertEqual(own["memory_bytes"], again["memory_bytes"])
        for missing, place in (("--device", "--device"), ("--batch", "--batch")):
            at = words.index(missing)
            done = run("run", *words[:at], *words[at + 2:], "--cluster", "h100x8-8x400gbps", "--strategy", "ddp")
            self.assertEqual((done.returncode, place_of(done.stderr)), (2, f"command line: {place}"))

    def test_rows_of_whatif_are_commands_for_a_model_too(self):
        answer = json.loads(output("whatif", *LLAMA, "--batch", 1, "--seq", 2048, "--workers", 16, "--strategy", "fsdp2", "--budget", 1, "--json"))
        batch = next(row for row in answer["rows"] if row["change"].startswith("batch 2"))
        self.assertEqual(json.loads(output("run", *batch["flags"], "--json"))["iteration_s"], batch["iteration_s"])


if __name__ == "__main__":
    unittest.main()
