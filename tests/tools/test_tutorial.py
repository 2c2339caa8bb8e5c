#!/usr/bin/env python3
"""The commands that the pages for newcomers show, and what they print. Run: python3 tests/tools/test_tutorial.py [--update]

Every ```sh block of a page runs as it stands, in order, in one scratch folder, with the program on the PATH; each has to succeed.
A ```text block that follows at once is what it prints, to the letter; `…` stands for anything within a line, and alone
for any number of lines. Pictures that a page embeds and its commands draw are equal byte for byte. --update writes what is printed
now, and the pictures drawn, into the pages; where a block has a `…`, its lines become the most similar ones.
"""

import difflib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from program import PROGRAM, ROOT, needs_program  # noqa: E402

UPDATE = "--update" in sys.argv
BLOCK = re.compile(r"^```sh\n(?P<commands>.*?)^```\n(?:\n?```text\n(?P<output>.*?)^```\n)?", re.M | re.S)
PICTURE = re.compile(r"!\[[^]]*\]\(([^)]+\.svg)\)")


def stripped(text):
    """Lines without trailing blanks."""
    return [line.rstrip() for line in text.rstrip().splitlines()]


def matches(shown, printed):
    """Whether a page's text, with its `…`, says what was printed."""
    expression = ""
    for line in stripped(shown):
        expression += r"(?:.*\n)*" if line == "…" else ".*".join(map(re.escape, line.split("…"))) + "\n"
    return re.fullmatch(expression, "".join(f"{line}\n" for line in stripped(printed))) is not None


def renewed(shown, printed):
    """The page's text with what was printed: where it has a `…`, each of its lines becomes the most similar of those that follow."""
    if "…" not in shown:
        return "".join(f"{line}\n" for line in stripped(printed))
    rest, lines = stripped(printed), []
    for line in stripped(shown):
        if "…" not in line:
            likeness = [difflib.SequenceMatcher(None, line, other).ratio() for other in rest]
            if not likeness or max(likeness) < 0.6:
                continue
            place = likeness.index(max(likeness))
            line, rest = rest[place], rest[place + 1:]
        lines.append(line)
    return "".join(f"{line}\n" for line in lines)


def excerpt(printed):
    """The first table and what to run, or all where there is neither: for a block whose lines are no longer printed."""
    paragraphs = "\n".join(stripped(printed)).split("\n\n")
    tables = [part for part in paragraphs if re.search(r"^-{3,}$", part, re.M)]
    advice = [part[part.index("Run "):] for part in paragraphs if re.search(r"^Run ", part, re.M)]
    if not tables:
        return "\n\n".join(paragraphs) + "\n"
    return "…\n" + tables[0] + "\n…\n" + (advice[-1] + "\n…\n" if advice else "")


class Matching(unittest.TestCase):
    """What `…` stands for."""

    def test_ellipses(self):
        for shown, printed, same in [("a\nb", "a \nb\n", True), ("a\nb", "a\nc", False), ("a\nb", "a\nb\nc", False),
                                     ("a\n…", "a\nb\nc", True), ("a\n…\nc", "a\nc", True), ("a\n…\nc", "a\nb", False),
                                     ("a … b", "a 1.5 b", True), ("a … b", "a 1.5 c", False), ("1.5", "1x5", False)]:
            with self.subTest(shown=shown, printed=printed):
                self.assertEqual(matches(shown, printed), same)


@needs_program
class Pages(unittest.TestCase):
    """Each page, as its reader follows it."""

    maxDiff = None

    def follow(self, name):
        """Run a page's blocks; returns how many there were."""
        page = ROOT / name
        text = page.read_text(encoding="utf-8")
        folder = tempfile.TemporaryDirectory(prefix="all replay ")
        self.addCleanup(folder.cleanup)
        programs = Path(folder.name, "programs")
        programs.mkdir()
        (programs / "allreplay").symlink_to(PROGRAM)
        scratch = Path(folder.name, "empty")
        scratch.mkdir()
        if name == "README.md":  # its commands stand in the repository; what they write shall not
            for part in ("tools", "configs", "docs"):
                (scratch / part).symlink_to(ROOT / part)
        environment = {**{name: value for name, value in os.environ.items() if name != "COLUMNS"}, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", "REPOSITORY": str(ROOT), "LC_ALL": "C.UTF-8"}
        replaced = []
        for block in BLOCK.finditer(text):
            commands, shown = block["commands"], block["output"]
            with self.subTest(page=name, commands=commands):
                if "profile_torch.py" in commands and not self.has_torch():
                    self.skipTest(f"{name}: no python3 here has PyTorch (tools/setup.sh --with torch)")
                done = subprocess.run(["bash", "-e", "-c", commands], cwd=scratch, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                      stdin=subprocess.DEVNULL, encoding="utf-8", check=False)
                self.assertEqual(done.returncode, 0, done.stdout)
                if shown is not None and not matches(shown, done.stdout):
                    output = renewed(shown, done.stdout)
                    if UPDATE and not matches(output, done.stdout):
                        output = excerpt(done.stdout)
                    if not UPDATE or not matches(output, done.stdout):
                        self.assertEqual("\n".join(stripped(shown)), "\n".join(stripped(done.stdout)))
                    replaced.append((block.span("output"), output))
        for (begin, end), output in reversed(replaced):
            text = text[:begin] + output + text[end:]
        if replaced:
            page.write_text(text, encoding="utf-8")
        for picture in PICTURE.findall(text):
            drawn, kept = scratch / Path(picture).name, page.parent / picture
            if drawn.is_file():
                with self.subTest(page=name, picture=picture):
                    if UPDATE:
                        shutil.copy(drawn, kept)
                    self.assertEqual(drawn.read_bytes(), kept.read_bytes())
        return sum(1 for _ in BLOCK.finditer(text))

    @staticmethod
    def has_torch():
        return subprocess.run([ROOT / "tools" / "python.sh", "--with", "torch", "-c", ""], capture_output=True, check=False).returncode == 0

    def test_readme(self):
        self.assertGreaterEqual(self.follow("README.md"), 3)

    def test_tutorial(self):
        self.assertGreaterEqual(self.follow("docs/tutorial.md"), 12)

    def test_how_it_works(self):
        self.assertGreaterEqual(self.follow("docs/how_it_works.md"), 5)

    def test_commands(self):
        self.assertGreaterEqual(self.follow("docs/commands.md"), 8)

    def test_build_commands_are_the_readme_s(self):
        readme = (ROOT / "README.md").read_text(encoding="utf-8")
        for command in ("tools/demo.sh", "tools/test.sh"):
            self.assertTrue(os.access(ROOT / command, os.X_OK))
            self.assertIn(f"\n{command} ", readme)
            self.assertIn(f"\n{command} ", (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8"))


if __name__ == "__main__":
    unittest.main(argv=[argument for argument in sys.argv if argument != "--update"])
