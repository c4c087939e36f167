"""Encoder-decoders against PyTorch's own layers."""

import cases
from parity import finish

finish(cases.all_agree({
    "pre-norm": cases.SEQ2SEQ_PRE,
    "pre-norm, GELU": cases.SEQ2SEQ_GELU,
    "post-norm": cases.SEQ2SEQ_POST,
    "post-norm with final norms, all tied, learned positions, GELU": cases.SEQ2SEQ_TIED,
    "pre-norm, GELU, norms of the embeddings, capped logits": cases.SEQ2SEQ_CAPPED,
    "a local encoder": cases.SEQ2SEQ_LOCAL_ENCODER,
    "a local decoder": cases.SEQ2SEQ_LOCAL_DECODER,
    "wide": cases.SEQ2SEQ_WIDE,
}))
