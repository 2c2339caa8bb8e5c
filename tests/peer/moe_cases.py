"""Random cases of mixtures of experts in pipelines: those of pipelines, with layers of experts and token exchange."""

import random

import pipelines
import test_sharded
from pipeline_cases import drawn
from pipeline_programs import written
from pipeline_scenario import WITH_EXPERTS, Scenario, read_command
from pipeline_schedules import Refused

DROPPED = ["zero", "barrier"]  # of the options: only these strategies' own


def random_moe_case(pick, strategy, overlap):
    """Draws until the peer accepts the case, experts have groups of their own, and, with `overlap`, there is a pair."""
    while True:
        case = drawn(pick, strategy)
        case = with_exchange(pick, case) if overlap else case
        case = with_experts(random.Random(case.describe()), case)
        try:
            scenario = Scenario(case.trace, case.cluster, case.words, case.files)
            pipelines.Replay(written(scenario, 1)).run()
        except Refused:
            continue
        if scenario.apart and on_one_level(scenario) and (not overlap or any(scenario.pairs)):
            return case


def with_experts(pick, case):
    """Makes some layers those of experts."""
    for row, layer in zip(case.trace["layers"], case.trace["model"]["layers"]):
        if layer["tensors"] and pick.random() < 0.5:
            row["expert"] = True
    if "parallel" in case.trace:  # "ep" is 1 unless it is stated
        given = {key: str(value) for key, value in case.cluster.get("parallel", {}).items()} | read_command(case.words)
        case.trace["parallel"]["ep"] = int(given.get("ep", 1))
    return without(case, lambda key, value: key in DROPPED and value != "0")


def with_exchange(pick, case):
    """Gives the case a schedule with pairs, and layers that exchange tokens."""
    case = without(case, lambda key, _: key in ("schedule", "ep_overlap", "p2p"))
    case.files = {}
    case.cluster.get("parallel", {}).pop("schedule", None)
    case.words += ["--schedule", pick.choice(["interleaved", "interleaved", "dualpipe-v"]), "-o", "ep_overlap=true"]
    for row in case.trace["layers"]:
        for which in ("forward", "backward"):
            row[which] = row[which] or 1.0  # passes that take no time tie, and docs/moe.md does not decide these ties
            if pick.random() < 0.4:
                row.setdefault("collectives", []).extend(
                    {"op": "all-to-all", "group": "ep", "pass": which, "bytes": pick.choice([0, 480, 960, 960, 2400])}
                    for _ in range(pick.choice([1, 1, 2])))
    return case


def without(case, is_dropped):
    """Drops flags and options from a case's words."""
    words, kept = iter(case.words), []
    for word in words:
        if word == "--json":
            kept.append(word)
            continue
        value = next(words)
        key, given = value.split("=", 1) if word == "-o" else (word.lstrip("-"), value)
        if not is_dropped(key, given):
            kept += [word, value]
    case.words = kept
    return case


def on_one_level(scenario):
    """True if gradients of experts use the same level of the network as all others: only these share bandwidth."""
    node = scenario.node_size()
    return not node or len({len({worker // node for worker in group}) > 1 for kind in ("data", "experts")
                            for group in scenario.groups(kind, 0) if len(group) > 1}) <= 1


STRATEGIES = WITH_EXPERTS


def random_flat_moe_case(pick, strategy):
    """A case without pipeline, of several workers."""
    while True:
        case = test_sharded.random_case(pick, strategy)
        if case.cluster["workers"] == 1:
            continue
        case = without(case, lambda key, value: key == "shard-group" or key in DROPPED and value != "0")
        case.words += ["--ep", str(pick.choice(test_sharded.divisors(case.cluster["workers"])[1:]))]
        for row, layer in zip(case.trace["layers"], case.trace["model"]["layers"]):
            if layer["tensors"] and pick.random() < 0.5:
                row["expert"] = True
        if any(row.get("expert") for row in case.trace["layers"]):
            return case
