"""A pre-norm Transformer in eager PyTorch, written for speed on the CPU; used by torch_train_step.py.

Activations are [time, batch, model]. With the projections' columns ordered by head, a head's
queries, keys and values are then strided views that batched products read where they lie.
"""

import math

import torch
from torch import nn
from torch.nn import functional

DROPOUT = 0.1


def dropout(x):
    # Same distribution as functional.dropout, whose Bernoulli draws run on one thread at about 8 ns
    # each, a quarter of a small model's step. One 64-bit draw serves four elements here: 16 bits
    # place the probability within 1e-5, and the scale uses the probability they place.
    values = 1 << 16
    dropped = round(DROPOUT * values)
    words = torch.empty((x.numel() + 3) // 4, dtype=torch.int64).random_(-(1 << 63), None)
    bits = words.view(torch.int16)[: x.numel()].view(x.shape)
    keep = bits >= dropped - values // 2
    return x * keep.to(x.dtype).mul_(values / (values - dropped))


def attend(query, key, value, mask):
    """softmax(Q K^T / sqrt(d) + mask) V, each [batch * heads, time, d]."""
    scores = torch.baddbmm(mask.to(query.dtype), query, key.transpose(1, 2), alpha=query.shape[-1] ** -0.5)
    return torch.bmm(dropout(torch.softmax(scores, dim=-1)), value)


class Attention(nn.Module):
    def __init__(self, model, heads):
        super().__init__()
        self.heads = heads
        self.output = nn.Linear(model, model)

    def split_heads(self, projected, parts):
        """[time, batch, parts * model] to `parts` views [batch * heads, time, model / heads]."""
        time, batch, width = projected.shape
        by_head = projected.view(time, batch * self.heads, parts, width // (self.heads * parts))
        return by_head.transpose(0, 1).unbind(2)

    def join_heads(self, attended, shape):
        return self.output(attended.transpose(0, 1).reshape(shape))


class SelfAttention(Attention):
    def __init__(self, model, heads):
        super().__init__(model, heads)
        self.query_key_value = nn.Linear(model, 3 * model)

    def forward(self, x, mask):
        query, key, value = self.split_heads(self.query_key_value(x), 3)
        return self.join_heads(attend(query, key, value, mask), x.shape)


class CrossAttention(Attention):
    def __init__(self, model, heads):
        super().__init__(model, heads)
        self.query = nn.Linear(model, model)
        self.key_value = nn.Linear(model, 2 * model)

    def forward(self, x, memory, mask):
        (query,) = self.split_heads(self.query(x), 1)
        key, value = self.split_heads(self.key_value(memory), 2)
        return self.join_heads(attend(query, key, value, mask), x.shape)


class FeedForward(nn.Module):
    def __init__(self, model, inner, activation):
        super().__init__()
        self.up = nn.Linear(model, inner)
        self.down = nn.Linear(inner, model)
        self.activation = activation

    def forward(self, x):
        return self.down(dropout(self.activation(self.up(x))))


class Layer(nn.Module):
    """Self-attention and feed-forward: an encoder's layer, or a decoder-only model's."""

    def __init__(self, shape, activation):
        super().__init__()
        self.attention_norm = nn.LayerNorm(shape.model)
        self.attention = SelfAttention(shape.model, shape.heads)
        self.feed_forward_norm = nn.LayerNorm(shape.model)
        self.feed_forward = FeedForward(shape.model, shape.inner, activation)

    def forward(self, x, mask):
        x = x + dropout(self.attention(self.attention_norm(x), mask))
        return x + dropout(self.feed_forward(self.feed_forward_norm(x)))


class CrossLayer(Layer):
    """A translation decoder's layer."""

    def __init__(self, shape, activation):
        super().__init__(shape, activation)
        self.cross_norm = nn.LayerNorm(shape.model)
        self.cross = CrossAttention(shape.model, shape.heads)

    def forward(self, x, mask, memory, memory_mask):
        x = x + dropout(self.attention(self.attention_norm(x), mask))
        x = x + dropout(self.cross(self.cross_norm(x), memory, memory_mask))
        return x + dropout(self.feed_forward(self.feed_forward_norm(x)))


def causal_mask(time):
    return torch.full((1, time, time), -math.inf).triu_(1)


def sinusoidal_positions(time, model):
    rates = torch.exp(torch.arange(0, model, 2) * (-math.log(10000.0) / model))
    angles = torch.arange(time).unsqueeze(1) * rates
    return torch.stack((angles.sin(), angles.cos()), dim=-1).view(time, 1, model)


def scaled_embedding(vocab, model):
    embedding = nn.Embedding(vocab, model)
    nn.init.normal_(embedding.weight, std=model**-0.5)
    return embedding


class TranslationModel(nn.Module):
    """Encoder-decoder: sinusoidal positions, ReLU."""

    def __init__(self, shape):
        super().__init__()
        self.embedding_scale = math.sqrt(shape.model)
        self.source_embedding = scaled_embedding(shape.vocab, shape.model)
        self.target_embedding = scaled_embedding(shape.vocab, shape.model)
        self.encoder = nn.ModuleList(Layer(shape, functional.relu) for _ in range(shape.encoder_layers))
        self.encoder_norm = nn.LayerNorm(shape.model)
        self.decoder = nn.ModuleList(CrossLayer(shape, functional.relu) for _ in range(shape.decoder_layers))
        self.decoder_norm = nn.LayerNorm(shape.model)
        self.output = nn.Linear(shape.model, shape.vocab)
        self.register_buffer("positions", sinusoidal_positions(shape.time, shape.model))
        self.register_buffer("causal", causal_mask(shape.time))
        self.register_buffer("full", torch.zeros(1, 1, 1))

    def embed(self, embedding, tokens):
        return dropout(torch.add(self.positions, embedding(tokens), alpha=self.embedding_scale))

    def encode(self, source):
        x = self.embed(self.source_embedding, source)
        for layer in self.encoder:
            x = layer(x, self.full)
        return self.encoder_norm(x)

    def forward(self, source, target):
        memory = self.encode(source)
        x = self.embed(self.target_embedding, target)
        for layer in self.decoder:
            x = layer(x, self.causal, memory, self.full)
        return self.output(self.decoder_norm(x))


class LanguageModel(nn.Module):
    """Decoder-only: learned positions, GELU."""

    def __init__(self, shape):
        super().__init__()
        self.embedding = nn.Embedding(shape.vocab, shape.model)
        self.positions = nn.Parameter(torch.empty(shape.time, 1, shape.model))
        nn.init.normal_(self.embedding.weight, std=0.02)
        nn.init.normal_(self.positions, std=0.02)
        self.decoder = nn.ModuleList(Layer(shape, functional.gelu) for _ in range(shape.decoder_layers))
        self.decoder_norm = nn.LayerNorm(shape.model)
        self.output = nn.Linear(shape.model, shape.vocab)
        self.register_buffer("causal", causal_mask(shape.time))

    def forward(self, tokens):
        x = dropout(self.embedding(tokens) + self.positions)
        for layer in self.decoder:
            x = layer(x, self.causal)
        return self.output(self.decoder_norm(x))
