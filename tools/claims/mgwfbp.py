"""MG-WFBP (Shi, Chu, Li)."""
from claims.claim import DIRECTION, compared, held, percent, ranged, times, unjudged

TITLE = "MG-WFBP"
FIGURES = ("mgwfbp_fig8", "mgwfbp_fig9", "mgwfbp_fig9_per_node", "mgwfbp_fig10", "mgwfbp_fig10_161", "mgwfbp_fig11")
INPUTS = """K80: the published images/s of one node, spread over the layers by a roofline (*reconstructed*); all-reduce as the paper measured it (972 us, 1.97 ns/B), read as
a ring of 16 workers. ResNet-50 as 107 Caffe layers: at PyTorch's 161 tensors no profile gives the published ratios. V100: the paper gives no time of its GPUs; the
traces take the efficiency that ResNet-152 and DenseNet-161 reach in a published benchmark of PyTorch on a V100. Batches of Table 4 are read per GPU (as the
paper's published scripts have them); `mgwfbp_fig9_per_node` has the other reading. Only single precision is simulated. The table of measured against predicted speed-ups on the
real K80 cluster, with measured all-reduce times instead of these constants, is in [validation](validation.md)."""
GOOGLENET, RESNET = "googlenet_k80_b32", "resnet50_107_k80_b16"
NAMES = {GOOGLENET: "GoogLeNet", RESNET: "ResNet-50"}
MERGED = {GOOGLENET: (10, 6, 6, 5, 3, 2, 1, 1, 1, 1), RESNET: (33, 19, 10, 7, 5, 3, 1, 1, 1, 1)}  # on 4 to 2048 workers
WORKERS = tuple(2 ** power for power in range(2, 12))
V100 = {"resnet152_v100_b128": "ResNet-152", "densenet161_v100_b64": "DenseNet-161", "densenet201_v100_b64": "DenseNet-201",
        "inceptionv4_v100_b128": "Inception-v4"}
PER_NODE = {"resnet152_v100_b128": "resnet152_v100_b32", "densenet161_v100_b64": "densenet161_v100_b16", "densenet201_v100_b64": "densenet201_v100_b16",
            "inceptionv4_v100_b128": "inceptionv4_v100_b32"}


def time(sweeps, config, profile, strategy, workers, **wanted):
    return sweeps.row(config, profile=profile, strategy=strategy, workers=workers, **wanted)["iteration_s"]


def ratio(sweeps, config, profile, other, workers, strategy="mg-wfbp", **wanted):
    """How many times as fast `strategy` is as `other`."""
    return time(sweeps, config, profile, other, workers, **wanted) / time(sweeps, config, profile, strategy, workers, **wanted)


def simulated(sweeps):
    """Section 6.4."""
    result = []
    other = {"wfbp": "WFBP", "sync-easgd": "SyncEASGD"}
    for profile, printed in ((GOOGLENET, {"wfbp": 1.78, "sync-easgd": 1.35}), (RESNET, {"wfbp": 1.75, "sync-easgd": 1.45})):
        for strategy, value in printed.items():
            ours = ratio(sweeps, "mgwfbp_fig10", profile, strategy, 64)
            why = ""
            if (profile, strategy) == (GOOGLENET, "wfbp"):
                double = ratio(sweeps, "mgwfbp_fig10", profile, strategy, 128)
                why = (f"the ratio is steep here, {times(double)} on 128: WFBP needs 64 start-ups of {972 * 63 / 15 / 1000:.1f} ms and hides as much of them as the backward pass is long. "
                       "Its length is reconstructed from the node's images/s; the profile that the authors measured is a fifth shorter, and gives 1.52x ([validation](validation.md))")
            result.append(compared("section 6.4, Fig. 10", f"{NAMES[profile]}, 64 workers: MG-WFBP over {other[strategy]}", value, ours, why))
    for strategy in ("wfbp", "sync-easgd"):
        row = sweeps.row("mgwfbp_fig10", profile=RESNET, strategy=strategy, workers=64)
        result.append(compared("section 6.4, Fig. 10", f"ResNet-50, 64 workers: scaling efficiency of {other[strategy]}", 0.55, row["efficiency"], "" if strategy == "wfbp" else
                               "the one all-reduce of 102 MB takes 215 ms by the paper's own constants, which is half of its iteration of one node", form=percent, neutral=None))
    linear = sweeps.row("mgwfbp_fig10", profile=RESNET, strategy="mg-wfbp", workers=64)["efficiency"]
    result.append(held("section 6.4, Fig. 10", "ResNet-50, 64 workers: MG-WFBP is almost linear", "almost", percent(linear), linear > 0.95))
    for profile, printed in MERGED.items():
        ours = [sweeps.row("mgwfbp_fig10", profile=profile, strategy="mg-wfbp", workers=workers)["collectives"] for workers in WORKERS]
        same = all(abs(mine - theirs) <= max(1, 0.25 * theirs) for mine, theirs in zip(ours, printed))
        optimal = [sweeps.row("mgwfbp_fig10", profile=profile, strategy="optimal-merge", workers=workers)["collectives"] for workers in WORKERS]
        claim = held("section 6.4", f"{NAMES[profile]}, 4 to 2048 workers: merged-gradient layers", ", ".join(map(str, printed)), ", ".join(map(str, ours)), same,
                     f"counted as all-reduces per iteration; falls to 1 as in the paper. Where communication is hidden many groupings are equally fast, and which one Algorithm 1 "
                     f"takes follows single layers' times, which are reconstructed. The optimum has {', '.join(map(str, optimal))}")
        falls = ours == sorted(ours, reverse=True) and ours[-1] == 1
        result.append(claim if same or not falls else claim._replace(verdict=DIRECTION))
    for profile, name in NAMES.items():
        ratios = {workers: ratio(sweeps, "mgwfbp_fig10", profile, "sync-easgd", workers, "wfbp") for workers in WORKERS}
        crossing = min(workers for workers in WORKERS if ratios[workers] < 1)
        result.append(held("section 6.4, Fig. 10", f"{name}: WFBP is ahead of SyncEASGD on 4 to 16 workers, behind on 64", "a crossing between 16 and 64",
                           f"behind from {crossing} workers", all(ratios[workers] > 1 for workers in (4, 8, 16)) and ratios[64] < 1))
        apart = {workers: ratio(sweeps, "mgwfbp_fig10", profile, "sync-easgd", workers) for workers in WORKERS if workers >= 256}
        close = all(value < 1.01 for value in apart.values())
        claim = held("section 6.4, Fig. 10", f"{name}: MG-WFBP converges to SyncEASGD on 256 workers or more", "equal",
                           ", ".join(f"{times(value)} at {workers}" for workers, value in apart.items()), close,
                     "" if close else "Algorithm 1 keeps two collectives up to 512 workers with this profile")
        result.append(claim if close or apart[2048] > 1.01 else claim._replace(verdict=DIRECTION))
        best = {workers: ratio(sweeps, "mgwfbp_fig10", profile, "mg-wfbp", workers, "optimal-merge") for workers in WORKERS}
        most = max(best, key=best.get)
        result.append(held("section 6.4", f"{name}: on large clusters \"the single-layer communication becomes the optimal\"", "yes",
                           f"the optimum is up to {percent(best[most] - 1, 0)} faster (at {most})", best[most] < 1.01,
                           "Theorem 1 is false: Algorithm 1 merges a layer without asking whether the next will be merged onward ([models](../models.md)); see Findings"))
    always = all(ratio(sweeps, "mgwfbp_fig10", profile, strategy, workers) > 1 - 1e-9 for profile in NAMES for strategy in other for workers in WORKERS)
    result.append(held("section 6.4", "MG-WFBP \"always achieves the best speedup\" of the three", "always", "always" if always else "not always", always))
    trees = [(profile, workers) for profile in NAMES for workers in WORKERS if workers >= 128]
    for strategy, name in (("wfbp", "WFBP"), ("mg-wfbp", "MG-WFBP")):
        ahead = sum(ratio(sweeps, "mgwfbp_fig11", profile, "sync-easgd", workers, strategy) > 1 for profile, workers in trees)
        result.append(held("section 6.4, Fig. 11", f"double binary trees, 128 to 2048 workers: {name} outperforms SyncEASGD", "always", f"{ahead} of {len(trees)}",
                           ahead == len(trees), "with the printed b = beta + gamma, which beats the wire ([models](../models.md))"))
    gain = [ratio(sweeps, "mgwfbp_fig11", profile, "wfbp", workers) for profile, workers in trees]
    result.append(held("section 6.4, Fig. 11", "double binary trees: MG-WFBP outperforms WFBP", "always", f"by {percent(min(gain) - 1)} to {percent(max(gain) - 1)}",
                       min(gain) >= 1 and max(gain) > 1.001,
                       "" if max(gain) > 1.001 else "both hide everything but the last all-reduce here: start-ups of 2 alpha log N are under a millisecond each"))
    return result


def measured(sweeps):
    """Section 6.3: real clusters, here in simulation."""
    result = []
    for strategy, value, name in (("wfbp", 1.2, "WFBP"), ("sync-easgd", 1.36, "SyncEASGD")):
        for profile, network in NAMES.items():
            why = ""
            if strategy == "wfbp":
                starts = sweeps.row("mgwfbp_fig8", profile=profile, strategy="wfbp", workers=16)["collectives"]
                why = (f"{starts} start-ups of 0.97 ms fit into this backward pass. The real WFBP loses 23 % on 8 nodes where the real MG-WFBP loses 7 % "
                       "([validation](validation.md)): all-reduces between training processes cost more than the constants say")
            result.append(compared("section 6.3.1, Fig. 6-8", f"{network}, 8 nodes (16 GPUs): MG-WFBP over {name}", value, ratio(sweeps, "mgwfbp_fig8", profile, strategy, 16), why))
    near = min(sweeps.row("mgwfbp_fig8", profile=profile, strategy="wfbp", workers=workers)["efficiency"] for profile in NAMES for workers in (4, 8))
    result.append(held("section 6.3.1", "WFBP scales near linearly on 2 and 4 nodes", "near linear", f"{percent(near)} at least", near > 0.9))
    config, fast, slow = "mgwfbp_fig9", "v100-56gbib", "v100-10gbe"
    over = {(cluster, profile, strategy): ratio(sweeps, config, profile, strategy, 16, cluster=cluster)
            for cluster in (fast, slow) for profile in V100 for strategy in ("wfbp", "sync-easgd")}
    node = {(cluster, profile, strategy): ratio(sweeps, "mgwfbp_fig9_per_node", PER_NODE[profile], strategy, 16, cluster=cluster)
            for cluster in (fast, slow) for profile in V100 for strategy in ("wfbp", "sync-easgd")}
    for cluster, value, text in ((slow, 1.70, "10 Gbit/s Ethernet: up to"), (fast, 1.26, "56 Gbit/s InfiniBand: up to")):
        most = max((key for key in over if key[0] == cluster), key=over.get)
        other = max(gain for key, gain in node.items() if key[0] == cluster)
        result.append(compared("section 6.3.2, Fig. 9", f"16 V100, {text}, over WFBP or SyncEASGD", value, over[most],
                               f"{V100[most[1]]}, over {'WFBP' if most[2] == 'wfbp' else 'SyncEASGD'}. With batches read per node it would be {times(other)}, which is far more than "
                               "the paper's: its batches are per GPU. The paper's figure has half precision, too"))
    least = min(max(over[cluster, profile, strategy] for strategy in ("wfbp", "sync-easgd")) for cluster in (fast, slow) for profile in V100)
    result.append(ranged("section 6.3.2, Fig. 9", "16 V100, 56 Gbit/s: MG-WFBP over the slower of the two, from 7 to 26 %", (1.07, 1.26),
                         tuple(end(max(over[fast, profile, strategy] for strategy in ("wfbp", "sync-easgd")) for profile in V100) for end in (min, max)),
                         f"all that WFBP could hide is hidden at this speed; what is left is SyncEASGD's one all-reduce. On both networks it is {percent(least - 1)} at least"))
    average = sum(over.values()) / len(over)
    result.append(compared("abstract", "V100 clusters: on average faster than WFBP and SyncEASGD", 1.188, average,
                           f"mean over 2 networks, 4 DNNs, 2 baselines; the paper does not say over what it averages"))
    result.append(compared("section 6.3.2", "ResNet-152: WFBP over SyncEASGD (10 Gbit/s)", 1.10, ratio(sweeps, config, "resnet152_v100_b128", "sync-easgd", 16, "wfbp", cluster=slow)))
    result.append(compared("section 6.3.2", "ResNet-152: MG-WFBP over WFBP (10 Gbit/s)", 1.10, over[slow, "resnet152_v100_b128", "wfbp"],
                           f"467 start-ups of 0.9 ms and {0.74 * 0.2408:.2f} s of bytes fit into a backward pass of "
                           f"{sweeps.row(config, profile='resnet152_v100_b128', cluster=slow, strategy='wfbp', workers=16)['backward_s']:.2f} s; on a GPU a quarter faster they "
                           "would not. The paper's own time is not published"))
    result.append(compared("section 6.3.2", "DenseNet-161: SyncEASGD over WFBP (10 Gbit/s)", 1.20, ratio(sweeps, config, "densenet161_v100_b64", "wfbp", 16, "sync-easgd", cluster=slow)))
    result.append(compared("section 6.3.2", "DenseNet-161: MG-WFBP over SyncEASGD (10 Gbit/s)", 1.07, over[slow, "densenet161_v100_b64", "sync-easgd"]))
    neither = {over[key] > over[key[0], key[1], "sync-easgd"] for key in over if key[2] == "wfbp"}
    result.append(held("section 6.3.2", "neither WFBP nor SyncEASGD always outperforms the other", "neither", "neither" if len(neither) == 2 else "one of them does", len(neither) == 2))
    up_to = max(min(over[cluster, profile, strategy] for strategy in ("wfbp", "sync-easgd")) for cluster in (fast, slow) for profile in V100)
    result.append(compared("section 6.3.2", "MG-WFBP over the better of the two, up to", 1.15, up_to))
    result.append(unjudged("section 6.3.1", "TensorFlow with parameter servers is slower than all three", "slower", "neither its constants nor its numbers are given"))
    return result


def claims(sweeps):
    return simulated(sweeps) + measured(sweeps)
