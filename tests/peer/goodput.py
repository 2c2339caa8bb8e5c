"""Part of the peer: goodput, the throughput of a run with failures and checkpoints.

Written only from the contract. Daly's complete formula (FGCS 2006) in doubles; the simulation goes through one segment
after another, and has a list of all nodes that are not in use.

Units: seconds.
"""

import math
import re
from collections import namedtuple

MASK = 2**64 - 1
LONG = {"d": 86400, "h": 3600, "min": 60, "s": 1, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "ps": 1e-12}


def mixed(value):
    """SplitMix64 (Steele, Lea and Flood 2014)."""
    value = (value + 0x9E3779B97F4A7C15) & MASK
    value = ((value ^ value >> 30) * 0xBF58476D1CE4E5B9) & MASK
    value = ((value ^ value >> 27) * 0x94D049BB133111EB) & MASK
    return value ^ value >> 31


class Random:
    """mt19937_64 (Matsumoto and Nishimura; Nishimura 2000), seeded with a mix of seed and stream."""

    def __init__(self, seed, stream):
        self.state, self.place = [mixed((mixed(seed) + stream) & MASK)], 312
        for index in range(1, 312):
            last = self.state[-1]
            self.state.append((6364136223846793005 * (last ^ last >> 62) + index) & MASK)

    def twist(self):
        state, upper = self.state, MASK << 31 & MASK
        for index in range(312):
            both = state[index] & upper | state[(index + 1) % 312] & ~upper
            state[index] = state[(index + 156) % 312] ^ both >> 1 ^ (0xB5026F5AA96619E9 if both & 1 else 0)
        self.place = 0

    def bits(self):
        """The next 64 bits."""
        if self.place == 312:
            self.twist()
        value = self.state[self.place]
        self.place += 1
        value ^= value >> 29 & 0x5555555555555555
        value ^= value << 17 & 0x71D67FFFEDA60000
        value ^= value << 37 & 0xFFF7EEE000000000
        return value ^ value >> 43

    def uniform(self):
        """A double in [0, 1)."""
        return (self.bits() >> 11) * 2.0**-53

    def below(self, bound):
        """A uniform integer from 0 to bound - 1: the draw's bucket among `bound` equal ones; others are drawn again."""
        bucket = 2**64 // bound
        while (value := self.bits() // bucket) >= bound:
            pass
        return value


def exponential(random, mean):
    return -mean * math.log1p(-random.uniform())


# ---- input ----------------------------------------------------------------------------------------------------------

def seconds(text):
    number, unit = re.fullmatch(r"([-+.\deE]+) ?([a-z]+)", text).groups()
    return float(number) * LONG[unit]


# mtbf: of one node. interval: seconds, a whole number of iterations, or None (optimal). spares: None: unlimited.
Reliability = namedtuple("Reliability", "mtbf checkpoint restart interval repair spares elastic horizon seed",
                         defaults=(None, 0.0, None, False, None, 0))


def read(document):
    """Reads a file's `reliability`, or flags of the same names."""
    interval = document.get("interval", "optimal")
    if interval == "optimal":
        interval = None
    elif isinstance(interval, int) or interval.isdecimal():
        interval = int(interval)
    else:
        interval = seconds(interval)
    return Reliability(seconds(document["mtbf"]), seconds(document["checkpoint"]), seconds(document["restart"]),
                       interval, seconds(document.get("repair", "0 s")), document.get("spares"),
                       document.get("elastic", False),
                       seconds(document["horizon"]) if "horizon" in document else None, document.get("seed", 0))


# ---- expected -------------------------------------------------------------------------------------------------------

def useful_fraction(work, checkpoint, restart, mean):
    """tau / E."""
    return work / (mean * math.exp(restart / mean) * math.expm1((work + checkpoint) / mean))


def young(checkpoint, mean):
    return math.sqrt(2 * checkpoint * mean)


def daly(checkpoint, mean):
    if checkpoint >= 2 * mean:
        return mean
    part = checkpoint / (2 * mean)
    return young(checkpoint, mean) * (1 + math.sqrt(part) / 3 + part / 9) - checkpoint


def optimum(checkpoint, mean):
    """M y, with -ln(1 - y) - y = C/M, by bisection."""
    low, high = 0.0, 1.0
    for _ in range(200):
        middle = (low + high) / 2
        if middle >= 1 or -math.log1p(-middle) - middle > checkpoint / mean:
            high = middle
        else:
            low = middle
    return mean * low


def iterations_between(reliability, iteration, mean):
    """k, the number of iterations between checkpoints."""
    if isinstance(reliability.interval, int):
        return reliability.interval
    if reliability.interval is not None:
        return max(1, math.floor(reliability.interval / iteration + 0.5))
    fewer = max(1, math.floor(optimum(reliability.checkpoint, mean) / iteration))

    def fraction(count):
        return useful_fraction(count * iteration, reliability.checkpoint, reliability.restart, mean)

    return max((fewer, fewer + 1), key=fraction)  # if equal, the first


# ---- simulated ------------------------------------------------------------------------------------------------------

Operated = namedtuple("Operated", "fraction failures waited")


def operate(reliability, nodes, work, horizon, elastic, weight):
    """Simulates failures. weight(n): throughput of n nodes relative to all."""
    random, away = Random(reliability.seed, 0), []  # away: when each node that is not in use becomes available
    endless = reliability.spares is None
    away += [0.0] * (reliability.spares or 0)
    useful = waited = now = 0.0
    used, restart, failures = nodes, 0.0, 0

    def take(instant, most):
        """Takes up to `most` nodes that are available by `instant`. Returns their number."""
        if endless:
            return most
        there = sorted(back for back in away if back <= instant)[:most]
        for back in there:
            away.remove(back)
        return len(there)

    while now < horizon:
        fails = now + exponential(random, reliability.mtbf / used)
        back = min(away, default=math.inf) if used < nodes else math.inf
        done, grown = 0, None
        while grown is None:
            end = now + restart + (done + 1) * (work + reliability.checkpoint)
            if end > min(fails, horizon):
                break
            done += 1
            useful += work * weight(used)
            if end >= back:
                grown = end
        restart = reliability.restart
        if grown is not None:
            now = grown
            used += take(now, nodes - used)
            continue
        if fails > horizon:
            break
        failures += 1
        away.append(fails + reliability.repair)
        left = used - 1 if elastic else nodes - 1
        taken = take(fails, nodes - left)
        now = fails
        if (left if elastic else 0) + taken == 0:
            now = min(away)
            waited += now - fails
            taken = take(now, nodes - left)
        used = left + taken
    return Operated(useful / horizon, failures, waited)


def goodput(reliability, nodes, iteration, samples_per_s, throughput=None):
    """Returns what `--json` prints. throughput: by number of nodes; used only with `elastic`."""
    mean = reliability.mtbf / nodes
    count = iterations_between(reliability, iteration, mean)
    work = count * iteration
    horizon = 1000 * mean if reliability.horizon is None else reliability.horizon
    fraction = useful_fraction(work, reliability.checkpoint, reliability.restart, mean)
    rigid = operate(reliability, nodes, work, horizon, False, lambda used: 1)
    answers = {"mtbf_s": mean, "nodes": nodes, "interval_s": work, "interval_iterations": count,
               "young_s": young(reliability.checkpoint, mean), "daly_s": daly(reliability.checkpoint, mean),
               "optimal_s": optimum(reliability.checkpoint, mean), "useful_fraction": fraction,
               "simulated_fraction": rigid.fraction, "failures": rigid.failures, "waited_s": rigid.waited,
               "samples_per_s": None if samples_per_s is None else samples_per_s * fraction}
    if reliability.elastic:
        answers["elastic_fraction"] = operate(reliability, nodes, work, horizon, True,
                                              lambda used: throughput(used) / throughput(nodes)).fraction
    return answers
