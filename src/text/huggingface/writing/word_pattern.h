// heed's words as a regular expression.
#pragma once

#include <string>
#include <string_view>

namespace heed::huggingface {

// Matches the words that split_words() finds, in texts without characters of needs_dictionary().
std::string word_pattern();

// Whether a text has letters whose words only a dictionary tells: Han, kana, Thai, Lao, Khmer, Myanmar; or Hebrew ones,
// whose quotation marks have rules of their own.
bool needs_dictionary(std::string_view text);

}  // namespace heed::huggingface
