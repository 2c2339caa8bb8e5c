"""Part of the peer: codecs, MergeComp's groups, and a replay of any plan, task by task.

Written, like `reference.py`, only from the contract and the papers. While that file computes every iteration in closed
form, this one replays every task of every worker, because a codec shares the compute stream with the layers. It covers
alpha-beta, both ways of sharing, windows in blocks or bytes, both barriers and split stages. Papers: MergeComp = Wang,
Wu, Ng; gTop-k = Shi et al.

Units: time in picoseconds, sizes in bytes, fractions until a duration becomes a task's or a message's.
"""

import collections
import functools
import heapq
import itertools
import json
import math
import re
from collections import namedtuple
from fractions import Fraction

import reference
from reference import rounded

UNITS = {"s": 10**12, "ms": 10**9, "us": 10**6, "ns": 10**3, "ps": 1}
GATHERS = ["all-gather", "topk-allgather"]  # every worker gets every worker's payload


# ---- codecs ---------------------------------------------------------------------------------------------------------

# wire: (elements, density, bits) -> bytes of one worker's payload. feedback: needs another decoding, of what was not
# sent. collective: the one that carries payloads; None: the cluster's own.
Kind = namedtuple("Kind", "wire feedback collective")


def sparse(elements, density, bits):
    """Bytes of a sparse payload: 4 per index and 4 per value."""
    return 8 * max(1, rounded(density * elements))


KINDS = {
    "topk": Kind(sparse, True, "topk-allgather"),
    "gtopk": Kind(sparse, True, "gtopk-tree"),
    "dgc": Kind(sparse, True, "all-gather"),
    "randk": Kind(sparse, True, "all-gather"),
    "fp16": Kind(lambda n, density, bits: math.ceil(2 * n), False, None),
    "qsgd": Kind(lambda n, density, bits: math.ceil(n * bits / 8) + 4, False, "all-gather"),
    "signsgd": Kind(lambda n, density, bits: math.ceil(n / 8), False, "all-gather"),
    "signum": Kind(lambda n, density, bits: math.ceil(n / 8), False, "all-gather"),
    "ef-signsgd": Kind(lambda n, density, bits: math.ceil(n / 8) + 4, True, "all-gather"),
    "onebit": Kind(lambda n, density, bits: math.ceil(n / 8) + 8, True, "all-gather"),
}

Line = namedtuple("Line", "base element log")  # seconds of a stage: base + element n + log n log2 max(1, n)


def duration(text):
    number, unit = re.fullmatch(r"([-+.\deE]+) ?(\w+)", text).groups()
    return Fraction(number) * UNITS[unit]


def read_codec(path):
    """Returns (encode, decode) of a file in models/codecs, each a Line."""
    document = json.loads(path.read_text(encoding="utf-8"))
    keys = ("base", "per_element", "per_element_log2")
    return tuple(Line(*(duration(document[stage].get(key, "0 s")) for key in keys)) for stage in ("encode", "decode"))


class Codec:
    """Times and payload sizes of compressing blocks of gradients, in one scenario."""

    def __init__(self, name, times, workers, collective, element=4, density=Fraction("0.001"), bits=8, encode=None,
                 decode=None):
        self.kind, self.times, self.element, self.density, self.bits = KINDS[name], times, element, density, bits
        self.given = encode, decode
        self.decodings = (workers if collective in GATHERS else 1) + self.kind.feedback
        self.wire, self.stage = functools.cache(self.wire), functools.cache(self.stage)

    def wire(self, size):
        return self.kind.wire(Fraction(size) / self.element, self.density, self.bits) if size else 0

    def stage(self, which, size, factor):
        """Time to encode (0) or decode (1) on a worker slowed by `factor`."""
        if self.given[which] is not None:
            return rounded(self.given[which] * factor)
        line, n = self.times[which], Fraction(size) / self.element
        once = line.base + line.element * n + line.log * n * Fraction(math.log2(max(1, n)))
        return rounded(once * factor * (self.decodings if which else 1))

    def lumped(self, size, factor):
        return self.stage(0, size, factor) + self.stage(1, size, factor)


class WireCost(reference.Cost):
    """T of a block's bytes on the wire. halves: (a, b) of the reduce-scatter and of the all-gather."""

    def __init__(self, a, b, workers, wire, halves=None):
        super().__init__(a, b, workers)
        self.wire, self.halves = wire, halves

    def __call__(self, size):
        return super().__call__(self.wire(size))


def gathering(collective, workers, alpha, beta):
    """Returns (a, b) of a collective that carries payloads (gTop-k, Table I, where 2k is a payload of k values)."""
    log = Fraction(math.log2(workers))
    if collective == "gtopk-tree":
        return 2 * log * alpha, 2 * log * beta
    return log * alpha, (workers - 1) * beta


# ---- plans ----------------------------------------------------------------------------------------------------------

# layers: those with gradients in the block, in forward order from 0.
Block = namedtuple("Block", "size layers priority", defaults=(0,))
# order: first-ready, as-listed or priority. window: maximum blocks in flight; window_bytes: another block is admitted
# while fewer bytes are in flight. tick, ticks: as in reference.Plan. barrier: iteration or layer, which the next
# forward waits for. split: sent as reduce-scatter and all-gather (DeAR).
Schedule = namedtuple("Schedule", "blocks order window window_bytes barrier tick after_backward split ticks",
                      defaults=("first-ready", 1, None, "iteration", 0, False, False, None))


def scheduled(plan, tensors):
    """Converts a plan of reference.py."""
    blocks = [Block(sum(tensors[place].bytes for place in block), {tensors[place].layer for place in block})
              for block in plan.blocks]
    return Schedule(blocks, tick=plan.tick, ticks=plan.ticks, after_backward=plan.after_backward)


def partitions(layers, size, credit=None, credit_bytes=None):
    """ByteScheduler and P3: slices of `size` bytes, the short one last; layer, then tensor, then offset."""
    blocks = [Block(min(size, total - offset), {index}, index)
              for index, layer in enumerate(layers) for _, total in layer.tensors for offset in range(0, total, size)]
    return Schedule(blocks, "priority", credit, credit_bytes, "layer")


def dear(layers, threshold=25 * 2**20, split=True):
    """DeAR: whole layers fused in forward order up to the threshold, in two stages (one if payloads are gathered).
    Blocks are listed in backward order."""
    groups = []
    for index, layer in enumerate(layers):
        size = sum(total for _, total in layer.tensors)
        if not size:
            continue
        if groups and groups[-1][0] + size < threshold:
            groups[-1] = (groups[-1][0] + size, groups[-1][1] | {index})
        else:
            groups.append((size, {index}))
    return Schedule([Block(size, held, min(held)) for size, held in reversed(groups)], "priority", 1, None, "layer",
                    split=split)


def mergecomp_objective(tensors, layers, cost, codec, factor, side):
    """Returns F of Eq. 7, the end of the iteration as a function of the groups, with decoding counted as part of
    encoding. Codecs share the compute stream with the layers, or have a separate one (`side`)."""
    slow = reference.slowed(layers, factor)
    ready, forward, backward = (reference.ready_times(slow, tensors), reference.forward_time(slow),
                                reference.backward_time(slow))
    before = [0, *itertools.accumulate(tensor.bytes for tensor in tensors)]
    send = functools.cache(cost.duration)
    code = functools.cache(lambda size: codec.lumped(size, factor) if codec else 0)

    def time(groups):
        held = coded = sent = 0  # delay of the backward pass by codecs; ends of encoding and of sending
        for group in groups:
            size = before[group[-1] + 1] - before[group[0]]
            coded = max(coded, ready[group[-1]] + held) + code(size)
            held += 0 if side else code(size)
            sent = max(sent, coded) + send(size)
        return forward + max(sent, backward + held)

    return time


def groupings(count, several):
    """All partitions of `count` tensors, in backward order, into `several` groups of neighbours."""
    for cuts in itertools.combinations(range(1, count), several - 1):
        yield reference.blocks_between(cuts, count)


def even_grouping(count, several):
    """The naive partition: the first `count mod several` groups have one tensor more."""
    sizes = [count // several + (place < count % several) for place in range(several)]
    return reference.blocks_between(list(itertools.accumulate(sizes))[:-1], count)


def mergecomp_stops(best, most, stop, slack=0):
    """The numbers of groups with which Algorithm 2 may end; best(y) is F_min(y). Several if a comparison is closer than
    `slack`, so that rounding to picoseconds decides it."""
    ends = set()
    for several in range(2, most + 1):
        gain = best(several - 1) - best(several)
        if gain < slack:
            ends.add(several - 1)
        if -slack <= gain < stop * best(several - 1) + slack:
            ends.add(several)
        if gain < stop * best(several - 1) - slack:
            return ends
    return ends | {most}


# ---- replay ---------------------------------------------------------------------------------------------------------

LAYER, ENCODE, DECODE = range(3)  # the order of tasks that become ready at the same instant


class Stream:
    """Runs one task at a time, first come, first served."""

    def __init__(self):
        self.waiting, self.busy = [], False

    def add(self, now, kind, index, duration, then):
        heapq.heappush(self.waiting, (now, kind, index, duration, then))


class Serial:
    """Start-ups overlap; bytes go one block after another, in the order of admission."""

    def __init__(self):
        self.ends, self.free = collections.deque(), Fraction(0)

    def admit(self, now, item, start_up, bytes_time):
        self.free = max(now + start_up, self.free) + bytes_time
        self.ends.append((rounded(self.free), item))

    def next(self):
        return self.ends[0][0] if self.ends else None

    def complete(self):
        return self.ends.popleft()[1]


class Fair:
    """After its start-up, each block gets an equal share of the bandwidth."""

    def __init__(self):
        self.clock, self.flows = Fraction(0), {}  # item: [when its bytes start, how much is left]

    def step(self, flows, clock):
        """Returns (the next instant at which the shares change, how many flows share until then)."""
        active = [left for start, left in flows.values() if start <= clock]
        instants = [start for start, _ in flows.values() if start > clock]
        return min(instants + [clock + min(active) * len(active)] if active else instants), len(active)

    def advance(self, flows, clock, until=None):
        """Runs to `until`, or until the first flow ends. Returns the clock and that flow."""
        while flows:
            ended = [item for item, (start, left) in flows.items() if start <= clock and left == 0]
            if ended and until is None:
                return clock, ended[0]
            instant, sharing = self.step(flows, clock)
            if until is not None:
                instant = min(instant, until)
            for flow in flows.values():
                if flow[0] <= clock:
                    flow[1] -= (instant - clock) / sharing
            if until is not None and instant == until:
                break
            clock = instant
        return until, None

    def admit(self, now, item, start_up, bytes_time):
        if now > self.clock:
            self.advance(self.flows, self.clock, Fraction(now))
            self.clock = Fraction(now)
        self.flows[item] = [now + start_up, bytes_time]

    def next(self):
        copy = {item: list(flow) for item, flow in self.flows.items()}
        return rounded(self.advance(copy, self.clock)[0]) if copy else None

    def complete(self):
        self.clock, item = self.advance(self.flows, self.clock)
        del self.flows[item]
        return item


Coding = namedtuple("Coding", "codec side on_arrival")  # codec: may be None; side: it has a separate stream


class Replay:
    """One iteration, from the starts of B_L to the starts of the next B_L."""

    def __init__(self, layers, slowdowns, schedule, cost, coding, sharing):
        self.schedule, self.cost, self.coding, self.sharing = schedule, cost, coding, sharing
        self.count, self.depth = len(slowdowns), len(layers)
        self.slow = [reference.slowed(layers, factor) for factor in slowdowns]
        self.slowdowns = slowdowns
        self.after = [[] for _ in layers]  # the blocks that are encoded after B of a layer
        for index, block in enumerate(schedule.blocks):
            self.after[0 if schedule.after_backward else min(block.layers)].append(index)
        first = [0] if schedule.barrier == "iteration" else None
        self.gates = [first or sorted(block.layers) for block in schedule.blocks]  # the forwards that wait for a block

    def run(self, starts):
        """Returns (when each worker ends F_L, how long any block was in flight)."""
        self.events, self.counter, self.ends, self.busy = [], itertools.count(), [None] * self.count, 0
        self.origin, self.channel = max(starts), {"serial": Serial, "fair": Fair}[self.sharing]()
        self.compute = [Stream() for _ in starts]
        self.side = [Stream() for _ in starts]
        self.holds = [[1] * self.depth for _ in starts]  # events that each forward waits for
        for holds in self.holds:
            for gates in self.gates:
                for layer in gates:
                    holds[layer] += 1
        self.encoding = [[len(blocks) for blocks in self.after] for _ in starts]
        self.encoded = [0] * len(self.schedule.blocks)
        self.backwards, self.waiting, self.listed, self.flying, self.split_off = 0, [], 0, {}, []
        for worker, start in enumerate(starts):
            self.at(start, self.backward, worker, self.depth - 1)
        while self.events or self.flying:
            self.now = min([event[0] for event in self.events[:1]] + ([self.channel.next()] if self.flying else []))
            self.instant()
        return self.ends, self.busy

    def at(self, time, action, *arguments):
        heapq.heappush(self.events, (time, next(self.counter), action, arguments))

    def instant(self):
        """Processes events and lets streams choose until nothing changes at this instant; then the channel chooses."""
        while True:
            settled = False
            while self.events and self.events[0][0] == self.now:
                _, _, action, arguments = heapq.heappop(self.events)
                action(*arguments)
                settled = True
            while self.flying and self.channel.next() <= self.now:
                self.arrived(*self.channel.complete())
                settled = True
            for stream in itertools.chain(self.compute, self.side):
                if not stream.busy and stream.waiting:
                    _, _, _, duration, then = heapq.heappop(stream.waiting)
                    stream.busy = True
                    self.at(self.now + duration, self.finished, stream, then)
                    settled = True
            if not settled and not self.admit():
                return

    def finished(self, stream, then):
        stream.busy = False
        then()

    # ---- compute ----

    def backward(self, worker, layer):
        self.compute[worker].add(self.now, LAYER, self.depth - layer, self.slow[worker][layer].backward,
                                 lambda: self.gradients(worker, layer))

    def gradients(self, worker, layer):
        """Called when B of this layer ends."""
        if layer == 0:
            self.backwards += 1
            if self.backwards == self.count:
                for block in self.split_off:
                    self.offer(block, 1)
        if self.coding.codec is None:
            for block in self.after[layer]:
                self.ready(block)
        else:
            stream = (self.side if self.coding.side else self.compute)[worker]
            for block in self.after[layer]:
                stream.add(self.now, ENCODE, block, self.encode_time(worker, block),
                           lambda block=block: self.coded(worker, layer, block))
        if self.coding.codec is None or self.coding.side or not self.after[layer]:
            self.go_on(worker, layer)

    def coded(self, worker, layer, block):
        self.ready(block)
        self.encoding[worker][layer] -= 1
        if not self.coding.side and self.encoding[worker][layer] == 0:
            self.go_on(worker, layer)

    def go_on(self, worker, layer):
        if layer > 0:
            self.backward(worker, layer - 1)
        else:
            self.release(worker, 0)

    def release(self, worker, layer):
        self.holds[worker][layer] -= 1
        if self.holds[worker][layer] == 0:
            self.compute[worker].add(self.now, LAYER, self.depth + 1 + layer, self.slow[worker][layer].forward,
                                     lambda: self.forward_done(worker, layer))

    def forward_done(self, worker, layer):
        if layer + 1 < self.depth:
            self.release(worker, layer + 1)
        else:
            self.ends[worker] = self.now

    def encode_time(self, worker, block):
        size, factor = self.schedule.blocks[block].size, self.slowdowns[worker]
        codec = self.coding.codec
        return codec.stage(0, size, factor) if self.coding.on_arrival else codec.lumped(size, factor)

    # ---- communication ----

    def ready(self, block):
        """Called when the block is ready on another worker."""
        self.encoded[block] += 1
        if self.encoded[block] < self.count:
            return
        tick = self.schedule.tick
        if not tick:
            self.offer(block, 0)
            return
        number = max(-(-(self.now - self.origin) // tick), self.schedule.ticks[block])
        self.at(self.origin + number * tick, self.offer, block, 0)

    def offer(self, block, stage):
        """Adds the block to the queue. Reduce-scatters go in the order of the list: DeAR's is that of readiness."""
        urgency = {"first-ready": self.now, "as-listed": 0, "priority": self.schedule.blocks[block].priority}
        by_list = self.schedule.split and stage == 0
        heapq.heappush(self.waiting, (stage, 0 if by_list else urgency[self.schedule.order], block))

    def admit(self):
        """Starts the next block if the queue lets it."""
        if not self.waiting:
            return False
        stage, _, block = self.waiting[0]
        if self.schedule.order == "as-listed" and block != self.listed:
            return False
        size = self.cost.wire(self.schedule.blocks[block].size)
        if self.schedule.window_bytes is None:
            if len(self.flying) >= self.schedule.window:
                return False
        elif sum(self.flying.values()) >= self.schedule.window_bytes:
            return False
        heapq.heappop(self.waiting)
        self.listed += 1
        if not self.flying:
            self.busy -= self.now
        self.flying[block, stage] = size
        start_up, byte = (self.cost.a, self.cost.b) if not self.schedule.split else self.cost.halves[stage]
        self.channel.admit(self.now, (block, stage), start_up, byte * size)
        return True

    def arrived(self, block, stage):
        del self.flying[block, stage]
        if not self.flying:
            self.busy += self.now
        if self.schedule.split and stage == 0:
            if self.backwards == self.count:
                self.offer(block, 1)
            else:
                self.split_off.append(block)
            return
        for worker in range(self.count):
            if self.coding.codec is None or not self.coding.on_arrival:
                self.open(worker, block)
            else:
                stream = (self.side if self.coding.side else self.compute)[worker]
                time = self.coding.codec.stage(1, self.schedule.blocks[block].size, self.slowdowns[worker])
                stream.add(self.now, DECODE, block, time, lambda worker=worker: self.open(worker, block))

    def open(self, worker, block):
        for layer in self.gates[block]:
            self.release(worker, layer)


def steady(replay, limit=400):
    """Returns the means of (period, time in flight) over the cycle in which the offsets between workers end."""
    starts, seen, history = tuple([0] * replay.count), {}, []
    while starts not in seen:
        if len(history) == limit:
            raise AssertionError("the iteration never becomes steady")
        seen[starts] = len(history)
        ends, busy = replay.run(starts)
        history.append((min(ends), busy))
        starts = tuple(end - min(ends) for end in ends)
    cycle = history[seen[starts]:]
    return tuple(Fraction(sum(values), len(cycle)) for values in zip(*cycle))


Result = namedtuple("Result", "iteration exposed comm_busy codec collectives speedup efficiency stragglers")


def simulate(layers, slowdowns, schedule, cost, coding, sharing="serial"):
    """Returns all numbers of a result except the lower bound. A single worker neither sends nor encodes."""
    count = len(slowdowns)
    if count == 1:
        schedule = schedule._replace(blocks=[])
    iteration, busy = steady(Replay(layers, slowdowns, schedule, cost, coding, sharing))
    even, _ = steady(Replay(layers, [1] * count, schedule, cost, coding, sharing))  # without slow workers
    alone = reference.forward_time(layers) + reference.backward_time(layers)
    codec = 0
    if coding.codec and not coding.side:
        codec = sum(coding.codec.lumped(block.size, 1) for block in schedule.blocks)
    speedup = Fraction(count * alone) / iteration if iteration else None
    return Result(iteration, even - alone - codec, busy, codec, len(schedule.blocks) * (1 + schedule.split),
                  speedup, speedup / count if iteration else None, iteration - even)
