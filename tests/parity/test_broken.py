"""What the other tests must notice: the same comparisons, with a mistake on the oracle's side, must fail."""

import contextlib
from unittest import mock

import cases
import oracles
import parity
import stepping
from parity import Steps, require_noticed

import torch
from torch import nn


def halves(length, model, layout="interleaved", first=0):
    """Sines in the first half of the columns, cosines in the second."""
    table = REAL_SINUSOIDAL(length, model, layout, first)
    return torch.cat([table[:, 0::2], table[:, 1::2]], dim=1)


def rotate_neighbours(x, base, config):
    """Pairs (2c, 2c + 1) instead of (c, c + d/2)."""
    apart = torch.cat([x[..., 0::2], x[..., 1::2]], dim=-1)
    return torch.stack(REAL_ROTATE(apart, base).chunk(2, dim=-1), dim=-1).flatten(-2)


def norm_before_positions(self, embedding, tokens):
    return embedding.norm(embedding(tokens)) + embedding.positions[:tokens.shape[1]]


def drop(kind, argument):
    """A stack of PyTorch that forgets one of its masks."""
    forward = kind.forward
    return mock.patch.object(kind, "forward", lambda self, *a, **k: forward(self, *a, **{**k, argument: None}))


def replace(name, function):
    return mock.patch.object(oracles, name, function)


def with_keys_first(name):
    """Queries and keys are swapped."""
    stacked = oracles.Oracle.stacked

    def swapped(self, value_of):
        found = stacked(self, value_of)
        query, key, value = found[name].chunk(3)
        return {**found, name: torch.cat([key, query, value])}

    return mock.patch.object(oracles.Oracle, "stacked", swapped)


def with_gradient(change):
    """One parameter's gradient, changed."""
    gradients = oracles.Oracle.heed_gradients

    def changed(self):
        found = gradients(self)
        change(found)
        return found

    return mock.patch.object(oracles.Oracle, "heed_gradients", changed)


def scale_gains(gradients):
    gradients["decoder.norm.gain"] *= 1.01


def swap_two_columns(gradients):
    gradients["output.weight"][0, [0, 1]] = gradients["output.weight"][0, [1, 0]]


REAL_SINUSOIDAL, REAL_ROTATE, REAL_ATTEND, REAL_BACK = (
    oracles.sinusoidal, oracles.rotate, oracles.attend, oracles.sees_back)
REAL_POOLED = oracles.pooled
REAL_LINEAR = oracles.attend_linearly
REAL_FREQUENCIES = oracles.rotary_frequencies
REAL_SLOPES, REAL_ALIBI, REAL_DISTANCES = oracles.alibi_slopes, oracles.alibi, oracles.distances
S2S, S2S_POST, GPT, LLAMA, ENCODER = (
    cases.SEQ2SEQ_GELU, {**cases.SEQ2SEQ_POST, "activation": "gelu"}, cases.GPT, cases.LLAMA, cases.ENCODER)

# (what is wrong, heed's configuration, the oracle's, a patch): both f32 and bf16 must notice.
GROSS = [
    ("embeddings are not scaled", S2S, {**S2S, "embedding_scale": "none"}, None),
    ("norms after instead of before", {**S2S, "final_norm": False}, {**S2S_POST, "final_norm": False}, None),
    ("norms before instead of after", S2S_POST, {**S2S_POST, "norm_placement": "pre"}, None),
    ("sines and cosines in halves", S2S, S2S, replace("sinusoidal", halves)),
    ("encoder sees padding", S2S, S2S, drop(nn.TransformerEncoder, "src_key_padding_mask")),
    ("decoder sees the source's padding", S2S, S2S, drop(nn.TransformerDecoder, "memory_key_padding_mask")),
    ("decoder sees later tokens", S2S, S2S, drop(nn.TransformerDecoder, "tgt_mask")),
    ("encoder-only model sees padding", ENCODER, ENCODER, drop(nn.TransformerEncoder, "src_key_padding_mask")),
    ("scores are not scaled", GPT, GPT,
     replace("attend", lambda q, k, v, sees, bias: REAL_ATTEND(q * q.shape[-1] ** 0.5, k, v, sees, bias))),
    ("a window one token too long", cases.GPT_WINDOW, cases.GPT_WINDOW,
     replace("sees_back", lambda pattern, back, both_ways: REAL_BACK(pattern, back - 1) | (back == 0))),
    ("a stride that begins one token late", cases.GPT_STRIDED, cases.GPT_STRIDED,
     replace("sees_back", lambda pattern, back, both_ways: REAL_BACK(pattern, back - 1) | (back == 0))),
    ("linear attention that sees the next token", cases.GPT_LINEAR, cases.GPT_LINEAR,
     replace("attend_linearly", lambda q, k, v: REAL_LINEAR(q, k.roll(-1, dims=2), v.roll(-1, dims=2)))),
    ("linear attention with other features", cases.GPT_LINEAR, cases.GPT_EXP, None),
    ("patterns of heads in the wrong order", cases.GPT_PATTERNS,
     {**cases.GPT_PATTERNS, "attention": ["strided:2+local:3", "full"]}, None),
    ("queries and keys swapped", GPT, GPT, with_keys_first("decoder.layers.1.attention.projection.weight")),
    ("ALiBi with the slopes of the next head", cases.GPT_ALIBI, cases.GPT_ALIBI,
     replace("alibi_slopes", lambda heads: REAL_SLOPES(heads)[1:] + [0.0])),
    ("ALiBi that rises with the distance", cases.ENCODER_ALIBI, cases.ENCODER_ALIBI,
     replace("alibi", lambda heads, width: -REAL_ALIBI(heads, width))),
    ("relative bias of the opposite direction", cases.ENCODER_BIAS, cases.ENCODER_BIAS,
     replace("distances", lambda width: -REAL_DISTANCES(width))),
    ("a label from the first row instead of the mean", cases.LABELS, cases.LABELS_FIRST, None),
    ("padding in the mean", cases.LABELS, cases.LABELS,
     replace("pooled", lambda x, real, kind: REAL_POOLED(x, torch.ones_like(real), kind))),
    ("relative keys of the next distance", cases.GPT_KEYS, cases.GPT_KEYS,
     replace("distances", lambda width: REAL_DISTANCES(width) - 1)),
    ("relative values in the opposite order", cases.GPT_KEYS_VALUES, cases.GPT_KEYS_VALUES,
     replace("attend", lambda *operands, relative_values: REAL_ATTEND(
         *operands, relative_values=relative_values.flip(0, 1)))),
    ("relative bias of the next distance", cases.GPT_BIAS, cases.GPT_BIAS,
     replace("distances", lambda width: REAL_DISTANCES(width) - 1)),
    ("logits without their cap", cases.GEMMA, {**cases.GEMMA, "logit_cap": None}, None),
    ("scores without their cap", cases.GEMMA, {**cases.GEMMA, "attention_cap": None}, None),
    ("embeddings normalized before their positions are added", cases.BERT, cases.BERT,
     mock.patch.object(oracles.Oracle, "embed", norm_before_positions)),
    ("rotation of neighbouring columns", LLAMA, LLAMA, replace("rotate", rotate_neighbours)),
    ("rotation with twice the base", LLAMA, LLAMA,
     replace("rotate", lambda x, base, config: REAL_ROTATE(x, base * 2))),
    ("YaRN without its temperature", cases.LLAMA_YARN, cases.LLAMA_YARN,
     replace("rotary_frequencies", lambda *a: (REAL_FREQUENCIES(*a)[0], 1.0))),
    ("NTK-aware scaling as linear", cases.LLAMA_NTK, {**cases.LLAMA_NTK, "rotary_scaling": "linear"}, None),
    ("parallel branches one after the other", cases.PYTHIA, {**cases.PYTHIA, "branches": "sequential"}, None),
    ("rotary bases of other layers", cases.LAYERS_DIFFER,
     {**cases.LAYERS_DIFFER, "rotary_base": [0.0, 10000.0, 1000000.0]}, None),
    ("an encoder with the decoder's pattern", cases.SEQ2SEQ_LOCAL_ENCODER,
     {**cases.SEQ2SEQ_LOCAL_ENCODER, "encoder_attention": ["full"]}, None),
    ("the whole head turned instead of a part", cases.LLAMA_PARTIAL, {**cases.LLAMA_PARTIAL, "rotary_width": 0}, None),
    ("heads paired with the wrong keys", LLAMA, LLAMA,
     mock.patch.object(torch.Tensor, "repeat_interleave", lambda x, n, dim: torch.cat([x] * n, dim=dim))),
    ("a sigmoid gate instead of SiLU", LLAMA, LLAMA,
     replace("functional", mock.Mock(silu=lambda x: x.sigmoid()))),
]
# Only f32 can notice.
SUBTLE = [
    ("GELU by tanh instead of the exact one", GPT, {**GPT, "activation": "gelu-tanh"}, None),
    ("epsilon 1e-4 instead of 1e-5", S2S, {**S2S, "epsilon": 1e-4}, None),
    ("epsilon 1e-5 instead of 1e-6 in RMS norm", LLAMA, {**LLAMA, "epsilon": 1e-5}, None),
    ("a gain's gradient 1% too large", S2S, S2S, with_gradient(scale_gains)),
    ("two elements of a gradient swapped", S2S, S2S, with_gradient(swap_two_columns)),
]


def patched(patch, comparison):
    with patch or contextlib.nullcontext():
        return comparison()


def mistakes():
    """(title, comparison that must fail) of every mistake."""
    for what, config, other, patch in GROSS + SUBTLE:
        yield f"{what}, f32", patched(patch, lambda: cases.elements_agree(what, config, oracle_config=other))
    for what, config, other, patch in GROSS:
        yield f"{what}, bf16", patched(patch, lambda: cases.norms_agree(what, config, cases.rounded(other)))

    # Smoothing spread over all tokens but the right one is the same formula with a larger smoothing.
    elsewhere = mock.patch.object(cases, "run_torch", lambda oracle, batches, smoothing: parity.run_torch(
        oracle, batches, smoothing * 53 / 52))
    yield "smoothing leaves out the target", patched(elsewhere, lambda: cases.elements_agree("", GPT))

    right = Steps("decoupled", epsilon=1e-5)
    for what, wrong in {
        "coupled instead of decoupled decay": Steps("coupled", epsilon=1e-5),
        "no decay": Steps("decoupled", epsilon=1e-5, weight_decay=0.0),
        "no clipping": Steps("decoupled", epsilon=1e-5, max_norm=1e9),
        "learning rate 1% off": Steps("decoupled", epsilon=1e-5, learning_rate=1.01e-3),
        "another second beta": Steps("decoupled", epsilon=1e-5, beta2=0.99),
        "another epsilon": Steps("decoupled", epsilon=1.1e-5),
    }.items():
        yield what, stepping.own_gradients_agree(what, GPT, "f32", right, oracle_steps=wrong)
        yield f"{what}, f64", stepping.elements_agree(what, GPT, "f64", right, 1e-9, oracle_steps=wrong)

    yield "masks show a token of padding", cases.padded_agrees("", S2S, extra_keys=1)
    yield "recomputed with other dropout", cases.replay_agrees("", GPT, replay_seed=2)


require_noticed(mistakes())
