"""When each layer's forward begins and its backward ends, in one iteration of a PyTorch module.

A layer is a call of a leaf module: one without children, one that owns parameters directly, or a whole block. Its forward lasts until
the next leaf begins, so what runs between leaves (residual additions, functional ReLU or pooling) belongs to the leaf
before it, and the sum is the whole forward pass. Its backward ends when its last gradient is accumulated or, without
gradients of its own, when its last autograd node is done; it begins where the layer before it in the backward pass
ends, so the sum is the whole backward pass. No tensor is wrapped: in-place operations work as without hooks.
"""

import contextlib
import functools
import inspect
import time
from typing import Any, NamedTuple

import torch

from torch_profile import InputError
from torch_profile.subjects import tensors_in

ROOT = "(root)"  # the layer of parameters that the outermost module owns
MOST_NODES = 64  # of one leaf without parameters; more would mean that its inputs are hidden from the hook
WITH_KEYWORDS = "with_kwargs" in inspect.signature(torch.nn.Module.register_forward_pre_hook).parameters  # PyTorch 2


class CpuClock:
    """Moments in nanoseconds; on a CPU, work is done when its call returns."""
    now = staticmethod(time.perf_counter_ns)

    @staticmethod
    def microseconds(begin, end):
        return (end - begin) / 1e3

    @staticmethod
    def settle():
        """Wait for all moments to have come."""


class CudaClock:
    """Moments are events on the current stream, so the CPU may run ahead."""
    settle = staticmethod(torch.cuda.synchronize)

    @staticmethod
    def now():
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    @staticmethod
    def microseconds(begin, end):
        return begin.elapsed_time(end) * 1e3


class Marks(NamedTuple):
    """The moments of one iteration."""
    begin: Any
    middle: Any  # forward and loss are done
    end: Any
    starts: list  # (layer, moment) in forward order
    ends: list  # (is it a tensor, name of tensor or layer, moment) in backward order


class Times(NamedTuple):
    """Microseconds of one iteration, layer by layer."""
    forward: dict  # in the order of the calls
    backward: dict  # in the order in which they end
    apart: dict  # layer: between its first and its last gradient


def iterate(subject, clock):
    """One iteration from loaded inputs to the last gradient; returns (begin, middle, end). Freeing the old gradients
    comes before, and there is no optimiser."""
    subject.module.zero_grad(set_to_none=True)
    begin = clock.now()
    loss = subject.loss(subject.module(*subject.inputs, **subject.keywords))
    middle = clock.now()
    loss.backward()
    return begin, middle, clock.now()


def is_leaf(module):
    """Whether the module is a layer: it has no children, or owns parameters directly."""
    return next(module.children(), None) is None or next(module.parameters(recurse=False), None) is not None


def layers_of(module, blocks):
    """{name: module} of the leaves. With `blocks` (names), each of these modules is one leaf, whatever it contains."""
    inside = tuple(f"{block}." for block in blocks)
    return {name or ROOT: one for name, one in module.named_modules()
            if name in blocks or (is_leaf(one) and not name.startswith(inside))}


def upstream(tensors):
    """The autograd nodes that made the tensors, the nearest few: where a tensor is a view that is then changed in place,
    PyTorch puts a new node for the view on top of what made its base."""
    found = []
    todo = [tensor.grad_fn for tensor in tensors]
    while todo and len(found) < 8 * len(tensors):
        node = todo.pop(0)
        if node is not None and node not in found:
            found.append(node)
            todo += [before for before, _ in node.next_functions]
    return found


def nodes_between(output, inputs):
    """The autograd nodes that made the output from the inputs, gradient accumulators left out; none where they are more
    than a leaf has. Captured when the leaf returns, they stay right if the output is then changed in place."""
    found, todo = [], [tensor.grad_fn for tensor in tensors_in(output)]
    while todo and len(found) <= MOST_NODES:
        node = todo.pop()
        if node is not None and node not in inputs and node not in found and not hasattr(node, "variable"):
            found.append(node)
            todo += [before for before, _ in node.next_functions]
    return found if len(found) <= MOST_NODES else []


class Recorder:
    """Hooks that record Marks; attached to the module only while it records."""

    def __init__(self, subject, clock):
        self.subject, self.clock = subject, clock
        self.leaves = layers_of(subject.module, subject.blocks)
        self.parameters = {name: one for name, one in subject.module.named_parameters() if one.requires_grad}
        if not self.parameters:
            raise InputError("the module has no trainable parameters: nothing would ever be communicated")
        names = {id(one): name for name, one in self.parameters.items()}
        self.holders = {name: [] for name in self.parameters}  # the leaves that hold it: several where it is shared
        for leaf, module in self.leaves.items():
            for one in module.parameters(recurse=leaf in subject.blocks):
                if id(one) in names:
                    self.holders[names[id(one)]].append(leaf)
        # The node that accumulates a gradient runs once per backward pass, when all uses have contributed. It is kept
        # here, since the tensor itself holds it only weakly.
        self.accumulators = {name: one.expand_as(one).grad_fn.next_functions[0][0] for name, one in self.parameters.items()}
        self.layer_of = {}  # tensor: layer; known after the first iteration
        self.by_nodes = None  # the leaves with calls that no gradient ends; likewise
        self.recomputes = False  # whether the backward pass runs leaves again
        self.ready = []  # tensors in the order in which their gradients were ready in the first iteration
        self.unused = []

    def record(self):
        """The Marks of one iteration with hooks."""
        self.starts, self.ends, self.calls, self.open, self.is_forward = [], [], {}, {}, True
        with self.attached():
            moments = iterate(self.subject._replace(loss=self.loss), self.clock)
        marks = Marks(*moments, self.starts, self.ends)
        if not self.layer_of:
            self.own(marks)
        return marks

    def loss(self, output):
        loss = self.subject.loss(output)
        self.is_forward = False  # what checkpointing computes again belongs to the backward pass
        return loss

    @contextlib.contextmanager
    def attached(self):
        """The hooks, as long as the context lasts."""
        options = {"with_kwargs": True} if WITH_KEYWORDS else {}
        handles = [node.register_hook(functools.partial(self.mark, True, name)) for name, node in self.accumulators.items()]
        owners = set(self.layer_of.values())
        for leaf, module in self.leaves.items():
            handles.append(module.register_forward_pre_hook(functools.partial(self.enter, leaf, owners), **options))
            if self.by_nodes is None or leaf in self.by_nodes:
                handles.append(module.register_forward_hook(functools.partial(self.leave, leaf)))
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()

    def mark(self, is_tensor, name, *_):
        self.ends.append((is_tensor, name, self.clock.now()))

    def enter(self, leaf, owners, _module, *inputs):
        """A leaf begins. Unless gradients tell when its backward ends, keep where its inputs come from."""
        if self.is_forward:
            count = self.calls[leaf] = self.calls.get(leaf, 0) + 1
            layer = leaf if count == 1 else f"{leaf}:{count}"
            self.starts.append((layer, self.clock.now()))
            tensors = [] if layer in owners else tensors_in(inputs)
            if tensors:
                self.open[leaf] = layer, upstream(tensors)
        else:
            self.recomputes = True

    def leave(self, leaf, _module, _inputs, output):
        if leaf in self.open:
            layer, inputs = self.open.pop(leaf)
            for node in nodes_between(output, inputs):
                node.register_hook(functools.partial(self.mark, False, layer))

    def own(self, marks):
        """Give every tensor to a layer: of the leaves that hold it, the one called first, since only then is a shared
        gradient complete; a layer of its own where none was called (its weight was used from outside)."""
        place = {layer: index for index, (layer, _) in enumerate(marks.starts)}
        self.ready = [name for is_tensor, name, _ in marks.ends if is_tensor]
        for name in self.ready:
            called = [leaf for leaf in self.holders[name] if leaf in place]
            self.layer_of[name] = min(called, key=place.get) if called else name.rpartition(".")[0] or ROOT
        owners = set(self.layer_of.values())
        self.by_nodes = {leaf for leaf, count in self.calls.items() if count > 1 or leaf not in owners}
        self.unused = [name for name in self.parameters if name not in self.layer_of]
        if not self.ready:
            raise InputError("no trainable parameter gets a gradient (is the loss detached from the module?)")

    def times(self, marks):
        """The Times of an iteration whose moments have come."""
        us = self.clock.microseconds
        borders = [marks.begin, *(moment for _, moment in marks.starts[1:]), marks.middle]
        forward = {layer: us(*pair) for (layer, _), pair in zip(marks.starts, zip(borders, borders[1:]))}
        owners, first, last = set(self.layer_of.values()), {}, {}
        for is_tensor, name, moment in marks.ends:
            layer = self.layer_of[name] if is_tensor else name
            if is_tensor or layer not in owners:  # gradients decide where there are any
                first.setdefault(layer, moment)
                last.pop(layer, None)
                last[layer] = moment
        ends = [marks.middle, *last.values()]
        ends[-1] = marks.end  # what comes after the last mark is the last layer's
        backward = {layer: us(*pair) for layer, pair in zip(last, zip(ends, ends[1:]))}
        return Times(forward, backward, {layer: us(first[layer], last[layer]) for layer in last if layer in owners})
