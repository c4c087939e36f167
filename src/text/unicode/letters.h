// A text as classifiers of languages see it.
#pragma once

#include <string>
#include <string_view>

namespace heed {

// The text's letters with their marks and apostrophes, in lower case and composed, with a space for each run of what
// lies between them. recipes/languages/make.py makes the same of what is learned. FormatError where the text is not
// UTF-8.
std::string letters_of(std::string_view text);

}  // namespace heed
