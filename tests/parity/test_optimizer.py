"""Ten steps of Adam and AdamW with clipping at 1: gradient norms, parameters and logits against torch.optim."""

import cases
import stepping
from parity import Steps, finish

MODELS = {
    "pre-norm encoder-decoder": cases.SEQ2SEQ_PRE,
    "post-norm encoder-decoder": cases.SEQ2SEQ_POST,
    "all tied encoder-decoder": cases.SEQ2SEQ_TIED,
    "GPT": cases.GPT,
    "llama": cases.LLAMA,
    "encoder": cases.ENCODER,
}

comparisons = []
for name, config in MODELS.items():
    for decay in ("coupled", "decoupled"):
        for epsilon in (1e-8, 1e-5):
            title, steps = f"{name}, {decay} decay, epsilon {epsilon}", Steps(decay, epsilon=epsilon)
            comparisons += [
                stepping.elements_agree(f"{title}, f64", config, "f64", steps, 1e-9),
                stepping.own_gradients_agree(f"{title}, f32", config, "f32", steps),
                stepping.own_gradients_agree(f"{title}, bf16", config, "bf16", steps),
            ]
finish(comparisons)
