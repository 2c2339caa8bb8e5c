#!/usr/bin/env python3
"""Layer times of real GPUs that others published, as CSV tables that `allreplay import` reads: tools/get_public_traces.sh calls this.

  public_tables.py neusight OPERATORS.csv --blocks N --rows NAME=ROWS…  NeuSight's operators of a transformer on one GPU
  public_tables.py sailor PROFILE.json LLM_INFO.json --batch B          Sailor's layers of a transformer
  public_tables.py aceso OPERATORS.csv [--blocks N --width H]           Aceso's operators: a GPT, or else a wide ResNet
  public_tables.py triosim TRACE.csv TENSOR.csv                         TrioSim's operators of a convolutional net

Writes layer,params,tensors,forward_us,backward_us,update_us,group. A layer is a module with parameters; operators without any count
to the layer before them, as the importers have it.
"""

import argparse
import csv
import json
import math
import re
import statistics
import sys
from dataclasses import dataclass, field
from pathlib import Path

COLUMNS = ("layer", "params", "tensors", "forward_us", "backward_us", "update_us", "group")


@dataclass
class Layer:
    """Times in microseconds; `shapes` of its tensors, or only how many parameters they have."""
    name: str
    shapes: list = field(default_factory=list)
    forward: float = 0.0
    backward: float = 0.0
    update: float = 0.0
    group: str = ""
    params: int = 0

    def row(self):
        """Its line of the table."""
        params = self.params or sum(map(math.prod, self.shapes))
        shapes = ";".join("x".join(map(str, shape)) for shape in self.shapes)
        times = (f"{time:.3f}" if time or index < 2 else "" for index, time in enumerate((self.forward, self.backward, self.update)))
        return (self.name, params, shapes, *times, self.group)


def rows_of(path):
    """The lines of a CSV file."""
    csv.field_size_limit(sys.maxsize)
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


# ---- NeuSight: every operator of the embeddings, one block and the heads, alone, in ms ------------------------------------------

# What starts no kernel. Such an operator takes what NeuSight's clock costs, which is in every other time as well.
FREE = {"size", "view", "permute", "transpose", "getitem", "getattr", "split", "unsqueeze", "dim", "eq", "expand", "finfo", "type", "chunk", "to", "reshape"}


def neusight(options):
    """Layers in the order of the forward pass; the one block that was timed stands `blocks` times."""
    operators = [Operator(row) for row in rows_of(options.files[0])]
    clock = statistics.median(one.forward for one in operators if one.free and one.forward > 0)
    lookups = dict(pair.split("=") for pair in options.rows)
    layers, before, parameter = [], Layer(""), ""
    for one in operators:
        if one.op == "get_attr":
            parameter = one.target.rpartition(".")[0]  # the module of what the next operator reads
        if one.free:
            continue
        shapes = one.shapes(lookups)
        if shapes is not None:
            layers.append(Layer(one.target if one.op == "call_module" else parameter, shapes))
        last = layers[-1] if layers else before
        last.forward += one.without(clock, one.forward)
        last.backward += sum(one.without(clock, time) for time in (one.backward, one.accumulation))
    layers[0].forward += before.forward
    layers[0].backward += before.backward
    return repeated(layers, options.blocks)


class Operator:
    """A line of NeuSight's table."""

    def __init__(self, row):
        self.op, self.target = row["op"], row["target"]
        self.forward, self.backward, self.accumulation = (1e3 * float(row[f"{key}_latency"]) for key in ("fw", "bw", "acc"))
        self.inputs = json.loads(row["input_shapes"] or "[]")
        self.output = [int(extent) for extent in re.findall(r"\d+", row["output_shape"])]
        named = re.match(r"<(?:built-in (?:function|method)|function) (\w+)", self.target) if self.op == "call_function" else None
        self.function = named[1] if named else self.target
        self.free = self.op in ("placeholder", "get_attr", "output") or self.op != "call_module" and (
            self.function in FREE or self.function.startswith("<class") or self.output == [1])

    @staticmethod
    def without(clock, time):
        """A time that was taken, without what the clock costs."""
        return max(time - clock, 0.0) if time > 0 else 0.0

    def shapes(self, lookups):
        """Of the parameters that it has a gradient for; None where it has none."""
        if self.op == "call_function":
            if self.function == "addmm" and len(self.inputs) == 3 and self.accumulation > 0:
                return [self.inputs[2], self.inputs[0]]
            return [self.inputs[1]] if self.function == "embedding" else None
        if self.op != "call_module":
            return None
        name = self.target.rpartition(".")[2]
        if name in lookups:
            return [[int(lookups[name]), self.output[-1]]]
        if "norm" in name.lower() or name.startswith("ln_"):
            return [self.output[-1:], self.output[-1:]]
        if self.accumulation <= 0:
            return None
        bias = self.output[-1:]
        if name == "lm_head":  # tied to the embedding, whose gradient it adds to; no bias
            return []
        return [bias] if name == "decoder" else [[self.output[-1], self.inputs[0][-1]], bias]


def repeated(layers, blocks):
    """The layers with the one block among them `blocks` times."""
    block = re.compile(r"(.*?(?:layer|h)\.)0(\..*)")
    within = [layer for layer in layers if block.fullmatch(layer.name)]
    first, behind = layers.index(within[0]), layers.index(within[-1]) + 1
    all_of = layers[:first]
    for layer in all_of:
        layer.group = "embeddings"
    for number in range(blocks):
        for layer in within:
            before, after = block.fullmatch(layer.name).groups()
            all_of.append(Layer(f"{before}{number}{after}", layer.shapes, layer.forward, layer.backward, group=f"{before}{number}"))
    for layer in layers[behind:]:
        layer.group = "head"
    return all_of + layers[behind:]


# ---- Sailor: layers, in s; one block was timed, and the others are copies ---------------------------------------------------------


def sailor(options):
    """{batch: {tensor parallel degree: {layer: [forward, backward, update]}}}, and how many parameters the layers have."""
    times, info = (json.loads(path.read_text(encoding="utf-8")) for path in options.files)
    of_batch = times[str(options.batch)]["1"]
    sizes = info[options.model]["1"]
    layers = []
    for number in range(len(of_batch)):
        name = "embedding" if number == 0 else "head" if number == len(of_batch) - 1 else f"block.{number - 1}"
        forward, backward, update = (1e6 * seconds for seconds in of_batch[str(number)])
        layers.append(Layer(name, [], forward, backward, update, name, int(sizes[str(number)]["params_floats"])))
    return layers


# ---- Aceso: operators, in us; of a GPT the embedding, one block and the head ------------------------------------------------------

VOCABULARY, POSITIONS = 51200, 2048  # of its GPTs, Megatron's


def aceso(options):
    """Weights are rounded MiB: a GPT's shapes follow from its width."""
    operators = rows_of(options.files[0])
    return aceso_gpt(operators, options.blocks, options.width) if options.width else aceso_resnet(operators)


def aceso_gpt(operators, blocks, width):
    """As Megatron names the modules."""
    of_name = {row["op_name"]: row for row in operators}

    def layer(name, shapes, *names):
        return Layer(name, shapes, *(math.fsum(float(of_name[one][f"{way}-compute"]) for one in names) for way in ("forward", "backward")))

    def weight(rows, columns):
        return [[rows, columns], [rows]]

    norm = [[width], [width]]
    block = [("ln_1", norm, "enc-1st-layernorm"),
             ("qkv", weight(3 * width, width), *(f"enc-attention-{one}" for one in ("qkv", "score", "softmax", "dropout", "context"))),
             ("proj", weight(width, width), "enc-attention-dense", "enc-post-attention-dropout"),
             ("ln_2", norm, "enc-2nd-layernorm"),
             ("fc1", weight(4 * width, width), "enc-MLP-GEMM-1", "enc-MLP-gelu"),
             ("fc2", weight(width, 4 * width), "enc-MLP-GEMM-2", "enc-post-MLP-dropout")]
    layers = [layer("embedding", [[VOCABULARY, width], [POSITIONS, width]], "encoder-embedding")]
    layers += [layer(f"h.0.{name}", shapes, *names) for name, shapes, *names in block]
    layers.append(layer("ln_f", norm, "final-layernorm"))
    layers.append(layer("head", [], "gpt-post-process"))  # tied to the embedding
    return repeated(layers, blocks)


def aceso_resnet(operators):
    """Every operator stands in the file; fp32, so four bytes a parameter."""
    layers = []
    for row in operators:
        params = round(float(row["weights"]) * 2**20 / 4)
        if params > 0 and not row["op_name"].endswith("relu"):
            layers.append(Layer(row["op_name"], params=params))
        layers[-1].forward += float(row["forward-compute"])
        layers[-1].backward += float(row["backward-compute"])
    return layers


# ---- TrioSim: operators of an iteration in their order, in us ---------------------------------------------------------------------

MODULES = {"conv2d": "ConvolutionBackward0", "linear": "AddmmBackward0", "batch_norm": "CudnnBatchNormBackward0"}
PASSES = {**MODULES, "relu_": "ReluBackward0"}  # operators whose backward passes tell where the pass is


def triosim(options):
    """The backward pass is the forward one's reverse, but where branches meet: there autograd may run another branch first."""
    operators = rows_of(options.files[0])
    shapes = {row["TensorID"]: [int(extent) for extent in re.findall(r"\d+", row["TensorShape"])] for row in rows_of(options.files[1])}
    layers, passed = [], []  # passed: [(backward operator, layer)] in the order of the forward pass
    for row in operators:
        name = row["OperatorName"].removeprefix("aten::")
        counts_batches = name == "add_" and set(row["InputSize"].strip("[]").split("; ")) == {"1"}  # a norm's; 1 to 2 us
        if row["stage"] != "forward" or counts_batches:
            continue
        if name in MODULES:
            inputs = row["Operator_input"].strip("[]").split("; ")[1:3]
            layers.append(Layer(f"{name}.{sum(layer.name.startswith(name) for layer in layers)}", [shapes[one] for one in inputs]))
        layers[-1].forward += kernels(row)
        if name in PASSES:
            passed.append((PASSES[name], layers[-1]))
    at = layers[-1]
    for row in operators:
        if row["stage"] != "backward":
            continue
        name = row["OperatorName"].rpartition(" ")[2]
        if name in PASSES.values():
            index = max(place for place, (one, _) in enumerate(passed) if one == name)
            at = passed.pop(index)[1]
        elif passed:  # the loss, a pool: its work is the layer's whose pass comes next
            at = passed[-1][1]
        at.backward += kernels(row)
    if passed:
        raise SystemExit(f"public_tables.py: {options.files[0]}: no backward pass of {passed[-1][1].name}")
    layers[-1].update = math.fsum(kernels(row) for row in operators if row["stage"] == "optimizer")
    return layers


def kernels(row):
    """The sum of an operator's kernels; `Operator_cudatime` runs from the first to the last, with gaps."""
    return float(row["Operator_cudatimenooverlap"])


def main():
    """Write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=("neusight", "sailor", "aceso", "triosim"), help="whose format it is")
    parser.add_argument("files", nargs="+", type=Path, help="the published files")
    parser.add_argument("--blocks", type=int, help="how many blocks the transformer has")
    parser.add_argument("--rows", nargs="+", default=[], metavar="NAME=ROWS", help="the rows of embeddings, which operators do not show")
    parser.add_argument("--width", type=int, help="the hidden size of a GPT")
    parser.add_argument("--model", help="the model's name in Sailor's files")
    parser.add_argument("--batch", type=int, help="samples of a micro-batch, of the several in the file")
    options = parser.parse_args()
    table = csv.writer(sys.stdout, lineterminator="\n")
    table.writerow(COLUMNS)
    table.writerows(layer.row() for layer in globals()[options.kind](options))


if __name__ == "__main__":
    main()
