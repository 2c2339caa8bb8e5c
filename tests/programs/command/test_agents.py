#!/usr/bin/env python3
"""docs/agents.md: each command runs, prints JSON with the keys that the page names, and the rules above hold. Run: python3 tests/programs/command/test_agents.py"""

import json
import os
import re
import shlex
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from program import ROOT, Case, needs_program, output  # noqa: E402

PAGE = (ROOT / "docs" / "agents.md").read_text(encoding="utf-8")
ROWS = [(shlex.split(command), re.findall("`([^`]+)`", keys)) for command, keys in re.findall(r"^\| .* \| `allreplay (.+?)` \| (.+) \|$", PAGE, re.M)]
EXAMPLES = str(ROOT / "docs" / "examples")


@needs_program
class Agents(Case):
    def answer(self, words):
        """What a command prints, as JSON, and nothing else on standard output."""
        return json.loads(self.output(*(word.replace("$E", EXAMPLES) for word in words)))

    def test_every_row(self):
        self.assertGreater(len(ROWS), 15)
        self.assertEqual(len(ROWS), PAGE.count("| `allreplay "))
        for words, keys in ROWS:
            with self.subTest(command=" ".join(words)):
                answer = self.answer(words)
                for one in answer if isinstance(answer, list) else [answer]:
                    self.assertEqual([key for key in keys if key not in one], [])
                self.assertTrue(keys)

    def test_nothing_is_written(self):
        for words, _ in ROWS[:3]:
            self.answer(words)
        self.assertEqual(os.listdir(self.folder), [])

    def test_a_plain_error(self):
        for words in (["run", "-p", "nothing", "-c", "k80-10gbe", "-s", "ddp"], ["run", "--nothing"]):
            self.assertRegex(self.refusal(*words, "--json"), r"^[^\n]+: [^\n]+ \([^\n]+\)\n$")

    def test_same_bytes(self):
        texts = [re.sub(r'"wall_s": [^,\n]+', "", self.run_program(*ROWS[1][0]).stdout) for _ in range(2)]
        self.assertEqual(*texts)

    def test_every_command_with_json_has_a_row(self):
        """But for those that write files, or print none."""
        silent = {"codec", "calibrate", "tune", "schedule", "estimate", "import", "export", "plot", "report", "help", "completion"}
        commands = set(re.findall(r"^  ([a-z]+) {2,}", output("--help").partition("Commands:")[2].partition("\n\n")[0], re.M))
        self.assertEqual(commands - silent, {words[0] for words, _ in ROWS})

    def test_the_page_is_short(self):
        self.assertLess(len(PAGE.splitlines()), 120)


if __name__ == "__main__":
    unittest.main()
