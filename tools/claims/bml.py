"""BML (Wang et al. 2018)."""
from claims.claim import compared, held, impossible, percent

TITLE = "BML"
FIGURES = ("bml_fig5", "bml_fig6", "bml_fig7")
INPUTS = """Fluid simulation of every link, no start-ups, as the paper's theory has it. Fig. 6 and 7: no time of the K40C is published for these networks, so their times are the
roofline's at the efficiency of TensorFlow on a K80 (*reconstructed*); what LeNet-5 and VGG-19 gain is shown for layer-by-layer sending (WFBP), which the paper describes, and in
the reasons for no overlap at all. [The network](network.md) has the details."""
T_F = 574_668_960 * 8 / 40e9  # VGG-19's gradients on one link of 40 Gbit/s: the unit of Fig. 5
JOBS = {"bml_fig6": ("LeNet-5", [f"lenet5_2xk40c_b{batch}" for batch in (128, 256, 512, 1024)], 0.187, 0.564),
        "bml_fig7": ("VGG-19", [f"vgg19_2xk40c_b{batch}" for batch in (4, 16, 32, 64)], 0.292, 0.521)}


def units(value):
    return f"{value:.4f} T_F"


def synchronisation(sweeps, cluster, collective):
    return sweeps.row("bml_fig5", cluster=cluster, collective=collective)["comm_busy_s"] / T_F


def saved(sweeps, config, profile, strategy):
    """Which part of the Fat-Tree's iteration BML takes off."""
    times = {collective: sweeps.row(config, profile=profile, collective=collective, strategy=strategy)["iteration_s"] for collective in ("bml", "parameter-server")}
    return 1 - times["bml"] / times["parameter-server"]


def topology(sweeps, cluster):
    return sweeps.json("topology", "--cluster", cluster, "--json")


def claims(sweeps):
    result = []
    for servers, bcube, tree in ((16, "bcube-4-2", "fat-tree-4"), (1024, "bcube-32-2", "fat-tree-16")):
        bml, ps = synchronisation(sweeps, bcube, "bml"), synchronisation(sweeps, bcube, "parameter-server")
        hierarchical, flat = synchronisation(sweeps, tree, "hierarchical"), synchronisation(sweeps, tree, "parameter-server")
        theory = 2 * (servers - 1) / servers
        result += [
            compared("section 3.2, Fig. 5", f"{servers} servers: BML on BCube(n,2)", theory / 2, bml, form=units, within=0.001, neutral=None),
            compared("section 3.2, Fig. 5", f"{servers} servers: PS on a Fat-Tree", theory, flat, form=units, within=0.001, neutral=None),
            compared("section 3.2, Fig. 5", f"{servers} servers: hierarchical on a Fat-Tree is as slow as PS", theory, hierarchical, form=units, within=0.001, neutral=None),
            compared("abstract, section 3.2", f"{servers} servers: BML takes 1/k of the time of PS on a Fat-Tree (k = 2)", 1 / 2, bml / flat, within=0.001, form=lambda value: f"{value:.4f}"),
        ]
        n = round(servers ** 0.5)
        if abs(ps / bml / 2 - 1) <= 0.1:
            result.append(compared("section 3.3, Fig. 5", f"{servers} servers: PS on BCube takes twice BML's time", 2, ps / bml, f"2(n-1)/n = {2 * (n - 1) / n:.4f} T_F by the load of its links"))
        else:
            result.append(impossible("section 3.3, Fig. 5", f"{servers} servers: PS on BCube takes twice BML's time", "2.00x", f"{ps / bml:.2f}x",
                                     f"a server's {n * n - 1} flows leave through k = 2 ports: 2(n-1)/n = {2 * (n - 1) / n:.4f} T_F by the load of the links; the factor nears 2 only for many ports"))
    example = sweeps.row("bml_fig7", profile="vgg19_2xk40c_b64", collective="bml", strategy="sync-easgd")["comm_busy_s"] / T_F
    result.append(compared("section 3.2", "BCube(3,2): 16 T_C = 8/9 T_F", 8 / 9, example, form=units, within=0.001, neutral=None))
    for cluster, k, tree in (("bcube-32-2", 2, "fat-tree-32-10gbe"), ("bcube-16-4", 4, "fat-tree-16")):
        bcube, other = topology(sweeps, cluster), topology(sweeps, tree)
        result.append(compared("section 3.1", f"switches per server of BCube(n,{k}) over those of a Fat-Tree of the same switches: k/5", k / 5,
                               bcube["switches"] / bcube["hosts"] / (other["switches"] / other["hosts"]), within=0.001, form=lambda value: f"{value:.3f}"))
    for config, (name, profiles, low, high) in JOBS.items():
        gains = {strategy: [saved(sweeps, config, profile, strategy) for profile in profiles] for strategy in ("wfbp", "sync-easgd")}
        wfbp, whole = gains["wfbp"], gains["sync-easgd"]
        text = f"{name}: BML reduces the job's time by at {{}}"
        if high > 0.5:
            result.append(impossible(f"section 4.3, {figure(config)}", text.format("most"), percent(high), percent(max(wfbp)),
                                     f"half the synchronisation is the most that spreading evenly allows; the paper says 0-50 % itself, and blames TensorFlow's placement of whole tensors "
                                     f"on servers. Without any overlap: {percent(max(whole))}"))
        result.append(compared(f"section 4.3, {figure(config)}", text.format("least"), low, max(min(wfbp), 1e-9), f"everything overlaps here; without any overlap it would be {percent(min(whole))}. The "
                               "paper's iterations are four to ten times as long as its links and GPUs explain: hosts, copies and aggregation on CPUs are not modelled",
                               form=percent, neutral=0.001))
        falling = all(gain == sorted(gain, reverse=True) for gain in gains.values())
        result.append(held(f"section 4.3, {figure(config)}", f"{name}: the smaller the sub-minibatch, the larger the gain", "yes",
                           ", ".join(percent(gain, 0) for gain in wfbp), falling))
    return result


def figure(config):
    return f"Fig. {config[-1]}"
