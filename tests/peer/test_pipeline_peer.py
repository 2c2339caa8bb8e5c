#!/usr/bin/env python3
"""The program against its peer where ranks form a pipeline, and layers have collectives of their own.

`pipelines.py` and what it imports beside this file are written from the contract alone; a difference is a fault
of one of the two. The environment variables are those of `test_peer.py`; ALLREPLAY_PIPELINE_CASES is the number of
random cases per strategy. The worked cases lie beside the measured profiles, and are skipped where they are absent.
"""

import functools
import json
import os
import random
import shlex
import unittest
from fractions import Fraction

import coded
import pipeline_schedules
import pipelines
import sharded
from pipeline_programs import written
from pipeline_scenario import BLOCKS, SHAPE, STRATEGIES, Scenario
from pipeline_schedules import Refused, Word
from test_peer import SEED
from test_sharded import Numbers, chance, divisors, group_names
from test_sharded import random_case as random_flat_case

import program  # found where test_peer looks
from program import REFERENCE

CASES = int(os.environ.get("ALLREPLAY_PIPELINE_CASES", "40"))
WORKED = REFERENCE.parent / "cases" / "pipelines.json"
SHOWN = 3  # disagreements per strategy, each with its files
ROUNDING = Fraction(200, 10**12)  # seconds: half a picosecond for each of some hundreds of tasks

COLLECTIVES = ["ring", "ring", "ring", "halving-doubling", "recursive-doubling", "binary-tree", "double-binary-tree",
               "parameter-server"]


@functools.cache
def strategies():
    """The peer's that the program has."""
    known = program.listed("strategies")
    return [name for name in STRATEGIES if name in known]


def knows_pipelines():
    """By either word, so that nothing is skipped because help says it elsewhere."""
    return program.PROGRAM.is_file() and (
        "--pp" in program.run("run", "--help").stdout
        or program.run("schedule", "1f1b", "--pp", 2, "--micro-batches", 2).returncode == 0)


needs_pipelines = unittest.skipUnless(knows_pipelines(), f"no program that knows pipelines (`--pp`, `schedule`) at "
                                                         f"{program.PROGRAM} (ALLREPLAY_PROGRAM says where it is)")


# ---- random cases ---------------------------------------------------------------------------------------------------

class Shape:
    """Degrees, and the number of layers, chunks and micro-batches that a schedule wants."""

    def __init__(self, pick):
        self.schedule = pick.choice(pipeline_schedules.NAMES + ["1f1b", "interleaved"])
        self.ranks = pick.choice([2, 2, 2, 3, 3, 4])
        self.width = {"gpipe": 1, "1f1b": 1, "zbv": 2, "dualpipe-v": 2}.get(self.schedule) or pick.choice(
            [2, 2, 3] if self.schedule == "interleaved" else [1, 1, 2, 3])
        self.micro_batches = pick.randint(1, 8)
        if self.schedule == "dualpipe-v":
            self.micro_batches = 2 * self.ranks + pick.randint(0, 2)
        elif self.width > 1 and self.schedule not in ("zbv", "looped-bfs") and pick.random() < 0.8:
            self.micro_batches = self.ranks * pick.randint(1, max(1, 8 // self.ranks))
        self.group = None
        if self.schedule == "interleaved" and self.micro_batches > self.ranks and pick.random() < 0.3:
            self.group = pick.randint(self.ranks, self.micro_batches)
        count = self.ranks * self.width
        self.layers = pick.randint(count, max(6, count, min(10, 2 * count)))
        self.tensors, self.contexts = pick.choice([1, 1, 2]), pick.choice([1, 1, 1, 2])
        self.data = pick.choice([1, 2, 2, 2, 3, 4])
        self.experts = pick.choice(divisors(self.contexts * self.data))
        self.stride = self.tensors * self.contexts * self.data
        self.workers = self.ranks * self.stride


def random_trace(pick, numbers, shape):
    model = [{"name": f"l{index}", "tensors": [{"name": f"l{index}.{place}", "shape": [numbers.elements()]}
                                               for place in range(pick.choice([0, 1, 1, 1, 2]))]}
             for index in range(shape.layers)]
    rows = [{"name": layer["name"], "forward": numbers.microseconds(), "backward": numbers.microseconds()}
            for layer in model]
    # The program refuses a profile without tensors, or whose times are all zero.
    if not any(layer["tensors"] for layer in model) or not any(row["forward"] + row["backward"] for row in rows):
        model[-1]["tensors"], rows[-1]["forward"] = [{"name": "only", "shape": [240]}], 0.96
    for row in rows:
        row["output_bytes"] = pick.choice([0, 1, 1, 2, 3]) * (480 if numbers.round else pick.randint(1, numbers.scale))
        if pick.random() < 0.3:
            row["backward_weight"] = row["backward"] if pick.random() < 0.2 else round(row["backward"] * 0.25, 6)
        if pick.random() < 0.3:
            row["activation_bytes"] = pick.randint(1, 10) * (480 if numbers.round else numbers.scale)
        if pick.random() < 0.3:
            row["collectives"] = [random_collective(pick, numbers) for _ in range(pick.choice([1, 1, 2]))]
    if pick.random() < 0.3:
        for row, name in zip(rows, group_names(pick, shape.layers)):
            row |= {"group": name} if name else {}
    trace = {"model": {"name": "random", "layers": model}, "device": "none", "framework": "none",
             "batch_size": pick.choice([1, 8]), "precision": pick.choice(["fp32", "fp32", "bf16"]),
             "origin": "measured", "source": "random", "unit": "us", "layers": rows}
    return trace | tie(pick, model) | ({"update": numbers.microseconds()} if pick.random() < 0.6 else {})


def random_collective(pick, numbers):
    return {"op": pick.choice(["all-reduce", "all-gather", "reduce-scatter", "all-to-all"]),
            "group": pick.choice(["tp", "tp", "cp", "ep"]), "pass": pick.choice(["forward", "backward"]),
            "bytes": pick.choice([0, 1, 2, 2]) * (480 if numbers.round else pick.randint(1, numbers.scale))}


def tie(pick, model):
    """Two tensors of the first and the last layer that has some, made equally large."""
    with_tensors = [layer for layer in model if layer["tensors"]]
    if len(with_tensors) < 2 or pick.random() < 0.7:
        return {}
    first, last = with_tensors[0]["tensors"][0], with_tensors[-1]["tensors"][-1]
    last["shape"] = first["shape"]
    return {"tied": [first["name"], last["name"]]}


def random_level(pick, numbers):
    alpha = round(0.96 * pick.randint(0, 2), 6) if numbers.round else pick.randint(0, 10**5) / 1000
    return {"alpha": f"{alpha} us", "beta": numbers.per_byte()}


def random_network(pick, numbers, shape):
    network = {"collective": pick.choice(COLLECTIVES), "fidelity": "alpha-beta", "gamma": numbers.per_byte()}
    network |= random_level(pick, numbers)
    if pick.random() < 0.4:
        sizes = [size for size in divisors(shape.workers)[1:-1] if size % shape.stride == 0 or shape.stride % size == 0]
        inside = [size for size in sizes if size < shape.stride]  # gradients cross nodes
        size = pick.choice([*sizes, *3 * inside, shape.workers, 2 * shape.workers])
        network["node"] = {"workers": size} | random_level(pick, numbers)
        network["rails"] = min(pick.choice([1, 1, 2, size]), size)
        network["gamma"] = "0 ns/B"
    elif pick.random() < 0.2:
        network["p2p"] = random_level(pick, numbers)
    if pick.random() < 0.2:
        network["launch"] = numbers.duration()
    return network


def strategy_options(pick, strategy, numbers, total):
    """Of one strategy; total: elements of all tensors."""
    some = numbers.elements(10) if numbers.round else pick.randint(1, max(1, total))
    if strategy == "fsdp2":
        return chance(pick, 0.4, {
            "wrap": ["layer", f"{4 * numbers.elements(10)} B"], "lanes": ["separate", "shared"],
            "reduce_grad": ["async", "wait"], "reshard": ["none"], "reduce": ["last"]})
    if strategy == "megatron":
        options = {"bucket_size": str(pick.choice([some, some, some, 0]))} | chance(pick, 0.3, {
            "distributed_optimizer": ["true", "false"], "overlap_grad_reduce": ["true", "false"],
            "align_grad_reduce": ["true", "false"]})
        both = "false" not in (options.get("distributed_optimizer"), options.get("overlap_grad_reduce"))
        return options | chance(pick, 0.4, {"overlap_param_gather": ["true", "false"] if both else ["false"]})
    if strategy == "ddp":
        return {"bucket_cap": f"{4 * some} B", "first_bucket": f"{2 * some} B"}
    if strategy == "horovod":
        cycle = f"{0.96 * pick.randint(1, 8)} us" if numbers.round else f"{pick.randint(1, numbers.scale)} us"
        return {"cycle": cycle, "threshold": f"{4 * some} B"}
    if strategy in ("bytescheduler", "p3", "byteps"):
        smallest = max(1, total // 6)  # a few blocks a chunk
        size = 480 * (smallest // 480 + pick.randint(1, 4)) if numbers.round else pick.randint(smallest, 4 * smallest)
        options = {"partition": f"{size} B"} | ({} if strategy == "p3" else {"credit": str(pick.choice([1, 2, 4, 7]))})
        return options | (chance(pick, 0.3, {"release": ["layer", "backward"]}) if strategy == "byteps" else {})
    return {}


def common_options(pick, numbers, strategy, shape):
    options = chance(pick, 0.25, {
        "gradient_dtype": ["fp32", "bf16", "fp16"], "parameter_dtype": ["fp32", "bf16", "fp16"],
        "sharing": ["fair", "serial"], "state": [4, 6, 16], "update": [numbers.duration()],
        "p2p_bytes": [f"{480 * pick.randint(0, 4)} B"], "p2p_split": ["true", "true", "false"]})
    if strategy in BLOCKS:
        options |= chance(pick, 0.2, {"barrier": ["iteration", "layer"]})
    by_layer = options.get("barrier", "layer" if strategy in ("bytescheduler", "p3") else "iteration") == "layer"
    options |= chance(pick, 0.4, {"update_barrier": ["stage"] if by_layer else ["stage", "all"]})
    if shape.schedule in ("gpipe", "1f1b") and shape.micro_batches >= shape.ranks:
        options |= chance(pick, 0.6, {"p2p": ["blocking", "blocking", "overlap"]})
    if shape.group:
        options["microbatch_group"] = str(shape.group)
    return options


def random_cut(pick, shape):
    """--stages, or nothing."""
    kind, count = pick.choice(["", "", "equal", "balanced", "list"]), shape.ranks * shape.width
    if kind == "list":
        cuts = [0, *sorted(pick.sample(range(1, shape.layers), count - 1)), shape.layers]
        kind = ",".join(str(last - first) for first, last in zip(cuts, cuts[1:]))
    return {"stages": kind} if kind else {}


class Case:
    """A trace, a cluster, files and the arguments of `allreplay run`, for the program and for the peer."""

    def __init__(self, trace, cluster, words, files=None):
        self.trace, self.cluster, self.words, self.files = trace, cluster, words, files or {}

    def write(self, folder):
        (folder / "trace.json").write_text(json.dumps(self.trace), encoding="utf-8")
        (folder / "cluster.json").write_text(json.dumps(self.cluster), encoding="utf-8")
        for name, text in self.files.items():
            (folder / name).write_text(text, encoding="utf-8")

    def simulate(self):
        return pipelines.simulate(self.trace, self.cluster, self.words, self.files)

    def describe(self):
        files = [f"{name}:\n{text}" for name, text in self.files.items()]
        return "\n".join([f"trace.json: {json.dumps(self.trace)}", f"cluster.json: {json.dumps(self.cluster)}", *files,
                          f"allreplay run -p trace.json -c cluster.json {shlex.join(self.words)}"])


def random_case(pick, strategy):
    """One that the peer takes: draws that the contract refuses are thrown away."""
    while True:
        case = drawn(pick, strategy)
        try:
            scenario = Scenario(case.trace, case.cluster, case.words, case.files)
            pipelines.Replay(written(scenario, 1)).run()
            return case
        except Refused:
            continue


def drawn(pick, strategy):
    numbers, shape = Numbers(pick), Shape(pick)
    if strategy in ("mg-wfbp", "optimal-merge"):  # round times would make real ties of comparisons
        numbers.round = False
    trace = random_trace(pick, numbers, shape)
    network = random_network(pick, numbers, shape)
    total = sum(tensor["shape"][0] for layer in trace["model"]["layers"] for tensor in layer["tensors"])
    options = strategy_options(pick, strategy, numbers, total) | common_options(pick, numbers, strategy, shape)
    if network["collective"] == "double-binary-tree" and "node" in network:
        network["collective"] = "ring"
    flags, files = random_flags(pick, strategy, shape, options, network)
    cluster = {"name": "random", "workers": shape.workers, "network": network}
    if pick.random() < 0.2:  # the same in the cluster file
        keys = [key for key in SHAPE if key in flags and key != "stages" and not files]
        cluster["parallel"] = {key: flags[key] if key == "schedule" else int(flags[key]) for key in keys}
        flags = {key: value for key, value in flags.items() if key not in keys}
    if pick.random() < 0.2:
        trace["parallel"] = {"tp": shape.tensors, "cp": shape.contexts}
    words = ["-s", strategy, *(word for key, value in flags.items() for word in (f"--{key}", value)),
             *(word for key, value in options.items() for word in ("-o", f"{key}={value}"))]
    return Case(trace, cluster, [*words, "--json"], files)


def random_flags(pick, strategy, shape, options, network):
    """({flag: value}, files)."""
    flags = {"pp": str(shape.ranks), "schedule": shape.schedule, "micro-batches": str(shape.micro_batches),
             "chunks": str(shape.width)}
    flags |= {key: str(value) for key, value in (("tp", shape.tensors), ("cp", shape.contexts), ("ep", shape.experts))
              if value > 1}
    flags |= random_cut(pick, shape)
    if strategy in BLOCKS:
        zero = pick.choice([0, 0, 1, 2]) if strategy != "horovod" else pick.choice([0, 0, 1])
        flags |= {"zero": str(zero)} if zero else {}
    if shape.width == pipeline_schedules.DEFAULT_CHUNKS.get(shape.schedule, 1) and pick.random() < 0.5:
        del flags["chunks"]
    if options.get("p2p") != "blocking" and pick.random() < (0.7 if strategy == "fsdp2" else 0.4):
        try:
            rows = pipeline_schedules.rows_of(shape.schedule, shape.ranks, shape.micro_batches, shape.width,
                                              shape.group)
        except Refused:
            return flags, {}
        flags["schedule"] = "schedule.csv"
        flags.pop("chunks", None)
        options.pop("microbatch_group", None)
        if pick.random() < 0.5:
            del flags["micro-batches"]
        return flags, {"schedule.csv": pipeline_schedules.write(varied(pick, strategy, rows))}
    return flags, {}


# ---- files of schedules ----------------------------------------------------------------------------------------------

def varied(pick, strategy, rows):
    """A schedule like another one: some actions later, sends where they may be late, FSDP's words."""
    rows = [list(row) for row in rows]
    for row in rows:
        for _ in range(pick.choice([0, 0, 2, 6])):
            place = pick.randrange(len(row) - 1) if len(row) > 1 else 0
            row[place:place + 2] = reversed(row[place:place + 2])
    if pick.random() < 0.4:
        rows = with_sends(pick, rows)
    if strategy == "fsdp2" and pick.random() < 0.7:
        rows = [with_unshard(pick, row) for row in rows]
    return rows


def with_sends(pick, rows):
    homes = pipeline_schedules.homes_of(rows)
    result = []
    for rank, row in enumerate(rows):
        result.append([])
        waiting = []
        for cell in row:
            result[-1].append(cell)
            for word in cell:
                to = word.chunk + (1 if word.kind == "F" else -1)
                if word.kind != "W" and 0 <= to < len(homes) and homes[to] != rank:
                    waiting.append((Word("SEND_F" if word.kind == "F" else "SEND_B", word.chunk, word.micro),))
            while waiting and pick.random() < 0.8:
                result[-1].append(waiting.pop(0))
        result[-1] += waiting
    return result


def with_unshard(pick, row):
    """UNSHARD before a chunk's first action or earlier, freed behind its last or later; some are freed in between."""
    words = [word for cell in row for word in cell]
    events = []  # (place in the row, order, word)
    for chunk in {word.chunk for word in words}:
        places = [place for place, cell in enumerate(row) for word in cell if word.chunk == chunk
                  and word.kind in pipeline_schedules.COMPUTING]
        gradients = [place for place, cell in enumerate(row) for word in cell
                     if word.chunk == chunk and word.kind in pipeline_schedules.GRADIENTS]
        events.append((pick.choice([0, places[0], pick.randint(0, places[0])]), 1, Word("UNSHARD", chunk)))
        if len(places) > 2 and pick.random() < 0.4:
            before = pick.choice(places[1:])
            after = max(place for place in places if place < before) if before > places[0] else None
            if after is not None and after < before:
                events.append((after + 1, 0, Word("RESHARD", chunk)))
                events.append((pick.randint(after + 1, before), 1, Word("UNSHARD", chunk)))
        events.append((pick.randint(gradients[-1] + 1, len(row)), 2, Word("REDUCE_GRAD", chunk)))
        if pick.random() < 0.5:
            events.append((pick.randint(places[-1] + 1, len(row)), 3, Word("RESHARD", chunk)))
    result = []
    for place in range(len(row) + 1):
        result += [(word,) for _, _, word in sorted((event for event in events if event[0] == place),
                                                   key=lambda event: event[1])]
        result += [row[place]] if place < len(row) else []
    return result


# ---- one rank, with collectives in layers ----------------------------------------------------------------------------

class Flat:
    """A case of `test_sharded.py` whose workers are groups, and whose layers have collectives: still no pipeline."""

    def __init__(self, pick, strategy):
        own = random_flat_case(pick, strategy)
        self.alone, replicas = own, own.cluster["workers"]
        own.cluster.pop("stragglers", None)
        numbers = Numbers(pick)
        numbers.round = False
        tensors, contexts = pick.choice([2, 3]), pick.choice(divisors(replicas))
        trace = json.loads(json.dumps(own.trace))
        for row in trace["layers"]:
            if pick.random() < 0.5:
                row["collectives"] = [random_collective(pick, numbers)]
        degrees = ["--tp", str(tensors), "--cp", str(contexts), "--ep", str(pick.choice(divisors(replicas)))]
        self.case = Case(trace, {**own.cluster, "workers": tensors * replicas}, [*own.words, *degrees])
        if "measured" in own.cluster["network"]:  # the price of one layer's collective asks for alpha and beta
            network = {"collective": "ring", "alpha": "3 us", "beta": "0.7 ns/B", "fidelity": "alpha-beta"}
            own.cluster["network"] = self.case.cluster["network"] = network
        self.scenario = Scenario(trace, self.case.cluster, self.case.words)
        for index, row in enumerate(own.trace["layers"]):
            for which in ("forward", "backward"):
                time = getattr(self.scenario.layers[index], which) + self.scenario.collective_time(index, which, 0)
                row[which] = str(Fraction(time, coded.UNITS["us"]))

    def simulate(self):
        """What is said of sharding alone, with the collectives as a part of the layers' times; and what is not."""
        s, alone = self.scenario, self.alone
        answers = dict(sharded.simulate(alone.trace, alone.cluster, alone.words).answers)
        computing = s.micro_batches * sum(layer.forward + layer.backward for layer in s.layers)
        inside = s.micro_batches * sum(s.collective_time(index, which, 0) for index in range(len(s.layers))
                                       for which in ("forward", "backward"))
        answers["layer_comm_s"] = Fraction(inside, 10**12)
        answers["exposed_comm_s"] += answers["layer_comm_s"]
        if answers["iteration_s"]:
            per_second = 1 / answers["iteration_s"]
            answers["speedup"] = s.workers * Fraction(computing + s.update, 10**12) * per_second
            answers["samples_per_s"] = s.data * s.micro_batches * s.batch * per_second
        return answers


# ---- the peer itself ------------------------------------------------------------------------------------------------

def equal_chunks(ranks, width, schedule, micro_batches, words=(), activations=0):
    """Chunks of a layer each: forward 1 us, backward 2 us, no cost of communication, no update."""
    count = ranks * width
    layers = [{"name": f"l{index}", "forward": 1, "backward": 2, "output_bytes": 960} |
              ({"activation_bytes": activations} if activations else {}) for index in range(count)]
    model = [{"name": layer["name"], "tensors": [{"name": layer["name"] + ".0", "shape": [240]}]} for layer in layers]
    trace = {"model": {"name": "m", "layers": model}, "device": "x", "framework": "x", "batch_size": 8,
             "precision": "fp32", "origin": "measured", "source": "x", "unit": "us", "layers": layers}
    cluster = {"name": "c", "workers": 2 * ranks, "network": {
        "alpha": "0 us", "beta": "0 ns/B", "collective": "ring", "fidelity": "alpha-beta"}}
    return Case(trace, cluster, ["-s", "wfbp", "--pp", ranks, "--schedule", schedule, "--micro-batches", micro_batches,
                                 "--chunks", width, *words, "--json"])


class ThePeer(unittest.TestCase):
    """What holds of the peer's own answers, without the program."""

    @program.needs(WORKED)
    def test_worked_cases(self):
        for case in json.loads(WORKED.read_text(encoding="utf-8")):
            with self.subTest(case["name"]):
                self.assertEqual(pipelines.replay_case(case)[1], [])

    def iteration(self, *shape, words=()):
        """us."""
        return equal_chunks(*shape, words=words).simulate().answers["iteration_s"] * 10**6

    def test_closed_forms(self):
        """f = 1, b = 2. 1f1b: (M + P - 1)(f + b); interleaved: M V (f + b) + (P - 1)(f + b); zb-h1, f = i = w = 1:
        3 M + (P - 1) f; zbv: 6 M, and (P - 1) f more where all wait for all."""
        for ranks in (2, 3, 4):
            for micro_batches in (ranks, ranks + 1, 2 * ranks):
                for name in ("gpipe", "1f1b"):
                    self.assertEqual(self.iteration(ranks, 1, name, micro_batches), 3 * (micro_batches + ranks - 1))
                self.assertEqual(self.iteration(ranks, 1, "zb-h1", micro_batches), 3 * micro_batches + ranks - 1)
            for width in (2, 3):
                self.assertEqual(self.iteration(ranks, width, "interleaved", 2 * ranks),
                                 3 * 2 * ranks * width + 3 * (ranks - 1))
            steady = ["-o", "update_barrier=stage"]
            self.assertEqual(self.iteration(ranks, 2, "zbv", 2 * ranks - 1), 6 * (2 * ranks - 1) + ranks - 1)
            self.assertEqual(self.iteration(ranks, 2, "zbv", 2 * ranks - 1, words=steady), 6 * (2 * ranks - 1))

    def test_activations(self):
        """gpipe holds M micro-batches, 1f1b min(P - r, M) on rank r."""
        for name, held in (("gpipe", lambda rank: 5), ("1f1b", lambda rank: 3 - rank)):
            stages = equal_chunks(3, 1, name, 5, activations=100).simulate().answers["stages"]
            self.assertEqual([stage["memory"]["activations"] for stage in stages],
                             [100 * held(rank) for rank in range(3)])

    def test_laws(self):
        """The parts add up; the lower bound holds; nothing else is in flight longer than the iteration."""
        pick = random.Random(SEED)
        for number in range(len(STRATEGIES)):
            case = random_case(pick, STRATEGIES[number])
            self.check_laws(case, case.simulate().answers)

    def check_laws(self, case, given):
        check_laws(self, given, case.describe())

    def test_a_file_is_the_schedule_that_it_was_written_from(self):
        pick, compared = random.Random(SEED + 1), 0
        while compared < 10:
            case = random_case(pick, pick.choice(STRATEGIES))
            scenario = Scenario(case.trace, case.cluster, case.words, case.files)
            if case.files or scenario.blocking:
                continue
            words = [*case.words, "--schedule", "schedule.csv"]
            given = Case(case.trace, case.cluster, words,
                         {"schedule.csv": pipeline_schedules.write(scenario.rows)}).simulate()
            self.assertEqual(given.answers, case.simulate().answers, case.describe())
            compared += 1


def check_laws(test, given, what):
    """Of answers of the peer or of the program."""
    slack = ROUNDING
    parts = [Fraction(given[key]) for key in ("update_s", "layer_comm_s", "bubble_s", "exposed_p2p_s", "exposed_dp_s")]
    computing = Fraction(given["micro_batches"] * (Fraction(given["forward_s"]) + Fraction(given["backward_s"])),
                         given["pp"])
    iteration = Fraction(given["iteration_s"])
    slack += iteration * Fraction(1, 10**12)
    test.assertLessEqual(abs(iteration - computing - sum(parts)), slack, what)
    test.assertLessEqual(Fraction(given["lower_bound_s"]), iteration + slack, what)
    test.assertLessEqual(Fraction(given["comm_busy_s"]), iteration + slack, what)
    test.assertLessEqual(given["memory_bytes"], sum(given["memory"].values()) * (1 + 1e-12), what)
    test.assertEqual(given["memory_bytes"], max(stage["memory_bytes"] for stage in given["stages"]), what)


# ---- the program against the peer -----------------------------------------------------------------------------------

def collective(**changes):
    """A layer's, changed."""
    return {"layer": {"collectives": [{"op": "all-reduce", "group": "tp", "bytes": 1, "pass": "forward"} | changes]}}


def refusals():
    """(what changes of a plain case, words, what the one line names)."""
    return [
        # Degrees.
        ({"workers": 6}, "--pp 4", "workers"), ({}, "--pp 2 --tp 3", "workers"), ({}, "--pp 2 --ep 4", "ep"),
        ({}, "--pp 0", "pp"), ({}, "--pp 2 --tp 0", "tp"), ({}, "--pp 2 --chunks 3 --schedule looped-bfs", "layers"),
        # The trace.
        ({"layer": {"backward_weight": 3}}, "--pp 2", "backward_weight"),
        (collective(op="broadcast"), "--pp 2", "op"), (collective(group="dp"), "--pp 2", "group"),
        (collective(**{"pass": "update"}), "--pp 2", "pass"),
        ({"trace": {"tied": ["l1.0", "nobody"]}}, "--pp 2", "nobody"),
        ({"trace": {"tied": ["l1.0", "l3.0"]}}, "--pp 2", "tied"),
        ({"trace": {"parallel": {"tp": 2, "cp": 1}}}, "--pp 2 --tp 1", "tp"),
        # Chunks.
        ({"layer": {"output_bytes": None}}, "--pp 2", "l2"), ({}, "--pp 2 --stages 1,2", "stages"),
        ({}, "--pp 2 --stages 1,2,1", "stages"), ({}, "--pp 2 --stages 0,4", "stages"),
        ({}, "--pp 2 --stages even", "stages"),
        # Schedules.
        ({}, "--pp 2 --schedule nobody", "schedule"), ({}, "--pp 2 --schedule gpipe --chunks 2", "chunks"),
        ({}, "--pp 2 --schedule 1f1b --chunks 2", "chunks"), ({}, "--pp 2 --schedule interleaved --chunks 1", "chunks"),
        ({}, "--pp 2 --schedule zbv --chunks 1", "chunks"),
        ({}, "--pp 2 --schedule interleaved --micro-batches 5", "micro-batches"),
        ({}, "--pp 2 --schedule dualpipe-v --micro-batches 3", "micro-batches"),
        ({}, "--pp 2 --schedule interleaved --micro-batches 5 -o microbatch_group=1", "microbatch_group"),
        ({}, "--pp 2 --schedule interleaved --micro-batches 5 -o microbatch_group=4", "microbatch_group"),
        ({}, "--pp 2 --schedule interleaved --micro-batches 5 -o microbatch_group=6", "microbatch_group"),
        # Sends.
        ({}, "--pp 2 -o p2p=blocking --micro-batches 1", "p2p"), ({}, "--pp 2 -o p2p=sometimes", "p2p"),
        ({}, "--pp 2 --schedule zb-h1 -o p2p=blocking --micro-batches 4", "p2p"),
        ({"node": 3, "workers": 12}, "--pp 3", "node"),
        # Strategies and options.
        *(({}, f"-s {name} --pp 2", name) for name in ("composer", "dear", "mergecomp", "fsdp1", "zero-1", "zero-2",
                                                       "zero-3")),
        ({}, "--pp 2 --codec fp16", "codec"), ({}, "-s fsdp2 --pp 2 --shard-group 2", "shard"),
        ({}, "--pp 2 --zero 1 --shard-group 2", "shard"),
        ({"cluster": {"stragglers": [{"worker": 0, "slowdown": 2}]}}, "--pp 2", "stragglers"),
        ({"cluster": {"jitter": {"distribution": "normal", "sigma": 0.1, "seed": 1}}}, "--pp 2", "jitter"),
        *(({}, f"-s fsdp2 --pp 2 -o {option}", option.split("=")[0]) for option in
          ("reshard=all", "reshard=but-last", "reduce=every", "prefetch=1", "reduce_buffers=1", "copy=1GB/s")),
        ({}, "--pp 2 -o barrier=layer -o update_barrier=all", "update_barrier"),
        ({}, "-s bytescheduler --pp 2 -o update_barrier=all", "update_barrier"),
        ({"trace": {"tied": ["l1.0", "l4.0"]}}, "-s p3 --pp 2", "tied"),
        ({}, "--pp 2 -o update_barrier=nobody", "update_barrier"),
        ({}, "-s fsdp2 --pp 2 -o reduce_grad=sometimes", "reduce_grad"),
    ]


FILES = [  # (rows, strategy, what the one line names)
    ("0F0,0B0\n", "wfbp", "row"),
    ("0F0,0B0\n1F0,1B0\n2F0,2B0\n", "wfbp", "row"),
    ("0F0,0X0,0B0\n1F0,1B0\n", "wfbp", "0X0"),
    ("0F0,0B0,1F0\n1F0,1B0\n", "wfbp", "1"),
    ("0F0,0F0,0B0\n1F0,1B0\n", "wfbp", "0F0"),
    ("0F0\n1F0,1B0\n", "wfbp", "0"),
    ("0B0,0F0\n1F0,1B0\n", "wfbp", "0B0"),
    ("0F0,0I0\n1F0,1B0\n", "wfbp", "0"),
    ("0F0,0B0,0W0\n1F0,1B0\n", "wfbp", "0"),
    ("0F0,0F1,0B0,0B1\n1F0,1B0\n", "wfbp", "1"),
    ("0F0,0B0\n2F0,2B0\n", "wfbp", "1"),
    ("2F0,0F0,2B0,0B0\n1F0,3F0,3B0,1B0\n", "wfbp", "can never start: 2F0 on rank 0"),
    ("0F0,0SEND_F0,0B0\n1F0,1B0\n", "wfbp", "1SEND_B0"),
    ("0SEND_F0,0F0,0B0\n1F0,1B0,1SEND_B0\n", "wfbp", "0SEND_F0"),
    ("0F0,0SEND_F0,0SEND_F0,0B0\n1F0,1B0,1SEND_B0\n", "wfbp", "0SEND_F0"),
    ("0F0,1F0,0SEND_F0,1B0,0B0\n2F0,3F0,3B0,2B0\n", "wfbp", "SEND"),
    ("0UNSHARD,0UNSHARD,0F0,0B0,0REDUCE_GRAD\n1UNSHARD,1F0,1B0,1REDUCE_GRAD\n", "fsdp2", "0UNSHARD"),
    ("0UNSHARD,0F0,0RESHARD,0B0,0REDUCE_GRAD\n1UNSHARD,1F0,1B0,1REDUCE_GRAD\n", "fsdp2", "0B0"),
    ("0UNSHARD,0F0,0REDUCE_GRAD,0B0\n1UNSHARD,1F0,1B0,1REDUCE_GRAD\n", "fsdp2", "0REDUCE_GRAD"),
    ("0UNSHARD,0F0,0B0,0REDUCE_GRAD,0REDUCE_GRAD\n1UNSHARD,1F0,1B0,1REDUCE_GRAD\n", "fsdp2", "0REDUCE_GRAD"),
    ("0UNSHARD,0F0,0B0,0REDUCE_GRAD\n1UNSHARD,1F0,1B0\n", "fsdp2", "REDUCE_GRAD"),
]


@needs_pipelines
class Pipelines(program.Case):
    def given(self, case):
        """What the program says, or its complaint."""
        case.write(self.folder)
        done = self.run_program("run", "-p", "trace.json", "-c", "cluster.json", *case.words)
        return (json.loads(done.stdout), None) if done.returncode == 0 else (
            None, f"exit {done.returncode}: {done.stderr.strip()}")

    def disagreement(self, case, relative=Fraction(1, 10**9), slack=ROUNDING):
        """None, or everything that a reader needs to decide who is right."""
        result = case.simulate()
        given, complaint = self.given(case)
        if complaint:
            return f"{complaint}\n{case.describe()}"
        lines = pipelines.differences(given, result, relative, slack)
        lines += [f"{key} is missing" for key in pipelines.TIMES + pipelines.RATIOS + pipelines.COUNTS
                  if key not in given]
        if not lines:
            return None
        theirs = json.dumps({key: given.get(key) for key in result.answers})
        own = json.dumps(result.answers, default=float)
        return "\n".join([*lines, case.describe(), f"program: {theirs}", f"peer:    {own}",
                          f"the peer's order: {result.order}",
                          "the peer's steady iteration, in us from rank 0's first task:", result.timeline])

    def check(self, strategy):
        pick, found = random.Random(f"{SEED} pipeline {strategy}"), []
        for number in range(CASES):
            case = random_case(pick, strategy)
            if text := self.disagreement(case):
                found.append(f"{strategy}, case {number}: {text}")
            if len(found) == SHOWN:
                break
        if found:
            self.fail("\n\n" + "\n\n".join(found))

    def test_random_cases(self):
        for strategy in strategies():
            with self.subTest(strategy):
                self.check(strategy)

    def test_what_the_peer_cannot_plan(self):
        """us-byte and best: the parts add up, the bound holds; best is no worse than the others of the same --zero."""
        pick = random.Random(f"{SEED} best")
        for number in range(max(1, CASES // 4)):
            case = random_case(pick, "wfbp")
            rivals = []
            for strategy in ("us-byte", "best", *strategies()):
                if strategy in ("megatron", "fsdp2"):
                    continue
                words = ["-s", strategy, *case.words[2:]]
                given, complaint = self.given(Case(case.trace, case.cluster, words, case.files))
                if complaint and ("barrier" in complaint or "tied" in complaint):  # not with this strategy's barrier
                    continue
                self.assertIsNone(complaint, f"{strategy}: {case.describe()}")
                check_laws(self, given, f"{strategy}: {case.describe()}")
                rivals.append((given["iteration_s"], strategy))
            best = next((time for time, strategy in rivals if strategy == "best"), None)
            if best is not None:
                self.assertLessEqual(best, min(rivals)[0] * (1 + 1e-9), f"{rivals}\n{case.describe()}")

    def test_a_file_is_the_schedule_that_it_was_written_from(self):
        for name in pipeline_schedules.NAMES:
            width = pipeline_schedules.DEFAULT_CHUNKS.get(name, 1)
            text = program.output("schedule", name, "--pp", 2, "--micro-batches", 4, "--chunks", width)
            results = []
            for words, files in ((["--schedule", name, "--micro-batches", "4"], {}),
                                 (["--schedule", "written.csv"], {"written.csv": text})):
                case = equal_chunks(2, width, name, 4)
                case.cluster["network"] |= {"alpha": "1 us", "beta": "1 ns/B"}
                words = ["-s", "ddp", "--pp", "2", *words, "--json"]
                given, complaint = self.given(Case(case.trace, case.cluster, words, files))
                self.assertIsNone(complaint)
                results.append({key: given[key] for key in (*pipelines.TIMES, "stages", "memory_bytes")})
            self.assertEqual(*results, name)

    def test_rows(self):
        """`allreplay schedule`, to the byte; and what it refuses."""
        for name in pipeline_schedules.NAMES:
            for ranks in (2, 3, 4):
                for width in (None, 1, 2, 3):
                    for micro_batches in (1, 2, 3, 4, 6, 8, 10):
                        self.check_rows(name, ranks, width, micro_batches)

    def check_rows(self, name, ranks, width, micro_batches):
        words = [name, "--pp", ranks, "--micro-batches", micro_batches, *(["--chunks", width] if width else [])]
        done = self.run_program("schedule", *words)
        try:
            expected = pipeline_schedules.write(pipeline_schedules.rows_of(name, ranks, micro_batches, width))
            self.assertEqual((done.stdout, done.returncode), (expected, 0), f"{words}: {done.stderr}")
        except Refused:
            self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), f"{words}: {done.stderr}")

    def test_list_of_schedules(self):
        self.assertEqual(set(program.listed("schedules")), set(pipeline_schedules.NAMES))

    @program.needs(WORKED)
    def test_worked_cases(self):
        for case in json.loads(WORKED.read_text(encoding="utf-8")):
            with self.subTest(case["name"]):
                self.check_worked(case)

    def check_worked(self, case):
        if "rows" in case:
            self.assertEqual(self.run_program(*shlex.split(case["command"])[1:]).stdout, case["rows"])
            return
        own = Case(case["trace"], case["cluster"], shlex.split(case["command"])[6:], case.get("files"))
        given, complaint = self.given(own)
        if "refused" in case:
            self.assertIn(case["refused"], complaint or "")
            self.assertTrue(complaint.startswith("exit 2:") and "\n" not in complaint, complaint)
            return
        self.assertIsNone(complaint)
        answers = pipelines.simulate(own.trace, own.cluster, own.words, own.files)
        self.assertEqual(pipelines.differences(given, answers), [], case["derivation"])

    def assert_refused(self, case, named):
        case.write(self.folder)
        done = self.run_program("run", "-p", "trace.json", "-c", "cluster.json", *case.words)
        self.assertEqual(done.returncode, 2, f"{done.stdout}{done.stderr}")
        self.assertEqual((done.stdout, done.stderr.count("\n")), ("", 1), done.stderr)
        self.assertIn(named.replace("_", "-"), done.stderr.replace("_", "-"))

    def plain(self, changes):
        """Four layers of 1 and 2 us, eight workers."""
        case = equal_chunks(2, 2, "looped-bfs", 2)
        case.cluster["workers"] = changes.get("workers", 8)
        case.cluster |= changes.get("cluster", {})
        if "node" in changes:
            case.cluster["network"]["node"] = {"workers": changes["node"], "alpha": "0 us", "beta": "0 ns/B"}
        for index, (row, layer) in enumerate(zip(case.trace["layers"], case.trace["model"]["layers"])):
            row["name"] = layer["name"] = f"l{index + 1}"
            layer["tensors"] = [{"name": f"l{index + 1}.0", "shape": [480 if index == 2 else 240]}]
            row |= changes.get("layer", {})
            if row["output_bytes"] is None:
                del row["output_bytes"]
        case.trace |= changes.get("trace", {})
        return case

    def test_refusals(self):
        """Exit 2 and one line that names what is wrong."""
        for changes, words, named in refusals():
            with self.subTest(words, **changes):
                case, words = self.plain(changes), [*words.split(), "--json"]
                words = [*([] if "--micro-batches" in words else ["--micro-batches", "2"]), *words]
                words = [*([] if "-s" in words else ["-s", "wfbp"]), *words]
                self.assert_refused(Case(case.trace, case.cluster, words), named)

    def test_refused_files(self):
        for text, strategy, named in FILES:
            with self.subTest(text=text):
                case = self.plain({})
                words = ["-s", strategy, "--pp", "2", "--schedule", "schedule.csv", "--json"]
                self.assert_refused(Case(case.trace, case.cluster, words, {"schedule.csv": text}), named)
        case, rows = self.plain({}), "0F0,0B0\n1F0,1B0\n"
        for words, named in ((["--chunks", "1"], "chunks"), (["--micro-batches", "2"], "micro-batches")):
            own = ["-s", "wfbp", "--pp", "2", "--schedule", "schedule.csv", *words, "--json"]
            self.assert_refused(Case(case.trace, case.cluster, own, {"schedule.csv": rows}), named)

    def test_without_a_pipeline(self):
        """P = 1 with groups of tensors, contexts and experts: replicas for workers, and longer layers."""
        pick, found = random.Random(f"{SEED} flat"), []
        for number in range(CASES):
            flat_case = Flat(pick, pick.choice(sharded.SHARDED + sharded.PLANNED))
            given, complaint = self.given(flat_case.case)
            if complaint:
                found.append(f"{complaint}\n{flat_case.case.describe()}")
                break
            expected = flat_case.simulate()
            given.pop("collectives")  # whether those of layers are among them nobody says
            lines = sharded.differences(given, sharded.Result(expected, [], "", 0))
            if abs(Fraction(given["layer_comm_s"]) - expected["layer_comm_s"]) > ROUNDING:
                lines.append(f"layer_comm_s: {given['layer_comm_s']}, not {float(expected['layer_comm_s'])!r}")
            if lines:
                found.append("\n".join([*lines, flat_case.case.describe()]))
            if len(found) == SHOWN:
                break
        if found:
            self.fail("\n\n" + "\n\n".join(found))


if __name__ == "__main__":
    unittest.main()
