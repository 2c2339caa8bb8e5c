"""Simulates the iterations of distributed training on a cluster, under every communication schedule.

>>> import allreplay
>>> result = allreplay.run("resnet50_k80_b16", "k80-10gbe", "mg-wfbp", workers=64)
>>> result.iteration_s, result.timeline, result.plan

Each function is a command of the program `allreplay`, its keyword arguments that command's options (`shard_group=4` is
`--shard-group 4`, `bucket_cap="10 MiB"` is `--option bucket_cap="10 MiB"`), and its result what the command prints as
JSON. Profiles, clusters, codecs, collectives and plans are names, files, or dicts with the contents of files; a cluster
may also be described by keywords (`nodes=8, gpus=8, network="400Gbit/s", inner="370GB/s"`). Times are in seconds, sizes
in bytes. See docs/python.md.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Union

if find_spec(__name__ + "._core") is None:  # otherwise Python would report a circular import
    raise ModuleNotFoundError(
        f"no {__name__}._core for Python {sys.version_info.major}.{sys.version_info.minor} in "
        f"{os.path.dirname(__file__)}: the compiled part of this package is not built (tools/demo.sh builds it with the "
        "program, into build/release/python, which belongs in PYTHONPATH; docs/python.md)", name=__name__ + "._core")

from . import _core
from ._core import Prices
from ._commands import Call as _Call, call, documented as _documented, known as _known
from ._documents import Cluster, Codec, Collective, Document, Given, Plan, Profile
from ._errors import InputError, SimulationWarning, input_error as _input_error
from ._results import Bar, Picture, Result, Rows, Timeline, parsed as _parsed, table as _table
from ._strategies import Need, strategy

if TYPE_CHECKING:
    from ._results import Table as Table

__version__: str = _core.version()
__all__ = [
    "Bar", "Cluster", "Codec", "Collective", "Document", "InputError", "Need", "Picture", "Plan", "Prices", "Profile", "Result", "Rows",
    "SimulationWarning", "Timeline", "calibrate", "call", "codec", "collective", "columns", "compare", "diagnose", "estimate", "import_trace", "jobs", "judge",
    "names",
    "plan", "plot", "recommend", "run", "schedule", "simulate", "strategy", "sweep", "topology", "tune", "validate", "whatif",
]

_core.set_input_error(InputError)
# Finds the installed data, PREFIX/share/allreplay, for a module somewhere below PREFIX/lib.
_folder = os.path.dirname(os.path.realpath(__file__))
while _folder != os.path.dirname(_folder):
    _folder = os.path.dirname(_folder)
    if os.path.isdir(os.path.join(_folder, "share", "allreplay", "traces")):
        _core.add_data_home(os.path.join(_folder, "share", "allreplay"))
        break

Words = Union[str, Sequence[str], None]


def run(profile: Given | None = None, cluster: Given | None = None, strategy: str | None = None, **options: Any) -> Result:
    """Simulates one strategy, or `plan=`, and shows where the time goes."""
    return _run({"profile": profile, "cluster": cluster, "strategy": strategy, **options})


def simulate(profile: Given, cluster: Given | None = None, plan: Given | None = None, **options: Any) -> Result:
    """Replays a plan unchanged. Raises InputError if it does not send every gradient once, and in time."""
    return _run({"profile": profile, "cluster": cluster, "plan": plan, **options})


def compare(profile: Given | None = None, cluster: Given | Sequence[Given] | None = None, strategies: Words = None, **options: Any) -> Table:
    """Compares several strategies (all, unless some are named); returns a row for each.

    With several values of `cluster`, `workers`, `collective`, `fidelity` or `codec`, compares every combination, in order.
    """
    return _table(call("compare", profile=profile, cluster=cluster, strategies=strategies, **options))


def sweep(config: Given, **options: Any) -> Table:
    """Simulates every combination listed in a sweep (docs/formats.md), `jobs` at a time; returns a row for each.

    Rows that `resume=True` finds in `out=` are neither simulated again nor returned.
    """
    one = _Call("sweep")
    one.add("file", one.sweep(config))
    one.add_all({**options, "json": True})
    return _table(_parsed(one.run().printed))


def recommend(profile: Given | None = None, cluster: Given | None = None, strategies: Words = None, **options: Any) -> Table:
    """Tunes the strategies and ranks them with their settings, best first; also for several sizes, `workers="8:1024:x2"`.

    `model="llama3-70b", device="h100", global_batch=1024` instead of a profile searches the layouts of that model.
    """
    return _table(call("recommend", profile=profile, cluster=cluster, strategies=strategies, **options))


def whatif(profile: Given | None = None, cluster: Given | None = None, strategy: str | None = None, **options: Any) -> Table:
    """Computes the gain of many changes, separately and combined: a row each; column `part` is base, rows or together.

    `target="exposed<5%", vary="network.bandwidth"` searches the least that is enough; `part` is then base, steps or fabrics.
    `call("whatif", ...)` also returns the bound and the changes left out, or the answer.
    """
    answer = call("whatif", profile=profile, cluster=cluster, strategy=strategy, **options)
    return _table([{"part": "base", **answer["base"]}]
                  + [{"part": part, **row} for part in ("rows", "together", "steps", "fabrics") for row in answer.get(part, ())])


def validate(file: str | os.PathLike[str], **options: Any) -> dict[str, Any]:
    """Predicts measured iteration times, from a CSV, and reports the errors."""
    result: dict[str, Any] = call("validate", file, **options)
    return result


def diagnose(*timelines: str | os.PathLike[str], **options: Any) -> dict[str, Any]:
    """Finds out which worker slows down a job, from traces of its ranks."""
    result: dict[str, Any] = call("diagnose", *timelines, **options)
    return result


def judge(log: str | os.PathLike[str] | None = None, **options: Any) -> dict[str, Any]:
    """Judges a measured speed (`tokens_per_second=`, `iteration=`, …) of a scenario, or a log of a collective on a cluster.

    `judge(iteration=0.85, profile=..., cluster=..., strategy="fsdp2")["verdict"]` is "as expected", "slow" or "suspiciously fast".
    """
    result: dict[str, Any] = call("judge", *([] if log is None else [log]), **options)
    return result


def jobs(file: str | os.PathLike[str], **options: Any) -> dict[str, Any]:
    """Simulates jobs that share a cluster, together and each in isolation: which slows down which, and where."""
    result: dict[str, Any] = call("jobs", file, **options)
    return result


def import_trace(file: str | os.PathLike[str], *, name: str | None = None, **options: Any) -> Profile:
    """Converts the output of another profiler or simulator into a profile; `out=` also writes it to a file.

    `from_=` names the format if it is not recognised; `name` is the name of the profile in results.
    """
    return _made("import", {"file": file, **options}, name or _stem(file))


def estimate(model: str | os.PathLike[str] | None = None, *, name: str | None = None, **options: Any) -> Profile:
    """Estimates a profile of a model on a `device=`, at a `batch=`, from data sheets; `out=` also writes it to a file."""
    from_ = options.get("from_")
    what = _stem(model or from_ or options.get("family") or "transformer")
    words = [what, *(str(options[key]) for key in ("device", "batch", "precision") if options.get(key) is not None)]
    return _made("estimate", {"model": model, **options}, name or "_".join(words))


def calibrate(*files: str | os.PathLike[str], **options: Any) -> dict[str, Any]:
    """Fits a network's constants to logs of nccl-tests or OSU, or to CSV: seconds, and seconds per byte.

    `cluster_out=` writes them as a cluster file.
    """
    result: dict[str, Any] = call("calibrate", *files, **options)
    return result


def plot(profile: Given, cluster: Given | None = None, strategies: Words = None, *, kind: str = "timeline",
         out: str | os.PathLike[str] | None = None, ending: str = ".svg", **options: Any) -> Picture:
    """Draws the iterations of strategies on one time axis, or their parts with `kind="bars"`.

    The picture shows itself in notebooks; `out` (.svg, .png, .pdf) also writes it to a file.
    """
    if kind not in ("timeline", "bars"):
        raise _input_error("command line", "kind", f"unknown kind '{kind}'", "timeline or bars")
    one = _Call("compare")
    one.add_all({"profile": profile, "cluster": cluster, "strategies": strategies, **options})
    file = os.fspath(out) if out is not None else "<picture>" + ending
    one.add("--timeline" if kind == "timeline" else "--plot", file)
    return Picture(_written(one, file, out is None), os.path.splitext(file)[1])


def plan(profile: Given, cluster: Given | None = None, strategy: str | None = None, **options: Any) -> Plan:
    """Returns a strategy's plan: blocks, slices and their order. It can be changed and passed to simulate()."""
    one = _Call("plan")
    one.add_all({"profile": profile, "cluster": cluster, "strategy": strategy, **options, "json": True})
    return Plan(one.run().printed, name=strategy or "")


def topology(cluster: Given | None = None, **options: Any) -> dict[str, Any]:
    """Describes a cluster's network: hosts, switches, links, diameter, bisection."""
    result: dict[str, Any] = call("topology", cluster=cluster, **options)
    return result


def collective(cluster: Given | None = None, **options: Any) -> Table:
    """Times one collective in isolation, by message size."""
    return _table(call("collective", cluster=cluster, **options))


def schedule(name: str, pp: int, micro_batches: int, **options: Any) -> str:
    """Returns the schedule of a pipeline, a row per rank, in PyTorch's format."""
    result: str = call("schedule", name, pp=pp, micro_batches=micro_batches, **options)
    return result


def codec(codec: str, elements: int, **options: Any) -> dict[str, Any]:
    """Runs one codec on random gradients: bytes, times on this processor, errors."""
    result: dict[str, Any] = call("codec", codec=codec, elements=elements, **options)
    return result


def tune(profile: Given, cluster: Given | None = None, strategy: str | None = None, **options: Any) -> dict[str, Any]:
    """Finds the options of a strategy with the shortest iteration time."""
    result: dict[str, Any] = call("tune", profile=profile, cluster=cluster, strategy=strategy, **options)
    return result


def names(what: str) -> list[str]:
    """Lists the available names: names("strategies"), names("profiles"), names("clusters"), …"""
    one = _Call("list")
    one.add_all({"what": what, "names": True})
    return one.run().printed.splitlines()


def columns() -> Table:
    """Describes the columns of all results: key, title, axis, unit, role, and what it means."""
    return _table(call("list", "columns"))


def _run(options: dict[str, Any]) -> Result:
    one = _Call("run")
    one.add_all(options)
    one.options.append(("--json", []))
    answer = one.run()
    return Result(_parsed(answer.printed), answer.replayed)


def _made(command: str, options: dict[str, Any], name: str) -> Profile:
    """Runs a command that writes a profile to --out, and returns the profile."""
    out = options.pop("out", None)
    file = os.fspath(out) if out is not None else "<trace>.json"
    one = _Call(command)
    one.add_all({**options, "out": file})
    return Profile(_written(one, file, out is None).decode(), name=name if out is None else _stem(file))


def _written(one: _Call, file: str, in_memory: bool) -> bytes:
    """Runs the command and returns the contents of `file`, which it writes; `in_memory`: not to disk."""
    if in_memory:
        one.outputs.append(file)
        return one.run().written[0]
    one.run()
    with open(file, "rb") as stream:
        return stream.read()


def _stem(file: str | os.PathLike[str]) -> str:
    """Returns the file's name without folders and extensions."""
    return os.path.basename(os.fspath(file)).split(".")[0]


def _command(name: str) -> Callable[..., Any]:
    """Makes a function for a command that has none here. It returns a table if the JSON is a list, else the JSON or text."""

    def function(*positional: Given, **options: Any) -> Any:
        result = call(name, *positional, **options)
        return _table(result) if isinstance(result, list) else result

    function.__name__ = function.__qualname__ = name
    function.__doc__ = _documented(name)
    return function


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name not in _known():
            raise AttributeError(f"module 'allreplay' has no attribute '{name}'")
        globals()[name] = _command(name)
        return globals()[name]


for _name in ("run", "compare", "sweep", "recommend", "calibrate", "plan", "topology", "schedule", "collective", "codec", "tune",
                 "diagnose", "jobs", "judge", "estimate", "validate", "whatif"):
    globals()[_name].__doc__ += "\n\n" + _documented(_name)
import_trace.__doc__ = (import_trace.__doc__ or "") + "\n\n" + _documented("import")
