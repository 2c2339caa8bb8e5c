#!/usr/bin/env python3
"""Part of the peer: pipeline parallelism with data parallelism and collectives inside layers.

Written only from the contract. One worker stands for each rank of the pipeline. `pipeline_scenario.py` reads the
scenario, `pipeline_schedules.py` makes schedules, and `pipeline_programs.py` writes programs of several iterations with
their dependencies. This file replays programs; iterations that repeat are steady; three more replays tell where the
time goes. It covers alpha-beta on one and on two levels.

Units: time in picoseconds, sizes in bytes, tensors in elements. Ranks, chunks, layers and micro-batches count from 0.

    python3 pipelines.py --cases FILE [NAME...]    replays worked cases; with names it prints their timelines
"""

import argparse
import collections
import heapq
import itertools
import json
import shlex
import sys
from collections import namedtuple
from fractions import Fraction
from pathlib import Path

import coded
import pipeline_schedules
from pipeline_programs import Exchange, Program, Send, Tied, Transfer, written
from pipeline_scenario import Scenario
from pipeline_schedules import Refused, require
from reference import SECOND
from sharded import PARTS, occupied


# ---- replay ---------------------------------------------------------------------------------------------------------

class Replay:
    """Gives every item of a program its times. free: items that take no time ("reductions", "sends", "exchanges");
    "stragglers": no worker is slow."""

    def __init__(self, program, free=()):
        self.program, self.s, self.free = program, program.scenario, free
        ranks = range(self.s.ranks)
        sharing = {"serial": coded.Serial, "fair": coded.Fair}[self.s.options.get("sharing", "serial")]
        self.channels, self.in_flight = [sharing() for _ in ranks], [0 for _ in ranks]
        self.now, self.events, self.counter, self.admitted = 0, [], itertools.count(), 0
        self.next, self.running = [0 for _ in ranks], [None for _ in ranks]
        self.chains = [None for _ in ranks]  # in a pair: the steps that are left of each action
        self.issued, self.exchanging = [[] for _ in ranks], [False for _ in ranks]
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
        for item in self.program.items:
            if not item.missing:
                self.ready(item)
        while True:
            self.settle()
            while any([self.exchange(rank) for rank in range(self.s.ranks)]) or self.admit_everywhere():
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
        """Processes all that ends at this instant, and starts what can start and takes no time."""
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
        """Called when everything that an item depends on has happened."""
        if isinstance(item, Send):
            if item.lane:
                self.send_lanes[item.lane].append(item)
            else:
                self.start_for(item, 0 if "sends" in self.free else item.duration)
        elif isinstance(item, Exchange):
            if "exchanges" in self.free:
                item.start = self.now
                self.over(item)
            else:
                heapq.heappush(self.issued[item.rank], (self.now, item.side == "F", item.place, item))
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
        step = None if self.running[rank] else self.next_step(rank)
        if not step:
            return False
        self.running[rank], step.start = step, self.now
        time = step.computing + step.collectives
        if "exchanges" in self.free and not step.pair and step.name[0].isdigit():
            word, layer = step.name.split(".")
            kind = next(letter for letter in word if letter.isalpha())
            time -= sum(self.s.exchanges(kind, int(layer), rank))
        self.at(self.now + (time if "stragglers" in self.free else self.s.slowed(time, rank)), self.step_over, step)
        self.reached(step, "start")
        return True

    def next_step(self, rank):
        """The step that a free stream starts now, taken from the stream; None if there is none. In a pair, the backward
        action goes first."""
        stream, place = self.program.streams[rank], self.next[rank]
        if not self.chains[rank]:
            if place == len(stream):
                return None
            if not stream[place].pair:
                if stream[place].missing:
                    return None
                self.next[rank] += 1
                return stream[place]
            pair = list(itertools.takewhile(lambda step: step.pair == stream[place].pair, stream[place:]))
            self.chains[rank] = {side: collections.deque(step for step in pair if step.side == side) for side in "BF"}
            self.next[rank] += len(pair)
        for side in "BF":
            chain = self.chains[rank][side]
            if chain and not chain[0].missing:
                step = chain.popleft()
                if not any(self.chains[rank].values()):
                    self.chains[rank] = None
                return step
        return None

    def exchange(self, rank):
        """Starts the next token exchange of a rank, first issued first."""
        if self.exchanging[rank] or not self.issued[rank]:
            return False
        item = heapq.heappop(self.issued[rank])[-1]
        self.exchanging[rank], item.start = True, self.now
        self.at(self.now + item.duration, self.exchanged, item)
        return True

    def exchanged(self, item):
        self.exchanging[item.rank] = False
        self.over(item)

    def step_over(self, step):
        self.running[step.rank] = None
        self.over(step)

    def begin_send(self, lane):
        """Starts the next send of a pair of ranks, in the order of issue."""
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
        a, b = self.s.price(item.operation, item.group, item.rank)
        if len(self.s.groups(item.group, item.rank)[0]) == 1 or not item.size or "reductions" in self.free:
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
    """Returns a replayed program and two identical iterations of it, neither near its ends."""
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
    """Returns the bytes of a rank's parts that do not change during an iteration."""
    elements, fsdp = s.elements(s.of_rank(rank)), s.strategy == "fsdp2"
    held, gradient = (4, 4) if fsdp else (s.parameter, s.gradient)
    state = Fraction(s.options.get("state", 12 if held == 2 else 8))
    parts = dict.fromkeys(PARTS, Fraction(0))
    shared = s.shared(s.of_rank(rank))
    parts["parameters"] = Fraction(shared * held if fsdp else elements * held)
    parts["gradients"] = Fraction(elements * gradient, s.shards if s.stage == 2 else 1)
    parts["optimizer"] = shared * state
    return parts


def memory(found, rank, counted=PARTS):
    """Returns (bytes at the peak, bytes of each part at its own peak) of a rank."""
    program = found.program
    since, until = (program.firsts[place].start for place in (found.first, found.last))
    changes = []
    for holder, part, size, first, last in program.holdings:
        begins, ends = (getattr(item, edge) for item, edge in (first, last))
        if holder == rank and part in counted:
            changes += occupied(part, size, begins, ends, since, until)
    held, most, total, top = collections.Counter(), collections.Counter(), 0, 0
    for _, _, part, size in sorted(changes, key=lambda change: change[:2]):
        held[part] += size
        total += size
        most[part] = max(most[part], held[part])
        top = max(top, total)
    parts = constant_memory(program.scenario, rank)
    return sum(parts.values()) + top, {part: parts[part] + most[part] for part in PARTS}


# ---- results --------------------------------------------------------------------------------------------------------

def tasks(s, rank):
    """Returns (computing, collectives inside layers) of each of a rank's tasks, in ps; without token exchanges if these
    may overlap computing."""
    found = []
    for word in s.actions[rank]:
        for layer in s.chunks[word.chunk]:
            computing, inside = s.task(word.kind, layer, rank)
            found.append((computing, inside - sum(s.exchanges(word.kind, layer, rank)) if s.overlap else inside))
    return found


def updates(s, rank):
    whole = s.of_rank(rank)
    return [s.update_of([layer]) for layer in whole] if s.by_layer and not s.zero else [s.update_of(whole)]


def spent(s, rank):
    """Returns (computing, collectives inside layers, update) of a rank per iteration without slowdowns, in ps."""
    return sum(task[0] for task in tasks(s, rank)), sum(task[1] for task in tasks(s, rank)), sum(updates(s, rank))


def exchanged(s, rank):
    """Returns the time of a rank's token exchanges in an iteration."""
    return sum(time for word in s.actions[rank] for layer in s.chunks[word.chunk]
               for time in s.exchanges(word.kind, layer, rank))


def lower_bound(s):
    """Returns a lower bound of the iteration in ps for plans of the same kind."""
    def updating(rank):
        return sum(s.slowed(update, rank) for update in updates(s, rank))

    def passes(kind, chunks):
        return sum(s.slowed(s.long(kind, layer, s.homes[chunk]), s.homes[chunk]) for chunk in chunks
                   for layer in s.chunks[chunk])

    bounds = []
    for rank in range(s.ranks):
        work = sum(s.slowed(sum(task), rank) for task in tasks(s, rank))
        if s.overlap:
            bounds.append(exchanged(s, rank) + updating(rank))
        bounds.append(work + updating(rank))
        before = range(min(s.own[rank]))
        if not s.by_layer and not (s.split and s.barrier == "stage"):
            ahead = passes("F", before) + sum(s.send_time(chunk, chunk + 1) for chunk in before)
            behind = passes("B", before) + sum(s.send_time(chunk + 1, chunk) for chunk in before)
            bounds.append(ahead + work + (0 if s.split else behind) + updating(s.homes[0]))
    return bounds


def moved(program):
    """Returns, by rank, the time in ps that the bytes of reductions and gathers take per iteration."""
    s, totals = program.scenario, collections.Counter()
    for item in program.items:
        if isinstance(item, Transfer) and item.iteration == 1:
            totals[item.rank] += s.price(item.operation, item.group, item.rank)[1] * item.size
    return list(totals.values())


def time_in_flight(found):
    """Returns the time in ps of an iteration during which a reduction or a gather of any rank is in flight."""
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
    """Returns all that `allreplay run --json` prints for a pipeline, with the same keys; times in exact seconds."""
    s = Scenario(trace, cluster, words, files)
    require(s.ranks > 1, "pp")
    found, even, without, ideal = (steady(s, free) for free in (
        (), ("stragglers",), ("stragglers", "reductions"), ("stragglers", "reductions", "sends")))
    iteration, unslowed, bare, alone = map(period, (found, even, without, ideal))
    least = period(steady(s, ("stragglers", "reductions", "sends", "exchanges"))) if s.overlap else alone
    each = [spent(s, rank) for rank in range(s.ranks)]
    held = [memory(found, rank) for rank in range(s.ranks)]
    bare_held = [memory(found, rank, PARTS[:-1])[0] for rank in range(s.ranks)]
    forward, backward = (sum(getattr(layer, which) for layer in s.layers) for which in ("forward", "backward"))
    work = s.micro_batches * (forward + backward) + s.update
    bubbles = [least - sum(parts) for parts in each]

    def mean(values):
        return Fraction(sum(values)) / s.ranks

    times = {"iteration_s": iteration, "forward_s": forward, "backward_s": backward,
             "comm_busy_s": time_in_flight(found), "lower_bound_s": max(lower_bound(s) + moved(found.program)),
             "bubble_s": mean(bubbles), "straggler_s": iteration - unslowed, "exposed_dp_s": unslowed - bare, "exposed_p2p_s": bare - alone,
             "layer_comm_s": mean(parts[1] for parts in each) + alone - least, "update_s": mean(parts[2] for parts in each)}
    if s.experts > 1:
        times["exposed_ep_s"] = alone - least if s.overlap else mean(exchanged(s, rank) for rank in range(s.ranks))
    if s.tied:  # the contract does not say if the all-reduce of tied tensors counts
        del times["comm_busy_s"]
    times["exposed_comm_s"] = times["layer_comm_s"] + times["exposed_p2p_s"] + times["exposed_dp_s"]
    answers = {key: Fraction(value) / SECOND for key, value in times.items()}
    speedup = Fraction(s.workers, s.ranks) * work / iteration
    largest = max(range(s.ranks), key=lambda rank: (held[rank][0], -rank))
    widths = {len(own) for own in s.own}
    answers |= {"speedup": speedup, "efficiency": speedup / s.workers,
                "samples_per_s": Fraction(s.data * s.micro_batches * s.batch * SECOND) / iteration,
                "memory_bytes": held[largest][0], "memory": held[largest][1], "without_step": max(bare_held), "pp": s.ranks, "tp": s.tensors,
                "cp": s.contexts, "ep": s.experts, "dp": s.data, "micro_batches": s.micro_batches,
                "chunks": widths.pop() if len(widths) == 1 else None, "stages": []}
    for rank, (computing, collectives, update) in enumerate(each):
        answers["stages"].append({
            "chunks": [{"chunk": chunk, "first": s.chunks[chunk][0], "layers": len(s.chunks[chunk])}
                       for chunk in s.own[rank]],
            "compute_s": Fraction(computing, SECOND), "layer_comm_s": Fraction(collectives, SECOND),
            "update_s": Fraction(update, SECOND), "bubble_s": Fraction(bubbles[rank]) / SECOND,
            "memory_bytes": held[rank][0], "memory": held[rank][1], "without_step": bare_held[rank]})
    own = sorted((item for item in found.program.items
                  if isinstance(item, Transfer) and item.iteration == found.first),
                 key=lambda item: (item.start, item.sequence))
    return Result(answers, [item.name for item in own], timeline(found))


def timeline(found):
    """One line per item of a steady iteration: microseconds from rank 0's first task."""
    origin = found.program.firsts[found.first].start
    items = [item for item in found.program.items if item.iteration == found.first]
    return "\n".join(f"{(item.start - origin) / 10**6:12.6f} {(item.end - origin) / 10**6:12.6f}  rank {item.rank}: "
                     f"{type(item).__name__.lower()} {item.name}"
                     for item in sorted(items, key=lambda item: (item.start, item.end, item.rank)))


# ---- comparison -----------------------------------------------------------------------------------------------------

TIMES = ["iteration_s", "forward_s", "backward_s", "bubble_s", "straggler_s", "exposed_dp_s", "exposed_p2p_s", "layer_comm_s",
         "exposed_ep_s", "update_s", "exposed_comm_s", "comm_busy_s", "lower_bound_s"]
RATIOS = ["speedup", "efficiency", "samples_per_s"]
COUNTS = ["pp", "tp", "cp", "ep", "dp", "micro_batches", "chunks"]


def differences(given, result, relative=Fraction(1, 10**6), slack=0):
    """Lists the differences between answers and a result. Missing keys are not compared.

    Times may differ by `relative` times the iteration plus `slack` seconds (from rounding many tasks to picoseconds);
    bytes only by the rounding of doubles.
    """
    own, lines = result.answers, []
    allowed = own["iteration_s"] * relative + Fraction(slack)

    def compare(key, value, expected, tolerance):
        if value is None or abs(Fraction(value) - expected) > tolerance:
            lines.append(f"{key}: {value}, the peer says {float(expected)!r}")

    def compare_memory(key, row, expected):
        if "memory_bytes" in row:  # worked cases lack the memory of an update's step
            top = expected["memory_bytes" if "step" in row.get("memory", {}) else "without_step"]
            compare(f"{key}memory_bytes", row["memory_bytes"], top, top * Fraction(1, 10**12))
        for part, size in row.get("memory", {}).items():
            compare(f"{key}memory.{part}", size, expected["memory"][part],
                    expected["memory"][part] * Fraction(1, 10**12))

    for key in TIMES:
        if key in given and key in own:
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
    """True if one list is a rotation of the other: an iteration may begin anywhere."""
    return len(ours) == len(theirs) and any(ours[turn:] + ours[:turn] == theirs for turn in range(max(1, len(ours))))


def schedule_rows(command):
    """Returns the output of `allreplay schedule NAME ...`."""
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("name")
    for flag in ("--pp", "--micro-batches", "--chunks"):
        parser.add_argument(flag, type=int)
    given = parser.parse_args(shlex.split(command)[2:])
    return pipeline_schedules.write(
        pipeline_schedules.rows_of(given.name, given.pp, given.micro_batches, given.chunks))


def replay_case(case):
    """Returns (result or None, differences) of a worked case."""
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
