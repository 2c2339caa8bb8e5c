#!/usr/bin/env python3
"""Every screen, at three widths: no line is longer, and every table's rule is as long as the table.

What is one word, a path or an expression, stays whole: a line may be longer where it is such a word alone, set in.
Errors are one line each, however long. Run: python3 tests/programs/command/test_screens.py
"""

import os
import pty
import re
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from program import PROGRAM, ROOT, Case, needs_program, output  # noqa: E402

WIDTHS = (80, 100, 160)
EXAMPLES = ROOT / "docs" / "examples"
RESNET = ("--profile", "resnet50_k80_b16", "--cluster", "k80-10gbe")
SMALL = ("--profile", "resnet20_p102_b128", "--cluster", "k80-10gbe")
FABRIC = ("--cluster", "fat-tree-4", "--workers", "8", "--fidelity", "fluid")
MEASURED = ("list strategies", "list collectives", "list codecs", "list topologies", "list options", "list profiles", "list clusters",
            "list models", "list devices", "list configs", "list importers", "list exporters", "list columns", "list job-columns")


def screens():
    """The words of every command that prints for people."""
    yield from (words.split() for words in MEASURED)
    yield from (["help", name] for name in ("ddp", "zero-3", "megatron", "best", "ring", "nccl", "parameter-server", "qsgd", "first_phase"))
    commands = re.findall(r"^  ([a-z]+) ", output("--help").split("Commands:")[1].split("First steps")[0], re.M)
    yield ["--help"]
    yield ["--version"]
    yield from ([command, "--help"] for command in commands)
    for strategy in ("ddp", "zero-3"):
        yield ["run", *RESNET, "--strategy", strategy]
    yield ["run", *RESNET, "--strategy", "ddp", "--codec", "fp16"]
    yield ["run", "--profile", "resnet20_p102_b128", *FABRIC, "--strategy", "ddp", "--links"]
    yield ["compare", *RESNET]
    yield ["compare", *RESNET, "--memory", "200MB"]
    yield ["compare", *RESNET, "--codec", "fp16", "--accumulate", "4"]
    yield ["compare", *SMALL[:2], "--cluster", "k80-10gbe,us-byte-10gbe", "--collective", "ring,halving-doubling", "--workers", "4,8", "-s", "ddp,zero-3,best"]
    yield ["compare", *SMALL[:2], *FABRIC[:2], "--fidelity", "alpha-beta,fluid", "--workers", "6,8", "--collective", "ring,halving-doubling", "-s", "wfbp"]
    yield ["plan", *RESNET, "--strategy", "ddp"]
    yield ["plan", *RESNET, "--strategy", "ddp", "--codec", "fp16"]
    yield ["plan", *RESNET, "--strategy", "fsdp2"]
    yield ["tune", *SMALL, "--strategy", "bytescheduler", "--budget", "4"]
    yield ["recommend", *SMALL, "--framework", "deepspeed", "--budget", "2"]
    yield ["recommend", *SMALL, "--framework", "pytorch", "--budget", "2", "--workers", "2:64:x2"]
    yield ["recommend", *SMALL, "-s", "s-sgd,ddp,zero-3", "--budget", "2"]
    yield ["run", *SMALL, "--strategy", "best", "--zero", "3"]
    yield ["whatif", *SMALL, "--budget", "1"]
    yield ["goodput", *SMALL, "-s", "ddp", "--mtbf", "200 d", "--checkpoint", "60 s", "--restart", "5 min", "--spares", "0", "--elastic"]
    yield ["jobs", str(EXAMPLES / "two_jobs.json")]
    yield ["jobs", str(EXAMPLES / "two_jobs.json"), "--place", "--stagger", "2"]
    yield ["topology", "--cluster", "fat-tree-16"]
    yield ["topology", "--cluster", "leaf-spine-64", "--placement", ",".join(f"h{host}" for host in range(64))]
    yield ["compare", "--profile", "resnet50_k80_b16", "--nodes", "2", "--gpus", "4", "--network", "25Gbit/s", "--inner", "10 GB/s"]
    yield ["collective", "--cluster", "h100x8-8x400gbps", "--bytes", "8B:1GiB:x16"]
    yield ["collective", *FABRIC, "--bytes", "1MiB", "--links"]
    yield ["codec", "--codec", "gtopk", "--elements", "2000", "--workers", "2", "--repetitions", "1"]
    yield ["estimate", "--model", "llama3-8b", "--device", "h100", "--batch", "2", "--seq", "8192"]
    yield ["validate", str(EXAMPLES / "six_layers_measured.csv")]
    yield ["sweep", "s.json"]
    yield ["calibrate", "osu.log", "--workers", "8", "--collective", "ring"]
    yield ["export", "--to", "csv", "--profile", "resnet50_k80_b16", "--out", "out.csv"]
    yield ["import", "in.csv", "--batch", "8", "--out", "in.json", "--device", "a device with a long name"]


SWEEP = """{"profiles": ["resnet20_p102_b128", "googlenet_k80_b32"], "clusters": ["k80-10gbe", "us-byte-10gbe"], "workers": [4, 8],
 "strategies": ["wfbp", {"name": "ddp", "bucket_cap": ["1 MiB", "4 MiB"]}]}"""


@needs_program
class Screens(Case):
    def setUp(self):
        super().setUp()
        self.write("s.json", SWEEP)
        self.write("in.csv", "layer,params,forward_us,backward_us\nconv1,9408,608.0,986.5\nbn1,128,937.8,2159.5\n")
        rows = "".join(f"{8 << i:<20}{50 + 1e-3 * (8 << i) * (1.5 if i % 2 else 1):.2f}\n" for i in range(24))
        self.write("osu.log", "# OSU MPI Allreduce Latency Test v7.3\n# Size       Avg Latency(us)\n" + rows)

    def require_narrow(self, text, width):
        lines = text.splitlines()
        for above, line in zip([""] + lines, lines):
            if len(line.split()) > 1:
                self.assertLessEqual(len(line), width, line)
            if re.fullmatch("-+", line):
                self.assertLessEqual(len(line), width)
                self.assertLessEqual(len(above), len(line), "a header is wider than its rule")

    def test_no_line_is_longer(self):
        for words in screens():
            for width in WIDTHS:
                with self.subTest(words=words, width=width):
                    done = self.success(*words, env={**os.environ, "COLUMNS": str(width)})
                    self.require_narrow(done.stdout + done.stderr, width)

    def test_eighty_where_nobody_knows(self):
        unknown = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
        compare = ("compare", *SMALL, "--strategies", "wfbp,ddp,zero-3", "--workers", "8,16")
        eighty = self.run_program(*compare, env={**unknown, "COLUMNS": "80"}).stdout
        self.assertEqual(self.run_program(*compare, env=unknown).stdout, eighty)
        self.assertEqual(self.run_program(*compare, env={**unknown, "COLUMNS": "wide"}).stdout, eighty)
        self.assertNotEqual(self.run_program(*compare, env={**unknown, "COLUMNS": "160"}).stdout, eighty)

    def on_a_terminal(self, *words):
        """What a terminal of 100 columns is sent."""
        pid, terminal = pty.fork()
        if pid == 0:
            import fcntl
            import struct
            import termios
            fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
            kept = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
            os.execve(PROGRAM, [str(PROGRAM), *words], {**kept, "TERM": "xterm"})
        text = b""
        try:
            while part := os.read(terminal, 65536):
                text += part
        except OSError:  # its end
            pass
        os.close(terminal)
        os.waitpid(pid, 0)
        return text.decode().replace("\r\n", "\n")

    def test_a_terminal_s_width(self):
        compare = ("compare", *SMALL, "--strategies", "s-sgd,ddp,zero-3")
        hundred = self.run_program(*compare, env={**os.environ, "COLUMNS": "100"}).stdout
        self.assertEqual(self.on_a_terminal(*compare), hundred)

    def test_options_of_strategies_are_flags(self):
        run = ("run", *SMALL, "--strategy", "ddp", "--json")
        def without_time(text):
            return re.sub(r'"wall_s": .*', "", text)
        by_key = without_time(output(*run, "--option", "bucket_cap=1MiB"))
        self.assertEqual(without_time(output(*run, "--bucket-cap", "1MiB")), by_key)
        self.assertEqual(without_time(output(*run, "--bucket-cap=1 MiB")), by_key)
        for words, says in ((["--bucket-cap", "1"], "command line: --bucket-cap: "),
                            (["--bucket-cap"], "command line: --bucket-cap: "),
                            (["--bucket-cup", "1MiB"], ": "),
                            (["--threshold", "1MiB"], ": ")):
            self.assertIn(says, self.run_program(*run, *words).stderr)
        self.assertNotIn("bucket_cap", output("run", "--help").replace("help bucket_cap", ""))
        self.assertIn("--bucket-cap SIZE", output("help", "ddp"))
        self.assertTrue(self.refusal("help", "dpd"))

    def test_errors_are_one_line(self):
        self.refusal("run", "--profile", "/a/path/" + 20 * "that is long/" + "p.json", "--cluster", "k80-10gbe", "--strategy", "ddp",
                     env={**os.environ, "COLUMNS": "80"})

    def test_version_says_how_it_was_built(self):
        self.assertRegex(output("--version"), r"\Aallreplay \d+\.\d+\.\d+( \([0-9a-f]+\))?\nbuilt with .+ build, with(out)? MPI\n\Z")


if __name__ == "__main__":
    unittest.main()
