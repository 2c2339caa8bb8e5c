"""Modules of a user's own, for test_profile_torch.py: what real ones do that a plain chain of layers does not."""

import time

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint


class Residual(nn.Module):
    """Convolutions with a skip connection whose own convolution runs last; functional and in-place ReLU; pooling."""

    def __init__(self):
        super().__init__()
        self.first, self.norm = nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8)
        self.relu = nn.ReLU(inplace=True)  # used twice
        self.second, self.skip = nn.Conv2d(8, 8, 3, padding=1, bias=False), nn.Conv2d(8, 8, 1)
        self.head = nn.Linear(8, 10)

    def forward(self, x):
        x = self.relu(self.norm(self.first(x)))
        x = F.relu(self.second(x)) + self.skip(x)
        return self.head(F.adaptive_avg_pool2d(self.relu(x), 1).flatten(1))


class Words(nn.Module):
    """A tied embedding, a parameter of the outermost module, attention that uses its child's weight from outside, a
    layer used twice with an in-place change of its output, a frozen one, an unused one, and a checkpointed block."""

    def __init__(self, reentrant):
        super().__init__()
        self.reentrant = reentrant
        self.embedding, self.position = nn.Embedding(50, 16), nn.Parameter(torch.zeros(8, 16))
        self.attention = nn.MultiheadAttention(16, 4, batch_first=True)
        self.twice, self.relu = nn.Linear(16, 16), nn.ReLU(inplace=True)
        self.frozen = nn.Linear(16, 16).requires_grad_(False)
        self.unused = nn.Linear(16, 16)
        self.block = nn.Sequential(nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 16))
        self.head = nn.Linear(16, 50, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, words):
        x = self.embedding(words) + self.position
        x = x + self.attention(x, x, x, need_weights=False)[0]
        x = F.gelu(self.twice(self.relu(self.twice(x))))
        return self.head(checkpoint(self.block, self.frozen(x), use_reentrant=self.reentrant))


class Stack(nn.Module):
    """Embedding, three blocks in a list, one of which has a list of its own, and a head."""

    def __init__(self):
        super().__init__()
        self.embedding, self.head = nn.Embedding(50, 16), nn.Linear(16, 50, bias=False)
        self.blocks = nn.ModuleList(nn.Sequential(nn.Linear(16, 16), nn.Tanh()) for _ in range(2))
        self.blocks.append(Experts())

    def forward(self, words):
        x = self.embedding(words)
        for block in self.blocks:
            x = x + block(x)
        return self.head(x)


class Experts(nn.Module):
    """Two linear layers in a list."""

    def __init__(self):
        super().__init__()
        self.experts = nn.ModuleList(nn.Linear(16, 16) for _ in range(2))

    def forward(self, x):
        return self.experts[0](x) + self.experts[1](x)


class Far(nn.Module):
    """Parameters of one module used before and after another."""

    def __init__(self):
        super().__init__()
        self.shift, self.scale, self.layer = nn.Parameter(torch.zeros(4)), nn.Parameter(torch.ones(4)), nn.Linear(4, 4)

    def forward(self, x):
        return self.layer(x + self.shift) * self.scale


class Pause(torch.autograd.Function):
    """The identity, taking its time."""

    @staticmethod
    def forward(ctx, x, forward_s, backward_s):
        ctx.seconds = backward_s
        time.sleep(forward_s)
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        time.sleep(ctx.seconds)
        return gradient, None, None


class Slow(nn.Module):
    """Two layers with a pause between them."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x):
        return self.second(Pause.apply(self.first(x), 0.02, 0.04))


class Moody(nn.Module):
    """Skips a layer at times."""

    def __init__(self):
        super().__init__()
        self.first, self.second, self.calls = nn.Linear(4, 4), nn.Linear(4, 4), 0

    def forward(self, x):
        self.calls += 1
        return self.second(self.first(x)) if self.calls % 3 else self.first(x)


def residual(batch):
    return Residual(), torch.randn(batch, 3, 8, 8)


def plain():
    return Residual()


def words(batch, device):
    text = torch.randint(0, 50, (batch, 8), device=device)
    return Words(reentrant=False), text, lambda output: F.cross_entropy(output.flatten(0, 1), text.flatten())


def stack(batch):
    return Stack(), torch.randint(0, 50, (batch, 8))


def words_reentrant(batch):
    return Words(reentrant=True), torch.randint(0, 50, (batch, 8))


def far(batch):
    return Far(), torch.randn(batch, 4)


def slow(batch):
    return Slow(), torch.randn(batch, 4), lambda output: Pause.apply(output, 0.01, 0.03).sum()


def moody(batch):
    return Moody(), torch.randn(batch, 4)


def lstm(batch):
    return nn.LSTM(4, 4, num_layers=2), torch.randn(64, batch, 4)  # time comes first


def by_name(batch):
    class Keywords(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer, self.activation = nn.Linear(4, 4), nn.GELU()

        def forward(self, left, right):
            return {"sum": self.activation(input=self.layer(left) + right), "count": torch.ones(1, dtype=torch.long)}

    return Keywords(), {"left": torch.randn(batch, 4), "right": torch.randn(batch, 4)}


def parameterless(batch):
    return nn.ReLU(), torch.randn(batch, 4, requires_grad=True)


def detached(batch):
    return nn.Linear(4, 4), torch.randn(batch, 4), lambda output: output.detach().sum()


def number():
    return 7


def wrong_batch(batch):
    return nn.Linear(4, 4), torch.randn(batch + 5, batch + 6)


def raises():
    raise ValueError("no weights\nhere")
