"""gTop-k's cluster of P102-100 on 1 Gbit/s Ethernet: dense and sparse gradients, nothing overlapped."""

import json
import math
from pathlib import Path

from .scored import read_csv, score_table

ROOT = Path(__file__).resolve().parents[2]
NETWORKS = {"VGG-16(cifar)": ("vgg16_cifar10_p102_b128", "VGG-16 (CIFAR-10)", "vgg16_cifar"), "ResNet-20": ("resnet20_p102_b128", "ResNet-20", "resnet20"),
            "AlexNet": ("alexnet_p102_b64", "AlexNet", "alexnet"), "ResNet-50": ("resnet50_p102_b256", "ResNet-50", "resnet50")}
CODECS = {"dense": "Dense", "topk": "Top-k", "gtopk": "gTop-k"}
WORKERS = (4, 8, 16, 32)
BETA = 9e-9  # s/B of the link, measured point to point

TEXT = """## The P102-100 cluster of gTop-k

4 to 32 nodes with one P102-100 each on 1 Gbit/s Ethernet (0.436 ms and 9 ns/B, measured point to point), without overlap, so that *no overlap* is the prediction itself. Single-GPU times
are the paper's, spread over the layers; LSTM-PTB is left out, for which no time is published (`configs/gtopk_fig10.json`).

{scores}

Scaling efficiency, measured / predicted:

{efficiencies}

Time of an iteration of gTop-k on 32 workers, measured / predicted, and measured communication per byte of uncompressed gradients:

{breakdown}

Time of dense communication beyond computation, relative to what the link needs for the bytes of a ring, 2(N-1)/N each:

{implied}

- The measured times cannot come from the links. Predictions by the paper's own cost model (its Table I) are several times too optimistic wherever there is much to send.
- Dense: on 4 and 8 nodes the three large exchanges take 1.2 to 1.4 times what the link needs, and predictions are roughly right. From 16 nodes on they take several times as long, while the bytes per link hardly
  grow. Start-ups do not explain it: 62 of them take 27 ms. Switch, hosts (1.1 GHz Celeron, one PCIe lane) or library: the data do not show which.
- gTop-k: its communication hardly depends on the number of workers, and is 14 ns per byte of the *whole* model for the three large networks, 50 to 70 times what the payload of a thousandth needs.
  So it is work on vectors as long as the model (copying or scattering them, we guess), not transfer. A `decode` per element in the codec's file would model it; the file does not, because its source is the paper's figures for sparsification only.
- Top-k has the same term, and grows with the number of workers as predicted or faster.
- Where little is sent (ResNet-20), or much is computed per exchange (ResNet-50, which accumulates 16 batches), gTop-k's predictions are within a third.
"""


def gradient_bytes(profile):
    """Of all tensors of a profile's model, in single precision."""
    trace = json.loads((ROOT / "traces" / f"{profile}.json").read_text(encoding="utf-8"))
    model = json.loads((ROOT / "models" / f"{trace['model']}.json").read_text(encoding="utf-8"))
    return 4 * sum(math.prod(tensor["shape"]) for layer in model["layers"] for tensor in layer["tensors"])


def points(reference):
    """Rows to score: networks, codecs, workers."""
    real = {(row["model"], row["method"], int(row["workers"])): float(row["scaling_efficiency"]) for row in read_csv(reference / "gtopk_p102_throughput_per_worker.csv")}
    return [{"profile": profile, "cluster": "gtopk-1gbe", "workers": workers, "strategy": "sync-easgd", "codec": "" if codec == "dense" else codec, "density": 0.001,
             "speedup": repr(real[model, codec, workers] * workers), "group": title}
            for model, (profile, _, _) in NETWORKS.items() for codec, title in CODECS.items() for workers in WORKERS]


def efficiencies(found):
    """Measured and predicted, a line for each network and codec."""
    lines = ["| network | gradients | " + " | ".join(f"{count} workers" for count in WORKERS) + " |", "|---|---|" + "--:|" * len(WORKERS)]
    scored = iter(found["points"])
    for _, name, _ in NETWORKS.values():
        for title in CODECS.values():
            cells = [f"{100 * point['measured'] / count:.1f} / {100 * point['predicted'] / count:.1f} %" for count, point in zip(WORKERS, scored)]
            lines.append(f"| {name} | {title} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def details(scorer, reference, found):
    """Tables of what the parts of an iteration take, and what dense communication must have taken."""
    rows = {(row["profile"], (row["codec"] or "dense").split("_")[0], row["workers"]): row for row in scorer.json("sweep", ROOT / "configs" / "gtopk_fig10.json")}
    shares = {row["model"]: row for row in read_csv(reference / "gtopk_p102_breakdown_32workers.csv")}
    breakdown = ["| network | computation | sparsification | communication | the same per byte of the model |", "|---|--:|--:|--:|--:|"]
    for profile, name, key in NETWORKS.values():
        row, share = rows[profile, "gtopk", 32], shares[key]
        times = [(float(share["compute_s"]), row["forward_s"] + row["backward_s"]), (float(share["compress_s"]), row["codec_s"]), (float(share["comm_s"]), row["exposed_comm_s"])]
        breakdown.append(f"| {name} | " + " | ".join(f"{1e3 * a:.0f} / {1e3 * b:.0f} ms" for a, b in times) + f" | {1e9 * times[2][0] / gradient_bytes(profile):.1f} ns |")
    implied = ["| network | " + " | ".join(f"{count} workers" for count in WORKERS) + " |", "|---|" + "--:|" * len(WORKERS)]
    for place, (profile, name, _) in enumerate(NETWORKS.values()):
        cells = []
        for number, count in enumerate(WORKERS):
            row = rows[profile, "dense", count]
            computing = row["forward_s"] + row["backward_s"]
            measured = found["points"][place * len(CODECS) * len(WORKERS) + number]["measured"] / count  # dense comes first
            cells.append(f"{(computing / measured - computing) / gradient_bytes(profile) / (2 * (count - 1) / count) / BETA:.1f}")
        implied.append(f"| {name} | " + " | ".join(cells) + " |")
    return {"breakdown": "\n".join(breakdown), "implied": "\n".join(implied)}


def section(scorer, reference):
    """The section, lines for the page's first table, and rows for its picture."""
    rows = points(reference / "measured")
    found = scorer.score("gtopk", rows)
    text = TEXT.format(scores=score_table("gradients", [(group["group"], group) for group in found["groups"]]), efficiencies=efficiencies(found),
                       **details(scorer, reference / "measured", found))
    return text, [("P102-100, 1 Gbit/s Ethernet: gTop-k's efficiencies", found)], [{**row, "group": f"{row['group']} (P102-100)"} for row in rows]
