"""The peer: a second, independent implementation that the program is tested against, short enough to read at once.

Written only from the contract and the papers, it shares no code with the program. The program unrolls a plan into
tasks, merges identical workers and runs an event engine on doubles; the peer takes every worker through every iteration
in fractions. It covers one fidelity (alpha-beta), one window (one block) and one barrier (the iteration): the setting
of MG-WFBP (Shi et al., arXiv 1912.09268), whose equations are cited by number.

Units: time in picoseconds, sizes in bytes. A duration is rounded once, when it becomes a task's or a message's.
"""

import csv
import itertools
import math
from collections import namedtuple
from fractions import Fraction

SECOND = 10**12
MICROSECOND = 10**6


def rounded(time):
    """The nearest whole picosecond (halves away from zero; only exact inputs ever hit one)."""
    return math.floor(Fraction(time) + Fraction(1, 2))


# ---- profiles -------------------------------------------------------------------------------------------------------

Tensor = namedtuple("Tensor", "name bytes layer")  # layer: index in forward order
Layer = namedtuple("Layer", "name forward backward tensors")  # tensors: [(name, bytes)] in forward order


def read_csv(path, forward_ratio=None):
    """Reads layers in forward order from `layer,params,forward_us,backward_us`; each has one fp32 tensor or none."""
    layers = []
    with open(path, newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            backward = Fraction(row["backward_us"]) * MICROSECOND
            forward = Fraction(row["forward_us"]) * MICROSECOND if forward_ratio is None else forward_ratio * backward
            params = int(row["params"])
            tensors = [(row["layer"], 4 * params)] if params > 0 else []
            layers.append(Layer(row["layer"], rounded(forward), rounded(backward), tensors))
    return layers


def backward_order(layers):
    """Returns all tensors in backward order: last layer first, and in a layer the last tensor first."""
    return [Tensor(name, size, index)
            for index, layer in reversed(list(enumerate(layers)))
            for name, size in reversed(layer.tensors)]


def slowed(layers, factor):
    return [layer._replace(forward=rounded(layer.forward * factor), backward=rounded(layer.backward * factor))
            for layer in layers]


def forward_time(layers):
    return sum(layer.forward for layer in layers)


def backward_time(layers):
    return sum(layer.backward for layer in layers)


def ready_times(layers, tensors):
    """Returns when each tensor's gradient is ready, from the start of B_L: tau_b(l) + t_b(l) of Eq. 6."""
    ends, now = {}, 0
    for index in reversed(range(len(layers))):
        now += layers[index].backward
        ends[index] = now
    return [ends[tensor.layer] for tensor in tensors]


# ---- costs of collectives -------------------------------------------------------------------------------------------

COLLECTIVES = ["binary-tree", "recursive-doubling", "halving-doubling", "double-binary-tree", "ring",
               "parameter-server"]


def coefficients(collective, n, servers=0, tree_bandwidth="physical"):
    """(A, B, G) with a = A alpha and b = B beta + G gamma: MG-WFBP, Table 2, logarithms to base 2.

    The table's a of the double binary trees lacks its alpha. The parameter server is not in the table: each of S
    servers receives M/S from each of the other N-1 workers, and sends as much back.
    """
    log = Fraction(math.log2(n))
    others = Fraction(n - 1, n)
    share = Fraction(n - 1, servers or n)
    return {
        "binary-tree": (2 * log, 2 * log, log),
        "recursive-doubling": (log, log, log),
        "halving-doubling": (2 * log, 2 * others, others),
        "double-binary-tree": (2 * log, 2 if tree_bandwidth == "physical" else 1, 1),
        "ring": (2 * (n - 1), 2 * others, others),
        "parameter-server": (2, 2 * share, share),
    }[collective]


def from_links(collective, n, alpha, beta, gamma=0, **options):
    """(a, b) from alpha [ps], beta and gamma [ps per byte]."""
    start, byte, reduce = coefficients(collective, n, **options)
    return start * alpha, byte * beta + reduce * gamma


def from_measured(collective, n, measured_collective, measured_n, a, b, gamma=0, **options):
    """Converts (a, b) measured at one number of workers to another number through alpha and beta."""
    start, byte, reduce = coefficients(measured_collective, measured_n, **options)
    return from_links(collective, n, a / start, (b - reduce * gamma) / byte, gamma, **options)


class Cost:
    """T(M) = a + b M (Eq. 10); zero for M = 0, and for a single worker."""

    def __init__(self, a, b, workers):
        self.a, self.b = (Fraction(a), Fraction(b)) if workers > 1 else (Fraction(0), Fraction(0))

    def __call__(self, size):
        return self.a + self.b * size if size > 0 else Fraction(0)

    def duration(self, size):
        return rounded(self(size))


# ---- strategies: which tensors are sent in one block ----------------------------------------------------------------

# blocks: lists of indices in backward order. after_backward: none is sent before B_1 ends. tick: if not 0, blocks are
# admitted only at its multiples, counted from the start of B_L. ticks: by block, the first tick that may admit it.
Plan = namedtuple("Plan", "blocks after_backward tick ticks", defaults=(False, 0, None))


def blocks_between(cuts, count):
    """Returns contiguous blocks, given the indices at which a new one begins."""
    edges = [0] + list(cuts) + [count]
    return [list(range(first, last)) for first, last in zip(edges, edges[1:])] if count else []


def wfbp(tensors, ready, cost):
    return Plan([[index] for index in range(len(tensors))])


def s_sgd(tensors, ready, cost):
    return Plan([[index] for index in range(len(tensors))], after_backward=True)


def sync_easgd(tensors, ready, cost):
    return Plan(blocks_between([], len(tensors)))


def mg_wfbp(tensors, ready, cost):
    """Algorithm 1 as printed, including the recalculation loop: O(L^2), and a strict < in line 11.

    The paper counts l = L ... 1 in backward order; index i here is its layer L - i, so that l - 1 is i + 1.
    """
    count = len(tensors)
    sizes = [tensor.bytes for tensor in tensors]
    send = [cost(size) for size in sizes]  # t_c, lines 4-5
    merged = [False] * count  # m[l] = l_m

    def communication_starts():  # lines 20-25, Eq. 7
        starts = []
        for place in range(count):
            previous = starts[-1] + send[place - 1] if place else 0
            starts.append(max(previous, ready[place]))
        return starts

    starts = communication_starts()
    for place in range(count - 1):  # lines 10-14
        # Eq. 38; the gain is a if T is a straight line (Eq. 17), but not exactly if bytes are compressed (coded.py).
        gain = send[place] + cost(sizes[place + 1]) - cost(sizes[place] + sizes[place + 1])
        if ready[place + 1] - starts[place] < gain:
            send[place] = Fraction(0)  # lines 16-19
            sizes[place + 1] += sizes[place]
            send[place + 1] = cost(sizes[place + 1])
            starts = communication_starts()
            merged[place] = True
    return Plan(blocks_between([place + 1 for place in range(count - 1) if not merged[place]], count))


def finish(blocks, tensors, ready, cost):
    """Returns when the last block ends, from the start of B_L, sending one block after another (Eq. 7)."""
    now = 0
    for block in blocks:
        now = max(now, ready[block[-1]]) + cost.duration(sum(tensors[place].bytes for place in block))
    return now


def optimal_merge(tensors, ready, cost):
    """The best contiguous merge: f(j) = min over i of max(f(i), ready(j)) + T(bytes i..j)."""
    best = [(0, [])]  # of the first j tensors: finish, cuts
    for last in range(len(tensors)):
        size, choices = 0, []
        for first in range(last, -1, -1):
            size += tensors[first].bytes
            time, cuts = best[first]
            choices.append((max(time, ready[last]) + cost.duration(size), cuts + [first]))
        best.append(min(choices))
    return Plan(blocks_between(best[-1][1][1:], len(tensors)))


def optimal_merge_by_brute_force(tensors, ready, cost):
    """optimal_merge() by trying all 2^(L-1) merges."""
    count = len(tensors)
    plans = [blocks_between(cuts, count)
             for several in range(max(count, 1)) for cuts in itertools.combinations(range(1, count), several)]
    return Plan(min(plans, key=lambda blocks: finish(blocks, tensors, ready, cost)))


def ddp(tensors, ready, cost, bucket_cap=None, first_bucket=None):
    """PyTorch DDP: a bucket closes once it reaches its cap; that of the first is smaller if no cap is given."""
    if first_bucket is None:
        first_bucket = bucket_cap or 2**20
    bucket_cap = bucket_cap or 25 * 2**20
    blocks, block, size = [], [], 0
    for place, tensor in enumerate(tensors):
        block.append(place)
        size += tensor.bytes
        if size >= (bucket_cap if blocks else first_bucket):
            blocks.append(block)
            block, size = [], 0
    return Plan(blocks + ([block] if block else []))


def horovod(tensors, ready, cost, cycle=10**9, threshold=128 * 2**20):
    """Horovod's tensor fusion: at each tick, the tensors that became ready form blocks up to the threshold. Blocks are
    sent at that tick or, in a slower replay, at a later one."""
    blocks, ticks, size, seen = [], [], 0, None
    for place, tensor in enumerate(tensors):
        tick = -(-ready[place] // cycle)  # the first tick at which it is ready
        if tick == seen and size + tensor.bytes <= threshold:
            blocks[-1].append(place)
            size += tensor.bytes
        else:
            blocks.append([place])
            ticks.append(tick)
            size = tensor.bytes
        seen = tick
    return Plan(blocks, tick=cycle, ticks=ticks)


STRATEGIES = {"s-sgd": s_sgd, "wfbp": wfbp, "sync-easgd": sync_easgd, "mg-wfbp": mg_wfbp,
              "optimal-merge": optimal_merge, "ddp": ddp, "horovod": horovod}


# ---- simulation -----------------------------------------------------------------------------------------------------

Worker = namedtuple("Worker", "forward backward ready")  # ready: of each tensor, from the start of B_L


def worker(layers, tensors):
    return Worker(forward_time(layers), backward_time(layers), ready_times(layers, tensors))


def replay_iteration(workers, starts, plan, tensors, cost):
    """Replays an iteration of workers that start F_1 at `starts`. Returns when each ends computing, when the last block
    ends, and how long blocks were in flight. A block is admitted when it is ready on all workers, one at a time.
    """
    backward_starts = [start + worker.forward for worker, start in zip(workers, starts)]
    compute_ends = [start + worker.backward for worker, start in zip(workers, backward_starts)]
    ready = [max(start + worker.ready[place] for worker, start in zip(workers, backward_starts))
             for place in range(len(tensors))]
    origin = max(backward_starts)  # ticks count from here: B_L has begun on all workers
    waiting = [(max(compute_ends) if plan.after_backward else max(ready[place] for place in block), index)
               for index, block in enumerate(plan.blocks)]
    if plan.tick:
        waiting = [(origin + max(-(-(time - origin) // plan.tick), plan.ticks[index]) * plan.tick, index)
                   for time, index in waiting]
    now = busy = 0
    while waiting:
        now = max(now, min(waiting)[0])
        first = min(waiting)  # first ready; if simultaneous, first listed
        waiting.remove(first)
        duration = cost.duration(sum(tensors[place].bytes for place in plan.blocks[first[1]]))
        now += duration
        busy += duration
    return compute_ends, now, busy


def steady_period(workers, plan, tensors, cost, repeats=3, limit=50):
    """Returns (period, communication per period) once `repeats` periods in a row are equal on all workers.

    A period lasts from the start of B_L to the start of the next B_L.
    """
    starts, periods = [0] * len(workers), []
    for _ in range(limit):
        compute_ends, communicated, busy = replay_iteration(workers, starts, plan, tensors, cost)
        after = [max(end, communicated) for end in compute_ends]
        periods.append({end - start for start, end in zip(starts, after)})
        starts = after
        last = periods[-repeats:]
        if len(last) == repeats and len(last[0]) == 1 and all(period == last[0] for period in last):
            return last[0].pop(), busy
    raise AssertionError("the iteration never becomes steady")


def lower_bound(layers, cost):
    """Lower bound of the iteration of any lossless plan. `layers`: those of the slowest worker."""
    total = forward_time(layers) + backward_time(layers)
    everything = sum(size for layer in layers for _, size in layer.tensors)
    for index, layer in enumerate(layers):
        if layer.tensors:
            before = forward_time(layers[:index]) + backward_time(layers[:index])
            own = cost(sum(size for _, size in layer.tensors))
            return max(total - before + max(before, own), cost(everything))
    return Fraction(total)


Result = namedtuple("Result", "iteration exposed comm_busy collectives speedup efficiency lower_bound stragglers")


def slowest(layers, slowdowns):
    return slowed(layers, max(slowdowns))


def make_plan(strategy, layers, cost, slowdowns, **options):
    """Makes a plan from the ready times of the slowest worker, which decide admission."""
    tensors = backward_order(layers)
    return STRATEGIES[strategy](tensors, ready_times(slowest(layers, slowdowns), tensors), cost, **options)


def simulate(layers, cost, plan, slowdowns):
    """Returns all numbers of a result. `slowdowns`: a factor per worker. A single worker sends nothing."""
    count, tensors = len(slowdowns), backward_order(layers)
    if count == 1:
        plan = Plan([])
    workers = [worker(slowed(layers, factor), tensors) for factor in slowdowns]
    iteration, busy = steady_period(workers, plan, tensors, cost)
    even, _ = steady_period([worker(layers, tensors)] * count, plan, tensors, cost)  # without slow workers
    alone = forward_time(layers) + backward_time(layers)  # unslowed
    speedup = Fraction(count * alone) / iteration if iteration else None
    return Result(iteration, even - alone, busy, len(plan.blocks), speedup, speedup / count if speedup is not None
                  else None, lower_bound(slowest(layers, slowdowns), cost), iteration - even)
