#!/usr/bin/env python3
"""Predictions of trainings with pipelines and tensor groups, compared with what was measured: docs/generated/hybrids.md.

  tools/validate_hybrids.py DATA [--out PAGE]     DATA: the folder of published measurements; PAGE: that page

Five questions. Of GH200 the layers were measured on the machine that the jobs ran on: step and exposed reduction, nothing
fitted. Of vTrain's A100 each setting's first row (the fewest micro-batches) gives one rate, which fixes how fast its layers
are; the others are predicted. Of jobs in FP8 and FP4, another job's rate fixes by how much layers are
faster than estimated ones. Of B200 and of Megatron-LM's A100 nothing is known: layers are estimated. Each is compared
with two null models: no bubble (computing, and nothing waits), and the bubble by formula, 1 + (P - 1) / (V M) times computing.
Of Qwen3's mixtures of experts nothing is known, either (validation/mixtures.py, with null models of its own).
"""

import argparse
import csv
import gzip
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import prose
from estimation_errors import TIMES
from validation import mixtures
from validation.scored import require_apart

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = os.environ.get("ALLREPLAY_PROGRAM", str(ROOT / "build" / "release" / "allreplay"))
PAGE = ROOT / "docs" / "generated" / "hybrids.md"


def program(*words):
    """What the program prints; a failure ends the script with its line."""
    done = subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, check=False, cwd=ROOT)
    if done.returncode:
        sys.exit(done.stderr)
    return done.stdout


def run(profile, micro_batches, ranks, *words):
    """The row of `run` of a pipeline as Megatron drives it: 1f1b, sends that the passes wait for, one all-reduce behind all."""
    pipeline = ["--pp", ranks, "--option", f"p2p={'blocking' if micro_batches >= ranks else 'overlap'}"] if ranks > 1 else []
    return json.loads(program("run", "--profile", profile, "--strategy", "sync-easgd", "--micro-batches", micro_batches, *pipeline, *words, "--json"))


def rows_of(path):
    with open(path, encoding="utf-8") as file:
        return list(csv.DictReader(file))


def bubble(micro_batches, ranks, chunks=1):
    """Step over computing by formula, of 1f1b and, with chunks, interleaved (arXiv 2104.04473, section 2.2)."""
    return 1 + (ranks - 1) / (chunks * micro_batches)


def percent(share):
    return f"{100 * share:.1f} %"


def signed(share):
    return f"{100 * share:+.0f} %"


class Scores:
    """Errors of a prediction and of the two null models, each against the measurement."""

    def __init__(self):
        self.errors = {"replayed": [], "no bubble": [], "bubble by formula": []}

    def add(self, measured, *predicted):
        for errors, value in zip(self.errors.values(), predicted):
            errors.append(abs(value / measured - 1))

    def lines(self):
        yield "| | rows | median | 90th | worst |\n|---|--:|--:|--:|--:|"
        for name, errors in self.errors.items():
            ranked = sorted(errors)
            ninth = statistics.quantiles(ranked, n=10, method="inclusive")[-1]
            yield f"| {name} | {len(ranked)} | {percent(statistics.median(ranked))} | {percent(ninth)} | {percent(ranked[-1])} |"


# --- GH200: measured layers ------------------------------------------------------------------------------------------

def measured_profile(times, info, samples, tp, pp, path):
    """OPT-350M of Megatron-DeepSpeed in fp32, 2048 tokens of width 1024. Its layers were timed in a running tensor group, so
    its all-reduces are a part of the times; of what a stage hands on, each of the group sends its share. The head's matrix
    is the embedding's: in one piece its gradient is reduced once."""
    names = ["embedding", *(f"block.{i}" for i in range(len(times) - 2)), "head"]
    share = samples * 2048 * 1024 * 4 // tp
    elements = [int(info[str(i)]["params_floats"]) for i in range(len(names))]
    if pp == 1:
        elements[-1] = 2 * 1024  # the last norm
    layers = [{"name": name, "forward": 1e6 * times[str(i)][0], "backward": 1e6 * times[str(i)][1], "output_bytes": share}
              for i, name in enumerate(names)]
    model = {"name": "opt-350m", "layers": [{"name": name, "tensors": [{"name": f"{name}.w", "shape": [count]}]} for name, count in zip(names, elements)]}
    path.write_text(json.dumps({"model": model, "device": "GH200", "framework": "Megatron-DeepSpeed", "batch_size": samples, "precision": "fp32",
                                "origin": "imported", "source": "eth-easl/sailor", "unit": "us", "update": 1e6 * sum(one[2] for one in times.values()),
                                "parallel": {"tp": tp, "cp": 1}, "layers": layers}), encoding="utf-8")
    return path


def at_most(times, more):
    """Times of layers with fewer samples: each pass takes at most as long as with more of them."""
    return {layer: [*map(min, one[:2], more[layer][:2]), one[2]] for layer, one in times.items()}


def gh200(data, folder):
    """The first question's part of the page."""
    originals = data / "profiles_gpu" / "originals"
    with gzip.open(originals / "sailor_OPT-350_GH-96.json.gz", "rt") as file:
        times = json.load(file)
    with gzip.open(originals / "sailor_llm_info.json.gz", "rt") as file:
        info = json.load(file)["OPT-350"]
    scores, several, bounded, table, reductions, rates, single = Scores(), Scores(), Scores(), [], [], [], []
    rows = rows_of(data / "hybrids" / "sailor_hybrid.csv")
    earlier, apart, against = {"64": 2.52, "32": 2.48}, [], []  # seconds, in the source's commit 37ded108
    copying = {int(row["pp"]): float(row["gradient_reduction_s"]) for row in rows if row["dp"] == "1"}
    for row in rows:
        tp, pp, dp, samples = (int(row[key]) for key in ("tp", "pp", "dp", "microbatch"))
        batches, step = int(row["global_batch"]) // (dp * samples), float(row["iteration_s"])
        layers = times[str(samples)][str(tp)]
        for known, into in ((at_most(layers, times[str(2 * samples)][str(tp)]), [bounded]), (layers, [scores, several] if samples > 1 else [scores])):
            profile = measured_profile(known, info[str(tp)], samples, tp, pp, folder / "gh200.json")
            result = run(profile, batches, pp, "--cluster", "gh200x4-4x200gbps", "--workers", row["gpus"],
                         *(["--stages", row["layers_per_stage"].replace(";", "/")] if pp > 1 else []))
            computing = batches * (result["forward_s"] + result["backward_s"]) / pp
            for one in into:
                one.add(step, result["iteration_s"], computing, computing * bubble(batches, pp))
            if samples == 1 and into == [bounded]:
                single.append(signed(result["iteration_s"] / step - 1))
        exposed, reduction = result["exposed_dp_s"], float(row["gradient_reduction_s"])
        if dp > 1 and not row["note"]:
            reductions.append(abs(exposed / reduction - 1))
            rates.append(24 * exposed / (reduction - copying[pp]))
        if pp == 4 and row["gpus"] in earlier:
            apart.append(percent(step / earlier[row["gpus"]] - 1))
            against.append(signed(result["iteration_s"] / earlier[row["gpus"]] - 1))
        table.append(f"| {row['gpus']} | {pp} | {dp} | {batches} x {samples} | {step:.3f} | {result['iteration_s']:.3f} | "
                     f"{signed(result['iteration_s'] / step - 1)} | {1e3 * reduction:.0f} | {1e3 * exposed:.0f} |")
    passes = [1e3 * sum(sum(layer[:2]) for layer in times[samples]["4"].values()) for samples in ("1", "2")]
    one, two, four = (1e3 * times["8"][group]["2"][0] for group in ("1", "2", "4"))  # block 2, forward
    saved, quarter = two - four, one / 4
    block = [1e3 * times[samples][group]["2"][0] for samples, group in (("1", "4"), ("2", "4"), ("1", "2"), ("1", "1"))]
    each = [1e3 * float(row["iteration_s"]) / int(row["global_batch"]) for row in rows if row["gpus"] == "4" and row["global_batch"] == "32"][0]
    of_eight = 1e3 * sum(sum(layer[:2]) for layer in times["8"]["4"].values()) / 8
    yield "## OPT-350M on 4 to 128 GH200: layers measured there, nothing fitted\n"
    yield from scores.lines()
    yield "\nOf these, with more than one sample a micro-batch:\n"
    yield from several.lines()
    yield (f"""
- **What the times hold.** Layers were timed between CUDA events in a model of two blocks, run by Megatron-DeepSpeed on the whole tensor group (the source's `profile_all.py`, `profile_utils.py`): they include the group's all-reduces, and none is added.
  The times show it: from 2 to 4 GPUs a block's forward pass loses {saved:.2f} ms (eight samples), and a quarter of one GPU's is {quarter:.2f} ms.
- **One sample** is what the four largest misses have in common. A block's forward pass takes {block[0]:.2f} ms with one sample on four GPUs,
  {block[1]:.2f} ms with two there, and with one {block[2]:.2f} ms on two GPUs and {block[3]:.2f} ms on a single one: this is most likely not the time of the GPU, but of the processor that launches kernels. Layers alone then take longer than the jobs' steps ({passes[0]:.0f} ms for both passes; with two samples {passes[1]:.0f}).
  The jobs wait for their processors, too, but not as long: a sample takes {each:.0f} ms in the job of 32 x 1, and {of_eight:.0f} ms of the
  GPUs' time in batches of eight. The layers' times do not show how long: the replay does not model a late processor. These rows make the tail, in which the replay is no better than the null models.
- **Were no layer slower than with twice the samples**, the four would be off by {", ".join(single)}, and all rows as the table under this list says. The rule was found after the misses were known: it shows where they come from, but is not a prediction.
- **Pipelines of four ranks**, eight samples a micro-batch, are the most underestimated. Their steps were measured twice, {" and ".join(apart)} apart (commits 37ded108 and
  cf2c8e3c: 2.52 and 2.73 s on 64 GPUs, 2.48 and 2.70 s on 32). The table has the later, longer ones; against the earlier ones the replay is off by
  {" and ".join(against)}. For the rest these files show no cause.
- **The reduction alone** is off by {percent(statistics.median(reductions))} in the median, where there is one, always too short. It is of
  earlier runs than the steps, which only the later commit repeats. Where there is nothing to reduce, DeepSpeed takes 4 to 8 ms to copy; less
  that, gradients went at {min(rates):.0f} to {max(rates):.0f} GB/s a GPU. Replayed is the 24 GB/s that all-reduces alone keep on this machine: the preset
  of the network is fitted to those, and to nothing of these jobs.
""")
    yield from bounded.lines()
    yield "\n| GPUs | pp | dp | micro-batches | step, s | replayed | error | reduction, ms | replayed |\n|--:|--:|--:|---|--:|--:|--:|--:|--:|"
    yield from table


# --- vTrain: one rate known ------------------------------------------------------------------------------------------

def vtrain_setting(rows, folder, number):
    """(measured, replayed, by proportion, micro-batches, first of them, ranks) of all rows but the first of one setting."""
    first = rows[0]
    tp, pp, dp = (int(first[key]) for key in ("tp", "pp", "dp"))
    known = int(first["microbatches"])
    speed = int(first["global_batch"]) / (float(first["iteration_ms"]) / 1e3) / int(first["gpus"])
    cluster = ["--cluster", "a100x8-8x200gbps", "--workers", first["gpus"]]
    profile = folder / f"vtrain{number}.json"
    pipeline = ["--pp", pp, "--option", f"p2p={'blocking' if known >= pp else 'overlap'}"] if pp > 1 else []
    program("estimate", "--family", "gpt2", "--layers", first["layers"], "--hidden", first["hidden"], "--heads", first["heads"], "--vocab", 51200,
            "--seq", first["sequence"], "--device", "a100-80gb", "--precision", "fp16", "--batch", first["microbatch"], "--recompute", "full",
            *(["--tp", tp] if tp > 1 else []), "--samples-per-second", repr(speed), *cluster, "--strategy", "sync-easgd", "--micro-batches", known,
            *pipeline, "--out", profile)
    for row in rows[1:]:
        batches = int(row["microbatches"])
        replayed = run(profile, batches, pp, *cluster)["iteration_s"]
        yield float(row["iteration_ms"]) / 1e3, replayed, float(first["iteration_ms"]) / 1e3, batches, known, pp


def vtrain(data, folder):
    """The second question's part of the page."""
    def setting(row):
        return tuple(row[key] for key in ("gpus", "layers", "tp", "dp", "pp", "microbatch"))
    rows = sorted(rows_of(data / "hybrids" / "vtrain_hybrid.csv"), key=lambda row: (setting(row), int(row["microbatches"])))
    settings = [list(group) for _, group in groupby(rows, setting)]
    with ThreadPoolExecutor(2) as threads:
        found = threads.map(lambda one: list(vtrain_setting(one[1], folder, one[0])), enumerate(one for one in settings if len(one) > 1))
        predicted = [row for rows_of_setting in found for row in rows_of_setting]
    scores = Scores()
    for measured, replayed, first, batches, known, ranks in predicted:
        in_proportion = first * batches / known
        scores.add(measured, replayed, in_proportion, in_proportion * bubble(batches, ranks) / bubble(known, ranks))
    yield f"\n## GPT on 2 to 8 A100: one rate of each of {len(settings)} settings known\n"
    yield from scores.lines()
    yield "\nThe null models carry the known rate on in proportion to M."


# --- vTrain: one row known, and how long the host launches a block ------------------------------------------------------

def vtrain_words(row, batch):
    """What is asked of `estimate` for micro-batches of a row's layers."""
    return ["--family", "gpt2", "--layers", row["layers"], "--hidden", 1024, "--heads", 16, "--vocab", 51200, "--seq", 1024, "--precision", "fp16",
            "--batch", batch, "--recompute", "full", *(["--tp", row["tp"]] if row.get("tp", "1") != "1" else [])]


def single_settings(data):
    """{(layers, GPUs): {micro-batch: the row with the fewest micro-batches}} of jobs without tensor groups and pipelines."""
    settings = defaultdict(dict)
    for row in rows_of(data / "measured" / "vtrain_a100_single.csv"):
        known = settings[row["layers"], row["gpus"]].get(int(row["batch_per_gpu"]))
        if not known or int(row["accumulation"]) < int(known["accumulation"]):
            settings[row["layers"], row["gpus"]][int(row["batch_per_gpu"])] = row
    return settings


def launching(data, folder):
    """Seconds that the host takes for a block's forward pass: from the speeds of the smallest and the largest micro-batch of each
    number of layers on two GPUs, the median; and the rows."""
    floors, fitted = [], []
    for (layers, gpus), by_batch in sorted(single_settings(data).items()):
        few, many = by_batch[min(by_batch)], by_batch[max(by_batch)]
        if gpus != "2" or few is many or few["accumulation"] != many["accumulation"]:
            continue
        speeds = [f"{int(row['batch_per_gpu']) * int(row['accumulation']) / (1e-3 * float(row['iteration_ms']))!r}@{row['batch_per_gpu']}" for row in (few, many)]
        program("estimate", *vtrain_words({"layers": layers}, few["batch_per_gpu"]), "--device", "a100-80gb", "--samples-per-second", ",".join(speeds),
                "--cluster", "a100x8-8x200gbps", "--workers", gpus, "--strategy", "sync-easgd", "--micro-batches", few["accumulation"], "--out", folder / "host.json", "--force")
        host = json.loads((folder / "host.json").read_text(encoding="utf-8")).get("host", {})
        floors.append(seconds_of(host.get("block_forward", "0 s")))
        fitted += [few, many]
    return statistics.median(floors), fitted


def seconds_of(text):
    """Of a duration as profiles have it."""
    value, unit = text.split()
    return float(value) * {"s": 1, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "ps": 1e-12}[unit]


def vtrain_run(row, profile, floor):
    """The row of `run` of a vTrain row."""
    return run(profile, int(row["microbatches"]), int(row["pp"]), "--cluster", "a100x8-8x200gbps", "--workers", row["gpus"], "--option", f"host_block={1e3 * floor!r} ms")


def faster_device(data, folder, known, floor):
    """A100 at the efficiency with which the known row takes its time: the file's, times one factor; to 1e-4, by secants."""
    device = json.loads((ROOT / "models" / "devices" / "a100-80gb.json").read_text(encoding="utf-8"))
    own = dict(device["efficiency"])
    path, profile = folder / "known-a100.json", folder / "known.json"

    def seconds(factor):
        device["efficiency"] = {**own, "products": own["products"] * factor, "attention": own["attention"] * factor}
        path.write_text(json.dumps(device), encoding="utf-8")
        program("estimate", *vtrain_words(known, known["microbatch"]), "--device", path, "--out", profile, "--force")
        return vtrain_run(known, profile, floor)["iteration_s"]

    step = float(known["iteration_ms"]) / 1e3
    before, factor = 1.0, 0.9
    last = seconds(before)
    while abs((now := seconds(factor)) / step - 1) > 1e-4:
        before, factor, last = factor, factor + (step - now) * (factor - before) / (now - last), now
    return path, factor


def regret(points):
    """Mean and worst of what following the predicted best of a number of GPUs, layers and samples loses, over those with a choice; of
    several that are predicted equal the slowest counts."""
    settings = defaultdict(list)
    for row, measured, predicted in points:
        settings[row["gpus"], row["layers"], row["global_batch"]].append((predicted, measured))
    losses = []
    for ways in settings.values():
        least = min(predicted for predicted, _ in ways)
        chosen = max(measured for predicted, measured in ways if predicted <= least * (1 + 1e-9))
        if len(ways) > 1:
            losses.append(chosen / min(measured for _, measured in ways) - 1)
    return statistics.mean(losses), max(losses), len(losses)


def narrow_models(data, folder):
    """The question's part of the page: 599 rows from one, and a host known from other jobs."""
    rows = rows_of(data / "hybrids" / "vtrain_hybrid.csv")
    known = max(rows, key=lambda row: (int(row["microbatch"]) * int(row["microbatches"]), int(row["microbatch"]), -int(row["tp"]) * int(row["pp"]), int(row["layers"])))
    floor, fitted = launching(data, folder)
    scored = [row for row in rows if row is not known]
    require_apart((vtrain_key(row, row["tensor_parallel"], row["pipeline_parallel"], row["batch_per_gpu"], row["accumulation"]) for row in fitted),
                  (vtrain_key(row, row["tp"], row["pp"], row["microbatch"], row["microbatches"]) for row in rows))
    results = {}
    for title, host in (("with the host's floor", floor), ("without", 0)):
        device, factor = faster_device(data, folder, known, host)
        profiles = {}
        for row in scored:
            name = row["layers"], row["tp"], row["microbatch"]
            if name not in profiles:
                profiles[name] = folder / f"narrow-{'-'.join(name)}.json"
                program("estimate", *vtrain_words(row, row["microbatch"]), "--device", device, "--out", profiles[name], "--force")
        with ThreadPoolExecutor(2) as threads:
            replays = list(threads.map(lambda row: vtrain_run(row, profiles[row["layers"], row["tp"], row["microbatch"]], host), scored))
        results[title] = factor, [(row, float(row["iteration_ms"]) / 1e3, replay) for row, replay in zip(scored, replays)]
    factor = results["with the host's floor"][0]
    yield f"\n## The same {len(rows)} jobs: one row known, and how long the host launches a block\n"
    yield (f"Fitted: the host's floor of a block, {1e3 * floor:.2f} ms forward and three times that backward (it launches the recomputed forward pass, too), by `estimate --samples-per-second A@1,B@8` from {len(fitted)} rows of jobs without tensor "
           f"groups or pipelines (`vtrain_a100_single.csv`, two GPUs, the smallest and the largest micro-batch of each number of layers), none of which is scored; and one efficiency, from one row ({known['layers']} layers, {known['gpus']} GPUs, "
           f"tp {known['tp']}, pp {known['pp']}, micro-batches {known['microbatches']} x {known['microbatch']}): {100 * factor:.0f} % of the file's. Scored: the other {len(scored)} rows. *Computing in proportion* is the known row's rate, carried on with "
           "the FLOPs of a rank; *bubble by formula* likewise.\n")
    yield "| | rows | median | 90th | worst | regret: mean | worst |\n|---|--:|--:|--:|--:|--:|--:|"
    lines = {f"replayed, {title}": [(row, step, replay["iteration_s"]) for row, step, replay in points] for title, (_, points) in results.items()}
    rate = float(known["iteration_ms"]) / 1e3 / work_of(known)
    lines["computing in proportion"] = [(row, float(row["iteration_ms"]) / 1e3, rate * work_of(row)) for row in scored]
    lines["bubble by formula"] = [(row, float(row["iteration_ms"]) / 1e3, rate * work_of(row) * bubble(int(row["microbatches"]), int(row["pp"]))
                                   / bubble(int(known["microbatches"]), int(known["pp"]))) for row in scored]
    for title, points in lines.items():
        errors = sorted(abs(predicted / measured - 1) for _, measured, predicted in points)
        mean, worst, settings = regret(points)
        yield (f"| {title} | {len(errors)} | {percent(statistics.median(errors))} | {percent(statistics.quantiles(errors, n=10, method='inclusive')[-1])} | {percent(errors[-1])} | "
               f"{percent(mean)} | {percent(worst)} |")
    yield f"\n*Regret*: what the predicted best way of {settings} numbers of GPUs, layers and samples loses against the measured best."


def vtrain_key(row, tp, pp, batch, accumulation):
    """What names a job of vTrain."""
    return row["gpus"], row["layers"], tp, pp, batch, accumulation


def work_of(row):
    """The samples, layers and shares of them that a rank computes in a step."""
    return int(row["microbatch"]) * int(row["microbatches"]) * int(row["layers"]) / int(row["tp"]) / int(row["pp"])


# --- FP8 and FP4: another job's rate known ----------------------------------------------------------------------------

MODELS = {"LLAMA3_70B": ["--model", "llama3-70b"], "LLAMA3.1_405B": ["--model", "llama3-405b"], "llama31_405b": ["--model", "llama3-405b"],
          "llama31_8b": ["--model", "llama3-8b"],
          "gpt3": ["--family", "gpt2", "--layers", 96, "--hidden", 12288, "--heads", 96, "--vocab", 51200]}  # arXiv 2005.14165, table 2.1
NVL72 = ["--cluster", "nvl72", "--node", 64, "--rails", 64]  # 64 of a rack's 72 GPUs: numbers of workers are multiples
MACHINES = {"H100": ("h100", ["--cluster", "h100x8-8x400gbps"]), "GB200": ("b200", NVL72), "GB300": ("b200", [*NVL72, "--bandwidth", "800 Gbit/s"])}


class Setting(NamedTuple):
    """What a job runs, and how it is spread."""
    model: str
    machine: str
    gpus: int
    batch: int
    microbatch: int
    sequence: int
    tp: int
    pp: int
    cp: int
    vp: int
    precision: str = "fp8"

    def micro_batches(self):
        return self.batch * self.tp * self.pp * self.cp // (self.gpus * self.microbatch)

    def estimate(self):
        group = [*(["--tp", self.tp, "--sequence-parallel"] if self.tp > 1 else []), *(["--cp", self.cp] if self.cp > 1 else [])]
        return [*MODELS[self.model], "--device", MACHINES[self.machine][0], "--precision", self.precision, "--batch", self.microbatch, "--seq", self.sequence, *group]

    def job(self):
        """Megatron's distributed optimizer; the 70B in one piece fits no GPU, and is sharded."""
        schedule = ["--schedule", "interleaved", "--chunks", self.vp] if self.vp > 1 else ["--option", "p2p=blocking"]
        sharded = self.model == "LLAMA3_70B" and self.tp * self.pp == 1
        return [*MACHINES[self.machine][1], "--workers", self.gpus, "--micro-batches", self.micro_batches(),
                *(["--pp", self.pp, *schedule] if self.pp > 1 else []), "--strategy", "fsdp2" if sharded else "megatron"]

    def computing(self, profile):
        """Seconds of a rank, nothing waiting."""
        return self.micro_batches() * sum(layer["forward"] + layer["backward"] for layer in profile["layers"]) / self.pp / 1e6


def profile_of(setting, path):
    program("estimate", *setting.estimate(), "--out", path, "--force")
    return json.loads(path.read_text(encoding="utf-8"))


def replay(setting, profile, factor, path):
    """Seconds of an iteration, were the layers of the profile `factor` times as long."""
    def scaled(layer):
        return {key: factor * value if key in TIMES else value for key, value in layer.items()}
    path.write_text(json.dumps({**profile, "layers": [scaled(layer) for layer in profile["layers"]]}), encoding="utf-8")
    return json.loads(program("run", "--profile", path, *setting.job(), "--json"))["iteration_s"]


def factor_of(setting, profile, step, path):
    """The factor at which the replay is as long as the measured step, to 1e-6: secants, as it is nearly linear."""
    before, factor = 1.0, 0.5
    last = replay(setting, profile, before, path)
    while abs((now := replay(setting, profile, factor, path)) / step - 1) > 1e-6:
        before, factor, last = factor, factor + (step - now) * (factor - before) / (now - last), now
    return factor


def from_another(known, step, others, path):
    """(step, measured; replayed; without and with the bubble by formula) of others, whose layers are as much faster than estimated."""
    base = profile_of(known, path)
    factor = factor_of(known, base, step, path)
    for setting, measured in others:
        profile = profile_of(setting, path)
        in_proportion = step * setting.computing(profile) / known.computing(base)
        formula = [bubble(one.micro_batches(), one.pp, one.vp) for one in (setting, known)]
        yield measured, replay(setting, profile, factor, path), in_proportion, in_proportion * formula[0] / formula[1]


def bridge_jobs(data):
    """By system and precision, {setting: median step of its containers} of LLaMA-3's pre-training; first the known 70B."""
    steps = defaultdict(lambda: defaultdict(list))
    for row in rows_of(data / "hybrids" / "megatron_bridge.csv"):
        if row["ep"] or row["sequence"] != "8192":
            continue  # experts; fine-tuning
        machine = row["system"].removeprefix("DGX-")
        setting = Setting(row["model"], machine, *(int(row[key] or 1) for key in ("gpus", "global_batch", "microbatch", "sequence", "tp", "pp", "cp", "vp")),
                          precision="fp4" if row["precision"] == "NVFP4" else "fp8")
        steps[f"Megatron-Bridge, {machine}, {row['precision']}"][setting].append(float(row["step_ms_derived"]) / 1e3)
    for title, settings in steps.items():
        ranked = sorted(settings, key=lambda one: (one.model != "LLAMA3_70B", -len(settings[one])))
        yield title, [(one, statistics.median(settings[one])) for one in ranked]


def mlperf_jobs(data):
    """By benchmark, settings and steps of the systems of H100 whose degrees are known; first the smallest."""
    rows = [row for row in rows_of(data / "measured" / "mlperf_systems.csv") if row["tp"] and "H100" in row["accelerator"]]
    for name, group in groupby(sorted(rows, key=lambda row: (row["benchmark"], int(row["gpus"]))), lambda row: row["benchmark"]):
        yield f"MLPerf, {name}, H100", [
            (Setting(name, "H100", *(int(row[key]) for key in ("gpus", "global_batch", "microbatch")), 2048 if name == "gpt3" else 8192,
                     *(int(row[key] or 1) for key in ("tp", "pp", "cp", "vp"))), float(row["step_ms"]) / 1e3) for row in group]


def narrow(data, folder):
    """The third question's part of the page."""
    scores, table = Scores(), []
    def degrees(one):
        return f"{one.gpus} | {one.tp}, {one.pp}, {one.cp}, {one.vp}"
    for title, ((known, step), *others) in [*bridge_jobs(data), *mlperf_jobs(data)]:
        for (setting, _), predicted in zip(others, from_another(known, step, others, folder / "narrow.json")):
            scores.add(*predicted)
            measured, *values = predicted
            errors = " | ".join(signed(value / measured - 1) for value in values)
            table.append(f"| {title} | {known.model} | {degrees(known)} | {setting.model} | {degrees(setting)} | {measured:.3f} | {errors} |")
    yield "\n## Megatron-Bridge and MLPerf in FP8 and FP4: another job's rate known\n"
    yield from scores.lines()
    replayed, *nulls = (statistics.median(errors) for errors in scores.errors.values())
    verdict = "**The null models are better here.**" if replayed > max(nulls) else "**A null model is better here.**" if replayed > min(nulls) else "The replay is better than both null models."
    yield f"""
All rows of Megatron-Bridge are in FP8 or FP4; MLPerf's logs do not say, and NVIDIA's code for these benchmarks uses FP8.
Layers are estimated with the products of blocks in it (`--precision`), and faster by one factor, which another job on the same machine
fixes: for each precision of Megatron-Bridge LLaMA-3 70B, for each benchmark of MLPerf the smallest system. The null models
carry that job's rate on in proportion to computing. A step of Megatron-Bridge is the median of a setting's containers.

{verdict} Where only the number of GPUs changes (MLPerf's GPT-3 and LLaMA 405B), the replay is the
closest of the three. From 70B to 405B it is too slow: it adds the tensor group's collectives, which hold computing here;
Megatron can overlap them with it, and the sources do not say whether these jobs did. That one factor serves both widths,
and that nothing is recomputed, are assumptions, too.

Left out: Qwen's models, which are [below](#qwen3s-mixtures-of-experts-with-megatron-bridge-nothing-known); fine-tuning, of which weights is not said; MLPerf on Blackwell
(the 8B in FP8 or FP4, the 405B on one system alone), and systems whose degrees are not known.
"""
    yield ("| | known | GPUs | tp, pp, cp, vp | predicted | GPUs | tp, pp, cp, vp | step, s | replayed | no bubble | by formula |\n"
           "|---|---|--:|---|---|--:|---|--:|--:|--:|--:|")
    yield from table


# --- nothing known ---------------------------------------------------------------------------------------------------

def estimated(folder, words, batches, ranks, cluster):
    """The row of `run` of an estimated profile."""
    program("estimate", *words, "--out", folder / "estimated.json", "--force")
    return run(folder / "estimated.json", batches, ranks, *cluster)


def unknown(data, folder):
    """The fourth question's part of the page."""
    scores, table = Scores(), []
    llama = {"llama3-70b": (8192, 64, 28672), "llama3-405b": (16384, 128, 53248)}
    for row in rows_of(data / "hybrids" / "simumax_b200.csv"):
        hidden, heads, ffn = llama[row["model"]]
        tp, pp, dp = (int(row[key]) for key in ("tp", "pp", "dp"))
        words = ["--layers", row["layers"], "--hidden", hidden, "--heads", heads, "--kv-heads", 8, "--ffn", ffn, "--vocab", 128256, "--seq", row["sequence"],
                 "--device", "b200", "--precision", "bf16", "--batch", 1, *(["--tp", tp, "--sequence-parallel"] if tp > 1 else [])]
        gpus, batches = tp * pp * dp, int(row["microbatches"])
        result = estimated(folder, words, batches, pp, ["--nodes", 1, "--gpus", gpus, "--network", "400 Gbit/s", "--inner", "720 GB/s", "--workers", gpus])
        step = float(row["measured_ms"]) / 1e3
        computing = batches * (result["forward_s"] + result["backward_s"]) / pp
        scores.add(step, result["iteration_s"], computing, computing * bubble(batches, pp))
        table.append((f"{row['model']}, {row['layers']} layers, B200", tp, pp, dp, step, result["iteration_s"]))
    megatron = {"megatron-22B": (48, 6144, 64), "turing-530B": (105, 20480, 128)}
    for row in rows_of(data / "hybrids" / "megatron_seqsel.csv"):
        layers, hidden, heads = megatron[row["model"]]
        tp, pp, gpus = (int(row[key]) for key in ("tp", "pp", "gpus"))
        batches = int(row["batch"]) // int(row["dp"]) // int(row["microbatch"])
        full = row["recomputation"] == "full"
        words = ["--family", "gpt2", "--layers", layers, "--hidden", hidden, "--heads", heads, "--vocab", 51200, "--seq", 2048, "--device", "a100-80gb",
                 "--precision", "fp16", "--batch", row["microbatch"], "--tp", tp, *(["--recompute", "full"] if full else ["--sequence-parallel"])]
        program("estimate", *words, "--out", folder / "estimated.json", "--force")
        interleaved = ["--pp", pp, "--schedule", "interleaved", "--chunks", row["vp"]] if pp > 1 else []
        result = json.loads(program("run", "--profile", folder / "estimated.json", "--strategy", "sync-easgd", "--micro-batches", batches, *interleaved,
                                    "--cluster", "a100x8-8x200gbps", "--workers", gpus, "--json"))
        step = float(row["iteration_s"])
        computing = batches * (result["forward_s"] + result["backward_s"]) / pp
        scores.add(step, result["iteration_s"], computing, computing * bubble(batches, pp, int(row["vp"])))
        table.append((f"{row['model']}, A100, {row['recomputation']}", tp, pp, 1, step, result["iteration_s"]))
    yield "\n## LLaMA-3 on B200 and Megatron-LM's 22B and 530B on A100: nothing known\n"
    yield from scores.lines()
    yield "\n| | tp | pp | dp | step, s | replayed | error |\n|---|--:|--:|--:|--:|--:|--:|"
    for name, tp, pp, dp, step, replayed in table:
        yield f"| {name} | {tp} | {pp} | {dp} | {step:.3f} | {replayed:.3f} | {signed(replayed / step - 1)} |"


HEAD = """# Pipelines and tensor groups, compared with measurements

Generated by `tools/validate_hybrids.py`, whose `--help` says how; do not edit. All errors are of the step, relative to
the measured one. P ranks of V chunks run M micro-batches; the null models are "no bubble", where nothing waits for anything,
and the bubble by formula, 1 + (P - 1) / (V M) times as long. Sources: eth-easl/sailor, VIA-Research/vTrain (MIT),
NVIDIA-NeMo/Megatron-Bridge, MLCommons' results of training, MooreThreads/SimuMax (Apache-2.0), and table 5 of arXiv 2205.05198.
"""


def main(argv):
    """Writes the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="the folder of published measurements")
    parser.add_argument("--out", type=Path, default=PAGE, help="the page to write (default: docs/generated/hybrids.md)")
    options = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        text = "\n".join([HEAD, *gh200(options.data, folder), *vtrain(options.data, folder), *narrow_models(options.data, folder), *narrow(options.data, folder), *unknown(options.data, folder),
                          *mixtures.section(program, ROOT, options.data, folder), ""])
    options.out.write_text(prose.wrapped(text), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
