"""FULL_SHARD beside HYBRID_SHARD on up to 1,024 GPUs (Modalities), ZeRO-1 (InternEvo) and FSDP1 (YaFSDP): a section of docs/generated/validation.md.

The smallest run of a setting says how long computing takes, and is not scored. On Leonardo one row of 128 GPUs, or two, fit what the network does there, and are not scored either.
"""

import statistics
from typing import NamedTuple

from .ddl_benchmarks import beaten
from .scored import percent, read_csv, require_apart, score_table

SHAPES = {"2.7": (32, 2560, 32), "6.7": (32, 4096, 32), "13": (40, 5120, 40)}  # layers, width, heads
VOCABULARY = 50304  # assumed: GPT-2's, padded
NODE = 4
LARGE = 64  # GPUs, from which on the page asks
HALF_MEASURED = ("13", "8")  # half as fast as any other number of GPUs
DIFFER = 0.05


class Machine(NamedTuple):
    name: str
    preset: str
    device: str


MARENOSTRUM = Machine("MareNostrum 5", "h100x4-4x200gbps", "h100")
LEONARDO = Machine("Leonardo", "a100x4-4x100gbps", "a100-80gb")
FIT_ROW = ("2.7", "1", "4096", "128", "FULL_SHARD")  # the one row of 128 GPUs that is known
SECOND_FIT_ROW = ("6.7", "1", "4096", "128", "FULL_SHARD")

TEXT = """## FSDP and ZeRO-1 on up to 1,024 GPUs: Modalities, InternEvo, YaFSDP

{summary}

### FULL_SHARD and HYBRID_SHARD on MareNostrum 5 (Modalities)

GPTs of 2.7 billion parameters on 4 to 1,024 H100, four a node with a port of 200 Gbit/s each (FSDP1 in bf16; strategy `fsdp1`; HYBRID_SHARD shards within a node). The smallest run of each micro-batch and length, one or two nodes, gives the speed of computation, and is not scored. The network is the preset `{mn_preset}`: data sheets, and corrections measured on Alps, not here.

{mn_scores}

{mn_table}

- From {large} GPUs on both null models are {mn_beaten} in the median.
- Until these corrections 512 GPUs in FULL_SHARD at micro-batch 1 were predicted 92 % too fast.
- HYBRID_SHARD on 512 GPUs is predicted too slow: its all-reduces among 128 nodes, one GPU of each, are priced as trees at half of their bandwidth, which is what Alps showed for whole nodes. Nothing measured elsewhere says what they reach with one GPU a node.
- 1,024 GPUs at 8,192 tokens lose 36 % of the throughput of 512, which nothing in the model explains; the same run with 4,096 tokens in HYBRID_SHARD loses 1 %.

### The same on Leonardo

8 to 256 A100, four a node with a port of 100 Gbit/s each, 2.7 to 13 billion parameters; `{leo_preset}`. The network is a shared Dragonfly+. Lines differ in what else is known:

{leo_scores}

{constants}

- With the smallest run alone, FULL_SHARD on 64 GPUs and more is predicted up to {leo_worst} too fast: no data sheet says what a shared network leaves a job.
- {verdict}
- A gather of 157 MB among 128 GPUs takes 13 ms, one of 403 MB 16 ms: what grows with the nodes is a start-up rather than a time per byte, and one row of one model cannot tell the two apart. Two models can (the last line): their bandwidth comes out above the ports' 12.5 GB/s, that is, it is no limit.
- With the start-up both null models are {leo_beaten} in the median; with the smallest run alone {one_beaten}.
- What is left are mostly rows of HYBRID_SHARD, too slow for the reason above.

{leo_table}

### Advice between FULL_SHARD and HYBRID_SHARD

`allreplay compare` on the rows of both, from {large} GPUs on, where they differ by more than 5 %. *With half*: the predicted ratio if links between nodes have half of their bandwidth. Advice is *doubtful* if the verdict says that the order turns there.

{advice}

{advice_verdict}

### ZeRO-1 of InternEvo

7 billion parameters on 8 to 1,024 A100, eight a node with four ports of 100 Gbit/s (RoCE), 4 micro-batches of 2 x 2,048 tokens; the optimizer sharded over all GPUs or over a node (`ddp --zero 1`, buckets of 512 MiB). The smallest run gives the speed of computation. The network is `ec2-a100x8-4x100gbps`, which has the same ports.

{evo_scores}

{evo_table}

- Both null models are {evo_beaten} in the median: sharded over all {evo_all}, sharded over a node {evo_node}.
- Sharded over all, from 256 GPUs on too little is lost: each parameter's owner sends it to all others after the update, in pieces whose size falls as GPUs rise, where here one collective gathers a block.

### FSDP1 in YaFSDP's comparison

LLaMA on 64 to 256 A100, one sequence a GPU, without recomputation; nothing is known but data sheets, the network is not stated (`a100x8-8x200gbps`). This tests the estimate of computation as much as the network.

{yaf_scores}

{yaf_table}

- Both null models are {yaf_beaten} in the median. Short sequences are predicted too fast: on a network that is not stated, or because FSDP1's host launches late; the rows do not say which.
"""


def rows_of(reference, machine):
    """The rows of a machine whose model's shape is known, but for one that was measured at half speed."""
    rows = [row for row in read_csv(reference / "measured" / "modalities_fsdp.csv") if row["cluster"] == machine.name and row["parameters_b"] in SHAPES]
    return [row for row in rows if (row["parameters_b"], row["gpus"]) != HALF_MEASURED]


def setting_of(row):
    return row["parameters_b"], row["micro_batch"], row["sequence"]


def is_row(row, wanted):
    return (*setting_of(row), row["gpus"], row["sharding"]) == wanted


def split(rows):
    """By setting, the rows of its smallest run, which are known; and all others."""
    least = {}
    for row in rows:
        least[setting_of(row)] = min(least.get(setting_of(row), 1 << 30), int(row["gpus"]))
    known = {setting: [row for row in rows if setting_of(row) == setting and int(row["gpus"]) == gpus] for setting, gpus in least.items()}
    return known, [row for row in rows if int(row["gpus"]) > least[setting_of(row)]]


def trace_name(machine, setting):
    return f"modalities-{machine.device}-{'-'.join(setting)}.json"


def estimate(scorer, machine, known):
    """Traces that compute as fast as the smallest runs in FULL_SHARD say, or in HYBRID_SHARD where there is no other."""
    for setting, runs in known.items():
        full = [row for row in runs if row["sharding"] == "FULL_SHARD"] or runs
        gpus = int(full[0]["gpus"])
        rate = statistics.mean(float(row["samples_per_s"]) for row in full) / gpus
        layers, width, heads = SHAPES[setting[0]]
        scorer.run("estimate", "--family", "gpt2", "--layers", layers, "--hidden", width, "--heads", heads, "--vocab", VOCABULARY, "--seq", setting[2], "--device", machine.device, "--precision", "bf16",
                   "--batch", setting[1], "--samples-per-second", repr(rate), "--cluster", machine.preset, "--workers", gpus, "--strategy", "fsdp1", "--out", scorer.folder / trace_name(machine, setting))


def point(machine, row, calibrate=""):
    shards = NODE if row["sharding"] == "HYBRID_SHARD" and int(row["gpus"]) > NODE else ""
    return {"profile": trace_name(machine, setting_of(row)), "cluster": machine.preset, "workers": row["gpus"], "strategy": "fsdp1", "shard_group": shards, "samples_per_s": row["samples_per_s"],
            "group": f"from {LARGE} GPUs on" if int(row["gpus"]) >= LARGE else "fewer GPUs", "calibrate": calibrate}


def score(scorer, name, machine, known, scored, fits=()):
    """What `validate` says of the rows, some of which may fit constants."""
    fitting = dict(fits)
    fit_rows = [row for row in scored if any(is_row(row, wanted) for wanted in fitting)]
    rest = [row for row in scored if row not in fit_rows]
    require_apart([row for runs in known.values() for row in runs] + fit_rows, rest)
    words = lambda row: next((constants for wanted, constants in fitting.items() if is_row(row, wanted)), "")
    return scorer.score(name, [point(machine, row, words(row)) for row in scored])


def large(found):
    return next(group for group in found["groups"] if group["group"].startswith("from"))


def constants_text(fits):
    """What was fitted, and to which rows."""
    lines = []
    for label, found in fits.items():
        for one in found["constants"]:
            if one["simulated"] is None:
                value = "stays the preset's"
            elif one["constant"] == "beta":
                value = f"{1e-9 / one['simulated']:.1f} GB/s a port"
            else:
                value = f"{1e6 * one['simulated']:.0f} us"
            what = "bandwidth" if one["constant"] == "beta" else "start-up"
            lines.append(f"- {label}: the {what} between {one['for'].get('nodes', '?')} nodes, {value}{'' if one['known'] else ' (not determined by these rows alone)'}; between fewer nodes linear in log(nodes), from the preset's on two")
    return "\n".join(lines)


def points_table(rows, columns):
    """Signed errors: rows are (label, GPUs, {column: error})."""
    lines = ["| setting | GPUs | " + " | ".join(columns) + " |", "|---|--:|" + "--:|" * len(columns)]
    lines += [f"| {label} | {gpus} | " + " | ".join(f"{100 * errors[column]:+.1f} %" if column in errors else "–" for column in columns) + " |" for label, gpus, errors in rows]
    return "\n".join(lines)


def by_setting(scored, found, column_of):
    """Rows of a table of signed errors, from LARGE GPUs on; fitting rows are left out."""
    table = {}
    for row, one in zip(scored, found["points"]):
        if one["scored"] and int(row["gpus"]) >= LARGE:
            table.setdefault((setting_of(row), int(row["gpus"])), {})[column_of(row)] = one["error"]
    label = lambda setting: f"{setting[0]}B, batch {setting[1]} x {setting[2]}"
    return [(label(setting), gpus, errors) for (setting, gpus), errors in sorted(table.items(), key=lambda item: (float(item[0][0][0]), item[0][0][1:], item[0][1]))]


def advice(scorer, machine, known, scored):
    """Lines of the table, and how each turned out, for settings whose measured times differ by more than DIFFER."""
    measured = {}
    for row in scored:
        if int(row["gpus"]) >= LARGE:
            measured.setdefault((setting_of(row), int(row["gpus"])), {}).setdefault(row["sharding"], []).append(float(row["samples_per_s"]))
    lines, outcomes = [], []
    for (setting, gpus), found in measured.items():
        if len(found) < 2:
            continue
        ratio = statistics.mean(found["HYBRID_SHARD"]) / statistics.mean(found["FULL_SHARD"])
        if abs(ratio - 1) <= DIFFER:
            continue
        words = ("compare", "--profile", scorer.folder / trace_name(machine, setting), "--cluster", machine.preset, "--workers", gpus, "--strategy", "fsdp1", "--shard-group", f"0,{NODE}")
        full, hybrid = scorer.json(*words)
        predicted = full["iteration_s"] / hybrid["iteration_s"]
        half = full["doubted_iteration_s"] / hybrid["doubted_iteration_s"] if full["doubted_iteration_s"] and hybrid["doubted_iteration_s"] else None
        text = " ".join(scorer.run(*words).split())
        verdict = text[text.index("Run "):]
        doubtful = "If collectives among" in verdict
        run = verdict.split(":", 1)[0]
        hybrid_wins = f"shard group {NODE}" in run
        outcome = "right" if hybrid_wins == (ratio > 1) else "doubtful" if doubtful else "wrong"
        outcomes.append(outcome)
        lines.append(f"| {machine.name} | {setting[0]}B, batch {setting[1]} | {gpus} | {ratio:.2f} | {predicted:.2f} | {'–' if half is None else f'{half:.2f}'} | {outcome} |")
    return lines, outcomes


def advice_table(lines):
    return "\n".join(["| machine | setting | GPUs | HYBRID_SHARD over FULL_SHARD, measured | predicted | with half | advice |", "|---|---|--:|--:|--:|--:|---|", *lines])


def internevo(scorer, reference):
    rows = read_csv(reference / "measured" / "internevo_zero1.csv")
    setting = ("--strategy", "ddp", "--accumulate", 4, "--zero", 1, "--bucket-cap", "512MiB")
    points, table = [], {}
    for group in ("-1", "8"):
        smallest, *larger = sorted((row for row in rows if row["zero1_group"] == group), key=lambda row: int(row["gpus"]))
        require_apart([smallest], larger)
        trace = f"internevo-{group}.json"
        scorer.run("estimate", "--family", "llama", "--layers", 32, "--hidden", 4096, "--heads", 32, "--ffn", 11008, "--vocab", 103168, "--seq", smallest["sequence"], "--batch", smallest["micro_batch"], "--device", "a100-80gb",
                   "--precision", "bf16", "--tokens-per-second", smallest["tokens_per_s_per_gpu"], "--cluster", "ec2-a100x8-4x100gbps", "--workers", smallest["gpus"], *setting, "--out", scorer.folder / trace)
        for row in larger:
            rate = float(row["tokens_per_s_per_gpu"]) * int(row["gpus"]) / int(row["sequence"])
            points.append({"profile": trace, "cluster": "ec2-a100x8-4x100gbps", "workers": row["gpus"], "strategy": "ddp", "accumulate": 4, "zero": 1, "bucket_cap": "512MiB", "shard_group": "8" if group == "8" else "",
                           "samples_per_s": repr(rate), "group": "sharded over all" if group == "-1" else "sharded over a node"})
    found = scorer.score("internevo", points)
    for row, one in zip(points, found["points"]):
        table.setdefault(int(row["workers"]), {})[row["group"]] = one["error"]
    return found, points_table([("7B", gpus, errors) for gpus, errors in sorted(table.items())], ["sharded over all", "sharded over a node"])


def yafsdp(scorer, reference):
    models = {"Llama 2 7B": ("--model", "llama2-7b"), "Llama 2 13B": ("--model", "llama2-13b"), "Llama 3 8B": ("--model", "llama3-8b"),
              "Llama 2 34B": ("--family", "llama", "--layers", 48, "--hidden", 8192, "--heads", 64, "--kv-heads", 8, "--ffn", 22016, "--vocab", 32000)}
    points, labels = [], []
    for number, row in enumerate(read_csv(reference / "measured" / "yafsdp_a100.csv")):
        if row["recomputed_layers"] != "0":
            continue
        trace = f"yafsdp-{number}.json"
        scorer.run("estimate", *models[row["model"]], "--seq", row["sequence"], "--batch", 1, "--device", "a100-80gb", "--precision", "bf16", "--out", scorer.folder / trace)
        points.append({"profile": trace, "cluster": "a100x8-8x200gbps", "workers": row["gpus"], "strategy": "fsdp1", "iteration_s": row["fsdp1_iteration_s"], "group": "FSDP1"})
        labels.append((f"{row['model']}, {row['sequence']} tokens", row["gpus"]))
    found = scorer.score("yafsdp", points)
    return found, points_table([(*label, {"error": one["error"]}) for label, one in zip(labels, found["points"])], ["error"])


def section(scorer, reference):
    mn_known, mn_scored = split(rows_of(reference, MARENOSTRUM))
    leo_known, leo_scored = split(rows_of(reference, LEONARDO))
    estimate(scorer, MARENOSTRUM, mn_known)
    estimate(scorer, LEONARDO, leo_known)
    mn = score(scorer, "marenostrum", MARENOSTRUM, mn_known, mn_scored)
    one_node = score(scorer, "leonardo", LEONARDO, leo_known, leo_scored)
    fits = {"its bandwidth, from one row of 128 GPUs": score(scorer, "leonardo-beta", LEONARDO, leo_known, leo_scored, {FIT_ROW: "beta by nodes"}.items()),
            "its start-up, from the same row": score(scorer, "leonardo-alpha", LEONARDO, leo_known, leo_scored, {FIT_ROW: "alpha by nodes"}.items()),
            "both, from two rows of 128 GPUs": score(scorer, "leonardo-both", LEONARDO, leo_known, leo_scored, {FIT_ROW: "alpha by nodes; beta by nodes", SECOND_FIT_ROW: "alpha by nodes; beta by nodes"}.items())}
    column = lambda row: row["sharding"]
    mn_lines, mn_outcomes = advice(scorer, MARENOSTRUM, mn_known, mn_scored)
    leo_lines, leo_outcomes = advice(scorer, LEONARDO, leo_known, leo_scored)
    outcomes = mn_outcomes + leo_outcomes
    evo, evo_table = internevo(scorer, reference)
    yaf, yaf_table = yafsdp(scorer, reference)
    labelled = {"nothing: the smallest run alone": one_node, **fits}
    asked = lambda found, median, p90: "met" if large(found)["error"]["median"] <= median and large(found)["error"]["p90"] <= p90 else "missed"
    pair = lambda found: f"{percent(large(found)['error']['median'])} and {percent(large(found)['error']['p90'])}"
    beta, alpha, both = fits.values()
    verdict = (f"10 % in the median and 25 % at the 90th percentile were aimed at with one row of 128 GPUs known: {pair(beta)} with a bandwidth ({asked(beta, 0.1, 0.25)}), {pair(alpha)} with a start-up ({asked(alpha, 0.1, 0.25)})."
               f" With two rows: {pair(both)}.")
    summary = (f"From {LARGE} GPUs on, MareNostrum 5 is predicted to {pair(mn)} (median and 90th percentile; aimed at: 8 and 20 %, {asked(mn, 0.08, 0.2)}), Leonardo to {pair(one_node)} with the smallest run alone and to {pair(alpha)} with one row of"
               f" 128 GPUs.")
    counts = {word: outcomes.count(word) for word in ("right", "doubtful", "wrong")}
    text = TEXT.format(summary=summary, mn_preset=MARENOSTRUM.preset, leo_preset=LEONARDO.preset, large=LARGE,
                       mn_scores=score_table("MareNostrum 5", [(group["group"], group) for group in [*mn["groups"], mn["all"]]]), mn_table=points_table(by_setting(mn_scored, mn, column), ["FULL_SHARD", "HYBRID_SHARD"]),
                       leo_scores=score_table(f"Leonardo, from {LARGE} GPUs on: known besides", [(label, large(found)) for label, found in labelled.items()]), constants=constants_text(fits),
                       leo_worst=percent(one_node["all"]["error"]["worst"]), verdict=verdict, leo_table=points_table(by_setting(leo_scored, alpha, column), ["FULL_SHARD", "HYBRID_SHARD"]),
                       advice=advice_table(mn_lines + leo_lines), advice_verdict=f"Of {len(outcomes)} settings the advice is right in {counts['right']}, doubtful and said to be in {counts['doubtful']}, wrong in {counts['wrong']}.",
                       evo_scores=score_table("InternEvo", [(group["group"], group) for group in [*evo["groups"], evo["all"]]]), evo_table=evo_table,
                       mn_beaten=beaten(large(mn)), leo_beaten=beaten(large(alpha)), one_beaten=beaten(large(one_node)), evo_beaten=beaten(evo["all"]), evo_all=beaten(evo["groups"][0]), evo_node=beaten(evo["groups"][1]),
                       yaf_beaten=beaten(yaf["all"]), yaf_scores=score_table("YaFSDP's rows", [("FSDP1", yaf["all"])]), yaf_table=yaf_table)
    scores = [("FSDP on MareNostrum 5, H100: one node known", mn), ("FSDP on Leonardo, A100: the smallest run known", one_node), ("the same, a start-up from one row of 128 GPUs", alpha), ("ZeRO-1 of InternEvo, A100", evo), ("FSDP1 in YaFSDP's comparison, from data sheets", yaf)]
    return text, scores, []
