// Attention that a model paid.
#pragma once

#include "heed/types/attention.h"
#include "options.h"

struct heed_attention {
  heed::TextAttention found;
};

namespace heed::c {

// `kind` is what the model has where the options name none.
AttentionRequest attention_request(OptionReader& options, AttentionKind kind);

}  // namespace heed::c
