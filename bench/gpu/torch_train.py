#!/usr/bin/env python3
"""Times a Transformer's optimizer step in PyTorch on a GPU: the peer of `heed bench train --device cuda`.

bf16 autocast, PyTorch's fused attention, its fused AdamW, dropout 0.1, label smoothing 0.1 for translation; eager, or
compiled with --compile. Sequences are all as long, as in heed's benchmark. Prints one JSON object.
"""

import argparse
import json
import math
import statistics
import time

import torch
from torch import nn
from torch.nn import functional

SHAPES = {  # model, inner, heads, encoder layers, decoder layers, vocabulary, sequences, length
    "tiny": (128, 256, 4, 4, 4, 8000, 128, 16),
    "small": (256, 1024, 4, 3, 3, 8000, 128, 16),
    "base": (512, 2048, 8, 6, 6, 8000, 128, 16),
    "gpt-char": (384, 1536, 6, 0, 6, 65, 16, 256),
    "gpt-124m": (768, 3072, 12, 0, 12, 50304, 8, 1024),
}
DROPOUT = 0.1


class Attention(nn.Module):
    def __init__(self, model, heads, crosses):
        super().__init__()
        self.heads, self.crosses = heads, crosses
        self.query = nn.Linear(model, model if crosses else 3 * model)
        self.key_value = nn.Linear(model, 2 * model) if crosses else None
        self.output = nn.Linear(model, model)

    def split(self, x, parts):
        batch, length, width = x.shape
        return x.view(batch, length, parts, self.heads, width // parts // self.heads).permute(2, 0, 3, 1, 4)

    def forward(self, x, memory, causal):
        if self.crosses:
            (q,), (k, v) = self.split(self.query(x), 1), self.split(self.key_value(memory), 2)
        else:
            q, k, v = self.split(self.query(x), 3)
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=causal,
                                                    dropout_p=DROPOUT if self.training else 0.0)
        return self.output(y.transpose(1, 2).reshape(x.shape))


class Layer(nn.Module):
    def __init__(self, model, inner, heads, crosses, activation):
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(model) for _ in range(3 if crosses else 2))
        self.attention = Attention(model, heads, False)
        self.cross = Attention(model, heads, True) if crosses else None
        self.up, self.down, self.activation = nn.Linear(model, inner), nn.Linear(inner, model), activation

    def forward(self, x, memory, causal):
        x = x + functional.dropout(self.attention(self.norms[0](x), None, causal), DROPOUT)
        if self.cross is not None:
            x = x + functional.dropout(self.cross(self.norms[2](x), memory, False), DROPOUT)
        inner = functional.dropout(self.activation(self.up(self.norms[1](x))), DROPOUT)
        return x + functional.dropout(self.down(inner), DROPOUT)


class Model(nn.Module):
    def __init__(self, shape):
        super().__init__()
        model, inner, heads, encoders, decoders, vocabulary, _, length = shape
        translates = encoders > 0
        activation = functional.relu if translates else functional.gelu
        self.encoder = nn.ModuleList(Layer(model, inner, heads, False, activation) for _ in range(encoders))
        self.decoder = nn.ModuleList(Layer(model, inner, heads, translates, activation) for _ in range(decoders))
        self.source = nn.Embedding(vocabulary, model) if translates else None
        self.target = nn.Embedding(vocabulary, model)
        self.norms = nn.ModuleList([nn.LayerNorm(model), nn.LayerNorm(model)])
        self.output = nn.Linear(model, vocabulary)
        self.positions = nn.Parameter(torch.randn(length, model) * 0.02)
        self.scale = math.sqrt(model) if translates else 1.0

    def embed(self, table, tokens):
        return functional.dropout(table(tokens) * self.scale + self.positions[: tokens.shape[1]], DROPOUT)

    def forward(self, source, target):
        memory = None
        if self.source is not None:
            memory = self.embed(self.source, source)
            for layer in self.encoder:
                memory = layer(memory, None, False)
            memory = self.norms[0](memory)
        x = self.embed(self.target, target)
        for layer in self.decoder:
            x = layer(x, memory, True)
        return self.output(self.norms[1](x))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shape", choices=SHAPES, required=True)
    parser.add_argument("--sequences", type=int, help="of a batch; by default the shape's")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--warmup", type=int, default=10)
    arguments = parser.parse_args()
    shape = SHAPES[arguments.shape]
    sequences, length, vocabulary = arguments.sequences or shape[6], shape[7], shape[5]
    torch.manual_seed(1)
    model = Model(shape).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, fused=True)
    smoothing = 0.1 if shape[3] > 0 else 0.0

    def loss_of(source, target, expected):
        with torch.autocast("cuda", torch.bfloat16):
            logits = model(source, target)
        return functional.cross_entropy(logits.float().view(-1, vocabulary), expected.view(-1), label_smoothing=smoothing)

    compiled = torch.compile(loss_of) if arguments.compile else loss_of

    def step():
        source, target, expected = (torch.randint(vocabulary, (sequences, length), device="cuda") for _ in range(3))
        torch.cuda.synchronize()
        begin = time.perf_counter()
        optimizer.zero_grad(set_to_none=True)
        loss = compiled(source, target, expected)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        loss.item()
        torch.cuda.synchronize()
        return time.perf_counter() - begin

    for _ in range(arguments.warmup):
        step()
    seconds = statistics.median(step() for _ in range(arguments.steps))
    print(json.dumps({
        "shape": arguments.shape, "sequences": sequences, "compiled": arguments.compile,
        "torch": torch.__version__, "device": torch.cuda.get_device_name(),
        "parameters": sum(p.numel() for p in model.parameters()), "step_seconds": seconds,
        "target_tokens_per_second": sequences * length / seconds,
        "peak_memory_bytes": torch.cuda.max_memory_allocated(),
    }))


if __name__ == "__main__":
    main()
