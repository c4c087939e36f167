"""Decoder-only models, GPT-style and Llama-style, against their formulas in PyTorch."""

import cases
from parity import finish

finish(cases.all_agree({
    "GPT": (cases.GPT, cases.BF16_DECODER),
    "GPT, local window, tanh GELU, untied": (cases.GPT_WINDOW, cases.BF16_DECODER),
    "GPT, strided": (cases.GPT_STRIDED, cases.BF16_DECODER),
    "GPT, layers and heads that differ": (cases.GPT_PATTERNS, cases.BF16_DECODER),
    "GPT, linear": (cases.GPT_LINEAR, cases.BF16_DECODER),
    "GPT, linear with features of exp": (cases.GPT_EXP, cases.BF16_DECODER),
    "GPT, linear and local layers": (cases.GPT_LINEAR_AND_LOCAL, cases.BF16_DECODER),
    "GPT, wide and long": (cases.GPT_LONG, cases.BF16_DECODER),
    "GPT, ALiBi": (cases.GPT_ALIBI, cases.BF16_DECODER),
    "GPT, relative bias": (cases.GPT_BIAS, cases.BF16_DECODER),
    "GPT, relative keys": (cases.GPT_KEYS, cases.BF16_DECODER),
    "GPT, relative keys and values": (cases.GPT_KEYS_VALUES, cases.BF16_DECODER),
    "GPT, parallel branches with norms of their own, widths by layer": (cases.GPT_OWN_NORMS, cases.BF16_DECODER),
    "llama": (cases.LLAMA, cases.BF16_DECODER),
    "llama, a part of the head turned, linear scaling": (cases.LLAMA_PARTIAL, cases.BF16_DECODER),
    "llama, NTK-aware scaling": (cases.LLAMA_NTK, cases.BF16_DECODER),
    "llama, YaRN": (cases.LLAMA_YARN, cases.BF16_DECODER),
    "llama, norms of each head of queries and keys": (cases.QWEN, cases.BF16_DECODER),
    "llama, norms of all heads together": (cases.OLMO, cases.BF16_DECODER),
    "llama, capped scores and logits": (cases.GEMMA, cases.BF16_DECODER),
    "llama, parallel branches with norms of their own": (cases.PYTHIA, cases.BF16_DECODER),
    "llama, layers that differ": (cases.LAYERS_DIFFER, cases.BF16_DECODER),
    "llama, values wider than keys": (cases.WIDE_VALUES, cases.BF16_DECODER),
    "llama, wide and long, one key-value head": (cases.LLAMA_LONG, cases.BF16_DECODER),
}))
