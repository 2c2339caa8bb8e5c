"""US-Byte (Gao et al.)."""
from claims.claim import compared, held, impossible, percent, ranged, times, unjudged

TITLE = "US-Byte"
FIGURES = ("usbyte_fig10", "usbyte_fig10_v100s", "usbyte_fig11", "usbyte_fig13", "usbyte_fig14", "usbyte_fig14_rtx3090", "usbyte_fig15", "usbyte_fig16", "usbyte_fig18", "usbyte_what_if")
INPUTS = """The paper's times of a V100S and an RTX 3090 are not published: totals published for a P100 or V100 are spread over the layers (*reconstructed*); `usbyte_fig10_v100s` and
`usbyte_fig14_rtx3090` have profiles of its own GPUs, carried over from others ([reconstruction](../estimation.md#reconstructed-profiles)). Its all-reduce constants as printed beat the wire; the reading that fits the links is used ([models](../models.md)). ByteScheduler has partitions of 4 MB and a credit of 4 unless the
text says otherwise; both frameworks are tuned in the paper. In this simulator the start-ups of the blocks in flight overlap, as ByteScheduler's credit is meant to
make them. `usbyte_what_if` repeats the comparisons with a credit of 1, where none overlap, and with the partition of 4 Mbit that the paper prints."""
NETWORKS = ("resnet50_p100_b64", "vgg16_p100_b64", "inception_v3_p100_b64", "googlenet_p100_b128", "mobilenet_v2_v100_b32", "bert_base_v100_b32")
NAMES = dict(zip(NETWORKS, ("ResNet-50", "VGG-16", "Inception-v3", "GoogLeNet", "MobileNet-v2", "BERT-Base")))
V100S = ("resnet50_v100s_b128", "vgg16_v100s_b128", "bert_base_v100s_b64")
SPEEDS = {10: "us-byte-cluster2-10gbps", 20: "us-byte-cluster2-20gbps", 40: "us-byte-cluster2-40gbps", 60: "us-byte-cluster2-60gbps",
          80: "us-byte-cluster2-80gbps", 100: "us-byte-100gbps"}  # Gbit/s
PARTITIONS = ("100 kB", "250 kB", "500 kB", "1 MB", "2 MB", "4 MB", "8 MB")


def ahead(sweeps, config, network, strategy, workers, **wanted):
    """How many times US-Byte's iteration the other's takes."""
    ours = sweeps.row(config, profile=network, strategy="us-byte", workers=workers, **wanted)["iteration_s"]
    return sweeps.row(config, profile=network, strategy=strategy, workers=workers, **wanted)["iteration_s"] / ours


def range_of(values):
    values = list(values)
    return min(values), max(values)


def without_overlap(sweeps, network, workers, cluster="us-byte-10gbe", partition="4 MB"):
    """ByteScheduler's iteration over US-Byte's where no two of its blocks are in flight together."""
    rows = {row["strategy"]: row for row in sweeps.rows("usbyte_what_if", profile=network, workers=workers, cluster=cluster)
            if row["strategy"] == "us-byte" or (row["partition"], row["credit"]) == (partition, "1")}
    return rows["bytescheduler"]["iteration_s"] / rows["us-byte"]["iteration_s"]


def text(ends):
    """A range of ratios as per cent ahead."""
    low, high = (round(100 * (ratio - 1)) for ratio in ends)
    return f"{low} to {high} %"


def workers_and_speed(sweeps):
    """Sections 6.3 and 6.4."""
    result = []
    nodes = (2, 4, 8)
    over = {strategy: range_of(ahead(sweeps, "usbyte_fig10", network, strategy, workers) for network in NETWORKS for workers in nodes)
            for strategy in ("bytescheduler", "wfbp")}
    credit = range_of(without_overlap(sweeps, network, workers) for network in NETWORKS for workers in nodes)
    small = range_of(without_overlap(sweeps, network, workers, partition="500 kB") for network in NETWORKS for workers in nodes)
    own = {strategy: range_of(ahead(sweeps, "usbyte_fig10_v100s", network, strategy, workers) for network in V100S for workers in nodes)
           for strategy in ("bytescheduler", "wfbp")}
    result.append(ranged("section 6.3, Fig. 10", "10 Gbit/s, 2-8 nodes: US-Byte over ByteScheduler", (1.11, 1.26), over["bytescheduler"],
                         f"it hangs on start-ups: US-Byte pays one of 1.3 ms for each tensor, ByteScheduler's overlap up to its credit. With a credit of 1 US-Byte is ahead by "
                         f"{text(credit)}, with partitions of 4 Mbit too by {text(small)}: the paper's lead appears where the baseline's start-ups do not overlap. The GPU is not the reason: with traces of the paper's V100S and batches {text(own['bytescheduler'])}"))
    result.append(ranged("section 6.3, Fig. 10", "10 Gbit/s, 2-8 nodes: US-Byte over WFBP", (1.21, 1.56), over["wfbp"],
                         f"2 nodes hide everything of most networks, so that nothing is left to gain; at most it could be 100 % ([validation](validation.md)). With traces of the paper's V100S and batches {text(own['wfbp'])}"))
    for network in ("vgg16_p100_b64", "bert_base_v100_b32"):
        more = ahead(sweeps, "usbyte_fig10", network, "wfbp", 2)
        less = range_of(ahead(sweeps, "usbyte_fig10", other, "wfbp", 2) for other in NETWORKS if NAMES[other] not in ("VGG-16", "BERT-Base"))
        result.append(held("section 6.3", f"{NAMES[network]} gains more from US-Byte than networks that communicate less (2 nodes, over WFBP)", "more",
                           f"{percent(more - 1, 0)} against at most {percent(less[1] - 1, 0)}", more > less[1],
                           "on 8 nodes, where the others' many small tensors are bound by start-ups, it is the other way round"))
    linear = range_of(sweeps.row("usbyte_fig10", profile=network, strategy="us-byte", workers=8)["efficiency"] for network in NETWORKS)
    result.append(held("section 6.3, Fig. 10", "US-Byte has nearly linear scaling efficiency on 8 nodes", "nearly linear", f"{percent(linear[0], 0)} to {percent(linear[1], 0)}",
                       linear[0] > 0.9, "VGG-16's 553 MB and BERT's 438 MB take 1.07 and 0.84 s on a ring of these constants, more than twice their computing: no lossless schedule is linear there. "
                       f"The lower bound allows {percent(bound(sweeps, 'vgg16_p100_b64'), 0)} and {percent(bound(sweeps, 'bert_base_v100_b32'), 0)}"))
    fastest = {speed: {network: sweeps.row("usbyte_fig14", profile=network, strategy="us-byte", cluster=cluster)["iteration_s"] for network in NETWORKS}
               for speed, cluster in SPEEDS.items()}
    changes = {network: fastest[60][network] / fastest[100][network] - 1 for network in NETWORKS}
    most = max(changes, key=changes.get)
    stable = sum(change < 0.05 for change in changes.values())
    result.append(held("section 6.4, Fig. 14", "US-Byte's speed is stable between 60 and 100 Gbit/s", "6 of 6", f"{stable} of 6 within 5 %", stable == 6,
                       "" if stable == 6 else f"{NAMES[most]} still gains {percent(changes[most], 0)}: 438 MB at 60 Gbit/s take {0.438 * 0.469:.2f} s and its forward and backward pass 0.29 s, so that hardly "
                       "all of it overlaps"))
    own = {speed: sweeps.row("usbyte_fig14_rtx3090", profile="resnet50_rtx3090_b128", strategy="us-byte", cluster=cluster)["efficiency"] for speed, cluster in SPEEDS.items()}
    slower = min(speed for speed in SPEEDS if fastest[speed]["resnet50_p100_b64"] < 1.02 * compute(sweeps, "resnet50_p100_b64"))
    first = min(speed for speed in SPEEDS if own[speed] > 0.98)
    result.append(held("section 6.4, Fig. 14", "ResNet-50: communication is almost completely hidden only above 40 Gbit/s", "from 40 Gbit/s", f"from {first} Gbit/s", first in (40, 60),
                       f"with a trace of the paper's RTX 3090 and batch of 128; on a P100 with 64 it is hidden from {slower} Gbit/s"))
    for network, speed, value in (("vgg16_p100_b64", 20, 1.24), ("bert_base_v100_b32", 20, 1.21), ("resnet50_p100_b64", 10, 1.20)):
        ratio = ahead(sweeps, "usbyte_fig14", network, "bytescheduler", 8, cluster=SPEEDS[speed])
        why = "start-ups that overlap, as in Fig. 10"
        if speed == 20:
            why += f"; with a credit of 1 it is {times(without_overlap(sweeps, network, 8, SPEEDS[20]))}, with 4 Mbit too {times(without_overlap(sweeps, network, 8, SPEEDS[20], '500 kB'))}"
        result.append(compared("section 6.4, Fig. 14", f"{NAMES[network]}, {speed} Gbit/s: US-Byte over ByteScheduler", value, ratio, why))
    for strategy, printed, name in (("bytescheduler", (1.04, 1.07), "ByteScheduler"), ("wfbp", (1.09, 1.15), "WFBP")):
        ours = range_of(ahead(sweeps, "usbyte_fig14", network, strategy, 8, cluster=SPEEDS[60]) for network in NETWORKS)
        why = "0 where both hide everything" if strategy == "wfbp" else f"with a credit of 1 {text(range_of(without_overlap(sweeps, network, 8, SPEEDS[60]) for network in NETWORKS))}"
        result.append(ranged("section 6.4, Fig. 14", f"60 Gbit/s: US-Byte over {name}", printed, ours, why))
    return result


def bound(sweeps, network):
    """The efficiency of the lower bound on 8 nodes of 10 Gbit/s."""
    return compute(sweeps, network, "usbyte_fig10", workers=8) / sweeps.rows("usbyte_fig10", profile=network, workers=8)[0]["lower_bound_s"]


def compute(sweeps, network, config="usbyte_fig14", **wanted):
    row = sweeps.rows(config, profile=network, **wanted)[0]
    return row["forward_s"] + row["backward_s"]


def experiments(sweeps):
    """Sections 6.2, 6.3 and 6.5: model, order of the second phase, partition size."""
    result = [
        unjudged("Table 4", "the model's iteration differs from the measured one by", "less than 5 %", "the measured iterations are not published. What can be checked, is: the replay and the paper's closed form (Eq. 12) agree "
                 "to the picosecond (`tests/replay/training/priority_test.cpp`)"),
        unjudged("Table 5", "partitioning takes, of an iteration", "0.2-1.8 %", "a measured overhead of software that is not modelled"),
        unjudged("section 6.6, Fig. 17", "US-Byte needs less energy than ByteScheduler", "much less", "power is not modelled"),
    ]
    for network in ("resnet50_p100_b64", "vgg16_p100_b64"):
        rows = sweeps.rows("usbyte_fig13", profile=network)
        ordered = next(row["iteration_s"] for row in rows if "second_phase" not in row)
        random = [row["iteration_s"] for row in rows if "second_phase" in row]
        better = sum(time < ordered * (1 - 1e-12) for time in random)
        result.append(held("section 6.3, Fig. 13", f"{NAMES[network]}: Theorem 1's order is faster than 10,000 random ones", "always",
                           f"{better} of {len(random):,} are faster; the slowest takes {percent(max(random) / ordered - 1, 0)} more", better == 0 and len(random) == 10_000))
    slow = [row for row in sweeps.rows("usbyte_fig15") if row["wall_s"] > 10]
    result.append(held("section 6.5, Fig. 15", "Algorithm 2 takes less than 10 s whatever the partition", "always", "always" if not slow else "not always", not slow,
                       "planning and replay together, on the machine that made this page"))
    drops = {}
    for strategy in ("us-byte", "bytescheduler"):
        speeds = {network: {row["partition"]: row["speedup"] for row in sweeps.rows("usbyte_fig16", profile=network, strategy=strategy)} for network in NETWORKS}
        drops[strategy] = {network: 1 - by_size["100 kB"] / max(by_size.values()) for network, by_size in speeds.items()}
    worst = {strategy: max(found, key=found.get) for strategy, found in drops.items()}
    result.append(held("section 6.5, Fig. 16", "small partitions slow ByteScheduler down significantly", "significantly",
                       f"{percent(drops['bytescheduler'][worst['bytescheduler']], 0)} at 100 kB ({NAMES[worst['bytescheduler']]})",
                       max(drops["bytescheduler"].values()) > 0.1, "with VGG-16 and BERT-Base; the others' tensors are small anyway, and start-ups overlap"))
    result.append(held("section 6.5, Fig. 16", "US-Byte is less affected by the partition than ByteScheduler", "less",
                       f"{percent(max(drops['us-byte'].values()), 0)} at most, against {percent(max(drops['bytescheduler'].values()), 0)}",
                       max(drops["us-byte"].values()) < max(drops["bytescheduler"].values())))
    return result


def simulated(sweeps):
    """Section 6.7."""
    rows = {strategy: range_of(ahead(sweeps, "usbyte_fig18", network, strategy, 128, cluster="us-byte-10gbe") for network in NETWORKS)
            for strategy in ("wfbp", "bytescheduler")}
    printed = {strategy: range_of(ahead(sweeps, "usbyte_fig18", network, strategy, 128, cluster="us-byte-10gbe-as-printed") for network in NETWORKS)
               for strategy in ("wfbp", "bytescheduler")}
    credit = range_of(without_overlap(sweeps, network, 128) for network in NETWORKS)
    small = range_of(without_overlap(sweeps, network, 128, partition="500 kB") for network in NETWORKS)
    linear = {cluster: sweeps.row("usbyte_fig18", profile="resnet50_p100_b64", strategy="us-byte", workers=128, cluster=cluster)["efficiency"]
              for cluster in ("us-byte-10gbe", "us-byte-10gbe-as-printed")}
    return [
        impossible("section 6.7, Fig. 18", "128 nodes: US-Byte over WFBP", "234-332 %", text(rows["wfbp"]),
                   f"both send every tensor at least once, one after another, so that WFBP takes less than twice US-Byte's time whatever the profile and constants ([validation](validation.md)); "
                   f"with the constants as printed {text(printed['wfbp'])}"),
        ranged("section 6.7, Fig. 18", "128 nodes: US-Byte over ByteScheduler (credit 2)", (1.28, 1.69), rows["bytescheduler"],
               f"start-ups of 24 ms that overlap; ByteScheduler is behind only with VGG-16, whose partitions are many more than its tensors. With a credit of 1 {text(credit)}, "
               f"with 4 Mbit too {text(small)}; with the constants as printed {text(printed['bytescheduler'])}"),
        impossible("section 6.7, Fig. 18", "128 nodes: US-Byte is approximately linear with ResNet-50", "approximately linear", percent(linear["us-byte-10gbe"]),
                   f"161 all-reduces of 2(N-1) start-ups each: a = {1318.6 * 127 / 7 / 1000:.1f} ms, {161 * 1.3186 * 127 / 7 / 1000:.1f} s an iteration; with the constants as printed {percent(linear['us-byte-10gbe-as-printed'])}"),
    ]


def claims(sweeps):
    return workers_and_speed(sweeps) + experiments(sweeps) + simulated(sweeps)
