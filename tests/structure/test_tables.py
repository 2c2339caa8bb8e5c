#!/usr/bin/env python3
"""What pages and schemas repeat of the program's tables; tools/write_tables.py writes it. Run: python3 tests/structure/test_tables.py"""

import re
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from program import PROGRAM, WIDE, needs_program, output, run, tool_named  # noqa: E402

tool = tool_named("write_tables")


@needs_program
class Tables(unittest.TestCase):
    """In docs/ and docs/schema."""

    def test_are_up_to_date(self):
        for file, text in tool.files(PROGRAM):
            with self.subTest(file=file.name):
                self.assertEqual(file.read_text(encoding="utf-8"), text, "run tools/write_tables.py")

    def test_each_stands_in_a_page(self):
        shown = []
        for file, text in tool.files(PROGRAM):
            found = [match[1] for match in tool.TABLE.findall(text)]
            self.assertEqual(text.count("<!-- allreplay"), len(found), f"{file.name}: a table has no end")
            shown += [line.split()[1] for line in found]
        listable = re.search(r"known: (.*)\)", run("list", "q" * 20).stderr)[1].split(", ")
        self.assertEqual(sorted(shown), sorted(what for what in listable if run("list", what, "--markdown").returncode == 0))

    def test_foreign_tables_are_replaced(self):
        page = "a\n<!-- allreplay list columns --markdown -->\n| column |\n<!-- end -->\nb\n"
        written = tool.page_of(page, PROGRAM)
        self.assertRegex(written, r"\Aa\n<!-- allreplay list columns --markdown -->\n\| column \|(?s:.)*\n\| `iteration_s` \|(?s:.)*\n<!-- end -->\nb\n\Z")
        self.assertEqual(tool.page_of(written, PROGRAM), written)
        schema = '{"strategy": {\n  "enum": ["none"]}}'
        self.assertIn('"wfbp", ', tool.names_of(schema, PROGRAM, tool.NAMES["sweep.schema.json"]))
        self.assertEqual(tool.options_of('{\n    "credit": {"a": 1, "description": "?"}}', PROGRAM).count("bytescheduler"), 1)

    def test_help_and_completion_read_the_rows(self):
        """A row's words are where users meet them."""
        rows = output("list", "options", env=WIDE).splitlines()[2:]
        for row in rows:
            name, about = row.split(None, 1)
            told = output("help", name, env=WIDE)
            self.assertTrue(told.startswith(f"{name}: "), told)
            self.assertIn(f"--{name.replace('_', '-')} VALUE", told)
            self.assertIn(about.split(": ")[0], told)  # who reads it


if __name__ == "__main__":
    unittest.main()
