// Extended grapheme clusters: what a reader takes for one character.
#pragma once

#include <cstddef>
#include <string_view>

namespace heed::huggingface {

// The end of the cluster that begins at `begin`, by UAX 29 of Unicode 16 without the rule for Indic conjuncts (GB9c),
// whose clusters are longer than any that a tokenizer looks up.
size_t grapheme_end(std::string_view text, size_t begin);

}  // namespace heed::huggingface
