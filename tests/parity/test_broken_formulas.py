"""What test_formulas.py must notice: with a mistake in the formulas, each of its models must differ."""

import contextlib
import copy
from unittest import mock

import cases
import formulas
import oracles
import parity
from oracles import split_heads
from parity import require_noticed

import torch


def replace(owner, name, function):
    return mock.patch.object(owner, name, function)


def after(owner, name, change):
    """A function whose result is changed."""
    real = getattr(owner, name)
    return replace(owner, name, lambda *operands: change(real(*operands)))


def with_parameter(ending, change):
    """heed gets the parameters of these names changed."""
    real = oracles.Oracle.stacked
    return replace(oracles.Oracle, "stacked", lambda self, value_of: {
        name: change(value) if name.endswith(ending) else value for name, value in real(self, value_of).items()})


def swap_first_two(parts):
    def swapped(value):
        first, second, *others = value.chunk(parts)
        return torch.cat([second, first, *others])

    return swapped


def gates_negated(value):
    gates, candidates = value.chunk(2)
    return torch.cat([-gates, candidates])


def cells_without_relu(self, x, *_):
    with mock.patch.object(formulas.functional, "relu", lambda cells: cells):
        return SSRU(self, x)


SSRU = formulas.Ssru.forward


def in_direction(both_ways):
    """All self-attention sees this."""
    real = formulas.visible
    return replace(formulas, "visible", lambda rectangle, pattern, heads, _: real(rectangle, pattern, heads, both_ways))


def types_of_next():
    real = formulas.Model.embedded

    def embedded(self, embedding, rectangle):
        rolled = copy.copy(rectangle)
        rolled.types = rectangle.types.roll(-1, dims=1)
        return real(self, embedding, rolled)

    return replace(formulas.Model, "embedded", embedded)


def cross_attention_with_positions():
    real = formulas.Layer.forward

    def forward(self, *operands):
        if self.cross:
            self.cross.pattern = "full"
        return real(self, *operands)

    return replace(formulas.Layer, "forward", forward)


def branches_in_sequence(self, x, sees, bias, *_):
    x = self.around_attention(x, lambda y: self.attention(y, y, sees, bias))
    return x + self.feed_forward(self.around_attention.norm(x))


def norm_of_sum(self, x, f):
    return self.branch_norm(x + f(self.norm(x) if hasattr(self, "norm") else x))


def heads_normed_alone(self, x, heads, norm):
    x, gain = split_heads(x, heads), split_heads(getattr(self, norm).weight[None, None], heads)
    return x / ((x * x).mean(dim=-1, keepdim=True) + self.c["epsilon"]).sqrt() * gain


def heads_interleaved(x, times, dim):
    return torch.cat([x] * times, dim=dim) if dim == 1 else REPEAT(x, times, dim=dim)


REPEAT = torch.Tensor.repeat_interleave

# (the start of a name in cases.FORMULAS, what is wrong, settings that the oracle has instead, a patch)
MISTAKES = [
    ("encoder, patterns", "types of the next token", {}, types_of_next()),
    ("encoder, patterns", "patterns that look back alone", {}, in_direction(False)),
    ("encoder, patterns", "patterns of heads swapped", {"attention": ["strided:2+local:3", "linear", "strided:3",
                                                                      "local:4"]}, None),
    ("encoder, patterns", "a norm of the sum instead of the branch", {},
     replace(formulas.Residual, "forward", norm_of_sum)),
    ("encoder, relative keys, grouped", "keys of the opposite distance", {},
     after(formulas, "distances", torch.neg)),
    ("encoder, relative keys, grouped", "a norm of the sum instead of the branch", {},
     replace(formulas.Residual, "forward", norm_of_sum)),
    ("encoder, relative keys, grouped", "labels from the first row", {"pooling": "first"}, None),
    ("encoder, relative keys, grouped", "the mean of the labels' losses", {},
     after(parity, "value_losses", lambda losses: losses / 3)),
    ("encoder, relative keys and values", "values of the opposite distance", {},
     with_parameter("relative_values", lambda value: value.flip(1))),
    ("encoder, relative keys and values", "one branch after the other", {},
     replace(formulas.Layer, "forward", branches_in_sequence)),
    ("encoder, relative keys and values", "biases of queries and keys swapped", {},
     with_parameter("projection.bias", swap_first_two(3))),
    ("encoder, relative keys and values", "a whole square", {},
     after(parity, "value_losses", lambda losses: losses * 2)),
    ("encoder, linear", "other features", {"linear_feature": "elu"}, None),
    ("encoder, linear", "keys before a query alone", {}, in_direction(False)),
    ("encoder, linear", "norms before instead of after", {"norm_placement": "pre"}, None),
    ("encoder, a part", "the whole head turned", {"rotary_width": 0}, None),
    ("encoder, a part", "scores without their cap", {"attention_cap": 0.0}, None),
    ("encoder, a part", "a number from the mean", {"pooling": "mean"}, None),
    ("encoder, relative bias", "buckets of another distance", {"relative_max_distance": 9}, None),
    ("encoder, relative bias", "the gate's columns behind the others", {},
     with_parameter("inner.weight", swap_first_two(2))),
    ("encoder, rows", "positions from the first row", {}, with_parameter("positions", lambda table: table.roll(-2, 0))),
    ("encoder, rows", "scores by the width of heads", {"attention_scale": 0.0}, None),
    ("encoder, rows", "an output that is not scaled", {"output_scale": 1.0}, None),
    ("encoder, halves", "positions from zero", {"position_offset": 0}, None),
    ("encoder, halves", "sines and cosines in turn", {"sinusoid": "interleaved"}, None),
    ("encoder, halves", "gains as they are stored", {"norm_gain": "plain"}, None),
    ("encoder, a head layer", "a head layer of tanh", {"head_layer": "tanh"}, None),
    ("encoder, a head layer", "a head's norm with other gains", {},
     with_parameter("layer.norm.gain", lambda gain: gain.flip(0))),
    ("encoder, a head layer", "a bias of each layer's own", {},
     after(formulas.Stack, "bias", lambda bias: bias.flip(2))),
    ("encoder, a head layer", "no rows of positions", {}, with_parameter("positions", lambda table: 0 * table)),
    ("encoder, narrow", "a transposed projection's rows", {},
     with_parameter("projection.weight", lambda weight: weight.flip(0))),
    ("encoder, narrow", "two layers for three", {"encoder_layers": 2}, None),
    ("encoder, a pooler", "labels from the first", {"pooling": "first"}, None),
    ("encoder, a pooler", "a pooler without an activation", {"head_layer": "linear"}, None),
    ("encoder, tables of", "tables of zeros", {}, with_parameter("value_embeddings.1", lambda table: 0 * table)),
    ("encoder, tables of", "another gain of the skip", {},
     with_parameter("layers.3.skip.gain", lambda gain: gain.flip(0))),
    ("encoder, tables of", "a norm of the sum instead of the branch", {},
     replace(formulas.Residual, "forward", norm_of_sum)),
    ("encoder, a number from sums", "a number from the mean", {"pooling": "mean"}, None),
    ("encoder, a number from sums", "a head layer without an activation", {"head_layer": "linear"}, None),
    ("causal, rotary", "patterns that look ahead", {}, in_direction(True)),
    ("causal, rotary", "gains of queries given to keys", {}, with_parameter("query_norm.gain", lambda g: g.flip(0))),
    ("causal, ALiBi", "heads paired with the wrong keys", {},
     replace(torch.Tensor, "repeat_interleave", heads_interleaved)),
    ("causal, ALiBi", "slopes in the opposite order", {}, after(oracles, "alibi", lambda bias: bias.flip(0))),
    ("causal, relative keys", "keys clipped one token early", {},
     after(formulas, "distances", lambda distance: distance.clamp(-2))),
    ("causal, relative keys", "values above zero that are not squared", {"activation": "relu"}, None),
    ("causal, linear", "full attention", {"attention": ["full", "local:3"]}, None),
    ("causal, scaled scores", "scores by the width of heads", {"attention_scale": 0.0}, None),
    ("causal, scaled scores", "gains as they are stored", {"norm_gain": "plain"}, None),
    ("causal, scaled scores", "gains of queries as they are stored", {},
     with_parameter("query_norm.gain", lambda gain: gain - 1.0)),
    ("causal, scaled scores", "all layers turned alike", {"rotary_factor": 8.0}, None),
    ("causal, pairs slowed by their", "turns of the published models", {"rotary_fast_turns": 4.0}, None),
    ("causal, pairs slowed by their", "all pairs slowed alike", {"rotary_scaling": "linear"}, None),
    ("causal, pairs slowed by yarn", "yarn's usual turns", {"rotary_slow_turns": 1.0}, None),
    ("causal, pairs slowed by yarn", "yarn's usual turns at the fast end", {"rotary_fast_turns": 32.0}, None),
    ("causal, pairs slowed by yarn", "yarn's usual magnitude", {"rotary_magnitude": 0.0}, None),
    ("causal, narrow", "another projection back", {}, with_parameter("output.layer.weight", lambda weight: weight.flip(0))),
    ("causal, narrow", "one gain for all heads", {},
     with_parameter("query_norm.gain", lambda gain: gain[:8].repeat(gain.numel() // 8))),
    ("causal, gains of each head", "heads' gains in another order", {},
     with_parameter("key_norm.gain", lambda gain: gain.roll(8, 0))),
    ("causal, gains of each head", "gains as they are stored", {"norm_gain": "plain"}, None),
    ("causal, tables of", "tables in another order", {"value_embeddings": [2, 1, 0, 1, 2]}, None),
    ("causal, tables of", "rows of the next token", {},
     with_parameter("value_embeddings.1", lambda table: table.roll(1, 0))),
    ("causal, tables of", "gains of skips swapped", {}, with_parameter("layers.4.skip.gain", lambda gain: gain.flip(0))),
    ("causal, a hashed table", "the next token's pair", {},
     after(formulas, "bigram_rows", lambda rows: rows.roll(1, 1))),
    ("causal, a hashed table", "no pairs", {}, with_parameter("bigrams", lambda table: 0 * table)),
    ("causal, a row for each", "pairs the wrong way round", {},
     after(formulas, "bigram_rows", lambda rows: rows % 53 * 53 + rows // 53)),
    ("encoder-decoder, tables of", "a norm of the sum instead of the branch", {},
     replace(formulas.Residual, "forward", norm_of_sum)),
    ("causal, scaled relative", "scores by the width of heads", {"attention_scale": 0.0}, None),
    ("encoder-decoder, recurrence in", "gates and candidates swapped", {},
     with_parameter("self_attention.projection.weight", swap_first_two(2))),
    ("encoder-decoder, recurrence in", "another bias of the gates", {},
     with_parameter("gate_bias", lambda bias: bias.flip(0))),
    ("encoder-decoder, recurrence without", "cells that go on negative", {},
     replace(formulas.Ssru, "forward", cells_without_relu)),
    ("encoder-decoder, recurrence without", "what is forgotten kept", {},
     with_parameter("self_attention.projection.weight", gates_negated)),
    ("encoder-decoder, inclusive", "frequencies that end before a ten thousandth", {"sinusoid": "halves"}, None),
    ("encoder-decoder, inclusive", "positions from zero", {"position_offset": 0}, None),
    ("encoder-decoder, relative bias, another", "scores by the width of heads", {"attention_scale": 0.0}, None),
    ("encoder-decoder, relative bias, another", "an output that is not scaled", {"output_scale": 1.0}, None),
    ("encoder-decoder, rotary", "positions in cross-attention", {}, cross_attention_with_positions()),
    ("encoder-decoder, rotary", "heads paired with the wrong keys", {},
     replace(torch.Tensor, "repeat_interleave", heads_interleaved)),
    ("encoder-decoder, ALiBi", "an encoder that looks back alone", {}, in_direction(False)),
    ("encoder-decoder, ALiBi", "a decoder that looks ahead", {}, in_direction(True)),
    ("encoder-decoder, relative bias, branch", "a bias both ways for a decoder", {},
     after(formulas.Stack, "bias", lambda bias: bias.flip(2))),
    ("encoder-decoder, relative keys and values", "values of the opposite distance", {},
     with_parameter("relative_values", lambda value: value.flip(1))),
    ("encoder-decoder, relative keys, norms", "keys of the opposite distance", {},
     with_parameter("relative_keys", lambda value: value.flip(0))),
    ("encoder-decoder, relative keys, norms", "each head normalized by itself", {},
     replace(formulas.Attention, "heads_of", heads_normed_alone)),
    ("encoder-decoder, linear", "an encoder that looks back alone", {}, in_direction(False)),
]


def mistakes():
    noticed = set()
    for start, what, settings, patch in MISTAKES:
        name, = (name for name in cases.FORMULAS if name.startswith(start + ",") or name.startswith(start + " "))
        config = cases.FORMULAS[name]
        noticed.add(name)
        with patch or contextlib.nullcontext():
            yield f"{start}: {what}", cases.elements_agree(
                what, config, oracle_config={**config, **settings}, make_oracle=formulas.Model)
    assert noticed == cases.FORMULAS.keys(), cases.FORMULAS.keys() - noticed


require_noticed(mistakes())
