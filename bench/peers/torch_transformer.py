"""A pre-norm Transformer in eager PyTorch, written for speed on the CPU; used by the programs beside it.

Activations are [time, batch, model]. With the projections' columns ordered by head, a head's
queries, keys and values are then strided views that batched products read where they lie.
"""

import math

import torch
from torch import nn
from torch.nn import functional


def dropout(x, probability):
    if probability == 0.0:
        return x
    # Same distribution as functional.dropout, whose Bernoulli draws run on one thread at about 8 ns
    # each, a quarter of a small model's step. One 64-bit draw serves four elements here: 16 bits
    # place the probability within 1e-5, and the scale uses the probability they place.
    values = 1 << 16
    dropped = round(probability * values)
    words = torch.empty((x.numel() + 3) // 4, dtype=torch.int64).random_(-(1 << 63), None)
    bits = words.view(torch.int16)[: x.numel()].view(x.shape)
    keep = bits >= dropped - values // 2
    return x * keep.to(x.dtype).mul_(values / (values - dropped))


def attend(query, key, value, mask, probability):
    """softmax(Q K^T / sqrt(d) + mask) V, each [batch * heads, time, d]."""
    scores = torch.baddbmm(mask.to(query.dtype), query, key.transpose(1, 2), alpha=query.shape[-1] ** -0.5)
    return torch.bmm(dropout(torch.softmax(scores, dim=-1), probability), value)


class Norm(nn.LayerNorm):
    """PyTorch 1.13 has no layer norm without a bias."""

    def __init__(self, shape):
        super().__init__(shape.model)
        if not shape.bias:
            self.register_parameter("bias", None)


class Attention(nn.Module):
    def __init__(self, shape):
        super().__init__()
        self.heads = shape.heads
        self.dropout = shape.dropout.attention
        self.output = nn.Linear(shape.model, shape.model, bias=shape.bias)

    def split_heads(self, projected, parts):
        """[time, batch, parts * model] to `parts` views [batch * heads, time, model / heads]."""
        time, batch, width = projected.shape
        by_head = projected.view(time, batch * self.heads, parts, width // (self.heads * parts))
        return by_head.transpose(0, 1).unbind(2)

    def join_heads(self, attended, shape):
        return self.output(attended.transpose(0, 1).reshape(shape))


class SelfAttention(Attention):
    def __init__(self, shape):
        super().__init__(shape)
        self.query_key_value = nn.Linear(shape.model, 3 * shape.model, bias=shape.bias)

    def forward(self, x, mask):
        query, key, value = self.split_heads(self.query_key_value(x), 3)
        return self.join_heads(attend(query, key, value, mask, self.dropout), x.shape)


class CrossAttention(Attention):
    def __init__(self, shape):
        super().__init__(shape)
        self.query = nn.Linear(shape.model, shape.model, bias=shape.bias)
        self.key_value = nn.Linear(shape.model, 2 * shape.model, bias=shape.bias)

    def forward(self, x, memory, mask):
        (query,) = self.split_heads(self.query(x), 1)
        key, value = self.split_heads(self.key_value(memory), 2)
        return self.join_heads(attend(query, key, value, mask, self.dropout), x.shape)


class FeedForward(nn.Module):
    def __init__(self, shape, activation):
        super().__init__()
        self.up = nn.Linear(shape.model, shape.inner, bias=shape.bias)
        self.down = nn.Linear(shape.inner, shape.model, bias=shape.bias)
        self.activation = activation
        self.dropout = shape.dropout.inner

    def forward(self, x):
        return self.down(dropout(self.activation(self.up(x)), self.dropout))


class Layer(nn.Module):
    """Self-attention and feed-forward: an encoder's layer, or a decoder-only model's."""

    def __init__(self, shape, activation):
        super().__init__()
        self.attention_norm = Norm(shape)
        self.attention = SelfAttention(shape)
        self.feed_forward_norm = Norm(shape)
        self.feed_forward = FeedForward(shape, activation)
        self.dropout = shape.dropout.branch

    def forward(self, x, mask):
        x = x + dropout(self.attention(self.attention_norm(x), mask), self.dropout)
        return x + dropout(self.feed_forward(self.feed_forward_norm(x)), self.dropout)


class CrossLayer(Layer):
    """A translation decoder's layer."""

    def __init__(self, shape, activation):
        super().__init__(shape, activation)
        self.cross_norm = Norm(shape)
        self.cross = CrossAttention(shape)

    def forward(self, x, mask, memory, memory_mask):
        x = x + dropout(self.attention(self.attention_norm(x), mask), self.dropout)
        x = x + dropout(self.cross(self.cross_norm(x), memory, memory_mask), self.dropout)
        return x + dropout(self.feed_forward(self.feed_forward_norm(x)), self.dropout)


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
    """Encoder-decoder: sinusoidal positions, ReLU. One matrix is all embeddings and the output where shape.tied."""

    def __init__(self, shape):
        super().__init__()
        self.embedding_scale = math.sqrt(shape.model)
        self.source_embedding = scaled_embedding(shape.vocab, shape.model)
        self.target_embedding = scaled_embedding(shape.vocab, shape.model)
        self.encoder = nn.ModuleList(Layer(shape, functional.relu) for _ in range(shape.encoder_layers))
        self.encoder_norm = Norm(shape)
        self.decoder = nn.ModuleList(CrossLayer(shape, functional.relu) for _ in range(shape.decoder_layers))
        self.decoder_norm = Norm(shape)
        self.output = nn.Linear(shape.model, shape.vocab)
        if shape.tied:
            self.source_embedding.weight = self.output.weight = self.target_embedding.weight
        self.dropout = shape.dropout.embedding
        self.register_buffer("positions", sinusoidal_positions(shape.time, shape.model))
        self.register_buffer("causal", causal_mask(shape.time))
        self.register_buffer("full", torch.zeros(1, 1, 1))

    def embed(self, embedding, tokens):
        positions = self.positions[: tokens.shape[0]]
        return dropout(torch.add(positions, embedding(tokens), alpha=self.embedding_scale), self.dropout)

    def encode(self, source, mask):
        x = self.embed(self.source_embedding, source)
        for layer in self.encoder:
            x = layer(x, mask)
        return self.encoder_norm(x)

    def forward(self, source, target, source_mask=None):
        """`source_mask` [batch * heads, 1, time] is added to scores; the target's padding comes after all that reads it."""
        mask = self.full if source_mask is None else source_mask
        memory = self.encode(source, mask)
        x = self.embed(self.target_embedding, target)
        time = target.shape[0]
        for layer in self.decoder:
            x = layer(x, self.causal[:, :time, :time], memory, mask)
        return self.output(self.decoder_norm(x))


class LanguageModel(nn.Module):
    """Decoder-only: learned positions, GELU. One matrix is embedding and output where shape.tied."""

    def __init__(self, shape):
        super().__init__()
        self.embedding = nn.Embedding(shape.vocab, shape.model)
        self.positions = nn.Parameter(torch.empty(shape.time, 1, shape.model))
        nn.init.normal_(self.embedding.weight, std=0.02)
        nn.init.normal_(self.positions, std=0.02)
        self.decoder = nn.ModuleList(Layer(shape, functional.gelu) for _ in range(shape.decoder_layers))
        self.decoder_norm = Norm(shape)
        self.output = nn.Linear(shape.model, shape.vocab, bias=shape.bias)
        if shape.tied:
            self.output.weight = self.embedding.weight
        self.dropout = shape.dropout.embedding
        self.register_buffer("causal", causal_mask(shape.time))

    def forward(self, tokens):
        x = dropout(self.embedding(tokens) + self.positions, self.dropout)
        for layer in self.decoder:
            x = layer(x, self.causal)
        return self.output(self.decoder_norm(x))
