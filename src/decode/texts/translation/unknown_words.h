// Words of the source in place of those that a model could not write.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer.h"

namespace heed {

// For each token of a line, the word that it belongs to (for characters: the character). Empty where the tokenizer does
// not cut words one by one.
std::vector<std::string> words_of_tokens(const Tokenizer& tokenizer, std::string_view line);

// A decoded text with the words in place of its unknown tokens, in their order. Empty words change nothing.
std::string replace_unknown(const Tokenizer& tokenizer, const std::string& text, const std::vector<std::string>& words);

}  // namespace heed
