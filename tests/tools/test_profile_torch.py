#!/usr/bin/env python3
"""The profiler, on this machine's CPU. Run: python3 tests/tools/test_profile_torch.py

Needs PyTorch and torchvision (tools/setup.sh --with torch) and says so where they are missing.
"""

import contextlib
import importlib.util
import io
import json
import math
import os
import subprocess
import sys
import textwrap
import time
import unittest
import unittest.mock
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from program import PROGRAM, ROOT, Case, tool_named  # noqa: E402

TOOL = ROOT / "tools" / "profile_torch.py"
PYTHON = [ROOT / "tools" / "python.sh", "--with", "torchvision"]
OWN = Path(__file__).resolve().parent / "own_modules.py"

if __name__ == "__main__" and not importlib.util.find_spec("torchvision"):  # start again with a Python that has it
    if subprocess.run([*PYTHON, "-c", ""], capture_output=True, check=False).returncode:
        sys.exit(print("skipped: no python3 here has PyTorch and torchvision (tools/setup.sh --with torch)"))
    os.execv(PYTHON[0], ["python.sh", *PYTHON[1:], *sys.argv])

import torch  # noqa: E402

tool = tool_named("profile_torch")
from torch_profile import gradients, machine, recorder, subjects  # noqa: E402

CPU = torch.device("cpu")
torch.set_num_threads(1)


class Counter:
    """A clock that says 1, 2, 3, …: whatever lies between two moments takes as long as moments were asked for."""

    def __init__(self):
        self.count = 0

    def now(self):
        self.count += 1
        return self.count

    @staticmethod
    def microseconds(begin, end):
        return end - begin


def recorded(model, batch=2, shape=None, clock=recorder.CpuClock, iterations=2):
    """(subject, recorder, Times of each of some iterations, their Marks) of a model."""
    subject = subjects.make_subject(model, batch, shape, CPU, torch.float32)
    hooks = recorder.Recorder(subject, clock)
    marks = [hooks.record() for _ in range(iterations)]
    return subject, hooks, [hooks.times(one) for one in marks], marks


def inline(model, **how):
    """The inline model of the trace of one iteration."""
    subject, hooks, times, _ = recorded(model, **how)
    layers = tool.trace_order(list(times[-1].forward), list(times[-1].backward))
    return tool.inline_model(subject, hooks, tool.Measurement(layers, *[None] * 6))


def backward_order(model):
    """The tensors of an inline model in the order in which the simulator takes their gradients as ready."""
    return [tensor["name"] for layer in reversed(model["layers"]) for tensor in reversed(layer["tensors"])]


def layers_of(model):
    """{layer: its tensors in any order} of the layers with tensors, in their order."""
    return [(layer["name"], sorted((one["name"], one["shape"]) for one in layer["tensors"]))
            for layer in model["layers"] if layer.get("tensors")]


def shipped(name):
    """A file of models/."""
    return json.loads((ROOT / "models" / f"{name}.json").read_text(encoding="utf-8"))


def run_tool(*arguments, **how):
    """The finished process of the script."""
    return subprocess.run([sys.executable, TOOL, *map(str, arguments)], capture_output=True, text=True, check=False, **how)


def run_here(*arguments):
    """(exit status, standard error) of the script in this process: loading PyTorch takes seconds."""
    errors = io.StringIO()
    with contextlib.redirect_stderr(errors), contextlib.redirect_stdout(io.StringIO()):
        try:
            status = tool.main([str(one) for one in arguments])
        except SystemExit as end:
            status = end.code
    return status, errors.getvalue()


class InFolder(Case):
    """With a folder of its own."""

    def profile(self, model, *options):
        """Profile on one thread; (the trace, the process)."""
        out = self.folder / "trace.json"
        done = run_tool(model, "--device", "cpu", "--threads", 1, "--out", out, *options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(out.read_text(encoding="utf-8")), done


class Whole(InFolder):
    """Traces as users make them."""

    def profile_within(self, tolerance, *arguments):
        """Profile until the layers' sum is within the tolerance of the undisturbed iteration: others compute on this
        machine, too, so it may take several tries; the tolerance stays."""
        differences = []
        for _ in range(4):
            trace, done = self.profile(*arguments)
            total = math.fsum(layer[key] for layer in trace["layers"] for key in ("forward", "backward"))
            undisturbed = trace["details"]["undisturbed_us"]["iteration"]["middle_half"]
            self.assertAlmostEqual(total, trace["details"]["sum_of_layers_us"], delta=0.001 * len(trace["layers"]))
            self.assertAlmostEqual(total / undisturbed - 1, trace["details"]["difference"], places=4)
            differences.append(total / undisturbed - 1)
            if abs(differences[-1]) <= tolerance:
                return trace, done
        return self.fail(f"the layers' sum is off by {differences}")

    def test_resnet18_adds_up_and_replays(self):
        trace, done = self.profile_within(0.1, "resnet18", "--batch", 4, "--input", "3x64x64", "--iterations", 24)
        self.assertEqual((trace["model"], trace["origin"], trace["batch_size"], trace["precision"], trace["unit"]),
                         ("resnet18", "measured", 4, "fp32", "us"))
        self.assertEqual(trace["framework"], f"PyTorch {torch.__version__}")
        self.assertIn("62 tensors, 11,689,512 parameters", done.stdout)  # torchvision's model page
        self.assertIn(f"({trace['details']['difference']:+.1%})", trace["source"])
        self.assertTrue(all(layer[key] > 0 for layer in trace["layers"] for key in ("forward", "backward")))
        # ResNet-18 has 62 tensors on 41 layers; 17 calls of its ReLUs (2 in each of 8 blocks, 1 before), 2 poolings
        self.assertEqual(len(trace["layers"]), 41 + 17 + 2)
        self.assertIn("layer1.0.relu:2", [layer["name"] for layer in trace["layers"]])
        result = subprocess.run([PROGRAM, "run", "--profile", self.folder / "trace.json", "--cluster", "k80-10gbe", "--strategy",
                                 "wfbp", "--json"], capture_output=True, text=True, check=True)
        result = json.loads(result.stdout)
        for key in ("forward", "backward"):
            total = math.fsum(layer[key] for layer in trace["layers"])
            self.assertAlmostEqual(result[f"{key}_s"] * 1e6, total, places=3)
        self.assertEqual((result["origin"], result["collectives"]), ("measured", 62))

    def test_vgg11_adds_up(self):
        # Half a gigabyte of gradients: five iterations are seconds, and another test measures an update.
        trace, _ = self.profile_within(0.1, "vgg11", "--batch", 2, "--input", "3x32x32", "--iterations", 5, "--warmup", 2,
                                       "--optimizer", "none")
        model = trace["model"]  # models/ has no VGG-11: it comes inline
        self.assertEqual([model["name"], sum(len(layer["tensors"]) for layer in model["layers"])], ["vgg11", 22])
        self.assertEqual(sum(math.prod(one["shape"]) for layer in model["layers"] for one in layer["tensors"]), 132_863_336)

    def test_own_module_replays(self):
        trace, done = self.profile(f"{OWN}:words", "--batch", 4, "--iterations", 8)
        self.assertTrue(done.stderr)
        self.assertEqual(trace["details"]["tensors_without_gradient"], ["unused.weight", "unused.bias"])
        run = subprocess.run([PROGRAM, "plan", "--profile", self.folder / "trace.json", "--cluster", "k80-10gbe", "--strategy",
                              "wfbp", "--json"], capture_output=True, text=True, check=True)
        planned = [slice_["tensor"] for block in json.loads(run.stdout)["blocks"] for slice_ in block["slices"]]
        self.assertEqual(planned, backward_order(trace["model"]))

    def test_blocks_are_layers(self):
        """A member of a list of modules is one layer with all its tensors; lists within it make no layers of their own."""
        trace, done = self.profile(f"{OWN}:stack", "--batch", 4, "--iterations", 8, "--layers", "blocks")
        self.assertNotIn("apart", done.stderr)
        self.assertEqual(trace["model"]["name"], "stack_blocks")
        self.assertEqual({layer["name"]: sorted(one["name"] for one in layer["tensors"]) for layer in trace["model"]["layers"]},
                         {"embedding": ["embedding.weight"], "head": ["head.weight"],
                          "blocks.0": ["blocks.0.0.bias", "blocks.0.0.weight"], "blocks.1": ["blocks.1.0.bias", "blocks.1.0.weight"],
                          "blocks.2": [f"blocks.2.experts.{place}.{kind}" for place in (0, 1) for kind in ("bias", "weight")]})
        self.assertFalse([layer for layer in trace["layers"] if layer["name"].startswith("blocks") and "backward_weight" in layer])
        self.assertFalse([layer for layer in trace["layers"] if layer["forward"] <= 0])

    @unittest.skipUnless(hasattr(torch, "compile"), "PyTorch 2")
    def test_compiled_blocks_have_the_same_layers(self):
        eager, _ = self.profile(f"{OWN}:stack", "--batch", 4, "--iterations", 5, "--layers", "blocks")
        compiled, _ = self.profile(f"{OWN}:stack", "--batch", 4, "--iterations", 5, "--compile")
        self.assertIn("blocks compiled", compiled["framework"])
        self.assertEqual(*(sorted(layer["name"] for layer in trace["layers"]) for trace in (eager, compiled)))

    def test_files_are_named_by_model_device_batch_and_precision(self):
        done = run_tool("resnet18", "--batch", 2, "--input", "3x32x32", "--precision", "bf16", "--device", "cpu", "--iterations", 5,
                        "--warmup", 1, "--out", self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        (file,) = self.folder.iterdir()
        self.assertEqual(file.name, f"resnet18_{machine.short_name(CPU)}_b2_bf16.json")
        self.assertEqual(json.loads(file.read_text(encoding="utf-8"))["precision"], "bf16")

    def test_chrome_trace(self):
        file = self.folder / "chrome.json"
        done = run_tool(f"{OWN}:residual", "--batch", 2, "--device", "cpu", "--iterations", 5, "--chrome-trace", file,
                        "--out", self.folder / "trace.json")
        if not torch.profiler.kineto_available():  # as Debian builds it
            self.assertEqual((done.returncode, list(self.folder.iterdir())), (2, []))
            self.assertIn("--chrome-trace: ", done.stderr)
            self.skipTest("this PyTorch is built without Kineto")
        self.assertEqual(done.returncode, 0, done.stderr)
        names = [event["name"] for event in json.loads(file.read_text(encoding="utf-8"))["traceEvents"]]
        self.assertEqual(len({name for name in names if name.startswith("ProfilerStep#")}), 3)

    def test_a_list_of_models(self):
        """profile_all.sh goes on after a failure, skips what is there, and stops when the time is up."""
        script, models = ROOT / "tools" / "profile_all.sh", self.folder / "list"
        quick = "--iterations 5 --warmup 1"
        models.write_text(f"# mine\n\nown {OWN}:residual 2 fp32 {quick}\nbad resnet0 2 fp32\nown {OWN}:residual 3 bf16 {quick}\n")
        out = self.folder / "out"
        out.mkdir()

        def run_all(*options):
            return subprocess.run([script, "--device", "cpu", "--out", out, "--list", models, *options], capture_output=True,
                                  text=True, check=False, env={**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"})

        late = run_all("--budget", "1")
        self.assertEqual((late.returncode, list(out.iterdir())), (3, []), late.stderr)
        first = run_all()
        name = machine.short_name(CPU)
        made = [out / f"own_{name}_b2.json", out / f"own_{name}_b3_bf16.json"]
        self.assertEqual((first.returncode, sorted(out.iterdir())), (1, made), first.stderr)
        self.assertIn(f"profile_all.sh: failed: {out}/bad_{name}_b2.json\n", first.stderr)
        before = [file.stat().st_mtime_ns for file in made]
        models.write_text("\n".join(line for line in models.read_text().splitlines() if not line.startswith("bad")))
        again = run_all()
        self.assertEqual((again.returncode, again.stderr), (0, ""))
        self.assertEqual([file.stat().st_mtime_ns for file in made], before)


class Order(unittest.TestCase):
    """Which layers there are, and the order of their gradients."""

    OWN = [f"{OWN}:{name}" for name in ("residual", "words", "words_reentrant", "lstm", "by_name")]

    def independent(self, model):
        """The tensors in the order in which hooks of their own see their gradients, without our recorder."""
        subject = subjects.make_subject(model, 2, "3x64x64", CPU, torch.float32)
        order = []
        for name, parameter in subject.module.named_parameters():
            if parameter.requires_grad:
                attach = getattr(parameter, "register_post_accumulate_grad_hook", parameter.register_hook)
                attach(lambda _, name=name: order.append(name))
        subject.loss(subject.module(*subject.inputs, **subject.keywords)).backward()
        return order

    def test_gradients_are_ready_in_this_order(self):
        for model in ["resnet18", "googlenet", *self.OWN]:
            with self.subTest(model):
                order = self.independent(model)
                self.assertEqual(backward_order(inline(model, shape="3x64x64")), order)
                self.assertGreater(len(order), 1)

    def test_sums_are_the_whole_iteration(self):
        """By the counting clock, exactly: every moment lies in one layer's forward or backward."""
        for model in ["resnet18", "googlenet_aux", *self.OWN]:
            with self.subTest(model):
                _, _, times, marks = recorded(model, shape="3x64x64", clock=Counter())
                for one, mark in zip(times, marks):
                    self.assertEqual(sum(one.forward.values()), mark.middle - mark.begin)
                    self.assertEqual(sum(one.backward.values()), mark.end - mark.middle)
                    self.assertGreaterEqual(min([*one.forward.values(), *one.backward.values()]), 0)

    def test_residual(self):
        """The skip's convolution runs last, so its gradient is first; the ReLU that is used twice is two layers."""
        _, _, times, _ = recorded(f"{OWN}:residual")
        forward = ["first", "norm", "relu", "second", "skip", "relu:2", "head"]
        self.assertEqual(list(times[-1].forward), forward)
        self.assertEqual(list(times[-1].backward), forward[::-1])

    def test_words(self):
        """A shared gradient is complete only after its first use, a reused one after its first call."""
        model = inline(f"{OWN}:words")
        held = {layer["name"]: sorted(one["name"] for one in layer["tensors"]) for layer in model["layers"]}
        self.assertEqual(held, {
            "embedding": ["embedding.weight"], "(root)": ["position"],
            "attention": ["attention.in_proj_bias", "attention.in_proj_weight"],
            "attention.out_proj": ["attention.out_proj.bias", "attention.out_proj.weight"],  # used by its parent, never called
            "twice": ["twice.bias", "twice.weight"], "relu": [], "twice:2": [], "frozen": [],
            "block.0": ["block.0.bias", "block.0.weight"], "block.1": [], "block.2": ["block.2.bias", "block.2.weight"], "head": []})
        self.assertEqual(list(held)[-4:], ["block.0", "block.1", "block.2", "head"])
        self.assertEqual(list(held).index("relu"), list(held).index("twice") + 1)  # though changed in place, a view
        self.assertEqual(backward_order(model)[-1], "embedding.weight")

    def test_layers_without_gradients_have_backward_times(self):
        for model, layers in ((f"{OWN}:words", ["head", "block.1", "frozen", "twice:2", "relu"]), (f"{OWN}:residual", ["relu:2", "relu"])):
            _, _, times, _ = recorded(model)
            self.assertLessEqual(set(layers), set(times[-1].backward))

    def test_reentrant_checkpoint_hides_its_layers_without_gradients(self):
        _, hooks, times, _ = recorded(f"{OWN}:words_reentrant")
        self.assertEqual([hooks.recomputes, recorded(f"{OWN}:residual")[1].recomputes], [True, False])  # which the trace says
        self.assertIn("block.1", times[-1].forward)
        self.assertNotIn("block.1", times[-1].backward)  # its time is in block.2's

    def test_gradients_far_apart_wait_for_the_last(self):
        """The scale's gradient is the first, but it shares the layer of the shift, whose gradient is the last."""
        self.assertEqual(self.independent(f"{OWN}:far")[::3], ["scale", "shift"])
        _, _, times, marks = recorded(f"{OWN}:far", clock=Counter())
        self.assertEqual(list(times[-1].backward), ["layer", "(root)"])
        ticks = {name: moment for _, name, moment in marks[-1].ends}
        self.assertEqual(times[-1].apart["(root)"], ticks["shift"] - ticks["scale"])
        self.assertEqual(sum(times[-1].backward.values()), marks[-1].end - marks[-1].middle)

    def test_between_layers(self):
        """What runs between two layers belongs to the one before, forward and backward; the loss to the last."""
        _, _, times, _ = recorded(f"{OWN}:slow", iterations=8)
        for layer, forward_ms, backward_ms in (("first", 20, 40), ("second", 10, 30)):
            # a sleep is never shorter; the shortest of several iterations is hardly longer
            self.assertTrue(forward_ms <= min(one.forward[layer] for one in times) / 1e3 < forward_ms + 9)
            self.assertTrue(backward_ms <= min(one.backward[layer] for one in times) / 1e3 < backward_ms + 9)

    def test_layers_that_come_at_times_are_refused(self):
        subject = subjects.make_subject(f"{OWN}:moody", 2, None, CPU, torch.float32)
        with self.assertRaisesRegex(tool.InputError, "the layers differ between iterations"):
            tool.measure(subject, recorder.CpuClock, 8, 1, 60)

    def test_nothing_stays_attached(self):
        subject, hooks, _, _ = recorded(f"{OWN}:residual")
        for module in subject.module.modules():
            self.assertFalse(module._forward_pre_hooks or module._forward_hooks)
        before = len(hooks.ends)
        recorder.iterate(subject, recorder.CpuClock)
        self.assertEqual(len(hooks.ends), before)

    def test_tensors_are_those_of_the_model_files(self):
        """Also on the same layers, in the same order, so that the trace names the shipped model."""
        # The smallest images that the networks accept keep this short.
        for model, shape in {"alexnet": "3x64x64", "densenet161": "3x32x32", "densenet201": "3x32x32", "googlenet": "3x32x32",
                             "googlenet_aux": "3x64x64", "inception_v3": "3x75x75", "mobilenet_v2": "3x32x32", "resnet152": "3x32x32",
                             "inception_v3_aux": "3x299x299", "resnet18": "3x32x32", "resnet50": "3x32x32", "resnext50_32x4d": "3x32x32",
                             "squeezenet1_0": "3x32x32", "vgg16": "3x32x32", "vgg19": "3x32x32"}.items():
            with self.subTest(model):
                found = inline(model, shape=shape, iterations=1)
                self.assertEqual(layers_of(found), layers_of(shipped(model)))
                self.assertTrue(tool.shipped_model(found))
                found["layers"][0]["tensors"][0]["shape"][0] += 1
                self.assertFalse(tool.shipped_model(found))


STAND_IN = textwrap.dedent("""
    # As much of the package's interface as the profiler uses, with small modules behind it.
    import torch
    class GPT2Config:
        vocab_size, n_embd = 50, 8
    class GPT2LMHeadModel(torch.nn.Module):
        def __init__(self, config):
            super().__init__()
            assert config.use_cache is False
            self.wte, self.ln_f = torch.nn.Embedding(config.vocab_size, config.n_embd), torch.nn.LayerNorm(config.n_embd)
            self.lm_head = torch.nn.Linear(config.n_embd, config.vocab_size, bias=False)
            self.lm_head.weight = self.wte.weight
        def forward(self, input_ids, labels):
            logits = self.lm_head(self.ln_f(self.wte(input_ids)))
            loss = torch.nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten())
            return {"loss": loss, "logits": logits}
""")


class Event:
    """As much of torch.cuda.Event as the clock uses, on the CPU's clock."""

    def __init__(self, enable_timing):
        assert enable_timing

    def record(self):
        self.nanoseconds = time.perf_counter_ns()

    def elapsed_time(self, end):
        return (end.nanoseconds - self.nanoseconds) / 1e6  # milliseconds


class Gpu(InFolder):
    """What can be checked of the GPU's part where there is none: the same events and queries, played by the CPU."""

    def test_events(self):
        subject = subjects.make_subject(f"{OWN}:slow", 2, None, CPU, torch.float32)
        with unittest.mock.patch("torch.cuda.Event", Event), unittest.mock.patch.object(recorder.CudaClock, "settle", lambda: None):
            hooks, measured = tool.measure(subject, recorder.CudaClock, 6, 1, 60)
        self.assertEqual((hooks.ready, measured.layers, measured.iterations),
                         (["second.bias", "second.weight", "first.bias", "first.weight"], ["first", "second"], 6))
        self.assertTrue(20_000 <= measured.forward["first"].middle and 40_000 <= measured.backward["first"].middle)
        self.assertGreaterEqual(measured.whole["iteration"].middle, 100_000)  # 20 + 10 + 40 + 30 ms of pauses

    def test_facts(self):
        """nvidia-smi is asked while the GPU works; an older one that lacks a field, or none, costs the facts only."""
        script = self.folder / "nvidia-smi"
        calls = []
        for line, facts in (("535.104.05, 1980 MHz, 1980 MHz, 2619 MHz, 350.12 W, 700.00 W, 45, 81559 MiB",
                             {"driver": "535.104.05", "sm_clock": "1980 MHz", "sm_clock_max": "1980 MHz", "memory_clock": "2619 MHz",
                              "power": "350.12 W", "power_limit": "700.00 W", "temperature": "45", "memory": "81559 MiB"}),
                            ('Field "power.draw" is not a valid field to query.', {})):
            script.write_text(f"#!/bin/sh\nsleep 0.2\necho \"$@\" > '{self.folder}/asked'\necho '{line}'\n")
            script.chmod(0o755)
            with unittest.mock.patch.dict(os.environ, {"PATH": f"{self.folder}:{os.environ['PATH']}", "CUDA_VISIBLE_DEVICES": "4,6"}):
                self.assertEqual(machine.gpu_facts(torch.device("cuda", 1), lambda: calls.append(time.sleep(0.01))), facts)
            self.assertGreater(len(calls), 1)
            self.assertTrue((self.folder / "asked").read_text().startswith("-i 6 --query-gpu=driver_version,clocks.sm,"))
        with unittest.mock.patch.dict(os.environ, {"PATH": str(self.folder / "none")}):
            self.assertEqual(machine.gpu_facts(torch.device("cuda", 0), calls.clear), {})


class HuggingFace(InFolder):
    """Models by name."""

    def test_the_glue(self):
        """Names, tokens, labels and the model's own loss, with a stand-in for the package."""
        (self.folder / "transformers.py").write_text(STAND_IN)
        environment = {**os.environ, "PYTHONPATH": str(self.folder)}
        out = self.folder / "gpt2.json"
        done = run_tool("hf:gpt2", "--batch", 2, "--input", 16, "--device", "cpu", "--iterations", 5, "--out", out, env=environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        trace = json.loads(out.read_text(encoding="utf-8"))
        self.assertEqual((trace["model"]["name"], trace["model"]["input"]), ("gpt2", "16 tokens"))
        self.assertEqual(layers_of(trace["model"]), [("wte", [("wte.weight", [50, 8])]), ("ln_f", [("ln_f.bias", [8]), ("ln_f.weight", [8])])])
        self.assertEqual(trace["layers"][-1]["name"], "lm_head")
        wrong = run_tool("hf:gpt2:GPT3", "--batch", 2, "--device", "cpu", "--out", self.folder / "x.json", env=environment)
        self.assertEqual(wrong.returncode, 2)
        self.assertIn("MODEL: ", wrong.stderr)

    @unittest.skipUnless(importlib.util.find_spec("transformers"), "transformers is not installed")
    def test_tensors_are_those_of_the_model_files(self):
        for model, name in (("hf:bert-base-uncased", "bert_base"), ("hf:gpt2", "gpt2")):
            with self.subTest(model):
                self.assertEqual(layers_of(inline(model, shape="8", iterations=1)), layers_of(shipped(name)))


class Numbers(unittest.TestCase):
    """Small functions."""

    def test_trace_order(self):
        self.assertEqual(tool.trace_order(["a", "b", "c"], ["c", "b", "a"]), ["a", "b", "c"])
        self.assertEqual(tool.trace_order(["a", "b", "c"], ["b", "c", "a"]), ["a", "c", "b"])  # b's gradient really is first
        self.assertEqual(tool.trace_order(["pad", "a", "view", "drop", "b"], ["b", "a"]), ["pad", "a", "view", "drop", "b"])
        self.assertEqual(tool.trace_order(["a"], ["child", "a"]), ["a", "child"])  # used by its parent, never called

    def test_means_over_the_middle_half_add_up_where_medians_do_not(self):
        # Each iteration has a hiccup of 9 in one of its two layers: medians say 1 + 1, but iterations take 11.
        layers = [[10, 1, 1, 10, 1, 1, 10, 1], [1, 10, 10, 1, 10, 10, 1, 10]]
        totals = [sum(pair) for pair in zip(*layers)]
        middle = tool.middle_half(totals)
        self.assertEqual(len(middle), 4)
        self.assertAlmostEqual(sum(tool.spread(times, middle).middle for times in layers), 11)
        self.assertEqual(sorted(tool.middle_half([5, 100, 1, 4, 3, 2, 6, 0])), [0, 3, 4, 5])  # totals 5, 4, 3, 2

    def test_short_names(self):
        for name, short in (("NVIDIA H100 80GB HBM3", "h100"), ("Tesla V100-SXM2-16GB", "v100"), ("NVIDIA GeForce RTX 3090 Ti", "rtx3090ti"),
                            ("NVIDIA A100-SXM4-40GB", "a100"), ("AMD EPYC 7763 64-Core Processor (family 25, model 1)", "epyc7763"),
                            ("Intel(R) Core(TM) i7-8700 CPU @ 3.20GHz (family 6, model 158)", "corei7"),
                            ("Intel(R) Xeon(R) Processor (family 6, model 207)", "xeon"), ("Processor", "")):
            self.assertEqual(machine.shortened(name), short)


class Slow(torch.autograd.Function):
    """Twice a weight, whose gradient takes 15 ms where that of what is multiplied takes 5."""

    @staticmethod
    def forward(ctx, values, weight):
        ctx.save_for_backward(values, weight)
        return values * weight

    @staticmethod
    def backward(ctx, gradient):
        values, weight = ctx.saved_tensors
        time.sleep(0.005 * ctx.needs_input_grad[0] + 0.015 * ctx.needs_input_grad[1])
        return (gradient * weight if ctx.needs_input_grad[0] else None,
                (gradient * values).sum() if ctx.needs_input_grad[1] else None)


class Scaled(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(()))

    def forward(self, values):
        return Slow.apply(values, self.weight)


class GradientsOfWeights(InFolder):
    """What of a backward pass makes them."""

    def shares(self, module, inputs):
        subject = subjects.Subject("m", module, (inputs,), {}, torch.sum, "", "")
        hooks = recorder.Recorder(subject, recorder.CpuClock)
        return gradients.weight_shares(subject, recorder.CpuClock, hooks.leaves)

    def test_they_are_timed_apart(self):
        shares = self.shares(torch.nn.Sequential(torch.nn.Embedding(5, 3), Scaled(), torch.nn.ReLU()), torch.tensor([1, 2]))
        self.assertEqual(set(shares), {"0", "1"})  # of layers with weights
        self.assertEqual(shares["0"], 1)  # indices have no gradient
        self.assertAlmostEqual(shares["1"], 15 / 20, delta=0.08)

    def test_the_profile_says_them(self):
        trace, _ = self.profile("resnet18", "--batch", 2, "--input", "3x64x64", "--iterations", 5, "--optimizer", "none")
        owners = {layer["name"] for layer in self.layers_with_tensors(trace)}
        said = {layer["name"]: layer["backward_weight"] / layer["backward"] for layer in trace["layers"] if "backward_weight" in layer}
        self.assertEqual(set(said), owners)
        self.assertEqual(said["conv1"], 1)  # of images nobody asks for gradients
        self.assertTrue(all(0 < share <= 1 for share in said.values()), said)

    @staticmethod
    def layers_with_tensors(trace):
        model = trace["model"] if isinstance(trace["model"], dict) else json.loads((ROOT / "models" / f"{trace['model']}.json").read_text(encoding="utf-8"))
        return [layer for layer in model["layers"] if layer.get("tensors")]


class BadInput(InFolder):
    """One line, exit status 2, nothing written."""

    def test_one_line(self):
        out = ("--batch", 2, "--device", "cpu", "--out", self.folder / "trace.json")
        own = str(OWN)
        cases = [
            (("resnt50", *out), "MODEL: no model 'resnt50' in torchvision"), ((f"{own}:nothing", *out), "no function 'nothing'"),
            (("none.py:f", *out), "none.py: file: there is none"), ((own, *out), "which function makes the module?"),
            ((f"{own}:number", *out), "number: returns no torch.nn.Module"), ((f"{own}:raises", *out), "raises: ValueError: no weights (it"),
            ((f"{own}:plain", *out), "plain: returns no example inputs"), ((f"{own}:wrong_batch", *out), "shape is [7, 8], not of --batch 2"),
            ((f"{own}:parameterless", *out), "the module has no trainable parameters"), ((f"{own}:detached", *out), "does not require grad"),
            (("resnet18", *out, "--batch", 0), "--batch: invalid positive integer value: '0'"),
            (("resnet18", *out, "--input", "3xa"), "--input: '3xa' is no shape"),
            (("resnet18", *out, "--input", "5x32x32"), "an iteration of batch 2 of 5x32x32 in fp32 on cpu fails: RuntimeError"),
            (("resnet18", *out, "--precision", "tf32"), "--precision: tf32"), (("resnet18", *out, "--device", "tpu9"), "--device: 'tpu9' is none"),
            (("resnet18", *out, "--device", "meta"), "--device: cannot time 'meta'"), (("resnet18", "--batch", 2), "--out is missing"),
            (("resnet18", *out, "--out", self.folder / "none" / "x.json"), "there is no folder"),
            ((f"{own}:residual", *out, "--iterations", 5, "--out", "/dev/full"), "/dev/full: file: No space left on device")]
        if not torch.cuda.is_available():
            cases.append((("resnet18", *out, "--device", "cuda"), "--device: this PyTorch finds no CUDA GPU"))
        for arguments, text in cases:
            with self.subTest(text):
                status, errors = run_here(*arguments)
                self.assertEqual((status, errors[-1:]), (2, "\n"), errors)
                lines = [line for line in errors.splitlines() if not line.startswith("warning: ")]
                self.assertEqual(len(lines), 1, errors)
                self.assertIn(text, lines[0])
                self.assertEqual(list(self.folder.iterdir()), [])

    def test_as_a_process(self):
        done = run_tool("resnt50", "--batch", 2, "--device", "cpu", "--out", self.folder / "trace.json")
        self.assertEqual((done.returncode, done.stdout, list(self.folder.iterdir())), (2, "", []))
        self.assertIn("MODEL: ", done.stderr)

    def test_help_teaches(self):
        out = io.StringIO()
        with contextlib.redirect_stdout(out), self.assertRaises(SystemExit) as end:
            tool.main(["--help"])
        self.assertEqual(end.exception.code, 0)
        self.assertIn("  tools/profile_torch.py resnet50 --batch 64 --out traces/", out.getvalue())


if __name__ == "__main__":
    unittest.main()
