"""The rows of the sweeps in configs/, as numbers."""
import csv
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
NUMBERS = {"workers", "iteration_s", "forward_s", "backward_s", "exposed_comm_s", "comm_busy_s", "codec_s", "update_s", "copy_s", "collectives", "speedup", "efficiency", "bubble_s", "exposed_dp_s", "exposed_p2p_s", "layer_comm_s", "exposed_ep_s", "newton_schulz_s", "period_s",
           "samples_per_s", "lower_bound_s", "memory_bytes", "events", "network_events", "wall_s",
           "alone_s", "slowdown", "worst_slowdown", "mean_slowdown", "fairness"}  # of jobs


class Sweeps:
    """Runs sweeps on demand, each once; `folder` keeps their CSV files, and those that are there are taken as they are."""

    def __init__(self, program, folder):
        self._program, self._folder, self._rows = program, pathlib.Path(folder), {}

    def run(self, name):
        """The path of the sweep's CSV."""
        file = self._folder / f"{name}.csv"
        done = subprocess.run([self._program, "sweep", str(ROOT / "configs" / f"{name}.json"), "--out", str(file), "--resume"],
                              capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{name}: {done.stderr.strip()}")
        return file

    @staticmethod
    def config(name):
        """The sweep's configuration."""
        return json.loads((ROOT / "configs" / f"{name}.json").read_text())

    def json(self, *command):
        """What another command of the program prints as JSON."""
        done = subprocess.run([self._program, *command], capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)}: {done.stderr.strip()}")
        return json.loads(done.stdout)

    def rows(self, name, **wanted):
        """The rows whose columns (or options) have these values, in the order of the file."""
        if name not in self._rows:
            with open(self.run(name), newline="") as stream:
                self._rows[name] = [parsed(row) for row in csv.DictReader(stream)]
        return [row for row in self._rows[name] if all(row.get(column) == value for column, value in wanted.items())]

    def row(self, name, **wanted):
        """The only such row."""
        found = self.rows(name, **wanted)
        if len(found) != 1:
            sys.exit(f"{name}: {len(found)} rows with {wanted} (one)")
        return found[0]


def parsed(row):
    """Numbers as numbers, None where there is none; a column for each option."""
    options = dict(text.split("=", 1) for text in row["options"].split(";") if text)
    values = {column: (float(text) if text else None) if column in NUMBERS else text for column, text in row.items()}
    whole = {column: int(values[column]) for column in ("workers", "collectives") if column in values}
    return {**options, **values, **whole}
