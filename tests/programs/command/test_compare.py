#!/usr/bin/env python3
"""`compare` over several clusters, sizes, collectives, fidelities, codecs and strategies at once.

Run: python3 tests/programs/command/test_compare.py
"""

import csv
import io
import itertools
import json
import re
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from program import ROOT, WIDE, Case, answer, needs_program, output, place_of  # noqa: E402

SMALL = ("--profile", "resnet20_p102_b128")
TWO = (*SMALL, "--cluster", "k80-10gbe,us-byte-10gbe")
FABRIC = ("--cluster", "fat-tree-4", "--workers", "8")
KEYS = ("cluster", "workers", "collective", "fidelity", "strategy")


def rows_of(*words):
    """Of `compare --json`, without what a run takes."""
    rows = answer("compare", *words)
    for row in rows:
        del row["wall_s"]
    return rows


def names(rows):
    return [tuple(row[key] for key in KEYS) for row in rows]


def is_row(line):
    return line.strip() and not line.startswith(("!", "~", "note: "))


def table_of(text):
    """The first table's rows, by the names of its keys."""
    lines = text.split("\n")
    rule = next(i for i, line in enumerate(lines) if re.fullmatch("-+", line))
    head = re.split(r" {2,}", lines[rule - 2].strip())
    return [dict(zip(head, re.split(r" {2,}", line.strip()))) for line in itertools.takewhile(is_row, lines[rule + 1:])]


@needs_program
class Compare(Case):
    maxDiff = None

    def wide(self, *words):
        done = self.success("compare", *words, env=WIDE)
        return done

    def test_every_combination_in_the_order_given(self):
        """Strategies fastest, clusters slowest; each row is what it is alone."""
        rows = rows_of(*TWO, "--workers", "8,4", "--collective", "halving-doubling,ring", "--strategy", "wfbp,ddp")
        self.assertEqual(names(rows), list(itertools.product(("k80-10gbe", "us-byte-10gbe"), (8, 4), ("halving-doubling", "ring"),
                                                             ("alpha-beta",), ("wfbp", "ddp"))))
        for row in (rows[1], rows[6], rows[-1]):
            alone = answer("run", *SMALL, "--cluster", row["cluster"], "--workers", row["workers"], "--collective", row["collective"],
                           "--strategy", row["strategy"])
            del alone["wall_s"], row["doubted_iteration_s"]
            self.assertEqual(row, alone)

    def test_jobs_change_nothing(self):
        words = (*TWO, "--workers", "2:8:x2", "--strategies", "wfbp,ddp,dear,best")
        self.assertEqual(rows_of(*words, "--jobs", "1"), rows_of(*words, "--jobs", "3"))
        self.assertEqual(self.wide(*words, "--jobs", "1").stdout, self.wide(*words, "--jobs", "3").stdout)

    def test_lists_may_be_given_one_by_one(self):
        listed = rows_of(*SMALL, "--cluster", "k80-10gbe,v100-10gbe", "--fidelity", "alpha-beta", "-s", "ddp")
        self.assertEqual(rows_of(*SMALL, "--cluster", "k80-10gbe", "--cluster", "v100-10gbe", "-s", "ddp"), listed)
        (self.folder / "a,b.json").write_bytes((ROOT / "topologies" / "k80-10gbe.json").read_bytes())  # a name with a comma
        done = self.run_program("compare", *SMALL, "--cluster", "a,b.json", "-s", "ddp", "--csv")
        self.assertEqual(len(done.stdout.splitlines()), 2, done.stderr)
        for words, place in ((("--cluster", "k80-10gbe,"), "command line: --cluster"),
                             (("--cluster", "k80-10gbe", "--workers", "8,,4"), "command line: --workers")):
            done = self.run_program("compare", *SMALL, *words)
            self.assertEqual((done.returncode, done.stdout, place_of(done.stderr)), (2, "", place))

    def test_the_table_is_sorted_and_the_winner_said(self):
        words = (*TWO, "--collective", "ring,halving-doubling", "--workers", "8", "-s", "s-sgd,sync-easgd")
        rows, done = rows_of(*words), self.wide(*words, "--tie", "0")
        shown, fastest = table_of(done.stdout), sorted(rows, key=lambda row: row["iteration_s"])
        self.assertEqual([(row["strategy"], row["cluster"], row["collective"]) for row in shown],
                         [(row["strategy"], row["cluster"], row["collective"]) for row in fastest])
        first, second = fastest[:2]
        line, = re.findall(r"^Run .*$", done.stdout, re.M)
        winner, second_one = r"(\S+) on (\S+) with (\S+): (\S+) ms ", r"(\S+) on (\S+) with (\S+), "
        said = re.match(rf"Run {winner}\((\S+) % above its lower bound\)\. Next: {second_one}(\S+) % longer\.", line)
        self.assertTrue(said, line)
        self.assertEqual(said.group(1, 2, 3, 6, 7, 8), (first["strategy"], first["cluster"], first["collective"],
                                                        second["strategy"], second["cluster"], second["collective"]))
        for number, value, digit in ((4, 1000 * first["iteration_s"], 0.05), (5, 100 * (first["iteration_s"] / first["lower_bound_s"] - 1), 0.05),
                                     (9, 100 * (second["iteration_s"] / first["iteration_s"] - 1), 0.05)):
            self.assertAlmostEqual(float(said[number]), value, delta=1.01 * digit)
        self.assertNotIn("fidelity", done.stdout)
        self.assertEqual(list(csv.DictReader(io.StringIO(output("compare", *words, "--csv"))))[0]["strategy"], "s-sgd")  # as given

    def test_sizes_and_fidelities_each_have_their_winner(self):
        words = (*SMALL, "--cluster", "fat-tree-4", "--workers", "4,8", "--fidelity", "alpha-beta,fluid", "-s", "wfbp,ddp,best")
        text = self.wide(*words, "--tie", "0").stdout
        shown = table_of(text)
        self.assertEqual([row["workers"] for row in shown], 6 * ["4"] + 6 * ["8"])
        times = [float(row["iteration"].rstrip("~")) for row in shown]
        self.assertEqual(times, [time for first in range(0, 12, 3) for time in sorted(times[first:first + 3])])
        self.assertNotIn("Run ", self.wide(*SMALL, "--cluster", "k80-10gbe", "--workers", "4,8", "-s", "ddp").stdout)

    def test_codecs_together_with_none(self):
        rows = rows_of(*SMALL, "--cluster", "k80-10gbe", "--codec", "none,fp16", "-s", "ddp,wfbp")
        self.assertEqual([(row["codec"], row["strategy"]) for row in rows], [(None, "ddp"), (None, "wfbp"), ("fp16", "ddp"), ("fp16", "wfbp")])

    def test_impossible_scenarios_are_one_line_and_keep_the_rest(self):
        """halving-doubling needs a power of two; k80-10gbe has no topology."""
        words = (*SMALL, "--cluster", "k80-10gbe", "--workers", "6,8", "--collective", "ring,halving-doubling", "--fidelity", "alpha-beta,fluid")
        done = self.wide(*words, "-s", "wfbp,ddp", "--json")
        self.assertEqual({(row["workers"], row["collective"], row["fidelity"]) for row in json.loads(done.stdout)},
                         {(6, "ring", "alpha-beta"), (6, "halving-doubling", "alpha-beta"), (8, "ring", "alpha-beta"), (8, "halving-doubling", "alpha-beta")})
        self.assertTrue(done.stderr)
        done = self.wide(*SMALL, *FABRIC[:2], "--fidelity", "fluid", "--workers", "6,8", "--collective", "ring,halving-doubling", "-s", "wfbp,ddp", "--json")
        self.assertEqual([(row["workers"], row["collective"]) for row in json.loads(done.stdout)],
                         2 * [(6, "ring")] + 2 * [(8, "ring")] + 2 * [(8, "halving-doubling")])
        self.assertTrue(done.stderr)
        done = self.wide(*SMALL, "--cluster", "k80-10gbe", "--workers", "6,8", "--option", "shard_group=4", "-s", "fsdp1,fsdp2,zero-3", "--json")
        self.assertEqual([(row["workers"], row["strategy"]) for row in json.loads(done.stdout)], [(6, "zero-3"), (8, "fsdp1"), (8, "fsdp2"), (8, "zero-3")])
        self.refusal("compare", *SMALL, "--cluster", "k80-10gbe", "--fidelity", "fluid,message", "-s", "wfbp")

    def test_an_impossible_size_drops_only_its_rows(self):
        words = ("--nodes", "2", "--gpus", "4", "--network", "100Gbps", "--inner", "200GB/s")
        for cluster, workers, possible, wrong in ((words, "4,8,16", [4, 8], "16"), (FABRIC[:2], "8,64", [8], "64"),
                                                  ((*words, "--pp", "4", "--option", "p2p_bytes=1MB"), "4,6,8", [4, 8], "6")):
            with self.subTest(cluster=cluster):
                done = self.run_program("compare", *SMALL, *cluster, "--workers", workers, "-s", "ddp", "--json")
                self.assertEqual((done.returncode, [row["workers"] for row in json.loads(done.stdout)]), (0, possible), done.stderr)
                self.assertTrue(done.stderr)
                self.refusal("compare", *SMALL, *cluster, "--workers", f"{wrong},{wrong}", "-s", "ddp")

    def test_unknown_names_are_errors(self):
        for words, says in ((("--collective", "ring,rng"), "command line: --collective: "),
                            (("--fidelity", "alpha-beta,flud"), "command line: --fidelity: "),
                            (("--strategies", "ddp,dpd"), "command line: --strategies: "),
                            (("--cluster", "v100-10gb"), ": ")):
            self.assertIn(says, self.refusal("compare", *TWO, *words))
        done = self.run_program("compare", *SMALL, "--cluster", ",".join(["k80-10gbe"] * 11), "--workers", "1:1000:+1")
        self.assertEqual((done.returncode, bool(done.stderr)), (2, True))

    def test_two_files_of_one_name(self):
        """No row would tell them apart."""
        ring = {"name": "ring", "operation": "all-reduce", "ranks": 2, "chunks": 1,
                "rounds": [{"sends": [{"from": 0, "to": 1, "chunk": 0, "reduce": True}, {"from": 1, "to": 0, "chunk": 0, "reduce": True}]}]}
        self.write("ring.json", ring)
        for file, beta in (("a.json", 1), ("b.json", 2)):
            self.write(file, {"name": "s2", "workers": 2, "network": {"alpha": "1 us", "beta": f"{beta} ns/B"}})
        profile = str(ROOT / "traces" / "resnet20_p102_b128.json")
        for clusters, collectives, says in ((["a.json", "b.json"], ["ring"], ": "),
                                            (["a.json"], ["ring", "ring.json"], ": ")):
            sweep = {"profiles": [profile], "clusters": clusters, "collectives": collectives, "strategies": ["ddp"]}
            self.write("sweep.json", sweep)
            for words in (("compare", "-p", profile, "--cluster", ",".join(clusters), "--collective", ",".join(collectives), "-s", "ddp"),
                          ("sweep", "sweep.json")):
                error = self.refusal(*words)
                self.assertIn(says, error)
                self.assertIn("/name: ", error)
        done = self.run_program("compare", "-p", profile, "--cluster", "a.json,a.json", "-s", "ddp")
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_nothing_fits(self):
        """There is no size to compare with: efficiencies are relative to one worker, also with several micro-batches."""
        rows = json.loads(self.output("compare", "--profile", "resnet50_k80_b16", "--cluster", "k80-10gbe", "--workers", "8", "--strategies", "wfbp,ddp", "--accumulate", "2", "--memory", "1MB", "--json"))
        for row in rows:
            self.assertEqual((row["fits"], row["reference_workers"]), (False, 1))
            self.assertEqual(row["relative_efficiency"], row["efficiency"])

    def test_what_would_fit(self):
        """Where nothing fits, the same remedy everywhere; and it fits."""
        case = ["--profile", "llama3-8b_h100_b1_bf16", "--cluster", "h100x8-8x400gbps", "--workers", "8"]
        row = json.loads(self.output("run", *case, "--strategy", "fsdp2", "--json"))
        self.assertTrue(row["fits"])
        needs = f"{row['memory_bytes'] / 1e9:.2f} GB"
        text = " ".join(self.output("compare", *case, "--strategies", "ddp,wfbp").split())
        self.assertRegex(text, rf"Nothing fits into memory\. The smallest, (ddp|wfbp), needs [\d.]+ GB; with --strategy fsdp2 a worker needs {needs}, which fits")
        self.assertRegex(self.output("run", *case, "--strategy", "ddp"), rf"fits with +--strategy fsdp2: {needs}")
        self.assertIn(f"or --strategies fsdp2, with which {needs} are enough", self.refusal("recommend", *case, "--strategies", "ddp", "--budget", "1"))
        self.assertNotIn("which fits", self.output("compare", *case, "--strategies", "ddp,fsdp2"))

    def test_pictures_name_the_differences(self):
        self.wide(*TWO, "--workers", "8", "-s", "wfbp,ddp", "--plot", "bars.svg", "--timeline", "lines.svg")
        for file in ("bars.svg", "lines.svg"):
            text = (self.folder / file).read_text(encoding="utf-8")
            for label in ("wfbp on k80-10gbe", "ddp on us-byte-10gbe"):
                self.assertIn(label, text, file)
        bars = (self.folder / "bars.svg").read_text(encoding="utf-8")
        self.assertIn("Run ", bars)
        self.assertEqual(bars.count(", wins<"), 1)
        self.refusal("compare", *SMALL, "--cluster", "a.json,b.json", "--plot", "b.json")

    def test_all_strategies(self):
        """By name what nothing names, in a sweep's list, too; and beside a plan."""
        words = (*SMALL, "--cluster", "k80-10gbe")
        names = [name for name in output("list", "strategies", "--names").splitlines() if name not in ("local-sgd", "diloco")]  # which train another way
        self.assertEqual([row["strategy"] for row in rows_of(*words, "--strategies", "all")], names)
        self.assertEqual([row["strategy"] for row in rows_of(*words)], names)
        coded = [row["strategy"] for row in rows_of(*words, "--codec", "qsgd", "-s", "all")]
        self.assertEqual(coded, [row["strategy"] for row in rows_of(*words, "--codec", "qsgd")])
        self.assertNotIn("fsdp2", coded)  # codecs compress all-reduces
        self.write("plan.json", output("plan", *words, "-s", "ddp", "--json"))
        self.assertEqual(len(rows_of(*words, "-s", "all", "--plan", self.folder / "plan.json")), len(names) + 1)
        done = self.run_program("compare", *words, "-s", "all,ddp")
        self.assertEqual((done.returncode, place_of(done.stderr)), (2, "command line: --strategies"))
        sweep = {"profiles": [SMALL[1]], "clusters": ["k80-10gbe"], "strategies": ["all", {"name": "all", "accumulate": 2}]}
        self.write("all.json", sweep)
        swept = answer("sweep", "all.json", cwd=self.folder)
        self.assertEqual([row["strategy"] for row in swept], names * 2)
        self.assertEqual([row["options"].get("accumulate") for row in swept], [None] * len(names) + ["2"] * len(names))

    def test_frameworks_and_research_are_separate(self):
        """Without --strategies each group has its table and its winner, and the verdict names both; named ones stand together."""
        from_frameworks, others = "maintained frameworks", "research, plans and searches"
        text = self.wide(*SMALL, "--cluster", "k80-10gbe").stdout
        self.assertEqual(self.wide(*SMALL, "--cluster", "k80-10gbe", "-s", "all").stdout, text)
        first, second = (text.split(f"\n{title}:\n")[1] for title in (from_frameworks, others))
        names = [row["strategy"] for row in table_of(first)]
        self.assertLessEqual({"ddp", "fsdp2", "horovod", "megatron", "zero-1", "fsdp1", "composer"}, set(names))
        rest = [row["strategy"] for row in table_of(second)]
        self.assertLessEqual({"wfbp", "p3", "dear"}, set(rest))
        self.assertFalse(set(names) & set(rest))
        self.assertEqual(len(names) + len(rest), len(rows_of(*SMALL, "--cluster", "k80-10gbe")))
        self.assertRegex(text, rf"\nRun {names[0]}( with [a-z-]+)? \(of {from_frameworks}\): ")
        self.assertRegex(text, rf"\nRun {rest[0]}( with [a-z-]+)? \(of {others}\): ")
        named = self.wide(*SMALL, "--cluster", "k80-10gbe", "-s", "ddp,wfbp").stdout
        self.assertNotIn(from_frameworks, named)
        self.assertEqual(named.count("Run "), 1)

    def test_throughput_and_utilisation_are_shown_where_they_are_known(self):
        """Tokens and operations of a transformer, whatever else tells rows apart; of several sizes the samples of all."""
        llama = ("--profile", "llama3-8b_h100_b1_bf16", "--cluster", "h100x8-8x400gbps", "-s", "fsdp2,megatron")
        for words in (("--workers", "8,16"), ("--workers", "16", "--fidelity", "alpha-beta,fluid", "--collective", "ring")):
            text = self.wide(*llama, *words).stdout
            for column in ("tokens/s per GPU", "MFU", "samples/s"):
                self.assertIn(column, text)
        row, = rows_of(*llama[:-1], "fsdp2", "--workers", "16")
        sizes = self.wide(*llama[:-1], "fsdp2", "--workers", "8,16").stdout
        self.assertIn(f" {row['tokens_per_s_per_gpu']:.0f} ", sizes)
        self.assertIn(f" {100 * row['mfu']:.1f}\n", sizes)
        self.assertIn(f" {row['samples_per_s']:.2f}"[:6], sizes)

    def test_options_as_they_come_and_parts_of_no_time_are_not_shown(self):
        run = ("run", *SMALL, "--cluster", "k80-10gbe", "-s", "ddp")
        plain = output(*run, env=WIDE)
        for word in ("bucket_cap", "stragglers", "update", "options"):
            self.assertNotIn(word, plain)
        self.assertNotRegex(plain, r" 0 n?s\b")
        self.assertIn("options                  bucket_cap=10MB", output(*run, "--option", "bucket_cap=10MB", env=WIDE))
        self.assertIn("bucket_cap", answer(*run)["options"])
        self.assertIn("stragglers", output(*run, "--stragglers", "1:1.5", env=WIDE))
        self.assertNotIn("memory=", output("run", "--profile", "llama3-8b_h100_b1_bf16", "--cluster", "h100x8-8x400gbps", "--workers", "64", "-s", "fsdp2", env=WIDE))

    def test_whether_memory_is_checked(self):
        def note(*words):
            return [line for line in self.wide(*words).stdout.splitlines() if line.startswith(("note: memory", "note: a worker has"))]
        base = ("--profile", "resnet50_a100_b256_bf16", "--cluster", "a100x8-8x200gbps", "--workers", "16", "-s")
        of_device = "note: a worker has 85.2 GB, the memory of a100-80gb (to change it: --memory)"
        self.assertEqual(note(*base, "ddp,fsdp2"), [of_device])
        self.assertEqual(note(*base, "ddp,fsdp2", "--memory", "81251MiB"), [of_device])
        self.assertEqual(note(*base, "ddp,fsdp2", "--memory", "90GB"), [])
        plain = (*SMALL, "--cluster", "k80-10gbe", "-s")
        self.assertEqual(note(*plain, "ddp"), [])  # nothing shards, and the trace knows no activations

    def test_what_does_not_fit_into_the_profile_s_device_does_not_win(self):
        """LLaMA-3 8B: 176.9 GB on a worker that holds everything, 53.5 GB of 85.02 where 64 share."""
        words = ("--profile", "llama3-8b_h100_b1_bf16", "--nodes", "8", "--gpus", "8", "--network", "400Gbit/s", "--inner", "900GB/s", "--update", "0s", "-s", "ddp,fsdp2")
        done = self.wide(*words)
        self.assertEqual([row["strategy"] for row in table_of(done.stdout)], ["fsdp2", "ddp"])
        ddp, fsdp2 = (row["iteration_s"] for row in rows_of(*words))
        self.assertLess(ddp, fsdp2)

    def test_what_the_numbers_do_not_promise_is_said(self):
        star = json.loads((ROOT / "topologies" / "star-64-10gbe.json").read_text(encoding="utf-8"))
        self.write("drawn.json", star | {"jitter": {"distribution": "lognormal", "sigma": 0.1, "seed": 1}})
        here = (*SMALL, "--workers", "4", "-s", "best,wfbp", "--cluster")
        chance, elsewhere = "note: with jitter small differences may be chance", "note: best is searched in alpha-beta"
        for words, told in ((("star-64-10gbe",), ()), (("star-64-10gbe", "--fidelity", "fluid"), ()), (("drawn.json",), (chance,)),
                            (("star-64-10gbe", "--fidelity", "message"), ()),  # at the lower bound
                            (("star-64-10gbe", "--fidelity", "message", "--bandwidth", "x0.01"), (elsewhere,))):
            text = self.wide(*here, *words).stdout
            self.assertEqual([note for note in (chance, elsewhere) if note in text], list(told), words)


if __name__ == "__main__":
    unittest.main()
