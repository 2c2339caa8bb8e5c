"""Part of the peer: the scenario of a pipeline, and the times of its tasks, collectives and sends.

Written only from the contract: degrees and groups, chunks of layers, prices on one and on two levels. Units: time in
picoseconds, sizes in bytes, tensors in elements. Ranks, chunks and layers count from 0.
"""

import argparse
import collections
import itertools
import math
from collections import namedtuple
from fractions import Fraction

import coded
import pipeline_schedules
import reference
import sharded
from pipeline_schedules import COMPUTING, flat, require
from reference import SECOND, rounded
from sharded import ELEMENT, exact, per_byte, size_of

MERGED = ["wfbp", "s-sgd", "sync-easgd", "mg-wfbp", "optimal-merge", "ddp", "horovod"]
PARTITIONED = ["byteps", "bytescheduler", "p3"]
BLOCKS = MERGED + PARTITIONED  # these take --zero
STRATEGIES = BLOCKS + ["megatron", "fsdp2"]
WITH_EXPERTS = ["s-sgd", "wfbp", "ddp", "megatron", "fsdp2"]  # these reduce experts in groups of their own

DEFAULTS = {
    "byteps": {"partition": "4096000 B", "credit": "4"},
    "bytescheduler": {"partition": "4 MB", "credit": "4"},
    "p3": {"partition": "160 kB"},
    "megatron": {"distributed_optimizer": "true", "overlap_grad_reduce": "true", "bucket_size": "0",
                 "align_grad_reduce": "true"},
    "fsdp2": {"lanes": "shared", "reduce_grad": "wait"},
}
SHAPE = ["pp", "tp", "cp", "ep", "schedule", "chunks", "stages"]  # keys of "parallel" in a cluster file


# ---- scenario -------------------------------------------------------------------------------------------------------

# forward, backward, weight (the part of backward that computes weight gradients): ps. tensors: elements of each.
# output: bytes sent to the next chunk, or None. collectives: (op, group, bytes, pass). expert: has experts' tensors.
Layer = namedtuple("Layer", "name forward backward weight tensors group activation output collectives expert")


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
                            row.get("activation_bytes"), row.get("output_bytes"), collectives,
                            row.get("expert", False)))
    return layers


def read_command(words):
    """Returns the options in arguments of `allreplay run`; flags count as options."""
    parser = argparse.ArgumentParser(allow_abbrev=False)
    for names in (("-p", "--profile"), ("-c", "--cluster"), ("-s", "--strategy")):
        parser.add_argument(*names)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("-o", "--option", action="append", default=[])
    flags = [*SHAPE, "zero", "accumulate", "shard_group"]
    for flag in flags:
        parser.add_argument(f"--{flag.replace('_', '-')}")
    parser.add_argument("--micro-batches", dest="accumulate")
    known = parser.parse_args([str(word) for word in words])
    given = {key: getattr(known, key) for key in ["strategy", *flags] if getattr(known, key) is not None}
    return dict(pair.split("=", 1) for pair in known.option) | given


class Scenario:
    """The numbers in a trace, a cluster, schedule files and a command."""

    def __init__(self, trace, cluster, words, files=None):
        given = {key: str(value) for key, value in cluster.get("parallel", {}).items()} | read_command(words)
        self.strategy = given["strategy"]
        self.options = DEFAULTS.get(self.strategy, {}) | given
        self.layers, self.network, self.workers = read_layers(trace), cluster["network"], cluster["workers"]
        self.batch, element = trace["batch_size"], ELEMENT[trace["precision"]]
        self.framework = trace["framework"]
        self.gradient = ELEMENT[given["gradient_dtype"]] if "gradient_dtype" in given else element
        self.parameter = ELEMENT[given["parameter_dtype"]] if "parameter_dtype" in given else element
        in_trace = rounded(exact(trace.get("update", 0)) * coded.UNITS[trace["unit"]])
        self.update = rounded(coded.duration(given["update"])) if "update" in given else in_trace
        self.zero = self.number("zero", 0)
        self.read_degrees(trace.get("parallel"))
        self.read_experts()
        self.read_stragglers(cluster.get("stragglers", []))
        self.read_rows(files or {})
        self.read_cut()
        self.stage = {"megatron": int(self.flag("distributed_optimizer")), "fsdp2": 3}.get(self.strategy, self.zero)
        self.shards = self.replicas if self.stage else 1  # of the optimizer's state
        default = "layer" if self.strategy in ("bytescheduler", "p3") else "iteration"
        self.by_layer = self.options.get("barrier", default) == "layer"
        self.blocking = self.options.get("p2p", "overlap") == "blocking"
        self.barrier = self.options.get("update_barrier", "stage" if self.by_layer else "all")
        self.tied = self.read_tied(trace)
        self.prices = {}
        for group in ("tp", "cp", "ep", "data", *(["experts"] if self.apart else [])):  # all have to fit evenly into nodes, even if nothing is sent in them
            for rank in range(self.ranks):
                self.price("all-reduce", group, rank)
        node = self.node_size()
        require(not node or self.workers <= node or 0 in (self.stride % node, node % self.stride), "node")

    def number(self, key, default=None):
        return int(self.options.get(key, default))

    def flag(self, key, default="false"):
        return self.options.get(key, default) == "true"

    def read_stragglers(self, rows):
        factors = {row["worker"]: exact(row["slowdown"]) for row in rows}
        self.slow = [max(factors.get(worker, 1) for worker in range(rank * self.stride, (rank + 1) * self.stride))
                     for rank in range(self.ranks)]

    def read_degrees(self, profile):
        """profile: the trace's "parallel", or None. A group's member needs a profile of its part: the trace states it,
        or its layers communicate in such groups."""
        said, profile = profile is not None, profile or {}
        self.ranks = self.number("pp", 1)
        self.tensors, self.contexts = self.number("tp", profile.get("tp", 1)), self.number("cp", profile.get("cp", 1))
        self.experts = self.number("ep", profile.get("ep", 1))
        require(self.experts == profile.get("ep", self.experts), "ep")
        whole = self.ranks * self.tensors * self.contexts
        require(self.workers % whole == 0, "workers")
        self.data = self.workers // whole
        self.replicas = self.contexts * self.data  # R
        self.stride = self.tensors * self.replicas  # S
        require(self.replicas % self.experts == 0, "ep")
        talk = {group for layer in self.layers for _, group, _, _ in layer.collectives}
        talk |= {"ep" for layer in self.layers if layer.expert}
        for group, size in (("tp", self.tensors), ("cp", self.contexts), ("ep", self.experts)):
            require(size == 1 or group in talk or said and group != "ep", group)

    def read_experts(self):
        """apart: gradients of experts are reduced in groups of their own. overlap: tokens are exchanged in pairs."""
        self.apart = self.experts > 1 and any(layer.expert and layer.tensors for layer in self.layers)
        require(not self.apart or self.strategy in WITH_EXPERTS, self.strategy)
        require(not self.apart or not self.zero, "ep")
        self.overlap = self.flag("ep_overlap")
        if self.overlap:
            possible = self.experts > 1 and self.ranks > 1 and self.options.get("p2p", "overlap") == "overlap" and \
                self.options.get("schedule") in ("interleaved", "dualpipe-v")
            require(possible, "ep_overlap")

    def kinds(self):
        """The kinds of tensors that are planned separately: True for those of experts."""
        return [False, True] if self.apart else [None]

    def is_kind(self, layer, kind):
        return kind is None or self.layers[layer].expert == kind

    def read_rows(self, files):
        name = self.options.get("schedule", "1f1b")
        chunks, group = (self.number(key) if key in self.options else None for key in ("chunks", "microbatch_group"))
        if name in files:
            self.rows = pipeline_schedules.read(files[name])
            pipeline_schedules.check(self.rows, self.ranks)
            held = pipeline_schedules.micro_batches_of(self.rows)
            require(self.number("accumulate", held) == held, "micro-batches")
        else:
            self.rows = pipeline_schedules.rows_of(name, self.ranks, self.number("accumulate", 1), chunks, group,
                                                   1 if self.overlap else 0)
        self.with_sends = pipeline_schedules.has_sends(self.rows)
        self.schedule, self.micro_batches = name, pipeline_schedules.micro_batches_of(self.rows)
        self.homes = pipeline_schedules.homes_of(self.rows)
        self.words = [flat(row) for row in self.rows]
        self.actions = [[word for word in words if word.kind in COMPUTING] for words in self.words]
        self.pairs = [self.pairs_of(row) if self.overlap else set() for row in self.rows]
        self.split = any(word.kind == "W" for words in self.words for word in words)

    def pairs_of(self, row):
        """Returns the places (among the actions) of the forwards that run beside the backward that follows."""
        words, joined = flat(row), set()  # joined: in one cell with the word before
        for cell in row:
            place = sum(len(other) for other in row[:row.index(cell)])
            joined |= set(range(place + 1, place + len(cell)))
        found, place = set(), 0
        while place + 1 < len(words):
            is_pair = (words[place].kind, words[place + 1].kind) == ("F", "B")
            if is_pair and (self.schedule_name() != "dualpipe-v" or place + 1 in joined):
                found.add(place)
                place += 1
            place += 1
        return found

    def schedule_name(self):
        return self.options.get("schedule", "1f1b")

    def read_cut(self):
        count, units = len(self.homes), units_of(self.layers)
        require(len(units) >= count, "layers")
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
        for chunk in range(count - 1):
            self.cut_bytes(chunk)
        self.own = [[chunk for chunk, home in enumerate(self.homes) if home == rank] for rank in range(self.ranks)]

    def read_tied(self, trace):
        """Returns (rank, rank, bytes) of tied tensors on two ranks, or None."""
        if "tied" not in trace:
            return None
        places = {tensor["name"]: (self.homes[self.chunk_of(index)], math.prod(tensor["shape"]))
                  for index, layer in enumerate(trace["model"]["layers"]) for tensor in layer["tensors"]}
        (first, size), (second, _) = (places[name] for name in trace["tied"])
        require(not self.by_layer, "tied")  # on one rank, too; the contract is not clear here
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

    def backward_tensors(self, chunk, kind=None):
        """Returns (layer, elements) in backward order, of one kind of tensors."""
        return [(index, size) for index in reversed(self.chunks[chunk]) if self.is_kind(index, kind)
                for size in reversed(self.layers[index].tensors)]

    def shared(self, layers):
        """Returns the elements of which a worker keeps the sharded state; experts are shared by fewer."""
        experts = sum(self.elements([layer]) for layer in layers if self.apart and self.layers[layer].expert)
        fewer = Fraction(self.shards, self.experts) if self.shards > 1 else 1
        return Fraction(self.elements(layers) - experts, self.shards) + experts / Fraction(fewer)

    # ---- times ----

    def collective_times(self, layer, which, rank):
        """(group, ps) of a layer's own collectives in a forward or a backward pass that take time."""
        times = []
        for operation, group, size, during in self.layers[layer].collectives:
            a, b = self.price(operation, group, rank)
            if during == which and (a or b) and size:
                times.append((group, rounded(a + b * size)))
        return times

    def collective_time(self, layer, which, rank):
        return sum(time for _, time in self.collective_times(layer, which, rank))

    def task(self, kind, layer, rank):
        """Returns (computing, collectives) of a layer's task in an action."""
        row = self.layers[layer]
        which = "forward" if kind == "F" else "backward"
        collectives = 0 if kind == "W" else self.collective_time(layer, which, rank)
        computing = {"F": row.forward, "B": row.backward, "I": row.backward - row.weight, "W": row.weight}[kind]
        return computing, collectives

    def exchanges(self, kind, layer, rank):
        """ps of each token exchange of a layer's task."""
        return [] if kind == "W" else [
            time for group, time in self.collective_times(layer, "forward" if kind == "F" else "backward", rank)
            if group == "ep"]

    def long(self, kind, layer, rank):
        return sum(self.task(kind, layer, rank))

    def slowed(self, time, rank):
        """Returns a task's time on the slowest worker of a rank, which the others wait for."""
        return rounded(time * self.slow[rank])

    def update_of(self, layers):
        """Returns the share of U for some layers, rounded."""
        return rounded(self.update * self.shared(layers) / self.all_elements()) if self.all_elements() else 0

    # ---- prices ----

    def groups(self, group, rank):
        """Returns the workers of each group of one rank of the pipeline."""
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
        if group == "experts":
            return [[first + own + t * (start + e * place) for place in range(c * d // e)] for start in range(e)
                    for own in range(t)]
        return [[first + own + t * place for place in row] for own in range(t)]

    def price(self, operation, group, rank):
        """Returns (a, b) in ps and ps per byte of the whole; zeros for a single worker."""
        key = operation, group, rank
        if key not in self.prices:
            self.prices[key] = self.priced(operation, self.groups(group, rank))
        return self.prices[key]

    def priced(self, operation, groups):
        size = len(groups[0])
        if size == 1:
            return Fraction(0), Fraction(0)
        alpha, beta, gamma = (self.of_network(key) for key in ("alpha", "beta", "gamma"))
        collective = self.network["collective"]
        name = "all-to-all" if operation == "all-to-all" else collective
        if "node" not in self.network:
            return halved(operation, *one_level(name, size, alpha, beta, gamma, self.tree_bandwidth()))
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
        """Returns alpha, beta or gamma; for a measured line, the ones from which it follows."""
        if "measured" not in self.network:
            return duration_and(self.network, key)
        line = self.network["measured"]
        a, b, gamma = coded.duration(line["a"]), per_byte(line["b"]), per_byte(line.get("gamma", "0 s/B"))
        start, byte, reduction = reference.coefficients(line["collective"], line["workers"])
        return {"alpha": a / start, "beta": (b - reduction * gamma) / byte, "gamma": gamma}[key]

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
        """Returns the bytes sent over the cut after a chunk, in each direction."""
        given = self.options.get("p2p_bytes")
        size = size_of(given) if given else self.layers[self.chunks[chunk][-1]].output
        require(size is not None, self.layers[self.chunks[chunk][-1]].name)
        return Fraction(size) / (self.tensors if self.flag("p2p_split") else 1)

    def send_time(self, chunk, to):
        """Returns the time in ps of a send to a neighbouring chunk; 0 on the same rank."""
        rank, other, size = self.homes[chunk], self.homes[to], self.cut_bytes(min(chunk, to)) \
            if self.homes[chunk] != self.homes[to] else 0
        if rank == other or not size:
            return 0
        alpha, beta = self.send_cost(rank, other)
        return rounded(alpha + beta * size)

    def tied_time(self):
        first, second, size = self.tied
        alpha, beta = self.send_cost(first, second)
        a, b, _ = one_level(self.network["collective"], 2, alpha, beta, self.of_network("gamma"), self.tree_bandwidth())
        return rounded(a + b * size) if size else 0

    def tree_bandwidth(self):
        return self.options.get("tree_bandwidth", "physical")

    def launch(self):
        return coded.duration(self.options.get("launch", self.network.get("launch", "0 us")))


def duration_and(network, key):
    """Returns alpha in ps; beta or gamma in ps per byte."""
    if key == "alpha":
        return coded.duration(network["alpha"])
    if key == "beta" and "bandwidth" in network:
        return SECOND / size_of(network["bandwidth"].removesuffix("/s"))
    return per_byte(network.get(key, "0 s/B"))


def one_level(collective, ranks, alpha, beta, gamma, tree_bandwidth="physical"):
    """Returns (a, b, the part of b that reduces)."""
    if collective == "all-to-all":
        return Fraction(alpha), Fraction(ranks - 1, ranks) * beta, Fraction(0)
    a, b = reference.from_links(collective, ranks, alpha, beta, gamma, tree_bandwidth=tree_bandwidth)
    reduction = reference.coefficients(collective, ranks)[2] * gamma
    return Fraction(a), Fraction(b), Fraction(reduction)


def two_levels(collective, nodes, inside, sharing, rails, inner, outer, gamma):
    """one_level() over several nodes. inside: ranks in each node; sharing: groups that share a node."""
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
    """Returns (a, b) of an all-reduce's half, or of the whole operation."""
    return {"reduce-scatter": (a / 2, (b + reduction) / 2), "all-gather": (a / 2, (b - reduction) / 2)}.get(
        operation, (a, b))


def units_of(layers):
    """Returns the units between which cuts fall: named groups of layers, else layers."""
    if any(layer.group is not None for layer in layers):
        return sharded.grouped(layers)
    return [[index] for index in range(len(layers))]


def balanced(costs, count):
    """Tries all cuts. Returns lengths in units: the largest small, then the smallest large, then short chunks first."""

    def worth(cuts):
        edges = [0, *cuts, len(costs)]
        sums = [sum(costs[first:last]) for first, last in zip(edges, edges[1:])]
        return max(sums), -min(sums), [last - first for first, last in zip(edges, edges[1:])]

    return min(map(worth, itertools.combinations(range(1, len(costs)), count - 1)))[2]
