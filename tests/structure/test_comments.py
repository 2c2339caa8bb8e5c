#!/usr/bin/env python3
"""Comments are sentences about the code below them (CONTRIBUTING.md). Run: python3 tests/structure/test_comments.py"""
import re
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COMMENT = re.compile(r"\s*//[/!]?<? ")
HEADLESS = re.compile(COMMENT.pattern + r"(?:Whether|Of|Those|(?:What|How|Who|Whose|Which|Where)\b(?!.*\?)) ")

ARCHAIC = re.compile(r"(?:^|\s)//[/!]?<? .*?\b(alike|anew|at once|beside|likewise|so many|told|whoever|as (?:it|they) stands?|where there (?:is|are)"
                     r"|(?<!there )(?:is|are) no(?= (?!longer|more|less|larger|later|earlier|other|such)))\b", re.IGNORECASE)


def archaic(lines):
    """The words in comments that a reader has to translate: "beside" for "next to", "is no row" for "is not a row", and others."""
    return [found[1] for line in lines if (found := ARCHAIC.search(line))]


def headless(lines):
    """The lines that start a comment with a noun phrase in place of a sentence, such as "What is left."; questions may."""
    return [line.strip() for before, line in zip(["", *lines], lines) if HEADLESS.match(line) and not COMMENT.match(before)]


class Comments(unittest.TestCase):
    def test_comments_begin_with_their_subject_or_verb(self):
        for source in sorted(path for folder in ("sim", "tests") for path in (ROOT / folder).rglob("*.[ch]pp")):
            with self.subTest(source=str(source.relative_to(ROOT))):
                self.assertEqual(headless(source.read_text(encoding="utf-8").split("\n")), [], "right: \"Returns …\", \"True if …\", \"The bytes of …\"")

    def test_comments_are_in_plain_words(self):
        for source in sorted(path for folder in ("sim", "tests") for path in (ROOT / folder).rglob("*.[ch]pp")):
            with self.subTest(source=str(source.relative_to(ROOT))):
                self.assertEqual(archaic(source.read_text(encoding="utf-8").split("\n")), [], "right: identical, simultaneously, next to, not a …")

    def test_archaic_words_are_found(self):
        bad = ["// The rows are alike.", "int a;  ///< what runs beside it", "  // It is no row.", "// Both at once."]
        good = ["// There is no row, and it is no longer than that.", 'call("beside");', "int beside;  // next to it"]
        self.assertEqual(archaic(bad), ["alike", "beside", "is no", "at once"])
        self.assertEqual(archaic(good), [])

    def test_the_check_finds_them(self):
        bad = ["int a;", "// What is left.", "int b;", "  /// Whether it fits, and", "  /// what else.", "", "// Of a block."]
        good = ["// The rest.", "", "// Which rank is late?", "int what;", "/// True if it fits,", "/// Whether or not it", "int a;  // Of a block."]
        self.assertEqual(headless(bad), ["// What is left.", "/// Whether it fits, and", "// Of a block."])
        self.assertEqual(headless(good), [])


if __name__ == "__main__":
    unittest.main()
