"""MPT on A100 and H100 without any known speed: at the efficiency that other models reach on the device."""

import json

import estimation_errors

from .scaling_loss import llm_foundry_words
from .scored import percent, read_csv, require_apart, score_table

FILES = {"llm_foundry_a100_40gb.csv": ("a100-40gb", "a100x8-8x200gbps"), "llm_foundry_h100.csv": ("h100", "h100x8-8x400gbps")}
CARDS = {"a100-40gb": "A100, 40 GB", "h100": "H100"}

TEXT = """## MPT on A100 and H100: nothing known

All rows of llm-foundry's tables: MPT of 125 million to 70 billion parameters on 8 to 512 GPUs, with Composer's FSDP on the presets for A100 and H100, sequences of 512 to 65,536 tokens. No speed of the model is known: its layers are estimated at the
efficiency of the device, fitted to the trainings *of other models* on one node of it ([how](../estimation.md#error-with-each-figure-left-out)). So each model is predicted from:

{fits}

The rows of one node of these other models are fitted, all rows of the model itself are scored. Beside them two more null models: the usual efficiency, which the program takes where a device has none of its own, and the device's file, fitted to rows of the same model, too, which is no prediction but shows what leaving out costs.

{scores}

By model, median and 90 % of the prediction:

{models}

{findings}
"""


def without(figures, device, model):
    """The efficiency of the other models, and the figures that it is fitted to."""
    others = [one for one in estimation_errors.own_figures(figures, device) if one.model != model]
    return estimation_errors.fitted(others), others


def profile(scorer, row, device, efficiency, name):
    """The profile of a row's micro-batch at this efficiency; its file, for rows."""
    words, _ = llm_foundry_words(row, device)
    words = [value for place, value in enumerate(words) if value not in ("--device", device) or place == 0]
    at = words.index("--precision")
    words[at + 1] = "fp8" if "fp8" in row["precision"] else "bf16"
    trace = estimation_errors.estimate(scorer.folder, device, *words, efficiency=efficiency)
    trace["device"] = device
    (scorer.folder / name).write_text(json.dumps(trace), encoding="utf-8")
    return name


def points(scorer, rows, device, cluster, efficiency_of, title):
    """A point for each row, in groups by model and precision."""
    for number, row in enumerate(rows):
        precision = " in FP8" if "fp8" in row["precision"] else ""
        trace = profile(scorer, row, device, efficiency_of(row["model"]), f"{title}-{device}-{number}.json")
        yield {"profile": trace, "cluster": cluster, "workers": row["gpus"], "strategy": "composer", "reshard": "all" if row["sharding"] == "FULL_SHARD" else "none",
               "accumulate": row["accumulation"], "iteration_s": repr(int(row["global_batch_tokens"]) / float(row["tokens_per_s"])), "group": row["model"] + precision}


def keys(rows, file):
    """What names a row: its table and model."""
    return {(file, row["model"]) for row in rows}


def scores_of(scorer, reference, figures, file, device, cluster):
    """{how: what validate says} of a table's rows, and the fits."""
    rows = read_csv(reference / "measured" / file)
    fits, found = {}, {}
    for model in dict.fromkeys(row["model"] for row in rows):
        fits[model], others = without(figures, device, model)
        require_apart({(one.file, one.model) for one in others}, keys([row for row in rows if row["model"] == model], file))
    usual = estimation_errors.same(estimation_errors.USUAL)
    whole = estimation_errors.fitted(estimation_errors.own_figures(figures, device))
    for title, efficiency_of in (("other models", fits.get), ("usual efficiency", lambda _: usual), ("the device's file", lambda _: whole)):
        found[title] = scorer.score(f"{title.replace(' ', '-')}-{device}", list(points(scorer, rows, device, cluster, efficiency_of, title.replace(" ", "-").replace("'", ""))))
    return found, fits


def fit_lines(fits):
    for device, by_model in fits.items():
        parts = ", ".join(f"{model} {fit.products:.2f} and {fit.attention:.2f}" for model, fit in by_model.items())
        yield f"- {CARDS[device]}, of products and of attention: {parts}."


def model_table(found):
    yield "| | model | points | median | 90 % |\n|---|---|--:|--:|--:|"
    for device, scores in found.items():
        for group in scores["other models"]["groups"]:
            yield f"| {CARDS[device]} | {group['group']} | {group['points']} | {percent(group['error']['median'])} | {percent(group['error']['p90'])} |"


def findings(found):
    """What is reached of what was asked, and why not all of it."""
    asked = {"a100-40gb": (0.08, 0.15), "h100": (0.06, 0.16)}
    for device, scores in found.items():
        error, usual = (scores[how]["all"]["error"] for how in ("other models", "usual efficiency"))
        none = scores["other models"]["all"]["no_communication"]
        reached = [f"{percent(error[key])} of {percent(most)}{'' if error[key] <= most else ', missed'}" for key, most in zip(("median", "p90"), asked[device])]
        yield (f"- {CARDS[device]}: asked for were {percent(asked[device][0])} in the median and {percent(asked[device][1])} at the 90th percentile; reached are {reached[0]}, and {reached[1]}. The usual efficiency is off by "
               f"{percent(usual['median'])} and {percent(usual['p90'])}, the null model without communication by {percent(none['median'])} and {percent(none['p90'])}: {'better than it' if error['median'] < none['median'] else '**it is better** in the median'}.")
    yield ("- What is off is mostly too slow: an efficiency is fitted as if trainings of one node hid all communication and waited for nobody, and the presets add the spread of GPUs and the slow-down by communication to it, once more. Without both, computing alone is off by "
           "4.2 % (A100) and 4.3 % (H100) in the median, 8.4 and 14.4 % at the 90th percentile ([each model left out](estimation_errors.md#devices)).")


def section(scorer, reference):
    estimation_errors.PROGRAM = scorer.program
    figures = [figure for source in (estimation_errors.llm_foundry, estimation_errors.llm_foundry_a100) for figure in source(reference, scorer.folder)]
    found, fits = {}, {}
    for file, (device, cluster) in FILES.items():
        found[device], fits[device] = scores_of(scorer, reference, figures, file, device, cluster)
    table = score_table("layer times", [(f"{CARDS[device]}: {how}", one["all"]) for device, scores in found.items() for how, one in scores.items()])
    text = TEXT.format(fits="\n".join(fit_lines(fits)), scores=table, models="\n".join(model_table(found)), findings="\n".join(findings(found)))
    return text, [(f"MPT on {CARDS[device]}, nothing known", scores["other models"]) for device, scores in found.items()], []

