"""Part of the peer: programs of pipelines, that is, the steps and transfers of several iterations with dependencies.

Written only from the contract. A writer per rank and kind of strategy writes the steps of its compute stream, its
transfers and its sends; `pipelines.py` replays them.
"""

import collections
import math
from collections import namedtuple
from fractions import Fraction

import coded
import reference
import sharded
from pipeline_scenario import PARTITIONED
from pipeline_schedules import COMPUTING, GRADIENTS, Word, require
from reference import rounded
from sharded import size_of

# ---- programs -------------------------------------------------------------------------------------------------------

Held = namedtuple("Held", "rank part size since until")  # bytes from one moment (item, edge) to another
Lane = namedtuple("Lane", "order window", defaults=("listed", 1))  # order: listed, first-ready or priority


class Item:
    """Has a start and an end. after: moments (item, edge) that it depends on. rank: the rank that runs it."""

    def __init__(self, name, rank, iteration, after=()):
        self.name, self.rank, self.iteration, self.after = name, rank, iteration, list(after)
        self.start = self.end = self.missing = None


class Step(Item):
    """A task of a compute stream. computing, collectives: ps."""

    def __init__(self, name, rank, iteration, after=(), computing=0, collectives=0):
        super().__init__(name, rank, iteration, after)
        self.computing, self.collectives = computing, collectives
        self.pair = self.side = None  # in a pair: which one, and F or B


class Exchange(Item):
    """Tokens go to experts or back, in the rank's lane for that. side: F or B."""

    def __init__(self, name, rank, iteration, after, duration, side):
        super().__init__(name, rank, iteration, after)
        self.duration, self.side = duration, side


class Send(Item):
    """A send between two ranks. lane: the ordered pair, or None for blocking sends, which wait for both ranks."""

    def __init__(self, name, rank, iteration, after, lane, duration):
        super().__init__(name, rank, iteration, after)
        self.lane, self.duration = lane, duration


class Transfer(Item):
    """A reduction or a gather among the replicas of a rank. key: its order among those waiting in its lane.

    tick: None, or (the step from whose start ticks count, the number of its own tick, ps between ticks). group: "data",
    or "experts" for tensors of experts.
    """

    def __init__(self, name, rank, iteration, after, lane, operation, size, key=(), tick=None, group="data"):
        super().__init__(name, rank, iteration, after)
        self.group = group
        self.lane, self.operation, self.size, self.key, self.tick = lane, operation, Fraction(size), key, tick


class Tied(Item):
    def __init__(self, iteration, after, duration, ranks):
        super().__init__("tied", ranks[0], iteration, after)
        self.ranks, self.duration = ranks, duration


class Program:
    """Several iterations of all ranks."""

    LANES = ["shared", "gather", "reduce", "expert-gather", "expert"]  # in the order of admission within an instant

    def __init__(self, scenario):
        self.scenario = scenario
        self.streams = [[] for _ in range(scenario.ranks)]
        self.items, self.holdings, self.firsts = [], [], []  # firsts: rank 0's first task of each iteration
        self.lanes = {name: Lane() for name in self.LANES}

    def add(self, item):
        self.items.append(item)
        if isinstance(item, Step):
            self.streams[item.rank].append(item)
        return item

    def hold(self, rank, part, size, since, until):
        self.holdings.append(Held(rank, part, Fraction(size), since, until))


def end(item):
    return item, "end"


def start(item):
    return item, "start"


Pass = namedtuple("Pass", "place word steps number")  # steps: by layer. number: among its chunk's gradient passes


class RankWriter:
    """Writes one rank: its row, and what its strategy adds. Subclasses override the hooks of the strategy."""

    def __init__(self, program, rank):
        self.s, self.program, self.rank = program.scenario, program, rank
        self.words, self.actions = self.s.words[rank], self.s.actions[rank]
        self.own = self.s.own[rank]
        self.updated = None  # the last iteration's update
        self.last_pass = {word.chunk: place for place, word in enumerate(self.actions) if word.kind in GRADIENTS}
        self.first_forward = {}
        for place, word in enumerate(self.actions):
            if word.kind == "F":
                self.first_forward.setdefault(word.chunk, place)
        self.plan()

    # Hooks of a strategy.

    def plan(self):
        """Called once, before anything is written."""

    def open(self):
        """Called at the start of an iteration, for gathers."""

    def whole_row_waits(self):
        """Transfers that the first action waits for."""
        return []

    def layer_waits(self, layer):
        """Transfers that a layer of the first F action of its chunk waits for."""
        return []

    def unit_waits(self, layer):
        """Transfers that any task of a layer waits for."""
        return []

    def share(self, layer):
        """Returns (the share of U that runs before a layer, transfers that it waits for), or None."""
        return None

    def by_shares(self):
        """True if layers are updated one by one in zero time, so that the update needs no task."""
        return self.s.by_layer and not self.s.zero and not self.s.update and self.s.strategy not in ("megatron", "fsdp2")

    def passed(self, done):
        """Called after a gradient pass is written."""

    def instruction(self, word):
        """Called for a word of a schedule file that is not an action."""

    def close(self):
        """Called at the end of the row."""

    # Writing.

    def after_update(self):
        return [end(self.updated)] if self.updated else []

    def before(self):
        """The end of the previous action; at the start of a row, that of the update."""
        return [end(item) for item in self.ends] if self.ends else self.after_update()

    def step(self, name, after=(), computing=0, collectives=0):
        item = Step(name, self.rank, self.iteration, [*after, *self.held], computing, collectives)
        self.held = []
        return self.program.add(item)

    def transfer(self, name, lane, operation, size, after, key=(), tick=None, group="data"):
        item = Transfer(f"{name}@{self.rank}", self.rank, self.iteration, after, lane, operation, size, key, tick, group)
        self.program.add(item)
        if lane in ("reduce", "expert") or operation != "all-gather":
            self.reductions.append(item)
        return item

    def begin(self, iteration):
        self.iteration, self.held, self.action_held, self.computed = iteration, [], [], None
        self.ends = []  # what the next action follows: the end of the last one, or of both of a pair
        self.pair_starts = None  # in a pair: what its second action follows
        self.passes, self.forwards, self.reductions, self.results, self.sends = [], {}, [], {}, {}
        self.open()

    def write_row(self, messages):
        """Writes the steps of the row. messages: of this iteration, by the sender's (kind, chunk, micro)."""
        place = 0
        for word in self.words:
            if word.kind in COMPUTING:
                if self.s.blocking:
                    self.exchange(place, messages)
                self.act(place, word)
                place += 1
                if not self.s.with_sends:
                    self.send(word)
                self.after_action(word, place - 1)
            elif word.kind.startswith("SEND"):
                self.send(Word({"SEND_F": "F"}.get(word.kind, "B"), word.chunk, word.micro))
            else:
                self.instruction(word)
        if self.s.blocking:
            self.exchange(place, messages)
        self.ended = self.step("end", map(end, self.ends))
        self.close()
        # Transfers that follow the end of a row also follow its last exchange; reductions of blocks follow only their
        # gradients.
        if self.s.blocking and not isinstance(self, BlockWriter):
            for item in self.reductions:
                item.after += [end(self.ended)] if end(self.computed) in item.after else []

    def act(self, place, word):
        layers = self.s.chunks[word.chunk]
        opening = place == self.first_forward[word.chunk]
        leads, follows = place in self.s.pairs[self.rank], place - 1 in self.s.pairs[self.rank]
        paired = (self.iteration, place - follows) if leads or follows else None
        waits = [*map(end, self.whole_row_waits())] if place == 0 and not self.s.blocking else []
        waits += map(end, self.action_held)
        if leads:
            self.pair_starts = list(self.ends), list(self.action_held)
            waits += map(end, self.ends)
        elif follows:
            same = self.actions[place - 1].chunk == word.chunk and self.actions[place - 1].micro == word.micro
            waits += map(end, self.chain_end if same else [item for items in self.pair_starts for item in items])
        elif len(self.ends) > 1:
            waits += map(end, self.ends)
        self.action_held = []
        before = []  # in a pair: what the next layer of its chain follows
        steps = {}
        for count, layer in enumerate(layers if word.kind == "F" else reversed(layers)):
            share = self.share(layer) if opening and word.kind == "F" else None
            if share:
                require(not paired, "an update in a pair")
                update = self.step(f"U{layer}", map(end, share[1]), share[0])
                if self.s.update:
                    self.updates([layer], start(update), end(update))
            after = list(map(end, self.unit_waits(layer)))
            if opening and word.kind == "F":
                after += map(end, self.layer_waits(layer))
            name = f"{word.chunk}{word.kind}{word.micro}.{layer}"
            computing, collectives = self.s.task(word.kind, layer, self.rank)
            own = self.s.exchanges(word.kind, layer, self.rank) if paired else []
            steps[layer] = self.step(name, [*after, *map(end, before)], computing, collectives - sum(own))
            before = [steps[layer]] if paired else []
            steps[layer].pair, steps[layer].side = paired, word.kind if paired else None
            for number, duration in enumerate(own):
                before = [self.program.add(Exchange(f"{name} tokens {number}", self.rank, self.iteration,
                                                    [end(before[0])], duration, word.kind))]
            if opening and place == min(self.first_forward.values()) and count == 0 and self.by_shares():
                self.updates(self.s.of_rank(self.rank), start(steps[layer]), start(steps[layer]))
            if count == 0:
                steps[layer].after += waits
                self.results[word, "first"] = steps[layer]
        self.computed = steps[layers[-1] if word.kind == "F" else layers[0]]
        own_end = before[0] if paired else self.computed
        self.results[word, "last"] = own_end
        self.ends = [*self.chain_end, own_end] if follows else [own_end]
        self.chain_end = [own_end]
        if word.kind == "F":
            self.forwards[word.chunk, word.micro] = steps
        if word.kind in GRADIENTS:
            number = sum(done.word.chunk == word.chunk for done in self.passes)
            self.passes.append(Pass(place, word, steps, number))
            self.keep(word, steps)
            self.passed(self.passes[-1])

    def after_action(self, word, place):
        """Called after an action and its send."""

    def keep(self, word, steps):
        """Holds the activations of a forward until its backward."""
        for layer, forward in self.forwards[word.chunk, word.micro].items():
            if self.s.layers[layer].activation:
                self.program.hold(self.rank, "activations", self.s.layers[layer].activation, start(forward),
                                  end(steps[layer]))

    # Activations between chunks.

    def target(self, word):
        """The chunk that receives an action's output, or None."""
        if word.kind == "W":
            return None
        to = word.chunk + (1 if word.kind == "F" else -1)
        return to if 0 <= to < len(self.s.homes) and self.s.homes[to] != self.rank else None

    def source(self, word):
        """(F or B, chunk) whose output an action needs, on any rank, or None."""
        if word.kind == "W":
            return None
        chunk = word.chunk + (-1 if word.kind == "F" else 1)
        return ("F" if word.kind == "F" else "B", chunk) if 0 <= chunk < len(self.s.homes) else None

    def send(self, word):
        """Sends in its lane once the previous compute task has ended."""
        to = self.target(word)
        if to is None or self.s.blocking:
            return
        kind = "F" if word.kind == "F" else "B"
        lane = self.rank, self.s.homes[to]
        after = self.before() if self.s.with_sends else [end(self.chain_end[0])]
        self.sends[kind, word.chunk, word.micro] = self.program.add(
            Send(f"send {word.chunk}{kind}{word.micro}", self.rank, self.iteration, after, lane,
                 self.s.send_time(word.chunk, to)))

    def post(self, messages, keys, after=()):
        """Posts one side of messages; a message starts once both sides have posted it."""
        step = self.step("post", after)
        for key in keys:
            messages[key].after.append(end(step))
        return [end(messages[key]) for key in keys]

    def exchange(self, place, messages):
        """Writes the blocking exchange before an action, or after the last one."""
        before, behind = (self.actions[at] if 0 <= at < len(self.actions) else None for at in (place - 1, place))
        sent = [("F" if before.kind == "F" else "B", before.chunk, before.micro)] \
            if before and self.target(before) is not None else []
        source = self.source(behind) if behind else None
        received = [(*source, behind.micro)] if source and self.s.homes[source[1]] != self.rank else []
        whole = [end(transfer) for transfer in self.whole_row_waits()] if place == 0 else []
        if before and behind and before.kind != behind.kind:
            if sent or received:
                self.held += self.post(messages, sent + received)
            return
        if sent:
            self.held += self.post(messages, sent)
        if received:
            self.held += self.post(messages, received, whole)
        else:
            self.held += whole

    def connect(self, everybody):
        """Makes each action depend on the previous one in the pipeline."""
        for word in self.actions:
            source = self.source(word)
            if not source:
                continue
            kind, chunk = source
            sender = everybody[self.s.homes[chunk]]
            if sender is self:
                one = [Word(kind, chunk, word.micro), Word("I", chunk, word.micro)]
                item = next(self.results[made, "last"] for made in one if (made, "last") in self.results)
            elif self.s.blocking:
                continue
            else:
                item = sender.sends[kind, chunk, word.micro]
            self.results[word, "first"].after.append(end(item))

    def update(self, after):
        """The update, in one piece."""
        whole = self.s.of_rank(self.rank)
        self.updated = self.step("update", after, self.s.update_of(whole))
        self.updates(whole, start(self.updated), end(self.updated))

    def updates(self, layers, since, until):
        """Holds the additional memory of an update of some layers."""
        elements = self.s.shared(layers)
        self.program.hold(self.rank, "step", sharded.step_memory(self.s, elements), since, until)


# ---- strategies -----------------------------------------------------------------------------------------------------

Block = namedtuple("Block", "index slices key tick expert", defaults=(False,))  # slices: (layer, bytes of gradients)


class BlockWriter(RankWriter):
    """Plans of blocks, separate for each chunk, with or without ZeRO."""

    def plan(self):
        name = self.s.strategy
        self.after_pass = name == "s-sgd" or name == "byteps" and self.s.options.get("release") == "backward"
        order = {"ddp": "listed", "bytescheduler": "priority", "p3": "priority"}.get(name, "first-ready")
        self.program.lanes["reduce"] = self.program.lanes["expert"] = Lane(order, self.s.number("credit", 1))
        self.blocks = {chunk: self.partitions(chunk) if name in PARTITIONED else self.merged(chunk)
                       for chunk in self.own}
        self.pending = collections.defaultdict(list)  # by layer, transfers of the previous iteration
        self.last_gathers = []

    def partitions(self, chunk):
        """Slices of each single tensor, the short one last; by layer, or in backward order (byteps)."""
        size = size_of(self.s.options["partition"])
        tensors = [(layer, elements * self.s.gradient) for layer in self.s.chunks[chunk]
                   for elements in self.s.layers[layer].tensors]
        if self.s.strategy == "byteps":
            tensors.reverse()
        pieces = [(layer, min(size, total - size * place)) for layer, total in tensors
                  for place in range(math.ceil(total / size))]
        return [Block(index, [piece], index, None) for index, piece in enumerate(pieces)]

    def merged(self, chunk):
        """Blocks of each kind of tensors, which are numbered one kind after the other."""
        blocks = [block for kind in self.s.kinds() for block in self.merged_of(chunk, kind)]
        return [block._replace(index=index, key=index) for index, block in enumerate(blocks)]

    def merged_of(self, chunk, kind):
        """The plans of reference.py, for the chunk as a separate model with the times of its last pass."""
        word, layers = self.actions[self.last_pass[chunk]], self.s.chunks[chunk]
        rows = [reference.Layer(self.s.layers[layer].name, self.s.slowed(self.s.long("F", layer, self.rank), self.rank),
                                self.s.slowed(self.s.long(word.kind, layer, self.rank), self.rank),
                                [(str(place), elements * self.s.gradient)
                                 for place, elements in enumerate(self.s.layers[layer].tensors)
                                 if self.s.is_kind(layer, kind)]) for layer in layers]
        tensors = reference.backward_order(rows)
        if not tensors:
            return []
        a, b = self.s.price("reduce-scatter" if self.s.zero else "all-reduce", "data", self.rank)
        cost = reference.Cost(a + self.s.launch(), b, self.s.replicas)
        given = self.s.options
        options = {key: size_of(given[key]) for key in ("bucket_cap", "first_bucket", "threshold") if key in given}
        options |= {"cycle": rounded(coded.duration(given["cycle"]))} if "cycle" in given else {}
        plan = reference.STRATEGIES[self.s.strategy](tensors, reference.ready_times(rows, tensors), cost, **options)
        return [Block(index, [(layers[tensors[place].layer], tensors[place].bytes) for place in block], index,
                      (plan.ticks[index], plan.tick) if plan.tick else None, bool(kind))
                for index, block in enumerate(plan.blocks)]

    def open(self):
        if self.s.by_layer and not self.s.zero:
            return
        self.pending.clear()
        self.last_gathers = []
        if self.s.zero:
            self.gather()

    def gather(self):
        """Adds an all-gather per block, the block with the lowest layer first, ties as listed."""
        listed = [(min(layer for layer, _ in block.slices), self.last_pass[chunk], block.index, chunk, block)
                  for chunk in self.own for block in self.blocks[chunk]]
        for *_, chunk, block in sorted(listed, key=lambda row: row[:3]):
            size = sum(held for _, held in block.slices) * Fraction(self.s.parameter, self.s.gradient)
            gather = self.transfer(f"G{chunk}.{block.index}", "gather", "all-gather", size, self.after_update())
            self.last_gathers.append(gather)
            for layer in {layer for layer, _ in block.slices}:
                self.pending[layer].append(gather)

    def whole_row_waits(self):
        return [] if self.s.by_layer else self.last_gathers

    def layer_waits(self, layer):
        return self.pending[layer] if self.s.by_layer else []

    def share(self, layer):
        if self.s.by_layer and not self.s.zero and self.s.layers[layer].tensors:
            return self.s.update_of([layer]), self.pending[layer]
        return None

    def passed(self, done):
        chunk = done.word.chunk
        if self.s.zero != 2 and done.place != self.last_pass[chunk]:
            return
        opening = done.steps[self.s.chunks[chunk][-1]]
        if done.place == self.last_pass[chunk] and self.s.by_layer and not self.s.zero:
            for layer in self.s.chunks[chunk]:
                self.pending[layer] = []
        for block in self.blocks[chunk]:
            lowest = min(layer for layer, _ in block.slices)
            ready = self.results[done.word, "last"] if self.after_pass else done.steps[lowest]
            place = (self.iteration, done.number, lowest, block.key) if self.s.strategy in ("bytescheduler", "p3") \
                else (done.place, block.key)
            operation = "reduce-scatter" if self.s.zero else "all-reduce"
            sent = self.transfer(f"R{chunk}.{block.index}", "expert" if block.expert else "reduce", operation,
                                 sum(held for _, held in block.slices), [end(ready)], place,
                                 (opening, *block.tick) if block.tick else None,
                                 "experts" if block.expert else "data")
            for layer, held in block.slices:
                if self.s.zero == 2:
                    self.program.hold(self.rank, "in_reduction", held, start(done.steps[layer]), end(sent))
                if self.s.by_layer and not self.s.zero:
                    self.pending[layer].append(sent)


class MegatronWriter(RankWriter):
    """Megatron-Core: several buckets for the first chunk, one for each other chunk."""

    def plan(self):
        s = self.s
        self.sharded, self.overlaps = s.flag("distributed_optimizer"), s.flag("overlap_grad_reduce")
        both = "true" if self.sharded and self.overlaps else "false"
        self.ahead = s.flag("overlap_param_gather", both)
        self.aligned = s.flag("align_grad_reduce") and self.overlaps and len(self.own) > 1
        self.buckets = {(chunk, kind): self.fill(chunk, kind) for chunk in self.own for kind in s.kinds()}
        self.gathers = {}  # by kind

    def fill(self, chunk, kind):
        """Fills buckets in backward order; each closes once it is large enough."""
        enough = self.s.number("bucket_size") or max(40 * 10**6, 10**6 * self.s.replicas)
        several = self.overlaps and self.rank == 0 and chunk == self.own[0]
        buckets = []
        for layer, size in self.s.backward_tensors(chunk, kind):
            if not buckets or several and sum(held for _, held in buckets[-1]) >= enough:
                buckets.append([])
            buckets[-1].append((layer, size))
        return buckets

    def open(self):
        self.gathers, self.waiting = {kind: [] for kind in self.s.kinds()}, {}
        if not self.sharded:
            return
        for kind, gathers in self.gathers.items():
            for chunk in sorted(self.own, key=self.first_forward.get):
                for bucket in reversed(self.buckets[chunk, kind]):
                    size = sum(held for _, held in bucket) * self.s.parameter
                    first = not gathers or not self.ahead
                    gather = self.transfer(f"G{len(gathers)}", "expert-gather" if kind else "gather", "all-gather", size,
                                           self.after_update() if first else [], group=group_of(kind))
                    if self.ahead:
                        layer = bucket[-1][0]  # the first in forward order
                        self.waiting.setdefault(layer, []).append((gathers, len(gathers)))
                    gathers.append(gather)

    def whole_row_waits(self):
        return [] if self.ahead else [gather for gathers in self.gathers.values() for gather in gathers]

    def layer_waits(self, layer):
        """Returns the gathers of the buckets that begin in a layer; each of them launches the next of its kind."""
        places, previous = self.waiting.get(layer, []), self.previous_task()
        for gathers, number in places:
            if number + 1 < len(gathers):
                gathers[number + 1].after += [end(gathers[number]), *previous]
        return [gathers[number] for gathers, number in places]

    def previous_task(self):
        """The end of the compute task before the one that is being written."""
        stream = [step for step in self.program.streams[self.rank][::-1] if step.name not in ("post", "end")]
        return [end(stream[0])] if stream else []

    def close(self):
        """Adds the reductions in the order in which they are launched."""
        gradient_passes, launches = self.passes, []
        for chunk in self.own:
            index = max(place for place, done in enumerate(gradient_passes) if done.word.chunk == chunk)
            listed = [(kind, bucket) for kind in self.s.kinds() for bucket in self.buckets[chunk, kind]]
            for number, (kind, bucket) in enumerate(listed):
                if not self.overlaps or self.aligned and index + self.rank >= len(gradient_passes):
                    launches.append(((1, chunk, number), self.ended))
                elif self.aligned:
                    behind = gradient_passes[index + self.rank]
                    launches.append(((0, index + self.rank, number), self.results[behind.word, "last"]))
                else:
                    launches.append(((0, index, number), gradient_passes[index].steps[bucket[-1][0]]))
                launches[-1] = (*launches[-1], f"R{chunk}.{number}", kind, bucket)
        for _, step, name, kind, bucket in sorted(launches, key=lambda launch: launch[0]):
            size = sum(held for _, held in bucket) * self.s.gradient
            self.transfer(name, "expert" if kind else "reduce", "reduce-scatter" if self.sharded else "all-reduce", size,
                          [end(step)], group=group_of(kind))


def group_of(kind):
    """kind: True for tensors of experts."""
    return "experts" if kind else "data"


class Fsdp2Writer(RankWriter):
    """PyTorch's fully_shard under its pipeline runtime."""

    def plan(self):
        s = self.s
        self.gather_lane, self.reduce_lane = ("shared", "shared") if s.options["lanes"] == "shared" else \
            ("gather", "reduce")
        self.units = {chunk: self.wrapped(chunk) for chunk in self.own}
        words = {word.kind for words in s.words for word in words}
        self.told = bool(words & {"UNSHARD", "RESHARD", "REDUCE_GRAD"})

    def wrapped(self, chunk):
        """Returns the units of a chunk, as lists of layers."""
        s, layers = self.s, self.s.chunks[chunk]
        named = any(layer.group is not None for layer in s.layers)
        wrap = s.options.get("wrap", "group" if named else "layer")
        if wrap == "group":
            units = sharded.grouped([s.layers[layer] for layer in layers])
        elif wrap == "layer":
            units = [[place] for place in range(len(layers))]
        else:
            units = self.filled(layers, size_of(wrap))
        units = [[layers[place] for place in unit] for unit in units]
        units = sharded.joined(units, self.s.elements)
        return [part for unit in units for part in self.cut(unit)] if s.apart else units

    def cut(self, unit):
        """Cuts a unit where the kind of tensors changes; layers without tensors stay with those before them."""
        parts, kind = [[]], None
        for layer in unit:
            if self.s.layers[layer].tensors:
                if kind not in (None, self.s.layers[layer].expert):
                    parts.append([])
                kind = self.s.layers[layer].expert
            parts[-1].append(layer)
        return parts

    def group(self, unit):
        return group_of(self.s.apart and any(self.s.layers[layer].expert and self.s.layers[layer].tensors
                                             for layer in unit))

    def filled(self, layers, size):
        units, held = [[]], 0
        for place, layer in enumerate(layers):
            if held >= size and self.s.layers[layer].tensors:
                units.append([])
                held = 0
            units[-1].append(place)
            held += self.s.elements([layer]) * self.s.parameter
        return units

    def open(self):
        self.gathered = {}
        if not self.told:
            for chunk in sorted(self.own, key=self.first_forward.get):
                self.unshard(chunk)

    def unshard(self, chunk):
        require((chunk not in self.gathered), "UNSHARD")
        self.gathered[chunk] = [
            self.transfer(f"G{chunk}.{number}", self.gather_lane, "all-gather",
                          self.s.elements(unit) * self.s.parameter, self.before(), group=self.group(unit))
            for number, unit in enumerate(self.units[chunk])]

    def unit_waits(self, layer):
        chunk = self.s.chunk_of(layer)
        require(chunk in self.gathered, "UNSHARD")
        return [gather for gather, unit in zip(self.gathered[chunk], self.units[chunk]) if layer in unit]

    def free(self, chunk, until):
        for gather in self.gathered.pop(chunk):
            self.program.hold(self.rank, "gathered", gather.size, start(gather), end(until))

    def reduce_grad(self, chunk):
        sent = [self.transfer(f"R{chunk}.{number}", self.reduce_lane, "reduce-scatter",
                              self.s.elements(unit) * self.s.gradient, self.before(), group=self.group(unit))
                for number, unit in enumerate(self.units[chunk])]
        if self.s.options["reduce_grad"] == "wait":
            self.action_held += sent

    def after_action(self, word, place):
        if not self.told and place == self.last_pass[word.chunk]:
            self.reduce_grad(word.chunk)
            self.free(word.chunk, self.chain_end[0])

    def instruction(self, word):
        if word.kind == "UNSHARD":
            self.unshard(word.chunk)
        elif word.kind == "RESHARD":
            self.free(word.chunk, self.computed)
        else:
            self.reduce_grad(word.chunk)

    def close(self):
        for chunk in list(self.gathered):
            self.free(chunk, self.computed)


def writer_of(strategy):
    return {"megatron": MegatronWriter, "fsdp2": Fsdp2Writer}.get(strategy, BlockWriter)


def written(scenario, iterations):
    """Returns the program of this many iterations."""
    program = Program(scenario)
    writers = [writer_of(scenario.strategy)(program, rank) for rank in range(scenario.ranks)]
    for iteration in range(iterations):
        messages = {}
        for writer in writers:
            writer.begin(iteration)
        if scenario.blocking:
            messages = written_messages(program, writers, iteration)
        first = len(program.streams[0])
        for writer in writers:
            writer.write_row(messages)
        program.firsts.append(next(step for step in program.streams[0][first:] if step.name != "post"))
        for writer in writers:
            writer.connect(writers)
        close(program, writers, iteration)
    return program


def written_messages(program, writers, iteration):
    """Creates the messages that both sides post, by the sender's (kind, chunk, micro)."""
    messages = {}
    for writer in writers:
        for word in writer.actions:
            to = writer.target(word)
            if to is not None:
                messages[word.kind, word.chunk, word.micro] = program.add(
                    Send(f"send {word.chunk}{word.kind}{word.micro}", writer.rank, iteration, [], None,
                         program.scenario.send_time(word.chunk, to)))
    return messages


def close(program, writers, iteration):
    """Writes the reduction of tied tensors, and the updates."""
    s = program.scenario
    done = [[end(writer.ended), *map(end, writer.reductions)] for writer in writers]
    tied = None
    if s.tied:
        first, second, _ = s.tied
        tied = program.add(Tied(iteration, done[first] + done[second], s.tied_time(), (first, second)))
    if s.by_layer and not s.zero:
        return
    for writer in writers:
        after = done[writer.rank]
        if s.barrier == "all":
            after = [moment for moments in done for moment in moments]
        if tied and (s.barrier == "all" or writer.rank in tied.ranks):
            after = after + [end(tied)]
        writer.update(after)
