"""Measured layer-wise profiles as tables of rows, and how profiles of different granularity become the same units."""

import csv
import math
from pathlib import Path
from typing import NamedTuple


class InputError(Exception):
    """Bad input; the text is the line to print."""


class Row(NamedTuple):
    """What was measured of one tensor, layer or block, for a whole mini-batch; times in microseconds."""
    name: str
    params: int
    forward: float | None  # None: not measured
    backward: float


class Unit(NamedTuple):
    """A row's times, added up over what travels together; None where one of them was not measured."""
    forward: float | None
    backward: float


def read_rows(path):
    """The rows of layer,params,forward_us,backward_us in forward order."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: file: {getattr(error, 'strerror', None) or error} (a measured profile)") from None
    rows = []
    for line, row in enumerate(csv.DictReader(text.splitlines()), start=2):
        try:
            rows.append(Row(row["layer"], int(row["params"]), float(row["forward_us"]) if row["forward_us"] else None, float(row["backward_us"])))
        except (KeyError, TypeError, ValueError):
            raise InputError(f"{path}: line {line}: not a layer with its times (right: layer,params,forward_us,backward_us)") from None
    return rows


def total(values):
    """Their sum; None where one is missing."""
    values = list(values)
    return None if None in values else math.fsum(values)


def in_units(rows, counts, whose="the profile"):
    """The profile's times in units that have these numbers of parameters, in forward order.

    Rows are cut where their parameters add up to a unit's; a row without parameters (activation, pooling) belongs to the
    unit before it, as it runs before that unit's gradients in the backward pass; before the first unit it is left out (loading data).
    A tensor or layer that straddles two units is an error: nothing is split or guessed.
    """
    units, place = [], next((place for place, row in enumerate(rows) if row.params), 0)
    for number, count in enumerate(counts):
        start, params, last = place, 0, "nothing"
        while place < len(rows) and (params < count or not rows[place].params):
            if rows[place].params:
                params, last = params + rows[place].params, rows[place].name
            place += 1
        if params != count:
            raise InputError(f"{whose}: unit {number}: {params} parameters up to {last} (right: {count})")
        units.append(Unit(total(row.forward for row in rows[start:place]), total(row.backward for row in rows[start:place])))
    if place < len(rows):
        raise InputError(f"{whose}: {rows[place].name}: has parameters beyond those of the units (right: {sum(counts)} in all)")
    return units
