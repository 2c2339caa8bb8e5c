#!/usr/bin/env python3
"""Write the shipped traces of GPUs that nobody here has measured: what `allreplay estimate` says of them.

Each says "origin": "estimated"; how far that is to be trusted: docs/estimation.md. A measured trace of the same name
(tools/profile_torch.py) is better, and takes its place.

  tools/estimate_traces.py PROGRAM             regenerate them in traces/
  tools/estimate_traces.py PROGRAM --out DIR   elsewhere
"""

import argparse
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DEVICES = {"a100-80gb": "a100", "h100": "h100", "h200": "h200", "b200": "b200"}  # by data sheet, and in the trace's name
WORKLOADS = (  # model, samples of a mini-batch; transformers with the tokens that they were trained with
    ("resnet50", 256), ("vit-l", 128), ("bert-large", 32), ("gpt2-xl", 8), ("llama3-8b", 1))
PRECISION = "bf16"
# One worker's of a tensor-parallel group (1: the whole model): model, device, degree, what is computed again in the backward pass.
GROUPS = (("llama3-70b", "h100", 1, "full"), ("llama3-70b", "h100", 8, "none"), ("llama3-405b", "h100", 8, "full"))
EXPERTS = (("qwen3-235b-a22b", "h100", (1, 4, 8)), ("qwen3-235b-a22b", "h100", (1, 4, 32)), ("qwen3-235b-a22b", "h100", (2, 2, 16)))  # tp, cp, ep


def shipped():
    """{name: what `estimate` is asked} of every trace."""
    alone = {f"{model}_{short}_b{batch}_{PRECISION}": ["--model", model, "--device", device, "--batch", str(batch), "--precision", PRECISION]
             for model, batch in WORKLOADS for device, short in DEVICES.items()}
    groups = {f"{model}_{DEVICES[device]}_b1_{PRECISION}" + (f"_tp{degree}" if degree > 1 else ""):
              ["--model", model, "--device", device, "--batch", "1", "--precision", PRECISION, "--recompute", recompute,
               *(["--tp", str(degree), "--sequence-parallel"] if degree > 1 else [])]
              for model, device, degree, recompute in GROUPS}
    experts = {}
    for model, device, degrees in EXPERTS:
        given = [(name, degree) for name, degree in zip(("tp", "cp", "ep"), degrees) if degree > 1]
        asked = ["--model", model, "--device", device, "--batch", "1", "--precision", PRECISION, *(["--sequence-parallel"] if degrees[0] > 1 else [])]
        experts["_".join([model, DEVICES[device], "b1", PRECISION, *(f"{name}{degree}" for name, degree in given)])] = [
            *asked, *(word for name, degree in given for word in (f"--{name}", str(degree)))]
    return {**alone, **groups, **experts}


def main():
    """Write them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=Path, help="such as build/release/allreplay")
    parser.add_argument("--out", type=Path, default=ROOT / "traces", help="the folder to write to (default: traces/)")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    for name, asked in shipped().items():
        done = subprocess.run([options.program, "estimate", *asked, "--out", options.out / f"{name}.json"], stdout=subprocess.DEVNULL, check=False)
        if done.returncode:
            sys.exit(2)


if __name__ == "__main__":
    main()
