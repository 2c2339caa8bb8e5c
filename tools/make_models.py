#!/usr/bin/env python3
"""Make the model files: models/NAME.json, one per network.

A model file lists the layers of a network in forward order, each with its tensors (one tensor is one gradient), and
holds no times. Most networks are read from tensor lists (CSV, derived by instantiating the network once); the others
are derived here from the architecture that their paper gives.

Units and conventions, all for ONE sample and fp32:
  forward_macs      multiply-accumulates of the layer's forward pass; a normalisation counts two per element,
                    a look-up (embedding) none
  activation_bytes  size of the layer's output
  shape             as the framework stores it; a tensor that merges a weight with its bias is
                    [outputs, inputs * kernel area + 1], the bias being the last column; a merged normalisation is flat

Examples:
  tools/make_models.py                        make all of them in models/
  tools/make_models.py bert_base gpt2         make these two (derived here: no tensor lists needed)
  tools/make_models.py --tensors lists resnet50
"""

import argparse
import csv
import json
import math
import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
REFERENCE = Path(os.environ.get("ALLREPLAY_REFERENCE_DATA", ROOT.parent / "shared" / "data"))
FP32 = 4  # bytes per element
LIST_HEADER = ["tensor", "shape", "params", "layer", "layer_forward_macs", "layer_activation_bytes_per_sample"]


class InputError(Exception):
    """Bad input; the text is the line to print."""


def fail(line):
    """End as bad input does: one line on standard error."""
    print(line, file=sys.stderr)
    sys.exit(2)


def layer(name, macs, elements, tensors=()):
    """One layer: multiply-accumulates and output elements per sample, and pairs (tensor name, shape)."""
    return {"name": name, "forward_macs": macs, "activation_bytes": FP32 * elements,
            "tensors": [{"name": tensor, "shape": list(shape)} for tensor, shape in tensors]}


def tensors_of(layers):
    """All tensors of the layers, in forward order."""
    return [tensor for one in layers for tensor in one["tensors"]]


def parameters(tensors):
    """Number of parameters in the tensors."""
    return sum(math.prod(tensor["shape"]) for tensor in tensors)


# --- networks read from tensor lists ---------------------------------------------------------------------------------

TORCHVISION = ", as torchvision 0.14 defines it"
RESNET = "He et al. 2015 (arXiv 1512.03385)"
VGG = "Simonyan and Zisserman 2014 (arXiv 1409.1556)"
DENSENET = "Huang et al. 2016 (arXiv 1608.06993)"
GOOGLENET = "Szegedy et al. 2014 (arXiv 1409.4842)"
INCEPTION_V3 = "Szegedy et al. 2015 (arXiv 1512.00567)"

LISTED = {  # name: (tensor list, title, input, source)
    "alexnet": ("alexnet", "AlexNet", "3x224x224", "Krizhevsky 2014 (arXiv 1404.5997)" + TORCHVISION),
    "densenet121": ("densenet121", "DenseNet-121", "3x224x224", DENSENET + TORCHVISION),
    "densenet161": ("densenet161", "DenseNet-161", "3x224x224", DENSENET + TORCHVISION),
    "densenet169": ("densenet169", "DenseNet-169", "3x224x224", DENSENET + TORCHVISION),
    "densenet201": ("densenet201", "DenseNet-201", "3x224x224", DENSENET + TORCHVISION),
    "googlenet": ("googlenet_noaux", "GoogLeNet with batch normalisation, without auxiliary heads", "3x224x224",
                  GOOGLENET + TORCHVISION),
    "googlenet_aux": ("googlenet_aux", "GoogLeNet with batch normalisation and both auxiliary heads", "3x224x224",
                      GOOGLENET + TORCHVISION),
    "googlenet_59": ("googlenet_mgwfbp_pytorch", "GoogLeNet without batch normalisation and auxiliary heads",
                     "3x224x224", GOOGLENET + ", as the PyTorch code of MG-WFBP (arXiv 1912.09268) defines it"),
    "inception_v3": ("inception_v3_noaux", "Inception-v3 without its auxiliary head", "3x299x299",
                     INCEPTION_V3 + TORCHVISION),
    "inception_v3_aux": ("inception_v3_aux", "Inception-v3 with its auxiliary head", "3x299x299",
                         INCEPTION_V3 + TORCHVISION),
    "inceptionv4": ("inceptionv4", "Inception-v4", "3x299x299",
                    "Szegedy et al. 2016 (arXiv 1602.07261), as the PyTorch port of its TensorFlow code defines it"),
    "lenet5": ("lenet5_mnist", "LeNet-5", "1x28x28", "LeCun et al. 1998 (Proc. IEEE 86(11)), for MNIST"),
    "mobilenet_v2": ("mobilenet_v2", "MobileNet-v2", "3x224x224",
                     "Sandler et al. 2018 (arXiv 1801.04381)" + TORCHVISION),
    "resnet18": ("resnet18", "ResNet-18", "3x224x224", RESNET + TORCHVISION),
    "resnet20": ("resnet20_cifar10", "ResNet-20", "3x32x32", RESNET + ", section 4.2, for CIFAR-10"),
    "resnet34": ("resnet34", "ResNet-34", "3x224x224", RESNET + TORCHVISION),
    "resnet50": ("resnet50", "ResNet-50", "3x224x224", RESNET + TORCHVISION),
    "resnet101": ("resnet101", "ResNet-101", "3x224x224", RESNET + TORCHVISION),
    "resnet152": ("resnet152", "ResNet-152", "3x224x224", RESNET + TORCHVISION),
    "resnext50_32x4d": ("resnext50_32x4d", "ResNeXt-50 32x4d", "3x224x224",
                        "Xie et al. 2016 (arXiv 1611.05431)" + TORCHVISION),
    "squeezenet1_0": ("squeezenet1_0", "SqueezeNet 1.0", "3x224x224",
                      "Iandola et al. 2016 (arXiv 1602.07360)" + TORCHVISION),
    "vgg16": ("vgg16", "VGG-16", "3x224x224", VGG + TORCHVISION),
    "vgg16_cifar10": ("vgg16_cifar10", "VGG-16 with batch normalisation", "3x32x32", VGG + ", adapted to CIFAR-10"),
    "vgg19": ("vgg19", "VGG-19", "3x224x224", VGG + TORCHVISION),
}


def listed_tensor(path, line, row):
    """(layer name, macs, activation bytes, tensor name, shape) of one row of a tensor list."""
    try:
        shape = [int(size) for size in row["shape"].split("x")]
        numbers = [int(row[key]) for key in ("params", "layer_forward_macs", "layer_activation_bytes_per_sample")]
    except (AttributeError, TypeError, ValueError):
        values = ",".join(str(value) for value in row.values())
        raise InputError(f"{path}: line {line}: cannot read {values} (shapes are 64x3x7x7, counts integers)") from None
    if math.prod(shape) != numbers[0]:
        raise InputError(f"{path}: line {line}: params is {numbers[0]}, but shape {row['shape']} has {math.prod(shape)}")
    return row["layer"], numbers[1], numbers[2], row["tensor"], shape


def read_list(path):
    """The layers of a tensor list: one tensor per row, in forward order; the rows of a layer stand together."""
    try:
        rows = csv.DictReader(path.read_text(encoding="utf-8").splitlines())
    except OSError as error:
        raise InputError(f"{path}: file: {error.strerror} (--tensors names the folder of the tensor lists)") from None
    if rows.fieldnames != LIST_HEADER:
        raise InputError(f"{path}: line 1: header is {rows.fieldnames} (right: {','.join(LIST_HEADER)})")
    layers = []
    for line, row in enumerate(rows, start=2):
        name, macs, size, tensor, shape = listed_tensor(path, line, row)
        if not layers or layers[-1]["name"] != name:
            layers.append(layer(name, macs, size // FP32))
        layers[-1]["tensors"].append({"name": tensor, "shape": shape})
    return layers


def merged(one):
    """The same layer with all its tensors in one: a weight and its bias as one matrix, a normalisation flat."""
    shapes = [tensor["shape"] for tensor in one["tensors"]]
    count = parameters(one["tensors"])
    shape = shapes[0] if len(shapes) == 1 else [count] if len(shapes[0]) == 1 else [shapes[0][0], count // shapes[0][0]]
    return dict(one, tensors=[{"name": one["name"], "shape": shape}])


# --- GoogLeNet of Caffe ----------------------------------------------------------------------------------------------

INCEPTION = {  # outputs of 1x1, 3x3 reduce, 3x3, 5x5 reduce, 5x5, pool projection: Table 1 of arXiv 1409.4842
    "3a": (64, 96, 128, 16, 32, 32), "3b": (128, 128, 192, 32, 96, 64),
    "4a": (192, 96, 208, 16, 48, 64), "4b": (160, 112, 224, 24, 64, 64), "4c": (128, 128, 256, 24, 64, 64),
    "4d": (112, 144, 288, 32, 64, 64), "4e": (256, 160, 320, 32, 128, 128),
    "5a": (256, 160, 320, 32, 128, 128), "5b": (384, 192, 384, 48, 128, 128),
}
INCEPTION_SIZE = {"3": 28, "4": 14, "5": 7}  # height and width of the outputs, by stage
AUXILIARY_HEADS = {"4a": "loss1", "4d": "loss2"}  # the head that branches off after this module


def convolution(name, inputs, outputs, kernel, size):
    """A convolution with its bias merged: channels in and out, kernel width, height = width of the output."""
    weights = inputs * kernel * kernel
    return layer(name, outputs * weights * size * size, outputs * size * size, [(name, (outputs, weights + 1))])


def inception(module, inputs):
    """The six convolutions of an inception module with this many input channels."""
    one, reduce3, three, reduce5, five, pool = INCEPTION[module]
    size = INCEPTION_SIZE[module[0]]
    rows = [("1x1", inputs, one, 1), ("3x3_reduce", inputs, reduce3, 1), ("3x3", reduce3, three, 3),
            ("5x5_reduce", inputs, reduce5, 1), ("5x5", reduce5, five, 5), ("pool_proj", inputs, pool, 1)]
    return [convolution(f"inception_{module}/{name}", into, out, kernel, size) for name, into, out, kernel in rows]


def auxiliary_head(name, inputs):
    """An auxiliary classifier: 1x1 convolution on the 4x4 average, then two fully connected layers."""
    return [convolution(f"{name}/conv", inputs, 128, 1, 4), convolution(f"{name}/fc", 128 * 4 * 4, 1024, 1, 1),
            convolution(f"{name}/classifier", 1024, 1000, 1, 1)]


def googlenet_caffe64():
    """GoogLeNet of Caffe with both auxiliary heads: 64 layers, each one tensor of weight and bias."""
    layers = [convolution("conv1/7x7_s2", 3, 64, 7, 112), convolution("conv2/3x3_reduce", 64, 64, 1, 56),
              convolution("conv2/3x3", 64, 192, 3, 56)]
    channels = 192
    for module, (one, _, three, _, five, pool) in INCEPTION.items():
        layers += inception(module, channels)
        channels = one + three + five + pool
        if module in AUXILIARY_HEADS:
            layers += auxiliary_head(AUXILIARY_HEADS[module], channels)
    return layers + [convolution("loss3/classifier", channels, 1000, 1, 1)]


# --- LeNet-5 of TensorFlow -------------------------------------------------------------------------------------------

def lenet5_tensorflow():
    """LeNet-5 as TensorFlow's MNIST tutorial has it: wider than the paper's, padded, a hidden layer of 1024; shapes outputs first."""
    def conv(name, inputs, outputs, size):
        return layer(name, outputs * inputs * 25 * size * size, outputs * size * size,
                     [(f"{name}.weight", (outputs, inputs, 5, 5)), (f"{name}.bias", (outputs,))])
    return [conv("conv1", 1, 32, 28), conv("conv2", 32, 64, 14), dense("fc1", 7 * 7 * 64, 1024, 1), dense("fc2", 1024, 10, 1)]


# --- ResNet-50 for CIFAR-10 -------------------------------------------------------------------------------------------

def bare_convolution(name, inputs, outputs, kernel, size):
    """A convolution without bias: channels in and out, kernel width, height = width of the output."""
    return layer(name, outputs * inputs * kernel * kernel * size * size, outputs * size * size,
                 [(f"{name}.weight", (outputs, inputs, kernel, kernel))])


def batch_normalisation(name, channels, size):
    """A batch normalisation of so many channels."""
    return layer(name, 2 * channels * size * size, channels * size * size, [(f"{name}.weight", (channels,)), (f"{name}.bias", (channels,))])


def bottleneck(name, inputs, width, stride, size):
    """A bottleneck block with an output of height = width = `size`; its shortcut is a convolution where the shape changes."""
    before, outputs = size * stride, 4 * width
    rows = [("1", inputs, width, 1, before), ("2", width, width, 3, size), ("3", width, outputs, 1, size)]
    if inputs != outputs:
        rows.append(("shortcut", inputs, outputs, 1, size))
    layers = []
    for part, into, out, kernel, place in rows:
        layers += [bare_convolution(f"{name}.conv{part}", into, out, kernel, place), batch_normalisation(f"{name}.bn{part}", out, place)]
    return layers


def resnet50_cifar10():
    """ResNet-50 on 32x32 images: a 3x3 stem at full size, no pooling before the blocks, ten classes."""
    layers = [bare_convolution("conv1", 3, 64, 3, 32), batch_normalisation("bn1", 64, 32)]
    inputs = 64
    for stage, (width, blocks, stride, size) in enumerate([(64, 3, 1, 32), (128, 4, 2, 16), (256, 6, 2, 8), (512, 3, 2, 4)], start=1):
        for block in range(blocks):
            layers += bottleneck(f"layer{stage}.{block}", inputs, width, stride if block == 0 else 1, size)
            inputs = 4 * width
    return layers + [dense("fc", inputs, 10, 1)]


# --- sequence models -------------------------------------------------------------------------------------------------

def dense(name, inputs, outputs, tokens):
    """A fully connected layer with bias, applied to each token."""
    return layer(name, tokens * inputs * outputs, tokens * outputs,
                 [(f"{name}.weight", (outputs, inputs)), (f"{name}.bias", (outputs,))])


def normalisation(name, width, tokens):
    """A layer normalisation."""
    return layer(name, 2 * tokens * width, tokens * width, [(f"{name}.weight", (width,)), (f"{name}.bias", (width,))])


def embedding(name, rows, width, tokens):
    """A look-up of one row per token."""
    return layer(name, 0, tokens * width, [(f"{name}.weight", (rows, width))])


def attention(name, width, tokens):
    """Scores of all pairs of tokens and their weighted sum: no tensors."""
    return layer(name, 2 * tokens * tokens * width, tokens * width)


def bert_block(name, width, tokens):
    """One encoder block of BERT; the hidden layer is four times as wide."""
    return [*(dense(f"{name}.attention.self.{part}", width, width, tokens) for part in ("query", "key", "value")),
            attention(f"{name}.attention.self", width, tokens),
            dense(f"{name}.attention.output.dense", width, width, tokens),
            normalisation(f"{name}.attention.output.LayerNorm", width, tokens),
            dense(f"{name}.intermediate.dense", width, 4 * width, tokens),
            dense(f"{name}.output.dense", 4 * width, width, tokens),
            normalisation(f"{name}.output.LayerNorm", width, tokens)]


def bert(blocks, width, head, vocabulary=30522, prefix="", tokens=384):
    """BERT with this list of last layers, for sequences of `tokens` tokens (384: fine-tuning on SQuAD)."""
    layers = [embedding(f"{prefix}embeddings.word_embeddings", vocabulary, width, tokens),
              embedding(f"{prefix}embeddings.position_embeddings", 512, width, tokens),
              embedding(f"{prefix}embeddings.token_type_embeddings", 2, width, tokens),
              normalisation(f"{prefix}embeddings.LayerNorm", width, tokens)]
    for block in range(blocks):
        layers += bert_block(f"{prefix}encoder.layer.{block}", width, tokens)
    return layers + head


def bert_base():
    """BERT-base with the pooler, which sees the first token only."""
    return bert(12, 768, [dense("pooler.dense", 768, 768, 1)])


def bert_base_128():
    """BERT-base for sequences of 128 tokens (fine-tuning on sentence pairs)."""
    return bert(12, 768, [dense("pooler.dense", 768, 768, 1)], tokens=128)


def bert_large():
    """BERT-large with the pooler."""
    return bert(24, 1024, [dense("pooler.dense", 1024, 1024, 1)])


def bert_base_qa():
    """BERT-base for question answering: no pooler, a vocabulary padded to a multiple of 8 and two outputs per token."""
    return bert(12, 768, [dense("qa_outputs", 768, 2, 384)], vocabulary=30528, prefix="bert.")


def transposed_dense(name, inputs, outputs, tokens):
    """A fully connected layer as GPT-2 stores it: the weight is [inputs, outputs]."""
    one = dense(name, inputs, outputs, tokens)
    one["tensors"][0]["shape"].reverse()
    return one


def gpt2_block(name, width, tokens):
    """One decoder block of GPT-2; the mask is not exploited: all pairs of tokens are computed."""
    return [normalisation(f"{name}.ln_1", width, tokens),
            transposed_dense(f"{name}.attn.c_attn", width, 3 * width, tokens),
            attention(f"{name}.attn", width, tokens),
            transposed_dense(f"{name}.attn.c_proj", width, width, tokens),
            normalisation(f"{name}.ln_2", width, tokens),
            transposed_dense(f"{name}.mlp.c_fc", width, 4 * width, tokens),
            transposed_dense(f"{name}.mlp.c_proj", 4 * width, width, tokens)]


def gpt2(width=768, blocks=12, vocabulary=50257, tokens=1024):
    """GPT-2 (small). The output projection shares the tensor of the token embedding, whose gradient ends there."""
    layers = [embedding("transformer.wte", vocabulary, width, tokens),
              embedding("transformer.wpe", 1024, width, tokens)]
    for block in range(blocks):
        layers += gpt2_block(f"transformer.h.{block}", width, tokens)
    return layers + [normalisation("transformer.ln_f", width, tokens),
                     layer("lm_head", tokens * width * vocabulary, tokens * vocabulary)]


def lstm_ptb(width=1500, vocabulary=10000, tokens=35):
    """The large two-layer LSTM for Penn Treebank; one sample is a sequence of 35 words.

    Both recurrent layers are one layer here, since cuDNN computes them in one call and gives all their gradients at once.
    """
    shapes = (("weight_ih", (4 * width, width)), ("weight_hh", (4 * width, width)),
              ("bias_ih", (4 * width,)), ("bias_hh", (4 * width,)))
    recurrent = [(f"lstm.{name}_l{depth}", shape) for depth in (0, 1) for name, shape in shapes]
    return [embedding("word_embeddings", vocabulary, width, tokens),
            layer("lstm", 2 * tokens * 8 * width * width, tokens * width, recurrent),
            dense("sm_fc", width, vocabulary, tokens)]


BERT = "Devlin et al. 2018 (arXiv 1810.04805), tensors named as Hugging Face Transformers names them"

DERIVED = {  # name: (function, title, input, source)
    "bert_base": (bert_base, "BERT-base with pooler", "384 tokens", BERT),
    "bert_base_128": (bert_base_128, "BERT-base with pooler", "128 tokens", BERT),
    "bert_base_qa": (bert_base_qa, "BERT-base for question answering, vocabulary padded to 30528", "384 tokens", BERT),
    "bert_large": (bert_large, "BERT-large with pooler", "384 tokens", BERT),
    "googlenet_caffe64": (googlenet_caffe64, "GoogLeNet with both auxiliary heads, one tensor (weight and bias) per layer",
                          "3x224x224", GOOGLENET + ", layers named as the Caffe model bvlc_googlenet names them"),
    "gpt2": (gpt2, "GPT-2 small, input and output embedding tied", "1024 tokens",
             "Radford et al. 2019 (OpenAI), tensors named as Hugging Face Transformers names them"),
    "lenet5_tensorflow": (lenet5_tensorflow, "LeNet-5, wide", "1x28x28",
                          "TensorFlow's tutorial \"Deep MNIST for experts\" (mnist_deep.py); it has the 3.27 million parameters that BML "
                          "(Wang et al., NeurIPS 2018) gives for its LeNet-5"),
    "resnet50_cifar10": (resnet50_cifar10, "ResNet-50 for CIFAR-10", "3x32x32",
                         RESNET + ", with the 3x3 stem and 32x32 images that MergeComp (Wang et al. 2021, footnote 2) trains"),
    "lstm_ptb": (lstm_ptb, "two-layer LSTM of width 1500 for Penn Treebank", "35 tokens",
                 "Zaremba et al. 2014 (arXiv 1409.2329), the large configuration"),
}
MERGED = {  # name: (model whose layers get one tensor each, title)
    "resnet50_107": ("resnet50", "ResNet-50, one tensor per layer (53 convolutions, 53 batch normalisations, 1 fc)"),
}
NAMES = sorted([*LISTED, *DERIVED, *MERGED])


# --- files -----------------------------------------------------------------------------------------------------------

def make(name, tensor_lists):
    """The model as a dictionary; `tensor_lists` is the folder of the CSV lists."""
    if name in DERIVED:
        function, title, size, source = DERIVED[name]
        layers = function()
    else:
        base, title = MERGED.get(name, (name, None))
        file, base_title, size, source = LISTED[base]
        layers = read_list(tensor_lists / f"{file}.csv")
        if title:
            layers = [merged(one) for one in layers]
        title = title or base_title
    tensors = tensors_of(layers)
    description = f"{title}: {len(tensors)} tensors, {parameters(tensors):,} parameters"
    return {"name": name, "description": description, "source": source, "input": size, "layers": layers}


def text_of(model):
    """The model file: its head on one line, then one layer per line."""
    head = json.dumps({key: value for key, value in model.items() if key != "layers"})
    layers = ",\n".join("  " + json.dumps(one) for one in model["layers"])
    return f'{head[:-1]},\n "layers": [\n{layers}\n ]}}\n'


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one line."""

    def error(self, message):
        self.exit(2, f"{self.prog}: command line: {message} (right: see --help)\n")


def main():
    """Make the files named on the command line."""
    parser = Parser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="models to make (default: all); one of " + ", ".join(NAMES))
    parser.add_argument("--tensors", type=Path, default=REFERENCE / "tensors", metavar="DIR",
                        help="folder of the tensor lists (default: tensors/ in $ALLREPLAY_REFERENCE_DATA)")
    parser.add_argument("--out", type=Path, default=ROOT / "models", metavar="DIR", help="where to write (default: models/)")
    options = parser.parse_args()
    unknown = [name for name in options.names if name not in NAMES]
    if unknown:
        parser.error(f"no model {unknown[0]}; there are {', '.join(NAMES)}")
    options.out.mkdir(parents=True, exist_ok=True)
    for name in options.names or NAMES:
        (options.out / f"{name}.json").write_text(text_of(make(name, options.tensors)), encoding="utf-8")


if __name__ == "__main__":
    try:
        main()
    except InputError as error:
        fail(error)
    except OSError as error:
        fail(f"{error.filename}: file: {error.strerror} (--out names a folder that can be written)")
