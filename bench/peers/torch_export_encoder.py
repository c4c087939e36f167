#!/usr/bin/python3
"""Writes a text encoder of BERT's form with random weights, by PyTorch, as an ONNX model: ids, mask and types of padded
texts in, the mean of each text's rows out. The layers are spelled as the transformers library spells them, because
onnxruntime recognises these forms and fuses them. With --type int8 the matrices of the layers are stored as int8, with a
scale for each, and what they multiply is quantized as it is computed, as onnxruntime's own tool does it."""

import argparse
import math

import torch
from torch import nn

SHAPES = {
    "minilm": {"model": 384, "inner": 1536, "heads": 12, "layers": 6, "vocabulary": 30522},
    "bert-base": {"model": 768, "inner": 3072, "heads": 12, "layers": 12, "vocabulary": 30522},
}
POSITIONS, EPSILON = 512, 1e-12


class IntegerProduct(torch.autograd.Function):
    """x W: in PyTorch the rounded product's shape alone, in ONNX the operators that onnxruntime fuses."""

    @staticmethod
    def forward(context, x, matrix, scale):
        return x.new_zeros(*x.shape[:-1], matrix.shape[1])

    @staticmethod
    def symbolic(g, x, matrix, scale):
        integers, x_scale, x_zero = g.op("DynamicQuantizeLinear", x, outputs=3)
        product = g.op("Cast", g.op("MatMulInteger", integers, matrix, x_zero), to_i=1)
        return g.op("Mul", product, g.op("Mul", x_scale, scale))


class IntegerLinear(nn.Module):
    def __init__(self, linear):
        super().__init__()
        scale = linear.weight.detach().abs().max() / 127
        self.register_buffer("scale", scale)
        self.register_buffer("matrix", (linear.weight.detach().T / scale).round().to(torch.int8).contiguous())
        self.bias = linear.bias

    def forward(self, x):
        return IntegerProduct.apply(x, self.matrix, self.scale) + self.bias


def with_integers(module):
    for name, child in module.named_children():
        setattr(module, name, IntegerLinear(child) if isinstance(child, nn.Linear) else with_integers(child))
    return module


class Attention(nn.Module):
    def __init__(self, model, heads):
        super().__init__()
        self.heads, self.width = heads, model // heads
        self.query, self.key, self.value = (nn.Linear(model, model) for _ in range(3))
        self.dense, self.norm = nn.Linear(model, model), nn.LayerNorm(model, EPSILON)

    def split(self, x):
        return x.view(x.size(0), x.size(1), self.heads, self.width).permute(0, 2, 1, 3)

    def forward(self, x, mask):
        q, k, v = self.split(self.query(x)), self.split(self.key(x)), self.split(self.value(x))
        scores = torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(self.width) + mask
        read = torch.matmul(torch.softmax(scores, dim=-1), v).permute(0, 2, 1, 3).contiguous()
        read = read.view(read.size(0), read.size(1), self.heads * self.width)
        return self.norm(self.dense(read) + x)


class Layer(nn.Module):
    def __init__(self, model, inner, heads):
        super().__init__()
        self.attention = Attention(model, heads)
        self.up, self.down, self.norm = nn.Linear(model, inner), nn.Linear(inner, model), nn.LayerNorm(model, EPSILON)

    def forward(self, x, mask):
        x = self.attention(x, mask)
        return self.norm(self.down(nn.functional.gelu(self.up(x))) + x)


class Encoder(nn.Module):
    def __init__(self, model, inner, heads, layers, vocabulary):
        super().__init__()
        self.words, self.types = nn.Embedding(vocabulary, model), nn.Embedding(2, model)
        self.positions, self.norm = nn.Embedding(POSITIONS, model), nn.LayerNorm(model, EPSILON)
        self.layers = nn.ModuleList(Layer(model, inner, heads) for _ in range(layers))
        self.register_buffer("numbers", torch.arange(POSITIONS)[None])

    def forward(self, ids, mask, types):
        positions = self.numbers[:, :ids.size(1)]
        x = self.norm(self.words(ids) + self.types(types) + self.positions(positions))
        added = (1.0 - mask[:, None, None, :].to(dtype=torch.float32)) * -10000.0
        for layer in self.layers:
            x = layer(x, added)
        real = mask[:, :, None].to(dtype=torch.float32)
        return (x * real).sum(1) / real.sum(1)


parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--shape", choices=SHAPES, required=True)
parser.add_argument("--type", choices=["f32", "int8"], default="f32")
parser.add_argument("--out", required=True)
arguments = parser.parse_args()
torch.manual_seed(1)
encoder = Encoder(**SHAPES[arguments.shape]).eval()
for parameter in encoder.parameters():
    if parameter.dim() == 2:
        nn.init.normal_(parameter, std=0.02)
if arguments.type == "int8":
    encoder = with_integers(encoder)
example = torch.ones(2, 8, dtype=torch.int64)
names = ["ids", "mask", "types"]
torch.onnx.export(encoder, (example, example, torch.zeros_like(example)), arguments.out, opset_version=14,
                  input_names=names, output_names=["embeddings"],
                  dynamic_axes={name: {0: "texts", 1: "tokens"} for name in names} | {"embeddings": {0: "texts"}})
