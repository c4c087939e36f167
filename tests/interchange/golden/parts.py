"""What the models of this folder are made of: stored weights, readings that can be mistaken, and the usual layers.

Everything is computed in f64 for one sequence at a time: x has a row for each token.
"""

import math
import zlib

import torch
from torch.nn import functional

ACTIVATIONS = {
    "relu": functional.relu,
    "gelu": functional.gelu,
    "gelu_new": lambda x: functional.gelu(x, approximate="tanh"),
    "silu": functional.silu,
}
ACTIVATIONS["gelu_pytorch_tanh"] = ACTIVATIONS["gelu_fast"] = ACTIVATIONS["gelu_new"]
ACTIVATIONS["swish"] = ACTIVATIONS["silu"]


class Store:
    """The weights of a model by their names in its files: each is drawn, from its name alone, when first asked for.

    So a model's function is the one place that says which tensors there are.
    """

    def __init__(self, seed, dtype=torch.float32, loud=None):
        self.seed, self.dtype, self.loud, self.tensors = seed, dtype, loud, {}
        self.inputs = lambda x: x  # of linear(), as they are multiplied

    def __call__(self, name, *shape, deviation=0.35, mean=0.0):
        if name not in self.tensors:
            generator = torch.Generator().manual_seed(zlib.crc32(f"{self.seed}/{name}".encode()))
            drawn = torch.randn(*shape, generator=generator, dtype=torch.float64) * deviation + mean
            if self.loud and self.loud[0] == name:
                row = drawn[0, self.loud[1]:self.loud[1] + 1] if shape[0] == 1 else drawn[self.loud[1]]
                row.copy_(row.abs() + 1 if shape[0] == 1 else row * 3)
            self.tensors[name] = drawn.to(self.dtype)
        assert tuple(self.tensors[name].shape) == shape, name
        return self.tensors[name].double()


class Reading:
    """How a model's files are read: rightly, or with one mistake. `particulars` is every mistake that was possible."""

    def __init__(self, mistake=None):
        self.mistake, self.particulars = mistake, []

    def __call__(self, particular, right, wrong):
        if particular not in self.particulars:
            self.particulars.append(particular)
        return wrong if particular == self.mistake else right


def linear(w, name, x, outputs, bias=True):
    """x Wᵀ + b, with W stored as [outputs, inputs]."""
    y = w.inputs(x) @ w(name + ".weight", outputs, x.shape[-1]).T
    return y + w(name + ".bias", outputs) if bias else y


def in_eight_bits(x):
    """Each row x as s round(x / s), where s = max |x| / 127."""
    scales = x.abs().amax(-1, keepdim=True) / 127
    return (x / scales).round() * scales


def layer_norm(w, name, x, eps, bias=True):
    gain = w(name + ".weight", x.shape[-1], mean=1.0)
    return functional.layer_norm(x, x.shape[-1:], gain, w(name + ".bias", x.shape[-1]) if bias else None, eps)


def rms_norm(w, name, x, eps, mean=1.0, offset=0.0, centred=False):
    """x / sqrt(mean(x²) + eps) times offset + the stored gain, whose values lie around `mean`."""
    gain = offset + w(name + ".weight", x.shape[-1], mean=mean)
    if centred:
        x = x - x.mean(-1, keepdim=True)
    return x / torch.sqrt((x * x).mean(-1, keepdim=True) + eps) * gain


def embed(w, name, rows, width, ids, deviation=0.5, zero_row=None):
    table = w(name, rows, width, deviation=deviation)
    if zero_row is not None:
        w.tensors[name][zero_row] = 0
        table = w(name, rows, width)
    return table[torch.as_tensor(ids)]


def split(x, heads):
    """[tokens, heads · width] as [heads, tokens, width]."""
    return x.unflatten(-1, (heads, -1)).transpose(0, 1)


def join(x):
    return x.transpose(0, 1).flatten(-2)


def attend(q, k, v, scale, sees=None, bias=None, cap=None):
    """Of [heads, tokens, width] each; `sees` is true where a query sees a key, `bias` is added to the scores."""
    scores = q @ k.transpose(-2, -1) * scale
    if cap:
        scores = cap * torch.tanh(scores / cap)
    if bias is not None:
        scores = scores + bias
    if sees is not None:
        scores = scores.masked_fill(~sees, -math.inf)
    return join(scores.softmax(-1) @ v)


def distances(queries, keys=None):
    """Key position minus query position."""
    return torch.arange(keys or queries)[None, :] - torch.arange(queries)[:, None]


def causal(n, window=None):
    d = distances(n)
    return (d <= 0) & (d > -window) if window else d <= 0


def rotary_angles(n, frequencies):
    return torch.arange(n, dtype=torch.float64)[:, None] * frequencies


def rotary_frequencies(width, base):
    return base ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)


def rotate(x, angles, pairs="halves", scale=1.0):
    """Turns the first 2 · angles.shape[-1] values of each head: value j with j + width / 2, or 2j with 2j + 1."""
    width = 2 * angles.shape[-1]
    turned, rest = x[..., :width], x[..., width:]
    if pairs == "halves":
        a, b = turned[..., :width // 2], turned[..., width // 2:]
    else:
        a, b = turned[..., 0::2], turned[..., 1::2]
    cos, sin = angles.cos() * scale, angles.sin() * scale
    a, b = a * cos - b * sin, b * cos + a * sin
    if pairs == "halves":
        return torch.cat([a, b, rest], -1)
    return torch.cat([torch.stack([a, b], -1).flatten(-2), rest], -1)
