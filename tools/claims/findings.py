"""Findings of our own: what the sweeps configs/finding_*.json say beyond the papers."""
import json

from claims.claim import percent, times
from claims.recent import experts, hybrids, muon, two_sites
from claims.sweeps import ROOT
from claims.texts import ABOVE, labels, name_of, table


def longest_gap(profile):
    """Seconds: the longest that a gradient lets the next one wait, in a backward pass."""
    trace = json.loads((ROOT / "traces" / f"{profile}.json").read_text())
    model = json.loads((ROOT / "models" / f"{trace['model']}.json").read_text())
    gaps, since = [], 0
    for layer, about in zip(reversed(trace["layers"]), reversed(model["layers"])):
        since += layer["backward"]
        if about["tensors"]:
            gaps.append(since)
            since = 0
    return max(gaps[1:]) * 1e-6


def algorithm1(sweeps):
    """Algorithm 1 of MG-WFBP against the exact optimum."""
    config = "finding_algorithm1"
    losses = {}
    for row in sweeps.rows(config, strategy="mg-wfbp"):
        best = sweeps.row(config, **{key: row[key] for key in ("profile", "cluster", "collective", "workers")}, strategy="optimal-merge")
        losses.setdefault((row["profile"], row["cluster"], row["collective"]), {})[row["workers"]] = row["iteration_s"] / best["iteration_s"]
    rows = []
    for (profile, cluster, collective), loss in losses.items():
        if collective == "ring":
            worst = max(loss, key=loss.get)
            first = next((str(workers) for workers, ratio in loss.items() if ratio > ABOVE), "–")
            rows.append([f"{name_of(sweeps, config, profile)}, constants of {cluster}", first, f"{percent(loss[worst] - 1, 0)} at {worst}", percent(loss[2048] - 1, 0)])
    single = {profile: min(row["workers"] for row in sweeps.rows(config, profile=profile, cluster="k80-10gbe", collective="ring", strategy="mg-wfbp") if row["collectives"] == 1)
              for profile in sweeps.config(config)["profiles"]}
    cascade = ", ".join(f"{name_of(sweeps, config, profile)} from {workers} workers ({972 * (workers - 1) / 15 / 1000:.1f} ms; its longest layer takes {1e3 * longest_gap(profile):.1f} ms)"
                        for profile, workers in single.items())
    trees = max(ratio for (_, _, collective), loss in losses.items() if collective != "ring" for ratio in loss.values())
    return f"""MG-WFBP proves its Algorithm 1 optimal (Theorem 1); it is not ([models](../models.md)). How much that costs, on 4 to 2048 workers:

{table(["network", "loses 1 % from", "loses most", "at 2048 workers"], rows)}

- Algorithm 1 merges a layer whenever the next gradient is ready within one start-up. Once the start-up exceeds the backward time of every single layer, each merge looks good by itself, and all layers
  become one all-reduce that overlaps with nothing: {cascade}. The optimum sends early all the same. Where start-ups outweigh everything else, one all-reduce is nearly right and the loss shrinks again.
- With start-ups that grow with log N (double binary trees, b = 2 beta + gamma) it loses {percent(trees - 1)} at most: on such collectives Algorithm 1 is good enough.
- The exact optimum is a dynamic programme of a page (`sim/plans/schedule/merging.cpp`), with no more input than Algorithm 1 has. There is no reason to use the other."""


def lower_bound(sweeps):
    """How far each strategy is from the lower bound."""
    config = "finding_lower_bound"
    networks = sweeps.config(config)["profiles"]
    ratios = {}
    for row in sweeps.rows(config):
        ratios[row["strategy"], row["profile"], row["workers"]] = row["iteration_s"] / row["lower_bound_s"]
    rows = [[f"`{strategy}`"] + [f"{ratios[strategy, network, 8]:.2f} / {ratios[strategy, network, 128]:.2f}" for network in networks]
            for strategy in sweeps.config(config)["strategies"]]
    best = max(ratio for (strategy, _, _), ratio in ratios.items() if strategy == "best")
    merged = max(ratio for (strategy, _, _), ratio in ratios.items() if strategy == "optimal-merge")
    ddp = max(ratio for (strategy, _, workers), ratio in ratios.items() if strategy == "ddp" and workers <= 128)
    tensors = min(ratio for (strategy, _, workers), ratio in ratios.items() if strategy in ("wfbp", "us-byte") and workers == 512)
    return f"""Iteration over the lower bound of all lossless schedules on the same collective ([models](../models.md)), 10 Gbit/s, ring; on 8 / 128 workers, options as they come:

{table(["strategy", *(name_of(sweeps, config, network) for network in networks)], rows)}

- The bound is nearly tight: what `best` finds is within {percent(best - 1)} of it everywhere up to 512 workers.
- All that sends a start-up per tensor ends up far away, whatever its order: `wfbp` and `us-byte` take at least {times(tensors)} the bound on 512 workers. Order matters while bytes are the limit, the
  number of messages as soon as start-ups are.
- The exact merge is within {percent(merged - 1, 0)}, PyTorch's untouched `ddp` within {percent(ddp - 1, 0)} up to 128 workers. What both leave is the next forward pass, which they do not overlap."""


def pays(ratios):
    """Where compression pays, of {x: ratio of iterations}: the range of x below one by a per cent."""
    good = [x for x, ratio in ratios.items() if ratio < 1 / ABOVE]
    if not good:
        return "nowhere"
    everywhere = len(good) == len(ratios)
    return ("everywhere" if everywhere else str(good[0]) if len(good) == 1 else f"{good[0]} to {good[-1]}") + f" (best {times(1 / min(ratios.values()))})"


def over_dense(sweeps, config, column, place=lambda value: value):
    """{(profile, cluster or workers left over, codec): {x: iteration over the uncompressed one's}}"""
    found = {}
    other = "workers" if column == "cluster" else "cluster"
    for row in sweeps.rows(config):
        if row["codec"]:
            dense = sweeps.row(config, profile=row["profile"], cluster=row["cluster"], workers=row["workers"], codec="")
            found.setdefault((row["profile"], row[other], row["codec"]), {})[place(row[column])] = row["iteration_s"] / dense["iteration_s"]
    return found


def compression_table(sweeps, config, found, several=False):
    codecs = list(dict.fromkeys(codec for _, _, codec in found))
    rows = []
    for profile, other in dict.fromkeys(key[:2] for key in found):
        title = name_of(sweeps, config, profile) + (f", {name_of(sweeps, config, other)}" if several else "")
        rows.append([title] + [pays(found[profile, other, codec]) for codec in codecs])
    return table(["network", *(name_of(sweeps, config, codec) for codec in codecs)], rows)


def compression(sweeps):
    """Where compression pays."""
    speed, size, gigabit = "finding_compression_bandwidth", "finding_compression_workers", "finding_compression_1gbe"
    by_speed = over_dense(sweeps, speed, "cluster", lambda cluster: int(labels(sweeps, speed)[cluster]))
    by_size, by_gigabit = over_dense(sweeps, size, "workers"), over_dense(sweeps, gigabit, "workers")
    worst = {codec: [ratio for found in (by_speed, by_size) for (_, _, name), ratios in found.items() if name == codec for ratio in ratios.values()] for codec in ("fp16", "topk")}
    return f"""Compressed against uncompressed gradients, both in the best groups that MergeComp's exact search finds (at most 4), so that neither side pays for needless start-ups. The codecs' times
on V100 and P102-100 are estimates ([compression](../compression.md)); what compression does to convergence is not counted. In brackets: the largest gain.

8 V100, Gbit/s at which the codec is ahead by a per cent or more (links of 10 to 100 Gbit/s):

{compression_table(sweeps, speed, by_speed)}

Workers (2 to 128 V100) at which it is:

{compression_table(sweeps, size, by_size, several=True)}

Workers (2 to 64 P102-100, 1 Gbit/s, density 0.001) at which it is:

{compression_table(sweeps, gigabit, by_gigabit)}

- Once communication is merged and overlapped, compression has only the exposed rest to win, and pays its own time in full. It pays where bytes are exposed: most networks on 10 Gbit/s, only
  BERT's 438 MB beyond 40, AlexNet and VGG-16 on 1 Gbit/s; not for ResNet-50 with its 16 accumulated batches there. ResNet-20's 1.1 MB gain by fewer start-ups: log N or 2 log N of them instead of the ring's 2(N-1).
- Halving the bytes (`fp16`) costs {percent(max(worst["fp16"]) - 1, 0)} at worst in these rows; a thousandth of them, {percent(max(worst["topk"]) - 1, 0)} with Top-k, because selecting takes longer than sending would.
- What is gathered (`dgc`, `ef-signsgd`, `topk`) grows with the number of workers and falls behind on large clusters; what is reduced (`fp16`, gTop-k's tree) does not."""


def bml(sweeps):
    """BML against ring and halving/doubling on equal cost."""
    config = "finding_bml_equal_cost"
    sizes = (16, 64, 256, 1024)

    def time(profile, collective, workers, tree=False):
        return next(row["comm_busy_s"] for row in sweeps.rows(config, profile=profile, collective=collective, workers=workers)
                    if row["cluster"].startswith("fat-tree" if tree else "bcube"))
    rows = []
    for profile in ("1MB", "100MB"):
        for title, collective, tree in (("BML, BCube(n,2)", "bml", False), ("ring, same BCube", "ring", False), ("halving/doubling, same BCube", "halving-doubling", False),
                                        ("ring, two Fat-Trees", "ring", True), ("halving/doubling, two Fat-Trees", "halving-doubling", True)):
            rows.append([f"{name_of(sweeps, config, profile)}: {title}"] + [f"{1e3 * time(profile, collective, workers, tree):.2f} ms" for workers in sizes])
    cables = time("100MB", "halving-doubling", 1024) / time("100MB", "bml", 1024)
    planes = time("100MB", "halving-doubling", 1024, True) / time("100MB", "bml", 1024)
    small = time("1MB", "halving-doubling", 1024, True) / time("1MB", "bml", 1024)
    switches = {cluster: sweeps.json("topology", "--cluster", cluster, "--json") for cluster in ("bcube-32-2-10gbe", "fat-tree-32-20gbe")}
    bcube, fat_tree = (facts["switches"] / facts["hosts"] for facts in switches.values())
    return f"""The paper compares BML on BCube with a parameter server on one port per server. Here everybody has two ports of 10 Gbit/s per server and 40 us of start-up: other all-reduces on the very same BCube, and on
two Fat-Trees beside each other (drawn as one of 20 Gbit/s links).

{table(["one synchronisation", *(f"{workers} servers" for workers in sizes)], rows)}

- On the same cables BML is {times(cables)} as fast as halving/doubling with 100 MB: it alone keeps both ports busy. That is an advantage of the algorithm over algorithms that know one port, not of the topology.
- Against two Fat-Trees, as many ports and the best known algorithm, its lead in bytes is gone ({times(planes)} with 100 MB on 1024 servers). It stays ahead where start-ups count
  ({times(small)} with 1 MB): 2k rounds whatever N, against 2 log N.
- What remains is the price: {bcube:.4f} switches of 32 ports per server, the two Fat-Trees {2 * fat_tree:.4f}."""


def stragglers(sweeps):
    """What stragglers do to each strategy."""
    config, jitter = "finding_stragglers", "finding_jitter"
    networks = sweeps.config(config)["profiles"]
    strategies = sweeps.config(config)["strategies"]

    def time(sweep, network, strategy, cluster):
        return sweeps.row(sweep, profile=network, strategy=strategy, cluster=cluster)["iteration_s"]

    def cell(network, strategy):
        alone = time(config, network, strategy, "slow-1")
        slow = [time(config, network, strategy, cluster) / alone for cluster in ("slow-1.25", "slow-2")]
        shaken = time(jitter, network, strategy, "jitter-0.2") / time(jitter, network, strategy, "slow-1")
        return f"{slow[0]:.2f} / {slow[1]:.2f} / {shaken:.3f}"
    rows = [[f"`{strategy}`"] + [cell(network, strategy) for network in networks] for strategy in strategies]

    def spread(cluster):
        return max(max(times_) / min(times_) for times_ in ([time(config, network, strategy, cluster) for strategy in strategies] for network in networks))
    return f"""16 workers, one of them 1.25 / 2 times as slow / jitter of 20 % on every task of all; iteration over the same strategy's without:

{table(["strategy", *(name_of(sweeps, config, network) for network in networks)], rows)}

- The better a strategy hides its communication, the more of a straggler's slowdown it shows: where nothing is exposed, an iteration takes as long as the slowest worker computes. Exposed communication hides part of it (WFBP
  on 161 tensors, bound by start-ups: a quarter more computation costs it a few percent).
- No worker can finish before the straggler has computed, so a straggler evens out the strategies: the slowest takes {times(spread("slow-1"))} the time of the fastest without one,
  {times(spread("slow-2"))} with one of factor 2. Scheduling gains little where a worker is slow.
- Independent jitter of single tasks averages out over the layers of an iteration; it costs a few percent even at 20 %. What hurts is a worker that is slow all the time."""


def sharded_optimum(sweeps):
    """What the optimum gains over reduce-scatters."""
    config = "finding_sharded_optimum"
    networks = sweeps.config(config)["profiles"]
    shown, sizes = ("mg-wfbp", "ddp", "best"), sweeps.config(config)["workers"]

    def time(strategy, network, workers, zero):
        return sweeps.row(config, strategy=strategy, profile=network, workers=workers, zero=zero)["iteration_s"]

    def ratios(above, below):  # over all networks and sizes; each names (strategy, zero)
        return [time(above[0], network, workers, above[1]) / time(below[0], network, workers, below[1]) for network in networks for workers in sizes]
    rows = [[name_of(sweeps, config, network), str(workers)] + [f"{1e3 * time(strategy, network, workers, zero):.1f}" for strategy in shown for zero in (None, "1")]
            for network in networks for workers in sizes[::2]]
    costs = {strategy: ratios((strategy, "1"), (strategy, None)) for strategy in shown}
    gains = {strategy: ratios((strategy, "1"), ("best", "1")) for strategy in ("wfbp", "mg-wfbp", "us-byte", "ddp")}
    return f"""Under ZeRO-1 a gradient is reduce-scattered, and its parameter gathered after the update ([sharding](../sharding.md)). No paper plans merges for that; here they come from the same planners, with the price of
a reduce-scatter. Ring, 10 Gbit/s; milliseconds per iteration with all-reduces / with `--zero 1`:

{table(["profile", "workers", *(f"`{strategy}`{how}" for strategy in shown for how in ("", ", ZeRO-1"))], rows)}

- Sharding the optimizer costs the usual schedules much of what they had hidden, as their gathers all stand between the update and the next forward pass: up to {percent(max(costs["mg-wfbp"]) - 1, 0)} of
  MG-WFBP's iteration and {percent(max(costs["ddp"]) - 1, 0)} of DDP's. The optimum pays {percent(max(costs["best"]) - 1, 0)} at most: each layer waits for its own gathers only (`barrier=layer`), in the order of need.
- So under ZeRO-1 the others take {times(min(gains["mg-wfbp"]))} to {times(max(gains["mg-wfbp"]))} the optimum's time (MG-WFBP's merges), {times(min(gains["ddp"]))} to {times(max(gains["ddp"]))} (DDP's buckets),
  {times(min(gains["us-byte"]))} to {times(max(gains["us-byte"]))} (US-Byte's) and {times(min(gains["wfbp"]))} to {times(max(gains["wfbp"]))} (a message per tensor).
- Where everything is merged into one block, as Algorithm 1 does at many workers, nothing is left to overlap, and both take the same time."""


def sharded_frameworks(sweeps):
    """How far the frameworks' sharded schedules are from the optimum of stage 3."""
    config = "finding_sharded_frameworks"
    described = sweeps.config(config)
    places = [(network, cluster, workers) for network in described["profiles"] for cluster in described["clusters"] for workers in described["workers"]]
    strategies = [entry if isinstance(entry, str) else entry["name"] for entry in described["strategies"]]
    row = {(place, strategy): sweeps.row(config, profile=place[0], cluster=place[1], workers=place[2], strategy=strategy) for place in places for strategy in strategies}

    def over_best(place, strategy):
        return row[place, strategy]["iteration_s"] / row[place, "best"]["iteration_s"]

    def over_bound(place, strategy):
        return row[place, strategy]["iteration_s"] / row[place, strategy]["lower_bound_s"]

    def worst(strategy):
        return max(over_best(place, strategy) for place in places)

    def on_eight_ports(counts):
        return max(over_best(place, strategy) for place in places for strategy in ("fsdp2", "fsdp1", "zero-3", "megatron") if place[1] == "h100x8-8x400gbps" and counts(place[2]))
    rows = [[f"{name_of(sweeps, config, place[0])}, `{place[1]}`", str(place[2])] + [f"{over_best(place, strategy):.3f} / {over_bound(place, strategy):.3f}" for strategy in strategies]
            for place in places]
    large = sorted({(name_of(sweeps, config, place[0]), strategy) for (place, strategy), one in row.items() if float(one["memory_bytes"]) > 80e9})
    ahead = [(over_best(place, strategy), strategy) for place in places for strategy in strategies if over_best(place, strategy) < 1 / ABOVE]
    return f"""H100s: a GPT in fp32 as [measured](gpu_profiles.md), the others in bf16 as [estimated](../estimation.md); settings as shipped. An H100 has 80 GB, which {" and ".join(f"{network} with `{strategy}`" for network, strategy in large)} exceed. The iteration over that of `best --zero 3` / over the plan's own lower bound
([sharding](../sharding.md#lower-bound)):

{table(["case", "workers", *(f"`{strategy}`" for strategy in strategies)], rows)}

- On eight ports of 400 Gbit/s FSDP's, DeepSpeed's stage 3 and Megatron's schedules are within {percent(on_eight_ports(lambda workers: workers <= 64) - 1)} of the optimum on up to 64 workers: there the schedule matters less. On more they take up to {times(on_eight_ports(lambda workers: workers > 64))} its time.
- On four ports of 100 Gbit/s it matters more: `fsdp2` takes up to {times(worst("fsdp2"))} the optimum's time, `zero-3` {times(worst("zero-3"))}, `megatron` {times(worst("megatron"))}. A block of a model of 1.5 billion parameters is too little to gather in a
  ring of 512 workers, whose latency outweighs its bytes; the optimum gathers several blocks together.
- DeepSpeed's stages 1 and 2 gather everything after the update, and nothing hides it: up to {times(max(worst("zero-1"), worst("zero-2")))}.
- {"Nothing here beats `best --zero 3` by more than a per cent." if not ahead else f"`best --zero 3` shards the parameters, too: {min(ahead)[1]}, which does not, takes {percent(1 - min(ahead)[0])} less once."}"""


def gpu_generations(sweeps):
    """What measured profiles of one model on six GPUs say of schedules."""
    config = "finding_gpu_generations"
    profiles = sweeps.config(config)["profiles"]

    def row(profile, strategy, workers):
        return sweeps.row(config, profile=profile, strategy=strategy, workers=workers)

    def computing(profile):
        one = row(profile, "best", 8)
        return one["forward_s"] + one["backward_s"]

    def efficiency(profile, strategy, workers):
        return row(profile, strategy, workers)["efficiency"]

    def saved(profile, workers=512):
        return 1 - row(profile, "best", workers)["iteration_s"] / row(profile, "ddp", workers)["iteration_s"]
    by_speed = sorted(profiles, key=computing, reverse=True)
    slow, fast = by_speed[0], by_speed[-1]
    rows = [[name_of(sweeps, config, profile), f"{1e3 * computing(profile):.0f} ms"]
            + [" / ".join(percent(efficiency(profile, strategy, workers), 0) for workers in (64, 512)) for strategy in ("ddp", "fsdp2", "best")]
            + [percent(saved(profile), 0)] for profile in by_speed]
    return f"""BERT-Large, 8 sequences of 512 tokens a GPU in fp32, with the times of layers that NeuSight's authors measured on each GPU ([profiles](gpu_profiles.md)); eight GPUs a node behind one port of
100 Gbit/s, settings as shipped. Efficiency on 64 / 512 workers, and what `best` saves of the iteration under `ddp`:

{table(["GPU", "forward and backward", "`ddp`", "`fsdp2`", "`best`", "saved on 512"], rows)}

- One network, one model: the {name_of(sweeps, config, slow)} keeps {percent(efficiency(slow, "ddp", 512), 0)} of itself under `ddp` on 512 workers, the {name_of(sweeps, config, fast)}, {times(computing(slow) / computing(fast))} as fast,
  {percent(efficiency(fast, "ddp", 512), 0)}. What a faster GPU gains of computing, an unchanged network and schedule take away again: by `ddp` 512 {name_of(sweeps, config, fast)} train {times(row(slow, "ddp", 512)["iteration_s"] / row(fast, "ddp", 512)["iteration_s"])} as fast as 512 {name_of(sweeps, config, slow)}.
- With the best order of the same bytes it is {times(row(slow, "best", 512)["iteration_s"] / row(fast, "best", 512)["iteration_s"])}. So the schedule is worth {percent(saved(slow), 0)} on the slowest of these GPUs and {percent(saved(fast), 0)} on the fastest."""


def pipelines(sweeps):
    """What each data-parallel schedule leaves exposed inside each schedule of a pipeline."""
    config = "finding_pipelines"
    described = sweeps.config(config)
    networks, strategies = described["profiles"], [entry["name"] for entry in described["strategies"]]
    ranks, schedules = described["strategies"][0]["pp"], described["strategies"][0]["schedule"]
    cases = [(network, str(pp), schedule) for network in networks for pp in ranks for schedule in schedules]
    searched = [case for case in cases if case[2] in described["strategies"][-1]["schedule"]]  # by `best`, which takes long
    row = {(case, strategy): sweeps.row(config, profile=case[0], pp=case[1], schedule=case[2], strategy=strategy)
           for strategy in strategies for case in (searched if strategy == "best" else cases)}

    def exposed(case, strategy):
        return row[case, strategy]["exposed_dp_s"] / row[case, strategy]["iteration_s"]

    def time(case, strategy):
        return row[case, strategy]["iteration_s"]

    def bubble(case):
        return row[case, "ddp"]["bubble_s"] / time(case, "ddp")

    def span(values, digits=1):
        return f"{percent(min(values), digits).removesuffix(' %')} to {percent(max(values), digits)}"

    def of(*names, strategy="ddp"):
        return [exposed(case, strategy) for case in cases if case[2] in names]
    rows = [[f"{name_of(sweeps, config, case[0])}, {case[1]} ranks, `{case[2]}`", f"{time(case, 'ddp'):.2f} s", percent(bubble(case))] + [percent(exposed(case, strategy), 2) if (case, strategy) in row else "" for strategy in strategies]
            for case in cases]
    saved = {case: 1 - time(case, "best") / time(case, "ddp") for case in searched}
    most = max(saved, key=saved.get)
    as_megatron = sum(time(case, "best") > 0.999 * time(case, "megatron") for case in searched)
    by_stage = {case: 1 - time(case, "bytescheduler") / time(case, "ddp") for case in cases if case[2] == "zbv"}
    schedule = max(1 - time((network, str(pp), "zbv"), "ddp") / time((network, str(pp), "1f1b"), "ddp") for network in networks for pp in ranks)
    return f"""1,024 H100 behind 400 Gbit/s each, tensor-parallel by 8 with sequence parallelism, a pipeline of 8 or 16 ranks and so 16 or 8 replicas; 32 micro-batches of one sequence of 8,192 tokens. The optimizer is
shared out among the replicas (`--zero 1`, and `megatron`'s), under `fsdp2` the parameters, too; settings as shipped. Layer times are [estimated](../estimation.md); 405B computes all of a block again in its backward pass, without
which not every schedule fits into 80 GB. The iteration and its bubble under `ddp`, and what of the iteration reductions and gathers leave exposed under each:

{table(["case", "iteration", "bubble", *(f"`{strategy}`" for strategy in strategies)], rows)}

- A pipeline hides most of the gradients' communication by itself: ranks finish one after another, and all but the first reduce while others still compute. What is left of `ddp`'s is {span(of("1f1b", "interleaved"))} of the iteration under `1f1b` and
  `interleaved`, and {span(of("zb-h1", "zbv", "dualpipe-v"))} under the schedules that cut backward passes in two.
- `best` takes it to {span([exposed(case, "best") for case in searched], 2)}, and takes at most {percent(saved[most])} off `ddp`'s iteration ({name_of(sweeps, config, most[0])}, {most[1]} ranks, `{most[2]}`). In {as_megatron} of {len(searched)} cases it is no better than what `megatron` does as it comes:
  few large buckets, where there is so little time to fill.
- The bubble is {span([bubble(case) for case in cases], 0)}. The pipeline's schedule is worth more than the gradients': `zbv` takes up to {percent(schedule)} off `1f1b`.
- Who waits for whom counts, too: where each layer waits for its own gradients only (`bytescheduler`, and what `best` finds there), no rank's update waits for all ranks, which takes up to {percent(max(by_stage.values()))} off `zbv`'s iteration, although
  more is exposed. A clipped norm over all gradients forbids that."""


def shared_fat_tree(sweeps):
    """How much of a shared Fat-Tree's slow-down placement and staggering give back."""
    config = "finding_shared_fat_tree"
    mixes = [jobs["name"] for jobs in sweeps.config(config)["jobs"]]

    def rows(mix, placement, routing="d-mod-k", search="none"):
        return sweeps.rows(config, jobs=mix, placement=placement, routing=routing, search=search)

    def worst(*case):
        return rows(*case)[0]["worst_slowdown"]

    def crossed(mix):  # what a job on its seats anywhere loses to its own messages
        return max(row["alone_s"] / packed["alone_s"] for row, packed in zip(rows(mix, "random:1"), rows(mix, "packed")))

    def given_back(mix, *how):
        return (worst(mix, "random:1") - worst(mix, "random:1", *how)) / (worst(mix, "random:1") - 1)
    cases = (("packed",), ("spread",), ("random:1",), ("random:1", "d-mod-k", "stagger=4"), ("random:1", "adaptive"), ("random:1", "adaptive", "stagger=4"))
    lines = [[mix, *(f"{worst(mix, *case):.3f}" for case in cases), f"{crossed(mix):.3f}"] for mix in mixes]
    slowed = [mix for mix in mixes if worst(mix, "random:1") > ABOVE + 0.04]
    placed = max(worst(mix, placement) for mix in mixes for placement in ("packed", "spread"))
    staggered = {mix: given_back(mix, "d-mod-k", "stagger=4") for mix in slowed}
    adaptive = {mix: given_back(mix, "adaptive") for mix in slowed}
    return f"""Four jobs of 32 V100s under `ddp` fill a Fat-Tree of 8-port switches, 128 hosts on links of 40 Gbit/s without oversubscription: the same network four times, or four networks ([jobs](../jobs.md)). Seats side by side
(`packed`), in turn over all edge switches (`spread`), or anywhere (`random:1`); each message on one way (`d-mod-k`) or on all (`adaptive`); starts together, or each at the best of four offsets (`--stagger 4`). How many times as long
as alone on its seats an iteration takes of the job that is slowed most; in the last column, how many times as long as packed the worst takes *alone* on seats anywhere:

{table(["jobs", "packed", "spread", "anywhere", "staggered", "adaptive", "both", "anywhere, alone"], lines)}

- Placement gives back everything: on both regular ones `d-mod-k` finds each message a way that no other job fills, and {"nobody is slowed" if placed < 1.0005 else f"nobody is slowed by more than {percent(placed - 1)}"}. So does the network where it lets each message take all ways: of the
  slow-down on seats anywhere, `adaptive` gives back {percent(min(adaptive.values()), 0)}.
- Staggering gives back {percent(min(staggered.values()), 0)} to {percent(max(staggered.values()), 0)} of it. Each of the four meets each other on some full link, so that no turn of the starts keeps all apart; and four different networks have four periods, which drift whatever the
  starts. Where there was little to lose (ResNet-50), it gives back nearly all.
- On seats anywhere a job is in its own way, too: alone it takes up to {times(max(crossed(mix) for mix in mixes))} as long as packed (GNMT), before anybody else is there. The slow-downs come on top of that. ResNet-50 with 128 images a GPU has the time to hide
  nearly all of both."""


def slow_link(sweeps):
    """What one slow link or one slow worker costs each schedule."""
    config = "finding_slow_link"
    described = sweeps.config(config)
    networks, strategies, slow = described["profiles"], described["strategies"], [jobs["name"] for jobs in described["jobs"]]
    cost = {(network, strategy, what): sweeps.row(config, profile=network, strategy=strategy, jobs=what)["slowdown"] for network in networks for strategy in strategies for what in slow}
    half, tenth, bit, twice = slow
    resnet, _, bert = networks

    def least_and_most(network, what):
        least, most = (pick(strategies, key=lambda strategy: cost[network, strategy, what]) for pick in (min, max))
        return f"{times(cost[network, least, what])} (`{least}`) to {times(cost[network, most, what])} (`{most}`)"
    lines = [[f"`{strategy}`"] + [" / ".join(f"{cost[network, strategy, what]:.2f}" for what in slow) for network in networks] for strategy in strategies]
    hidden = max(abs(cost[network, strategy, half] - 1) for network in networks[:2] for strategy in strategies if strategy != "s-sgd")
    return f"""32 V100s, packed on a Fat-Tree of 40 Gbit/s; all the time a host's link has half or a tenth of its bandwidth, or a worker computes 1.1 or 2 times as long ([jobs](../jobs.md)). Schedules are planned for the cluster as it was meant to be. An
iteration over the same strategy's there, with {half} / {tenth} / {bit} / {twice}:

{table(["strategy", *(name_of(sweeps, config, network) for network in networks)], lines)}

- A slow worker costs nearly its factor, whatever the schedule: whoever hides communication best shows it in full, and what is exposed only dilutes it (`s-sgd` with {name_of(sweeps, config, bert)}: {times(cost[bert, "s-sgd", twice])} of an iteration that was longer before).
- One slow link slows every round of a ring, and all workers wait as if all links were slow. Half a link costs schedules that overlap at most {percent(hidden)} where the network had room to spare (ResNet-50, VGG-16), and up to
  {times(max(cost[bert, strategy, half] for strategy in strategies))} with BERT-Large, which had none. Whoever just hid its communication has the most to lose: with half a link, BERT-Large takes {least_and_most(bert, half)} its time.
- With a tenth of a link it matters whether a layer of the next forward pass waits for all gradients, or for its own: with ResNet-50 `bytescheduler` and `dear`, where it is its own, take {times(cost[resnet, "bytescheduler", tenth])} and {times(cost[resnet, "dear", tenth])}, the
  others {times(min(cost[resnet, strategy, tenth] for strategy in strategies if strategy not in ("bytescheduler", "dear")))} and more. Where the link carries more than an iteration of computing has time for (VGG-16, BERT-Large), no order helps much."""


FINDINGS = (  # title, what writes it, its sweeps, its picture in docs/pictures
    ("Algorithm 1 of MG-WFBP against the exact optimum", algorithm1, ("finding_algorithm1",), "finding_algorithm1.svg"),
    ("How far each strategy is from the lower bound", lower_bound, ("finding_lower_bound",), "finding_lower_bound.svg"),
    ("Where compression pays", compression, ("finding_compression_bandwidth", "finding_compression_workers", "finding_compression_1gbe"), "finding_compression_workers.svg"),
    ("BML against ring and halving/doubling on equal cost", bml, ("finding_bml_equal_cost",), "finding_bml_equal_cost.svg"),
    ("What stragglers do to each strategy", stragglers, ("finding_stragglers", "finding_jitter"), "finding_stragglers.svg"),
    ("What the optimum gains where the optimizer is sharded", sharded_optimum, ("finding_sharded_optimum",), "finding_sharded_optimum.svg"),
    ("FSDP, DeepSpeed and Megatron against the optimum of stage 3", sharded_frameworks, ("finding_sharded_frameworks",), "finding_sharded_frameworks.svg"),
    ("The same model on six GPUs, as measured", gpu_generations, ("finding_gpu_generations",), "finding_gpu_generations.svg"),
    ("What pipelines hide of the gradients, and what a better order is worth", pipelines, ("finding_pipelines",), "finding_pipelines.svg"),
    ("How much of a shared Fat-Tree's slow-down placement and staggering give back", shared_fat_tree, ("finding_shared_fat_tree",), "finding_shared_fat_tree.svg"),
    ("What one slow link or one slow worker costs each schedule", slow_link, ("finding_slow_link",), "finding_slow_link.svg"),
    ("Hybrid sharding between slower and slower networks", hybrids, ("finding_hybrids",), "finding_hybrids.svg"),
    ("What the exchange of tokens costs a mixture of experts, and what its overlap gives back", experts, ("finding_experts",), "finding_experts.svg"),
    ("What Muon's update costs, by how its matrices are distributed", muon, ("finding_muon",), "finding_muon.svg"),
    ("DiLoCo and DDP between two sites", two_sites, ("finding_two_sites",), "finding_two_sites.svg"),
)
