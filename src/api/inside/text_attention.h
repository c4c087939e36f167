// Reading attention out of a model, layer by layer.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "heed/types/attention.h"
#include "heed/types/forward.h"
#include "models/any_model.h"
#include "text/translation_tokenizers.h"

namespace heed {

// An ensemble shows its first model. ConfigError for layers or heads that the model does not have, for a kind that it
// does not have, and for more numbers than fit in memory.

// For an encoder-decoder.
TextAttention attention_of_pair(const Inference& inference, const TranslationTokenizers& tokenizers,
                                const PairTokens& tokens, const AttentionRequest& request);
// For a language model or an encoder, with the tokens that it reads.
TextAttention attention_of_text(const Inference& inference, const Tokenizer& tokenizer, const Sequences& tokens,
                                std::span<const int32_t> ids, const AttentionRequest& request);

}  // namespace heed
