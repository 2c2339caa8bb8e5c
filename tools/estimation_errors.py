#!/usr/bin/env python3
"""How far `allreplay estimate` is from what others measured: every published figure predicted without itself.

Trainings of transformers on one node (llm_foundry_h100.csv, vtrain_a100_single.csv, torchtitan_h100_8b.csv): seconds of an iteration.
Layer-wise profiles (profiles/): seconds of the backward pass, which all of them measured soundly, and its split over the layers.

Each is estimated by the roofline at its peak rates; the time measured over that is the efficiency that the training reached. A figure is
then predicted with the median efficiency of other models, and of those in other files. An iteration is `accumulation`
times forward and backward, the update, divided by the GPUs where the optimizer's state is sharded over them, and an all-reduce at
NVLink's bandwidth where nothing overlaps it. What else communicates inside a node is taken to be hidden.

Examples:
  tools/estimation_errors.py ../shared/data                 the tables in docs/estimation.md
  tools/estimation_errors.py ../shared/data --rows          every figure
"""

import argparse
import csv
import json
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import reconstruct_trace as split_tools
from measured import in_units, read_rows

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = Path(os.environ.get("ALLREPLAY_PROGRAM", ROOT / "build" / "release" / "allreplay"))
# GeForce GTX Titan X (Maxwell), of which no file is shipped: 24 multiprocessors, 3072 cores at 1000 MHz, 336.5 GB/s.
TITAN_X = {"description": "GeForce GTX Titan X (Maxwell)", "source": "NVIDIA", "peak_tflops": {"fp32": 6.144}, "memory": "12 GB",
           "memory_bandwidth": "336.5 GB/s", "sms": 24}
DEVICES = {"V100": "v100", "K80 die": "k80", "Titan X": "titanx"}
NVLINK = 300e9  # bytes/s of an A100, for vTrain's all-reduce of two bytes a gradient, which its settings do not overlap


class Figure(NamedTuple):
    """A published number: what it is of, what it says, and what the roofline at its peak says, in seconds."""
    file: str
    model: str
    what: str
    measured: float
    roofline: float
    fixed: float = 0.0  # in addition, whatever the efficiency: communication

    def efficiency(self):
        """The part of the roofline that was reached."""
        return self.roofline / (self.measured - self.fixed)


def estimate(folder, *arguments):
    """The trace that the program estimates, with times as the roofline has them at peak rates."""
    out = Path(folder) / "trace.json"
    done = subprocess.run([PROGRAM, "estimate", "--out", out, *map(str, arguments)], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr)
    trace = json.loads(out.read_text(encoding="utf-8"))
    efficiency = int(re.search(r" at (\d+) %", trace["source"])[1]) / 100  # the program's own has two digits
    for layer in trace["layers"]:
        layer["forward"] *= efficiency
        layer["backward"] *= efficiency
    trace["update"] *= efficiency
    return trace


def iteration(trace, accumulation, shards):
    """Seconds of an iteration."""
    micro = math.fsum(layer["forward"] + layer["backward"] for layer in trace["layers"])
    return 1e-6 * (accumulation * micro + trace["update"] / shards)


def parameters(trace):
    """How many the trace's model has."""
    return sum(math.prod(tensor["shape"]) for layer in trace["model"]["layers"] for tensor in layer["tensors"])


def rows(path):
    """The rows of a CSV file."""
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def words(row, vocabulary, heads="heads"):
    """A GPT of the published numbers."""
    return ["--family", "gpt2", "--layers", row["layers"], "--hidden", row["hidden_size"], "--heads", row[heads], "--vocab", vocabulary,
            "--seq", row["sequence_length_tokens"]]


def llm_foundry(data, folder):
    """MPT on 8 H100 of one node in bf16; FP8 is no precision of traces. Its models are GPT-2's with positions for the sequence."""
    for row in rows(data / "measured" / "llm_foundry_h100.csv"):
        if row["nodes"] != "1" or row["precision"] != "amp_bf16":
            continue
        recompute = "full" if row["activation_checkpointing"] == "True" else "none"
        trace = estimate(folder, *words(row, row["vocabulary"]), "--device", "h100", "--precision", "bf16", "--batch", row["batch_per_gpu"],
                         "--recompute", recompute)
        if parameters(trace) != int(row["parameters"]):
            sys.exit(f"llm_foundry_h100.csv: {row['model']} has {parameters(trace)} parameters instead of {row['parameters']}")
        seconds = int(row["global_batch_tokens"]) / float(row["tokens_per_s"])
        yield Figure("llm_foundry_h100.csv", row["model"], f"seq {row['sequence_length_tokens']}, batch {row['batch_per_gpu']}, recompute {recompute}",
                     seconds, iteration(trace, int(row["accumulation"]), int(row["gpus"])))


def vtrain(data, folder):
    """GPT on 2 to 8 A100 of one node, recomputing everything; fp16 and Megatron's vocabulary are taken to be meant."""
    for row in rows(data / "measured" / "vtrain_a100_single.csv"):
        trace = estimate(folder, *words(row, 51200), "--device", "a100-80gb", "--precision", "fp16", "--batch", row["batch_per_gpu"], "--recompute", "full")
        gpus = int(row["gpus"])
        all_reduce = 2 * (gpus - 1) / gpus * 2 * parameters(trace) / NVLINK
        yield Figure("vtrain_a100_single.csv", f"GPT {row['layers']} layers", f"{gpus} GPUs, batch {row['batch_per_gpu']} x {row['accumulation']}",
                     1e-3 * float(row["iteration_ms"]), iteration(trace, int(row["accumulation"]), 1), all_reduce)


def torchtitan(data, folder):
    """LLaMA-3 8B on 8 H100 of one node in bf16; its selective recomputation also repeats every other product."""
    for row in rows(data / "measured" / "torchtitan_h100_8b.csv"):
        if row["nodes"] != "1" or row["precision"] != "bf16":
            continue
        trace = estimate(folder, "--model", "llama3-8b", "--device", "h100", "--precision", "bf16", "--batch", row["batch_per_data_parallel_rank"],
                         "--seq", row["sequence_length_tokens"], "--recompute", "selective")
        tokens = int(row["batch_per_data_parallel_rank"]) * int(row["sequence_length_tokens"])
        yield Figure("torchtitan_h100_8b.csv", "LLaMA-3 8B", "compiled" if row["compile"] == "yes" else "not compiled",
                     tokens / float(row["tokens_per_s_per_gpu"]), iteration(trace, 1, int(row["gpus"])))


class Split(NamedTuple):
    """How well the time of the backward pass is spread over the layers of a profile."""
    file: str
    agreement: split_tools.Agreement


def backward_of(folder, data, known, batch):
    """([seconds], [seconds]): of each layer, measured and by the roofline; what follows a layer belongs to it."""
    device = DEVICES[known.device]
    if device == "titanx":
        device = Path(folder) / "titanx.json"
        device.write_text(json.dumps(TITAN_X), encoding="utf-8")
    trace = estimate(folder, "--model", known.model, "--device", device, "--precision", "fp32", "--batch", batch)
    kept = [place for place, layer in enumerate(trace["model"]["layers"])
            if layer["tensors"] and not layer["name"].startswith(known.without)]
    sums, at = {place: 0.0 for place in kept}, kept[0]
    for place, layer in enumerate(trace["layers"]):
        if layer["name"].startswith(known.without):
            continue
        at = place if place in sums else at
        sums[at] += 1e-6 * layer["backward"]
    path = data / "profiles" / known.file
    counts = [sum(math.prod(tensor["shape"]) for tensor in trace["model"]["layers"][place]["tensors"]) for place in kept]
    return [1e-6 * unit.backward for unit in in_units(read_rows(path), counts, path)], [sums[place] for place in kept]


# Espresso's BERT-Base is fine-tuned on SQuAD by its tensors; how many tokens it saw is not stated: its split alone is used, at SQuAD's 384.
BERT = split_tools.Known("bert_base_v100_espresso_pertensor.csv", "bert_base_qa", split_tools.V100, "V100", 32)


def profiles(data, folder):
    """[Figure], [Split] of the measured profiles."""
    figures, splits = [], []
    for known in (*split_tools.KNOWN, BERT):
        measured, roofline = backward_of(folder, data, known, known.batch)
        splits.append(Split(known.file, split_tools.agreement(measured[::-1], roofline[::-1])))
        if known is not BERT:
            figures.append(Figure(known.file, known.model, f"{known.device}, batch {known.batch}", math.fsum(measured), math.fsum(roofline)))
    return figures, splits


def usual(figures):
    """The median efficiency of models, each with the median of its figures, so that no file outweighs others by its length."""
    models = {}
    for one in figures:
        models.setdefault(one.model, []).append(one.efficiency())
    return statistics.median(statistics.median(reached) for reached in models.values())


def predicted(one, others):
    """The relative error with the usual efficiency of others; None without any."""
    return (one.roofline / usual(others) + one.fixed) / one.measured - 1 if others else None


def errors(figures):
    """[(Figure, error from other models, error from other files)]."""
    return [(one, predicted(one, [other for other in figures if other.model != one.model]),
             predicted(one, [other for other in figures if other.file != one.file])) for one in figures]


def size(values):
    """"median, worst" of the errors that there are."""
    there = [value for value in values if value is not None]
    return f"{100 * statistics.median(map(abs, there)):.0f} % | {100 * max(there, key=abs):+.0f} %" if there else "- | -"


def print_totals(figures, by):
    """The table of totals, a line for each file or model, and one for all."""
    found = errors(figures)
    print("| | figures | efficiency: median, least, most | other models: median | worst | other files: median | worst |")
    print("|---|--:|---|--:|--:|--:|--:|")
    for name in [*dict.fromkeys(by(one) for one in figures), None]:
        of_it = [entry for entry in found if name is None or by(entry[0]) == name]
        reached = [one.efficiency() for one, _, _ in of_it]
        print(f"| {name or '**all**'} | {len(of_it)} | {statistics.median(reached):.2f}, {min(reached):.2f}, {max(reached):.2f} | "
              f"{size([other for _, other, _ in of_it])} | {size([other for _, _, other in of_it])} |")
    print()


def rescaled(figures):
    """Relative errors of each figure predicted from each other one of its model under other conditions, which is what rescaling does."""
    return [predicted(one, [other]) for one in figures for other in figures if other.model == one.model and other.what != one.what]


def print_rescaled(figures, by):
    """The table of pairs, a line for each file or model."""
    print("| from each to each other of the same model | pairs | median | nine of ten within | worst |")
    print("|---|--:|--:|--:|--:|")
    for name in dict.fromkeys(by(one) for one in figures):
        found = sorted(rescaled([one for one in figures if by(one) == name]), key=abs)
        if found:
            print(f"| {name} | {len(found)} | {100 * statistics.median(map(abs, found)):.0f} % | {100 * abs(found[math.ceil(0.9 * len(found)) - 1]):.0f} % | "
                  f"{100 * found[-1]:+.0f} % |")
    print()


def print_splits(splits):
    """The table of splits."""
    print("| profile | sum of differences | correlation | gradients ready, worst |")
    print("|---|--:|--:|--:|")
    for one in splits:
        print(f"| `{one.file}` | {100 * one.agreement.difference:.0f} % | {one.agreement.correlation:.2f} | {100 * one.agreement.cumulative:.0f} % |")
    print(f"| **median** | {100 * statistics.median(one.agreement.difference for one in splits):.0f} % | "
          f"{statistics.median(one.agreement.correlation for one in splits):.2f} | {100 * statistics.median(one.agreement.cumulative for one in splits):.0f} % |")
    print(f"| **worst** | {100 * max(one.agreement.difference for one in splits):.0f} % | {min(one.agreement.correlation for one in splits):.2f} | "
          f"{100 * max(one.agreement.cumulative for one in splits):.0f} % |")


def print_rows(figures):
    """Every figure."""
    for one, models, files in errors(figures):
        print(f"{one.file[:28]:28} {one.model:18} {one.what:42} {one.measured:9.4f} s  of the roofline {one.efficiency():.3f}  "
              f"{100 * models:+5.0f} %  {'-' if files is None else f'{100 * files:+5.0f} %'}")


def main():
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="the folder with measured/ and profiles/")
    parser.add_argument("--rows", action="store_true", help="every figure, instead of the tables")
    options = parser.parse_args()
    if not (options.data / "measured" / "llm_foundry_h100.csv").is_file():
        parser.exit(2, f"{options.data}: measured/llm_foundry_h100.csv: no such file (the folder of the reference data)\n")
    with tempfile.TemporaryDirectory() as folder:
        transformers = [figure for source in (llm_foundry, vtrain, torchtitan) for figure in source(options.data, folder)]
        convolutional, splits = profiles(options.data, folder)
    if options.rows:
        print_rows(transformers)
        print_rows(convolutional)
        return
    print(f"Usual efficiency: {usual(transformers):.3f} on tensor cores, {usual(convolutional):.3f} in fp32.\n")
    print_totals(transformers, lambda one: f"`{one.file}`")
    print_totals(convolutional, lambda one: one.model)
    print_rescaled(transformers + convolutional, lambda one: f"`{one.file}`" if one in transformers else one.model)
    print_splits(splits)


if __name__ == "__main__":
    main()
