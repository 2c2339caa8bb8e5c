"""BML (Wang et al. 2018)."""
from claims.claim import compared, held, impossible, percent

TITLE = "BML"
FIGURES = ("bml_fig5", "bml_fig6", "bml_fig7")
INPUTS = """Fluid simulation of every link, no start-ups, as the paper's theory has it. Fig. 6 and 7: no time of the K40C is published for these networks, so their times are the
roofline's at the efficiency of TensorFlow on a K80 (*reconstructed*); what LeNet-5 and VGG-19 gain is shown for layer-by-layer sending (WFBP), which the paper describes, and in
the reasons for no overlap at all. The figures themselves stand below the claims."""
T_F = 574_668_960 * 8 / 40e9  # VGG-19's gradients on one link of 40 Gbit/s: the unit of Fig. 5
JOBS = {"bml_fig6": ("LeNet-5", [f"lenet5_2xk40c_b{batch}" for batch in (128, 256, 512, 1024)], 0.187, 0.564),
        "bml_fig7": ("VGG-19", [f"vgg19_2xk40c_b{batch}" for batch in (4, 16, 32, 64)], 0.292, 0.521)}


DETAILS = """**Fig. 5**, one synchronisation in units of T_F, the time of all gradients on one link; `fluid`, no start-ups:

| servers | BML, BCube(n,2) | parameter server, BCube(n,2) | hierarchical, Fat-Tree | parameter server, Fat-Tree |
|--:|--:|--:|--:|--:|
{synchronisations}
| closed form | 2(N−1)/(kN) | 2(n−1)/n | 2(N−1)/N | 2(N−1)/N |

The paper says that a parameter server on BCube doubles BML's time. By the load of the links it comes to 1.6 times with 16 servers, and nears 2 only for k = 2 and many ports.

**Fig. 6 and 7**: 9 servers, BML on BCube(3,2) against a parameter server on one switch, 40 Gbit/s. Nothing is fitted to the figures. What BML takes off an iteration:

| | sub-minibatch | iteration, switch | BCube | WFBP: less by | no overlap: less by | paper |
|---|---|--:|--:|--:|--:|---|
{iterations}

(Times: WFBP, which sends layer by layer as the paper describes; *no overlap* is `sync-easgd`, a bound. The paper's text gives the range only, and that the gain falls with the sub-minibatch.)

- Agrees: the synchronisation takes half ({halves}); the gain falls with the sub-minibatch; at the smallest it lies within the paper's range.
- Disagrees: at the largest the paper still gains 18.7 and 29.2 %, here everything overlaps, and even without overlap it would be 12.3 and 7.5 % (VGG-19 on GPUs at their peak: 9.2 %). Its axes end at 150 and
  4,400 s for 1000 iterations, where ours take 14 and 1149 s. A slower GPU would only lessen the gain, so its communication must have been far slower than the links: hosts, copies, and aggregation on CPUs are not
  modelled.
- Above 50 % is impossible when gradients are spread evenly. The paper's reason is TensorFlow's placement of whole tensors on servers, which `parameter-server` does not model: one tensor holds 98 % of LeNet-5's
  gradients and 72 % of VGG-19's, so that its server's link would need 16 times its bytes, 41 ms and 1.3 s, and BML at line rate would take some 90 % off. Hence BML, too, ran below line rate there."""


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


def milliseconds(seconds):
    return f"{1e3 * seconds:.4g} ms"


def details(sweeps):
    """What stands below the claims: the paper's figures in numbers."""
    synchronisations, iterations, halves = [], [], []
    for servers, bcube, tree in ((16, "bcube-4-2", "fat-tree-4"), (1024, "bcube-32-2", "fat-tree-16")):
        found = [synchronisation(sweeps, cluster, collective) for cluster, collective in
                 ((bcube, "bml"), (bcube, "parameter-server"), (tree, "hierarchical"), (tree, "parameter-server"))]
        synchronisations.append(f"| {servers} | " + " | ".join(f"{value:.4f}" for value in found) + " |")
    for config, (name, profiles, low, high) in JOBS.items():
        for profile in profiles:
            switch, bcube = (sweeps.row(config, profile=profile, collective=collective, strategy="wfbp")["iteration_s"] for collective in ("parameter-server", "bml"))
            paper = f"{percent(high)} at most" if profile == profiles[0] else f"{percent(low)} at least" if profile == profiles[-1] else ""
            iterations.append(f"| {name if profile == profiles[0] else ''} | {profile.rpartition('_b')[2]} | {milliseconds(switch)} | {milliseconds(bcube)} | "
                              f"{percent(saved(sweeps, config, profile, 'wfbp'))} | {percent(saved(sweeps, config, profile, 'sync-easgd'))} | {paper} |")
        whole = [sweeps.row(config, profile=profiles[0], collective=collective, strategy="sync-easgd")["comm_busy_s"] for collective in ("parameter-server", "bml")]
        halves.append(f"{name} {milliseconds(whole[0])} and {milliseconds(whole[1])}")
    return DETAILS.format(synchronisations="\n".join(synchronisations), iterations="\n".join(iterations), halves=", ".join(halves))
