// What a language model thinks of the next token.
#pragma once

#include <vector>

#include "heed/types/writing/next_tokens.h"
#include "models/any_model.h"
#include "text/tokenizer.h"

namespace heed {

// The `count` most likely tokens after these, which must be at least one and no more than the model takes.
std::vector<NextToken> likely_tokens(const Inference& inference, const Tokenizer& tokenizer,
                                     const std::vector<int32_t>& tokens, int64_t count);

}  // namespace heed
