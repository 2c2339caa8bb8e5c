#!/usr/bin/env python3
"""Reconstruct a trace: spread a published iteration time over the layers of a model.

What is published is often only a throughput: the time of forward and backward of one iteration on one GPU. This tool
splits that total over the layers in proportion to a roofline, and marks the trace "reconstructed". Where no total is
published for a GPU (BML's K40C), it is the roofline's own, divided by the efficiency that a published total of the same
architecture and framework has; the trace's source says so.

Method. The times are those of `allreplay estimate --plain` (sim/inputs/estimate): a layer runs kernels, and a kernel takes

    max(2 * MACs / peak, bytes / bandwidth) + launch

with MACs and bytes of the whole mini-batch in fp32 (bytes are read or written once by each pass named below):

  layer               forward                             backward
  convolution, dense  MACs;      input, weights, output   grad input:  MACs; output, weights, input (not in the first
                                                          layer); grad weight: MACs; input, output, weights
  normalisation       MACs;      3 passes over output     MACs; 5 passes (statistics of the batch need another reading)
  embedding           2 passes over output                output, and the dense gradient of the table
  without tensors     MACs;      2 passes over output     twice the forward
  then, unless a normalisation or nothing follows, one element-wise kernel (activation, dropout or addition):
                      2 passes over output                3 passes over output

The input of a convolution is MACs / outputs / kernel area elements: exact at stride 1; for a merged tensor
[outputs, columns], whose kernel area is unknown, it is the unrolled input that im2col writes. Not modelled: pooling,
concatenation, more than one pass over the weights of recurrent layers, algorithms that do fewer operations (Winograd,
FFT), and efficiency that differs between layers. Then all times are scaled by one factor (with --forward-ratio: by one
for forward and one for backward), so that they add up to the published total exactly, and rounded to 0.001 us.

How good that is, against a measured profile: --check PROFILE.csv (layer,params,forward_us,backward_us) gives the
profile's own total to the method and prints, for forward and backward, how far the split is from the measured one. The
running sum is when gradients become ready. Measured so far (backward: sum of |difference| / total, correlation, largest
deviation of the running sum / total): ResNet-50 on V100 29 %, 0.80, 3.9 %; Caffe GoogLeNet on Titan X 33 %, 0.88, 9.8 %
(52 %, 0.82, 10.6 % with pooling and the like added to the layer before); Caffe GoogLeNet on K80 67 %, 0.87, 17.2 %: the
method gives too much to 3x3 convolutions and too little to 1x1 ones. No constant was fitted to these. --leave-one-out does it for
all published profiles whose model and GPU are known, and also predicts their totals from each other: docs/estimation.md.

Examples:
  tools/reconstruct_trace.py --all                                  regenerate every trace in traces/
  tools/reconstruct_trace.py resnet50 --batch 32 --images-per-second 360 --device "Tesla V100" --framework PyTorch \\
      --peak-tflops 15.7 --memory-gbs 900 --source "where the 360 images/s come from" --out traces/resnet50_v100_b32.json
  tools/reconstruct_trace.py resnet50 --check profile.csv --batch 32 --peak-tflops 15.7 --memory-gbs 900
  tools/reconstruct_trace.py --leave-one-out ../shared/data/profiles   the last table in docs/generated/estimation_errors.md
"""

import argparse
import csv
import functools
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from measured import InputError, in_units, read_rows

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = Path(os.environ.get("ALLREPLAY_PROGRAM", ROOT / "build" / "release" / "allreplay"))
LAUNCH_US = 5  # start of one CUDA kernel: a few microseconds on every GPU


def fail(line):
    """End as bad input does: one line on standard error."""
    print(line, file=sys.stderr)
    sys.exit(2)


class Gpu(NamedTuple):
    """What the roofline needs to know of a GPU, from its data sheet."""
    flops: float  # FLOP/s in fp32
    bandwidth: float  # bytes/s of device memory


class Times(NamedTuple):
    """Forward and backward of one layer: seconds here, integer nanoseconds once scaled."""
    forward: float
    backward: float


class Trace(NamedTuple):
    """A shipped trace: what it is a trace of, and where its total comes from."""
    model: str
    batch: int  # samples per GPU
    total_s: float  # seconds of forward and backward per iteration
    source: str
    gpu: Gpu
    device: str
    framework: str
    gpus: int = 1  # that share the mini-batch, each computing as much


# NVIDIA Tesla K80 board specification BD-07317-001: two GK210 of 2496 cores, 560 MHz base clock, 240 GB/s each.
# 2496 * 560e6 * 2 = 2.80 TFLOP/s at base clock, which is what two busy dies are guaranteed (4.37 at full boost, 875 MHz).
K80_DIE = Gpu(flops=2.80e12, bandwidth=240e9)
K80_DIE_BOOSTED = Gpu(flops=4.37e12, bandwidth=240e9)
K80_NAME = "Tesla K80 (one GK210 die)"
# NVIDIA Tesla K40 active board specification BD-06949-001: GK110B of 2880 cores, 745 MHz base clock (at which it runs unless told
# otherwise), 288 GB/s. 2880 * 745e6 * 2 = 4.29 TFLOP/s.
K40C = Gpu(flops=4.29e12, bandwidth=288e9)
# NVIDIA Tesla P100 datasheet, SXM2: 10.6 TFLOP/s in single precision at boost, which a lone GPU holds; 732 GB/s.
P100 = Gpu(flops=10.6e12, bandwidth=732e9)
P100_PCIE = Gpu(flops=9.3e12, bandwidth=732e9)  # the same datasheet, PCIe, 16 GB
# No data sheet is public: 3200 cores by gTop-k's Table III; 1683 MHz boost and 440 GB/s (320 bit at 11 Gbit/s) by its board makers.
P102 = Gpu(flops=10.8e12, bandwidth=440e9)
V100 = Gpu(flops=15.7e12, bandwidth=900e9)  # NVIDIA Tesla V100 datasheet, SXM2
V100S = Gpu(flops=16.4e12, bandwidth=1134e9)  # NVIDIA V100 datasheet of 2020, V100S PCIe
# NVIDIA Ampere GA102 whitepaper, GeForce RTX 3090: 35.6 TFLOP/s in FP32, and as many in TF32 on tensor cores; 936 GB/s.
RTX_3090 = Gpu(flops=35.6e12, bandwidth=936e9)
# GeForce GTX Titan X (Maxwell): 3072 cores at 1000 MHz base clock, 336.5 GB/s.
TITAN_X = Gpu(flops=6.144e12, bandwidth=336.5e9)
TENSORFLOW = "TensorFlow's benchmarks (tensorflow.org/performance/benchmarks, 2017)"


def of_b_caffe(model, batch, images_per_s):
    """A trace with a published total: one node of two K80 dies."""
    source = (f"total: {images_per_s} images/s at {2 * batch} per node, B-Caffe repository of MG-WFBP (arXiv 1912.09268), "
              "one node of two dies")
    return Trace(model, batch, 2 * batch / images_per_s, source, K80_DIE, K80_NAME, "Caffe (B-Caffe)")


def of_tensorflow(model, images_per_s):
    """A trace with a published total: one P100 at 64 a batch."""
    source = f"total: {images_per_s} images/s, {TENSORFLOW}, DGX-1, 1 GPU, synthetic data"
    return Trace(model, 64, 64 / images_per_s, source, P100, "Tesla P100 (SXM2)", "TensorFlow")


def of_dell():
    """GoogLeNet with a published total, on one P100."""
    source = ("total: 468 images/s at 128, Dell EMC HPC Innovation Lab, \"Deep Learning Performance with P100 GPUs\" (October 2016), Fig. 2: "
              "NV-Caffe, ILSVRC12, 1 GPU")
    return Trace("googlenet_caffe64", 128, 128 / 468, source, P100_PCIE, "Tesla P100 (PCIe)", "Caffe (NV-Caffe)")


def of_torchvision():
    """MobileNet-v2 with a published total: of eight GPUs in one server, since none is published for one."""
    images, epoch_s, gpus, batch = 1_281_167, 6 * 60 + 32, 8, 32
    source = (f"total: an epoch of ImageNet ({images} images) in 6:32 on {gpus} GPUs of one server (AWS p3.16xlarge) at {batch} each, torchvision's pull "
              "request 818 (comment of 10 July 2019, PyTorch 1.1); no total of one GPU is published: what communication in the server costs is in it")
    return Trace("mobilenet_v2", batch, epoch_s * gpus * batch / images, source, V100, "Tesla V100 (SXM2)", "PyTorch")


def of_paddle_benchmark():
    """BERT-Base with a published total, on one V100."""
    source = ("total: 3.420 steps/s at 32 sequences of 128 tokens, Baidu's benchmark of PaddlePaddle 1.5.0 (github.com/PaddlePaddle/benchmark, 2019), where "
              "TensorFlow 1.12 fine-tunes google-research/bert on XNLI, 1 GPU; its vocabulary is the Chinese one, the model's the English one")
    return Trace("bert_base_128", 32, 1 / 3.420, source, V100, "Tesla V100 (SXM2)", "TensorFlow")


# No total is published for BML's networks on its GPUs. The nearest that is: TensorFlow (May 2017, CUDA 8, cuDNN 5.1) trains
# VGG-16 on a K80 die, the same architecture, at 35.4 images/s with 32 a batch; the same benchmarks, Google Compute Engine,
# synthetic data. At base clock the roofline alone would take longer than that, so the die was boosted.
NEAREST_MODEL, NEAREST_BATCH, NEAREST_IMAGES_PER_S = "vgg16", 32, 35.4


def kepler_efficiency():
    """The roofline's time of the nearest published training, over the published one."""
    return total_of(K80_DIE_BOOSTED, NEAREST_MODEL, NEAREST_BATCH) / (NEAREST_BATCH / NEAREST_IMAGES_PER_S)


def of_bml(model, server_batch):
    """A trace of BML's servers: two K40C with half of the sub-minibatch each."""
    batch, efficiency = server_batch // 2, kepler_efficiency()
    source = (f"no total is published for this model on this GPU: the roofline's, divided by {efficiency:.3f}, the part of it that TensorFlow "
              f"reaches with VGG-16 on a boosted K80 die ({NEAREST_IMAGES_PER_S} images/s at {NEAREST_BATCH}; "
              f"{TENSORFLOW}); each GPU computes {batch} of the server's {server_batch} samples")
    return Trace(model, batch, total_of(K40C, model, batch) / efficiency, source, K40C, "two Tesla K40C", "TensorFlow", 2)


def of_gtopk(model, batch, total_s, steps=1):
    """A trace with a published total: one P102-100, whose batch may be made in several accumulated steps."""
    source = (f"total: {total_s:.4g} s per iteration at {batch}, gTop-k (Shi et al. 2019), Table VI" +
              (f"; accumulated over {steps} batches of {batch // steps}: only the last one's backward pass makes gradients ready, here all" if steps > 1 else ""))
    return Trace(model, batch, total_s, source, P102, "P102-100", "PyTorch 0.4")


def of_mergecomp_cifar():
    """ResNet-50 on CIFAR-10 with a published total, on one V100."""
    source = "total: about 64 ms per iteration at 64, MergeComp (Wang et al. 2021), section 3.2, 1 GPU"
    return Trace("resnet50_cifar10", 64, 0.064, source, V100, "Tesla V100", "PyTorch 1.7")


# MergeComp gives no total for its ResNet-101. The nearest published: ResNet-50, same family, same GPU, same framework.
KINETO_BATCH, KINETO_TOTAL_S = 32, 0.09718


def of_mergecomp_imagenet():
    """ResNet-101 at the efficiency that ResNet-50 has on a V100."""
    efficiency = total_of(V100, "resnet50", KINETO_BATCH) / KINETO_TOTAL_S
    source = (f"no total is published: the roofline's, divided by {efficiency:.3f}, the part of it that ResNet-50 reaches at {KINETO_BATCH} "
              f"({1000 * KINETO_TOTAL_S:.1f} ms of kernels, sample trace of PyTorch's Kineto, V100-DGXS, PyTorch 1.9)")
    return Trace("resnet101", 64, total_of(V100, "resnet101", 64) / efficiency, source, V100, "Tesla V100", "PyTorch 1.7")


# MG-WFBP gives no total for its V100 (PCIe: 14 TFLOP/s and 900 GB/s by the same datasheet). The nearest published, with the
# same framework: u39kun/deep-learning-benchmark (github.com), PyTorch 0.3.0 on a V100 of Amazon's p3 (SXM2), fp32, 224x224,
# forward and backward of 16 images.
V100_PCIE = Gpu(flops=14e12, bandwidth=900e9)
P3_BATCH, P3_TOTALS_S = 16, {"resnet152": 0.1365, "densenet161": 0.1425}
INCEPTION_V4_MACS = 6.16e9  # at 224x224 (MG-WFBP, Table 4); models/inceptionv4.json is at 299x299


def of_mg_wfbp_v100(model, batch, nearest, share=1.0):
    """A trace of MG-WFBP's V100: at the efficiency that the nearest network has on such a GPU; `share` of the model's MACs is done."""
    efficiency = total_of(V100, nearest, P3_BATCH) / P3_TOTALS_S[nearest]
    source = (f"no total is published for this batch on this GPU: the roofline's, divided by {efficiency:.3f}, the part of it that {nearest} reaches at "
              f"{P3_BATCH} ({1000 * P3_TOTALS_S[nearest]:.1f} ms, u39kun/deep-learning-benchmark, V100 of Amazon's p3, PyTorch 0.3.0, fp32)" +
              (f"; times {share:.3f} for images of 224x224 instead of 299x299" if share != 1 else ""))
    return Trace(model, batch, share * total_of(V100_PCIE, model, batch) / efficiency, source, V100_PCIE, "Tesla V100 (PCIe)", "PyTorch")


def inception_v4_share():
    """Which part of the model's MACs images of 224x224 need."""
    return INCEPTION_V4_MACS / sum(layer["forward_macs"] for layer in read_model("inceptionv4")["layers"])


def of_kineto():
    """ResNet-50 with a published total, on one V100; measured layer by layer, so not shipped: what it says of the efficiency is used."""
    source = f"total: {1000 * KINETO_TOTAL_S:.1f} ms of kernels, sample trace of PyTorch's Kineto, V100-DGXS, PyTorch 1.9"
    return Trace("resnet50", KINETO_BATCH, KINETO_TOTAL_S, source, V100, "Tesla V100", "PyTorch")


def of_us_byte(gpu, device, known, batch):
    """A trace of US-Byte's servers: the model of a published training, at the efficiency that it has there."""
    efficiency = total_of(known.gpu, known.model, known.batch) / known.total_s
    source = (f"no total is published for this model on this GPU: the roofline's, divided by {efficiency:.3f}, the part of it that {known.framework} reaches with "
              f"it at {known.batch} on a {known.device} ({known.source}); batch size of US-Byte (Gao et al.), Table 3, its rows in the order of Table 4")
    return Trace(known.model, batch, total_of(gpu, known.model, batch) / efficiency, source, gpu, device, known.framework)


def of_v100s(known, batch):
    """On US-Byte's first cluster."""
    return of_us_byte(V100S, "Tesla V100S (PCIe)", known, batch)


def of_rtx_3090(known, batch):
    """On its second. VGG-16 is left out: it beats the roofline in FP32 (Winograd), which says nothing of TF32, PyTorch's default there."""
    return of_us_byte(RTX_3090, "GeForce RTX 3090", known, batch)


def shipped():
    """{name: Trace} of everything that --all writes."""
    traces = {
        "googlenet_k80_b32": of_b_caffe("googlenet_caffe64", 32, 163.36),
        "resnet50_107_k80_b16": of_b_caffe("resnet50_107", 16, 76.85),
        "resnet50_k80_b16": of_b_caffe("resnet50", 16, 76.85),
        "inception_v3_p100_b64": of_tensorflow("inception_v3", 142),
        "resnet50_p100_b64": of_tensorflow("resnet50", 219),
        "vgg16_p100_b64": of_tensorflow("vgg16", 154),
        "googlenet_p100_b128": of_dell(),
        "mobilenet_v2_v100_b32": of_torchvision(),
        "bert_base_v100_b32": of_paddle_benchmark(),
        "vgg16_cifar10_p102_b128": of_gtopk("vgg16_cifar10", 128, 0.097),
        "resnet20_p102_b128": of_gtopk("resnet20", 128, 0.146),
        "alexnet_p102_b64": of_gtopk("alexnet", 64, 0.369),
        "resnet50_p102_b256": of_gtopk("resnet50", 256, 4.842, steps=16),
        "resnet50_cifar10_v100_b64": of_mergecomp_cifar(),
        "resnet101_v100_b64": of_mergecomp_imagenet(),
        "resnet50_v100s_b128": of_v100s(of_kineto(), 128),
        "vgg16_v100s_b128": of_v100s(of_tensorflow("vgg16", 154), 128),
        "bert_base_v100s_b64": of_v100s(of_paddle_benchmark(), 64),
        "resnet50_rtx3090_b128": of_rtx_3090(of_kineto(), 128),
        "bert_base_rtx3090_b64": of_rtx_3090(of_paddle_benchmark(), 64),
    }
    for large, small in ((128, 64), (32, 16)):  # MG-WFBP's Table 4 per GPU, and per node of four
        traces[f"resnet152_v100_b{large}"] = of_mg_wfbp_v100("resnet152", large, "resnet152")
        traces[f"inceptionv4_v100_b{large}"] = of_mg_wfbp_v100("inceptionv4", large, "resnet152", inception_v4_share())
        traces[f"densenet161_v100_b{small}"] = of_mg_wfbp_v100("densenet161", small, "densenet161")
        traces[f"densenet201_v100_b{small}"] = of_mg_wfbp_v100("densenet201", small, "densenet161")
    traces.update({f"lenet5_2xk40c_b{batch}": of_bml("lenet5_tensorflow", batch) for batch in (128, 256, 512, 1024)})
    traces.update({f"vgg19_2xk40c_b{batch}": of_bml("vgg19", batch) for batch in (4, 16, 32, 64)})
    return traces


# --- the roofline ----------------------------------------------------------------------------------------------------

def device_text(gpu):
    """The GPU as a device file: of its rates the plain roofline reads no others."""
    return json.dumps({"description": "a GPU of tools/reconstruct_trace.py", "source": "its table", "peak_tflops": {"fp32": gpu.flops / 1e12},
                       "memory": "1 GB", "memory_bandwidth": f"{gpu.bandwidth!r} B/s", "sms": 1})


@functools.lru_cache(maxsize=None)
def plain_roofline(device, model, batch):
    """What the program prints of the device's and the model's text."""
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder, name) for name in ("model.json", "device.json")]
        for file, text in zip(files, (model, device)):
            file.write_text(text, encoding="utf-8")
        try:
            done = subprocess.run([PROGRAM, "estimate", "--model", files[0], "--device", files[1], "--batch", str(batch), "--plain"],
                                  capture_output=True, text=True, check=False)
        except OSError as error:
            raise InputError(f"{PROGRAM}: file: {error.strerror} (the program, which ALLREPLAY_PROGRAM may name)") from None
    if done.returncode:
        raise InputError(done.stderr.strip())
    return json.loads(done.stdout)


def roofline(gpu, layers, batch):
    """Seconds of every layer, before scaling: `allreplay estimate --plain`."""
    if not layers:
        return []
    counts = [{**{key: layer[key] for key in ("name", "forward_macs", "activation_bytes")},
               "tensors": [{"name": f"{layer['name']} {place}", "shape": tensor["shape"]} for place, tensor in enumerate(layer["tensors"])]} for layer in layers]
    times = plain_roofline(device_text(gpu), json.dumps({"name": "model", "layers": counts}), batch)
    return [Times(*pair) for pair in zip(times["forward_s"], times["backward_s"])]


def total_of(gpu, model, batch):
    """Seconds of forward and backward by the roofline."""
    return math.fsum(time for layer in roofline(gpu, read_model(model)["layers"], batch) for time in layer)


# --- scaling to the published total ----------------------------------------------------------------------------------

def spread(total_ns, weights):
    """Integer nanoseconds in proportion to the weights; their sum is `total_ns` exactly (running sums are rounded)."""
    whole = math.fsum(weights)
    ends = [round(total_ns * (math.fsum(weights[:count]) / whole)) for count in range(len(weights) + 1)]
    return [end - start for start, end in zip(ends, ends[1:])]


def scaled(times, total_s, forward_ratio=None):
    """The times in integer nanoseconds, adding up to `total_s`; `forward_ratio` fixes forward / backward of the sums."""
    total_ns = round(total_s * 1e9)
    forward, backward = [one.forward for one in times], [one.backward for one in times]
    if forward_ratio is None:
        both = spread(total_ns, forward + backward)
        forward, backward = both[:len(times)], both[len(times):]
    else:
        forward_ns = round(total_ns * forward_ratio / (1 + forward_ratio))
        forward, backward = spread(forward_ns, forward), spread(total_ns - forward_ns, backward)
    return [Times(*pair) for pair in zip(forward, backward)]


# --- files -----------------------------------------------------------------------------------------------------------

def read_text(path, right):
    """The text of a file, or an error that says what would be right."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: file: {getattr(error, 'strerror', None) or error} ({right})") from None


def model_path(name):
    """The file of a model: a path, or a name found in models/."""
    return Path(name) if name.endswith(".json") else ROOT / "models" / f"{name}.json"


def is_count(value):
    """Whether a JSON value is an integer of at least 0."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def is_tensors(value):
    """Whether a JSON value is a list of tensors with shapes."""
    return isinstance(value, list) and all(isinstance(tensor, dict) and isinstance(tensor.get("shape"), list) and
                                           tensor["shape"] and all(map(is_count, tensor["shape"])) for tensor in value)


LAYER_KEYS = {"name": (lambda value: isinstance(value, str), "a text"), "tensors": (is_tensors, "a list of tensors"),
              "forward_macs": (is_count, "a count per sample"), "activation_bytes": (is_count, "bytes per sample")}


def read_model(name):
    """A model with what the roofline needs: MACs and activation of every layer."""
    path = model_path(name)
    try:
        model = json.loads(read_text(path, "a model file, or the name of one in models/"))
    except json.JSONDecodeError as error:
        raise InputError(f"{path}: line {error.lineno}: {error.msg} (JSON)") from None
    if not isinstance(model, dict) or "name" not in model:
        raise InputError(f"{path}: /name: missing (the name of the model)")
    if not isinstance(model.get("layers"), list) or not model["layers"]:
        raise InputError(f"{path}: /layers: missing (a list of layers in forward order)")
    for place, layer in enumerate(model["layers"]):
        for key, (is_right, right) in LAYER_KEYS.items():
            if not isinstance(layer, dict) or not is_right(layer.get(key)):
                raise InputError(f"{path}: /layers/{place}/{key}: missing or wrong (the roofline needs {right})")
    return model


def number_or_none(path, line, row, key):
    """A field of a profile in microseconds; None where it is blank (not measured)."""
    try:
        return float(row[key]) if row[key] else None
    except ValueError:
        raise InputError(f"{path}: line {line}: {key} is {row[key]!r} (a number of microseconds)") from None


def read_profile(path):
    """Rows (layer, Times in microseconds or None) of a measured profile."""
    rows = csv.DictReader(read_text(path, "a measured profile").splitlines())
    if not {"layer", "forward_us", "backward_us"} <= set(rows.fieldnames or []):
        raise InputError(f"{path}: line 1: header is {rows.fieldnames} (right: layer,params,forward_us,backward_us)")
    return [(row["layer"], Times(*(number_or_none(path, line, row, key) for key in ("forward_us", "backward_us"))))
            for line, row in enumerate(rows, start=2)]


def trace_text(head, layers, times):
    """The trace file: its head on one line, then one layer per line with times in microseconds."""
    rows = (json.dumps({"name": layer["name"], "forward": one.forward / 1e3, "backward": one.backward / 1e3})
            for layer, one in zip(layers, times))
    body = ",\n".join("  " + row for row in rows)
    return f'{json.dumps(head)[:-1]},\n "layers": [\n{body}\n ]}}\n'


def reconstruct(model, gpu, batch, total_s, device, framework, source, forward_ratio=None, gpus=1):
    """The text of the trace of this model, batch per GPU and total (seconds per iteration)."""
    times = scaled(roofline(gpu, model["layers"], batch), total_s, forward_ratio)
    method = (f"split over layers by roofline ({gpu.flops / 1e12:g} TFLOP/s, {gpu.bandwidth / 1e9:g} GB/s, "
              f"{LAUNCH_US} us per kernel; tools/reconstruct_trace.py)")
    head = {"model": model["name"], "device": device, "framework": framework, "batch_size": gpus * batch, "precision": "fp32",
            "origin": "reconstructed", "source": f"{source}; {method}", "unit": "us"}
    return trace_text(head, model["layers"], times)


def reconstruct_shipped(folder):
    """Write every shipped trace into the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, one in shipped().items():
        text = reconstruct(read_model(one.model), one.gpu, one.batch, one.total_s, one.device, one.framework, one.source, gpus=one.gpus)
        (folder / f"{name}.json").write_text(text, encoding="utf-8")


# --- the check against a measured profile ----------------------------------------------------------------------------

class Agreement(NamedTuple):
    """How far a reconstructed split is from a measured one of the same total."""
    difference: float  # sum of |difference| / total; 0 is perfect, 2 the worst
    correlation: float  # Pearson's, over layers
    cumulative: float  # largest |difference| of the running sums / total


def correlation(left, right):
    """Pearson's correlation of two lists; 0 where one of them does not vary."""
    mean_left, mean_right = math.fsum(left) / len(left), math.fsum(right) / len(right)
    left, right = [x - mean_left for x in left], [x - mean_right for x in right]
    spreads = math.sqrt(math.fsum(x * x for x in left) * math.fsum(x * x for x in right))
    return math.fsum(x * y for x, y in zip(left, right)) / spreads if spreads else 0.0


def agreement(measured, weights):
    """Compare the measured times with the same total spread by the weights, both in the order in which they run."""
    total, whole = math.fsum(measured), math.fsum(weights)
    ours = [total * weight / whole for weight in weights]
    apart = [mine - theirs for mine, theirs in zip(ours, measured)]
    running = [abs(math.fsum(apart[:count])) for count in range(1, len(apart) + 1)]
    return Agreement(math.fsum(map(abs, apart)) / total, correlation(ours, measured), max(running) / total)


def matched(profile, layers, fold):
    """Measured [forward, backward] by layer name; with `fold`, rows of no layer go to the last layer before them."""
    names, found, last = {layer["name"] for layer in layers}, {}, None
    for name, times in profile:
        if name in names:
            last = name
        if last is not None and (fold or name in names):
            sums = found.setdefault(last, [None, None])
            found[last] = [old if new is None else (old or 0) + new for old, new in zip(sums, times)]
    return found


def compare(profile, model, gpu, batch, fold):
    """(layers matched, {"forward" or "backward": Agreement}) of a measured profile and the roofline."""
    measured = matched(profile, model["layers"], fold)
    layers = [layer for layer in model["layers"] if layer["name"] in measured]
    ours, result = roofline(gpu, layers, batch), {}
    for place, direction, step in ((0, "forward", 1), (1, "backward", -1)):
        theirs = [measured[layer["name"]][place] for layer in layers]
        if theirs and None not in theirs:
            result[direction] = agreement(theirs[::step], [times[place] for times in ours][::step])
    return len(layers), result


def check(path, model, gpu, batch):
    """Print how the roofline's split agrees with a measured profile."""
    profile = read_profile(path)
    extra = len(profile) > len(matched(profile, model["layers"], fold=False))
    for fold in (False, True) if extra else (False,):
        count, result = compare(profile, model, gpu, batch, fold)
        if not result:
            raise InputError(f"{path}: layer: no layer of {model['name']} has times (names must be those of the model)")
        rows = "other rows added to the layer before them" if fold else "rows of the model's layers alone"
        print(f"{path.name} against {model['name']}: {count} of {len(model['layers'])} layers, {rows}")
        for direction, found in result.items():
            print(f"  {direction:8}  sum of |difference| {found.difference:6.1%} of the total, correlation "
                  f"{found.correlation:.3f}, running sum off by at most {found.cumulative:.1%} of the total")


# --- the error of the method, out of sample --------------------------------------------------------------------------

class Known(NamedTuple):
    """A published profile whose model and GPU are known, of which the backward pass is measured soundly."""
    file: str
    model: str
    gpu: Gpu
    device: str
    batch: int
    without: tuple = ()  # prefixes of the model's layers that were not trained


# Not among them: BERT-large of dnn-partitioning and GNMT of PipeDream (no GPU stated; no model file), and Espresso's BERT-Base (no number of
# tokens stated). The forward pass is not used: Espresso and B-Caffe have none, PipeDream's carries its profiler's overhead.
KNOWN = (
    Known("resnet50_v100dgxs_b32_kineto.csv", "resnet50", V100, "V100", 32),
    Known("resnet50_v100_b32_espresso_pertensor.csv", "resnet50", V100, "V100", 32),
    Known("resnet50_pipedream.csv", "resnet50", V100, "V100", 128),
    Known("vgg16_v100_b32_espresso_pertensor.csv", "vgg16", V100, "V100", 32),
    Known("vgg16_pipedream.csv", "vgg16", V100, "V100", 128),
    Known("alexnet_titanx_b128_caffe.csv", "alexnet", TITAN_X, "Titan X", 128),
    Known("googlenet_titanx_b128_caffe.csv", "googlenet_caffe64", TITAN_X, "Titan X", 128, ("loss1/", "loss2/")),
    Known("googlenet_k80_b32_caffe.csv", "googlenet_caffe64", K80_DIE, "K80 die", 32),
)


class Held(NamedTuple):
    """The backward pass of a known profile beside the roofline's, layer by layer, in seconds, in forward order."""
    known: Known
    measured: list
    roofline: list

    def efficiency(self):
        """The part of the roofline that the training reaches."""
        return math.fsum(self.roofline) / math.fsum(self.measured)


def parameters(layer):
    """How many a layer of a model file has."""
    return sum(math.prod(tensor["shape"]) for tensor in layer["tensors"])


def trained_layers(known):
    """The layers of a known profile's model that were trained; all of them have parameters."""
    return [layer for layer in read_model(known.model)["layers"] if not layer["name"].startswith(known.without)]


def held(folder, known):
    """A known profile and the roofline, in units of the model's layers; what follows a layer belongs to it."""
    layers, path = trained_layers(known), folder / known.file
    units = in_units(read_rows(path), [parameters(layer) for layer in layers], path)
    return Held(known, [1e-6 * unit.backward for unit in units], [one.backward for one in roofline(known.gpu, layers, known.batch)])


def predicted(one, others):
    """The backward pass in seconds at the median efficiency of the others; None without any."""
    return math.fsum(one.roofline) / statistics.median(other.efficiency() for other in others) if others else None


def relative(value, truth):
    """The relative error; None of None."""
    return None if value is None else value / truth - 1


class Error(NamedTuple):
    """What the method would have said of a profile that it does not know."""
    other_models: float  # relative error of the total, predicted from the profiles of other models
    same_model: float | None  # from the other profiles of the same model; None where there is none
    split: Agreement


def leave_one_out(folder):
    """[(Held, Error)] of all known profiles."""
    found = [held(folder, known) for known in KNOWN]
    result = []
    for one in found:
        total_s = math.fsum(one.measured)
        by_others = predicted(one, [other for other in found if other.known.model != one.known.model])
        by_same = predicted(one, [other for other in found if other.known.model == one.known.model and other is not one])
        result.append((one, Error(relative(by_others, total_s), relative(by_same, total_s), agreement(one.measured[::-1], one.roofline[::-1]))))
    return result


def percent(value, sign=""):
    """A relative number as the table prints it."""
    return "-" if value is None else f"{100 * value:{sign}.0f} %"


def median_size(values):
    """The median size of the errors that there are."""
    return statistics.median(abs(value) for value in values if value is not None)


def leave_one_out_table(folder):
    """The errors as a Markdown table, line by line."""
    found = leave_one_out(folder)
    yield ("| model | GPU | batch | profile | backward, ms | of the roofline | total from other models | total from the same model | "
           "split, sum of differences | correlation | gradients ready, worst |")
    yield "|---|---|--:|---|" + "--:|" * 7
    for one, error in found:
        known, split = one.known, error.split
        yield (f"| {known.model} | {known.device} | {known.batch} | `{known.file}` | {1e3 * math.fsum(one.measured):.1f} | {one.efficiency():.2f} | "
               f"{percent(error.other_models, '+')} | {percent(error.same_model, '+')} | {percent(split.difference)} | {split.correlation:.2f} | {percent(split.cumulative)} |")
    errors = [error for _, error in found]
    yield (f"| median size | | | | | | {percent(median_size([one.other_models for one in errors]))} | {percent(median_size([one.same_model for one in errors]))} | "
           f"{percent(median_size([one.split.difference for one in errors]))} | {median_size([one.split.correlation for one in errors]):.2f} | "
           f"{percent(median_size([one.split.cumulative for one in errors]))} |")


# --- command line ----------------------------------------------------------------------------------------------------

class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one line."""

    def error(self, message):
        self.exit(2, f"{self.prog}: command line: {message} (right: see --help)\n")


def positive(text):
    """A number above 0."""
    value = float(text)
    if not 0 < value < math.inf:
        raise ValueError
    return value


def positive_integer(text):
    """An integer above 0."""
    value = int(text)
    if value <= 0:
        raise ValueError
    return value


positive.__name__, positive_integer.__name__ = "positive number", "positive integer"  # as argparse names them in errors


def parse():
    """The command line, checked."""
    parser = Parser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="?", metavar="MODEL", help="a name in models/, or a model file (.json)")
    parser.add_argument("--all", action="store_true", help="regenerate the shipped traces (into --out, default traces/)")
    parser.add_argument("--check", type=Path, metavar="PROFILE.csv", help="compare the split with a measured profile")
    parser.add_argument("--leave-one-out", type=Path, metavar="DIR", help="predict each published profile in DIR without it, and print the errors")
    parser.add_argument("--batch", type=positive_integer, metavar="B", help="samples per iteration on one GPU")
    parser.add_argument("--iteration-seconds", type=positive, metavar="T", help="published forward + backward of one GPU")
    parser.add_argument("--images-per-second", type=positive, metavar="X", help="published samples/s of one GPU, instead")
    parser.add_argument("--peak-tflops", type=positive, metavar="F", help="fp32 peak of the GPU, 1e12 FLOP/s")
    parser.add_argument("--memory-gbs", type=positive, metavar="G", help="memory bandwidth of the GPU, 1e9 bytes/s")
    parser.add_argument("--forward-ratio", type=positive, metavar="R", help="fix forward = R * backward over the sums")
    parser.add_argument("--device", metavar="NAME", help="the GPU, as the trace shall name it")
    parser.add_argument("--framework", metavar="NAME", default="unknown", help="who ran it (default: unknown)")
    parser.add_argument("--source", metavar="TEXT", help="where the published total comes from")
    parser.add_argument("--out", type=Path, metavar="FILE", help="the trace to write (with --all: a folder)")
    options = parser.parse_args()
    if not options.all and not options.leave_one_out:
        require(parser, options)
    elif options.model or options.check:
        parser.error(f"{'--all' if options.all else '--leave-one-out'} takes no MODEL and no --check")
    return options


def require(parser, options):
    """Refuse a command line that lacks what its mode needs."""
    needed = ["model", "batch", "peak_tflops", "memory_gbs"] + ([] if options.check else ["device", "source", "out"])
    for key in needed:
        if getattr(options, key) is None:
            parser.error(f"{'MODEL' if key == 'model' else '--' + key.replace('_', '-')} is missing")
    if not options.check and (options.iteration_seconds is None) == (options.images_per_second is None):
        parser.error("give --iteration-seconds or --images-per-second, one of them")


def main():
    """Do what the command line says."""
    options = parse()
    if options.all:
        return reconstruct_shipped(options.out or ROOT / "traces")
    if options.leave_one_out:
        return print(*leave_one_out_table(options.leave_one_out), sep="\n")
    model = read_model(options.model)
    gpu = Gpu(options.peak_tflops * 1e12, options.memory_gbs * 1e9)
    if options.check:
        return check(options.check, model, gpu, options.batch)
    total_s = options.iteration_seconds or options.batch / options.images_per_second
    options.out.write_text(reconstruct(model, gpu, options.batch, total_s, options.device, options.framework,
                                       options.source, options.forward_ratio), encoding="utf-8")


if __name__ == "__main__":
    try:
        main()
    except InputError as error:
        fail(error)
    except OSError as error:
        fail(f"{error.filename}: file: {error.strerror} (a place that can be written)")
