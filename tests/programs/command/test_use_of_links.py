#!/usr/bin/env python3
"""Where the time goes on the network: `run --links`, `collective --links`. Run: python3 tests/programs/command/test_use_of_links.py"""
import json
import sys
import unittest
import xml.etree.ElementTree as tree
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from program import Case, answer, needs_program, output  # noqa: E402

HOSTS, RATE = 8, 1.25e9  # 10 Gbit/s
RING_SHARE = 2 * (HOSTS - 1) / HOSTS  # what a host sends of each byte of a block


@needs_program
class UseOfLinks(Case):
    def cluster(self, **topology):
        spec = {"kind": "star", "link": {"latency": "0 us", "bandwidth": "10 Gbit/s"}, **topology}
        file = self.folder / "cluster.json"
        file.write_text(json.dumps({"name": "mine", "workers": HOSTS, "network": {"alpha": "0 us", "topology": spec}}), encoding="utf-8")
        return ["--cluster", file]

    def collective(self, cluster, *arguments):
        return json.loads(output("collective", *cluster, "--bytes", "80MB", "--links", "--json", *arguments, cwd=self.folder))[-1]["links"]

    def test_a_ring_alone_fills_a_star(self):
        """Without latencies all links are busy all the time, each host's with what it sends to the next: 2 * 7/8 of 80 MB."""
        for fidelity in ("fluid", "message"):
            links = self.collective(self.cluster(), "--fidelity", fidelity)
            self.assertEqual([(kind["links"], kind["number"]) for kind in links["kinds"]], [("h - s", HOSTS)])
            self.assertAlmostEqual(links["kinds"][0]["mean_use"], 1, places=6)
            self.assertAlmostEqual(links["seconds"], RING_SHARE * 80e6 / RATE, delta=1e-9)
            self.assertEqual(len(links["hottest"]), 10)
            for link in links["hottest"]:
                self.assertAlmostEqual(link["bytes"], RING_SHARE * 80e6, delta=1e-3)
                self.assertEqual(len(link["users"]), 1)
            up = next(link for link in links["hottest"] if link["link"] == "h3 -> s0")
            self.assertEqual([(user["from"], user["to"]) for user in up["users"]], [(3, 4)])

    def test_a_slow_link_is_the_hottest(self):
        """At half the rate it is busy all the time, the others half of it; both of its directions are named first."""
        links = self.collective(self.cluster(links=[{"between": ["h5", "s0"], "bandwidth": "5 Gbit/s"}]), "--fidelity", "fluid")
        self.assertEqual({link["link"] for link in links["hottest"][:2]}, {"h5 -> s0", "s0 -> h5"})
        self.assertAlmostEqual(links["hottest"][0]["use"], 1, places=6)
        self.assertAlmostEqual(links["hottest"][2]["use"], 0.5, places=6)
        self.assertEqual((links["kinds"][0]["least_bytes_per_s"], links["kinds"][0]["most_bytes_per_s"]), (RATE / 2, RATE))

    def test_levels_are_kinds(self):
        """Four hosts of two GPUs: every GPU sends to the next, every second one through the switch."""
        links = self.collective(self.cluster(gpus_per_host=2, inner={"latency": "0 us", "bandwidth": "100 GB/s"}), "--fidelity", "fluid")
        self.assertEqual([(kind["links"], kind["number"]) for kind in links["kinds"]], [("h - s", 4), ("gpu - h", 8)])
        for kind in links["kinds"]:
            self.assertAlmostEqual(kind["busiest_bytes"], RING_SHARE * 80e6, delta=1e-3)

    def run_links(self, *arguments):
        return json.loads(output("run", "--profile", "resnet20_p102_b128", *self.cluster(), "--json", *arguments, cwd=self.folder))

    def test_an_iteration(self):
        """All gradients go around the ring once, whole or in halves, and under FSDP the parameters twice and the gradients once."""
        gradients = self.run_links("--strategy", "sync-easgd", "--fidelity", "fluid", "--links")["links"]["hottest"][0]["bytes"] / RING_SHARE
        for strategy, share in (("ddp", RING_SHARE), ("dear", RING_SHARE), ("wfbp", RING_SHARE), ("fsdp2", 1.5 * RING_SHARE)):
            for fidelity in ("fluid", "message"):
                with self.subTest(strategy=strategy, fidelity=fidelity):
                    row = self.run_links("--strategy", strategy, "--fidelity", fidelity, "--links", "--option", "reshard=all")
                    links = row["links"]
                    self.assertEqual(links["seconds"], row["iteration_s"])
                    self.assertAlmostEqual(links["kinds"][0]["busiest_bytes"], share * gradients, delta=1e-6 * gradients)
                    self.assertAlmostEqual(links["kinds"][0]["mean_use"], share * gradients / RATE / row["iteration_s"], delta=1e-9)

    def test_over_time(self):
        """The area under the counter is the use of an iteration, as often as iterations are drawn."""
        links = self.run_links("--strategy", "ddp", "--fidelity", "fluid", "--links", "--timeline", "t.json")["links"]
        events = json.loads((self.folder / "t.json").read_text(encoding="utf-8"))["traceEvents"]
        counters = [event for event in events if event["ph"] == "C" and event["name"].startswith("h - s")]
        area = sum(before["args"]["use"] / 100 * (after["ts"] - before["ts"]) for before, after in zip(counters, counters[1:])) * 1e-6
        drawn = area / (links["kinds"][0]["mean_use"] * links["seconds"])
        self.assertGreaterEqual(round(drawn), 1)
        self.assertAlmostEqual(drawn, round(drawn), delta=0.01)
        self.assertLessEqual(max(event["args"]["use"] for event in counters), 100)

    def picture(self, *arguments):
        return self.shapes("collective", *arguments, "--bytes", "1MB", "--fidelity", "fluid")

    def shapes(self, *words):
        output(*words, "--plot", "links.svg", cwd=self.folder)
        drawn = tree.parse(self.folder / "links.svg").getroot()
        return {kind: [one for one in drawn.iter() if one.get("class") == kind and not one.tag.endswith("text")] for kind in ("link", "node")}

    def test_the_picture_has_every_link(self):
        for name, hosts, switches, links in (("fat-tree-4", 16, 20, 48), ("bcube-4-2", 16, 8, 32)):
            drawn = self.picture("--cluster", name)
            self.assertEqual((len(drawn["node"]), len(drawn["link"])), (hosts + switches, links))
        self.assertEqual(len(self.picture("--cluster", "torus-8x8")["node"]), 64)

    def test_the_network_alone(self):
        drawn = self.shapes("topology", "--cluster", "fat-tree-4")
        self.assertEqual((len(drawn["node"]), len(drawn["link"])), (36, 48))
        self.assertIn("--plot: ", self.refusal("topology", "--cluster", "fat-tree-4", "--plot", "tree.txt"))

    def test_large_networks_are_folded(self):
        drawn = self.picture("--cluster", "fat-tree-16", "--workers", "1024", "--collective", "halving-doubling")
        self.assertLess(len(drawn["node"]), 130)
        self.assertGreater(len(drawn["node"]), 3)

    def test_the_table(self):
        links = answer("collective", *self.cluster(), "--bytes", "80MB", "--fidelity", "fluid", "--links")[-1]["links"]
        kind, = links["kinds"]
        self.assertEqual((kind["links"], kind["number"], kind["most_bytes_per_s"], kind["busiest_bytes"]), ("h - s", 8, 1.25e9, 1.4e8))
        self.assertAlmostEqual(kind["mean_use"], 1)
        self.assertIn([{"from": 3, "to": 4, "bytes": 1.4e8}], [hot["users"] for hot in links["hottest"]])


if __name__ == "__main__":
    unittest.main()
