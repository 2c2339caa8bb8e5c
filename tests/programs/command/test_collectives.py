#!/usr/bin/env python3
"""`collective` over lists, its CSV and picture, algorithms in MSCCL's XML. Run: python3 tests/programs/command/test_collectives.py"""
import csv
import json
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from program import WIDE, Case, needs_program, output  # noqa: E402

CLUSTER = ("--cluster", "fat-tree-4")


def ring(n):
    """A ring of n GPUs as msccl-tools write it: send the own chunk, pass on sums, then results."""
    def step(gpu, i):
        kind = "s" if i == 0 else "rrs" if i < n - 1 else "rrcs" if i == n - 1 else "rcs" if i < 2 * n - 2 else "r"
        chunk = (gpu - i) % n
        return f'<step s="{i}" type="{kind}" srcbuf="i" srcoff="{chunk}" dstbuf="i" dstoff="{chunk}" cnt="1" depid="-1" deps="-1" hasdep="0"/>\n'

    gpus = "".join(f'<gpu id="{gpu}" i_chunks="{n}" o_chunks="0" s_chunks="0">\n<tb id="0" send="{(gpu + 1) % n}" recv="{(gpu - 1) % n}" chan="0">\n'
                   + "".join(step(gpu, i) for i in range(2 * n - 1)) + "</tb>\n</gpu>\n" for gpu in range(n))
    return (f'<algo name="my ring" proto="Simple" nchannels="1" nchunksperloop="{n}" ngpus="{n}" coll="allreduce" inplace="1">\n{gpus}</algo>\n')


@needs_program
class Collectives(Case):
    def output(self, *words):
        return output(*words, cwd=self.folder, env=WIDE)

    def rows(self, *words):
        return json.loads(self.output("collective", *words, "--json"))

    def test_lists(self):
        words = ("--collective", "ring,binary-tree", "--fidelity", "alpha-beta,fluid", "--workers", "8,16", "--bytes", "1KiB,1MiB:4MiB:x4")
        rows = self.rows(*CLUSTER, *words)
        self.assertEqual(len(rows), 2 * 2 * 2 * 3)
        for row in rows:  # as each by itself
            if row["bytes"] > 1024:
                continue
            alone, = self.rows(*CLUSTER, "--collective", row["collective"], "--fidelity", row["fidelity"], "--workers", str(row["workers"]), "--bytes", "1KiB")
            self.assertEqual({key: row[key] for key in ("time_s", "algbw_GBps", "busbw_GBps")}, {key: alone[key] for key in ("time_s", "algbw_GBps", "busbw_GBps")})
            # nccl-tests: an all-reduce's bus bandwidth is algbw * 2(N-1)/N, since a ring's port carries that part of the buffer.
            self.assertAlmostEqual(row["busbw_GBps"], 1024 / row["time_s"] * 1e-9 * 2 * (row["workers"] - 1) / row["workers"], delta=1e-9 * row["busbw_GBps"])
        for problem in {(row["bytes"], row["workers"], row["fidelity"]) for row in rows}:  # only collectives can be chosen between
            here = [row for row in rows if (row["bytes"], row["workers"], row["fidelity"]) == problem]
            self.assertEqual(len(here), 2)
            fastest, = [row for row in here if row["fastest"]]
            self.assertEqual(fastest["busbw_GBps"], max(row["busbw_GBps"] for row in here))
        table = list(csv.DictReader(self.output("collective", *CLUSTER, *words, "--csv").splitlines()))
        self.assertEqual([{key: str(value) if not isinstance(value, (bool, float)) else value for key, value in row.items()} for row in rows],
                         [{key: value == "true" if key == "fastest" else float(value) if key in ("time_s", "algbw_GBps", "busbw_GBps") else value
                           for key, value in row.items()} for row in table])

    def test_protocols_and_clusters(self):
        words = ("--cluster", "h100x8-8x400gbps,a100x8-8x200gbps", "--workers", "16", "--bytes", "8B,1GiB", "--protocol", "ll,simple")
        rows = self.rows(*words)
        self.assertEqual([(row["cluster"], row["protocol"]) for row in rows[::2]],
                         [(f"{cluster} (protocol {protocol.lower()})", protocol) for cluster in ("h100x8-8x400gbps", "a100x8-8x200gbps") for protocol in ("LL", "Simple")])
        text = self.output("collective", *words)
        self.assertIn("Fastest from 8 B to 8 B: h100x8-8x400gbps (protocol ll).", text)
        self.assertIn("Fastest from 1 GiB to 1 GiB: h100x8-8x400gbps (protocol simple).", text)

    def test_only_what_can_be_chosen_competes(self):
        """A ring takes 2(N-1) start-ups, a tree 2 log2 N: at 1 MiB the tree wins on either number of workers, at 16 MiB only on the larger one."""
        words = ("collective", "--cluster", "k80-10gbe", "--bytes", "1MiB,16MiB")
        text = self.output(*words, "--workers", "16,64", "--collective", "ring,double-binary-tree")
        self.assertEqual([line for line in text.splitlines() if line.startswith("Fastest")],
                         ["Fastest (16 workers) from 1 MiB to 1 MiB: double-binary-tree.", "Fastest (16 workers) from 16 MiB to 16 MiB: ring.",
                          "Fastest (64 workers) from 1 MiB to 16 MiB: double-binary-tree."])
        for no_choice in ((*words, "--workers", "16,64"), ("collective", *CLUSTER, "--fidelity", "alpha-beta,fluid", "--bytes", "1MiB")):
            text = self.output(*no_choice)
            self.assertNotIn("Fastest", text)
            self.assertNotIn("*", text)

    def test_only_nccl_has_the_corrections_of_measurements(self):
        for collectives, notes in (("nccl,ring", 1), ("nccl", 0), ("ring,double-binary-tree", 0)):
            done = self.run_program("collective", "--cluster", "h100x8-8x400gbps", "--workers", 16, "--bytes", "1MiB,1GiB", "--collective", collectives)
            self.assertEqual((done.stdout + done.stderr).count("corrections"), notes, done)

    def test_picture(self):
        self.output("collective", "--cluster", "k80-10gbe", "--workers", "16", "--collective", "ring,recursive-doubling", "--plot", "busbw.svg")
        drawn = (self.folder / "busbw.svg").read_text(encoding="utf-8")
        for words in ("crossover", "recursive-doubling", "bus bandwidth (GB/s)"):
            self.assertIn(words, drawn)
        self.output("collective", "--cluster", "k80-10gbe", "--workers", "16", "--plot", "one.svg")  # alpha-beta has no links
        self.assertNotIn("crossover", (self.folder / "one.svg").read_text(encoding="utf-8"))

    def test_msccl(self):
        file = self.write("ring.xml", ring(16))
        for fidelity in ("fluid", "message"):
            rows = self.rows(*CLUSTER, "--collective", f"ring,{file}", "--fidelity", fidelity, "--bytes", "1kB,3MB,1GB")
            self.assertEqual({row["collective"] for row in rows}, {"ring", "my ring"})
            self.assertEqual(rows[0]["time_s"], rows[3]["time_s"], fidelity)
            self.assertEqual([row["time_s"] for row in rows[:3]], [row["time_s"] for row in rows[3:]], fidelity)
        answer = [json.loads(self.output("run", "--profile", "resnet50_k80_b16", *CLUSTER, "--strategy", "ddp", "--fidelity", "message", "--collective", one, "--json"))
                  for one in ("ring", file)]
        self.assertEqual(answer[0]["iteration_s"], answer[1]["iteration_s"])

    def test_refused(self):
        self.write("ring.xml", ring(4))
        self.write("bad.xml", ring(4).replace('type="s"', 'type="put"', 1))
        for words, says in ((("--collective", "ring.xml"), "ring.xml: /ranks: is for 4 ranks"),
                            (("--collective", "bad.xml"), "bad.xml: line 4: no rounds can be read of steps 'put'"),
                            (("--collective", "ring,rung"), "command line: --collective: unknown collective 'rung'"),
                            (("--collective", "ring,binary-tree", "--links"), "command line: --links: there are 2 collectives"),
                            (("--bytes", "1kB,,2kB"), "command line: --bytes: '1kB,,2kB' has an empty item")):
            self.assertIn(says, self.refusal("collective", *CLUSTER, "--fidelity", "fluid", *words))


if __name__ == "__main__":
    unittest.main()
