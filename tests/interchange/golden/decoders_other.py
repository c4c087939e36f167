"""Language models whose layers are not Llama's: Gemma, GPT-NeoX, OPT, Phi-3, StableLM."""

import math

import torch
from decoders import gated, grouped, head, mask, rotary_pairs, scaled_frequencies
from parts import (ACTIVATIONS, attend, causal, embed, layer_norm, linear, rms_norm, rotary_angles, rotate, split)


def gemma(c, w, read, ids):
    """Gemma 1, 2 and 3 (text): model_type says which."""
    kind, d, heads, n = c["model_type"], c["hidden_size"], c["num_attention_heads"], len(ids)
    groups, width = c["num_key_value_heads"], c["head_dim"]
    eps = read("norms' eps", c["rms_norm_eps"], 1e-6)
    # Gemma 1's first files say hidden_act "gelu", and mean the tanh form unless hidden_activation says otherwise.
    act = ACTIVATIONS[read("the tanh form of gelu", c.get("hidden_activation") or "gelu_new", "gelu")]
    four_norms = kind != "gemma"

    def norm(name, x):
        gain_offset = read("norms multiply by 1 + the stored gain", 1.0, 0.0)
        return rms_norm(w, name, x, eps, mean=0.0, offset=gain_offset)

    scale = width ** -0.5
    if four_norms:
        scale = read("scores by query_pre_attn_scalar^-½", c["query_pre_attn_scalar"] ** -0.5, scale)
    cap = c.get("attn_logit_softcapping")
    cap = read("scores are capped", cap, None) if cap else None
    local, kinds = rotary_by_layer(c, read, width)

    x = embed(w, "model.embed_tokens.weight", c["vocab_size"], d, ids)
    x = x * read("embeddings by sqrt(d)", math.sqrt(d), 1.0)
    for i, window in enumerate(kinds):
        name = f"model.layers.{i}."
        y = norm(name + "input_layernorm", x)
        q, k, v = (split(linear(w, f"{name}self_attn.{part}_proj", y, count * width, bias=False), count)
                   for part, count in (("q", heads), ("k", groups), ("v", groups)))
        if kind == "gemma3_text":
            q, k = read("q and k are normed, head by head",
                        (norm(name + "self_attn.q_norm", q), norm(name + "self_attn.k_norm", k)), (q, k))
        frequencies, stretch = local[bool(window)]
        angles = rotary_angles(n, frequencies)
        q, k = (rotate(part, angles, rotary_pairs(read), stretch) for part in (q, k))
        y = attend(q, grouped(read, k, heads), grouped(read, v, heads), scale, mask(read, n, window), cap=cap)
        o = linear(w, name + "self_attn.o_proj", y, d, bias=False)
        if four_norms:
            o = read("what attention adds is normed", norm(name + "post_attention_layernorm", o), o)
        x = x + o
        y = norm(name + ("pre_feedforward_layernorm" if four_norms else "post_attention_layernorm"), x)
        gate = linear(w, name + "mlp.gate_proj", y, c["intermediate_size"], bias=False)
        up = linear(w, name + "mlp.up_proj", y, c["intermediate_size"], bias=False)
        y = linear(w, name + "mlp.down_proj", gated(read, act, gate, up), d, bias=False)
        if four_norms:
            y = read("what the feed-forward part adds is normed", norm(name + "post_feedforward_layernorm", y), y)
        x = x + y
    x = read("a norm before the head", norm("model.norm", x), x)
    logits = head(c, w, read, x, "model.embed_tokens.weight", c.get("tie_word_embeddings", True))
    cap = c.get("final_logit_softcapping")
    return read("logits are capped", cap * torch.tanh(logits / cap), logits) if cap else logits


def rotary_by_layer(c, read, width):
    """{False: the rotary frequencies of whole layers, True: of windowed ones}, and each layer's window or None."""
    layers, window = c["num_hidden_layers"], c.get("sliding_window")
    whole = scaled_frequencies(c, read, width, c.get("rope_scaling"), c["rope_theta"])
    if c["model_type"] == "gemma":
        return {False: whole}, [None] * layers
    if c.get("layer_types"):
        windows = [window if kind == "sliding_attention" else None for kind in c["layer_types"]]
    elif c["model_type"] == "gemma2":
        windows = [window if i % 2 == 0 else None for i in range(layers)]
        windows = read("even layers have the window, from layer 0", windows, [windows[1], *windows[:-1]])
    else:
        pattern = read("each sliding_window_pattern-th layer is whole", c["sliding_window_pattern"],
                       c["sliding_window_pattern"] + 1)
        windows = [window if (i + 1) % pattern else None for i in range(layers)]
    if c["model_type"] == "gemma2":
        return {False: whole, True: whole}, windows
    local = scaled_frequencies({}, lambda particular, right, wrong: right, width, None, c["rope_local_base_freq"])
    return {False: whole, True: read("windowed layers have their own rotary base, unscaled", local, whole)}, windows


def gpt_neox(c, w, read, ids):
    n, d, heads = len(ids), c["hidden_size"], c["num_attention_heads"]
    width = d // heads
    turned = int(width * c["rotary_pct"])
    eps = read("norms' eps", c["layer_norm_eps"], 1e-12)
    act = ACTIVATIONS[read("gelu by erf", c["hidden_act"], "gelu_new")]
    part, _ = scaled_frequencies(c, read, turned, None, c["rotary_emb_base"])
    whole, _ = scaled_frequencies(c, lambda particular, right, wrong: right, width, None, c["rotary_emb_base"])
    if turned < width:
        part = read("rotation of the first rotary_pct of a head", part, whole)
    angles = rotary_angles(n, part)
    x = embed(w, "gpt_neox.embed_in.weight", c["vocab_size"], d, ids)
    for i in range(c["num_hidden_layers"]):
        name = f"gpt_neox.layers.{i}."
        y = layer_norm(w, name + "input_layernorm", x, eps)
        fused = linear(w, name + "attention.query_key_value", y, 3 * d)
        by_head = split(fused, heads).chunk(3, -1)
        by_kind = [split(part, heads) for part in fused.chunk(3, -1)]
        q, k, v = read("query_key_value is q, k, v head by head", by_head, by_kind)
        q, k = (rotate(part, angles, rotary_pairs(read)) for part in (q, k))
        scale = read("scores by 1/sqrt of the head's width", width ** -0.5, 1.0)
        y = linear(w, name + "attention.dense", attend(q, k, v, scale, causal(n)), d)

        def feed_forward(z):
            z = layer_norm(w, name + "post_attention_layernorm", z, eps)
            return linear(w, name + "mlp.dense_4h_to_h", act(linear(w, name + "mlp.dense_h_to_4h", z,
                                                                     c["intermediate_size"])), d)

        beside, after = x + y + feed_forward(x), x + y + feed_forward(x + y)
        if not c["use_parallel_residual"]:
            beside, after = after, beside
        x = read("use_parallel_residual: both parts see the layer's input, or one after the other", beside, after)
    x = read("a norm before the head", layer_norm(w, "gpt_neox.final_layer_norm", x, eps), x)
    return linear(w, "embed_out", x, c["vocab_size"], bias=False)


def opt(c, w, read, ids):
    n, d, heads = len(ids), c["hidden_size"], c["num_attention_heads"]
    eps = read("norms' eps 1e-5, which no key says", 1e-5, 1e-12)
    act = ACTIVATIONS[read("relu", c["activation_function"], "gelu")]
    name = "model.decoder."
    before = c["do_layer_norm_before"]
    before = read("norms before or after by do_layer_norm_before", before, not before)
    inner_width = c["word_embed_proj_dim"]
    x = embed(w, name + "embed_tokens.weight", c["vocab_size"], inner_width, ids, deviation=0.3,
              zero_row=c["pad_token_id"])
    if inner_width != d:
        x = linear(w, name + "project_in", x, d, bias=False)
    places = torch.arange(n)
    places = read("the first position is row 2", places + 2, places)
    x = x + embed(w, name + "embed_positions.weight", c["max_position_embeddings"] + 2, d, places)

    def sublayer(norm, x, function):
        if before:
            return x + function(layer_norm(w, norm, x, eps))
        return layer_norm(w, norm, x + function(x), eps)

    def attention(y):
        q, k, v = (split(linear(w, f"{layer}self_attn.{part}_proj", y, d), heads) for part in ("q", "k", "v"))
        scale = read("scores by 1/sqrt of the head's width", (d // heads) ** -0.5, 1.0)
        return linear(w, layer + "self_attn.out_proj", attend(q, k, v, scale, causal(n)), d)

    for i in range(c["num_hidden_layers"]):
        layer = f"{name}layers.{i}."
        x = sublayer(layer + "self_attn_layer_norm", x, attention)
        x = sublayer(layer + "final_layer_norm", x,
                     lambda y: linear(w, layer + "fc2", act(linear(w, layer + "fc1", y, c["ffn_dim"])), d))
    if c["do_layer_norm_before"] and not c["_remove_final_layer_norm"]:
        x = read("a norm before the head", layer_norm(w, name + "final_layer_norm", x, eps), x)
    if inner_width != d:
        x = linear(w, name + "project_out", x, inner_width, bias=False)
    return x @ w(name + "embed_tokens.weight", c["vocab_size"], inner_width).T


def phi3(c, w, read, ids):
    n, d, heads = len(ids), c["hidden_size"], c["num_attention_heads"]
    groups, width = c["num_key_value_heads"], d // heads
    eps = read("norms' eps", c["rms_norm_eps"], 1e-6)
    act = ACTIVATIONS[read("silu", c["hidden_act"], "gelu")]
    turned = int(width * c.get("partial_rotary_factor", 1.0))
    frequencies, stretch = scaled_frequencies(c, read, turned, c["rope_scaling"], c["rope_theta"])
    if turned != width:
        whole, _ = scaled_frequencies(c, lambda particular, right, wrong: right, width, None, c["rope_theta"])
        frequencies = read("rotation of the first part of a head", frequencies, whole)
    angles = rotary_angles(n, frequencies)
    x = embed(w, "model.embed_tokens.weight", c["vocab_size"], d, ids)
    for i in range(c["num_hidden_layers"]):
        name = f"model.layers.{i}."
        y = rms_norm(w, name + "input_layernorm", x, eps)
        fused = linear(w, name + "self_attn.qkv_proj", y, (heads + 2 * groups) * width, bias=False)
        q, k, v = fused.split([heads * width, groups * width, groups * width], -1)
        other = split(fused, groups).split([heads // groups * width, width, width], -1)
        other = (other[0].unflatten(-1, (heads // groups, width)).transpose(1, 2).flatten(0, 1), other[1], other[2])
        q, k, v = read("qkv_proj is all of q, then k, then v", (split(q, heads), split(k, groups), split(v, groups)),
                       other)
        q, k = (rotate(part, angles, rotary_pairs(read), stretch) for part in (q, k))
        scale = read("scores by 1/sqrt of the head's width", width ** -0.5, 1.0)
        y = attend(q, grouped(read, k, heads), grouped(read, v, heads), scale, mask(read, n, c["sliding_window"]))
        x = x + linear(w, name + "self_attn.o_proj", y, d, bias=False)
        y = rms_norm(w, name + "post_attention_layernorm", x, eps)
        fused = linear(w, name + "mlp.gate_up_proj", y, 2 * c["intermediate_size"], bias=False)
        gate, up = fused.chunk(2, -1)
        x = x + linear(w, name + "mlp.down_proj", gated(read, act, gate, up), d, bias=False)
    x = read("a norm before the head", rms_norm(w, "model.norm", x, eps), x)
    return head(c, w, read, x, "model.embed_tokens.weight", c["tie_word_embeddings"])


def norm_of_each_head(w, read, name, x, eps):
    """A layer norm without bias for each head, whose gain is its own."""
    normed = torch.cat([layer_norm(w, f"{name}.norms.{i}", x[i:i + 1], eps, bias=False) for i in range(x.shape[0])])
    same = torch.cat([layer_norm(w, f"{name}.norms.0", x[i:i + 1], eps, bias=False) for i in range(x.shape[0])])
    return read("q and k are normed, head by head", read("each head's norm has its own gain", normed, same), x)


def stablelm(c, w, read, ids):
    n, d, heads = len(ids), c["hidden_size"], c["num_attention_heads"]
    groups, width = c["num_key_value_heads"], d // heads
    eps = read("norms' eps", c["layer_norm_eps"], 1e-12)
    act = ACTIVATIONS[read("silu", c["hidden_act"], "gelu")]
    part, _ = scaled_frequencies(c, read, int(width * c["partial_rotary_factor"]), c["rope_scaling"], c["rope_theta"])
    whole, _ = scaled_frequencies(c, lambda particular, right, wrong: right, width, None, c["rope_theta"])
    angles = rotary_angles(n, read("rotation of the first partial_rotary_factor of a head", part, whole))
    x = embed(w, "model.embed_tokens.weight", c["vocab_size"], d, ids)
    for i in range(c["num_hidden_layers"]):
        name = f"model.layers.{i}."
        normed = layer_norm(w, name + "input_layernorm", x, eps)
        q, k, v = (split(linear(w, f"{name}self_attn.{part}_proj", normed, count * width, c["use_qkv_bias"]), count)
                   for part, count in (("q", heads), ("k", groups), ("v", groups)))
        if c["qk_layernorm"]:
            q = norm_of_each_head(w, read, name + "self_attn.q_layernorm", q, eps)
            k = norm_of_each_head(w, read, name + "self_attn.k_layernorm", k, eps)
        q, k = (rotate(part, angles, rotary_pairs(read)) for part in (q, k))
        scale = read("scores by 1/sqrt of the head's width", width ** -0.5, 1.0)
        y = attend(q, grouped(read, k, heads), grouped(read, v, heads), scale, causal(n))
        o = linear(w, name + "self_attn.o_proj", y, d, bias=False)
        if c["use_parallel_residual"]:
            x = x + o
            y = read("both parts see the layer's input", normed, layer_norm(w, name + "input_layernorm", x, eps))
        else:
            x = x + o
            y = layer_norm(w, name + "post_attention_layernorm", x, eps)
        gate = linear(w, name + "mlp.gate_proj", y, c["intermediate_size"], bias=False)
        up = linear(w, name + "mlp.up_proj", y, c["intermediate_size"], bias=False)
        x = x + linear(w, name + "mlp.down_proj", gated(read, act, gate, up), d, bias=False)
    x = read("a norm before the head", layer_norm(w, "model.norm", x, eps), x)
    return head(c, w, read, x, "model.embed_tokens.weight", c["tie_word_embeddings"])
