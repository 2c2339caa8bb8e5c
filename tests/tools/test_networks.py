#!/usr/bin/env python3
"""Networks of two levels, tables by number of workers, and NCCL's prices, as users run them. Run: python3 tests/tools/test_networks.py"""

import json
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from program import Case, answer, needs_program, output, run  # noqa: E402

NODE = {"workers": 8, "alpha": "1 us", "bandwidth": "370 GB/s"}
LINKS = {"node": NODE, "alpha": "5 us", "bandwidth": "50 GB/s", "rails": 8}
TABLE = [{"bytes": "1 kB", "time": "10 us"}, {"bytes": "1 MB", "time": "1 ms"}]
MEASURED = {"collective": "ring", "workers": 8, "a": "14 us", "b": "1 ns/B"}


def without(network, *keys):
    return {key: value for key, value in network.items() if key not in keys}


@needs_program
class Networks(Case):
    def run_on(self, network, workers, *arguments):
        file = self.folder / "cluster.json"
        file.write_text(json.dumps({"name": "two", "workers": workers, "network": network}))
        size = [] if "--bytes" in arguments else ["--bytes", "1GB"]
        return run("collective", "--cluster", file, *size, "--json", *arguments)

    def row(self, network, workers, *arguments):
        done = self.run_on(network, workers, *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(all(line.startswith("note: ") for line in done.stderr.splitlines()), done.stderr)
        return json.loads(done.stdout)[0]

    def refused(self, network, workers, *arguments, place="", says=""):
        done = self.run_on(network, workers, *arguments)
        self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (2, "", 1), done.stderr)
        self.assertIn(place, done.stderr)
        self.assertIn(says, done.stderr)

    def test_shared_links_are_simulated_unless_someone_asks_otherwise(self):
        # Two leaves of four hosts on one spine, 10 Gbit/s each: half of the bytes of an all-to-all cross the one uplink of
        # each leaf, 4·4 slices of M/8 against 7 at a host's port.
        shared = {"alpha": "0 us", "topology": {"kind": "leaf-spine", "leaves": 2, "hosts_per_leaf": 4, "spines": 1, "oversubscription": 4,
                                                "link": {"latency": "0 us", "bandwidth": "10 Gbit/s"}}}
        size = ("--operation", "all-to-all", "--bytes", "80MB")
        usual, fluid = (self.row(shared, 8, *size, *flags) for flags in ((), ("--fidelity", "fluid")))
        self.assertEqual(usual["time_s"], fluid["time_s"])
        self.assertAlmostEqual(usual["time_s"], 16 * 80e6 / 8 / 1.25e9, delta=1e-9)
        done = self.run_on(shared, 8, *size, "--fidelity", "alpha-beta")
        self.assertTrue(done.stderr)
        # Nothing is shared on one switch: alpha-beta is right, and fast.
        star = {**shared, "topology": {"kind": "star", "link": shared["topology"]["link"]}}
        self.assertNotIn("links", self.run_on(star, 8, *size).stderr)

    def test_closed_forms(self):
        # 64 workers, 8 nodes, 8 ports: 2(64 - 8) + 2·7·5 = 182 us and 2·63/64 · max(1/370, 1/50/8) ns/B.
        self.assertAlmostEqual(self.row(LINKS, 64, "--collective", "ring")["time_s"], 182e-6 + 126 / 64 / 370, delta=1e-12)
        # 2·7 + 2·7·5 = 84 us; 2·7/8/370 + 2·7/64/50 ns/B.
        self.assertAlmostEqual(self.row(LINKS, 64, "--collective", "hierarchical")["time_s"], 84e-6 + 14 / 8 / 370 + 14 / 64 / 50, delta=1e-12)
        # One node: one level.
        self.assertAlmostEqual(self.row(LINKS, 8)["time_s"], 14e-6 + 14 / 8 / 370, delta=1e-12)
        # Four and one, four ports: the one has a port of its own alone, and all four rings come through it.
        five = {"node": {"workers": 4, "alpha": "0 s", "bandwidth": "400 GB/s"}, "alpha": "0 s", "bandwidth": "25 GB/s", "rails": 4}
        self.assertAlmostEqual(self.row(five, 5)["time_s"], 2 * 4 / 5 / 25, delta=1e-12)
        # The tree's bandwidth as printed knows no nodes: the physical one is meant unless someone asks for it.
        tree = ("--collective", "double-binary-tree")
        self.assertEqual(self.row(LINKS, 64, *tree)["time_s"], self.row(LINKS, 64, *tree, "--option", "tree_bandwidth=physical")["time_s"])

    def test_refusals(self):
        self.refused(LINKS, 64, "--collective", "bml", says="bml")
        self.refused(LINKS, 64, "--collective", "parameter-server", "--option", "servers=4", says="servers=4")
        self.refused(LINKS, 64, "--collective", "double-binary-tree", "--option", "tree_bandwidth=paper", says="tree_bandwidth")
        self.refused(LINKS, 60, "--collective", "hierarchical", says=": ")
        self.refused(LINKS, 60, "--collective", "halving-doubling", says=": ")
        self.refused({**LINKS, "measured": MEASURED}, 8, place="/network", says="twice")
        self.refused({**LINKS, "rails": 9}, 64, place="/network/rails", says=": ")
        self.refused({**LINKS, "rails": 0}, 64, place="/network/rails")
        self.refused({**LINKS, "node": without(NODE, "bandwidth")}, 64, place="/network/node", says="beta")
        self.refused({**LINKS, "node": without(NODE, "alpha")}, 64, place="/network/node", says="alpha")
        self.refused({**LINKS, "node": {**NODE, "beta": "1 ns/B"}}, 64, place="/network/node/bandwidth")
        self.refused({**LINKS, "node": {**NODE, "bandwidth": "0 GB/s"}}, 64, place="/network/node/bandwidth")
        self.refused({**LINKS, "node": {**NODE, "rails": 2}}, 64, place="/network/node", says="rails")
        self.refused(without(LINKS, "bandwidth"), 64, place="/network", says="beta")
        self.refused(without(LINKS, "node"), 64, place="/network/rails", says=": ")
        star = {"kind": "star", "link": {"latency": "1 us", "bandwidth": "1 GB/s"}, "gpus_per_host": 4, "inner": {"latency": "0 s", "bandwidth": "9 GB/s"}}
        self.refused({**LINKS, "topology": star}, 64, place="/network/node/workers", says="4 GPUs")

    def test_nodes_are_rails_in_the_detailed_fidelities(self):
        bare = {**LINKS, "node": {**NODE, "alpha": "0 us"}, "alpha": "0 us"}
        for collective in ("ring", "hierarchical", "halving-doubling", "recursive-doubling", "binary-tree", "parameter-server"):
            closed, fluid = (self.row(bare, 64, "--collective", collective, *words)["time_s"] for words in ((), ("--fidelity", "fluid")))
            self.assertAlmostEqual(fluid, closed, delta=1e-10, msg=collective)
        # 2·63 hops of a slice, of which at most 16 leave a node: 16·5 + 110·1 us, and the bytes of the closed form.
        self.assertAlmostEqual(self.row(LINKS, 64, "--fidelity", "fluid")["time_s"], 190e-6 + 126 / 64 / 370, delta=1e-10)
        file = self.folder / "cluster.json"
        facts = answer("topology", "--cluster", file)
        self.assertEqual([facts[key] for key in ("kind", "hosts", "gpus_per_host", "switches", "diameter_hops", "diameter_s", "bisection_exact")], ["rail", 8, 8, 8, 4, 0, True])  # of the spines no route makes use
        self.assertAlmostEqual(facts["bisection_GBps"], 4 * 8 * 50)
        self.refused(LINKS, 60, "--collective", "hierarchical", "--fidelity", "fluid", says=": ")
        self.refused({**without(LINKS, "bandwidth"), "beta": "0 ns/B"}, 64, "--fidelity", "fluid", place="/network/beta", says=": ")
        self.refused({"node": {"workers": 8}, "measured": MEASURED}, 8, "--fidelity", "fluid", says=": ")

    def test_rails_by_name(self):
        link, inner = {"latency": "1 us", "bandwidth": "50 GB/s"}, {"latency": "0.5 us", "bandwidth": "370 GB/s"}
        rail = {"kind": "rail", "gpus_per_host": 8, "rails": 8, "link": link, "inner": inner}
        # 2(64 - 8) messages of 6 us inside, 2·7 of 8 us outside; a slice's 126 hops are at most 16 of 8 us and 110 of 6.
        network = {"alpha": "5 us", "topology": rail}
        self.assertAlmostEqual(self.row(network, 64)["time_s"], 784e-6 + 126 / 64 / 370, delta=1e-10)
        self.assertAlmostEqual(self.row(network, 64, "--fidelity", "fluid")["time_s"], 788e-6 + 126 / 64 / 370, delta=1e-10)
        # Beside nodes, links add their latencies: 16 of 5 + 3 us, 110 of 1 + 1.
        self.assertAlmostEqual(self.row({**LINKS, "topology": rail}, 64, "--fidelity", "fluid")["time_s"], 348e-6 + 126 / 64 / 370, delta=1e-10)
        # A port that fails: rings 3 and another share one of seven. Slices wait there 126 times for each other, and start
        # up meanwhile, but for the first.
        failed = {"alpha": "5 us", "topology": {**rail, "links": [{"between": ["h2", "rail3"], "down": True}]}}
        self.assertAlmostEqual(self.row(failed, 64, "--fidelity", "fluid")["time_s"], 8e-6 + 126 / 64 / 8 * 2 / 50, delta=3e-6)
        self.refused(failed, 64, "--fidelity", "alpha-beta", place="/network/topology/links", says=": ")
        self.refused({**LINKS, "topology": {**rail, "rails": 4}}, 64, place="/network/rails", says="4 rails")
        self.refused({"alpha": "0 us", "topology": {**rail, "rails": 9}}, 64, place="/network/topology/rails", says=": ")
        self.refused({"alpha": "0 us", "topology": {**rail, "rails": 0}}, 64, place="/network/topology/rails", says=": ")

    def test_what_was_measured(self):
        node = {"node": {"workers": 8}}
        self.assertAlmostEqual(self.row({**node, "measured": MEASURED}, 8)["time_s"], 14e-6 + 1, delta=1e-12)
        self.refused({**node, "measured": MEASURED}, 8, "--workers", "16", place="/network/measured", says=": ")
        self.refused({**node, "table": TABLE}, 8, "--workers", "16", place="/network/table", says=": ")
        done = self.run_on({**node, "measured": {**MEASURED, "workers": 16}}, 64)
        self.assertEqual((done.returncode, bool(done.stderr)), (0, True))

    def test_tables(self):
        tables = {"tables": [{"workers": 4, "table": TABLE}, {"workers": 16, "table": [{"bytes": "1 kB", "time": "30 us"}, {"bytes": "1 MB", "time": "3 ms"}]}]}
        for workers, time in ((4, 1e-3), (16, 3e-3)):
            self.assertAlmostEqual(self.row(tables, workers, "--bytes", "1MB")["time_s"], time, delta=1e-12)
        done = self.run_on(tables, 8, "--bytes", "1MB")  # log 8 is halfway from log 4 to log 16
        self.assertAlmostEqual(json.loads(done.stdout)[0]["time_s"], 2e-3, delta=1e-12)
        self.assertTrue(done.stderr)
        done = self.run_on(tables, 32, "--bytes", "1MB")
        self.assertAlmostEqual(json.loads(done.stdout)[0]["time_s"], 4e-3, delta=1e-12)
        self.assertTrue(done.stderr)
        self.refused(tables, 8, "--collective", "hierarchical", place="/network/tables")
        self.refused({"tables": []}, 8, place="/network/tables")
        self.refused({"tables": tables["tables"][::-1]}, 8, place="/network/tables/1/workers", says="increasing")
        self.refused({"tables": tables["tables"][:1]}, 8, place="/network/tables", says=": ")
        self.refused({**tables, "table": TABLE}, 8, place="/network", says="twice")

    def test_nccl(self):
        nccl = {**LINKS, "collective": "nccl", "nccl": {"gpu": "h100"}}
        row = self.row(nccl, 8)
        self.assertEqual((row["algorithm"], row["protocol"]), ("nvls", "Simple"))
        self.assertAlmostEqual(row["time_s"], 25e-6 + 1 / (476 * 8 / 14), delta=1e-9)  # 8·40·0.85·7/8·2 GB/s of bus
        row = self.row(nccl, 8, "--bytes", "1024B")
        self.assertEqual((row["algorithm"], row["protocol"]), ("ring", "LL"))
        self.assertAlmostEqual(row["time_s"], 15e-6 + 1024e-9 / (141 * 8 / 14), delta=1e-12)
        self.assertNotIn("algorithm", self.row(nccl, 8, "--collective", "ring"))
        table = output("collective", "--cluster", self.folder / "cluster.json", "--bytes", "1024B")
        self.assertRegex(table, r"(?s)algorithm +protocol.*ring +LL\n")
        for fidelity in ("fluid", "message"):
            row = self.row(nccl, 8, "--fidelity", fidelity)
            self.assertEqual((row["algorithm"], row["protocol"]), ("nvls", "Simple"))
            self.assertAlmostEqual(row["time_s"], 25e-6 + 1 / (476 * 8 / 14), delta=1e-9)
        self.refused(LINKS, 8, "--collective", "nccl", place="/network", says="nccl")
        self.refused({**without(LINKS, "node", "rails"), "nccl": {"gpu": "h100"}}, 8, place="/network/nccl", says="node")
        self.refused({"node": NODE, "measured": MEASURED, "nccl": {"gpu": "h100"}}, 8, place="/network/nccl", says="alpha")
        self.refused({**LINKS, "nccl": {}}, 8, place="/network/nccl", says="gpu")
        self.refused({**LINKS, "nccl": {"gpu": "h200x"}}, 8, place="/network/nccl/gpu", says="h200x")
        self.refused({**LINKS, "nccl": {"gpu": "h100", "link": "nvlnk"}}, 8, place="/network/nccl/link", says="nvlink")
        self.refused({**LINKS, "nccl": {"gpu": "h100", "channels": 0}}, 8, place="/network/nccl/channels")
        self.refused({**LINKS, "nccl": {"gpu": "h100", "scale": {"node": {"latency": 0}}}}, 8, place="/network/nccl/scale/node/latency")
        self.refused({**without(LINKS, "bandwidth"), "beta": "0 ns/B", "nccl": {"gpu": "h100"}}, 8, place="/network/nccl", says="bandwidth")
        self.refused({"measured": {**MEASURED, "collective": "nccl"}}, 8, place="/network/measured/collective", says="nccl")

    def test_training_runs(self):
        """Strategies replay on nccl's prices, in one stage and in two, and none beats its bound."""
        for cluster in ("h100x8-8x400gbps", "v100x4-pcie-10gbe"):
            rows = answer("compare", "--profile", "resnet50_p100_b64", "--cluster", cluster, "--strategies", "wfbp,mg-wfbp,optimal-merge,dear,bytescheduler")
            self.assertEqual(len(rows), 5)
            for row in rows:
                self.assertGreaterEqual(row["iteration_s"] * (1 + 1e-9), row["lower_bound_s"], row["strategy"])


if __name__ == "__main__":
    unittest.main()
