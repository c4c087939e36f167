"""Decoders alone, GPT-style and llama-style, against their formulas in PyTorch."""

import cases
from parity import finish

MODELS = {
    "GPT": cases.GPT,
    "GPT, local window, tanh GELU, untied": cases.GPT_WINDOW,
    "GPT, wide and long": cases.GPT_LARGE,
    "llama": cases.LLAMA,
    "llama, wide and long, one key-value head": cases.LLAMA_LARGE,
}
BF16 = {"logits": 0.02, "losses": 0.02, "gradients": 0.05}

finish(cases.all_agree(MODELS, BF16))
