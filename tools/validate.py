#!/usr/bin/env python3
"""Set predictions beside what real clusters did and what papers claim, and write docs/validation.md.

  tools/validate.py [--reference DIR] [--program FILE] [--out FILE] [--picture FILE.png]

DIR holds the published measurements (profiles/ and measured/; see docs/validation.md for where they come from).
The page is generated: correct this script, not the page. So is the picture, for which matplotlib is needed
(docs/pictures/validation.png; tools/python.sh finds a Python that has it).
"""
import argparse
import csv
import json
import math
import pathlib
import statistics
import subprocess
import sys
import tempfile
from typing import NamedTuple

import scaling_loss

ROOT = pathlib.Path(__file__).resolve().parent.parent
METHODS = {"WFBP": "wfbp", "SyncEASGD": "sync-easgd", "MG-WFBP": "mg-wfbp"}
NODES = (2, 4, 8)


def read_csv(file):
    with open(file, newline="") as stream:
        return list(csv.DictReader(stream))


def line(points):
    """Least squares a + b·x in relative error, so that small sizes count: weights 1/t²."""
    sums = [0.0] * 5  # w, wx, wxx, wt, wxt
    for x, t in points:
        w = 1 / t**2
        for i, value in enumerate((w, w * x, w * x * x, w * t, w * x * t)):
            sums[i] += value
    w, wx, wxx, wt, wxt = sums
    b = (w * wxt - wx * wt) / (w * wxx - wx * wx)
    return (wt - b * wx) / w, b


class Allreduce:
    """The cluster's MPI all-reduce among a number of nodes, as osu_allreduce measured it."""

    def __init__(self, rows, nodes):
        by_size = {}
        for row in rows:
            if int(row["nodes"]) == nodes:
                by_size.setdefault(int(row["bytes"]), []).append(float(row["latency_us"]) * 1e-6)
        self.nodes = nodes
        self.points = sorted((size, statistics.median(times)) for size, times in by_size.items())

    def table(self):
        """Every eighth size, and beyond the largest the line through the upper half (the logs end at 1 MiB)."""
        a, b = line([p for p in self.points if p[0] >= self.points[-1][0] / 2])
        far = 1 << 28
        return self.points[:12] + self.points[12::8] + [(far, a + b * far)]

    def straight(self):
        """One (a, b) for all sizes from 12 KiB on, where the library has left its small-message protocol."""
        return line([p for p in self.points if p[0] >= 12288])


def cluster(name, workers, network):
    return {"name": name, "workers": workers, "network": network}


def networks(rows, nodes):
    osu = Allreduce(rows, nodes)
    a, b = osu.straight()
    return {
        "table": {"table": [{"bytes": f"{size} B", "time": f"{time!r} s"} for size, time in osu.table()]},
        "line": {"measured": {"collective": "ring", "workers": nodes, "a": f"{a!r} s", "b": f"{b!r} s/B"}},
        "paper": {"measured": {"collective": "ring", "workers": 16, "a": "972 us", "b": "1.97 ns/B"}},
    }


def simulate(program, profile, options, description, folder):
    file = pathlib.Path(folder) / f"{description['name']}.json"
    file.write_text(json.dumps(description))
    command = [program, "compare", "--profile", str(profile), "--cluster", str(file), "--strategies", ",".join(METHODS.values()), "--json", *options]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{command}: {done.stderr.strip()}")
    return {row["strategy"]: row for row in json.loads(done.stdout)}


def speedups(program, profile, options, osu_rows):
    """{(cost, method, nodes): simulated speed-up}; a worker is a node, its two dies compute side by side."""
    result = {}
    with tempfile.TemporaryDirectory() as folder:
        for nodes in NODES:
            for cost, network in networks(osu_rows, nodes).items():
                rows = simulate(program, profile, options, cluster(f"{cost}-{nodes}", nodes, network), folder)
                for method, strategy in METHODS.items():
                    result[cost, method, nodes] = rows[strategy]["speedup"]
    return result


class Point(NamedTuple):
    """A speed-up of a real cluster, and what is predicted."""
    cluster: str
    method: str
    measured: float
    predicted: float


def comparison(measured, model, simulated):
    """A table of measured against simulated speed-ups, the relative errors by cost model, and the points by it."""
    lines = ["| method | nodes | measured | OSU table | error | OSU line | error | paper's (a, b) | error |", "|---|--:|--:|--:|--:|--:|--:|--:|--:|"]
    errors = {"table": [], "line": [], "paper": []}
    points = {cost: [] for cost in errors}
    for method in METHODS:
        for nodes in NODES:
            real = next(float(r["speedup_vs_1node"]) for r in measured if r["GPU model"] == model and r["method"] == method and int(r["nodes"]) == nodes)
            cells = [method, str(nodes), f"{real:.2f}"]
            for cost in errors:
                error = simulated[cost, method, nodes] / real - 1
                errors[cost].append(abs(error))
                points[cost].append(Point(f"K80, {model}", method, real, simulated[cost, method, nodes]))
                cells += [f"{simulated[cost, method, nodes]:.2f}", f"{100 * error:+.1f} %"]
            lines.append("| " + " | ".join(cells) + " |")
    summary = "; ".join(f"{name}: median {100 * statistics.median(errors[cost]):.1f} %, worst {100 * max(errors[cost]):.1f} %"
                        for cost, name in (("table", "OSU table"), ("line", "OSU line"), ("paper", "paper's (a, b)")))
    return "\n".join(lines), summary, points


# --- gTop-k's cluster ------------------------------------------------------------------------------------------------

GTOPK = {"VGG-16(cifar)": ("vgg16_cifar10_p102_b128", "VGG-16 (CIFAR-10)", "vgg16_cifar"), "ResNet-20": ("resnet20_p102_b128", "ResNet-20", "resnet20"),
         "AlexNet": ("alexnet_p102_b64", "AlexNet", "alexnet"), "ResNet-50": ("resnet50_p102_b256", "ResNet-50", "resnet50")}
CODECS = {"dense": "Dense", "topk": "Top-k", "gtopk": "gTop-k"}
BETA = 9e-9  # s/B of the link, measured point to point


def swept(program, config):
    """The rows of a sweep, as the program prints them."""
    done = subprocess.run([program, "sweep", str(ROOT / "configs" / f"{config}.json"), "--json"], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{config}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def gradient_bytes(profile):
    """Of all tensors of a profile's model, in single precision."""
    trace = json.loads((ROOT / "traces" / f"{profile}.json").read_text())
    model = json.loads((ROOT / "models" / f"{trace['model']}.json").read_text())
    return 4 * sum(math.prod(tensor["shape"]) for layer in model["layers"] for tensor in layer["tensors"])


def gtopk(program, reference):
    """Texts of the section on gTop-k's cluster, and its points."""
    rows = {(row["profile"], (row["codec"] or "dense").split("_")[0], row["workers"]): row for row in swept(program, "gtopk_fig10")}
    real = {(row["model"], row["method"], int(row["workers"])): float(row["scaling_efficiency"])
            for row in read_csv(reference / "gtopk_p102_throughput_per_worker.csv") if row["model"] in GTOPK}
    workers = (4, 8, 16, 32)
    lines = ["| network | gradients | " + " | ".join(f"{count} workers" for count in workers) + " |", "|---|---|" + "--:|" * len(workers)]
    points = []
    for model, (profile, name, _) in GTOPK.items():
        for method, title in CODECS.items():
            cells = []
            for count in workers:
                measured, predicted = real[model, method, count], rows[profile, method, count]["efficiency"]
                points.append(Point(f"P102-100, {name}", title, measured * count, predicted * count))
                cells.append(f"{100 * measured:.1f} / {100 * predicted:.1f} %")
            lines.append(f"| {name} | {title} | " + " | ".join(cells) + " |")
    shares = {row["model"]: row for row in read_csv(reference / "gtopk_p102_breakdown_32workers.csv")}
    breakdown = ["| network | computation | sparsification | communication | the same per byte of the model |", "|---|--:|--:|--:|--:|"]
    for model, (profile, name, key) in GTOPK.items():
        row, found = rows[profile, "gtopk", 32], shares[key]
        times = [(float(found["compute_s"]), row["forward_s"] + row["backward_s"]), (float(found["compress_s"]), row["codec_s"]), (float(found["comm_s"]), row["exposed_comm_s"])]
        breakdown.append(f"| {name} | " + " | ".join(f"{1e3 * a:.0f} / {1e3 * b:.0f} ms" for a, b in times) + f" | {1e9 * times[2][0] / gradient_bytes(profile):.1f} ns |")
    implied = ["| network | " + " | ".join(f"{count} workers" for count in workers) + " |", "|---|" + "--:|" * len(workers)]
    for model, (profile, name, _) in GTOPK.items():
        cells = []
        for count in workers:
            row = rows[profile, "dense", count]
            computing = row["forward_s"] + row["backward_s"]
            extra = computing / real[model, "dense", count] - computing
            cells.append(f"{extra / gradient_bytes(profile) / (2 * (count - 1) / count) / BETA:.1f}")
        implied.append(f"| {name} | " + " | ".join(cells) + " |")
    return {"gtopk": "\n".join(lines), "gtopk_breakdown": "\n".join(breakdown), "gtopk_implied": "\n".join(implied)}, points


def by_method(points):
    """A table of the errors by cluster and method."""
    groups = {}
    for point in points:
        groups.setdefault((point.cluster.split(",")[0], point.method), []).append(point.predicted / point.measured - 1)
    lines = ["| cluster | method | points | median error | worst error |", "|---|---|--:|--:|--:|"]
    for (cluster, method), errors in groups.items():
        worst = max(errors, key=abs)
        lines.append(f"| {cluster} | {method} | {len(errors)} | {100 * statistics.median(errors):+.0f} % | {100 * worst:+.0f} % |")
    return "\n".join(lines)


def draw(points, path):
    """Predicted against measured speed-up; on the line the prediction is right."""
    sys.path.insert(0, str(ROOT / "tools"))
    import plot
    import matplotlib
    from matplotlib.figure import Figure
    matplotlib.rcdefaults()
    matplotlib.rcParams.update(plot.RC)
    figure = Figure(figsize=(4.9, 3.5), layout="constrained")
    axes = figure.add_subplot()
    low, high = 0.2, 40
    axes.plot([low, high], [low, high], color="#666666", linewidth=0.9, linestyle=(0, (2, 2)), zorder=1, label="exact")
    axes.fill_between([low, high], [0.8 * low, 0.8 * high], [1.25 * low, 1.25 * high], color="#EEEEEE", linewidth=0, zorder=0, label="within 25 %")
    names = list(dict.fromkeys((point.cluster.split(",")[0], point.method) for point in points))
    for place, (cluster, method) in enumerate(names):
        chosen = [point for point in points if (point.cluster.split(",")[0], point.method) == (cluster, method)]
        colour, hollow = plot.PALETTE[place % len(plot.PALETTE)], place % 2 == 1
        axes.plot([point.measured for point in chosen], [point.predicted for point in chosen], plot.MARKERS[place], color=colour, markersize=5 if hollow else 4,
                  markerfacecolor="none" if hollow else colour, markeredgecolor=colour, linestyle="none", zorder=2, label=f"{method} ({cluster})")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_minor_locator(matplotlib.ticker.NullLocator())
    axes.set(xscale="log", yscale="log", xlim=(low, high), ylim=(low, high), xlabel="measured speed-up", ylabel="predicted speed-up", aspect="equal")
    ticks = [0.25, 0.5, 1, 2, 4, 8, 16, 32]
    for set_ticks, set_labels in ((axes.set_xticks, axes.set_xticklabels), (axes.set_yticks, axes.set_yticklabels)):
        set_ticks(ticks, minor=False)
        set_labels([f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    axes.grid(True)
    axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1), frameon=False, fontsize=6.5, borderaxespad=0)
    figure.savefig(path, dpi=160, metadata={"Software": None})


def own_profile(program, profile):
    """The claims of MG-WFBP's Fig. 10 from the profile that its authors measured: text."""
    command = [program, "compare", "--profile", str(profile), "--forward-ratio", "0.5", "--cluster", "k80-10gbe", "--strategies", "wfbp,sync-easgd,mg-wfbp", "--json"]
    counts, ratios = [], {}
    for workers in [2 ** power for power in range(2, 12)]:
        done = subprocess.run([*command, "--workers", str(workers)], capture_output=True, text=True, check=True)
        rows = {row["strategy"]: row for row in json.loads(done.stdout)}
        counts.append(str(rows["mg-wfbp"]["collectives"]))
        ratios[workers] = {other: rows[other]["iteration_s"] / rows["mg-wfbp"]["iteration_s"] for other in ("wfbp", "sync-easgd")}
    crossing = min(workers for workers, ratio in ratios.items() if ratio["sync-easgd"] < ratio["wfbp"])
    return {"own_wfbp": f"{ratios[64]['wfbp']:.2f}", "own_sync": f"{ratios[64]['sync-easgd']:.2f}", "own_merged": ", ".join(counts), "own_crossing": str(crossing)}


READINGS = {"us-byte-10gbe": "fit the link", "us-byte-10gbe-as-printed": "as printed"}  # cluster: which constants it has


def us_byte_scaling(program):
    """{(constants, network, strategy, nodes): iteration time} of US-Byte's Fig. 18."""
    labels = json.loads((ROOT / "configs" / "usbyte_fig18.json").read_text())["plot"]["labels"]
    return {(READINGS[row["cluster"]], labels[row["profile"]], row["strategy"], row["workers"]): row["iteration_s"] for row in swept(program, "usbyte_fig18")}


def us_byte_claims(times):
    """A table of times relative to US-Byte's, and the range of each ratio over all rows."""
    lines = ["| network | constants | WFBP, 8 nodes | WFBP, 128 | ByteScheduler, 8 | ByteScheduler, 128 |", "|---|---|--:|--:|--:|--:|"]
    ratios = {(*key[:2], strategy, key[3]): times[(*key[:2], strategy, key[3])] / time
              for key, time in times.items() if key[2] == "us-byte" for strategy in ("wfbp", "bytescheduler")}
    for constants, network in dict.fromkeys(key[:2] for key in sorted(times, key=lambda key: key[1])):
        cells = [f"{ratios[constants, network, strategy, nodes]:.2f}" for strategy in ("wfbp", "bytescheduler") for nodes in (8, 128)]
        lines.append(f"| {network} | {constants} | " + " | ".join(cells) + " |")
    texts = {"usbyte": "\n".join(lines)}
    for strategy in ("wfbp", "bytescheduler"):
        found = [ratio for key, ratio in ratios.items() if key[2] == strategy]
        at_128 = [ratio for key, ratio in ratios.items() if key[2] == strategy and key[3] == 128]
        texts[f"usbyte_{strategy}"] = f"{min(found):.2f} to {max(found):.2f}"
        texts[f"usbyte_{strategy}_128"] = f"{min(at_128):.2f} to {max(at_128):.2f}"
    return texts


def read_measured(file):
    """The model's column has no fixed name in the source; it is the first."""
    rows = read_csv(file)
    first = next(iter(rows[0]))
    return [{**row, "GPU model": row[first]} for row in rows]


PAGE = """# Validation: predictions beside measurements

Generated by `tools/validate.py`; do not edit. The measurements are published ones and are not part of this
repository: the K80 profile of GoogLeNet, the `osu_allreduce` logs and the images/s of the real cluster come from the
repository behind the MG-WFBP paper (B-Caffe; Shi, Chu, Li, arXiv 1912.09268, Fig. 6 and 7); the samples/s and the times of
the P102-100 cluster from that behind gTop-k (Shi et al. 2019, Fig. 10 and 11); the tokens/s of H100s from the repositories of
llm-foundry (commit 8c8dd48f) and torchtitan (b5bcd76c).

![Predicted against measured speed-up of every published point](pictures/validation.png)

All points of the two clusters of old GPUs, by method (for K80 with the *OSU table*; a positive error is too optimistic):

{by_method}

How the claims of the papers compare, beyond these measurements: [reproduction](reproduction.md).

## The K80 cluster of MG-WFBP

The cluster: 1 to 8 nodes with one Tesla K80 (two dies) each, 10 Gbit/s Ethernet. A simulated worker is a node; the
baseline is one node, as in the measurements. Three costs of communication, none of them fitted to the speed-ups:

- *OSU table*: the library's all-reduce as measured among that many nodes, linear between sizes. The logs end at
  1 MiB; beyond, the line through their upper half goes on.
- *OSU line*: one (a, b) by least squares in relative error over the sizes from 12 KiB on: {lines}.
- *paper's (a, b)*: 972 us and 1.97 ns/B, taken at 16 workers (the paper does not say for how many it measured them)
  and carried to N nodes as a ring.

### GoogLeNet, measured profile (64 Caffe layers, batch 32 per die, t_f = 0.5 t_b as its authors assume)

{googlenet}

Absolute error of the speed-up: {googlenet_errors}.

What the differences come from, as far as we can tell:

- The simulation is too optimistic nearly everywhere. At 2 and 4 nodes it hides all communication of WFBP and MG-WFBP,
  while the real cluster loses 2 to 9 % all the same. Gradients are copied between die and host there, the two dies
  share a slot and a host, and no two iterations are alike; none of that is in the model.
- WFBP on 8 nodes is the worst point under every cost. It alone depends on 64 start-ups per iteration: the logs time
  back-to-back calls on host memory, a training process pays more for each. A start-up of 844 us (the line) explains
  a third of the loss.
- The profile's backward pass sums to 205.3 ms, so that with the assumed forward pass an iteration computes for
  308.0 ms; the real node took 391.8 ms (64 images at 163.36 images/s). Only convolutions and fully connected layers
  were profiled. A compute time that is a fifth too short makes communication weigh more, not less: the optimism
  above is despite it.
- SyncEASGD hides nothing, so it tests the cost of one 53.5 MB all-reduce alone, where the logs end at 1 MiB and only
  the extrapolation speaks.

### ResNet-50, reconstructed profile (161 tensors, batch 16 per die)

The times are spread over the layers from the published single-node throughput, not measured (tools/reconstruct_trace.py);
read this as a test of the whole chain, not of the engine.

{resnet}

Absolute error of the speed-up: {resnet_errors}.

### Fig. 10 of the paper from the authors' own profile

The measured profile above, with the paper's constants as a ring, at 64 workers: MG-WFBP is {own_wfbp}x as fast as WFBP (the paper: 1.78x) and {own_sync}x as fast as SyncEASGD
(1.35x); WFBP falls behind SyncEASGD from {own_crossing} workers on. All-reduces on 4 to 2048 workers: {own_merged}; the paper: 10, 6, 6, 5, 3, 2, 1, 1, 1, 1. The reconstructed profile that the repository ships
has a longer backward pass, which hides more of WFBP's start-ups ([reproduction](reproduction.md)).

## The P102-100 cluster of gTop-k

4 to 32 nodes with one P102-100 each on 1 Gbit/s Ethernet (0.436 ms and 9 ns/B, measured point to point), nothing overlapped. Scaling efficiency, measured / predicted (`configs/gtopk_fig10.json`; single-GPU times
are the paper's, spread over the layers; LSTM-PTB is left out, for which no time is published):

{gtopk}

Time of an iteration of gTop-k on 32 workers, measured / predicted, and measured communication per byte of uncompressed gradients:

{gtopk_breakdown}

What dense communication takes beyond computing, in units of what the link would need for the bytes of a ring, 2(N-1)/N each:

{gtopk_implied}

- What is measured cannot come from the links. Predictions by the paper's own cost model (its Table I) are too optimistic by whole factors wherever there is much to send.
- Dense: on 4 and 8 nodes the three large exchanges take 1.2 to 1.4 times what the link needs, and predictions are roughly right. From 16 nodes on they take several times as long, while the bytes per link hardly
  grow. Start-ups do not explain it: 62 of them take 27 ms. Switch, hosts (1.1 GHz Celeron, one PCIe lane) or library: the data do not say which.
- gTop-k: its communication hardly depends on the number of workers, and is 14 ns per byte of the *whole* model for the three large networks, 50 to 70 times what the payload of a thousandth needs.
  So it is work on vectors as long as the model (copying or scattering them, we guess), not transfer. A `decode` per element in the codec's file would model it; the file does not, because its source is
  what the paper says of sparsification alone.
- Top-k has the same term, and grows with the number of workers as predicted or faster.
- Where little is sent (ResNet-20), or much computed per exchange (ResNet-50, which accumulates 16 batches), gTop-k's predictions are within a third.

## FSDP on 8 to 512 H100: what is lost on the way up

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
- One reading each, of other people's clusters. 13b at batch 2 loses nothing up to 64 GPUs, which the predictions say within 1.3 points.

## US-Byte: claims that do not follow from its own model

Gao et al. simulate 128 nodes on 10 Gbit/s Ethernet (Fig. 18) and report US-Byte ahead of WFBP by 234-332 % and of ByteScheduler by 28-69 %: these
would be 3.34 to 4.32 and 1.28 to 1.69 times US-Byte's iteration time. Below is what the paper's model gives (`configs/usbyte_fig18.json`:
reconstructed single-GPU times, a ring, partitions of 4 MB, credit 2), by both readings of its all-reduce constants: as printed (they beat
the wire: 0.0352 ns/B on 10 Gbit/s), and as they fit the link (docs/models.md). Iteration time relative to US-Byte's:

{usbyte}

- WFBP / US-Byte is {usbyte_wfbp} over 8 to 128 nodes, {usbyte_wfbp_128} at 128. It is below 2 whatever the profile and the constants: both send every tensor at
  least once, one after another, so US-Byte takes at least max(t_f + t_b, sum of T), and WFBP at most t_f + t_b + sum of T. The
  printed lead cannot come from the printed model. At 128 nodes the start-ups of the ring outweigh the rest, and what overlaps with the forward pass is little.
- ByteScheduler / US-Byte is {usbyte_bytescheduler}, {usbyte_bytescheduler_128} at 128. ByteScheduler is behind where its partitions are many more than the
  tensors (VGG-16); elsewhere its start-ups, which overlap up to its credit, win. The paper does not say whether its baseline's overlap.
- Theorem 1 does hold: no order of the second phase is faster, `configs/usbyte_fig13.json` replays 10,000 random ones beside it.
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reference", type=pathlib.Path, default=ROOT.parent / "shared" / "data", help="folder of the published measurements")
    parser.add_argument("--program", default=str(ROOT / "build" / "release" / "allreplay"), help="the program allreplay")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "docs" / "validation.md", help="the page to write")
    parser.add_argument("--picture", type=pathlib.Path, help="draw predicted against measured speed-ups, too")
    arguments = parser.parse_args()
    if not arguments.reference.is_dir():
        sys.exit(f"{arguments.reference}: no such folder (give --reference DIR, the folder of the published measurements)")
    measured = read_measured(arguments.reference / "measured" / "mgwfbp_k80_real_speedup.csv")
    osu = read_csv(arguments.reference / "measured" / "osu_allreduce_k80_10gbe.csv")
    googlenet = speedups(arguments.program, arguments.reference / "profiles" / "googlenet_k80_b32_caffe.csv", ["--forward-ratio", "0.5"], osu)
    resnet = speedups(arguments.program, ROOT / "traces" / "resnet50_k80_b16.json", [], osu)
    fits = [(nodes, *Allreduce(osu, nodes).straight()) for nodes in NODES]
    texts = {"lines": ", ".join(f"a = {a * 1e6:.0f} us, b = {b * 1e9:.2f} ns/B at {nodes}" for nodes, a, b in fits)}
    texts["googlenet"], texts["googlenet_errors"], points = comparison(measured, "GoogleNet", googlenet)
    texts["resnet"], texts["resnet_errors"], more = comparison(measured, "ResNet-50", resnet)
    sparse, others = gtopk(arguments.program, arguments.reference / "measured")
    points = points["table"] + more["table"] + others
    texts.update(sparse, by_method=by_method(points), **own_profile(arguments.program, arguments.reference / "profiles" / "googlenet_k80_b32_caffe.csv"))
    texts.update(us_byte_claims(us_byte_scaling(arguments.program)))
    with tempfile.TemporaryDirectory() as folder:
        texts.update(scaling_loss.section(arguments.program, arguments.reference / "measured", folder))
    arguments.out.write_text(PAGE.format(**texts))
    if arguments.picture:
        draw(points, arguments.picture)


if __name__ == "__main__":
    main()
