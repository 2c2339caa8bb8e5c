#!/usr/bin/env python3
"""The model files against published figures, and against the tool that makes them. Run: python3 tests/tools/test_models.py"""

import csv
import json
import math
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from program import REFERENCE, ROOT, tool_named  # noqa: E402

TOOL = ROOT / "tools" / "make_models.py"

make_models = tool_named("make_models")

MACS_TOLERANCE = 0.05  # published figures leave out normalisations (up to 4.6 % in MobileNet-v2) and are rounded

# name: tensors, parameters, forward GMACs. Parameters and GMACs of torchvision's models are those of its model pages
# (its "GFLOPS" are multiply-accumulates); tensor counts those that MG-WFBP, US-Byte and MergeComp state, where they do.
# Others: ResNet-20 and LeNet-5 by their papers, VGG-16 on CIFAR-10 by Li et al. 2016 (arXiv 1608.08710), Inception-v4 by
# timm, BERT and GPT-2 by Hugging Face. TensorFlow's LeNet-5 by BML (3.27 million
# parameters, 12.5 MiB). None: no published figure.
PUBLISHED = {
    "alexnet": (16, 61_100_840, 0.71),
    "bert_base": (199, 109_482_240, None),
    "bert_base_128": (199, 109_482_240, None),
    "bert_base_qa": (199, 108_897_794, None),
    "bert_large": (391, 335_141_888, None),
    "densenet121": (364, 7_978_856, 2.83),
    "densenet161": (484, 28_681_000, 7.73),
    "densenet169": (508, 14_149_480, 3.36),
    "densenet201": (604, 20_013_928, 4.29),
    "googlenet": (173, 6_624_904, 1.50),
    "googlenet_59": (59, 6_610_344, 1.50),
    "googlenet_aux": (187, 13_004_888, 1.50),
    "googlenet_caffe64": (64, 13_378_280, None),
    "gpt2": (148, 124_439_808, None),
    "inception_v3": (284, 23_834_568, 5.71),
    "inception_v3_aux": (292, 27_161_264, 5.71),
    "inceptionv4": (449, 42_679_816, 12.28),
    "lenet5": (10, 61_706, 0.000417),
    "lenet5_tensorflow": (8, 3_274_634, None),
    "lstm_ptb": (11, 66_034_000, None),
    "mobilenet_v2": (158, 3_504_872, 0.30),
    "resnet101": (314, 44_549_160, 7.80),
    "resnet152": (467, 60_192_808, 11.51),
    "resnet18": (62, 11_689_512, 1.81),
    "resnet20": (59, 269_722, 0.041),
    "resnet50_cifar10": (161, 23_520_842, 1.30),
    "resnet34": (110, 21_797_672, 3.66),
    "resnet50": (161, 25_557_032, 4.09),
    "resnet50_107": (107, 25_557_032, 4.09),
    "resnext50_32x4d": (161, 25_028_904, 4.23),
    "squeezenet1_0": (52, 1_248_424, 0.82),
    "vgg16": (32, 138_357_544, 15.47),
    "vgg16_cifar10": (54, 14_728_266, 0.313),
    "vgg19": (38, 143_667_240, 19.63),
}


def reference(path):
    """A file of the reference data; the test is skipped where it is absent."""
    if not (REFERENCE / path).exists():
        raise unittest.SkipTest(f"no reference data: {REFERENCE / path} is absent (set ALLREPLAY_REFERENCE_DATA)")
    return REFERENCE / path


def read(name):
    """A model file, parsed."""
    return json.loads((ROOT / "models" / f"{name}.json").read_text(encoding="utf-8"))


def tensors(model):
    """All tensors of a model, in forward order."""
    return [tensor for layer in model["layers"] for tensor in layer["tensors"]]


def sizes(model):
    """Parameters of every tensor of a model."""
    return [math.prod(tensor["shape"]) for tensor in tensors(model)]


def gmacs(model):
    """Forward multiply-accumulates of one sample, in 1e9."""
    return sum(layer["forward_macs"] for layer in model["layers"]) / 1e9


def profile(path):
    """Rows of a measured profile: (layer, parameters)."""
    with reference(path).open(encoding="utf-8") as file:
        return [(row["layer"], int(row["params"])) for row in csv.DictReader(file)]


class Figures(unittest.TestCase):
    """Counts and totals."""

    def test_every_model_file_is_checked(self):
        files = sorted(path.stem for path in (ROOT / "models").glob("*.json"))
        self.assertEqual(files, sorted(PUBLISHED))
        self.assertEqual(files, make_models.NAMES)

    def test_tensors_and_parameters(self):
        for name, (count, total, _) in PUBLISHED.items():
            with self.subTest(name):
                self.assertEqual((len(sizes(read(name))), sum(sizes(read(name)))), (count, total))

    def test_forward_macs(self):
        for name, (_, _, published) in PUBLISHED.items():
            if published:
                with self.subTest(name):
                    self.assertLess(abs(gmacs(read(name)) / published - 1), MACS_TOLERANCE)

    def test_googlenet_caffe64_macs(self):
        """The paper (arXiv 1409.4842) keeps "a computational budget of 1.5 billion multiply-adds" at inference."""
        layers = [layer for layer in read("googlenet_caffe64")["layers"] if not layer["name"].startswith(("loss1", "loss2"))]
        self.assertLess(abs(gmacs({"layers": layers}) / 1.5 - 1), 0.06)

    def test_bert_macs_at_128_tokens(self):
        """TinyBERT (arXiv 1909.10351) gives 22.5 GFLOPs for BERT-base at 128 tokens: two per multiply-accumulate."""
        model = {"layers": make_models.bert(12, 768, [], tokens=128)}
        self.assertLess(abs(2 * gmacs(model) / 22.5 - 1), 0.01)

    def test_densenet161_tensors_of_768_bytes(self):
        """160, as the MG-WFBP paper says."""
        self.assertEqual(sizes(read("densenet161")).count(192), 160)

    def test_resnet152_tensors_of_1024_bytes(self):
        """152 by torchvision's definition; the MG-WFBP paper says 150."""
        self.assertEqual(sizes(read("resnet152")).count(256), 152)


class Form(unittest.TestCase):
    """What every model file must be."""

    def test_keys(self):
        for name in PUBLISHED:
            model = read(name)
            with self.subTest(name):
                self.assertEqual(list(model), ["name", "description", "source", "input", "layers"])
                for layer in model["layers"]:
                    self.assertEqual(list(layer), ["name", "forward_macs", "activation_bytes", "tensors"])
                for tensor in tensors(model):
                    self.assertEqual(list(tensor), ["name", "shape"])

    def test_values(self):
        for name in PUBLISHED:
            model = read(name)
            with self.subTest(name):
                self.assertEqual(model["name"], name)
                self.assertTrue(all(layer["forward_macs"] >= 0 and layer["activation_bytes"] > 0 for layer in model["layers"]))
                self.assertTrue(all(size > 0 for size in sizes(model)))

    def test_names_are_unique(self):
        for name in PUBLISHED:
            model = read(name)
            for things in (model["layers"], tensors(model)):
                with self.subTest(name):
                    self.assertEqual(len({one["name"] for one in things}), len(things))

    def test_one_layer_per_line(self):
        for name in PUBLISHED:
            lines = (ROOT / "models" / f"{name}.json").read_text(encoding="utf-8").splitlines()
            with self.subTest(name):
                self.assertEqual(len(lines), len(read(name)["layers"]) + 3)


class Order(unittest.TestCase):
    """Layers stand in forward order."""

    def test_resnet50_and_its_profile(self):
        layers = [(layer["name"], sum(math.prod(tensor["shape"]) for tensor in layer["tensors"]))
                  for layer in read("resnet50")["layers"]]
        self.assertEqual(layers, profile("profiles/resnet50_v100dgxs_b32_kineto.csv"))

    def test_resnet50_107_is_resnet50_merged(self):
        def bare(model):
            return [(layer["name"], layer["forward_macs"], layer["activation_bytes"],
                     sum(math.prod(tensor["shape"]) for tensor in layer["tensors"])) for layer in model["layers"]]
        self.assertEqual(bare(read("resnet50")), bare(read("resnet50_107")))

    def test_googlenet_caffe64_and_its_profile(self):
        model = read("googlenet_caffe64")
        rows = list(zip((tensor["name"] for tensor in tensors(model)), sizes(model)))
        self.assertEqual(rows, profile("profiles/googlenet_k80_b32_caffe.csv"))

    def test_bert_base_qa_and_its_profile(self):
        """The same layers in the same order; within a layer, the profile lists a normalisation's bias first."""
        def layer_sizes(rows):
            found = {}
            for name, size in rows:
                found.setdefault(name.rsplit(".", 1)[0].replace("dense_act", "dense"), []).append(size)
            return list(found.items())
        model = read("bert_base_qa")
        ours = zip((tensor["name"] for tensor in tensors(model)), sizes(model))
        self.assertEqual(layer_sizes(ours), layer_sizes(profile("profiles/bert_base_v100_espresso_pertensor.csv")))

    def test_blocks_ascend(self):
        for name, mark in (("bert_base", "layer"), ("bert_large", "layer"), ("gpt2", "h")):
            parts = [layer["name"].split(".") for layer in read(name)["layers"]]
            blocks = [int(part[part.index(mark) + 1]) for part in parts if mark in part]
            with self.subTest(name):
                self.assertEqual(blocks, sorted(blocks))

    def test_first_and_last(self):
        for name in PUBLISHED:
            layers = read(name)["layers"]
            first, last = layers[0]["tensors"][0]["shape"], layers[-1]
            with self.subTest(name):
                if "x" in read(name)["input"]:
                    self.assertIn(int(read(name)["input"].split("x")[0]), (first[1], (first[1] - 1) // 49))
                if name.startswith(("resnet", "vgg", "densenet", "google", "inception")):
                    self.assertEqual(last["activation_bytes"], 40 if "32" in read(name)["input"] else 4000)


class Tool(unittest.TestCase):
    """tools/make_models.py itself."""

    def test_files_are_what_the_tool_makes(self):
        for name in make_models.NAMES:
            if name not in make_models.DERIVED:
                reference("tensors")
            with self.subTest(name):
                text = make_models.text_of(make_models.make(name, REFERENCE / "tensors"))
                self.assertEqual(text, (ROOT / "models" / f"{name}.json").read_text(encoding="utf-8"))

    def test_derived_models_need_no_lists(self):
        for name in make_models.DERIVED:
            with self.subTest(name):
                text = make_models.text_of(make_models.make(name, Path("/nonexistent")))
                self.assertEqual(text, (ROOT / "models" / f"{name}.json").read_text(encoding="utf-8"))

    def refuse(self, *arguments):
        """Run the tool; it must end with status 2 and one line."""
        done = subprocess.run([sys.executable, TOOL, *arguments], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (2, "", 1), done.stderr)
        return done.stderr

    def test_bad_input(self):
        with tempfile.TemporaryDirectory() as folder:
            bad = Path(folder) / "vgg16.csv"
            run = ("--tensors", folder, "--out", folder, "vgg16")
            self.assertIn("vgg16.csv: ", self.refuse(*run))
            bad.write_text("a,b\n", encoding="utf-8")
            self.assertIn("vgg16.csv: line 1: header", self.refuse(*run))
            header = ",".join(make_models.LIST_HEADER)
            bad.write_text(f"{header}\nw,3xx,9,l,1,1\n", encoding="utf-8")
            self.assertIn("vgg16.csv: line 2: ", self.refuse(*run))
            bad.write_text(f"{header}\nw,3x3,8,l,1,1\n", encoding="utf-8")
            self.assertIn("vgg16.csv: line 2: ", self.refuse(*run))
            self.assertTrue(self.refuse("nonesuch"))


if __name__ == "__main__":
    unittest.main()
