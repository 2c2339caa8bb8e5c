#!/usr/bin/env python3
"""Comments are sentences about the code below them (CONTRIBUTING.md). Run: python3 tests/structure/test_comments.py"""
import re
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COMMENT = re.compile(r"\s*//[/!]?<? ")
HEADLESS = re.compile(COMMENT.pattern + r"(?:Whether|Of|Those|(?:What|How|Who|Whose|Which|Where)\b(?!.*\?)) ")


def headless(lines):
    """The lines that start a comment with a noun phrase in place of a sentence, such as "What is left."; questions may."""
    return [line.strip() for before, line in zip(["", *lines], lines) if HEADLESS.match(line) and not COMMENT.match(before)]


class Comments(unittest.TestCase):
    def test_comments_begin_with_their_subject_or_verb(self):
        for source in sorted(path for folder in ("sim", "tests") for path in (ROOT / folder).rglob("*.[ch]pp")):
            with self.subTest(source=str(source.relative_to(ROOT))):
                self.assertEqual(headless(source.read_text(encoding="utf-8").split("\n")), [], "right: \"Returns …\", \"True if …\", \"The bytes of …\"")

    def test_the_check_finds_them(self):
        bad = ["int a;", "// What is left.", "int b;", "  /// Whether it fits, and", "  /// what else.", "", "// Of a block."]
        good = ["// The rest.", "", "// Which rank is late?", "int what;", "/// True if it fits,", "/// Whether or not it", "int a;  // Of a block."]
        self.assertEqual(headless(bad), ["// What is left.", "/// Whether it fits, and", "// Of a block."])
        self.assertEqual(headless(good), [])


if __name__ == "__main__":
    unittest.main()
