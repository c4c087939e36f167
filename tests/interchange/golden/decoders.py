"""Language models, each from its published definition: c is config.json, w the stored weights, read the readings."""

import math

import torch
from parts import (ACTIVATIONS, attend, causal, embed, layer_norm, linear, rms_norm, rotary_angles,
                   rotary_frequencies, rotate, split)


def head(c, w, read, x, table, tied):
    """Logits by the embedding's table where it is tied, else by a matrix of their own."""
    if tied:
        return x @ w(table, c["vocab_size"], x.shape[-1]).T
    untied = linear(w, "lm_head", x, c["vocab_size"], bias=False)
    return read("the head is a matrix of its own", untied, x @ w(table, c["vocab_size"], x.shape[-1]).T)


def gpt2(c, w, read, ids, prefix="transformer."):
    n, d, heads = len(ids), c["n_embd"], c["n_head"]
    eps = read("norms' eps", c["layer_norm_epsilon"], 1e-12)
    act = ACTIVATIONS[read("gelu_new is the tanh form", c["activation_function"], "gelu")]
    inner = c["n_inner"] or 4 * d

    def conv1d(name, x, outputs):
        """x W + b: the matrix is stored as [inputs, outputs]."""
        matrix = w(name + ".weight", x.shape[-1], outputs)
        transposed = matrix.reshape(outputs, x.shape[-1]).T
        return x @ read("matrices are stored as [inputs, outputs]", matrix, transposed) + w(name + ".bias", outputs)

    x = embed(w, prefix + "wte.weight", c["vocab_size"], d, ids)
    places = torch.arange(n)
    x = x + embed(w, prefix + "wpe.weight", c["n_positions"], d, read("positions from 0", places, places + 2))
    for i in range(c["n_layer"]):
        name = f"{prefix}h.{i}."
        y = layer_norm(w, name + "ln_1", x, eps)
        fused = conv1d(name + "attn.c_attn", y, 3 * d)
        by_kind = [split(part, heads) for part in fused.chunk(3, -1)]
        by_head = split(fused, heads).chunk(3, -1)
        q, k, v = read("c_attn is all of q, then k, then v", by_kind, by_head)
        y = attend(q, k, v, read("scores by 1/sqrt of the head's width", (d // heads) ** -0.5, 1.0), causal(n))
        x = x + conv1d(name + "attn.c_proj", y, d)
        y = layer_norm(w, name + "ln_2", x, eps)
        x = x + conv1d(name + "mlp.c_proj", act(conv1d(name + "mlp.c_fc", y, inner)), d)
    x = read("a norm before the head", layer_norm(w, prefix + "ln_f", x, eps), x)
    return x @ w(prefix + "wte.weight", c["vocab_size"], d).T


def scaled_frequencies(c, read, width, scaling, base):
    """The rotary frequencies under `rope_scaling`, and what cosines and sines are multiplied by."""
    plain = rotary_frequencies(width, read("the rotary base", base, 10000.0 if base != 10000.0 else 500000.0))
    kind = (scaling or {}).get("rope_type", (scaling or {}).get("type", "default"))
    if kind == "default":
        return plain, 1.0
    factor = scaling["factor"]
    if kind == "linear":
        return read("frequencies divided by the factor", plain / factor, plain), 1.0
    if kind == "llama3":
        length = 2 * math.pi / plain
        context = scaling["original_max_position_embeddings"]
        low, high = scaling["low_freq_factor"], scaling["high_freq_factor"]
        smooth = (context / length - low) / (high - low)
        between = plain * ((1 - smooth) / factor + smooth)
        ends = torch.where(length > context / low, plain / factor, plain)
        middle = (length >= context / high) & (length <= context / low)
        scaled = read("llama3: between the bands, interpolated", torch.where(middle, between, ends), ends)
        return read("llama3: scaled at all", read("llama3: not all divided", scaled, plain / factor), plain), 1.0
    assert kind == "yarn"
    context = scaling.get("original_max_position_embeddings") or c["max_position_embeddings"]
    context = read("yarn: original_max_position_embeddings", context, c["max_position_embeddings"])
    fast, slow = scaling.get("beta_fast") or 32, scaling.get("beta_slow") or 1
    if (fast, slow) != (32, 1):
        fast = read("yarn: beta_fast", fast, 32)
        slow = read("yarn: beta_slow", slow, 1)

    def turns_at(rotations):
        """The pair that turns `rotations` times within the context."""
        return width * math.log(context / (rotations * 2 * math.pi)) / (2 * math.log(base))

    low, high = turns_at(fast), turns_at(slow)
    if scaling.get("truncate", True):
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, width - 1)
    ramp = ((torch.arange(width // 2, dtype=torch.float64) - low) / max(high - low, 0.001)).clamp(0, 1)
    scaled = plain / factor * ramp + plain * (1 - ramp)
    stretch = scaling.get("attention_factor") or 0.1 * math.log(factor) + 1
    return (read("yarn: scaled at all", read("yarn: fast pairs keep their frequency", scaled, plain / factor), plain),
            read("yarn: cosines and sines stretched", stretch, 1.0))


def grouped(read, x, heads):
    """Heads of keys or values, each repeated for its neighbouring query heads."""
    times = heads // x.shape[0]
    if times == 1 or x.shape[0] == 1:
        return x.expand(heads, *x.shape[1:])
    return read("query heads that share a key are neighbours", x.repeat_interleave(times, 0), x.repeat(times, 1, 1))


def gated(read, act, gate, up):
    return read("the gate is what is activated, not up", act(gate) * up, gate * act(up))


def rotary_pairs(read):
    return read("rotary pairs are halves", "halves", "neighbours")


def windows(c):
    """The window of each layer, or None."""
    if c["model_type"] == "smollm3" and not c["use_sliding_window"]:
        return [None] * c["num_hidden_layers"]
    if "layer_types" in c and c["layer_types"]:
        return [c["sliding_window"] if kind == "sliding_attention" else None for kind in c["layer_types"]]
    if c["model_type"] == "qwen2" or c["model_type"] == "qwen3":
        first = c["max_window_layers"] if c["use_sliding_window"] else c["num_hidden_layers"]
        return [c["sliding_window"] if i >= first else None for i in range(c["num_hidden_layers"])]
    return [c.get("sliding_window")] * c["num_hidden_layers"]


def without_positions(c):
    """SmolLM3: the layers whose flag is 0; without flags, each no_rope_layer_interval-th."""
    if c["model_type"] != "smollm3":
        return []
    flags = c.get("no_rope_layers") or [int((i + 1) % c["no_rope_layer_interval"] != 0)
                                        for i in range(c["num_hidden_layers"])]
    return [i for i, turns in enumerate(flags) if not turns]


def mask(read, n, window):
    if not window:
        return causal(n)
    m = read("windowed layers see `window` tokens, themselves included", causal(n, window), causal(n, window + 1))
    return read("layers with a window", m, causal(n))


def llama(c, w, read, ids):
    """Llama, Mistral, Qwen2, Qwen3, SmolLM: model_type says where there are biases, norms of q and k, windows, and
    layers without positions."""
    kind, d, heads, n = c["model_type"], c["hidden_size"], c["num_attention_heads"], len(ids)
    groups = c.get("num_key_value_heads") or heads
    width = c.get("head_dim") or d // heads
    eps = read("norms' eps", c["rms_norm_eps"], 1e-6)
    act = ACTIVATIONS[read("silu", c["hidden_act"], "gelu")]
    bias = c.get("attention_bias", False)
    input_bias, output_bias = (True, False) if kind == "qwen2" else (bias, bias)
    frequencies, stretch = scaled_frequencies(c, read, width, c.get("rope_scaling"), c["rope_theta"])
    angles = rotary_angles(n, frequencies)

    def norm(name, x):
        centred = read("norms do not subtract the mean", False, True)
        return rms_norm(w, name, x, eps, centred=centred)

    unturned = without_positions(c)
    if unturned:
        unturned = read("layers whose flag is 0 have no positions", unturned, [i + 1 for i in unturned])

    def turned(x):
        return x if i in unturned else rotate(x, angles, rotary_pairs(read), stretch)

    def project(name, x, outputs):
        y = linear(w, name, x, outputs, bias=input_bias)
        if not input_bias:
            return y
        return read("biases of q, k and v", y, linear(w, name, x, outputs, bias=False))

    x = embed(w, "model.embed_tokens.weight", c["vocab_size"], d, ids)
    for i, window in zip(range(c["num_hidden_layers"]), windows(c)):
        name = f"model.layers.{i}."
        y = norm(name + "input_layernorm", x)
        q = split(project(name + "self_attn.q_proj", y, heads * width), heads)
        k = split(project(name + "self_attn.k_proj", y, groups * width), groups)
        v = split(project(name + "self_attn.v_proj", y, groups * width), groups)
        if kind == "qwen3":
            q_normed, k_normed = norm(name + "self_attn.q_norm", q), norm(name + "self_attn.k_norm", k)
            late = (norm(name + "self_attn.q_norm", turned(q)), norm(name + "self_attn.k_norm", turned(k)))
            early = read("q and k are normed, head by head", (turned(q_normed), turned(k_normed)),
                         (turned(q), turned(k)))
            q, k = read("q and k are normed before rotation", early, late)
        else:
            q, k = turned(q), turned(k)
        k, v = grouped(read, k, heads), grouped(read, v, heads)
        scale = read("scores by 1/sqrt of the head's width", width ** -0.5,
                     (d / heads) ** -0.5 if d != heads * width else 1.0)
        y = attend(q, k, v, scale, mask(read, n, window))
        o = linear(w, name + "self_attn.o_proj", y, d, bias=output_bias)
        if output_bias:
            o = read("attention_bias is the output's too", o, linear(w, name + "self_attn.o_proj", y, d, bias=False))
        x = x + o
        y = norm(name + "post_attention_layernorm", x)
        mlp_bias = c.get("mlp_bias", False)
        gate = linear(w, name + "mlp.gate_proj", y, c["intermediate_size"], bias=mlp_bias)
        up = linear(w, name + "mlp.up_proj", y, c["intermediate_size"], bias=mlp_bias)
        x = x + linear(w, name + "mlp.down_proj", gated(read, act, gate, up), d, bias=mlp_bias)
    x = read("a norm before the head", norm("model.norm", x), x)
    return head(c, w, read, x, "model.embed_tokens.weight", c["tie_word_embeddings"])
