"""What is profiled: a module with random weights, inputs for it, and a loss. Nothing is downloaded."""

import contextlib
import difflib
import importlib.util
import inspect
import sys
from pathlib import Path
from typing import Any, Callable, NamedTuple

import torch

from torch_profile import InputError, first_line

IMAGE = "3x224x224"
IMAGES = {"inception_v3": "3x299x299", "inception_v3_aux": "3x299x299"}  # of one sample, where it is not IMAGE
AUXILIARY_WEIGHT = {"googlenet_aux": 0.3, "inception_v3_aux": 0.4}  # of each auxiliary loss, as their papers train

# Hugging Face: name: (name in models/, configuration class, model class, what differs from the class's defaults, tokens)
BERT_LARGE = {"hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16, "intermediate_size": 4096}


def gpt(name, layers, hidden, heads):
    """A GPT-2 of another size."""
    return (name, "GPT2Config", "GPT2LMHeadModel", {"n_layer": layers, "n_embd": hidden, "n_head": heads}, 1024)


def llama3(name, layers, hidden, heads, ffn, tied):
    """A LLaMA 3; the public configurations of meta-llama."""
    return (name, "LlamaConfig", "LlamaForCausalLM",
            {"num_hidden_layers": layers, "hidden_size": hidden, "num_attention_heads": heads, "num_key_value_heads": 8,
             "intermediate_size": ffn, "vocab_size": 128256, "max_position_embeddings": 8192,
             "tie_word_embeddings": tied}, 4096)


BUILT_IN = {
    "bert-base-uncased": ("bert_base", "BertConfig", "BertModel", {}, 384),
    "bert-large-uncased": ("bert_large", "BertConfig", "BertModel", BERT_LARGE, 384),
    "gpt2": ("gpt2", "GPT2Config", "GPT2LMHeadModel", {}, 1024),
    "gpt2-medium": gpt("gpt2_medium", 24, 1024, 16),
    "gpt2-large": gpt("gpt2_large", 36, 1280, 20),
    "gpt2-xl": gpt("gpt2_xl", 48, 1600, 25),
    "gpt3-2.7b": gpt("gpt3_2700m", 32, 2560, 32),
    "llama3.2-1b": llama3("llama32_1b", 16, 2048, 32, 8192, True),
    "llama3.2-3b": llama3("llama32_3b", 28, 3072, 24, 8192, True),
    "llama3-8b": llama3("llama3_8b", 32, 4096, 32, 14336, False),
}
LANGUAGE_MODELS = ("LMHeadModel", "ForMaskedLM", "ForCausalLM")  # endings of classes that take labels of the input's shape


class Subject(NamedTuple):
    """One thing to profile."""
    name: str  # of the model, as the trace shall name it
    module: torch.nn.Module
    inputs: tuple  # positional
    keywords: dict
    loss: Callable[[Any], torch.Tensor]  # of the module's output: a scalar
    sample: str  # what one sample is
    task: str  # which loss, in words
    blocks: frozenset = frozenset()  # names of modules that are one layer each


def shape_of(text):
    """The extents of one sample, from a text like 3x224x224."""
    try:
        extents = [int(extent) for extent in text.split("x")]
    except ValueError:
        extents = [0]
    if min(extents) < 1:
        raise InputError(f"--input: '{text}' is no shape of one sample (such as 3x224x224, or 128 for tokens)")
    return extents


def tensors_in(value):
    """All tensors in nested tuples, lists and dictionaries (what Hugging Face returns is one)."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return [tensor for part in value for tensor in tensors_in(part)] if isinstance(value, (list, tuple)) else []


def mean_loss(output):
    """The sum of the means of all floating-point outputs: a loss for modules that come without one."""
    means = [tensor.mean() for tensor in tensors_in(output) if tensor.is_floating_point() and tensor.requires_grad]
    if not means:
        raise InputError("the module's output depends on no trainable parameter (return a loss function, too)")
    return torch.stack(means).sum()


def torchvision_subject(name, batch, shape, device):
    """A classifier of torchvision with cross-entropy. `_aux` trains the auxiliary heads, too (names as in models/)."""
    try:
        from torchvision import models
    except ImportError:
        raise InputError(f"MODEL: '{name}' needs torchvision, which this Python lacks (python3-torchvision)") from None
    base = name[:-4] if name in AUXILIARY_WEIGHT else name
    options = {"aux_logits": name != base, "init_weights": False} if base in ("googlenet", "inception_v3") else {}
    if base not in models.list_models(module=models):
        near = difflib.get_close_matches(name, models.list_models(module=models) + list(AUXILIARY_WEIGHT), 3)
        right = ", ".join(near) or "a classifier of torchvision, hf:NAME or FILE.py:FUNCTION"
        raise InputError(f"MODEL: no model '{name}' in torchvision {sys.modules['torchvision'].__version__} ({right})")
    module = models.get_model(base, weights=None, **options)
    images = torch.randn(batch, *shape_of(shape or IMAGES.get(name, IMAGE)))
    labels = torch.randint(0, 1000, (batch,), device=device)  # once: a copy in every iteration would wait for the GPU

    def cross_entropy(output):
        main, *heads = output if isinstance(output, tuple) else (output,)
        loss = torch.nn.functional.cross_entropy(main, labels)
        for head in heads:
            if head is not None:
                loss = loss + AUXILIARY_WEIGHT[name] * torch.nn.functional.cross_entropy(head, labels)
        return loss

    return Subject(name, module, (images,), {}, cross_entropy, "x".join(map(str, images.shape[1:])), "cross-entropy")


def hugging_face_subject(text, batch, shape, device):
    """NAME[:CLASS] of Hugging Face, from its configuration; the built-in ones need no network."""
    try:
        import transformers
    except ImportError:
        raise InputError(f"MODEL: 'hf:{text}' needs the Python package transformers (pip install transformers)") from None
    name, _, wanted = text.partition(":")
    shipped, config_class, model_class, changes, tokens = BUILT_IN.get(name, ("", "", "", {}, 128))
    try:
        config = (getattr(transformers, config_class)(**changes) if shipped else
                  transformers.AutoConfig.from_pretrained(name))
        config.use_cache = False
        model_class = wanted or model_class
        with device if hasattr(device, "__enter__") else contextlib.nullcontext():  # PyTorch 2: made on the device
            module = (getattr(transformers, model_class)(config) if model_class else
                      transformers.AutoModel.from_config(config))
    except Exception as error:  # whatever the library raises: unknown names, no network, no such class
        raise InputError(f"MODEL: cannot build 'hf:{text}': {first_line(error)} "
                         f"(built in: {', '.join('hf:' + known for known in BUILT_IN)})") from None
    extents = shape_of(shape or str(tokens))
    words = torch.randint(0, getattr(config, "vocab_size", 1000), (batch, *extents))
    labelled = type(module).__name__.endswith(LANGUAGE_MODELS)

    def loss(output):
        return output["loss"] if labelled else mean_loss(output)

    name = shipped if shipped and model_class == BUILT_IN[name][2] else f"{name.split('/')[-1]}_{type(module).__name__}"
    return Subject(name.lower().replace("-", "_"), module, (), {"input_ids": words, **({"labels": words} if labelled else {})},
                   loss, f"{'x'.join(map(str, extents))} tokens",
                   "the model's own loss" if labelled else "the sum of the means of the outputs")


def own_subject(text, batch, shape, device):
    """FILE.py:FUNCTION; the function returns the module, or (module, example inputs[, loss function])."""
    file, _, function = text.rpartition(":")
    path = Path(file)
    if not path.is_file():
        raise InputError(f"{file}: file: there is none (MODEL is a torchvision name, hf:NAME or FILE.py:FUNCTION)")
    sys.path.insert(0, str(path.resolve().parent))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    code = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = code
    try:
        spec.loader.exec_module(code)
        make = getattr(code, function, None)
        if not callable(make):
            raise InputError(f"{file}: no function '{function}' (one that returns the module)")
        made = make(*(batch, device)[:len(inspect.signature(make).parameters)])
    except InputError:
        raise
    except Exception as error:  # the user's code may raise anything
        raise InputError(f"{file}: {function}: {first_line(error)} (it must return a module)") from None
    module, inputs, loss, *rest = (made if isinstance(made, tuple) else (made,)) + (None, None)
    if not isinstance(module, torch.nn.Module) or len(rest) > 2:
        raise InputError(f"{file}: {function}: returns no torch.nn.Module (or (module, example inputs[, loss function]))")
    if inputs is None and shape is None:
        raise InputError(f"{file}: {function}: returns no example inputs (give the shape of one sample by --input)")
    if inputs is None:
        inputs = torch.randn(batch, *shape_of(shape))
    positional = () if isinstance(inputs, dict) else tuple(inputs) if isinstance(inputs, (list, tuple)) else (inputs,)
    first = next(iter(tensors_in(inputs)), None)
    if first is None or batch not in first.shape[:2]:
        extents = "none" if first is None else list(first.shape)
        raise InputError(f"{file}: {function}: the first input's shape is {extents}, not of --batch {batch} samples")
    sample = "x".join(map(str, first.shape[1:] if first.shape[0] == batch else first.shape)) or "scalar"
    return Subject(function, module, positional, inputs if isinstance(inputs, dict) else {}, loss or mean_loss, sample,
                   "the given loss" if loss else "the sum of the means of the outputs")


def moved(value, device, dtype):
    """The same value with its tensors on the device, the floating-point ones in dtype."""
    if isinstance(value, torch.Tensor):
        return value.to(device, dtype if value.is_floating_point() else None)
    if isinstance(value, dict):
        return {key: moved(part, device, dtype) for key, part in value.items()}
    return type(value)(moved(part, device, dtype) for part in value) if type(value) in (list, tuple) else value


def block_names(module):
    """The names of the members of its outermost lists of modules (torch.nn.ModuleList): what FSDP wraps, one by one."""
    lists = [name for name, one in module.named_modules() if isinstance(one, torch.nn.ModuleList)]
    outermost = [name for name in lists if not any(name.startswith(f"{other}.") for other in lists)]
    return frozenset(f"{name}.{place}" for name in outermost for place in range(len(module.get_submodule(name))))


def in_blocks(subject, is_compiled):
    """The subject with each of its blocks as one layer, compiled by itself if asked for (as torchtitan does)."""
    blocks = block_names(subject.module)
    if not blocks:
        raise InputError(f"--layers: {subject.name} has no list of blocks (torch.nn.ModuleList)")
    if is_compiled:
        if not hasattr(torch, "compile"):
            raise InputError(f"--compile: PyTorch {torch.__version__} has no torch.compile (2.0 or later)")
        for name in blocks:
            block = subject.module.get_submodule(name)
            block.forward = torch.compile(block.forward, dynamic=False)
    return subject._replace(name=f"{subject.name}_blocks", blocks=blocks)


def make_subject(model, batch, shape, device, dtype):
    """The subject that a MODEL on the command line means, in training mode on the device."""
    torch.manual_seed(0)
    if model.startswith("hf:"):
        subject = hugging_face_subject(model[3:], batch, shape, device)
    elif ".py:" in model:
        subject = own_subject(model, batch, shape, device)
    elif model.endswith(".py"):
        raise InputError(f"{model}: which function makes the module? ({model}:FUNCTION)")
    else:
        subject = torchvision_subject(model, batch, shape, device)
    try:
        return subject._replace(module=subject.module.to(device, dtype).train(), inputs=moved(subject.inputs, device, dtype),
                                keywords=moved(subject.keywords, device, dtype))
    except RuntimeError as error:
        raise InputError(f"{model}: cannot be moved to {device}: {first_line(error)} (a smaller model or batch)") from None
