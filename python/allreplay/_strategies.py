"""Strategies that are Python functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, Union, overload

from . import _core
from ._documents import json_text
from ._errors import InputError, input_error

if TYPE_CHECKING:
    from ._core import Prices


class Need(NamedTuple):
    """A gradient that must be summed over all workers after its layer's backward pass and before its next forward pass."""

    number: int  #: index of the tensor, counted from the model's input
    tensor: str
    layer: str
    bytes: int
    ready_s: float  #: since the start of the backward pass; s
    needed_s: float  #: since the start of the next forward pass, if nothing waits; s


Plan = Union[Sequence[Any], Mapping[str, Any]]
Planner = Callable[[list[Need], "Prices"], Plan]
F = TypeVar("F", bound=Planner)


@overload
def strategy(function: F) -> F: ...
@overload
def strategy(function: str) -> Callable[[F], F]: ...
def strategy(function: F | str) -> F | Callable[[F], F]:
    """Registers a function as a strategy, under its own name (with - for _) or the given one: @strategy("mine").

    Its arguments are the needs, in the order in which gradients become ready, and prices: `prices(bytes)` is the time in
    seconds of a block of that size; `prices.workers`, `prices.forward_s` and `prices.backward_s` are also available. It
    returns a list of blocks, each a need or a list of needs or tensor names; or a dict in the short form of plan files
    (docs/formats.md), with order, window, barrier and priorities. Equal arguments must give equal plans.
    """
    if isinstance(function, str):
        name = function
        return lambda planner: _add(name, planner)
    return _add(function.__name__.replace("_", "-"), function)


def _add(name: str, planner: F) -> F:
    def planned(needs: list[tuple[int, str, str, int, float, float]], prices: Prices) -> str:
        try:
            plan = planner([Need(*one) for one in needs], prices)
        except InputError:
            raise
        except Exception as error:
            raise input_error(f"strategy '{name}'", _line_of(error), f"raises {type(error).__name__}: {error}",
                              "a plan") from error
        return json_text(_plan_file(plan, name), f"strategy '{name}'")

    _core.add_strategy(name, planned)
    return planner


def _line_of(error: BaseException) -> str:
    """Returns "FILE:LINE" of the innermost call in the error's traceback."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}" if trace is not None else ""


def _plan_file(plan: object, name: str) -> Mapping[str, Any]:
    if isinstance(plan, (list, tuple)):
        plan = {"blocks": plan}
    if not isinstance(plan, Mapping):
        raise input_error(f"strategy '{name}'", "", f"returns a {type(plan).__name__}", "a list of blocks, or a dict")
    blocks = plan.get("blocks")
    if not isinstance(blocks, (list, tuple)):
        return plan
    return {**plan, "blocks": [_block(one) for one in blocks]}


def _block(block: Any) -> Any:
    if isinstance(block, Need):
        block = [block]
    if isinstance(block, (list, tuple)):
        block = {"slices": block}
    if isinstance(block, Mapping) and isinstance(block.get("slices"), (list, tuple)):
        return {**block, "slices": [_slice(one) for one in block["slices"]]}
    return block


def _slice(one: Any) -> Any:
    if isinstance(one, Need):
        return one.number
    if isinstance(one, Mapping) and isinstance(one.get("tensor"), Need):
        return {**one, "tensor": one["tensor"].number}
    return one
