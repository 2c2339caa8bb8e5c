#!/usr/bin/env python3
"""tools/convert_trace.py: hand-made files whose every number is known, and the published originals. Run: python3 tests/tools/test_convert_trace.py"""

import csv
import io
import json
import re
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import program  # noqa: E402
from program import REFERENCE, ROOT  # noqa: E402

ORIGINALS = REFERENCE / "originals"
SCRIPT = ROOT / "tools" / "convert_trace.py"

# A diamond, listed backwards: 1 -> 2 -> (3, 10) -> 4. The least forward time without parameters is node10's 0.25 ms.
GRAPH = """node4 -- Linear(in_features=4, out_features=2, bias=True) -- forward_compute_time=1.250, backward_compute_time=2.500, activation_size=8.0, parameter_size=40.000
node10 -- Add -- forward_compute_time=0.250, backward_compute_time=0.5, activation_size=[1.0; 2.0], parameter_size=0.000
node2 -- Conv2d(3, 4, kernel_size=(1, 1)) -- forward_compute_time=0.200, backward_compute_time=3.000, activation_size=8.0, parameter_size=48.0 -- stage_id=0
node1 -- Input -- forward_compute_time=18.000, backward_compute_time=0.000, activation_size=8.0, parameter_size=0
node3 -- __getitem__(0) -- forward_compute_time=0.000, backward_compute_time=0.000, activation_size=8.0, parameter_size=0.000
\tnode10 -- node4\n\tnode3 -- node4\n\tnode1 -- node2\n\tnode2 -- node10\n\tnode2 -- node3
"""


def logged(message):
    """A line of glog's."""
    return f"I0228 23:02:15.321418 24886 net.cpp:49] {message}\n"


def defined(name, kind, more=""):
    """A layer as Caffe's log defines it."""
    return f'layer {{\n  name: "{name}"\n  type: "{kind}"\n{more}}}\n'


def set_up(name, bottom, top, shape):
    """What Caffe logs when it creates a layer."""
    lines = [f"Creating Layer {name}", f"{name} <- {bottom}", f"{name} -> {top}" + " (in-place)" * (top == bottom), f"Top shape: {shape} (1)"]
    return "".join(logged(line) for line in lines if line != f"{name} <- ")


def timed(name, forward, backward):
    """A layer's times, as `caffe time` prints them."""
    return logged(f"     {name}\tforward: {forward} ms.") + logged(f"     {name}\tbackward: {backward} ms.")


NET = ('name: "net"\nstate {\n  phase: TRAIN\n}\n' + defined("data", "Input") +
       defined("a/3x3", "Convolution", "  convolution_param {\n num_output: 8\n kernel_size: 3\n group: 2\n }\n") +
       defined("a/scale", "Scale", "  scale_param { bias_term: true }\n") + defined("a/relu", "ReLU") +
       defined("fc", "InnerProduct", "  inner_product_param { num_output: 10 bias_term: false }\n"))
SET_UPS = (set_up("data", "", "data", "16 4 6 6") + set_up("a/3x3", "data", "a", "16 8 4 4") + set_up("a/scale", "a", "a", "16 8 4 4") +
           set_up("a/relu", "a", "a", "16 8 4 4") + set_up("fc", "a", "fc", "16 10"))
TIMES = (logged("Average time per layer: ") + timed("data", 0, 0) + timed("a/3x3", 1.5, 2.5) + timed("a/scale", 0.5, 1) +
         timed("a/relu", 0.25, 0.5) + timed("fc", 1, 2) + logged("Average Forward pass: 4 ms."))


def blob(numbers):
    """A line of B-Caffe's log."""
    return f"I0214 23:25:29.141575 37187 distributed.cpp:112] [{numbers}]\n"


def node(number, backward, time, size, color):
    """A node of dnn-partitioning's graph."""
    return {"name": f"n{number}", "id": number, "cpuLatency": 9, "fpgaLatency": time, "isBackwardNode": backward, "colorClass": color, "size": size}


def edges(*ends):
    """Its edges: (from, to, size)."""
    return [{"sourceId": start, "destId": end, "cost": 0, "size": size} for start, end, size in ends]


# 1 -> 2, listed backwards; 1 has 400 bytes of which its output is 40, 2 has 100 of which 20.
NODES = [node(2, 0, 2, 100, 7), node(1, 0, 1, 400, 5), node(11, 1, 3, 400, 5), node(12, 1, 4, 100, 7)]
EDGES = edges((1, 2, 40), (11, 12, 20))

ASTRA = "DATA\n2\nconv\t-1\t1000\tNONE\t0\t300\tNONE\t0\t500\tALLREDUCE\t4000\t50\nfc -1 2000 NONE 0 700 NONE 0 900 ALLREDUCE 800 0\r\n"


class Case(program.Case):
    """In a folder of its own."""

    def done(self, kind, text, *arguments):
        """The finished process for a file of this text (or path)."""
        file = text
        if isinstance(text, str):
            file = self.folder / "file"
            file.write_text(text, encoding="utf-8", newline="")
        return subprocess.run([sys.executable, "-I", SCRIPT, kind, file, *map(str, arguments)], capture_output=True, text=True, check=False)

    def rows(self, kind, text, *arguments):
        """(layer, params, tensors, forward, backward) of each row, with times as numbers."""
        done = self.done(kind, text, *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return [(row["layer"], int(row["params"]), row["tensors"], float(row["forward_us"] or -1), float(row["backward_us"]))
                for row in csv.DictReader(io.StringIO(done.stdout))]

    def refused(self, kind, text, *arguments):
        """One line that names the file, and no table."""
        done = self.done(kind, text, *arguments)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertRegex(done.stderr.splitlines()[-1], f"^{re.escape(str(self.folder / 'file'))}: ")


class HandMade(Case):
    """Every number is known."""

    def test_pipedream(self):
        # Node 3 before 10: by number, not as text. 200 us < 250 us: not below zero. 48 bytes are 12 parameters in fp32.
        self.assertEqual(self.rows("pipedream", GRAPH), [
            ("node2:Conv2d", 12, "12", 0, 3000), ("node3:__getitem__", 0, "", 0, 0), ("node10:Add", 0, "", 0, 500), ("node4:Linear", 10, "10", 1000, 2500)])
        self.assertEqual(sum(row[3] for row in self.rows("pipedream", GRAPH, "--keep-overhead")), 1700)
        for damaged in (GRAPH + "\tnode4 -- node2\n", GRAPH + "\tnode4 -- node77\n", GRAPH + "hello\n", GRAPH + GRAPH.split("\n", 1)[0],
                        GRAPH[:GRAPH.index("\n\t")], GRAPH.replace("1.250", "x"), GRAPH.replace("=40.000", "=41.000"),
                        GRAPH.replace(", parameter_size=40.000", "")):
            self.refused("pipedream", damaged)

    def test_caffe_time(self):
        self.assertEqual(self.rows("caffe-time", logged("Initializing net from parameters: ") + NET + SET_UPS + TIMES), [
            ("data", 0, "", 0, 0),
            ("a/3x3", 152, "a/3x3.weight=144;a/3x3.bias=8", 1500, 2500),  # outputs x inputs of a group x kernel: 8 x 4/2 x 3 x 3; its bias
            ("a/scale", 16, "a/scale.weight=8;a/scale.bias=8", 500, 1000),  # a factor for each channel
            ("a/relu", 0, "", 250, 500), ("fc", 1280, "fc.weight=1280", 1000, 2000)])  # 8 x 4 x 4 x 10

    def test_layers_behind_the_cut_of_glog_are_taken_by_their_names(self):
        cut = NET + 'layer {\n  name: "b/3x3"\n  type: "Convolution"\n  convolution_param {\n'
        more = (SET_UPS + set_up("b/3x3", "a", "b", "16 6 2 2") + set_up("pool", "b", "p", "16 6 1 1") +
                set_up("b/relu", "p", "p", "16 6 1 1") + set_up("fc2", "p", "fc2", "16 3"))
        times = TIMES + timed("b/3x3", 1, 1) + timed("pool", 1, 1) + timed("b/relu", 1, 1) + timed("fc2", 1, 1)
        rows = self.rows("caffe-time", logged("Initializing net from parameters: ") + cut + more + times)
        # As a/3x3: a kernel of 3, two groups; fc2 makes flat data, so it is fully connected.
        self.assertEqual([row[2] for row in rows[5:]], ["b/3x3.weight=216;b/3x3.bias=6", "", "", "fc2.weight=18;fc2.bias=3"])

    def test_damaged_logs_of_caffe(self):
        start = logged("Initializing net from parameters: ")
        lstm = defined("d", "Input") + defined("l", "LSTM", "  param { lr_mult: 1 }\n")
        for log in ("", start + NET + SET_UPS, TIMES + SET_UPS.replace("a/3x3", "b/new"), start + NET + SET_UPS + timed("fc", 1, 1),
                    start + NET + "}\n" + SET_UPS + TIMES, start + NET + SET_UPS + logged("x\tforward: 1 ms."),
                    start + lstm + set_up("d", "", "d", "1 2") + set_up("l", "d", "l", "1 2") + timed("d", 1, 1)):
            self.refused("caffe-time", log)

    def test_bcaffe(self):
        log = (blob("0, 640, 0, 0") + blob("1, 64, 0, 0") + blob("2, 128, 0, 0") +
               blob("0, 640, 100.5, 20") + blob("1, 64, 100.5, 30") + blob("2, 128, 7, 50"))
        self.assertEqual(self.rows("bcaffe", log), [("layer0", 704, "blob0=640;blob1=64", -1, 100.5), ("layer1", 128, "blob2=128", -1, 7)])
        for damaged in ("", blob("0, 640, 0, 0"), blob("0, 640"), blob("0, 640, 5, 1") + blob("2, 64, 5, 1"), blob("1, 640, 5, 1"),
                        blob("0, 6.5, 5, 1"), blob("0, many, 5, 1"), blob("0, 64, 5, 1") + blob("1, 64, 5, 1") + blob("0, 64, 5, 1")):
            self.refused("bcaffe", damaged)

    def test_dnn_partitioning(self):
        # What a forward node hands to its twin is no output, and nothing waits for it. (400 - 40) / 4, (100 - 20) / 4.
        kept = edges((1, 11, 100), (2, 12, 8))
        self.assertEqual(self.rows("dnn-partitioning", json.dumps({"nodes": NODES, "edges": EDGES + kept})),
                         [("n1", 90, "90", 1000, 3000), ("n2", 20, "20", 2000, 4000)])
        larger = edges((1, 2, 404), (11, 12, 20))  # an output larger than its node: no parameters
        self.assertEqual([row[1] for row in self.rows("dnn-partitioning", json.dumps({"nodes": NODES, "edges": larger}))], [0, 20])
        for nodes, of_nodes in ((NODES, EDGES + edges((2, 1, 0))), (NODES, edges((1, 3, 0))), ([node(1, 0, 1, 400, 5)], []),
                                ([*NODES, node(3, 0, 1, 4, 8)], []), ([*NODES, node(3, 0, 1, 4, 7)], []),
                                ([node(1, 0, 1, 6, 5), node(2, 1, 1, 6, 5)], [])):
            self.refused("dnn-partitioning", json.dumps({"nodes": nodes, "edges": of_nodes}))
        self.refused("dnn-partitioning", "{")

    def test_astra_sim(self):
        # A cycle is a nanosecond; backward is both gradients, 300 + 500 and 700 + 900; 4000 bytes are 1000 parameters.
        self.assertEqual(self.rows("astra-sim", ASTRA), [("conv", 1000, "1000", 1, 0.8), ("fc", 200, "200", 2, 1.6)])
        self.assertEqual(self.rows("astra-sim", ASTRA, "--clock", 2, "--element-bytes", 2)[0], ("conv", 2000, "2000", 0.5, 0.4))
        hybrid = "HYBRID_DLRM 1\n2\nemb -1 30 ALLTOALL 96 30 ALLTOALL 64 30 ALLGATHER 32 9\nmlp -1 10 NONE 0 10 NONE 0 10 ALLREDUCE 40 1\n"
        self.assertEqual([row[1] for row in self.rows("astra-sim", hybrid)], [0, 10])
        for damaged in ("", "DATA\n", ASTRA.replace("DATA", "PIPELINE"), ASTRA.replace("\n2\n", "\n3\n"), ASTRA.replace("1000", "x"),
                        ASTRA.replace("4000", "4001"), ASTRA.replace("\t50\n", "\n")):
            self.refused("astra-sim", damaged)

    def test_a_name_that_comes_again_gets_a_number(self):
        self.assertEqual([row[0] for row in self.rows("astra-sim", ASTRA.replace("fc", "conv"))], ["conv", "conv#2"])


@unittest.skipUnless(ORIGINALS.exists(), f"no originals at {ORIGINALS}")
class Originals(Case):
    """Published files give the layers, parameters and times in the tables reduced from them, which are rounded to 10 ns."""

    def equals(self, rows, table, names=True, forward=True):
        """The rows are the reduced table's."""
        expected = program.rows_of(REFERENCE / "profiles" / f"{table}.csv")
        self.assertEqual(len(rows), len(expected))
        for row, known in zip(rows, expected):
            self.assertEqual(row[:2], (known["layer"] if names else row[0], int(known["params"])))
            self.assertAlmostEqual(row[4], float(known["backward_us"]), delta=0.0051)
            if forward:
                self.assertAlmostEqual(row[3], float(known["forward_us"]), delta=0.0051)

    def test_pipedream(self):
        for name in ("resnet50", "vgg16", "gnmt"):
            rows = self.rows("pipedream", ORIGINALS / f"pipedream/{name}_graph.txt", "--keep-overhead")
            known = [row for row in program.rows_of(REFERENCE / f"profiles/{name}_pipedream.csv") if not re.fullmatch(r"node\d+:Input\d*", row["layer"])]
            self.assertEqual([row[:2] + row[3:] for row in rows],
                             [(row["layer"].split("(")[0], int(row["params"]), float(row["forward_us"]), float(row["backward_us"])) for row in known])
        # The shortest module without parameters that was timed, read off the files.
        for name, least, times in (("resnet50_graph", 275, 158), ("resnet50_partitioned_stage_ids", 257, 158),
                                   ("vgg16_graph", 277, 36), ("alexnet_graph", 283, 18), ("gnmt_graph", 55, 17)):
            kept, rows = (self.rows("pipedream", ORIGINALS / f"pipedream/{name}.txt", *more) for more in (["--keep-overhead"], []))
            self.assertAlmostEqual(sum(row[3] for row in kept) - sum(row[3] for row in rows), least * times, places=3)

    def test_caffe_time(self):
        rows = self.rows("caffe-time", ORIGINALS / "convnet_benchmarks/output_googlenet.log")
        self.equals(rows, "googlenet_titanx_b128_caffe")
        self.assertEqual(sum(row[1] for row in rows), 6_998_552)
        self.assertEqual(sum(row[2].count(";") + 1 for row in rows if row[2]), 116)  # two blobs for each of 58 layers

    def test_bcaffe(self):
        rows = self.rows("bcaffe", ORIGINALS / "bcaffe_k80/tmp8comm.log")
        known = program.rows_of(REFERENCE / "profiles/googlenet_k80_b32_caffe.csv")
        self.assertEqual(len(rows), 64)
        for row, expected in zip(rows, known):  # the log's blobs are padded to multiples of 64 elements, the table's are the model's
            self.assertAlmostEqual(row[4], float(expected["backward_us"]), places=3)
            self.assertEqual(row[1] % 64, 0)
            self.assertLess(row[1] - int(expected["params"]), 2 * 64)
        self.assertEqual(sum(row[1] for row in rows), 13_379_136)
        for nodes, backward in ((2, 200.329), (4, 206.783)):  # sums over the logs' layers, ms
            self.assertAlmostEqual(sum(row[4] for row in self.rows("bcaffe", ORIGINALS / f"bcaffe_k80/tmp{nodes}comm.log")) / 1000, backward, places=3)

    def test_dnn_partitioning(self):
        rows = self.rows("dnn-partitioning", ORIGINALS / "dnn_partitioning/bert24_training.json")
        self.equals(rows, "bert_large_gpu_1024tokens")
        self.assertEqual(sum(row[1] for row in rows), 367_480_636)

    def test_astra_sim(self):
        rows = self.rows("astra-sim", ORIGINALS / "astra-sim/Resnet50_DataParallel.txt")
        # ResNet-50 without its batch norms (53,120 parameters) and the last bias (1,000).
        self.assertEqual((len(rows), sum(row[1] for row in rows)), (54, 25_557_032 - 53_120 - 1_000))
        self.assertEqual(rows[0][3:], (13.003, 45.155))  # 12,864 + 32,291 cycles of a nanosecond
        for name, tensors in (("DLRM_HybridParallel", 7), ("Transformer_HybridParallel", 37), ("microAllReduce", 1)):
            self.assertEqual(sum(row[1] > 0 for row in self.rows("astra-sim", ORIGINALS / f"astra-sim/{name}.txt")), tensors)

    @program.needs_program
    def test_a_table_matches_the_model(self):
        """`allreplay import` gives the layers of PipeDream's graphs the names and tensors of our models."""
        for file, model, tensors in (("resnet50_graph", "resnet50", 161), ("vgg16_graph", "vgg16", 32), ("alexnet_graph", "alexnet", 16)):
            self.write("table.csv", self.done("pipedream", ORIGINALS / f"pipedream/{file}.txt").stdout)
            self.output("import", "table.csv", "--batch", 128, "--match", model, "--out", "trace.json")
            trace = json.loads((self.folder / "trace.json").read_text(encoding="utf-8"))
            self.assertEqual(sum(len(layer["tensors"]) for layer in trace["model"]["layers"]), tensors)


if __name__ == "__main__":
    unittest.main()
