// Where in a text its tokens stand.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/sentences/text_span.h"

namespace heed::serve {

// A span for each token, by the tokens' readable forms in the text's order; an empty one where a token has no text, or
// none that is found: marks, and what the tokenizer has normalized.
std::vector<TextSpan> piece_spans(std::span<const std::string> pieces, std::string_view text);

}  // namespace heed::serve
