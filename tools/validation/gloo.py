"""Two CPU processes with DistributedDataParallel on gloo: the whole chain from profiler to prediction, as tools/measure_ddp.py measured it by hand."""

import json
import statistics
from pathlib import Path

from .scored import percent, score_table, signed

MEASURED = Path(__file__).resolve().parent / "gloo_ddp.json"

TEXT = """## Two CPU processes, PyTorch's DDP on gloo

The whole chain on an ordinary machine: a small convolutional net (3.9 million parameters in 12 tensors, batch 8, fp32) profiled alone by `tools/profile_torch.py` with one thread, gloo's all-reduce
between two processes measured by size and calibrated (`calibrate --collective ring`), and the iteration of real DDP (buckets of {bucket} MiB, SGD with momentum) predicted from both. Measured by hand with
`tools/measure_ddp.py`, {runs} times from the profile on, on a virtual machine with {cores} cores: one for each process, none for gloo's threads. **Others used it at the same time**: the load is given with each run.

- *as profiled*: the profile and the calibrated all-reduce, and nothing else.
- *as together*: the profile scaled to what an iteration without DDP takes in both processes at once, measured in turn with those of DDP: the processes share the memory's bandwidth, and here the cores with
  others, whose load differs from minute to minute.

| run | load | alone, profiled | alone, together | all-reduce | DDP, measured | as profiled | error | as together | error |
|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|
{rows}

Times in ms; the all-reduce is of 16 MiB, about all gradients.

{scores}

{words}
"""


def milliseconds(seconds):
    return f"{1e3 * seconds:.1f}"


def computing(profile):
    """Seconds of an iteration alone."""
    return 1e-6 * (sum(layer["forward"] + layer["backward"] for layer in profile["layers"]) + profile.get("update", 0))


def calibrated(scorer, name, run):
    """The network of this run's all-reduces: a line, or the table where that misses."""
    (scorer.folder / f"{name}.csv").write_text("workers,bytes,time_s\n" + "".join(f"2,{size},{seconds!r}\n" for size, seconds in run["all_reduce_s"]), encoding="utf-8")
    scorer.run("calibrate", f"{scorer.folder}/{name}.csv", "--collective", "ring", "--cluster-out", f"{scorer.folder}/{name}.json")
    return json.loads((scorer.folder / f"{name}.json").read_text(encoding="utf-8"))


def points_of(scorer, measured):
    """{group: points} of both ways to predict."""
    points = {"as profiled": [], "as together": []}
    for number, run in enumerate(measured["runs"]):
        network = calibrated(scorer, f"gloo_{number}", run)
        scale = run["together_s"] / computing(run["profile"])
        together = json.loads(json.dumps(run["profile"]))
        for layer in together["layers"]:
            layer["forward"], layer["backward"] = layer["forward"] * scale, layer["backward"] * scale
        together["update"] = run["profile"].get("update", 0) * scale
        for group, profile in (("as profiled", run["profile"]), ("as together", together)):
            name = f"gloo_{number}_{group.replace(' ', '_')}"
            (scorer.folder / f"{name}_profile.json").write_text(json.dumps(profile), encoding="utf-8")
            (scorer.folder / f"{name}.json").write_text(json.dumps({**network, "name": name}), encoding="utf-8")
            points[group].append({"profile": f"{name}_profile.json", "cluster": f"{name}.json", "workers": 2, "strategy": "ddp", "bucket_cap": f"{measured['bucket_mib']}MiB",
                                  "iteration_s": repr(run["iteration_s"]), "group": group})
    return points


def words(groups, measured):
    """What the numbers say, and where they miss, why."""
    together = statistics.median(run["together_s"] / computing(run["profile"]) for run in measured["runs"])
    parallel = statistics.median(run["iteration_s"] / run["together_s"] for run in measured["runs"])
    lines = []
    for name, found in groups.items():
        errors = [abs(point["error"]) for point in found["points"]]
        lines.append(f"- *{name}*: {sum(error <= 0.15 for error in errors)} of {len(errors)} runs within 15 %, the median of their sizes {percent(statistics.median(errors))}, "
                     f"the error of the median iteration {signed(middle_error(found))}.")
    lines.append(f"- In the median run an iteration without DDP in both processes at once takes {together:.2f} times what was profiled alone, and with DDP {parallel:.2f} times that again.")
    found = groups["as together"]["all"]
    error, none, after = (found[name]["median"] for name in ("error", "no_communication", "no_overlap"))
    lines.append(f"- Of *as together* the median error is {percent(error)}; had communication taken no time it would be {percent(none)}, and had nothing overlapped {percent(after)}. "
                 + ("gloo's threads reduce and copy on the cores that the two processes compute on, so that little is hidden: the prediction assumes "
                    "a spare core for each process, which this machine does not have."
                    if after < error else "Communication hides, as predicted."))
    share = statistics.median(run["all_reduce_s"][-1][1] / run["iteration_s"] for run in measured["runs"])
    lines.append(f"- Reducing all gradients at once takes {percent(share)} of an iteration in the median run: this tests the chain and its computation rather than the schedule.")
    return "\n".join(lines)


def middle_error(found):
    """Of the median prediction against the median measurement: what one machine's noise leaves of the chain's bias."""
    predicted = statistics.median(point["predicted"] for point in found["points"])
    return 1 - predicted / statistics.median(point["measured"] for point in found["points"])


def section(scorer, reference):
    """The section, lines for the page's first table, and no rows for its picture."""
    del reference
    measured = json.loads(MEASURED.read_text(encoding="utf-8"))
    groups = {group: scorer.score(f"gloo_{group.replace(' ', '_')}", points) for group, points in points_of(scorer, measured).items()}
    rows = []
    for number, run in enumerate(measured["runs"]):
        cells = [str(number + 1), f"{run['load']:.1f}", milliseconds(computing(run["profile"])), milliseconds(run["together_s"]),
                 milliseconds(run["all_reduce_s"][-1][1]), milliseconds(run["iteration_s"])]
        for found in groups.values():
            point = found["points"][number]
            cells += [milliseconds(point["predicted"]), signed(point["error"])]
        rows.append("| " + " | ".join(cells) + " |")
    scores = [(f"DDP on gloo, two CPU processes, {group}", found) for group, found in groups.items()]
    text = TEXT.format(bucket=measured["bucket_mib"], runs=len(measured["runs"]), cores=measured["cores"], rows="\n".join(rows), words=words(groups, measured),
                       scores=score_table("DDP on gloo", [(group, found["all"]) for group, found in groups.items()]))
    return text, scores, []
