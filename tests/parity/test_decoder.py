"""Decoder-only models, GPT-style and Llama-style, against their formulas in PyTorch."""

import cases
from parity import finish

finish(cases.all_agree({
    "GPT": cases.GPT,
    "GPT, local window, tanh GELU, untied": cases.GPT_WINDOW,
    "GPT, strided": cases.GPT_STRIDED,
    "GPT, layers and heads that differ": cases.GPT_PATTERNS,
    "GPT, linear": cases.GPT_LINEAR,
    "GPT, linear with features of exp": cases.GPT_EXP,
    "GPT, linear and local layers": cases.GPT_LINEAR_AND_LOCAL,
    "GPT, wide and long": cases.GPT_LONG,
    "GPT, ALiBi": cases.GPT_ALIBI,
    "GPT, relative bias": cases.GPT_BIAS,
    "GPT, relative keys": cases.GPT_KEYS,
    "GPT, relative keys and values": cases.GPT_KEYS_VALUES,
    "GPT, parallel branches with norms of their own, widths by layer": cases.GPT_OWN_NORMS,
    "llama": cases.LLAMA,
    "llama, a part of the head turned, linear scaling": cases.LLAMA_PARTIAL,
    "llama, NTK-aware scaling": cases.LLAMA_NTK,
    "llama, YaRN": cases.LLAMA_YARN,
    "llama, norms of each head of queries and keys": cases.QWEN,
    "llama, norms of all heads together": cases.OLMO,
    "llama, capped scores and logits": cases.GEMMA,
    "llama, parallel branches with norms of their own": cases.PYTHIA,
    "llama, layers that differ": cases.LAYERS_DIFFER,
    "llama, values wider than keys": cases.WIDE_VALUES,
    "llama, wide and long, one key-value head": cases.LLAMA_LONG,
}))
