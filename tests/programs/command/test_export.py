#!/usr/bin/env python3
"""allreplay export, and importers of what other simulators and profilers wrote: as users run them.

ALLREPLAY_PROGRAM names the program (build/release/allreplay), ALLREPLAY_REFERENCE_DATA the folder of published originals;
what needs them is skipped where it is absent. Run: python3 tests/programs/command/test_export.py
"""

import json
import sys
import unittest
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[2]), str(Path(__file__).resolve().parent)]

import chakra_replay  # noqa: E402
import program  # noqa: E402
from program import REFERENCE, ROOT  # noqa: E402

ORIGINALS = REFERENCE / "originals"


class Case(program.Case):
    """In a folder of its own."""

    def works(self, *arguments):
        """(standard output, notes) of a command that works."""
        done = self.success(*arguments)
        self.assertTrue(all(line.startswith("note: ") for line in done.stderr.splitlines()), done.stderr)
        return done.stdout, done.stderr

    def imported(self, *arguments):
        """(trace, notes) of an import that works."""
        _, notes = self.works("import", *arguments, "--out", "trace.json")
        return json.loads((self.folder / "trace.json").read_text(encoding="utf-8")), notes

    def refused(self, pattern, *arguments):
        """One line that matches, exit status 2, and no file is left."""
        before = sorted(self.folder.iterdir())
        error = self.refusal(*arguments)
        self.assertRegex(error, pattern)
        self.assertEqual(sorted(self.folder.iterdir()), before)

    def iteration(self, profile, strategy):
        """The simulated time of one, in seconds."""
        out, _ = self.works("run", "--profile", profile, "--cluster", "k80-10gbe", "--strategy", strategy, "--json")
        return json.loads(out)["iteration_s"]


def total(trace, key):
    """Microseconds of all layers."""
    return sum(layer[key] for layer in trace["layers"])


@unittest.skipUnless(ORIGINALS.exists(), f"no originals at {ORIGINALS}")
class Originals(Case):
    """Published samples of Chakra."""

    def test_chakra_samples_are_no_profiles(self):
        self.refused(": ", "import", ORIGINALS / "chakra/small_chakra.0.json",
                     "--batch", 1, "--out", "trace.json")
        self.refused(": ", "import",
                     ORIGINALS / "chakra/1.0.2-chakra.0.0.4.json", "--batch", 1, "--out", "trace.json")


class Export(Case):
    """What is written, and what comes back."""

    PROFILES = ("googlenet_k80_b32", "resnet50_k80_b16")

    def test_an_exported_profile_simulates_as_before(self):
        for profile in self.PROFILES:
            for form, lacking in (("chakra", []), ("chakra-json", []), ("csv", ["--batch", 8])):
                with self.subTest(profile=profile, format=form):
                    self.works("export", "--to", form, "--profile", profile, "--out", form)
                    back, _ = self.imported(form, *lacking)
                    if form.startswith("chakra"):  # whole
                        self.assertEqual(self.iteration("trace.json", "wfbp"), self.iteration(profile, "wfbp"))
                    else:  # a tensor for each layer, so not in as many pieces; all merged, the same
                        self.assertEqual(self.iteration("trace.json", "sync-easgd"), self.iteration(profile, "sync-easgd"))
                    shipped = json.loads((ROOT / f"traces/{profile}.json").read_text(encoding="utf-8"))
                    self.assertEqual([layer["name"] for layer in back["layers"]], [layer["name"] for layer in shipped["layers"]])
                    for key in ("forward", "backward"):
                        self.assertAlmostEqual(total(back, key), total(shipped, key), places=4)

    def test_a_plan_as_a_chakra_graph(self):
        self.works("export", "--to", "chakra-json", "--profile", "googlenet_k80_b32", "--cluster", "k80-10gbe",
                   "--workers", 4, "--strategy", "mg-wfbp", "--out", "plan.json")
        graph = json.loads((self.folder / "plan.json").read_text(encoding="utf-8"))
        plan = json.loads(self.works("plan", "--profile", "googlenet_k80_b32", "--cluster", "k80-10gbe", "--workers", 4,
                                     "--strategy", "mg-wfbp", "--json")[0])
        nodes = {node["Id"]: node for node in graph["workload_graph"]}
        reduces = [node for node in nodes.values() if node["NodeType"] == 7]
        self.assertEqual([node["comm_size"] for node in reduces],
                         [sum(piece["bytes"] for piece in block["slices"]) for block in plan["blocks"]])
        self.assertTrue(all(node["comm_type"] == 0 for node in reduces))
        # Each waits for the backward node of a tensor that it holds, and for the one before it.
        for before, node in zip([None, *reduces], reduces):
            waits = [nodes[other] for other in node["data_deps"]]
            self.assertEqual([one["Id"] for one in waits if one["NodeType"] == 7], [before["Id"]] if before else [])
            self.assertEqual([one["Name"][-4:] for one in waits if one["NodeType"] == 4], ["_BWD"])
        first = next(node for node in nodes.values() if node["Name"].endswith("_FWD"))
        self.assertEqual(len(first["data_deps"]), len(reduces) + 1)  # the iteration's barrier, and the last backward
        self.assertEqual(sum(node["runtime"] for node in nodes.values() if node["NodeType"] == 4),
                         round(sum(node["duration_ps"] for node in nodes.values() if node["NodeType"] == 4) / 1e6))

    def test_the_longest_path_is_the_iteration(self):
        cluster = json.loads((ROOT / "topologies/k80-10gbe.json").read_text(encoding="utf-8"))["network"]["measured"]
        start_up, per_byte = (float(cluster[key].split()[0]) * scale for key, scale in (("a", 1e-6), ("b", 1e-9)))
        for strategy in ("s-sgd", "wfbp", "sync-easgd", "mg-wfbp", "optimal-merge", "ddp", "us-byte"):
            self.works("export", "--to", "chakra-json", "--profile", "resnet50_k80_b16", "--cluster", "k80-10gbe",
                       "--strategy", strategy, "--out", "plan.json")
            end = {}
            for node in json.loads((self.folder / "plan.json").read_text(encoding="utf-8"))["workload_graph"]:
                lasts = start_up + per_byte * node["comm_size"] if node["NodeType"] == 7 else node["duration_ps"] * 1e-12
                end[node["Id"]] = max((end[other] for other in node["data_deps"]), default=0) + lasts
            self.assertAlmostEqual(max(end.values()), self.iteration("resnet50_k80_b16", strategy), places=9, msg=strategy)

    def test_a_file_for_each_worker(self):
        self.works("export", "--to", "chakra", "--profile", "googlenet_k80_b32", "--workers", 3, "--per-worker", "--out", "net")
        files = sorted(self.folder.iterdir())
        self.assertEqual([file.name for file in files], ["net.0.et", "net.1.et", "net.2.et"])
        self.assertEqual(len({file.read_bytes() for file in files}), 1)
        self.imported("net.2.et")

    def test_what_makes_no_sense(self):
        given = ("export", "--profile", "googlenet_k80_b32", "--out", "file")
        self.refused("--to: ", *given, "--to", "chakre")
        self.refused("--strategy: ", *given, "--to", "csv", "--strategy", "wfbp", "--cluster", "k80-10gbe")
        self.refused("--strategy: ", *given, "--to", "chakra", "--strategy", "wfbp")
        self.refused("--cluster: ", *given, "--to", "chakra", "--cluster", "k80-10gbe")
        self.refused("--per-worker: ", *given, "--to", "csv", "--per-worker")
        self.refused("--per-worker: ", *given, "--to", "chakra", "--per-worker")
        self.refused("--codec: ", *given, "--to", "chakra", "--codec", "fp16", "--strategy", "wfbp",
                     "--cluster", "k80-10gbe")
        self.refused(": ", "export", "--profile", "googlenet_k80_b32", "--to", "csv", "--out",
                     "no/folder/file")
        self.refused(": ", "export", "--profile", "nothing", "--to", "csv", "--out", "file")


@unittest.skipUnless(chakra_replay.PROTOC, "no protoc")
class Readers(Case):
    """What others make of the files: the schema's own compiler decodes, and a feeder like ASTRA-sim's replays."""

    PROFILE, WORKERS = "resnet50_k80_b16", 64
    ALPHA, BETA = 20e-6, 0.8e-9  # 10 Gbit/s

    def setUp(self):
        super().setUp()
        self.lab(self.WORKERS)
        self.scenario = ("--profile", self.PROFILE, "--cluster", "lab.json")

    def lab(self, workers):
        network = {"alpha": "20 us", "bandwidth": "10 Gbit/s"}
        self.write("lab.json", {"name": "lab", "workers": workers, "network": network})

    def price(self, node):
        """A ring among all: 2(N-1) rounds of M/N bytes, half of that for each half. comm_size is what a worker gives."""
        (_, kind), (_, size) = node["attr"]["comm_type"], node["attr"]["comm_size"]
        share = size if kind == 2 else size / self.WORKERS  # of an all-gather it is the share
        return (self.WORKERS - 1) * (2 if kind == 0 else 1) * (self.ALPHA + self.BETA * share)

    def replayed(self, strategy, *more):
        """(our iteration, the feeder's) in seconds"""
        ours = json.loads(self.works("run", *self.scenario, "--strategy", strategy, *more, "--json")[0])["iteration_s"]
        self.works("export", "--to", "chakra", *self.scenario, "--strategy", strategy, *more, "--out", "x.et")
        _, nodes = chakra_replay.decode(self.folder / "x.et")
        return ours, chakra_replay.replay(nodes, self.price)

    def test_it_takes_as_long_there(self):
        """Durations are whole microseconds, so half of one is lost between two waits of the compute stream. Whoever sends several blocks at
        a time has no counterpart: ByteScheduler is itself there with a credit of one."""
        cases = [(strategy,) for strategy in ("wfbp", "ddp", "s-sgd", "mg-wfbp", "us-byte", "dear", "p3", "fsdp2", "fsdp1", "zero-1", "zero-2",
                                              "zero-3", "megatron", "simple-fsdp", "megatron-fsdp")]
        for case in [*cases, ("bytescheduler", "--option", "credit=1"), ("wfbp", "--zero", 1), ("ddp", "--accumulate", 2)]:
            with self.subTest(case):
                ours, theirs = self.replayed(*case)
                self.assertAlmostEqual(theirs, ours, delta=2e-6)

    def test_what_several_in_flight_lose_there(self):
        ours, theirs = self.replayed("bytescheduler")
        one, _ = self.replayed("bytescheduler", "--option", "credit=1")
        self.assertAlmostEqual(theirs, one, delta=2e-6)
        self.assertGreater(theirs, 1.4 * ours)  # 605 to 419 ms: start-ups do not overlap

    def test_what_the_schema_says(self):
        self.works("export", "--to", "chakra", *self.scenario, "--strategy", "p3", "--out", "x.et")
        metadata, nodes = chakra_replay.decode(self.folder / "x.et")
        self.assertEqual(metadata["version"], ["0.0.4"])
        self.assertEqual(chakra_replay.attributes(metadata)["batch_size"], ("int64_val", 16))
        collectives = [node for node in nodes if node["type"] == "COMM_COLL_NODE"]
        types = {"comm_type": "int64_val", "comm_size": "int64_val", "comm_priority": "int32_val", "is_cpu_op": "bool_val"}
        for node in collectives:  # of the types in which Chakra's feeder asks for them
            self.assertEqual({name: kind for name, (kind, _) in node["attr"].items()}, types)
        self.assertEqual(sorted(node["id"] for node in nodes), list(range(len(nodes))))
        first = min(collectives, key=lambda node: node["id"])
        self.assertIn("(conv1.weight)", first["name"])
        self.assertEqual(first["attr"]["comm_priority"], ("int32_val", len(collectives)))
        seen = set()
        for node in nodes:  # each stands behind all that it waits for
            self.assertTrue(seen.issuperset(node["data_deps"]))
            seen.add(node["id"])

    def test_groups(self):
        """Each worker's file names its own groups by number, and a file says who they are."""
        self.lab(4)
        self.works("export", "--to", "chakra", *self.scenario, "--strategy", "fsdp2", "--shard-group", 2, "--per-worker", "--out", "x")
        groups = json.loads((self.folder / "x.groups.json").read_text(encoding="utf-8"))
        self.assertEqual(groups, {"1": [0, 1], "2": [2, 3], "3": [0, 2], "4": [1, 3]})
        for worker in range(4):
            _, nodes = chakra_replay.decode(self.folder / f"x.{worker}.et")
            named = {node["attr"]["pg_name"][1] for node in nodes if node["type"] == "COMM_COLL_NODE"}
            self.assertEqual(len(named), 2)
            self.assertTrue(all(worker in groups[name] for name in named))



class BadFiles(Case):
    """One line, exit status 2, nothing written."""

    def test_each_format(self):
        for form in ("chakra", "chakra-json", "csv"):
            (self.folder / form).write_bytes(b"")
            self.refused(f"{form}: ", "import", form, "--from", form, "--batch", 1, "--out", "trace.json")
        self.refused("chakra: ", "import", "chakra", "--batch", 1, "--out", "trace.json")

    def test_a_cut_et_file(self):
        self.works("export", "--to", "chakra", "--profile", "googlenet_k80_b32", "--out", "net.et")
        whole = (self.folder / "net.et").read_bytes()
        (self.folder / "net.et").write_bytes(whole[:len(whole) // 2])
        self.refused("net.et: ", "import", "net.et", "--out", "trace.json")


if __name__ == "__main__":
    unittest.main()
