#!/usr/bin/env python3
"""How far `fluid` is from `message`: the table of docs/network.md, and cases worked by hand; what placements cost, the
table of docs/topologies.md. Run: python3 tests/programs/command/test_fidelities.py; --update writes the tables anew.

The worked cases lie beside the measured profiles, and are skipped where they are absent.
"""
import json
import math
import re
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from program import REFERENCE, ROOT, Case, answer, needs, needs_program, output, run  # noqa: E402

PAGE = ROOT / "docs" / "network.md"
TABLE = re.compile(r"(<!-- fluid over message -->\n).*?(<!-- end -->\n)", re.S)
WORKED = REFERENCE.parent / "cases" / "fabrics.json"

WORKERS, SIZES = 16, "10kB:100MB:x10"
LINK = {"latency": "1 us", "bandwidth": "10 Gbit/s"}
TREE = {"kind": "fat-tree", "ports": 4, "link": LINK}
BCUBE = "BCube(4, 2)"  # where bml is the same, too: elsewhere it is a parameter server on every worker
TOPOLOGIES = {
    "star": {"kind": "star", "link": LINK},
    "one link a tenth": {"kind": "star", "link": LINK, "links": [{"between": ["h5", "s0"], "bandwidth": "1 Gbit/s"}]},
    "Fat-Tree 4": TREE,
    "spread": {**TREE, "placement": "spread"},
    "4:1": {**TREE, "oversubscription": 4},
    "leaf-spine 2:1": {"kind": "leaf-spine", "leaves": 4, "hosts_per_leaf": 4, "spines": 2, "oversubscription": 2, "link": LINK},
    "torus 4x4": {"kind": "torus", "dimensions": [4, 4], "link": LINK},
    BCUBE: {"kind": "bcube", "n": 4, "k": 2, "link": LINK},
    "rails 4x4": (4, "300 GB/s", "25 GB/s"),  # a node's GPUs and ports, inside and between nodes; 1 and 5 us
    "rails 2x8": (8, "370 GB/s", "50 GB/s"),  # where eight rings keep the links inside as busy as the ports
}
COLLECTIVES = ["ring", "hierarchical", "halving-doubling", "binary-tree", "double-binary-tree", "parameter-server", "bml"]
EVEN = {"ring", "hierarchical", "halving-doubling", "binary-tree"}  # the same to 5 %, wherever one ring runs
SEVERAL_RINGS = {("ring", "rails 4x4"), ("ring", "rails 2x8")}  # whose rounds do not keep step, and share links


def network_of(topology):
    if isinstance(topology, dict):
        return {"alpha": "5 us", "topology": topology}
    ports, inside, between = topology
    return {"alpha": "5 us", "bandwidth": between, "rails": ports, "node": {"workers": ports, "alpha": "1 us", "bandwidth": inside}}


def times(folder, topology, collective, fidelity):
    """By size, or nothing where that collective cannot run there."""
    cluster = folder / "cluster.json"
    cluster.write_text(json.dumps({"name": "c", "workers": WORKERS, "network": network_of(topology)}), encoding="utf-8")
    rows = output("collective", "--cluster", cluster, "--collective", collective, "--fidelity", fidelity, "--bytes", SIZES, "--json")
    return [row["time_s"] for row in json.loads(rows)]


def measured(folder):
    """By collective and topology, `fluid` over `message`: of all sizes the farthest from 1."""
    table = {}
    for collective in COLLECTIVES:
        for name, topology in TOPOLOGIES.items():
            both = [times(folder, topology, collective, fidelity) for fidelity in ("fluid", "message")]
            table[collective, name] = max((fluid / message for fluid, message in zip(*both)), key=lambda ratio: abs(math.log(ratio)))
    return table


def page_with(table):
    head = f"| | {' | '.join(TOPOLOGIES)} |\n|---|{'--:|' * len(TOPOLOGIES)}\n"
    rows = "".join(f"| `{collective}` | {' | '.join(f'{table[collective, name]:.2f}' for name in TOPOLOGIES)} |\n" for collective in COLLECTIVES)
    return TABLE.sub(lambda match: match[1] + head + rows + match[2], PAGE.read_text(encoding="utf-8"))


PLACES = ROOT / "docs" / "topologies.md"
PLACED = re.compile(r"(<!-- packed and spread -->\n).*?(<!-- end -->\n)", re.S)
OF_PLACED = {"hierarchical": (" (packed: a leaf is a group)", ", a ring")}


def placed_page():
    """The table of docs/topologies.md: one all-reduce, and an iteration, by collective and placement."""
    rows = ""
    for collective in ("ring", "halving-doubling", "double-binary-tree", "hierarchical", "parameter-server"):
        words = ["--cluster", "leaf-spine-64", "--collective", collective, "--fidelity", "fluid", "--json"]
        cells = []
        for placement in ("packed", "spread"):
            alone = json.loads(output("collective", *words, "--bytes", "64MiB", "--placement", placement))[0]["time_s"]
            whole = json.loads(output("run", *words, "--profile", "resnet50_p100_b64", "--strategy", "ddp", "--placement", placement))
            cells.append((f"{1e3 * alone:.1f} ms", f"{1e3 * whole['iteration_s']:.1f} ms"))
        about, remark = OF_PLACED.get(collective, ("", ""))
        rows += f"| `{collective}`{about} | {cells[0][0]} | {cells[1][0]}{remark} | {cells[0][1]} | {cells[1][1]} |\n"
    head = "| collective (`fluid`) | packed | spread | iteration packed | spread |\n|---|---|---|---|---|\n"
    return PLACED.sub(lambda match: match[1] + head + rows + match[2], PLACES.read_text(encoding="utf-8"))


@needs_program
class Fidelities(Case):
    def test_the_page_has_their_differences(self):
        table = measured(self.folder)
        self.assertEqual(PAGE.read_text(encoding="utf-8"), page_with(table), "python3 tests/programs/command/test_fidelities.py --update")
        for (collective, name), ratio in table.items():
            with self.subTest(collective=collective, topology=name):
                if (collective in EVEN and (collective, name) not in SEVERAL_RINGS) or (collective, name) == ("bml", BCUBE):
                    self.assertLess(abs(math.log(ratio)), math.log(1.05))
                self.assertLess(abs(math.log(ratio)), math.log(1.6))

    def test_the_page_has_the_cost_of_placements(self):
        self.assertEqual(PLACES.read_text(encoding="utf-8"), placed_page(), "python3 tests/programs/command/test_fidelities.py --update")

    def test_a_note_says_where_rings_share_links(self):
        """Eight rings on two nodes of eight at 370 and 50 GB/s, alone. 10 MB: the start-ups of a path alone are no more
        than 46.1 us (10 kB takes no longer), the busiest link's bytes 41: fluid takes 97. 10 GB: the bytes decide."""
        cluster = self.folder / "c.json"
        cluster.write_text(json.dumps({"name": "c", "workers": WORKERS, "network": network_of(TOPOLOGIES["rails 2x8"])}), encoding="utf-8")
        words = ["collective", "--cluster", cluster, "--collective", "ring", "--bytes"]
        said = {size: run(*words, size, "--fidelity", "fluid").stderr for size in ("10MB", "10GB")}
        times = [answer(*words, "10MB", "--fidelity", fidelity)[0]["time_s"] for fidelity in ("fluid", "message")]
        most = float(re.search(r"fluid takes up to ([0-9.]+) times as long as message", said["10MB"])[1])
        self.assertGreater(times[0] / times[1], 1.25)
        self.assertGreaterEqual(most, times[0] / times[1] - 0.005)
        self.assertNotIn("rings", said["10GB"])
        self.assertNotIn("rings", run(*words, "10MB", "--fidelity", "message").stderr)

    @needs(WORKED)
    def test_the_worked_cases(self):
        for case in json.loads(WORKED.read_text(encoding="utf-8")):
            with self.subTest(case=case["id"], derivation=case.get("derivation")):
                for name, value in {"CLUSTER": case["cluster"], **case.get("files", {})}.items():
                    self.write(name, value)
                done = run(*case["argv"], cwd=self.folder)
                expected = dict(case["expected"])
                if "refused" in expected:
                    self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
                    self.assertIn(expected["refused"], done.stderr)
                    continue
                self.assertEqual(done.returncode, 0, done.stderr)
                row = json.loads(done.stdout)[0]
                if choice := expected.pop("choice", None):
                    self.assertEqual(f"{row['algorithm']}/{row['protocol']}", choice)
                for key, value in expected.items():
                    self.assertAlmostEqual(row[key] / value, 1, delta=case["tolerance"])


if __name__ == "__main__":
    if sys.argv[1:] == ["--update"]:
        with tempfile.TemporaryDirectory() as place:
            PAGE.write_text(page_with(measured(Path(place))), encoding="utf-8")
        PLACES.write_text(placed_page(), encoding="utf-8")
    else:
        unittest.main()
