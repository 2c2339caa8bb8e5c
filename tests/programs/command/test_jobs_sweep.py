#!/usr/bin/env python3
"""Sweeps over jobs files (docs/jobs.md). Run: python3 tests/programs/command/test_jobs_sweep.py

A row is what `allreplay jobs` says of the job in the file that the row means.
ALLREPLAY_PROGRAM names the program (build/release/allreplay).
"""

import csv
import itertools
import json
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from program import Case, listed, needs_program, rows_of, untimed_rows  # noqa: E402

PROFILE = "layer,params,forward_us,backward_us\nl0,500000,400,500\nl1,500000,300,700\n"
# Two leaves of four hosts, and a spine with a quarter of the bandwidth between them.
CLUSTER = {"name": "leaves", "workers": 8, "network": {
    "alpha": "1 us", "gamma": "0 s/B", "collective": "ring", "fidelity": "fluid",
    "topology": {"kind": "leaf-spine", "leaves": 2, "hosts_per_leaf": 4, "spines": 2, "oversubscription": 4, "link": {"latency": "1 us", "bandwidth": "10 Gbit/s"}}}}
TWO = {"name": "two", "cluster": "leaves.json", "iterations": 4, "warm_up": 1,
       "jobs": [{"name": name, "profile": "p.csv", "workers": 4} for name in "ab"]}


@needs_program
class JobsSweep(Case):
    def setUp(self):
        super().setUp()
        self.write("p.csv", PROFILE)
        self.write("q.csv", PROFILE.replace("500000", "900000"))
        self.write("leaves.json", CLUSTER)
        self.write("two.json", TWO)

    def sweep(self, document, *words):
        self.write("sweep.json", document)
        return self.run_program("sweep", "sweep.json", *words)

    def rows(self, document, *words):
        done = self.sweep(document, "--json", *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def answer(self, document, *words):
        self.write("one.json", document)
        return json.loads(self.output("jobs", "one.json", "--json", *words))

    def refusal(self, document, *words):
        done = self.sweep(document, *words)
        self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (2, "", 1), done.stderr)
        return done.stderr

    def test_a_row_is_what_jobs_says(self):
        """Of each combination, in their order, with what the lists say written into the file."""
        placements, strategies, searches = ("packed", "spread"), ("wfbp", {"name": "ddp", "bucket_cap": "1 MB"}), ({}, {"stagger": 2})
        rows = self.rows({"jobs": ["two.json"], "profiles": ["q.csv"], "fidelities": ["message"], "strategies": strategies,
                          "placements": placements, "searches": searches})
        expected = []
        for strategy, placement, search in itertools.product(strategies, placements, searches):
            jobs = [{**job, "profile": "q.csv", "strategy": strategy, "placement": placement} for job in TWO["jobs"]]
            answer = self.answer({**TWO, "fidelity": "message", "jobs": jobs}, *(("--stagger", "2") if search else ()))
            for job in answer["jobs"]:
                expected.append({"jobs": "two", "job": job["name"], "profile": "q", "cluster": "leaves", "strategy": job["strategy"], "workers": 4, "fidelity": "message",
                                 "placement": placement, "placements": placement, "search": "stagger=2" if search else "none", "found_placement": placement, "offset_s": job.get("offset_s", 0),
                                 "fairness": answer["fairness"], "period_s": answer["period_s"], "makespan_s": None,
                                 "worst_slowdown": max(one["slowdown"] for one in answer["jobs"]),
                                 **{key: job[key] for key in ("iterations", "alone_s", "iteration_s", "p50_s", "p99_s", "least_s", "most_s", "slowdown", "exposed_comm_s",
                                                              "exposed_alone_s", "samples_per_s", "start_s", "end_s", "lost_s")}})
        self.assertEqual([{key: row[key] for key in expected[0]} for row in rows], expected)
        self.assertGreater(max(row["slowdown"] for row in rows), 1.01)  # they do meet where they are spread

    def test_what_is_not_named_stays(self):
        """Each job's own strategy and placement, what happens, and the file's search of places."""
        document = {**TWO, "events": [{"at": "0 s", "job": "a", "worker": 1, "slowdown": 2}], "jobs": [
            {**TWO["jobs"][0], "strategy": "ddp", "placements": ["spread", "packed"]}, {**TWO["jobs"][1], "placement": ["h1", "h2", "h5", "h6"]}]}
        rows = self.rows({"jobs": [{**document, "name": "inside"}], "searches": [{}, {"place": True, "minimise": "mean"}]})
        for row, job in zip(rows, self.answer(document)["jobs"] + self.answer(document, "--place", "--minimise", "mean")["jobs"], strict=True):
            self.assertEqual({key: row[key] for key in ("strategy", "slowdown", "alone_s")}, {key: job[key] for key in ("strategy", "slowdown", "alone_s")})
        self.assertEqual([row["search"] for row in rows], ["none"] * 2 + ["place;minimise=mean"] * 2)

    def test_placements_by_job(self):
        rows = self.rows({"jobs": ["two.json"], "placements": [{"b": ["h7", "h6", "h5", "h0"]}]})
        self.assertEqual([row["placement"] for row in rows], ["packed", '["h7","h6","h5","h0"]'])
        self.assertEqual([row["placements"] for row in rows], ['{"b":["h7","h6","h5","h0"]}'] * 2)

    def test_routing_and_changes_reach_the_network_that_all_share(self):
        """Half the bandwidth, by the flag, is what the cluster's file with half of it gives; ways are those of the cluster's."""
        network = {**CLUSTER["network"]}
        network["topology"] = {**network["topology"], "link": {"latency": "1 us", "bandwidth": "5 Gbit/s"}}
        spread = [{**job, "placement": "spread"} for job in TWO["jobs"]]
        halved = self.answer({**TWO, "cluster": {**CLUSTER, "network": network}, "jobs": spread})["jobs"]
        rows = self.rows({"jobs": ["two.json"], "placements": ["spread"]}, "--bandwidth", "x0.5")
        self.assertEqual([row["iteration_s"] for row in rows], [job["iteration_s"] for job in halved])
        adaptive = {**CLUSTER["network"], "topology": {**CLUSTER["network"]["topology"], "routing": "adaptive"}}
        routed = self.answer({**TWO, "cluster": {**CLUSTER, "network": adaptive}, "jobs": spread})["jobs"]
        rows = self.rows({"jobs": ["two.json"], "placements": ["spread"], "routing": ["d-mod-k", "adaptive"]})
        self.assertEqual([row["iteration_s"] for row in rows[2:]], [job["iteration_s"] for job in routed])
        self.assertEqual([row["routing"] for row in rows], ["d-mod-k"] * 2 + ["adaptive"] * 2)

    def test_resume_shards_and_merging(self):
        """All rows of a run, or none: a cut file is made whole, and shares are whole runs."""
        document = {"jobs": ["two.json"], "placements": ["packed", "spread", "random:1"]}
        self.assertEqual(self.sweep(document, "--out", "whole.csv").returncode, 0)
        whole = (self.folder / "whole.csv").read_text(encoding="utf-8")
        self.assertEqual(len(rows_of(self.folder / "whole.csv")), 6)
        lines = whole.splitlines(keepends=True)
        for kept in (0, 2, 3):  # rows; the third is the first of the second run
            self.write("cut.csv", "".join(lines[:1 + kept]))
            (self.folder / "cut.csv.rows").write_bytes((self.folder / "whole.csv.rows").read_bytes())
            done = self.sweep(document, "--out", "cut.csv", "--resume")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(untimed_rows((self.folder / "cut.csv").read_text(encoding="utf-8")), untimed_rows(whole))
        for share in range(2):
            self.assertEqual(self.sweep(document, "--shard", f"{share}/2", "--out", f"part-{share}.csv").returncode, 0)
            self.assertEqual(len(rows_of(self.folder / f"part-{share}.csv")) % 2, 0)
        self.assertEqual(self.sweep(document, "--merge", "part-0.csv", "part-1.csv", "--out", "merged.csv").returncode, 0)
        self.assertEqual(untimed_rows((self.folder / "merged.csv").read_text(encoding="utf-8")), untimed_rows(whole))
        self.write("two.json", {**TWO, "iterations": 5})  # other inputs: all is computed again
        done = self.sweep(document, "--out", "whole.csv", "--resume")
        self.assertTrue(done.stderr)

    def test_a_figure_and_a_table_of_it(self):
        plot = {"kind": "columns", "x": "placement", "y": "slowdown", "series": "job", "panels": "jobs"}
        self.sweep({"jobs": ["two.json"], "placements": ["packed", "spread"], "plot": plot}, "--out", "rows.csv")
        self.assertEqual(self.run_program("plot", "rows.csv", "--config", "sweep.json", "--out", "figure.svg").returncode, 0)
        self.assertIn("spread", (self.folder / "figure.svg").read_text(encoding="utf-8"))

    def test_columns_are_listed(self):
        done = self.sweep({"jobs": ["two.json"]}, "--csv")
        self.assertEqual(next(csv.reader(done.stdout.splitlines())), listed("job-columns"))

    def test_what_is_refused(self):
        classes = {**TWO, "name": "classes", "jobs": [{"profile": "p.csv", "workers": 4, "classes": [{"workers": 4, "batch": 8}]}]}
        event = {**TWO, "events": [{"at": "0 s", "job": "b", "worker": 3, "stall": "1 ms"}]}
        for document, wrong in (
                ({"jobs": []}, "/jobs: is empty"),
                ({"jobs": ["none.json"]}, "none.json"),
                ({"jobs": ["two.json", "two.json"]}, "/jobs/1: two jobs files are called 'two'"),
                ({"jobs": [{key: value for key, value in TWO.items() if key != "name"}]}, "/jobs/0: has no name"),
                ({"jobs": ["two.json"], "placements": ["pakced"]}, "/placements/0"),
                ({"jobs": ["two.json"], "placements": [{"c": "packed"}]}, "/placements/0/c: no job 'c'"),
                ({"jobs": ["two.json"], "searches": [{"stager": 4}]}, "/searches/0/stager: unknown key"),
                ({"jobs": ["two.json"], "searches": [{"minimise": "mean"}]}, "/searches/0/minimise: needs a search"),
                ({"jobs": ["two.json"], "workers": [5]}, "workers"),  # 10 of 8 seats
                ({"jobs": [classes], "workers": [2]}, "/workers/0: 'job1' has classes"),
                ({"jobs": [event], "workers": [3]}, "/workers/0: 'b' has a worker named by an event"),
                ({"jobs": ["two.json"], "fidelities": ["alpha-beta"]}, "alpha-beta has no links"),
                ({"jobs": ["two.json"], "place": ["packed"]}, "unknown key 'place'")):
            with self.subTest(document):
                self.assertIn(wrong, self.refusal(document))
        for flag, value in (("--placement", "spread"), ("--stragglers", "0:2")):
            self.assertIn(f"{flag}: ", self.refusal({"jobs": ["two.json"]}, flag, value))


if __name__ == "__main__":
    unittest.main()
