"""Findings on what people train today: hybrid sharding, experts, Muon, two sites."""
from claims.claim import percent, times
from claims.texts import name_of, table


def experts(sweeps):
    """How much of the exchange of tokens each layout exposes, and what `recommend` chooses."""
    config = "finding_experts"
    described = sweeps.config(config)
    cases = [(profile, str(pp)) for profile in described["profiles"] for pp in described["strategies"][0]["pp"]]
    row = {(one["profile"], one["pp"], one.get("ep_overlap", "false")): one for one in sweeps.rows(config)}

    def exposed(case, overlap):
        return row[(*case, overlap)]["exposed_ep_s"]
    gains = {case: 1 - row[(*case, "true")]["iteration_s"] / row[(*case, "false")]["iteration_s"] for case in cases}
    lines = []
    for case in cases:
        held, beside = row[(*case, "false")], row[(*case, "true")]
        lines.append([f"{name_of(sweeps, config, case[0])}, pp {case[1]}", f"{held['iteration_s']:.2f} s", f"{exposed(case, 'false'):.2f} s", percent(exposed(case, "false") / held["iteration_s"], 0),
                      f"{beside['iteration_s']:.2f} s", f"{exposed(case, 'true'):.2f} s", percent(exposed(case, "true") / beside["iteration_s"], 0), percent(gains[case], 0),
                      f"{beside['memory_bytes'] / 1e9:.0f} GB" + ("" if beside["fits"] == "true" else " (does not fit)")])
    inside = [case for case in cases if case[0].endswith("_ep8")]
    across = [case for case in cases if not case[0].endswith("_ep8")]
    hidden = {case: 1 - exposed(case, "true") / exposed(case, "false") for case in cases}
    ratios = [min(row[(*case, overlap)]["iteration_s"] for case in across) / min(row[(*case, overlap)]["iteration_s"] for case in inside) for overlap in ("false", "true")]
    beside_groups = f"The best group across nodes takes {times(ratios[0])} as long as the one in a node, and {times(ratios[1])} where exchanges overlap: overlap is what makes large groups, and the memory that they leave, affordable."
    advice = sweeps.json("recommend", "--model", "qwen3-235b-a22b", "--device", "h100", "--cluster", described["clusters"][0], "--workers", str(described["workers"][0]),
                         "--global-batch", str(described["strategies"][0]["global_batch"]), "--budget", "100", "--json")
    best, *others = [one for one in advice if one["fits"]]

    def words(one):
        return f"`{one['strategy']}`, tp {one['tp']}, cp {one['cp']}, pp {one['pp']}" + (f" (`{one['schedule']}`)" if one["pp"] > 1 else "") + f", ep {one['ep']}{' (overlapping)' if one['options'].get('ep_overlap') == 'true' else ''}, recomputation {one['recompute']}"
    wider = [one for one in others if one["ep"] > 8]
    beyond = f"the first of them with a larger group is {words(wider[0])}, {times(wider[0]['iteration_s'] / best['iteration_s'])} as long" if wider else "none of the others simulated that fits has a larger group"
    return f"""Qwen3 235B-A22B (128 experts in each of 94 blocks, 8 for a token) on 256 H100, 8 a node behind 400 Gbit/s each; 1,024 sequences of 4,096 tokens an iteration, `megatron` in a pipeline of 4 or 8 ranks, `interleaved` with four
chunks each; four workers share each sequence (cp 4, or tp 2 and cp 2); nothing is computed again, with which Megatron-Core refuses the overlap. Layer times are [estimated](../estimation.md) in bf16, experts are equally busy. The iteration, and the exposed exchange of tokens as seconds and as its part
of the iteration, where it holds computing and where it overlaps (`ep_overlap`):

{table(["case", "iteration", "exposed", "", "overlapping: iteration", "exposed", "", "gain", "memory"], lines)}

- Where a group of experts is a node, tokens travel over NVLink: {percent(min(exposed(case, "false") / row[(*case, "false")]["iteration_s"] for case in inside), 0)} of the iteration. Across nodes it is {percent(min(exposed(case, "false") / row[(*case, "false")]["iteration_s"] for case in across), 0)} and more: as many bytes a worker, but on links of an eighth of the bandwidth.
- Overlap hides {percent(min(hidden.values()), 0)} to {percent(max(hidden.values()), 0)} of it. What stays is mostly the exchange of actions that have no partner, at the ends of an iteration; the iteration is shorter by {percent(min(gains.values()), 0)} to {percent(max(gains.values()), 0)}.
- {beside_groups}
- `recommend` searches groups and overlap, too (100 layouts simulated): {words(best)}, {best["iteration_s"]:.2f} s; {beyond}."""


def hybrids(sweeps):
    """Sharding inside nodes against sharding over all workers, on three networks between the nodes."""
    config = "finding_hybrids"
    described = sweeps.config(config)
    clusters, batches = described["clusters"], described["strategies"][0]["accumulate"]
    ways = {"`fsdp2`, over all": {"strategy": "fsdp2", "shard_group": None}, "`zero-3`, over all": {"strategy": "zero-3", "hpz": "1"},
            "`megatron-fsdp`, over all": {"strategy": "megatron-fsdp", "shard_group": None}, "HSDP: `fsdp2`, groups of 8": {"strategy": "fsdp2", "shard_group": "8", "reduce": "every"},
            "the same, `reduce=replicas-last`": {"strategy": "fsdp2", "shard_group": "8", "reduce": "replicas-last"},
            "`megatron-fsdp`, groups of 8": {"strategy": "megatron-fsdp", "shard_group": "8", "outer": "no_shard"},
            "`megatron-fsdp`, groups of 8, `outer=optim`": {"strategy": "megatron-fsdp", "shard_group": "8", "outer": "optim"},
            "`zero-3`, `hpz=8`": {"strategy": "zero-3", "hpz": "8", "qgz": "false"},
            "ZeRO++: `hpz=8`, `qwz`, `qgz`": {"strategy": "zero-3", "hpz": "8", "qgz": "true"}}
    all_over, whole, _, hsdp, once, copies, shares, secondary, plus = ways

    def row(way, cluster, batch):
        return sweeps.row(config, cluster=cluster, accumulate=None if batch == 1 else str(batch), **ways[way])

    def time(way, cluster, batch):
        return row(way, cluster, batch)["iteration_s"]

    def memory(way):
        return max(float(row(way, cluster, 1)["memory_bytes"]) for cluster in clusters) / 1e9
    rows = [[way] + [f"{time(way, cluster, batch):.2f} s" for cluster in clusters for batch in batches] + [f"{memory(way):.0f} GB"] for way in ways]
    fast, *_, slow = clusters
    first, last = batches[0], batches[-1]

    def fastest(cluster, batch, among):
        return min(among, key=lambda way: time(way, cluster, batch))

    def winners(cluster):
        lossless = [way for way in ways if way != plus]
        one, several = (fastest(cluster, batch, lossless) for batch in (first, last))
        return one if one == several else f"{one} with one micro-batch, {several} with {last}"

    def gains(way, other, batch):  # by cluster
        return ", ".join(times(time(other, cluster, batch) / time(way, cluster, batch)) for cluster in clusters)
    speed = [name.rsplit("-", 1)[1].replace("gbps", " Gbit/s") for name in clusters]
    return f"""LLaMA-3 8B in bf16 on 64 H100 as [estimated](../estimation.md), eight to a node behind one port of {", ".join(speed)}: sharded over all, or in groups of a node's eight ([sharding](../sharding.md)); settings as shipped. The iteration with {first} and {last}
micro-batches on each network, and what a worker holds:

{table(["sharded by", *(f"{name}, {batch}" for name in speed for batch in batches), "memory"], rows)}

- The slower the network, the more groups pay: with one micro-batch HSDP is {gains(hsdp, all_over, first)} as fast as `fsdp2` over all, with {last} {gains(hsdp, all_over, last)}. An all-reduce of shards crosses between nodes
  instead of two gathers and a reduction of everything.
- With {last} micro-batches `megatron-fsdp` in groups is {gains(copies, hsdp, last)} as fast as HSDP: it all-reduces in the last micro-batch only, `fsdp2` by default in each. With `reduce=replicas-last` HSDP is within
  {percent(max(abs(time(once, cluster, last) / time(copies, cluster, last) - 1) for cluster in clusters))} of it.
- `outer=optim` holds {memory(shares):.0f} GB instead of {memory(copies):.0f}, since all 64 share the optimizer's state. In the first micro-batch it gathers shards among the groups twice, as the source does: with one micro-batch it takes
  {gains(copies, shares, first)} the time of `no_shard`, with {last} {gains(copies, shares, last)}.
- A second copy of the parameters in each node (`hpz=8`, {memory(secondary) - memory(whole):.0f} GB more) saves the gathers of backward passes and of further micro-batches: `zero-3` is {gains(secondary, whole, first)} as fast with one micro-batch, {gains(secondary, whole, last)} with {last}.
  With gathers in 8 and reductions in 4 bits as well (ZeRO++) it is {gains(plus, whole, first)} and {gains(plus, whole, last)}. Quantising takes no time here (`quantise`), and what four bits do to the loss is not simulated.
- ZeRO++ is the fastest {"everywhere" if all(fastest(cluster, batch, ways) == plus for cluster in clusters for batch in batches) else "in most cases"}. Without quantising: {"; ".join(f"{name}: {winners(cluster)}" for name, cluster in zip(speed, clusters))}."""


def muon(sweeps):
    """Muon's four distributions, and Adam, on two models and two sizes of cluster."""
    config = "finding_muon"
    described = sweeps.config(config)
    profiles, sizes = described["profiles"], described["workers"]
    ways = {"`gathered`": ("fsdp2", "gathered"), "`owned`": ("fsdp2", "owned"), "`all-to-all`": ("fsdp2", "all-to-all"), "`replicated` (`ddp`)": ("ddp", None)}

    def parts(way, profile, workers):  # the iteration, Newton-Schulz, and what else Muon adds to Adam's iteration
        strategy, spread = ways[way]
        own = {"strategy": strategy, "profile": profile, "workers": workers}
        row, adam = sweeps.row(config, optimizer="muon", muon=spread, **own), sweeps.row(config, optimizer=None, **own)
        return row["iteration_s"], row["newton_schulz_s"], row["exposed_comm_s"] - adam["exposed_comm_s"], row["fits"] == "true"

    def adam(profile, workers, strategy="fsdp2"):
        return sweeps.row(config, optimizer=None, strategy=strategy, profile=profile, workers=workers)["iteration_s"]
    lines = []
    for profile in profiles:
        for workers in sizes:
            lines.append([name_of(sweeps, config, profile), str(workers), f"{adam(profile, workers):.2f} s"])
            for way in ways:
                whole, computed, sent, _ = parts(way, profile, workers)
                lines[-1].append(f"{whole:.2f} s, {100 * computed / whole:.0f} / {percent(max(0.0, sent) / whole, 0)}")
    small, large = sizes
    gathered, owned, exchanged, replicated = ways
    whole = {way: [parts(way, profile, workers)[0] / adam(profile, workers) for profile in profiles for workers in sizes] for way in ways}
    best = [percent(parts(exchanged, profile, workers)[0] / adam(profile, workers) - 1) for profile in profiles for workers in sizes]
    alone = [parts(gathered, profile, small)[1] for profile in profiles]
    passes = [sum(sweeps.rows(config, profile=profile)[0][one] for one in ("forward_s", "backward_s")) for profile in profiles]
    waits = [parts(owned, profile, large)[2] for profile in profiles]
    unfit = not any(parts(replicated, profile, workers)[3] for profile in profiles for workers in sizes)
    return f"""LLaMA-3 8B, and 70B with full recomputation, in bf16 on H100, eight a node behind 400 Gbit/s each; one sequence of 8,192 tokens a GPU, one micro-batch ([estimated](../estimation.md); [Muon](../sharding.md)). The parameters are sharded by
`fsdp2`, or whole under `ddp`{", where they fit into no worker's memory" if unfit else ""}. The iteration with Adam (`fsdp2`) and with Muon; and its parts that are Newton-Schulz on the busiest worker / exposed communication that Muon adds:

{table(["model", "H100", "Adam", *ways], lines)}

- Newton-Schulz of all matrices takes {alone[0]:.1f} s for 8B and {alone[1]:.0f} s for 70B on one GPU, {alone[0] / passes[0]:.1f} and {alone[1] / passes[1]:.1f} times as long as the passes, and no number of workers shortens it where each computes all: `gathered`, what a DTensor's `full_tensor()` does, takes
  {times(min(whole[gathered]))} to {times(max(whole[gathered]))} Adam's iteration.
- `all-to-all` divides it: {", ".join(best)} more than Adam's iteration in the order of the table. A round takes as long as its largest matrix, and there is at least one.
- `owned` divides it as well, but its gathers and scatters go through one lane, one matrix after another, each priced as a broadcast among all: on {large} workers that adds {waits[0]:.1f} s and {waits[1]:.0f} s, mostly start-ups. It is for small groups, or for
  gathers that an implementation issues together, which is not simulated.
- An update comes once in an iteration: with K micro-batches its share is nearly K times smaller."""


def two_sites(sweeps):
    """DDP and DiLoCo between two sites."""
    config = "finding_two_sites"
    clusters = sweeps.config(config)["clusters"]
    ways = {"`ddp`": {"strategy": "ddp"}, "100 steps, tensor by tensor": {"sync_every": "100", "bucket": None, "delay": "0"}}
    ways |= {f"{steps} steps, buckets of 1 GiB": {"sync_every": steps, "bucket": "1 GiB", "delay": "0"} for steps in ("25", "100", "500")}
    ways |= {f"100 steps, four fragments, delay of {delay}": {"delay": delay, "quantize": "false"} for delay in ("5", "20")}
    ways |= {"the same, in 8 bits": {"delay": "20", "quantize": "true"}}
    ddp, tensors, short, hundred, long, *_, late, narrow = ways

    def row(way, cluster):
        return sweeps.row(config, cluster=cluster, **{"strategy": "diloco", **ways[way]})

    def time(way, cluster):
        return row(way, cluster)["iteration_s"]
    computing = row(ddp, clusters[0])
    alone = computing["iteration_s"] - computing["exposed_comm_s"]
    lines = [[way if way == ddp else f"`diloco`, {way}" if way != narrow else way] + [cell for cluster in clusters for cell in (f"{1e3 * time(way, cluster):,.0f} ms", percent(alone / time(way, cluster), 1 if way == ddp else 0))] for way in ways]
    slow, fast = clusters
    gains = [time(ddp, cluster) / time(hundred, cluster) for cluster in clusters]
    return f"""GPT-2 XL (1.6 billion parameters) in bf16 on two sites of eight H100, one link of 1 or 10 Gbit/s and 10 ms each way between them; each GPU is a replica with a batch of 8, all-reduces sum in a site first (`hierarchical`), and links are shared (`fluid`)
([sharding](../sharding.md)). The mean step, and the part of the speed of computing alone ({1e3 * alone:.0f} ms):

{table(["", *(cell for cluster in clusters for cell in (name_of(sweeps, config, cluster), ""))], lines)}

- DDP sends 3.1 GB each way in every step, which takes {time(ddp, slow) / alone:.0f} and {time(ddp, fast) / alone:.0f} times as long as computing. 100 local steps send that once: a step is {gains[0]:.0f} and {gains[1]:.0f} times as fast as DDP's.
- Tensor by tensor (torchft's default) start-ups of 10 ms count: {times(time(tensors, fast) / time(hundred, fast))} the time of buckets of 1 GiB at 10 Gbit/s. `use_bucketization` is worth it on such a link.
- Fragments that travel while the next steps compute (Streaming DiLoCo) hide everything at 10 Gbit/s. At 1 Gbit/s a round's bytes take {3.1146 * 8 :.0f} s and its steps {100 * alone:.0f} s: nothing hides them all; with a delay of 20 of the 25 steps a fragment has,
  {percent(alone / time(late, slow), 0)} of the speed of computing.
- Eight bits {"lose" if time(narrow, slow) > time(late, slow) else "gain"} at 1 Gbit/s ({1e3 * time(narrow, slow):.0f} ms): torchft's quantised all-reduce is an all-to-all among all replicas and an all-gather. Neither sums in a site first, so that by our count 2.5 times as many bytes cross between the sites. With one replica a site it
  would be half as many (replicas of several GPUs are not simulated).
- What rounds of local steps do to the loss is not simulated, nor what TCP makes of a long link."""
