"""BERT-Base by the seven methods of ddl-benchmarks, with layer times that nobody measured: constants as for ResNet-50, then what communication takes from computing."""

import statistics

from .ddl_benchmarks import EVERYTHING, LABELS, Benchmark, constants_text, errors_of, verdict, without_their_start_ups
from .scored import percent, score_table

TEXT = """## BERT-Base, the same cluster and methods (ddl-benchmarks)

A batch of 64 sequences of 64 tokens per GPU, fp32, Adam. Layer times are `allreplay estimate`'s for an RTX 2080 Ti at the {one_gpu} samples/s of one GPU (`--optimizer adam-unfused`, as PyTorch's Adam was in 2020), without and with the head
that pre-training computes (`--head mlm`, which the benchmark does). BSP-A2A fits the links, BSP-PS the servers', ByteScheduler-A2A on 4 GPUs the launch of a tensor; none of them is scored. This leaves
{points} rows. In the last line the rows of WFBP-A2A on 4 GPUs fit `interference`, one factor for each cluster, and are not scored either. Over InfiniBand it holds between nodes, too; over TCP on one node only (`"nodes": 1`), since there the host's links wait for the network:

| what is known | points | median | 90 % | worst | bias | no communication: median | 90 % | no overlap: median | 90 % | winners | regret: mean | worst |
|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|
{lines}

{verdict}

{methods}

By cluster, with the null models on the same rows:

{clusters}

What was fitted in the last line:

{constants}

- Communication matters nearly everywhere here: 440 MB of gradients for 0.3 s of computation.
- Computation is slower during transfers on PCIe: WFBP on one node, whose communication would otherwise be almost hidden, takes longer than predicted without it. The fitted factor of two and more means that half of the overlap is lost, whatever keeps PyTorch's gradients of 2020 from overlapping. ResNet-50's rows do not show it, so no preset has it.
- Start-ups over TCP that do not grow with the nodes were found on WFBP-A2A's rows; without these: {others}.
- The presets' 6.3 GB/s inside a node are ResNet-50's; BERT-Base would need 4.1 to 4.4, and no score here uses them.
"""


class BertBase(Benchmark):
    """Layer times as estimated, at the rate of one GPU."""
    name, measured, one_gpu = "bert-base", "ddl_benchmarks_bert_base.csv", 212.8

    def __init__(self, scorer, reference, head):
        super().__init__(scorer, reference)
        self.trace = f"bert-base-{head}.json"
        scorer.run("estimate", "--model", "bert-base", "--device", "rtx2080ti", "--precision", "fp32", "--batch", self.batch, "--seq", 64, "--head", head, "--optimizer", "adam-unfused",
                   "--samples-per-second", self.one_gpu, "--out", scorer.folder / self.trace)

    def profile(self, known):
        return {"profile": self.trace}


def line(label, found):
    group, methods = found["all"], found["methods"]
    cells = [label, str(group["points"]), *errors_of(group), *(percent(group[null][share]) for null in ("no_communication", "no_overlap") for share in ("median", "p90")),
             f"{methods['winners']} of {methods['settings']}", percent(methods["mean_regret"]), percent(methods["worst_regret"])]
    return "| " + " | ".join(cells) + " |"


def by_cluster(benchmark, known, found):
    """A table: the errors of each network's rows between nodes, and of one node's, beside those of both null models."""
    groups = {}
    for row, point in zip([row for row in benchmark.rows if benchmark.point(row, known)], found["points"]):
        if point["scored"]:
            groups.setdefault("one node" if row["gpus"] == "4" else LABELS[row["network"]], []).append(point)
    pair = lambda errors: (percent(statistics.median(errors)), percent(statistics.quantiles(errors, n=10, method="inclusive")[-1]))
    against = lambda points, null: [abs(point[null] / point["measured"] - 1) for point in points]
    lines = ["| cluster | points | median | 90 % | no communication: median | 90 % | no overlap: median | 90 % |", "|---|--:|--:|--:|--:|--:|--:|--:|"]
    for name, points in groups.items():
        cells = [name, str(len(points)), *pair([abs(point["error"]) for point in points]), *pair(against(points, "no_communication")), *pair(against(points, "no_overlap"))]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def section(scorer, reference):
    """The section, lines for the page's first table, and its points, drawn by themselves."""
    known = EVERYTHING._replace(interference=True)
    none, mlm = (BertBase(scorer, reference, head) for head in ("none", "mlm"))
    scores = {"`--head none`": none.score("bert-none", EVERYTHING), "`--head mlm`": mlm.score("bert-mlm", EVERYTHING),
              "and interference, from WFBP-A2A on 4": mlm.score("bert-interference", known)}
    *_, last = scores.values()
    clusters = by_cluster(mlm, known, last)
    text = TEXT.format(one_gpu=BertBase.one_gpu, clusters=clusters, others=without_their_start_ups(mlm, known, last), points=scores["`--head mlm`"]["all"]["points"], lines="\n".join(line(label, found) for label, found in scores.items()), verdict=verdict(last),
                       methods=score_table("method", [(group["group"], group) for group in [*last["groups"], last["all"]]]), constants=constants_text(last))
    return text, [("ddl-benchmarks, BERT-Base: constants from BSP and ByteScheduler", scores["`--head mlm`"]), ("the same, interference from WFBP-A2A on 4", last)], []
