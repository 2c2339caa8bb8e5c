#!/usr/bin/env python3
"""A cluster in words: each command says what it says of the file that they stand for. Run: python3 tests/programs/command/test_cluster_words.py"""
import json
import shlex
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from program import WIDE, Case, answer, needs_program, output, refusal, run  # noqa: E402

PROFILE = ["--profile", "resnet50_p100_b64"]
WORDS = ["--nodes", "4", "--gpus", "4", "--network", "100Gbit/s", "--inner", "200 GB/s", "--rails", "2"]
# As the words read: what has no word is 5 us between nodes and 1 us inside.
NETWORK = {"node": {"workers": 4, "alpha": "1 us", "bandwidth": "200 GB/s"}, "alpha": "5 us", "bandwidth": "100 Gbit/s", "rails": 2}
NAME = "4x4 100 Gbit/s, 200 GB/s inside (rails 2)"
PLAIN = (["--nodes", "16", "--gpus", "1", "--network", "10Gbit/s"], {"alpha": "5 us", "bandwidth": "10 Gbit/s"}, "16x1 10 Gbit/s")


def untimed(value, *more):
    """Without what is another number in every run, and the words of a command to run."""
    if isinstance(value, list):
        return [untimed(one, *more) for one in value]
    if isinstance(value, dict):
        return {key: untimed(one, *more) for key, one in value.items() if key not in ("wall_s", "run", "flags", *more)}
    return value


@needs_program
class ClusterWords(Case):
    maxDiff = None

    def file(self, network, name, workers=16):
        path = self.folder / "file.json"
        path.write_text(json.dumps({"name": name, "workers": workers, "network": network}), encoding="utf-8")
        return ["--cluster", str(path)]

    def same(self, *command, words=(WORDS, NETWORK, NAME), but=()):
        flags, network, name = words
        in_words = answer(*command, *flags, cwd=self.folder)
        wanted = answer(*command, *self.file(network, name), cwd=self.folder)
        self.assertEqual(untimed(in_words, *but), untimed(wanted, *but))
        return in_words

    def test_every_command_gives_the_same_as_for_a_file(self):
        for fidelity in ("alpha-beta", "fluid", "message"):
            row = self.same("run", *PROFILE, "--strategy", "ddp", "--fidelity", fidelity)
            self.assertEqual((row["cluster"], row["workers"]), (NAME, 16))
        self.same("compare", *PROFILE, "--strategies", "ddp,wfbp,fsdp2")
        self.same("plan", *PROFILE, "--strategy", "mg-wfbp")
        self.same("tune", *PROFILE, "--strategy", "ddp", "--budget", "3")
        self.same("recommend", *PROFILE, "--strategies", "ddp,best", "--budget", "3", "--workers", "8:16:x2")
        self.same("whatif", *PROFILE, "--budget", "2", but=["cluster"])  # "(rails 2, rails 4)" and "(rails 2) (rails 4)"
        self.same("collective", "--bytes", "1MiB", "--collective", "hierarchical")
        self.same("topology")
        files = []
        for cluster in (WORDS, self.file(NETWORK, NAME)):
            output("export", "--to", "chakra-json", *PROFILE, "--strategy", "ddp", *cluster, "--out", "et.json", cwd=self.folder)
            files.append((self.folder / "et.json").read_bytes())
        self.assertEqual(*files)

    def test_one_gpu_a_node_is_one_level(self):
        row = self.same("run", *PROFILE, "--strategy", "ddp", words=PLAIN)
        self.assertEqual((row["cluster"], row["workers"]), (PLAIN[2], 16))

    def test_start_ups_are_said_where_they_are_given(self):
        words = [*WORDS, "--alpha", "7us", "--inner-alpha", "2 us"]
        network = {**NETWORK, "alpha": "7 us", "node": {**NETWORK["node"], "alpha": "2 us"}}
        self.same("run", *PROFILE, "--strategy", "ddp", words=(words, network, NAME.replace(" (", ", alpha 7 us, inner-alpha 2 us (")))

    def test_changes_go_on_top(self):
        slower = {**NETWORK, "bandwidth": "50 Gbit/s"}
        row = answer("run", *PROFILE, "--strategy", "ddp", *WORDS, "--bandwidth", "x0.5")
        wanted = answer("run", *PROFILE, "--strategy", "ddp", *self.file(slower, row["cluster"]))
        self.assertEqual(untimed(row), untimed(wanted))

    def test_printed_commands_replay(self):
        advice = answer("recommend", *PROFILE, *WORDS, "--strategies", "ddp,dear", "--budget", "3")
        whatif = answer("whatif", *PROFILE, *WORDS, "--budget", "2")
        rows = [(row["run"], row) for row in advice] + [(row["flags"], row) for row in [whatif["base"], *whatif["rows"]]]
        for words, row in rows:
            words = shlex.split(words) if isinstance(words, str) else words
            with self.subTest(words=words):
                self.assertNotIn("--cluster", words)
                again = answer("run", *words[words.index("--profile"):])
                self.assertEqual((again["iteration_s"], again["cluster"]), (row["iteration_s"], row.get("cluster", again["cluster"])))

    def test_twice_the_workers_are_twice_the_nodes(self):
        rows = answer("whatif", *PROFILE, *WORDS, "--budget", "1")["rows"]
        more = next(row for row in rows if row["change"] == "32 workers instead of 16")["flags"]
        self.assertEqual([more[more.index(name) + 1] for name in ("--nodes", "--gpus", "--workers")], ["8", "4", "32"])

    def test_they_can_be_kept_as_a_file(self):
        output("topology", *WORDS, "--cluster-out", "mine.json", cwd=self.folder)
        kept = json.loads((self.folder / "mine.json").read_text(encoding="utf-8"))
        self.assertEqual(kept, {"name": NAME, "workers": 16, "network": NETWORK})
        command = ["run", *PROFILE, "--strategy", "ddp", "--json"]
        self.assertEqual(*(untimed(json.loads(output(*command, *cluster, cwd=self.folder))) for cluster in (WORDS, ["--cluster", "mine.json"])))

    def test_sweeps_have_them_as_keys(self):
        entry = {"nodes": 4, "gpus": 4, "network": "100 Gbit/s", "inner": "200 GB/s", "rails": 2, "workers": [8, 16]}
        self.file(NETWORK, NAME)
        rows = []
        for cluster in (entry, {"cluster": "file.json", "workers": [8, 16]}):
            sweep = {"name": "s", "profiles": ["resnet50_p100_b64"], "clusters": [cluster], "strategies": ["ddp", "wfbp"]}
            self.write("sweep.json", sweep)
            rows.append(untimed(answer("sweep", "sweep.json", cwd=self.folder)))
        self.assertEqual(*rows)
        self.assertEqual([(row["cluster"], row["workers"]) for row in rows[0][::2]], [(NAME, 8), (NAME, 16)])
        for change, says in (({"inner": None}, "/clusters/0: "), ({"network": None}, ": "),
                             ({"workers": [16, 17]}, "/clusters/0/workers/1: "), ({"rails": 5}, "/clusters/0/rails: "), ({"nodes": 0}, "/clusters/0/nodes: "),
                             ({"cluster": "k80-10gbe"}, "/clusters/0/gpus: "), ({"inner-alpha": "1 us"}, ": ")):
            wrong = {key: value for key, value in {**entry, **change}.items() if value is not None}
            self.write("sweep.json", {**sweep, "clusters": [wrong]})
            self.assertIn(says, refusal("sweep", "sweep.json", cwd=self.folder))

    def test_nodes_of_one_gpu_have_one_rail(self):
        words = ["--nodes", "4", "--gpus", "1", "--network", "100Gbit/s"]
        plain, one = (answer("run", *PROFILE, "-s", "ddp", *words, *more) for more in ([], ["--rails", "1"]))
        self.assertEqual((one["workers"], one["iteration_s"]), (4, plain["iteration_s"]))
        output("collective", *words, "--rails", "1")

    def test_errors_are_reported_at_their_place(self):
        right = {"nodes": "4", "gpus": "4", "network": "100Gbit/s", "inner": "200GB/s"}

        def words(**changed):
            return [word for name, value in {**right, **changed}.items() if value for word in (f"--{name.replace('_', '-')}", value)]

        for arguments, says in (
                (words() + ["--cluster", "k80-10gbe"], "excludes --"),
                ([], ": "),
                (words(nodes=None), "--nodes: "),
                (words(gpus=None), "--gpus: "),
                (words(network=None), "--network: "),
                (words(inner=None), "--inner: "),
                (words(nodes="0"), "--nodes: "),
                (words(nodes="16777216", gpus="1024"), "--gpus: "),
                (words(network="100"), "--network: "),
                (words(network="0 Gbit/s"), "--network: "),
                (words(inner="200 parsecs"), "--inner: "),
                (words(alpha="5"), "--alpha: "),
                (words(inner_alpha="-1us"), "--inner-alpha: "),
                (words(gpus="1"), "--inner: "),
                (words(gpus="1", inner=None, inner_alpha="1us"), "--inner-alpha: "),
                (words(gpus="1", inner=None, rails="2"), "--rails: "),
                (words(rails="5"), "--rails: "),
                (words(workers="17"), "--workers: "),
                (words(gpus="1", inner=None, workers="5"), "--workers: ")):
            with self.subTest(arguments=arguments):
                self.assertIn(says, refusal("run", *PROFILE, "--strategy", "ddp", *arguments))
        for command, workers, status in ((["topology"], "65", 2), (["collective"], "65", 2), (["compare", *PROFILE], "65", 2),
                                         (["compare", *PROFILE], "16,65", 0), (["recommend", *PROFILE, "-s", "ddp", "--budget", "1"], "16,65", 0)):
            done = run(*command, *words(), "--workers", workers, env=WIDE)
            self.assertEqual((done.returncode, done.stdout == ""), (status, status == 2))
            self.assertIn("--workers: ", done.stderr)
            if status == 2:
                self.assertEqual(done.stderr.count("\n"), 1)
        done = run("topology", "--cluster", "h100x8-8x400gbps", "--cluster-out", "x.json", cwd=self.folder)
        self.assertEqual((done.returncode, (self.folder / "x.json").exists()), (2, False))
        self.assertIn("--cluster-out: ", done.stderr)

    def test_a_file_is_not_replaced_in_silence(self):
        change = ["topology", "--cluster", "h100x8-8x400gbps", "--bandwidth", "x2", "--cluster-out", "x.json"]
        for written in (False, True):
            done = run(*change, cwd=self.folder)
            self.assertEqual((done.returncode, "x.json" in done.stderr), (0, written))
        refusal("topology", "--cluster", "x.json", "--rails", "4", "--cluster-out", "x.json", cwd=self.folder)


if __name__ == "__main__":
    unittest.main()
