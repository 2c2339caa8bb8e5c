#!/usr/bin/env python3
"""Plans as files: what `plan --json` writes, `run --plan` replays to the same picosecond. Run: python3 tests/programs/command/test_plan.py"""
import json
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from program import ROOT, Case, answer, listed, needs_program, output, refusal  # noqa: E402

EXAMPLES = ROOT / "docs" / "examples"
SMALL = ["--profile", EXAMPLES / "six_layers.json", "--cluster", EXAMPLES / "eight_workers.json"]
SCENARIOS = [
    ["--profile", "googlenet_k80_b32", "--cluster", "k80-10gbe"],
    ["--profile", "lenet5_2xk40c_b128", "--cluster", "fat-tree-4", "--workers", "8", "--fidelity", "fluid"],
    ["--profile", "lenet5_2xk40c_b128", "--cluster", "fat-tree-4", "--workers", "8", "--fidelity", "message"],
    ["--profile", "resnet20_p102_b128", "--cluster", "k80-10gbe", "--option", "sharing=fair"],
    ["--profile", "resnet20_p102_b128", "--cluster", "k80-10gbe", "--codec", "fp16"],
]
SHARDED = ("fsdp2", "fsdp1", "composer", "simple-fsdp", "zero-1", "zero-2", "zero-3", "megatron", "megatron-fsdp", "local-sgd", "diloco")  # no codec compresses what they send
IN_FULL = ("strategy", "step", "copy", "holding", "blocks", "lanes", "program", "transfers")


@needs_program
class Plans(Case):
    def write(self, plan):
        file = self.folder / "plan.json"
        file.write_text(json.dumps(plan), encoding="utf-8")
        return file

    def result(self, *arguments):
        row = answer("run", *arguments)
        return {name: value for name, value in row.items() if name not in ("wall_s", "options", "settings", "schedule", "notes")}

    def test_a_printed_plan_determines_its_replay(self):
        """Each strategy's, in both forms, in full, and in short."""
        for scenario in SCENARIOS:
            for strategy in listed("strategies"):
                if "--codec" in scenario and strategy in SHARDED:
                    continue  # codecs compress all-reduces
                with self.subTest(scenario=scenario, strategy=strategy):
                    plan = answer("plan", *scenario, "--strategy", strategy)
                    wanted = self.result(*scenario, "--strategy", strategy)
                    self.assert_determines(plan, scenario, wanted)

    def assert_determines(self, plan, scenario, wanted):
        forms = [plan, {key: plan[key] for key in IN_FULL if key in plan}]
        if "order" in plan:  # what travels all alike has a short form
            forms.append({key: value for key, value in plan.items() if key not in ("lanes", "program", "transfers")})
        for form in forms:
            self.assertEqual(self.result(*scenario, "--plan", self.write(form)), wanted)

    def test_a_printed_plan_holds_its_types(self):
        """The types on the wire are in the file, and the replay uses them; another type is refused, the same is not."""
        base = ["--profile", "lenet5_2xk40c_b128", "--cluster", "k80-10gbe", "--workers", "8"]
        for strategy in ("fsdp2", "zero-3", "wfbp", "ddp", "megatron"):
            for types in ({"parameter_dtype": "bf16"}, {"gradient_dtype": "fp16"}, {"parameter_dtype": "fp16", "gradient_dtype": "bf16"}):
                with self.subTest(strategy, types=types):
                    options = [word for name, value in types.items() for word in ("--option", f"{name}={value}")]
                    plan = answer("plan", *base, "--strategy", strategy, *options)
                    self.assertEqual({name: plan[name] for name in plan if name.endswith("_dtype")}, types)
                    wanted = self.result(*base, "--strategy", strategy, *options)
                    file = self.write(plan)
                    self.assertEqual(self.result(*base, "--plan", file), wanted)
                    self.assertEqual(self.result(*base, *options, "--plan", file), wanted)
                    name = next(iter(types))
                    self.assertIn(f"--option {name}: ", self.refusal("run", *base, "--plan", file, "--option", f"{name}=fp32"))
        plan["gradient_dtype"] = "fp8"
        self.assertIn("gradient_dtype", self.refusal("run", *base, "--plan", self.write(plan)))

    def test_a_printed_plan_of_shards_determines_its_replay(self):
        """Micro-batches, groups, updates and copies are in the file."""
        base = ["--profile", "lenet5_2xk40c_b128", "--cluster", "k80-10gbe", "--workers", "8", "--option", "update=2 ms"]
        steps = [["--strategy", name, "--zero", stage, "--accumulate", "2", "--shard-group", "4"]
                 for name in ("wfbp", "ddp", "bytescheduler", "horovod", "us-byte", "s-sgd") for stage in "12"]
        steps += [["--strategy", name, "--accumulate", "3"] for name in SHARDED]
        steps += [["--strategy", "fsdp2", "--shard-group", "2", "--option", "lanes=separate", "--option",
                   "copy=10 GB/s"], ["--strategy", "wfbp", "--option", "barrier=layer"],
                  ["--strategy", "best", "--zero", "1"], ["--strategy", "best", "--zero", "3"]]
        for step in steps:
            with self.subTest(step=step):
                plan = answer("plan", *base, *step)
                self.assert_determines(plan, base, self.result(*base, *step))

    def test_a_plan_by_hand(self):
        """fc6 4-24 ms, conv4 -36, half of fc5 -64, conv3 -76, conv2 and conv1 -86 (86 = 76 + 4 + 2·3), so F conv1 starts
        at 86 and conv4 ends at 114, as the other half of fc5 does; 4 and 2 ms more are 120."""
        row = self.result(*SMALL, "--plan", EXAMPLES / "by_hand.json")
        self.assertEqual((row["strategy"], row["collectives"]), ("by-hand", 6))
        self.assertAlmostEqual(row["iteration_s"], 0.120, delta=1e-12)
        rows = answer("compare", *SMALL, "--strategies", "ddp", "--plan", EXAMPLES / "by_hand.json")
        self.assertEqual([one["strategy"] for one in rows], ["ddp", "by-hand"])

    def test_an_export_holds_it(self):
        output("export", "--to", "chakra-json", *SMALL, "--plan", EXAMPLES / "by_hand.json", "--out", self.folder / "out.json")
        nodes = json.loads((self.folder / "out.json").read_text(encoding="utf-8"))["workload_graph"]
        self.assertEqual(sum(node["Name"].startswith("COMM_COLL_NODE") for node in nodes), 6)

    def several(self, **more):
        """fc5 and conv4 leave together, once both are ready, and are waited for by way of fc6's transfer."""
        transfers = [{"op": "all-reduce", "block": 0, "after": [{"backward": "fc5"}, {"backward": "conv4"}]},
                     {"op": "all-reduce", "block": 1, "after": [{"backward": "fc6"}, {"transfer": 0}], "before": [{"forward": "conv1"}]},
                     {"op": "all-reduce", "block": 2, "after": [{"backward": "conv1"}], "before": [{"forward": "conv1"}]}]
        blocks = [["fc5.weight", "conv4.weight"], ["fc6.weight"], ["conv3.weight", "conv2.weight", "conv1.weight"]]
        return {"blocks": [{"slices": slices} for slices in blocks], "transfers": transfers, **more}

    def test_a_codec_is_woven_into_any_gates(self):
        """Encoding and decoding that take no time change nothing but the bytes; each block is encoded and decoded once."""
        plan = self.write(self.several())
        codec = ["--codec", "fp16", "--option", "decode=0 s"]
        free = self.result(*SMALL, "--plan", plan, *codec, "--option", "encode=0 s")
        self.assertEqual(free["collectives"], 3)
        # fc5 and conv4 (28 MB, as fp16 14) may leave at 24 ms: 4 + 2·14 = 32, till 56; fc6 till 68; the last (7 MB) after
        # B conv1 at 68: 4 + 7 = 11, till 79; 34 ms of forward.
        self.assertAlmostEqual(free["iteration_s"], 0.113, delta=1e-12)
        coded = self.result(*SMALL, "--plan", plan, *codec, "--option", "encode=5 ms")
        self.assertAlmostEqual(coded["codec_s"], 0.015, delta=1e-12)
        # The backward pass waits for all three encodings: 15 ms longer, and the last block leaves at 83.
        self.assertAlmostEqual(coded["iteration_s"], 0.128, delta=1e-12)

    def refused(self, plan, says):
        self.assertIn(says, refusal("run", *SMALL, "--plan", self.write(plan)))

    def test_plans_that_do_not_cover_the_needs_are_refused(self):
        plan = json.loads((EXAMPLES / "by_hand.json").read_text(encoding="utf-8"))
        self.refused({**plan, "blocks": plan["blocks"][1:]}, ": ")
        self.refused({**plan, "blocks": plan["blocks"] + plan["blocks"][:1]}, ": ")
        early = self.several()
        early["transfers"][2]["after"] = [{"backward": "conv2"}]
        self.refused(early, ": ")
        late = self.several()
        late["transfers"][2]["before"] = [{"forward": "conv2"}]
        self.refused(late, ": ")
        stuck = self.several(lanes=[{"name": "one", "order": "as-listed"}])
        stuck["transfers"][0]["after"].append({"transfer": 2})
        self.refused(stuck, ": ")

    def test_groups_of_a_plan_keep_their_size(self):
        """The efficiency compares with fewer workers, where memory has a limit: a plan of groups of 4 is not replayed on 1
        or 2 (which ended in a division by zero), a strategy is."""
        for base in (SMALL, SCENARIOS[1]):
            with self.subTest(base=base):
                limited, groups = [*base, "--memory", "10GB"], ["--strategy", "fsdp2", "--shard-group", "4"]
                plan = self.write(answer("plan", *base, *groups))
                made = self.result(*limited, *groups)["iteration_s"]
                self.assertEqual(self.result(*limited, "--plan", plan)["iteration_s"], made)
                self.assertEqual(answer("compare", *limited, "--plan", plan)[0]["iteration_s"], made)

    def test_other_workers_must_suit_a_plan(self):
        lenet = ["--profile", "lenet5_2xk40c_b128", "--cluster", "k80-10gbe"]
        llama = ["--profile", "llama3-8b_h100_b1_bf16", "--cluster", "h100x8-8x400gbps"]
        for base, words, good, bad, where in (
                (lenet, ["fsdp2", "--shard-group", "4"], "12", "6", "/step/shard_group"),
                (lenet, ["zero-3", "--option", "hpz=4", "--option", "persistence=0"], "12", "6", "/step/secondary"),
                (llama, ["zero-3", "--option", "qgz=true"], "24", "12", "/step/node"),
                (llama, ["fsdp2", "--option", "optimizer=muon", "--option", "muon=owned"], "16", "8", "/transfers"),
                (llama, ["fsdp2", "--option", "optimizer=muon", "--option", "muon=all-to-all"], "16", "8", "/transfers")):
            with self.subTest(words=words):
                plan = self.write(answer("plan", *base, "--workers", "16" if base is llama else "8", "--strategy", *words))
                self.result(*base, "--workers", good, "--plan", plan)
                self.assertIn(f": {where}: ", refusal("run", *base, "--workers", bad, "--plan", plan))

    def test_a_plan_or_a_strategy(self):
        for arguments, says in (([], "--strategy: "), (["--strategy", "ddp", "--plan", "x.json"], "--plan: "),
                                (["--plan", "nowhere.json"], "nowhere.json: ")):
            self.assertIn(says, refusal("run", *SMALL, *arguments))


if __name__ == "__main__":
    unittest.main()
