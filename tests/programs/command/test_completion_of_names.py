#!/usr/bin/env python3
"""Shell completion shows the names of files, and never runs what stands in them.

A trace called `$(touch ran)` is a name like any other: each shell offers it, quotes it, and starts nothing.

Run: python3 tests/programs/command/test_completion_of_names.py
"""
import os
import pty
import select
import shlex
import shutil
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PROGRAM = Path(os.environ.get("ALLREPLAY_PROGRAM", ROOT / "build" / "release" / "allreplay"))
NAMES = ["aa$(touch ran)", "aa`touch ran`", "aa;touch ran", "aa b", "aa*", "aa'\"", "aa${x:=$(touch ran)}", "aa<(touch ran)", "aa\\$(touch ran)"]


@unittest.skipUnless(PROGRAM.is_file(), f"no program at {PROGRAM} (ALLREPLAY_PROGRAM says where it is)")
class Names(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        for kind in ("traces", "configs"):
            (self.folder / kind).mkdir()
            for name in NAMES:
                (self.folder / kind / f"{name}.json").write_text("{}", encoding="utf-8")
        (self.folder / "traces" / "aa\nline.json").write_text("{}", encoding="utf-8")  # no name in a list of lines
        (self.folder / "traces" / "aa\033[2J.json").write_text("{}", encoding="utf-8")
        self.environment = {**os.environ, "PATH": f"{PROGRAM.resolve().parent}:{os.environ['PATH']}", "HOME": str(self.folder), "TERM": "dumb"}
        for shell in ("bash", "zsh", "fish"):
            (self.folder / f"completion.{shell}").write_bytes(self.run_program("completion", shell).stdout)

    def tearDown(self):
        self.assertFalse((self.folder / "ran").exists(), "a file's name was run")

    def run_program(self, *arguments):
        return subprocess.run([PROGRAM, *arguments], cwd=self.folder, env=self.environment, capture_output=True, check=True)

    def test_listed_as_they_stand(self):
        """A name that is no single line of text is left out; a damaged file does not hide the others."""
        listed = self.run_program("list", "profiles", "--names").stdout.decode().splitlines()
        self.assertEqual(sorted(name for name in listed if name.startswith("aa")), sorted(NAMES))
        self.assertIn("googlenet_k80_b32", listed)

    def test_bash(self):
        script = ('source completion.bash; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _allreplay; '
                  '((${#COMPREPLY[@]})) && printf "%s\\n" "${COMPREPLY[@]}"; true')
        for words in (["run", "--profile", "aa"], ["sweep", "aa"], ["report", "x.csv", "--config", "aa"]):
            done = subprocess.run(["bash", "-c", script, "bash", "allreplay", *words], cwd=self.folder, env=self.environment,
                                  capture_output=True, text=True, check=True)
            self.assertEqual(done.stderr, "")
            self.assertEqual(sorted(shlex.split(line) for line in done.stdout.splitlines()), sorted([name] for name in NAMES))
        for words in (["compare", "--strategies", "wfbp,mg"], ["compare", "--strategies", "$(touch ran),mg"]):
            done = subprocess.run(["bash", "-c", script, "bash", "allreplay", *words], cwd=self.folder, env=self.environment,
                                  capture_output=True, text=True, check=True)
            self.assertEqual(done.stdout, words[-1] + "-wfbp\n")

    def typed(self, shell, setup, line):
        """What an interactive shell shows of the line after two tabs, and after it was run."""
        pid, terminal = pty.fork()
        if pid == 0:
            os.chdir(self.folder)
            os.execvpe(shell[0], shell, self.environment)

        def read_until(mark, seconds=20):
            text, end = "", time.monotonic() + seconds
            while mark not in text:
                if not select.select([terminal], [], [], max(0, end - time.monotonic()))[0]:
                    self.fail(f"{shell[0]} shows {text!r}")
                text += os.read(terminal, 65536).decode(errors="replace")
            return text

        def settle():
            """What is shown until the shell runs nothing, and has shown nothing for a while: what it completes by may take its time."""
            text, children, end = "", Path(f"/proc/{pid}/task/{pid}/children"), time.monotonic() + 30
            quiet_since = time.monotonic()
            while time.monotonic() < min(end, quiet_since + 0.5):
                if select.select([terminal], [], [], 0.1)[0]:
                    text += os.read(terminal, 65536).decode(errors="replace")
                elif not children.exists() or not children.read_text().strip():
                    continue
                quiet_since = time.monotonic()
            return text

        try:
            os.write(terminal, f"PS1=; {setup}; echo re''ady\n".encode())
            read_until("ready\r\n")
            os.write(terminal, f"{line}\t\t".encode())
            shown = settle()
            os.write(terminal, b"\n")
            shown += settle()
            os.write(terminal, b"\x03\necho e''nd\n")
            return shown + read_until("end\r\n")
        finally:
            os.close(terminal)
            os.waitpid(pid, 0)

    def test_bash_at_a_terminal(self):
        for start in ("aa$", "aa", "aa\\$", "aa\\;"):
            self.typed(["bash", "--norc", "-i"], "source completion.bash; bind 'set completion-query-items 1000'", f"allreplay run --profile {start}")

    def test_bash_quotes_completions(self):
        """One name is left: it is typed out, quoted, and the command that is then run sees the name itself."""
        for name in NAMES:
            (self.folder / "traces" / f"{name}.json").unlink()
        (self.folder / "traces" / "zz$(touch ran) b.json").write_text("{}", encoding="utf-8")
        shown = self.typed(["bash", "--norc", "-i"], "source completion.bash", "allreplay run --profile zz")
        self.assertIn("zz\\$\\(touch\\ ran\\)\\ b", shown)

    @unittest.skipUnless(shutil.which("zsh"), "zsh is not installed")
    def test_zsh_at_a_terminal(self):
        setup = "unsetopt zle_bracketed_paste 2>/dev/null; autoload -U compinit && compinit -u -D && source ./completion.zsh"
        for start in ("aa", "aa\\$"):
            self.typed(["zsh", "-f", "-i"], setup, f"allreplay run --profile {start}")

    @unittest.skipUnless(shutil.which("fish"), "fish is not installed")
    def test_fish(self):
        done = subprocess.run(["fish", "-c", "source completion.fish; complete -C 'allreplay run --profile aa'"], cwd=self.folder, env=self.environment,
                              capture_output=True, text=True, check=True)
        self.assertEqual(done.stderr, "")
        self.assertGreaterEqual(len(done.stdout.splitlines()), len(NAMES))


if __name__ == "__main__":
    unittest.main()
