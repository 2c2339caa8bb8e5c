#!/usr/bin/env python3
"""The program against its peer where jobs share a fabric, where clusters change, and where nodes fail.

`jobs.py`, `fabric.py` and `goodput.py` beside this file are written from the contract alone; a difference is a fault of
one of the two. The environment variables are those of `test_peer.py`; ALLREPLAY_JOBS_CASES is the number of random
files.
"""

import copy
import json
import os
import random
import shlex
import sys
import unittest
from fractions import Fraction
from pathlib import Path

import goodput
import jobs
import reference
from fabric import COLLECTIVES, Fabric, Topology

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from program import PROGRAM, REFERENCE, Case, needs, needs_program, run  # noqa: E402

SEED = int(os.environ.get("ALLREPLAY_PEER_SEED", "2024"))
CASES = int(os.environ.get("ALLREPLAY_JOBS_CASES", "30"))
SHOWN = 2
SCALE = 40  # iterations of some milliseconds: a picosecond that the last bit of a double decides is no difference
WORKED = REFERENCE.parent / "cases" / "jobs.json"

known = PROGRAM.is_file() and run("jobs", "--help").returncode == 0
needs_jobs = unittest.skipUnless(known, f"`allreplay jobs` is no command of {PROGRAM}")


# ---- random files ---------------------------------------------------------------------------------------------------

def chance(pick, probability, value):
    return value if pick.random() < probability else {}


def duration(pick, low, high):
    """So many times SCALE microseconds, to the picosecond, or a round number of them."""
    value = SCALE * pick.uniform(low, high)
    return f"{round(value)} us" if pick.random() < 0.3 else f"{value:.6f} us"


def bandwidth(pick):
    """Seldom such that bytes take whole picoseconds: a half of one, rounded, is a matter of the last bit."""
    return f"0.{2 * pick.randint(2000, 4999) + 1} GB/s" if pick.random() < 0.5 else f"{pick.uniform(10, 30):.4f} Gbit/s"


def random_layers(pick):
    """(name, elements of tensors, forward us, backward us); the first has a tensor."""
    return [(f"l{index}", [SCALE * pick.choice([5000, pick.randint(50, 40000)])
                           for _ in range(1 if index == 0 else pick.choice([0, 1, 1, 1, 2]))],
             round(SCALE * pick.uniform(1, 40), 6), round(SCALE * pick.uniform(1, 60), 6))
            for index in range(pick.randint(1, 5))]


def trace(layers, batch, pace=1.0, update=None):
    model = {"name": "m", "layers": [{"name": name, "tensors": [{"name": f"{name}.{place}", "shape": [size]}
                                                                for place, size in enumerate(sizes)]}
                                     for name, sizes, _, _ in layers]}
    rows = [{"name": name, "forward": round(forward * pace, 6), "backward": round(backward * pace, 6)}
            for name, _, forward, backward in layers]
    return {"model": model, "device": "x", "framework": "x", "batch_size": batch, "precision": "fp32",
            "origin": "measured", "source": "random", "unit": "us", "layers": rows} | (
                {} if update is None else {"update": update})


def random_strategy(pick):
    name = pick.choice(["wfbp", "wfbp", "s-sgd", "sync-easgd", "ddp", "bytescheduler", "p3"])
    batches = chance(pick, 0.3, {"accumulate": pick.randint(2, 4)})
    if name == "ddp":
        return {"name": name, "bucket_cap": f"{SCALE * pick.randint(1, 200)} kB"} | batches
    if name == "bytescheduler":
        return {"name": name, "partition": f"{SCALE * pick.randint(20, 90)} kB", "credit": pick.randint(1, 4)} | batches
    if name == "p3":
        return {"name": name, "partition": f"{SCALE * pick.randint(20, 90)} kB"} | batches
    return {"name": name} | batches if batches else name


class Network:
    """A random network, and what events and background may name. alike: start-ups and links of one kind alone."""

    def __init__(self, pick, kinds=("star", "leaf-spine", "fat-tree", "rail"), fidelity=None):
        self.kind = pick.choice(kinds)
        self.fidelity = fidelity or pick.choice(["fluid", "message"])
        link = {"latency": pick.choice(["0 us", "0.5 us", "1.25 us"]), "bandwidth": bandwidth(pick)}
        network = {"alpha": pick.choice(["0 us", "1 us", f"{pick.uniform(0.1, 9):.6f} us"]),
                   "gamma": pick.choice(["0 s/B", "0 s/B", "0.0371 ns/B"]), "collective": "ring",
                   "fidelity": self.fidelity}
        self.seats, self.links, self.switches, self.spare = 8, [], [], False
        if self.kind == "star":
            self.seats = pick.choice([4, 6, 8, 10])
            network["topology"] = {"kind": "star", "link": link}
            self.links, self.switches = [[f"h{host}", "s0"] for host in range(self.seats)], ["s0"]
        elif self.kind == "leaf-spine":
            leaves, hosts, spines = pick.choice([(2, 2, 1), (2, 4, 2), (3, 3, 2), (4, 2, 3), (2, 5, 3)])
            self.seats, self.spare = leaves * hosts, spines > 1
            network["topology"] = {"kind": "leaf-spine", "leaves": leaves, "hosts_per_leaf": hosts, "spines": spines,
                                   "oversubscription": pick.choice([1, 2, 3]), "link": link}
            self.links = [[f"leaf{leaf}", f"spine{spine}"] for leaf in range(leaves) for spine in range(spines)]
            self.switches = [f"spine{spine}" for spine in range(spines)]
        elif self.kind == "fat-tree":
            self.seats, self.spare = 16, True
            network["topology"] = {"kind": "fat-tree", "ports": 4, "oversubscription": pick.choice([1, 2]),
                                   "link": link}
            self.links = [[f"edge{edge}", f"agg{edge // 2 * 2 + port}"] for edge in range(8) for port in range(2)]
            self.links += [[f"agg{agg}", f"core{agg % 2 * 2 + port}"] for agg in range(8) for port in range(2)]
            self.switches = [f"agg{agg}" for agg in range(8)] + [f"core{core}" for core in range(4)]
        else:
            gpus, rails = pick.choice([(2, 1), (2, 2), (4, 1), (4, 2), (4, 4)])
            self.seats = gpus * pick.choice([2, 3, 4])
            network |= {"node": {"workers": gpus, "alpha": pick.choice(["1 us", "0.3 us"]), "bandwidth": "20 GB/s"},
                        "bandwidth": bandwidth(pick), "rails": rails}
            self.links = [[f"h{host}", f"rail{rail}"] for host in range(self.seats // gpus) for rail in range(rails)]
            self.switches = [f"rail{rail}" for rail in range(rails)]
        self.gpus = network["node"]["workers"] if self.kind == "rail" else 1
        self.cluster = {"name": "random", "workers": self.seats, "network": network}

    def hosts(self):
        return self.seats // self.gpus


def random_jobs(pick, network, files):
    rows, free = [], network.hosts()
    for place in range(pick.randint(1, 4)):
        workers = pick.choice([1, 2, 2, 3, 4, 4, 5, 6, 8])
        needed = -(-workers // network.gpus)
        if needed > free:
            break
        free -= needed
        rows.append(random_job(pick, network, place, workers, files))
    if not rows:
        rows.append(random_job(pick, network, 0, 2, files))
    if pick.random() < 0.3:  # some lists, which are seated first
        hosts = [f"h{host}" for host in pick.sample(range(network.hosts()), network.hosts())]
        for row in pick.sample(rows, pick.randint(1, len(rows))):
            needed = -(-row["workers"] // network.gpus)
            row["placement"], hosts = hosts[:needed], hosts[needed:]
    return rows


def random_job(pick, network, place, workers, files):
    name, layers = f"p{place}.json", random_layers(pick)
    files[name] = trace(layers, 16, update=pick.choice([None, None, round(SCALE * pick.uniform(1, 20), 6)]))
    row = {"name": f"j{place}", "profile": name, "workers": workers, "strategy": random_strategy(pick),
           "collective": pick.choice([one for one in COLLECTIVES
                                      if one != "halving-doubling" or workers & (workers - 1) == 0])}
    row |= chance(pick, 0.7, {"placement": pick.choice(
        ["packed", f"random:{pick.randint(0, 99)}"] + (["spread"] if network.kind != "rail" else []))})
    row |= chance(pick, 0.6, {"start": duration(pick, 0, 300)})
    row |= chance(pick, 0.2, {"stragglers": [{"worker": pick.randrange(workers),
                                              "slowdown": pick.choice([1.25, 1.5, 2])}]})
    if workers > 1 and pick.random() < 0.25:
        first = pick.randint(1, workers - 1)
        files[f"q{place}.json"] = trace(layers, pick.choice([8, 16]), pick.uniform(1, 3))
        row["classes"] = [{"workers": first}, {"workers": workers - first, "profile": f"q{place}.json"}]
        row |= pick.choice([{}, {"balance": "speed"}, {"balance": "even"}, {"batch": 16 * workers + 5}])
        if len(row["classes"][0]) == 1 and not {"balance", "batch"} & row.keys() and pick.random() < 0.3:
            row["classes"][0]["batch"] = pick.randint(3, 30)
    return row


def random_events(pick, network, rows):
    events = []
    for _ in range(pick.randint(1, 4)):
        event = {"at": duration(pick, 0, 900)}
        kind = pick.choice(["link", "link", "switch", "down", "host", "worker", "stall"])
        if kind in ("link", "switch") or kind == "down" and not network.spare:
            event |= {"link": pick.choice(network.links)} if kind == "link" else {"node": pick.choice(network.switches)}
            event["bandwidth"] = pick.choice(["x0.5", "x0.25", "x2", "x0.7", "0.4 GB/s", "1.5 GB/s"])
        elif kind == "down":
            event |= {"link": pick.choice(network.links), "down": True}
        else:
            job = pick.choice(rows)
            event |= {"node": f"h{pick.randrange(network.hosts())}"} if kind == "host" else {
                "job": job["name"], "worker": pick.randrange(job["workers"])}
            event |= {"stall": duration(pick, 1, 200)} if kind == "stall" else {
                "slowdown": pick.choice([1.25, 1.5, 2, 0.5])}
        if "stall" not in event and (kind == "down" or pick.random() < 0.7):
            event["for"] = duration(pick, 0, 400)
        events.append(event)
    return events


def random_background(pick, network):
    flows = []
    for _ in range(pick.randint(1, 2)):
        flow = {"rate": pick.choice(["0.25 GB/s", "4 Gbit/s", "2 GB/s"])}
        if pick.random() < 0.5 and network.kind != "rail":
            source, target = pick.sample(range(network.hosts()), 2)
            flow |= {"from": f"h{source}", "to": f"h{target}"}
        else:
            flow["link"] = pick.choice(network.links)[::pick.choice([1, -1])]
        flow |= chance(pick, 0.5, {"start": duration(pick, 0, 200)})
        if pick.random() < 0.6:
            flow |= {"on": duration(pick, 20, 200), "off": duration(pick, 20, 200)}
            flow |= chance(pick, 0.4, {"seed": pick.randint(0, 9)})
        flows.append(flow)
    return flows


def random_case(pick, **network):
    """{name: content} of a jobs file and its profiles."""
    files, network = {}, Network(pick, **network)
    rows = random_jobs(pick, network, files)
    document = {"name": "random", "cluster": network.cluster, "warm_up": pick.randint(0, 3),
                "iterations": pick.randint(3, 8), "jobs": rows}
    if pick.random() < 0.4:
        for row in pick.sample(rows, pick.randint(1, len(rows))):
            row["iterations"] = pick.randint(1, 5)
    if pick.random() < 0.5:
        document["events"] = random_events(pick, network, rows)
    if pick.random() < 0.4:
        document["background"] = random_background(pick, network)
    if pick.random() < 0.1:
        later(document)
    files["jobs.json"] = document
    return files


def later(document):
    """Everything begins an hour later."""
    for rows, key in ((document["jobs"], "start"), (document.get("events", []), "at"),
                      (document.get("background", []), "start")):
        for row in rows:
            row[key] = f"{3600 * 10**12 + jobs.instant(row.get(key, '0 us'))} ps"


# ---- small files by hand --------------------------------------------------------------------------------------------

LINK = {"latency": "0 us", "bandwidth": "1 GB/s"}
SMALL = "layer,params,forward_us,backward_us\nl0,5000,10,10\nl1,20000,5,7.25\nl2,1000,2.5,9\n"


def small(*rows, fidelity="fluid", topology=None, **more):
    """A file of jobs of SMALL in a leaf-spine of four hosts, whose leaves have one way out at the speed of a host."""
    topology = topology or {"kind": "leaf-spine", "leaves": 2, "hosts_per_leaf": 2, "spines": 1, "oversubscription": 2,
                            "link": LINK}
    network = {"alpha": "1 us", "gamma": "0 s/B", "collective": "ring", "fidelity": fidelity, "topology": topology}
    cluster = {"name": "small", "workers": 4, "network": network}
    return {"p.csv": SMALL, "jobs.json": {"cluster": cluster, "jobs": [{"profile": "p.csv", "workers": 2} | row
                                                                      for row in rows]} | more}


def times(answer):
    """What part 7's laws are about, of each job by its name."""
    return {row["name"]: {key: row[key] for key in ("hosts", "iterations", "alone_s", "iteration_s", "each_s", "end_s")}
            for row in answer["jobs"]}


class Asked(Case):
    """What writes files and asks the peer."""

    def write(self, files):
        for name, content in files.items():
            text = content if isinstance(content, str) else json.dumps(content)
            (self.folder / name).write_text(text, encoding="utf-8")

    def peer(self, files, words=("jobs.json",)):
        self.write(files)
        return jobs.answer(list(words), self.folder)

    def may_run(self, files):
        try:
            self.peer(files)
        except jobs.Refused:
            return False
        return True

    @staticmethod
    def described(files):
        return "\n".join(f"{name}: {content if isinstance(content, str) else json.dumps(content)}"
                         for name, content in files.items())


# ---- the peer itself ------------------------------------------------------------------------------------------------

class ThePeer(Asked):
    """What holds of the peer's own answers, without the program."""

    @needs(WORKED)
    def test_worked_cases(self):
        for case in json.loads(WORKED.read_text(encoding="utf-8")):
            with self.subTest(case["name"]):
                self.assertEqual(jobs.replay_case(case), [])

    def test_generator(self):
        """Number 10000 of mt19937_64 with the seed 5489 is 9981545732273789042 (the C++ standard, [rand.predef])."""
        drawn = goodput.Random(0, 0)
        drawn.state, drawn.place = [5489], 312
        for index in range(1, 312):
            last = drawn.state[-1]
            drawn.state.append((6364136223846793005 * (last ^ last >> 62) + index) & goodput.MASK)
        for _ in range(9999):
            drawn.bits()
        self.assertEqual(drawn.bits(), 9981545732273789042)

    def test_a_transfer_alone_takes_its_time(self):
        """T(M), to half a picosecond a round; never above lockstep, and at least what the busiest link needs."""
        pick = random.Random(SEED)
        for _ in range(60):
            network = Network(pick)
            count = pick.choice([2, 3, 4, 5, 6, 8])
            name = pick.choice([one for one in COLLECTIVES if one != "halving-doubling" or count & (count - 1) == 0])
            files = {"p.csv": f"layer,params,forward_us,backward_us\nl0,{pick.randint(100, 50000)},1,1\n"}
            topology = Topology(network.cluster["network"], network.seats)
            seats = pick.sample(range(network.seats), min(count, network.seats)) if network.kind != "rail" else \
                list(range(min(count, network.seats)))
            if name == "halving-doubling" and len(seats) != count:
                continue
            row = {"profile": "p.csv", "workers": len(seats), "collective": name}
            if network.kind != "rail":
                row["placement"] = [f"h{seat}" for seat in seats]
            files["jobs.json"] = {"cluster": network.cluster, "fidelity": "fluid", "jobs": [row]}
            answer = self.peer(files)
            experiment = jobs.Experiment(self.folder / "jobs.json")
            jobs.seated(experiment.jobs, experiment.first_choices(), experiment.topology)
            job, fabric = experiment.jobs[0], Fabric(topology)
            size = job.plan.blocks[0].size
            whole, scale, hidden = job.collective.price(fabric, size)
            self.assertTrue(0 <= scale <= 1 and 0 < hidden <= 1, self.described(files))
            rounds = len(job.collective.rounds)
            spent = round(answer["jobs"][0]["iteration_s"] * reference.SECOND) - 2 * 10**6
            self.assertLessEqual(abs(spent - whole), Fraction(rounds + 1, 2), self.described(files))

    def test_nobody_else_on_the_links(self):
        """Jobs that share no link feel nothing, in whatever order of the file, and whatever happens elsewhere."""
        for fidelity in ("fluid", "message"):
            rows = [{"name": "a", "placement": ["h0", "h1"]}, {"name": "b", "placement": ["h2", "h3"], "start": "5 us"}]
            idle = [{"at": "9 us", "link": ["leaf0", "spine0"], "bandwidth": "x0.1"},
                    {"at": "9 us", "link": ["h0", "leaf0"], "bandwidth": "x1"},
                    {"at": "7 us", "for": "0 us", "link": ["h0", "leaf0"], "bandwidth": "x0.5"},
                    {"at": "7 us", "for": "3 us", "job": "a", "worker": 0, "slowdown": 1},
                    {"at": "7 us", "stall": "0 us", "job": "b", "worker": 1}]
            plain = self.peer(small(*rows, fidelity=fidelity, iterations=4))
            self.assertEqual([row["slowdown"] for row in plain["jobs"]], [1, 1])
            self.assertEqual(times(plain), times(self.peer(small(*rows[::-1], fidelity=fidelity, iterations=4))))
            ends = [row | {"iterations": 3} for row in rows]
            self.assertEqual(times(self.peer(small(*ends, fidelity=fidelity))),
                             times(self.peer(small(*ends, fidelity=fidelity, events=idle))))

    def test_the_order_of_the_file_changes_nothing(self):
        pick = random.Random(SEED + 1)
        for _ in range(12):
            files = random_case(pick)
            document = files["jobs.json"]
            result = self.peer(files) if self.may_run(files) else None
            if result is None or document["cluster"]["network"].get("node") or document.get("iterations") is None:
                continue
            for row, answer in zip(document["jobs"], result["jobs"]):
                row["placement"], row["iterations"] = answer["hosts"], row.get("iterations", 2)
            turned = copy.deepcopy(files)
            turned["jobs.json"]["jobs"].reverse()
            one, other = times(self.peer(files)), times(self.peer(turned))
            for name in one:
                lines = jobs.differences(one[name], other[name], relative=1e-7)  # sums in another order, rounded
                self.assertEqual(lines, [], self.described(files))

    def test_fluid_and_message_in_lockstep(self):
        """Two equal jobs through one link: what max-min says by hand, and the same message by message."""
        rows = [{"name": "a", "placement": ["h0", "h2"]}, {"name": "b", "placement": ["h1", "h3"]}]
        fluid, message = (self.peer(small(*rows, fidelity=fidelity)) for fidelity in ("fluid", "message"))
        self.assertEqual(times(fluid), times(message))

    def test_an_event_for_ever_is_another_cluster(self):
        """A star whose link to h1 has half the bandwidth, by an event from 0 on, is a leaf-spine with such a link."""
        star = {"kind": "star", "link": LINK}
        event = {"at": "0 us", "node": "s0", "bandwidth": "x0.5"}
        slow = {"kind": "star", "link": LINK | {"bandwidth": "0.5 GB/s"}}
        row = {"name": "a", "iterations": 3, "workers": 4}
        for fidelity in ("fluid", "message"):
            changed = self.peer(small(row, fidelity=fidelity, topology=star, events=[event]))["jobs"][0]
            built = self.peer(small(row, fidelity=fidelity, topology=slow))["jobs"][0]
            self.assertEqual(changed["each_s"], built["each_s"])
            self.assertEqual(built["slowdown"], 1)
            self.assertGreater(changed["slowdown"], 1)

    def test_an_hour_later_nothing_is_different(self):
        pick = random.Random(SEED + 2)
        for _ in range(6):
            files = random_case(pick)
            for row in files["jobs.json"]["jobs"]:
                row["iterations"] = row.get("iterations", 2)
            if not self.may_run(files):
                continue
            delayed = copy.deepcopy(files)
            later(delayed["jobs.json"])
            one, other = self.peer(files), self.peer(delayed)
            self.assertEqual([row["each_s"] for row in one["jobs"]], [row["each_s"] for row in other["jobs"]],
                             self.described(files))


# ---- the program against the peer -----------------------------------------------------------------------------------

BAD = [  # (what is changed in the file, a word of the complaint)
    ({"fidelity": "alpha-beta"}, "alpha-beta"),
    ({"jobs": [{"profile": "p.csv", "workers": 5}]}, "workers"),
    ({"jobs": [{"profile": "p.csv", "workers": 2, "placement": ["h0", "h9"]}]}, "h9"),
    ({"jobs": [{"profile": "p.csv", "workers": 2, "placement": ["h0", "h1"]},
               {"profile": "p.csv", "workers": 2, "placement": ["h1", "h2"]}]}, "h1"),
    ({"jobs": [{"name": "a", "profile": "p.csv", "workers": 1}, {"name": "a", "profile": "p.csv", "workers": 1}]},
     "name"),
    ({"jobs": [{"profile": "p.csv", "workers": 2, "batch": 8}]}, "batch"),
    ({"jobs": [{"profile": "p.json", "workers": 4, "batch": 3}]}, "sample"),
    ({"jobs": [{"profile": "p.json", "workers": 4, "classes": [{"workers": 1}, {"workers": 2}]}]}, "classes"),
    ({"jobs": [{"profile": "p.json", "workers": 2, "classes": [{"workers": 1}, {"workers": 1, "profile": "q.json"}]}]},
     "other"),
    ({"jobs": [{"profile": "p.json", "workers": 2, "classes": [{"workers": 1, "batch": 4}, {"workers": 1}],
                "balance": "speed"}]}, "b"),
    ({"events": [{"at": "1 us", "node": "h0", "down": True}]}, "down"),
    ({"events": [{"at": "1 us", "link": ["h0", "leaf0"], "down": True}]}, "events"),
    ({"events": [{"at": "1 us", "link": ["h0", "leaf1"], "bandwidth": "x0.5"}]}, "link"),
    ({"events": [{"at": "1 us", "link": ["h0", "leaf0"], "bandwidth": "x0"}]}, "bandwidth"),
    ({"events": [{"at": "1 us", "job": "nobody", "worker": 0, "slowdown": 2}]}, "nobody"),
    ({"events": [{"at": "1 us", "job": "job1", "worker": 2, "slowdown": 2}]}, "worker"),
    ({"events": [{"at": "1 us", "job": "job1", "worker": 0, "slowdown": 0}]}, "slowdown"),
    ({"background": [{"from": "h0", "to": "h9", "rate": "1 GB/s"}]}, "h9"),
]


@needs_jobs
class Jobs(Asked):
    def disagreement(self, files, words=("jobs.json",)):
        """None, or everything that a reader needs to decide who is right."""
        self.write(files)
        try:
            own = jobs.answer(list(words), self.folder)
        except jobs.Refused as refused:
            own = str(refused)
        done = self.run_program("jobs", *words, "--json", *(["--each"] if len(words) == 1 else []))
        if isinstance(own, str):
            return None if done.returncode == 2 else f"the peer refuses: {own}\n{self.described(files)}"
        if done.returncode != 0:
            return f"exit {done.returncode}: {done.stderr.strip()}\n{self.described(files)}"
        given = json.loads(done.stdout)
        if "search" in own:
            for row in own["jobs"]:
                row.pop("each_s")
            for row in given["jobs"]:
                if str(row["placement"]).startswith('["'):  # a list, or as it is printed
                    row["placement"] = json.loads(row["placement"])
        lines = jobs.differences(given, own)
        return "\n".join([*lines[:12], self.described(files), f"program: {done.stdout.strip()}",
                          f"peer:    {json.dumps(own)}"]) if lines else None

    def check(self, name, draw, count, words=("jobs.json",)):
        pick, found = random.Random(f"{SEED} {name}"), []
        for number in range(count):
            if text := self.disagreement(draw(pick), words):
                found.append(f"{name}, file {number}: {text}")
            if len(found) == SHOWN:
                break
        if found:
            self.fail("\n\n" + "\n\n".join(found))

    @needs(WORKED)
    def test_worked_cases(self):
        for case in json.loads(WORKED.read_text(encoding="utf-8")):
            with self.subTest(case["name"]):
                words = [word for word in shlex.split(case["command"])[2:] if word not in ("--json", "--each")]
                self.assertIsNone(self.disagreement(case["files"], words), case["derivation"])

    def test_random_files(self):
        for fidelity in ("fluid", "message"):
            with self.subTest(fidelity):
                self.check(fidelity, lambda pick, kind=fidelity: random_case(pick, fidelity=kind), CASES)

    def test_jobs_that_repeat(self):
        """Jobs of one profile and strategy, so that the joint state comes back."""
        def draw(pick):
            layers, more = random_layers(pick), {"iterations": 12, "warm_up": 2}
            strategy = pick.choice(["wfbp", "s-sgd", {"name": "p3", "partition": "2400 kB"}])
            rows = [{"name": name, "profile": "p.json", "strategy": strategy, "placement": hosts}
                    | chance(pick, 0.5, {"start": duration(pick, 0, 90)})
                    for name, hosts in (("a", ["h0", "h2"]), ("b", ["h1", "h3"]))]
            files = small(*rows, fidelity=pick.choice(["fluid", "message"]), **more)
            files["jobs.json"]["cluster"]["network"]["topology"] |= {"link": LINK | {"bandwidth": bandwidth(pick)}}
            return files | {"p.json": trace(layers, 16)}

        self.check("repeat", draw, CASES)

    def of_run(self, row, cluster):
        """The iteration that `run` says of a job's workers on a cluster."""
        stragglers = {"stragglers": row["stragglers"]} if "stragglers" in row else {}
        self.write({"c.json": cluster | stragglers | {"workers": row["workers"]}})
        strategy = row["strategy"] if isinstance(row["strategy"], dict) else {"name": row["strategy"]}
        options = [word for key, value in strategy.items() if key != "name" for word in ("-o", f"{key}={value}")]
        printed = self.output("run", "-p", row["profile"], "-c", "c.json", "-s", strategy["name"], "--collective",
                              row["collective"], "--json", *options)
        return {"iteration_s": json.loads(printed)["iteration_s"]}

    def test_alone_is_run(self):
        """A job by itself takes what `run` says of as many workers, in both fidelities, on every topology."""
        pick = random.Random(f"{SEED} run")
        for _ in range(CASES):
            network, files = Network(pick), {}
            count = min(network.seats, pick.choice([2, 3, 4, 5, 6, 8]))
            row = random_job(pick, network, 0, count, files)
            for key in ("classes", "balance", "batch", "placement", "start"):
                row.pop(key, None)
            files["jobs.json"] = {"cluster": network.cluster, "jobs": [row]}
            own, given = self.peer(files)["jobs"][0]["iteration_s"], self.of_run(row, network.cluster)["iteration_s"]
            # In `fluid` half a picosecond a round: without start-ups `run` rounds each by itself.
            rounds = 14 * 50 if network.fidelity == "fluid" and network.cluster["network"]["alpha"] == "0 us" else 0
            self.assertAlmostEqual(given, own, delta=1e-9 * own + rounds * 0.5e-12, msg=self.described(files))

    def test_an_event_from_the_start_is_a_cluster_s_link(self):
        """Links that are slower, or down, from 0 on and for ever: what `run` says of a file with these links."""
        pick = random.Random(f"{SEED} links")
        for _ in range(CASES):
            network, files = Network(pick, kinds=("leaf-spine", "fat-tree")), {}
            row = random_job(pick, network, 0, pick.choice([2, 3, 4]), files)
            for key in ("classes", "balance", "batch", "start"):
                row.pop(key, None)
            row["placement"] = [f"h{host}" for host in pick.sample(range(network.seats), row["workers"])]
            network.cluster["network"] |= {"alpha": "1.5 us", "gamma": "0 s/B"}
            links = [{"between": link} | ({"down": True} if network.spare and place == 0 else  # one cuts nobody off
                                          {"bandwidth": "0.0217 GB/s"})
                     for place, link in enumerate(pick.sample(network.links, pick.randint(1, 2)))]
            events = [{"at": "0 us", "link": link["between"]} | {key: link[key] for key in link if key != "between"}
                      for link in links]
            files["jobs.json"] = {"cluster": network.cluster, "jobs": [row | {"iterations": 6}], "events": events}
            if not self.may_run(files):
                continue
            own = {"iteration_s": self.peer(files)["jobs"][0]["each_s"][-1]}  # the last, by when it is steady
            built = copy.deepcopy(network.cluster)
            built["network"]["topology"] |= {"links": links, "placement": row["placement"]}
            self.assertEqual(jobs.differences(self.of_run(row, built), own), [], self.described(files))

    def test_searches(self):
        """Two or three jobs that are alike, so that they meet again and again; places and offsets."""
        def draw(pick):
            rows = [{"name": name, "placements": pick.sample([["h0", "h2"], ["h1", "h3"], ["h0", "h1"], "packed",
                                                              "random:3"], 3)} for name in ("a", "b")]
            rows[0] = {"name": "a", "placement": pick.choice([["h0", "h2"], ["h1", "h3"], "packed"])}
            rows[1]["placements"].insert(0, "packed")
            return small(*rows, fidelity=pick.choice(["fluid", "message"]), iterations=6, warm_up=1)

        for words in (["--place"], ["--stagger", "3"], ["--place", "--stagger", "2", "--minimise", "mean"]):
            with self.subTest(words):
                self.check(f"search {words}", draw, max(2, CASES // 12), ("jobs.json", *words))

    def test_refusals(self):
        """Exit 2 and one line that names what is wrong."""
        layers = [("l0", [5000], 10, 10)]
        for change, named in BAD:
            with self.subTest(named, change=change):
                files = small({})
                files |= {"p.json": trace(layers, 16), "q.json": trace([("other", [5000], 10, 10)], 16)}
                files["jobs.json"] |= change
                self.write(files)
                self.assertIn(named, self.refusal("jobs", "jobs.json", "--json"))


@needs_program
class Goodput(Asked):
    """`allreplay goodput` against part 6, on iterations as the program says them."""

    CLUSTER = {"name": "c", "workers": 4, "network": {"alpha": "1 us", "beta": "1 ns/B", "collective": "ring"}}

    def setUp(self):
        super().setUp()
        self.write({"p.json": trace([("l0", [5000], 10000, 10000)], 16), "c.json": self.CLUSTER})

    def run_of(self, workers):
        return self.answer("run", "-p", "p.json", "-c", "c.json", "-s", "wfbp", "--workers", workers)

    def random_reliability(self, pick):
        mtbf = pick.uniform(2000, 20000)
        document = {"mtbf": f"{mtbf:.3f} s", "checkpoint": f"{pick.choice([0.5, pick.uniform(1, 60)]):.3f} s",
                    "restart": f"{pick.choice([0, pick.uniform(1, 200)]):.3f} s", "seed": pick.randint(0, 99),
                    "horizon": f"{pick.uniform(5, 40) * mtbf:.3f} s"}
        document |= chance(pick, 0.6, {"interval": pick.choice(["optimal", "5 min", str(pick.randint(1000, 40000))])})
        document |= chance(pick, 0.7, {"spares": pick.randint(0, 2)})
        document |= chance(pick, 0.7, {"repair": f"{pick.uniform(0, 3):.4f} h"})
        return document | chance(pick, 0.5, {"elastic": True})

    def test_random_cases(self):
        pick, runs = random.Random(SEED), {count: self.run_of(count) for count in range(1, 6)}
        for number in range(max(10, CASES // 2)):
            nodes, document = pick.randint(1, 5), self.random_reliability(pick)
            flags = [word for key, value in document.items()
                     for word in ([f"--{key}"] if value is True else [f"--{key}", str(value)])]
            given = self.answer("goodput", "-p", "p.json", "-c", "c.json", "-s", "wfbp", "--workers", nodes, *flags)["goodput"]
            row = runs[nodes]
            own = goodput.goodput(goodput.read(document), nodes, row["iteration_s"], row["samples_per_s"],
                                  lambda used: runs[used]["samples_per_s"])
            self.assertEqual(given.keys(), own.keys())
            with self.subTest(number=number):
                self.assertEqual(self.differences_of(given, own), [], f"{nodes} nodes, {flags}")

    @staticmethod
    def differences_of(given, own):
        """Lengths and fractions to 1e-9; the optimum is flat, so that its place is known to fewer digits."""
        return [line for key in own for line in jobs.differences({key: given[key]}, {key: own[key]}, relative=(
            1e-6 if key == "optimal_s" else 1e-9))]


if __name__ == "__main__":
    unittest.main()
