#!/usr/bin/env python3
"""Convert layer times from file formats of older tools to the CSV table that `allreplay import` reads.

  convert_trace.py pipedream graph.txt [--keep-overhead]      PipeDream's profile
  convert_trace.py caffe-time output.log                      the output of `caffe time`
  convert_trace.py bcaffe node.log                            a log of B-Caffe: backward times only (import with --forward-ratio 0.5)
  convert_trace.py dnn-partitioning graph.json                a training graph of msr-fiddle/dnn-partitioning
  convert_trace.py astra-sim workload.txt [--clock GHZ]       a data-parallel workload of ASTRA-sim 1.0; compute in cycles

Writes layer,params,tensors,forward_us,backward_us to standard output. Notes on standard error say what was left out or assumed.
The table has no batch size: give it to `allreplay import` as --batch.
"""

import argparse
import collections
import csv
import heapq
import json
import math
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

COLUMNS = ("layer", "params", "tensors", "forward_us", "backward_us")


@dataclass
class Layer:
    """Times in picoseconds (None: not measured); the elements of its tensors, by name ("": the layer's)."""
    name: str
    forward: int | None
    backward: int
    tensors: dict = field(default_factory=dict)


def picoseconds(value, unit):
    """A measured time of so many units (in seconds)."""
    return round(float(value) * unit * 1e12)


def elements(size, element_bytes=1):
    """A whole number of parameters."""
    count = float(size) / element_bytes
    if count < 0 or count != int(count):
        raise ValueError(f"{size} is not a number of parameters")
    return int(count)


def note(text):
    """Tell the user what the table does not."""
    print(f"note: {text}", file=sys.stderr)


# ---- PipeDream: nodes with times in ms, and the edges between them ----------------------------------------------------------------

NODE = re.compile(r"(\S+) -- (.*?) -- forward_compute_time=([^,]+), backward_compute_time=([^,]+),.*parameter_size=([^\s,]+)( -- stage_id=\S+)?")


def pipedream(options):
    """Layers in topological order, the lowest number first: nodes were numbered as they ran."""
    layers, after, waits_for = {}, collections.defaultdict(list), collections.Counter()
    for line in filter(None, map(str.strip, options.text.split("\n"))):
        if node := NODE.fullmatch(line):
            name, description, forward, backward, size, _ = node.groups()
            if name in layers:
                raise ValueError(f"a second node '{name}'")
            params = elements(size, 4)  # bytes of fp32
            layers[name] = Layer(f"{name}:{description.split('(')[0]}", picoseconds(forward, 1e-3), picoseconds(backward, 1e-3), {"": params} if params else {})
        else:
            start, end = line.split(" -- ")
            after[start].append(end)
            waits_for[end] += 1
    if unknown := (set(after) | set(waits_for)) - set(layers):
        raise ValueError(f"there is no node '{min(unknown)}'")
    lone = [name for name in layers if not after[name] and not waits_for[name]]
    if lone and len(layers) > 1:
        raise ValueError(f"no edge connects '{lone[0]}' to the others: was the file cut off?")
    loading = [layer for layer in layers.values() if re.fullmatch(r"[^:]*:Input\d*", layer.name) and not layer.tensors]
    # The profiler adds the same fixed cost to every forward time. The shortest time of a module without parameters is close to it.
    timed = [layer for layer in layers.values() if layer not in loading]
    cost = min((layer.forward for layer in timed if layer.forward > 0 and not layer.tensors), default=0)
    if not options.keep_overhead and cost:
        note(f"{cost / 1e6:g} us, the profiler's fixed cost, were subtracted from every forward time (--keep-overhead keeps them)")
        for layer in timed:
            layer.forward = max(layer.forward - cost, 0)
    note(f"left out: {len(loading)} inputs, {sum(layer.forward for layer in loading) / 1e9:g} ms of loading data")
    return [layer for layer in in_order(layers, after, waits_for) if layer not in loading]


def in_order(layers, after, waits_for):
    """Every layer after those that it waits for."""
    ready = [(len(name), name) for name in layers if not waits_for[name]]
    heapq.heapify(ready)
    order = []
    while ready:
        name = heapq.heappop(ready)[1]
        order.append(layers[name])
        for other in after[name]:
            waits_for[other] -= 1
            if not waits_for[other]:
                heapq.heappush(ready, (len(other), other))
    if len(order) < len(layers):
        raise ValueError("the graph has a cycle")
    return order


# ---- dnn-partitioning: a graph of forward and backward nodes, in ms -------------------------------------------------------------------


def dnn_partitioning(options):
    """A forward and a backward node of one color class make a layer, whose size is that of its parameters and its output."""
    graph = json.loads(options.text)
    forward, backward = ({node["colorClass"]: node for node in graph["nodes"] if node["isBackwardNode"] == way} for way in (0, 1))
    if len(forward) + len(backward) < len(graph["nodes"]):
        raise ValueError("two forward or two backward nodes have the same colorClass")
    color_of = {node["id"]: color for nodes in (forward, backward) for color, node in nodes.items()}
    after, waits_for, output = collections.defaultdict(list), collections.Counter(), collections.Counter()
    forward_ids, backward_ids = ({node["id"] for node in nodes.values()} for nodes in (forward, backward))
    for edge in graph["edges"]:  # those of the backward nodes run from input to output, too
        start, end = edge["sourceId"], edge["destId"]
        if {start, end} <= forward_ids:
            after[color_of[start]].append(color_of[end])
            waits_for[color_of[end]] += 1
            output[color_of[start]] = max(output[color_of[start]], edge["size"])
        elif {start, end} <= backward_ids:  # the gradient of the output of the forward node of `end`
            output[color_of[end]] = max(output[color_of[end]], edge["size"])
        elif {start, end} - set(color_of):
            raise ValueError(f"an edge of an unknown node: {edge}")
    # First come, first served among the nodes that wait for nothing, in the order of the file.
    order = [color for color in forward if not waits_for[color]]
    for color in order:
        for other in after[color]:
            waits_for[other] -= 1
            if not waits_for[other]:
                order.append(other)
    if len(order) < len(forward):
        raise ValueError("the graph has a cycle")
    layers = []
    for color in order:
        params = elements(max(forward[color]["size"] - output[color], 0), options.element_bytes)
        layers.append(Layer(forward[color]["name"], *(picoseconds(way[color]["fpgaLatency"], 1e-3) for way in (forward, backward)), {"": params} if params else {}))
    note(f"times are fpgaLatency; {sum(output[color] for color in order):.0f} bytes of outputs were subtracted from the nodes' sizes")
    return layers


# ---- B-Caffe: for each blob in forward order [index, elements, backward us, communication us, …] --------------------------------------


def bcaffe(options):
    """The last iteration that has times; blobs in a row with equal backward times are one layer's."""
    iterations = []
    for line in re.findall(r"distributed\.cpp:\d+\] \[(.*)\]", options.text):
        index, count, backward, *_ = map(float, line.split(","))
        if index == 0:
            iterations.append([])
        if index != len(iterations[-1]):
            raise ValueError(f"blob {index:g} where {len(iterations[-1])} was expected")
        iterations[-1].append((elements(count), picoseconds(backward, 1e-6)))
    if len({len(iteration) for iteration in iterations}) > 1:
        raise ValueError("iterations of different numbers of blobs")
    blobs = [iteration for iteration in iterations if any(backward > 0 for _, backward in iteration)][-1]
    layers = []
    for number, (count, backward) in enumerate(blobs):
        if number == 0 or backward != blobs[number - 1][1]:
            layers.append(Layer(f"layer{len(layers)}", None, backward))
        if count > 0:
            layers[-1].tensors[f"blob{number}"] = count
    note(f"{len(blobs)} blobs, {len(layers)} layers; left out: the measured communication")
    return layers


# ---- `caffe time`: the net in protobuf's text format, the shapes of blobs, and mean times in ms ----------------------------------------


@dataclass
class SetUp:
    """What Caffe logs when it creates a layer: the blobs that it reads and makes, and the shapes of the latter."""
    name: str
    bottoms: list = field(default_factory=list)
    tops: list = field(default_factory=list)
    shapes: list = field(default_factory=list)


def caffe_time(options):
    """Caffe's means per layer. Parameters are counted from the net and the shapes in the log."""
    net, set_ups, times, in_net = [], [], {}, False
    for line in options.text.split("\n"):
        logged = re.match(r"[IWEF]\d{4}.*?\] (.*)", line)
        if not logged:
            net += [line] * in_net
            continue
        message = logged[1].rstrip()
        in_net = message.startswith("Initializing net from parameters:")
        if in_net:
            net, set_ups = [], []
        elif message.startswith("Creating Layer "):
            set_ups.append(SetUp(message[15:]))
        elif set_ups and message.startswith("Top shape: "):
            set_ups[-1].shapes.append([int(extent) for extent in message[11:].split("(")[0].split()])
        elif set_ups and message.startswith((f"{set_ups[-1].name} <- ", f"{set_ups[-1].name} -> ")):
            way, blob = message[len(set_ups[-1].name) + 1 :].split(" (in-place)")[0].split(" ", 1)
            (set_ups[-1].bottoms if way == "<-" else set_ups[-1].tops).append(blob)
        elif message.startswith("Average time per layer"):
            times = {}
        elif timed := re.match(r"\s*(\S.*?)\s*\t(forward|backward): (\S+) ms", message):
            times.setdefault(timed[1], {})[timed[2]] = picoseconds(timed[3], 1e-3)
    if not times:
        raise ValueError("has no times per layer")
    sizes = caffe_sizes(net_of("\n".join(net)), set_ups)
    if missing := set(sizes) - set(times):
        raise ValueError(f"{len(missing)} layers with parameters have no times")
    if set_ups and set_ups[0].shapes:
        note(f"the batch size is {set_ups[0].shapes[0][0]}")
    return [Layer(name, time["forward"], time["backward"], sizes.get(name, {})) for name, time in times.items()]


def net_of(text):
    """The layers of protobuf's text format by name, each a list of (key, value). The last one is dropped if glog cut it off."""
    root = message = []
    outer, key = [], None
    for token in re.findall(r'#.*|"[^"]*"|[{}:]|[^\s{}:"]+', text):
        if token == ":" or token.startswith("#"):
            continue
        if token == "}":
            message = outer.pop()
        elif key is None:
            key = token
        else:
            message.append((key, [] if token == "{" else token.strip('"')))
            if token == "{":
                outer.append(message)
                message = message[-1][1]
            key = None
    if outer or key:
        root.pop()
    return {one(layer, "name", ""): layer for key, layer in root if key == "layer"}


def one(message, key, default):
    """The last value of a key."""
    return ([value for name, value in message if name == key] or [default])[-1]


def caffe_sizes(defined, set_ups):
    """{layer: {learnable blob: its elements}}."""
    like = {name.rpartition("/")[2]: name for name in defined}
    shapes, sizes, guessed = {}, {}, []
    for layer in set_ups:
        bottom, top = shapes.get(layer.bottoms[0], []) if layer.bottoms else [], layer.shapes[0] if layer.shapes else []
        definition = defined.get(layer.name)
        # glog cuts a message at 30,000 bytes. A layer behind the cut that neither works in place nor joins or splits blobs is like the
        # last one with the same last part of its name, or fully connected if it makes two-dimensional data of others, or a pool.
        if definition is None and len(layer.bottoms) == len(layer.tops) == 1 and layer.bottoms != layer.tops:
            name = like.get(layer.name.rpartition("/")[2])
            if name is not None:
                definition = defined[name]
            elif len(top) == 2 != len(bottom):
                definition, name = [("type", "InnerProduct")], "fully connected"
            elif "pool" in layer.name:
                name = "pooling"
            else:
                raise ValueError(f"the definition of '{layer.name}' is missing")
            guessed.append(f"'{layer.name}' as {name}")
        counts = zip(("weight", "bias"), caffe_blobs(definition, bottom, top) if definition else [])
        if tensors := {f"{layer.name}.{name}": count for name, count in counts if count}:
            sizes[layer.name] = tensors
        shapes.update(zip(layer.tops, layer.shapes))
    if guessed:
        note(f"glog cut off the net's definition; layers taken by name: {', '.join(guessed)}")
    return sizes


def caffe_blobs(definition, bottom, top):
    """The elements of a layer's weights and of its bias, by its definition and the shapes of its first input and output."""
    kind = one(definition, "type", "")
    given = one(definition, {"Convolution": "convolution_param", "Deconvolution": "convolution_param", "InnerProduct": "inner_product_param",
                             "Embed": "embed_param", "Scale": "scale_param", "PReLU": "prelu_param"}.get(kind, ""), [])

    def number(key, default):
        return int(one(given, key, default))

    def with_bias(weights, bias, default="true"):
        return [weights, bias if one(given, "bias_term", default) == "true" else 0]

    if kind in ("Convolution", "Deconvolution"):
        kernel = [int(size) for key, size in given if key == "kernel_size"]
        area = number("kernel_h", 0) * number("kernel_w", 0)
        if kernel:
            area = math.prod(kernel[min(axis, len(kernel) - 1)] for axis in range(len(bottom) - 2))
        return with_bias(top[1] * bottom[1] // max(number("group", 1), 1) * area, top[1])
    if kind == "InnerProduct":
        return with_bias(math.prod(bottom[number("axis", 1) :]) * top[-1], top[-1])
    if kind == "Embed":
        return with_bias(number("input_dim", 0) * top[-1], top[-1])
    if kind == "Scale" and sum(key == "bottom" for key, _ in definition) < 2:  # a second bottom would be its factors
        size = math.prod(bottom[number("axis", 1) : number("axis", 1) + number("num_axes", 1)])
        return with_bias(size, size, "false")
    if kind == "PReLU":
        return [1 if one(given, "channel_shared", "false") == "true" else bottom[1]]
    # The rest has no parameters, or statistics (BatchNorm), which have no gradients.
    if kind != "BatchNorm" and any(key == "param" for key, _ in definition):
        raise ValueError(f"the parameters of a layer of type {kind} cannot be counted")
    return []


# ---- ASTRA-sim 1.0: a line per layer: name, reserved, (cycles, communication, bytes) three times, update delay ----------------------------

KINDS = ("DATA", "MICRO", "HYBRID_DLRM", "HYBRID_DLRM_ENHANCED", "HYBRID_TRANSFORMER", "HYBRID_DATA_MODEL", "HYBRID_MODEL_DATA")


def astra_sim(options):
    """A layer's backward time is that of both gradients; its gradient is what is all-reduced after the weight gradient."""
    (kind, *_), (count, *_), *rows = filter(None, map(str.split, options.text.split("\n")))
    if kind not in KINDS:
        raise ValueError(f"{kind} is not data-parallel: one of {', '.join(KINDS)}")
    if int(count) != len(rows):
        raise ValueError(f"{count} layers, but {len(rows)} lines follow")
    layers, left_out = [], 0
    for name, _, forward, sends, sent, gradient, also_sends, also_sent, weights, reduction, size, _ in rows:
        others = ((sends, sent), (also_sends, also_sent)) + ((reduction, size),) * (reduction != "ALLREDUCE")
        left_out += any(kind != "NONE" and int(amount) for kind, amount in others)
        params = elements(size, options.element_bytes) if reduction == "ALLREDUCE" else 0
        forward, backward = (picoseconds(cycles, 1e-9 / options.clock) for cycles in (int(forward), int(gradient) + int(weights)))
        layers.append(Layer(name, forward, backward, {"": params} if params else {}))
    note(f"cycles of {options.clock:g} GHz (files for Chakra's text converter count microseconds: --clock 0.001)")
    if left_out:
        note(f"left out: what {left_out} layers send that is no all-reduce of gradients")
    return layers


CONVERTERS = {"pipedream": pipedream, "caffe-time": caffe_time, "bcaffe": bcaffe, "dnn-partitioning": dnn_partitioning, "astra-sim": astra_sim}


def rows_of(layers):
    """The lines of the table; a second layer `relu` becomes `relu#2`."""
    seen = set()
    for layer in layers:
        name, count = layer.name, 1
        while name in seen:
            count += 1
            name = f"{layer.name}#{count}"
        seen.add(name)
        times = ("" if time is None else f"{time // 10**6}.{time % 10**6:06}" for time in (layer.forward, layer.backward))
        tensors = (f"{tensor}={count}" if tensor else str(count) for tensor, count in layer.tensors.items())
        yield name, sum(layer.tensors.values()), ";".join(tensors), *times


def main():
    """Write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("format", choices=CONVERTERS)
    parser.add_argument("file", type=Path)
    parser.add_argument("--keep-overhead", action="store_true", help="pipedream: do not subtract the profiler's fixed cost")
    parser.add_argument("--clock", type=float, default=1, metavar="GHZ", help="astra-sim: the clock of its cycles (1)")
    parser.add_argument("--element-bytes", type=int, default=4, metavar="BYTES", help="dnn-partitioning, astra-sim: bytes of a parameter (4)")
    options = parser.parse_args()
    try:
        options.text = options.file.read_text(encoding="utf-8", errors="replace")
        rows = list(rows_of(CONVERTERS[options.format](options)))
    except (OSError, ValueError, LookupError, TypeError) as error:
        print(f"{options.file}: is no {options.format} file ({error if isinstance(error, (OSError, ValueError)) else repr(error)})", file=sys.stderr)
        sys.exit(2)
    table = csv.writer(sys.stdout, lineterminator="\n")
    table.writerow(COLUMNS)
    table.writerows(rows)


if __name__ == "__main__":
    main()
