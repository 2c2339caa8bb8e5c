#!/usr/bin/env python3
"""The Python module says what the program says, in numbers and in words; strategies, timelines, threads, bad input."""

import json
import math
import os
import subprocess
import sys
import tempfile
import threading
import unittest
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from program import ROOT, Case, answer, listed, needs_program, output, refusal, run  # noqa: E402

import allreplay  # noqa: E402
from allreplay import _core  # noqa: E402

warnings.simplefilter("ignore", allreplay.SimulationWarning)

SIX = str(ROOT / "docs" / "examples" / "six_layers.json")
EIGHT = str(ROOT / "docs" / "examples" / "eight_workers.json")


def untimed(value):
    """Without what a clock of this machine measured."""
    if isinstance(value, list):
        return [untimed(one) for one in value]
    return {key: untimed(one) for key, one in value.items() if key != "wall_s"} if isinstance(value, dict) else value


def flags(options):
    """The options as the command line has them."""
    words = []
    for key, value in options.items():
        words.append("--" + key.replace("_", "-"))
        words += [] if value is True else [str(value)]
    return words


@needs_program
class Results(unittest.TestCase):
    def same(self, command, *positional, **options):
        printed = answer(command, *positional, *flags(options), cwd=ROOT)
        self.assertEqual(untimed(allreplay.call(command, *positional, **options)), untimed(printed))
        return printed

    def test_every_strategy_of_some_profiles_and_clusters(self):
        for profile, cluster, more in [("googlenet_k80_b32", "k80-10gbe", {"workers": 16}),
                                       ("bert_base_v100_b32", "v100-56gbib", {}),
                                       (SIX, EIGHT, {"accumulate": 2}),
                                       ("resnet50_k80_b16", "k80-10gbe", {"codec": "qsgd", "fidelity": "alpha-beta"}),
                                       ("googlenet_k80_b32", "fat-tree-4", {"fidelity": "fluid", "strategies": "wfbp,dear,fsdp2"})]:
            with self.subTest(profile=profile, cluster=cluster):
                rows = self.same("compare", profile=profile, cluster=cluster, **more)
                options = {key: value for key, value in more.items() if key != "strategies"}
                for row in rows[::4]:
                    one = allreplay.run(profile, cluster, row["strategy"], **options)
                    del row["doubted_iteration_s"]  # a comparison's own
                    self.assertEqual(untimed(one.to_dict()), untimed(row))

    def test_every_command_with_json(self):
        case = {"profile": SIX, "cluster": EIGHT}
        self.same("run", **case, strategy="ddp", option="bucket_cap=1 MiB")
        self.same("plan", **case, strategy="zero-3")
        self.same("tune", **case, strategy="ddp", budget=6)
        self.same("recommend", **case, strategies="wfbp,ddp", budget=4, workers="4:16:x2")
        whatif = self.same("whatif", **case, budget=2)
        self.assertEqual(len(allreplay.whatif(**case, budget=2)), 1 + len(whatif["rows"]) + len(whatif["together"]))
        enough = self.same("whatif", **case, strategy="wfbp", target="exposed<50%", vary="network.bandwidth")
        rows = records(allreplay.whatif(**case, strategy="wfbp", target="exposed<50%", vary="network.bandwidth"))
        self.assertEqual([row["value"] for row in rows[1:]], [step["value"] for step in enough["steps"]])
        self.same("run", **case, strategy="wfbp", samples="90M", price="2.5/h")
        jobs = self.same("jobs", str(ROOT / "docs/examples/two_jobs.json"))
        self.assertEqual({**allreplay.jobs(ROOT / "docs/examples/two_jobs.json"), "wall_s": 0}, {**jobs, "wall_s": 0})
        judged = self.same("judge", **case, strategy="ddp", iteration=0.5)
        self.assertEqual(allreplay.judge(**case, strategy="ddp", iteration=0.5), judged)
        diagnosis = self.same("diagnose", str(ROOT / "docs/examples/slow_worker.csv"))
        self.assertEqual(allreplay.diagnose(ROOT / "docs/examples/slow_worker.csv"), diagnosis)
        self.same("topology", cluster="fat-tree-4")
        words = {"nodes": 2, "gpus": 4, "network": "100Gbit/s", "inner": "200 GB/s", "inner_alpha": "2us", "rails": 4}
        printed = self.same("compare", profile=SIX, strategies="ddp,wfbp", **words)
        self.assertEqual([row["iteration_s"] for row in records(allreplay.compare(SIX, strategies="ddp,wfbp", **words))],
                         [row["iteration_s"] for row in printed])
        in_sweep = allreplay.sweep({"name": "s", "profiles": [SIX], "clusters": [words], "strategies": ["ddp", "wfbp"]})
        self.assertEqual([row["iteration_s"] for row in records(in_sweep)], [row["iteration_s"] for row in printed])
        self.same("collective", cluster="leaf-spine-64", placement="spread", fidelity="fluid", bytes="1MiB")
        self.same("collective", cluster="h100x8-8x400gbps", bytes="1MiB:64MiB:x4")

    def test_codecs_and_collectives_as_dicts(self):
        case = {"profile": SIX, "cluster": EIGHT, "strategy": "wfbp", "workers": 2}
        file = sorted((ROOT / "models" / "codecs").glob("*.json"))[0]
        given = allreplay.run(**case, codec=json.loads(file.read_text(encoding="utf-8")))
        self.assertEqual(given.iteration_s, allreplay.run(**case, codec=str(file)).iteration_s)
        own = {"bytes": "4 * elements / 3", "collective": "all-reduce", "error_feedback": False, "device": "any", "origin": "estimated", "source": "ours",
               "encode": {"base": "0 s", "per_element": "0 s"}, "decode": {"base": "0 s", "per_element": "0 s"}}
        self.assertLess(allreplay.run(**case, codec=own).iteration_s, allreplay.run(**case).iteration_s)
        self.assertNotEqual(given.iteration_s, allreplay.run(**case).iteration_s)
        # One round of the whole tensor, where a ring of two sends halves in two rounds.
        exchange = {"name": "exchange", "operation": "all-reduce", "ranks": 2, "chunks": 1,
                    "rounds": [{"sends": [{"from": 0, "to": 1, "chunk": 0, "reduce": True}, {"from": 1, "to": 0, "chunk": 0, "reduce": True}]}]}
        rows = records(allreplay.compare(SIX, EIGHT, "wfbp", workers=2, collective=["ring", exchange]))
        self.assertEqual([row["collective"] for row in rows], ["ring", "exchange"])
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "exchange.json").write_text(json.dumps(exchange), encoding="utf-8")
            self.assertEqual(allreplay.run(**case, collective=Path(folder) / "exchange.json").iteration_s, rows[1]["iteration_s"])

    def test_every_profile_and_cluster(self):
        """With a strategy in turn: each profile, each cluster and each strategy at least once, what cannot be together as well."""
        profiles, clusters, strategies = listed("profiles"), listed("clusters"), listed("strategies")
        worked = 0
        for i, profile in enumerate(profiles):
            case = {"profile": profile, "cluster": clusters[i % len(clusters)], "strategy": strategies[i % len(strategies)], "fidelity": "alpha-beta"}
            with self.subTest(**case):
                done = run("run", *flags(case), "--json", cwd=ROOT)
                if done.returncode == 0:
                    self.assertEqual(untimed(allreplay.call("run", **case)), untimed(json.loads(done.stdout)))
                    worked += 1
                else:
                    with self.assertRaises(allreplay.InputError) as caught:
                        allreplay.call("run", **case)
                    self.assertEqual(str(caught.exception) + "\n", done.stderr)
        self.assertGreater(worked, len(profiles) // 2)
        self.assertGreaterEqual(len(profiles), max(len(clusters), len(strategies)))

    def test_commands_that_read_and_write_files(self):
        with tempfile.TemporaryDirectory() as folder:
            log = Path(folder) / "log.csv"
            log.write_text("bytes,seconds\n" + "".join(f"{n},{1e-4 + 1e-9 * n}\n" for n in (1000, 10_000, 1_000_000, 100_000_000)))
            self.same("calibrate", str(log), workers=8, collective="ring")
            self.same("validate", str(ROOT / "docs/examples/six_layers_measured.csv"))
            chakra = {"profile": SIX, "cluster": EIGHT, "strategy": "fsdp2", "to": "chakra-json"}
            rows = Path(folder) / "rows.csv"
            allreplay.sweep({"name": "one", "profiles": ["googlenet_k80_b32"], "clusters": ["k80-10gbe"], "strategies": ["wfbp", "ddp"]}, out=rows)
            for command, positional, options, out in (("export", [], chakra, "et.json"), ("report", [rows], {}, "page.html")):
                with self.subTest(command):
                    output(command, *positional, *flags(options), "--out", Path(folder) / f"there {out}", cwd=ROOT)
                    allreplay.call(command, *positional, **options, out=Path(folder) / f"here {out}")
                    self.assertEqual((Path(folder) / f"here {out}").read_bytes(), (Path(folder) / f"there {out}").read_bytes())

    def test_a_codec_gives_the_same_for_drawn_vectors(self):
        """All but the times, which it measures."""
        options = {"codec": "topk", "elements": 10_000, "workers": 4, "iterations": 3}
        printed = answer("codec", *flags(options))
        made = allreplay.call("codec", **options)
        self.assertEqual(list(made), list(printed))
        drawn = [key for key in printed if not key.endswith("_s")]
        self.assertGreater(len(drawn), 3)
        self.assertEqual({key: made[key] for key in drawn}, {key: printed[key] for key in drawn})

    def test_a_sweep(self):
        config = {"name": "two", "profiles": [SIX], "clusters": [EIGHT], "workers": [2, 4],
                  "strategies": ["wfbp", {"name": "ddp", "bucket_cap": ["1 MiB", "4 MiB"]}]}
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "two.json"
            file.write_text(json.dumps(config))
            printed = untimed(self.same("sweep", str(file)))
        rows = records(allreplay.sweep(config))
        self.assertEqual([row["iteration_s"] for row in rows], [row["iteration_s"] for row in printed])
        config["profiles"] = [allreplay.Profile(Path(SIX).read_text(), "six"), {"profile": json.loads(Path(SIX).read_text())}]
        rows = records(allreplay.sweep(config))
        self.assertEqual({row["profile"] for row in rows}, {"six", "<profile>"})
        self.assertEqual([row["iteration_s"] for row in rows[:6]], [row["iteration_s"] for row in printed])

    def test_a_sweep_with_a_plan(self):
        """A dict, as one changes it, next to strategies."""
        plan = json.loads((ROOT / "docs/examples/by_hand.json").read_text())
        rows = records(allreplay.sweep({"name": "plans", "profiles": [SIX], "clusters": [EIGHT], "plans": [allreplay.Plan(plan, "mine")], "strategies": ["wfbp"]}))
        self.assertEqual(rows[0]["options"]["plan"], "mine")
        self.assertEqual(rows[0]["iteration_s"], allreplay.simulate(SIX, EIGHT, plan).iteration_s)

    def test_commands_that_write_traces(self):
        with tempfile.TemporaryDirectory() as folder:
            for command, positional, options in [
                    ("import", [ROOT / "docs/examples/two_layers.pt.trace.json"], {}),
                    ("estimate", [], {"model": "gpt2", "device": "a100-80gb", "batch": 4})]:
                with self.subTest(command):
                    file = Path(folder) / f"{command}.json"
                    output(command, *positional, *flags(options), "--out", file, cwd=ROOT)
                    if command == "import":
                        made = allreplay.import_trace(*positional)
                    else:
                        made = allreplay.estimate(**options)
                    self.assertEqual(made.text, file.read_text())
                    self.assertEqual(made.to_dict(), json.loads(file.read_text()))

    def test_text_output_of_the_command_line(self):
        self.assertEqual(allreplay.call("completion", "bash"), output("completion", "bash"))

    def test_names(self):
        self.assertEqual(allreplay.names("strategies"), listed("strategies"))
        self.assertEqual(allreplay.__version__, output("--version").split()[1])

    def test_pictures_are_the_programs(self):
        with tempfile.TemporaryDirectory() as folder:
            for kind, option in (("timeline", "--timeline"), ("bars", "--plot")):
                file = Path(folder) / f"{kind}.svg"
                output("compare", "--profile", SIX, "--cluster", EIGHT, "--strategies", "wfbp,ddp", option, file)
                picture = allreplay.plot(SIX, EIGHT, ["wfbp", "ddp"], kind=kind)
                self.assertEqual(picture._repr_svg_(), file.read_text())
                own = Path(folder) / f"own {kind}.svg"
                allreplay.plot(SIX, EIGHT, ["wfbp", "ddp"], kind=kind, out=own)
                self.assertEqual(own.read_bytes(), file.read_bytes())

    def test_files_that_change_are_read_again(self):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "mine.json"
            trace = json.loads(Path(SIX).read_text())
            file.write_text(json.dumps(trace))
            before = allreplay.run(file, EIGHT, "wfbp")
            for layer in trace["layers"]:
                layer["backward"] *= 2
            file.write_text(json.dumps(trace))
            self.assertAlmostEqual(allreplay.run(file, EIGHT, "wfbp").backward_s, 2 * before.backward_s)


def records(table):
    return table.to_dict("records") if hasattr(table, "to_dict") else list(table)


@needs_program
class Errors(unittest.TestCase):
    """The line that the program prints, and its parts."""

    def same(self, command, *positional, **options):
        error = refusal(command, *positional, *flags(options), cwd=ROOT)
        with self.assertRaises(allreplay.InputError) as caught:
            allreplay.call(command, *positional, **options)
        self.assertEqual(str(caught.exception) + "\n", error)
        return caught.exception

    def test_word_for_word(self):
        case = {"profile": SIX, "cluster": EIGHT}
        self.same("run", **case)
        self.same("run", profile=SIX, strategy="wfbp")
        self.same("run", **case, strategy="wbfp")
        self.same("run", **case, strategy="tensor-parallel")
        self.same("run", **case, strategy="wfbp", worker=8)
        self.same("run", **case, strategy="wfbp", option="bucket=1")
        self.same("run", **case, strategy="wfbp", workers="many")
        self.same("run", **case, strategy="ddp", zero=1, codec="qsgd")
        self.same("compare", **case, strategies="wfbp,x")
        self.same("tune", **case, strategy="wfbp")
        self.same("topology", cluster="nowhere")
        self.same("calibrate", "nowhere.log")
        self.same("calibrate", ROOT / "README.md", name="x")
        self.same("sweep", "nowhere")
        self.same("sweep", "nowhere", csv=True, json=True)
        self.same("list", "everything")
        self.same("import", ROOT / "README.md", out="/tmp/never.json")
        error = self.same("run", profile=ROOT / "docs/examples/by_hand.json", cluster=EIGHT, strategy="wfbp")
        self.assertTrue(error.file.endswith("by_hand.json"))

    def test_parts(self):
        error = self.same("run", profile=SIX, cluster=EIGHT, strategy="ddp", option="bucket_cap=-1")
        self.assertEqual((error.file, error.place), ("command line", "--option bucket_cap"))
        self.assertTrue(error.wrong and error.remedy)
        self.assertIn(error.wrong, str(error))
        self.assertIn(error.remedy, str(error))

    def test_no_command(self):
        with self.assertRaisesRegex(allreplay.InputError, "no such command"):
            allreplay.call("frobnicate")


class BadInput(unittest.TestCase):
    def setUp(self):
        self.trace = json.loads(Path(SIX).read_text())

    def fails(self, place, wrong, profile=SIX, strategy="wfbp", **options):
        with self.assertRaises(allreplay.InputError) as caught:
            allreplay.run(profile, EIGHT, strategy, **options)
        self.assertEqual(caught.exception.place, place, str(caught.exception))
        self.assertIn(wrong, str(caught.exception))

    def test_wrong_types(self):
        self.fails("--profile", "a object is not a value", profile=object())
        self.fails("--workers", "a set is not a value", workers={3})
        self.fails("", "no such file", profile=3.5)
        self.fails("--no-reuse", "is a flag", no_reuse="yes")
        self.fails("--plan", "is a profile, not a plan", strategy=None, plan=allreplay.Profile(self.trace))

    def test_nothing_and_too_much(self):
        for option, given in (("profile", []), ("strategy", ()), ("workers", []), ("accumulate", [])):
            self.fails("--" + option, f"--{option}: has no value (a value)", **{option: given})
        self.fails("--plan", "has no value", strategy=None, plan=[])
        self.fails("", "command line: --profile is given 2 times", profile=[SIX, SIX])
        for call in (lambda: allreplay.run(SIX, [], "ddp"), lambda: allreplay.compare(SIX, EIGHT, []), lambda: allreplay.compare(SIX, EIGHT, workers=[]),
                     lambda: allreplay.call("calibrate", []), lambda: allreplay.validate([])):
            with self.assertRaisesRegex(allreplay.InputError, "^command line: .*: has no value"):
                call()

    def test_numbers_that_are_none(self):
        self.trace["layers"][2]["backward"] = math.nan
        self.fails("/layers/2/backward", "nan is not a number", profile=self.trace)
        self.trace["layers"][2]["backward"] = -1
        self.fails("/layers/2/backward", "", profile=self.trace)
        self.trace["layers"][2]["backward"] = object()
        self.fails("", "a object cannot be written as JSON", profile=self.trace)

    def test_arrays(self):
        numpy = needs_numpy()
        times = numpy.array([layer["backward"] for layer in self.trace["layers"]], dtype=float)
        for layer, time in zip(self.trace["layers"], times):
            layer["backward"] = time
        self.trace["batch_size"] = numpy.int64(self.trace["batch_size"])
        same = allreplay.run(self.trace, EIGHT, "wfbp", workers=numpy.int64(4))
        self.assertEqual(same.iteration_s, allreplay.run(SIX, EIGHT, "wfbp", workers=4).iteration_s)
        times[3] = numpy.nan
        self.trace["layers"] = [{**layer, "backward": time} for layer, time in zip(self.trace["layers"], times)]
        self.fails("/layers/3/backward", "nan is not a number", profile=self.trace)

    def test_a_plan_that_covers_nothing(self):
        with self.assertRaisesRegex(allreplay.InputError, "^<plan>: /blocks: is empty"):
            allreplay.simulate(SIX, EIGHT, {"blocks": []})
        plan = allreplay.plan(SIX, EIGHT, "wfbp").to_dict()
        short = {"blocks": plan["blocks"][1:]}
        with self.assertRaisesRegex(allreplay.InputError, "<plan>"):
            allreplay.simulate(SIX, EIGHT, short)


class Strategies(unittest.TestCase):
    def test_one_that_is_there_already(self):
        @allreplay.strategy
        def each_alone(needs, prices):
            return needs

        own = allreplay.run(SIX, EIGHT, "each-alone")
        wfbp = allreplay.run(SIX, EIGHT, "wfbp")
        self.assertEqual(own.strategy, "each-alone")
        self.assertEqual((own.iteration_s, own.collectives, own.events), (wfbp.iteration_s, wfbp.collectives, wfbp.events))
        self.assertEqual(*([block["slices"] for block in one.plan["blocks"]] for one in (own, wfbp)))

    def test_needs_and_prices(self):
        told = []

        @allreplay.strategy("one-block")
        def planner(needs, prices):
            told.extend([needs, prices.workers, prices.forward_s, prices.backward_s, prices(1000), prices(2000), prices])
            return [list(needs)]

        result = allreplay.run(SIX, EIGHT, "one-block")
        needs, workers, forward, backward, small, large, prices = told
        self.assertEqual(result.iteration_s, allreplay.run(SIX, EIGHT, "sync-easgd").iteration_s)
        self.assertEqual((workers, forward, backward), (8, result.forward_s, result.backward_s))
        self.assertEqual(sorted(need.ready_s for need in needs), [need.ready_s for need in needs])
        self.assertAlmostEqual(needs[-1].ready_s, backward)
        self.assertTrue(0 < small < large)
        with self.assertRaisesRegex(RuntimeError, "while the strategy plans"):
            prices(1)

    def test_in_compare_and_sweep_on_threads(self):
        @allreplay.strategy("halves")
        def halves(needs, prices):
            middle = len(needs) // 2
            return {"order": "as-listed", "blocks": [needs[:middle], [{"tensor": one} for one in needs[middle:]]]}

        rows = records(allreplay.compare(SIX, EIGHT, ["wfbp", "halves"], accumulate=2))
        self.assertEqual([row["strategy"] for row in rows], ["wfbp", "halves"])
        self.assertEqual(rows[1]["collectives"], 2)
        config = {"name": "s", "profiles": [SIX], "clusters": [EIGHT], "workers": list(range(2, 12)), "strategies": ["halves"]}
        two, one = (records(allreplay.sweep(config, jobs=jobs)) for jobs in (2, 1))
        self.assertEqual([row["iteration_s"] for row in two], [row["iteration_s"] for row in one])

    def test_the_last_one_of_a_name_counts(self):
        for count in (1, 2):
            allreplay.strategy("cut")(lambda needs, prices, count=count: [needs[:-1], needs[-1:]] if count == 2 else [needs])
            self.assertEqual(allreplay.run(SIX, EIGHT, "cut").collectives, count)

    def test_errors_of_one(self):
        def fails(planner, expected, place=None):
            allreplay.strategy("bad")(planner)
            with self.assertRaisesRegex(allreplay.InputError, expected) as caught:
                allreplay.run(SIX, EIGHT, "bad")
            if place:
                self.assertRegex(caught.exception.place, place)
            return caught.exception

        error = fails(lambda needs, prices: 1 / 0, "^strategy 'bad': .*raises ZeroDivisionError", r"test_module\.py:\d+$")
        self.assertIsInstance(error.__cause__, ZeroDivisionError)
        fails(lambda needs, prices: 3, "returns a int")
        fails(lambda needs, prices: None, "returns a NoneType")
        fails(lambda needs, prices: [], "strategy 'bad': /blocks: is empty")
        fails(lambda needs, prices: [needs[1:]], "strategy 'bad'")
        fails(lambda needs, prices: [needs, needs[:1]], "strategy 'bad'")
        fails(lambda needs, prices: [["nothing"]], "no tensor 'nothing'", "/blocks/0/slices/0")
        fails(lambda needs, prices: {"blocks": [needs], "tick": math.nan}, "nan is not a number", "/tick")
        fails(lambda needs, prices: prices(-1), "ValueError")
        fails(lambda needs, prices: prices("a"), "TypeError")
        fails(lambda needs, prices: allreplay.plan(SIX, EIGHT, "zero-3").to_dict(), "a strategy returns blocks")
        with self.assertRaisesRegex(allreplay.InputError, "built-in strategy"):
            allreplay.strategy("wfbp")(lambda needs, prices: needs)

    def test_one_that_simulates(self):
        @allreplay.strategy("nested")
        def nested(needs, prices):
            return [needs] if allreplay.run(SIX, EIGHT, "sync-easgd").iteration_s < 1e9 else needs

        self.assertEqual(allreplay.run(SIX, EIGHT, "nested").collectives, 1)


def needs_numpy():
    try:
        import numpy
    except ImportError:
        raise unittest.SkipTest("skipped: no NumPy")
    return numpy


class Timelines(unittest.TestCase):
    def setUp(self):
        needs_numpy()
        self.result = allreplay.run(SIX, EIGHT, "ddp")

    def test_arrays_are_the_simulations_own_memory(self):
        first, second = self.result.timeline, self.result.timeline
        self.assertIsNot(first, second)
        for name in ("ready", "start", "end", "kind", "item"):
            one, other = getattr(first, name), getattr(second, name)
            self.assertEqual(one.ctypes.data, other.ctypes.data)
            self.assertFalse(one.flags.owndata)
            with self.assertRaises(ValueError):
                one[0] = 1
        self.assertEqual(first.start.strides, (24,))  # ready, start and end of a task stand beside each other

    def test_they_outlive_the_result(self):
        end = self.result.timeline.end
        copy = end.copy()
        del self.result
        for _ in range(20):
            allreplay.run(SIX, EIGHT, "wfbp")
        self.assertTrue((end == copy).all())

    def test_a_timeline_agrees_with_the_metrics(self):
        timeline = self.result.timeline
        transfers = timeline.kind == timeline.kinds.index("transfer")
        self.assertEqual(transfers.sum(), self.result.collectives)
        self.assertTrue((timeline.ready <= timeline.start).all() and (timeline.start <= timeline.end).all())
        backward = timeline.kind == timeline.kinds.index("backward")
        busy = (timeline.end - timeline.start)[backward].sum() * 1e-12
        self.assertAlmostEqual(busy, self.result.backward_s)
        self.assertEqual({bar.activity for bar in timeline.bars()}, {"backward", "forward", "collective"})
        self.assertEqual(timeline._repr_svg_(), allreplay.plot(SIX, EIGHT, "ddp")._repr_svg_())

    def test_a_plan_can_be_changed_and_replayed(self):
        plan = self.result.plan
        same = allreplay.simulate(SIX, EIGHT, plan)
        self.assertEqual(same.iteration_s, self.result.iteration_s)
        short = {key: plan[key] for key in ("strategy", "order", "window", "barrier", "blocks")}
        self.assertEqual(allreplay.simulate(SIX, EIGHT, short).iteration_s, self.result.iteration_s)
        self.assertIn("<table>", plan._repr_html_())


class Module(unittest.TestCase):
    def test_only_the_program_makes_its_objects(self):
        for kind in (_core.Replayed, _core.Prices, _core.Answer):
            for make in (lambda: kind(), lambda: kind.__new__(kind), lambda: object.__new__(kind)):
                with self.assertRaises(TypeError):
                    make()

    def test_a_daemon_s_call_is_waited_for(self):
        """An interpreter that ends would end threads that come back from a call, in the middle of it. A call of a function that runs
        at the end is as any other."""
        work = f"""if True:
            import threading, time
            import allreplay
            def work():
                while True:
                    allreplay.run({SIX!r}, {EIGHT!r}, "ddp")
            for _ in range(4):
                threading.Thread(target=work, daemon=True).start()
            time.sleep(0.3)"""
        last = f"import atexit; atexit.register(lambda: print(allreplay.run({SIX!r}, {EIGHT!r}, 'ddp').strategy))\n"
        for script, printed in ((work, ""), (work, ""), (work, ""), (last + work, "ddp\n")):
            done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, printed, ""))

    def test_a_package_that_is_not_built_says_so(self):
        done = subprocess.run([sys.executable, "-c", "import allreplay"], capture_output=True, text=True,
                              env={**os.environ, "PYTHONPATH": str(ROOT / "python")})
        self.assertRegex(done.stderr, r"ModuleNotFoundError: no allreplay\._core for Python 3\.\d+ in .*: the compiled part of this package is not built")
        self.assertNotIn("circular", done.stderr)

    def test_threads_agree(self):
        expected = [allreplay.run(SIX, EIGHT, "ddp", workers=workers).iteration_s for workers in range(2, 10)]
        found, failed = {}, []

        def work(number):
            try:
                found[number] = [allreplay.run(SIX, EIGHT, "ddp", workers=workers).iteration_s for workers in range(2, 10)]
                try:
                    allreplay.run(SIX, EIGHT, f"none-{number}")
                except allreplay.InputError as error:
                    assert f"none-{number}" in str(error)
            except BaseException as error:  # noqa: BLE001
                failed.append(error)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failed, [])
        self.assertEqual(found, {number: expected for number in range(4)})

    def test_warnings(self):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            allreplay.run(SIX, EIGHT, "wfbp", bucket_cap="1 MiB")
        self.assertEqual(caught[0].filename, __file__)

    def test_nothing_is_printed(self):
        text = subprocess.run([sys.executable, "-c", f"import allreplay; allreplay.run({SIX!r}, {EIGHT!r}, 'wfbp')"],
                              capture_output=True, text=True, check=True)
        self.assertEqual((text.stdout, text.stderr), ("", ""))

    def test_tables_without_pandas(self):
        code = ("import sys; sys.modules['pandas'] = None; import allreplay\n"
                f"rows = allreplay.compare({SIX!r}, {EIGHT!r}, ['wfbp', 'ddp'])\n"
                "print(type(rows).__name__, len(rows), rows[1]['strategy'], '<table>' in rows._repr_html_())")
        text = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        self.assertEqual(text.stdout, "Rows 2 ddp True\n")

    def test_import_brings_no_large_package(self):
        code = "import sys, allreplay; print([name for name in ('numpy', 'pandas', 'logging') if name in sys.modules])"
        self.assertEqual(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout, "[]\n")

    def test_every_command_of_the_program_is_there(self):
        text = output("--help")
        for command in allreplay._commands.known():
            self.assertIn(f"\n  {command}", text)
            if command != "import":  # a keyword of Python: import_trace
                self.assertTrue(getattr(allreplay, command).__doc__)
        with self.assertRaisesRegex(AttributeError, "no attribute 'nothing'"):
            allreplay.nothing

    def test_docstrings_say_options_and_units(self):
        for name in allreplay.__all__:
            self.assertTrue(getattr(allreplay, name).__doc__, name)
        self.assertIn("workers: number of workers", allreplay.run.__doc__)

    def test_reprs(self):
        result = allreplay.run(SIX, EIGHT, "wfbp")
        self.assertIn("wfbp", repr(result))
        self.assertIn("<table>", result._repr_html_())
        self.assertIn("iteration_s", result._repr_html_())
        self.assertIn("<svg", result.timeline._repr_svg_())


class Types(Case):
    def test_mypy(self):
        package = Path(allreplay.__file__).parent
        try:
            subprocess.run([sys.executable, "-m", "mypy", "--version"], capture_output=True, check=True)
        except subprocess.CalledProcessError:
            self.skipTest("skipped: no mypy")
        self.write("use.py", "import allreplay\n\n\n@allreplay.strategy\ndef mine(needs: list[allreplay.Need], prices: allreplay.Prices) -> list[allreplay.Need]:\n"
"    return needs\n\n\nresult: allreplay.Result = allreplay.run('a', 'b', 'wfbp', workers=8)\n"
"seconds: float = result.iteration_s\npicture: str = result.timeline.svg()\n")
        self.write("mypy.ini", "[mypy]\nignore_missing_imports = True\n" "[mypy-numpy.*,pandas.*]\nfollow_imports = skip\n")
        done = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--config-file", "mypy.ini", "--python-version", "3.11",
                               "--cache-dir", str(self.folder / "cache"), str(package), "use.py"],
                              cwd=self.folder, capture_output=True, text=True, env={**os.environ, "MYPYPATH": str(package.parent)})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
