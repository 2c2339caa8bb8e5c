"""Mixtures of experts beside measurements: Qwen3's pre-training with Megatron-Bridge, a part of docs/generated/hybrids.md."""

import csv
import json
import statistics
from collections import defaultdict

PRECISION = "fp8"  # of the products of blocks
NODES_OF_8 = ["--cluster", "nvl72", "--node", 8, "--rails", 8]
NVL72 = ["--cluster", "nvl72", "--node", 64, "--rails", 64]  # 64 of a rack's 72 GPUs: numbers of workers are multiples
MACHINES = {"H100": ("h100", ["--cluster", "h100x8-8x400gbps"]),
            "B200": ("b200", NODES_OF_8), "B300": ("b300", [*NODES_OF_8, "--bandwidth", "800 Gbit/s"]),
            "GB200": ("gb200", NVL72), "GB300": ("gb300", [*NVL72, "--bandwidth", "800 Gbit/s"])}
MODELS = {"Qwen3_30B_a3B": "qwen3-30b-a3b", "Qwen3_235B_a22B": "qwen3-235b-a22b"}
TITLES = ("replayed", "dense model", "same MFU")


def settings_of(data):
    """{a setting's columns: its steps in seconds, one of each container}, the smallest model of each machine first."""
    steps = defaultdict(list)
    with open(data / "hybrids" / "megatron_bridge.csv", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["model"] in MODELS:
                degrees = tuple(int(row[key] or 1) for key in ("gpus", "global_batch", "microbatch", "sequence", "tp", "pp", "vp", "ep"))
                steps[row["system"].removeprefix("DGX-"), row["precision"], row["model"], *degrees].append(float(row["step_ms_derived"]) / 1e3)
    return dict(sorted(steps.items(), key=lambda one: (list(MACHINES).index(one[0][0]), list(MODELS).index(one[0][2]))))


def dense_of(model, root, folder):
    """A file of the dense model whose MLPs are as wide as a token's experts together."""
    described = json.loads((root / "models" / "transformers" / f"{model}.json").read_text(encoding="utf-8"))
    experts = described.pop("experts")
    described["ffn"] = experts["top_k"] * experts["ffn"]
    path = folder / f"dense-{model}.json"
    path.write_text(json.dumps(described), encoding="utf-8")
    return path


def replayed(program, setting, model, ep, path):
    """Seconds of an iteration, and FLOPs of a sample."""
    machine, _, _, gpus, batch, microbatch, sequence, tp, pp, vp, _ = setting
    device, cluster = MACHINES[machine]
    program("estimate", "--model", model, "--device", device, "--precision", PRECISION, "--batch", microbatch, "--seq", sequence,
            *(["--tp", tp, "--sequence-parallel"] if tp > 1 else []), *(["--ep", ep] if ep > 1 else []), "--out", path, "--force")
    schedule = ["--schedule", "interleaved", "--chunks", vp] if vp > 1 else ["--option", "p2p=blocking"]
    done = program("run", "--profile", path, *cluster, "--workers", gpus, "--strategy", "megatron", "--micro-batches", batch * tp * pp // (gpus * microbatch),
                   *(["--pp", pp, *schedule] if pp > 1 else []), "--json")
    return json.loads(done)["iteration_s"], json.loads(path.read_text(encoding="utf-8"))["flops_per_sample"]


def section(program, root, data, folder):
    """The page's part."""
    errors, both, table, left_out, smallest = defaultdict(list), defaultdict(list), [], [], {}
    for setting, steps in settings_of(data).items():
        machine, precision, model, gpus, batch, *_, tp, pp, _, ep = setting
        step = statistics.median(steps)
        name = MODELS[model]
        if gpus // (tp * pp) % ep != 0:
            left_out.append(f"{name} on {gpus} {machine}, whose {ep} groups of experts are more than the {gpus // (tp * pp)} workers that hold the same layers with tp {tp} "
                            "(Megatron's experts are not cut by tp there)")
            continue
        seconds, flops = replayed(program, setting, name, ep, folder / "mixture.json")
        values = [seconds, replayed(program, setting, dense_of(name, root, folder), 1, folder / "dense.json")[0]]
        work = flops * batch / gpus
        if machine in smallest:
            values.append(smallest[machine][0] * work / smallest[machine][1])
        else:
            smallest[machine] = step, work
        for title, value in zip(TITLES, values):
            errors[title].append(abs(value / step - 1))
            if len(values) == len(TITLES):
                both[title].append(abs(value / step - 1))
        signed = [f"{100 * (value / step - 1):+.0f} %" for value in values] + [""] * (len(TITLES) - len(values))
        table.append(f"| {name} | {gpus} {machine}, {precision} | {tp}, {pp}, {setting[-2]}, {ep} | {setting[5]} | {step:.2f} | {min(steps):.2f} to {max(steps):.2f} | " + " | ".join(signed) + " |")
    yield "\n## Qwen3's mixtures of experts with Megatron-Bridge: nothing known\n"
    yield "| | rows | median | worst | rows with all three | median | worst |\n|---|--:|--:|--:|--:|--:|--:|"
    for title in TITLES:
        found = [f"{len(one[title])} | {100 * statistics.median(one[title]):.1f} % | {100 * max(one[title]):.1f} %" for one in (errors, both)]
        yield f"| {title} | {' | '.join(found)} |"
    yield f"""
Layers are estimated from data sheets, the products of blocks in {PRECISION} (the jobs ran in FP8 on H100 and in MXFP8 on Blackwell).
The null models are the *dense model* of the active parameters (the same blocks with an MLP as wide as a token's experts
together, so no tokens travel), replayed likewise, and *same MFU*: the operations of a token at the rate of the machine's
smallest row, the 30B's, which is a measurement that the others do not have. That nothing is recomputed, that experts are
equally busy, and that token exchange does not overlap are assumptions; the sources do not say. A step is the median of a
setting's containers, whose range is printed: software alone made some of these jobs 1.5 times as fast.
"""
    everywhere, on_all_three = ({title: statistics.median(found[title]) for title in found} for found in (errors, both))
    closer = "closer" if everywhere["replayed"] < everywhere["dense model"] else "**further off**"
    yield f"Over all rows replays are {closer} than the dense model."
    if on_all_three["replayed"] > on_all_three["same MFU"]:
        yield """**Same MFU is better on the rows that it has.** The worst of all three are rows of micro-batches of one sample in the oldest
container, which take two to three times as long as newer ones with larger micro-batches: perhaps their GPUs waited for the host.
Settings of many interleaved chunks (vp 3 and 12) are replayed as too slow: these jobs may overlap their exchanges.
"""
    if left_out:
        yield f"Left out: {'; '.join(left_out)}.\n"
    yield "| model | GPUs | tp, pp, vp, ep | micro-batch | step, s | containers | replayed | dense model | same MFU |\n|---|---|---|--:|--:|---|--:|--:|--:|"
    yield from table
