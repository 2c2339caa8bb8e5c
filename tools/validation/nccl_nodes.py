"""NCCL's all-reduce between nodes: the preset of Alps, its model calibrated on the small numbers of GPUs, and data sheets, beside logs."""


from .scored import percent, read_csv

KIB, MIB = 1 << 10, 1 << 20
RANGES = {"below 64 KiB": 64 * KIB, "64 KiB to 1 MiB": MIB, "1 to 16 MiB": 16 * MIB, "from 16 MiB": 1 << 62}
PRESET = "gh200x4-4x200gbps"
ALPS = ("alps_gh200_allreduce.csv", "alps_gh200_allreduce_8_32_128.csv")
PRESET_SAW, CALIBRATION_SAW = (8, 16, 32, 64), (4, 8, 16, 32)
# From data sheets: 18 links of 20 GB/s a GPU, ports at their line rate; on Alps they hang on the processor, so that there is no LL128 between nodes.
SHEET = {"node": {"workers": 4, "alpha": "0 us", "bandwidth": "360 GB/s"}, "alpha": "0 us", "bandwidth": "200 Gbit/s", "rails": 4, "collective": "nccl", "nccl": {"gpu": "h100", "ll128": False}}
A3MEGA = {**SHEET, "node": {**SHEET["node"], "workers": 8}, "rails": 8, "nccl": {"gpu": "h100"}}

TEXT = """## NCCL between nodes: Alps at seven sizes, and two nodes of 8 H100

`all_reduce_perf` on 4 to 256 GH200 (4 a node, a port of 200 Gbit/s each; boeschf's runs on Alps) and on 2 x 8 H100 (GCP's a3-megagpu). The preset `{preset}` was fitted to the logs of 8 to 64 GPUs, and is scored on
4, 128 and 256; `allreplay calibrate` makes factors of the data sheet's model from the logs of 4 to 32, and is scored on 64, 128 and 256. *Next smaller* is the measurement at the next smaller number of GPUs, which anybody with these logs could use as a prediction. Median and 90th percentile of the errors:

| | points | {ranges} |
|---|--:|{columns}
{lines}

Fitted constants: {fitted}.

- Data sheets alone miss sizes between 64 KiB and 16 MiB by half and more. With the constants that NCCL's tuner does not know fitted on few nodes, the error there is a sixth to a fifth of the time on many: about that of the next
  smaller number of GPUs, but without its outliers. If a table of a similar cluster is available, use it.
- From 64 KiB to 1 MiB on 2 to 8 nodes no published mechanism explains the measurements.
- On two nodes trees send half of what a ring sends, which is why the 2 x 8 H100 carry more than their ports' rate in NCCL's count. Their start-ups (GPUDirect-TCPXO, 0.12 ms for 8 B) are in no data sheet.
"""


def rows_of(reference, files):
    """(GPUs, bytes, seconds), out of place."""
    return [(int(row["gpus"]), int(row["bytes"]), 1e-6 * float(row["time_us"])) for file in files for row in read_csv(reference / "measured" / file)]


def range_of(size):
    return next(name for name, end in RANGES.items() if size < end)


def score(scorer, name, cluster, rows, scored):
    """By range of the numbers of GPUs that are scored: what `validate` says, `smaller` among it."""
    points = [{"cluster": cluster, "collective": "nccl", "workers": gpus, "bytes": size, "time_s": repr(seconds), "group": range_of(size) if gpus in scored else "seen"} for gpus, size, seconds in rows]
    return {group["group"]: group for group in scorer.score(name, points)["groups"]}


def calibrated(scorer, rows):
    """A cluster file made of the logs of the small numbers of GPUs, and what was fitted."""
    sheet = scorer.cluster("alps-sheet", 64, SHEET)
    words = []
    for gpus in CALIBRATION_SAW:
        file = scorer.folder / f"alps-{gpus}.csv"
        file.write_text("bytes,time_us\n" + "".join(f"{size},{1e6 * seconds!r}\n" for workers, size, seconds in rows if workers == gpus), encoding="utf-8")
        words += [file, "--workers", gpus]
    fit = scorer.json("calibrate", *words, "--collective", "nccl", "--cluster", scorer.folder / sheet, "--cluster-out", scorer.folder / "alps-fit.json")
    return "alps-fit.json", fit


def fitted_text(fit):
    inside, between = fit["node"], fit["network"]
    value = lambda number: "unknown" if number is None else f"x {number:.2f}"
    word = lambda flag, yes, no: "unknown" if flag is None else yes if flag else no
    by_nodes = ", ".join(f"{one['bandwidth_GBps']:.1f} GB/s a port on {one['nodes']}" for one in between.get("by_nodes", []))
    rendezvous = "no rendezvous" if not between["rendezvous_s"] else f"a rendezvous of {1e6 * between['rendezvous_s']:.0f} us"
    return (f"inside bandwidth {value(inside['bandwidth'])}, latency {value(inside['latency'])}; between nodes bandwidth {by_nodes or value(between['bandwidth'])}, latency {value(between['latency'])}, trees {value(between['tree'])},"
            f" LL {value(between['ll'])}, {rendezvous}, LL128 {word(between['ll128'], 'on', 'off')}, a tree of two nodes {word(between['two_node_tree'], 'half of a ring', 'as a ring')}")


def lines_of(label, groups):
    """The predictions, and the next smaller number where there is one, on the same points."""
    pair = lambda error: f"{percent(error['median'])}, {percent(error['p90'])}"
    known = [groups[name] for name in RANGES]
    lines = ["| " + " | ".join([label, str(sum(group["points"] for group in known)), *(pair(group["error"]) for group in known)]) + " |"]
    if all("smaller" in group for group in known):
        lines.append("| " + " | ".join([f"{label}: next smaller", str(sum(group["smaller"]["points"] for group in known)), *(pair(group["smaller"]) for group in known)]) + " |")
        if any(group["smaller"]["points"] < group["points"] for group in known):
            lines.append("| " + " | ".join([f"{label}: predicted there", str(sum(group["error_where_smaller"]["points"] for group in known)), *(pair(group["error_where_smaller"]) for group in known)]) + " |")
    return lines


def section(scorer, reference):
    rows, two = rows_of(reference, ALPS), rows_of(reference, ("a3mega_h100_allreduce.csv",))
    sizes = {gpus for gpus, _, _ in rows}
    fit_file, fit = calibrated(scorer, rows)
    lines = [*lines_of("Alps, 4, 128 and 256: preset", score(scorer, "alps-preset", PRESET, rows, sizes - set(PRESET_SAW))),
             *lines_of("Alps, 128 and 256: preset", score(scorer, "alps-preset-large", PRESET, rows, {128, 256})),
             *lines_of("Alps, 64, 128 and 256: calibrated on 4 to 32", score(scorer, "alps-fit", fit_file, rows, sizes - set(CALIBRATION_SAW))),
             *lines_of("Alps, all but 4: data sheets", score(scorer, "alps-sheet-scored", scorer.cluster("alps-sheet", 64, SHEET), rows, sizes - {4})),
             *lines_of("2 x 8 H100: data sheets", score(scorer, "a3mega", scorer.cluster("a3mega", 16, A3MEGA), two, {16}))]
    return TEXT.format(preset=PRESET, ranges=" | ".join(RANGES), columns="--:|" * len(RANGES), lines="\n".join(lines), fitted=fitted_text(fit)), [], []
