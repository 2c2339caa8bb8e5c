"""Claims of US-Byte's Fig. 18 beside what its own model gives."""

import json
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

TEXT = """## US-Byte: claims that do not follow from its own model

Gao et al. simulate 128 nodes on 10 Gbit/s Ethernet (Fig. 18) and report US-Byte ahead of WFBP by 234-332 % and of ByteScheduler by 28-69 %: these
would be 3.34 to 4.32 and 1.28 to 1.69 times US-Byte's iteration time. Below is what the paper's model gives (`configs/usbyte_fig18.json`:
reconstructed single-GPU times, a ring, partitions of 4 MB, credit 2), by both readings of its all-reduce constants: as printed (they beat
the wire: 0.0352 ns/B on 10 Gbit/s), and as they fit the link ([models](../models.md)). Iteration time relative to US-Byte's:

{usbyte}

- WFBP / US-Byte is {usbyte_wfbp} over 8 to 128 nodes, {usbyte_wfbp_128} at 128. It is below 2 whatever the profile and the constants: both send every tensor at
  least once, one after another, so US-Byte takes at least max(t_f + t_b, sum of T), and WFBP at most t_f + t_b + sum of T. The
  printed lead cannot come from the printed model. At 128 nodes the start-ups of the ring outweigh the rest, and what overlaps with the forward pass is little.
- ByteScheduler / US-Byte is {usbyte_bytescheduler}, {usbyte_bytescheduler_128} at 128. ByteScheduler is behind where its partitions are many more than the
  tensors (VGG-16); elsewhere its start-ups, which overlap up to its credit, win. The paper does not say whether its baseline's overlap.
- Theorem 1 does hold: no order of the second phase is faster, `configs/usbyte_fig13.json` compares it with 10,000 random ones.
"""

READINGS = {"us-byte-10gbe": "fit the link", "us-byte-10gbe-as-printed": "as printed"}  # cluster: which constants it has


def scaling(scorer):
    """{(constants, network, strategy, nodes): iteration time} of US-Byte's Fig. 18."""
    labels = json.loads((ROOT / "configs" / "usbyte_fig18.json").read_text(encoding="utf-8"))["plot"]["labels"]
    return {(READINGS[row["cluster"]], labels[row["profile"]], row["strategy"], row["workers"]): row["iteration_s"] for row in scorer.json("sweep", ROOT / "configs" / "usbyte_fig18.json")}


def claims(times):
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


def section(scorer, _reference):
    """The section; it has no points."""
    return TEXT.format(**claims(scaling(scorer))), [], []
