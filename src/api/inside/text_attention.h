// Reading attention out of a model, layer by layer.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "decode/texts/translation_frame.h"
#include "heed/types/attention.h"
#include "models/any_model.h"
#include "text/tokenizer.h"

namespace heed {

// An ensemble shows its first model. ConfigError for layers or heads that the model does not have, for a kind that it
// does not have, and for more numbers than fit in memory.

// For an encoder-decoder, with the source's tokens as the encoder reads them and those of a translation.
TextAttention attention_of_pair(const Inference& inference, const TranslationTokenizers& tokenizers,
                                const TranslationFrame& frame, const std::vector<int32_t>& source,
                                const std::vector<int32_t>& target, const AttentionRequest& request);
// For a language model or an encoder, with the tokens that it reads.
TextAttention attention_of_text(const Inference& inference, const Tokenizer& tokenizer, const Sequences& tokens,
                                std::span<const int32_t> ids, const AttentionRequest& request);

}  // namespace heed
