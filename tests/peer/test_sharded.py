#!/usr/bin/env python3
"""The program against its peer where training is sharded: FSDP, ZeRO, Megatron, micro-batches, updates and memory.

`sharded.py` beside this file is written from the contract alone; a difference is a fault of one of the two. The
environment variables are those of `test_peer.py`; ALLREPLAY_SHARDED_CASES is the number of random cases per strategy.
The worked cases lie beside the measured profiles, and are skipped where they are absent.
"""

import json
import os
import random
import shlex
import unittest
from fractions import Fraction

import coded
import reference
import sharded
from sharded import PLANNED, SHARDED
from test_peer import SEED, decimal

import program  # found where test_peer looks
from program import REFERENCE

CASES = int(os.environ.get("ALLREPLAY_SHARDED_CASES", "60"))
WORKED = [REFERENCE.parent / "cases" / name for name in ("sharded.json", "strategies.json")]
SHOWN = 3  # disagreements per strategy, each with its files

COLLECTIVES = ["ring", "ring", "ring", "halving-doubling", "recursive-doubling", "binary-tree", "double-binary-tree",
               "parameter-server"]


# ---- random cases ---------------------------------------------------------------------------------------------------

class Numbers:
    """Sizes and times of one case. Round ones are multiples of 240 elements, 960 bytes and 0.96 us: ties abound."""

    def __init__(self, pick):
        self.pick, self.round = pick, pick.random() < 0.5
        self.scale = pick.choice([10**3, 10**5, 10**6])  # elements of the largest tensors

    def microseconds(self, most=6):
        if self.round:
            return round(0.96 * self.pick.choice([0, *range(most + 1)]), 6)
        return self.pick.choice([0, round(self.pick.uniform(0, self.scale / 100), 6)])

    def duration(self):
        return f"{decimal(self.microseconds())} us"

    def elements(self, most=4):
        if self.round:
            return 240 * self.pick.randint(1, most)
        return int(self.scale ** self.pick.uniform(0, 1))

    def per_byte(self):
        return f"{2.0 * self.pick.randint(0, 3)} ns/B" if self.round else f"{self.pick.randint(1, 10**4) / 1000} ns/B"


def group_names(pick, count):
    """A name for each layer or none: runs of layers, a run's last layers (or the very first ones) without a name. Some
    runs are no blocks, such as an embedding."""
    names, run = [], 0
    while len(names) < count:
        length = pick.randint(1, 3)
        unnamed = pick.randint(0, length - 1)
        name = f"block{run}" if pick.random() < 0.7 else "outer" + chr(ord("a") + run)
        own = [name] * (length - unnamed) + [None] * unnamed
        names += own[::-1] if run == 0 else own
        run += 1
    return names[:count] if any(names[:count]) else [*names[:count - 1], "block"]


def random_trace(pick, numbers):
    count = pick.randint(1, 8)
    model = [{"name": f"l{index}", "tensors": [{"name": f"l{index}.{place}", "shape": [numbers.elements()]}
                                               for place in range(pick.choice([0, 1, 1, 1, 2, 3]))]}
             for index in range(count)]
    rows = [{"name": layer["name"], "forward": numbers.microseconds(), "backward": numbers.microseconds()}
            for layer in model]
    # The program refuses a profile without tensors, or whose times are all zero.
    if not any(layer["tensors"] for layer in model) or not any(row["forward"] + row["backward"] for row in rows):
        model[-1]["tensors"], rows[-1]["forward"] = [{"name": "only", "shape": [240]}], 0.96
    if pick.random() < 0.5:
        for row, name in zip(rows, group_names(pick, count)):
            row |= {"group": name} if name else {}
    if pick.random() < 0.5:
        for row in pick.sample(rows, pick.randint(1, count)):
            row["activation_bytes"] = pick.randint(1, 10) * (480 if numbers.round else numbers.scale)
    trace = {"model": {"name": "random", "layers": model}, "device": "none", "framework": pick.choice(["none", "PyTorch 2.4", "TensorFlow 2"]),
             "batch_size": pick.choice([1, 8]), "precision": pick.choice(["fp32", "fp32", "bf16"]),
             "origin": "measured", "source": "random", "unit": "us", "layers": rows}
    return trace | ({"update": numbers.microseconds()} if pick.random() < 0.6 else {})


def random_network(pick, numbers):
    """A network, and the options that belong to its collective."""
    collective = pick.choice(COLLECTIVES)
    network = {"collective": collective, "fidelity": "alpha-beta"}
    if not numbers.round and pick.random() < 0.2:
        network["measured"] = {"collective": "ring", "workers": pick.choice([2, 4, 8]), "a": "120.5 us",
                               "b": f"{pick.randint(1, 4000) / 1000} ns/B", "gamma": "0 ns/B"}
    else:
        alpha = f"{decimal(round(0.96 * pick.randint(0, 2), 6) if numbers.round else pick.randint(0, 10**5) / 1000)} us"
        network |= {"alpha": alpha, "beta": numbers.per_byte(), "gamma": numbers.per_byte()}
    trees = {"tree_bandwidth": pick.choice(["paper", "physical"])} if collective == "double-binary-tree" else {}
    return network, trees


def random_stragglers(pick, workers, group):
    """Slow workers; with groups the same places in each, so that all groups are alike."""
    if pick.random() < 0.7:
        return []
    slow = {place: pick.choice([1.25, 1.5, 2.0, 3.0]) for place in pick.sample(range(group), pick.randint(1, group))}
    return [{"worker": worker, "slowdown": slow[worker % group]} for worker in range(workers) if worker % group in slow]


def chance(pick, likely, options):
    """Each option with one of its values, or not at all."""
    return {key: str(pick.choice(values)) for key, values in options.items() if pick.random() < likely}


def strategy_options(pick, strategy, numbers, total):
    """Of one strategy; total: elements of all tensors."""
    def some():
        return numbers.elements(10) if numbers.round else pick.randint(1, max(1, total))

    if strategy == "fsdp2":
        return wrap_options(pick, numbers) | chance(pick, 0.5, {
            "reshard": ["all", "none", "but-last"], "reduce": ["last", "replicas-last", "every"],
            "lanes": ["separate", "shared"],
            "prefetch": [1, 2, 3], "reduce_buffers": [1, 2, 3],
            "copy": ["1 GB/s", "500 MB/s", "10 GB/s"]})
    if strategy == "fsdp1":
        return wrap_options(pick, numbers) | chance(pick, 0.5, {
            "reshard": ["all", "none"], "backward_prefetch": ["pre", "post", "none"], "limit": [1, 2, 3]})
    if strategy == "simple-fsdp":
        return wrap_options(pick, numbers) | chance(pick, 0.5, {
            "reshard": ["all", "none", "but-last"], "lanes": ["separate", "shared"],
            "reorder": ["none", "blocks", "blocks"]})
    if strategy == "megatron-fsdp":
        return wrap_options(pick, numbers) | chance(pick, 0.5, {
            "unit_size": [some(), some(), 0], "double_buffer": ["true", "false"], "lanes": ["separate", "shared"],
            "sync": ["every", "last"], "outer": ["optim", "no_shard"]})
    if strategy in ("zero-1", "zero-2"):
        return {"reduce_bucket": str(some())} | chance(pick, 0.5, {
            "allgather_bucket": [0, some(), max(1, total // 3)], "overlap_comm": ["true", "false"],
            "bucket_op": ["all-reduce", "reduce-scatter"]})
    if strategy == "zero-3":
        return {"persistence": str(pick.choice([0, 0, some() // 2]))} | chance(pick, 0.6, {
            "prefetch_bucket": [0, some(), some()], "max_live": [0, some(), 3 * some()],
            "max_reuse": [0, some(), 2 * some()], "reduce_bucket": [some(), some(), some() // 2 + 1],
            "overlap_comm": ["true", "false"]})
    if strategy == "megatron":
        return megatron_options(pick, some())
    if strategy == "ddp":
        return {"bucket_cap": f"{4 * some()} B", "first_bucket": f"{2 * some()} B"}
    if strategy in ("bytescheduler", "p3"):
        smallest = max(1, total * 2 // 20)  # a few tens of blocks at most
        size = 480 * (smallest // 480 + pick.randint(1, 4)) if numbers.round else pick.randint(smallest, 4 * smallest)
        return {"partition": f"{size} B"}
    return {}


def wrap_options(pick, numbers):
    return chance(pick, 0.5, {"wrap": ["layer", f"{numbers.elements(10)} B", f"{4 * numbers.elements(10)} B"]})


def megatron_options(pick, bucket):
    options = {"bucket_size": str(pick.choice([bucket, bucket, bucket, 0]))} | chance(pick, 0.3, {
        "distributed_optimizer": ["true", "false"], "overlap_grad_reduce": ["true", "false"]})
    both = "false" not in (options.get("distributed_optimizer"), options.get("overlap_grad_reduce"))
    return options | chance(pick, 0.4, {"overlap_param_gather": ["true", "false"] if both else ["false"]})


def common_options(pick, numbers):
    return chance(pick, 0.25, {
        "gradient_dtype": ["fp32", "bf16", "fp16"], "parameter_dtype": ["fp32", "bf16", "fp16"],
        "sharing": ["fair", "serial"], "state": [4, 6, 16], "update": [numbers.duration()]})


def divisors(number):
    return [part for part in range(1, number + 1) if number % part == 0]


class Case:
    """A trace, a cluster and the arguments of `allreplay run`, for the program and for the peer."""

    def __init__(self, trace, cluster, words):
        self.trace, self.cluster, self.words = trace, cluster, words

    def command(self):
        return "allreplay run -p trace.json -c cluster.json " + shlex.join(self.words)

    def write(self, folder):
        (folder / "trace.json").write_text(json.dumps(self.trace), encoding="utf-8")
        (folder / "cluster.json").write_text(json.dumps(self.cluster), encoding="utf-8")

    def simulate(self):
        return sharded.simulate(self.trace, self.cluster, self.words)

    def describe(self):
        return "\n".join([f"trace.json: {json.dumps(self.trace)}", f"cluster.json: {json.dumps(self.cluster)}",
                          self.command()])


def random_case(pick, strategy):
    numbers = Numbers(pick)
    if strategy == "mg-wfbp":  # round times would make real ties of comparisons
        numbers.round = False
    trace = random_trace(pick, numbers)
    workers = pick.choice([2, 3, 4, 6, 8, 8, 12] if strategy == "mg-wfbp" else [1, 2, 2, 3, 4, 4, 6, 8, 12])
    network, options = random_network(pick, numbers)
    total = sum(tensor["shape"][0] for layer in trace["model"]["layers"] for tensor in layer["tensors"])
    options |= strategy_options(pick, strategy, numbers, total) | common_options(pick, numbers)
    flags, group = random_flags(pick, strategy, options, workers)
    if strategy == "bytescheduler":  # several blocks in flight in the lane `replicate` are a question of reading
        options["credit"] = str(1 if "--shard-group" in flags else pick.choice([1, 2, 4, 7]))
    words = ["-s", strategy, *flags, *(word for key, value in options.items() for word in ("-o", f"{key}={value}"))]
    cluster = {"name": "random", "workers": workers, "network": network}
    stragglers = random_stragglers(pick, workers, group)
    return Case(trace, cluster | ({"stragglers": stragglers} if stragglers else {}), [*words, "--json"])


def random_flags(pick, strategy, options, workers):
    """(--zero, --accumulate and --shard-group as far as the strategy takes them, ranks in a group)."""
    flags, group, zero = [], workers, 0
    if strategy in PLANNED:
        zero = pick.choice([0, 1, 2, 2])
        flags += ["--zero", str(zero)] if zero or pick.random() < 0.5 else []
    if pick.random() < 0.5:
        flags += ["--accumulate", str(pick.choice([1, 2, 2, 3, 4]))]
    groups = strategy in ("fsdp1", "fsdp2", "simple-fsdp", "megatron-fsdp") or zero or (
        strategy == "megatron" and options.get("distributed_optimizer") != "false")
    if groups and pick.random() < 0.5:
        group = pick.choice([part for part in divisors(workers) if strategy != "mg-wfbp" or part > 1])
        flags += ["--shard-group", str(group)]
    return flags, group


def worked_cases():
    return [case for file in WORKED for case in json.loads(file.read_text(encoding="utf-8"))]


# ---- orders of transfers ---------------------------------------------------------------------------------------------

LANE_NAMES = {"gather and reduce": "shared", "network": "reduce"}  # ours, and the peer's


def lanes_of_plan(plan, scenario):
    """({lane: [(collective, elements)]}, lanes in the plan's order) of `plan --json`, without what nobody is sent."""
    lanes, group = {}, scenario.group
    ranks = {"all": scenario.workers, "shard": group, "replica": scenario.workers // group}
    for one in plan["transfers"]:
        size = sum(part["bytes"] for part in plan["blocks"][one["block"]]["slices"])
        axis = one.get("axis", "all")
        if ranks[axis] > 1 and size > 0:
            name = LANE_NAMES.get(one["lane"], one["lane"])
            kind = one["op"] if axis != "replica" else "replicate" if one["op"] == "all-reduce" else f"outer {one['op']}"
            lanes.setdefault(name, []).append((kind, Fraction(size, scenario.gradient)))
    ordered = {LANE_NAMES.get(lane["name"], lane["name"])
               for lane in plan["lanes"] if lane["order"] == "as-listed"}
    return lanes, ordered


def lanes_of_peer(scenario):
    """The same of the peer's second iteration."""
    lanes = {}
    for one in sharded.written(scenario, 3).transfers:
        if one.iteration == 1 and not one.nothing:
            element = scenario.parameter if one.operation.endswith("all-gather") else scenario.gradient
            whole = one.size * (scenario.group if one.lane == "replicate" or one.operation == "replicate" else 1)
            lanes.setdefault(one.lane, []).append((one.operation, whole / element))
    return lanes


def is_turned(ours, theirs):
    """Whether one is the other from some place on: an iteration may be said to begin anywhere."""
    return len(ours) == len(theirs) and any(ours[turn:] + ours[:turn] == theirs for turn in range(len(ours)))


# ---- the peer itself ------------------------------------------------------------------------------------------------

class TheReplay(unittest.TestCase):
    """What holds of the peer's own answers, without the program."""

    @program.needs(WORKED[-1])
    def test_worked_cases(self):
        for case in worked_cases():
            with self.subTest(case["name"]):
                self.assertEqual(sharded.replay_case(case)[1], [])

    def test_laws(self):
        """The lower bound holds; transfers fit in the iteration; the peak is between a part's and their sum."""
        pick = random.Random(SEED)
        for _ in range(5):
            for strategy in SHARDED + PLANNED:
                case = random_case(pick, strategy)
                answers = case.simulate().answers
                slack = Fraction(50, 10**12)
                self.assertGreaterEqual(answers["iteration_s"], answers["lower_bound_s"] - slack, case.describe())
                self.assertLessEqual(answers["comm_busy_s"], answers["iteration_s"] + slack, case.describe())
                self.assertLessEqual(answers["memory_bytes"], sum(answers["memory"].values()), case.describe())
                self.assertGreaterEqual(answers["memory_bytes"], max(answers["memory"].values()), case.describe())

    def test_without_sharding_it_is_version_1(self):
        """`--zero 0`, one micro-batch and no update: what `coded.py` replays."""
        pick = random.Random(SEED + 1)
        for number in range(60):
            case = random_case(pick, PLANNED[number % len(PLANNED)])
            case.trace.pop("update", None)
            del case.words[2:case.words.index("-o") if "-o" in case.words else -1]
            case.words += ["-o", "update=0 us"]
            scenario = sharded.Scenario(case.trace, case.cluster, case.words)
            slowdowns = {row["worker"]: Fraction(row["slowdown"]) for row in case.cluster.get("stragglers", [])}
            slowdowns = [slowdowns.get(worker, Fraction(1)) for worker in range(scenario.workers)]
            if scenario.workers == 1:
                continue
            blocks = sharded.Blocks(scenario, sharded.Plan(scenario))
            schedule = coded.Schedule(
                [coded.Block(sum(size for _, size in block.slices), {layer for layer, _ in block.slices},
                             block.priority) for block in blocks.blocks],
                "as-listed" if blocks.order == "listed" else blocks.order, scenario.number("credit", 1),
                barrier="layer" if blocks.by_layer else "iteration", after_backward=blocks.after_backward)
            cost = coded.WireCost(*scenario.price("all-reduce", scenario.workers), scenario.workers, lambda size: size)
            expected = coded.simulate(scenario.in_bytes(), slowdowns, schedule, cost, coded.Coding(None, False, False),
                                      scenario.options.get("sharing", "serial"))
            answers = case.simulate().answers
            for key, value in (("iteration_s", expected.iteration), ("comm_busy_s", expected.comm_busy)):
                self.assertLessEqual(abs(answers[key] * reference.SECOND - value), 50, f"{key}\n{case.describe()}")


# ---- the program against the peer -----------------------------------------------------------------------------------

REFUSALS = [  # (arguments, a word of the complaint)
    ("-s wfbp --shard-group 2", "shard"), ("-s wfbp --zero 0 --shard-group 2", "shard"),
    ("-s zero-3 --shard-group 2", "shard"), ("-s zero-1 --shard-group 2", "shard"),
    ("-s megatron -o distributed_optimizer=false --shard-group 2", "shard"), ("-s fsdp2 --shard-group 3", "shard"),
    ("-s dear --zero 1", "zero"), ("-s dear --zero 2", "zero"), ("-s wfbp --zero 1 --codec fp16", "codec"),
    ("-s fsdp1 --zero 1", "zero"), ("-s zero-2 --zero 2", "zero"), ("-s megatron --zero 1", "zero"),
    ("-s fsdp2 -o barrier=layer", "barrier"), ("-s zero-3 --codec fp16", "codec"), ("-s wfbp --zero 3", "zero"),
    ("-s fsdp2 -o wrap=group", "wrap"), ("-s fsdp2 -o prefetch=0", "prefetch"),
    ("-s fsdp2 -o reduce_buffers=0", "reduce_buffers"), ("-s fsdp1 -o limit=0", "limit"),
    ("-s megatron -o overlap_grad_reduce=false -o overlap_param_gather=true", "overlap_param_gather"),
    ("-s megatron -o distributed_optimizer=false -o overlap_param_gather=true", "overlap_param_gather"),
    ("-s simple-fsdp --zero 3", "zero"), ("-s megatron-fsdp --zero 1", "zero"),
    ("-s simple-fsdp --shard-group 3", "shard"), ("-s megatron-fsdp --shard-group 3", "shard"),
    ("-s simple-fsdp -o barrier=layer", "barrier"), ("-s megatron-fsdp --codec fp16", "codec"),
    ("-s simple-fsdp -o reorder=tensors", "reorder"), ("-s megatron-fsdp -o outer=full", "outer"),
    ("-s megatron-fsdp -o unit_size=-1", "unit_size"), ("-s megatron-fsdp -o sync=never", "sync"),
    ("-s simple-fsdp --pp 2", "pp"), ("-s megatron-fsdp --pp 2", "pp"),
    ("-s wfbp --accumulate 0", "accumulate"), ("-s fsdp1 -o gradient_dtype=fp7", "gradient_dtype"),
]


@program.needs_program
class Sharded(program.Case):
    def disagreement(self, case):
        """None, or everything that a reader needs to decide who is right."""
        case.write(self.folder)
        result = case.simulate()
        done = self.run_program("run", "-p", "trace.json", "-c", "cluster.json", *case.words)
        if done.returncode != 0:
            return f"exit {done.returncode}: {done.stderr.strip()}\n{case.describe()}"
        given = json.loads(done.stdout)
        lines = sharded.differences(given, result)
        if not lines:
            return None
        own = {key: {part: float(size) for part, size in value.items()} if isinstance(value, dict) else
               value if value is None else float(value) for key, value in result.answers.items()}
        return "\n".join([*lines, case.describe(), f"program: {json.dumps({key: given.get(key) for key in own})}",
                          f"peer:    {json.dumps(own)}", "the peer's steady iteration, in us from B_L:",
                          result.timeline])

    def check(self, strategy):
        pick, found = random.Random(f"{SEED} {strategy}"), []
        for number in range(CASES):
            case = random_case(pick, strategy)
            if text := self.disagreement(case):
                found.append(f"{strategy}, case {number}: {text}")
            if len(found) == SHOWN:
                break
        if found:
            self.fail("\n\n" + "\n\n".join(found))

    def test_random_cases(self):
        for strategy in SHARDED + PLANNED:
            with self.subTest(strategy):
                self.check(strategy)

    def test_order_of_transfers(self):
        """Lane by lane: the same collectives, of as many elements, in the same order where the lane keeps the plan's."""
        kept = 0
        for strategy in SHARDED + PLANNED:
            pick = random.Random(f"{SEED} order {strategy}")
            for number in range(max(1, CASES // 3)):
                case = random_case(pick, strategy)
                case.write(self.folder)
                done = self.run_program("plan", "-p", "trace.json", "-c", "cluster.json", *case.words)
                self.assertEqual(done.returncode, 0, f"{done.stderr}{case.describe()}")
                scenario = sharded.Scenario(case.trace, case.cluster, case.words)
                ours, ordered = lanes_of_plan(json.loads(done.stdout), scenario)
                theirs = lanes_of_peer(scenario)
                with self.subTest(strategy, case=number):
                    self.assertEqual(ours.keys(), theirs.keys(), case.describe())
                    for lane in ours:
                        if lane in ordered:
                            kept += 1
                            self.assertTrue(is_turned(ours[lane], theirs[lane]),
                                            f"{lane}: {ours[lane]}, the peer: {theirs[lane]}\n{case.describe()}")
                        else:
                            self.assertEqual(sorted(ours[lane]), sorted(theirs[lane]), case.describe())
        self.assertGreater(kept, CASES)

    @program.needs(WORKED[-1])
    def test_worked_cases(self):
        for case in worked_cases():
            with self.subTest(case["name"]):
                own = Case(case["trace"], case["cluster"], shlex.split(case["command"])[6:])
                self.assertIsNone(self.disagreement(own), case.get("derivation"))

    def test_refusals(self):
        """Exit 2 and one line that names what is wrong."""
        layers = [{"name": "l1", "tensors": [{"name": "l1.0", "shape": [240]}]}]
        trace = {"model": {"name": "m", "layers": layers}, "device": "x", "framework": "x", "batch_size": 8,
                 "precision": "fp32", "origin": "measured", "source": "x", "unit": "us",
                 "layers": [{"name": "l1", "forward": 1, "backward": 2}]}
        cluster = {"name": "c", "workers": 4, "network": {"alpha": "1 us", "beta": "1 ns/B", "collective": "ring"}}
        Case(trace, cluster, []).write(self.folder)
        for words, named in REFUSALS:
            with self.subTest(words):
                error = self.refusal("run", "-p", "trace.json", "-c", "cluster.json", *words.split(), "--json")
                self.assertIn(named.replace("_", "-"), error.replace("_", "-"))


if __name__ == "__main__":
    unittest.main()
