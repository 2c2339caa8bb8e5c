#!/usr/bin/env python3
"""Long work shows a bar on a terminal, which counts seeds and is gone at the end. Run: python3 tests/programs/command/test_progress_bars.py"""

import os
import pty
import re
import signal
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from program import PROGRAM, needs_program  # noqa: E402

RESNET = ("--profile", "resnet20_p102_b128", "--cluster", "k80-10gbe")
SPREAD = ("--workers", "65536", "--spread", "5%", "--seeds", "1:40")  # ten seconds
HASHED = ("--cluster", "fat-tree-16", "--routing", "ecmp", "--fidelity", "fluid", "--seeds", "1:10000")


def bar(*words):
    """The end of the first bar that the command draws, or all that it prints if it draws none; then the command is killed."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(PROGRAM, [str(PROGRAM), *words])
    text = ""
    try:
        while not (found := re.search(r"\x1b\[K([\w: ]+) \[#*\.*\] \d+/(\d+)", text)):
            text += os.read(terminal, 65536).decode(errors="replace")
    except OSError:  # it has ended
        pass
    os.kill(pid, signal.SIGKILL)
    os.close(terminal)
    os.waitpid(pid, 0)
    return found.groups() if found else text


@needs_program
class Progress(unittest.TestCase):
    def test_seeds_are_counted(self):
        self.assertEqual(bar("run", *RESNET, *SPREAD, "--strategy", "ddp"), ("ddp", "40"))
        self.assertEqual(bar("compare", *RESNET, *SPREAD, "--strategies", "ddp,zero-3"), ("compare", "80"))
        self.assertEqual(bar("collective", *HASHED, "--workers", "1024", "--bytes", "1MB,2MB"), ("collective", "20000"))

    def test_the_plans_of_best_are_counted(self):
        self.assertEqual(bar("run", "--profile", "bert-large_h100_b32_bf16", "--cluster", "h100x8-8x400gbps", "--workers", "64", "--jitter", "5%",
                             "--strategy", "best")[0], "best: plans")


if __name__ == "__main__":
    unittest.main()
