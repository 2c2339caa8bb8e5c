#!/usr/bin/env python3
"""Part of the peer: several jobs on one fabric, and clusters that change while they run.

Written only from the contract: there is one clock, every worker of every job runs its program again and again, and the
joint state is a tuple. It covers `fluid` and `message` on the topologies and collectives of fabric.py, plans of one
stage, and everything that files of `allreplay jobs` can contain.

Units: time in picoseconds, sizes in bytes, results in seconds.

    python3 jobs.py FILE [--place] [--stagger K] [--minimise worst|mean]      prints as `allreplay jobs --json`
    python3 jobs.py --cases FILE [NAME...]                                    replays worked cases
"""

import argparse
import heapq
import json
import math
import shlex
import sys
import tempfile
from collections import namedtuple
from fractions import Fraction
from pathlib import Path

import coded
import goodput
import reference
import sharded
from fabric import Collective, Fabric, Fluid, Messages, Topology, Transfer, nearest, rate
from goodput import Random, exponential
from reference import SECOND, rounded


class Refused(Exception):
    """Bad input; the text is the word that the program's message has to name."""


def instant(text):
    return rounded(coded.duration(text))


# ---- jobs -----------------------------------------------------------------------------------------------------------

Profile = namedtuple("Profile", "layers batch update")  # layers: reference.Layer; batch: or None


def read_profile(path, ratio=None):
    if path.suffix == ".csv":
        return Profile(reference.read_csv(path, ratio), None, 0)
    trace = json.loads(path.read_text(encoding="utf-8"))
    element = sharded.ELEMENT[trace["precision"]]
    layers = [reference.Layer(layer.name, layer.forward, layer.backward,
                              [(f"{layer.name}.{place}", size * element) for place, size in enumerate(layer.tensors)])
              for layer in sharded.read_layers(trace)]
    update = rounded(sharded.exact(trace.get("update", 0)) * coded.UNITS[trace["unit"]])
    return Profile(layers, trace.get("batch_size"), update)


def computing(profile):
    """t_f + t_b."""
    return reference.forward_time(profile.layers) + reference.backward_time(profile.layers)


def shared_out(total, weights):
    """Returns integer samples by rank: all rounded down, then one more each for the largest fractions."""
    quotas = [total * weight / sum(weights) for weight in weights]
    floors = [math.floor(quota) for quota in quotas]
    order = sorted(range(len(quotas)), key=lambda rank: (-round((quotas[rank] - floors[rank]) * 10**9), rank))
    for rank in order[:total - sum(floors)]:
        floors[rank] += 1
    return floors


def batches(document, own, profiles):
    """Returns each rank's samples in a micro-batch, or None if all batches are the profiles'. profiles: by rank."""
    if not {"classes", "balance", "batch"} & document.keys():
        return None
    if any(profile.batch is None for profile in profiles):
        raise Refused("batch_size")
    given = [one.get("batch") for one in document.get("classes", []) for _ in range(one["workers"])]
    if any(batch is not None for batch in given):
        if "batch" in document or "balance" in document:
            raise Refused("batch")
        return [profile.batch if batch is None else batch for batch, profile in zip(given, profiles)]
    total = document.get("batch", document["workers"] * own.batch)
    if document.get("balance", "even") == "even":
        weights = [Fraction(1)] * len(profiles)
    else:
        weights = [Fraction(profile.batch, computing(profile)) for profile in profiles]
    shares = shared_out(total, weights)
    if 0 in shares:
        raise Refused("sample")
    return shares


def same_model(one, other):
    return [(layer.name, layer.tensors) for layer in one.layers] == [(layer.name, layer.tensors)
                                                                     for layer in other.layers]


# order: first-ready, listed or priority. blocks: coded.Block. by_layer: the barrier is the layer's.
Plan = namedtuple("Plan", "blocks order window by_layer after_backward")


class Job:
    """A job of the file: its seats, the program of each of its workers, and its blocks."""

    def __init__(self, place, document, cluster, folder, topology):
        network = cluster["network"]
        self.place, self.document, self.count = place, document, document["workers"]
        self.name = document.get("name", f"job{place + 1}")
        strategy = document.get("strategy", "wfbp")
        self.strategy = {"name": strategy} if isinstance(strategy, str) else strategy
        self.options = {**network.get("options", {}), **self.strategy}
        self.micro_batches = int(self.options.get("accumulate", 1))
        ratio = document.get("forward_ratio")
        self.own = read_profile(folder / document["profile"], ratio)
        self.profiles = [self.own] * self.count
        if "classes" in document:
            self.profiles = [read_profile(folder / one["profile"], ratio) if "profile" in one else self.own
                             for one in document["classes"] for _ in range(one["workers"])]
            if len(self.profiles) != self.count:
                raise Refused("classes")
            if not all(same_model(self.own, profile) for profile in self.profiles):
                raise Refused("l")
        self.batches = batches(document, self.own, self.profiles)
        self.start, self.iterations = instant(document.get("start", "0 s")), document.get("iterations")
        self.topology, self.network, self.cluster = topology, network, cluster
        self.collective_name = document.get("collective", network.get("collective", "ring"))

    def sit(self, seats):
        """Sets the seats, by rank."""
        self.seats = seats
        topology, network = self.topology, self.network
        nodes, hosts = [topology.seats[seat] for seat in seats], [topology.host_of[seat] for seat in seats]
        outer = coded.duration(network["alpha"])
        inner = coded.duration(network["node"]["alpha"]) if "node" in network else outer
        self.collective = Collective(self.collective_name, nodes, hosts, (inner, outer),
                                     sharded.per_byte(network.get("gamma", "0 s/B")), topology.rails(),
                                     topology.two_levels)
        self.slowdowns = [Fraction(1)] * self.count
        for row in self.document.get("stragglers", []):
            self.slowdowns[row["worker"]] *= sharded.exact(row["slowdown"])
        for row in self.cluster.get("stragglers", []):
            if row["worker"] in seats:
                self.slowdowns[seats.index(row["worker"])] *= sharded.exact(row["slowdown"])
        self.layers = [self.scaled(rank) for rank in range(self.count)]
        self.plan = self.planned()

    def scaled(self, rank):
        """Returns the layers of a rank, with times scaled by its share of the batch and its slowdown."""
        layers = self.profiles[rank].layers
        if self.batches:
            layers = reference.slowed(layers, Fraction(self.batches[rank], self.profiles[rank].batch))
        return reference.slowed(layers, self.slowdowns[rank])

    def planned(self):
        """Makes the plan, on the undisturbed cluster."""
        name, layers = self.strategy["name"], self.own.layers
        if name in ("p3", "bytescheduler"):
            size = sharded.size_of(self.options.get("partition", sharded.DEFAULTS[name]["partition"]))
            blocks = coded.partitions(layers, int(size)).blocks
            window = 1 if name == "p3" else int(self.options.get("credit", 4))
            return Plan(blocks, "priority", window, self.options.get("barrier", "layer") == "layer", False)
        fabric = Fabric(self.topology)

        class Cost:
            def __call__(_, size):
                return self.collective.price(fabric, size)[0]

            def duration(cost, size):
                return rounded(cost(size))

        tensors = reference.backward_order(layers)
        ready = reference.ready_times(reference.slowed(layers, max(self.slowdowns)), tensors)
        caps = {key: int(sharded.size_of(self.options[key])) for key in ("bucket_cap", "first_bucket")
                if key in self.options}
        plan = coded.scheduled(reference.STRATEGIES[name](tensors, ready, Cost(), **caps), tensors)
        return Plan(plan.blocks, "listed" if name == "ddp" else "first-ready", 1,
                    self.options.get("barrier") == "layer", plan.after_backward)

    def hosts(self):
        return [self.topology.names[self.topology.seats[seat]] for seat in self.seats]

    def compute_time(self):
        """The computation time of the slowest class, without slowdowns."""
        times = []
        for rank, profile in enumerate(self.profiles):
            part = Fraction(self.batches[rank], profile.batch) if self.batches else 1
            passes = computing(Profile(reference.slowed(profile.layers, part), None, 0))
            times.append(self.micro_batches * passes + profile.update)
        return max(times)

    def samples(self):
        """Samples of an iteration, or None."""
        if self.batches:
            return self.micro_batches * sum(self.batches)
        return None if self.own.batch is None else self.micro_batches * self.count * self.own.batch


# ---- seats ----------------------------------------------------------------------------------------------------------

def seated(jobs, placements, topology):
    """Seats each job. placements: by job."""
    free = set(range(len(topology.seats)))
    lists_first = sorted(jobs, key=lambda job: (not isinstance(placements[job.place], list), job.place))
    for job in lists_first:
        order = order_of_seats(placements[job.place], job, free, topology)
        if len(order) < job.count:
            raise Refused("seats")
        taken = order[:job.count]
        whole = {topology.host_of[seat] for seat in taken} if topology.two_levels else set()
        free -= {*taken, *(seat for seat in free if topology.host_of[seat] in whole)}
        job.sit(taken)


def order_of_seats(placement, job, free, topology):
    """Returns the free seats in the order of a job's placement; on two levels only whole nodes."""
    on = {}
    for seat in sorted(free):
        on.setdefault(topology.host_of[seat], []).append(seat)
    if isinstance(placement, list):
        hosts = [topology.number.get(name) for name in placement]
        if any(host not in on for host in hosts):
            raise Refused(next(name for name, host in zip(placement, hosts) if host not in on))
        return [seat for host in hosts for seat in on[host]]
    if placement == "packed":
        return sorted(free)
    if placement == "spread":
        if topology.two_levels:
            raise Refused("spread")
        return [seat for seat in topology.spread if seat in free]
    random = Random(int(placement.removeprefix("random:")), job.place)
    units = [on[host] for host in sorted(on)] if topology.two_levels else [[seat] for seat in sorted(free)]
    for last in range(len(units) - 1, 0, -1):
        other = random.below(last + 1)
        units[last], units[other] = units[other], units[last]
    return [seat for unit in units for seat in unit]


# ---- one worker -----------------------------------------------------------------------------------------------------

# kind: F, B or U. batch: its micro-batch, from 0; the F after the last B is the first of the next iteration.
Work = namedtuple("Work", "kind layer duration batch", defaults=(0,))


class Worker:
    """Runs the program of a job's rank: a forward pass, then programs 1, 2, …"""

    def __init__(self, run, rank):
        self.run, self.rank, self.program, self.place = run, rank, 0, 0
        job, layers = run.job, run.job.layers[rank]
        forwards = [Work("F", index, layer.forward) for index, layer in enumerate(layers)]
        update = rounded(job.profiles[rank].update * job.slowdowns[rank])
        whole = sum(size for layer in layers for _, size in layer.tensors)
        after = [Work("U", None, update)] if update and not job.plan.by_layer else []
        for index, layer in enumerate(layers):
            size = sum(size for _, size in layer.tensors)
            if update and job.plan.by_layer and size:
                after.append(Work("U", index, rounded(Fraction(job.profiles[rank].update * size, whole)
                                                      * job.slowdowns[rank])))
            after.append(forwards[index])
        self.head = forwards
        backwards = [Work("B", index, layer.backward) for index, layer in reversed(list(enumerate(layers)))]
        self.works = backwards
        for batch in range(1, job.micro_batches):
            self.works = self.works + [work._replace(batch=batch) for work in forwards + backwards]
        self.works = self.works + after
        self.current, self.left, self.since, self.end, self.factor = None, None, None, None, Fraction(1)

    def over(self):
        return self.run.job.iterations is not None and self.program > self.run.job.iterations

    def gate(self, work, place):
        """True if the blocks that a work waits for have arrived."""
        run, plan = self.run, self.run.job.plan
        if self.program == 0 or work.kind == "B" or work.batch > 0:  # further micro-batches have the parameters
            return True
        if plan.by_layer:
            return all((self.program, block) in run.done for block in run.of_layer.get(work.layer, []))
        return len(self.works) - place > len(self.head) + 1 or all(
            (self.program, block) in run.done for block in range(len(plan.blocks)))

    def step(self, now):
        """Ends and begins works at this instant. Returns True if any did."""
        changed = False
        while True:
            if self.current is not None:
                if self.end is None or self.end > now:
                    return changed
                work, self.current = self.current, None
                self.run.ended(self, work, now)
                changed = True
            program = self.works if self.program else self.head
            if self.place == len(program):
                self.run.passed(self.program, now)
                self.program, self.place, changed = self.program + 1, 0, True
                program = self.works
            if self.over() or not self.gate(program[self.place], self.place):
                return changed
            self.current, self.left, self.since = program[self.place], Fraction(program[self.place].duration), now
            self.place += 1
            self.foresee()

    def foresee(self):
        """Sets when the current work ends at the present factor (None: the worker is stalled)."""
        if self.left == 0:
            self.end = self.since
        else:
            self.end = None if self.factor is None else self.since + nearest(self.left * self.factor)

    def slow(self, now, factor):
        if factor == self.factor:
            return
        if self.current is not None:
            if self.factor is not None:
                self.left -= Fraction(now - self.since) / self.factor
            self.since = now
        self.factor = factor
        if self.current is not None:
            self.foresee()

    def state(self, now, base):
        left = None
        if self.current is not None:
            left = nearest(self.left - (Fraction(now - self.since) / self.factor if self.factor else 0))
        return self.program - base, self.place, left


class Run:
    """The state of a running job."""

    def __init__(self, job, network):
        self.job, self.network, self.begun = job, network, False
        self.begins, self.passes = {}, {}  # S(i); how many workers ended a program
        self.ready_of, self.waiting, self.flying, self.done, self.next = {}, [], 0, set(), 0
        self.of_layer = {}
        for index, block in enumerate(job.plan.blocks):
            for layer in block.layers:
                self.of_layer.setdefault(layer, []).append(index)
        self.made = {}  # the blocks that are ready once B of a layer ended
        for index, block in enumerate(job.plan.blocks):
            self.made.setdefault(0 if job.plan.after_backward else min(block.layers), []).append(index)
        self.workers = [Worker(self, rank) for rank in range(job.count)]

    def ended(self, worker, work, now):
        if work.kind != "B" or work.batch + 1 < self.job.micro_batches:  # only the last one's gradients are sent
            return
        for block in self.made.get(work.layer, []):
            key = (worker.program, block)
            self.ready_of[key] = self.ready_of.get(key, 0) + 1
            if self.ready_of[key] == self.job.count:
                del self.ready_of[key]
                order = {"first-ready": (worker.program, now, block), "listed": (worker.program, block),
                         "priority": (worker.program, self.job.plan.blocks[block].priority, block)}
                heapq.heappush(self.waiting, (order[self.job.plan.order], key))

    def passed(self, program, now):
        self.passes[program] = self.passes.get(program, 0) + 1
        if self.passes[program] == self.job.count:
            self.begins[program + 1] = now
            self.done = {key for key in self.done if key[0] > program}

    def step(self, now):
        if now < self.job.start:
            return False
        return any([worker.step(now) for worker in self.workers])

    def admit(self, now):
        """Starts one block if possible."""
        if not self.waiting or self.flying >= self.job.plan.window:
            return False
        key = self.waiting[0][1]
        if self.job.plan.order == "listed" and key[1] != self.next:
            return False
        heapq.heappop(self.waiting)
        self.next = (key[1] + 1) % len(self.job.plan.blocks)
        if self.job.count == 1:
            self.done.add(key)
        else:
            self.flying += 1
            self.network.start(now, Transfer(self.job.place, key, self.job.collective,
                                             self.job.plan.blocks[key[1]].size))
        return True

    def arrived(self, transfer):
        self.flying -= 1
        self.done.add(transfer.name)

    def next_instant(self, now):
        if now is None or now < self.job.start:
            return self.job.start
        return min((worker.end for worker in self.workers if worker.current is not None and worker.end is not None),
                   default=math.inf)

    def state(self, now):
        base = max(self.begins, default=0)
        waiting = tuple((key[0] - base, key[1]) for _, key in sorted(self.waiting))
        following = self.next if self.job.plan.order == "listed" else None
        return (tuple(worker.state(now, base) for worker in self.workers), waiting, following,
                tuple(sorted((key[0] - base, key[1]) for key in self.done)),
                tuple(sorted((key[0] - base, key[1], count) for key, count in self.ready_of.items())))

    def over(self):
        return self.job.iterations is not None and self.job.iterations + 1 in self.begins


# ---- events and background ------------------------------------------------------------------------------------------

class Event:
    def __init__(self, document, jobs, topology):
        self.at = instant(document["at"])
        length = document.get("for", document.get("stall"))
        self.until = math.inf if length is None else self.at + instant(length)
        self.document, self.links, self.ranks = document, [], []
        if "link" in document:
            self.links = links_between(topology, document["link"])
        elif "node" in document and topology.number[document["node"]] >= topology.hosts:
            node = topology.number[document["node"]]
            self.links = sorted({way // 2 for way in topology.at[node]})
        elif "node" in document:
            host = topology.number[document["node"]]
            self.ranks = [(job.place, rank) for job in jobs for rank, seat in enumerate(job.seats)
                          if topology.host_of[seat] == host]
        else:
            job = next(job for job in jobs if job.name == document["job"])
            self.ranks = [(job.place, document["worker"])]

    def in_force(self, now):
        return self.at <= now < self.until


def links_between(topology, names):
    ends = [topology.number.get(name) for name in names]
    if tuple(ends) not in topology.way:
        raise Refused("link")
    return [topology.way[tuple(ends)] // 2]


class Background:
    def __init__(self, place, document, topology):
        self.place, self.topology, self.rate = place, topology, rate(document["rate"])
        self.start, self.switches, self.document = instant(document.get("start", "0 s")), "on" in document, document
        self.is_on, self.next = False, self.start
        if self.switches:
            self.means = [coded.duration(document["on"]), coded.duration(document["off"])]
            self.random = Random(document["seed"], place) if "seed" in document else None

    def length(self):
        mean = float(self.means[0 if self.is_on else 1])
        return max(1, nearest(exponential(self.random, mean) if self.random else mean))

    def turn(self, now):
        """Switches on or off if it is due at this instant."""
        while self.next <= now:
            self.is_on = not self.is_on
            self.next = self.next + self.length() if self.switches else math.inf

    def flow(self, fabric):
        if not self.is_on:
            return None
        if "link" in self.document:
            way = self.topology.way[tuple(self.topology.number[name] for name in self.document["link"])]
            return None if way // 2 in fabric.down else ([way], self.rate)
        ways = fabric.route(*(self.topology.number[self.document[key]] for key in ("from", "to")))
        if ways is None:
            raise Refused("background")
        return ways, self.rate


# ---- the clock ------------------------------------------------------------------------------------------------------

Measured = namedtuple("Measured", "times since until met")  # met: {(way, other job): ps}


class Clock:
    """One run of seated jobs."""

    def __init__(self, jobs, topology, fidelity, warm_up, iterations, events=(), background=()):
        self.topology, self.fabric = topology, Fabric(topology)
        self.network = {"fluid": Fluid, "message": Messages}[fidelity](self.fabric)
        self.runs = [Run(job, self.network) for job in jobs]
        self.events = [Event(document, jobs, topology) for document in events]
        self.background = [Background(place, document, topology) for place, document in enumerate(background)]
        self.warm_up, self.iterations = warm_up, iterations
        self.endless = all(job.iterations is None for job in jobs)
        still = not self.events and not any(one.switches for one in self.background)
        self.seen = {} if self.endless and still else None
        self.now, self.repeat = None, None

    def changes(self):
        """The future instants at which events or background change something."""
        now = -1 if self.now is None else self.now
        times = [time for event in self.events for time in (event.at, event.until) if time > now]
        return times + [one.next for one in self.background]

    def run(self):
        while not self.over():
            moments = [run.next_instant(self.now) for run in self.runs] + [self.network.next()] + self.changes()
            now = min(moments)
            if now == math.inf:
                raise AssertionError("nothing is left to happen")
            self.network.advance(now)
            self.now = now
            self.settle()
            self.change()
            while any([run.admit(now) for run in self.runs]):
                self.settle()
            self.network.settle(now)
            self.look()
        return self

    def settle(self):
        """Processes all that ends now."""
        changed = True
        while changed:
            changed = False
            for transfer in self.network.finish(self.now):
                self.run_of(transfer.owner).arrived(transfer)
                changed = True
            changed = any([run.step(self.now) for run in self.runs]) or changed

    def run_of(self, place):
        return next(run for run in self.runs if run.job.place == place)

    def change(self):
        affected = {one for one in self.background if one.next <= self.now}
        for one in self.background:
            one.turn(self.now)
        if self.now in [time for event in self.events for time in (event.at, event.until)]:
            self.take_effect()
            affected = self.background
        for one in affected:
            self.network.switch(one.place, one.flow(self.fabric))

    def take_effect(self):
        links = len(self.topology.links)
        factors, rates, down = [Fraction(1)] * links, [[] for _ in range(links)], set()
        slow = {}
        for event in self.events:
            if not event.in_force(self.now):
                continue
            document = event.document
            for link in event.links:
                text = document.get("bandwidth")
                if document.get("down"):
                    down.add(link)
                elif text.startswith("x"):
                    factors[link] *= Fraction(text[1:])
                else:
                    rates[link].append(rate(text))
            for who in event.ranks:
                factor = None if "stall" in document else Fraction(float(document["slowdown"]))
                before = slow.get(who, Fraction(1))
                slow[who] = None if before is None or factor is None else before * factor
        state = self.fabric.state
        self.fabric.set(factors, rates, frozenset(down))
        for run in self.runs:
            for worker in run.workers:
                worker.slow(self.now, slow.get((run.job.place, worker.rank), Fraction(1)))
        if self.fabric.state != state:
            self.check_routes()
            self.network.reroute(self.now)

    def check_routes(self):
        for run in self.runs:
            nodes = run.job.collective.nodes
            if not run.over() and any(self.fabric.route(one, other) is None for one in nodes for other in nodes
                                      if one != other):
                raise Refused("event")

    def look(self):
        """Called when the first job begins an iteration: checks if the joint state occurred before."""
        first = self.runs[0]
        if self.seen is None or first.begins.get(max(first.begins, default=0)) != self.now or \
                any(1 not in run.begins for run in self.runs):
            return
        flights = []
        bases = {run.job.place: max(run.begins) for run in self.runs}
        for owner, name, *rest in self.network.state(self.now):
            flights.append((owner, (name[0] - bases[owner], name[1]), *rest))
        coming = tuple(one.next - self.now for one in self.background if one.next < math.inf)  # background yet to begin
        state = tuple(run.state(self.now) for run in self.runs), tuple(sorted(flights, key=repr)), coming
        if state in self.seen:
            self.repeat = self.seen[state], self.now
        else:
            self.seen[state] = self.now

    def window(self, run):
        """The first measured iteration of an endless job, or None if it is not known yet."""
        warm = [other.begins.get(self.warm_up + 1) for other in self.runs]
        if None in warm:
            return None
        return next((index for index, time in sorted(run.begins.items()) if time >= max(warm)), None)

    def over(self):
        if self.repeat:
            return True
        if not self.endless:
            return all(run.over() for run in self.runs if run.job.iterations is not None)
        firsts = [self.window(run) for run in self.runs]
        return all(first is not None and first + self.iterations in run.begins
                   for first, run in zip(firsts, self.runs))

    # ---- what is measured ----

    def measured(self, run):
        if self.repeat:
            since, until = self.repeat
            inside = [time for _, time in sorted(run.begins.items()) if since <= time < until]
            ends = inside[1:] + [inside[0] + until - since]
            times = [end - begin for begin, end in zip(inside, ends)]
            return Measured(times, since, until, self.met(run, since, until))
        if self.endless:
            first = self.window(run)
            last = first + self.iterations
        else:
            first, last = 1, (run.job.iterations or max(run.begins, default=1) - 1) + 1
        times = [run.begins[index + 1] - run.begins[index] for index in range(first, last)]
        if not times:
            return Measured([], None, None, {})
        since, until = run.begins[first], run.begins[last]
        return Measured(times, since, until, self.met(run, since, until))

    def met(self, run, since, until):
        total = {}
        for begin, end, way, jobs in self.network.met:
            both = min(end, until) - max(begin, since)
            if run.job.place in jobs and both > 0:
                for other in jobs - {run.job.place}:
                    total[way, other] = total.get((way, other), 0) + both
        return total


# ---- results --------------------------------------------------------------------------------------------------------

class Experiment:
    """A file, its cluster and its jobs."""

    def __init__(self, path):
        self.document, folder = json.loads(path.read_text(encoding="utf-8")), path.parent
        self.cluster = self.document["cluster"]
        if isinstance(self.cluster, str):
            self.cluster = json.loads((folder / self.cluster).read_text(encoding="utf-8"))
        self.fidelity = self.document.get("fidelity", self.cluster["network"].get("fidelity", "alpha-beta"))
        if self.fidelity == "alpha-beta":
            raise Refused("alpha-beta")
        if "placement" in self.cluster or "placement" in self.cluster["network"]:
            raise Refused("placement")
        self.topology = Topology(self.cluster["network"], self.cluster.get("workers"))
        self.jobs = [Job(place, document, self.cluster, folder, self.topology)
                     for place, document in enumerate(self.document["jobs"])]
        if len({job.name for job in self.jobs}) < len(self.jobs):
            raise Refused("name")
        self.alone = {}

    def choices(self, job):
        own = job.document.get("placement", "packed")
        return job.document.get("placements", [own])

    def first_choices(self, searching=False):
        if searching:
            return [self.choices(job)[0] for job in self.jobs]
        return [job.document.get("placement", self.choices(job)[0]) for job in self.jobs]

    def clock(self, jobs, **changes):
        return Clock(jobs, self.topology, self.fidelity, self.document.get("warm_up", 5),
                     self.document.get("iterations", 50), **changes).run()

    def mean_alone(self, job):
        """The mean iteration time of a job in isolation on its seats."""
        key = job.place, tuple(job.seats)
        if key not in self.alone:
            clock = self.clock([job])
            self.alone[key] = mean(clock.measured(clock.runs[0]).times)
        return self.alone[key]

    def simulate(self, placements=None, offsets=None):
        """Returns all that `allreplay jobs --json --each` prints, except `events` and `wall_s`."""
        seated(self.jobs, placements or self.first_choices(), self.topology)
        starts = [job.start for job in self.jobs]
        for job, offset in zip(self.jobs, offsets or []):
            job.start += offset
        try:
            clock = self.clock(self.jobs, events=self.document.get("events", []),
                               background=self.document.get("background", []))
        finally:
            for job, start in zip(self.jobs, starts):
                job.start = start
        rows = [self.row(clock, run, (offsets or [0] * len(starts))[run.job.place]) for run in clock.runs]
        slow = [row["slowdown"] for row in rows if row["slowdown"] is not None]
        ends = [run.begins[run.job.iterations + 1] for run in clock.runs if run.job.iterations is not None]
        period = clock.repeat and clock.repeat[1] - clock.repeat[0]
        inverse = [1 / one for one in slow]
        return {"fidelity": self.fidelity, "steady": bool(clock.repeat), "period_s": in_seconds(period),
                "makespan_s": in_seconds(max(ends)) if ends else None,
                "fairness": sum(inverse)**2 / (len(slow) * sum(one**2 for one in inverse)) if slow else None,
                "jobs": rows}

    def row(self, clock, run, offset):
        job, measured = run.job, clock.measured(run)
        times, alone, compute = measured.times, self.mean_alone(job), job.compute_time()
        average, order = mean(times), sorted(times)
        length = measured.until - measured.since if times else 0
        met = sorted(((-both / length, way, other) for (way, other), both in measured.met.items()))
        row = {"name": job.name, "strategy": job.strategy["name"], "workers": job.count, "hosts": job.hosts(),
               "iterations": len(times), "alone_s": in_seconds(alone), "iteration_s": in_seconds(average),
               "p50_s": in_seconds(quantile(order, 50)), "p99_s": in_seconds(quantile(order, 99)),
               "least_s": in_seconds(min(times, default=None)), "most_s": in_seconds(max(times, default=None)),
               "slowdown": None if average is None else float(average / alone),
               "exposed_comm_s": None if average is None else in_seconds(average - compute),
               "exposed_alone_s": in_seconds(alone - compute),
               "samples_per_s": None if average is None or job.samples() is None else
               float(job.samples() * SECOND / average),
               "start_s": in_seconds(job.start + offset),
               "end_s": in_seconds(run.begins[job.iterations + 1]) if job.iterations is not None else None,
               "lost_s": None if clock.repeat or average is None else in_seconds(sum(times) - len(times) * alone),
               "contention": [{"link": self.topology.name_of_way(way), "with": self.jobs[other].name, "share": -share}
                              for share, way, other in met],
               "each_s": [in_seconds(time) for time in times]}
        if job.batches:
            row["batches"] = job.batches
        if "reliability" in job.document and average is not None:
            reliability = goodput.read(job.document["reliability"])
            nodes = len({self.topology.host_of[seat] for seat in job.seats})
            row["goodput"] = goodput.goodput(reliability, nodes, float(average) / SECOND, row["samples_per_s"])
        return row

    # ---- searching ----

    def search(self, place=False, stagger=None, minimise="worst"):
        """Returns the result of the best seats and offsets by coordinate descent."""
        placements, offsets = self.first_choices(place), [0] * len(self.jobs)
        result = self.simulate(placements, offsets)
        before = worst_and_mean(result)
        tried = []
        if place:
            tried.append((placements, [self.choices(job) for job in self.jobs]))
        if stagger is not None:
            tried.append((offsets, None))
        for values, choices in tried:
            if choices is None:
                seated(self.jobs, placements, self.topology)
                choices = [[0]] + [[nearest(Fraction(turn) * nearest(self.mean_alone(job)) / stagger)
                                    for turn in range(stagger)] for job in self.jobs[1:]]
            for _ in range(5):
                if not self.one_pass(values, choices, placements, offsets, minimise):
                    break
        result = self.simulate(placements, offsets)
        for row, placement, offset in zip(result["jobs"], placements, offsets):
            row["offset_s"], row["placement"] = in_seconds(offset), placement
        return result | {"before": before, "search": worst_and_mean(result)}

    def one_pass(self, values, choices, placements, offsets, minimise):
        """Tries all choices of each job in turn. Returns True if any changed. `values`: `placements` or `offsets`."""
        changed = False
        for job, own in enumerate(choices):
            if len(own) < 2:
                continue
            held, found = values[job], None
            for choice in own:
                values[job] = choice
                try:
                    value = score(self.simulate(placements, offsets), minimise)
                except Refused:
                    continue
                if found is None or better(value, found[0]):
                    found = value, choice
            values[job] = found[1]
            changed = changed or values[job] != held
        return changed


def worst_and_mean(result):
    slow = [row["slowdown"] for row in result["jobs"] if row["slowdown"] is not None]
    return {"worst": max(slow), "mean": sum(slow) / len(slow)}


def score(result, minimise):
    both = worst_and_mean(result)
    return (both["worst"], both["mean"]) if minimise == "worst" else (both["mean"], both["worst"])


def better(one, other):
    for mine, theirs in zip(one, other):
        if abs(mine - theirs) > 1e-12 * abs(theirs):
            return mine < theirs
    return False


def mean(times):
    return Fraction(sum(times), len(times)) if times else None


def quantile(order, percent):
    return order[-(-len(order) * percent // 100) - 1] if order else None


def in_seconds(time):
    return None if time is None else float(Fraction(time) / SECOND)


# ---- comparison -----------------------------------------------------------------------------------------------------

def differences(given, own, where="", relative=1e-9):
    """Lists the differences between an answer, or a part of one, and the peer's. Times to 1e-9, shares to 1e-6."""
    if isinstance(given, dict) and isinstance(own, dict):
        return [line for key in given if key not in ("events", "wall_s", "cluster", "evaluations")
                for line in ([f"{where}/{key}: the peer has none"] if key not in own and given[key] is not None else
                             differences(given[key], own.get(key), f"{where}/{key}", relative))]
    if where.endswith("/contention"):
        shares = [{(row["link"], row["with"]): row["share"] for row in rows} for rows in (given, own)]
        return [f"{where}/{key}: {shares[0].get(key)}, the peer says {shares[1].get(key)}"
                for key in sorted(shares[0].keys() | shares[1].keys())
                if abs(shares[0].get(key, 0) - shares[1].get(key, 0)) > 1e-6 + 1e-4 * (len(given) < len(own))]
    if isinstance(given, list) and isinstance(own, list):
        if len(given) != len(own):
            return [f"{where}: {len(given)} of them, the peer has {len(own)}"]
        return [line for place, (one, other) in enumerate(zip(given, own))
                for line in differences(one, other, f"{where}/{place}", relative)]
    if isinstance(given, float) or isinstance(own, float):
        # Differences of two times of tens of milliseconds are as accurate as these are.
        slack = 1e-10 if where.rsplit("/", 1)[-1] in ("exposed_comm_s", "exposed_alone_s", "lost_s") else 1e-15
        if given is None or own is None or abs(given - own) > relative * abs(own) + slack:
            return [f"{where}: {given!r}, the peer says {own!r}"]
        return []
    return [] if given == own else [f"{where}: {given!r}, the peer says {own!r}"]


def read_command(words):
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("file", type=Path)
    for flag in ("--json", "--each", "--place"):
        parser.add_argument(flag, action="store_true")
    parser.add_argument("--stagger", nargs="?", type=int, const=8)
    parser.add_argument("--minimise", choices=["worst", "mean"], default="worst")
    return parser.parse_args(words)


def answer(words, folder=Path()):
    """Returns the output of `allreplay jobs` with these arguments."""
    asked = read_command(words)
    experiment = Experiment(folder / asked.file)
    if asked.place or asked.stagger is not None:
        return experiment.search(asked.place, asked.stagger, asked.minimise)
    return experiment.simulate()


def replay_case(case):
    """Returns the differences of a worked case."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, content in case["files"].items():
            (folder / file).write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        try:
            own = answer(shlex.split(case["command"])[2:], folder)
        except Refused as refused:
            word = case["answers"].get("refused")
            return [] if word == str(refused) else [f"refused: {refused}"]
    if "refused" in case["answers"]:
        return ["not refused"]
    for given, row in zip(case["answers"]["jobs"], own["jobs"]):
        row["each_s"] = row["each_s"][:len(given["each_s"])]
        row["contention"] = [one for one in row["contention"] if one["share"] > 1e-4]
    return differences(case["answers"], own)


def main():
    if "--cases" not in sys.argv:
        json.dump(answer(sys.argv[1:]), sys.stdout, indent=1)
        return 0
    failed = 0
    for case in json.loads(Path(sys.argv[2]).read_text(encoding="utf-8")):
        if not sys.argv[3:] or case["name"] in sys.argv[3:]:
            lines = replay_case(case)
            failed += bool(lines)
            print(f"{case['name']}: {'; '.join(lines) or 'agrees'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
