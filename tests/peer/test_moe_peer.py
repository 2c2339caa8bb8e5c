#!/usr/bin/env python3
"""The program against its peer for mixtures of experts: layers of experts, and token exchange that overlaps.

`pipelines.py` beside this file is written from the contract alone; a difference is a fault of one of the two. The
environment variables are those of `test_pipeline_peer.py`. The worked cases lie beside the measured profiles, and are
skipped where they are absent.
"""

import json
import random
import shlex
import unittest

import pipelines
import test_pipeline_peer
import test_sharded
from moe_cases import STRATEGIES, random_flat_moe_case, random_moe_case
from pipeline_cases import Case
from test_peer import SEED
from test_pipeline_peer import CASES, ROUNDING, check_laws, needs_pipelines

import program
from program import REFERENCE

WORKED = REFERENCE.parent / "cases" / "moe.json"
# The worked answer starts a pair only when both of its actions can start, and leaves token exchanges out of input
# gradients. The contract's text says otherwise (each chain for itself; outside of pairs they hold the stream).
DISPUTED = {"overlap-dualpipe-v"}


class ThePeer(unittest.TestCase):
    @program.needs(WORKED)
    def test_worked_cases(self):
        for case in json.loads(WORKED.read_text(encoding="utf-8")):
            if case["name"] not in DISPUTED:
                with self.subTest(case["name"]):
                    self.assertEqual(pipelines.replay_case(case)[1], [])


@needs_pipelines
class MixturesOfExperts(program.Case):
    given = test_pipeline_peer.Pipelines.given
    disagreement = test_pipeline_peer.Pipelines.disagreement
    replayed_from_print = test_pipeline_peer.Pipelines.replayed_from_print

    @program.needs(WORKED)
    def test_worked_cases(self):
        for case in json.loads(WORKED.read_text(encoding="utf-8")):
            with self.subTest(case["name"]):
                own = Case(case["trace"], case["cluster"], shlex.split(case["command"])[6:], case.get("files"))
                given, complaint = self.given(own)
                if "refused" in case:
                    self.assertIn(case["refused"], complaint or "")
                    self.assertTrue(complaint.startswith("exit 2:") and "\n" not in complaint, complaint)
                    continue
                self.assertIsNone(complaint)
                expected = pipelines.simulate(own.trace, own.cluster, own.words, own.files)
                self.assertEqual(pipelines.differences(given, expected), [], case["derivation"])

    def check_moe(self, strategy, overlap):
        pick, found = random.Random(f"{SEED} moe {strategy} {overlap}"), []
        for number in range(max(2, CASES // 2)):
            case = random_moe_case(pick, strategy, overlap)
            if text := self.disagreement(case, slack=ROUNDING):
                found.append(f"{strategy}, case {number}: {text}")
                break
            given, _ = self.given(case)
            check_laws(self, given, case.describe())
        self.assertFalse(found, "\n\n".join(found))

    def test_experts(self):
        for strategy in STRATEGIES:
            with self.subTest(strategy):
                self.check_moe(strategy, False)

    def test_overlap(self):
        for strategy in STRATEGIES:
            with self.subTest(strategy):
                self.check_moe(strategy, True)


    def test_a_printed_plan_determines_its_replay(self):
        for strategy in STRATEGIES:
            for overlap in (False, True):
                case = random_moe_case(random.Random(f"{SEED} plan {strategy}"), strategy, overlap)
                given, complaint = self.given(case)
                self.assertIsNone(complaint, case.describe())
                found = self.replayed_from_print(case)
                for key in given.keys() - {"wall_s", "options"}:
                    self.assertEqual(found[key], given[key], f"{key}: {case.describe()}")


@needs_pipelines
class WithoutPipeline(program.Case):
    disagreement = test_sharded.Sharded.disagreement

    def test_random_cases(self):
        for strategy in STRATEGIES:
            pick = random.Random(f"{SEED} flat moe {strategy}")
            for number in range(max(2, CASES // 2)):
                case = random_flat_moe_case(pick, strategy)
                self.assertIsNone(self.disagreement(case), f"{strategy}, case {number}")

    def test_a_printed_plan_determines_its_replay(self):
        for strategy in STRATEGIES:
            case = random_flat_moe_case(random.Random(f"{SEED} flat plan {strategy}"), strategy)
            case.write(self.folder)
            files, words = ["-p", "trace.json", "-c", "cluster.json"], [word for word in case.words if word != "--json"]
            given = json.loads(self.run_program("run", *files, *words, "--json").stdout)
            plan = self.run_program("plan", *files, *words, "--json")
            self.write("plan.json", plan.stdout)
            options = [part for place, word in enumerate(words) if word == "-o" for part in words[place:place + 2]]
            done = self.run_program("run", *files, "--plan", "plan.json", *options, "--json")
            self.assertEqual(done.returncode, 0, f"{done.stderr}{case.describe()}")
            found = json.loads(done.stdout)
            for key in given.keys() - {"wall_s", "options"}:
                self.assertEqual(found[key], given[key], f"{key}: {case.describe()}")


if __name__ == "__main__":
    unittest.main()
