#!/usr/bin/env python3
"""Reflow the paragraphs and list items of Markdown pages that have a line wider than 120 characters.

  tools/prose.py FILE.md …    rewrites them; what is narrow already stays as it is, to the letter

Tables, headings, pictures, comments and code are left alone, and so are code spans and links that are not long themselves.
Generated pages go through `wrapped()` as they are written.
"""
import argparse
import re
import sys
from pathlib import Path

WIDTH = 120
FENCE = re.compile(r"\s*(`{3,})")
ITEM = re.compile(r"\s*(?:[-*+]|\d+[.)])\s+")
LITERAL = re.compile(r"\s*(?:\||#{1,6} |<|!\[)")
WHOLE = 60  # a code span or a link up to so long is not broken
ATOM = re.compile(r"(?:(`+)(?:(?!\1).){1,%d}\1|\[[^]`]{1,%d}\]\([^)\s]{1,%d}\)|\S)+" % (WHOLE, WHOLE, WHOLE))
MARK = re.compile(r"(?:[-+*]|#{1,6}|\d+[.)])$|[>|]|`{3}")  # what would mean something else at the start of a line


def lines_of_prose(text):
    """(number, line, whether it is prose) of a page, from 1; what may be as wide as it wants is none."""
    fence, blank, listed, code = None, True, False, False
    for number, line in enumerate(text.split("\n"), 1):
        found = FENCE.match(line)
        if fence:
            prose, fence = False, None if found and found[1] == fence else fence
        elif found:
            prose, fence = False, found[1]
        else:
            listed = bool(ITEM.match(line)) or listed and (line == "" or line.startswith(" "))
            code = line.startswith("    ") and not listed and (blank or code)
            prose = bool(line.strip()) and not code and not LITERAL.match(line)
        blank = not line.strip()
        yield number, line, prose


def filled(paragraph):
    """The lines of a paragraph or item, at most WIDTH wide."""
    if max(map(len, paragraph)) <= WIDTH:
        return paragraph
    first = ITEM.match(paragraph[0])
    start = first[0] if first else re.match(r"\s*", paragraph[0])[0]
    result, line, rest = [], start, " " * len(start)
    words = []
    for match in ATOM.finditer(" ".join([paragraph[0][len(start):], *paragraph[1:]])):
        if words and MARK.match(match[0]):
            words[-1] += " " + match[0]
        else:
            words.append(match[0])
    for word in words:
        if line in (start, rest):
            line += word
        elif len(line) + 1 + len(word) > WIDTH:
            result.append(line)
            line = rest + word
        else:
            line += " " + word
    return [*result, line]


def wrapped(text):
    """A page with all its prose at most WIDTH wide."""
    result, paragraph = [], []
    for _, line, prose in lines_of_prose(text):
        if paragraph and (not prose or ITEM.match(line)):
            result += filled(paragraph)
            paragraph = []
        if prose:
            paragraph.append(line)
        else:
            result.append(line)
    return "\n".join(result + (filled(paragraph) if paragraph else []))


def too_wide(text):
    """The numbers of the lines of prose that are wider than WIDTH."""
    return [number for number, line, prose in lines_of_prose(text) if prose and len(line) > WIDTH]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pages", nargs="+", type=Path, metavar="FILE.md")
    for page in parser.parse_args().pages:
        try:
            before = page.read_text(encoding="utf-8")
        except OSError as error:
            sys.exit(f"{page}: file: {error.strerror}")
        after = wrapped(before)
        if after != before:
            page.write_text(after, encoding="utf-8")


if __name__ == "__main__":
    main()
