"""Part of the peer: schedules of pipelines, as rows of actions, and PyTorch's files of them.

Written only from the contract. A row is a list of cells. A cell is a tuple of one word, or of two that PyTorch runs as
one. A word is an action (kinds F, B, I, W) or an instruction of a file (SEND_F, UNSHARD, ...).
"""

import re
from collections import Counter, deque, namedtuple

Word = namedtuple("Word", "kind chunk micro", defaults=(None,))

COUNTED = {"F": "F", "B": "IW", "I": "I", "W": "W"}  # a whole backward pass counts as both of its parts
COMPUTING, GRADIENTS = "FBIW", "BW"
NAMES = ["gpipe", "1f1b", "looped-bfs", "interleaved", "zb-h1", "zbv", "dualpipe-v"]
DEFAULT_CHUNKS = {"interleaved": 2, "zbv": 2, "dualpipe-v": 2}  # per rank


class Refused(Exception):
    """Raised for input that the program rejects with exit status 2, in a message that contains this word."""


def require(holds, word):
    if not holds:
        raise Refused(word)


class Row:
    """A row under construction. An action's micro-batch is the number of previous actions of its chunk and kind."""

    def __init__(self, micro_batches):
        self.micro_batches, self.counts, self.cells = micro_batches, Counter(), []

    def word(self, kind, chunk):
        micro = self.counts[COUNTED[kind][0], chunk]
        for part in COUNTED[kind]:
            self.counts[part, chunk] += 1
        return Word(kind, chunk, micro)

    def add(self, *pairs):
        """Adds a cell of (kind, chunk) pairs; actions of micro-batches that do not exist are dropped."""
        words = [self.word(kind, chunk) for kind, chunk in pairs]
        words = tuple(word for word in words if word.micro < self.micro_batches)
        if words:
            self.cells.append(words)

    def each(self, *pairs):
        """Adds a cell for each pair."""
        for pair in pairs:
            self.add(pair)


def rows_of(name, ranks, micro_batches, chunks=None, group=None, ahead=0):
    """Rows of a schedule. chunks: per rank. group: Megatron's microbatch-group-size-per-virtual-pipeline-stage. ahead:
    additional warm-up forwards of interleaved."""
    require(name in NAMES, "schedule")
    chunks = chunks or DEFAULT_CHUNKS.get(name, 1)
    require(name not in ("gpipe", "1f1b") or chunks == 1, "chunks")
    require(name not in ("zbv", "dualpipe-v") or chunks == 2, "chunks")
    require(name != "interleaved" or chunks >= 2, "chunks")
    require(name != "dualpipe-v" or micro_batches >= 2 * ranks, "micro-batches")
    if name == "interleaved" or name == "zb-h1" and chunks > 1:
        group = group_size(ranks, micro_batches, group)
    makers = {"gpipe": gpipe, "looped-bfs": looped, "1f1b": one_forward_one_backward, "interleaved": interleaved,
              "zb-h1": zero_bubble, "zbv": zbv, "dualpipe-v": dualpipe_v}
    if name == "interleaved":
        return [interleaved(rank, ranks, micro_batches, chunks, group, ahead) for rank in range(ranks)]
    return [makers[name](rank, ranks, micro_batches, chunks, group) for rank in range(ranks)]


def group_size(ranks, micro_batches, group):
    if group is None:
        groups = max(1, micro_batches // ranks)
        require(micro_batches % groups == 0, "micro-batches")
        return micro_batches // groups
    require(ranks <= group <= micro_batches, "microbatch_group")
    require(micro_batches % group == 0 or micro_batches % group >= ranks, "microbatch_group")
    return group


def own(rank, ranks, chunks):
    return [rank + ranks * place for place in range(chunks)]


def gpipe(rank, ranks, micro_batches, chunks, group):
    return [(Word(kind, rank, micro),) for kind in "FB" for micro in range(micro_batches)]


def looped(rank, ranks, micro_batches, chunks, group):
    """All forwards of a chunk, then all of the next; backward passes in the reverse order."""
    forwards = [(chunk, micro) for chunk in own(rank, ranks, chunks) for micro in range(micro_batches)]
    return [(Word("F", *one),) for one in forwards] + [(Word("B", *one),) for one in reversed(forwards)]


def one_forward_one_backward(rank, ranks, micro_batches, chunks, group):
    forwards, backwards = [rank] * micro_batches, [rank] * micro_batches
    return alternating(Row(micro_batches), forwards, backwards, min(ranks - 1 - rank, micro_batches)).cells


def alternating(row, forwards, backwards, warm_up, kind="B", behind=lambda: None):
    """Adds warm-up forwards, then forward and backward in turn, then the remaining backwards."""
    forwards, backwards = deque(forwards), deque(backwards)
    for _ in range(warm_up):
        row.add(("F", forwards.popleft()))
    while backwards:
        if forwards:
            row.add(("F", forwards.popleft()))
        row.add((kind, backwards.popleft()))
        behind()
    return row


def in_groups(chunks, micro_batches, group):
    """Returns the chunk of each action: by groups of micro-batches (the last is the rest), in each chunk by chunk."""
    order, left = [], micro_batches
    while left:
        size = min(group, left)
        order += [chunk for chunk in chunks for _ in range(size)]
        left -= size
    return order


def orders(rank, ranks, micro_batches, chunks, group):
    mine = own(rank, ranks, chunks)
    group = group or micro_batches  # with one chunk, groups do not matter
    return in_groups(mine, micro_batches, group), in_groups(mine[::-1], micro_batches, group)


def interleaved(rank, ranks, micro_batches, chunks, group, ahead=0):
    forwards, backwards = orders(rank, ranks, micro_batches, chunks, group)
    warm_up = min((chunks - 1) * group + 2 * (ranks - 1 - rank) + ahead, micro_batches * chunks)
    return alternating(Row(micro_batches), forwards, backwards, warm_up).cells


def zero_bubble(rank, ranks, micro_batches, chunks, group):
    """zb-h1: the W's are in the order of their I; from the rank-th I on, each is followed by one."""
    forwards, backwards = orders(rank, ranks, micro_batches, chunks, group)
    warm_up = min((chunks - 1) * (group or 0) + ranks - 1 - rank, micro_batches * chunks)
    row, waiting, done = Row(micro_batches), deque(backwards), Counter()

    def behind():
        done["I"] += 1
        if done["I"] > rank:
            row.add(("W", waiting.popleft()))

    alternating(row, forwards, backwards, warm_up, "I", behind)
    row.each(*(("W", chunk) for chunk in waiting))
    return row.cells


def zbv(rank, ranks, micro_batches, chunks, group):
    a, b, row = rank, 2 * ranks - 1 - rank, Row(micro_batches)
    most = max(2 * ranks - 1, micro_batches)
    count = row.counts
    for _ in range(2 * (ranks - rank) - 1):
        row.add(("F", a))
    for _ in range(rank):
        row.each(("F", b), ("F", a))
    for _ in range(ranks - rank):
        row.each(("F", b), ("I", b), ("W", b))
    while count["F", b] < count["F", a] or count["F", a] < most:
        if count["F", a] < most:
            row.add(("F", a))
        row.each(("I", a), ("W", a), ("F", b), ("I", b), ("W", b))
    for _ in range(rank):
        row.each(("I", a), ("I", b))
    for _ in range(ranks - rank):
        row.each(("I", a), ("W", a))
    for chunk in (b, a):
        while count["W", chunk] < count["I", chunk]:
            row.add(("W", chunk))
    return row.cells


def dualpipe_v(rank, ranks, micro_batches, chunks, group):
    a, b, row, waiting = rank, 2 * ranks - 1 - rank, Row(micro_batches), deque()

    def backward(kind, chunk):
        if kind == "I":
            waiting.append(chunk)
        row.add((kind, chunk))

    def weight():
        """Adds the oldest W whose I has run."""
        if waiting:
            row.add(("W", waiting.popleft()))

    for _ in range(2 * (ranks - 1 - rank)):
        row.add(("F", a))
    for _ in range(rank + 1):
        row.each(("F", a), ("F", b))
    for _ in range(ranks - 1 - rank):
        backward("I", b)
        weight()
        row.add(("F", b))
    for turn in range(micro_batches - 2 * ranks + rank + 1):
        if rank == ranks - 1 and turn == 0:
            row.each(("F", a), ("B", b))
        else:
            row.add(("F", a), ("B", b))
        row.add(("F", b), ("B", a))
    for _ in range(ranks - 1 - rank):
        row.add(("B", b))
        row.add(("F", b), ("B", a))
    kind, turning = "B", (rank + 1) // 2
    for turn in range(rank + 1):
        if turn == turning and rank % 2 == 1:
            kind = "I"
        backward(kind, b)
        if turn == turning and rank % 2 == 0:
            kind = "I"
        backward(kind, a)
    for _ in range(ranks - 1 - rank):
        weight()
        backward(kind, a)
    for _ in range(rank + 1):
        weight()
    return row.cells


# ---- text -----------------------------------------------------------------------------------------------------------

def text_of(word):
    return f"{word.chunk}{word.kind}{'' if word.micro is None else word.micro}"


def cell_text(cell):
    if len(cell) == 1:
        return text_of(cell[0])
    return f"({';'.join(map(text_of, cell))})OVERLAP_F_B"


def write(rows):
    return "".join(",".join(map(cell_text, row)) + "\n" for row in rows)


def read_word(text):
    found = re.fullmatch(r"(\d+)(F|B|I|W|SEND_F|SEND_B|RECV_F|RECV_B)(\d+)|(\d+)(UNSHARD|RESHARD|REDUCE_GRAD)", text)
    require(found, text)
    chunk, kind, micro, whole, instruction = found.groups()
    return Word(instruction, int(whole)) if instruction else Word(kind, int(chunk), int(micro))


def read(text):
    """Returns the rows of a file. Blanks are ignored, and receivers have buffers."""
    rows = []
    for line in text.removesuffix("\n").split("\n"):
        row = []
        for cell in (cell.strip() for cell in line.split(",")):
            pair = re.fullmatch(r"\((.*)\)OVERLAP_F_B", cell)
            words = tuple(read_word(part) for part in (pair.group(1).split(";") if pair else [cell] if cell else []))
            if words and not words[0].kind.startswith("RECV"):
                row.append(words)
        rows.append(row)
    return rows


def flat(row):
    return [word for cell in row for word in cell]


def check(rows, ranks):
    """Requires each chunk to be on one rank, and each micro-batch to pass it once, forward, then backward."""
    require(len(rows) == ranks, "rows")
    homes = {}
    for rank, row in enumerate(rows):
        for word in flat(row):
            require(homes.setdefault(word.chunk, rank) == rank, str(word.chunk))
    require(sorted(homes) == list(range(len(homes))), "chunk")
    micros = {word.micro for row in rows for word in flat(row) if word.kind in COMPUTING}
    require(sorted(micros) == list(range(len(micros))), "micro-batch")
    for row in rows:
        check_row(flat(row), sorted(micros), homes, has_sends(rows))


def check_row(words, micros, homes, sends):
    places, last = {}, len(homes) - 1
    for place, word in enumerate(words):
        if word.kind in COMPUTING or word.kind.startswith("SEND"):
            require(word not in places, text_of(word))
        places[word] = place
    for chunk in {word.chunk for word in words}:
        for micro in micros:
            forward, whole, first, second = (Word(kind, chunk, micro) for kind in "FBIW")
            split = first in places and second in places
            require(forward in places and (whole in places) != split and (first in places) == (second in places),
                    text_of(forward))
            backward = first if split else whole
            require(places[forward] < places[backward] and (not split or places[first] < places[second]),
                    text_of(backward))
            for kind, source, to in (("SEND_F", forward, chunk + 1), ("SEND_B", backward, chunk - 1)):
                send = Word(kind, chunk, micro)
                needed = 0 <= to <= last and homes[to] != homes[chunk]
                require(send not in places or needed and places[send] > places[source], text_of(send))
                require(send in places or not sends or not needed, text_of(send))


def has_sends(rows):
    return any(word.kind.startswith("SEND") for row in rows for word in flat(row))


def micro_batches_of(rows):
    return 1 + max(word.micro for row in rows for word in flat(row) if word.kind in COMPUTING)


def homes_of(rows):
    """The rank of each chunk."""
    homes = {word.chunk: rank for rank, row in enumerate(rows) for word in flat(row)}
    return [homes[chunk] for chunk in sorted(homes)]
