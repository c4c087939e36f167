"""Encoder-only models that predict some of their tokens, against PyTorch's own layers."""

import cases
from parity import finish

finish(cases.all_agree({
    "post-norm": (cases.ENCODER, cases.BF16_ENCODER),
    "wide and long": (cases.ENCODER_LONG, cases.BF16_ENCODER),
    "ALiBi": (cases.ENCODER_ALIBI, cases.BF16_ENCODER),
    "relative bias": (cases.ENCODER_BIAS, cases.BF16_ENCODER),
}))
