"""Writes a golden model as llama.cpp's converter would: one GGUF file of metadata, tokenizer and tensors.

From the format's description and what that program's graphs expect: heed's own writer has no part in it.
"""

import json
import pathlib
import struct
import tempfile

import torch

U32, I32, F32, BOOL, STRING, ARRAY = 4, 5, 6, 7, 8, 9
TYPES = {torch.float32: 0, torch.float16: 1, torch.bfloat16: 30}
Q4_0, Q8_0, BLOCK, ALIGNMENT = 2, 8, 32, 32
NORMAL, UNKNOWN, CONTROL, UNUSED, BYTE = 1, 2, 3, 5, 6

LAYER_NAMES = {
    "input_layernorm": "attn_norm", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output", "self_attn.q_norm": "attn_q_norm",
    "self_attn.k_norm": "attn_k_norm", "post_attention_layernorm": "ffn_norm", "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down", "ln_1": "attn_norm", "ln_2": "ffn_norm",
    "attn.c_attn": "attn_qkv", "attn.c_proj": "attn_output", "mlp.c_fc": "ffn_up", "mlp.c_proj": "ffn_down",
}
GEMMA_NORMS = {"post_attention_layernorm": "post_attention_norm", "pre_feedforward_layernorm": "ffn_norm",
               "post_feedforward_layernorm": "post_ffw_norm"}
OTHER_NAMES = {"model.embed_tokens": "token_embd", "lm_head": "output", "model.norm": "output_norm",
               "transformer.wte": "token_embd", "transformer.wpe": "position_embd", "transformer.ln_f": "output_norm"}
ARCHITECTURES = {"gemma3_text": "gemma3", "mistral": "llama"}


def text_bytes(text):
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def value_bytes(kind, value):
    return text_bytes(value) if kind == STRING else struct.pack({U32: "<I", I32: "<i", F32: "<f", BOOL: "<?"}[kind], value)


def pair_bytes(key, kind, value):
    if isinstance(value, list):
        items = b"".join(value_bytes(kind, item) for item in value)
        return text_bytes(key) + struct.pack("<IIQ", ARRAY, kind, len(value)) + items
    return text_bytes(key) + struct.pack("<I", kind) + value_bytes(kind, value)


def in_blocks(tensor, kind):
    """The bytes of a matrix in blocks of 32, and the values that they stand for."""
    data, values = [], []
    for block in tensor.double().reshape(-1, BLOCK):
        most = float(block[block.abs().argmax()])
        step = most / -8 if kind == Q4_0 else abs(most) / 127
        scale = struct.unpack("<e", struct.pack("<e", step))[0]
        if kind == Q8_0:
            whole = (block / scale).round().clamp(-127, 127)
            packed = struct.pack("<32b", *map(int, whole))
        else:
            whole = (block / scale).round().clamp(-8, 7)
            up = [int(n) + 8 for n in whole]
            packed = bytes(up[i] | up[i + 16] << 4 for i in range(16))
        data.append(struct.pack("<e", scale) + packed)
        values.append(whole * scale)
    return b"".join(data), torch.cat(values).reshape(tensor.shape)


def tensor_bytes(tensor, blocks):
    """(type, bytes): vectors in f32."""
    if tensor.dim() == 1:
        tensor = tensor.float()
    elif blocks is not None:
        return blocks, in_blocks(tensor, blocks)[0]
    flat = tensor.contiguous()
    return TYPES[tensor.dtype], (flat.view(torch.int16) if tensor.dtype == torch.bfloat16 else flat).numpy().tobytes()


def write_gguf(path, pairs, tensors, blocks=None):
    header = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(pairs)) + b"".join(pair_bytes(*pair) for pair in pairs)
    data, offset = [], 0
    for name, tensor in tensors.items():
        kind, values = tensor_bytes(tensor, blocks)
        header += text_bytes(name) + struct.pack("<I", tensor.dim())
        header += b"".join(struct.pack("<Q", extent) for extent in reversed(tensor.shape))
        header += struct.pack("<IQ", kind, offset)
        data.append(values + bytes(-len(values) % ALIGNMENT))
        offset += len(data[-1])
    path.write_bytes(header + bytes(-len(header) % ALIGNMENT) + b"".join(data))


def permuted(tensor, heads):
    """The two halves of each head's rows, taken in turns."""
    rows = tensor.reshape(heads, 2, tensor.shape[0] // heads // 2, *tensor.shape[1:])
    return rows.transpose(1, 2).reshape(tensor.shape)


def converted(c, name, tensor):
    """The name and values in the file."""
    stem, term = name.rsplit(".", 1)
    if stem in OTHER_NAMES:
        new = OTHER_NAMES[stem]
    else:
        layer, part = stem.removeprefix("model.layers.").removeprefix("transformer.h.").split(".", 1)
        own = GEMMA_NORMS if c["model_type"] in ("gemma2", "gemma3_text") else {}
        new = f"blk.{layer}.{own.get(part) or LAYER_NAMES[part]}"
        if c["model_type"] in ("llama", "mistral") and part in ("self_attn.q_proj", "self_attn.k_proj"):
            tensor = permuted(tensor, c["num_attention_heads" if ".q_" in name else "num_key_value_heads"])
        if part in ("attn.c_attn", "attn.c_proj", "mlp.c_fc", "mlp.c_proj") and term == "weight":
            tensor = tensor.T
    if c["model_type"].startswith("gemma") and new.endswith("norm"):
        tensor = tensor.float() + 1
    return f"{new}.{term}", tensor


def llama3_divisors(c):
    """What each pair's angle is divided by."""
    scaling, width = c["rope_scaling"], c["head_dim"]
    low, high, factor = (scaling[key] for key in ("low_freq_factor", "high_freq_factor", "factor"))
    turns = [scaling["original_max_position_embeddings"] * c["rope_theta"] ** (-2 * i / width) / (2 * torch.pi)
             for i in range(width // 2)]
    shares = [min(max((turn - low) / (high - low), 0), 1) for turn in turns]
    return torch.tensor([1 / ((1 - share) / factor + share) for share in shares], dtype=torch.float32)


def scaling_pairs(arch, c):
    scaling = c.get("rope_scaling")
    if not scaling or scaling.get("rope_type") == "llama3":
        return []
    kind = scaling.get("rope_type", scaling.get("type"))
    pairs = [(f"{arch}.rope.scaling.type", STRING, kind), (f"{arch}.rope.scaling.factor", F32, scaling["factor"])]
    if kind == "yarn":
        pairs.append((f"{arch}.rope.scaling.original_context_length", U32, scaling["original_max_position_embeddings"]))
    return pairs


def settings_of(c):
    arch = ARCHITECTURES.get(c["model_type"], c["model_type"])
    first = [("general.architecture", STRING, arch), ("general.type", STRING, "model"),
             ("general.name", STRING, "Golden"), ("general.quantization_version", U32, 2)]
    if arch == "gpt2":
        sizes = {"block_count": c["n_layer"], "context_length": c["n_positions"], "embedding_length": c["n_embd"],
                 "feed_forward_length": c["n_inner"] or 4 * c["n_embd"], "attention.head_count": c["n_head"]}
        return first + [(f"{arch}.{key}", U32, value) for key, value in sizes.items()] + [
            (f"{arch}.attention.layer_norm_epsilon", F32, c["layer_norm_epsilon"])]
    sizes = {"block_count": c["num_hidden_layers"], "context_length": c["max_position_embeddings"],
             "embedding_length": c["hidden_size"], "feed_forward_length": c["intermediate_size"],
             "attention.head_count": c["num_attention_heads"], "attention.head_count_kv": c["num_key_value_heads"]}
    if "head_dim" in c:
        sizes.update({"attention.key_length": c["head_dim"], "attention.value_length": c["head_dim"]})
    if arch == "llama":
        sizes.update({"vocab_size": c["vocab_size"], "rope.dimension_count": c["head_dim"]})
    if c["model_type"] in ("mistral", "gemma2", "gemma3_text"):
        sizes["attention.sliding_window"] = c["sliding_window"]
    if arch == "gemma3":
        sizes["attention.sliding_window_pattern"] = c["sliding_window_pattern"]
    pairs = first + [(f"{arch}.{key}", U32, value) for key, value in sizes.items()]
    pairs.append((f"{arch}.attention.layer_norm_rms_epsilon", F32, c["rms_norm_eps"]))
    if c["rope_theta"] != 10000.0:
        pairs.append((f"{arch}.rope.freq_base", F32, c["rope_theta"]))
    if arch == "gemma2":
        pairs += [(f"{arch}.attn_logit_softcapping", F32, c["attn_logit_softcapping"]),
                  (f"{arch}.final_logit_softcapping", F32, c["final_logit_softcapping"])]
    return pairs + scaling_pairs(arch, c)


def kind_of_token(token, special):
    if token == "<unk>":
        return UNKNOWN
    if token.startswith("[PAD"):
        return UNUSED
    return CONTROL if token in special else BYTE if token.startswith("<0x") else NORMAL


def tokenizer_pairs(folder, form, rows):
    """From tokenizer.json and tokenizer_config.json; `form` is "llama", or what tokenizer.ggml.pre says."""
    tokenizer = json.loads((folder / "tokenizer.json").read_text())
    roles = json.loads((folder / "tokenizer_config.json").read_text())
    ids = {**tokenizer["model"]["vocab"], **{t["content"]: t["id"] for t in tokenizer["added_tokens"]}}
    tokens = sorted(ids, key=ids.get)
    tokens += [f"[PAD{i}]" for i in range(len(tokens), rows)]
    special = {t["content"] for t in tokenizer["added_tokens"]}
    merges = [m if isinstance(m, str) else " ".join(m) for m in tokenizer["model"]["merges"]]
    pairs = [("tokenizer.ggml.model", STRING, "llama" if form == "llama" else "gpt2"),
             ("tokenizer.ggml.pre", STRING, "default" if form == "llama" else form),
             ("tokenizer.ggml.tokens", STRING, tokens),
             ("tokenizer.ggml.token_type", I32, [kind_of_token(token, special) for token in tokens])]
    if form == "llama":
        ranks = {merge.replace(" ", ""): i for i, merge in enumerate(merges)}
        scores = [-float(ranks.get(token, len(ranks))) for token in tokens]
        pairs += [("tokenizer.ggml.scores", F32, scores), ("tokenizer.ggml.add_bos_token", BOOL, True),
                  ("tokenizer.ggml.add_eos_token", BOOL, False)]
        if "<bos>" in ids:
            pairs.append(("tokenizer.ggml.add_space_prefix", BOOL, False))
    else:
        pairs.append(("tokenizer.ggml.merges", STRING, merges))
    for role, key in (("bos", "bos"), ("eos", "eos"), ("unk", "unknown"), ("pad", "padding")):
        if role + "_token" in roles:
            pairs.append((f"tokenizer.ggml.{key}_token_id", U32, ids[roles[role + "_token"]]))
    pairs.append(("tokenizer.chat_template", STRING, "{{ bos_token }}{% for m in messages %}{{ m.content }}{% endfor %}"))
    return pairs


def write_model(path, model, store):
    c = model.config
    with tempfile.TemporaryDirectory() as folder:
        model.write_tokenizer(pathlib.Path(folder))
        pairs = settings_of(c) + tokenizer_pairs(pathlib.Path(folder), model.cut, c["vocab_size"])
    tensors = dict(converted(c, name, tensor) for name, tensor in store.tensors.items())
    if (c.get("rope_scaling") or {}).get("rope_type") == "llama3":
        tensors["rope_freqs.weight"] = llama3_divisors(c)
    write_gguf(path, pairs, tensors, model.blocks)
