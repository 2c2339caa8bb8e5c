#!/usr/bin/env python3
"""Part of the peer: sharded data parallelism, micro-batches, the update, and a worker's memory.

Written only from the contract: PyTorch FSDP, DeepSpeed ZeRO and Megatron-LM as precedence between compute tasks and
transfers, and ZeRO with the plans of version 1. A strategy writes several iterations: the steps of the compute stream,
the transfers of each lane and their dependencies. One replay gives everything its time; the last iteration is the
steady one. It covers alpha-beta with one level.

Units: time in picoseconds, sizes in bytes, tensors in elements; fractions until a duration becomes a task's or a
transfer's. Layers, units and tensors are counted from 0; the names of transfers count from 1 as in the contract.

    python3 sharded.py --cases FILE [NAME...]    replays worked cases; with names it prints their timelines
"""

import argparse
import collections
import heapq
import json
import math
import re
import shlex
import sys
from collections import namedtuple
from fractions import Fraction
from pathlib import Path

import coded
import reference
from reference import SECOND, rounded

ELEMENT = {"fp32": 4, "bf16": 2, "fp16": 2}  # bytes
SIZES = {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}

SHARDED = ["fsdp1", "fsdp2", "simple-fsdp", "zero-1", "zero-2", "zero-3", "megatron", "megatron-fsdp"]
PLANNED = ["wfbp", "s-sgd", "sync-easgd", "mg-wfbp", "ddp", "bytescheduler", "p3"]  # these take --zero

DEFAULTS = {
    "fsdp2": {"reshard": "but-last", "reduce": "every", "lanes": "shared", "prefetch": "1", "reduce_buffers": "1"},
    "fsdp1": {"reshard": "all", "backward_prefetch": "pre", "limit": "2"},
    "zero-1": {"reduce_bucket": "500000000", "allgather_bucket": "0", "overlap_comm": "false",
               "bucket_op": "all-reduce"},
    "zero-2": {"reduce_bucket": "500000000", "allgather_bucket": "0", "overlap_comm": "false",
               "bucket_op": "all-reduce"},
    "zero-3": {"prefetch_bucket": "50000000", "persistence": "100000", "max_live": "1000000000",
               "max_reuse": "1000000000", "reduce_bucket": "500000000", "overlap_comm": "true"},
    "simple-fsdp": {"reshard": "but-last", "reorder": "blocks", "lanes": "shared"},
    "megatron-fsdp": {"unit_size": "0", "double_buffer": "false", "lanes": "shared", "sync": "last",
                      "outer": "no_shard"},
    "megatron": {"distributed_optimizer": "true", "overlap_grad_reduce": "true", "bucket_size": "0"},
    "bytescheduler": {"partition": "4 MB", "credit": "4"},
    "p3": {"partition": "160 kB"},
}


# ---- scenario -------------------------------------------------------------------------------------------------------

# forward, backward: ps. tensors: elements of each. group: a name or None. activation: bytes or None. expert: its tensors
# belong to experts.
Layer = namedtuple("Layer", "name forward backward tensors group activation expert")


def per_byte(text):
    """Parses "2.0 ns/B" into ps per byte."""
    return coded.duration(text.removesuffix("/B"))


def size_of(text):
    """Parses "4 MB" into bytes."""
    number, unit = re.fullmatch(r"([+.\deE]+) ?(\w+)", text).groups()
    return Fraction(number) * SIZES[unit]


def exact(value):
    """Returns a number of a JSON file exactly as written."""
    return Fraction(str(value))


def read_layers(trace):
    """The layers of a trace with an inline model."""
    unit = coded.UNITS[trace["unit"]]
    return [Layer(row["name"], rounded(exact(row["forward"]) * unit), rounded(exact(row["backward"]) * unit),
                  [math.prod(tensor["shape"]) for tensor in model["tensors"]], row.get("group"),
                  row.get("activation_bytes"), row.get("expert", False))
            for row, model in zip(trace["layers"], trace["model"]["layers"])]


def read_command(words):
    """Returns (strategy, options) in arguments of `allreplay run`; flags of sharding count as options."""
    parser = argparse.ArgumentParser(allow_abbrev=False)
    for names in (("-p", "--profile"), ("-c", "--cluster"), ("-s", "--strategy")):
        parser.add_argument(*names)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("-o", "--option", action="append", default=[])
    for flag in ("--zero", "--accumulate", "--shard-group", "--ep"):
        parser.add_argument(flag)
    known = parser.parse_args([str(word) for word in words])
    options = dict(pair.split("=", 1) for pair in known.option)
    flags = {key: getattr(known, key) for key in ("zero", "accumulate", "shard_group", "ep")}
    return known.strategy, options | {key: value for key, value in flags.items() if value is not None}


class Scenario:
    """The numbers in a trace, a cluster and a command."""

    def __init__(self, trace, cluster, words):
        self.strategy, given = read_command(words)
        self.options = DEFAULTS.get(self.strategy, {}) | given
        self.layers, self.network, self.workers = read_layers(trace), cluster["network"], cluster["workers"]
        self.batch, element = trace["batch_size"], ELEMENT[trace["precision"]]
        self.framework = trace["framework"]
        self.accumulate, self.zero = self.number("accumulate", 1), self.number("zero", 0)
        self.gradient = ELEMENT[self.options["gradient_dtype"]] if "gradient_dtype" in given else element
        self.parameter = ELEMENT[self.options["parameter_dtype"]] if "parameter_dtype" in given else element
        in_trace = rounded(exact(trace.get("update", 0)) * coded.UNITS[trace["unit"]])
        self.update = rounded(coded.duration(given["update"])) if "update" in given else in_trace
        slow = {row["worker"]: exact(row["slowdown"]) for row in cluster.get("stragglers", [])}
        self.factors = sorted({slow.get(worker, Fraction(1)) for worker in range(self.workers)})
        self.stage = self.sharding()
        self.group = self.number("shard_group", self.workers)  # ranks that reduce-scatter and gather together
        self.shards = self.group if self.stage else 1  # F
        self.hybrid = bool(self.stage) and "shard_group" in given and self.group < self.workers
        outer = self.hybrid and self.options.get("outer") == "optim"
        self.owners = self.workers if outer else self.shards  # ranks that share the optimizer
        self.experts = self.number("ep", 1)  # E
        self.apart = self.experts > 1 and any(layer.expert and layer.tensors for layer in self.layers)

    def sharding(self):
        """The ZeRO stage. 0: nothing is sharded; 1: the optimizer; 2: gradients, too; 3: parameters, too."""
        if self.strategy in ("fsdp1", "fsdp2", "simple-fsdp", "zero-3", "megatron-fsdp"):
            return 3
        if self.strategy == "megatron":
            return int(self.flag("distributed_optimizer"))
        return {"zero-1": 1, "zero-2": 2}.get(self.strategy, self.zero)

    def number(self, key, default=None):
        return int(self.options.get(key, default))

    def flag(self, key, default="false"):
        return self.options.get(key, default) == "true"

    def sharing(self):
        return {"serial": coded.Serial, "fair": coded.Fair}[self.options.get("sharing", "serial")]()

    def elements(self, index):
        """The elements of one layer."""
        return sum(self.layers[index].tensors)

    def kinds(self):
        """The kinds of tensors that are planned separately: True for those of experts."""
        return [False, True] if self.apart else [None]

    def shared(self, layers, shards=None):
        """Returns the elements of which a worker keeps the sharded state; experts are shared by 1/E of the workers."""
        shards = shards or self.shards
        experts = sum(self.elements(index) for index in layers if self.apart and self.layers[index].expert)
        fewer = Fraction(shards, self.experts) if shards > 1 else 1
        return Fraction(sum(self.elements(index) for index in layers) - experts, shards) + experts / Fraction(fewer)

    def all_elements(self):
        return sum(self.elements(index) for index in range(len(self.layers)))

    def backward_tensors(self, kind=None):
        """Returns (layer, elements) of all tensors, or those of a kind, in backward order."""
        return [(index, size) for index in reversed(range(len(self.layers)))
                if kind in (None, self.layers[index].expert) for size in reversed(self.layers[index].tensors)]

    def in_bytes(self, kind=None):
        """Converts to layers of reference.py, with tensors (of a kind) in bytes of gradients on the wire."""
        return [reference.Layer(layer.name, layer.forward, layer.backward,
                                [(f"{layer.name}.{place}", size * self.gradient)
                                 for place, size in enumerate(layer.tensors) if kind in (None, layer.expert)])
                for layer in self.layers]

    def computing(self):
        """K (t_f + t_b) of a worker without slowdown."""
        return self.accumulate * sum(layer.forward + layer.backward for layer in self.layers)

    def own_update(self):
        """U, or U/F if the optimizer's state is sharded, F being smaller for experts."""
        return self.update * self.shared(range(len(self.layers)), self.owners) / self.all_elements()

    def price(self, operation, ranks):
        """Returns (a, b) of a collective over this many ranks, in ps and ps per byte of the whole, unsharded."""
        if ranks == 1:
            return Fraction(0), Fraction(0)
        tree = {"tree_bandwidth": self.options.get("tree_bandwidth", "physical")}
        network, reduction = self.network, 0
        if "measured" in network:
            measured = network["measured"]
            a, b = reference.from_measured(network["collective"], ranks, measured["collective"], measured["workers"],
                                           coded.duration(measured["a"]), per_byte(measured["b"]),
                                           per_byte(measured.get("gamma", "0 s/B")), **tree)
        else:
            alpha, beta = coded.duration(network["alpha"]), per_byte(network["beta"])
            gamma = per_byte(network.get("gamma", "0 s/B"))
            a, b = reference.from_links(network["collective"], ranks, alpha, beta, gamma, **tree)
            reduction = b - reference.from_links(network["collective"], ranks, alpha, beta, **tree)[1]
        return {"all-reduce": (Fraction(a), Fraction(b)), "reduce-scatter": (Fraction(a) / 2, (b + reduction) / 2),
                "all-gather": (Fraction(a) / 2, (b - reduction) / 2)}[operation]


# ---- plans: steps, transfers and dependencies -----------------------------------------------------------------------

Point = namedtuple("Point", "item edge")  # the start (of a transfer: its admission) or the end of a step or transfer
Lane = namedtuple("Lane", "order window", defaults=("listed", 1))  # order: listed, first-ready or priority
Held = namedtuple("Held", "part size since until")  # bytes that a worker holds from one moment to another


def start(item):
    return Point(item, "start")


def end(item):
    return Point(item, "end")


class Step:
    """A task of the compute stream. duration: ps, without slowdown. after: transfers. times: by class of workers."""

    def __init__(self, name, duration, after, classes):
        self.name, self.duration, self.after = name, duration, after
        self.start, self.end = [None] * classes, [None] * classes

    def at(self, edge, place):
        return (self.start if edge == "start" else self.end)[place]


class Transfer:
    """A simultaneous collective of all groups. after: moments. key: its order among those waiting in its lane."""

    def __init__(self, name, lane, operation, iteration, size, cost, ranks):
        self.name, self.lane, self.operation, self.iteration = name, lane, operation, iteration
        self.size, self.cost = Fraction(size), cost
        self.nothing = ranks == 1 or size == 0  # it ends immediately, without using the network
        self.after, self.key, self.start, self.end, self.place = [], (), None, None, None

    def at(self, edge, _):
        return self.start if edge == "start" else self.end


class Plan:
    """Iterations of one worker's compute stream and of the transfers, in the order of issue."""

    LANES = ["shared", "gather", "reduce", "replicate", "expert-gather", "expert"]  # in the order of admission within an instant

    def __init__(self, scenario):
        self.scenario, self.iteration, self.micro = scenario, 0, 0
        self.steps, self.transfers, self.holdings, self.marks = [], [], [], []
        self.lanes = {name: Lane() for name in self.LANES}
        self.held, self.activations = [], {}  # held: the next step waits for these transfers

    def suffix(self):
        return f"#{self.micro + 1}" if self.scenario.accumulate > 1 else ""

    def step(self, name, duration, after=()):
        step = Step(name, Fraction(duration), [*after, *self.held], len(self.scenario.factors))
        self.held = []
        self.steps.append(step)
        if name.startswith("U") and (self.scenario.update or not name[1:]):
            self.updates([int(name[1:]) - 1] if name[1:] else range(len(self.scenario.layers)), start(step), end(step))
        return step

    def updates(self, layers, since, until):
        """Holds the additional memory of updating these layers."""
        self.occupy("step", step_memory(self.scenario, self.scenario.shared(layers, self.scenario.owners)), since, until)

    def hold(self, *transfers):
        """Makes the next step wait for these transfers."""
        self.held += transfers

    def before(self):
        """The end of the last step so far."""
        return [end(self.steps[-1])] if self.steps else []

    def forward(self, layer, after=()):
        row = self.scenario.layers[layer]
        step = self.step(f"F{layer + 1}{self.suffix()}", row.forward, after)
        self.activations[layer] = step
        return step

    def backward(self, layer, after=()):
        row = self.scenario.layers[layer]
        step = self.step(f"B{layer + 1}{self.suffix()}", row.backward, after)
        if row.activation:
            self.occupy("activations", row.activation, start(self.activations[layer]), end(step))
        if layer == len(self.scenario.layers) - 1 and self.micro == 0:
            self.marks.append(step)
        return step

    def occupy(self, part, size, since, until):
        self.holdings.append(Held(part, Fraction(size), since, until))

    def send(self, name, lane, operation, size, after=(), key=None, experts=False):
        """Issues a collective over the shards' ranks (an all-reduce: over all); of experts, over those that hold the
        same. size: unsharded bytes."""
        s = self.scenario
        ranks = s.workers if operation == "all-reduce" else s.group
        ranks = s.workers // s.experts if experts else ranks
        return self.issue(Transfer(name, lane, operation, self.iteration, size, s.price(operation, ranks), ranks),
                          after, key)

    def replicate(self, name, lane, size, reduction, key=None):
        """Issues the all-reduce of a reduced shard over the ranks with the same index in their groups."""
        return self.outer(name, lane, "all-reduce", size, [end(reduction)], key)

    def outer(self, name, lane, operation, size, after, key=None):
        """Issues a collective of shards over the ranks with the same index in their groups."""
        s = self.scenario
        ranks = s.workers // s.group
        kind = "replicate" if operation == "all-reduce" else f"outer {operation}"
        return self.issue(Transfer(name, lane, kind, self.iteration, Fraction(size) / s.group,
                                   s.price(operation, ranks), ranks), after, key)

    def place(self):
        """What a collective that PyTorch issues here waits for: the step before, and what has been waited for since."""
        return self.before() + [end(transfer) for transfer in self.held]

    def issue(self, transfer, after, key):
        transfer.after, transfer.key = list(after), key or (self.iteration, self.micro)
        self.transfers.append(transfer)
        return transfer


# ---- units ----------------------------------------------------------------------------------------------------------

def wrapped(scenario):
    """The units of FSDP, each a list of layers."""
    named = any(layer.group is not None for layer in scenario.layers)
    wrap = scenario.options.get("wrap", "group" if named else "layer")
    if wrap == "group":
        units = grouped(scenario.layers)
    elif wrap == "layer":
        units = [[index] for index in range(len(scenario.layers))]
    else:
        units = filled(scenario, size_of(wrap))
    return joined(units, lambda unit: any(scenario.layers[index].tensors for index in unit))


def grouped(layers):
    """Groups layers of equal name; a layer without a name joins the previous unit, or the first."""
    units, name = [], None
    for index, layer in enumerate(layers):
        if units and (layer.group in (None, name) or name is None):
            units[-1].append(index)
        else:
            units.append([index])
        name = layer.group or name
    return units


def filled(scenario, size):
    """Fills units, which close once their parameters reach this many bytes."""
    units, held = [[]], 0
    for index, layer in enumerate(scenario.layers):
        if held >= size and layer.tensors:
            units.append([])
            held = 0
        units[-1].append(index)
        held += scenario.elements(index) * scenario.parameter
    return units


def joined(units, has_tensors):
    """Joins units without tensors to the previous one, or to the first."""
    result, waiting = [], []
    for unit in units:
        if has_tensors(unit):
            result.append(waiting + unit)
            waiting = []
        elif result:
            result[-1] += unit
        else:
            waiting += unit
    return result


def cut_at_experts(scenario, unit):
    """Cuts a unit where the kind of tensors changes; layers without tensors stay with those before them."""
    parts, kind = [[]], None
    for index in unit:
        if scenario.layers[index].tensors:
            if kind not in (None, scenario.layers[index].expert):
                parts.append([])
            kind = scenario.layers[index].expert
        parts[-1].append(index)
    return parts


class Units:
    """The common part of FSDP1 and FSDP2: units are gathered before use, and their gradients are reduced."""

    def __init__(self, scenario, plan):
        self.s, self.plan, self.units = scenario, plan, wrapped(scenario)
        if scenario.apart:
            self.units = [part for unit in self.units for part in cut_at_experts(scenario, unit)]
        self.of_experts = [scenario.apart and any(scenario.layers[index].expert and scenario.layers[index].tensors
                                                  for index in unit) for unit in self.units]
        self.elements = [sum(scenario.elements(index) for index in unit) for unit in self.units]
        self.last = len(self.units) - 1
        self.opening, self.reductions = [], []  # opening: the first gathers wait for these; R and A of this iteration

    def gather(self, kind, unit, lane, after=()):
        name = f"{kind}{unit + 1}{self.plan.suffix()}"
        return self.plan.send(name, lane, "all-gather", self.elements[unit] * self.s.parameter, after,
                              experts=self.of_experts[unit])

    def reduce(self, unit, lane, sums=True):
        """Adds R(u) and, in hybrid sharding, A(u) after it if `sums`. Their dependencies are added later."""
        size, name = self.elements[unit] * self.s.gradient, f"{unit + 1}{self.plan.suffix()}"
        reduction = self.plan.send("R" + name, lane, "reduce-scatter", size, experts=self.of_experts[unit])
        self.reductions.append(reduction)
        if self.s.hybrid and sums:
            self.reductions.append(self.plan.replicate("A" + name, "replicate", size, reduction))
        return reduction

    def gathered(self, unit, gather, until):
        self.plan.occupy("gathered", self.elements[unit] * self.s.parameter, start(gather), end(until))

    def reducing(self, unit, backward, reduction):
        if not whole_gradients(self.s):
            self.plan.occupy("in_reduction", self.elements[unit] * self.s.gradient, start(backward), end(reduction))

    def forwards(self, unit, after=()):
        """Adds F(u). Returns its first and its last step."""
        self.plan.hold(*after)
        steps = [self.plan.forward(layer) for layer in self.units[unit]]
        return steps[0], steps[-1]

    def backwards(self, unit, after=()):
        self.plan.hold(*after)
        steps = [self.plan.backward(layer) for layer in reversed(self.units[unit])]
        return steps[0], steps[-1]

    def close(self):
        """Ends a micro-batch: the first gathers of the next wait for this."""
        self.opening = self.plan.before() + [end(reduction) for reduction in self.reductions]

    def update(self):
        self.plan.step("U", self.s.own_update(), self.reductions)
        self.opening, self.reductions = self.plan.before(), []


class Fsdp2(Units):
    """PyTorch's fully_shard: with copies between network and layers, and few buffers."""

    def __init__(self, scenario, plan):
        super().__init__(scenario, plan)
        self.prefetch, self.buffers = scenario.number("prefetch"), scenario.number("reduce_buffers")
        shared = scenario.options["lanes"] == "shared"
        self.gather_lane, self.reduce_lane = ("shared", "shared") if shared else ("gather", "reduce")
        freed = {"all": self.last + 1, "but-last": self.last, "none": 0}[scenario.options["reshard"]]
        self.freed = list(reversed(range(freed)))  # in backward order

    def copy(self, name, unit, element, after):
        """Adds a copy-in or copy-out of a unit on the compute stream."""
        rate = self.s.options.get("copy")
        size = self.elements[unit] * element
        time = size / size_of(rate.removesuffix("/s")) * SECOND if rate else 0
        return self.plan.step(f"{name}{unit + 1}{self.plan.suffix()}", time, after)

    def micro_batch(self):
        last, mode = self.plan.micro == self.s.accumulate - 1, self.s.options["reduce"]
        reduces = last or mode != "last"
        self.sums = last or mode == "every"  # whether all-reduces among groups follow
        kept, copied = self.forward_pass()
        self.backward_pass(kept, copied, reduces)
        self.close()

    def forward_pass(self):
        """Returns (gathers of the units that stay, C_f of the last)."""
        copies, kept = [], {}
        for unit in range(self.last + 1):
            reuse = unit - self.prefetch - 1
            after = [end(copies[reuse])] if reuse >= 0 else self.opening
            gather = self.gather("G_f", unit, self.gather_lane, after)
            copies.append(self.copy("C_f", unit, self.s.parameter, [gather]))
            _, done = self.forwards(unit)
            if unit in self.freed:
                self.gathered(unit, gather, done)
            else:
                kept[unit] = gather
        return kept, copies[-1]

    def issue_backward(self, reduces):
        """Issues the backward pass as the pre- and post-backward hooks do. Returns (gathers, reductions) by unit."""
        gathers, reductions = {}, {}
        ahead = collections.deque(self.freed)

        def fetch(count):
            for unit in [ahead.popleft() for _ in range(min(count, len(ahead)))]:
                gathers[unit] = self.gather("G_b", unit, self.gather_lane)

        fetch(self.prefetch)
        for unit in reversed(range(self.last + 1)):
            if unit in self.freed:
                fetch(1)
            if reduces:
                reductions[unit] = self.reduce(unit, self.reduce_lane, self.sums)
        return gathers, reductions

    def backward_pass(self, gathers, copied, reduces):
        fetched, reductions = self.issue_backward(reduces)
        copies = []
        for unit in reversed(range(self.last + 1)):
            if unit in self.freed:
                reuse = len(copies) - self.prefetch
                fetched[unit].after.append(end(copies[reuse] if reuse >= 0 else copied))
                copies.append(self.copy("C_b", unit, self.s.parameter, [fetched[unit]]))
            first, done = self.backwards(unit)
            self.gathered(unit, (fetched if unit in self.freed else gathers)[unit], done)
            if reduces:
                behind = [reductions[unit + self.buffers]] if unit + self.buffers <= self.last else []
                copy_in = self.copy("D", unit, self.s.gradient, behind)
                reductions[unit].after.append(end(copy_in))
                self.reducing(unit, first, reductions[unit])


def beyond_blocks(scenario, units):
    """Returns the units that belong to the root, since no module of the wrapping policy contains them.

    A policy names the numbered modules of a list ("h.0"); if there are none, every name is one. A policy by size leaves
    the rest that is too small to the root. A single unit is the root.
    """
    if len(units) == 1:
        return units
    named = any(layer.group is not None for layer in scenario.layers)
    wrap = scenario.options.get("wrap", "group" if named else "layer")
    if wrap == "layer":
        return []
    if wrap != "group":
        held = sum(scenario.elements(index) for index in units[-1]) * scenario.parameter
        return units[-1:] if held < size_of(wrap) else []
    names = [next((scenario.layers[index].group for index in unit if scenario.layers[index].group), "")
             for unit in units]
    numbered = [any(part[-1:].isdigit() for part in name.split(".")) for name in names]
    return [unit for unit, block in zip(units, numbered) if not block] if any(numbered) else []


class Fsdp1(Units):
    """PyTorch's FullyShardedDataParallel: one lane, strictly in the order of issue. The root is gathered first, only
    once, and is kept until the last backward pass of its own layers."""

    def __init__(self, scenario, plan):
        super().__init__(scenario, plan)
        self.limit, self.mode = scenario.number("limit"), scenario.options["backward_prefetch"]
        own = beyond_blocks(scenario, self.units)
        self.root = 0 if own else None
        self.walk = [(0 if unit in own else sum(other not in own for other in self.units[:place]) + bool(own), unit)
                     for place, unit in enumerate(self.units)]  # (unit, a run of its layers), forwards
        if own:
            self.units = [sum(own, []), *(unit for unit in self.units if unit not in own)]
        self.elements = [sum(scenario.elements(index) for index in unit) for unit in self.units]
        frees = scenario.options["reshard"] == "all"
        self.freed = [unit for unit, _ in reversed(self.walk) if frees and unit != self.root]  # in backward order

    def micro_batch(self):
        self.backward_pass(self.forward_pass())
        self.close()

    def forward_pass(self):
        """The gathers of the units that stay."""
        ends, kept = [], {}
        if self.root is not None:
            kept[self.root] = self.gather("G_f", self.root, "shared", self.opening)
        for unit, layers in self.walk:
            gather = kept.get(unit)
            if gather is None:
                limited = unit in self.freed and len(ends) >= self.limit
                gather = self.gather("G_f", unit, "shared", [end(ends[-self.limit])] if limited else self.opening)
            self.plan.hold(gather)
            done = [self.plan.forward(layer) for layer in layers][-1]
            if unit in self.freed:
                ends.append(done)
                self.gathered(unit, gather, done)
            else:
                kept[unit] = gather
        return kept

    def issue_backward(self):
        """Issues the backward pass in the order of the lane. Returns (gathers, reductions) by unit."""
        gathers, reductions, ahead = {}, {}, collections.deque(self.freed)

        def fetch():
            if ahead:
                unit = ahead.popleft()
                gathers[unit] = self.gather("G_b", unit, "shared")

        if self.mode == "pre" and self.root is not None:  # the root's hook is the first
            fetch()
        for place, (unit, _) in reversed(list(enumerate(self.walk))):
            if unit in self.freed and unit not in gathers:
                fetch()
            if self.mode == "pre" and unit != self.root:
                fetch()
            if unit in [other for other, _ in self.walk[:place]]:
                continue  # the root has layers before these
            if self.mode == "post":
                fetch()
            reductions[unit] = self.reduce(unit, "shared")
        return gathers, reductions

    def backward_pass(self, kept):
        gathers, reductions = self.issue_backward()
        awaited = self.plan.before()  # dependencies of the B of the previous freed unit
        ended, first = None, {}  # the end of that B; the first step of each unit
        for place, (unit, layers) in reversed(list(enumerate(self.walk))):
            before = self.plan.before()
            if unit in self.freed:
                gather = gathers[unit]
                gather.after += {"pre": awaited, "post": ended or before, "none": before}[self.mode]
                awaited = before + [end(gather)]
                self.plan.hold(gather)
            steps = [self.plan.backward(layer) for layer in reversed(layers)]
            first.setdefault(unit, steps[0])
            if unit in self.freed:
                ended = [end(steps[-1])]
            if unit in [other for other, _ in self.walk[:place]]:
                continue
            self.gathered(unit, gathers[unit] if unit in self.freed else kept[unit], steps[-1])
            reductions[unit].after.append(end(steps[-1]))
            self.reducing(unit, first[unit], reductions[unit])


# ---- SimpleFSDP and Megatron-FSDP -------------------------------------------------------------------------------------

class SimpleFsdp(Units):
    """torchtitan's SimpleFSDP with its pass: each rule of the contract as it is written there."""

    def __init__(self, scenario, plan):
        super().__init__(scenario, plan)
        self.separate = scenario.options["lanes"] == "separate"
        self.gathers, self.reduces = ("gather", "reduce") if self.separate else ("shared", "shared")
        self.freed = range({"all": self.last + 1, "but-last": self.last, "none": 0}[scenario.options["reshard"]])

    def micro_batch(self):
        if self.s.options["reorder"] == "none":
            self.graph_order()
        else:
            self.backward_pass(*self.forward_pass())
        self.close()

    def forward_pass(self):
        """Returns (gathers by unit, the end of F(K))."""
        ends, gathers = [], []
        for unit in range(self.last + 1):
            gathers.append(self.gather("G_f", unit, self.gathers, [end(ends[unit - 2])] if unit > 1 else self.opening))
            ends.append(self.forwards(unit, [gathers[unit]])[1])
            if unit in self.freed:
                self.gathered(unit, gathers[unit], ends[unit])
        return gathers, ends[-1]

    def backward_pass(self, kept, forward):
        fetched, reductions, ends = {}, {}, {}
        for unit in range(self.last + 1, -1, -1):  # the order of issue
            if unit - 1 in self.freed:
                fetched[unit - 1] = self.gather("G_b", unit - 1, self.gathers)
            if unit <= self.last:
                reductions[unit] = self.reduce(unit, self.reduces)
        for unit in range(self.last, -1, -1):
            behind = [reductions[unit + 2]] if unit + 2 in reductions else []
            first, ends[unit] = self.backwards(unit, behind + ([fetched[unit]] if unit in fetched else []))
            self.gathered(unit, fetched.get(unit, kept[unit]), ends[unit])
            reductions[unit].after.append(end(ends[unit]))
            self.reducing(unit, first, reductions[unit])
        for unit, gather in fetched.items():
            gather.after.append(end(ends[unit + 2] if unit + 2 in ends else forward))
            if self.separate and unit + 3 in reductions:
                gather.after.append(end(reductions[unit + 3]))

    def graph_order(self):
        """Tensor by tensor, each awaited where it stands."""
        kept, element = {}, self.s.parameter
        parted = [(layer, unit in self.freed) for unit, layers in enumerate(self.units) for layer in layers]

        def fetch(kind, layer):
            for place, size in enumerate(self.s.layers[layer].tensors):
                name = f"{kind}{layer + 1}.{place}{self.plan.suffix()}"
                gather = self.plan.send(name, self.gathers, "all-gather", size * element, self.plan.place())
                self.plan.hold(gather)
                yield gather, size * element

        for layer, freed in parted:
            gathers = list(fetch("G_f", layer))
            step = self.plan.forward(layer)
            kept[layer] = [] if freed else gathers
            for gather, size in gathers if freed else []:
                self.plan.occupy("gathered", size, start(gather), end(step))
        for layer, freed in reversed(parted):
            gathers = list(fetch("G_b", layer)) if freed else kept[layer]
            step = self.plan.backward(layer)
            for gather, size in gathers:
                self.plan.occupy("gathered", size, start(gather), end(step))
            for place, size in reversed(list(enumerate(self.s.layers[layer].tensors))):
                name = f"{layer + 1}.{place}{self.plan.suffix()}"
                sent = self.plan.send("R" + name, self.reduces, "reduce-scatter", size * self.s.gradient,
                                      self.plan.place())
                self.plan.occupy("in_reduction", size * self.s.gradient, start(step), end(sent))
                self.plan.hold(sent)
                if self.s.hybrid:
                    self.plan.hold(self.plan.replicate("A" + name, "replicate", size * self.s.gradient, sent))


def outside(scenario, units):
    """The units that no list of modules holds: those without a number in their name, where some have one."""
    named = any(layer.group is not None for layer in scenario.layers)
    if scenario.options.get("wrap", "group" if named else "layer") != "group":
        return []
    names = [next((scenario.layers[index].group for index in unit if scenario.layers[index].group), "")
             for unit in units]
    blocks = [any(part[-1:].isdigit() for part in name.split(".")) for name in names]
    return [unit for unit, block in enumerate(blocks) if not block] if any(blocks) else []


class MegatronFsdp(Units):
    """Megatron-LM's Megatron-FSDP (optim_grads_params), with groups that copy or share the optimizer."""

    def __init__(self, scenario, plan):
        super().__init__(scenario, plan)
        separate = scenario.options["lanes"] == "separate"
        self.gathers, self.reduces = ("gather", "reduce") if separate else ("shared", "shared")
        self.outside = outside(scenario, self.units)
        own = [size for unit, size in enumerate(self.elements) if unit not in self.outside]
        self.unit_size = scenario.number("unit_size") or max(10**9, 2 * sum(own) // len(own))
        self.here, self.pending = {}, []  # gathers by unit; units and reductions that nothing waits for yet

    def micro_batch(self):
        ends = self.plan.micro == self.s.accumulate - 1 or self.s.options["sync"] == "every"
        order = range(self.last + 1)
        for unit in order:
            self.fetch("G_f", unit, order[unit + 1:])
            self.used(unit, self.forwards(unit)[1])
        for unit in reversed(order):
            self.fetch("G_b", unit, order[:unit][::-1])
            first, done = self.backwards(unit)
            self.used(unit, done)
            while unit > 0 and sum(self.elements[other] for other, _ in self.pending) > self.unit_size:
                self.plan.hold(self.pending.pop(0)[1])
            self.reducing(unit, first, self.scatter(unit, ends))
        if ends:
            self.plan.hold(*self.reductions)
            self.pending = []
        if self.plan.micro == self.s.accumulate - 1:
            for unit in self.outside:
                self.gathered(unit, self.here.pop(unit), self.plan.steps[-1])

    def fetch(self, kind, unit, following):
        """Gathers a unit and those ahead of it; its pass waits for it."""
        self.get(kind, unit)
        ahead = 0
        for other in following:
            if other in self.outside:
                continue
            if ahead if self.s.flag("double_buffer") else 2 * ahead >= self.unit_size:
                break
            self.get(kind, other)
            ahead += self.elements[other]
        self.plan.hold(self.here[unit])

    def get(self, kind, unit):
        if unit in self.here:
            return
        after = self.plan.place()
        if self.s.owners > self.s.shards and self.plan.micro == 0:
            size = self.elements[unit] * self.s.parameter
            after = after + [end(self.plan.outer(f"O{unit + 1}", "replicate", "all-gather", size, after))]
        self.here[unit] = self.gather(kind, unit, self.gathers, after)

    def used(self, unit, done):
        if unit not in self.outside:
            self.gathered(unit, self.here.pop(unit), done)

    def scatter(self, unit, ends):
        name, size = f"{unit + 1}{self.plan.suffix()}", self.elements[unit] * self.s.gradient
        sent = self.plan.send("R" + name, self.reduces, "reduce-scatter", size, self.plan.place())
        self.pending.append((unit, sent))
        self.reductions.append(sent)
        if ends and self.s.options["outer"] == "optim" and self.s.hybrid:
            self.reductions.append(self.plan.outer("S" + name, "replicate", "reduce-scatter", size, [end(sent)]))
        elif ends and self.s.hybrid:
            self.reductions.append(self.plan.replicate("A" + name, "replicate", size, sent))
        return sent


# ---- DeepSpeed ------------------------------------------------------------------------------------------------------

def full_buckets(tensors, limit):
    """Fills (layer, elements) into buckets; a tensor that would exceed the limit starts a new bucket."""
    buckets = []
    for layer, size in tensors:
        if buckets and sum(held for _, held in buckets[-1]) + size <= limit:
            buckets[-1].append((layer, size))
        else:
            buckets.append([(layer, size)])
    return buckets


class Buckets:
    """DeepSpeed's reductions: at the launch of bucket k, the next step waits for bucket k - depth."""

    def __init__(self, scenario, plan, operation, depth, at_end=False):
        self.s, self.plan, self.operation, self.depth = scenario, plan, operation, depth
        tensors = scenario.backward_tensors()
        if at_end:  # in forward order, after the backward pass
            tensors = tensors[::-1]
        self.buckets = full_buckets(tensors, scenario.number("reduce_bucket"))
        closers = [0 if at_end else bucket[0][0] for bucket in self.buckets[1:]] + [0]
        self.launched = {layer: [place for place, closer in enumerate(closers) if closer == layer]
                         for layer in range(len(scenario.layers))}
        self.sent = []

    def launch(self, layer, step):
        """Launches the buckets that B of this layer completes."""
        for place in self.launched[layer]:
            size = sum(held for _, held in self.buckets[place]) * self.s.gradient
            self.sent.append(self.plan.send(f"R{place + 1}{self.plan.suffix()}", "reduce", self.operation, size,
                                            [end(step)]))
            if place >= self.depth:
                self.plan.hold(self.sent[place - self.depth])

    def close(self):
        """Ends a micro-batch: the next step waits for all reductions. Returns these."""
        sent, self.sent = self.sent, []
        self.plan.hold(*sent)
        return sent


class Zero12:
    """DeepSpeed's stages 1 and 2: buckets of gradients, and one all-gather after the update."""

    def __init__(self, scenario, plan):
        self.s, self.plan, self.first = scenario, plan, scenario.strategy == "zero-1"
        overlap = scenario.flag("overlap_comm")
        self.buckets = Buckets(scenario, plan, scenario.options["bucket_op"], 1 if overlap else 0,
                               self.first and not overlap)

    def micro_batch(self):
        layers = range(len(self.s.layers))
        for layer in layers:
            self.plan.forward(layer)
        reduces = not self.first or self.plan.micro == self.s.accumulate - 1
        for layer in reversed(layers):
            step = self.plan.backward(layer)
            if reduces:
                self.buckets.launch(layer, step)
        self.buckets.close()

    def update(self):
        step = self.plan.step("U", self.s.own_update())
        left, piece = self.s.all_elements(), self.s.number("allgather_bucket")
        count = 0
        while left > 0:
            size = min(left, piece or left)
            left, count = left - size, count + 1
            self.plan.hold(self.plan.send(f"G{count}", "gather", "all-gather", size * self.s.parameter, [end(step)]))


class Zero3:
    """DeepSpeed's stage 3: layers are gathered in the order of the trace, with one prefetch."""

    def __init__(self, scenario, plan):
        self.s, self.plan = scenario, plan
        self.buckets = Buckets(scenario, plan, "reduce-scatter", 3 if scenario.flag("overlap_comm") else 0)
        self.rest = [sum(size for size in layer.tensors if size > scenario.number("persistence"))
                     for layer in scenario.layers]  # elements that are gathered
        count = len(scenario.layers)
        self.trace = [*range(count), *reversed(range(count))]
        self.gathers = {}  # by layer, if it is gathered or being gathered

    def micro_batch(self):
        count, steps = len(self.s.layers), {}
        for place, layer in enumerate(self.trace):
            self.fetch(place)
            arrived = [self.gathers[layer]] if self.rest[layer] else []
            if place < count:
                self.plan.forward(layer, arrived)
            else:
                steps[layer] = self.plan.backward(layer, arrived)
            if self.rest[layer] and (place >= count or not self.stays(layer)):
                self.plan.occupy("gathered", self.rest[layer] * self.s.parameter, start(self.gathers.pop(layer)),
                                 self.plan.before()[0])
            if place >= count:
                self.buckets.launch(layer, steps[layer])
        for bucket, sent in zip(self.buckets.buckets, self.buckets.close()):
            for layer, size in bucket:
                self.plan.occupy("in_reduction", size * self.s.gradient, start(steps[layer]), end(sent))

    def stays(self, layer):
        """True if not freed after its forward: fewer than `max_reuse` elements are used before its backward."""
        between = self.trace[layer + 1:len(self.trace) - 1 - layer]
        return sum(self.s.elements(other) for other in between) < self.s.number("max_reuse")

    def fetch(self, place):
        """Issues the layer's own gather and one coalesced prefetch, before the task at this place."""
        own = self.trace[place]
        if self.rest[own] and own not in self.gathers:
            self.gather("G", [own])
        room = min(self.s.number("prefetch_bucket"),
                   self.s.number("max_live") - sum(self.rest[layer] for layer in self.gathers))
        taken = []
        for layer in self.trace[place + 1:]:
            if sum(self.rest[other] for other in taken) >= room:
                break
            if self.rest[layer] and layer not in self.gathers and layer not in taken:
                taken.append(layer)
        if taken:
            self.gather("P", taken)

    def gather(self, kind, layers):
        name = f"{kind}({','.join(str(layer + 1) for layer in layers)}){self.plan.suffix()}"
        size = sum(self.rest[layer] for layer in layers) * self.s.parameter
        gather = self.plan.send(name, "gather", "all-gather", size, self.plan.before())
        self.gathers.update(dict.fromkeys(layers, gather))

    def update(self):
        self.plan.step("U", self.s.own_update())
        persistent = self.s.all_elements() - sum(self.rest)
        if persistent:
            self.plan.hold(self.plan.send("Gp", "gather", "all-gather", persistent * self.s.parameter,
                                          self.plan.before()))


# ---- Megatron-LM ----------------------------------------------------------------------------------------------------

class Megatron:
    """Megatron-Core's DistributedDataParallel, with or without its distributed optimizer."""

    def __init__(self, scenario, plan):
        self.s, self.plan = scenario, plan
        self.sharded, self.overlaps = scenario.flag("distributed_optimizer"), scenario.flag("overlap_grad_reduce")
        both = "true" if self.sharded and self.overlaps else "false"
        self.ahead = scenario.flag("overlap_param_gather", both)
        self.buckets = {kind: self.fill(kind) for kind in scenario.kinds()}
        self.sent, self.gathers = [], {kind: [] for kind in scenario.kinds()}

    def fill(self, kind):
        """Fills buckets in backward order; each closes once it is large enough. Without overlap there is one."""
        enough = self.s.number("bucket_size") or max(40 * 10**6, 10**6 * self.s.workers)
        buckets = []
        for layer, size in self.s.backward_tensors(kind):
            if not buckets or self.overlaps and sum(held for _, held in buckets[-1]) >= enough:
                buckets.append([])
            buckets[-1].append((layer, size))
        return buckets

    @staticmethod
    def size(bucket):
        """The elements of a bucket."""
        return sum(size for _, size in bucket)

    def micro_batch(self):
        layers = range(len(self.s.layers))
        for layer in layers:
            self.forward(layer)
        for layer in reversed(layers):
            step = self.plan.backward(layer)
            if self.plan.micro == self.s.accumulate - 1:
                self.launch(layer, step)

    def forward(self, layer):
        """Adds F of a layer, after the gathers of the buckets that begin in it; it launches the next of each kind."""
        before, arrived, next_gathers = self.plan.before(), [], []
        for gathers in self.gathers.values():
            own = []
            while gathers and self.first_layer(gathers[0]) == layer:
                own.append(gathers.pop(0)[1])
                if gathers and self.first_layer(gathers[0]) == layer:
                    gathers[0][1].after += [end(own[-1]), *before]
            if own and gathers:
                next_gathers.append((gathers[0][1], own[-1]))
            arrived += own
        step = self.plan.forward(layer, arrived)
        for gather, previous in next_gathers:  # the layer may wait for another kind, too
            gather.after += [end(previous), *before] if self.s.apart else [start(step)]

    @staticmethod
    def first_layer(gather):
        """The first layer in forward order with a tensor in the gather's bucket."""
        return gather[0][-1][0]

    def launch(self, layer, step):
        for kind, buckets in self.buckets.items():
            for place, bucket in enumerate(buckets):
                if layer != (bucket[-1][0] if self.overlaps else 0):
                    continue
                name, size = f"{place + 1}{self.plan.suffix()}", self.size(bucket) * self.s.gradient
                operation = "reduce-scatter" if self.sharded else "all-reduce"
                self.sent.append(self.plan.send("R" + name, "expert" if kind else "reduce", operation, size,
                                                [end(step)], experts=bool(kind)))
                if self.s.hybrid:
                    self.sent.append(self.plan.replicate("A" + name, "reduce", size, self.sent[-1]))

    def update(self):
        step = self.plan.step("U", self.s.own_update(), self.sent)
        self.sent = []
        if not self.sharded:
            return
        for kind, buckets in self.buckets.items():
            for count, bucket in enumerate(reversed(buckets)):
                gather = self.plan.send(f"G{count + 1}", "expert-gather" if kind else "gather", "all-gather",
                                        self.size(bucket) * self.s.parameter, experts=bool(kind))
                if not self.ahead or count == 0:
                    gather.after.append(end(step))
                if self.ahead:
                    self.gathers[kind].append((bucket, gather))
                else:
                    self.plan.hold(gather)


# ---- ZeRO with the plans of version 1 -------------------------------------------------------------------------------

Block = namedtuple("Block", "slices priority expert", defaults=(False,))  # slices: (layer, bytes of gradients)


class Blocks:
    """`--zero 0|1|2` with plans of blocks."""

    def __init__(self, scenario, plan):
        self.s, self.plan = scenario, plan
        name = scenario.strategy
        partitioned = name in ("bytescheduler", "p3")
        self.blocks = self.partitions() if partitioned else self.merged()
        self.order = "priority" if partitioned else "listed" if name == "ddp" else "first-ready"
        self.by_layer = scenario.options.get("barrier", "layer" if partitioned else "iteration") == "layer"
        self.after_backward = name == "s-sgd"
        window = scenario.number("credit") if name == "bytescheduler" else 1
        plan.lanes["reduce"] = plan.lanes["replicate"] = plan.lanes["expert"] = Lane(self.order, window)
        self.sent, self.gates = [], collections.defaultdict(list)  # gates: by layer, of its next first forward

    def partitions(self):
        """Slices of each single tensor, the short one last; input side first."""
        size = size_of(self.s.options["partition"])
        return [Block([(index, min(size, total - size * place))], index)
                for index, layer in enumerate(self.s.in_bytes()) for _, total in layer.tensors
                for place in range(math.ceil(total / size))]

    def merged(self):
        """Blocks of each kind of tensors, one kind after the other."""
        return [block for kind in self.s.kinds() for block in self.merged_of(kind)]

    def merged_of(self, kind):
        """The plans of reference.py, for the micro-batch that overlaps with the backward pass."""
        layers = self.s.in_bytes(kind)
        tensors = reference.backward_order(layers)
        if not tensors:
            return []
        ready = reference.ready_times(reference.slowed(layers, max(self.s.factors)), tensors)
        ranks = self.s.group if self.s.stage else self.s.workers
        cost = reference.Cost(*self.s.price("reduce-scatter" if self.s.stage else "all-reduce", ranks), ranks)
        caps = {key: size_of(self.s.options[key]) for key in ("bucket_cap", "first_bucket") if key in self.s.options}
        plan = reference.STRATEGIES[self.s.strategy](tensors, ready, cost, **caps)
        return [Block([(tensors[place].layer, tensors[place].bytes) for place in block], 0, bool(kind))
                for block in plan.blocks]

    def micro_batch(self):
        layers = range(len(self.s.layers))
        for layer in layers:
            self.forward(layer)
        reduces = self.s.zero == 2 or self.plan.micro == self.s.accumulate - 1
        steps = {}
        for layer in reversed(layers):
            steps[layer] = self.plan.backward(layer)
        if reduces:
            self.reduce(steps)

    def forward(self, layer):
        if self.plan.micro == 0:
            self.plan.hold(*self.gates.pop(layer, []))
            if self.by_layer and not self.s.zero and self.plan.iteration and self.s.layers[layer].tensors:
                self.plan.step(f"U{layer + 1}", Fraction(self.s.update * self.s.elements(layer), self.s.all_elements()))
        step = self.plan.forward(layer)
        # An update by layers that takes no time needs a single step.
        if layer == 0 and self.plan.micro == 0 and self.by_layer and not self.s.zero and not self.s.update:
            self.plan.updates(range(len(self.s.layers)), start(step), start(step))

    def reduce(self, steps):
        """Issues the blocks of a micro-batch, each ready after B of its lowest layer."""
        for index, block in enumerate(self.blocks):
            lowest = min(layer for layer, _ in block.slices)
            size = sum(held for _, held in block.slices)
            name = f"{index}{self.plan.suffix()}"
            key = (self.plan.iteration, self.plan.micro, block.priority, index)
            after = [end(steps[0 if self.after_backward else lowest])]
            if not self.s.zero:
                self.sent.append(self.plan.send("AR" + name, "expert" if block.expert else "reduce", "all-reduce", size,
                                                after, key, block.expert))
                continue
            self.sent.append(self.plan.send("R" + name, "reduce", "reduce-scatter", size, after, key))
            for layer, held in block.slices if self.s.zero == 2 else []:
                self.plan.occupy("in_reduction", held, start(steps[layer]), end(self.sent[-1]))
            if self.s.hybrid:
                self.sent.append(self.plan.replicate("A" + name, "replicate", size, self.sent[-1], key))

    def update(self):
        sent, self.sent = self.sent, []
        if self.by_layer and not self.s.zero:
            for block, transfer in zip(self.blocks, sent):
                for layer, _ in block.slices:
                    self.gates[layer].append(transfer)
            return
        step = self.plan.step("U", self.s.own_update(), sent)
        if self.s.zero:
            self.gather(step)

    def gather(self, step):
        """Issues an all-gather per block, the block with the lowest layer first."""
        def lowest(index):
            return min(layer for layer, _ in self.blocks[index].slices)

        for index in sorted(range(len(self.blocks)), key=lambda index: (lowest(index), index)):
            slices = self.blocks[index].slices
            size = sum(held for _, held in slices) * Fraction(self.s.parameter, self.s.gradient)
            gather = self.plan.send(f"G{index}", "gather", "all-gather", size, [end(step)])
            for layer in {layer for layer, _ in slices} if self.by_layer else [0]:
                self.gates[layer].append(gather)


WRITERS = {"fsdp1": Fsdp1, "fsdp2": Fsdp2, "simple-fsdp": SimpleFsdp, "zero-1": Zero12, "zero-2": Zero12,
           "zero-3": Zero3, "megatron": Megatron, "megatron-fsdp": MegatronFsdp}


def written(scenario, iterations):
    """Returns the plan of this many iterations."""
    plan = Plan(scenario)
    strategy = WRITERS.get(scenario.strategy, Blocks)(scenario, plan)
    for plan.iteration in range(iterations):
        for plan.micro in range(scenario.accumulate):
            strategy.micro_batch()
        strategy.update()
    return plan


# ---- replay ---------------------------------------------------------------------------------------------------------

class Replay:
    """Gives every step and transfer of a plan its times. One worker stands for all with the same slowdown."""

    def __init__(self, plan, even=False):
        self.plan, self.channel = plan, plan.scenario.sharing()
        self.factors = [Fraction(1)] * len(plan.scenario.factors) if even else plan.scenario.factors
        self.now, self.next, self.running = 0, [0] * len(self.factors), [None] * len(self.factors)
        self.waiting = {name: [] for name in plan.LANES}  # heaps of what is ready
        self.flying = {name: [] for name in plan.LANES}
        self.lists = {name: collections.deque() for name in plan.LANES}
        self.in_flight, self.admitted = 0, 0
        self.listeners, self.missing = collections.defaultdict(list), {}
        for place, transfer in enumerate(plan.transfers):
            transfer.place = place
            self.lists[transfer.lane].append(transfer)
            self.listen(transfer)

    def listen(self, transfer):
        missing = 0
        for item, edge in transfer.after:
            self.listeners[id(item), edge].append(transfer)
            missing += len(self.factors) if isinstance(item, Step) else 1
        self.missing[transfer.place] = missing
        if missing == 0:
            self.ready(transfer)

    def run(self):
        while self.now is not None:
            self.settle()
            while self.admit():
                self.settle()
            self.now = self.next_instant()
        late = [step.name for place in self.next for step in self.plan.steps[place:place + 1]]
        late += [transfer.name for transfer in self.plan.transfers if transfer.end is None][:1]
        if late:
            raise AssertionError(f"never starts: {late}")

    def next_instant(self):
        instants = [step.end[worker] for worker, step in enumerate(self.running) if step is not None]
        if self.in_flight:
            instants.append(self.channel.next())
        return min(instants, default=None)

    def settle(self):
        """Processes all that ends at this instant, and tasks without duration that can start."""
        changed = True
        while changed:
            changed = any([self.compute(worker) for worker in range(len(self.factors))])
            while self.in_flight and self.channel.next() <= self.now:
                self.in_flight -= 1
                self.arrived(self.channel.complete())
                changed = True

    def compute(self, worker):
        """Ends and starts steps of one worker. Returns True if any did."""
        changed, step = False, self.running[worker]
        while True:
            if step is not None and step.end[worker] <= self.now:
                self.running[worker], changed = None, True
                self.reached(step, "end")
            if self.running[worker] is not None or not self.begin(worker):
                return changed
            step, changed = self.running[worker], True

    def begin(self, worker):
        """Starts the worker's next step if it can."""
        if self.next[worker] == len(self.plan.steps):
            return False
        step = self.plan.steps[self.next[worker]]
        if any(transfer.end is None for transfer in step.after):
            return False
        self.next[worker] += 1
        self.running[worker] = step
        step.start[worker] = self.now
        step.end[worker] = self.now + rounded(step.duration * self.factors[worker])
        self.reached(step, "start")
        return True

    def reached(self, item, edge):
        """Called when an item reaches an edge on another worker."""
        for transfer in self.listeners[id(item), edge]:
            self.missing[transfer.place] -= 1
            if self.missing[transfer.place] == 0:
                self.ready(transfer)

    def ready(self, transfer):
        order = self.plan.lanes[transfer.lane].order
        key = {"listed": (), "priority": transfer.key,
               "first-ready": (*transfer.key[:2], self.now, *transfer.key[2:])}[order]
        heapq.heappush(self.waiting[transfer.lane], (key, transfer.place, transfer))

    def admit(self):
        """Starts one transfer, of the first lane that has one."""
        for name in self.plan.LANES:
            lane, waiting = self.plan.lanes[name], self.waiting[name]
            if not waiting or len(self.flying[name]) >= lane.window:
                continue
            transfer = waiting[0][2]
            if lane.order == "listed" and transfer is not self.lists[name][0]:
                continue
            heapq.heappop(waiting)
            self.lists[name].remove(transfer)
            self.depart(transfer)
            return True
        return False

    def depart(self, transfer):
        transfer.start, transfer.sequence = self.now, self.admitted
        self.admitted += 1
        self.flying[transfer.lane].append(transfer)
        if transfer.nothing:
            self.arrived(transfer)
        else:
            self.in_flight += 1
            a, b = transfer.cost
            self.channel.admit(self.now, transfer, a, b * transfer.size)

    def arrived(self, transfer):
        transfer.end = self.now
        self.flying[transfer.lane].remove(transfer)
        self.reached(transfer, "end")


# ---- what is measured -----------------------------------------------------------------------------------------------

def periods(plan, worker):
    """Returns the time in ps between the starts of B_L in consecutive iterations."""
    starts = [step.start[worker] for step in plan.marks]
    return [after - before for before, after in zip(starts, starts[1:])]


def cycle(plan, longest=6):
    """Returns after how many iterations the periods repeat at the end of the replay; 0 if they do not."""
    for length in range(1, longest + 1):
        histories = [periods(plan, worker)[-3 * length:] for worker in range(len(plan.scenario.factors))]
        if all(len(history) == 3 * length and all(abs(history[place] - history[place + length]) <= 4
                                                  for place in range(2 * length)) for history in histories):
            return length
    return 0


def steady(scenario, even=False):
    """Returns (replayed plan, cycle of its last iterations). even: no worker is slow, with the plan for slow ones."""
    for iterations in (5, 9, 24, 80):
        plan = written(scenario, iterations)
        Replay(plan, even).run()
        if length := cycle(plan):
            return plan, length
    raise AssertionError("the iteration never becomes steady")


def time_in_flight(plan, since, until):
    """Returns the time in ps between two instants during which any transfer is on the network."""
    busy, reached = 0, since
    for transfer in sorted((transfer for transfer in plan.transfers if not transfer.nothing),
                           key=lambda transfer: transfer.start):
        first, last = max(transfer.start, reached), min(transfer.end, until)
        busy += max(0, last - first)
        reached = max(reached, last)
    return busy


# ---- memory ---------------------------------------------------------------------------------------------------------

PARTS = ["parameters", "gradients", "optimizer", "gathered", "in_reduction", "activations", "step"]


def step_memory(scenario, elements):
    """Returns the bytes that an update of this many elements needs in addition to the state.

    DeepSpeed makes one tensor of the shard's gradients, and a copy of it in fp32 (stage 3: of a sub-group of 1e9);
    Megatron makes a copy in fp32. Gradients in fp32 are not copied. PyTorch's Adam (if trace or strategy are PyTorch's,
    or the trace names no framework) stores the roots of its second moments in fp32; only states of 8 bytes or more have
    second moments.
    """
    s, own = scenario, 4
    if s.strategy.startswith("zero-"):
        pieces = min(elements, 10**9) if s.strategy == "zero-3" else elements
        return pieces * (own + (s.gradient if s.gradient < own else 0))
    if s.strategy == "megatron":
        return elements * (own if s.gradient < own else 0)
    pytorch = s.framework.startswith("PyTorch") or s.framework in ("none", "unknown") or s.strategy in (
        "ddp", "optimal-merge", "fsdp1", "fsdp2", "simple-fsdp", "megatron-fsdp")
    return elements * (own if pytorch and Fraction(s.options.get("state", 8)) >= 8 else 0)


def whole_gradients(scenario):
    """True if FSDP2 keeps unsharded gradients, since it reduces only in the last of several micro-batches."""
    return scenario.strategy == "fsdp2" and scenario.options["reduce"] == "last" and scenario.accumulate > 1


def constant_memory(scenario):
    """Returns the bytes of the parts that do not change during an iteration."""
    s, elements = scenario, scenario.all_elements()
    shared = s.shared(range(len(s.layers)))
    fsdp = s.strategy in ("fsdp1", "fsdp2", "simple-fsdp", "megatron-fsdp")
    held, gradient = (4, 4) if fsdp else (s.parameter, s.gradient)
    persistent = 0
    if s.strategy == "zero-3":
        limit = s.number("persistence")
        persistent = sum(size for layer in s.layers for size in layer.tensors if size <= limit)
    state = Fraction(s.options.get("state", 12 if held == 2 else 8))
    parts = dict.fromkeys(PARTS, Fraction(0))
    parts["parameters"] = (shared - Fraction(persistent, s.shards) if s.stage == 3 else elements - persistent) * held \
        + Fraction(persistent * held)
    parts["gradients"] = Fraction((shared if s.stage >= 2 and not whole_gradients(s) else elements) * gradient)
    parts["optimizer"] = s.shared(range(len(s.layers)), s.owners) * state
    if s.strategy in ("zero-1", "zero-2"):
        buckets = 2 if s.flag("overlap_comm") else 1
        parts["in_reduction"] = Fraction(min(elements, buckets * s.number("reduce_bucket")) * s.gradient)
    return parts


def occupied(part, size, begins, ends, since, until):
    """Returns (when, order within an instant, part, change in bytes) of memory held between two instants.

    At an instant, ends free memory before starts take some. An update without duration comes between the two.
    """
    if part == "step" and begins == ends:
        return [(begins, 1, part, size), (begins, 2, part, -size)] if since <= begins < until else []
    if max(begins, since) >= min(ends, until):
        return []
    return [(max(begins, since), 1 if part == "step" else 3, part, size), (ends, 0, part, -size)]


def peaks(plan, worker, since, until, parts):
    """Returns (peak of the sum, peak of each part) of the temporary memory of a worker between two instants."""
    spans = []
    for part, size, first, last in [held for held in plan.holdings if held.part in parts]:
        begins, ends = first.item.at(first.edge, worker), last.item.at(last.edge, worker)
        spans += occupied(part, size, begins, ends, since, until)
    held, most, total, top = collections.Counter(), collections.Counter(), 0, 0
    for _, _, part, size in sorted(spans, key=lambda span: span[:2]):
        held[part] += size
        total += size
        most[part] = max(most[part], held[part])
        top = max(top, total)
    return top, most


def memory(plan, since, until, counted=PARTS):
    """Returns (bytes at the peak, bytes of each part at its own peak) of the worker that needs most."""
    parts = constant_memory(plan.scenario)
    base, top = sum(parts.values()), 0
    own = collections.Counter()
    for worker in range(len(plan.scenario.factors)):
        total, most = peaks(plan, worker, since, until, counted)
        top = max(top, total)
        for part, size in most.items():
            own[part] = max(own[part], size)
    return base + top, {part: parts[part] + own[part] for part in PARTS}


# ---- results --------------------------------------------------------------------------------------------------------

def copy_time(plan):
    """Returns the time in ps of copies per iteration on a worker without slowdown."""
    copies = [step for step in plan.steps if re.match(r"C_|D", step.name)]
    return sum(rounded(step.duration) for step in copies) / Fraction(len(plan.marks))


def lower_bound(plan):
    """Returns a lower bound of the iteration in ps, on the slowest worker, for plans of the same kind."""
    s, slowest = plan.scenario, max(plan.scenario.factors)
    moved = sum(transfer.size * transfer.cost[1] for transfer in plan.transfers
                if transfer.iteration == 0 and not transfer.nothing)
    if s.stage == 0 and s.strategy not in SHARDED:
        return all_reduce_bound(s, slowest, moved)
    return max((s.computing() + s.own_update() + copy_time(plan)) * slowest, moved)


def experts_bound(s, slowest, moved):
    """The same for two kinds of gradients, which share bandwidth only."""
    layers = reference.slowed(s.in_bytes(), slowest)
    first = next(index for index, layer in enumerate(layers) if layer.tensors)
    before = reference.forward_time(layers[:first]) + reference.backward_time(layers[:first])
    total = s.accumulate * (reference.forward_time(layers) + reference.backward_time(layers)) + s.update * slowest
    ranks = s.workers // s.experts if s.layers[first].expert else s.workers
    a, b = s.price("all-reduce", ranks)
    size = sum(size for _, size in layers[first].tensors)
    return max(total - before + max(before, a + b * size), moved)


def all_reduce_bound(s, slowest, moved):
    """The bound of version 1 with K and U."""
    if s.apart:
        return experts_bound(s, slowest, moved)
    layers = reference.slowed(s.in_bytes(), slowest)
    cost = reference.Cost(*s.price("all-reduce", s.workers), s.workers)
    first = next(index for index, layer in enumerate(layers) if layer.tensors)
    before = reference.forward_time(layers[:first]) + reference.backward_time(layers[:first])
    total = s.accumulate * (reference.forward_time(layers) + reference.backward_time(layers)) + s.update * slowest
    sizes = [sum(size for _, size in layer.tensors) for layer in layers]
    return max(total - before + max(before, cost(sizes[first])), cost(sum(sizes)))


Result = namedtuple("Result", "answers order timeline empty")


def simulate(trace, cluster, words):
    """Returns all that `allreplay run --json` prints about sharding, with the same keys; times in exact seconds.

    empty: the number of transfers per iteration that do not use the network (`collectives` does not count them).
    """
    scenario = Scenario(trace, cluster, words)
    plan, length = steady(scenario)
    even, repeats = steady(scenario, even=True)
    unslowed = Fraction(even.marks[-1].start[0] - even.marks[-1 - repeats].start[0], repeats)
    since, until = plan.marks[-1 - length].start[0], plan.marks[-1].start[0]
    iteration, copies = Fraction(until - since, length), copy_time(plan)
    ideal = scenario.computing() + scenario.update
    own = [transfer for transfer in plan.transfers if transfer.iteration == len(plan.marks) - 2]
    times = {"iteration_s": iteration, "straggler_s": iteration - unslowed,
             "exposed_comm_s": unslowed - scenario.computing() - scenario.own_update(),
             "update_s": scenario.own_update(), "copy_s": copies,
             "comm_busy_s": Fraction(time_in_flight(plan, since, until), length), "lower_bound_s": lower_bound(plan)}
    total, parts = memory(plan, since, until)
    answers = {key: Fraction(value) / SECOND for key, value in times.items()}
    answers |= {"speedup": Fraction(scenario.workers * ideal) / iteration if iteration else None,
                "samples_per_s": Fraction(scenario.workers * scenario.accumulate * scenario.batch * SECOND) / iteration
                if iteration else None, "collectives": sum(not transfer.nothing for transfer in own),
                "memory_bytes": total, "memory": parts, "without_step": memory(plan, since, until, PARTS[:-1])[0]}
    order = [transfer.name for transfer in sorted(own, key=lambda transfer: transfer.sequence)]
    return Result(answers, order, timeline(plan, since, until), sum(transfer.nothing for transfer in own))


def timeline(plan, since, until):
    """One line per step and transfer that begins in the steady iteration: microseconds from its first B_L."""
    rows = [(transfer.start, transfer.end, transfer.sequence, f"{transfer.lane}: {transfer.name}", transfer.size)
            for transfer in plan.transfers]
    rows += [(step.start[worker], step.end[worker], -1, f"worker class {worker}: {step.name}", None)
             for worker in range(len(plan.scenario.factors)) for step in plan.steps]
    chosen = sorted(row for row in rows if since <= row[0] < until)
    return "\n".join(f"{float(first - since) / 10**6:12.6f} {float(last - since) / 10**6:12.6f}  {what}"
                     + (f" ({float(size):g} B)" if size is not None else "") for first, last, _, what, size in chosen)


# ---- comparison -----------------------------------------------------------------------------------------------------

TIMES = ["iteration_s", "exposed_comm_s", "straggler_s", "update_s", "copy_s", "comm_busy_s", "lower_bound_s"]
RATIOS = ["speedup", "samples_per_s"]


def differences(given, result, relative=Fraction(1, 10**6)):
    """Lists the differences between answers and a result. Times may differ by 1e-6 of the iteration, bytes may not."""
    own, lines = result.answers, []
    slack = {key: own["iteration_s"] * relative for key in TIMES}
    slack |= {key: abs(own[key] or 0) * relative for key in RATIOS}

    def compare(key, value, expected, allowed):
        if value is None or abs(Fraction(value) - expected) > allowed:
            lines.append(f"{key}: {value}, the peer says {float(expected)!r}")

    for key in [*TIMES, *RATIOS]:
        if key in given and own[key] is not None:
            compare(key, given[key], own[key], slack[key])
    if "collectives" in given and given["collectives"] not in (own["collectives"], own["collectives"] + result.empty):
        compare("collectives", given["collectives"], own["collectives"], 0)
    counted = "step" in given.get("memory", {"step": None})  # worked cases lack this part
    top = own["memory_bytes" if counted else "without_step"]
    compare("memory_bytes", given.get("memory_bytes"), top, top * Fraction(1, 10**12))
    for part, size in own["memory"].items():
        if part != "step" or counted:
            compare(f"memory.{part}", given.get("memory", {}).get(part), size, size * Fraction(1, 10**12))
    if "order" in given and given["order"] != result.order:
        lines.append(f"order: {given['order']}, the peer says {result.order}")
    return lines


def replay_case(case):
    """Returns (result, differences) of a worked case."""
    words = shlex.split(case["command"])[2:]
    result = simulate(case["trace"], case["cluster"], words)
    return result, differences(case["answers"], result)


def main():
    parser = argparse.ArgumentParser(description="Replays worked cases of sharded data parallelism.")
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
        if arguments.names:
            print(case.get("derivation", ""), result.timeline, sep="\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
