"""The all-reduce logs of the K80 cluster, calibrated: a section of docs/generated/validation.md."""

NODES = (2, 4, 8)
FITS = (("all", ()), ("from 12 KiB", ("--from", "12 KiB")), ("from 512 KiB", ("--from", "512 KiB")))
DECADES = ("1 B", "10 B", "100 B", "1 kB", "10 kB", "100 kB", "1 MB", "all")
OTHERS = (("B-Caffe's formula, 2n·45.25 us and 2(n−1)/n·2.243 ns/B", (("181 us", "2.24 ns/B"), ("362 us", "3.37 ns/B"), ("724 us", "3.93 ns/B"))),
          ("MG-WFBP's code, 10GbE", (("2.6 us", "0.098 ns/B"), ("42 us", "0.21 ns/B"), ("523 us", "0.86 ns/B"))))

TEXT = """## Real logs: calibration on 2, 4 and 8 K80 nodes

[`allreplay calibrate`](../calibration.md) applied to `osu_allreduce` on the same cluster, 10 Gbit/s Ethernet, 266 sizes from 4 B to 1 MiB (published with B-Caffe):

```
for n in 2 4 8; do allreplay calibrate allreduce$n.log --workers $n; done
```

| nodes | sizes | a | b | α (ring) | β (ring) | line: median error | table | pieces |
|--:|---|--:|--:|--:|--:|--:|--:|--:|
{fits}

Median errors by decade of the size, all sizes fitted:

| sizes from | 2 nodes: line | table | 4 nodes: line | table | 8 nodes: line | table |
|---|--:|--:|--:|--:|--:|--:|
{decades}

- The library leaves its small-message protocol between 8 and 12 KiB: at 8 nodes 182 us become 792 us. No line fits both sides. The line follows the 254 sizes above and is
  wrong by up to ten times below; the table follows both. There are further switches at 124 and 252 KiB (2 nodes), 260 KiB (4) and 508 KiB (8).
- α falls and rises again with the nodes ({alphas} us from 12 KiB on): this is not a ring of equal messages, and a measurement at 8 nodes does not give the times at 4.
- At 8 nodes the sizes up to 508 KiB and those above follow lines whose slopes agree within a fifth but whose starts differ by 1.1 ms. One line through both has a slope that belongs
  to neither: {slope} against {end} ns/B. Beyond 1 MiB, where the log ends, the two disagree twofold. A log that ends below the size of the gradients does not determine their cost.

Constants published by others for such clusters, where they can be compared:

| source | workers | a | b | here, from 12 KiB on |
|---|--:|--:|--:|---|
{others}

B-Caffe's formula is one α and β for all numbers of nodes, and fits 8 nodes best (a 15 % below, b 21 % above); at 2 and 4 its start-ups are twice what the log says, as the
library's are not proportional to n. MG-WFBP's constants are of another cluster, four nodes of four V100s under NCCL, and its workers are GPUs: two or four of them sit in one node,
which would explain why their constants are the same for 10 Gbit/s Ethernet and 56 Gbit/s InfiniBand and eight times below what the wire needs. Only those of 8 and 16 workers (908
us, 0.74 ns/B) include it; the last is still below the ring's 2(N−1)/N · 0.8 ns/B = 1.5 ns/B ([models](../models.md)).
"""


def percent(ratio):
    return f"{100 * ratio:.1f} %"


def fit_row(nodes, name, fit):
    error = fit["errors"][-1]
    return (f"| {nodes} | {name} | {fit['a'] * 1e6:.0f} us | {fit['b'] * 1e9:.2f} ns/B | {fit['alpha'] * 1e6:.1f} us | {fit['beta'] * 1e9:.2f} ns/B | "
            f"{percent(error['line_median'])} | {percent(error['table_median'])} | {len(fit['pieces'])} |")


def section(scorer, reference):
    """The section; no scores and no points of the picture."""
    log = lambda nodes: reference / "originals" / "bcaffe_k80" / f"allreduce{nodes}.log"
    fits = {(nodes, name): scorer.json("calibrate", log(nodes), "--workers", nodes, *options) for nodes in NODES for name, options in FITS}
    large = {nodes: fits[nodes, "from 12 KiB"] for nodes in NODES}
    decades = [[name, *(percent(fits[nodes, "all"]["errors"][i][key]) for nodes in NODES for key in ("line_median", "table_median"))] for i, name in enumerate(DECADES)]
    others = [[source if nodes == NODES[0] else "", str(nodes), a, b, f"{large[nodes]['a'] * 1e6:.0f} us, {large[nodes]['b'] * 1e9:.2f} ns/B"]
              for source, constants in OTHERS for nodes, (a, b) in zip(NODES, constants)]
    rows = lambda table: "\n".join("| " + " | ".join(cells) + " |" for cells in table)
    text = TEXT.format(fits="\n".join(fit_row(*key, fit) for key, fit in fits.items()), decades=rows(decades), others=rows(others),
                       alphas=", ".join(f"{large[nodes]['alpha'] * 1e6:.0f}" for nodes in NODES), slope=f"{large[8]['b'] * 1e9:.1f}",
                       end=f"{fits[8, 'from 512 KiB']['b'] * 1e9:.1f}")
    return text, [], []
