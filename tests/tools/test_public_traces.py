#!/usr/bin/env python3
"""tools/get_public_traces.sh and its manifest. Run: python3 tests/tools/test_public_traces.py

Nothing is fetched: a stub stands in curl's place and serves the published originals, whole or cut. Where they are absent
(ALLREPLAY_REFERENCE_DATA) what needs them is skipped.
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import program  # noqa: E402
from program import PROGRAM, REFERENCE, ROOT, needs_program  # noqa: E402

SCRIPT = ROOT / "tools" / "get_public_traces.sh"
ORIGINALS = REFERENCE / "originals"
TRACES = json.loads((ROOT / "traces" / "public.json").read_text(encoding="utf-8"))["traces"]

# A curl that serves $SERVED/ADDRESS' last part of the path by the manifest's SHA-256, goes on where --output ends, and obeys $HOW: "cut"
# sends half of what is left and fails as a broken connection does (18); "refuse" fails where it would go on (33); "wrong"
# sends something else; "down" sends nothing (6).
CURL = """#!{python}
import hashlib, os, pathlib, sys
arguments = sys.argv[1:]
out, address, how = pathlib.Path(arguments[arguments.index("--output") + 1]), arguments[-1], os.environ["HOW"]
with open(os.environ["LOG"], "a") as log:
    log.write(f"{{out.stat().st_size if out.exists() else 0}} {{address}}\\n")
have = out.stat().st_size if out.exists() else 0
if how == "down":
    sys.exit(6)
if how == "refuse" and have:
    sys.exit(33)
data = b"no such thing" if how == "wrong" else pathlib.Path(os.environ["SERVED"]).read_bytes()
send = data[have:]
with open(out, "ab") as file:
    file.write(send[: len(send) // 2] if how == "cut" else send)
sys.exit(18 if how == "cut" else 0)
"""


@needs_program
class PublicTraces(program.Case):
    """From a folder elsewhere, with a space in its name."""

    def run_script(self, *arguments, **environment):
        """The finished process."""
        return subprocess.run([SCRIPT, *map(str, arguments)], cwd=self.folder, capture_output=True, text=True, check=False,
                              env={**os.environ, "ALLREPLAY_PROGRAM": str(PROGRAM), **environment})

    def refused(self, message, *arguments, **environment):
        done = self.run_script(*arguments, **environment)
        self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertTrue(done.stderr.startswith(f"get_public_traces.sh: {message}"), done.stderr)

    def test_the_manifest_says_all(self):
        importers = program.output("list", "importers", env=program.WIDE)
        self.assertEqual(len({trace["name"] for trace in TRACES}), len(TRACES))
        for trace in TRACES:
            with self.subTest(trace["name"]):
                self.assertRegex(trace["repository"], r"^https://github\.com/[\w-]+/[\w-]+$")
                self.assertRegex(trace["commit"], r"^[0-9a-f]{40}$")
                self.assertRegex(trace["sha256"], r"^[0-9a-f]{64}$")
                self.assertRegex(importers, rf"(?m)^{re.escape(trace['importer'])} ")
                for key in ("licence", "hardware", "path"):
                    self.assertTrue(trace[key])

    def test_the_manifest_is_no_profile(self):
        listed = program.output("list", "profiles", env=program.WIDE)
        self.assertNotRegex(listed, r"(?m)^public\b")
        done = program.run("run", "--profile", "public", "--cluster", "k80-10gbe", "--strategy", "wfbp")
        self.assertEqual(done.returncode, 2)
        self.assertIn("public: no such file, and no profile of that name in traces/", done.stderr)

    def test_the_list(self):
        done = self.run_script("--list")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for trace in TRACES:
            self.assertIn(trace["name"], done.stdout)
            self.assertIn(f"{trace['commit']}/{trace['path']}", done.stdout)
        self.assertEqual(len(self.run_script("--list", "--only", TRACES[2]["name"]).stdout.splitlines()), 2)

    def test_wrong_arguments(self):
        self.refused("no option '--frm-dir' (see --help)", "--frm-dir", ".")
        self.refused("--only needs a value (see --help)", "--only")
        self.refused("--from-dir: no folder absent (see --help)", "--from-dir", "absent")
        self.refused("no trace 'resnet' (there are: resnet50_v100_b32_kineto ", "--only", "resnet")
        self.refused(f"{self.folder}/.: no file in it is {TRACES[0]['name']} ", "--from-dir", ".")
        self.assertEqual(list(self.folder.iterdir()), [])

    @unittest.skipUnless(ORIGINALS.is_dir(), f"no originals in {ORIGINALS}")
    def test_files_that_one_has(self):
        done = self.run_script("--from-dir", ORIGINALS, "--out", "traces of others")
        self.assertEqual(done.returncode, 0, done.stderr)
        out = self.folder / "traces of others"
        self.assertEqual(sorted(path.name for path in out.iterdir()), sorted(f"{trace['name']}.json" for trace in TRACES))
        for trace in TRACES:
            made = json.loads((out / f"{trace['name']}.json").read_text(encoding="utf-8"))
            self.assertEqual(made["origin"], "imported")
            ran = program.run("run", "--profile", out / f"{trace['name']}.json", "--cluster", "k80-10gbe", "--strategy", "wfbp", "--json")
            self.assertEqual(ran.returncode, 0, ran.stderr)
            self.assertGreater(json.loads(ran.stdout)["backward_s"], 0.02)

    @unittest.skipUnless(ORIGINALS.is_dir(), f"no originals in {ORIGINALS}")
    def test_a_changed_file_is_not_taken(self):
        trace = next(trace for trace in TRACES if trace["name"] == "vgg16_v100_b128_pipedream")
        data = bytearray((ORIGINALS / "pipedream" / "vgg16_graph.txt").read_bytes())
        data[100] ^= 1
        (self.folder / "graph.txt").write_bytes(data)
        self.refused(f"{self.folder}/.: no file in it is {trace['name']} ", "--only", trace["name"], "--from-dir", ".", "--out", "out")
        self.assertEqual([path.name for path in self.folder.iterdir()], ["graph.txt"])

    @unittest.skipUnless(ORIGINALS.is_dir(), f"no originals in {ORIGINALS}")
    def test_fetching(self):
        trace = next(trace for trace in TRACES if trace["name"] == "alexnet_v100_b256_pipedream")
        served = ORIGINALS / "pipedream" / "alexnet_graph.txt"
        self.assertEqual(hashlib.sha256(served.read_bytes()).hexdigest(), trace["sha256"])
        stubs = self.folder / "stubs"
        stubs.mkdir()
        (stubs / "curl").write_text(CURL.format(python=sys.executable), encoding="utf-8")
        (stubs / "curl").chmod(0o755)
        log, out = self.folder / "log", self.folder / "out"
        kept = out / "originals" / trace["name"] / "graph.txt"
        part = kept.with_name("graph.txt.part")
        address = f"https://raw.githubusercontent.com/msr-fiddle/pipedream/{trace['commit']}/{trace['path']}"

        def fetch(how):
            log.write_text("", encoding="utf-8")
            done = self.run_script("--only", trace["name"], "--out", "out", SERVED=str(served), LOG=str(log), HOW=how,
                                   PATH=f"{stubs}{os.pathsep}{os.environ['PATH']}")
            self.assertEqual((out / f"{trace['name']}.json").exists(), done.returncode == 0)
            return done, [line.split(" ", 1) for line in log.read_text(encoding="utf-8").splitlines()]

        size = trace["bytes"]
        done, asked = fetch("down")
        self.assertEqual((done.returncode, done.stderr), (2, f"get_public_traces.sh: {address}: cannot be fetched (--from-dir takes files that you have)\n"))
        self.assertEqual(asked, [["0", address]])
        done, asked = fetch("wrong")
        self.assertEqual((done.returncode, done.stderr),
                         (2, f"get_public_traces.sh: {address}: is not the file that traces/public.json names: another SHA-256\n"))
        self.assertFalse(part.exists() or kept.exists())
        done, asked = fetch("cut")
        self.assertEqual((done.returncode, part.stat().st_size, kept.exists()), (2, size // 2, False))
        done, asked = fetch("cut")  # goes on, and is cut once more
        self.assertEqual((done.returncode, part.stat().st_size), (2, size // 2 + (size - size // 2) // 2))
        self.assertEqual(asked[0][0], str(size // 2))
        done, asked = fetch("")  # goes on to the end
        self.assertEqual((done.returncode, len(asked), part.exists()), (0, 1, False), done.stderr)
        self.assertEqual(kept.read_bytes(), served.read_bytes())
        done, asked = fetch("down")  # what is there is not fetched again
        self.assertEqual((done.returncode, asked), (0, []))
        # A server that cannot go on, and a part of something else: both start again.
        for how, left in (("refuse", served.read_bytes()[:1000]), ("", b"x" * 1000)):
            shutil.rmtree(out)
            part.parent.mkdir(parents=True)
            part.write_bytes(left)
            done, asked = fetch(how)
            self.assertEqual((done.returncode, [have for have, _ in asked]), (0, ["1000", "0"]), done.stderr)
            self.assertEqual(kept.read_bytes(), served.read_bytes())


if __name__ == "__main__":
    unittest.main()
