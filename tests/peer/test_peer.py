#!/usr/bin/env python3
"""The program against its peer: hundreds of random and real cases, every number computed twice, independently.

`reference.py` beside this file is written from the contract alone; a difference is a fault of one of the two.
ALLREPLAY_PROGRAM names the program (build/release/allreplay), ALLREPLAY_REFERENCE_DATA the measured profiles
(../shared/data; the cases that need them are skipped where it is absent), ALLREPLAY_PEER_SEED another seed and
ALLREPLAY_PEER_CASES another number of random cases.
"""

import json
import os
import random
import sys
import unittest
from pathlib import Path
from collections import namedtuple
from fractions import Fraction

import reference
from reference import MICROSECOND, Cost, Layer

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import program  # noqa: E402
from program import REFERENCE  # noqa: E402

try:
    from allreplay import _core as module  # where PYTHONPATH says
except ImportError:
    module = None

PROFILES = REFERENCE / "profiles"
SEED = int(os.environ.get("ALLREPLAY_PEER_SEED", "1912"))
CASES = int(os.environ.get("ALLREPLAY_PEER_CASES", "400"))


def allreplay(*arguments):
    done = program.run(*map(str, arguments))
    if done.returncode != 0:
        raise AssertionError(f"allreplay {' '.join(map(str, arguments))}: exit {done.returncode}: {done.stderr}")
    return json.loads(done.stdout)


def answer(command, *options):
    """The same of a command whose options all have a value: by the Python module where it is built, as the program takes
    longer to start than to answer. tests/programs/python holds the two against each other."""
    if not module:
        return allreplay(command, *options, "--json")
    words = [str(word) for word in options]
    return json.loads(module.call([command, *words, "--json"], [], []).printed)


def decimal(value):
    """A fraction as the shortest text that a double reads back; exact for the values that the tests write."""
    return repr(float(value))


class Case:
    """A profile, a cluster and options, written as files for the program and kept as numbers for the peer."""

    def __init__(self, folder, layers, workers, network, cost, slowdowns=None, options=None, name="case", as_csv=True):
        self.layers, self.workers, self.cost = layers, workers, cost
        self.slowdowns = slowdowns or [1] * workers
        self.options = options or {}  # {strategy: {option: (text for the program, value for the peer)}}
        self.profile, self.cluster = folder / f"{name}.{'csv' if as_csv else 'json'}", folder / f"{name}-cluster.json"
        self.profile.write_text(csv_text(layers) if as_csv else trace_text(layers), encoding="utf-8")
        stragglers = [{"worker": place, "slowdown": float(factor)}
                      for place, factor in enumerate(self.slowdowns) if factor != 1]
        cluster = {"name": "random", "workers": workers, "network": network}
        self.cluster.write_text(json.dumps(cluster | ({"stragglers": stragglers} if stragglers else {})))

    def arguments(self):
        return ["--profile", self.profile, "--cluster", self.cluster] + [
            word for options in self.options.values() for name, (text, _) in options.items()
            for word in ("--option", f"{name}={text}")]

    def plan(self, strategy):
        options = {name: value for name, (_, value) in self.options.get(strategy, {}).items()}
        return reference.make_plan(strategy, self.layers, self.cost, self.slowdowns, **options)

    def describe(self):
        return f"\n{self.profile.read_text()}\n{self.cluster.read_text()}\n{self.arguments()}"


def csv_text(layers):
    rows = [f"{layer.name},{layer.tensors[0][1] // 4 if layer.tensors else 0},"
            f"{decimal(Fraction(layer.forward, MICROSECOND))},{decimal(Fraction(layer.backward, MICROSECOND))}"
            for layer in layers]
    return "\n".join(["layer,params,forward_us,backward_us"] + rows) + "\n"


def trace_text(layers, precision="fp32"):
    """The same as a trace with an inline model, which may have several tensors in a layer."""
    element = 4 if precision == "fp32" else 2
    model = {"name": "random", "layers": [
        {"name": layer.name, "tensors": [{"name": name, "shape": [size // element]} for name, size in layer.tensors]}
        for layer in layers]}
    return json.dumps({
        "model": model, "device": "none", "framework": "none", "batch_size": 1, "precision": precision,
        "origin": "imported", "source": "random", "unit": "us",
        "layers": [{"name": layer.name, "forward": float(Fraction(layer.forward, MICROSECOND)),
                    "backward": float(Fraction(layer.backward, MICROSECOND))} for layer in layers]})


# ---- random cases ---------------------------------------------------------------------------------------------------

def random_layers(pick, round_numbers, several_tensors):
    """1 to 12 layers; in round numbers (whole microseconds, few bytes) ties abound."""
    layers = []
    for index in range(pick.randint(1, 12)):
        if round_numbers:
            times = [pick.choice([0, 0, 1, 2, 3, 4, 6]) * MICROSECOND for _ in range(2)]
        else:
            times = [pick.choice([0, pick.randint(1, 10**9), pick.randint(1, 10**10)]) for _ in range(2)]
        count = pick.choice([0, 1, 1, 2, 3]) if several_tensors else pick.choice([0, 1, 1, 1, 1])
        sizes = [pick.randint(1, 6) if round_numbers else pick.choice([2**17, 250000, int(10 ** pick.uniform(0, 7))])
                 for _ in range(count)]
        tensors = [(f"layer{index}.{place}" if several_tensors else f"layer{index}", 4 * size)
                   for place, size in enumerate(sizes)]
        layers.append(Layer(f"layer{index}", *times, tensors))
    # The program refuses a profile without tensors, or whose times are all zero.
    if not any(layer.tensors for layer in layers) or not any(layer.forward + layer.backward for layer in layers):
        layers[pick.randrange(len(layers))] = Layer("only", 0, MICROSECOND, [("only", 4)])
    return layers


Network = namedtuple("Network", "document collective alpha beta gamma values")  # values: of the collective's options


def random_network(pick, workers, round_numbers):
    """A network as the cluster file writes it and as numbers, and the options that belong to its collective."""
    collective, options, values = pick.choice(reference.COLLECTIVES), {}, {}
    if collective == "parameter-server" and pick.random() < 0.5 and workers > 1:
        values["servers"] = pick.randint(1, workers)
        options["servers"] = (values["servers"], values["servers"])
    if pick.random() < 0.3:
        values["tree_bandwidth"] = pick.choice(["paper", "physical"])
        options["tree_bandwidth"] = (values["tree_bandwidth"], values["tree_bandwidth"])
    if round_numbers:  # so that T is whole picoseconds: ties in Algorithm 1 are real ties
        alpha, beta, gamma = pick.randint(0, 4) * MICROSECOND, Fraction(pick.randint(0, 4) * MICROSECOND, 4), \
            pick.choice([0, 0, 250000])
    else:
        alpha, beta, gamma = pick.randint(0, 10**9), Fraction(pick.randint(1, 10**4)), pick.choice([0, 37])
    if alpha and beta and pick.random() < 0.25:  # measured elsewhere, with another collective
        origin, count = pick.choice(reference.COLLECTIVES[:-1]), pick.choice([2, 4, 8, 16])
        tree = {key: value for key, value in values.items() if key == "tree_bandwidth"}
        a, b = (Fraction(value) for value in reference.from_links(origin, count, alpha, beta, gamma, **tree))
        network = {"collective": collective, "measured": {
            "collective": origin, "workers": count, "a": f"{decimal(a)} ps", "b": f"{decimal(b / 1000)} ns/B",
            "gamma": f"{decimal(Fraction(gamma, 1000))} ns/B"}}
    else:
        network = {"alpha": f"{decimal(Fraction(alpha, 1000))} ns", "collective": collective,
                   "gamma": f"{decimal(Fraction(gamma, 1000))} ns/B"}
        if beta and pick.random() < 0.3:
            network["bandwidth"] = f"{decimal(8 * 10**6 / beta)} Mbit/s"
        else:
            network["beta"] = f"{decimal(beta / 10**6)} us/B"
    return Network(network, collective, alpha, beta, gamma, values), options


def all_reduce_cost(network, workers):
    _, collective, alpha, beta, gamma, values = network
    return Cost(*reference.from_links(collective, workers, alpha, beta, gamma, **values), workers)


def random_case(pick, folder, name):
    round_numbers, several = pick.random() < 0.5, pick.random() < 0.5
    workers = pick.choice([2, 4, 8, 16] if round_numbers else [1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 24, 33])
    layers = random_layers(pick, round_numbers, several)
    network, own = random_network(pick, workers, round_numbers)
    slowdowns = random_slowdowns(pick, workers)
    options = {"cluster": own}
    if round_numbers:
        cycle, threshold, cap = pick.choice([1, 2, 5, 7]), 4 * pick.randint(1, 20), 4 * pick.randint(1, 20)
        options |= {"horovod": {"cycle": (f"{cycle} us", cycle * MICROSECOND),
                                "threshold": (f"{threshold} B", threshold)},
                    "ddp": {"bucket_cap": (f"{cap} B", cap)}}
    elif pick.random() < 0.7:
        options |= {"horovod": {"cycle": ("2.5ms", 25 * 10**8), "threshold": ("8 MiB", 8 * 2**20)},
                    "ddp": {"bucket_cap": ("2 MiB", 2 * 2**20)}}
    return Case(folder, layers, workers, network.document, all_reduce_cost(network, workers), slowdowns, options, name,
                as_csv=not several)


def random_slowdowns(pick, workers):
    slowdowns = [1] * workers
    if pick.random() < 0.4:
        for place in pick.sample(range(workers), pick.randint(1, workers)):
            slowdowns[place] = pick.choice([Fraction(1), Fraction(5, 4), Fraction(3, 2), Fraction(2), Fraction(3)])
    return slowdowns


class Comparison(program.Case):
    def assert_time(self, seconds, picoseconds, what, blocks=1):
        """Equal to 1e-9 relative, or to one picosecond per rounded duration."""
        difference = abs(Fraction(seconds) * reference.SECOND - picoseconds)
        self.assertLessEqual(difference, max(2 + blocks, abs(picoseconds) / 10**9),
                             f"{what}: {seconds} s, the peer says {float(picoseconds) / reference.SECOND} s")


class Peer(Comparison):
    # ---- comparisons ----

    def assert_result(self, row, expected, what):
        if "collectives" in row and row["strategy"] != "optimal-merge":  # its grouping is not unique
            self.assertEqual(row["collectives"], expected.collectives, f"{what}: collectives")
            self.assert_time(row["comm_busy_s"], expected.comm_busy, f"{what}: comm_busy_s", expected.collectives)
        self.assert_time(row["iteration_s"], expected.iteration, f"{what}: iteration_s", expected.collectives)
        self.assert_time(row["exposed_comm_s"], expected.exposed, f"{what}: exposed_comm_s", expected.collectives)
        self.assert_time(row["straggler_s"], expected.stragglers, f"{what}: straggler_s", expected.collectives)
        self.assert_time(row["lower_bound_s"], expected.lower_bound, f"{what}: lower_bound_s")
        self.assertEqual(row["codec_s"], 0, what)
        for key, value in (("speedup", expected.speedup), ("efficiency", expected.efficiency)):
            if value is None:
                continue
            slack = max(1e-9, (2 + expected.collectives) / float(expected.iteration))
            self.assertAlmostEqual(row[key], float(value), delta=slack * float(value), msg=f"{what}: {key}")

    def assert_laws(self, rows, what):
        """optimal <= mg-wfbp <= min(wfbp, sync-easgd), below twice the optimum; the lower bound holds."""
        time = {row["strategy"]: row["iteration_s"] for row in rows}
        slack = 3e-11 + 1e-12 * time["wfbp"]
        self.assertLessEqual(time["optimal-merge"], time["mg-wfbp"] + slack, what)
        self.assertLessEqual(time["mg-wfbp"], min(time["wfbp"], time["sync-easgd"]) + slack, what)
        self.assertLessEqual(time["mg-wfbp"], 2 * time["optimal-merge"] + slack, what)
        self.assertLessEqual(time["wfbp"], time["s-sgd"] + slack, what)
        for row in rows:
            self.assertGreaterEqual(row["iteration_s"], row["lower_bound_s"] - slack, f"{what}: {row['strategy']}")
            self.assertLessEqual(row["comm_busy_s"], row["iteration_s"] + slack, what)

    def program_plan(self, case, strategy):
        """The program's blocks as places in backward order, after checking that each byte is in exactly one slice."""
        plan = answer("plan", *case.arguments(), "--strategy", strategy)
        tensors = reference.backward_order(case.layers)
        place_of = {tensor.name: place for place, tensor in enumerate(tensors)}
        slices = [piece for block in plan["blocks"] for piece in block["slices"]]
        for tensor in tensors:
            end = 0
            for piece in sorted((piece for piece in slices if piece["tensor"] == tensor.name),
                                key=lambda piece: piece["offset"]):
                self.assertEqual(piece["offset"], end, f"{strategy}: {tensor.name}{case.describe()}")
                end += piece["bytes"]
            self.assertEqual(end, tensor.bytes, f"{strategy}: {tensor.name}{case.describe()}")
        self.assertLessEqual({piece["tensor"] for piece in slices}, set(place_of))
        self.assertEqual((plan["strategy"], plan["window"], plan["barrier"]), (strategy, {"blocks": 1}, "iteration"))
        return [[place_of[piece["tensor"]] for piece in block["slices"]] for block in plan["blocks"]]

    def check(self, case, rows, what, plans=()):
        rows = [row for row in rows if row["strategy"] in reference.STRATEGIES]
        self.assertEqual({row["strategy"] for row in rows}, set(reference.STRATEGIES))
        for row in rows:
            expected = reference.simulate(case.layers, case.cost, case.plan(row["strategy"]), case.slowdowns)
            self.assert_result(row, expected, f"{what}: {row['strategy']}{case.describe()}")
        self.assert_laws(rows, what + case.describe())
        for strategy in plans:
            blocks = self.program_plan(case, strategy)
            if strategy == "optimal-merge":
                own = reference.simulate(case.layers, case.cost, reference.Plan(blocks), case.slowdowns)
                best = reference.simulate(case.layers, case.cost, case.plan(strategy), case.slowdowns)
                self.assertLessEqual(abs(own.iteration - best.iteration), 2 + len(blocks), what + case.describe())
            else:
                self.assertEqual(blocks, case.plan(strategy).blocks, f"{what}: {strategy}{case.describe()}")

    # ---- the peer itself ----

    def test_the_dynamic_programme_equals_brute_force(self):
        pick = random.Random(SEED)
        for _ in range(150):
            layers = random_layers(pick, pick.random() < 0.5, True)
            tensors = reference.backward_order(layers)[-9:]
            ready = reference.ready_times(layers, tensors)
            cost = Cost(pick.randint(0, 5) * MICROSECOND, Fraction(pick.randint(0, 8) * MICROSECOND, 4), 4)
            times = [reference.finish(strategy(tensors, ready, cost).blocks, tensors, ready, cost) for strategy in
                     (reference.optimal_merge, reference.optimal_merge_by_brute_force)]
            self.assertEqual(*times)

    # ---- the program against the peer ----

    def test_random_cases(self):
        pick = random.Random(SEED)
        for number in range(CASES):
            case = random_case(pick, self.folder, f"random{number}")
            with self.subTest(number=number):
                rows = answer("compare", *case.arguments())
                self.check(case, rows, f"case {number}", ["mg-wfbp", "ddp", "horovod", "optimal-merge"])

    def test_every_strategy_plans_every_byte_once(self):
        pick = random.Random(SEED + 1)
        for number in range(10):
            case = random_case(pick, self.folder, f"bytes{number}")
            for strategy in reference.STRATEGIES:
                self.program_plan(case, strategy)

    def test_a_sweep_over_everything(self):
        """Every collective, at powers of two and between, in one process."""
        pick = random.Random(SEED + 2)
        profiles = []
        for number, round_numbers in enumerate([True, False, False]):
            layers = random_layers(pick, round_numbers, False)
            (self.folder / f"profile{number}.csv").write_text(csv_text(layers))
            profiles.append(layers)
        alpha, beta, gamma = 45 * MICROSECOND, 900, 100
        (self.folder / "links.json").write_text(json.dumps({"name": "links", "workers": 4, "network": {
            "alpha": "45us", "beta": "0.9 ns/B", "gamma": "1e-10 s/B"}}))
        workers = [1, 2, 3, 4, 7, 16, 31]
        sweep = {"name": "all", "profiles": [f"profile{number}.csv" for number in range(3)], "clusters": ["links.json"],
                 "workers": workers, "collectives": reference.COLLECTIVES,
                 "strategies": [{"name": name} for name in reference.STRATEGIES]}
        (self.folder / "sweep.json").write_text(json.dumps(sweep))
        rows = allreplay("sweep", self.folder / "sweep.json", "--json")
        self.assertEqual(len(rows), 3 * len(workers) * len(reference.COLLECTIVES) * len(reference.STRATEGIES))
        seen = set()
        for row in rows:
            key = (row["profile"], row["workers"], row["collective"], row["strategy"])
            seen.add(key)
            count, layers = row["workers"], profiles[int(row["profile"].removesuffix(".csv")[-1])]
            cost = Cost(*reference.from_links(row["collective"], count, alpha, beta, gamma), count)
            plan = reference.make_plan(row["strategy"], layers, cost, [1] * count)
            self.assert_result(row, reference.simulate(layers, cost, plan, [1] * count), str(key))
        self.assertEqual(len(seen), len(rows))

    def test_cost_of_each_collective(self):
        """One layer that takes a microsecond: the iteration is that and T(M)."""
        (self.folder / "one.csv").write_text("layer,params,forward_us,backward_us\none,250000,0,1\n")
        clusters = {"links": {"alpha": "45.25 us", "beta": "1.25 ns/B", "gamma": "0.3 ns/B"},
                    "measured": {"measured": {"collective": "ring", "workers": 16, "a": "972 us", "b": "1.97 ns/B"}}}
        for name, network in clusters.items():
            (self.folder / f"{name}.json").write_text(json.dumps({"name": name, "workers": 2, "network": network}))
        sweep = {"name": "costs", "profiles": ["one.csv"], "clusters": [f"{name}.json" for name in clusters],
                 "workers": list(range(1, 40)) + [64, 100, 1024], "collectives": reference.COLLECTIVES,
                 "strategies": [{"name": "wfbp"}]}
        (self.folder / "costs.json").write_text(json.dumps(sweep))
        for row in allreplay("sweep", self.folder / "costs.json", "--json"):
            count, collective = row["workers"], row["collective"]
            if row["cluster"] == "links":
                a, b = reference.from_links(collective, count, Fraction(4525 * 10**4), 1250, 300)
            else:
                a, b = reference.from_measured(collective, count, "ring", 16, Fraction(972 * MICROSECOND),
                                               Fraction(1970))
            expected = MICROSECOND + Cost(a, b, count).duration(1000000)
            self.assert_time(row["iteration_s"], expected, f"{row['cluster']}, {collective}, {count} workers")
            self.assert_time(row["lower_bound_s"], expected, f"{row['cluster']}, {collective}, {count} workers")

    def test_counterexamples_to_theorem_1(self):
        """MG-WFBP's Algorithm 1 is not optimal: 8 against 7, and 17 against 13.

        Two workers on a ring: a = 2 alpha and b = beta; a parameter of 4 bytes at 0.25 us/B is one unit of time.
        """
        for number, (a, backward, params, printed, best) in enumerate([
                (2, (2, 1, 0), (1, 1, 1), 8, 7), (3, (3, 2, 2, 0), (1, 1, 1, 4), 17, 13)]):
            layers = [Layer(f"layer{place}", 0, time * MICROSECOND, [(f"layer{place}", 4 * count)])
                      for place, (time, count) in enumerate(zip(backward, params))]
            network = {"alpha": f"{a / 2} us", "beta": "0.25 us/B", "gamma": "0 us/B", "collective": "ring"}
            case = Case(self.folder, layers, 2, network, Cost(a * MICROSECOND, Fraction(MICROSECOND, 4), 2),
                        name=f"theorem{number}")
            rows = allreplay("compare", *case.arguments(), "--strategies", "mg-wfbp,optimal-merge", "--json")
            for row, expected in zip(rows, (printed, best)):
                self.assert_time(row["iteration_s"], expected * MICROSECOND, row["strategy"])
            self.assertEqual(self.program_plan(case, "mg-wfbp"), case.plan("mg-wfbp").blocks)

    def test_a_tie_is_not_merged(self):
        """Line 11 of Algorithm 1 is strict: the next gradient comes exactly a later."""
        for gap, blocks in ((2, [[0], [1]]), (1.999999, [[0, 1]])):
            layers = [Layer("first", 0, round(gap * MICROSECOND), [("first", 4)]), Layer("last", 0, 0, [("last", 4)])]
            network = {"alpha": "1 us", "beta": "0.25 us/B", "collective": "ring"}
            case = Case(self.folder, layers, 2, network, Cost(2 * MICROSECOND, Fraction(MICROSECOND, 4), 2), name="tie")
            self.assertEqual(case.plan("mg-wfbp").blocks, blocks)
            self.assertEqual(self.program_plan(case, "mg-wfbp"), blocks)

    def test_real_profiles(self):
        if not PROFILES.is_dir():
            self.skipTest(f"no measured profiles in {PROFILES} (ALLREPLAY_REFERENCE_DATA says where they are)")
        for path in sorted(PROFILES.glob("*.csv")):
            blank = ",," in path.read_text(encoding="utf-8")
            ratio = ["--forward-ratio", "0.5"] if blank else []
            layers = reference.read_csv(path, Fraction(1, 2) if blank else None)
            for workers, slow in ((4, Fraction(1)), (16, Fraction(3, 2)), (64, Fraction(1))):
                a, b = reference.from_measured("ring", workers, "ring", 16, Fraction(972 * MICROSECOND), Fraction(1970))
                network = {"measured": {"collective": "ring", "workers": 16, "a": "972 us", "b": "1.97 ns/B"}}
                case = Case(self.folder, layers, workers, network, Cost(a, b, workers),
                            [slow] + [1] * (workers - 1), name="real")
                case.profile = path
                with self.subTest(profile=path.name, workers=workers):
                    arguments = [*case.arguments(), *ratio]
                    case.arguments = lambda arguments=arguments: arguments
                    plans = ["mg-wfbp", "ddp", "horovod", "optimal-merge"] if unique_names(layers) else []
                    self.check(case, allreplay("compare", *arguments, "--json"), path.name, plans)


def unique_names(layers):
    names = [name for layer in layers for name, _ in layer.tensors]
    return len(set(names)) == len(names)


if __name__ == "__main__":
    unittest.main()
