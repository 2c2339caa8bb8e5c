#!/usr/bin/env python3
"""`allreplay validate` as users run it: a CSV in, scores, points and a picture out. Run: python3 tests/programs/command/test_validate.py"""

import json
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from program import ROOT, Case, answer, needs_program, place_of, rows_of  # noqa: E402

EXAMPLE = ROOT / "docs" / "examples" / "six_layers_measured.csv"
HEAD = "profile,cluster,workers,strategy,barrier,iteration_s,group,calibrate\n"


@needs_program
class Validate(Case):
    """One layer of 1 MB, F = 1 ms, B = 2 ms; a ring among 4 with 100 us and 1 ns/B takes 0.6 + 1.5 ms, so that an iteration takes 5.1 ms."""

    def setUp(self):
        super().setUp()
        self.write("p.csv", "layer,params,forward_us,backward_us\na,250000,1000,2000\n")
        self.write("c.json", {"name": "c", "workers": 4, "network": {"alpha": "100 us", "beta": "1 ns/B"}})

    def validate(self, text, *arguments):
        self.write("m.csv", text)
        return self.run_program("validate", "m.csv", *arguments)

    def found(self, text):
        done = self.validate(text, "--json")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return json.loads(done.stdout)

    def test_json_has_predictions_and_errors(self):
        found = self.found(HEAD + "p.csv,c.json,4,wfbp,,0.006,one,\np.csv,c.json,2,wfbp,,0.004,two,\n")
        self.assertEqual((found["quantity"], [group["group"] for group in found["groups"]], found["all"]["points"]), ("iteration_s", ["one", "two"], 2))
        first, second = found["points"]
        self.assertAlmostEqual(first["predicted"], 5.1e-3)
        self.assertAlmostEqual(first["error"], 0.15)  # 5.1 of 6 ms: too fast
        self.assertAlmostEqual(first["no_communication"], 3e-3)
        self.assertAlmostEqual(second["error"], -0.05)  # two workers: 3 + 0.2 + 1 ms of 4
        self.assertAlmostEqual(found["all"]["error"]["median"], 0.1)
        self.assertAlmostEqual(found["all"]["error"]["p90"], 0.14)  # 0.05 + 0.9·0.1
        self.assertAlmostEqual(found["all"]["error"]["bias"], 0.05)
        self.assertEqual(found["all"]["error"]["too_fast"], 1)
        self.assertAlmostEqual(first["scaling_loss"]["measured"], 0.5)  # 3 of 6 ms
        self.assertEqual(found["methods"]["settings"], 0)

    def test_a_bandwidth_for_each_number_of_nodes(self):
        """Nodes of one worker; a ring of n at 1 ns/B on two nodes (the file's), 4 ns/B on 8. Half way between in log(nodes), bandwidths are 1 and 0.25 GB/s: 0.625, 1.6 ns/B."""
        self.write("c.json", {"name": "c", "workers": 8, "network": {"alpha": "0 us", "bandwidth": "1 GB/s"}})
        ring = lambda workers, per_byte: 2 * (workers - 1) / workers * per_byte * 1e-3
        rows = f"c.json,ring,8,1000000,{ring(8, 4)!r},beta by nodes\nc.json,ring,4,1000000,{ring(4, 1.6)!r},\nc.json,ring,2,1000000,{ring(2, 1)!r},\nc.json,ring,16,1000000,{ring(16, 4)!r},\n"
        done = self.validate("cluster,collective,workers,bytes,time_s,calibrate\n" + rows, "--json")
        found = json.loads(done.stdout)
        constant, = found["constants"]
        self.assertEqual((constant["for"], constant["lines"], constant["scored_rows"]), ({"cluster": "c.json", "nodes": "8"}, [2], 3))
        self.assertAlmostEqual(constant["value"], 4e-9, delta=1e-13)
        for point in found["points"]:
            self.assertAlmostEqual(point["error"], 0, delta=1e-4)
        # Two numbers of nodes are two constants; only links have them.
        two = self.validate("cluster,collective,workers,bytes,time_s,calibrate\n" + rows.replace(f"{ring(4, 1.6)!r},", f"{ring(4, 1.6)!r},beta by nodes"), "--json")
        self.assertEqual([one["for"]["nodes"] for one in json.loads(two.stdout)["constants"]], ["8", "4"])
        refused = self.validate(HEAD + "p.csv,c.json,4,wfbp,,0.006,one,launch by nodes\n")
        self.assertEqual(refused.returncode, 2)
        self.assertIn("launch cannot be fitted by 'nodes'", refused.stderr)

    def test_a_prediction_is_that_of_run(self):
        words = ["--profile", "resnet50_p100_b64", "--cluster", "k80-10gbe", "--workers", "8", "--strategy", "ddp"]
        row = answer("run", *words, "-o", "bucket_cap=10 MiB")
        found = self.found("profile,cluster,workers,strategy,bucket_cap,samples_per_s\nresnet50_p100_b64,k80-10gbe,8,ddp,10 MiB,1000\n")
        self.assertEqual(found["points"][0]["predicted"], row["samples_per_s"])

    def test_micro_batches_have_two_names(self):
        """3 ms a micro-batch, 2.1 ms for the all-reduce: 5.1 ms of one, 8.1 of two. Rows that differ in them are no methods of one setting."""
        rows = "p.csv,c.json,4,wfbp,1,0.0051\np.csv,c.json,4,wfbp,2,0.0081\np.csv,c.json,4,sync-easgd,3,0.0111\n"
        for name in ("accumulate", "micro_batches", "micro-batches"):
            found = self.found(f"profile,cluster,workers,strategy,{name},iteration_s\n{rows}")
            self.assertEqual([round(point["predicted"], 9) for point in found["points"]], [0.0051, 0.0081, 0.0111])
            self.assertEqual(found["methods"]["settings"], 0)
        two = f"profile,cluster,workers,strategy,micro_batches,iteration_s\n{rows}p.csv,c.json,4,sync-easgd,2,0.0081\n"
        self.assertEqual(self.found(two)["methods"]["settings"], 1)  # two micro-batches
        for header, cells, complaint in (("accumulate,micro_batches", "1,1", "m.csv: line 1: has the columns accumulate and micro_batches, which are the same option"),
                                         ("micro_batches", "many", "m.csv: line 2, micro_batches: ")):
            done = self.validate(f"profile,cluster,workers,strategy,{header},iteration_s\np.csv,c.json,4,wfbp,{cells},0.0051\n")
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn(complaint, done.stderr)

    def test_constants_of_rows_that_are_not_scored(self):
        # 3 + 0.6 + 1.5·beta·1 MB = 6.6 ms: 2 ns/B; among 4 with a barrier the same.
        text = HEAD + "p.csv,c.json,4,sync-easgd,,0.0066,,beta\np.csv,c.json,4,wfbp,iteration,0.0066,,\n"
        found = self.found(text)
        (beta,) = found["constants"]
        self.assertAlmostEqual(beta["value"] * 1e9, 2, delta=1e-3)
        self.assertEqual((beta["constant"], beta["level"], beta["for"], beta["lines"]), ("beta", "network", {"cluster": "c.json"}, [2]))
        self.assertEqual([point["scored"] for point in found["points"]], [False, True])
        self.assertAlmostEqual(found["points"][1]["error"], 0, delta=1e-4)

    def test_trials_are_possible(self):
        # NCCL's model divides by bandwidths: 0 is no trial. What made the rows comes back; what nothing can be ends at the limit.
        links = {"alpha": "0 us", "bandwidth": "25 GB/s", "rails": 8, "collective": "nccl", "nccl": {"gpu": "h100", "nvls": False}}
        for name, inside in (("n.json", "300 GB/s"), ("truth.json", "150 GB/s")):
            network = {**links, "node": {"workers": 8, "alpha": "0 us", "bandwidth": inside}}
            self.write(name, {"name": "n", "workers": 16, "network": network})
        head = "cluster,collective,workers,bytes,time_s,calibrate\n"
        (row,) = answer("collective", "--cluster", str(self.folder / "truth.json"), "--workers", "8", "--bytes", "1GB")
        (beta,) = self.found(head + f"n.json,nccl,8,1e9,{row['time_s']!r},beta\nn.json,nccl,8,1e9,0.01,\n")["constants"]
        self.assertAlmostEqual(beta["value"] * 150e9, 1, delta=1e-4)
        done = self.validate(head + "n.json,nccl,8,1e9,1e-6,beta\nn.json,nccl,8,1e9,0.01,\n", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        (beta,) = json.loads(done.stdout)["constants"]
        self.assertTrue(beta["at_limit"])
        self.assertAlmostEqual(beta["value"] * 300e9 * 4096, 1)
        # A ring's six start-ups of 100 s: at a thousand times of those an iteration would pass the end of a day.
        self.write("slow.json", {"name": "s", "workers": 4, "network": {"alpha": "100 s", "beta": "1 ns/B"}})
        (alpha,) = self.found(HEAD + "p.csv,slow.json,4,wfbp,,300.0045,,alpha\np.csv,slow.json,4,wfbp,,300,,\n")["constants"]
        self.assertAlmostEqual(alpha["value"], 50, delta=1e-6)  # 3 + 1.5 ms, and six of these

    def test_a_constant_that_fits_twice_is_not_known(self):
        # What waits while a longer launch lasts may go in a better order: from 2800 to 2900 us of it the iteration falls from 65.3 to 62.4 ms.
        layers = ((250, 1, 6), (2500, 3, 6), (100, 3, 0.5), (2500, 1, 6), (250, 0.3, 6), (2500, 3, 6))
        rows = [f"l{i},{1000 * thousands},{1000 * forward:g},{1000 * backward:g}" for i, (thousands, forward, backward) in enumerate(layers)]
        self.write("six.csv", "\n".join(["layer,params,forward_us,backward_us", *rows, ""]))
        done = self.validate(HEAD + "six.csv,c.json,4,bytescheduler,,0.0648,,launch\nsix.csv,c.json,4,bytescheduler,,0.07,,\n", "--json")
        (launch,) = json.loads(done.stdout)["constants"]
        self.assertIsNone(launch["value"])
        self.assertGreater(abs(launch["fits_as_well"] / launch["simulated"] - 1), 0.01)
        for value in (launch["simulated"], launch["fits_as_well"]):
            done_run = self.run_program("run", "--profile", "six.csv", "--cluster", "c.json", "--strategy", "bytescheduler", "--launch", f"{value} s", "--json")
            self.assertAlmostEqual(json.loads(done_run.stdout)["iteration_s"] / 0.0648, 1, delta=1e-3)

    def test_a_constant_that_no_scored_row_uses_is_said(self):
        row = "p.csv,c.json,4,sync-easgd,,0.0066,{},{}\n"
        done = self.validate(HEAD + row.format("a", "launch_tensor") + row.format("b", ""), "--json")
        self.assertEqual(json.loads(done.stdout)["constants"][0]["scored_rows"], 0)
        done = self.validate(HEAD + row.format("a", "launch_tensor") + row.format("a", ""), "--json")
        self.assertEqual((json.loads(done.stdout)["constants"][0]["scored_rows"], done.stderr), (1, ""))
        # Ports between nodes have no say in a node, nor an option in a row that gives its own.
        self.write("two.json", {"name": "t", "workers": 8, "network": {
"node": {"workers": 4, "alpha": "1 us", "beta": "0.1 ns/B"}, "alpha": "100 us", "beta": "1 ns/B"}})
        text = HEAD.replace("barrier", "launch") + "p.csv,two.json,8,s-sgd,,0.008,,beta; launch\np.csv,two.json,8,s-sgd,,0.008,,beta; launch\n" \
            "p.csv,two.json,4,s-sgd,1 us,0.005,,\np.csv,two.json,8,s-sgd,,0.008,,\n"
        self.assertEqual([one["scored_rows"] for one in json.loads(self.validate(text, "--json").stdout)["constants"]], [1, 1])

    def test_unknown_constants_are_reported(self):
        done = self.validate(HEAD + "p.csv,c.json,1,wfbp,,0.003,,beta\np.csv,c.json,4,wfbp,,0.006,,\n")
        self.assertEqual(done.returncode, 0)

    def test_constants_that_make_up_for_each_other_are_not_printed(self):
        # One layer, one collective among 4: 6·alpha + 1.5 MB·beta are 3.6 ms, whatever the two are.
        row = "p.csv,c.json,4,sync-easgd,,0.0066,,alpha; beta\n"
        done = self.validate(HEAD + 2 * row + "p.csv,c.json,4,wfbp,iteration,0.0066,,\n", "--json")
        self.assertEqual(done.returncode, 0)
        alpha, beta = json.loads(done.stdout)["constants"]
        self.assertEqual((alpha["value"], alpha["not_told_from"], beta["value"], beta["not_told_from"]), (None, ["beta"], None, ["alpha"]))
        # What leaves less trace is left to the file, 100 us: beta is (3.6 - 0.6)/1.5 ns/B.
        self.assertIsNone(alpha["simulated"])
        self.assertAlmostEqual(beta["simulated"] * 1e9, 2, delta=1e-4)

    def test_nothing_that_takes_no_time_is_drawn(self):
        head = "cluster,collective,workers,bytes,time_s,group\n"
        done = self.validate(head + "c.json,ring,1,1000,0.001,a\n", "--plot", "m.svg")
        self.assertEqual((done.returncode, place_of(done.stderr)), (2, "m.csv: line 2, workers"))
        # A byte at 0.1 ps is less than the picosecond that times are whole numbers of.
        self.write("fast.json", {"name": "f", "workers": 4, "network": {"alpha": "0 us", "beta": "0.0001 ns/B"}})
        done = self.validate(head + "c.json,ring,4,1000,0.001,a\nfast.json,ring,4,1,0.001,b\n", "--plot", "m.svg")
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_points_and_a_picture_are_written(self):
        done = self.validate(HEAD + 'p.csv,c.json,4,wfbp,,0.006,"a, b",\np.csv,c.json,4,s-sgd,,0.005,c,beta\n', "--out", "points.csv", "--plot", "m.svg")
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = rows_of(self.folder / "points.csv")
        self.assertEqual([(row["group"], row["scored"]) for row in rows], [("a, b", "true"), ("c", "false")])
        self.assertAlmostEqual(float(rows[0]["no_communication"]), 3e-3)
        picture = (self.folder / "m.svg").read_text()
        for word in ("a, b", "measured time", "predicted time", "within 25 %"):
            self.assertIn(word, picture)
        self.assertNotIn(">c: ", picture)  # what is not scored is not drawn

    def test_the_example_of_the_page(self):
        done = self.run_program("validate", EXAMPLE)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        found = json.loads(self.run_program("validate", EXAMPLE, "--json").stdout)
        self.assertEqual((found["all"]["points"], found["fitting_rows"], found["null_model"]["is_beaten"]), (6, 2, True))
        self.assertEqual(done.stdout, self.run_program("validate", EXAMPLE).stdout)

    def test_bad_input_ends_with_one_line_and_writes_nothing(self):
        point = "p.csv,c.json,4,wfbp,,0.006,,\n"
        for text, words in (("profile,cluster,wokers,strategy,iteration_s\n", "m.csv: line 1: unknown column 'wokers' (did you mean 'workers'?)"),
                            (HEAD + "p.csv,nowhere,4,wfbp,,0.006,,\n", "m.csv: line 2, cluster: no cluster 'nowhere'"),
                            (HEAD + "p.csv,c.json,4,wfbp,,six,,\n", "m.csv: line 2, iteration_s: "),
                            (HEAD + point + "p.csv,c.json,4,wfbp,,0.006,,gamma\n", "m.csv: line 3, calibrate: 'gamma'"),
                            (HEAD + point + "p.csv,c.json,4,wfbp\n", "m.csv: line 3: has 4 fields (the 8 of the header)")):
            with self.subTest(words=words):
                done = self.validate(text, "--out", "points.csv")
                self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (2, "", 1))
                self.assertTrue(done.stderr.startswith(words), done.stderr)
                self.assertFalse((self.folder / "points.csv").exists())
        done = self.validate(HEAD + point, "--out", "m.csv")
        self.assertEqual((done.returncode, place_of(done.stderr)), (2, "command line: --out"))
        done = self.validate(HEAD + point, "--plot", "m.txt")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--plot", done.stderr)


if __name__ == "__main__":
    unittest.main()
