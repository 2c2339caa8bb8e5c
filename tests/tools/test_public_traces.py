#!/usr/bin/env python3
"""tools/get_public_traces.sh, its manifest, the traces that are shipped of it, and tools/public_tables.py. Run: python3 tests/tools/test_public_traces.py

Nothing is fetched: a stub stands in curl's place and serves the published originals, whole or cut. Where they are absent
(ALLREPLAY_REFERENCE_DATA) what needs them is skipped.
"""

import csv
import gzip
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import program  # noqa: E402
from program import PROGRAM, REFERENCE, ROOT, needs_program  # noqa: E402

SCRIPT = ROOT / "tools" / "get_public_traces.sh"
ORIGINALS = REFERENCE / "originals"
SHIPPABLE = REFERENCE / "profiles_gpu"
TABLES = ROOT / "tools" / "public_tables.py"
TRACES = json.loads((ROOT / "traces" / "public.json").read_text(encoding="utf-8"))["traces"]

# The reduced tables of those of our traces whose originals only tools/public_tables.py reads.
PUBLISHED = {
    **{f"{name}_{short}_b{batch}": f"neusight_{model}-{batch}_{gpu}.csv" for name, model, runs in (
        ("bert-large", "bert_large-512", "v100 8 a100 8 l4 8 h100 8 mi100 8 mi250 8"), ("gpt2-large", "gpt2_large-1024", "v100 1 a100 4 h100 4 mi100 1 mi250 1"),
        ("gpt-3b", "gpt3_xl-2048", "a100 1 h100 1 mi250 1")) for short, batch in zip(runs.split()[::2], runs.split()[1::2])
       for gpu in [{"v100": "Tesla_V100-PCIE-32GB", "a100": "NVIDIA_A100_80GB_PCIe", "h100": "NVIDIA_H100_80GB_HBM3", "l4": "NVIDIA_L4",
                    "mi100": "AMD_Instinct_MI100", "mi250": "AMD_Instinct_MI250"}[short]]},
    **{f"opt-350m_{short}_b4": f"sailor_OPT-350_b4_{gpu}.csv" for short, gpu in (
        ("v100", "V100-16"), ("rtx2080", "RTX-2080"), ("titanrtx", "Titan-RTX"), ("a100", "A100-40"), ("gh200", "GH-96"))},
    "gpt-neo-2700m_a100_b1": "sailor_GPT-Neo-2.7_b1_A100-40.csv",
    "gpt3-350m_v100_b4_fp16": "aceso_gpt_350M_b4_V100-32GB.csv", "gpt3-1300m_v100_b4_fp16": "aceso_gpt_1_3B_b4_V100-32GB.csv",
    "wide-resnet50_v100_b32": "aceso_resnet_500M_b32_V100-32GB.csv",
    "resnet50_h100_b128": "triosim_resnet50_b128_H100.csv", "vgg13_h100_b128": "triosim_vgg13_b128_H100.csv"}

# A curl that serves $SERVED/ADDRESS' last part of the path by the manifest's SHA-256, goes on where --output ends, and obeys $HOW: "cut"
# sends half of what is left and fails as a broken connection does (18); "refuse" fails where it would go on (33); "wrong"
# sends something else; "down" sends nothing (6).
CURL = """#!{python}
import hashlib, os, pathlib, sys
arguments = sys.argv[1:]
out, address, how = pathlib.Path(arguments[arguments.index("--output") + 1]), arguments[-1], os.environ["HOW"]
with open(os.environ["LOG"], "a") as log:
    log.write(f"{{out.stat().st_size if out.exists() else 0}} {{address}}\\n")
have = out.stat().st_size if out.exists() else 0
if how == "down":
    sys.exit(6)
if how == "refuse" and have:
    sys.exit(33)
data = b"no such thing" if how == "wrong" else pathlib.Path(os.environ["SERVED"]).read_bytes()
send = data[have:]
with open(out, "ab") as file:
    file.write(send[: len(send) // 2] if how == "cut" else send)
sys.exit(18 if how == "cut" else 0)
"""


@needs_program
class PublicTraces(program.Case):
    """From a folder elsewhere, with a space in its name."""

    def run_script(self, *arguments, **environment):
        """The finished process."""
        return subprocess.run([SCRIPT, *map(str, arguments)], cwd=self.folder, capture_output=True, text=True, check=False,
                              env={**os.environ, "ALLREPLAY_PROGRAM": str(PROGRAM), **environment})

    def refused(self, message, *arguments, **environment):
        done = self.run_script(*arguments, **environment)
        self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertTrue(done.stderr.startswith(f"get_public_traces.sh: {message}"), done.stderr)

    def test_the_manifest_says_all(self):
        importers = program.output("list", "importers", env=program.WIDE)
        self.assertEqual(len({trace["name"] for trace in TRACES}), len(TRACES))
        for trace in TRACES:
            with self.subTest(trace["name"]):
                self.assertRegex(trace["repository"], r"^https://github\.com/[\w-]+/[\w-]+$")
                self.assertRegex(trace["commit"], r"^[0-9a-f]{8,40}$")
                for file in trace["files"]:
                    self.assertRegex(file["sha256"], r"^[0-9a-f]{64}$")
                self.assertRegex(importers, rf"(?m)^{re.escape(trace['importer'])} ")
                for key in ("licence", "hardware"):
                    self.assertTrue(trace[key])

    def test_the_manifest_is_no_profile(self):
        listed = program.output("list", "profiles", env=program.WIDE)
        self.assertNotRegex(listed, r"(?m)^public\b")
        self.assertTrue(program.refusal("run", "--profile", "public", "--cluster", "k80-10gbe", "--strategy", "wfbp"))

    def test_the_list(self):
        done = self.run_script("--list")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for trace in TRACES:
            self.assertIn(trace["name"], done.stdout)
            for file in trace["files"]:
                self.assertIn(f"{trace['commit']}/{file['path']}", done.stdout)
        self.assertEqual(len(self.run_script("--list", "--only", TRACES[2]["name"]).stdout.splitlines()), 2)
        shipped = [trace for trace in TRACES if "shipped" in trace]
        lines = [line for line in self.run_script("--list", "--shipped").stdout.splitlines() if not line.startswith(" ")]
        self.assertEqual([line.split(" ", 1)[0] for line in lines], [trace["name"] for trace in shipped])

    def test_wrong_arguments(self):
        self.refused("no option '--frm-dir' (see --help)", "--frm-dir", ".")
        self.refused("--only needs a value (see --help)", "--only")
        self.refused("--from-dir: no folder absent (see --help)", "--from-dir", "absent")
        self.refused("no trace 'resnet' (there are: resnet50_v100_b32 ", "--only", "resnet")
        self.refused(f"{self.folder}/.: no file in it is {TRACES[0]['name']} ", "--from-dir", ".")
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_all_imported_traces_are_in_the_manifest(self):
        shipped = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in (ROOT / "traces").glob("*.json") if path.stem != "public"}
        imported = {name: trace for name, trace in shipped.items() if trace["origin"] == "imported"}
        listed = {trace["name"]: trace for trace in TRACES if "shipped" in trace}
        self.assertEqual(sorted(imported), sorted(listed))
        self.assertGreaterEqual(len(imported), 20)
        for name, trace in listed.items():
            with self.subTest(name):
                for words in (trace["repository"], trace["commit"], trace["licence"]):
                    self.assertIn(words, imported[name]["source"])
                for file in trace["files"]:
                    self.assertIn(f"{file['path']} (SHA-256 {file['sha256']})", imported[name]["details"]["notes"][-1])
                self.assertIn(trace.get("note", ""), imported[name]["details"]["notes"][-1])
        # From Kepler to Hopper, and AMD's: the generations of which layers were published with a licence that lets them be shipped.
        devices = "\n".join(trace["device"] for trace in imported.values())
        for device in ("K80", "Titan X", "V100", "RTX 2080", "Titan RTX", "A100", "L4", "H100", "GH200", "MI100", "MI250", "MI300X"):
            self.assertIn(device, devices)

    def test_the_page_beside_estimates(self):
        subprocess.run([sys.executable, ROOT / "tools/gpu_profiles.py", "--out", "page.md"], cwd=self.folder, check=True,
                       env={**os.environ, "ALLREPLAY_PROGRAM": str(PROGRAM)})
        page = (ROOT / "docs/generated/gpu_profiles.md").read_text(encoding="utf-8")
        self.assertEqual((self.folder / "page.md").read_text(encoding="utf-8"), page, "run tools/gpu_profiles.py again")
        for trace in TRACES:
            self.assertEqual(f"\n| `{trace['name']}` | " in page, "shipped" in trace)

    def originals(self):
        """A folder with the published originals, unpacked where they are kept packed."""
        folder = self.folder / "originals"
        shutil.copytree(ORIGINALS, folder)
        for packed in (SHIPPABLE / "originals").glob("*.gz"):
            (folder / packed.stem).write_bytes(gzip.decompress(packed.read_bytes()))
        return folder

    @unittest.skipUnless(SHIPPABLE.is_dir(), f"no originals in {SHIPPABLE}")
    def test_files_that_one_has(self):
        done = self.run_script("--from-dir", self.originals(), "--out", "traces of others")
        self.assertEqual(done.returncode, 0, done.stderr)
        out = self.folder / "traces of others"
        self.assertEqual(sorted(path.name for path in out.iterdir()), sorted(f"{trace['name']}.json" for trace in TRACES))
        for trace in TRACES:
            text = (out / f"{trace['name']}.json").read_text(encoding="utf-8")
            self.assertEqual(json.loads(text)["origin"], "imported")
            if "shipped" in trace:  # to the last byte
                self.assertEqual((ROOT / "traces" / f"{trace['name']}.json").read_text(encoding="utf-8"), text)
            answer = program.answer("run", "--profile", out / f"{trace['name']}.json", "--cluster", "k80-10gbe", "--strategy", "wfbp")
            self.assertGreater(answer["backward_s"], 0.004)

    @unittest.skipUnless(ORIGINALS.is_dir(), f"no originals in {ORIGINALS}")
    def test_a_changed_file_is_not_taken(self):
        trace = next(trace for trace in TRACES if trace["name"] == "vgg16_v100_b128")
        data = bytearray((ORIGINALS / "pipedream" / "vgg16_graph.txt").read_bytes())
        data[100] ^= 1
        (self.folder / "graph.txt").write_bytes(data)
        self.refused(f"{self.folder}/.: no file in it is {trace['name']} ", "--only", trace["name"], "--from-dir", ".", "--out", "out")
        self.assertEqual([path.name for path in self.folder.iterdir()], ["graph.txt"])

    @unittest.skipUnless(ORIGINALS.is_dir(), f"no originals in {ORIGINALS}")
    def test_fetching(self):
        trace = next(trace for trace in TRACES if trace["name"] == "alexnet_v100_b256")
        served = ORIGINALS / "pipedream" / "alexnet_graph.txt"
        original = trace["files"][0]
        self.assertEqual(hashlib.sha256(served.read_bytes()).hexdigest(), original["sha256"])
        stubs = self.folder / "stubs"
        stubs.mkdir()
        (stubs / "curl").write_text(CURL.format(python=sys.executable), encoding="utf-8")
        (stubs / "curl").chmod(0o755)
        log, out = self.folder / "log", self.folder / "out"
        kept = out / "originals" / trace["name"] / "graph.txt"
        part = kept.with_name("graph.txt.part")
        address = f"https://raw.githubusercontent.com/msr-fiddle/pipedream/{trace['commit']}/{original['path']}"

        def fetch(how):
            log.write_text("", encoding="utf-8")
            done = self.run_script("--only", trace["name"], "--out", "out", SERVED=str(served), LOG=str(log), HOW=how,
                                   PATH=f"{stubs}{os.pathsep}{os.environ['PATH']}")
            self.assertEqual((out / f"{trace['name']}.json").exists(), done.returncode == 0)
            return done, [line.split(" ", 1) for line in log.read_text(encoding="utf-8").splitlines()]

        size = original["bytes"]
        done, asked = fetch("down")
        self.assertEqual((done.returncode, bool(done.stderr)), (2, True))
        self.assertEqual(asked, [["0", address]])
        done, asked = fetch("wrong")
        self.assertEqual((done.returncode, bool(done.stderr)), (2, True))
        self.assertFalse(part.exists() or kept.exists())
        done, asked = fetch("cut")
        self.assertEqual((done.returncode, part.stat().st_size, kept.exists()), (2, size // 2, False))
        done, asked = fetch("cut")  # goes on, and is cut once more
        self.assertEqual((done.returncode, part.stat().st_size), (2, size // 2 + (size - size // 2) // 2))
        self.assertEqual(asked[0][0], str(size // 2))
        done, asked = fetch("")  # goes on to the end
        self.assertEqual((done.returncode, len(asked), part.exists()), (0, 1, False), done.stderr)
        self.assertEqual(kept.read_bytes(), served.read_bytes())
        done, asked = fetch("down")  # what is there is not fetched again
        self.assertEqual((done.returncode, asked), (0, []))
        # A server that cannot go on, and a part of something else: both start again.
        for how, left in (("refuse", served.read_bytes()[:1000]), ("", b"x" * 1000)):
            shutil.rmtree(out)
            part.parent.mkdir(parents=True)
            part.write_bytes(left)
            done, asked = fetch(how)
            self.assertEqual((done.returncode, [have for have, _ in asked]), (0, ["1000", "0"]), done.stderr)
            self.assertEqual(kept.read_bytes(), served.read_bytes())


class Tables(unittest.TestCase):
    """What tools/public_tables.py makes of each kind of file."""

    def table(self, kind, files, *arguments):
        """Its rows."""
        done = subprocess.run([sys.executable, "-I", TABLES, kind, *files, *map(str, arguments)], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return list(csv.DictReader(io.StringIO(done.stdout)))

    def made(self, kind, texts, *arguments):
        """(layer, params, tensors, forward, backward, update, group) of hand-made files."""
        with tempfile.TemporaryDirectory() as folder:
            files = []
            for number, text in enumerate(texts):
                files.append(Path(folder) / str(number))
                files[-1].write_text(text, encoding="utf-8")
            return [tuple(row.values()) for row in self.table(kind, files, *arguments)]

    def test_neusight(self):
        # In ms. The clock costs 0.01: what `size` takes, the median of what starts no kernel. A block of two modules, between them an
        # operator without parameters, which counts to the one before: fc 0.06 - 0.01 + (0.03 - 0.01) = 70 us forward; backward 0.11 - 0.01
        # + (0.02 - 0.01), and what accumulates the gradient, 0.05 - 0.01: 150 us. A time of 0 was not taken.
        header = "op,target,input_shapes,output_shape,fw_latency,bw_latency,acc_latency\n"
        rows = ('call_method,size,"[[2, 3]]","(1,)",0.01,0,0\n'
                'call_module,wte,"[[2, 3]]","(2, 3, 4)",0.02,0.04,0\n'
                'call_module,h.0.fc,"[[2, 3, 4]]","(2, 3, 8)",0.06,0.11,0.05\n'
                'call_function,<built-in function add>,"[[2, 3, 8]]","(2, 3, 8)",0.03,0.02,0\n'
                'call_module,h.0.ln_1,"[[2, 3, 8]]","(2, 3, 8)",0.005,0.03,0\n'
                'call_module,lm_head,"[[2, 3, 4]]","(2, 3, 9)",0.07,0.08,0.02\n')
        self.assertEqual(self.made("neusight", [header + rows], "--blocks", 2, "--rows", "wte=9"), [
            ("wte", "36", "9x4", "10.000", "30.000", "", "embeddings"),
            ("h.0.fc", "40", "8x4;8", "70.000", "150.000", "", "h.0"), ("h.0.ln_1", "16", "8;8", "0.000", "20.000", "", "h.0"),
            ("h.1.fc", "40", "8x4;8", "70.000", "150.000", "", "h.1"), ("h.1.ln_1", "16", "8;8", "0.000", "20.000", "", "h.1"),
            ("lm_head", "0", "", "60.000", "80.000", "", "head")])  # 70 + 10, of the gradient that the embedding has, too

    def test_sailor(self):
        times = {"4": {"1": {str(layer): [0.001 * (layer + 1), 0.002, 0.0005] for layer in range(3)}}}  # seconds
        info = {"opt": {"1": {str(layer): {"params_floats": 10 + layer} for layer in range(3)}}}
        self.assertEqual(self.made("sailor", [json.dumps(times), json.dumps(info)], "--model", "opt", "--batch", 4), [
            (name, str(10 + layer), "", f"{layer + 1}000.000", "2000.000", "500.000", name) for layer, name in enumerate(("embedding", "block.0", "head"))])

    def test_aceso(self):
        # 0.125 MiB of fp32 are 32,768 parameters; what has none counts to the operator before, as a relu does whatever it says.
        rows = "op_name,forward-compute,backward-compute,weights\nconv,5,7,0.125\nrelu,1,2,0.125\npool,3,4,0\n"
        self.assertEqual(self.made("aceso", [rows]), [("conv", "32768", "", "9.000", "13.000", "", "")])

    def test_triosim(self):
        # Two branches from a: b, and c; autograd runs b's pass before c's, though c came later. The loss counts to what runs next.
        rows = [("conv2d", "[0; 10]", "[1; 8]", 5, "forward"), ("relu_", "[1]", "[4]", 1, "forward"), ("conv2d", "[1; 11]", "[4; 8]", 6, "forward"),
                ("linear", "[1; 12; 13]", "[4; 6; 3]", 7, "forward"), ("LossBackward0", "[]", "[]", 2, "backward"),
                ("ConvolutionBackward0", "[]", "[]", 12, "backward"), ("AddmmBackward0", "[]", "[]", 14, "backward"),
                ("ReluBackward0", "[]", "[]", 3, "backward"), ("ConvolutionBackward0", "[]", "[]", 10, "backward"), ("step", "[]", "[]", 9, "optimizer")]
        trace = "OperatorName,Operator_input,InputSize,Operator_cudatimenooverlap,stage\n" + "".join(
            f"{'aten::' if stage == 'forward' else 'autograd::engine::evaluate_function: '}{name},{inputs},{sizes},{time},{stage}\n"
            for name, inputs, sizes, time, stage in rows)
        tensors = 'TensorID,TensorShape\n10,"[2, 4]"\n11,[8]\n12,"[2, 3]"\n13,[3]\n'
        self.assertEqual(self.made("triosim", [trace, tensors]), [
            ("conv2d.0", "8", "2x4", "6.000", "13.000", "", ""), ("conv2d.1", "8", "8", "6.000", "12.000", "", ""),
            ("linear.0", "9", "2x3;3", "7.000", "16.000", "9.000", "")])

    @unittest.skipUnless(SHIPPABLE.is_dir(), f"no tables in {SHIPPABLE}")
    def test_published_tables(self):
        """Every shipped trace of ours is what others added up, layer by layer."""
        unpacked = {row["sha256_of_original"]: SHIPPABLE / "originals" / row["file"] for row in program.rows_of(SHIPPABLE / "index.csv")}
        compared = 0
        for trace in (trace for trace in TRACES if trace["name"] in PUBLISHED):
            with self.subTest(trace["name"]), tempfile.TemporaryDirectory() as folder:
                files = []
                for file in trace["files"]:
                    files.append(Path(folder) / Path(file["path"]).name)
                    files[-1].write_bytes(gzip.decompress(unpacked[file["sha256"]].read_bytes()))
                rows = self.table(trace["table"][0], files, *trace["table"][1:])
                expected = program.rows_of(SHIPPABLE / "tables" / PUBLISHED[trace["name"]])
                self.assertEqual([row["layer"] for row in rows], [row["layer"] for row in expected])
                for row, known in zip(rows, expected):
                    self.assertEqual((row["params"], row["tensors"]), (known["params"], known["tensors"]))
                    for key in ("forward_us", "backward_us", "update_us"):
                        if known.get(key):  # both are rounded to ns
                            self.assertAlmostEqual(float(row[key]), float(known[key]), delta=0.0011)
                compared += 1
        self.assertEqual(compared, len(PUBLISHED))


if __name__ == "__main__":
    unittest.main()
