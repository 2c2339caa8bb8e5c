#!/usr/bin/env python3
"""Measure the layer-wise forward and backward times of a PyTorch model, and write them as a trace for allreplay.

MODEL is one of
  resnet50               a classifier of torchvision; googlenet_aux and inception_v3_aux train the auxiliary heads, too
  hf:bert-base-uncased   a model of Hugging Face (also built in: BERT large, GPT-2, LLaMA 3); hf:NAME:CLASS
                         takes another class, such as hf:bert-base-uncased:BertForMaskedLM
  FILE.py:FUNCTION       your own: the function (of nothing, the batch, or the batch and the device) returns the module, or
                         a tuple (module, example inputs[, loss function of the module's output])
Weights and inputs are random and nothing is downloaded (but by transformers: the configuration of a model that is not
built in). Any PyTorch from 1.13 on will do, on a CUDA GPU or on the CPU. What is measured and how: docs/profiling.md.

Examples:
  tools/profile_torch.py resnet50 --batch 64 --out traces/            # traces/resnet50_h100_b64.json
  tools/profile_torch.py hf:gpt2 --batch 8 --precision bf16 --input 1024 --out gpt2.json
  tools/profile_torch.py hf:gpt2-xl --batch 4 --precision bf16 --compile --out traces/   # a layer for each compiled block
  tools/profile_torch.py train.py:make_model --batch 32 --input 3x64x64 --device cpu --threads 4 --out mine.json
  allreplay compare --profile mine.json --cluster k80-10gbe
"""

import argparse
import datetime
import json
import os
import statistics
import sys
import time
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent

try:
    import torch
    import torch.profiler
except ImportError:  # start again with a Python that has it
    os.execv(HERE / "python.sh", ["python.sh", "--with", "torch", __file__, *sys.argv[1:]])

sys.path.insert(0, str(HERE))
from torch_profile import InputError, first_line  # noqa: E402
from torch_profile.gradients import weight_shares  # noqa: E402
from torch_profile.machine import device_name, is_shared, machine_facts, short_name  # noqa: E402
from torch_profile.progress import Progress  # noqa: E402
from torch_profile.recorder import CpuClock, CudaClock, Recorder, iterate  # noqa: E402
from torch_profile.subjects import in_blocks, make_subject  # noqa: E402

DTYPES = {"fp32": torch.float32, "tf32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
FEWEST_ITERATIONS = 5
LARGE_DIFFERENCE = 0.1  # between the layers' sum and the undisturbed iteration: beyond it, a warning


# --- measuring -------------------------------------------------------------------------------------------------------

class Spread(NamedTuple):
    """How a time is distributed over the iterations, microseconds."""
    middle: float  # mean over the middle half of the iterations
    quartiles: list  # 25 %, median, 75 % of all iterations

    @property
    def width(self):
        """The interquartile range."""
        return self.quartiles[2] - self.quartiles[0]


class Measurement(NamedTuple):
    """What was measured."""
    layers: list  # names, in the order of the trace
    forward: dict  # layer: Spread
    backward: dict
    whole: dict  # "iteration", "forward", "backward": Spread, undisturbed
    hooked: Spread  # the iteration with hooks
    iterations: int
    apart: dict  # layer: microseconds between its first and its last gradient

    def total(self):
        """The sum of all layers, microseconds."""
        return sum(one.middle for times in (self.forward, self.backward) for one in times.values())

    def difference(self):
        """How much more than the undisturbed iteration the layers take, relatively; rounded here, for all who say it."""
        return round(self.total() / self.whole["iteration"].middle - 1, 4)


def middle_half(totals):
    """The iterations whose totals are the middle half. Means over them are as robust as medians and, unlike these, add
    up: the median iteration has hiccups in some layer or other, but each layer's median has none."""
    ranked = sorted(range(len(totals)), key=totals.__getitem__)
    return ranked[len(ranked) // 4:len(ranked) - len(ranked) // 4]


def spread(values, middle):
    """The Spread of a time over the iterations, of which `middle` are the middle half."""
    return Spread(statistics.fmean(values[place] for place in middle), statistics.quantiles(values, n=4, method="inclusive"))


def trace_order(forward, backward):
    """Layers in the order of the trace: the reverse of that in which their backward ends, which decides when gradients
    are sent; a layer without backward work stands after the one that runs before it."""
    order = list(reversed(backward))
    for place, layer in enumerate(forward):
        if layer not in backward:
            order.insert(order.index(forward[place - 1]) + 1 if place else 0, layer)
    return order


def measure(subject, clock, iterations, warmup, seconds):
    """Iterations with and without hooks in turn, so that both meet the same clocks and neighbours; returns the recorder
    and the Measurement. On a GPU nothing waits between iterations, as in training."""
    recorder = Recorder(subject, clock)
    for _ in Progress("warming up", max(1, warmup)).over(range(max(1, warmup))):
        recorder.record()
        iterate(subject, clock)
    clock.settle()
    begin = time.monotonic()
    recorder.record()
    iterate(subject, clock)
    clock.settle()
    count = max(FEWEST_ITERATIONS, min(iterations, int(seconds / (time.monotonic() - begin))))

    marks, whole = zip(*((recorder.record(), iterate(subject, clock)) for _ in Progress("measuring", count).over(range(count))))
    clock.settle()
    times = [recorder.times(one) for one in marks]
    names = list(times[0].forward), list(times[0].backward)
    for one in times:
        if (list(one.forward), sorted(one.backward)) != (names[0], sorted(names[1])):
            raise InputError("the layers differ between iterations: a profile needs the same ones every time "
                             "(no random control flow)")
    us, layers = clock.microseconds, trace_order(*names)
    hooked = [us(one.begin, one.end) for one in marks]
    undisturbed = [us(begin, end) for begin, _, end in whole]
    with_hooks, without = middle_half(hooked), middle_half(undisturbed)
    return recorder, Measurement(
        layers,
        {layer: spread([one.forward.get(layer, 0.0) for one in times], with_hooks) for layer in layers},
        {layer: spread([one.backward.get(layer, 0.0) for one in times], with_hooks) for layer in layers},
        {"iteration": spread(undisturbed, without),
         "forward": spread([us(begin, middle) for begin, middle, _ in whole], without),
         "backward": spread([us(middle, end) for _, middle, end in whole], without)},
        spread(hooked, with_hooks), count,
        {layer: statistics.median(one.apart[layer] for one in times) for layer in times[0].apart})


OPTIMIZERS = {"adamw": lambda parameters: torch.optim.AdamW(parameters, lr=0.0),
              "adam": lambda parameters: torch.optim.Adam(parameters, lr=0.0),
              "sgd": lambda parameters: torch.optim.SGD(parameters, lr=0.0, momentum=0.9)}


def measure_update(subject, clock, optimizer, iterations):
    """The Spread of the optimizer's step, by itself, with the gradients of the last iteration; a rate of 0 leaves the weights."""
    step = OPTIMIZERS[optimizer](subject.module.parameters()).step
    for _ in range(2):  # makes its state
        step()
    marks = []
    count = max(FEWEST_ITERATIONS, iterations)
    for _ in Progress("measuring the update", count).over(range(count)):
        begin = clock.now()
        step()
        marks.append((begin, clock.now()))
    clock.settle()
    times = [clock.microseconds(begin, end) for begin, end in marks]
    return spread(times, middle_half(times))


# --- the trace -------------------------------------------------------------------------------------------------------

def inline_model(subject, recorder, measured):
    """The model as the trace holds it: within a layer, the last tensor is the one whose gradient is ready first."""
    tensors = {layer: [] for layer in measured.layers}
    for name in reversed(recorder.ready):
        tensors[recorder.layer_of[name]].append({"name": name, "shape": list(recorder.parameters[name].shape) or [1]})
    return {"name": subject.name, "input": subject.sample,
            "layers": [{"name": layer, "tensors": tensors[layer]} for layer in measured.layers]}


def shipped_model(model):
    """Whether models/ has it under this name: the same tensors on the same layers in the same order. Within a layer
    any order will do, since all its gradients are ready when its backward ends."""
    try:
        shipped = json.loads((ROOT / "models" / f"{model['name']}.json").read_text(encoding="utf-8"))["layers"]
    except (OSError, ValueError, KeyError):
        return False
    names = {layer["name"] for layer in shipped}

    def known(layers):
        return [(layer["name"], sorted((one["name"], one["shape"]) for one in layer.get("tensors", []))) for layer in layers]

    return known(shipped) == known(layer for layer in model["layers"] if layer["tensors"] or layer["name"] in names)


def source_text(measured, facts, options, update=None):
    """Where the numbers come from, in one sentence for whoever reads a result made from them."""
    whole = measured.whole["iteration"]
    parts = [f"measured by tools/profile_torch.py, {options.date}: means over the middle half of {measured.iterations} iterations after "
             f"{options.warmup} of warm-up; undisturbed iteration {whole.middle / 1e3:.3f} ms (interquartile range "
             f"{whole.width / 1e3:.3f} ms), sum of the layers {measured.total() / 1e3:.3f} ms ({measured.difference():+.1%}); "
             f"loss in the last layer, {f'the update is a step of {options.optimizer}' if update else 'optimiser left out'}"]
    parts += [f"{name} {facts[key]}" for key, name in (("driver", "driver"), ("cuda", "CUDA"), ("cudnn", "cuDNN"),
                                                        ("sm_clock", "SM clock"), ("memory_clock", "memory clock"),
                                                        ("memory_used", "memory used")) if key in facts]
    if is_shared(facts):
        parts.append(f"the machine was shared (load {facts['load']} on {facts['cores']} cores)")
    return "; ".join(parts)


def framework(options):
    """PyTorch's version, and whether blocks were compiled."""
    return f"PyTorch {torch.__version__}{', blocks compiled' if options.compile else ''}"


def distribution(one):
    """A Spread, as the trace's details hold it."""
    return {"middle_half": round(one.middle, 3), "quartiles": [round(us, 3) for us in one.quartiles]}


def trace_text(subject, recorder, measured, facts, options, update=None, shares=frozenset()):
    """The trace file: its head, then a layer per line, then what else was measured. `shares`: what of a layer's backward
    pass makes gradients of weights."""
    model = inline_model(subject, recorder, measured)
    us = 3  # decimals: times to the nanosecond

    def row(layer):
        times = {"name": layer, "forward": round(measured.forward[layer].middle, us),
                 "backward": round(measured.backward[layer].middle, us)}
        if layer in shares:
            times["backward_weight"] = min(round(measured.backward[layer].middle * shares[layer], us), times["backward"])
        return json.dumps(times)

    rows = [row(layer) for layer in measured.layers]
    head = {"device": device_name(options.device), "framework": framework(options), "batch_size": options.batch,
            "precision": options.precision, "origin": "measured", "source": source_text(measured, facts, options, update), "unit": "us"}
    if update:
        head["update"] = round(update.middle, us)
    if recorder.recomputes:
        head["recompute"] = "full"
    details = {
        "input": subject.sample, "loss": subject.task, "warmup": options.warmup, "iterations": measured.iterations,
        "undisturbed_us": {key: distribution(one) for key, one in measured.whole.items()},
        "with_hooks_us": distribution(measured.hooked), "sum_of_layers_us": round(measured.total(), us),
        "difference": measured.difference(),
        "interquartile_range_us": {"forward": [round(measured.forward[layer].width, us) for layer in measured.layers],
                                   "backward": [round(measured.backward[layer].width, us) for layer in measured.layers]},
        "tensors_without_gradient": recorder.unused, "machine": facts}
    if update:
        details["update_us"] = distribution(update)
    if shipped_model(model):
        named = json.dumps(model["name"])
    else:
        layers = ",\n".join("  " + json.dumps(layer) for layer in model["layers"])
        named = f'{json.dumps({key: model[key] for key in ("name", "input")})[:-1]}, "layers": [\n{layers}\n ]}}'
    body = ",\n".join("  " + row for row in rows)
    return f'{{"model": {named},\n {json.dumps(head)[1:-1]},\n "layers": [\n{body}\n ],\n "details": {json.dumps(details)}}}\n'


def write(path, text):
    """Write the file whole or not at all."""
    if path.exists() and not path.is_file():  # a device: nothing to replace
        path.write_text(text, encoding="utf-8")
        return
    part = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        part.write_text(text, encoding="utf-8")
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


# --- what is printed -------------------------------------------------------------------------------------------------

def print_table(subject, recorder, measured, options):
    """The ten longest layers, the sums, and how far they are from the undisturbed iteration."""
    elements = sum(recorder.parameters[name].numel() for name in recorder.ready)
    print(f"{subject.name} on {device_name(options.device)}, PyTorch {torch.__version__}: batch {options.batch} of {subject.sample}, "
          f"{options.precision}\n{len(recorder.ready)} tensors, {elements:,} parameters, {len(measured.layers)} layers; means over the middle half of "
          f"{measured.iterations} iterations after {options.warmup}\n")
    both = {layer: measured.forward[layer].middle + measured.backward[layer].middle for layer in measured.layers}
    longest = sorted(both, key=both.get, reverse=True)[:10]
    width = max(30, *map(len, longest))
    sums = [sum(one.middle for one in times.values()) for times in (measured.forward, measured.backward)]
    rows = [(layer, measured.forward[layer].middle, measured.backward[layer].middle, both[layer]) for layer in longest]
    if len(both) > len(longest):
        rest = [sum(row[column] for row in rows) for column in (1, 2)]
        rows.append((f"{len(both) - len(longest)} others", sums[0] - rest[0], sums[1] - rest[1], measured.total() - sum(rest)))
    whole = [measured.whole[key].middle for key in ("forward", "backward", "iteration")]
    rows += [("sum of the layers", *sums, measured.total()), ("undisturbed iteration", *whole)]
    print(f"{'layer':{width}}  {'forward':>12}  {'backward':>12}  {'both':>12}\n{'-' * (width + 42)}")
    for name, *times in rows:
        print(f"{name:{width}}  " + "  ".join(f"{us / 1e3:9.3f} ms" for us in times))
    parts = [f"{ours / theirs - 1:+.1%}" if theirs else "" for ours, theirs in zip((*sums, measured.total()), whole)]
    print(f"{'difference':{width}}  " + "  ".join(f"{part:>12}" for part in parts))
    print(f"{'interquartile range':{width}}  " + "  ".join(f"{measured.whole[key].width / 1e3:9.3f} ms" for key in ("forward", "backward", "iteration")))


def warnings(recorder, measured, facts, blocks=frozenset()):
    """What the reader should know before using the numbers, a line each."""
    whole = measured.whole["iteration"].middle
    if abs(measured.difference()) > LARGE_DIFFERENCE:
        yield (f"the layers' sum is {measured.difference():+.1%} off the undisturbed iteration "
               "(docs/profiling.md says what that means; a larger --batch helps where hooks cost much)")
    if measured.whole["iteration"].width > LARGE_DIFFERENCE * whole:
        yield f"half of the undisturbed iterations spread over {measured.whole['iteration'].width / whole:.0%} of their mean"
    if is_shared(facts):
        yield f"the machine is shared: its load is {facts['load']} on {facts['cores']} cores, of which this uses {facts['threads']}"
    if recorder.unused:
        yield f"{len(recorder.unused)} tensors get no gradient and are left out: {', '.join(recorder.unused[:5])}{', …' * (len(recorder.unused) > 5)}"
    for layer, us in measured.apart.items():
        if us > 0.01 * whole and layer not in blocks:
            yield f"the gradients of {layer} are ready up to {us / 1e3:.3f} ms apart; the trace has all of them at its end"


def save_chrome_trace(path, subject, clock):
    """The PyTorch profiler's trace of three iterations without our hooks, for `allreplay import`."""
    from torch.profiler import ProfilerActivity, profile, schedule
    activities = [ProfilerActivity.CPU] + [ProfilerActivity.CUDA] * (clock is CudaClock)
    with profile(activities=activities, schedule=schedule(wait=1, warmup=1, active=3), record_shapes=True, with_stack=True,
                 on_trace_ready=lambda profiler: profiler.export_chrome_trace(str(path))) as profiler:
        for _ in range(5):
            iterate(subject, clock)
            clock.settle()
            profiler.step()


# --- command line ----------------------------------------------------------------------------------------------------

class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one line."""

    def error(self, message):
        self.exit(2, f"{self.prog}: command line: {' '.join(message.split())} (right: see --help)\n")


def positive_integer(text):
    """An integer above 0."""
    value = int(text)
    if value <= 0:
        raise ValueError
    return value


positive_integer.__name__ = "positive integer"  # as argparse names it in errors


def parse(argv):
    """The command line, checked as far as it can be without computing."""
    parser = Parser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="?", metavar="MODEL", help="what to profile (above)")
    parser.add_argument("--batch", type=positive_integer, metavar="B", help="samples per iteration on this device")
    parser.add_argument("--precision", choices=DTYPES, default="fp32", help="of parameters, activations and gradients; tf32 "
                        "is fp32 with tensor cores (default: %(default)s)")
    parser.add_argument("--device", metavar="D", help="cuda, cuda:N or cpu (default: cuda where there is one)")
    parser.add_argument("--input", metavar="SHAPE", help="of one sample: 3x224x224; tokens of a language model: 128")
    parser.add_argument("--layers", choices=("modules", "blocks"), help="blocks: one layer for each member of the model's "
                        "list of blocks, so that fewer events disturb small batches (default: modules; blocks with --compile)")
    parser.add_argument("--compile", action="store_true", help="compile each block by itself (torch.compile), as torchtitan does")
    parser.add_argument("--iterations", type=positive_integer, default=50, metavar="N", help="measured, at most (default: %(default)s)")
    parser.add_argument("--seconds", type=positive_integer, default=60, metavar="S", help="for these iterations, about; at least "
                        f"{FEWEST_ITERATIONS} are measured (default: %(default)s)")
    parser.add_argument("--warmup", type=positive_integer, default=10, metavar="N", help="iterations before them (default: %(default)s)")
    parser.add_argument("--optimizer", choices=[*OPTIMIZERS, "none"], default="adamw", help="whose step is measured as the "
                        "trace's update (default: %(default)s)")
    parser.add_argument("--threads", type=positive_integer, metavar="N", help="that PyTorch computes with on a CPU (default: its own choice)")
    parser.add_argument("--chrome-trace", type=Path, metavar="FILE", help="also save the PyTorch profiler's trace (.json or "
                        ".json.gz) of the same model, for `allreplay import`; needs a PyTorch with Kineto")
    parser.add_argument("--out", type=Path, metavar="FILE", help="the trace to write; in a folder, it is named "
                        "MODEL[_compiled]_DEVICE_bBATCH[_PRECISION].json")
    parser.add_argument("--short-name", action="store_true", help="only print how files name the device")
    options = parser.parse_args(argv)
    if options.compile and options.layers == "modules":
        parser.error("--compile: compiled blocks do not call their modules (--layers blocks)")
    options.layers = options.layers or ("blocks" if options.compile else "modules")
    options.date = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
    for key in () if options.short_name else ("model", "batch", "out"):
        if getattr(options, key) is None:
            parser.error(f"{'MODEL' if key == 'model' else '--' + key} is missing")
    for path in (options.out, options.chrome_trace):
        if path is not None and not path.parent.is_dir():
            parser.error(f"{path}: there is no folder {path.parent}")
    return options


def prepare(options):
    """Choose the device and how precisely it multiplies."""
    try:
        options.device = torch.device(options.device or ("cuda" if torch.cuda.is_available() else "cpu"))
    except RuntimeError:
        raise InputError(f"--device: '{options.device}' is none (cuda, cuda:N or cpu)") from None
    if options.device.type not in ("cuda", "cpu"):
        raise InputError(f"--device: cannot time '{options.device}' (cuda, cuda:N or cpu)")
    if options.chrome_trace and not torch.profiler.kineto_available():
        raise InputError("--chrome-trace: this PyTorch is built without Kineto, its tracer (one from pytorch.org has it)")
    if options.threads:
        torch.set_num_threads(options.threads)
    if options.device.type == "cpu":
        if options.precision == "tf32":
            raise InputError("--precision: tf32 is what CUDA's tensor cores do (fp32, bf16 or fp16 on a CPU)")
        return CpuClock
    if not torch.cuda.is_available():
        raise InputError("--device: this PyTorch finds no CUDA GPU (--device cpu, or a PyTorch built for CUDA and a driver)")
    if (options.device.index or 0) >= torch.cuda.device_count():
        raise InputError(f"--device: there is no {options.device} ({torch.cuda.device_count()} GPUs, from cuda:0)")
    options.device = torch.device("cuda", options.device.index or 0)
    torch.cuda.set_device(options.device)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = options.precision == "tf32"
    torch.backends.cudnn.benchmark = True  # choose the fastest kernels during warm-up, as training scripts do
    return CudaClock


def out_file(options, name):
    """The file to write."""
    if not options.out.is_dir():
        return options.out
    precision = "" if options.precision == "fp32" else f"_{options.precision}"
    compiled = "_compiled" if options.compile else ""
    return options.out / f"{name}{compiled}_{short_name(options.device)}_b{options.batch}{precision}.json"


def run(options):
    """Measure, print, write."""
    clock = prepare(options)
    if options.short_name:
        return print(short_name(options.device))
    subject = make_subject(options.model, options.batch, options.input, options.device, DTYPES[options.precision])
    if options.layers == "blocks":
        subject = in_blocks(subject, options.compile)
    try:
        recorder, measured = measure(subject, clock, options.iterations, options.warmup, options.seconds)
        update = None if options.optimizer == "none" else measure_update(subject, clock, options.optimizer, measured.iterations)
        shares = weight_shares(subject, clock, {leaf: one for leaf, one in recorder.leaves.items() if leaf not in subject.blocks})
        facts = machine_facts(options.device, lambda: (iterate(subject, clock), clock.settle()))
        if options.chrome_trace:
            save_chrome_trace(options.chrome_trace, subject, clock)
    except (RuntimeError, TypeError, ValueError, IndexError, KeyError, AttributeError) as error:  # of the user's module or inputs
        raise InputError(f"{options.model}: an iteration of batch {options.batch} of {subject.sample} in {options.precision} on "
                         f"{options.device} fails: {first_line(error)} (another --input, --batch or --precision)") from error
    print_table(subject, recorder, measured, options)
    if update:
        print(f"update, a step of {options.optimizer}: {update.middle / 1e3:.3f} ms")
    for line in warnings(recorder, measured, facts, subject.blocks):
        print(f"warning: {line}", file=sys.stderr)
    path = out_file(options, subject.name)
    write(path, trace_text(subject, recorder, measured, facts, options, update, shares))
    return print(f"\n{path}")


def main(argv):
    """The command line; its exit status."""
    options = parse(argv)
    try:
        run(options)
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    except OSError as error:
        print(f"{error.filename or options.out}: file: {error.strerror} (a place that can be written)", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
