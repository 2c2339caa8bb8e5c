"""BERT-Large in one node, which hardly communicates: what is lost there is the slowest GPU's, as far as a spread of GPUs explains it."""

import json
import statistics

from .scored import percent, read_csv, score_table

# Of each GPU: the device that is estimated, and a node of its machine: links as NCCL counts them.
MACHINES = {"V100": ("v100", "v100", "120 GB/s"), "A100": ("a100-40gb", "a100", "240 GB/s")}

GROUPS = 16  # thousands of micro-batches are simulated as so many larger ones: what they compute is the same, and they send after the last

PHASES = {"128": "phase 1 (128 tokens)", "512": "phase 2 (512 tokens)"}

TEXT = """## BERT-Large in one node: what the slowest GPU costs

Pre-training in mixed fp16 on DGX-1, DGX-2 and DGX A100, as NVIDIA's DeepLearningExamples publish it: {points} rows of 4, 8 and 16 GPUs, each compared with the same setting on one GPU, whose rate gives the speed of computation. With 32
micro-batches an iteration and more, sending takes a thousandth of the time; {measured} points of the throughput per GPU are lost all the same, on average. A spread of GPUs models that. One sigma is fitted to the rows of each phase and scored on the rows of the other, so that no row is scored with its own fit: {sigmas}.

| | points | measured loss, mean | predicted | error, mean | without a spread: error |
|---|--:|--:|--:|--:|--:|
{losses}

{scores}

- A spread halves the error: the mean is right, but individual rows are not. Four GPUs lose as much as eight, although the slowest of eight should be slower than that of four: the slowest GPU is not the whole cause.
- No single number holds for all machines: {kinds}.
- The presets of A100 and H100 say 1.0 %, what the four series of A100 ask for, that of V100 nodes 3 %; all {points} rows together need {together} here. The FSDP runs below were not used to find it, and are predicted with it.
"""


def kind_of(row):
    return row["gpu"][:4]


class OneNode:
    """The rows, and the files that predict them."""

    def __init__(self, scorer, reference):
        self.scorer = scorer
        rows = [row for row in read_csv(reference / "measured" / "nvidia_bert_large_one_node.csv") if row["precision"] == "mixed fp16" and row["accumulation"]]
        alone = {self.key(row): row for row in rows if row["gpus"] == "1"}
        self.rows = [row for row in rows if row["gpus"] != "1" and self.key(row) in alone]
        self.traces = [self.trace(row, alone[self.key(row)], number) for number, row in enumerate(self.rows)]
        for kind, (_, gpu, bandwidth) in MACHINES.items():
            network = {"node": {"workers": 16, "alpha": "0 us", "bandwidth": bandwidth}, "alpha": "0 us", "bandwidth": "12 GB/s", "collective": "nccl", "nccl": {"gpu": gpu}}
            scorer.cluster(kind, 16, network)

    @staticmethod
    def key(row):
        return tuple(row[column] for column in ("commit", "table", "batch_per_gpu", "sequence_length_tokens"))

    def trace(self, row, alone, number):
        """Layers that compute as fast as one GPU did, beside its updates; GROUPS passes of as many micro-batches as the row accumulates."""
        name = f"bert-large-{number}.json"
        words = ("--model", "bert-large", "--device", MACHINES[kind_of(row)][0], "--precision", "fp16", "--seq", row["sequence_length_tokens"], "--head", "mlm", "--out", self.scorer.folder / name)
        self.scorer.run("estimate", *words, "--batch", row["batch_per_gpu"])
        update = 1e-6 * json.loads((self.scorer.folder / name).read_text(encoding="utf-8"))["update"]
        sample = 1 / float(alone["sequences_per_s"]) - update / (int(alone["batch_per_gpu"]) * int(alone["accumulation"]))
        batch = int(row["batch_per_gpu"]) * int(row["accumulation"]) // GROUPS
        self.scorer.run("estimate", *words, "--batch", batch, "--samples-per-second", repr(batch / (batch * sample + update)))
        return name

    def point(self, number, fits):
        row = self.rows[number]
        return {"profile": self.traces[number], "cluster": f"{kind_of(row)}.json", "workers": row["gpus"], "strategy": "ddp", "accumulate": GROUPS, "samples_per_s": row["sequences_per_s"],
                "group": kind_of(row), "calibrate": "spread by strategy" if {kind_of(row), row["sequence_length_tokens"]} & set(fits) else ""}

    def score(self, name, *fits):
        return self.scorer.score(name, [self.point(number, fits) for number in range(len(self.rows))])


def sigma(found):
    return percent(found["constants"][0]["value"])


def losses(found):
    """Measured and predicted, of the rows that are scored."""
    return [(point["scaling_loss"]["measured"], point["scaling_loss"]["predicted"]) for point in found["points"] if point["scored"]]


def error_of(pairs):
    return statistics.mean(abs(predicted - measured) for measured, predicted in pairs)


def loss_line(label, pairs, without):
    cells = [label, str(len(pairs)), percent(statistics.mean(measured for measured, _ in pairs)), percent(statistics.mean(predicted for _, predicted in pairs)), percent(error_of(pairs)), percent(error_of(without))]
    return "| " + " | ".join(cells) + " |"


def section(scorer, reference):
    one = OneNode(scorer, reference)
    without = losses(one.score("one-node-none"))
    folds = {fit: one.score(f"one-node-{fit}", fit) for fit in (*PHASES, *MACHINES)}
    rows_of = lambda fit: [place for place, point in enumerate(folds[fit]["points"]) if point["scored"]]
    pairs = {fit: (losses(folds[fit]), [without[place] for place in rows_of(fit)]) for fit in folds}
    labels = [(f"{PHASES[other]}, by {PHASES[fit]}", fit) for fit, other in (("512", "128"), ("128", "512"))]
    lines = [loss_line(label, *pairs[fit]) for label, fit in labels]
    lines.append(loss_line("**all**", *([pair for _, fit in labels for pair in pairs[fit][which]] for which in (0, 1))))
    kinds = "; ".join(f"the rows of {fit} need {sigma(folds[fit])}, with which the others' loss is off by {percent(error_of(pairs[fit][0]))} (without a spread {percent(error_of(pairs[fit][1]))})" for fit in MACHINES)
    scored = [(f"BERT-Large in one node: {label}", folds[fit]) for label, fit in labels]
    text = TEXT.format(points=len(one.rows), measured=f"{100 * statistics.mean(measured for measured, _ in without):.1f}", sigmas=" and ".join(f"{sigma(folds[fit])} of {name}" for fit, name in PHASES.items()),
                       together=together_sigma(one), kinds=kinds, scores=score_table("rows", [(label, found["all"]) for label, found in scored]), losses="\n".join(lines))
    return text, scored, []


def together_sigma(one):
    """What all rows ask for; a file has to score one, so that the first stands in it twice."""
    points = [one.point(number, tuple(MACHINES)) for number in range(len(one.rows))]
    found = one.scorer.score("one-node-all", [*points, {**points[0], "calibrate": ""}])
    return sigma(found)
