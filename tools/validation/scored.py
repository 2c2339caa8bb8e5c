"""Points of one published data set, scored by `allreplay validate`: the only way in which the page scores."""

import csv
import json
import subprocess
import sys
from pathlib import Path

HEADER = ("| {} | points | median | 90 % | worst | bias | no communication: median | 90 % | no overlap: median | 90 % | scaling loss | its error |\n"
          "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n")


WHERE = ("--where-it-matters", "5%")  # communication matters where the null model without it is off by more


class InputError(Exception):
    """What a command complained of."""


class ScoredTwice(ValueError):
    """A row says what is known, and is scored."""


def require_apart(known, scored):
    """Refuses what is both known (it sets the speed of computation, or fits a constant) and scored: rows, which may be equal and not the same, or their keys."""
    known = list(known)
    both = [one for one in scored if any(one is other or (not isinstance(one, dict) and one == other) for other in known)]
    if both:
        raise ScoredTwice(f"{len(both)} rows are fitted and scored: {both[0]}, …")


def percent(ratio):
    return f"{100 * ratio:.1f} %"


def signed(ratio):
    return f"{100 * ratio:+.1f} %"


def read_csv(file):
    with open(file, newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


class Scorer:
    """Runs the program in a folder of its own, in which clusters, profiles and points stand."""

    def __init__(self, program, folder):
        self.program, self.folder = Path(program).resolve(), Path(folder)

    def run(self, *arguments):
        done = subprocess.run([self.program, *map(str, arguments)], capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"{' '.join(map(str, arguments))}: {done.stderr.strip()}")
        return done.stdout

    def json(self, *arguments):
        return json.loads(self.run(*arguments, "--json"))

    def cluster(self, name, workers, network, **more):
        """A cluster file; its name, for rows."""
        (self.folder / f"{name}.json").write_text(json.dumps({"name": name, "workers": workers, "network": network, **more}), encoding="utf-8")
        return f"{name}.json"

    def score(self, name, rows, *arguments):
        """What `validate` says of these rows; dicts, of which some may lack a column."""
        columns = list(dict.fromkeys(column for row in rows for column in row))
        file = self.folder / f"{name}.csv"
        with open(file, "w", newline="", encoding="utf-8") as stream:
            writer = csv.DictWriter(stream, columns, restval="")
            writer.writeheader()
            writer.writerows(rows)
        return self.json("validate", file, *(() if "time_s" in columns else WHERE), *arguments)


def score_line(label, group):
    """A line under HEADER."""
    error, none, after, loss = group["error"], group["no_communication"], group["no_overlap"], group["scaling_loss"]
    cells = [label, str(group["points"]), percent(error["median"]), percent(error["p90"]), signed(error["worst"]), signed(error["bias"]),
             percent(none["median"]), percent(none["p90"]), percent(after["median"]), percent(after["p90"]),
             percent(loss["measured_median"]), percent(loss["error_median"])]
    return "| " + " | ".join(cells) + " |"


def both(label, found):
    """Two lines of a data set: all points, and those where communication matters."""
    return [(label, found["all"]), (f"{label}: where it matters", found["matters"])]


def score_table(title, groups):
    """A table of [(label, group)]; of a group without points nothing is said."""
    groups = [(label, group) for label, group in groups if group["points"]]
    return HEADER.format(title) + "\n".join(score_line(label, group) for label, group in groups)
