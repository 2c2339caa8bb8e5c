#!/usr/bin/env python3
"""The program against its peer where gradients are compressed: codecs on every plan, and MergeComp's groups.

`coded.py` beside this file is written from the contract alone; a difference is a fault of one of the two. The
environment variables are those of `test_peer.py`; ALLREPLAY_CODEC_CASES is the number of random cases.
"""

import functools
import json
import os
import random
import unittest
from fractions import Fraction

import coded
import reference
from coded import Block, Codec, Coding, Schedule, WireCost
from reference import MICROSECOND, Layer
from test_peer import PROFILES, SEED, Comparison, Network, all_reduce_cost, allreplay, answer, csv_text, \
    decimal, random_layers, random_network, random_slowdowns, trace_text, unique_names

from program import ROOT  # noqa: E402, found where test_peer looks

CASES = int(os.environ.get("ALLREPLAY_CODEC_CASES", "200"))
FILES = ROOT / "models" / "codecs"

OWN = ["s-sgd", "wfbp", "sync-easgd", "mg-wfbp", "ddp", "horovod", "bytescheduler", "p3",
       "dear"]  # the peer makes the same plan
GIVEN = ["optimal-merge", "mergecomp", "us-byte"]  # the peer replays the program's, and checks what the plan promises


class Scenario:
    """Numbers for the peer, and the same as files and arguments for the program."""

    def __init__(self, folder, layers, network, slowdowns, codec=None, constants=None, name="case", precision="fp32",
                 profile=None, carrier=None, **options):
        """constants: how the codec's file writes its stages; without them the project's own file is meant. carrier: an
        explicit collective."""
        self.layers, self.slowdowns, self.workers = layers, slowdowns, len(slowdowns)
        self.element = 4 if precision == "fp32" else 2
        self.codec_name, self.options = codec, options  # the name of its file, as of profiles
        self.profile = profile or folder / f"{name}.json"
        if profile is None:
            self.profile.write_text(trace_text(layers, precision), encoding="utf-8")
        cluster = folder / f"{name}-cluster.json"
        stragglers = [{"worker": place, "slowdown": float(factor)}
                      for place, factor in enumerate(slowdowns) if factor != 1]
        cluster.write_text(json.dumps({"name": "random", "workers": self.workers, "network": network.document} |
                                      ({"stragglers": stragglers} if stragglers else {})))
        self.arguments = ["--profile", self.profile, "--cluster", cluster]
        for key, (text, _) in options.items():
            self.arguments += ["--option", f"{key}={text}"]

        cost = all_reduce_cost(network, self.workers)
        self.codec, self.collective = None, network.collective
        halves = split_costs(network, self.workers, cost)
        self.cost = WireCost(cost.a, cost.b, self.workers, lambda size: size, halves)
        if codec is not None:
            path = FILES / f"{codec}.json"
            if constants is not None:
                self.codec_name = f"{name}-codec"
                path = folder / f"{name}-codec.json"
                path.write_text(json.dumps({"codec": codec, "device": "none", "origin": "estimated",
                                            "source": "random"} | constants))
            self.arguments += ["--codec", codec if constants is None else path]
            self.collective = carrier or coded.KINDS[codec].collective or network.collective
            self.arguments += ["--collective", carrier] if carrier else []
            own = {key: self.value(key) for key in ("density", "bits", "encode", "decode") if key in options}
            self.codec = Codec(codec, coded.read_codec(path), self.workers, self.collective,
                               self.element, **own)
            a, b = cost.a, cost.b
            if self.collective != network.collective:
                a, b = coded.gathering(self.collective, self.workers, network.alpha, network.beta)
                halves = [(a / 2, Fraction(b) / 2)] * 2
            self.cost = WireCost(a, b, self.workers, self.codec.wire, halves)

    def value(self, key, default=None):
        return self.options[key][1] if key in self.options else default

    def coding(self, strategy):
        lumped = self.value("decode_at", "encode" if strategy == "mergecomp" else "arrival") == "encode"
        return Coding(self.codec, self.value("codec_stream", "compute") == "side", not lumped)

    def schedule(self, strategy):
        if strategy == "bytescheduler":
            credit = self.value("credit", 4)
            window = (credit, None) if isinstance(credit, int) else (None, credit[0])
            return coded.partitions(self.layers, self.value("partition", 4 * 10**6), *window)
        if strategy == "p3":
            return coded.partitions(self.layers, self.value("partition", 40_000 * self.element), 1)
        if strategy == "dear":
            return coded.dear(self.layers, self.value("threshold", 25 * 2**20), self.collective not in coded.GATHERS)
        known = {"ddp": ["bucket_cap"], "horovod": ["cycle", "threshold"]}
        options = {key: self.value(key) for key in known.get(strategy, []) if key in self.options}
        plan = reference.make_plan(strategy, self.layers, self.cost, self.slowdowns, **options)
        return coded.scheduled(plan, reference.backward_order(self.layers))

    def plan(self, strategy):
        return answer("plan", *self.arguments, "--strategy", strategy)

    def simulate(self, strategy, schedule):
        return coded.simulate(self.layers, self.slowdowns, schedule, self.cost, self.coding(strategy),
                              self.value("sharing", "serial"))

    def describe(self):
        files = [word for word in self.arguments if hasattr(word, "read_text") and word.stat().st_size < 20000]
        return "".join(f"\n{path}: {path.read_text()}" for path in files) + f"\n{' '.join(map(str, self.arguments))}"


def split_costs(network, workers, cost):
    """(a, b) of either half: half of a each, half of the transfer each, the reduction in the reduce-scatter; of what
    was measured, half each."""
    reduce = 0 if "measured" in network.document else cost.b - all_reduce_cost(network._replace(gamma=0), workers).b
    return [(cost.a / 2, (cost.b + reduce) / 2), (cost.a / 2, (cost.b - reduce) / 2)]


def scheduled_by_program(plan, layers):
    """The plan that `plan --json` prints."""
    layer_of = {name: index for index, layer in enumerate(layers) for name, _ in layer.tensors}
    blocks = [Block(sum(piece["bytes"] for piece in block["slices"]),
                    {layer_of[piece["tensor"]] for piece in block["slices"]}, block["priority"])
              for block in plan["blocks"]]
    return Schedule(blocks, plan["order"], plan["window"].get("blocks"), plan["window"].get("bytes"), plan["barrier"],
                    after_backward=plan.get("release") == "backward", split="stages" in plan)


def groups_of(plan, tensors):
    place_of = {tensor.name: place for place, tensor in enumerate(tensors)}
    return [[place_of[piece["tensor"]] for piece in block["slices"]] for block in plan["blocks"]]


# ---- random scenarios -----------------------------------------------------------------------------------------------

def random_stage(pick, round_numbers):
    """Of a codec's file. Round ones are whole microseconds whatever the size, so that ties abound."""
    if round_numbers:
        return {"base": f"{pick.randint(0, 3)} us", "per_element": f"{pick.choice([0, 1])} us"}
    stage = {"base": f"{decimal(pick.choice([0, pick.uniform(0, 300)]))} us",
             "per_element": f"{decimal(pick.uniform(0, 1))} ns"}
    return stage | ({"per_element_log2": f"{decimal(pick.uniform(0, 0.1))} ns"} if pick.random() < 0.3 else {})


def option(text, value=None):
    return text, text if value is None else value


def random_options(pick, codec, round_numbers):
    options = {}

    def perhaps(key, chance, *choices):
        if pick.random() < chance:
            options[key] = option(*pick.choice(choices))

    if codec is not None:
        perhaps("codec_stream", 0.4, ("side",), ("side",), ("compute",))
        perhaps("decode_at", 0.4, ("encode",), ("arrival",))
        perhaps("density", 0.5, *((text, Fraction(text)) for text in ("0.01", "0.25", "1", "1e-6", "0.125")))
        perhaps("bits", 0.5, ("4", 4), ("1", 1), ("16", 16), ("3", 3))
        perhaps("encode", 0.15, ("3 us", 3 * MICROSECOND), ("0 s", 0), ("0.25ms", 250 * MICROSECOND))
        perhaps("decode", 0.15, ("2 us", 2 * MICROSECOND), ("0 s", 0), ("0.1ms", 100 * MICROSECOND))
    perhaps("sharing", 0.4, ("fair",), ("serial",))
    perhaps("groups", 0.6, *((str(number), number) for number in (1, 2, 3, 4)))
    perhaps("grouping", 0.5, ("search",), ("optimal",), ("even",))
    perhaps("stop", 0.5, ("0.1", Fraction(1, 10)), ("0.001", Fraction(1, 1000)), ("0.5", Fraction(1, 2)))
    if round_numbers:
        size, cap, fused, cycle = (pick.randint(1, 20) for _ in range(4))
        options |= {"partition": (f"{size} B", size), "bucket_cap": (f"{4 * cap} B", 4 * cap),
                    "threshold": (f"{4 * fused} B", 4 * fused), "cycle": (f"{cycle} us", cycle * MICROSECOND)}
        perhaps("credit", 0.7, ("1", 1), ("2", 2), ("7", 7), ("30 B", [30]), ("9 B", [9]))
    else:
        perhaps("partition", 0.7, ("1 MB", 10**6), ("999999 B", 999999), ("4 MiB", 2**22))
        perhaps("credit", 0.7, ("1", 1), ("2", 2), ("10", 10), ("3 MB", [3 * 10**6]))
        options["partition"] = options.get("partition", ("2 MB", 2 * 10**6))
        perhaps("cycle", 0.5, ("2.5ms", 25 * 10**8))
        perhaps("threshold", 0.5, ("8 MiB", 8 * 2**20))
        perhaps("bucket_cap", 0.5, ("2 MiB", 2 * 2**20))
    return options


def random_scenario(pick, folder, name, codecs=tuple(coded.KINDS)):
    codec, round_numbers = pick.choice(codecs), pick.random() < 0.5
    workers = pick.choice([2, 4, 8] if round_numbers or codec == "gtopk" else [1, 2, 3, 4, 5, 7, 8, 12])
    network, own = random_network(pick, workers, round_numbers)
    constants = None
    if codec is not None:
        constants = {stage: random_stage(pick, round_numbers) for stage in ("encode", "decode")}
        if pick.random() < 0.1:
            constants = None
    carrier = None
    if codec is not None and coded.KINDS[codec].collective and pick.random() < 0.2:
        carrier = pick.choice(coded.GATHERS)
    return Scenario(folder, random_layers(pick, round_numbers, True), network, random_slowdowns(pick, workers), codec,
                    constants, name, pick.choice(["fp32", "fp32", "bf16"]), carrier=carrier,
                    **own | random_options(pick, codec, round_numbers))


class Codecs(Comparison):
    def assert_result(self, row, expected, coded_blocks, what):
        # Each block's encoding, decoding and sending are rounded to a picosecond on either side, in any order.
        slack = 4 * (2 + coded_blocks)
        self.assertEqual(row["collectives"], expected.collectives, f"{what}: collectives")
        for key, value in (("iteration_s", expected.iteration), ("exposed_comm_s", expected.exposed),
                           ("straggler_s", expected.stragglers), ("comm_busy_s", expected.comm_busy),
                           ("codec_s", expected.codec)):
            self.assert_time(row[key], value, f"{what}: {key}", slack)
        for key, value in (("speedup", expected.speedup), ("efficiency", expected.efficiency)):
            if value is not None:
                close = max(1e-9, slack / float(expected.iteration))
                self.assertAlmostEqual(row[key], float(value), delta=close * float(value), msg=f"{what}: {key}")

    def check(self, scenario, strategies=tuple(OWN + GIVEN), number=""):
        rows = answer("compare", *scenario.arguments, "--strategies", ",".join(strategies))
        self.assertEqual([row["strategy"] for row in rows], list(strategies))
        for row in rows:
            strategy = row["strategy"]
            with self.subTest(number=number, strategy=strategy):
                self.check_row(scenario, strategy, row)

    def check_row(self, scenario, strategy, row):
        what = f"{strategy}{scenario.describe()}"
        plan = scenario.plan(strategy) if strategy in GIVEN + ["best"] else None
        schedule = scheduled_by_program(plan, scenario.layers) if plan else scenario.schedule(strategy)
        if strategy == "optimal-merge":
            self.check_optimal_merge(scenario, plan, what)
        if strategy == "mergecomp":
            self.check_groups(scenario, plan, what)
        self.assert_result(row, scenario.simulate(strategy, schedule), len(schedule.blocks), what)
        self.assertEqual((row["codec"], row["collective"]), (scenario.codec_name, scenario.collective), what)
        if scenario.codec:
            self.assertIsNone(row["lower_bound_s"], what)

    def check_optimal_merge(self, scenario, plan, what):
        """As good as the peer's where nothing but sending takes time."""
        tensors = reference.backward_order(scenario.layers)
        ready = reference.ready_times(reference.slowest(scenario.layers, scenario.slowdowns), tensors)
        times = [reference.finish(blocks, tensors, ready, scenario.cost) for blocks in
                 (groups_of(plan, tensors), reference.optimal_merge(tensors, ready, scenario.cost).blocks)]
        self.assertLessEqual(abs(times[0] - times[1]), 2 * (2 + len(plan["blocks"])), what)

    def check_groups(self, scenario, plan, what):
        """The groups are what the option `grouping` promises, by trying all partitions."""
        tensors, factor = reference.backward_order(scenario.layers), max(scenario.slowdowns)
        groups = groups_of(plan, tensors)
        count, most = len(tensors), min(scenario.value("groups", 2), len(tensors))
        self.assertEqual(sum(groups, []), list(range(count)), what)
        grouping = scenario.value("grouping", "search")
        if grouping == "even":
            self.assertEqual(groups, coded.even_grouping(count, most), what)
            return

        time = coded.mergecomp_objective(tensors, scenario.layers, scenario.cost, scenario.codec, factor,
                                         scenario.coding("mergecomp").side)
        best = functools.cache(lambda several: min(map(time, coded.groupings(count, several))))

        slack = 4 * (2 + most)
        ends = {most} if grouping == "optimal" else \
            coded.mergecomp_stops(best, most, scenario.value("stop", Fraction(1, 100)), slack)
        self.assertIn(len(groups), ends, what)
        self.assertLessEqual(abs(time(groups) - best(len(groups))), slack, what)

    # ---- the peer itself ----

    def test_the_replay_equals_the_closed_form(self):
        """Without a codec, and without strategies that this replay alone knows."""
        pick = random.Random(SEED)
        for number in range(60):
            scenario = random_scenario(pick, self.folder, "same", [None])
            for strategy in reference.STRATEGIES:
                plan = reference.make_plan(strategy, scenario.layers, scenario.cost, scenario.slowdowns)
                closed = reference.simulate(scenario.layers, scenario.cost, plan, scenario.slowdowns)
                walked = scenario.simulate(strategy, coded.scheduled(plan, reference.backward_order(scenario.layers)))
                with self.subTest(number=number, strategy=strategy):
                    for key in ("iteration", "exposed", "comm_busy", "collectives", "speedup"):
                        difference = (getattr(closed, key) or 0) - (getattr(walked, key) or 0)
                        self.assertLessEqual(abs(difference), 2 * len(plan.blocks) if key != "speedup" else 1e-5, key)

    # ---- the program against the peer ----

    def test_random_cases(self):
        pick = random.Random(SEED + 3)
        for number in range(CASES):
            strategies = OWN + GIVEN + (["best"] if number % 8 == 0 else [])
            self.check(random_scenario(pick, self.folder, f"random{number}"), strategies, number)

    def test_random_cases_without_codec(self):
        """What the closed form does not have: the layers' barrier, windows, sharing, and MergeComp of nothing."""
        pick = random.Random(SEED + 4)
        for number in range(CASES // 4):
            self.check(random_scenario(pick, self.folder, f"plain{number}", [None]), ["bytescheduler", "p3"] + GIVEN,
                       number)

    def test_bytes_on_the_wire(self):
        """One layer of every size up to 40, and some more, at a nanosecond a byte: the iteration is that and T."""
        sizes = [*range(1, 41), 100, 500, 1000, 1500, 2500, 4096, 10**6 + 1]
        for size in sizes:
            (self.folder / f"{size}.csv").write_text(csv_text([Layer("only", 0, MICROSECOND, [("only", 4 * size)])]))
        (self.folder / "links.json").write_text(json.dumps({"name": "links", "workers": 2, "network": {
            "alpha": "1 us", "beta": "1 ns/B", "collective": "ring"}}))
        own = {"density": Fraction("0.3"), "bits": 3}
        sweep = {"name": "sizes", "profiles": [f"{size}.csv" for size in sizes], "clusters": ["links.json"],
                 "workers": [2, 8], "codecs": list(coded.KINDS),
                 "strategies": [{"name": "wfbp", "encode": "0 s", "decode": "0 s", "density": 0.3, "bits": 3}]}
        (self.folder / "sizes.json").write_text(json.dumps(sweep))
        rows = allreplay("sweep", self.folder / "sizes.json", "--json")
        self.assertEqual(len(rows), len(sizes) * 2 * len(coded.KINDS))
        for row in rows:
            workers, size = row["workers"], 4 * int(row["profile"])
            collective = coded.KINDS[row["codec"]].collective or "ring"
            codec = Codec(row["codec"], None, workers, collective, encode=0, decode=0, **own)
            a, b = coded.gathering(collective, workers, MICROSECOND, 1000) if collective != "ring" else \
                reference.from_links("ring", workers, MICROSECOND, 1000)
            expected = MICROSECOND + WireCost(a, b, workers, codec.wire).duration(size)
            self.assert_time(row["iteration_s"], expected, f"{row['codec']}: {size} bytes, {workers} workers")

    def test_constants_of_a_device(self):
        """Those of the profile's device where there are some, else those of the file of the codec's own name."""
        folder = self.folder / "models" / "codecs"
        folder.mkdir(parents=True)
        for name, time in (("dgc_my-device", 5), ("dgc", 3)):
            (folder / f"{name}.json").write_text(json.dumps({
                "codec": "dgc", "device": "My Device", "origin": "estimated", "source": "this test",
                "encode": {"base": f"{time} us", "per_element": "0 s"},
                "decode": {"base": "0 s", "per_element": "0 s"}}))
        layers = [Layer("only", 0, MICROSECOND, [("only", 4000)])]
        (self.folder / "links.json").write_text(json.dumps({"name": "links", "workers": 2, "network": {
            "alpha": "1 us", "beta": "1 ns/B", "collective": "ring"}}))
        for codec, device, path in (
                ("topk", "P102-100", FILES / "topk_p102-100.json"), ("topk", "p102-100", FILES / "topk_p102-100.json"),
                ("topk", "Tesla V100", FILES / "topk.json"), ("topk", "", FILES / "topk.json"),
                ("topk", "../topk", FILES / "topk.json"), ("topk_p102-100", "Tesla V100", FILES / "topk_p102-100.json"),
                ("dgc", "My Device", folder / "dgc_my-device.json"), ("dgc", "Tesla V100", folder / "dgc.json"),
                ("onebit", "My Device", FILES / "onebit.json")):
            profile = json.loads(trace_text(layers)) | {"device": device}
            (self.folder / "trace.json").write_text(json.dumps(profile))
            done = self.run_program("run", "--profile", "trace.json", "--cluster", "links.json", "--codec", codec, "--strategy",
                                    "wfbp", "--json")
            name = codec.split("_")[0]
            expected = Codec(name, coded.read_codec(path), 2, coded.KINDS[name].collective).lumped(4000, 1)
            with self.subTest(codec=codec, device=device):
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assert_time(json.loads(done.stdout)["codec_s"], expected, f"{codec} on {device}")

    def test_groups_against_brute_force(self):
        """Every number of groups of few tensors: all 2^(L-1) partitions, and Algorithm 2's way through their optima."""
        pick = random.Random(SEED + 5)
        for number in range(CASES):
            layers = random_layers(pick, number % 2 == 0, True)
            while not 1 <= sum(len(layer.tensors) for layer in layers) <= 9:
                layers = random_layers(pick, number % 2 == 0, True)
            network, own = random_network(pick, 4, number % 2 == 0)
            options = {"groups": pick.randint(1, 10), "grouping": pick.choice(["search", "optimal", "even"]),
                       "stop": pick.choice(["0.01", "1e-9"]), "codec_stream": pick.choice(["compute", "side"])}
            scenario = Scenario(
                self.folder, layers, network, random_slowdowns(pick, 4), pick.choice(list(coded.KINDS)),
                {stage: random_stage(pick, number % 2 == 0) for stage in ("encode", "decode")}, f"groups{number}",
                **own, **{key: (str(value), Fraction(value) if key == "stop" else value)
                          for key, value in options.items()})
            with self.subTest(number=number):
                self.check_groups(scenario, scenario.plan("mergecomp"), scenario.describe())

    def test_real_profiles(self):
        if not PROFILES.is_dir():
            self.skipTest(f"no measured profiles in {PROFILES} (ALLREPLAY_REFERENCE_DATA says where they are)")
        alpha, beta = 25 * MICROSECOND, 900
        network = Network({"alpha": "25 us", "beta": "0.9 ns/B", "collective": "ring"}, "ring", alpha, beta, 0, {})
        choices = [("topk", {}), ("dgc", {"codec_stream": option("side"), "groups": ("3", 3)}), ("fp16", {}),
                   ("gtopk", {"decode_at": option("encode")}), ("qsgd", {"bits": ("4", 4), "groups": ("4", 4)}),
                   ("ef-signsgd", {"sharing": option("fair")}), ("randk", {"density": ("0.01", Fraction(1, 100))}),
                   ("onebit", {"encode": ("1 ms", 10**9)}), ("signsgd", {"decode": ("0.5 ms", 5 * 10**8)}),
                   ("signum", {}), ("topk", {"grouping": option("even"), "groups": ("7", 7)})]
        for path, (codec, options) in zip(sorted(PROFILES.glob("*.csv")), choices):
            ratio = Fraction(1, 2) if ",," in path.read_text(encoding="utf-8") else None
            layers = reference.read_csv(path, ratio)
            scenario = Scenario(self.folder, layers, network, [Fraction(5, 4), 1, 1, 1], codec, name="real",
                                profile=path, **options)
            if ratio is not None:
                scenario.arguments += ["--forward-ratio", "0.5"]
            strategies = [name for name in OWN + GIVEN if name not in GIVEN or unique_names(layers)]
            self.check(scenario, strategies, path.name)


if __name__ == "__main__":
    unittest.main()
