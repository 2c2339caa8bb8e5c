"""Random cases of pipelines, as files and arguments for the program and the peer.

Everything that the contract allows is drawn: degrees, schedules and files of them, cuts, networks on one and on two
levels, options of all kinds. Cases that the peer rejects are drawn again.
"""

import json
import random
import shlex
from fractions import Fraction

import coded
import pipeline_schedules
import pipelines
import sharded
from pipeline_programs import written
from pipeline_scenario import BLOCKS, SHAPE, Scenario
from pipeline_schedules import Refused, Word
from test_sharded import Numbers, chance, divisors, group_names
from test_sharded import random_case as random_flat_case

COLLECTIVES = ["ring", "ring", "ring", "halving-doubling", "recursive-doubling", "binary-tree", "double-binary-tree",
               "parameter-server"]


# ---- random cases ---------------------------------------------------------------------------------------------------

class Shape:
    """Degrees, and numbers of layers, chunks and micro-batches that suit the schedule."""

    def __init__(self, pick):
        self.schedule = pick.choice(pipeline_schedules.NAMES + ["1f1b", "interleaved"])
        self.ranks = pick.choice([2, 2, 2, 3, 3, 4])
        self.width = {"gpipe": 1, "1f1b": 1, "zbv": 2, "dualpipe-v": 2}.get(self.schedule) or pick.choice(
            [2, 2, 3] if self.schedule == "interleaved" else [1, 1, 2, 3])
        self.micro_batches = pick.randint(1, 8)
        if self.schedule == "dualpipe-v":
            self.micro_batches = 2 * self.ranks + pick.randint(0, 2)
        elif self.width > 1 and self.schedule not in ("zbv", "looped-bfs") and pick.random() < 0.8:
            self.micro_batches = self.ranks * pick.randint(1, max(1, 8 // self.ranks))
        self.group = None
        if self.schedule == "interleaved" and self.micro_batches > self.ranks and pick.random() < 0.3:
            self.group = pick.randint(self.ranks, self.micro_batches)
        count = self.ranks * self.width
        self.layers = pick.randint(count, max(6, count, min(10, 2 * count)))
        self.tensors, self.contexts = pick.choice([1, 1, 2]), pick.choice([1, 1, 1, 2])
        self.data = pick.choice([1, 2, 2, 2, 3, 4])
        self.experts = pick.choice(divisors(self.contexts * self.data))
        self.stride = self.tensors * self.contexts * self.data
        self.workers = self.ranks * self.stride


def random_trace(pick, numbers, shape):
    model = [{"name": f"l{index}", "tensors": [{"name": f"l{index}.{place}", "shape": [numbers.elements()]}
                                               for place in range(pick.choice([0, 1, 1, 1, 2]))]}
             for index in range(shape.layers)]
    rows = [{"name": layer["name"], "forward": numbers.microseconds(), "backward": numbers.microseconds()}
            for layer in model]
    # The program refuses a profile without tensors, or whose times are all zero.
    if not any(layer["tensors"] for layer in model) or not any(row["forward"] + row["backward"] for row in rows):
        model[-1]["tensors"], rows[-1]["forward"] = [{"name": "only", "shape": [240]}], 0.96
    for row in rows:
        row["output_bytes"] = pick.choice([0, 1, 1, 2, 3]) * (480 if numbers.round else pick.randint(1, numbers.scale))
        if pick.random() < 0.3:
            row["backward_weight"] = row["backward"] if pick.random() < 0.2 else round(row["backward"] * 0.25, 6)
        if pick.random() < 0.3:
            row["activation_bytes"] = pick.randint(1, 10) * (480 if numbers.round else numbers.scale)
        if pick.random() < 0.3:
            row["collectives"] = [random_collective(pick, numbers) for _ in range(pick.choice([1, 1, 2]))]
    talk_in_groups(rows, {"ep": shape.experts}, numbers)
    if pick.random() < 0.3:
        for row, name in zip(rows, group_names(pick, shape.layers)):
            row |= {"group": name} if name else {}
        for layer in model:  # the contract does not say if cuts may fall next to a group without tensors
            layer["tensors"] = layer["tensors"] or [{"name": f"{layer['name']}.0", "shape": [240]}]
    trace = {"model": {"name": "random", "layers": model}, "device": "none", "framework": pick.choice(["none", "PyTorch 2.4"]),
             "batch_size": pick.choice([1, 8]), "precision": pick.choice(["fp32", "fp32", "bf16"]),
             "origin": "measured", "source": "random", "unit": "us", "layers": rows}
    return trace | tie(pick, model) | ({"update": numbers.microseconds()} if pick.random() < 0.6 else {})


def random_collective(pick, numbers):
    return {"op": pick.choice(["all-reduce", "all-gather", "reduce-scatter", "all-to-all"]),
            "group": pick.choice(["tp", "tp", "cp", "ep"]), "pass": pick.choice(["forward", "backward"]),
            "bytes": pick.choice([0, 1, 2, 2]) * (480 if numbers.round else pick.randint(1, numbers.scale))}


def talk_in_groups(rows, degrees, numbers):
    """Makes a layer communicate in each group: only then a profile is that of a group's member."""
    talk = {one["group"] for row in rows for one in row.get("collectives", [])}
    for group, size in degrees.items():
        if size > 1 and group not in talk:
            rows[0].setdefault("collectives", []).append(
                {"op": "all-reduce", "group": group, "pass": "forward", "bytes": 480 if numbers.round else numbers.scale})


def tie(pick, model):
    """Ties two tensors, of the first and the last layer with tensors, and makes them equally large."""
    with_tensors = [layer for layer in model if layer["tensors"]]
    if len(with_tensors) < 2 or pick.random() < 0.7:
        return {}
    first, last = with_tensors[0]["tensors"][0], with_tensors[-1]["tensors"][-1]
    last["shape"] = first["shape"]
    return {"tied": [first["name"], last["name"]]}


def random_level(pick, numbers):
    alpha = round(0.96 * pick.randint(0, 2), 6) if numbers.round else pick.randint(0, 10**5) / 1000
    return {"alpha": f"{alpha} us", "beta": numbers.per_byte()}


def random_network(pick, numbers, shape):
    network = {"collective": pick.choice(COLLECTIVES), "fidelity": "alpha-beta", "gamma": numbers.per_byte()}
    network |= random_level(pick, numbers)
    if pick.random() < 0.4:
        sizes = [size for size in range(1, shape.workers) if size % shape.stride == 0 or shape.stride % size == 0]
        inside = [size for size in sizes if size < shape.stride]  # gradients cross nodes
        size = pick.choice([*sizes, *3 * inside, shape.workers, 2 * shape.workers])
        network["node"] = {"workers": size} | random_level(pick, numbers)
        network["rails"] = min(pick.choice([1, 1, 2, size]), size)
        network["gamma"] = "0 ns/B"
    elif not numbers.round and pick.random() < 0.15:
        for key in ("alpha", "beta", "gamma"):
            del network[key]
        network["measured"] = {"collective": "ring", "workers": pick.choice([2, 4, 8]), "a": "120.5 us",
                               "b": f"{pick.randint(1, 4000) / 1000} ns/B", "gamma": "0 ns/B"}
    if pick.random() < 0.2:
        network["p2p"] = random_level(pick, numbers)
    if pick.random() < 0.2:
        network["launch"] = numbers.duration()
    return network


def strategy_options(pick, strategy, numbers, total):
    """Draws options of a strategy. total: elements of all tensors."""
    some = numbers.elements(10) if numbers.round else pick.randint(1, max(1, total))
    if strategy == "fsdp2":
        return chance(pick, 0.4, {
            "wrap": ["layer", f"{4 * numbers.elements(10)} B"], "lanes": ["separate", "shared"],
            "reduce_grad": ["async", "wait"], "reshard": ["none"], "reduce": ["last"]})
    if strategy == "megatron":
        options = {"bucket_size": str(pick.choice([some, some, some, 0]))} | chance(pick, 0.3, {
            "distributed_optimizer": ["true", "false"], "overlap_grad_reduce": ["true", "false"],
            "align_grad_reduce": ["true", "false"]})
        both = "false" not in (options.get("distributed_optimizer"), options.get("overlap_grad_reduce"))
        return options | chance(pick, 0.4, {"overlap_param_gather": ["true", "false"] if both else ["false"]})
    if strategy == "ddp":
        return {"bucket_cap": f"{4 * some} B", "first_bucket": f"{2 * some} B"}
    if strategy == "horovod":
        cycle = f"{0.96 * pick.randint(1, 8)} us" if numbers.round else f"{pick.randint(1, numbers.scale)} us"
        return {"cycle": cycle, "threshold": f"{4 * some} B"}
    if strategy in ("bytescheduler", "p3", "byteps"):
        smallest = max(1, total // 6)  # a few blocks per chunk
        size = 480 * (smallest // 480 + pick.randint(1, 4)) if numbers.round else pick.randint(smallest, 4 * smallest)
        options = {"partition": f"{size} B"} | ({} if strategy == "p3" else {"credit": str(pick.choice([1, 2, 4, 7]))})
        return options | (chance(pick, 0.3, {"release": ["layer", "backward"]}) if strategy == "byteps" else {})
    return {}


def common_options(pick, numbers, strategy, shape):
    options = chance(pick, 0.25, {
        "gradient_dtype": ["fp32", "bf16", "fp16"], "parameter_dtype": ["fp32", "bf16", "fp16"],
        "sharing": ["fair", "serial"], "state": [4, 6, 16], "update": [numbers.duration()],
        "p2p_bytes": [f"{480 * pick.randint(0, 4)} B"], "p2p_split": ["true", "true", "false"]})
    if strategy in BLOCKS:
        options |= chance(pick, 0.2, {"barrier": ["iteration", "layer"]})
    by_layer = options.get("barrier", "layer" if strategy in ("bytescheduler", "p3") else "iteration") == "layer"
    options |= chance(pick, 0.4, {"update_barrier": ["stage"] if by_layer else ["stage", "all"]})
    if shape.schedule in ("gpipe", "1f1b") and shape.micro_batches >= shape.ranks:
        options |= chance(pick, 0.6, {"p2p": ["blocking", "blocking", "overlap"]})
    if shape.group:
        options["microbatch_group"] = str(shape.group)
    return options


def random_cut(pick, shape):
    """Draws a value of --stages, or none."""
    kind, count = pick.choice(["", "", "equal", "balanced", "list"]), shape.ranks * shape.width
    if kind == "list":
        cuts = [0, *sorted(pick.sample(range(1, shape.layers), count - 1)), shape.layers]
        kind = ",".join(str(last - first) for first, last in zip(cuts, cuts[1:]))
    return {"stages": kind} if kind else {}


class Case:
    """A trace, a cluster, files and the arguments of `allreplay run`, for the program and for the peer."""

    def __init__(self, trace, cluster, words, files=None):
        self.trace, self.cluster, self.words, self.files = trace, cluster, words, files or {}

    def write(self, folder):
        (folder / "trace.json").write_text(json.dumps(self.trace), encoding="utf-8")
        (folder / "cluster.json").write_text(json.dumps(self.cluster), encoding="utf-8")
        for name, text in self.files.items():
            (folder / name).write_text(text, encoding="utf-8")

    def simulate(self):
        return pipelines.simulate(self.trace, self.cluster, self.words, self.files)

    def describe(self):
        files = [f"{name}:\n{text}" for name, text in self.files.items()]
        return "\n".join([f"trace.json: {json.dumps(self.trace)}", f"cluster.json: {json.dumps(self.cluster)}", *files,
                          f"allreplay run -p trace.json -c cluster.json {shlex.join(self.words)}"])


def random_case(pick, strategy):
    """Draws until the peer accepts the case."""
    while True:
        case = drawn(pick, strategy)
        try:
            scenario = Scenario(case.trace, case.cluster, case.words, case.files)
            pipelines.Replay(written(scenario, 1)).run()
            return case
        except Refused:
            continue


def drawn(pick, strategy):
    numbers, shape = Numbers(pick), Shape(pick)
    if strategy in ("mg-wfbp", "optimal-merge"):  # round times would cause ties, which rounding decides
        numbers.round = False
    trace = random_trace(pick, numbers, shape)
    network = random_network(pick, numbers, shape)
    total = sum(tensor["shape"][0] for layer in trace["model"]["layers"] for tensor in layer["tensors"])
    options = strategy_options(pick, strategy, numbers, total) | common_options(pick, numbers, strategy, shape)
    if network["collective"] == "double-binary-tree" and "node" in network:
        network["collective"] = "ring"
    flags, files = random_flags(pick, strategy, shape, options)
    cluster = {"name": "random", "workers": shape.workers, "network": network}
    other = random.Random(json.dumps(network))  # a separate stream, so that the other draws do not depend on it
    if other.random() < 0.3:
        cluster["stragglers"] = [{"worker": worker, "slowdown": other.choice([1.25, 1.5, 2, 0.5])}
                                 for worker in other.sample(range(shape.workers), other.randint(1, 2))]
    if pick.random() < 0.2:  # the same in the cluster file
        keys = [key for key in SHAPE if key in flags and key != "stages" and not files]
        cluster["parallel"] = {key: flags[key] if key == "schedule" else int(flags[key]) for key in keys}
        flags = {key: value for key, value in flags.items() if key not in keys}
    talk = {one["group"] for row in trace["layers"] for one in row.get("collectives", [])}
    whole = any(size > 1 and group not in talk for group, size in (("tp", shape.tensors), ("cp", shape.contexts)))
    if pick.random() < 0.2 or whole:
        trace["parallel"] = {"tp": shape.tensors, "cp": shape.contexts}
        if pick.random() < 0.5:  # degrees come from the trace
            flags = {key: value for key, value in flags.items() if key not in ("tp", "cp")}
    if pick.random() < 0.2:  # flags are options like others
        options |= {"accumulate" if key == "micro-batches" else key: flags.pop(key) for key in list(flags)}
    words = ["-s", strategy, *(word for key, value in flags.items() for word in (f"--{key}", value)),
             *(word for key, value in options.items() for word in ("-o", f"{key}={value}"))]
    return Case(trace, cluster, [*words, "--json"], files)


def random_flags(pick, strategy, shape, options):
    """Returns ({flag: value}, files)."""
    flags = {"pp": str(shape.ranks), "schedule": shape.schedule, "micro-batches": str(shape.micro_batches),
             "chunks": str(shape.width)}
    flags |= {key: str(value) for key, value in (("tp", shape.tensors), ("cp", shape.contexts), ("ep", shape.experts))
              if value > 1}
    flags |= random_cut(pick, shape)
    if strategy in BLOCKS:
        zero = pick.choice([0, 0, 1, 2])
        flags |= {"zero": str(zero)} if zero else {}
    if shape.width == pipeline_schedules.DEFAULT_CHUNKS.get(shape.schedule, 1) and pick.random() < 0.5:
        del flags["chunks"]
    if options.get("p2p") == "blocking" or pick.random() < (0.3 if strategy == "fsdp2" else 0.6):
        return flags, {}
    shape.micro_batches = min(shape.micro_batches, 5)
    flags |= {"schedule": "schedule.csv", "micro-batches": str(shape.micro_batches)}
    flags.pop("chunks", None)
    options.pop("microbatch_group", None)
    if pick.random() < 0.5:
        del flags["micro-batches"]
    return flags, {"schedule.csv": random_file(pick, strategy, shape)}


# ---- files of schedules ----------------------------------------------------------------------------------------------

def random_file(pick, strategy, shape):
    """Draws rows in a random valid order, or like a schedule's; some with sends, FSDP's instructions and blanks."""
    rows = random_rows(pick, shape, pick.random() < 0.5)
    if pick.random() < 0.4:
        rows = with_sends(pick, rows)
    if strategy == "fsdp2" and pick.random() < 0.7:
        rows = [with_unshard(pick, row) for row in rows]
    text = pipeline_schedules.write(rows)
    if pick.random() < 0.2:
        text = "\n".join(line.replace(",", ",,", pick.randint(0, 3)) + "," for line in text.splitlines())
    return text


def random_rows(pick, shape, anywhere):
    """Draws rows with chunks on their usual ranks, or (`anywhere`) on random ones, in unequal numbers."""
    count, ranks = shape.ranks * shape.width, shape.ranks
    homes = [chunk % ranks for chunk in range(count)]
    if shape.schedule in ("zbv", "dualpipe-v"):
        homes = [chunk if chunk < ranks else 2 * ranks - 1 - chunk for chunk in range(count)]
    if anywhere:
        homes = [*range(ranks), *(pick.randrange(ranks) for _ in range(ranks, count))]
        pick.shuffle(homes)
    split = {chunk for chunk in range(count) if pick.random() < 0.3}
    left = [Word(kind, chunk, micro) for chunk in range(count) for micro in range(shape.micro_batches)
            for kind in ("FIW" if chunk in split else "FB")]
    rows, done = [[] for _ in range(ranks)], set()
    while left:
        ready = [word for word in left if all(before in done for before in needed(word, split, count))]
        word = pick.choice([one for one in ready if one.kind != "F"] or ready) if pick.random() < 0.5 else ready[0]
        left.remove(word)
        done.add(word)
        rows[homes[word.chunk]].append((word,))
    return rows


def needed(word, split, count):
    """Returns the actions that have to precede one."""
    kind, chunk, micro = word
    if kind == "F":
        return [Word("F", chunk - 1, micro)] if chunk else []
    if kind == "W":
        return [Word("I", chunk, micro)]
    behind = [Word("I" if chunk + 1 in split else "B", chunk + 1, micro)] if chunk + 1 < count else []
    return [Word("F", chunk, micro), *behind]


def with_sends(pick, rows):
    """Inserts a SEND somewhere after each action with an output, and a RECV somewhere."""
    homes = pipeline_schedules.homes_of(rows)
    result = []
    for rank, row in enumerate(rows):
        result.append([])
        waiting = []
        for cell in row:
            result[-1].append(cell)
            for word in cell:
                to = word.chunk + (1 if word.kind == "F" else -1)
                if word.kind != "W" and 0 <= to < len(homes) and homes[to] != rank:
                    waiting.append((Word("SEND_F" if word.kind == "F" else "SEND_B", word.chunk, word.micro),))
                elif pick.random() < 0.2:
                    result[-1].append((Word("RECV_F", word.chunk, word.micro),))
            while waiting and pick.random() < 0.8:
                result[-1].append(waiting.pop(0))
        result[-1] += waiting
    return result


def with_unshard(pick, row):
    """Inserts UNSHARD before a chunk's first action or earlier, and REDUCE_GRAD after its last pass or later. Some
    chunks are freed after their last action, some between two."""
    words = [(place, word) for place, cell in enumerate(row) for word in cell
             if word.kind in pipeline_schedules.COMPUTING]
    events = []  # (place in the row, order, word)
    for chunk in {word.chunk for _, word in words}:
        places = [place for place, word in words if word.chunk == chunk]
        gradients = [place for place, word in words
                     if word.chunk == chunk and word.kind in pipeline_schedules.GRADIENTS]
        events.append((pick.choice([0, places[0], pick.randint(0, places[0])]), 1, Word("UNSHARD", chunk)))
        if len(places) > 2 and pick.random() < 0.4:
            number = pick.randrange(1, len(places))
            before, after = places[number - 1], places[number]
            events += [(before + 1, 0, Word("RESHARD", chunk)),
                       (pick.randint(before + 1, after), 1, Word("UNSHARD", chunk))] if before < after else []
        events.append((pick.randint(gradients[-1] + 1, len(row)), 2, Word("REDUCE_GRAD", chunk)))
        if pick.random() < 0.5:
            events.append((pick.randint(places[-1] + 1, len(row)), 3, Word("RESHARD", chunk)))
    result = []
    for place in range(len(row) + 1):
        result += [(word,) for _, _, word in sorted(event for event in events if event[0] == place)]
        result += [row[place]] if place < len(row) else []
    return result


# ---- one rank, with collectives in layers ----------------------------------------------------------------------------

class Flat:
    """A case of `test_sharded.py` with groups of workers and collectives inside layers, but without a pipeline."""

    def __init__(self, pick, strategy):
        own = random_flat_case(pick, strategy)
        self.alone, replicas = own, own.cluster["workers"]
        own.cluster.pop("stragglers", None)
        numbers = Numbers(pick)
        numbers.round = False
        tensors, contexts, experts = pick.choice([2, 3]), pick.choice(divisors(replicas)), pick.choice(divisors(replicas))
        trace = json.loads(json.dumps(own.trace))
        for row in trace["layers"]:
            if pick.random() < 0.5:
                row["collectives"] = [random_collective(pick, numbers)]
        talk_in_groups(trace["layers"], {"tp": tensors, "cp": contexts, "ep": experts}, numbers)
        degrees = ["--tp", str(tensors), "--cp", str(contexts), "--ep", str(experts)]
        self.case = Case(trace, {**own.cluster, "workers": tensors * replicas}, [*own.words, *degrees])
        if "measured" in own.cluster["network"]:  # the price of one layer's collective asks for alpha and beta
            network = {"collective": "ring", "alpha": "3 us", "beta": "0.7 ns/B", "fidelity": "alpha-beta"}
            own.cluster["network"] = self.case.cluster["network"] = network
        self.scenario = Scenario(trace, self.case.cluster, self.case.words)
        for index, row in enumerate(own.trace["layers"]):
            for which in ("forward", "backward"):
                time = getattr(self.scenario.layers[index], which) + self.scenario.collective_time(index, which, 0)
                row[which] = str(Fraction(time, coded.UNITS["us"]))

    def simulate(self):
        """Simulates sharding with the collectives as a part of the layers' times, then computes the other numbers."""
        s, alone = self.scenario, self.alone
        answers = dict(sharded.simulate(alone.trace, alone.cluster, alone.words).answers)
        computing = s.micro_batches * sum(layer.forward + layer.backward for layer in s.layers)
        inside = s.micro_batches * sum(s.collective_time(index, which, 0) for index in range(len(s.layers))
                                       for which in ("forward", "backward"))
        answers["layer_comm_s"] = Fraction(inside, 10**12)
        answers["exposed_comm_s"] += answers["layer_comm_s"]
        if answers["iteration_s"]:
            per_second = 1 / answers["iteration_s"]
            answers["speedup"] = s.workers * Fraction(computing + s.update, 10**12) * per_second
            answers["samples_per_s"] = s.data * s.micro_batches * s.batch * per_second
        return answers
