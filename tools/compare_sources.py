#!/usr/bin/env python3
"""Replay one real training as three others measured it: a section of docs/generated/validation.md, which tools/validate.py writes.

ResNet-50 at batch 32 on a V100 is published by three projects that measured it in three ways. Cut into the same units and
given the same forward ratio, they must give about the same iteration times; this script replays all of them under every
strategy on several clusters, and says how far they are apart and what the number of units does.

Example:
  tools/compare_sources.py --reference ../shared/data --program build/release/allreplay

prints the section alone. The reference folder holds profiles/*.csv (the section says whose). The page is generated: correct this script, not the page.
"""

import argparse
import csv
import json
import math
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import prose
import reconstruct_trace
from measured import InputError, in_units, read_rows

ROOT = Path(__file__).resolve().parent.parent
MODEL = "resnet50"
FORWARD_RATIO = 0.5  # B-Caffe's assumption; Kineto, which alone measured both directions soundly, has 32.74 / 64.44 ms = 0.508
CLOSE = 0.05  # how far apart the sources may be


class Source(NamedTuple):
    """A published profile of ResNet-50's training on a V100."""
    title: str
    file: str  # in profiles/
    batch: int
    how: str


SOURCES = {
    "kineto": Source("Kineto", "resnet50_v100dgxs_b32_kineto.csv", 32,
                     "sample trace of pytorch/kineto (BSD-3): V100-DGXS-32GB, PyTorch 1.9; GPU time of the kernels, by layer"),
    "espresso": Source("Espresso", "resnet50_v100_b32_espresso_pertensor.csv", 32,
                       "zhuangwang93/Espresso (Apache-2.0): V100-32GB; the time between one gradient being ready and the next, by tensor"),
    "pipedream": Source("PipeDream/4", "resnet50_pipedream.csv", 128,
                        "msr-fiddle/pipedream (MIT): a V100-class GPU at batch 128, by module; divided by 4"),
}
BATCH = 32
CLUSTERS = ("k80-10gbe", "v100-10gbe", "v100-56gbib", "us-byte-100gbps", "star-64-10gbe")
COUNT = 54  # units of the comparison: convolutions and fc, each with the normalisation after it
SHOWN = "kineto"  # the source that shows what the number of units does
STRETCHES = (0.98, 0.985, 0.99, 0.995, 1, 1.005, 1.01, 1.015, 1.02)
CYCLES = ("5 ms", "2 ms", "1 ms", "0.5 ms")  # Horovod's: the default is the third


class Part(NamedTuple):
    """What travels together: one row of the profile."""
    name: str
    params: int


def elements(tensor):
    """Parameters of a tensor of the model file."""
    return math.prod(tensor["shape"])


def starts_convolution(layer):
    """Whether a layer is a convolution or dense layer, and no normalisation: it has a tensor of two or more dimensions."""
    return any(len(tensor["shape"]) > 1 for tensor in layer["tensors"])


def block_of(name):
    """The residual block of a layer; the first convolution with its normalisation is one of its own (the stem), and so is fc."""
    stage, *rest = name.split(".")
    return f"{stage}.{rest[0]}" if rest else {"conv1": "stem", "bn1": "stem"}.get(name, name)


def merged(layers, same):
    """Units of consecutive layers; `same(before, layer)` says whether the layer joins the one before it."""
    units = []
    for before, layer in zip([None, *layers], layers):
        params = sum(map(elements, layer["tensors"]))
        if before is not None and same(before, layer):
            units[-1] = Part(units[-1].name, units[-1].params + params)
        else:
            units.append(Part(layer["name"], params))
    return units


def groupings(layers):
    """{number of units: (what they are, units)} of the model, fine to coarse; the finest is the layers' tensors."""
    found = [("layers", merged(layers, lambda before, layer: False)),
             ("convolutions and fc, each with the normalisation after it", merged(layers, lambda before, layer: not starts_convolution(layer))),
             ("stem, residual blocks and fc", merged(layers, lambda before, layer: block_of(before["name"]) == block_of(layer["name"])))]
    return {len(units): (what, units) for what, units in found}


def profile_rows(layers, rows, whose):
    """{number of units: rows of a profile (name, parameters, backward in us)}.

    With one row per tensor, all tensors of a layer become ready together, when the layer ends: its whole time is that of the tensor that is
    first in the backward pass, and the others take none.
    """
    result = {}
    for count, (_, parts) in groupings(layers).items():
        units = in_units(rows, [part.params for part in parts], whose)
        result[count] = [(part.name, part.params, unit.backward) for part, unit in zip(parts, units)]
    tensors = [(tensor["name"], elements(tensor), row[2] if tensor is layer["tensors"][-1] else 0.0)
               for layer, row in zip(layers, result[len(layers)]) for tensor in layer["tensors"]]
    return {len(tensors): tensors, **result}


def read_source(reference, source, layers):
    """{number of units: rows} of a source, at batch 32."""
    path = reference / "profiles" / source.file
    found = profile_rows(layers, read_rows(path), path)
    scale = BATCH / source.batch
    return {count: [(name, params, scale * backward) for name, params, backward in rows] for count, rows in found.items()}


def read_layers():
    """The layers of the model, in forward order."""
    return json.loads((ROOT / "models" / f"{MODEL}.json").read_text(encoding="utf-8"))["layers"]


def read_sources(reference):
    """{source: {number of units: rows (name, parameters, backward in us)}} of all sources."""
    layers = read_layers()
    return {key: read_source(reference, source, layers) for key, source in SOURCES.items()}


def write_profile(path, rows):
    """A profile without forward times, as `--forward-ratio` takes it."""
    with open(path, "w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(["layer", "params", "forward_us", "backward_us"])
        table.writerows((name, params, "", repr(backward)) for name, params, backward in rows)


# Those that send gradients only: what shards sends parameters, too, and in the units of the model.
STRATEGIES = "s-sgd,wfbp,sync-easgd,mg-wfbp,optimal-merge,ddp,horovod,bytescheduler,us-byte,p3,dear,mergecomp,best"


def replay(program, profile, cluster, *options, strategies=STRATEGIES):
    """{strategy: seconds per iteration}."""
    command = [program, "compare", "--profile", profile, "--cluster", cluster, "--forward-ratio", str(FORWARD_RATIO), "--strategies",
               strategies, "--json", *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise InputError(done.stderr.strip())
    return {row["strategy"]: row["iteration_s"] for row in json.loads(done.stdout)}


def replay_all(program, sources):
    """{(source, units, cluster): {strategy: seconds per iteration}}."""
    result = {}
    with tempfile.TemporaryDirectory() as folder:
        for key, profiles in sources.items():
            for count, rows in profiles.items():
                write_profile(path := Path(folder) / f"{key}_{count}.csv", rows)
                result.update({(key, count, cluster): replay(program, path, cluster) for cluster in CLUSTERS})
    return result


def spread(times):
    """How far the largest is above the smallest, relatively."""
    return max(times) / min(times) - 1


def spreads(result, count):
    """{(cluster, strategy): how far the sources are apart} for this number of units."""
    strategies = result[next(iter(SOURCES)), count, CLUSTERS[0]]
    return {(cluster, strategy): spread([result[source, count, cluster][strategy] for source in SOURCES])
            for cluster in CLUSTERS for strategy in strategies}


def outside(result, count):
    """[(cluster, strategy)] where the sources are more than CLOSE apart."""
    return [where for where, apart in spreads(result, count).items() if apart > CLOSE]


def stretched(program, rows, cluster, strategy):
    """How far one source is from itself, when all its times are stretched by STRETCHES."""
    times = []
    with tempfile.TemporaryDirectory() as folder:
        for factor in STRETCHES:
            write_profile(path := Path(folder) / "stretched.csv", [(name, params, factor * backward) for name, params, backward in rows])
            times.append(replay(program, path, cluster, strategies=strategy)[strategy])
    return spread(times)


def horovod_apart(program, sources, cluster, cycle):
    """How far the sources are apart under Horovod with this cycle."""
    times = []
    with tempfile.TemporaryDirectory() as folder:
        for profiles in sources.values():
            write_profile(path := Path(folder) / "profile.csv", profiles[COUNT])
            times.append(replay(program, path, cluster, "--option", f"cycle={cycle}", strategies="horovod")["horovod"])
    return spread(times)


# --- reconstructions beside what they stand for ----------------------------------------------------------------------

class Reconstructed(NamedTuple):
    """How far replays of a reconstructed backward pass are from those of the measured one of the same total."""
    known: reconstruct_trace.Known
    errors: dict  # (cluster, strategy): relative error of the iteration time


def backward_rows(layers, seconds):
    """Rows of a profile with these backward times."""
    return [(layer["name"], sum(map(elements, layer["tensors"])), 1e6 * one) for layer, one in zip(layers, seconds)]


def reconstruction(program, reference, known):
    """A known profile, measured and reconstructed, replayed everywhere."""
    one = reconstruct_trace.held(reference / "profiles", known)
    scale = math.fsum(one.measured) / math.fsum(one.roofline)
    layers, errors = reconstruct_trace.trained_layers(known), {}
    with tempfile.TemporaryDirectory() as folder:
        write_profile(real := Path(folder) / "measured.csv", backward_rows(layers, one.measured))
        write_profile(ours := Path(folder) / "reconstructed.csv", backward_rows(layers, [scale * time for time in one.roofline]))
        for cluster in CLUSTERS:
            truth = replay(program, real, cluster)
            errors.update({(cluster, strategy): time / truth[strategy] - 1 for strategy, time in replay(program, ours, cluster).items()})
    return Reconstructed(known, errors)


def reconstructions(program, reference):
    """All known profiles that name a model and a GPU."""
    return [reconstruction(program, reference, known) for known in reconstruct_trace.KNOWN]


def reconstruction_table(found):
    """Errors of the iteration time, by profile."""
    rows = []
    for known, errors in found:
        (cluster, strategy), worst = max(errors.items(), key=lambda item: abs(item[1]))
        sizes = [abs(error) for error in errors.values()]
        rows.append([f"`{known.file}`", f"`{strategy}` on `{cluster}`", percent(worst, "+"), percent(statistics.mean(sizes)), f"{sum(size > 0.01 for size in sizes)}",
                     f"{sum(size > CLOSE for size in sizes)}", f"{len(sizes)}"])
    return table(["profile", "worst case", "error there", "mean size", "above 1 %", f"above {CLOSE * 100:g} %", "of"], rows, texts=2)


# --- the page --------------------------------------------------------------------------------------------------------

def table(head, rows, texts=1):
    """A Markdown table whose first columns are texts and whose others are numbers."""
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * texts + "--:|" * (len(head) - texts)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def percent(value, sign=""):
    """A relative number as the page prints it."""
    return f"{100 * value:{sign}.1f} %"


def ms(seconds):
    """Milliseconds as the page prints them."""
    return f"{1e3 * seconds:.2f}"


def backward_us(rows):
    """The whole backward pass of a profile, in microseconds."""
    return math.fsum(backward for _, _, backward in rows)


def measured_table(sources):
    """What each source measured."""
    return table(["source", "what", "backward pass, ms"],
                 [[SOURCES[key].title, SOURCES[key].how, f"{backward_us(profiles[COUNT]) / 1e3:.2f}"] for key, profiles in sources.items()], texts=2)


def apart_table(result):
    """How far the sources are apart, by strategy and cluster."""
    found = spreads(result, COUNT)
    strategies = list(dict.fromkeys(strategy for _, strategy in found))
    return table(["strategy", *CLUSTERS], [[f"`{one}`", *(percent(found[cluster, one]) for cluster in CLUSTERS)] for one in strategies])


def times_table(result, cluster):
    """Iteration times of the sources on one cluster."""
    return table(["strategy", *(source.title for source in SOURCES.values())],
                 [[f"`{one}`", *(ms(result[source, COUNT, cluster][one]) for source in SOURCES)] for one in result[SHOWN, COUNT, cluster]])


def outside_table(program, sources, result, counts):
    """Every case outside, with what the same small stretch of a single source does there."""
    rows = [[str(count), f"`{strategy}`", f"`{cluster}`", *(ms(result[source, count, cluster][strategy]) for source in SOURCES),
             percent(spreads(result, count)[cluster, strategy]), percent(stretched(program, sources[SHOWN][count], cluster, strategy))]
            for count in counts for cluster, strategy in outside(result, count)]
    return table(["units", "strategy", "cluster", *(source.title for source in SOURCES.values()), "apart", "Kineto alone, stretched by -2 to +2 %"], rows, texts=3)


def cycle_table(program, sources):
    """Horovod's cycle, and how far the sources are apart."""
    return table(["cycle", *CLUSTERS], [[cycle, *(percent(horovod_apart(program, sources, cluster, cycle)) for cluster in CLUSTERS)] for cycle in CYCLES])


def units_table(result, counts, cluster):
    """Iteration times of one source by number of units."""
    return table(["strategy", *map(str, counts)],
                 [[f"`{one}`", *(ms(result[SHOWN, count, cluster][one]) for count in counts)] for one in result[SHOWN, counts[0], cluster]])


def wfbp_table(result, counts):
    """WFBP by number of units and cluster."""
    return table(["cluster", *map(str, counts)], [[f"`{cluster}`", *(ms(result[SHOWN, count, cluster]["wfbp"]) for count in counts)] for cluster in CLUSTERS])


def text_of(program, reference):
    """The section of docs/generated/validation.md."""
    reconstruct_trace.PROGRAM = Path(program)  # whose roofline it is
    sources = read_sources(reference)
    result, counts = replay_all(program, sources), list(sources[SHOWN])
    cases = len(spreads(result, COUNT))
    tallies = ", ".join(f"{len(outside(result, count))} at {count}" for count in counts)
    return f"""## Three measurements of one training

Three projects publish layer-wise times of the same training: ResNet-50 in fp32 with 32 images on a V100. They measured in different ways:

{measured_table(sources)}

How much should one trust a profile? Each is cut into the same units, by parameter counts: {COUNT} convolutions and fc, each with the normalisation
and the activation after it; 25,557,032 parameters, and every unit has as many in all three. Forward times are {FORWARD_RATIO:g} of the backward times in all (Espresso
has none, PipeDream's carry its profiler's overhead). Differences are largest over smallest iteration time, less one.

{apart_table(result)}

**{cases - len(outside(result, COUNT))} of {cases} cases are within {CLOSE * 100:g} %.** What comes nearest to a jump is `horovod`, by construction: it looks for ready tensors once a cycle, and a gradient that is
ready just after a look waits for the next. PipeDream's backward pass ends at {backward_us(sources["pipedream"][COUNT]) / 1e3:.2f} ms, the others' at {backward_us(sources["espresso"][COUNT]) / 1e3:.2f} and {backward_us(sources["kineto"][COUNT]) / 1e3:.2f} ms: with the 5 ms
of its versions before 0.21 a multiple lies between them, and two clusters are outside ({COUNT} units):

{cycle_table(program, sources)}

Iteration times on `v100-56gbib`, in milliseconds:

{times_table(result, "v100-56gbib")}

### Where a small difference becomes a large one

With other units, more cases are outside ({tallies}, of {cases} each). A plan is a discrete decision, and some strategies turn on a threshold:
MG-WFBP's Algorithm 1, as printed, which merges a unit or does not by comparing two times; ByteScheduler's blocks of 4 MB, which cannot be
preempted once they are in flight. Milliseconds, and how far the Kineto profile is apart *from itself* when all its times are stretched by
at most 2 % (the sources' totals differ by {percent(spread([backward_us(profiles[COUNT]) for profiles in sources.values()]))}). That alone gives the difference everywhere: the sources do not disagree, the strategy is sensitive.

{outside_table(program, sources, result, counts)}

### What the number of units does

The Kineto profile in {counts[0]} tensors (a layer's tensors become ready together), {counts[1]} layers, {counts[2]} convolutions and fc, and {counts[3]} units (stem, 16 residual blocks, fc).
WFBP sends each unit alone and pays a start-up for each, in milliseconds:

{wfbp_table(result, counts)}

All strategies on `k80-10gbe` (start-up 0.97 ms at 16 workers):

{units_table(result, counts, "k80-10gbe")}

and on `v100-56gbib` (0.24 ms), where computation hides most of it:

{units_table(result, counts, "v100-56gbib")}

What merges by itself (`mg-wfbp`, `optimal-merge`, `ddp`, `horovod`, `mergecomp`) hardly depends on the units, `s-sgd`, `wfbp`, `us-byte` and `p3`, which send at least one
message per tensor, do. So profiles are to be compared at the same units, and a figure of a paper that counts layers (US-Byte) or tensors (MG-WFBP) wants that paper's.

### A reconstruction in their place

Every published profile of a known model on a known GPU, and the split that [the roofline](../estimation.md#reconstructed-profiles) makes of its total: the error of the iteration time, over the strategies and
clusters above, layer by layer, the same forward ratio.

{reconstruction_table(reconstructions(program, reference))}

Three are above {CLOSE * 100:g} %. Two are `horovod`, whose clock was met above; in the other `mg-wfbp`, as printed, makes one collective of ResNet-50 at batch 128 on `star-64-10gbe` when its times are
reconstructed, and six when they are measured (`optimal-merge` takes the same time with both, to 0.1 ms). An iteration time needs the total far more than the split; a plan that turns on
single times, as Algorithm 1 does, can need both.
"""


def section(scorer, reference):
    """As tools/validate.py wants it; no scores and no points of its picture."""
    return text_of(scorer.program, reference), [], []


# --- command line ----------------------------------------------------------------------------------------------------

class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one line."""

    def error(self, message):
        self.exit(2, f"{self.prog}: command line: {message} (right: see --help)\n")


def main():
    """Do what the command line says."""
    parser = Parser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reference", type=Path, default=ROOT.parent / "shared" / "data", metavar="DIR", help="folder of the published profiles (default: %(default)s)")
    parser.add_argument("--program", default=str(ROOT / "build/release/allreplay"), metavar="FILE", help="allreplay (default: %(default)s)")
    options = parser.parse_args()
    print(prose.wrapped(text_of(options.program, options.reference)), end="")


if __name__ == "__main__":
    try:
        main()
    except InputError as error:
        print(error, file=sys.stderr)
        sys.exit(2)
    except OSError as error:
        print(f"{error.filename}: file: {error.strerror}", file=sys.stderr)
        sys.exit(2)
