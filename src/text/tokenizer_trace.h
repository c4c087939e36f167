// How a tokenizer makes tokens out of a text.
#pragma once

#include <string_view>

#include "text/tokenizer.h"

namespace heed {

// ConfigError for kinds that have no steps. FormatError where the text is not UTF-8, and for a bpe model from elsewhere
// whose merges, as they are understood here, give other tokens than SentencePiece.
TokenizerTrace trace_of(const Tokenizer& tokenizer, std::string_view text);

}  // namespace heed
