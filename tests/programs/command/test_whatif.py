#!/usr/bin/env python3
"""What if: the flags that change a scenario, and the command that asks for many. Run: python3 tests/programs/command/test_whatif.py

A flag does what a copy of the file, edited by hand, would do. Every row of `whatif` is what `run` says with the row's flags.
"""
import json
import os
import re
import shlex
import sys
import unittest
import xml.etree.ElementTree as tree
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from program import ROOT, WIDE, Case, answer, needs_program, output, pasted, refusal  # noqa: E402

RESNET = ["--profile", "resnet50_k80_b16", "--cluster", "k80-10gbe"]
TWO_LEVELS = {"node": {"workers": 4, "alpha": "3 us", "bandwidth": "100 GB/s"}, "alpha": "20 us", "bandwidth": "100 Gbit/s", "rails": 1}
TABLE = {"table": [{"bytes": "1 KiB", "time": "80 us"}, {"bytes": "1 MiB", "time": "880 us"}, {"bytes": "64 MiB", "time": "60 ms"}]}
MEASURED = {"measured": {"collective": "ring", "workers": 16, "a": "900 us", "b": "2 ns/B", "gamma": "0.5 ns/B"}}
STAR = {"alpha": "4 us", "topology": {"kind": "star", "link": {"latency": "2 us", "bandwidth": "10 Gbit/s"}, "gpus_per_host": 2,
                                      "inner": {"latency": "1 us", "bandwidth": "50 GB/s"}}}
LEAVES = {"kind": "leaf-spine", "leaves": 2, "hosts_per_leaf": 8, "spines": 2, "link": {"latency": "2 us", "bandwidth": "10 Gbit/s"}}
# MEASURED's ring of 16: b = 30/16 beta + 15/16 gamma, of which 2 - 15/16 / 2 = 1.53125 ns/B are sending; a = 30 alpha.
EDITS = [  # the flags, the network, and the same network as a file would say it
    (["--bandwidth", "x4"], TWO_LEVELS, {"bandwidth": "400 Gbit/s"}),
    (["--bandwidth", "400 Gbit/s"], TWO_LEVELS, {"bandwidth": "400 Gbit/s"}),
    (["--bandwidth", "200 Gbit/s", "--bandwidth", "x2"], TWO_LEVELS, {"bandwidth": "400 Gbit/s"}),
    (["--latency", "x0.5"], TWO_LEVELS, {"alpha": "10 us"}),
    (["--latency", "7 us"], TWO_LEVELS, {"alpha": "7 us"}),
    (["--inner-bandwidth", "x2", "--inner-latency", "x0.5"], TWO_LEVELS, {"node": {"workers": 4, "alpha": "1.5 us", "bandwidth": "200 GB/s"}}),
    (["--node", "8", "--rails", "2"], TWO_LEVELS, {"node": {"workers": 8, "alpha": "3 us", "bandwidth": "100 GB/s"}, "rails": 2}),
    (["--bandwidth", "x2"], MEASURED, {"measured": {**MEASURED["measured"], "b": "1.234375 ns/B"}}),
    (["--bandwidth", "8 Gbit/s"], MEASURED, {"measured": {**MEASURED["measured"], "b": "2.34375 ns/B"}}),
    (["--latency", "x0.5"], MEASURED, {"measured": {**MEASURED["measured"], "a": "450 us"}}),
    (["--latency", "20 us"], MEASURED, {"measured": {**MEASURED["measured"], "a": "600 us"}}),
    (["--bandwidth", "x2"], TABLE,
     {"table": [{"bytes": "1 KiB", "time": "80 us"}, {"bytes": "1 MiB", "time": "480 us"}, {"bytes": "64 MiB", "time": "30.04 ms"}]}),
    (["--latency", "x0.5"], TABLE,
     {"table": [{"bytes": "1 KiB", "time": "40 us"}, {"bytes": "1 MiB", "time": "840 us"}, {"bytes": "64 MiB", "time": "59.96 ms"}]}),
    (["--bandwidth", "x4", "--latency", "x0.5", "--inner-bandwidth", "x2", "--inner-latency", "2 us", "--fidelity", "fluid"], STAR,
     {"alpha": "2 us", "topology": {"kind": "star", "link": {"latency": "1 us", "bandwidth": "40 Gbit/s"}, "gpus_per_host": 2,
                                    "inner": {"latency": "2 us", "bandwidth": "100 GB/s"}}}),
    (["--oversubscription", "4", "--fidelity", "fluid"], {"alpha": "4 us", "collective": "halving-doubling", "topology": LEAVES},
     {"topology": {**LEAVES, "oversubscription": 4}}),
    (["--bandwidth", "40 Gbit/s", "--latency", "1 us", "--node", "4", "--fidelity", "message"], STAR,
     {"alpha": "1 us", "topology": {"kind": "star", "link": {"latency": "2 us", "bandwidth": "40 Gbit/s"}, "gpus_per_host": 4,
                                    "inner": {"latency": "1 us", "bandwidth": "50 GB/s"}}}),
]
# What a row says of the scenario it is of carries the change in its name.
NAMES = ("profile", "cluster", "origin", "wall_s")


def rows_of(answer):
    return [answer["base"], *answer["rows"], *answer["together"]]


@needs_program
class WhatIf(Case):
    maxDiff = None

    def cluster(self, network, **more):
        file = self.folder / "cluster.json"
        file.write_text(json.dumps({"name": "mine", "workers": 16, "network": network, **more}), encoding="utf-8")
        return file

    def row(self, *arguments):
        return answer("run", *arguments, "--strategy", "ddp", cwd=self.folder)

    def numbers(self, *arguments):
        return {name: value for name, value in self.row(*arguments).items() if name not in NAMES}

    def test_a_flag_of_the_network_is_an_edited_file(self):
        for flags, network, edit in EDITS:
            with self.subTest(flags=flags, network=network):
                profile = ["--profile", "resnet50_k80_b16"]
                fidelity = flags[-2:] if flags[-2] == "--fidelity" else []
                changed = self.numbers(*profile, "--cluster", self.cluster(network), *flags)
                as_it_is = self.numbers(*profile, "--cluster", self.cluster(network), *fidelity)
                edited = self.numbers(*profile, "--cluster", self.cluster({**network, **edit}), *fidelity)
                for name, value in edited.items():
                    if isinstance(value, float):
                        self.assertAlmostEqual(changed[name], value, delta=1e-9 * abs(value), msg=name)
                self.assertNotAlmostEqual(changed["iteration_s"], as_it_is["iteration_s"], delta=1e-9)

    def test_a_flag_of_stragglers_is_an_edited_file(self):
        link = {"alpha": "20 us", "bandwidth": "100 Gbit/s"}
        profile = ["--profile", "resnet50_k80_b16"]
        slow = {"stragglers": [{"worker": 3, "slowdown": 2}], "jitter": {"distribution": "normal", "sigma": 0.1, "seed": 5}}
        half = {"stragglers": [{"worker": 3, "slowdown": 1.5}], "jitter": {"distribution": "normal", "sigma": 0.05, "seed": 5}}
        wanted = self.numbers(*profile, "--cluster", self.cluster(link, **half))
        self.assertEqual(self.numbers(*profile, "--cluster", self.cluster(link, **slow), "--stragglers", "x0.5"), wanted)
        wanted = self.numbers(*profile, "--cluster", self.cluster(link))
        self.assertEqual(self.numbers(*profile, "--cluster", self.cluster(link, **slow), "--stragglers", "none"), wanted)
        wanted = self.numbers(*profile, "--cluster", self.cluster(link, stragglers=slow["stragglers"]))
        self.assertEqual(self.numbers(*profile, "--cluster", self.cluster(link), "--stragglers", "3:2"), wanted)

    def test_another_batch_scales_layers_and_leaves_the_update(self):
        trace = self.estimate("--model", "gpt2", "--device", "h100", "--batch", "4")
        twice = {**trace, "batch_size": 8, "layers": [
            {**layer, "forward": 2 * layer["forward"], "backward": 2 * layer["backward"], "activation_bytes": 2 * layer["activation_bytes"]}
            for layer in trace["layers"]]}
        self.write("twice.json", twice)
        cluster = ["--cluster", "k80-10gbe"]
        wanted = self.numbers("--profile", "twice.json", *cluster)
        for text in ("8", "x2"):
            row = self.row("--profile", "trace.json", *cluster, "--batch", text)
            self.assertEqual(row["origin"], "estimated")
            self.assertEqual({name: value for name, value in row.items() if name not in NAMES}, wanted)

    def test_a_measured_trace_becomes_estimated(self):
        for flags in (["--batch", "32"], ["--batch", "x2"]):
            row = self.row(*RESNET, *flags)
            self.assertEqual(row["origin"], "estimated")
            self.assertIn(f"({flags[0][2:]} {flags[1]})", row["profile"])

    def test_precision_goes_as_estimate_goes(self):
        self.estimate("--model", "gpt2", "--device", "h100", "--batch", "4", "--precision", "fp32")
        output("estimate", "--from", "trace.json", "--precision", "bf16", "--out", "bf16.json", cwd=self.folder)
        wanted = self.numbers("--profile", "bf16.json", "--cluster", "k80-10gbe")
        self.assertEqual(self.numbers("--profile", "trace.json", "--cluster", "k80-10gbe", "--precision", "bf16"), wanted)

    def estimate(self, *arguments):
        output("estimate", *arguments, "--out", "trace.json", cwd=self.folder)
        return json.loads((self.folder / "trace.json").read_text(encoding="utf-8"))

    def test_every_command_takes_the_flags(self):
        table = output("topology", "--cluster", "fat-tree-4", "--bandwidth", "x2")
        self.assertRegex(table, r"bisection +640 Gbit/s")  # 8 hosts on either side
        for command in (["compare", *RESNET, "--strategies", "ddp,wfbp", "--csv"], ["plan", *RESNET, "--strategy", "mg-wfbp"],
                        ["tune", *RESNET, "--strategy", "ddp", "--budget", "2"], ["recommend", *RESNET, "--strategies", "ddp", "--budget", "2"],
                        ["collective", "--cluster", "fat-tree-4", "--fidelity", "fluid", "--bytes", "1MiB"],
                        ["sweep", "mgwfbp_fig10_161", "--csv"]):
            with self.subTest(command=command):
                mask = [["--bandwidth", "x1"], ["--bandwidth", "x7"]]
                one, seven = (output(*command, *flags) for flags in mask)
                self.assertNotEqual(one.replace("x1", "x7"), seven)

    def test_rows_are_what_run_says(self):
        self.estimate("--model", "gpt2-medium", "--device", "a100-40gb", "--batch", "4", "--precision", "bf16")
        link = {"alpha": "20 us", "bandwidth": "10 Gbit/s"}
        slow = self.cluster(link, stragglers=[{"worker": 3, "slowdown": 2}])
        for scenario in (RESNET, [*RESNET, "--bandwidth", "x2", "--accumulate", "2", "--strategy", "horovod"],
                         ["--profile", "trace.json", "--cluster", "a100x8-8x200gbps", "--workers", "32"],
                         ["--profile", "trace.json", "--cluster", "ec2-a100x8-4x100gbps", "--strategy", "fsdp2"],
                         ["--profile", "resnet20_p102_b128", "--cluster", "dgx-8x8-100gbps", "--workers", "16", "--fidelity", "fluid"],
                         ["--profile", "resnet20_p102_b128", "--cluster", slow, "--forward-ratio", "0.5"]):
            with self.subTest(scenario=scenario):
                answer = json.loads(output("whatif", *scenario, "--budget", "3", "--json", cwd=self.folder))
                for row in rows_of(answer):
                    again = json.loads(output("run", *row["flags"], "--json", cwd=self.folder))
                    self.assertEqual(row["fits"], again["fits"] is not False)  # whether there is a limit or not
                    self.assertEqual({name: row[name] for name in again if name not in ("wall_s", "schedule", "fits", "reference_workers", "relative_efficiency", "stages")},
                                     {name: value for name, value in again.items() if name not in ("wall_s", "schedule", "fits", "reference_workers", "relative_efficiency", "stages")}, row["change"])
                    throughput = [one["samples_per_s"] for one in (row, answer["base"])]
                    self.assertAlmostEqual(row["gain"], throughput[0] / throughput[1] - 1, delta=1e-12)
                self.assertEqual(answer["bound"]["iteration_s"], answer["base"]["lower_bound_s"])
                gains = [row["gain"] for row in answer["rows"] if row["fits"]]
                self.assertEqual(gains, sorted(gains, reverse=True))

    def test_a_level_that_is_held_back_by_another_says_by_which(self):
        # Four ports of 1.25 GB/s are as fast as the 5 GB/s inside: a ring is no faster until both are.
        words = ["--profile", "resnet50_v100_b32", "--nodes", "2", "--gpus", "4", "--network", "10Gbps", "--inner", "5GB/s", "--rails", "4",
                 "--strategy", "s-sgd", "--budget", "1"]
        answer = json.loads(output("whatif", *words, "--json"))
        gains = {row["change"]: row["gain"] for row in answer["rows"]}
        self.assertLess(max(gains["network bandwidth x2"], gains["bandwidth inside nodes x2"]), 0.002)
        one, other = answer["held_back"]
        self.assertEqual([one["limit"], other["limit"]], ["inside nodes 5 GB/s", "a port's 1.25 GB/s"])
        both = json.loads(output("run", *words[:-2], "--bandwidth", "x2", "--inner-bandwidth", "x2", "--json"))
        self.assertAlmostEqual(one["gain"], answer["base"]["iteration_s"] / both["iteration_s"] - 1, places=9)
        self.assertEqual(one["gain"], other["gain"])

    def test_the_table_prints_the_same_flags(self):
        answer = json.loads(output("whatif", *RESNET, "--budget", "3", "--json"))
        table = output("whatif", *RESNET, "--budget", "3", env=WIDE)
        common = shlex.split(table.split("Each row is `allreplay run ")[1].split("`")[0])
        lines = table.splitlines()
        place = next(line for line in lines if line.startswith("change  ")).index("flags")
        idle = [row for row in answer["rows"] if row["fits"] and abs(row["gain"]) < 0.0005]  # stand in a line of their own
        for row in rows_of(answer):
            if row in idle or row is answer["base"]:
                continue
            line = next(line for line in lines if line.startswith(row["change"] + "  "))
            pairs = sorted(zip(*[iter(row["flags"])] * 2))
            self.assertEqual(sorted(zip(*[iter(common + shlex.split(line[place:]))] * 2)), pairs)

    def test_an_option_that_one_row_changes_stands_once(self):
        asked = ["whatif", *RESNET, "--budget", "1", "--strategy", "ddp", "--option", "gradient_dtype=fp32"]
        text = output(*asked, env=WIDE)
        self.assertEqual(text.count("gradient_dtype=fp32"), 1)
        self.assertEqual(text.split("Each row is")[1].count("gradient_dtype=fp16"), 1)

    def test_flags_can_be_pasted(self):
        """However narrow the table."""
        self.write("one trace.json", (ROOT / "traces" / "resnet20_p102_b128.json").read_text(encoding="utf-8"))
        asked = ["whatif", "--profile", self.folder / "one trace.json", "--cluster", "k80-10gbe", "--budget", "2"]
        due = sorted(sorted(zip(*[iter(row["flags"])] * 2)) for row in rows_of(answer(*asked))
                     if not row["fits"] or abs(row["gain"]) >= 0.0005)
        for width in (60, 80, 100):
            text = output(*asked, env={**os.environ, "COLUMNS": str(width)})
            common = re.search(r"Each\s+row\s+is\s+`(allreplay run .*?)`\s+and", text, re.M | re.S)[1]
            part = next(part for part in text.split("\n\n") if re.search("^(change| #) .*flags|^ #  flags", part, re.M)).splitlines()
            header = next(line for line in part if "flags" in line)
            rule = next(place for place, line in enumerate(part) if line.startswith("---"))
            start = header.index("flags")
            self.assertEqual("gain" in header, width > 60)  # in the row, not in a table of their own
            cells = "\n".join(line[start:].rstrip() for line in part[rule + 1:])
            pairs = [zip(*[iter(pasted(common + " " + flags)[1:])] * 2) for flags in re.split(r"(?<!\\)\n", cells) if flags]
            self.assertEqual(sorted(map(sorted, pairs)), due, width)

    def test_what_does_not_fit_is_sharded(self):
        self.estimate("--model", "llama3-8b", "--device", "h100", "--batch", "1", "--seq", "2048")
        cluster = ["--cluster", "h100x8-8x400gbps", "--workers", "128"]
        answer = json.loads(output("whatif", "--profile", "trace.json", *cluster, "--json", cwd=self.folder))
        self.assertEqual(answer["base"]["strategy"], "fsdp2")
        self.assertTrue(answer["base"]["fits"])
        self.assertFalse(next(row for row in answer["rows"] if row["change"] == "DDP")["fits"])
        roomy = json.loads(output("whatif", "--profile", "trace.json", *cluster, "--memory", "1000GB", "--json", cwd=self.folder))
        self.assertEqual(roomy["base"]["strategy"], "ddp")

    def test_results_do_not_depend_on_jobs(self):
        one, three = (json.loads(output("whatif", *RESNET, "--json", "--jobs", jobs)) for jobs in "13")
        for answer in (one, three):
            for row in rows_of(answer):
                row.pop("wall_s")
        self.assertEqual(one, three)

    def test_the_chart_has_a_bar_for_each_row(self):
        answer = json.loads(output("whatif", *RESNET, "--json", "--plot", "gains.svg", cwd=self.folder))
        drawn = tree.parse(self.folder / "gains.svg").getroot()
        names = [text.text for text in drawn.iter() if text.get("class") == "row"]
        self.assertEqual(sorted(names), sorted([row["change"] for row in rows_of(answer)[1:] if row["workers"] == 16] + ["perfect overlap (the bound)"]))

    def test_bad_input_is_one_line(self):
        one_level = self.cluster({"alpha": "20 us", "bandwidth": "10 Gbit/s"})
        table = self.folder / "table.json"
        table.write_text(json.dumps({"name": "table", "workers": 16, "network": TABLE}), encoding="utf-8")
        self.write("table.csv", "layer,params,forward_us,backward_us\nfc,100,1,2\n")
        csv = ["--profile", self.folder / "table.csv", "--cluster", "k80-10gbe"]
        for flags, words in [([*RESNET, "--bandwidth", "fast"], "--bandwidth"), ([*RESNET, "--bandwidth", "x0"], "--bandwidth"),
                             ([*RESNET, "--bandwidth", "0 Gbit/s"], "--bandwidth"), ([*RESNET, "--bandwidth", "x-1"], "--bandwidth"),
                             ([*RESNET, "--latency", "soon"], "--latency"), ([*RESNET, "--inner-bandwidth", "x2"], "one level"),
                             ([*RESNET, "--rails", "2"], "--rails"), ([*RESNET, "--node", "8"], "--node"),
                             ([*RESNET, "--batch", "0"], "--batch"), ([*RESNET, "--batch", "x0.3"], "--batch"),
                             ([*csv, "--batch", "8"], "--batch"), ([*csv, "--precision", "bf16"], "--precision"),
                             ([*RESNET, "--precision", "int3"], "--precision"), ([*RESNET, "--precision", "bf16"], "k80 has no bf16"),
                             ([*RESNET, "--stragglers", "99:2"], "--stragglers"), ([*RESNET, "--stragglers", "1:2,1:3"], "twice"),
                             ([*RESNET, "--stragglers", "slow"], "--stragglers"),
                             (["--profile", "resnet50_k80_b16", "--cluster", one_level, "--inner-latency", "1 us"], "one level"),
                             (["--profile", "resnet50_k80_b16", "--cluster", table, "--bandwidth", "1 Gbit/s"], "a factor"),
                             (["--profile", "resnet50_k80_b16", "--cluster", table, "--latency", "1 us"], "a factor"),
                             ([*RESNET, "--links"], "alpha-beta"), ([*RESNET, "--plot", "links.svg"], "alpha-beta"),
                             ([*RESNET, "--plot", "links.txt"], "--plot")]:
            with self.subTest(flags=flags):
                self.assertIn(words, refusal("run", *flags, "--strategy", "ddp", cwd=self.folder))
        refusal("whatif", *RESNET, "--plot", "gains.txt", cwd=self.folder)
        self.assertFalse((self.folder / "gains.txt").exists())


if __name__ == "__main__":
    unittest.main()
