"""The loss of throughput from few H100 to many under FSDP, predicted beside measured: a section of docs/generated/validation.md.

Trainings that differ in the number of GPUs alone are one setting. Its smallest run says how long computing takes: so long that the
simulation of that run takes the time that was measured. From there on nothing is measured or fitted: the network is a preset,
made of data sheets. The scaling loss of N GPUs is 1 - (tokens/s per GPU on N) / (tokens/s per GPU of the smallest run).
"""
import csv
import json
import pathlib
import statistics
import subprocess
import sys
from typing import NamedTuple

CLUSTERS = {"h100x8-8x400gbps": "DGX", "ec2-h100x8-3200gbps": "EC2"}  # presets, and their columns
FILES = {"llm_foundry_h100.csv": "MPT, FSDP1", "torchtitan_h100_8b.csv": "Llama 3.1 8B, FSDP2"}


TEXT = """## FSDP on 8 to 512 H100: what is lost on the way up

MPT with Composer's FSDP (FSDP1, `BACKWARD_POST`, full recomputation where a row says so) and Llama 3.1 8B with torchtitan's (FSDP2, gradients reduced in fp32), in bf16. *Scaling loss*: what a GPU's tokens/s fall by
from the smallest number of GPUs of a setting (equal batch, accumulation, sharding and recomputation) to a larger one. Computing is `allreplay estimate`'s, at the rate at which the simulation of the smallest run takes the time that was
measured there; from there on nothing is measured or fitted. The network of either source is not stated or not a preset's, so there are two, both from data sheets and with NCCL's own cost
model: *DGX* (`h100x8-8x400gbps`) and *EC2* (`ec2-h100x8-3200gbps`: AMD's start-ups, no LL128). Errors are percentage points of the loss, beside those of the null model "no loss":

{scaling_summary}

{scaling}

- Predictions are too optimistic nearly everywhere. For MPT they find a sixth (DGX) or not quite half (EC2) of what is lost; for Llama "no loss" is the better guess, as all that is sent
  hides, and the optimizer's share falls from an eighth to a 128th.
- What they find comes from start-ups of gathers that `BACKWARD_POST` exposes, one for each block. A host that runs far ahead of its GPU hides them in part; read as
  `backward_prefetch=pre`, the prediction is no better than "no loss" (errors of 3.6 and 3.4 % against 3.3 % for MPT).
- What is missing is not bytes through ports. From 128 to 512 GPUs a ring's bytes grow by 0.6 %, while the measured iteration takes 60 ms more for 1b and 57 for 3b, 97 for 7b, 166 for 13b,
  293 for 30b, 790 for 70b: 40 ms, and 11 for each billion parameters, also where computing is ten times as long as all transfers. So transfers slow down as the cluster grows
  (shared spines, detours), or computing does while they run, or the slowest of more GPUs is waited for at each of them; the data do not say which.
- The two presets differ in NCCL's protocol and start-ups alone, and by more than a factor of two in the loss of 7b at 512: what NCCL can use there matters more than all else here.
- Whether MPT's gradients travel in bf16 (here) or fp32 (Composer's `DEFAULT` changed between versions) moves no prediction by more than 0.2 points.
- One reading each, of other people's clusters. 13b at batch 2 loses nothing up to 64 GPUs, which the predictions say within 1.4 points.
"""


class Setting(NamedTuple):
    """Trainings that differ in their number of GPUs alone: {GPUs: tokens/s of one}, the smallest number first."""
    file: str
    name: str
    details: str
    estimate: tuple  # arguments of `allreplay estimate`
    run: tuple  # and of `allreplay run`
    measured: dict


class Point(NamedTuple):
    """A larger number of GPUs, and the losses towards it: measured, and predicted by cluster."""
    setting: Setting
    gpus: int
    measured: float
    predicted: dict


def rows_of(data, file):
    """The rows of a CSV file."""
    with open(data / file, newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def grouped(rows, same):
    """Lists of rows that agree in these columns and differ in GPUs, by their number."""
    groups = {}
    for row in rows:
        groups.setdefault(tuple(row[column] for column in same), []).append(row)
    return [sorted(group, key=lambda row: int(row["gpus"])) for group in groups.values() if len(group) > 1]


def llm_foundry_words(row):
    """A row's arguments of `allreplay estimate` and of `allreplay run`: FSDP1, whose backward prefetch is Composer's default (post)."""
    recompute = "full" if row["activation_checkpointing"] == "True" else "none"
    reshard = "all" if row["sharding"] == "FULL_SHARD" else "none"
    estimate = ("--family", "gpt2", "--layers", row["layers"], "--hidden", row["hidden_size"], "--heads", row["heads"], "--vocab", row["vocabulary"],
                "--seq", row["sequence_length_tokens"], "--device", "h100", "--precision", "bf16", "--batch", row["batch_per_gpu"],
                "--recompute", recompute)
    run = ("--strategy", "fsdp1", "--option", "backward_prefetch=post", "--option", f"reshard={reshard}", "--accumulate", row["accumulation"])
    return estimate, run


def llm_foundry(data):
    """MPT with Composer's FSDP. FP8 has one number of GPUs."""
    same = ["model", "sequence_length_tokens", "batch_per_gpu", "accumulation", "sharding", "precision", "activation_checkpointing"]
    for group in grouped(rows_of(data, "llm_foundry_h100.csv"), same):
        row = group[0]
        details = f"batch {row['batch_per_gpu']}" + (f" x {row['accumulation']}" if row["accumulation"] != "1" else "")
        details += (", SHARD_GRAD_OP" if row["sharding"] != "FULL_SHARD" else "") + (", recomputing" if row["activation_checkpointing"] == "True" else "")
        yield Setting("llm_foundry_h100.csv", row["model"], details, *llm_foundry_words(row),
                      {int(one["gpus"]): float(one["tokens_per_s"]) / int(one["gpus"]) for one in group})


def torchtitan(data):
    """Llama 3.1 8B with FSDP2, gradients reduced in fp32; products in FP8 are bf16's, in less time."""
    for group in grouped(rows_of(data, "torchtitan_h100_8b.csv"), ["model", "batch_per_data_parallel_rank", "precision", "compile"]):
        row = group[0]
        estimate = ("--model", "llama3-8b", "--seq", row["sequence_length_tokens"], "--device", "h100", "--precision", "bf16",
                    "--batch", row["batch_per_data_parallel_rank"], "--recompute", "selective")
        run = ("--strategy", "fsdp2", "--option", "gradient_dtype=fp32")
        details = ("compiled" if row["compile"] == "yes" else "not compiled") + (", FP8" if row["precision"].startswith("fp8") else "")
        yield Setting("torchtitan_h100_8b.csv", "Llama 3.1 8B", details, estimate, run,
                      {int(one["gpus"]): float(one["tokens_per_s_per_gpu"]) for one in group})


class Simulator:
    """The program, with one trace at a time."""

    def __init__(self, program, folder):
        self.program, self.trace = program, pathlib.Path(folder) / "trace.json"

    def output(self, *arguments):
        """What the program prints."""
        done = subprocess.run([self.program, *map(str, arguments)], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"{arguments}: {done.stderr.strip()}")
        return done.stdout

    def rate(self, setting, cluster, gpus):
        """Tokens/s of a GPU, of the trace as it is."""
        return json.loads(self.output("run", "--profile", self.trace, "--cluster", cluster, "--workers", gpus, *setting.run, "--json"))["tokens_per_s_per_gpu"]

    def fit(self, setting, cluster):
        """Makes the trace with which the smallest run is as fast as measured."""
        gpus, rate = next(iter(setting.measured.items()))
        self.output("estimate", *setting.estimate, "--cluster", cluster, "--workers", gpus, *setting.run, "--tokens-per-second", repr(rate), "--out", self.trace)


def points_of(simulator, setting):
    """The losses towards each larger number of GPUs."""
    (_, rate), *larger = setting.measured.items()
    predicted = {gpus: {} for gpus, _ in larger}
    for cluster in CLUSTERS:
        simulator.fit(setting, cluster)
        for gpus in predicted:
            predicted[gpus][cluster] = 1 - simulator.rate(setting, cluster, gpus) / rate
    return [Point(setting, gpus, 1 - measured / rate, predicted[gpus]) for gpus, measured in larger]


def percent(value, sign=""):
    """Never -0.0 %."""
    return f"{100 * value + 0.0:{sign}.1f} %".replace("-0.0 %", "0.0 %")


def table(points):
    """Every point."""
    lines = ["| model | | GPUs | measured | " + " | ".join(CLUSTERS.values()) + " |", "|---|---|--:|" + "--:|" * (1 + len(CLUSTERS))]
    for point in points:
        smallest = next(iter(point.setting.measured))
        cells = [percent(point.measured), *(percent(point.predicted[cluster]) for cluster in CLUSTERS)]
        lines.append(f"| {point.setting.name} | {point.setting.details} | {smallest} to {point.gpus} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def summary(points):
    """The mean absolute error of the loss by file, of the predictions and of "no loss"; predicted minus measured; who is nearer."""
    lines = ["| | points | no loss: error | " + " | ".join(f"{name}: error | mean difference | nearer than no loss" for name in CLUSTERS.values()) + " |",
             "|---|--:|--:|" + "--:|--:|--:|" * len(CLUSTERS)]
    for file in (*FILES, None):
        chosen = [point for point in points if file in (None, point.setting.file)]
        cells = [percent(statistics.mean(abs(point.measured) for point in chosen))]
        for cluster in CLUSTERS:
            errors = [point.predicted[cluster] - point.measured for point in chosen]
            nearer = sum(abs(error) < abs(point.measured) for error, point in zip(errors, chosen))
            cells += [percent(statistics.mean(map(abs, errors))), percent(statistics.mean(errors), "+"), f"{nearer} of {len(chosen)}"]
        lines.append(f"| {FILES[file] if file else '**all**'} | {len(chosen)} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def section(scorer, reference):
    """The section's text; no rows of the summary, and nothing for its picture."""
    simulator = Simulator(scorer.program, scorer.folder)
    points = [point for source in (llm_foundry, torchtitan) for setting in source(reference / "measured") for point in points_of(simulator, setting)]
    return TEXT.format(scaling=table(points), scaling_summary=summary(points)), [], []
