#!/usr/bin/env python3
"""Predictions of trainings with pipelines and tensor groups, beside what was measured: docs/generated/hybrids.md.

  tools/validate_hybrids.py DATA [--out PAGE]     DATA: the folder of published measurements; PAGE: that page

Three questions. Of GH200 the layers were measured on the machine that the jobs ran on: step and exposed reduction, nothing
fitted. Of vTrain's A100 each setting's first row (the fewest micro-batches) gives one rate, which fixes how fast its layers
are; the others are predicted. Of B200 and of Megatron-LM's A100 nothing is known: layers are estimated. Beside each stand two
null models: no bubble (computing, and nothing waits), and the bubble by formula, (M + P - 1) / M times computing.
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
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby
from pathlib import Path

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


def percent(share):
    return f"{100 * share:.1f} %"


def signed(share):
    return f"{100 * share:+.0f} %"


class Scores:
    """Errors of a prediction and of the two null models, each against the measurement."""

    def __init__(self):
        self.errors = {"replayed": [], "no bubble": [], "bubble by formula": []}

    def add(self, measured, replayed, computing, micro_batches, ranks):
        for name, value in zip(self.errors, (replayed, computing, computing * (micro_batches + ranks - 1) / micro_batches)):
            self.errors[name].append(abs(value / measured - 1))

    def lines(self):
        yield "| | rows | median | 90th | worst |\n|---|--:|--:|--:|--:|"
        for name, errors in self.errors.items():
            ranked = sorted(errors)
            ninth = statistics.quantiles(ranked, n=10, method="inclusive")[-1]
            yield f"| {name} | {len(ranked)} | {percent(statistics.median(ranked))} | {percent(ninth)} | {percent(ranked[-1])} |"


# --- GH200: measured layers ------------------------------------------------------------------------------------------

def measured_profile(times, info, samples, tp, path):
    """OPT-350M of Megatron-DeepSpeed in fp32: 2048 tokens of width 1024; a block sums up twice a pass (arXiv 1909.08053)."""
    names = ["embedding", *(f"block.{i}" for i in range(len(times) - 2)), "head"]
    handed_on = samples * 2048 * 1024 * 4
    def sums(layer):
        passes = {"embedding": ["forward"], "head": ["backward"]}.get(layer, ["forward", "forward", "backward", "backward"])
        return [{"op": "all-reduce", "group": "tp", "bytes": handed_on, "pass": one} for one in passes]
    layers = [{"name": name, "forward": 1e6 * times[str(i)][0], "backward": 1e6 * times[str(i)][1], "output_bytes": handed_on,
               "collectives": sums(name)} for i, name in enumerate(names)]
    model = {"name": "opt-350m", "layers": [{"name": name, "tensors": [{"name": f"{name}.w", "shape": [int(info[str(i)]["params_floats"])]}]}
                                            for i, name in enumerate(names)]}
    path.write_text(json.dumps({"model": model, "device": "GH200", "framework": "Megatron-DeepSpeed", "batch_size": samples, "precision": "fp32",
                                "origin": "imported", "source": "eth-easl/sailor", "unit": "us", "update": 1e6 * sum(one[2] for one in times.values()),
                                "parallel": {"tp": tp, "cp": 1}, "layers": layers}), encoding="utf-8")
    return path


def gh200(data, folder):
    """The first question's part of the page."""
    originals = data / "profiles_gpu" / "originals"
    with gzip.open(originals / "sailor_OPT-350_GH-96.json.gz", "rt") as file:
        times = json.load(file)
    with gzip.open(originals / "sailor_llm_info.json.gz", "rt") as file:
        info = json.load(file)["OPT-350"]
    scores, table, reductions = Scores(), [], []
    for row in rows_of(data / "hybrids" / "sailor_hybrid.csv"):
        tp, pp, dp, samples = (int(row[key]) for key in ("tp", "pp", "dp", "microbatch"))
        batches = int(row["global_batch"]) // (dp * samples)
        profile = measured_profile(times[str(samples)][str(tp)], info[str(tp)], samples, tp, folder / "gh200.json")
        result = run(profile, batches, pp, "--cluster", "gh200x4-4x200gbps", "--workers", row["gpus"],
                     *(["--stages", row["layers_per_stage"].replace(";", "/")] if pp > 1 else []))
        step, computing = float(row["iteration_s"]), batches * (result["forward_s"] + result["backward_s"]) / pp
        scores.add(step, result["iteration_s"], computing, batches, pp)
        exposed, reduction = result["exposed_dp_s"], float(row["gradient_reduction_s"])
        if dp > 1 and not row["note"]:
            reductions.append(abs(exposed / reduction - 1))
        table.append(f"| {row['gpus']} | {pp} | {dp} | {batches} x {samples} | {step:.3f} | {result['iteration_s']:.3f} | "
                     f"{signed(result['iteration_s'] / step - 1)} | {1e3 * reduction:.0f} | {1e3 * exposed:.0f} |")
    yield "## OPT-350M on 4 to 128 GH200: layers measured there, nothing fitted\n"
    yield from scores.lines()
    yield (f"\nThe reduction alone, where there is one: off by {percent(statistics.median(reductions))} in the median. With one sample a\n"
           "micro-batch the layers, timed one by one, take longer than the whole step did: they wait for the processor that starts\n"
           "kernels, as the step does not.\n")
    yield "| GPUs | pp | dp | micro-batches | step, s | replayed | error | reduction, ms | replayed |\n|--:|--:|--:|---|--:|--:|--:|--:|--:|"
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
        for name, value in zip(scores.errors, (replayed, first * batches / known, first * (batches + ranks - 1) / (known + ranks - 1))):
            scores.errors[name].append(abs(value / measured - 1))
    yield f"\n## GPT on 2 to 8 A100: one rate of each of {len(settings)} settings known\n"
    yield from scores.lines()
    yield "\nThe null models carry the known rate on in proportion to M, and to M + P - 1."


# --- nothing known ---------------------------------------------------------------------------------------------------

def estimated(folder, words, batches, ranks, cluster):
    """The row of `run` of an estimated profile."""
    program("estimate", *words, "--out", folder / "estimated.json", "--force")
    return run(folder / "estimated.json", batches, ranks, *cluster)


def unknown(data, folder):
    """The third question's part of the page."""
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
        scores.add(step, result["iteration_s"], batches * (result["forward_s"] + result["backward_s"]) / pp, batches, pp)
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
        scores.add(step, result["iteration_s"], batches * (result["forward_s"] + result["backward_s"]) / pp, batches, pp)
        table.append((f"{row['model']}, A100, {row['recomputation']}", tp, pp, 1, step, result["iteration_s"]))
    yield "\n## LLaMA-3 on B200 and Megatron-LM's 22B and 530B on A100: nothing known\n"
    yield from scores.lines()
    yield "\n| | tp | pp | dp | step, s | replayed | error |\n|---|--:|--:|--:|--:|--:|--:|"
    for name, tp, pp, dp, step, replayed in table:
        yield f"| {name} | {tp} | {pp} | {dp} | {step:.3f} | {replayed:.3f} | {signed(replayed / step - 1)} |"


HEAD = """# Pipelines and tensor groups, beside measurements

Generated by `tools/validate_hybrids.py`, whose `--help` says how; do not edit. All errors are of the step, relative to
the measured one. Sources: eth-easl/sailor, VIA-Research/vTrain (MIT), MooreThreads/SimuMax (Apache-2.0), and table 5 of
arXiv 2205.05198. Jobs in FP8 are left out, as profiles have none.
"""


def main(argv):
    """Writes the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="the folder of published measurements")
    parser.add_argument("--out", type=Path, default=PAGE, help="the page to write (default: docs/generated/hybrids.md)")
    options = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        text = "\n".join([HEAD, *gh200(options.data, folder), *vtrain(options.data, folder), *unknown(options.data, folder), ""])
    options.out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
