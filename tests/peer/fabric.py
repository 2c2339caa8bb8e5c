"""Part of the peer: fabrics whose links change and are shared, and the times of collectives on them.

Written only from the contract, in the plainest way: a route is looked up link by link, a round is a list of messages,
rates are computed anew by progressive filling at every instant, and `fluid` looks ahead by simulating ahead.

Units: time in picoseconds, sizes in bytes, bandwidths in bytes per second. Each link has two ways: 2i is link i in the
listed direction, 2i + 1 the other direction. Prices are fractions, bytes in flight doubles.
"""

import heapq
import math
import re
from collections import namedtuple
from fractions import Fraction

import coded
from reference import SECOND

RATES = {"bit/s": Fraction(1, 8), "B/s": Fraction(1)}
PREFIXES = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}


def rate(text):
    """Parses "10 Gbit/s" into bytes per second."""
    number, prefix, unit = re.fullmatch(r"([+.\deE]+) ?([kMGT]?)(bit/s|B/s)", text).groups()
    return Fraction(number) * PREFIXES[prefix] * RATES[unit]


def nearest(time):
    """Rounds a double or a fraction to a whole picosecond, halves up; a double within rounding noise of a half counts
    as a half."""
    return math.floor(time + (Fraction(1, 2) if isinstance(time, Fraction) else 0.5 + 1e-7))


# ---- topologies -----------------------------------------------------------------------------------------------------

Link = namedtuple("Link", "ends latency bandwidth")  # ends: two nodes


class Topology:
    """Nodes (hosts first), links, seats and paths."""

    def __init__(self, network, workers):
        description = network.get("topology")
        self.network, self.names, self.links, self.gpus = network, [], [], 1
        self.two_levels = "node" in network or (description or {}).get("kind") == "rail"
        if description is None:
            node = network["node"]
            description = {"kind": "rail", "gpus_per_host": node["workers"], "rails": network.get("rails", 1),
                           "inner": {"bandwidth": node["bandwidth"]}, "link": {"bandwidth": network["bandwidth"]}}
        self.description = description
        self.link = self.kind_of_link(description["link"])
        {"star": self.star, "leaf-spine": self.leaf_spine, "fat-tree": self.fat_tree,
         "rail": self.rail}[description["kind"]](description, workers)
        self.number = {name: node for node, name in enumerate(self.names)}
        self.at = [[] for _ in self.names]  # outgoing ways of a node, by link
        self.way = {}
        for place, link in enumerate(self.links):
            for turn in (0, 1):
                self.at[link.ends[turn]].append(2 * place + turn)
                self.way[link.ends[turn], link.ends[1 - turn]] = 2 * place + turn

    @staticmethod
    def kind_of_link(document):
        return coded.duration(document.get("latency", "0 s")), rate(document["bandwidth"])

    def nodes(self, kind, count):
        first = len(self.names)
        self.names += [f"{kind}{index}" for index in range(count)]
        return range(first, first + count)

    def join(self, one, other, bandwidth=None):
        self.links.append(Link((one, other), self.link[0], self.link[1] if bandwidth is None else bandwidth))

    def seat(self, hosts, dealt):
        """Sets one seat per host. dealt: by switch, the hosts among which `spread` deals."""
        self.seats, self.hosts, self.host_of = list(hosts), len(hosts), list(range(len(hosts)))
        most = max(len(group) for group in dealt)
        self.spread = [group[turn] for turn in range(most) for group in dealt if turn < len(group)]

    def star(self, _, workers):
        hosts, switch = self.nodes("h", workers), self.nodes("s", 1)[0]
        for host in hosts:
            self.join(host, switch)
        self.seat(hosts, [[*hosts]])
        self.path = lambda a, b: [a, switch, b]

    def leaf_spine(self, d, _):
        per_leaf, spread = d["hosts_per_leaf"], d["spines"]
        hosts = self.nodes("h", d["leaves"] * per_leaf)
        leaves, spines = self.nodes("leaf", d["leaves"]), self.nodes("spine", spread)
        up = self.link[1] * per_leaf / (Fraction(str(d.get("oversubscription", 1))) * spread)
        for host in hosts:
            self.join(host, leaves[host // per_leaf])
        for leaf in leaves:
            for spine in spines:
                self.join(leaf, spine, up)
        self.seat(hosts, [list(hosts[leaf * per_leaf:(leaf + 1) * per_leaf]) for leaf in range(d["leaves"])])

        def path(a, b):
            one, other = leaves[a // per_leaf], leaves[b // per_leaf]
            return [a, one, b] if one == other else [a, one, spines[b % spread], other, b]

        self.path = path

    def fat_tree(self, d, _):
        half = d["ports"] // 2
        hosts = self.nodes("h", 2 * half**3)
        edges, aggs = self.nodes("edge", 2 * half**2), self.nodes("agg", 2 * half**2)
        cores = self.nodes("core", half**2)
        up = self.link[1] / Fraction(str(d.get("oversubscription", 1)))
        for host in hosts:
            self.join(host, edges[host // half])
        for edge in range(2 * half**2):
            for port in range(half):
                self.join(edges[edge], aggs[edge // half * half + port], up)
        for agg in range(2 * half**2):
            for port in range(half):
                self.join(aggs[agg], cores[agg % half * half + port])
        self.seat(hosts, [list(hosts[edge * half:(edge + 1) * half]) for edge in range(2 * half**2)])

        def path(a, b):
            one, other = a // half, b // half
            if one == other:
                return [a, edges[one], b]
            port = b % half
            up, down = aggs[one // half * half + port], aggs[other // half * half + port]
            if up == down:
                return [a, edges[one], up, edges[other], b]
            return [a, edges[one], up, cores[port * half + b // half % half], down, edges[other], b]

        self.path = path

    def rail(self, d, workers):
        self.gpus, rails = d["gpus_per_host"], d["rails"]
        count = -(-workers // self.gpus)
        hosts, switches = self.nodes("h", count), self.nodes("rail", rails)
        spines = self.nodes("spine", count if rails > 1 else 0)
        gpus = [(host, len(self.names) + place) for place, host in enumerate(host for host in hosts
                                                                              for _ in range(self.gpus))]
        self.names += [f"h{host}.gpu{place % self.gpus}" for place, (host, _) in enumerate(gpus)]
        for host in hosts:
            for switch in switches:
                self.join(host, switch)
        for switch in switches:
            for spine in spines:
                self.join(switch, spine, self.link[1] / Fraction(str(d.get("oversubscription", 1))))
        latency, bandwidth = self.kind_of_link(d["inner"])
        for host, gpu in gpus:
            self.links.append(Link((gpu, host), latency, bandwidth))
        self.seats, self.hosts = [gpu for _, gpu in gpus], count
        self.host_of = [host for host, _ in gpus]
        first = self.seats[0]

        def path(a, b):
            one, other = self.host_of[a - first], self.host_of[b - first]
            return [a, one, b] if one == other else [a, one, switches[(b - first) % self.gpus % rails], other, b]

        self.path = path

    def rails(self):
        return self.description.get("rails", 1)

    def name_of_way(self, way):
        ends = self.links[way // 2].ends
        return f"{self.names[ends[way % 2]]} -> {self.names[ends[1 - way % 2]]}"


class Fabric:
    """The present state of a topology: bandwidths and links that are down."""

    def __init__(self, topology):
        self.topology = topology
        self.own = [link.bandwidth for link in topology.links]
        self.states = {}
        self.set([Fraction(1)] * len(self.own), [[] for _ in self.own], frozenset())

    def set(self, factors, rates, down):
        """Sets, by link, the product of the factors and the list of rates in force; and the links that are down."""
        self.bandwidths = [min([own, *given]) * factor for own, given, factor in zip(self.own, rates, factors)]
        self.down = down
        key = (tuple(self.bandwidths), down)
        self.state = self.states.setdefault(key, len(self.states))  # numbers the distinct states
        self.routes = {}

    def bandwidth(self, way):
        return self.bandwidths[way // 2]

    def capacity(self, way):
        """The bandwidth in bytes per picosecond."""
        return float(self.bandwidths[way // 2]) / SECOND

    def route(self, one, other):
        """Returns the ways between two nodes, or None if they are disconnected."""
        if (one, other) not in self.routes:
            path = self.topology.path(one, other)
            ways = [self.topology.way[pair] for pair in zip(path, path[1:])]
            if any(way // 2 in self.down for way in ways):
                ways = self.around(one, other)
            self.routes[one, other] = ways
        return self.routes[one, other]

    def around(self, one, other):
        """Returns the shortest path over links that are up: least latency, then fewest links. Among equal ways out of a
        node, the destination's number modulo their count decides."""
        far = {other: (0, 0)}
        heap = [((0, 0), other)]
        while heap:
            reached, node = heapq.heappop(heap)
            if far[node] < reached:
                continue
            for way in self.topology.at[node]:
                link = self.topology.links[way // 2]
                if way // 2 in self.down:
                    continue
                after = link.ends[1 - way % 2]
                longer = (reached[0] + link.latency, reached[1] + 1)
                if after not in far or longer < far[after]:
                    far[after] = longer
                    heapq.heappush(heap, (longer, after))
        if one not in far:
            return None
        ways, node = [], one
        while node != other:
            best = []
            for way in self.topology.at[node]:
                link = self.topology.links[way // 2]
                after = link.ends[1 - way % 2]
                if way // 2 not in self.down and after in far and \
                        (far[after][0] + link.latency, far[after][1] + 1) == far[node]:
                    best.append(way)
            ways.append(best[other % len(best)])
            node = self.topology.links[ways[-1] // 2].ends[1 - ways[-1] % 2]
        return ways

    def latency(self, ways):
        return sum(self.topology.links[way // 2].latency for way in ways)


# ---- collectives as rounds ------------------------------------------------------------------------------------------

Send = namedtuple("Send", "source target share reduces stream")  # ranks; share: of M


def rings(count, hosts, how_many):
    """Returns the orders of ranks in rings; one if there is only one node. hosts: by rank, on two levels; else None."""
    if hosts is None or len(set(hosts)) == 1:
        return [list(range(count))]
    inside = {}
    for rank, host in enumerate(hosts):
        inside.setdefault(host, []).append(rank)
    return [[rank for ranks in inside.values() for rank in ranks[turn % len(ranks):] + ranks[:turn % len(ranks)]]
            for turn in range(how_many)]


def ring(count, hosts, how_many):
    orders = rings(count, hosts, how_many)
    share = Fraction(1, count * len(orders))
    return [[Send(one, other, share, turn < count - 1, stream) for stream, order in enumerate(orders)
             for one, other in zip(order, order[1:] + order[:1])] for turn in range(2 * (count - 1))]


def halving_doubling(count, *_):
    steps = [2**step for step in range(count.bit_length() - 1)]
    there = [[Send(rank, rank ^ step, Fraction(1, 2 * step), True, 0) for rank in range(count)] for step in steps]
    return there + [[send._replace(reduces=False) for send in sends] for sends in reversed(there)]


def parameter_server(count, *_):
    push = [Send(one, other, Fraction(1, count), True, 0)
            for one in range(count) for other in range(count) if one != other]
    return [push, [send._replace(reduces=False) for send in push]]


COLLECTIVES = {"ring": ring, "halving-doubling": halving_doubling, "parameter-server": parameter_server}


def all_pairs(sends):
    """True if every rank of one set sends once to every other rank of another set ("a wall"), with more messages than
    ranks on either side."""
    sources, targets = {send.source for send in sends}, {send.target for send in sends}
    pairs = [(send.source, send.target) for send in sends]
    every = {(one, other) for one in sources for other in targets if one != other}
    return len(pairs) == len(set(pairs)) and set(pairs) == every and len(pairs) > max(len(sources), len(targets))


# start_up: the longest of the messages. loads: bytes on each way per byte of M. slowest: ps per byte. reduction: bytes
# per byte of M.
Shape = namedtuple("Shape", "start_up loads slowest reduction delays times")  # delays, times: of each message


class Collective:
    """A collective among nodes of a fabric. alpha: (inside a host, between hosts); gamma: ps per byte."""

    def __init__(self, name, nodes, hosts, alpha, gamma, rails=1, two_levels=False):
        self.nodes, self.hosts, self.alpha, self.gamma = nodes, hosts, alpha, gamma
        self.rounds = COLLECTIVES[name](len(nodes), hosts if two_levels else None, rails) if len(nodes) > 1 else []
        self.walls = [all_pairs(sends) for sends in self.rounds]
        self.streams = sorted({send.stream for sends in self.rounds for send in sends})
        self.shapes, self.prices = {}, {}

    def delay(self, fabric, send):
        """Returns alpha plus the latencies of a message's route."""
        inside = self.hosts[send.source] == self.hosts[send.target]
        return self.alpha[0 if inside else 1] + fabric.latency(self.route(fabric, send))

    def route(self, fabric, send):
        return fabric.route(self.nodes[send.source], self.nodes[send.target])

    def shape(self, fabric, index):
        key = (fabric.state, index)
        if key not in self.shapes:
            before = self.shapes.get((fabric.state, index - 1))
            same = index > 0 and before is not None and self.rounds[index] == self.rounds[index - 1]
            self.shapes[key] = before if same else self.measured(fabric, self.rounds[index])
        return self.shapes[key]

    def measured(self, fabric, sends):
        loads, reduced = {}, {}
        for send in sends:
            for way in self.route(fabric, send):
                loads[way] = loads.get(way, 0) + send.share
            if send.reduces:
                reduced[send.target] = reduced.get(send.target, 0) + send.share
        busy = {way: load * SECOND / fabric.bandwidth(way) for way, load in loads.items()}
        slowest = max(busy.values())
        delays = [self.delay(fabric, send) for send in sends]
        times = [max(busy[way] for way in self.route(fabric, send)) for send in sends]
        if len(set(delays)) == 1 and len({fabric.bandwidth(way) for way in loads}) == 1:  # uniform
            times = [slowest] * len(sends)
        return Shape(max(delays), loads, slowest, max(reduced.values(), default=Fraction(0)), delays, times)

    def price(self, fabric, size):
        """Returns (T(M), s, q)."""
        key = (fabric.state, size)
        if key not in self.prices:
            self.prices[key] = self.priced(fabric, Fraction(size))
        return self.prices[key]

    def priced(self, fabric, size):
        shapes = [self.shape(fabric, index) for index in range(len(self.rounds))]
        total = {}
        for shape in shapes:
            for way, load in shape.loads.items():
                total[way] = total.get(way, 0) + load
        busiest = max((load * SECOND / fabric.bandwidth(way) for way, load in total.items()), default=Fraction(0))
        reduction = self.gamma * sum(shape.reduction for shape in shapes) * size
        moved = max(self.longest_path(shapes, size), busiest * size)  # T'
        start_ups, bytes_time = sum(shape.start_up for shape in shapes), sum(shape.slowest for shape in shapes) * size
        hidden = min(Fraction(1), moved / bytes_time) if bytes_time else Fraction(1)  # q
        scale = max(Fraction(0), moved - bytes_time) / start_ups if start_ups else Fraction(1)  # s
        return moved + reduction, scale, hidden

    def longest_path(self, shapes, size):
        """Returns P(M), when the last rank is ready."""
        slots = [(rank, stream) for rank in range(len(self.nodes)) for stream in self.streams]
        ready, out, into = (dict.fromkeys(slots, Fraction(0)) for _ in range(3))
        for sends, shape, wall in zip(self.rounds, shapes, self.walls):
            if wall:
                everybody = max(ready.values()) + max(shape.delays) + max(shape.times) * size
                ready, out, into = dict.fromkeys(slots, everybody), dict.fromkeys(slots, Fraction(0)), \
                    dict.fromkeys(slots, Fraction(0))
                continue
            arrived = []
            for send, delay, time in zip(sends, shape.delays, shape.times):
                source, target = (send.source, send.stream), (send.target, send.stream)
                begins = max(ready[source] + delay, out[source], into[target])
                arrived.append((source, target, begins + time * size))
            busy = {slot for source, target, _ in arrived for slot in (source, target)}
            for slot in slots:
                if slot not in busy:
                    ready[slot] += min(shape.delays) + min(shape.times) * size
            for source, target, end in arrived:
                ready[target], out[source] = max(ready[target], end), max(out[source], end)
                into[target] = max(into[target], end)
        return max(ready.values(), default=Fraction(0))


# ---- max-min fairness -----------------------------------------------------------------------------------------------

def max_min(flows, capacity):
    """Returns the max-min fair rates. A flow is (its use of each way at rate 1, its maximum rate). All rates rise
    together until a way is full or a flow reaches its maximum; these rates are final, the others continue to rise."""
    rates, rising = [0.0] * len(flows), set(range(len(flows)))
    used = {}
    while rising:
        slopes = {}
        for flow in rising:
            for way, use in flows[flow][0].items():
                slopes[way] = slopes.get(way, 0.0) + use  # above 0
        levels = {way: max(0.0, capacity(way) - used.get(way, 0.0)) / slope for way, slope in slopes.items()}
        level = min([*levels.values(), *(flows[flow][1] for flow in rising)])
        edge = level * (1 + 1e-12)
        full = {way for way, at in levels.items() if at <= edge}
        stays = {flow for flow in rising if flows[flow][1] <= edge
                 or any(use > 0 and way in full for way, use in flows[flow][0].items())}
        for flow in stays:
            most = flows[flow][1]
            rates[flow] = most if most <= edge else level
            for way, use in flows[flow][0].items():
                used[way] = used.get(way, 0.0) + use * rates[flow]
        rising -= stays
    return rates


def full_ways(flows, rates, owners, capacity):
    """Returns [(way, jobs)] of full ways with bytes of several jobs. owners: the job of each flow; None: background."""
    used, jobs = {}, {}
    for (uses, _), speed, owner in zip(flows, rates, owners):
        for way, use in uses.items():
            used[way] = used.get(way, 0.0) + use * speed
            if owner is not None and use * speed > 0:
                jobs.setdefault(way, set()).add(owner)
    return [(way, frozenset(sharing)) for way, sharing in jobs.items()
            if len(sharing) > 1 and used[way] >= capacity(way) * (1 - 1e-9)]


class Network:
    """The common part of the detailed fidelities: background traffic, and which jobs met on full ways."""

    def __init__(self, fabric):
        self.fabric, self.background, self.met = fabric, {}, []  # met: (since, until, way, jobs)
        self.shared = {}

    def switch(self, place, flow):
        """Switches background number `place` on with a flow (ways, bytes per second), or off (None)."""
        self.background[place] = flow
        self.changed()

    def backgrounds(self):
        return [self.background[place] for place in sorted(self.background) if self.background[place] is not None]

    def meet(self, since, until, full):
        if until > since:
            self.met += [(since, until, way, jobs) for way, jobs in full]


# ---- fluid ----------------------------------------------------------------------------------------------------------

class Round:
    """A round in flight. Because of rounding it may end half a picosecond before its last bytes."""

    def __init__(self, transfer, index, go, before):
        self.transfer, self.index, self.go, self.before = transfer, index, go, before
        self.left, self.arrived, self.ended = 1.0, None, False  # left: fraction; arrived: end of its bytes


class Transfer:
    """A block in flight. owner: its job; name: its name in that job."""

    def __init__(self, owner, name, collective, size):
        self.owner, self.name, self.collective, self.size = owner, name, collective, size


class Fluid(Network):
    """Times between instants are relative to the last instant: a double of an hour has no picoseconds left."""

    def __init__(self, fabric):
        super().__init__(fabric)
        self.base, self.rounds, self.coming = 0, [], None

    def changed(self):
        self.coming = None

    def start(self, now, transfer):
        _, scale, hidden = transfer.collective.price(self.fabric, transfer.size)
        transfer.scale, transfer.hidden = float(scale), float(hidden)
        self.begin(now, transfer, 0, None)

    def begin(self, now, transfer, index, before):
        start_up = transfer.collective.shape(self.fabric, index).start_up
        self.rounds.append(Round(transfer, index, now - self.base + transfer.scale * float(start_up), before))
        self.changed()

    def alone(self, one):
        """Time in ps of a round's bytes without other traffic."""
        shape = one.transfer.collective.shape(self.fabric, one.index)
        return one.transfer.hidden * float(shape.slowest * one.transfer.size)

    def moving(self, left, clock):
        """Returns the rounds whose bytes move. left: remaining fraction, by round."""
        return [one for one in self.rounds if one.go <= clock and left[one] > 0
                and (one.before is None or left.get(one.before, 0) == 0)]

    def share(self, moving):
        """Returns (the relative speed of each round, [(way, jobs)] of full ways)."""
        key = (self.fabric.state, tuple((id(one.transfer.collective), one.index) for one in moving),
               tuple((tuple(ways), most) for ways, most in self.backgrounds()))
        if key not in self.shared:
            flows, owners = [], []
            for one in moving:
                shape = one.transfer.collective.shape(self.fabric, one.index)
                flows.append(({way: float(load * SECOND / shape.slowest) / SECOND for way, load in shape.loads.items()},
                              1.0))
                owners.append(one.transfer.owner)
            for ways, most in self.backgrounds():
                slowest = min(self.fabric.bandwidth(way) for way in ways)
                flows.append(({way: float(slowest) / SECOND for way in ways}, float(most / slowest)))
                owners.append(None)
            rates = max_min(flows, self.fabric.capacity)
            self.shared[key] = rates[:len(moving)], full_ways(flows, rates, owners, self.fabric.capacity)
        return self.shared[key]

    def flow(self, left, clock, until):
        """Advances `left` to the next begin or end of bytes, at most to `until`. Returns (that time, full ways)."""
        moving = self.moving(left, clock)
        speeds, full = self.share(moving)
        ends = [clock + left[one] * self.alone(one) / speed for one, speed in zip(moving, speeds)]
        moment = min([until, *ends, *(one.go for one in self.rounds if one.go > clock)])
        for one, speed, end in zip(moving, speeds, ends):
            left[one] = 0.0 if end <= moment else left[one] - (moment - clock) * speed / self.alone(one)
        return moment, full

    def advance(self, now):
        left, clock, until = {one: one.left for one in self.rounds}, 0.0, float(now - self.base)
        while clock < until:
            moment, full = self.flow(left, clock, until)
            self.meet(self.base + clock, self.base + moment, full)
            clock = moment
            for one in self.rounds:
                if left[one] == 0 and one.arrived is None:
                    one.arrived = moment
        for one in self.rounds:
            one.left = left[one]
            one.go -= until
            one.arrived = None if one.arrived is None else one.arrived - until
        self.base = now
        self.rounds = [one for one in self.rounds if not one.ended or one.left > 0]

    def ahead(self):
        """Returns (the next instant at which rounds end, these rounds), if nothing else happens before."""
        if self.coming is None:
            left, clock, ends = {one: one.left for one in self.rounds}, 0.0, {}
            waiting = [one for one in self.rounds if not one.ended]
            while True:
                for one in [one for one in waiting if left[one] == 0]:
                    waiting.remove(one)
                    shape, size = one.transfer.collective.shape(self.fabric, one.index), one.transfer.size
                    reduction = float(one.transfer.collective.gamma * shape.reduction * size)
                    ends[one] = nearest((clock if one.arrived is None else one.arrived) + reduction)
                first = min(ends.values(), default=math.inf)
                if not waiting or clock > first + 1:
                    break
                clock, _ = self.flow(left, clock, math.inf)
            self.coming = first + self.base, [one for one in self.rounds if ends.get(one) == first]
        return self.coming

    def next(self):
        return self.ahead()[0]

    def finish(self, now):
        """Ends rounds at this instant and begins the next ones. Returns the transfers that end."""
        done = []
        while self.rounds and self.ahead()[0] <= now:
            for one in self.ahead()[1]:
                one.ended = True
                if one.index + 1 < len(one.transfer.collective.rounds):
                    self.begin(now, one.transfer, one.index + 1, one)
                else:
                    done.append(one.transfer)
            self.changed()
        return done

    def settle(self, now):
        """Does nothing: `fluid` has nothing to decide at the end of an instant."""

    def reroute(self, now):
        self.changed()

    def state(self, _):
        return [(one.transfer.owner, one.transfer.name, one.index, one.ended, nearest(max(0.0, one.go)),
                 nearest(one.left * self.alone(one)), None if one.arrived is None else nearest(-one.arrived))
                for one in self.rounds]


# ---- message --------------------------------------------------------------------------------------------------------

WAITING, STARTING, QUEUED, MOVING, REDUCING, DONE = range(6)


class Message:
    """A message of a transfer. data, order: number of messages that its start-up and its bytes still wait for."""

    def __init__(self, transfer, send):
        self.transfer, self.send, self.size = transfer, send, float(send.share * transfer.size)
        self.data = self.order = 0
        self.feeds, self.precedes = [], []  # messages that need its data; messages that move after it
        self.stage, self.at, self.rate, self.left = WAITING, None, 0.0, self.size  # at: when its stage ends


class Messages(Network):
    def __init__(self, fabric):
        super().__init__(fabric)
        self.clock, self.full = 0, []
        self.live, self.free = [], {}  # free: by job and rank, when it has reduced all that arrived

    def changed(self):
        """Does nothing: rates are computed anew at the end of every instant."""

    def start(self, now, transfer):
        into, out = {}, {}
        transfer.messages = []
        for sends in transfer.collective.rounds:
            fresh = []
            for send in sends:
                message = Message(transfer, send)
                source, target = (send.source, send.stream), (send.target, send.stream)
                for other in into.get(source, []):
                    other.feeds.append(message)
                    message.data += 1
                for other in {*out.get(source, []), *into.get(target, [])}:
                    other.precedes.append(message)
                    message.order += 1
                fresh.append((source, target, message))
            for source, target, message in fresh:
                out.setdefault(source, []).append(message)
                into.setdefault(target, []).append(message)
                transfer.messages.append(message)
        transfer.left = len(transfer.messages)
        self.live += transfer.messages
        for message in transfer.messages:
            self.proceed(now, message)

    def proceed(self, now, message):
        """Advances a message through all stages that it can finish at this instant."""
        if message.stage == WAITING and message.data == 0:
            message.stage = STARTING
            message.at = now + nearest(message.transfer.collective.delay(self.fabric, message.send))
        if message.stage == STARTING and message.at <= now:
            message.stage, message.at = QUEUED, math.inf
        if message.stage == QUEUED and message.order == 0:
            message.stage, message.since = MOVING, now
        if message.stage == MOVING and message.at <= now:
            self.arrive(now, message)
        if message.stage == REDUCING and message.at <= now:
            message.stage = DONE
            message.transfer.left -= 1
            self.live.remove(message)
            for other in message.feeds:
                other.data -= 1
                self.proceed(now, other)

    def arrive(self, now, message):
        transfer, rank = message.transfer, message.send.target
        message.stage, message.at = REDUCING, now
        if message.send.reduces and transfer.collective.gamma:
            free = max(self.free.get((transfer.owner, rank), 0), now)
            self.free[transfer.owner, rank] = free + transfer.collective.gamma * message.send.share * transfer.size
            message.at = nearest(self.free[transfer.owner, rank])
        for other in message.precedes:
            other.order -= 1
            self.proceed(now, other)

    def moving(self):
        return [message for message in self.live if message.stage == MOVING]

    def ways(self, message):
        return message.transfer.collective.route(self.fabric, message.send)

    def share(self, moving):
        """Returns (rate of each message in bytes per ps, [(way, jobs)] of full ways)."""
        key = (self.fabric.state,
               tuple((id(one.transfer.collective), one.send.source, one.send.target) for one in moving),
               tuple((tuple(ways), most) for ways, most in self.backgrounds()))
        if key not in self.shared:
            flows = [(dict.fromkeys(self.ways(one), 1.0), math.inf) for one in moving]
            flows += [(dict.fromkeys(ways, 1.0), float(most) / SECOND) for ways, most in self.backgrounds()]
            owners = [one.transfer.owner for one in moving] + [None] * (len(flows) - len(moving))
            rates = max_min(flows, self.fabric.capacity)
            self.shared[key] = rates[:len(moving)], full_ways(flows, rates, owners, self.fabric.capacity)
        return self.shared[key]

    def settle(self, now):
        """Computes new rates; the end of a message is rounded again only if its rate changed."""
        moving = self.moving()
        rates, self.full = self.share(moving)
        for message, given in zip(moving, rates):
            if abs(given - message.rate) > 1e-12 * given:
                message.left -= message.rate * (now - message.since)
                message.since, message.rate = now, given
                message.at = max(now, now + nearest(message.left / given))

    def advance(self, now):
        if self.live and now > self.clock:
            self.meet(self.clock, now, self.full)
        self.clock = now

    def next(self):
        return min((message.at for message in self.live if message.stage in (STARTING, MOVING, REDUCING)),
                   default=math.inf)

    def finish(self, now):
        before = {message.transfer for message in self.live}
        while self.next() <= now:
            for message in list(self.live):
                self.proceed(now, message)
        return [transfer for transfer in before if transfer.left == 0]

    def reroute(self, now):
        """Messages on changed routes keep their remaining bytes; rates follow at the end of the instant."""

    def state(self, now):
        rows = []
        for one in self.live:
            left = one.left - (one.rate * (now - one.since) if one.stage == MOVING else 0)
            slowest = min(self.fabric.capacity(way) for way in self.ways(one))
            rows.append((one.transfer.owner, one.transfer.name, one.transfer.messages.index(one), one.stage,
                         None if one.stage in (WAITING, QUEUED, MOVING) else one.at - now, nearest(left / slowest)))
        return rows
