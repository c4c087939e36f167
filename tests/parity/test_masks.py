"""A ragged batch gives the same results as a padded rectangle with the caller's masks."""

import cases
from parity import finish

MODELS = {
    "pre-norm encoder-decoder": cases.SEQ2SEQ_PRE,
    "post-norm encoder-decoder": cases.SEQ2SEQ_POST,
    "GPT": cases.GPT,
    "GPT, local window": cases.GPT_WINDOW,
    "GPT, strided": cases.GPT_STRIDED,
    "GPT, wide and long": cases.GPT_LONG,
    "llama": cases.LLAMA,
    "encoder": cases.ENCODER,
    "encoder, wide and long": cases.ENCODER_LONG,
}
# Queries that see no key: a source without tokens must not give NaN.
EMPTY_SOURCES = [[7, 1, 12, 3, 5], [4, 0, 1, 6, 0]]

comparisons = []
for precision in ("f32", "f64"):
    for name, config in MODELS.items():
        comparisons.append(cases.padded_agrees(f"{name}, {precision}", config, precision=precision))
    for name in ("pre-norm encoder-decoder", "post-norm encoder-decoder"):
        comparisons.append(cases.padded_agrees(f"{name}, empty sources, {precision}", MODELS[name], EMPTY_SOURCES,
                                               precision=precision))
finish(comparisons)
