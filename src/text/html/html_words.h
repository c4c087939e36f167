// The words of a translation, and which words of its source they belong to.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "text/html/html_text.h"

namespace heed {

// A word, a sign, a character of a script without spaces, or white space.
struct HtmlWord {
  TextSpan span;
  bool is_blank = false;
  std::vector<TextSpan> sources = {};  // of blanks: none
};

std::vector<HtmlWord> html_words(std::string_view source, const TranslatedText& translation);

}  // namespace heed
