#!/usr/bin/env python3
"""What the program says: errors name their cause and what would be right, notes what was assumed. Run: python3 tests/programs/command/test_messages.py"""
import json
import signal
import subprocess
import sys
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from program import PROGRAM, WIDE, Case, needs_program, output  # noqa: E402

RESNET = ["--profile", "resnet50_k80_b16", "--cluster", "k80-10gbe"]
LLAMA = {"model_type": "llama", "hidden_size": 1024, "num_hidden_layers": 2, "max_position_embeddings": 2048}


@needs_program
class Interruptions(Case):
    def test_a_sweep_says_how_it_goes_on(self):
        rows = 20_000
        sweep = {"profiles": ["lenet5_2xk40c_b128"], "clusters": ["k80-10gbe"],
                 "strategies": [{"name": "us-byte", "second_phase": {"each": "random:{}", "from": 1, "to": rows}}]}
        Path(self.folder, "s.json").write_text(json.dumps(sweep), encoding="utf-8")
        command = [PROGRAM, "sweep", "s.json", "--out", "rows.csv"]
        for how in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(signal=how.name):
                running = subprocess.Popen([*command, *(["--resume"] if how == signal.SIGTERM else [])], cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                deadline = time.monotonic() + 60
                before = self.lines_written()
                while self.lines_written() <= max(before, 1) and running.poll() is None and time.monotonic() < deadline:
                    time.sleep(0.01)
                running.send_signal(how)
                out, told = running.communicate(timeout=60)
                self.assertEqual((running.returncode, out), (-how, ""), told)
        done = self.success(*map(str, command[1:]), "--resume", cwd=self.folder)
        self.assertTrue(done.stderr)
        self.assertEqual(self.lines_written(), rows + 1)

    def lines_written(self):
        file = Path(self.folder, "rows.csv")
        return file.read_text(encoding="utf-8").count("\n") if file.exists() else 0


@needs_program
class Errors(Case):
    def refused(self, says, *words):
        self.assertIn(says, self.refusal(*words))

    def test_a_changed_network_is_named(self):
        for flag, value in (("latency", "1e30 s"), ("bandwidth", "1e-30 bit/s")):
            self.refused(": ", "run", *RESNET, "-s", "ddp", f"--{flag}", value)

    def test_a_codec_beside_shards(self):
        self.refused("--zero: ", "run", *RESNET, "-s", "ddp", "--zero", "1", "--codec", "fp16")
        self.refused("--codec: ", "run", *RESNET, "-s", "fsdp2", "--codec", "fp16")

    def test_a_flag_without_a_value_is_named_as_it_was_given(self):
        self.refused("--strategies: has no value", "compare", "--strategies")
        self.refused("-n: has no value", "run", *RESNET, "-n")

    def test_a_list_for_an_option_names_the_flag_that_takes_it(self):
        self.refused("--shard-group 0,8", "compare", *RESNET, "--option", "shard_group=0,8")

    def test_names(self):
        self.refused(": ", "completion", "tcsh")
        self.refused("(similar: resnet50_107_k80_b16, resnet50_a100_b256_bf16, ", "run", "--profile", "resnet51", *RESNET[2:], "-s", "ddp")
        self.refused('("400 Gbit/s")', "run", *RESNET, "-s", "ddp", "--bandwidth", "400gbit/s")

    def test_lists_of_strategies(self):
        for command, option, name in (("compare", "--strategies", "ddp"), ("recommend", "--strategies", "ddp"), ("recommend", "--framework", "pytorch")):
            for given in (f"{name},{name}", f"{name},,", ","):
                self.refused(f"{option}: ", command, *RESNET, option, given)
            self.refused(f"{option}: ", command, *RESNET, option, name, option, name)

    def test_a_sweep_goes_to_a_file(self):
        self.write("s.json", {"profiles": ["resnet20_p102_b128"], "clusters": ["k80-10gbe"], "strategies": ["ddp"]})
        self.refused("--out: ", "sweep", "s.json", "--out", "-")
        self.assertEqual([file.name for file in self.folder.iterdir()], ["s.json"])
        self.assertEqual(self.run_program("sweep", "s.json", "--out", "./-").returncode, 0)
        self.assertTrue((self.folder / "-").is_file())

    def test_blanks_in_a_table_of_layers(self):
        self.write("tight.csv", "layer,params,forward_us,backward_us\nconv1,9408,608.0,986.5\n")
        self.write("loose.csv", "layer, params , forward_us, backward_us\nconv1 , 9408, 608.0, 986.5\n")
        for name in ("tight", "loose"):
            output("export", "--to", "csv", "--profile", f"{name}.csv", "--out", f"{name}.out", cwd=self.folder)
        self.assertEqual((self.folder / "tight.out").read_bytes(), (self.folder / "loose.out").read_bytes())


@needs_program
class Outputs(Case):
    """A command replaces what it wrote, and nothing else."""

    def test_files_of_other_kinds_stay(self):
        words = ["--profile", "lenet5_2xk40c_b128", "--cluster", "k80-10gbe"]
        Path(self.folder, "p.csv").write_text("layer,params,forward_us,backward_us\na,10,1,2\n", encoding="utf-8")
        Path(self.folder, "times.csv").write_text("bytes,time_us\n8,1\n800000,5\n", encoding="utf-8")
        ops = "".join(f"0,{r},0,{op},0,{at},{us}\n" for r in (0, 1) for op, at, us in (("forward-compute", 0, 5), ("backward-compute", 5, 9)))
        Path(self.folder, "job.csv").write_text("step,dp,stage,op,seq,start_us,duration_us\n" + ops, encoding="utf-8")
        commands = {"import": ["p.csv", "--batch", "1", "--out"], "calibrate": ["times.csv", "--workers", "4", "--cluster-out"], "diagnose": ["job.csv", "--html"], "topology": ["--cluster", "k80-10gbe", "--bandwidth", "x2", "--cluster-out"],
                    "export": [*words[:2], "--to", "csv", "--out"], "tune": [*words, "-s", "ddp", "--budget", "2", "--over", "bucket_cap=1MiB:2MiB", "--out"],
                    "estimate": ["--model", "llama3-8b", "--device", "h100", "--batch", "1", "--out"]}
        mine = "# A README\n"
        for command, arguments in commands.items():
            with self.subTest(command=command):
                file = Path(self.folder, command)
                file.write_text(mine, encoding="utf-8")
                self.assertIn(f"{arguments[-1]}: '{command}' exists", self.refusal(command, *arguments, command))
                self.assertEqual(file.read_text(encoding="utf-8"), mine)
                file.unlink()
                for _ in range(2):
                    self.output(command, *arguments, command)

    def test_pictures_and_traces(self):
        words = ["run", "--profile", "lenet5_2xk40c_b128", "--cluster", "k80-10gbe", "-s", "wfbp"]
        for option, name in (("--timeline", "a.svg"), ("--timeline", "a.png"), ("--timeline", "a.json"), ("--timeline", "b.pdf")):
            with self.subTest(name=name):
                file = Path(self.folder, name)
                file.write_text('{"layers": []}', encoding="utf-8")
                self.assertEqual(self.run_program(*words, option, name).returncode, 2)
                self.assertEqual(file.read_text(encoding="utf-8"), '{"layers": []}')
                file.unlink()
                for _ in range(2):
                    self.assertEqual(self.run_program(*words, option, name).returncode, 0)


@needs_program
class Words(Case):
    def test_operations_as_nccl_tests_spells_them(self):
        asked = ["collective", "--cluster", "k80-10gbe", "--bytes", "1MB", "--json", "--operation"]
        for name, other in (("all-reduce", "all_reduce"), ("all-to-all", "alltoall"), ("reduce-scatter", "reduce_scatter_perf")):
            one, two = (json.loads(output(*asked, word))[0] | {"wall_s": 0} for word in (other, name))
            self.assertEqual(one, two)
        self.assertEqual(self.run_program(*asked, "all-reduced").returncode, 2)

    def test_years(self):
        asked = ["goodput", "--profile", "lenet5_2xk40c_b128", "--cluster", "k80-10gbe", "-s", "wfbp", "--checkpoint", "1 s", "--restart", "1 s", "--json", "--mtbf"]
        one, two = (json.loads(output(*asked, mtbf)) | {"wall_s": 0} for mtbf in ("5 y", "1825 d"))
        self.assertEqual(one, two)

    def test_help_knows_schedules_and_columns(self):
        self.assertIn("mfu: model FLOPs/s of a worker", output("help", "MFU", env=WIDE))
        self.assertIn("exposed_comm_s: ", output("help", "exposed", env=WIDE))
        for title in ("efficiency", "scaling efficiency", "scaling eff."):
            self.assertIn("relative_efficiency: ", output("help", title, env=WIDE))

    def test_help_knows_the_words_of_frameworks(self):
        for word, here in (("HYBRID_SHARD", "fsdp2 --shard-group F"), ("NO_SHARD", "ddp"), ("zero_optimization.stage", "--strategy"),
                           ("--context-parallel-size", "--cp"), ("pytorch", "fsdp2"), ("--shard-group", "shard_group: ")):
            with self.subTest(word):
                self.assertIn(here, output("help", word, env=WIDE))
        for known_here in ("ring", "exposed_ep_s"):
            with self.subTest(known_here):
                self.assertNotIn("Here: ", output("help", known_here, env=WIDE))

    def test_help_explains_all_of_a_name_once(self):
        told = output("help", "jitter", env=WIDE)
        for words in ("A key of a cluster file", "A key of a sweep file", "A column of results", "  --jitter N%"):
            self.assertEqual(told.count(words), 1, words)
        told = output("help", "seeds", env=WIDE)
        self.assertIn("allreplay run, compare, sweep, collective:\n", told)
        self.assertEqual(told.count("  --seeds "), 1)
        told = output("help", "workers", env=WIDE)
        self.assertIn("\nworkers: Numbers of workers", told)  # at the outermost of its places
        self.assertEqual(output("help", "memory", env=WIDE).count("larger settings do not fit"), 1)  # options are keys of sweeps

    def test_what_a_config_leaves_out(self):
        file = self.folder / "config.json"
        estimate = ["estimate", "--model", "config.json", "--device", "h100", "--batch", "1", "--precision", "bf16"]
        file.write_text(json.dumps(LLAMA), encoding="utf-8")
        says = "note: keys missing in config.json have the defaults of its class: num_attention_heads 32, intermediate_size 11008, vocab_size 32000"
        self.assertIn(says, " ".join(self.run_program(*estimate).stderr.split()))
        file.write_text(json.dumps({**LLAMA, "num_attention_heads": 32, "intermediate_size": 11008, "vocab_size": 32000}), encoding="utf-8")

    def test_activations_beyond_the_memory(self):
        says = "note: the activations do not fit into the device's memory"
        for batch, above in (("1", False), ("64", True)):
            text = output("estimate", "--model", "llama3-8b", "--device", "h100", "--batch", batch, "--seq", "8192", env=WIDE)
            self.assertEqual(says in text, above)


if __name__ == "__main__":
    unittest.main()
