"""ResNet-50 by seven methods on three networks (HKBU's ddl-benchmarks): constants from three methods' rows, all others predicted, cause by cause."""

import csv
import json
import statistics
from pathlib import Path
from typing import NamedTuple

from .scored import percent, read_csv, score_table, signed

ROOT = Path(__file__).resolve().parents[2]
NETWORKS = {"10GbE with TCP/IP": "v100x4-pcie-10gbe", "100GbE with TCP/IP": "v100x4-pcie-100gbe", "100GbIB with RDMA": "v100x4-pcie-100gbib"}
LABELS = {"10GbE with TCP/IP": "10GbE", "100GbE with TCP/IP": "100GbE", "100GbIB with RDMA": "InfiniBand"}
METHODS = {"BSP-A2A": "sync-easgd", "WFBP-A2A": "wfbp", "MG-WFBP": "mg-wfbp", "ByteScheduler-A2A": "bytescheduler",
           "BSP-PS": "sync-easgd", "WFBP-PS": "wfbp", "ByteScheduler-PS": "bytescheduler"}
LINK_FIT, LAUNCH_FIT, SERVER_FIT, INTERFERENCE_FIT = "BSP-A2A", "ByteScheduler-A2A", "BSP-PS", "WFBP-A2A"
BYTEPS_PARTITION = "4096000 B"  # of all three methods on servers


class Known(NamedTuple):
    """What a prediction knows of the cluster; each cause is one of these."""
    links: str = "names"  # or "fitted"
    update: bool = False
    launch: bool = False
    barrier: bool = False
    servers: bool = False
    byteps: bool = False
    interference: bool = False  # as the rows of INTERFERENCE_FIT on one node ask for; over TCP on one node only


CAUSES = [("links by their names, each method as its paper has it", {}),
          ("the real speed of a link, from BSP-A2A", {"links": "fitted"}),
          ("the optimizer's update, which nothing hides", {"update": True}),
          ("a library's own cost per tensor, from ByteScheduler-A2A on one node", {"launch": True}),
          ("scripts that synchronise: no overlap with the next forward pass", {"barrier": True}),
          ("servers on hosts of their own, and sums inside a node first", {"servers": True}),
          ("BytePS as it is: partitions, and links of servers' own, from BSP-PS", {"byteps": True})]
EVERYTHING = Known("fitted", True, True, True, True, True)


class Benchmark:
    """The measured rows of a model, and the files that predict them."""
    name = measured = ""
    batch = 64
    one_gpu = 0.0  # samples/s: one measurement, repeated for all networks and methods

    def __init__(self, scorer, reference, rows=None):
        self.scorer = scorer
        self.rows = rows if rows is not None else [row for row in read_csv(reference / "measured" / self.measured) if not row["suspect"] and row["gpus"] != "1"]

    def profile(self, known):
        """The trace on which a prediction goes by, and the update beside it."""
        raise NotImplementedError

    def cluster(self, network, known):
        """The preset, or its links by their names: 16 lanes of PCIe 3 as NCCL counts them, and the port's line rate."""
        name = NETWORKS[network]
        found = json.loads((ROOT / "topologies" / f"{name}.json").read_text(encoding="utf-8"))["network"]
        if known.links == "names":
            found["node"]["bandwidth"] = "12 GB/s"
            del found["beta"]
            found["bandwidth"] = found["line_rate"]
        return self.scorer.cluster(name, 16, found, **({"interference": {"compute": 1} | ({"nodes": 1} if "TCP" in network else {})} if known.interference else {}))

    def point(self, row, known):
        """The row as `validate` reads it; None for one that fits what is not fitted."""
        method, workers = row["method"], int(row["gpus"])
        point = {**self.profile(known), "cluster": self.cluster(row["network"], known), "workers": workers, "strategy": METHODS[method],
                 "collective": "", "barrier": "iteration" if known.barrier else "", "samples_per_s": row["samples_per_s"], "group": method, "calibrate": ""}
        if method.endswith("-PS") and known.byteps:
            point["partition"] = BYTEPS_PARTITION
            if method != "ByteScheduler-PS":
                point.update(strategy="byteps", release="backward" if method == SERVER_FIT else "layer")
        if method.endswith("-PS") and workers > 4:  # on one node there are no servers
            point["collective"] = "parameter-server"
            if known.servers:
                point.update(server_hosts="dedicated", local="true")
        if method == LINK_FIT:
            point["calibrate"] = "beta by cluster" if workers == 4 else "beta by cluster workers"
            return point if known.links == "fitted" else None
        if method == SERVER_FIT:
            point["calibrate"] = "server by cluster"
            return point if known.byteps else None
        if method == LAUNCH_FIT and workers == 4:
            point["calibrate"] = "launch_tensor by group"
            return point if known.launch else None
        if method == INTERFERENCE_FIT and workers == 4 and known.interference:
            point["calibrate"] = "interference"
        return point

    def score(self, name, known):
        points = [self.point(row, known) for row in self.rows]
        return self.scorer.score(name, [point for point in points if point])


class ResNet50(Benchmark):
    """Layer times are a V100's, scaled so that an iteration on one GPU takes what was measured, without and with the update."""
    name, measured, one_gpu = "resnet50", "ddl_benchmarks_resnet50.csv", 253.1

    def __init__(self, scorer, reference):
        super().__init__(scorer, reference)
        self.update = self.update_s()
        self.layers = self.layer_times(reference / "profiles" / "resnet50_v100dgxs_b32_kineto.csv")

    def profile(self, known):
        return {"profile": self.layers[known.update], "update": f"{self.update!r} s" if known.update else ""}

    def update_s(self):
        """Of SGD with momentum on the GPU that the authors' paper names, by roofline."""
        self.scorer.run("estimate", "--model", "resnet50", "--device", "rtx2080ti", "--precision", "fp32", "--batch", self.batch, "--optimizer", "sgd",
                        "--out", self.scorer.folder / "estimated.json")
        return 1e-6 * json.loads((self.scorer.folder / "estimated.json").read_text(encoding="utf-8"))["update"]

    def layer_times(self, profile):
        rows = read_csv(profile)
        total = 1e-6 * sum(float(row["forward_us"]) + float(row["backward_us"]) for row in rows)
        names = {}
        for update in (False, True):
            scale = (self.batch / self.one_gpu - (self.update if update else 0)) / total
            table = self.scorer.folder / f"layers-{int(update)}.csv"
            with open(table, "w", newline="", encoding="utf-8") as stream:
                writer = csv.writer(stream)
                writer.writerow(["layer", "params", "forward_us", "backward_us"])
                writer.writerows([row["layer"], row["params"], float(row["forward_us"]) * scale, float(row["backward_us"]) * scale] for row in rows)
            names[update] = f"resnet50-{int(update)}.json"
            self.scorer.run("import", table, "--batch", self.batch, "--match", "resnet50", "--out", self.scorer.folder / names[update])
        return names


TEXT = """## ResNet-50 on nodes of four GPUs, three networks, seven methods (ddl-benchmarks)

The samples/s published by HKBU's ddl-benchmarks (2020): 4, 8, 16 and 32 GPUs, four to a node, batch 64 each, 10 and 100 Gbit/s Ethernet over TCP and 100 Gbit/s InfiniBand; all-reduce (A2A) and parameter
servers (PS). Their repository does not name the GPU (the authors' paper: RTX 2080 Ti). Six rows are left out, which equal those of another network and were most likely taken on it.

- *Layer times* are those of a V100 (the trace of PyTorch's Kineto, forward and backward), scaled so that one GPU reaches the {one_gpu} samples/s measured on one; the V100 is not used otherwise.
- *Network constants* come from one method, BSP-A2A (one all-reduce after the backward pass): a time per byte inside a node from its rows of 4 GPUs, and of a port from those of 8, 16 and 32, for each network and number of
  GPUs one constant from one row. Start-ups are those of the presets ([topologies](../../topologies/v100x4-pcie-10gbe.json)): from other measurements but for their dependence on the number of nodes. The rows of BSP-A2A are not scored.
- *Servers' links* come from BSP-PS, for each network one time per byte, and *a launch for each tensor* from the rows of ByteScheduler-A2A on 4 GPUs, which is the same node in all three networks; these are not scored either. {points}
  points are left, all of them predicted.

### Cause by cause

Each cause is added to those above it; the column *without it* has all causes except this one:

{causes}

{verdict}

### Method by method

With all causes; *where it matters* are the points that the null model without communication misses by more than 5 %:

{methods}

### Point by point

Errors with all causes (positive: too fast; *fit*: not scored; –: left out):

{points_table}

What was fitted:

{constants}

### What it shows

- More than half of these points hide nearly all communication, so the error of the null model without communication is small in the median, but exceeds one half in a tenth of them. Where communication matters, the error is
  several times that of all points, and a fraction of the null models'.
- Three causes fix those points: a launch for each tensor, servers that do not share the workers' ports, and partitions, in which BytePS's pushes and pulls overlap.
- The presets' start-ups over TCP do not grow with the number of nodes, as WFBP-A2A's rows of this table and of BERT-Base's showed. Without these rows: {others}.
- The presets' 6.3 GB/s inside a node come from rows of this table, so no score here uses them.
- On one node there are no servers; BytePS's sums are modelled as a ring there.
"""


def causes_table(benchmark):
    """The table, and the last of its scores."""
    rows, known = [], Known()
    for place, (title, more) in enumerate(CAUSES):
        known = known._replace(**more)
        found = benchmark.score(f"cause-{place}", known)
        without = benchmark.score(f"without-{place}", EVERYTHING._replace(**{key: Known._field_defaults[key] for key in more})) if more else None
        rows.append((title, found, without))
    lines = ["| cause | median | 90 % | worst | bias | without it: median | 90 % | no communication: median | 90 % | no overlap: median | 90 % | scaling loss, its error | winners | regret: mean | worst |",
             "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|"]
    for title, found, without in rows:
        group, methods = found["all"], found["methods"]
        cells = [title if found is rows[0][1] else f"+ {title}", *errors_of(group), *(errors_of(without["all"])[:2] if without else ("", "")),
                 *(percent(group[null][share]) for null in ("no_communication", "no_overlap") for share in ("median", "p90")), percent(group["scaling_loss"]["error_median"]),
                 f"{methods['winners']} of {methods['settings']}", percent(methods["mean_regret"]), percent(methods["worst_regret"])]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines), rows[-1][1]


def errors_of(group):
    error = group["error"]
    return percent(error["median"]), percent(error["p90"]), signed(error["worst"]), signed(error["bias"])


def points_table(benchmark, found):
    """Signed errors by method, network and GPUs."""
    kept = [row for row in benchmark.rows if benchmark.point(row, EVERYTHING)]
    errors = {(row["method"], row["network"], row["gpus"]): signed(point["error"]) if point["scored"] else "fit" for row, point in zip(kept, found["points"])}
    counts = ("4", "8", "16", "32")
    lines = ["| method | " + " | ".join(f"{LABELS[network]}, {count}" for network in NETWORKS for count in counts) + " |", "|---|" + "--:|" * (len(NETWORKS) * len(counts))]
    for method in METHODS:
        lines.append(f"| {method} | " + " | ".join(errors.get((method, network, count), "–") for network in NETWORKS for count in counts) + " |")
    return "\n".join(lines)


def constant_value(one):
    if one["value"] is None:
        return "unknown" + (" (the node is slower)" if one["constant"] == "beta" else "")
    kind = one["constant"]
    return f"{1e9 * one['value']:.3f} ns/B" if kind in ("beta", "server") else f"{one['value']:.2f}" if kind == "interference" else f"{1e6 * one['value']:.0f} us"


def constants_text(found):
    """What each constant came to."""
    words = lambda column, cell: cell.removesuffix(".json") if column in ("cluster", "profile") else f"{cell} GPUs" if column == "workers" else cell
    scope = lambda one: ", ".join(words(column, cell) for column, cell in one["for"].items())
    return "\n".join(f"- {one['constant']}{' inside' if one.get('level') == 'node' else ''} of {scope(one)} {constant_value(one)}" for one in found["constants"])


def without_their_start_ups(benchmark, known, found):
    """Median and 90th percentile without WFBP-A2A's rows over TCP between nodes, on which the presets' start-ups by the number of nodes were found."""
    kept = [row for row in benchmark.rows if benchmark.point(row, known)]
    errors = [abs(point["error"]) for row, point in zip(kept, found["points"]) if point["scored"] and not (row["method"] == "WFBP-A2A" and "TCP" in row["network"] and row["gpus"] != "4")]
    return f"{percent(statistics.median(errors))} and {percent(statistics.quantiles(errors, n=10, method='inclusive')[-1])} on {len(errors)} points"


def beaten(group):
    """Whether both null models are, in the median."""
    return "beaten" if group["error"]["median"] < min(group[null]["median"] for null in ("no_communication", "no_overlap")) else "NOT BEATEN"


def verdict(found):
    group, where, methods = found["all"], found["matters"], found["methods"]
    nulls = lambda one: percent(min(one[null]["median"] for null in ("no_communication", "no_overlap")))
    return (f"With all causes the error is {percent(group['error']['median'])} in the median and {percent(group['error']['p90'])} at the 90th percentile, the better null model's {nulls(group)}: {beaten(group)}. On the {where['points']} points"
            f" where communication matters it is {percent(where['error']['median'])} and {percent(where['error']['p90'])}, the better null model's {nulls(where)}: {beaten(where)}. The predicted winner of a network and number of"
            f" GPUs is the measured one in {methods['winners']} of {methods['settings']} settings, and costs {percent(methods['worst_regret'])} more time at worst; {methods['right']:g} of {methods['pairs']} pairs of methods are in the right order.")


def section(scorer, reference):
    """The section, lines for the page's first table, and its points, drawn by themselves."""
    benchmark = ResNet50(scorer, reference)
    causes, found = causes_table(benchmark)
    groups = [(group["group"], group) for group in [*found["groups"], found["all"], found["matters"]]]
    text = TEXT.format(one_gpu=benchmark.one_gpu, points=found["all"]["points"], causes=causes, verdict=verdict(found), methods=score_table("method", groups), points_table=points_table(benchmark, found),
                       constants=constants_text(found), others=without_their_start_ups(benchmark, EVERYTHING, found))
    return text, [("ddl-benchmarks, ResNet-50: constants from BSP and ByteScheduler", found)], []
