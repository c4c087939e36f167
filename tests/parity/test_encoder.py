"""Encoder-only models that predict some of their tokens, or a label of each text, against PyTorch's own layers."""

import cases
from parity import finish

finish(cases.all_agree({
    "post-norm": cases.ENCODER,
    "post-norm, norm of the embeddings": cases.BERT,
    "wide and long": cases.ENCODER_LONG,
    "ALiBi": cases.ENCODER_ALIBI,
    "relative bias": cases.ENCODER_BIAS,
    "a label from the mean": cases.LABELS,
    "a label from the first": cases.LABELS_FIRST,
    "a label from the maxima": cases.LABELS_MAX,
}))
