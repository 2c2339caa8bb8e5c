#!/usr/bin/env python3
"""Shell completion, made from the command line's own definitions, in real shells, and the installed manual page.

Run: python3 tests/programs/command/test_completion.py
"""
import os
import pty
import re
import select
import shutil
import subprocess
import sys
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import program  # noqa: E402
from program import PROGRAM, needs_program  # noqa: E402


def output(*arguments):
    """What a successful run of the program prints."""
    return program.output(*arguments)


def names(what):
    """What `allreplay list` names, read from its table."""
    lines = output("list", what).splitlines()[2:]
    if what != "clusters":
        return [line.split()[0] for line in lines if not line.startswith(" ")]
    return sorted(line.split()[0] for line in lines if re.match("  [a-z0-9]", line))  # under titles


def commands():
    """{command: its options}, as --help prints them."""
    listed = re.findall(r"^  ([a-z]+) ", output("--help").split("Commands:")[1].split("First steps")[0], re.M)
    heads = {command: re.findall(r"^  (?:-\w,)?(--[a-z-]+(?:,--[a-z-]+)*)", output(command, "--help"), re.M) for command in listed}
    return {command: [option for head in options for option in head.split(",")] for command, options in heads.items()}


@needs_program
class Names(unittest.TestCase):
    def test_only_names(self):
        for what in ("strategies", "collectives", "codecs", "topologies", "options", "profiles", "clusters", "models", "devices", "configs", "importers", "exporters", "columns", "job-columns"):
            self.assertEqual(output("list", what, "--names").splitlines(), names(what))

    def test_clusters_stand_by_kind_and_models_once(self):
        """Machines, shapes of networks, clusters of papers: every cluster in one of them."""
        groups, title = {}, None
        for line in output("list", "clusters").splitlines()[2:]:
            if not line.startswith(" "):
                title = line.strip().rstrip(":")
            elif re.match("  [a-z0-9]", line):
                groups.setdefault(title, []).append(line.split()[0])
        self.assertEqual(list(groups), ["machines", "topologies", "clusters of papers"])
        for kind, some in (("machines", {"h100x8-8x400gbps", "nvl72", "v100x4-pcie-10gbe"}), ("topologies", {"fat-tree-16", "torus-8x8", "leaf-spine-64"}),
                           ("clusters of papers", {"k80-10gbe", "us-byte-10gbe", "bml-bcube-3-2"})):
            self.assertLessEqual(some, set(groups[kind]))
        models = names("models")
        self.assertEqual(len({name.replace("_", "-") for name in models}), len(models))
        self.assertIn("bert-base", models)

    def test_words_that_are_always_the_same(self):
        """What completion offers is what the program takes: it lists the rest when it is given something else."""
        for command, option in (("run", "--fidelity"), ("recommend", "--framework"), ("tune", "--method")):
            strategy = [] if command == "recommend" else ["--strategy", "ddp"]
            error = program.refusal(command, "--profile", "googlenet_k80_b32", "--cluster", "k80-10gbe", *strategy, option, "nonsense")
            offered = [line.split("\t")[0] for line in program.run("__complete", command, option, "").stdout.splitlines()[2:]]
            said = set(re.findall(r"[a-z0-9-]+", error.split("(")[-1].split(")")[0])) - {"known", "or", "one", "of"}
            self.assertEqual(set(offered), said, error)


@needs_program
class Completion(program.Case):
    def setUp(self):
        super().setUp()
        (self.folder / "my profile.csv").touch()
        (self.folder / "mine.json").touch()
        for shell in ("bash", "zsh", "fish"):
            self.write(f"completion.{shell}", output("completion", shell))
        self.environment = {**os.environ, "PATH": f"{PROGRAM.resolve().parent}:{os.environ['PATH']}", "HOME": str(self.folder), "TERM": "dumb"}

    def bash(self, *words):
        """What bash offers for the last word."""
        script = ('source completion.bash; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _allreplay; '
                  '((${#COMPREPLY[@]})) && printf "%s\\n" "${COMPREPLY[@]}"; true')
        done = subprocess.run(["bash", "-c", script, "bash", "allreplay", *words], cwd=self.folder, env=self.environment,
                              capture_output=True, text=True, check=True)
        self.assertEqual(done.stderr, "")
        return done.stdout.splitlines()

    def test_bash_words(self):
        self.assertEqual(self.bash(""), [*commands(), "--help", "--version"])
        self.assertEqual(self.bash("re"), ["recommend", "report"])
        for command, options in commands().items():
            self.assertEqual(sorted(word for word in self.bash(command, "--") if word), sorted(options), command)

    def test_bash_values(self):
        self.assertEqual(self.bash("run", "--strategy", ""), names("strategies"))
        self.assertEqual(self.bash("tune", "-s", "mg"), ["mg-wfbp"])
        self.assertEqual(self.bash("run", "--strategy", "=", "dea"), ["dear"])
        self.assertEqual(self.bash("run", "--collective", "="), names("collectives"))
        self.assertEqual(self.bash("run", "--profile", "googlenet_k80"), ["googlenet_k80_b32"])
        self.assertEqual(sorted(self.bash("run", "--profile", "m")), sorted([*(name for name in names("profiles") if name.startswith("m")), "mine.json", r"my\ profile.csv"]))
        self.assertEqual(self.bash("run", "--cluster", "k80"), ["k80-10gbe"])
        self.assertEqual(self.bash("run", "--codec", "on"), [name for name in names("codecs") if name.startswith("on")])
        self.assertEqual(self.bash("run", "--option", "bucket_c"), ["bucket_cap="])
        self.assertEqual(self.bash("run", "--option", "bucket_cap", "=", "2"), [])
        self.assertEqual(self.bash("run", "--bucket"), ["--bucket-cap", "--bucket-op", "--bucket", "--bucket-size"])
        self.assertEqual(self.bash("compare", "--grouping", ""), ["search", "optimal", "even"])
        self.assertEqual(self.bash("sweep", "--bucket"), [])
        self.assertEqual(self.bash("help", "fsd"), ["fsdp2", "fsdp1"])
        self.assertEqual(self.bash("run", "--option", "grouping", "="), ["search", "optimal", "even"])
        self.assertEqual(self.bash("run", "--option", "codec_stream", "=", "s"), ["side"])
        self.assertEqual(self.bash("compare", "--strategies", "wfbp,mg"), ["wfbp,mg-wfbp"])
        self.assertEqual(self.bash("run", "--fidelity", ""), ["alpha-beta", "fluid", "message"])
        self.assertEqual(self.bash("run", "--workers", ""), [])
        self.assertEqual(self.bash("list", "col"), ["collectives", "columns"])
        self.assertEqual(self.bash("completion", ""), ["bash", "zsh", "fish"])
        self.assertEqual(self.bash("sweep", "mgwfbp_fig8"), ["mgwfbp_fig8"])
        self.assertEqual(self.bash("report", "mi"), ["mine.json"])

    def typed(self, shell, setup, line):
        """The line as an interactive shell shows it, after a tab at its end."""
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
        try:
            os.write(terminal, f"PS1=; {setup}; echo re''ady\n".encode())
            read_until("ready\r\n")
            os.write(terminal, f"echo {line}\t".encode() if not line.startswith("allreplay") else f"{line}\t".encode())
            time.sleep(1)
            os.write(terminal, b" en''d\n")  # whatever was completed is then an argument of a command that fails or not
            return read_until("en''d")
        finally:
            os.close(terminal)
            os.waitpid(pid, 0)

    def test_bash_at_a_terminal(self):
        self.assertIn("--strategy mg-wfbp", self.typed(["bash", "--norc", "-i"], "source completion.bash", "allreplay run --strategy mg"))

    @unittest.skipUnless(shutil.which("zsh"), "zsh is not installed")
    def test_zsh_at_a_terminal(self):
        setup = "unsetopt zle_bracketed_paste 2>/dev/null; autoload -U compinit && compinit -u -D && source ./completion.zsh"
        for line, completed in (("allreplay run --strategy mg", "--strategy mg-wfbp"), ("allreplay comple", "allreplay completion"),
                                ("allreplay run --clus", "allreplay run --cluster"), ("allreplay run --option grouping=op", "--option grouping=optimal")):
            self.assertIn(completed, self.typed(["zsh", "-f", "-i"], setup, line))

    @unittest.skipUnless(shutil.which("fish"), "fish is not installed")
    def test_fish(self):
        def fish(line):
            done = subprocess.run(["fish", "-c", f"source completion.fish; complete -C '{line}'"], cwd=self.folder, env=self.environment,
                                  capture_output=True, text=True, check=True)
            self.assertEqual(done.stderr, "")
            return [offer.split("\t")[0] for offer in done.stdout.splitlines()]
        self.assertEqual(sorted(fish("allreplay ")), sorted([*commands(), "--help", "--version"]))
        self.assertEqual(fish("allreplay run --strategy mg"), ["mg-wfbp"])
        self.assertEqual(fish("allreplay run --option bucket_c"), ["bucket_cap="])
        self.assertEqual(fish("allreplay run --option grouping=e"), ["grouping=even"])
        self.assertIn("googlenet_k80_b32", fish("allreplay run --profile "))
        self.assertEqual(sorted(fish("allreplay sweep --")), sorted(commands()["sweep"]))
        self.assertEqual(sorted(fish("allreplay list c")), ["clusters", "codecs", "collectives", "columns", "configs"])

    def test_unknown_shell(self):
        self.assertRegex(program.refusal("completion", "fsh"), r"\Acommand line: completion: no shell 'fsh' \(bash, zsh or fish\)\n\Z")

    @unittest.skipUnless((PROGRAM.parent / "CMakeCache.txt").is_file(), "the program does not stand in a build folder")
    def test_installation(self):
        subprocess.run(["cmake", "--install", PROGRAM.parent, "--prefix", self.folder / "usr"], check=True, capture_output=True)
        share = self.folder / "usr" / "share"
        for path, text in (("bash-completion/completions/allreplay", output("completion", "bash")),
                           ("zsh/site-functions/_allreplay", output("completion", "zsh")), ("fish/vendor_completions.d/allreplay.fish", output("completion", "fish"))):
            self.assertEqual((share / path).read_text(encoding="utf-8"), text, path)
        if shutil.which("help2man"):
            page = (share / "man/man1/allreplay.1").read_text(encoding="utf-8")
            for command in commands():
                self.assertIn(f"\n{command}\n", page)


if __name__ == "__main__":
    unittest.main()
