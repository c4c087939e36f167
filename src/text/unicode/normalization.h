// What is done to text before it is cut into tokens.
#pragma once

#include <string>
#include <string_view>

#include "heed/types/tokenizer.h"
#include "text/unicode/text_origins.h"

namespace heed {

// The text in its normal form. Normalizing it again changes nothing. FormatError where the text is not UTF-8.
std::string normalize(std::string_view text, Normalization normalization);

// The same, with where its parts came from.
TracedText normalize_traced(std::string_view text, Normalization normalization);

// By its name, such as "nfkc lowercase". ConfigError for anything else.
Normalization parse_normalization(std::string_view name);

}  // namespace heed
