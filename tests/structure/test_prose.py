#!/usr/bin/env python3
"""Prose of the pages is at most 120 characters wide; tables, code and pictures may be wider. Run: python3 tests/structure/test_prose.py"""
import re
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import prose  # noqa: E402

PAGES = [page for page in sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]) if page.name != "CHANGELOG.md"]
WRITTEN = re.compile(r"^<!-- allreplay list .*?^<!-- end -->$|^```text$.*?^```$", re.M | re.S)  # by tools/write_tables.py, test_tutorial.py --update
MOST = 61_000  # words to read, at 250 a minute a little over four hours
LONG = "word " * 30
LINK = re.compile(r"\[[^]]*\]\([^)]*\)")


class Pages(unittest.TestCase):
    def test_prose_is_narrow(self):
        for page in PAGES:
            with self.subTest(page=page.name):
                self.assertEqual(prose.too_wide(page.read_text(encoding="utf-8")), [], f"{page}: lines wider than {prose.WIDTH} (right: tools/prose.py {page})")

    def test_pages_are_short(self):
        """All that is written by hand but the changelog; what programs write into pages is not counted."""
        by_hand = [page for page in [*PAGES, *(ROOT / "tests").rglob("*.md")] if page.parent.name != "generated"]
        words = {str(page.relative_to(ROOT)): len(WRITTEN.sub("", page.read_text(encoding="utf-8")).split()) for page in by_hand}
        self.assertLessEqual(sum(words.values()), MOST, f"{words} (right: what is said elsewhere is a link)")

    def test_pages_are_links(self):
        """A page that is named in prose can be gone to."""
        for page in PAGES:
            text = "\n".join(line for _, line, is_prose in prose.lines_of_prose(page.read_text(encoding="utf-8")) if is_prose)
            with self.subTest(page=page.name):
                self.assertEqual(re.findall(r".*\bdocs/[\w/]+\.md.*", LINK.sub("", text)), [], "a plain mention of a page (right: [name](name.md))")


class Wrapping(unittest.TestCase):
    """What is reflowed, and what is not."""

    def test_lines_that_may_be_wide_stay(self):
        for text in (f"```\n{LONG}\n```", f"```text\n{LONG}\n```\n", f"| {LONG} |", f"# {LONG}", f"![{LONG}](a.png)", f"a\n\n    {LONG}\n\nb", f"<!-- {LONG} -->"):
            with self.subTest(text):
                self.assertEqual(prose.wrapped(text), text)
                self.assertEqual(prose.too_wide(text), [])

    def test_paragraphs_and_items(self):
        for start, rest in (("", ""), ("- ", "  "), ("  - ", "    "), ("12. ", "    "), ("  ", "  ")):
            text = f"a\n\n{start}{LONG.strip()}\n\nb"
            with self.subTest(start):
                self.assertEqual(prose.too_wide(text), [3])
                # 120 characters: the start, then words of five with their blank, but for the last.
                fit = (120 - len(start) + 1) // 5
                self.assertEqual(prose.wrapped(text), f"a\n\n{start}{' '.join(['word'] * fit)}\n{rest}{' '.join(['word'] * (30 - fit))}\n\nb")
                self.assertEqual(prose.too_wide(prose.wrapped(text)), [])

    def test_nothing_changes_its_meaning(self):
        """Short code and links are not broken, and no line starts with what would make it a list or a heading."""
        filler = "x" * 100
        for whole in ("`allreplay run --strategy ddp`", "[how far to trust it](validation.md)", "five - six", "in 2 + 2"):
            with self.subTest(whole):
                lines = prose.wrapped(f"{filler} {whole} {filler}").split("\n")
                self.assertEqual(" ".join(lines), f"{filler} {whole} {filler}")
                self.assertFalse([line for line in lines if re.match(r"[-+*#] ", line)])
                if whole[0] in "`[":
                    self.assertTrue([line for line in lines if whole in line])

    def test_narrow_prose_stays_as_it_is(self):
        text = "one\ntwo three\n- four\n  five\n"
        self.assertEqual(prose.wrapped(text), text)


if __name__ == "__main__":
    unittest.main()
