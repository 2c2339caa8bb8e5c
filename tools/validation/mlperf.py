"""MLPerf Training: plain data parallelism on 8 to 2,048 GPUs, from the rate of the smallest system of a series."""

import functools
import json
import statistics

import estimation_errors

from .scored import read_csv, require_apart, score_table

# Of each benchmark the model whose layers are estimated; of each GPU the device and the preset.
MODELS = {"resnet": "resnet50", "ssd": "resnext50_32x4d"}
GPUS = {"A100": ("a100-80gb", "a100x8-8x200gbps"), "H100": ("h100", "h100x8-8x400gbps")}
STAND_IN = "ssd"  # whose own layers no model here has: bytes and rate alone
MOST_SPREAD = 20  # per cent among a system's runs

TEXT = """## MLPerf Training on 8 to 2,048 GPUs

Step times of systems submitted to MLPerf Training v2.1 to v5.1. A series is one benchmark, round, submitter and GPU; its smallest system, one node of 8, gives the speed of computation, and is not scored: {points} larger systems of
{series} series are. Layer times are `allreplay estimate`'s in fp16 at the rate of the smallest system, for the batch of the larger one by the ratio of two rooflines (the batch of a GPU falls as GPUs rise), communication is `ddp` of
fp16 gradients on the presets for A100 and H100. Nothing is fitted. Left out: rows whose time is that of a whole run, or of fewer than three reports; systems whose runs differ by more than {spread} %; nodes of other than
8 GPUs, cards on PCIe, and series of one size. BERT is left out: FP8, sequences of all lengths without padding, and one report a run. For the detector (`ssd`: RetinaNet on a ResNeXt-50) the layers of ResNeXt-50 alone stand
in, a part of its parameters, and each sample takes as long as in the smallest system, beside what the host takes for a step (`host_step`), whatever the batch: {steps}. That is what the line through the step times of *other* series, less the communication and spread that are replayed for them, leaves
at no samples, the median over these series; their systems of several batches are fitted, and of the series itself only the smallest system is known.

{scores}

Mean step time over the predicted one: {ratios}.

The detector at other batches than the smallest system's, with the host's step and, as a third null model, without:

{another}

{table}

- ResNet-50: of what a GPU loses from 8 to {most} GPUs the spread of GPUs, start-ups and smaller batches explain about half. The worst, HPE's 32 and
  64 GPUs, run on nodes of 4 network cards where the preset has 8, but so do its 16 and 128.
- The detector at one to eight images per GPU does not test schedules: a step takes up to two and a half times its share of the smallest system's, whatever the network, since the host's part of it does not shrink with the batch.
- Few rows have equal batches, so this set tests computation at small batches as much as communication.
"""


def in_proportion(trace, batch, out):
    """The trace with another batch and the same time for each sample."""
    made = json.loads(trace.read_text(encoding="utf-8"))
    for layer in made["layers"]:
        for times in estimation_errors.TIMES & layer.keys():
            layer[times] *= batch / made["batch_size"]
    made["batch_size"] = batch
    out.write_text(json.dumps(made), encoding="utf-8")


def series_of(rows):
    """Lists of systems of one series, the smallest first."""
    groups = {}
    for row in rows:
        plain = row["benchmark"] in MODELS and row["gpus_per_node"] == "8" and row["source"] != "whole run" and row["reports_per_run"] and float(row["reports_per_run"]) >= 3
        same_runs = row["note"] != "runs differ in batch" and float(row["spread_percent"] or 0) <= MOST_SPREAD
        if plain and same_runs and "SXM" in row["accelerator"] and any(gpu in row["accelerator"] for gpu in GPUS):
            groups.setdefault((row["benchmark"], row["accelerator"], row["round"], row["submitter"]), []).append(row)
    ordered = [sorted(group, key=lambda row: int(row["gpus"])) for group in groups.values()]
    return [group for group in ordered if int(group[-1]["gpus"]) > int(group[0]["gpus"])]


def is_detector(group):
    return group[0]["benchmark"] == STAND_IN


def intercept(group, beyond=None):
    """Milliseconds of a step at no samples: of the line through its systems with the least squares of relative errors; None where all have one batch.
    `beyond`: by system, the milliseconds that communication and the spread of GPUs add."""
    steps = [float(row["step_ms"]) - more for row, more in zip(group, beyond or [0] * len(group))]
    pairs = [(int(row["samples_per_gpu"]) / step, 1 / step) for row, step in zip(group, steps)]
    xx, xy, yy = (sum(one[i] * one[j] for one in pairs) for i, j in ((0, 0), (0, 1), (1, 1)))
    x, y = map(sum, zip(*pairs))
    return None if len({row["samples_per_gpu"] for row in group}) < 2 else (xx * y - xy * x) / (xx * yy - xy * xy)


def name_of(group):
    return group[0]["benchmark"], group[0]["accelerator"], group[0]["round"], group[0]["submitter"]


def host_step(group, series, beyond):
    """What other series of the detector say of a step, in ms. `beyond`: as for intercept(), by series."""
    others = [other for other in series if is_detector(other) and other is not group and intercept(other) is not None]
    require_apart(map(name_of, others), [name_of(group)])
    return statistics.median(intercept(other, beyond(other)) for other in others)


def replayed_beyond(scorer, group):
    """By system of a series, the milliseconds that a replay without the host adds to computing."""
    added = [0.0]  # the smallest, whose rate contains them
    for _, point in points_of(scorer, group, f"bare-{name_of(group)[3]}-{name_of(group)[1][:11]}".replace(" ", "-")):
        run = scorer.json("run", "--profile", scorer.folder / point["profile"], "--cluster", point["cluster"], "--workers", point["workers"], "--strategy", "ddp")
        added.append(1e3 * (run["exposed_comm_s"] + run["straggler_s"]))
    return added


def points_of(scorer, group, number, step=None):
    """A point for each larger system; `step`: the host's milliseconds."""
    smallest, *larger = group
    device, cluster = next(where for gpu, where in GPUS.items() if gpu in smallest["accelerator"])
    model = MODELS[smallest["benchmark"]]
    first, batch = scorer.folder / f"mlperf-{number}.json", int(smallest["samples_per_gpu"])
    setting = ("--cluster", cluster, "--workers", smallest["gpus"], "--strategy", "ddp", *(("--option", f"host_step={step!r} ms") if step else ()))
    scorer.run("estimate", "--model", model, "--device", device, "--precision", "fp16", "--batch", batch, "--samples-per-second", repr(1e3 * batch / float(smallest["step_ms"])), *setting, "--out", first, "--force")
    for row in larger:
        trace = f"mlperf-{number}-{row['gpus']}.json"
        if row["samples_per_gpu"] == smallest["samples_per_gpu"]:
            trace = first.name
        elif smallest["benchmark"] == STAND_IN:
            in_proportion(first, int(row["samples_per_gpu"]), scorer.folder / trace)
        else:
            scorer.run("estimate", "--from", first, "--batch", row["samples_per_gpu"], "--out", scorer.folder / trace)
        yield row, {"profile": trace, "cluster": cluster, "workers": row["gpus"], "strategy": "ddp", "iteration_s": repr(1e-3 * float(row["step_ms"])), "group": row["benchmark"]}


def table(systems, found):
    lines = ["| benchmark | GPU, round, submitter | GPUs | batch of a GPU: smallest | here | step, ms | error | without communication |", "|---|---|--:|--:|--:|--:|--:|--:|"]
    for (smallest, row), point in zip(systems, found["points"]):
        without = 1 - point["no_communication"] / point["measured"]
        cells = [row["benchmark"], f"{row['accelerator'].removeprefix('NVIDIA ')}, {row['round']}, {row['submitter']}", f"{smallest['gpus']} to {row['gpus']}", smallest["samples_per_gpu"], row["samples_per_gpu"],
                 f"{float(row['step_ms']):.1f}", f"{100 * point['error']:+.1f} %", f"{100 * without:+.1f} %"]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def section(scorer, reference):
    series = series_of(read_csv(reference / "measured" / "mlperf_systems.csv"))
    beyond = functools.lru_cache(maxsize=None)(lambda number: replayed_beyond(scorer, series[number]))
    steps = {number: host_step(group, series, lambda other: beyond(series.index(other))) for number, group in enumerate(series) if is_detector(group)}
    known = [(group[0], row, point) for number, group in enumerate(series) for row, point in points_of(scorer, group, number, steps.get(number))]
    systems = [(smallest, row) for smallest, row, _ in known]
    found = scorer.score("mlperf", [point for _, _, point in known])
    another = {}
    for title, own_steps in (("with the host's step", steps), ("without", {})):
        points = [point for number in steps for row, point in points_of(scorer, series[number], number, own_steps.get(number)) if row["samples_per_gpu"] != series[number][0]["samples_per_gpu"]]
        another[title] = scorer.score("detector", points)["all"]
    most = max(int(row["gpus"]) for _, row in systems if row["benchmark"] != STAND_IN)
    ratios = ", ".join(f"{group['group']} {sum(ratio) / len(ratio):.2f}" for group in found["groups"]
                       if (ratio := [point["measured"] / point["predicted"] for point in found["points"] if point["group"] == group["group"]]))
    text = TEXT.format(steps=", ".join(f"{step:.1f} ms for {series[number][0]['submitter']}'s {series[number][0]['accelerator'].removeprefix('NVIDIA ')}" for number, step in steps.items()),
                       another=score_table("detector, another batch", list(another.items())), points=found["all"]["points"], series=len(series), spread=MOST_SPREAD, scores=score_table("benchmark", [(group["group"], group) for group in [*found["groups"], found["all"], found["matters"]]]),
                       ratios=ratios, table=table(systems, found), most=most)
    return text, [("MLPerf Training, 8 to 2,048 GPUs: rate of one node", found)], []
