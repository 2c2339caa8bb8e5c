#!/usr/bin/env python3
"""Draw the figures of a paper: speed-up, efficiency, bars of exposed communication, columns of any number.

  speedup     how many times faster than one worker, with the ideal as a dashed line; from a sweep's CSV
  efficiency  speed-up per worker, in per cent; from a sweep's CSV
  lines       any one number of a sweep's CSV, a line per series, alone or over that of another row
  bars        computation and, stacked on it, exposed communication of one iteration; from a sweep's CSV
  columns     any one number of a sweep's CSV, in any unit, written above its column
  histogram   how any one number of a sweep's CSV is distributed, with some rows marked
  trials      iteration times that `allreplay tune` tried, and the best so far; by the option tuned, when it is one

Each panel is as wide as a column of a paper. The "plot" of a sweep's configuration says what to draw (docs/plots.md has
its keys); --option changes one of them. The format of a picture follows from its name: .png, .svg or .pdf. The same
input gives the same bytes. A figure made from reconstructed profiles says so.

Examples:
  allreplay sweep mgwfbp_fig10 --out fig10.csv
  tools/plot.py fig10.csv --config configs/mgwfbp_fig10.json --out fig10.png fig10.svg
  tools/plot.py fig10.csv --kind efficiency --option where='{"workers": [64, 128, 256]}' --out efficiency.pdf
  allreplay tune --profile resnet50_k80_b16 --cluster k80-10gbe --strategy ddp --out trials.csv
  tools/plot.py trials.csv --kind trials --out trials.png
"""

import argparse
import csv
import difflib
import io
import json
import math
import os
import re
import sys
import textwrap
from pathlib import Path

HERE = Path(__file__).resolve().parent
FORMATS = {".png": {"Software": None}, ".svg": {"Date": None}, ".pdf": {"CreationDate": None}}  # no time of making


class InputError(Exception):
    """Bad input; the text is the line to print: where, what is wrong, and what would be right."""


# --- what to draw ----------------------------------------------------------------------------------------------------

def is_text(value):
    """Whether a value of "plot" is a text."""
    return isinstance(value, str)


def is_columns(value):
    """Whether it names a column or several."""
    return is_text(value) or (isinstance(value, list) and bool(value) and all(map(is_text, value)))


def is_bool(value):
    """Whether it is true or false."""
    return isinstance(value, bool)


def is_positive(value):
    """Whether it is a number above 0."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < math.inf


def is_labels(value):
    """Whether it is an object of texts."""
    return isinstance(value, dict) and all(map(is_text, value.values()))


def is_where(value):
    """Whether it is an object of values, or lists of values."""
    return isinstance(value, dict)


def is_over(value):
    """Whether it names a column, or selects rows."""
    return is_text(value) or is_where(value)


CSV_COLUMNS = {  # kind: the numbers that it draws
    "speedup": ["speedup"],
    "efficiency": ["efficiency"],
    "lines": [],  # and the one that "y" names
    "bars": ["forward_s", "backward_s", "codec_s", "exposed_comm_s"],
    "columns": [],  # likewise
    "histogram": [],
    "trials": ["trial", "iteration_s", "best_so_far_s"],
}
KINDS = list(CSV_COLUMNS)

KEYS = {  # key of "plot": (default, whether a value is right, what is right); docs/plots.md explains each
    "kind": ("speedup", lambda value: value in KINDS, ", ".join(KINDS)),
    "x": (None, is_text, "the name of a column"),  # workers, or what was tuned
    "y": ("iteration_s", is_text, "the name of a column of numbers"),
    "over": ({}, is_over, 'the name of a column of numbers, or {"column": value}'),
    "unit": ("s", is_text, "a text"),
    "scale": (1, is_positive, "a number above 0: one unit, in the unit of the column"),
    "series": ("strategy", is_columns, "a column, or a list of columns"),
    "panels": ("profile", is_columns, "a column, or a list of columns"),
    "where": ({}, is_where, '{"column": value or [values]}'),
    "mark": ({}, is_where, '{"column": value or [values]}'),
    "labels": ({}, is_labels, '{"value": "what to write instead"}'),
    "log": (True, is_bool, "true or false"),
    "ideal": (True, is_bool, "true or false"),
}


def nearest(word, words):
    """The end of an error that names what was probably meant."""
    close = difflib.get_close_matches(str(word), words, 1, 0.5)
    return f"did you mean '{close[0]}'?" if close else f"one of {', '.join(words)}"


def check_option(place, key, value):
    """Throw unless `key` is a key of "plot" and `value` one of its values."""
    if key not in KEYS:
        raise InputError(f"{place}: unknown key '{key}' ({nearest(key, KEYS)})")
    _, is_right, right = KEYS[key]
    if not is_right(value):
        if key == "kind":
            right = nearest(value, KINDS)
        raise InputError(f"{place}: {key} is {json.dumps(value, ensure_ascii=False)} ({right})")


def read_text(path):
    """The text of a file."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise InputError(f"{path}: is not text (a CSV or JSON file in UTF-8)") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror} (the path of a file)") from None


def read_json(path):
    """A JSON object."""
    try:
        value = json.loads(read_text(path))
    except json.JSONDecodeError as error:
        raise InputError(f"{path}: line {error.lineno}: {error.msg} (JSON)") from None
    except RecursionError:
        raise InputError(f"{path}: is nested too deeply (a JSON object)") from None
    if not isinstance(value, dict):
        raise InputError(f"{path}: /: is no object (a JSON object)")
    return value


def read_options(arguments):
    """What to draw: the defaults, changed by the configuration, changed by the command line."""
    given = {}
    if arguments.config:
        plot = read_json(arguments.config).get("plot", {})
        if not isinstance(plot, dict):
            raise InputError(f"{arguments.config}: /plot: is no object (an object; see docs/plots.md)")
        for key, value in plot.items():
            check_option(f"{arguments.config}: /plot/{key}", key, value)
        given.update(plot)
    for text in arguments.option:
        key, equals, value = text.partition("=")
        if not equals:
            raise InputError(f"--option {text}: has no value (KEY=VALUE)")
        try:
            value = json.loads(value)
        except json.JSONDecodeError:
            pass  # a bare text
        check_option(f"--option {text}", key, value)
        given[key] = value
    if arguments.kind:
        check_option("--kind", "kind", arguments.kind)
        given["kind"] = arguments.kind
    return {key: given.get(key, default) for key, (default, _, _) in KEYS.items()}


# --- rows of a sweep -------------------------------------------------------------------------------------------------

def as_list(columns):
    """The columns of an option, which may be one."""
    return [columns] if isinstance(columns, str) else columns


def numbers_of(options):
    """The columns of numbers that are drawn."""
    over = [options["over"]] if isinstance(options["over"], str) else []
    return CSV_COLUMNS[options["kind"]] or [options["y"], *over]


def read_rows(path, options):
    """The rows of a CSV that "where" selects; numbers are parsed."""
    reader = csv.DictReader(io.StringIO(read_text(path)), strict=True)
    numbers = numbers_of(options)
    try:
        header = reader.fieldnames or []
        if not header:
            raise InputError(f"{path}: is empty (the CSV of a sweep: a header and rows)")
        if options["x"] is None:
            options["x"] = tuned_option(header) if options["kind"] == "trials" else "workers"
        named = [options["x"], *as_list(options["series"]), *as_list(options["panels"]), *options["where"], *options["mark"],
                 *(options["over"] if is_where(options["over"]) else [])]
        rows = []
        for row in reader:
            place = f"{path}: line {reader.line_num}"
            if None in row or None in row.values():
                raise InputError(f"{place}: has not as many fields as the header ({len(header)})")
            row = with_options(row)
            for column in numbers:
                if column in row:
                    row[column] = number(row[column], f"{place}: {column}")
            rows.append(row)
        known = list(dict.fromkeys([*header, *(column for row in rows for column in row)]))
        for column in dict.fromkeys([*numbers, *named]):
            if column not in known:
                raise InputError(f"{path}: line 1: no column '{column}' ({nearest(column, known)})")
        rows = [{column: row.get(column, "") for column in known} for row in rows]
    except csv.Error as error:
        raise InputError(f"{path}: line {reader.line_num}: {error} (CSV)") from None
    if not rows:
        raise InputError(f"{path}: has a header, and no rows (at least one)")
    if options["over"] and not CSV_COLUMNS[options["kind"]]:
        rows = relative(path, rows, options)
    for key in ("where", "mark"):
        chosen = rows
        for column, wanted in options[key].items():
            values = values_of(wanted)
            chosen = [row for row in chosen if row[column] in values]
            if not chosen:
                raise InputError(f"{path}: no row has {column} = {' or '.join(values)} (\"{key}\" selects at least one row)")
        rows = chosen if key == "where" else rows
    return rows


def relative(path, rows, options):
    """The rows with "y" divided by "over": a column of the row, or the "y" of the row that it selects among its like."""
    over, y = options["over"], options["y"]
    if isinstance(over, str):
        return [{**row, y: row[y] / number(row[over], f"{path}: {over}")} for row in rows]
    base = {}
    for row in rows:
        if all(row[column] in values_of(wanted) for column, wanted in over.items()):
            if base.setdefault(place_of(row, options), row) is not row:
                raise InputError(f"{path}: two rows to divide {place_of(row, options)} by (\"over\" selects one)")
    for row in rows:
        if place_of(row, options) not in base:
            raise InputError(f"{path}: no row to divide {place_of(row, options)} by (\"over\" selects one)")
    return [{**row, y: row[y] / base[place_of(row, options)][y]} for row in rows]


def place_of(row, options):
    """Where a row is drawn, but for the columns that "over" decides."""
    columns = [*as_list(options["panels"]), *as_list(options["series"]), options["x"]]
    return ", ".join(label(options, row[column]) for column in columns if column not in options["over"])


def with_options(row):
    """The row with a column for each of its options ("groups=2;stop=0"), but for those that are columns already."""
    options = [text.split("=", 1) for text in row.get("options", "").split(";") if "=" in text]
    return {**dict(options), **row}


def values_of(wanted):
    """The texts of a column that a condition lists, which may be one value."""
    return [str(value) for value in (wanted if isinstance(wanted, list) else [wanted])]


def tuned_option(header):
    """The column of the option that was tuned, when it is one; else that of the trial's number."""
    options = header[header.index("trial") + 1:header.index("iteration_s")] if {"trial", "iteration_s"} <= set(header) else []
    return options[0] if len(options) == 1 else "trial"


def number(text, place):
    """A finite, non-negative number."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf:
        raise InputError(f"{place} is '{text}' (a number of at least 0)")
    return value


def as_number(text):
    """A number where the text is one, else None."""
    try:
        return float(text)
    except ValueError:
        return None


def label(options, value):
    """What to write for a value of a column, or for a column."""
    return options["labels"].get(value) or STRATEGY_LABELS.get(value, value)


def grouped(path, rows, options):
    """{panel: {series: {x: row}}}, in the order of the file; throws where two rows would be one point."""
    panels = {}
    for row in rows:
        def title(key):
            return ", ".join(label(options, row[column]) for column in as_list(options[key]))
        points = panels.setdefault(title("panels"), {}).setdefault(title("series"), {})
        other = points.setdefault(label(options, row[options["x"]]), row)
        if other is not row:
            numbers = {*numbers_of(options), "memory", "events", "wall_s"}
            differ = [key for key in row if row[key] != other[key] and as_number(str(row[key])) is None and key not in numbers]
            hint = f"make '{differ[0]}' one of the series or panels, or select with \"where\"" if differ else "one row per point"
            raise InputError(f"{path}: two rows for {title('panels')}, {title('series')}, {options['x']} = {row[options['x']]} ({hint})")
    return panels


# --- style -----------------------------------------------------------------------------------------------------------

# The palette of Okabe and Ito, told apart by colour-blind readers; markers, dashes and hatches tell series apart in grey.
PALETTE = ["#0072B2", "#D55E00", "#009E73", "#000000", "#CC79A7", "#E69F00", "#56B4E9"]
MARKERS = ["o", "s", "^", "D", "v", "P", "X", "<", ">", "p", "h", "*", "d"]
DASHES = ["-", (0, (5, 1.5)), (0, (3, 1, 1, 1)), (0, (1, 1)), (0, (6, 1, 1, 1, 1, 1))]
HATCHES = ["////", "....", "\\\\\\\\", "xxxx", "----", "++++", "||||"]
STRATEGY_LABELS = {  # in the order that fixes each one's style, the same in every figure
    "wfbp": "WFBP", "sync-easgd": "SyncEASGD", "mg-wfbp": "MG-WFBP", "optimal-merge": "Optimal merge", "s-sgd": "S-SGD",
    "ddp": "DDP", "horovod": "Horovod", "bytescheduler": "ByteScheduler", "us-byte": "US-Byte", "p3": "P3", "dear": "DeAR",
    "mergecomp": "MergeComp", "best": "Best found",
}
COMPUTE, CODEC = "#D9D9D9", "#8C8C8C"

COLUMN = 3.4  # inches: one column of a two-column paper, and of this figure
RC = {"font.size": 8, "axes.titlesize": 8, "axes.labelsize": 8, "xtick.labelsize": 7, "ytick.labelsize": 7,
      "legend.fontsize": 7, "axes.linewidth": 0.6, "axes.xmargin": 0.03, "grid.linewidth": 0.4, "grid.color": "#DDDDDD", "axes.axisbelow": True,
      "lines.linewidth": 1.2, "hatch.linewidth": 0.5, "xtick.major.width": 0.6,
      "ytick.major.width": 0.6, "axes.spines.top": False, "axes.spines.right": False, "savefig.dpi": 300,
      "svg.hashsalt": "allreplay", "pdf.fonttype": 42, "path.simplify": False}


class Style:
    """The look of each series: that of its strategy, or the next one free."""

    def __init__(self, names, options):
        known = [label(options, strategy) for strategy in STRATEGY_LABELS]
        others = [name for name in names if name not in known]
        self._index = {**{name: place for place, name in enumerate(known)},
                       **{name: place + (len(known) if len(others) < len(names) else 0) for place, name in enumerate(others)}}

    def line(self, name):
        """Arguments of Axes.plot."""
        place = self._index[name]
        colour, hollow = PALETTE[place % len(PALETTE)], place % 2 == 1  # a hollow marker leaves one below it visible
        return {"color": colour, "marker": MARKERS[place % len(MARKERS)], "linestyle": DASHES[place % len(DASHES)],
                "markersize": 5.5 if hollow else 3.8, "markerfacecolor": "none" if hollow else colour,
                "markeredgecolor": colour, "markeredgewidth": 0.9}

    def bar(self, name):
        """Arguments of Axes.bar."""
        place = self._index[name]
        return {"facecolor": PALETTE[place % len(PALETTE)], "hatch": HATCHES[(place + place // len(PALETTE)) % len(HATCHES)], "edgecolor": "white",
                "linewidth": 0}


class Page:
    """A figure laid out in inches: the legend on top, panels, a note at the bottom. Nothing covers anything."""

    LEFT, RIGHT, TITLE, BELOW, LINE = 0.6, 0.12, 0.2, 0.42, 0.11  # around a panel; a line of the note
    LETTER = 0.06  # the width of one, of those at the axes

    def __init__(self, columns, rows, height, note):
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
        self.figure = Figure()
        FigureCanvasAgg(self.figure)
        self.axes = [self.figure.add_axes((0, 0, 1, 1), label=str(place)) for place in range(columns * rows)]
        self._columns, self._rows, self._height = columns, rows, height
        self._wide = COLUMN * columns
        self._slanted = 0  # inches that slanted names take below the axes
        self._note = textwrap.wrap(note, int(self._wide * 23))

    def name_groups(self, axes, names):
        """The names of what stands at 0, 1, … on the horizontal axis; slanted where they would touch."""
        axes.set_xticks(range(len(names)))
        room = (COLUMN - self.LEFT - self.RIGHT) / max(1, len(names))
        if max(map(len, names)) * self.LETTER < 0.9 * room:
            axes.set_xticklabels(names)
            return
        axes.set_xticklabels(names, rotation=35, ha="right", rotation_mode="anchor")
        self._slanted = max(self._slanted, 0.6 * self.LETTER * max(map(len, names)))

    def finish(self, handles):
        """Place everything, now that the legend is known; then the figure is ready to save."""
        below = self.BELOW + self._slanted
        wide, pitch = self._wide, self.TITLE + self._height + below
        foot = 0.04 + self.LINE * len(self._note) + below
        legend = self._legend(handles)
        tall = foot + pitch * self._rows - below + legend
        self.figure.set_size_inches(wide, tall)
        for place, axes in enumerate(self.axes):
            column, row = place % self._columns, place // self._columns
            axes.set_position(((column * COLUMN + self.LEFT) / wide, (tall - legend - pitch * row - self.TITLE - self._height) / tall,
                               (COLUMN - self.LEFT - self.RIGHT) / wide, self._height / tall))
        self.figure.legends[0].set_bbox_to_anchor((0.5, 1 - 0.04 / tall), self.figure.transFigure)
        self.figure.text(0.06 / wide, 0.04 / tall, "\n".join(self._note), fontsize=6, style="italic", color="#444444",
                         va="bottom", linespacing=1.15)
        return self.figure

    def _legend(self, handles):
        """Add the legend with as many entries in a row as fit; its height with the space around it, in inches."""
        for per_row in range(len(handles), 0, -1):
            by_rows = [handle for column in range(per_row) for handle in handles[column::per_row]]  # it fills columns first
            legend = self.figure.legend(by_rows, [handle.get_label() for handle in by_rows], loc="upper center", ncol=per_row,
                                        frameon=False, handlelength=2.6, columnspacing=1.2, labelspacing=0.3, borderpad=0,
                                        borderaxespad=0)
            size = legend.get_window_extent(self.figure.canvas.get_renderer())
            if size.width <= (self._wide - 0.1) * self.figure.dpi or per_row == 1:
                return size.height / self.figure.dpi + 0.1
            legend.remove()
        return 0


def page_of(panels, height, note):
    """A page with these panels: in a row up to four, else in several rows."""
    columns = len(panels) if len(panels) <= 4 else 3 if len(panels) <= 9 and len(panels) % 4 else 4
    page = Page(columns, math.ceil(len(panels) / columns), height, note)
    for surplus in page.axes[len(panels):]:
        surplus.remove()
    del page.axes[len(panels):]
    return page


def reconstructed_note(origins, options):
    """The note under a figure that used reconstructed or estimated profiles; `origins` are pairs (profile, origin)."""
    pairs, notes = dict.fromkeys(origins), []
    for guess in ("reconstructed", "estimated"):
        names = [label(options, profile) for profile, origin in pairs if origin == guess]
        if names:
            which = "" if len(names) == len(pairs) else f" ({'; '.join(names)})"
            notes.append(f"{guess.capitalize()} profile{'' if len(names) == 1 else 's'}{which}: layer times are inferred, not measured.")
    return " ".join(notes)


# --- speed-up and efficiency -----------------------------------------------------------------------------------------

IDEAL = {"color": "#666666", "linestyle": (0, (2, 2)), "linewidth": 0.9, "zorder": 1, "label": "Ideal"}


def draw_curves(rows, panels, options):
    """Speed-up, efficiency or any one number against x, a line per series."""
    from matplotlib.lines import Line2D
    from matplotlib.ticker import NullLocator, PercentFormatter
    names = list(dict.fromkeys(name for panel in panels.values() for name in panel))
    style, kind = Style(names, options), options["kind"]
    drawn, scale = (kind, 1) if kind in rows[0] else (options["y"], options["scale"])
    ideal = options["ideal"] and (kind == "efficiency" or kind == "speedup" and options["x"] == "workers" or kind == "lines" and bool(options["over"]))
    page = page_of(panels, 2.2, note_of_rows(rows, options))
    for axes, (title, panel) in zip(page.axes, panels.items()):
        ticks, place = x_axis(panel)
        values = [row[drawn] / scale for points in panel.values() for row in points.values()]
        logarithmic = options["log"] and place is float and float(ticks[0]) > 0
        if logarithmic:
            axes.set_xscale("log", base=2)
            axes.xaxis.set_minor_locator(NullLocator())
        workers = [float(tick) for tick in ticks] if ideal and kind == "speedup" else []
        if workers:
            axes.plot(workers, workers, **IDEAL)
        elif ideal:
            axes.axhline(1, **IDEAL)
        for name, points in panel.items():
            across = sorted((place(x), row[drawn] / scale) for x, row in points.items())
            axes.plot(*zip(*across), clip_on=False, zorder=3, **style.line(name))
        shown = ticks[::math.ceil(len(ticks) / 11)]
        axes.set_xticks([place(tick) for tick in shown])
        axes.set_xticklabels([label(options, tick) for tick in shown])
        axes.set_xlabel(axis_name(options["x"], options))
        axes.set_title(title, pad=4)
        axes.grid(True)
        if kind == "efficiency":
            axes.set_ylim(0, 1.02 * max(1, *values))
            axes.yaxis.set_major_formatter(PercentFormatter(1, symbol=None))
            axes.set_ylabel("scaling efficiency (%)")
        elif kind == "lines":
            if options["log"] and max(values) > 6 * min(values):
                powers_of_two(axes, values)
            axes.set_ylabel(axis_name(drawn, options) + ("" if options["over"] else f" ({options['unit']})"))
        else:
            if logarithmic:
                powers_of_two(axes, values + workers)
            else:
                axes.set_ylim(0, 1.05 * max(*values, 1))
            axes.set_ylabel("speed-up over one worker")
    handles = [Line2D([], [], label=name, **style.line(name)) for name in names]
    if ideal:
        handles.append(Line2D([], [], **{**IDEAL, "label": options["labels"].get("ideal", "Equal") if kind == "lines" else IDEAL["label"]}))
    return page.finish(handles)


def note_of_rows(rows, options):
    """The note under a figure of these rows."""
    return reconstructed_note([(row.get("profile", ""), row.get("origin")) for row in rows], options)


def x_axis(panel):
    """The x values of a panel in order, and the function from one to its place: itself, or a number where it is a name."""
    values = list(dict.fromkeys(x for points in panel.values() for x in points))
    if all(as_number(value) is not None for value in values):
        return sorted(values, key=float), float
    return values, values.index


def powers_of_two(axes, values):
    """A base-2 logarithmic y axis that holds the values, with ticks that people read."""
    from matplotlib.ticker import NullLocator
    values = [value for value in values if value > 0] or [1]
    low, high = math.floor(math.log2(min(values))), math.ceil(math.log2(max(values)))
    axes.set_yscale("log", base=2)
    axes.yaxis.set_minor_locator(NullLocator())
    exponents = range(low, high + 1, math.ceil((high - low + 1) / 12))
    axes.set_yticks([2.0 ** exponent for exponent in exponents])
    axes.set_yticklabels([f"{2.0 ** exponent:g}" for exponent in exponents])
    axes.set_ylim(2.0 ** low, 2.0 ** max(high, low + 1))


def axis_name(column, options):
    """A column's name as an axis shows it."""
    return options["labels"].get(column) or column.removesuffix("_s").replace("_", " ")


def unit_for(seconds):
    """(unit, how many of it make a second) in which this duration reads well."""
    return next((one for one in [("s", 1), ("ms", 1e3), ("µs", 1e6)] if seconds * one[1] >= 1), ("ns", 1e9))


# --- bars ------------------------------------------------------------------------------------------------------------

BARS = 1.9  # inches: how high a panel is


def draw_bars(rows, panels, options):
    """One iteration as computation with exposed communication on it: a group per x, a bar per series."""
    from matplotlib.patches import Patch
    names = list(dict.fromkeys(name for panel in panels.values() for name in panel))
    style = Style(names, options)
    coded = any(row["codec_s"] > 0 for row in rows)
    page = page_of(panels, BARS, note_of_rows(rows, options))
    for axes, (title, panel) in zip(page.axes, panels.items()):
        groups, _ = x_axis(panel)
        longest = max(sum(row[part] for part in CSV_COLUMNS["bars"]) for points in panel.values() for row in points.values())
        unit, scale = unit_for(longest)
        width = 0.84 / len(panel)
        shortest = min(row["forward_s"] + row["backward_s"] for points in panel.values() for row in points.values())
        roomy = len(groups) * len(panel) <= 24 and max(map(len, panel)) * 0.063 < BARS * shortest / longest  # for the names
        for index, (name, points) in enumerate(panel.items()):
            for group, x in enumerate(groups):
                if x in points:
                    middle = group + (index - (len(panel) - 1) / 2) * width
                    stack_bar(axes, middle, 0.88 * width, points[x], scale, style.bar(name))
                    if roomy:
                        axes.text(middle, 0.02 * longest * scale, name, rotation=90, ha="center", va="bottom", fontsize=6)
        page.name_groups(axes, groups)
        axes.tick_params(axis="x", length=0)
        axes.set_xlim(-0.55, len(groups) - 0.45)
        axes.set_ylim(0, longest * scale * 1.05)
        axes.set_xlabel(axis_name(options["x"], options))
        axes.set_ylabel(f"time per iteration ({unit})")
        axes.set_title(title, pad=4)
        axes.grid(True, axis="y")
    handles = [Patch(facecolor=COMPUTE, label="Computation")] + [Patch(facecolor=CODEC, label="Compression")] * coded
    return page.finish(handles + [Patch(label=f"Exposed, {name}", **style.bar(name)) for name in names])


def stack_bar(axes, x, width, row, scale, exposed):
    """One bar."""
    bottom = 0
    for part, look in [(row["forward_s"] + row["backward_s"], {"facecolor": COMPUTE}), (row["codec_s"], {"facecolor": CODEC}),
                       (row["exposed_comm_s"], exposed)]:
        axes.bar(x, part * scale, width, bottom * scale, zorder=2, **look)
        bottom += part


def number_text(value):
    """A number above its column: four digits, or all before the point; two of small ones, which take as much room."""
    value = float(f"{value:.9g}")
    return f"{value:,.0f}" if value >= 10_000 else f"{value:.4g}" if value >= 0.1 else f"{value:.2g}"


# --- columns ---------------------------------------------------------------------------------------------------------

def draw_columns(rows, panels, options):
    """One number of each row: a group per x, a column per series, the number above it."""
    from matplotlib.patches import Patch
    names = list(dict.fromkeys(name for panel in panels.values() for name in panel))
    style = Style(names, options)
    heights = [row[options["y"]] / options["scale"] for row in rows]
    page = page_of(panels, BARS, note_of_rows(rows, options))
    for axes, (title, panel) in zip(page.axes, panels.items()):
        groups, _ = x_axis(panel)
        by_group = [[(name, points[x][options["y"]] / options["scale"]) for name, points in panel.items() if x in points] for x in groups]
        width = 0.84 / max(map(len, by_group))
        for group, columns in enumerate(by_group):
            for index, (name, height) in enumerate(columns):
                middle = group + (index - (len(columns) - 1) / 2) * width
                axes.bar(middle, height, 0.88 * width, zorder=2, **style.bar(name))
                if len(groups) / width <= 12:  # room for the numbers
                    axes.text(middle, height, number_text(height), ha="center", va="bottom", fontsize=6)
        page.name_groups(axes, [label(options, group) for group in groups])
        axes.tick_params(axis="x", length=0)
        axes.set_xlim(-0.55, len(groups) - 0.45)
        axes.set_ylim(0, 1.1 * max(heights) or 1)
        axes.set_xlabel(axis_name(options["x"], options))
        axes.set_ylabel(axis_name(options["y"], options) + ("" if options["over"] else f" ({options['unit']})"))
        axes.set_title(title, pad=4)
        axes.grid(True, axis="y")
    return page.finish([Patch(label=name, **style.bar(name)) for name in names])


# --- histograms ------------------------------------------------------------------------------------------------------

BINS = 60


def by_panel(rows, options):
    """{panel: its rows}, in the order of the file."""
    panels = {}
    for row in rows:
        panels.setdefault(", ".join(label(options, row[column]) for column in as_list(options["panels"])), []).append(row)
    return panels


def draw_histogram(rows, options):
    """How one number is distributed over the rows of a panel; rows that "mark" selects are lines across."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch
    panels = by_panel(rows, options)
    page = page_of(panels, BARS, note_of_rows(rows, options))
    marks = {}  # name: look
    for axes, (title, panel) in zip(page.axes, panels.items()):
        marked = [row for row in panel if options["mark"] and all(row[key] in values_of(wanted) for key, wanted in options["mark"].items())]
        others = [row for row in panel if row not in marked]
        axes.hist([row[options["y"]] / options["scale"] for row in others], BINS, color=PALETTE[6], zorder=2)
        for row in marked:
            name = ", ".join(label(options, row[column]) for column in options["mark"])
            place = len(marks)
            look = marks.setdefault(name, {"color": PALETTE[1 + place % 5], "linestyle": DASHES[place % len(DASHES)], "linewidth": 1.4})
            axes.axvline(row[options["y"]] / options["scale"], zorder=3, **look)
        axes.set_xlabel(f"{axis_name(options['y'], options)} ({options['unit']})")
        axes.set_ylabel(axis_name("rows", options))
        axes.set_title(title, pad=4)
        axes.grid(True, axis="y")
    handles = [Patch(facecolor=PALETTE[6], label=options["labels"].get("others", "others" if marks else "rows"))]
    return page.finish(handles + [Line2D([], [], label=name, **look) for name, look in marks.items()])


# --- trials of a tuning ----------------------------------------------------------------------------------------------

UNITS = {"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30,
         "s": 1, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "ps": 1e-12, "": 1}


def quantity(text):
    """A number with or without a unit of size or time; None where it is none."""
    match = re.fullmatch(r"([0-9.]+(?:[eE][-+]?[0-9]+)?) ?([A-Za-z]*)", text)
    return float(match[1]) * UNITS[match[2]] if match and match[2] in UNITS else None


def draw_trials(rows, options):
    """Iteration times of trials by their number, with the best so far, or by the option tuned."""
    from matplotlib.lines import Line2D
    from matplotlib.ticker import NullLocator
    panels = by_panel(rows, {**options, "panels": [*as_list(options["panels"]), *as_list(options["series"])]})
    page = page_of(panels, BARS, note_of_rows(rows, options))
    by_option = options["x"] != "trial"
    tried = {"color": PALETTE[0], "marker": "o", "markersize": 3.8, "linestyle": "none", "label": "Trial"}
    best = {"color": PALETTE[1], "marker": "*", "markersize": 9, "linestyle": "none", "label": "Best"}
    so_far = {"color": PALETTE[1], "linewidth": 1.2, "label": "Best so far"}
    for axes, (title, panel) in zip(page.axes, panels.items()):
        unit, scale = unit_for(min(row["iteration_s"] for row in panel))
        places = [quantity(row[options["x"]]) if by_option else row["trial"] for row in panel]
        times = [row["iteration_s"] * scale for row in panel]
        axes.plot(places, times, zorder=2, clip_on=False, **tried)
        fastest = min(range(len(panel)), key=times.__getitem__)
        if by_option:
            axes.plot(places[fastest], times[fastest], zorder=4, **best)
            if min(places) > 0:
                axes.set_xscale("log", base=2)
                axes.xaxis.set_minor_locator(NullLocator())
            known = dict(sorted(zip(places, (row[options["x"]] for row in panel))))
            shown = spaced(list(known), 4)
            axes.set_xticks(shown)
            axes.set_xticklabels([known[place] for place in shown])
        else:
            axes.step(places, [row["best_so_far_s"] * scale for row in panel], where="post", zorder=3, **so_far)
        if max(times) > 3 * min(times):  # else a few bad trials would flatten the others
            powers_of_two(axes, times)
        axes.set_xlabel(axis_name(options["x"], options))
        axes.set_ylabel(f"time per iteration ({unit})")
        axes.set_title(title, pad=4)
        axes.grid(True, axis="y")
    return page.finish([Line2D([], [], **tried), Line2D([], [], **(best if by_option else so_far))])


def spaced(places, count):
    """The first place, and each next one far enough from the last for about `count` more labels on a logarithmic axis."""
    least = (math.log(places[-1] / places[0]) if places[0] > 0 else 0) / count
    shown = places[:1]
    for place in places[1:]:
        if places[0] <= 0 or math.log(place / shown[-1]) >= least:
            shown.append(place)
    return shown


# --- command ---------------------------------------------------------------------------------------------------------

def reader(paths, options):
    """Read the input; what is returned draws it. So bad input is told before matplotlib is loaded, which takes a second."""
    if len(paths) > 1:
        raise InputError(f"{paths[1]}: is one file too many ({options['kind']} is drawn from one CSV)")
    rows = read_rows(paths[0], options)
    if options["kind"] == "histogram":
        return lambda: draw_histogram(rows, options)
    if options["kind"] == "trials":
        for line, row in enumerate(rows if options["x"] != "trial" else [], 1):
            if quantity(row[options["x"]]) is None:
                raise InputError(f"{paths[0]}: trial {line}: {options['x']} is '{row[options['x']]}' (a number, a size or a time; or draw by x=trial)")
        return lambda: draw_trials(rows, options)
    panels = grouped(paths[0], rows, options)
    for row in rows if options["x"] == "workers" else []:
        number(row["workers"], f"{paths[0]}: workers")
    return lambda: {"bars": draw_bars, "columns": draw_columns}.get(options["kind"], draw_curves)(rows, panels, options)


def load_matplotlib(arguments):
    """Load it in our style; where the first Python in PATH has none, start again with one that has."""
    try:
        import matplotlib
    except ImportError:
        os.execv(HERE / "python.sh", ["python.sh", __file__, *arguments])
    matplotlib.rcdefaults()
    matplotlib.rcParams.update(RC)


def save(figure, outputs, dpi):
    """Write the pictures, once all of them are drawn."""
    pictures = []
    for path in outputs:
        picture = io.BytesIO()
        figure.savefig(picture, format=path.suffix[1:].lower(), dpi=dpi, metadata=FORMATS[path.suffix.lower()])
        pictures.append(picture.getvalue())
    for path, picture in zip(outputs, pictures):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(picture)
        except OSError as error:
            raise InputError(f"{path}: cannot be written: {error.strerror} (a path in a folder of yours)") from None


def main(argv):
    """The command line; its exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("input", nargs="+", metavar="INPUT", help="the CSV of a sweep or a tuning")
    parser.add_argument("--config", metavar="FILE", help="the sweep's configuration, whose \"plot\" says what to draw")
    parser.add_argument("--kind", help=f"what to draw: {', '.join(KINDS)} (default: the configuration's, else speedup)")
    parser.add_argument("--option", action="append", default=[], metavar="KEY=VALUE", help=f"a key of \"plot\": {', '.join(KEYS)}; may be repeated")
    parser.add_argument("--out", nargs="+", required=True, type=Path, metavar="FILE", help="the pictures to write: .png, .svg or .pdf")
    parser.add_argument("--dpi", type=int, choices=range(50, 1201), default=300, metavar="N", help="pixels per inch of a .png, 50 to 1200 (%(default)s)")
    arguments = parser.parse_args(argv)
    try:
        options = read_options(arguments)
        for path in arguments.out:
            if path.suffix.lower() not in FORMATS:
                raise InputError(f"--out {path}: unknown format '{path.suffix}' ({', '.join(FORMATS)})")
        draw = reader(arguments.input, options)
        load_matplotlib(argv)
        save(draw(), arguments.out, arguments.dpi)
    except InputError as error:
        print(" ".join(str(error).split("\n")), file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
