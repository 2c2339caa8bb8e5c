"""GPT on one node of A100: layer times estimated, and estimated with one known rate for each kind of micro-batch."""

from .scored import read_csv, score_table

VOCABULARY = 51200  # Megatron's for GPT-2; the source does not say

TEXT = """## GPT on one node of A100 (vTrain)

120 configurations of Megatron-DeepSpeed on 2, 4 and 8 A100 of one node: 12 to 24 layers of width 1024, micro-batches of 1 to 8 sequences, 2 to 16 of them accumulated, all activations
recomputed, gradients reduced after the last backward pass in one piece (`sync-easgd`; the source: no bucketing). The all-reduce is NCCL's model on `a100x8-8x200gbps`; fp16 and
{vocabulary:,} tokens are assumed. Layer times are estimated, twice:

- *from data sheets*: `allreplay estimate` for an A100 of 80 GB, at the efficiency of its file, which llm-foundry's wider models reached on A100. These narrow ones wait for the host, of which data sheets say nothing ([hybrids](hybrids.md)).
- *one rate known*: for each number of layers and micro-batch the row with the fewest GPUs, and of these with the most micro-batches, gives the speed of an A100, from which `estimate` derives the computation; it is not scored.

{scores}

- This is a test of computation: the median all-reduce takes {share} of an iteration, so both null models are equally good.
- With one rate known, what remains to predict is how the step adds up: K micro-batches, one update, one all-reduce. The rows of 8 GPUs alone: {eight}.
"""


def words(row):
    """What is asked of `estimate` for a row's micro-batch."""
    return ("--family", "gpt2", "--layers", row["layers"], "--hidden", row["hidden_size"], "--heads", row["heads"], "--vocab", VOCABULARY,
            "--seq", row["sequence_length_tokens"], "--device", "a100-80gb", "--precision", "fp16", "--batch", row["batch_per_gpu"], "--recompute", "full")


def from_sheets(scorer, row, out):
    """The trace of a row's micro-batch, without any known speed."""
    scorer.run("estimate", *words(row), "--out", scorer.folder / out)
    return out


def rated(scorer, row, out):
    """The same, as fast as the row says."""
    scorer.run("estimate", *words(row), "--out", scorer.folder / out, *setting(row))
    return out


def kind(row):
    return row["layers"], row["batch_per_gpu"]


def known_rows(rows):
    """{kind: the row that says how fast it computes}"""
    known = {}
    for row in rows:
        order = (int(row["gpus"]), -int(row["accumulation"]))
        if kind(row) not in known or order < known[kind(row)][0]:
            known[kind(row)] = order, row
    return {name: row for name, (_, row) in known.items()}


def setting(row):
    """What the row was measured in, as arguments; and samples per second of one GPU there."""
    rate = int(row["batch_per_gpu"]) * int(row["accumulation"]) / (float(row["iteration_ms"]) * 1e-3)
    return ("--cluster", "a100x8-8x200gbps", "--workers", row["gpus"], "--strategy", "sync-easgd", "--option", "barrier=iteration", "--accumulate", row["accumulation"],
            "--samples-per-second", repr(rate))


def point(row, profile, group):
    return {"profile": profile, "cluster": "a100x8-8x200gbps", "workers": row["gpus"], "strategy": "sync-easgd", "barrier": "iteration", "accumulate": row["accumulation"],
            "iteration_s": repr(float(row["iteration_ms"]) * 1e-3), "group": group}


def section(scorer, reference):
    """The section, lines for the page's first table, and no rows for its picture: times have their own."""
    rows = read_csv(reference / "measured" / "vtrain_a100_single.csv")
    sheets = {name: from_sheets(scorer, row, f"gpt-{'-'.join(name)}.json") for name, row in known_rows(rows).items()}
    estimated = scorer.score("vtrain-sheets", [point(row, sheets[kind(row)], "from data sheets") for row in rows])
    rates = {name: rated(scorer, row, f"rated-{'-'.join(name)}.json") for name, row in known_rows(rows).items()}
    rest = [row for row in rows if row is not known_rows(rows)[kind(row)]]
    known = scorer.score("vtrain-rated", [point(row, rates[kind(row)], "one rate known") for row in rest])
    eight = scorer.score("vtrain-eight", [point(row, rates[kind(row)], "8 GPUs") for row in rest if row["gpus"] == "8"])
    shares = sorted(1 - found["no_communication"] / found["predicted"] for found in known["points"])
    text = TEXT.format(vocabulary=VOCABULARY, scores=score_table("layer times", [(found["groups"][0]["group"], found["all"]) for found in (estimated, known)]),
                       share=f"{100 * shares[len(shares) // 2]:.1f} %", eight=f"median {100 * eight['all']['error']['median']:.1f} %, 90 % within {100 * eight['all']['error']['p90']:.1f} %")
    return text, [("A100, one node: GPT's iterations (vTrain), from data sheets", estimated), ("the same, one rate of each micro-batch known", known)], []
