#!/usr/bin/env python3
"""What `recommend` prints is what it simulated. Run: python3 tests/programs/command/test_recommend.py

Each row is replayed three times: by the words for `run` that stand beside it; by what its framework's words mean, as
this file reads them; and, where a framework has no words, from the plan that is named or printed.
"""

import json
import os
import re
import shlex
import sys
import textwrap
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from program import ROOT, WIDE, Case, answer, listed, needs_program, output, pasted  # noqa: E402

RESNET20 = ["--profile", "resnet20_p102_b128", "--cluster", "k80-10gbe"]
LENET5 = ["--profile", "lenet5_2xk40c_b128"]
A100 = ["--profile", "resnet50_a100_b256_bf16", "--cluster", "a100x8-8x200gbps", "--workers", "16"]
SCENARIOS = [
    RESNET20,
    [*LENET5, "--cluster", "us-byte-10gbe", "--workers", "16", "--accumulate", "2", "--bandwidth", "x0.5"],
    [*LENET5, "--cluster", "a100x8-8x200gbps", "--workers", "16", "--memory", "80GB", "--latency", "20us"],
    [*A100, "--accumulate", "2", "--strategies", "ddp,horovod,bytescheduler,p3,dear,optimal-merge,fsdp1,fsdp2,megatron,zero-1,zero-2,zero-3"],
    [*A100, "--option", "gradient_dtype=fp32", "--option", "launch=20us", "--strategies", "fsdp1,fsdp2,megatron,zero-2"],
    [*A100, "--accumulate", "2", "--shard-group", "8", "--option", "outer=optim", "--option", "lanes=separate", "--option", "sync=every",
     "--strategies", "simple-fsdp,megatron-fsdp"],
    [*LENET5, "--cluster", "k80-10gbe", "--zero", "1", "--shard-group", "4"],
    [*RESNET20, "--zero", "2", "--accumulate", "3", "--strategies", "ddp,horovod,bytescheduler"],
    [*RESNET20, "--codec", "topk", "--option", "density=0.01"],
    [*LENET5, "--cluster", "fat-tree-4", "--workers", "8", "--fidelity", "fluid"],
    # What a framework's words cannot say as it was given: the first bucket's cap, halves of elements, blocks.
    [*RESNET20, "--option", "first_bucket=99kB", "--option", "partition=1234567B", "--option", "credit=3"],
    [*RESNET20, "--workers", "4:16:x2", "--strategies", "ddp,horovod,bytescheduler,dear,mergecomp,best"],
]
BUDGET = ["--budget", "5", "--jobs", "1"]


def row_of(*words):
    """What `run` says of these, without what a run takes."""
    row = answer("run", *words)
    del row["wall_s"]
    return row


def without_choices(scenario, row):
    """The words that the row was asked for with: those of `recommend` alone are left out, options that rows have, and those
    that its strategy takes no value of."""
    not_taken = [flag for flag, option in (("--zero", "zero"), ("--shard-group", "shard_group")) if option not in row["options"]]
    words = iter(scenario)
    kept = []
    for word, value in zip(words, words):
        chosen = word == "--option" and value.startswith(("first_bucket", "partition", "credit"))
        if word != "--strategies" and word not in not_taken and ":" not in value and not chosen:
            kept += [word, value]
    return kept


# --- the words of frameworks, read back: options of `run`


def elements(words, name):
    return int(re.search(rf"\b{name}=(\d+)", words)[1])


def ddp(words, _):
    cap = re.search(r"bucket_cap_mb=([\d.]+)\)", words)
    return {"bucket_cap": f"{cap[1]} MiB"} if cap else {}


def horovod(words, _):
    return {"threshold": f"{elements(words, 'HOROVOD_FUSION_THRESHOLD')} B", "cycle": re.search(r"CYCLE_TIME=([\d.]+)$", words)[1] + " ms"}


def bytescheduler(words, size):
    return {"partition": f"{size * elements(words, 'BYTESCHEDULER_PARTITION')} B", "credit": f"{size * elements(words, 'BYTESCHEDULER_CREDIT')} B"}


def us_byte(words, _):
    return {"partition": re.search(r"S_p of ([\d.]+ MB)$", words)[1]}


def p3(words, size):
    return {"partition": f"{size * elements(words, 'MXNET_KVSTORE_SLICE_THRESHOLD')} B"}


def byteps(words, _):
    return {"partition": f"{elements(words, 'BYTEPS_PARTITION_BYTES')} B"}


def dear(words, _):
    return {"threshold": re.search(r"threshold of ([\d.]+ MB)$", words)[1]}


def mesh(words):
    group = re.search(r"world_size // (\d+), \1\)", words)
    return {"shard_group": group[1]} if group else {}


def fsdp2(words, _):
    unit = re.search(r"^for (\w+) in (\w+):\n    fully_shard\(\1", words, re.M)
    part = re.fullmatch(r"parts_of_(\d+)_bytes", unit[2])
    root = re.search(r"^fully_shard\(model(.*)\)$", words, re.M)[1]
    ahead = re.search(r"\[i \+ 1:i \+ (\d+)\]", words)
    return {"wrap": f"{part[1]} B" if part else {"block": "group", "layer": "layer"}[unit[1]],
            "reshard": "all" if "=True" in root else "none" if "=False" in root else "but-last",
            "reduce": "last" if "set_requires_gradient_sync" in words else
                      "replicas-last" if "set_requires_all_reduce" in words else "every",
            "prefetch": str(int(ahead[1]) - 1) if ahead else "1", **mesh(words)}


def fsdp1(words, size):
    least = re.search(r"min_num_params=(\d+)", words)
    param = re.search(r"param_dtype=torch\.(\w+)", words)
    if least:
        wrap = f"{int(least[1]) * ({'float32': 4}.get(param[1], 2) if param else size)} B"
    else:
        wrap = "group" if "{Block}" in words else "layer"
    return {"wrap": wrap, "reshard": "none" if re.search("SHARD_GRAD_OP|ZERO2", words) else "all", **mesh(words),
            "backward_prefetch": {"BackwardPrefetch.BACKWARD_PRE": "pre", "BackwardPrefetch.BACKWARD_POST": "post",
                                  "None": "none"}[re.search(r"backward_prefetch=([\w.]+)", words)[1]]}


def composer(words, _):
    unit = re.search(r"^for (\w+) in (\w+):\n    \1\._fsdp_wrap = True\n", words, re.M)
    part = re.fullmatch(r"parts_of_(\d+)_bytes", unit[2])
    assert '"backward_prefetch": "BACKWARD_POST"' in words and '"limit_all_gathers": True' in words, words
    group = re.search(r'"data_parallel_shard_degree": (\d+)', words)
    return {"wrap": f"{part[1]} B" if part else {"block": "group", "layer": "layer"}[unit[1]],
            "reshard": "none" if re.search("SHARD_GRAD_OP|ZERO2", words) else "all", **({"shard_group": group[1]} if group else {})}


def zero(words, _):
    config = json.loads(words)["zero_optimization"]
    options = {"reduce_bucket": config["reduce_bucket_size"], "overlap_comm": str(config["overlap_comm"]).lower()}
    if config["stage"] < 3:
        return {**options, "allgather_bucket": config["allgather_bucket_size"],
                "bucket_op": "all-reduce" if config["use_multi_rank_bucket_allreduce"] else "reduce-scatter"}
    return {**options, "prefetch_bucket": config["stage3_prefetch_bucket_size"], "persistence": config["stage3_param_persistence_threshold"],
            "max_live": config["stage3_max_live_parameters"], "max_reuse": config["stage3_max_reuse_distance"]}


def megatron(words, size):
    assert ("--grad-reduce-in-bf16" in words) == (size == 2), words
    options = {name.replace("-", "_"): str(f"--{flag}" in words).lower() for name, flag in (
        ("distributed-optimizer", "use-distributed-optimizer"), ("overlap-grad-reduce", "overlap-grad-reduce"), ("overlap-param-gather",) * 2)}
    bucket = re.search(r"--ddp-bucket-size (\d+)", words)
    group = re.search(r"WORLD_SIZE/(\d+)", words)
    return {**options, **({"bucket_size": bucket[1]} if bucket else {}), **({"shard_group": group[1]} if group else {})}


def units(words, name):
    """Blocks, unless a list of other modules is named."""
    modules = re.search(rf"\b{name}=(\w+)\)", words)
    part = modules and re.fullmatch(r"parts_of_(\d+)_bytes", modules[1])
    return {"wrap": f"{part[1]} B" if part else "layer" if modules else "group"}


def simple_fsdp(words, size):
    assert ("mixed_precision_reduce" in words) == (size == 2), words
    group = re.search(r"data_parallel_shard_degree (\d+)", words)
    reshard = re.search(r"fsdp_reshard_after_forward (\w+)", words)[1]
    return {**units(words, "module_bucket_plans"), "reshard": {"default": "but-last", "always": "all", "never": "none"}[reshard],
            "lanes": "separate" if "enable_fsdp_ag_rs_overlap" in words else "shared",
            "reorder": "none" if "disable_passes" in words else "blocks", **({"shard_group": group[1]} if group else {})}


def megatron_fsdp(words, size):
    assert ("--grad-reduce-in-bf16" in words) == (size == 2) and "--use-megatron-fsdp" in words, words
    group = re.search(r"WORLD_SIZE/(\d+)", words)
    unit = re.search(r"--suggested-communication-unit-size (\d+)", words)
    outer = re.search(r"--outer-dp-sharding-strategy (\w+)", words)
    return {**units(words, "fsdp_unit_modules"), "double_buffer": str("--fsdp-double-buffer" in words).lower(),
            "lanes": "separate" if "--create-all-gather-group" in words else "shared",
            "sync": "every" if "sync_model_each_microbatch=True" in words else "last",
            **({"unit_size": unit[1]} if unit else {}), **({"shard_group": group[1], "outer": outer[1]} if group else {})}


READ = {"ddp": ddp, "horovod": horovod, "bytescheduler": bytescheduler, "us-byte": us_byte, "p3": p3, "byteps": byteps, "dear": dear, "fsdp2": fsdp2, "fsdp1": fsdp1, "composer": composer,
        "simple-fsdp": simple_fsdp, "megatron-fsdp": megatron_fsdp, "zero-1": zero, "zero-2": zero, "zero-3": zero, "megatron": megatron, "s-sgd": lambda *_: {}, "wfbp": lambda *_: {}, "sync-easgd": lambda *_: {}}


@needs_program
class Recommend(Case):
    maxDiff = None
    known = {}  # rows of scenarios

    def rows(self, scenario):
        key = " ".join(scenario)
        if key not in self.known:
            self.known[key] = answer("recommend", *scenario, *BUDGET)
        return self.known[key]

    def test_every_row_is_what_its_words_for_run_say(self):
        for scenario in SCENARIOS:
            rows = self.rows(scenario)
            self.assertTrue(rows)
            for row in rows:
                with self.subTest(scenario=scenario, run=shlex.join(row["run"])):
                    replayed = row_of(*row["run"])
                    self.assertEqual({name: row[name] for name in replayed}, replayed)

    def test_every_row_is_what_its_framework_s_words_say(self):
        read = set()
        for scenario in SCENARIOS:
            gradient = 2 if scenario[1].endswith("bf16") and "gradient_dtype=fp32" not in scenario else 4  # bytes of an element
            for row in self.rows(scenario):
                words, strategy, common = row["settings"], row["strategy"], without_choices(scenario, row)
                base = common if "--workers" in common else [*common, "--workers", str(row["workers"])]
                with self.subTest(scenario=scenario, strategy=strategy, words=words):
                    if words.startswith("the plan of"):
                        replayed = self.by_the_plan(base, words)
                    elif words.startswith("# "):
                        replayed = self.by_the_buckets(base, strategy, words, gradient)
                    else:
                        options = READ[strategy](words, gradient)
                        replayed = row_of(*base, "--strategy", strategy, *[f"--option={name}={value}" for name, value in options.items()])
                    read.add(strategy)
                    self.assertEqual(row["iteration_s"], replayed["iteration_s"])
                    self.assertEqual(row["collectives"], replayed["collectives"])
                    self.assertEqual(row["memory_bytes"], replayed["memory_bytes"])
        self.assertEqual(read, {*listed("strategies")} - {"local-sgd", "diloco"})  # which train another way

    def test_untuned_is_what_run_says(self):
        """Whatever the framework's words can say: a credit of four blocks is none of ByteScheduler's."""
        vgg16 = ["--profile", "vgg16_p100_b64", "--cluster", "k80-10gbe"]
        for scenario in (vgg16, [*vgg16, "-o", "first_bucket=100kB"]):
            for row in self.rows([*scenario, "--strategies", "ddp,bytescheduler,p3,dear,fsdp2"]):
                with self.subTest(scenario=scenario, strategy=row["strategy"]):
                    self.assertEqual(row["untuned_iteration_s"], row_of(*scenario, "--strategy", row["strategy"])["iteration_s"])

    def by_the_plan(self, base, words):
        """The named command's output, as a file."""
        allreplay, plan, *flags = shlex.split(words[words.index("`") + 1:words.rindex("`")])
        self.assertEqual([allreplay, plan, flags[-1]], ["allreplay", "plan", "--json"])
        file = self.folder / "plan.json"
        file.write_text(output(plan, *base, *flags), encoding="utf-8")
        return row_of(*base, "--plan", file)

    def by_the_buckets(self, base, strategy, code, gradient=4):
        """A plan of nothing but the printed sizes."""
        trace = answer("plan", *base, "--strategy", "wfbp")
        each = iter([(one["tensor"], one["bytes"]) for block in trace["blocks"] for one in block["slices"]])  # the last first
        blocks = []
        for size in json.loads(re.search(r"^sizes = (\[.*\])", code, re.M)[1]):
            blocks.append({"slices": []})
            while size > 0:
                name, count = next(each)
                blocks[-1]["slices"].append({"tensor": name})
                size -= count // gradient
            self.assertEqual(size, 0)
        self.assertIsNone(next(each, None))
        file = self.folder / "buckets.json"
        step = {"step": trace["step"]} if "step" in trace else {}
        file.write_text(json.dumps({"strategy": strategy, "order": "as-listed", "blocks": blocks, **step}), encoding="utf-8")
        return row_of(*base, "--plan", file)

    def test_a_rows_bound_is_its_own_whoever_else_is_compared(self):
        """With several blocks in flight (byteps) the bound is another one; neither shards anything."""
        def bounds(strategies):
            rows = answer("recommend", "--profile", "resnet50_p100_b64", "--cluster", "v100-10gbe", "-s", strategies, "--budget", "1")
            for row in rows:
                self.assertEqual(row["bound_s"], row["lower_bound_s"])
                self.assertAlmostEqual(row["gap"], row["iteration_s"] / row["lower_bound_s"] - 1)
            return {row["strategy"]: row["bound_s"] for row in rows}
        both = bounds("wfbp,byteps")
        self.assertEqual({**bounds("wfbp"), **bounds("byteps")}, both)
        self.assertNotEqual(both["wfbp"], both["byteps"])

    def test_the_text_says_the_same_times(self):
        """To its four digits, in the table and in the lines that say what to run."""
        for scenario in SCENARIOS[:-1]:
            text = output("recommend", *scenario, *BUDGET)
            head, table = re.split(r"^-+$", text, maxsplit=1, flags=re.M)
            unit = {"s": 1, "ms": 1e-3, "us": 1e-6}[head.splitlines()[-1].split()[0]]
            times = re.findall(r"^ *\d+ +([\w-]+)(?: --zero \d| without shards)? +([\d.]+)[~ ]", table.split("\n\n")[0], re.M)
            rows = self.rows(scenario)
            self.assertEqual([name for name, _ in times], [row["strategy"] for row in rows])
            for row, (_, time) in zip(rows, times):
                self.assertAlmostEqual(float(time) * unit / row["iteration_s"], 1, delta=5e-4)
            commands = re.findall(r"^To replay it: `allreplay (.*?)`\.$", text, re.M | re.S)
            self.assertTrue(commands)
            for command in commands:
                self.assertIn(pasted("allreplay " + command), [["run", *row["run"]] for row in rows])

    def test_commands_can_be_pasted(self):
        """Their lines are broken between words, at every width."""
        self.write("one trace.json", (ROOT / "traces" / "resnet20_p102_b128.json").read_text(encoding="utf-8"))
        recommend = ["recommend", "--profile", self.folder / "one trace.json", "--cluster", "k80-10gbe", "-s", "mergecomp,bytescheduler", *BUDGET]
        rows = answer(*recommend)
        for width in range(40, 160, 10):
            text = output(*recommend, env={**os.environ, "COLUMNS": str(width)})
            commands = re.findall(r"^To replay it: `(.*?)`\.$", text, re.M | re.S)
            self.assertTrue(commands)
            for command in commands:
                self.assertIn(pasted(command), [["run", *row["run"]] for row in rows], width)

    def test_code_in_the_report_is_python(self):
        """Set in, and for eighty columns."""
        text = output("recommend", "--profile", "resnet50_p100_b64", "--cluster", "us-byte-10gbe", "--strategies", "ddp,optimal-merge", *BUDGET)
        code = textwrap.dedent(text[text.index("    # "):text.rindex("\nTo replay it")])
        self.assertIn("class Buckets:", code)
        compile(code, "report", "exec")

    def test_sweeps_of_sizes_say_what_to_run_at_each(self):
        text = output("recommend", *SCENARIOS[-1], *BUDGET)
        self.assertEqual(re.findall(r"^ +(\d+)  \w", text, re.M)[:3], ["4", "8", "16"])

    def test_many_sizes_are_noted(self):
        words = ["recommend", *LENET5, "--cluster", "k80-10gbe", "-s", "wfbp", *BUDGET, "--json"]
        for workers, is_many in (("2:66:+1", True), ("2:66", False)):  # a range without a step doubles
            self.assertEqual("65 sizes" in self.run_program(*words, "--workers", workers).stderr, is_many)

    def test_an_impossible_size_drops_out_alone(self):
        words = [*LENET5, "--nodes", "2", "--gpus", "4", "--network", "100Gbps", "--inner", "200GB/s", "-s", "ddp", *BUDGET]
        done = self.run_program("recommend", *words, "--workers", "4,8,16", "--json")
        self.assertEqual((done.returncode, [row["workers"] for row in json.loads(done.stdout)]), (0, [4, 8]), done.stderr)
        self.assertTrue(done.stderr)
        self.refusal("recommend", *words, "--workers", "16,32")

    def test_torchtitan_trains_with_pytorch_s(self):
        done = self.run_program("recommend", *RESNET20, "--framework", "torchtitan", *BUDGET, "--json")
        self.assertEqual((done.returncode, sorted(row["strategy"] for row in json.loads(done.stdout))), (0, ["ddp", "fsdp2", "simple-fsdp"]), done.stderr)

    def test_best_s_plan_is_a_file_and_buckets_are_code(self):
        for strategy in ("optimal-merge", "mg-wfbp", "ddp", "wfbp", "sync-easgd"):
            code = output("plan", *RESNET20, "--strategy", strategy, "--pytorch")
            self.assertIn("class Buckets:", code)
            compile(code, strategy, "exec")
            self.assertEqual(self.by_the_buckets(RESNET20, strategy, code)["iteration_s"], row_of(*RESNET20, "--strategy", strategy)["iteration_s"])
        self.assertIn("Buckets(model, sizes, micro_batches=3)", output("plan", *RESNET20, "--strategy", "wfbp", "--accumulate", "3", "--pytorch"))
        for more in (["--strategy", "p3"], ["--strategy", "dear"], ["--strategy", "horovod"], ["--strategy", "s-sgd"], ["--strategy", "fsdp2"],
                     ["--strategy", "ddp", "--zero", "1"], ["--strategy", "ddp", "--codec", "fp16"], ["--strategy", "ddp", "--option", "barrier=layer"]):
            self.assertIn("command line: --pytorch: ", self.refusal("plan", *RESNET20, *more, "--pytorch"))

    def test_settings_are_printed_once(self):
        """Those of a winner stand below the table alone."""
        for words in (RESNET20, [*A100, "--framework", "pytorch,deepspeed"]):
            rows = answer("recommend", *words, *BUDGET)
            text = output("recommend", *words, *BUDGET, env=WIDE)
            winner = rows[0]["settings"].splitlines()[0]
            self.assertEqual(text.count(winner), 1, winner)


if __name__ == "__main__":
    unittest.main()
