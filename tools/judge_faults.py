#!/usr/bin/env python3
"""How often `allreplay judge` names the fault that was planted: random scenarios, a random fault, with and without noise.

  tools/judge_faults.py [--count N] [--seed N] [--program FILE]

A fault is simulated by `run` with its flags; `judge` gets the time, or the time with a normally distributed logarithm, and
the scenario without the fault. Counted are faults that make an iteration longer than the median error of its kind; others
are no gap. A cause is right if it is the fault's, of any size where the size is fitted.
"""
import argparse
import json
import math
import os
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SCENARIOS = [
    ["--profile", "llama3-8b_h100_b1_bf16", "--cluster", "h100x8-8x400gbps", "--strategy", "fsdp2"],
    ["--profile", "llama3-8b_h100_b1_bf16", "--cluster", "h100x8-8x400gbps", "--rails", "4", "--strategy", "megatron"],
    ["--profile", "llama3-8b_h100_b1_bf16", "--cluster", "gh200x4-4x200gbps", "--strategy", "zero-3"],
    ["--profile", "resnet50_a100_b256_bf16", "--cluster", "a100x8-8x200gbps", "--strategy", "ddp"],
    ["--profile", "resnet50_v100_b32", "--cluster", "v100x4-pcie-100gbib", "--strategy", "ddp"],
    ["--profile", "bert_base_v100_b32", "--cluster", "v100x4-pcie-100gbib", "--strategy", "ddp"],
]
WORKERS = (16, 32, 64, 128)


def factor(chance, least, most):
    """A factor, uniform in its logarithm."""
    return f"{math.exp(chance.uniform(math.log(least), math.log(most))):.3g}"


# By the first words of the cause's flags: the words of the fault.
FAULTS = {
    "--bandwidth x0.5": lambda _: ["--bandwidth", "x0.5"],
    "--bandwidth": lambda chance: ["--bandwidth", "x" + factor(chance, 0.15, 0.85)],
    "--rails": lambda _: ["--rails", "1"],
    "--latency": lambda _: ["--latency", "112 us", "--bandwidth", "1.54 GB/s"],
    "--protocol simple": lambda _: ["--protocol", "simple"],
    "--protocol ll": lambda _: ["--protocol", "ll"],
    "--inner-bandwidth": lambda chance: ["--inner-bandwidth", "x" + factor(chance, 0.05, 0.7)],
    "--stragglers": lambda chance: ["--stragglers", "3:" + factor(chance, 1.1, 2.5)],
    "--option host_step": lambda chance: ["--option", f"host_step={factor(chance, 20, 800)} ms"],
    "--precision": lambda _: ["--precision", "fp32"],
    "--recompute": lambda _: ["--recompute", "full"],
    "--interference": lambda _: ["--interference", "1.4"],
}


def is_right(name, fault, cause):
    own = cause["own_flags"]
    if not own or cause["fitted"] != (name in ("--bandwidth", "--inner-bandwidth", "--stragglers", "--option host_step")):
        return False
    if cause["fitted"]:
        return " ".join(own).startswith(name)
    return own[:len(fault)] == fault or (name == "--latency" and own[0] == "--latency")


def output(program, *words):
    done = subprocess.run([program, *map(str, words), "--json"], capture_output=True, text=True, check=False, cwd=ROOT)
    return json.loads(done.stdout) if done.returncode == 0 else None


def trial(program, chance, noise):
    """(fault, place of its cause from 1 on or none, first cause), or nothing if there is no gap, or the fault cannot be."""
    scenario = [*chance.choice(SCENARIOS), "--workers", str(chance.choice(WORKERS))]
    name = chance.choice(list(FAULTS))
    fault = FAULTS[name](chance)
    error = math.exp(chance.gauss(0, noise))
    slow = output(program, "run", *scenario, *fault)
    if not slow:
        return None
    answer = output(program, "judge", *scenario, "--iteration", repr(slow["iteration_s"] * error))
    if not answer or not answer["causes"] or answer["ratio"] < 1:
        return None
    causes = answer["causes"]
    place = next((i for i, cause in enumerate(causes, 1) if is_right(name, fault, cause)), None)
    # Causes of the same time as the right one cannot be told apart from it: they count as one.
    if place:
        time = causes[place - 1]["iteration_s"]
        place -= sum(abs(cause["iteration_s"] / time - 1) < 1e-3 and not cause["fitted"] for cause in causes[:place - 1])
    return name, place, answer["verdict"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100, help="faults to count")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--program", default=os.environ.get("ALLREPLAY_PROGRAM", str(ROOT / "build" / "release" / "allreplay")))
    arguments = parser.parse_args()
    for noise in (0, 0.02, 0.05):
        chance, first, third, all_of = random.Random(arguments.seed), Counter(), Counter(), Counter()
        while sum(all_of.values()) < arguments.count:
            found = trial(arguments.program, chance, noise)
            if not found:
                continue
            name, place, _ = found
            all_of[name] += 1
            first[name] += place == 1
            third[name] += place is not None and place <= 3
        count = sum(all_of.values())
        print(f"noise {noise:.0%}: first in {sum(first.values())} of {count}, among the first three in {sum(third.values())}")
        for name in FAULTS:
            print(f"  {name}: {first[name]} of {all_of[name]}, {third[name]}")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
