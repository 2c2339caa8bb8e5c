#!/usr/bin/env python3
"""Links between the pages lead somewhere, and every page can be reached from README.md. Run: python3 tests/structure/test_links.py"""

import re
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
FENCE = re.compile(r"^```.*?^```$", re.M | re.S)
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ +(.+)$", re.M)


def prose(page):
    """A page without its blocks of code."""
    return FENCE.sub("", page.read_text(encoding="utf-8"))


def anchors(page):
    """What `#…` may name in a page, as GitHub makes it of headings."""
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in HEADING.findall(prose(page))}


def links(page):
    """(file, anchor) of every link that stays in the repository."""
    for target in LINK.findall(prose(page)):
        if not re.match(r"[a-z]+:", target):
            file, _, anchor = target.partition("#")
            yield (page.parent / file).resolve() if file else page, anchor


class Links(unittest.TestCase):
    """Of README.md, CONTRIBUTING.md, CHANGELOG.md and docs/."""

    def test_lead_somewhere(self):
        for page in PAGES:
            for file, anchor in links(page):
                with self.subTest(page=page.name, file=file.name, anchor=anchor):
                    self.assertTrue(file.is_relative_to(ROOT) and file.exists(), f"{page.name}: no {file}")
                    if anchor:
                        self.assertIn(anchor, anchors(file))

    def test_every_page_is_reached(self):
        reached, todo = set(), [ROOT / "README.md"]
        while todo:
            page = todo.pop()
            if page.suffix == ".md" and page not in reached and page.exists():
                reached.add(page)
                todo += [file for file, _ in links(page)]
        self.assertEqual([page.name for page in PAGES if page not in reached], [])

    def test_one_page_lists_all(self):
        shelf = ROOT / "docs" / "README.md"
        listed = {file for file, _ in links(shelf)}
        self.assertEqual([page.name for page in PAGES if page != shelf and page not in listed], [])

    def test_blocks_are_closed(self):
        for page in PAGES:
            with self.subTest(page=page.name):
                self.assertNotIn("```", re.sub(r"`{4,}.*?`{4,}|`+ ?```\w* ?`+", "", prose(page)))


if __name__ == "__main__":
    unittest.main()
