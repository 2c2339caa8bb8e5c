#!/usr/bin/env python3
"""Codecs whose bytes are a formula in a file. Run: python3 tests/programs/command/test_codec_files.py"""
import json
import math
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from program import ROOT, Case, answer, needs_program, output  # noqa: E402

SETTING = ("--profile", "resnet50_v100_b32", "--cluster", "v100-10gbe")
NUMBERS = ("iteration_s", "exposed_comm_s", "comm_busy_s", "codec_s")


def conv(rows, cols):
    return [rows, cols // 9, 3, 3]


# ResNet-18 for CIFAR-10, as PowerSGD's appendix lists it: matrices, then vectors (batch norms and the last bias).
RESNET18 = [conv(64, 27), *4 * [conv(64, 576)],
            conv(128, 576), *3 * [conv(128, 1152)], [128, 64, 1, 1],
            conv(256, 1152), *3 * [conv(256, 2304)], [256, 128, 1, 1],
            conv(512, 2304), *3 * [conv(512, 4608)], [512, 256, 1, 1], [10, 512]]
VECTORS = [[9600], [10]]


@needs_program
class CodecFiles(Case):
    def file(self, bytes_="4 * elements", name="own.json", **keys):
        text = {"bytes": bytes_, "collective": "all-reduce", "error_feedback": False, "device": "Tesla V100", "origin": "estimated", "source": "a test",
                "encode": {"base": "0.1 ms", "per_element": "0.02 ns"}, "decode": {"base": "0.03 ms", "per_element": "0.01 ns"}, **keys}
        self.write(name, {key: value for key, value in text.items() if value is not None})
        return self.folder / name

    def run_with(self, codec, *words):
        return answer("run", *SETTING, "--codec", codec, *words)

    def test_the_text_says_why_there_is_no_bound(self):
        words = ("run", *SETTING, "--strategy", "ddp", "--workers", "8")
        self.assertRegex(output(*words, "--codec", self.file()), r"\nlower bound +none with own: ")
        self.assertNotRegex(output(*words), r"lower bound +none")

    def test_the_same_formula_gives_the_same_numbers(self):
        for name, formula, collective, feedback in (("fp16", "2 * elements", "all-reduce", False), ("qsgd", "ceil(elements * bits / 8) + 4", "all-gather", False),
                                                    ("signsgd", "ceil(elements/8)", "all-gather", False),
                                                    ("onebit", "ceil(elements / 8) + 2*4", "all-gather", True)):
            shipped = json.loads((ROOT / "models" / "codecs" / f"{name}.json").read_text(encoding="utf-8"))
            file = self.file(formula, collective=collective, error_feedback=feedback, **{key: shipped[key] for key in ("device", "encode", "decode")})
            for strategy in ("ddp", "mergecomp", "p3"):
                words = ("--strategy", strategy, "--workers", "8", *(("-o", "bits=5") if name == "qsgd" else ()))
                built_in, own = self.run_with(name, *words), self.run_with(file, *words)
                self.assertEqual([built_in[key] for key in NUMBERS], [own[key] for key in NUMBERS], f"{name}, {strategy}")

    def sent(self, profile, codec, strategy, *words):
        """The result on two workers, and the bytes sent: at 1 GB/s without start-ups a payload takes a nanosecond a byte, as one all-reduce or all-gather of two."""
        cluster = self.folder / "two.json"
        cluster.write_text('{"name": "two", "workers": 2, "network": {"alpha": "0 s", "bandwidth": "1 GB/s", "collective": "ring"}}', encoding="utf-8")
        row = answer("run", "--profile", profile, "--cluster", cluster, "--strategy", strategy, "--codec", codec, *words)
        return row, round(row["comm_busy_s"] * 1e9)

    def payload(self, codec, shapes, *words):
        """The bytes of all gradients in one block."""
        profile = self.folder / "shapes.csv"
        rows = [f"l{i},{math.prod(shape)},{'x'.join(map(str, shape))},1000,1000" for i, shape in enumerate(shapes)]
        profile.write_text("\n".join(("layer,params,tensors,forward_us,backward_us", *rows, "")), encoding="utf-8")
        row, sent = self.sent(profile, codec, "sync-easgd", *words)
        self.assertEqual(row["collectives"], 1)
        return sent

    def test_powersgd(self):
        """Its paper (arXiv 1905.13727) gives 461/r for a gradient of 512 x 4608: 512·4608/(512 + 4608) = 460.8. All of ResNet-18: 243, 136 and 72 times fewer
        bytes with ranks 1, 2 and 4; the vectors, 38 KB, are not compressed."""
        self.assertEqual(self.payload("powersgd", [conv(512, 4608)], "-o", "rank=1"), 4 * (512 + 4608))
        sent = 4 * sum(math.prod(shape) for shape in RESNET18 + VECTORS)
        for rank, times in ((1, 243), (2, 136), (4, 72)):
            self.assertEqual(round(sent / self.payload("powersgd", RESNET18 + VECTORS, "-o", f"rank={rank}")), times)
        self.assertEqual(self.payload("powersgd", VECTORS), 4 * 9610)

    def test_blocks_and_parts(self):
        """The payload of a block is that of its tensors, whatever the block; one bit a gradient and a scale are by block."""
        self.assertEqual(self.payload("onebit-adam", [[16], [8]]), 3 + 4)
        self.assertEqual(self.payload(self.file("rows * 4 + cols"), [[10, 3], [7]]), 43 + 29)
        self.assertEqual(self.payload(self.file("max(5, min(elements, 3 * -rank + 100) - 2) / 8"), [[50], [30]]), math.ceil((80 - 2) / 8))
        (_, whole), (cut, parts) = (self.sent("resnet50_v100_b32", "powersgd", strategy) for strategy in ("wfbp", "p3"))
        self.assertLessEqual(whole, parts)  # each part is rounded up
        self.assertLess(parts - whole, cut["collectives"])

    def test_refused(self):
        for keys, says in (({"bytes_": "4 * elements +"}, "own.json: /bytes: ends too early"),
                           ({"bytes_": "system(1)"}, "own.json: /bytes: cannot be read from 'system(1)' on"),
                           ({"bytes_": "4 ** elements"}, "own.json: /bytes: cannot be read from '* elements' on"),
                           ({"bytes_": "(elements"}, "own.json: /bytes: lacks a ')'"),
                           ({"bytes_": "(" * 2000}, "own.json: /bytes: is too long"),
                           ({"bytes_": "elements - 1e12"}, "own.json: /bytes: gives -"),
                           ({"bytes_": "rows / (cols - cols)"}, "own.json: /bytes: gives inf bytes"),
                           ({"collective": "chain"}, "own.json: /collective: 'chain' cannot carry"),
                           ({"collective": None}, "own.json: the key 'collective' is missing"),
                           ({"error_feedback": "yes"}, "own.json: /error_feedback: "),
                           ({"codec": "qsgd"}, "own.json: /codec: ")):
            error = self.refusal("run", *SETTING, "--strategy", "ddp", "--codec", self.file(**keys).name)
            self.assertTrue(error.startswith(says), f"{keys}: {error}")


if __name__ == "__main__":
    unittest.main()
