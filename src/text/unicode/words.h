// Words, as Unicode (UAX 29) and ICU's dictionaries for scripts without spaces see them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace heed {

// The words of well-formed text in their order: everything between two word boundaries that is not white space. Each
// punctuation mark is a word. The views are into `text`.
std::vector<std::string_view> split_words(std::string_view text);

// Appends a word to a text of words, after a space where one belongs: not before closing punctuation, not after
// opening punctuation, not between words of scripts that write no spaces (by Unicode's line breaking classes).
void append_word(std::string& text, std::string_view word);

}  // namespace heed
