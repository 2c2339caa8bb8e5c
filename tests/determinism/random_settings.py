"""Random settings of all commands that print JSON or CSV, on shipped inputs: each takes under two seconds."""

import random
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "docs" / "examples"

SMALL = ("googlenet_k80_b32", "resnet50_k80_b16", "alexnet_p102_b64", "vgg16_v100_b128", "lenet5_2xk40c_b128",
         "resnet20_p102_b128", "bert_base_v100_b32", "resnet18_mi300x_b10_bf16", "inception_v3_p100_b64")
LARGE = ("llama3-8b_h100_b1_bf16", "gpt-3b_h100_b1", "gpt2-xl_a100_b8_bf16", "bert-large_h100_b8", "llama3-70b_h100_b1_bf16_tp8",
         "vit-l_h100_b128_bf16")
CLUSTERS = ("k80-10gbe", "v100-10gbe", "v100-56gbib", "us-byte-10gbe", "us-byte-100gbps", "gtopk-1gbe", "mergecomp-pcie")
FABRICS = ("fat-tree-4", "leaf-spine-64", "star-64-10gbe", "torus-8x8", "bcube-4-2", "h100x8-8x400gbps", "dgx-8x8-100gbps",
           "a100x8-8x200gbps", "v100x4-pcie-10gbe", "nvl72", "gh200x4-4x200gbps")
STRATEGIES = ("s-sgd", "wfbp", "sync-easgd", "mg-wfbp", "optimal-merge", "ddp", "horovod", "bytescheduler", "us-byte", "p3", "byteps",
              "dear", "mergecomp", "fsdp2", "fsdp1", "composer", "zero-1", "zero-2", "zero-3", "megatron", "best")
COLLECTIVES = ("ring", "double-binary-tree", "halving-doubling", "recursive-doubling", "binary-tree", "parameter-server", "hierarchical",
               "nccl", "all-to-all", "reduce-scatter", "broadcast", "pat", "in-network")
CODECS = ("fp16", "topk", "qsgd", "onebit", "signsgd", "dgc", "ef-signsgd", "randk")
SCHEDULES = ("gpipe", "1f1b", "looped-bfs", "interleaved", "zb-h1", "zbv", "dualpipe-v")
DEVICES = ("a100-40gb", "a100-80gb", "b200", "h100", "h200", "v100", "k80")

# Options of one run, each with its values; a setting has a few of them.
OVERRIDES = {
    "--collective": COLLECTIVES[:8],
    "--codec": CODECS,
    "--accumulate": ("2", "4"),
    "--zero": ("1", "2"),
    "--shard-group": ("2", "4"),
    "--memory": ("16GB", "40GB", "80GB"),
    "--forward-ratio": ("0.5", "0.33"),
    "--bandwidth": ("x2", "x0.5", "25Gbit/s"),
    "--latency": ("x2", "1us", "50us"),
    "--interference": ("1", "1.2"),
    "--batch": ("2", "16", "48"),
    "--stragglers": ("1:1.5", "0:1.2,1:2"),
    "--spread": ("5%", "10%"),
    "--option": ("start=ranks", "launch=20us", "bucket_cap=10MiB", "density=0.01"),
}
FABRIC_OVERRIDES = {  # if the cluster has a topology or nodes
    "--fidelity": ("alpha-beta", "fluid", "message"),
    "--inner-bandwidth": ("x2", "100GB/s"),
    "--inner-latency": ("x2", "1us"),
    "--rails": ("1", "2"),
    "--node": ("4", "8"),
    "--placement": ("packed", "spread"),
    "--routing": ("d-mod-k", "adaptive", "ecmp:flows=2,seed=3"),
}
LARGE_OVERRIDES = {"--precision": ("bf16", "fp32"), "--recompute": ("full",)}
PIPELINE = {"--pp": ("2", "4"), "--schedule": SCHEDULES, "--chunks": ("1", "2"), "--micro-batches": ("4", "8", "16"),
            "--stages": ("equal", "balanced")}


class Settings:
    """Draws settings from one seed; equal seeds give equal settings."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def one(self, values):
        return self.random.choice(values)

    def some(self, values, most):
        return self.random.sample(values, self.random.randint(1, most))

    def few(self, options, most):
        """At most so many of the options, each with one of its values."""
        chosen = self.random.sample(sorted(options), self.random.randint(0, most))
        return [word for option in chosen for word in (option, self.one(options[option]))]

    def cluster(self, fabric):
        if self.random.random() < 0.1:
            return ["--nodes", "4", "--gpus", "8", "--network", self.one(("100Gbit/s", "25Gbit/s")), "--inner", "300GB/s"]
        return ["--cluster", self.one(FABRICS if fabric else CLUSTERS)]

    def scenario(self, strategy=True, most=2):
        """A profile on a cluster, with a few overrides; one in four is a pipeline."""
        pipeline, large, fabric = (self.random.random() < share for share in (0.25, 0.4, 0.5))
        words = ["--profile", self.one(LARGE if large else SMALL), *self.cluster(fabric), "--workers", self.one(("2", "4", "8", "16", "32"))]
        if strategy:
            words += ["--strategy", self.one(STRATEGIES[:-1] if pipeline else STRATEGIES)]
        if pipeline:
            words += self.few(PIPELINE, 3)
        return words + self.few(OVERRIDES | (FABRIC_OVERRIDES if fabric else {}) | (LARGE_OVERRIDES if large else {}), most)

    def run(self):
        words = self.scenario(most=3)
        return ["run", *words, *(["--fidelity", "fluid", "--links"] if "--fidelity" not in words and self.random.random() < 0.1 else []), "--json"]

    def plan(self):
        return ["plan", *self.scenario(), "--json"]

    def compare(self):
        words = ["compare", *self.scenario(strategy=False), "--strategies", ",".join(self.some(STRATEGIES[:-1], 4))]
        return [*words, self.one(("--json", "--csv"))]

    def whatif(self):
        words = ["whatif", "--profile", self.one(SMALL), *self.cluster(self.random.random() < 0.2), "--workers", self.one(("4", "8", "16"))]
        return [*words, *self.few({"--strategy": STRATEGIES[:-1], "--seed": "123", "--rails": "12"}, 2), "--budget", "2", "--json"]

    def recommend(self):
        words = ["recommend", "--profile", self.one(SMALL), *self.cluster(self.random.random() < 0.2), "--workers", self.one(("4", "8", "8:16:x2"))]
        chosen = ["--strategies", ",".join(self.some(("wfbp", "ddp", "horovod", "fsdp2", "mg-wfbp", "zero-1", "p3"), 3))]
        return [*words, *chosen, "--budget", self.one("248"), *self.few({"--tie": ("0", "5%"), "--now": ("ddp",), "--memory": ("16GB",)}, 2), "--json"]

    def layouts(self):
        return ["recommend", "--model", self.one(("llama3-8b", "gpt2", "bert-base")), "--device", self.one(("h100", "a100-80gb")),
                "--cluster", "h100x8-8x400gbps", "--workers", self.one(("8", "16")), "--global-batch", self.one(("16", "32")),
                "--budget", self.one("24"), "--json"]

    def tune(self):
        words = ["tune", "--profile", self.one(SMALL), *self.cluster(self.random.random() < 0.2), "--workers", self.one(("4", "16"))]
        chosen = ["--strategy", self.one(("ddp", "horovod", "bytescheduler", "us-byte", "p3", "dear", "fsdp2"))]
        return [*words, *chosen, "--budget", self.one("468"), "--method", self.one(("bayes", "grid")), self.one(("--json", "--csv"))]

    def collective(self):
        words = ["collective", *self.cluster(self.random.random() < 0.7), "--workers", self.one(("2", "4", "8", "16"))]
        few = {key: (OVERRIDES | FABRIC_OVERRIDES)[key] for key in ("--fidelity", "--bandwidth", "--latency", "--placement", "--routing")}
        return [*words, "--bytes", self.one(("1MiB", "8B:1GiB:x16", "100MB")), *self.few({**few, "--collective": COLLECTIVES}, 3), "--json"]

    def topology(self):
        few = {key: (OVERRIDES | FABRIC_OVERRIDES)[key] for key in ("--bandwidth", "--placement", "--rails", "--node")}
        return ["topology", *self.cluster(True), *self.few(few, 2), "--json"]

    def jobs(self):
        extra = self.one(([], ["--each"], ["--place"], ["--stagger", "4"], ["--minimise", "mean"]))
        return ["jobs", EXAMPLES / "two_jobs.json", *extra, "--json"]

    def goodput(self):
        times = {"--mtbf": ("100 d", "700 d", "500 h"), "--checkpoint": ("30 s", "5 min"), "--restart": ("1 min", "10 min")}
        words = [word for option, values in times.items() for word in (option, self.one(values))]
        few = {"--interval": ("optimal", "1 h"), "--spares": ("0", "2"), "--seed": ("1", "2"), "--horizon": ("30 d",)}
        return ["goodput", *self.scenario(most=1), *words, *self.few(few, 2), "--json"]

    def schedule(self):
        return ["schedule", self.one(SCHEDULES), "--pp", self.one("234"), "--micro-batches", self.one(("4", "8", "6")), *self.few({"--chunks": "123"}, 1)]

    def estimate(self):
        words = ["--model", self.one(("llama3-8b", "gpt2", "bert-base", "vit-b", "resnet50"))]
        few = {"--seq": ("512", "1024", "4096"), "--precision": ("bf16", "fp32"), "--recompute": ("full", "selective"),
               "--optimizer": ("adam", "sgd"), "--mfu": ("40%",), "--tp": ("2",)}
        return ["estimate", *words, "--device", self.one(DEVICES), "--batch", self.one("1248"), *self.few(few, 2), "--out", "out.json"]

    def codec(self):
        words = ["codec", "--codec", self.one((*CODECS, "gtopk")), "--elements", self.one(("100", "4097")), "--repetitions", "1"]
        return [*words, "--iterations", "3", *self.few({"--workers": "248", "--seed": "12", "--correlation": ("0.5",)}, 2), "--json"]

    def diagnose(self):
        return ["diagnose", EXAMPLES / "slow_worker.csv", *self.few({"--steps": ("0-1", "1-2", "2")}, 1), "--json"]

    def validate(self):
        return ["validate", EXAMPLES / "six_layers_measured.csv", "--json"]

    def calibrate(self):
        """A log like OSU's, of a line with noise."""
        start, byte = self.random.uniform(5, 50), self.random.uniform(1e-4, 1e-2)
        rows = "".join(f"{2 ** size:<10} {start + byte * 2 ** size * self.random.uniform(0.95, 1.05):.2f}\n" for size in range(3, 24))
        few = {"--from": ("1KiB",), "--gamma": ("0.1 ns/B",), "--collective": ("ring", "binary-tree")}
        table = ["--table"] if self.random.random() < 0.3 else []
        return [("osu.log", "# OSU MPI Allreduce Latency Test v7.0\n# Size       Avg Latency(us)\n" + rows),
                "calibrate", "osu.log", "--workers", self.one(("4", "8")), *self.few(few, 2), *table, "--json"]

    def export(self):
        kind = self.one(("chakra-json", "csv"))
        plan = ["--cluster", self.one(CLUSTERS), "--workers", self.one("48"), "--strategy", self.one(STRATEGIES)]
        return ["export", "--to", kind, "--profile", self.one(SMALL), *([] if kind == "csv" else plan), "--out", "out.json"]

    def draw(self):
        """The words of one command. A pair among them is a file that it needs: its name and text."""
        often = [self.run] * 8 + [self.compare] * 4 + [self.plan] * 3 + [self.collective] * 2 + [self.tune, self.recommend, self.goodput] * 2
        once = [self.whatif, self.layouts, self.topology, self.jobs, self.schedule, self.estimate, self.codec, self.diagnose, self.validate,
                self.calibrate, self.export]
        return self.one(often + once)()
