"""Recomputed layers: with dropout active, the same losses, gradients and steps to the bit as kept activations."""

import cases
from parity import finish

MODELS = {
    "pre-norm encoder-decoder": cases.SEQ2SEQ_PRE,
    "post-norm encoder-decoder": cases.SEQ2SEQ_POST,
    "all tied encoder-decoder": cases.SEQ2SEQ_TIED,
    "wide encoder-decoder": cases.SEQ2SEQ_WIDE,
    "GPT": cases.GPT,
    "llama": cases.LLAMA,
    "encoder": cases.ENCODER,
}

finish([cases.replay_agrees(f"{name}, {precision}", config, precision)
        for name, config in MODELS.items() for precision in ("f32", "bf16")])
