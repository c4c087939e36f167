"""Encoder-decoders against PyTorch's own layers."""

import cases
from parity import finish

MODELS = {
    "pre-norm": cases.SEQ2SEQ_PRE,
    "post-norm": cases.SEQ2SEQ_POST,
    "post-norm with final norms, all tied, learned positions, GELU": cases.SEQ2SEQ_TIED,
    "wide": cases.SEQ2SEQ_LARGE,
}
BF16 = {"logits": 0.02, "losses": 0.02, "gradients": 0.05}

finish(cases.all_agree(MODELS, BF16))
