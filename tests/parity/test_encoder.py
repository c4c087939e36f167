"""Encoders alone, predicting some of their tokens, against PyTorch's own layers."""

import cases
from parity import finish

MODELS = {
    "post-norm": cases.ENCODER,
    "wide and long": cases.ENCODER_LARGE,
}
BF16 = {"logits": 0.02, "losses": 0.02, "gradients": 0.05}

finish(cases.all_agree(MODELS, BF16))
