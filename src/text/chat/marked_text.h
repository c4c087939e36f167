// Texts in which special tokens are spelled out, as chat templates write them.
#pragma once

#include <string_view>
#include <vector>

#include "text/tokenizer.h"

namespace heed {

// The tokens of the text, where each piece of bos, eos, sep and pad is that token; what lies between is encoded as a
// text of its own, like encode_text(). A tokenizer.json knows all its special tokens, and is asked to find them itself.
// For texts that a template wrote: in one that a person wrote, "</s>" would end it.
std::vector<TokenId> encode_marked_text(const Tokenizer& tokenizer, std::string_view text);

}  // namespace heed
