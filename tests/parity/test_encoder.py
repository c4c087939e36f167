"""Encoder-only models that predict some of their tokens, or a label of each text, against PyTorch's own layers."""

import cases
from parity import finish

finish(cases.all_agree({
    "post-norm": (cases.ENCODER, cases.BF16_ENCODER),
    "post-norm, norm of the embeddings": (cases.BERT, cases.BF16_ENCODER),
    "wide and long": (cases.ENCODER_LONG, cases.BF16_ENCODER),
    "ALiBi": (cases.ENCODER_ALIBI, cases.BF16_ENCODER),
    "relative bias": (cases.ENCODER_BIAS, cases.BF16_ENCODER),
    "a label from the mean": (cases.LABELS, cases.BF16_ENCODER),
    "a label from the first": (cases.LABELS_FIRST, cases.BF16_ENCODER),
    "a label from the maxima": (cases.LABELS_MAX, cases.BF16_ENCODER),
}))
