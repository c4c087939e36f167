"""Encoder-decoders against PyTorch's own layers."""

import cases
from parity import finish

finish(cases.all_agree({
    "pre-norm": (cases.SEQ2SEQ_PRE, cases.BF16_SEQ2SEQ_RELU),
    "pre-norm, GELU": (cases.SEQ2SEQ_GELU, cases.BF16_SEQ2SEQ),
    "post-norm": (cases.SEQ2SEQ_POST, cases.BF16_SEQ2SEQ_RELU),
    "post-norm with final norms, all tied, learned positions, GELU": (cases.SEQ2SEQ_TIED, cases.BF16_SEQ2SEQ),
    "pre-norm, GELU, norms of the embeddings, capped logits": (cases.SEQ2SEQ_CAPPED, cases.BF16_SEQ2SEQ),
    "a local encoder": (cases.SEQ2SEQ_LOCAL_ENCODER, cases.BF16_SEQ2SEQ),
    "a local decoder": (cases.SEQ2SEQ_LOCAL_DECODER, cases.BF16_SEQ2SEQ),
    "wide": (cases.SEQ2SEQ_WIDE, cases.BF16_SEQ2SEQ_RELU),
}))
