#!/usr/bin/env python3
"""Nothing that crosses a network is free: on every shipped cluster a small message takes at least what one message costs.

Run: python3 tests/programs/command/test_start_ups.py
"""
import json
import re
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from program import ROOT, Case, listed, needs_program, output, run  # noqa: E402

OPERATIONS = ["all-reduce", "all-gather", "reduce-scatter", "all-to-all", "broadcast"]
FIDELITIES = ["alpha-beta", "fluid", "message"]
# BML's paper counts no start-ups, and these are its networks: alpha and latencies are 0 in their files.
WITHOUT_START_UPS = {"bcube-16-4", "bcube-32-2", "bcube-4-2", "bml-bcube-3-2", "bml-switch-9", "fat-tree-16", "fat-tree-20", "fat-tree-4"}
UNITS = {"s": 1, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}


def seconds(text):
    number, unit = re.fullmatch(r"([0-9.e+-]+) *([a-z]+)", text).groups()
    return float(number) * UNITS[unit]


def least_start_up(network, workers):
    """What the cheapest message of so many workers costs, in seconds. NCCL's send: its base in LL, 6.6 us, and a hop, in a
    node 0.6 us over NVLink, between nodes 2.7. Else alpha, and the latency of the shortest way: two links, or one."""
    node, topology = network.get("node"), network.get("topology")
    if "nccl" in network:
        return 7.2e-6 if node["workers"] > 1 else 9.3e-6
    if "measured" in network:
        return 1e-9  # of a whole collective: it has a start-up
    by_nodes = network["alpha"] if isinstance(network["alpha"], list) else [{"alpha": network["alpha"]}]
    alpha = min(seconds(one["alpha"]) for one in by_nodes)
    if node:
        return min(alpha, seconds(node["alpha"]))
    if not topology:
        return alpha
    link = topology.get("inner", topology["link"])
    return alpha + (1 if topology["kind"] in ("ring", "torus") else 2) * seconds(link["latency"])


@needs_program
class StartUps(Case):
    def time(self, name, workers, fidelity, *flags):
        """Of 8 bytes; None if this cluster cannot do it."""
        done = run("collective", "--cluster", name, "--workers", workers, "--fidelity", fidelity, "--bytes", "8B", "--json", *flags, cwd=self.folder)
        if done.returncode != 0:
            self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
            return None
        return json.loads(done.stdout)[0]["time_s"]

    def test_a_small_message_takes_a_start_up(self):
        timed = 0
        for file in sorted((ROOT / "topologies").glob("*.json")):
            cluster = json.loads(file.read_text(encoding="utf-8"))
            network = cluster["network"]
            sizes = {min(cluster["workers"], 64)} | ({2 * network["node"]["workers"], 2} if "node" in network else set())
            for workers in sizes:
                least = least_start_up(network, workers)
                if file.stem in WITHOUT_START_UPS:
                    self.assertEqual(least, 0)
                    continue
                self.assertGreater(least, 0)
                for operation in OPERATIONS:
                    for fidelity in FIDELITIES:
                        time = self.time(file.stem, workers, fidelity, "--operation", operation)
                        if time is None:
                            continue
                        timed += 1
                        self.assertGreaterEqual(time, least * (1 - 1e-9), f"{file.stem}, {workers}, {operation}, {fidelity}")
        self.assertGreater(timed, 200)

    def test_no_collective_is_free_where_nccl_starts_up(self):
        """Whatever algorithm is named in place of NCCL's own; among two of different nodes, a hop between nodes."""
        for name in ("h100x8-8x400gbps", "gh200x4-4x200gbps", "nvl72"):
            node = json.loads((ROOT / "topologies" / f"{name}.json").read_text(encoding="utf-8"))["network"]["node"]["workers"]
            for collective in listed("collectives"):
                for fidelity in FIDELITIES:
                    for workers, least in ((2, 7.2e-6), (2 * node, 9.3e-6)):
                        time = self.time(name, workers, fidelity, "--collective", collective)
                        if time is not None:
                            self.assertGreaterEqual(time, least * (1 - 1e-9), f"{name}, {workers}, {collective}, {fidelity}")

    def test_a_direct_exchange_takes_one(self):
        """64 of eight nodes at once, 1 KiB: 6.6 + 2.7 us, and 1 KiB / 64 to each of 56 others through eight ports of
        50 GB/s: 7/8 of 1 KiB a GPU. In switches, eight GPUs of a node first and last: 14 (6.6 + 0.6) us, then 6.6 + 2.7."""
        flags = ["collective", "--cluster", "h100x8-8x400gbps", "--bytes", "1KiB", "--json"]
        for fidelity in FIDELITIES:
            row = json.loads(output(*flags, "--operation", "all-to-all", "--fidelity", fidelity, cwd=self.folder))[0]
            self.assertAlmostEqual(row["time_s"], 9.3e-6 + 1024 * 7 / 8 / 50e9, delta=2e-9)
        for fidelity in ("alpha-beta", "fluid"):
            row = json.loads(output(*flags, "--collective", "in-network", "--fidelity", fidelity, cwd=self.folder))[0]
            self.assertAlmostEqual(row["time_s"], 14 * 7.2e-6 + 9.3e-6, delta=2e-7)

    def test_an_alpha_goes_first_and_latencies_of_links_are_part_of_a_hop(self):
        """With 5 us a message takes these. Hosts on a star, links of 1 us: a way of 2 us between hosts of a GPU is part of
        the hop of 5 us, so that 6.6 + 5 us remain; one of 8 us is longer, and takes 6.6 + 8."""
        def took(fidelity, alpha, latency):
            network = {"alpha": alpha, "nccl": {"gpu": "h100"}, "topology": {"kind": "star", "link": {"latency": latency, "bandwidth": "50 GB/s"}}}
            self.write("c.json", {"name": "c", "workers": 4, "network": network})
            return self.time("c.json", 4, fidelity, "--operation", "all-to-all")
        for fidelity in FIDELITIES:
            self.assertAlmostEqual(took(fidelity, "5 us", "1 us"), 7e-6, delta=2e-9)
            self.assertAlmostEqual(took(fidelity, "0 us", "1 us"), 11.6e-6, delta=2e-9)
            self.assertAlmostEqual(took(fidelity, "0 us", "4 us"), 14.6e-6, delta=2e-9)


if __name__ == "__main__":
    unittest.main()
