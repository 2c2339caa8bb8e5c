"""What of a layer's backward pass makes gradients of its weights, and what hands back the gradient of its input: pipelines
that split the two run them at different times (docs/pipelines.md). Autograd computes what it is asked for, so each layer
that owns parameters is run once more by itself, on the inputs that it had, and asked for the one and for the other.
"""

import contextlib
import functools
import statistics

import torch

from torch_profile.subjects import tensors_in

REPETITIONS = 5


@contextlib.contextmanager
def first_inputs(leaves, found):
    """While the context lasts, `found` gets the inputs of each leaf's first call: {leaf: tuple}."""
    def keep(leaf, _module, inputs):
        found.setdefault(leaf, inputs)

    handles = [module.register_forward_pre_hook(functools.partial(keep, leaf)) for leaf, module in leaves.items()]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def anew(one, asked):
    """The same values, as the start of a graph of its own. Whether it has a gradient: as it had, if that is asked for."""
    if not isinstance(one, torch.Tensor):
        return one
    return one.detach().clone().requires_grad_(asked and one.requires_grad)  # cloned: the leaf may change it in place


def microseconds(clock, module, inputs, of_weights):
    """The median time of the gradients of its weights, or of its inputs; 0 where there are none."""
    weights = [one for one in module.parameters(recurse=False) if one.requires_grad]
    try:
        for one in weights:
            one.requires_grad_(of_weights)
        fresh = [anew(one, not of_weights) for one in inputs]
        asked = weights if of_weights else [one for one in tensors_in(fresh) if one.requires_grad]
        outputs = [one for one in tensors_in(module(*fresh)) if one.requires_grad]
    finally:
        for one in weights:
            one.requires_grad_()
    if not asked or not outputs:
        return 0.0
    marks, ones = [], [torch.ones_like(one) for one in outputs]
    for _ in range(1 + REPETITIONS):  # the first warms up
        begin = clock.now()
        torch.autograd.grad(outputs, asked, ones, retain_graph=True, allow_unused=True)
        marks.append((begin, clock.now()))
    clock.settle()
    return statistics.median(clock.microseconds(*pair) for pair in marks[1:])


def weight_shares(subject, clock, leaves):
    """{leaf: the share, 0 to 1} of those that own parameters and can be run by themselves."""
    owners = {leaf: module for leaf, module in leaves.items()
              if any(one.requires_grad for one in module.parameters(recurse=False))}
    inputs, shares = {}, {}
    with first_inputs(owners, inputs):
        subject.module(*subject.inputs, **subject.keywords)
    for leaf, given in inputs.items():
        try:
            weights, handed_back = (microseconds(clock, owners[leaf], given, of_weights) for of_weights in (True, False))
        except (RuntimeError, TypeError):  # it takes keywords, or cannot go backward twice
            continue
        if weights + handed_back > 0:
            shares[leaf] = weights / (weights + handed_back)
    return shares
