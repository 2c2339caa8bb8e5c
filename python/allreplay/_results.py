"""Results of commands: a run with its timeline, tables, pictures."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, NamedTuple, Union

from ._documents import Plan
from ._pages import table_page

if TYPE_CHECKING:
    from typing import TypeAlias

    import numpy
    import numpy.typing
    import pandas

    from . import _core

    Times: TypeAlias = numpy.typing.NDArray[numpy.int64]
    Table: TypeAlias = Union["pandas.DataFrame", "Rows"]


class Bar(NamedTuple):
    """An activity in one row of a timeline; times in seconds, on a clock common to all iterations."""

    row: str
    activity: str
    name: str
    bytes: int
    ready_s: float
    start_s: float
    end_s: float


class Timeline:
    """The last replayed iteration, one entry per task: read-only NumPy arrays over the simulation's own memory.

    Times are picoseconds since the start of the iteration's program.
    """

    ready: Times  #: end of everything that the task waits for; ps
    start: Times  #: when its queue admitted it; ps
    end: Times  #: ps
    kind: numpy.typing.NDArray[numpy.uint8]  #: an index into `kinds`
    kinds: tuple[str, ...]  #: the names of all kinds of tasks
    worker_class: numpy.typing.NDArray[numpy.uint32]  #: the class of identical workers; 0 for transfers
    item: numpy.typing.NDArray[numpy.uint32]  #: the layer, the block of a copy or codec, or the plan's transfer
    batch: numpy.typing.NDArray[numpy.uint32]  #: the micro-batch
    memory_at: Times  #: times at which the memory of the worker with the highest peak changes; ps
    memory_bytes: numpy.typing.NDArray[numpy.float64]  #: its memory from that time on; bytes

    def __init__(self, replayed: _core.Replayed) -> None:
        self._replayed = replayed

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in Timeline.__annotations__:
            raise AttributeError(f"a Timeline has no {name}")
        self.__dict__.update(self._replayed.arrays())
        return self.__dict__[name]

    def bars(self) -> list[Bar]:
        """Returns the iteration as in pictures: first the compute streams, then the collectives lane by lane."""
        return [Bar(row, *bar) for row, bars in self._replayed.rows() for bar in bars]

    def svg(self) -> str:
        """Returns the SVG picture that `allreplay run --timeline FILE.svg` draws."""
        return self._replayed.svg()

    def _repr_svg_(self) -> str:
        return self.svg()

    def __len__(self) -> int:
        return len(self.start)

    def __repr__(self) -> str:
        return f"<allreplay.Timeline of {len(self)} tasks>"


class Result:
    """One simulated scenario: the columns that columns() describes as fields, times in seconds."""

    def __init__(self, row: dict[str, Any], replayed: _core.Replayed) -> None:
        self.__dict__.update(row)
        self._row = row
        self._replayed = replayed

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

    def to_dict(self) -> dict[str, Any]:
        """Returns the output of `allreplay run --json`."""
        return dict(self._row)

    @property
    def timeline(self) -> Timeline:
        """The timeline of the last iteration."""
        return Timeline(self._replayed)

    @property
    def plan(self) -> Plan:
        """The plan, as `allreplay plan --json` writes it; it can be changed and replayed."""
        return Plan(self._replayed.plan(), name="<plan>")

    def _repr_html_(self) -> str:
        return table_page([{"": key, self.strategy: value} for key, value in self._row.items()])

    def __repr__(self) -> str:
        return (f"<allreplay.Result {self.strategy} of {self.profile} on {self.cluster}: "
                f"{self.workers} workers, {self.iteration_s:.6g} s an iteration>")


class Rows(list[dict[str, Any]]):
    """A table without pandas: a list of dicts that notebooks show as a table."""

    def _repr_html_(self) -> str:
        return table_page(self)


def table(rows: list[dict[str, Any]]) -> Table:
    """Returns a pandas DataFrame, or Rows if pandas is not installed."""
    try:
        import pandas
    except ImportError:
        return Rows(rows)
    return pandas.DataFrame(rows)


class Picture:
    """A picture in one of the program's formats."""

    def __init__(self, contents: bytes, ending: str) -> None:
        self.contents = contents
        self.ending = ending

    def save(self, file: str | os.PathLike[str]) -> None:
        """Writes the picture unchanged; the file's extension should be `ending`."""
        with open(file, "wb") as stream:
            stream.write(self.contents)

    def _repr_svg_(self) -> str | None:
        return self.contents.decode() if self.ending == ".svg" else None

    def _repr_png_(self) -> bytes | None:
        return self.contents if self.ending == ".png" else None

    def __repr__(self) -> str:
        return f"<allreplay.Picture {self.ending}, {len(self.contents)} bytes>"


def parsed(text: str) -> Any:
    """Parses a command's JSON."""
    return json.loads(text)


