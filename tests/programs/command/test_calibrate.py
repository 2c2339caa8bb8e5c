#!/usr/bin/env python3
"""`allreplay calibrate` as users run it: logs in, constants, cluster files and pictures out. Run: python3 tests/programs/command/test_calibrate.py"""

import csv
import json
import os
import random
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from program import REFERENCE, ROOT, Case, answer, needs, needs_program, refusal  # noqa: E402

K80 = REFERENCE / "originals" / "bcaffe_k80"
SIZES = [8 << i for i in range(26)]  # 8 B to 256 MiB


def nccl_tests(times, ranks, prefix="", passes=2):
    """A log as all_reduce_perf writes it; times: {bytes: microseconds}; passes: 1 for an all-gather, half an all-reduce."""
    lines = ["# nThread 1 nGpus 1 minBytes 8 maxBytes 268435456 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0",
             "#", "# Using devices"]
    lines += [f"#  Rank {rank:2} Group  0 Pid {3000 + rank:6} on     node{rank // 8} device {rank % 8:2} [0x{16 + rank % 8:02x}] Some GPU" for rank in range(ranks)]
    lines += ["#", "#                                                              out-of-place                       in-place",
              "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong",
              "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)"]
    for size, time in times.items():
        rate = size / time / 1e3
        block = f"  {time:10.4f} {rate:7.2f} {rate * passes * (ranks - 1) / ranks:7.2f}      0"
        lines.append(f"{size:12} {size // 4:13}     float     sum      -1{block}{block}")
    lines += ["# Out of bounds values : 0 OK", "# Avg bus bandwidth    : 1.2345"]
    return "".join(f"{prefix}{line}\n" for line in lines)


@needs_program
class Calibrate(Case):
    def output(self, *arguments):
        done = self.run_program(*arguments)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stderr)
        return done.stdout

    def fitted(self, *arguments):
        return json.loads(self.output("calibrate", *arguments, "--json"))

    def test_noisy_log_gives_the_constants(self):
        # 3 % of noise. T's scale is known to 3 %/√26, a and b to about 3 %/√(13·0.95) each, since half of the sizes are
        # mostly a (below a/b = 50 kB) and half mostly b: within five times that, 4.3 %.
        generator = random.Random(4)
        log = self.write("nccl.log", nccl_tests({m: (50 + 1e-3 * m) * generator.gauss(1, 0.03) for m in SIZES}, 8, "node0: [1,0]<stdout>:"))
        result = self.fitted(log, "--collective", "ring")
        self.assertEqual((result["workers"], result["better"], result["format"]), (8, "line", "nccl-tests"))
        self.assertAlmostEqual(result["a"] / 50e-6, 1, delta=0.043)
        self.assertAlmostEqual(result["b"] / 1e-9, 1, delta=0.043)
        self.assertAlmostEqual(result["alpha"], result["a"] / 14, delta=1e-15)
        self.assertAlmostEqual(result["beta"], result["b"] * 8 / 14, delta=1e-20)

    def test_the_cluster_file_runs_and_costs_what_was_measured(self):
        log = self.write("nccl.log", nccl_tests({m: (50 + 1e-3 * m) if m < 1e5 else 300 + 0.5e-3 * m for m in SIZES}, 8))
        for option, file in ((), "line.json"), (("--table",), "table.json"):
            self.output("calibrate", log, "--collective", "ring", "--cluster-out", file, "--name", "here", *option)
            self.assertEqual(json.loads((self.folder / file).read_text())["name"], "here")
            result = json.loads(self.output("run", "--profile", "resnet50_p100_b64", "--cluster", file, "--strategy", "sync-easgd", "--json"))
            self.assertEqual((result["cluster"], result["workers"]), ("here", 8))
        # SyncEASGD sends everything at once: 102.2 MB by the table's second piece, behind forward and backward.
        model = json.loads((ROOT / "models" / "resnet50.json").read_text())
        size = sum(4 * eval("*".join(map(str, tensor["shape"]))) for layer in model["layers"] for tensor in layer.get("tensors", []))
        self.assertAlmostEqual(result["exposed_comm_s"], 300e-6 + 0.5e-9 * size, delta=1e-3 * 0.5e-9 * size)
        row = json.loads(self.output("collective", "--cluster", "table.json", "--bytes", "1MiB", "--json"))[0]
        self.assertAlmostEqual(row["time_s"], 300e-6 + 0.5e-9 * 2**20, delta=1e-9)
        # A table holds for what was measured alone.
        self.assertTrue(self.refusal("run", "--profile", "resnet50_p100_b64", "--cluster", "table.json", "--strategy", "wfbp", "--workers", "16"))
        # Nor is the line carried out of the one host that the log lists; from two hosts to more it is, with a warning.
        for command in ("compare", "run"):
            strategy = ("--strategies" if command == "compare" else "--strategy", "wfbp")
            self.assertTrue(self.refusal(command, "--profile", "resnet50_p100_b64", "--cluster", "line.json", *strategy, "--workers", "512"))
        self.output("calibrate", self.write("two.log", nccl_tests({m: 50 + 1e-3 * m for m in SIZES}, 16)), "--collective", "ring", "--cluster-out", "two.json")
        self.assertEqual(json.loads((self.folder / "two.json").read_text())["network"]["node"], {"workers": 8})
        done = self.success("compare", "--profile", "resnet50_p100_b64", "--cluster", "two.json", "--strategies", "wfbp", "--workers", "512")

    def test_a_calibration_of_the_programs_own_times_gives_its_constants(self):
        cluster = {"name": "c", "workers": 12, "network": {"alpha": "7 us", "beta": "0.3 ns/B", "gamma": "0.05 ns/B"}}
        self.write("c.json", json.dumps(cluster))
        for collective in ("ring", "halving-doubling", "recursive-doubling", "binary-tree", "double-binary-tree", "parameter-server", "hierarchical"):
            option = ("-o", "tree_bandwidth=physical") if collective == "double-binary-tree" else ()
            rows = json.loads(self.output("collective", "--cluster", "c.json", "--collective", collective, *option, "--json"))
            self.write("own.csv", "bytes,time_s\n" + "".join(f"{row['bytes']},{row['time_s']!r}\n" for row in rows))
            result = self.fitted("own.csv", "--workers", "12", "--collective", collective, "--gamma", "0.05 ns/B", *option)
            self.assertAlmostEqual(result["alpha"] / 7e-6, 1, delta=1e-6)  # times are whole picoseconds
            self.assertAlmostEqual(result["beta"] / 0.3e-9, 1, delta=1e-6)

    def test_the_report_is_deterministic_and_warns_of_the_wire(self):
        log = self.write("log.csv", "bytes,time_us,nodes\n" + "".join(f"{m},{(30 + 2.5e-4 * m) * n},{n}\n" for n in (2, 4) for m in SIZES))
        done = self.success("calibrate", log, "--workers", "2", "--line-rate", "10 Gbit/s")
        self.assertTrue(done.stderr)
        self.assertEqual(done.stdout, self.run_program("calibrate", log, "--workers", "2", "--line-rate", "10 Gbit/s").stdout)
        self.assertAlmostEqual(self.fitted(log, "--workers", "4")["a"], 120e-6, delta=1e-13)

    def test_pictures(self):
        log = self.write("nccl.log", nccl_tests({m: (50 + 1e-3 * m) if m < 1e5 else 300 + 0.5e-3 * m for m in SIZES}, 8))
        self.output("calibrate", log, "--plot", "fit.svg")
        text = (self.folder / "fit.svg").read_text()
        for word in ("measured", "table of 2 pieces", "message size", "fitted / measured"):
            self.assertIn(word, text)
        self.output("calibrate", log, "--plot", "fit.png")
        self.assertTrue((self.folder / "fit.png").read_bytes().startswith(b"\x89PNG"))

    def two_level_logs(self, workers=(8, 16, 64)):
        """A ring on nodes of 8 with 4 ports: 2 us and 250 GB/s inside, 9 us and 20 GB/s a port."""
        arguments = []
        for n in workers:
            nodes = n // 8
            law = lambda m: 2 * (n - nodes) * 2 + 2 * (nodes - 1) * 9 + m * 2 * (n - 1) / n * (1 / 250 if n == 8 else 1 / 20 / 4) * 1e-3
            arguments += [self.write(f"{n}.log", nccl_tests({m: law(m) for m in SIZES}, n)), "--workers", n]
        return arguments

    def test_several_logs_give_both_levels(self):
        logs = self.two_level_logs()
        fit = self.fitted(*logs, "--collective", "ring", "--rails", "4", "--cluster-out", "two.json", "--plot", "two.svg")
        self.assertEqual((fit["written"], fit["node_workers"], fit["rails"], [log["nodes"] for log in fit["logs"]]), ("levels", 8, 4, [1, 2, 8]))
        for level, alpha, beta in (("node", 2e-6, 4e-12), ("network", 9e-6, 50e-12)):
            self.assertAlmostEqual(fit[level]["alpha"] / alpha, 1, delta=2e-3)
            self.assertAlmostEqual(fit[level]["beta"] / beta, 1, delta=2e-3)
        # Carried to 32 workers, which no log has: 2·28·2 + 2·3·9 us and 2·31/32/80 ns/B.
        row = json.loads(self.output("collective", "--cluster", "two.json", "--workers", "32", "--bytes", "1GB", "--json"))[0]
        self.assertAlmostEqual(row["time_s"] / (166e-6 + 62 / 32 / 80), 1, delta=2e-3)
        self.assertNotIn("--workers", self.output("calibrate", *[a for a in logs if str(a).endswith(".log")], "--rails", "4"))  # the logs say it themselves

    def test_tables_where_levels_miss(self):
        logs = self.two_level_logs((8, 16))
        self.write("16.log", nccl_tests({m: 60 if m < 1e3 else 400 if m < 1e5 else 3000 + 1e-5 * m for m in SIZES}, 16))
        done = self.run_program("calibrate", *logs, "--collective", "ring", "--cluster-out", "tables.json", "--json")
        fit = json.loads(done.stdout)
        self.assertEqual((done.returncode, fit["written"]), (0, "tables"))
        self.assertTrue(fit["why"])
        network = json.loads((self.folder / "tables.json").read_text())["network"]
        self.assertEqual(([table["workers"] for table in network["tables"]], network["node"]), ([8, 16], {"workers": 8}))
        row = json.loads(self.output("collective", "--cluster", "tables.json", "--bytes", "1MiB", "--json"))[0]
        self.assertAlmostEqual(row["time_s"], 3010e-6, delta=60e-6)
        done = self.run_program("calibrate", *self.two_level_logs((16, 64)), "--node", "8", "--json")
        self.assertTrue(json.loads(done.stdout)["why"])

    def test_a_line_that_misses_gives_way_to_the_table(self):
        log = self.write("steps.log", nccl_tests({m: 20 if m < 1e5 else 900 + 1e-5 * m for m in SIZES}, 8))
        done = self.run_program("calibrate", log, "--cluster-out", "mine.json", "--node", "8")
        self.assertTrue(done.stderr)
        network = json.loads((self.folder / "mine.json").read_text())["network"]
        self.assertIn("table", network)
        done = self.run_program("collective", "--cluster", "mine.json", "--workers", "16")
        self.assertTrue(done.stderr)

    def test_nccl(self):
        rows = json.loads(self.output("collective", "--cluster", "a100x8-8x200gbps", "--workers", "8", "--bytes", "8B:1GiB:x2", "--json"))
        log = self.write("node.log", nccl_tests({row["bytes"]: row["time_s"] * 1e6 for row in rows}, 8))
        fit = self.fitted(log, "--collective", "nccl", "--cluster", "a100x8-8x200gbps", "--cluster-out", "mine.json")
        self.assertEqual((fit["written"], fit["network"]), ("nccl", {"bandwidth": None, "latency": None, "level": "between nodes"}))
        self.assertAlmostEqual(fit["node"]["bandwidth"], 0.92, delta=2e-3)  # the preset's own; the log has four digits
        self.assertAlmostEqual(fit["node"]["latency"], 1.77, delta=4e-3)
        row = json.loads(self.output("collective", "--cluster", "mine.json", "--workers", "8", "--bytes", "1GiB", "--json"))[0]
        self.assertAlmostEqual(row["time_s"] / rows[-1]["time_s"], 1, delta=2e-3)
        # What no log determines is the cluster's own; nccl's factors are new.
        preset, mine = json.loads((ROOT / "topologies" / "a100x8-8x200gbps.json").read_text()), json.loads((self.folder / "mine.json").read_text())
        for key in ("spread", "interference"):
            self.assertEqual(mine[key], preset[key])
        self.assertEqual({key: mine["network"]["nccl"]["scale"]["network"][key] for key in ("tree", "ll")}, preset["network"]["nccl"]["scale"]["network"])
        own = {**preset, "network": {**preset["network"], "launch": "7 us", "alpha": [{"nodes": 2, "alpha": "9 us"}]}}
        self.write("own.json", json.dumps(own))
        self.output("calibrate", log, "--collective", "nccl", "--cluster", "own.json", "--cluster-out", "again.json")
        again = json.loads((self.folder / "again.json").read_text())["network"]
        self.assertEqual({**again, "nccl": 0}, {**own["network"], "nccl": 0})
        self.assertAlmostEqual(again["nccl"]["scale"]["node"]["bandwidth"], fit["node"]["bandwidth"])
        self.output("run", "--profile", "resnet50_p100_b64", "--cluster", "again.json", "--workers", "8", "--strategy", "wfbp")
        for arguments, message in ((["--collective", "nccl"], "command line: --collective: "),
                                   (["--collective", "nccl", "--cluster", "k80-10gbe"], "command line: --cluster: "),
                                   (["--cluster", "a100x8-8x200gbps"], "command line: --cluster: "),
                                   (["node.log"], "node.log: "),
                                   (["node.log", "--workers", "8"], "command line: --workers: ")):
            error = self.refusal("calibrate", log, *arguments)
            self.assertTrue(error.startswith(message), error)
        self.write("gather.log", nccl_tests({m: 50 + 1e-3 * m for m in SIZES}, 16, passes=1) + "# all_gather_perf\n")
        done = self.run_program("calibrate", log, "gather.log")
        self.assertTrue(done.stderr)

    def test_bad_input_is_one_line_and_writes_nothing(self):
        good = nccl_tests({m: 50 + 1e-3 * m for m in SIZES}, 8)
        row = next(line for line in good.splitlines() if line.split()[0] == "4096")
        self.write("good.log", good)
        self.write("one.csv", "bytes,time_us\n4096,50\n")
        cases = {
            "one size": (["one.csv", "--workers", "4"], "one.csv: has one size, 4 KiB"),
            "no workers": (["one.csv"], "one.csv: does not say how many"),
            "workers": (["good.log", "--workers", "4"], "command line: --workers: 4 workers contradict the log"),
            "one worker": (["good.log", "--workers", "1"], "command line: --workers: '1' is not a whole number from 2"),
            "collective": (["good.log", "--collective", "rung"], "command line: --collective: unknown collective 'rung'"),
            "range": (["good.log", "--from", "1 GiB"], "command line: --from: leaves no size"),
            "option": (["good.log", "--collective", "ring", "-o", "servers=2"], "command line: --option servers: a calibration does not depend"),
            "gamma": (["good.log", "--gamma", "1 us/B"], "command line: --gamma: 1e-06 s/B is more than"),
            "line rate": (["good.log", "--line-rate", "0 bit/s"], "command line: --line-rate: is not above zero"),
            "absent": (["absent.log"], "absent.log: cannot be read"),
            "itself": (["good.log", "--cluster-out", "good.log"], "command line: --cluster-out: 'good.log' is an input"),
            "picture": (["good.log", "--plot", "fit.gif"], "command line: --plot: "),
            "folder": (["."], ".: is a folder"),
            "another collective": (["good.log", "--collective", "all-gather"], "command line: --collective: all-gather is an all-gather, but the log is of an all-reduce"),
            "different collectives": (["good.log", "gather.csv"], "gather.csv: is of all-gather, but good.log is of all_reduce_perf"),
            "several collectives": (["several.csv"], "several.csv: has rows of several collectives: all-reduce, all-gather"),
        }
        self.write("gather.csv", "collective,workers,bytes,time_us\nall-gather,4,8,9\nall-gather,4,16,9\n")
        self.write("several.csv", "collective,workers,bytes,time_us\nall-gather,4,8,9\nall-reduce,4,16,9\n")
        for name, text in {"cut": good[: good.index(row) + 60], "noise": good.replace("4.0960", "fast"), "empty": "",
                           "negative": good.replace("    54.0960", "   -54.0960", 1), "mixed": good.replace(row, row.replace("float", " half")),
                           "ranks": good.replace("Rank  3", "Rank  2"), "nul": good.replace("54.0960", "54\0" "0960"),
                           "chatter": good.replace("54.0960", "54.0\ngpu-1:40:41 [3] NCCL INFO here\n960", 1)}.items():
            self.write(name, text)
            cases[name] = ([name], f"{name}: ")
        (self.folder / "binary").write_bytes(random.Random(1).randbytes(4096))
        cases["binary"] = (["binary"], "binary: ")
        before = sorted(os.listdir(self.folder))
        for name, (arguments, message) in cases.items():
            with self.subTest(name):
                writing = [] if {"--plot", "--cluster-out"} & set(arguments) else ["--cluster-out", "out.json", "--plot", "out.svg"]
                error = self.refusal("calibrate", *arguments, *writing)
                self.assertTrue(error.startswith(message), error)
                self.assertEqual(sorted(os.listdir(self.folder)), before)
        self.assertEqual((self.folder / "good.log").read_text(), good)

    def test_damaged_logs_never_crash(self):
        generator = random.Random(7)
        logs = [nccl_tests({m: 50 + 1e-3 * m for m in SIZES}, 8), "bytes,time_us\n" + "".join(f"{m},{m + 5}\n" for m in SIZES),
                "# OSU MPI Allreduce Latency Test v7.4\n# Size       Avg Latency(us)\n" + "".join(f"{m:<10}{m + 5:>20}\n" for m in SIZES)]
        for _ in range(150):
            data = bytearray(generator.choice(logs).encode())
            for _ in range(generator.randint(1, 8)):
                at = generator.randrange(len(data))
                what = generator.randrange(4)
                if what == 0:
                    data[at] = generator.randrange(256)
                elif what == 1:
                    del data[at:at + generator.randrange(1, 200)]
                elif what == 2:
                    data[at:at] = data[generator.randrange(len(data)):][: generator.randrange(1, 200)]
                else:
                    data[at:at] = generator.choice([b"-", b"1e400", b"nan", b"inf", b"N/A", b",", b"#", b"\n", b"99999999999999999999", b"Rank 0 Pid 1 "])
                if not data:
                    break
            (self.folder / "damaged").write_bytes(data)
            done = self.run_program("calibrate", "damaged", "--workers", "8", "--json", text=False)
            self.assertIn(done.returncode, (0, 2), done.stderr)
            if done.returncode == 2:
                self.assertEqual((done.stdout, done.stderr.count(b"\n")), (b"", 1), done.stderr)


@needs_program
@needs(K80)
class RealLogs(unittest.TestCase):
    """B-Caffe's osu_allreduce logs: 2, 4 and 8 K80 nodes on 10 Gbit/s Ethernet."""

    def fitted(self, *arguments):
        return answer("calibrate", *map(str, arguments))

    def test_tables_follow_the_logs_where_lines_cannot(self):
        for nodes in (2, 4, 8):
            result = self.fitted(K80 / f"allreduce{nodes}.log", "--workers", nodes)
            self.assertEqual((result["rows"], result["from"], result["to"], result["better"]), (266, 4, 1 << 20, "table"))
            decades, overall = result["errors"][:-1], result["errors"][-1]
            self.assertLess(overall["table_median"], 0.02)
            for decade in decades:
                # At 8 nodes the first size, 4 B, took 82 us and the next eight 68 to 102: an outlier, 8 % as half of its decade.
                self.assertLess(decade["table_median"], 0.09 if decade["from"] == 1 else 0.03, decade)
            # The library changes between 8 and 12 KiB: a line that fits the many large sizes is off by half and more below.
            self.assertGreater(max(decade["line_median"] for decade in decades), 1)
            times = [point["time_s"] for point in result["table"]]
            self.assertEqual(times, sorted(times))

    def test_the_reduced_table_holds_the_same_logs(self):
        file = REFERENCE / "measured" / "osu_allreduce_k80_10gbe.csv"
        with open(file, newline="") as stream:
            nodes = {int(row["nodes"]) for row in csv.DictReader(stream)}
        self.assertEqual(nodes, {2, 4, 8})
        for count in nodes:
            here, there = (self.fitted(one, "--workers", count) for one in (file, K80 / f"allreduce{count}.log"))
            for key in ("a", "b"):
                self.assertAlmostEqual(here[key] / there[key], 1, delta=1e-6)

    def test_large_sizes_alone_are_one_line_within_a_few_per_cent(self):
        for nodes in (2, 4, 8):
            result = self.fitted(K80 / f"allreduce{nodes}.log", "--workers", nodes, "--from", "540 KiB")
            self.assertLess(result["errors"][-1]["line_median"], 0.03)
            # No all-reduce beats 2(N-1)/N bytes of 10 Gbit/s each way.
            self.assertGreater(result["b"], 2 * (nodes - 1) / nodes * 0.8e-9)


@needs_program
@needs(REFERENCE / "originals" / "nccl_tests")
class RealNcclTests(unittest.TestCase):
    """Two published logs, of old columns and of new ones; neither names its benchmark."""

    def test_old_and_new_columns(self):
        for name, workers in (("a100_40gb_2x8_p4d_efa", 16), ("h100_80gb_1x8_dgx", 8)):
            with self.subTest(name):
                log = REFERENCE / "originals" / "nccl_tests" / f"{name}.txt"
                result = answer("calibrate", str(log))
                self.assertEqual((result["workers"], result["collective"]), (workers, "ring"))
                for arguments, message in ((("--collective", "all-gather"), "command line: --collective: "),
                                           (("--workers", "7"), "command line: --workers: ")):
                    error = refusal("calibrate", str(log), *arguments)
                    self.assertTrue(error.startswith(message), error)


if __name__ == "__main__":
    unittest.main()
