#!/usr/bin/env python3
"""Set predictions beside what real clusters did and what papers claim, and write docs/validation.md.

  tools/validate.py [--reference DIR] [--program FILE] [--out FILE]

DIR holds the published measurements (profiles/ and measured/; see docs/validation.md for where they come from).
The page is generated: correct this script, not the page.
"""
import argparse
import csv
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

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


def comparison(measured, model, simulated):
    """A table of measured against simulated speed-ups, and the relative errors by cost model."""
    lines = ["| method | nodes | measured | OSU table | error | OSU line | error | paper's (a, b) | error |", "|---|--:|--:|--:|--:|--:|--:|--:|--:|"]
    errors = {"table": [], "line": [], "paper": []}
    for method in METHODS:
        for nodes in NODES:
            real = next(float(r["speedup_vs_1node"]) for r in measured if r["GPU model"] == model and r["method"] == method and int(r["nodes"]) == nodes)
            cells = [method, str(nodes), f"{real:.2f}"]
            for cost in errors:
                error = simulated[cost, method, nodes] / real - 1
                errors[cost].append(abs(error))
                cells += [f"{simulated[cost, method, nodes]:.2f}", f"{100 * error:+.1f} %"]
            lines.append("| " + " | ".join(cells) + " |")
    summary = "; ".join(f"{name}: median {100 * statistics.median(errors[cost]):.1f} %, worst {100 * max(errors[cost]):.1f} %"
                        for cost, name in (("table", "OSU table"), ("line", "OSU line"), ("paper", "paper's (a, b)")))
    return "\n".join(lines), summary


READINGS = {"us-byte-10gbe": "fit the link", "us-byte-10gbe-as-printed": "as printed"}  # cluster: which constants it has


def us_byte_scaling(program):
    """{(constants, network, strategy, nodes): iteration time} of US-Byte's Fig. 18."""
    config = ROOT / "configs" / "usbyte_fig18.json"
    labels = json.loads(config.read_text())["plot"]["labels"]
    done = subprocess.run([program, "sweep", str(config), "--json"], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{config}: {done.stderr.strip()}")
    return {(READINGS[row["cluster"]], labels[row["profile"]], row["strategy"], row["workers"]): row["iteration_s"] for row in json.loads(done.stdout)}


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
repository behind the MG-WFBP paper (B-Caffe; Shi, Chu, Li, arXiv 1912.09268, Fig. 6 and 7).

The cluster: 1 to 8 nodes with one Tesla K80 (two dies) each, 10 Gbit/s Ethernet. A simulated worker is a node; the
baseline is one node, as in the measurements. Three costs of communication, none of them fitted to the speed-ups:

- *OSU table*: the library's all-reduce as measured among that many nodes, linear between sizes. The logs end at
  1 MiB; beyond, the line through their upper half goes on.
- *OSU line*: one (a, b) by least squares in relative error over the sizes from 12 KiB on: {lines}.
- *paper's (a, b)*: 972 us and 1.97 ns/B, taken at 16 workers (the paper does not say for how many it measured them)
  and carried to N nodes as a ring.

## GoogLeNet, measured profile (64 Caffe layers, batch 32 per die, t_f = 0.5 t_b as its authors assume)

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

## ResNet-50, reconstructed profile (161 tensors, batch 16 per die)

The times are spread over the layers from the published single-node throughput, not measured (tools/reconstruct_trace.py);
read this as a test of the whole chain, not of the engine.

{resnet}

Absolute error of the speed-up: {resnet_errors}.

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
    arguments = parser.parse_args()
    if not arguments.reference.is_dir():
        sys.exit(f"{arguments.reference}: no such folder (give --reference DIR, the folder of the published measurements)")
    measured = read_measured(arguments.reference / "measured" / "mgwfbp_k80_real_speedup.csv")
    osu = read_csv(arguments.reference / "measured" / "osu_allreduce_k80_10gbe.csv")
    googlenet = speedups(arguments.program, arguments.reference / "profiles" / "googlenet_k80_b32_caffe.csv", ["--forward-ratio", "0.5"], osu)
    resnet = speedups(arguments.program, ROOT / "traces" / "resnet50_k80_b16.json", [], osu)
    fits = [(nodes, *Allreduce(osu, nodes).straight()) for nodes in NODES]
    texts = {"lines": ", ".join(f"a = {a * 1e6:.0f} us, b = {b * 1e9:.2f} ns/B at {nodes}" for nodes, a, b in fits)}
    texts["googlenet"], texts["googlenet_errors"] = comparison(measured, "GoogleNet", googlenet)
    texts["resnet"], texts["resnet_errors"] = comparison(measured, "ResNet-50", resnet)
    texts.update(us_byte_claims(us_byte_scaling(arguments.program)))
    arguments.out.write_text(PAGE.format(**texts))


if __name__ == "__main__":
    main()
