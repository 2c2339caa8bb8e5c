#!/usr/bin/env python3
"""The peer, continued: pipeline parallelism beside data parallelism, with collectives inside layers.

Written, like its neighbours, from the contract alone. One worker stands for each rank of the pipeline. A writer writes
down, for several iterations in a row, the steps of each rank's compute stream, its transfers and its sends, and what
waits for what; one replay gives everything its time, and iterations that repeat are the steady ones. Three replays say
where the time goes. It covers alpha-beta, on one level and on two. Schedules stand in `pipeline_schedules.py`.

Units: time in picoseconds, sizes in bytes, tensors in elements. Ranks, chunks, layers and micro-batches count from 0.

    python3 pipelines.py --cases FILE [NAME...]    replays worked cases; with names it prints their timelines
"""

import argparse
import collections
import heapq
import itertools
import json
import math
import shlex
import sys
from collections import namedtuple
from fractions import Fraction
from pathlib import Path

import coded
import pipeline_schedules
import reference
import sharded
from pipeline_schedules import COMPUTING, GRADIENTS, Refused, Word, flat, require
from reference import SECOND, rounded
from sharded import ELEMENT, PARTS, exact, per_byte, size_of

MERGED = ["wfbp", "s-sgd", "sync-easgd", "mg-wfbp", "optimal-merge", "ddp", "horovod"]
PARTITIONED = ["byteps", "bytescheduler", "p3"]
BLOCKS = MERGED + PARTITIONED  # these take --zero
STRATEGIES = BLOCKS + ["megatron", "fsdp2"]

DEFAULTS = {
    "byteps": {"partition": "4096000 B", "credit": "4"},
    "bytescheduler": {"partition": "4 MB", "credit": "4"},
    "p3": {"partition": "160 kB"},
    "megatron": {"distributed_optimizer": "true", "overlap_grad_reduce": "true", "bucket_size": "0",
                 "align_grad_reduce": "true"},
    "fsdp2": {"lanes": "shared", "reduce_grad": "wait"},
}
SHAPE = ["pp", "tp", "cp", "ep", "schedule", "chunks", "stages"]  # keys of "parallel" in a cluster file


# ---- what is asked --------------------------------------------------------------------------------------------------

# forward, backward, weight (the part of backward that makes weight gradients): ps. tensors: elements of each.
# output: bytes handed on, or None. collectives: (op, group, bytes, pass).
Layer = namedtuple("Layer", "name forward backward weight tensors group activation output collectives")


def read_layers(trace):
    """The layers of a trace with an inline model."""
    unit, layers = coded.UNITS[trace["unit"]], []
    for row, model in zip(trace["layers"], trace["model"]["layers"]):
        backward = rounded(exact(row["backward"]) * unit)
        half = rounded(Fraction(backward, 2)) if model["tensors"] else 0
        weight = rounded(exact(row["backward_weight"]) * unit) if "backward_weight" in row else half
        collectives = [(one["op"], one["group"], exact(one["bytes"]), one["pass"])
                       for one in row.get("collectives", [])]
        layers.append(Layer(row["name"], rounded(exact(row["forward"]) * unit), backward, weight,
                            [math.prod(tensor["shape"]) for tensor in model["tensors"]], row.get("group"),
                            row.get("activation_bytes"), row.get("output_bytes"), collectives))
    return layers


def read_command(words):
    """Options of the arguments of `allreplay run`; flags are options like others."""
    parser = argparse.ArgumentParser(allow_abbrev=False)
    for names in (("-p", "--profile"), ("-c", "--cluster"), ("-s", "--strategy")):
        parser.add_argument(*names)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("-o", "--option", action="append", default=[])
    flags = [*SHAPE, "zero", "accumulate"]
    for flag in flags:
        parser.add_argument(f"--{flag}")
    parser.add_argument("--micro-batches", dest="accumulate")
    known = parser.parse_args([str(word) for word in words])
    given = {key: getattr(known, key) for key in ["strategy", *flags] if getattr(known, key) is not None}
    return dict(pair.split("=", 1) for pair in known.option) | given


class Scenario:
    """A trace, a cluster, files of schedules and a command as numbers."""

    def __init__(self, trace, cluster, words, files=None):
        given = {key: str(value) for key, value in cluster.get("parallel", {}).items()} | read_command(words)
        self.strategy = given["strategy"]
        self.options = DEFAULTS.get(self.strategy, {}) | given
        self.layers, self.network, self.workers = read_layers(trace), cluster["network"], cluster["workers"]
        self.batch, element = trace["batch_size"], ELEMENT[trace["precision"]]
        self.gradient = ELEMENT[given["gradient_dtype"]] if "gradient_dtype" in given else element
        self.parameter = ELEMENT[given["parameter_dtype"]] if "parameter_dtype" in given else element
        in_trace = rounded(exact(trace.get("update", 0)) * coded.UNITS[trace["unit"]])
        self.update = rounded(coded.duration(given["update"])) if "update" in given else in_trace
        self.zero = self.number("zero", 0)
        self.read_degrees(trace.get("parallel", {}))
        self.read_rows(files or {})
        self.read_cut()
        self.stage = {"megatron": int(self.flag("distributed_optimizer")), "fsdp2": 3}.get(self.strategy, self.zero)
        self.shards = self.replicas if self.stage else 1  # of the optimizer's state
        default = "layer" if self.strategy in ("bytescheduler", "p3") else "iteration"
        self.by_layer = self.options.get("barrier", default) == "layer"
        self.blocking = self.options.get("p2p", "overlap") == "blocking"
        self.barrier = self.options.get("update_barrier", "stage" if self.by_layer else "all")
        self.tied = self.read_tied(trace)
        self.channel_costs = {}

    def number(self, key, default=None):
        return int(self.options.get(key, default))

    def flag(self, key, default="false"):
        return self.options.get(key, default) == "true"

    def read_degrees(self, profile):
        self.ranks, self.experts = self.number("pp", 1), self.number("ep", 1)
        self.tensors, self.contexts = self.number("tp", profile.get("tp", 1)), self.number("cp", profile.get("cp", 1))
        whole = self.ranks * self.tensors * self.contexts
        require(self.workers % whole == 0, "workers")
        self.data = self.workers // whole
        self.replicas = self.contexts * self.data  # R
        self.stride = self.tensors * self.replicas  # S
        require(self.replicas % self.experts == 0, "ep")

    def read_rows(self, files):
        name = self.options.get("schedule", "1f1b")
        chunks, group = (self.number(key) if key in self.options else None for key in ("chunks", "microbatch_group"))
        if name in files:
            self.rows = pipeline_schedules.read(files[name])
            pipeline_schedules.check(self.rows, self.ranks)
        else:
            self.rows = pipeline_schedules.rows_of(name, self.ranks, self.number("accumulate", 1), chunks, group)
        self.from_file = name in files
        self.schedule, self.micro_batches = name, pipeline_schedules.micro_batches_of(self.rows)
        self.homes = pipeline_schedules.homes_of(self.rows)
        self.words = [flat(row) for row in self.rows]
        self.actions = [[word for word in words if word.kind in COMPUTING] for words in self.words]
        self.split = any(word.kind == "W" for words in self.words for word in words)

    def read_cut(self):
        count, units = len(self.homes), units_of(self.layers)
        require(len(self.layers) >= count, "layers")
        cut = self.options.get("stages", "balanced")
        if cut == "balanced":
            lengths = balanced([sum(self.layers[index].forward + self.layers[index].backward for index in unit)
                                for unit in units], count)
        elif cut == "equal":
            lengths = [len(units) // count + (place < len(units) % count) for place in range(count)]
        else:
            units, lengths = [[index] for index in range(len(self.layers))], [int(part) for part in cut.split(",")]
            require(len(lengths) == count and min(lengths) >= 1 and sum(lengths) == len(self.layers), "stages")
        ends = list(itertools.accumulate(lengths, initial=0))
        self.chunks = [[index for unit in units[first:last] for index in unit] for first, last in zip(ends, ends[1:])]
        self.own = [[chunk for chunk, home in enumerate(self.homes) if home == rank] for rank in range(self.ranks)]

    def read_tied(self, trace):
        """(rank, rank, bytes) of tied tensors on two ranks, or None."""
        if "tied" not in trace:
            return None
        places = {tensor["name"]: (self.homes[self.chunk_of(index)], math.prod(tensor["shape"]))
                  for index, layer in enumerate(trace["model"]["layers"]) for tensor in layer["tensors"]}
        (first, size), (second, _) = (places[name] for name in trace["tied"])
        require(not self.by_layer or first == second, "tied")
        return (first, second, size * self.gradient) if first != second else None

    def chunk_of(self, layer):
        return next(chunk for chunk, layers in enumerate(self.chunks) if layer in layers)

    def elements(self, layers):
        return sum(size for index in layers for size in self.layers[index].tensors)

    def of_rank(self, rank):
        """The layers that a rank holds."""
        return [index for chunk in self.own[rank] for index in self.chunks[chunk]]

    def all_elements(self):
        return self.elements(range(len(self.layers)))

    def backward_tensors(self, chunk):
        """(layer, elements) as the backward pass yields them."""
        return [(index, size) for index in reversed(self.chunks[chunk]) for size in reversed(self.layers[index].tensors)]

    # ---- times ----

    def collective_time(self, layer, which, rank):
        """ps of a layer's own collectives in a forward or a backward pass."""
        total = 0
        for operation, group, size, during in self.layers[layer].collectives:
            a, b = self.price(operation, group, rank)
            total += rounded(a + b * size) if during == which and (a or b) and size else 0
        return total

    def task(self, kind, layer, rank):
        """(computing, collectives) of a layer's task in an action."""
        row = self.layers[layer]
        if kind == "F":
            return row.forward, self.collective_time(layer, "forward", rank)
        computing = {"B": row.backward, "I": row.backward - row.weight, "W": row.weight}[kind]
        return computing, self.collective_time(layer, "backward", rank) if kind != "W" else 0

    def long(self, kind, layer, rank):
        return sum(self.task(kind, layer, rank))

    def update_of(self, layers):
        """U's share of some layers, as run."""
        return rounded(Fraction(self.update * self.elements(layers), self.all_elements() * self.shards))

    # ---- prices ----

    def groups(self, group, rank):
        """The workers of each group of one rank of the pipeline."""
        t, c, d, e = self.tensors, self.contexts, self.data, self.experts
        first, row = self.stride * rank, range(c * d)
        if group == "tp":
            return [[first + t * place + own for own in range(t)] for place in row]
        if group == "cp":
            return [[first + own + t * (place + c * block) for place in range(c)] for block in range(d)
                    for own in range(t)]
        if group == "ep":
            return [[first + own + t * (start + place) for place in range(e)] for start in range(0, c * d, e)
                    for own in range(t)]
        return [[first + own + t * place for place in row] for own in range(t)]

    def price(self, operation, group, rank):
        """(a, b) in ps and ps per byte of the whole; 0 and 0 over one worker."""
        key = operation, group, rank
        if key not in self.channel_costs:
            self.channel_costs[key] = self.priced(operation, self.groups(group, rank))
        return self.channel_costs[key]

    def priced(self, operation, groups):
        size = len(groups[0])
        if size == 1:
            return Fraction(0), Fraction(0)
        alpha, beta, gamma = (self.of_network(key) for key in ("alpha", "beta", "gamma"))
        collective = self.network["collective"]
        name = "all-to-all" if operation == "all-to-all" else collective
        if "node" not in self.network:
            return halved(operation, *one_level(name, size, alpha, beta, gamma))
        node, inner = self.node_size(), self.network["node"]
        shapes = {tuple(sorted(collections.Counter(worker // node for worker in group).values())) for group in groups}
        require(len(shapes) == 1 and len(set(next(iter(shapes)))) == 1, "node")
        shape = next(iter(shapes))
        inside = duration_and(inner, "alpha"), duration_and(inner, "beta")
        if len(shape) == 1:
            return halved(operation, *one_level(name, size, *inside, gamma))
        sharing = max(collections.Counter(node_of for group in groups
                                          for node_of in {worker // node for worker in group}).values())
        rails = self.network.get("rails", 1)
        if shape[0] == 1:
            return halved(operation, *one_level(name, size, alpha, math.ceil(Fraction(sharing, rails)) * beta, gamma))
        return halved(operation, *two_levels(name, len(shape), shape[0], sharing, rails, inside, (alpha, beta), gamma))

    def of_network(self, key):
        return duration_and(self.network, key)

    def node_size(self):
        return self.network["node"]["workers"] if "node" in self.network else None

    def send_cost(self, rank, other):
        """(alpha, beta) of a send between two ranks."""
        if "p2p" in self.network:
            return duration_and(self.network["p2p"], "alpha"), duration_and(self.network["p2p"], "beta")
        alpha, beta = self.of_network("alpha"), self.of_network("beta")
        if "node" not in self.network:
            return alpha, beta
        node, senders = self.node_size(), collections.Counter()
        for worker in range(self.stride * rank, self.stride * (rank + 1)):
            if worker // node != (worker + (other - rank) * self.stride) // node:
                senders[worker // node] += 1
        if not senders:
            return tuple(duration_and(self.network["node"], key) for key in ("alpha", "beta"))
        return alpha, beta * math.ceil(Fraction(max(senders.values()), self.network.get("rails", 1)))

    def cut_bytes(self, chunk):
        """What the cut behind a chunk carries, either way."""
        given = self.options.get("p2p_bytes")
        size = size_of(given) if given else self.layers[self.chunks[chunk][-1]].output
        require(size is not None, self.layers[self.chunks[chunk][-1]].name)
        return Fraction(size) / (self.tensors if self.flag("p2p_split") else 1)

    def send_time(self, chunk, to):
        """ps from one chunk to the one before or behind it; none on one rank."""
        rank, other, size = self.homes[chunk], self.homes[to], self.cut_bytes(min(chunk, to)) \
            if self.homes[chunk] != self.homes[to] else 0
        if rank == other or not size:
            return 0
        alpha, beta = self.send_cost(rank, other)
        return rounded(alpha + beta * size)

    def tied_time(self):
        first, second, size = self.tied
        alpha, beta = self.send_cost(first, second)
        a, b = one_level(self.network["collective"], 2, alpha, beta, self.of_network("gamma"))[:2]
        return rounded(a + b * size) if size else 0

    def launch(self):
        return coded.duration(self.options.get("launch", self.network.get("launch", "0 us")))


def duration_and(network, key):
    """alpha as ps; beta or gamma as ps per byte."""
    if key == "alpha":
        return coded.duration(network["alpha"])
    if key == "beta" and "bandwidth" in network:
        return SECOND / size_of(network["bandwidth"].removesuffix("/s"))
    return per_byte(network.get(key, "0 s/B"))


def one_level(collective, ranks, alpha, beta, gamma):
    """(a, b, the part of b that reduces)."""
    if collective == "all-to-all":
        return Fraction(alpha), Fraction(ranks - 1, ranks) * beta, Fraction(0)
    a, b = reference.from_links(collective, ranks, alpha, beta, gamma)
    return Fraction(a), Fraction(b), Fraction(b - reference.from_links(collective, ranks, alpha, beta)[1])


def two_levels(collective, nodes, inside, sharing, rails, inner, outer, gamma):
    """The same over several nodes, so many ranks in each, where so many groups share a node."""
    n, g, ranks = nodes, inside, nodes * inside
    (alpha_i, beta_i), (alpha_o, beta_o) = inner, outer
    ports, trees = math.ceil(Fraction(sharing * g, rails)), math.ceil(Fraction(sharing, rails))
    ring, through = max(beta_i, beta_o * sharing / rails), max(beta_i, ports * beta_o)
    log_g, log_n = Fraction(math.log2(g)), Fraction(math.log2(n))
    server = max(Fraction(ranks - 1, ranks) * beta_i, Fraction(ranks - g, ranks) * ports * beta_o)
    if collective == "all-to-all":
        return Fraction(alpha_o), server, Fraction(0)
    in_turn = Fraction(2 * (g - 1), g) * beta_i + Fraction(2 * (n - 1), ranks) * through
    a, b = {
        "ring": (2 * (ranks - n) * alpha_i + 2 * (n - 1) * alpha_o, Fraction(2 * (ranks - 1), ranks) * ring),
        "hierarchical": (2 * (g - 1) * alpha_i + 2 * (n - 1) * alpha_o, in_turn),
        "halving-doubling": (2 * log_g * alpha_i + 2 * log_n * alpha_o, in_turn),
        "recursive-doubling": (log_g * alpha_i + log_n * alpha_o, log_g * beta_i + log_n * through),
        "parameter-server": (2 * alpha_o, 2 * server),
        "binary-tree": (2 * log_g * alpha_i + 2 * log_n * alpha_o,
                        2 * log_g * beta_i + 2 * log_n * max(beta_i, trees * beta_o)),
        "double-binary-tree": (2 * (g - 1) * alpha_i + 2 * log_n * alpha_o, 2 * ring),
    }[collective]
    row = "ring" if collective == "hierarchical" else collective
    reduction = reference.coefficients(row, ranks)[2] * gamma
    return Fraction(a), Fraction(b) + reduction, Fraction(reduction)


def halved(operation, a, b, reduction):
    """An all-reduce, or one of its halves; others as they are."""
    return {"reduce-scatter": (a / 2, (b + reduction) / 2), "all-gather": (a / 2, (b - reduction) / 2)}.get(
        operation, (a, b))


def units_of(layers):
    """What cuts fall between: layers, or groups of them where they have names."""
    if any(layer.group is not None for layer in layers):
        return sharded.grouped(layers)
    return [[index] for index in range(len(layers))]


def balanced(costs, count):
    """Lengths in units: the largest chunk small, then the smallest large, then short chunks first. All are tried."""
    require(len(costs) >= count, "layers")

    def worth(cuts):
        edges = [0, *cuts, len(costs)]
        sums = [sum(costs[first:last]) for first, last in zip(edges, edges[1:])]
        return max(sums), -min(sums), [last - first for first, last in zip(edges, edges[1:])]

    return min(map(worth, itertools.combinations(range(1, len(costs)), count - 1)))[2]


# ---- what is written down -------------------------------------------------------------------------------------------

Holding = namedtuple("Holding", "rank part size since until")  # bytes from one moment (item, edge) to another
Lane = namedtuple("Lane", "order window", defaults=("listed", 1))  # order: listed, first-ready or priority


class Item:
    """What has a start and an end. after: moments (item, edge) that it waits for. rank: where it is seen."""

    def __init__(self, name, rank, iteration, after=()):
        self.name, self.rank, self.iteration, self.after = name, rank, iteration, list(after)
        self.start = self.end = self.missing = None


class Step(Item):
    """A task of a compute stream; computing, collectives: ps."""

    def __init__(self, name, rank, iteration, after=(), computing=0, collectives=0):
        super().__init__(name, rank, iteration, after)
        self.computing, self.collectives = computing, collectives


class Send(Item):
    """Between two ranks. lane: the ordered pair, or None where who is there is waited for (blocking)."""

    def __init__(self, name, rank, iteration, after, lane, duration):
        super().__init__(name, rank, iteration, after)
        self.lane, self.duration = lane, duration


class Transfer(Item):
    """A reduction or a gather among the replicas of a rank. key: its place among what waits in its lane.

    tick: None, or (the step from whose start ticks count, the number of its own tick, ps between ticks).
    """

    def __init__(self, name, rank, iteration, after, lane, operation, size, key=(), tick=None):
        super().__init__(name, rank, iteration, after)
        self.lane, self.operation, self.size, self.key, self.tick = lane, operation, Fraction(size), key, tick


class Tied(Item):
    def __init__(self, iteration, after, duration, ranks):
        super().__init__("tied", ranks[0], iteration, after)
        self.ranks, self.duration = ranks, duration


class Program:
    """Several iterations of all ranks."""

    LANES = ["shared", "gather", "reduce"]  # in the order of admission within an instant

    def __init__(self, scenario):
        self.scenario = scenario
        self.streams = [[] for _ in range(scenario.ranks)]
        self.items, self.holdings, self.firsts = [], [], []  # firsts: rank 0's first task of each iteration
        self.lanes = {name: Lane() for name in self.LANES}

    def add(self, item):
        self.items.append(item)
        if isinstance(item, Step):
            self.streams[item.rank].append(item)
        return item

    def hold(self, rank, part, size, since, until):
        self.holdings.append(Holding(rank, part, Fraction(size), since, until))


def end(item):
    return item, "end"


def start(item):
    return item, "start"


Pass = namedtuple("Pass", "place word steps number")  # steps: by layer. number: among its chunk's gradient passes


class RankWriter:
    """One rank: its row, and what its strategy adds to it. A strategy's hooks stand below, in its own class."""

    def __init__(self, program, rank):
        self.s, self.program, self.rank = program.scenario, program, rank
        self.words, self.actions = self.s.words[rank], self.s.actions[rank]
        self.own = self.s.own[rank]
        self.updated = None  # the last iteration's update
        self.last_pass = {word.chunk: place for place, word in enumerate(self.actions) if word.kind in GRADIENTS}
        self.first_forward = {}
        for place, word in enumerate(self.actions):
            if word.kind == "F":
                self.first_forward.setdefault(word.chunk, place)
        self.plan()

    # What a strategy says.

    def plan(self):
        """Once, before anything is written."""

    def open(self):
        """The start of an iteration: gathers."""

    def whole_row_waits(self):
        """Transfers that the first action waits for."""
        return []

    def layer_waits(self, layer):
        """Transfers that a layer of the first F action of its chunk waits for."""
        return []

    def unit_waits(self, layer):
        """Transfers that any task of a layer waits for."""
        return []

    def share(self, layer):
        """(U's share that runs before a layer, transfers that it waits for), or None."""
        return None

    def passed(self, done):
        """A gradient pass has been written."""

    def instruction(self, word):
        """A word of a file that is no action."""

    def close(self):
        """The end of the row."""

    # Writing.

    def after_update(self):
        return [end(self.updated)] if self.updated else []

    def before(self):
        """The end of the compute task before this place; at the row's start the update's."""
        return [end(self.computed)] if self.computed else self.after_update()

    def step(self, name, after=(), computing=0, collectives=0):
        item = Step(name, self.rank, self.iteration, [*after, *self.held], computing, collectives)
        self.held = []
        return self.program.add(item)

    def transfer(self, name, lane, operation, size, after, key=(), tick=None):
        item = Transfer(f"{name}@{self.rank}", self.rank, self.iteration, after, lane, operation, size, key, tick)
        self.program.add(item)
        if lane == "reduce" or operation != "all-gather":
            self.reductions.append(item)
        return item

    def begin(self, iteration):
        self.iteration, self.held, self.action_held, self.computed = iteration, [], [], None
        self.passes, self.forwards, self.reductions, self.results, self.sends = [], {}, [], {}, {}
        self.open()

    def write_row(self, messages):
        """Steps of the row. messages: of this iteration, by (kind, chunk, micro) of who sends."""
        place = 0
        for word in self.words:
            if word.kind in COMPUTING:
                if self.s.blocking:
                    self.exchange(place, messages)
                self.act(place, word)
                place += 1
                if not pipeline_schedules.has_sends(self.s.rows):
                    self.send(word)
                self.after_action(word, place - 1)
            elif word.kind.startswith("SEND"):
                self.send(Word({"SEND_F": "F"}.get(word.kind, "B"), word.chunk, word.micro))
            else:
                self.instruction(word)
        if self.s.blocking:
            self.exchange(place, messages)
        self.ended = self.step("end")
        self.close()

    def act(self, place, word):
        layers = self.s.chunks[word.chunk]
        opening = place == self.first_forward[word.chunk]
        waits = [*map(end, self.whole_row_waits())] if place == 0 and not self.s.blocking else []
        waits += map(end, self.action_held)
        self.action_held = []
        steps = {}
        for count, layer in enumerate(layers if word.kind == "F" else reversed(layers)):
            share = self.share(layer) if opening and word.kind == "F" else None
            if share:
                self.step(f"U{layer}", map(end, share[1]), share[0])
            after = list(map(end, self.unit_waits(layer)))
            if opening and word.kind == "F":
                after += map(end, self.layer_waits(layer))
            name = f"{word.chunk}{word.kind}{word.micro}.{layer}"
            steps[layer] = self.step(name, after, *self.s.task(word.kind, layer, self.rank))
            if count == 0:
                steps[layer].after += waits
                self.results[word, "first"] = steps[layer]
        self.computed = self.results[word, "last"] = steps[layers[-1] if word.kind == "F" else layers[0]]
        if word.kind == "F":
            self.forwards[word.chunk, word.micro] = steps
        if word.kind in GRADIENTS:
            number = sum(done.word.chunk == word.chunk for done in self.passes)
            self.passes.append(Pass(place, word, steps, number))
            self.keep(word, steps)
            self.passed(self.passes[-1])

    def after_action(self, word, place):
        """Behind an action and its send."""

    def keep(self, word, steps):
        """Activations."""
        for layer, forward in self.forwards[word.chunk, word.micro].items():
            if self.s.layers[layer].activation:
                self.program.hold(self.rank, "activations", self.s.layers[layer].activation, start(forward),
                                  end(steps[layer]))

    # Activations between chunks.

    def target(self, word):
        """The chunk to which an action hands on, or None."""
        if word.kind == "W":
            return None
        to = word.chunk + (1 if word.kind == "F" else -1)
        return to if 0 <= to < len(self.s.homes) and self.s.homes[to] != self.rank else None

    def source(self, word):
        """(F or B, chunk) on which an action waits, whatever the rank, or None."""
        if word.kind == "W":
            return None
        chunk = word.chunk + (-1 if word.kind == "F" else 1)
        return ("F" if word.kind == "F" else "B", chunk) if 0 <= chunk < len(self.s.homes) else None

    def send(self, word):
        """In its lane, when the compute task before has ended."""
        to = self.target(word)
        if to is None or self.s.blocking:
            return
        kind = "F" if word.kind == "F" else "B"
        lane = self.rank, self.s.homes[to]
        self.sends[kind, word.chunk, word.micro] = self.program.add(
            Send(f"send {word.chunk}{kind}{word.micro}", self.rank, self.iteration, self.before(), lane,
                 self.s.send_time(word.chunk, to)))

    def post(self, messages, keys, after=()):
        """Both sides of a message post it; it starts when both have."""
        step = self.step("post", after)
        for key in keys:
            messages[key].after.append(end(step))
        return [end(messages[key]) for key in keys]

    def exchange(self, place, messages):
        """What stands on the stream before an action, or behind the last (blocking)."""
        before, behind = (self.actions[at] if 0 <= at < len(self.actions) else None for at in (place - 1, place))
        sent = [("F" if before.kind == "F" else "B", before.chunk, before.micro)] \
            if before and self.target(before) is not None else []
        source = self.source(behind) if behind else None
        received = [(*source, behind.micro)] if source and self.s.homes[source[1]] != self.rank else []
        whole = [end(transfer) for transfer in self.whole_row_waits()] if place == 0 else []
        if before and behind and before.kind != behind.kind:
            if sent or received:
                self.held += self.post(messages, sent + received)
            return
        if sent:
            self.held += self.post(messages, sent)
        if received:
            self.held += self.post(messages, received, whole)
        else:
            self.held += whole

    def connect(self, everybody):
        """An action waits for the one before it in the pipeline."""
        for word in self.actions:
            source = self.source(word)
            if not source:
                continue
            kind, chunk = source
            sender = everybody[self.s.homes[chunk]]
            if sender is self:
                one = [Word(kind, chunk, word.micro), Word("I", chunk, word.micro)]
                item = next(self.results[made, "last"] for made in one if (made, "last") in self.results)
            elif self.s.blocking:
                continue
            else:
                item = sender.sends[kind, chunk, word.micro]
            self.results[word, "first"].after.append(end(item))

    def update(self, after):
        """The update, in one piece."""
        self.updated = self.step("update", after, self.s.update_of(self.s.of_rank(self.rank)))


# ---- strategies -----------------------------------------------------------------------------------------------------

Block = namedtuple("Block", "index slices key tick")  # slices: (layer, bytes of gradients)


class BlockWriter(RankWriter):
    """Plans of blocks, each chunk's by itself, with or without ZeRO."""

    def plan(self):
        name = self.s.strategy
        self.after_pass = name == "s-sgd" or name == "byteps" and self.s.options.get("release") == "backward"
        order = {"ddp": "listed", "bytescheduler": "priority", "p3": "priority"}.get(name, "first-ready")
        self.program.lanes["reduce"] = Lane(order, self.s.number("credit", 1))
        self.blocks = {chunk: self.partitions(chunk) if name in PARTITIONED else self.merged(chunk)
                       for chunk in self.own}
        self.pending = collections.defaultdict(list)  # what layers wait for, from the iteration before
        self.last_gathers = []

    def partitions(self, chunk):
        """Slices of each tensor alone, the short one last; by layer, or in backward order (byteps)."""
        size = size_of(self.s.options["partition"])
        tensors = [(layer, elements * self.s.gradient) for layer in self.s.chunks[chunk]
                   for elements in self.s.layers[layer].tensors]
        if self.s.strategy == "byteps":
            tensors.reverse()
        pieces = [(layer, min(size, total - size * place)) for layer, total in tensors
                  for place in range(math.ceil(total / size))]
        return [Block(index, [piece], index, None) for index, piece in enumerate(pieces)]

    def merged(self, chunk):
        """The plans of reference.py, of the chunk as a model of its own with its last pass's times."""
        word, layers = self.actions[self.last_pass[chunk]], self.s.chunks[chunk]
        rows = [reference.Layer(self.s.layers[layer].name, self.s.long("F", layer, self.rank),
                                self.s.long(word.kind, layer, self.rank),
                                [(str(place), elements * self.s.gradient)
                                 for place, elements in enumerate(self.s.layers[layer].tensors)]) for layer in layers]
        tensors = reference.backward_order(rows)
        a, b = self.s.price("reduce-scatter" if self.s.zero else "all-reduce", "data", self.rank)
        cost = reference.Cost(a + self.s.launch(), b, self.s.replicas)
        given = self.s.options
        options = {key: size_of(given[key]) for key in ("bucket_cap", "first_bucket", "threshold") if key in given}
        options |= {"cycle": rounded(coded.duration(given["cycle"]))} if "cycle" in given else {}
        plan = reference.STRATEGIES[self.s.strategy](tensors, reference.ready_times(rows, tensors), cost, **options)
        return [Block(index, [(layers[tensors[place].layer], tensors[place].bytes) for place in block], index,
                      (plan.ticks[index], plan.tick) if plan.tick else None)
                for index, block in enumerate(plan.blocks)]

    def open(self):
        if self.s.by_layer and not self.s.zero:
            return
        self.pending.clear()
        self.last_gathers = []
        if self.s.zero:
            self.gather()

    def gather(self):
        """An all-gather per block, the block with the lowest layer first, ties as listed."""
        listed = [(min(layer for layer, _ in block.slices), self.last_pass[chunk], block.index, chunk, block)
                  for chunk in self.own for block in self.blocks[chunk]]
        for *_, chunk, block in sorted(listed, key=lambda row: row[:3]):
            size = sum(held for _, held in block.slices) * Fraction(self.s.parameter, self.s.gradient)
            gather = self.transfer(f"G{chunk}.{block.index}", "gather", "all-gather", size, self.after_update())
            self.last_gathers.append(gather)
            for layer in {layer for layer, _ in block.slices}:
                self.pending[layer].append(gather)

    def whole_row_waits(self):
        return [] if self.s.by_layer else self.last_gathers

    def layer_waits(self, layer):
        return self.pending[layer] if self.s.by_layer else []

    def share(self, layer):
        if self.s.by_layer and not self.s.zero and self.s.layers[layer].tensors:
            return self.s.update_of([layer]), self.pending[layer]
        return None

    def passed(self, done):
        chunk = done.word.chunk
        if self.s.zero != 2 and done.place != self.last_pass[chunk]:
            return
        last = done.steps[self.s.chunks[chunk][0]]
        opening = done.steps[self.s.chunks[chunk][-1]]
        if done.place == self.last_pass[chunk] and self.s.by_layer and not self.s.zero:
            for layer in self.s.chunks[chunk]:
                self.pending[layer] = []
        for block in self.blocks[chunk]:
            lowest = min(layer for layer, _ in block.slices)
            ready = last if self.after_pass else done.steps[lowest]
            place = (self.iteration, done.number, lowest, block.key) if self.s.strategy in ("bytescheduler", "p3") \
                else (done.place, block.key)
            operation = "reduce-scatter" if self.s.zero else "all-reduce"
            sent = self.transfer(f"R{chunk}.{block.index}", "reduce", operation,
                                 sum(held for _, held in block.slices), [end(ready)], place,
                                 (opening, *block.tick) if block.tick else None)
            for layer, held in block.slices:
                if self.s.zero == 2:
                    self.program.hold(self.rank, "in_reduction", held, start(done.steps[layer]), end(sent))
                if self.s.by_layer and not self.s.zero:
                    self.pending[layer].append(sent)


class MegatronWriter(RankWriter):
    """Megatron-Core: buckets of the first chunk, one each of the others."""

    def plan(self):
        s = self.s
        self.sharded, self.overlaps = s.flag("distributed_optimizer"), s.flag("overlap_grad_reduce")
        both = "true" if self.sharded and self.overlaps else "false"
        self.ahead = s.flag("overlap_param_gather", both)
        self.aligned = s.flag("align_grad_reduce") and self.overlaps and len(self.own) > 1
        self.buckets = {chunk: self.fill(chunk) for chunk in self.own}
        self.gathers = []

    def fill(self, chunk):
        """Buckets in backward order, closed once they hold enough."""
        enough = self.s.number("bucket_size") or max(40 * 10**6, 10**6 * self.s.replicas)
        several = self.overlaps and self.rank == 0 and chunk == self.own[0]
        buckets = []
        for layer, size in self.s.backward_tensors(chunk):
            if not buckets or several and sum(held for _, held in buckets[-1]) >= enough:
                buckets.append([])
            buckets[-1].append((layer, size))
        return buckets

    def open(self):
        self.gathers, self.waiting = [], {}
        if not self.sharded:
            return
        for chunk in sorted(self.own, key=self.first_forward.get):
            for bucket in reversed(self.buckets[chunk]):
                size = sum(held for _, held in bucket) * self.s.parameter
                first = not self.gathers or not self.ahead
                gather = self.transfer(f"G{len(self.gathers)}", "gather", "all-gather", size,
                                       self.after_update() if first else [])
                if self.ahead:
                    layer = bucket[-1][0]  # the first in forward order
                    self.waiting.setdefault(layer, []).append(len(self.gathers))
                self.gathers.append(gather)

    def whole_row_waits(self):
        return [] if self.ahead else self.gathers

    def layer_waits(self, layer):
        """Gathers of the buckets that begin in a layer; each sets off the next."""
        numbers, previous = self.waiting.get(layer, []), self.previous_task()
        for number in numbers:
            if number + 1 < len(self.gathers):
                self.gathers[number + 1].after += [end(self.gathers[number]), *previous]
        return [self.gathers[number] for number in numbers]

    def previous_task(self):
        """The end of the compute task before the one that is being written."""
        stream = [step for step in self.program.streams[self.rank][::-1] if step.name not in ("post", "end")]
        return [end(stream[0])] if stream else []

    def close(self):
        """Launches, in their order."""
        gradient_passes, launches = self.passes, []
        for chunk in self.own:
            index = max(place for place, done in enumerate(gradient_passes) if done.word.chunk == chunk)
            for number, bucket in enumerate(self.buckets[chunk]):
                if not self.overlaps or self.aligned and index + self.rank >= len(gradient_passes):
                    launches.append(((1, chunk, number), self.ended))
                elif self.aligned:
                    behind = gradient_passes[index + self.rank]
                    launches.append(((0, index + self.rank, number), self.results[behind.word, "last"]))
                else:
                    launches.append(((0, index, number), gradient_passes[index].steps[bucket[-1][0]]))
                launches[-1] = (*launches[-1], chunk, number)
        for _, step, chunk, number in sorted(launches, key=lambda launch: launch[0]):
            size = sum(held for _, held in self.buckets[chunk][number]) * self.s.gradient
            self.transfer(f"R{chunk}.{number}", "reduce", "reduce-scatter" if self.sharded else "all-reduce", size,
                          [end(step)])


class Fsdp2Writer(RankWriter):
    """PyTorch's fully_shard, as its pipeline runtime drives it."""

    def plan(self):
        s = self.s
        self.gather_lane, self.reduce_lane = ("shared", "shared") if s.options["lanes"] == "shared" else \
            ("gather", "reduce")
        self.units = {chunk: self.wrapped(chunk) for chunk in self.own}
        words = {word.kind for words in s.words for word in words}
        self.told = bool(words & {"UNSHARD", "RESHARD", "REDUCE_GRAD"})

    def wrapped(self, chunk):
        """Lists of layers."""
        s, layers = self.s, self.s.chunks[chunk]
        named = any(layer.group is not None for layer in s.layers)
        wrap = s.options.get("wrap", "group" if named else "layer")
        if wrap == "group":
            units = sharded.grouped([s.layers[layer] for layer in layers])
        elif wrap == "layer":
            units = [[place] for place in range(len(layers))]
        else:
            units = self.filled(layers, size_of(wrap))
        units = [[layers[place] for place in unit] for unit in units]
        return sharded.joined(units, self.s.elements)

    def filled(self, layers, size):
        units, held = [[]], 0
        for place, layer in enumerate(layers):
            if held >= size and self.s.layers[layer].tensors:
                units.append([])
                held = 0
            units[-1].append(place)
            held += self.s.elements([layer]) * self.s.parameter
        return units

    def open(self):
        self.gathered, self.open_holdings = {}, {}
        if not self.told:
            for chunk in sorted(self.own, key=self.first_forward.get):
                self.unshard(chunk)

    def unshard(self, chunk):
        require((chunk not in self.gathered), "UNSHARD")
        self.gathered[chunk] = [
            self.transfer(f"G{chunk}.{number}", self.gather_lane, "all-gather",
                          self.s.elements(unit) * self.s.parameter, self.before())
            for number, unit in enumerate(self.units[chunk])]

    def unit_waits(self, layer):
        chunk = self.s.chunk_of(layer)
        require(chunk in self.gathered, "UNSHARD")
        return [gather for gather, unit in zip(self.gathered[chunk], self.units[chunk]) if layer in unit]

    def free(self, chunk, until):
        for gather in self.gathered.pop(chunk):
            self.program.hold(self.rank, "gathered", gather.size, start(gather), end(until))

    def reduce_grad(self, chunk):
        sent = [self.transfer(f"R{chunk}.{number}", self.reduce_lane, "reduce-scatter",
                              self.s.elements(unit) * self.s.gradient, self.before())
                for number, unit in enumerate(self.units[chunk])]
        if self.s.options["reduce_grad"] == "wait":
            self.action_held += sent

    def after_action(self, word, place):
        if not self.told and place == self.last_pass[word.chunk]:
            self.reduce_grad(word.chunk)
            self.free(word.chunk, self.computed)

    def instruction(self, word):
        if word.kind == "UNSHARD":
            self.unshard(word.chunk)
        elif word.kind == "RESHARD":
            self.free(word.chunk, self.computed)
        else:
            self.reduce_grad(word.chunk)

    def close(self):
        for chunk in list(self.gathered):
            self.free(chunk, self.computed)


def writer_of(strategy):
    return {"megatron": MegatronWriter, "fsdp2": Fsdp2Writer}.get(strategy, BlockWriter)


def written(scenario, iterations):
    """The program of so many iterations."""
    program = Program(scenario)
    writers = [writer_of(scenario.strategy)(program, rank) for rank in range(scenario.ranks)]
    for iteration in range(iterations):
        messages = {}
        for writer in writers:
            writer.begin(iteration)
        if scenario.blocking:
            messages = written_messages(program, writers, iteration)
        first = len(program.streams[0])
        for writer in writers:
            writer.write_row(messages)
        program.firsts.append(next(step for step in program.streams[0][first:] if step.name != "post"))
        for writer in writers:
            writer.connect(writers)
        close(program, writers, iteration)
    return program


def written_messages(program, writers, iteration):
    """Those that both sides post, by (kind, chunk, micro) of who sends."""
    messages = {}
    for writer in writers:
        for word in writer.actions:
            to = writer.target(word)
            if to is not None:
                messages[word.kind, word.chunk, word.micro] = program.add(
                    Send(f"send {word.chunk}{word.kind}{word.micro}", writer.rank, iteration, [], None,
                         program.scenario.send_time(word.chunk, to)))
    return messages


def close(program, writers, iteration):
    """Tied tensors and updates."""
    s = program.scenario
    done = [[end(writer.ended), *map(end, writer.reductions)] for writer in writers]
    tied = None
    if s.tied:
        first, second, _ = s.tied
        tied = program.add(Tied(iteration, done[first] + done[second], s.tied_time(), (first, second)))
    if s.by_layer and not s.zero:
        return
    for writer in writers:
        after = done[writer.rank]
        if s.barrier == "all":
            after = [moment for moments in done for moment in moments]
        if tied and (s.barrier == "all" or writer.rank in tied.ranks):
            after = after + [end(tied)]
        writer.update(after)


# ---- replay ---------------------------------------------------------------------------------------------------------

class Replay:
    """Gives every item of a program its times. free: what takes no time ("reductions", "sends")."""

    def __init__(self, program, free=()):
        self.program, self.s, self.free = program, program.scenario, free
        ranks = range(self.s.ranks)
        sharing = {"serial": coded.Serial, "fair": coded.Fair}[self.s.options.get("sharing", "serial")]
        self.channels, self.in_flight = [sharing() for _ in ranks], [0 for _ in ranks]
        self.now, self.events, self.counter, self.admitted = 0, [], itertools.count(), 0
        self.next, self.running = [0 for _ in ranks], [None for _ in ranks]
        self.waiting = {(rank, lane): [] for rank in ranks for lane in Program.LANES}
        self.listed = {key: collections.deque() for key in self.waiting}
        self.flying, self.launched = collections.Counter(), collections.Counter()
        self.send_lanes = collections.defaultdict(collections.deque)
        self.sending = set()
        self.listeners = collections.defaultdict(list)
        for place, item in enumerate(program.items):
            item.place, item.missing, item.start, item.end = place, len(item.after), None, None
            if isinstance(item, Transfer):
                self.listed[item.rank, item.lane].append(item)
            for other, edge in item.after:
                self.listeners[id(other), edge].append(item)

    def run(self):
        self.changed = True
        for item in self.program.items:
            if not item.missing:
                self.ready(item)
        while True:
            self.settle()
            while self.admit_everywhere():
                self.settle()
            upcoming = [self.events[0][0]] if self.events else []
            upcoming += [channel.next() for rank, channel in enumerate(self.channels) if self.in_flight[rank]]
            if not upcoming:
                break
            self.now = min(upcoming)
        late = [item for item in self.program.items if item.end is None]
        require(not late, "can never start")
        return self

    def at(self, time, action, item):
        heapq.heappush(self.events, (time, next(self.counter), action, item))

    def settle(self):
        """All that ends at this instant, and what takes no time and can start."""
        while True:
            changed = any([self.begin(rank) for rank in range(self.s.ranks)])
            changed |= any([self.begin_send(lane) for lane in list(self.send_lanes)])
            while self.events and self.events[0][0] <= self.now:
                _, _, action, item = heapq.heappop(self.events)
                action(item)
                changed = True
            for rank, channel in enumerate(self.channels):
                while self.in_flight[rank] and channel.next() <= self.now:
                    self.in_flight[rank] -= 1
                    self.arrived(channel.complete())
                    changed = True
            if not changed:
                return

    def reached(self, item, edge):
        for other in self.listeners[id(item), edge]:
            other.missing -= 1
            if not other.missing:
                self.ready(other)

    def ready(self, item):
        """Everything that an item waits for has happened."""
        if isinstance(item, Send):
            if item.lane:
                self.send_lanes[item.lane].append(item)
            else:
                self.start_for(item, 0 if "sends" in self.free else item.duration)
        elif isinstance(item, Tied):
            self.start_for(item, 0 if "reductions" in self.free else item.duration)
        elif isinstance(item, Transfer):
            release = self.now
            if item.tick:
                origin, own, between = item.tick
                number = max(-(-(self.now - origin.start) // between), own)
                release = origin.start + number * between
            self.at(release, self.offer, item)

    def start_for(self, item, duration):
        item.start = self.now
        self.at(self.now + duration, self.over, item)

    def over(self, item):
        item.end = self.now
        self.reached(item, "end")

    def begin(self, rank):
        """Starts the next step of a stream if it can."""
        stream, place = self.program.streams[rank], self.next[rank]
        if self.running[rank] or place == len(stream) or stream[place].missing:
            return False
        step = stream[place]
        self.next[rank], self.running[rank], step.start = place + 1, step, self.now
        self.at(self.now + step.computing + step.collectives, self.step_over, step)
        self.reached(step, "start")
        return True

    def step_over(self, step):
        self.running[step.rank] = None
        self.over(step)

    def begin_send(self, lane):
        """Starts the next send of a pair of ranks: first issued, first sent."""
        if lane in self.sending or not self.send_lanes[lane]:
            return False
        item = self.send_lanes[lane].popleft()
        self.sending.add(lane)
        item.start = self.now
        self.at(self.now + (0 if "sends" in self.free else item.duration), self.sent, item)
        return True

    def sent(self, item):
        self.sending.remove(item.lane)
        self.over(item)

    def offer(self, item):
        order = self.program.lanes[item.lane].order
        key = {"listed": (), "priority": item.key, "first-ready": (self.now, *item.key)}[order]
        heapq.heappush(self.waiting[item.rank, item.lane], (key, item.place, item))

    def admit_everywhere(self):
        return any([self.admit(rank) for rank in range(self.s.ranks)])

    def admit(self, rank):
        """Starts one transfer of a rank, of the first lane that has one."""
        for name in Program.LANES:
            lane, key = self.program.lanes[name], (rank, name)
            waiting = self.waiting[key]
            if not waiting or self.flying[key] >= lane.window:
                continue
            item = waiting[0][2]
            if lane.order == "listed" and item is not self.listed[key][0]:
                continue
            heapq.heappop(waiting)
            self.listed[key].remove(item)
            self.depart(item, key)
            return True
        return False

    def depart(self, item, key):
        item.start, item.sequence = self.now, self.admitted
        self.admitted += 1
        self.flying[key] += 1
        a, b = self.s.price(item.operation, "data", item.rank)
        if self.s.replicas == 1 or not item.size or "reductions" in self.free:
            self.arrived(item)
            return
        self.launched[key] = max(self.launched[key], self.now) + self.s.launch()
        self.in_flight[item.rank] += 1
        self.channels[item.rank].admit(self.now, item, self.launched[key] - self.now + a, b * item.size)

    def arrived(self, item):
        self.flying[item.rank, item.lane] -= 1
        self.over(item)


Steady = namedtuple("Steady", "program first last")  # iterations between which everything repeats


def steady(scenario, free=()):
    """A replayed program, and two iterations that are alike in everything, each some way from the ends."""
    for iterations in (9, 20, 70):
        program = written(scenario, iterations)
        Replay(program, free).run()
        by_iteration = [[] for _ in range(iterations)]
        for item in program.items:
            by_iteration[item.iteration].append(item)
        seen = {}
        for iteration, items in enumerate(by_iteration[:-1]):
            origin = program.firsts[iteration].start
            state = tuple((item.start - origin, item.end - origin) for item in items)
            if state in seen and iteration + 5 < iterations:
                return Steady(program, seen[state] + 3, iteration + 3)
            seen.setdefault(state, iteration)
    return Steady(program, 32, 64)  # the mean of the last 32


def period(found):
    firsts = found.program.firsts
    return Fraction(firsts[found.last].start - firsts[found.first].start, found.last - found.first)


# ---- memory ---------------------------------------------------------------------------------------------------------

def constant_memory(s, rank):
    """Bytes of the parts of one rank that do not change over an iteration."""
    elements, fsdp = s.elements(s.of_rank(rank)), s.strategy == "fsdp2"
    held, gradient = (4, 4) if fsdp else (s.parameter, s.gradient)
    state = Fraction(s.options.get("state", 12 if held == 2 else 8))
    parts = dict.fromkeys(PARTS, Fraction(0))
    parts["parameters"] = Fraction(elements * held, s.shards if fsdp else 1)
    parts["gradients"] = Fraction(elements * gradient, s.shards if s.stage == 2 else 1)
    parts["optimizer"] = elements * state / s.shards
    return parts


def memory(found, rank):
    """(bytes at the peak, bytes of each part at its own peak) of one rank."""
    program = found.program
    since, until = (program.firsts[place].start for place in (found.first, found.last))
    changes = []
    for holder, part, size, first, last in program.holdings:
        begins, ends = (getattr(item, edge) for item, edge in (first, last))
        if holder == rank and max(begins, since) < min(ends, until):
            changes += [(max(begins, since), 1, part, size), (ends, 0, part, -size)]
    held, most, total, top = collections.Counter(), collections.Counter(), 0, 0
    for _, _, part, size in sorted(changes, key=lambda change: change[:2]):  # ends free before starts take
        held[part] += size
        total += size
        most[part] = max(most[part], held[part])
        top = max(top, total)
    parts = constant_memory(program.scenario, rank)
    return sum(parts.values()) + top, {part: parts[part] + most[part] for part in PARTS}


# ---- results --------------------------------------------------------------------------------------------------------

def spent(s, rank):
    """(computing, collectives inside layers, update) of a rank in an iteration, in ps."""
    tasks = [s.task(word.kind, layer, rank) for word in s.actions[rank] for layer in s.chunks[word.chunk]]
    whole = s.of_rank(rank)
    update = sum(s.update_of([layer]) for layer in whole) if s.by_layer and not s.zero else s.update_of(whole)
    return sum(task[0] for task in tasks), sum(task[1] for task in tasks), update


def lower_bound(s):
    """ps that no plan of the same kind beats."""
    home = s.homes[0]
    bounds = []
    for rank in range(s.ranks):
        computing, collectives, update = spent(s, rank)
        work = computing + collectives
        bounds.append(work + update)
        before = range(min(s.own[rank]))
        if not s.by_layer and not (s.split and s.barrier == "stage"):
            ahead = sum(s.long("F", layer, s.homes[chunk]) for chunk in before for layer in s.chunks[chunk])
            ahead += sum(s.send_time(chunk, chunk + 1) for chunk in before)
            behind = sum(s.long("B", layer, s.homes[chunk]) for chunk in before for layer in s.chunks[chunk])
            behind += sum(s.send_time(chunk + 1, chunk) for chunk in before)
            bounds.append(ahead + work + (0 if s.split else behind) + spent(s, home)[2])
    return bounds


def moved(program):
    """ps per iteration that the bytes of each rank's reductions and gathers take."""
    s, totals = program.scenario, collections.Counter()
    for item in program.items:
        if isinstance(item, Transfer) and item.iteration == 1:
            totals[item.rank] += s.price(item.operation, "data", item.rank)[1] * item.size
    return list(totals.values())


def time_in_flight(found):
    """ps of an iteration with a reduction or a gather of any rank in flight."""
    program = found.program
    since, until = (program.firsts[place].start for place in (found.first, found.last))
    busy, reached = 0, since
    for item in sorted((item for item in program.items if isinstance(item, Transfer)), key=lambda item: item.start):
        first, last = max(item.start, reached), min(item.end, until)
        busy += max(0, last - first)
        reached = max(reached, last)
    return Fraction(busy, found.last - found.first)


Result = namedtuple("Result", "answers order timeline")


def simulate(trace, cluster, words, files=None):
    """Everything that `allreplay run --json` says of a pipeline, under its names; times in exact seconds."""
    s = Scenario(trace, cluster, words, files)
    require(s.ranks > 1, "pp")
    found, without, ideal = (steady(s, free) for free in ((), ("reductions",), ("reductions", "sends")))
    iteration, bare, alone = map(period, (found, without, ideal))
    each = [spent(s, rank) for rank in range(s.ranks)]
    held = [memory(found, rank) for rank in range(s.ranks)]
    forward, backward = (sum(getattr(layer, which) for layer in s.layers) for which in ("forward", "backward"))
    work = s.micro_batches * (forward + backward) + s.update
    bubbles = [alone - sum(parts) for parts in each]

    def mean(values):
        return Fraction(sum(values)) / s.ranks

    times = {"iteration_s": iteration, "forward_s": forward, "backward_s": backward,
             "comm_busy_s": time_in_flight(found), "lower_bound_s": max(lower_bound(s) + moved(found.program)),
             "bubble_s": mean(bubbles), "exposed_dp_s": iteration - bare, "exposed_p2p_s": bare - alone,
             "layer_comm_s": mean(parts[1] for parts in each), "update_s": mean(parts[2] for parts in each)}
    times["exposed_comm_s"] = times["layer_comm_s"] + times["exposed_p2p_s"] + times["exposed_dp_s"]
    answers = {key: Fraction(value) / SECOND for key, value in times.items()}
    speedup = Fraction(s.workers, s.ranks) * work / iteration
    largest = max(range(s.ranks), key=lambda rank: (held[rank][0], -rank))
    widths = {len(own) for own in s.own}
    answers |= {"speedup": speedup, "efficiency": speedup / s.workers,
                "samples_per_s": Fraction(s.data * s.micro_batches * s.batch * SECOND) / iteration,
                "memory_bytes": held[largest][0], "memory": held[largest][1], "pp": s.ranks, "tp": s.tensors,
                "cp": s.contexts, "ep": s.experts, "dp": s.data, "micro_batches": s.micro_batches,
                "chunks": widths.pop() if len(widths) == 1 else None, "stages": []}
    for rank, (computing, collectives, update) in enumerate(each):
        answers["stages"].append({
            "chunks": [{"chunk": chunk, "first": s.chunks[chunk][0], "layers": len(s.chunks[chunk])}
                       for chunk in s.own[rank]],
            "compute_s": Fraction(computing, SECOND), "layer_comm_s": Fraction(collectives, SECOND),
            "update_s": Fraction(update, SECOND), "bubble_s": Fraction(bubbles[rank]) / SECOND,
            "memory_bytes": held[rank][0], "memory": held[rank][1]})
    own = sorted((item for item in found.program.items
                  if isinstance(item, Transfer) and item.iteration == found.first),
                 key=lambda item: (item.start, item.rank, item.sequence))
    return Result(answers, [item.name for item in own], timeline(found))


def timeline(found):
    """One line per item of a steady iteration: microseconds from rank 0's first task."""
    origin = found.program.firsts[found.first].start
    items = [item for item in found.program.items if item.iteration == found.first]
    return "\n".join(f"{(item.start - origin) / 10**6:12.6f} {(item.end - origin) / 10**6:12.6f}  rank {item.rank}: "
                     f"{type(item).__name__.lower()} {item.name}"
                     for item in sorted(items, key=lambda item: (item.start, item.end, item.rank)))


# ---- comparison -----------------------------------------------------------------------------------------------------

TIMES = ["iteration_s", "forward_s", "backward_s", "bubble_s", "exposed_dp_s", "exposed_p2p_s", "layer_comm_s",
         "update_s", "exposed_comm_s", "comm_busy_s", "lower_bound_s"]
RATIOS = ["speedup", "efficiency", "samples_per_s"]
COUNTS = ["pp", "tp", "cp", "ep", "dp", "micro_batches", "chunks"]


def differences(given, result, relative=Fraction(1, 10**6), slack=0):
    """How answers differ from a result: one line each; keys that are not given are not asked for.

    Times may differ by so much of the iteration, and by so many seconds besides (what rounding to a picosecond does to
    each of many tasks); bytes by nothing that a double does not do to them.
    """
    own, lines = result.answers, []
    allowed = own["iteration_s"] * relative + Fraction(slack)

    def compare(key, value, expected, tolerance):
        if value is None or abs(Fraction(value) - expected) > tolerance:
            lines.append(f"{key}: {value}, the peer says {float(expected)!r}")

    def compare_memory(key, row, expected):
        if "memory_bytes" in row:
            compare(f"{key}memory_bytes", row["memory_bytes"], expected["memory_bytes"],
                    expected["memory_bytes"] * Fraction(1, 10**12))
        for part, size in row.get("memory", {}).items():
            compare(f"{key}memory.{part}", size, expected["memory"][part],
                    expected["memory"][part] * Fraction(1, 10**12))

    for key in TIMES:
        if key in given:
            compare(key, given[key], own[key], allowed)
    for key in RATIOS:
        if key in given:
            compare(key, given[key], own[key], own[key] * (relative + allowed / own["iteration_s"]))
    lines += [f"{key}: {given[key]}, the peer says {own[key]}" for key in COUNTS if key in given
              and given[key] != own[key]]
    compare_memory("", given, own)
    if len(given["stages"]) != len(own["stages"]):
        lines.append(f"stages: {len(given['stages'])}, the peer says {len(own['stages'])}")
    for rank, (row, expected) in enumerate(zip(given["stages"], own["stages"])):
        if row["chunks"] != expected["chunks"]:
            lines.append(f"stages[{rank}].chunks: {row['chunks']}, the peer says {expected['chunks']}")
        for key in ("compute_s", "layer_comm_s", "update_s", "bubble_s"):
            compare(f"stages[{rank}].{key}", row[key], expected[key], allowed)
        compare_memory(f"stages[{rank}].", row, expected)
    if "order" in given and not is_turned(given["order"], result.order):
        lines.append(f"order: {given['order']}, the peer says {result.order}")
    return lines


def is_turned(ours, theirs):
    """Whether one is the other from some place on: an iteration may be said to begin anywhere."""
    return len(ours) == len(theirs) and any(ours[turn:] + ours[:turn] == theirs for turn in range(max(1, len(ours))))


def schedule_rows(command):
    """What `allreplay schedule NAME ...` prints."""
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("name")
    for flag in ("--pp", "--micro-batches", "--chunks"):
        parser.add_argument(flag, type=int)
    given = parser.parse_args(shlex.split(command)[2:])
    return pipeline_schedules.write(
        pipeline_schedules.rows_of(given.name, given.pp, given.micro_batches, given.chunks))


def replay_case(case):
    """(result or None, differences) of one worked case."""
    if "rows" in case:
        own = schedule_rows(case["command"])
        return None, [] if own == case["rows"] else [f"rows: the peer says {own!r}"]
    words = shlex.split(case["command"])[2:]
    try:
        result = simulate(case["trace"], case["cluster"], words, case.get("files"))
    except Refused as refused:
        expected = case.get("refused")
        return None, [] if expected and expected in str(refused) else [f"refused: {refused}"]
    return result, differences(case["answers"], result) if "answers" in case else ["it was to be refused"]


def main():
    parser = argparse.ArgumentParser(description="Replays worked cases of pipelines.")
    parser.add_argument("--cases", type=Path, required=True)
    parser.add_argument("names", nargs="*", help="print the timelines of these alone")
    arguments = parser.parse_args()
    failed = 0
    for case in json.loads(arguments.cases.read_text(encoding="utf-8")):
        if arguments.names and case["name"] not in arguments.names:
            continue
        result, lines = replay_case(case)
        failed += bool(lines)
        print(f"{case['name']}: {'; '.join(lines) or 'agrees'}")
        if arguments.names and result:
            print(case["derivation"], result.timeline, sep="\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
