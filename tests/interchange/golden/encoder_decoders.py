"""Encoder-decoders, each from its published definition: c is config.json, w the stored weights, read the readings."""

import math

import torch
from parts import ACTIVATIONS, attend, causal, distances, embed, layer_norm, linear, rms_norm, split


def marian_positions(read, n, d):
    """sin(p · 10000^(-2i/d)) for all i, then the cosines, from position 0."""
    i = torch.arange(d // 2, dtype=torch.float64)
    frequencies = read("position frequencies 10000^(-2i/d)", 10000.0 ** (-2 * i / d), 10000.0 ** (-i / (d / 2 - 1)))
    first = read("positions from 0", 0, 2)
    angles = (torch.arange(n, dtype=torch.float64)[:, None] + first) * frequencies
    return read("sines, then cosines, not by turns", torch.cat([angles.sin(), angles.cos()], -1),
                torch.stack([angles.sin(), angles.cos()], -1).flatten(-2))


def projected_attention(w, read, name, x, memory, heads, sees=None):
    """BART's attention: four matrices with biases."""
    d = x.shape[-1]
    q = split(linear(w, name + ".q_proj", x, d), heads)
    k = split(linear(w, name + ".k_proj", memory, d), heads)
    v = split(linear(w, name + ".v_proj", memory, d), heads)
    scale = read("scores by 1/sqrt of the head's width", (d // heads) ** -0.5, d ** -0.5)
    return linear(w, name + ".out_proj", attend(q, k, v, scale, sees), d)


def bart_layer(c, w, read, name, x, memory, heads, inner, before):
    """`before`: norms stand before each sublayer, else after its sum. With `memory` the layer is a decoder's."""
    eps = read("norms' eps 1e-5, which no key says", 1e-5, 1e-12)
    act = ACTIVATIONS[read("the activation", c["activation_function"],
                           "relu" if c["activation_function"] != "relu" else "gelu")]

    def sublayer(norm, x, function):
        if before:
            return x + function(layer_norm(w, name + norm, x, eps))
        return layer_norm(w, name + norm, x + function(x), eps)

    sees = causal(x.shape[0]) if memory is not None else None
    x = sublayer("self_attn_layer_norm", x,
                 lambda y: projected_attention(w, read, name + "self_attn", y, y, heads, sees))
    if memory is not None:
        x = sublayer("encoder_attn_layer_norm", x,
                     lambda y: projected_attention(w, read, name + "encoder_attn", y, memory, heads))
    return sublayer("final_layer_norm", x, lambda y: linear(w, name + "fc2", act(linear(w, name + "fc1", y, inner)),
                                                            y.shape[-1]))


def bart_stack(c, w, read, stack, x, memory, before):
    for i in range(c[stack + "_layers"]):
        x = bart_layer(c, w, read, f"model.{stack}.layers.{i}.", x, memory, c[stack + "_attention_heads"],
                       c[stack + "_ffn_dim"], before)
    return x


def marian(c, w, read, source, target):
    d = c["d_model"]
    shared = c["share_encoder_decoder_embeddings"]
    tables = {stack: ("model.shared.weight" if shared else f"model.{stack}.embed_tokens.weight", size)
              for stack, size in (("encoder", c["vocab_size"]), ("decoder", c["decoder_vocab_size"]))}
    before = read("norms after the sums", False, True)

    def enter(stack, ids):
        table, rows = tables[stack]
        x = embed(w, table, rows, d, ids, deviation=0.15 if c["scale_embedding"] else 0.6, zero_row=rows - 1)
        scale = math.sqrt(d) if c["scale_embedding"] else 1.0
        x = x * read("embeddings by sqrt(d) where scale_embedding", scale, math.sqrt(d) / scale)
        return x + marian_positions(read, len(ids), d)

    memory = bart_stack(c, w, read, "encoder", enter("encoder", source), None, before)
    x = bart_stack(c, w, read, "decoder", enter("decoder", target), memory, before)
    table, rows = tables["decoder"]
    if shared or c["tie_word_embeddings"]:
        logits = x @ w(table, rows, d).T
    else:
        logits = linear(w, "lm_head", x, rows, bias=False)
    return memory, read("final_logits_bias", logits + w("final_logits_bias", 1, rows), logits)


def t5_buckets(read, n, keys, both_ways, buckets, farthest):
    """The bucket of each pair: exact up to half of the buckets, then by logarithm, the last for all beyond."""
    relative = distances(n, keys)
    result = torch.zeros_like(relative)
    count = buckets
    if both_ways:
        count = buckets // 2
        result = count * read("later keys take the upper half of the buckets", relative > 0, relative < 0).long()
        far = relative.abs()
    else:
        far = (-relative).clamp(min=0)
    exact = count // 2
    beyond = exact + (torch.log(far.clamp(min=1).double() / exact) / math.log(farthest / exact)
                      * (count - exact)).long()
    return result + torch.where(far < exact, far, beyond.clamp(max=count - 1))


def t5_stack(c, w, read, stack, x, memory=None):
    heads, width, inner = c["num_heads"], c["d_kv"], c["d_ff"]
    n, d = x.shape
    eps = read("norms' eps", c["layer_norm_epsilon"], 1e-12)
    is_gated = c["feed_forward_proj"].startswith("gated-")
    act = c["feed_forward_proj"].split("-")[-1]
    if c["feed_forward_proj"] == "gated-gelu":
        act = read("gated-gelu is the tanh form", "gelu_new", "gelu")
    act = ACTIVATIONS[act]
    layers = c["num_layers"] if stack == "encoder" else c["num_decoder_layers"]
    table = w(f"{stack}.block.0.layer.0.SelfAttention.relative_attention_bias.weight",
              c["relative_attention_num_buckets"], heads, deviation=1.0)
    both_ways = stack == "encoder"
    if not both_ways:
        both_ways = read("the decoder's buckets look back only", False, True)
    buckets = t5_buckets(read, n, n, both_ways, c["relative_attention_num_buckets"],
                         read("relative_attention_max_distance", c["relative_attention_max_distance"], 128))
    bias = table[buckets].permute(2, 0, 1)

    def norm(name, x):
        centred = read("norms do not subtract the mean", False, True)
        return rms_norm(w, name, x, eps, centred=centred)

    def attention(name, x, memory, sees, bias):
        q = split(linear(w, name + ".q", x, heads * width, bias=False), heads)
        k = split(linear(w, name + ".k", memory, heads * width, bias=False), heads)
        v = split(linear(w, name + ".v", memory, heads * width, bias=False), heads)
        y = attend(q, k, v, read("scores are not divided by sqrt(d_kv)", 1.0, width ** -0.5), sees, bias)
        return linear(w, name + ".o", y, d, bias=False)

    def feed_forward(name, x):
        if not is_gated:
            return linear(w, name + ".wo", act(linear(w, name + ".wi", x, inner, bias=False)), d, bias=False)
        gate, up = linear(w, name + ".wi_0", x, inner, bias=False), linear(w, name + ".wi_1", x, inner, bias=False)
        y = read("wi_0 is what is activated, not wi_1", act(gate) * up, gate * act(up))
        return linear(w, name + ".wo", y, d, bias=False)

    for i in range(layers):
        name = f"{stack}.block.{i}.layer."
        y = norm(name + "0.layer_norm", x)
        shared_bias = read("layer 0's relative bias serves its whole stack", bias, bias if i == 0 else None)
        x = x + attention(name + "0.SelfAttention", y, y, causal(n) if memory is not None else None, shared_bias)
        if memory is not None:
            y = norm(name + "1.layer_norm", x)
            m = memory.shape[0]
            far = t5_buckets(Plainly(), n, m, False, c["relative_attention_num_buckets"], 128)
            crossed = read("cross-attention has no relative bias", None, table[far].permute(2, 0, 1))
            x = x + attention(name + "1.EncDecAttention", y, memory, None, crossed)
        last = 1 if memory is None else 2
        x = x + feed_forward(f"{name}{last}.DenseReluDense", norm(f"{name}{last}.layer_norm", x))
    return read(f"the {stack}'s final norm", norm(f"{stack}.final_layer_norm", x), x)


class Plainly:
    """A reading of its right value."""

    def __call__(self, particular, right, wrong):
        return right


def t5_encoder(c, w, read, source):
    return t5_stack(c, w, read, "encoder", embed(w, "shared.weight", c["vocab_size"], c["d_model"], source))


def t5(c, w, read, source, target):
    d, rows = c["d_model"], c["vocab_size"]
    memory = t5_encoder(c, w, read, source)
    x = t5_stack(c, w, read, "decoder", embed(w, "shared.weight", rows, d, target), memory)
    if c.get("tie_word_embeddings", True):
        x = read("hidden by 1/sqrt(d) before a tied head", x * d ** -0.5, x)
        return memory, x @ w("shared.weight", rows, d).T
    logits = linear(w, "lm_head", x, rows, bias=False)
    return memory, read("an untied head takes the hidden as it is", logits, logits * d ** -0.5)


def learned_positions(c, w, read, stack, ids, x):
    """A row for each position, the first of them row 2."""
    places = torch.arange(len(ids))
    places = read("the first position is row 2", places + 2, places)
    return x + embed(w, f"model.{stack}.embed_positions.weight", c["max_position_embeddings"] + 2, x.shape[-1], places)


def m2m100_positions(read, n, d, pad):
    """sin(p · exp(-i · ln 10000 / (d/2 - 1))) for all i, then the cosines; the first position is pad + 1."""
    i = torch.arange(d // 2, dtype=torch.float64)
    slower = 10000.0 ** (-2 * i / d)
    frequencies = read("position frequencies exp(-i ln 10000 / (d/2 - 1))",
                       torch.exp(-i * math.log(10000.0) / (d / 2 - 1)), slower)
    first = read("the first position is pad + 1", pad + 1, 0)
    angles = (torch.arange(n, dtype=torch.float64)[:, None] + first) * frequencies
    return read("sines, then cosines, not by turns", torch.cat([angles.sin(), angles.cos()], -1),
                torch.stack([angles.sin(), angles.cos()], -1).flatten(-2))


def bart(c, w, read, source, target):
    """BART, mBART, M2M-100 and NLLB: model_type says where norms stand and what positions are."""
    kind, d, rows, pad = c["model_type"], c["d_model"], c["vocab_size"], c["pad_token_id"]
    before = read("norms after the sums" if kind == "bart" else "norms before the sublayers", kind != "bart",
                  kind == "bart")
    scale = math.sqrt(d) if c["scale_embedding"] else 1.0

    def enter(stack, ids):
        x = embed(w, "model.shared.weight", rows, d, ids, deviation=0.15, zero_row=pad)
        x = x * read("embeddings by sqrt(d) where scale_embedding", scale, math.sqrt(d) / scale)
        if kind == "m2m_100":
            return x + m2m100_positions(read, len(ids), d, pad)
        x = learned_positions(c, w, read, stack, ids, x)
        return read("a norm after the embeddings", layer_norm(w, f"model.{stack}.layernorm_embedding", x, 1e-5), x)

    def leave(stack, x):
        if kind == "bart":
            return x
        return read(f"the {stack}'s final norm", layer_norm(w, f"model.{stack}.layer_norm", x, 1e-5), x)

    memory = leave("encoder", bart_stack(c, w, read, "encoder", enter("encoder", source), None, before))
    x = leave("decoder", bart_stack(c, w, read, "decoder", enter("decoder", target), memory, before))
    logits = x @ w("model.shared.weight", rows, d).T
    if kind == "m2m_100":
        return memory, logits
    return memory, read("final_logits_bias", logits + w("final_logits_bias", 1, rows), logits)
