#!/usr/bin/env python3
"""--config: users' own configurations in `run`, `compare`, `recommend`, `whatif` and `judge`, and the round trip of what
`recommend` prints. Run: python3 tests/programs/command/test_config.py
"""

import json
import shlex
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import program  # noqa: E402
from program import ROOT, output, place_of, run  # noqa: E402

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
    return {key: value for key, value in row.items() if key not in ("wall_s", "profile", "model")}


@program.needs_program
class Config(program.Case):
    def test_a_configuration_is_the_command_line_that_it_stands_for(self):
        for name, given, flags in EQUAL:
            with self.subTest(name):
                words = flags.split()
                if "--model" not in words + given:
                    words += ["--model", str(SAMPLES / name)]
                own = run("run", "--config", SAMPLES / name, *ON_H100, *given, "--json")
                self.assertEqual(own.returncode, 0, own.stderr)
                self.assertEqual(result(own.stdout), result(output("run", *words, *ON_H100, *given, "--json")))
                self.assertIn(name, own.stderr)

    def test_every_command_takes_every_format(self):
        for name, given, _ in EQUAL:
            for command, more in (("compare", []), ("whatif", ["--budget", 1]), ("recommend", ["--budget", 2]), ("judge", ["--iteration", 1])):
                if command == "compare":
                    more = ["--strategies", "ddp" if name in ("zero3.json", "fsdp.yaml", "trainer.yaml", "tiny-llama") else "megatron,fsdp2"]
                words = [word for word in given if command in ("whatif", "judge") or word not in ("--strategy", "ddp")]
                with self.subTest(name=name, command=command):
                    done = run(command, "--config", SAMPLES / name, *ON_H100, *words, *more, "--json")
                    self.assertEqual(done.returncode, 0, done.stderr)
                    self.assertTrue(json.loads(done.stdout))

    def test_the_command_line_wins_and_the_note_says_so(self):
        done = run("run", "--config", SAMPLES / "llama3_8b.toml", *ON_H100, "--tp", 4, "--workers", 32, "--json")
        self.assertEqual(json.loads(done.stdout)["tp"], 4)
        self.assertEqual(json.loads(done.stdout)["workers"], 32)
        note = next(line for line in done.stderr.splitlines() if "torchtitan" in line)
        self.assertRegex(note, "given otherwise: .*--tp")
        self.assertRegex(note, "ignored: .*job.description")

    def test_what_is_simulated_as_something_else_is_not_left_out(self):
        file = self.folder / "c.toml"
        file.write_text("[training]\nseq_len = 8192\nlocal_batch_size = 1\n[activation_checkpoint]\nmode = 'selective'\n", encoding="utf-8")
        done = run("run", "--config", file, *LLAMA, "--strategy", "fsdp2", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("selective_ac_option", done.stderr)
        self.assertNotIn("not simulated", done.stderr)

    def test_two_files_add_up_and_contradictions_are_refused(self):
        both = ["run", "--config", SAMPLES / "zero3.json", "--config", SAMPLES / "tiny-llama", *ON_H100, "--seq", 2048]
        self.assertEqual(json.loads(output(*both, "--json"))["strategy"], "zero-3")
        done = run("run", "--config", SAMPLES / "zero3.json", "--config", SAMPLES / "fsdp.yaml", *ON_H100)
        self.assertEqual(done.returncode, 2)
        self.assertIn("fsdp.yaml", place_of(done.stderr.splitlines(True)[-1]))

    def test_errors_name_the_place_in_the_file(self):
        file = self.folder / "c.toml"
        file.write_text((SAMPLES / "llama3_8b.toml").read_text(encoding="utf-8").replace("tensor_parallel_degree = 2", "tensor_parallel_degree = 3"),
                        encoding="utf-8")
        done = run("run", "--config", file, *ON_H100)
        self.assertEqual(done.returncode, 2)
        self.assertIn("tensor_parallel_degree", done.stderr.splitlines()[-1])

    def test_a_page_of_text_is_no_configuration(self):
        done = run("run", "--config", ROOT / "README.md", *LLAMA)
        self.assertEqual(done.returncode, 2)
        self.assertEqual(place_of(done.stderr), str(ROOT / "README.md"))

    def test_what_recommend_prints_for_a_model_is_the_same_plan_again(self):
        seen = set()
        for more in (["--framework", "megatron"], ["--framework", "torchtitan"], ["--pp", 4, "--framework", "megatron"],
                     ["--pp", 2, "--framework", "torchtitan"]):
            rows = json.loads(output("recommend", *LLAMA, "--workers", 64, "--global-batch", 128, "--budget", 12, *more, "--json"))
            for row in rows[:6]:
                if not row["settings"]:
                    continue
                file = self.folder / "settings.txt"
                file.write_text(row["settings"], encoding="utf-8")
                own = run("run", "--config", file, *LLAMA, "--workers", 64, "--json")
                self.assertEqual(own.returncode, 0, own.stderr)
                output("estimate", *row["estimate"], cwd=self.folder)
                again = json.loads(output("run", *row["run"], "--json", cwd=self.folder))
                self.assertEqual(json.loads(own.stdout)["iteration_s"], again["iteration_s"], row["settings"])
                self.assertEqual(json.loads(own.stdout)["stages"] if row.get("pp", 1) > 1 else 0, again["stages"] if row.get("pp", 1) > 1 else 0)
                seen.add((row["framework"], row.get("pp", 1) > 1))
        self.assertEqual(seen, {(framework, pipeline) for framework in ("Megatron-LM", "torchtitan") for pipeline in (False, True)})

    def test_what_recommend_prints_for_a_profile_is_the_same_plan_again(self):
        setting = ["--profile", "resnet50_k80_b16", "--cluster", "k80-10gbe", "--workers", 16]
        rows = json.loads(output("recommend", *setting, "--budget", 4, "--json"))
        rows += json.loads(output("recommend", *setting, "--budget", 4, "--strategies", "local-sgd,diloco", "--json"))
        frameworks = set()
        for row in rows:
            # No framework has a setting for these: a plan, code for buckets, a number in a paper.
            if row["framework"] in (None, "us-byte", "dear") or row["settings"].startswith(("no flags", "the plan of", "# ")):
                continue
            file = self.folder / ("settings.json" if row["settings"].startswith("{") else "settings.txt")
            file.write_text(row["settings"], encoding="utf-8")
            own = run("run", "--config", file, *setting, "--json")
            self.assertEqual(own.returncode, 0, own.stderr)
            self.assertEqual(json.loads(own.stdout)["strategy"], row["strategy"])
            self.assertEqual(json.loads(own.stdout)["iteration_s"], row["iteration_s"], row["settings"])
            frameworks.add(row["framework"])
        self.assertLessEqual({"torchft", "torchtitan", "pytorch", "composer", "deepspeed", "megatron", "horovod", "byteps", "bytescheduler", "mxnet-p3"}, frameworks)

    def test_a_model_instead_of_a_profile_is_what_estimate_writes(self):
        words = ["--model", "llama3-8b", "--device", "h100", "--batch", 2, "--seq", 4096, "--tp", 2, "--sequence-parallel",
                 "--recompute", "full"]
        output("estimate", *words, "--out", self.folder / "p.json")
        own = json.loads(output("run", *words, "--cluster", "h100x8-8x400gbps", "--strategy", "ddp", "--json"))
        again = json.loads(output("run", "--profile", self.folder / "p.json", "--cluster", "h100x8-8x400gbps", "--strategy", "ddp", "--json"))
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
