#include "text/html/html_words.h"

#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include <algorithm>

namespace heed {
namespace {

enum class Sign : uint8_t { blank, letter, alone };

Sign sign_of(UChar32 c) {
  if (c < 0) {
    return Sign::alone;
  }
  if (u_isUWhiteSpace(c)) {
    return Sign::blank;
  }
  const int32_t breaking = u_getIntPropertyValue(c, UCHAR_LINE_BREAK);
  if (breaking == U_LB_IDEOGRAPHIC || breaking == U_LB_COMPLEX_CONTEXT ||
      breaking == U_LB_CONDITIONAL_JAPANESE_STARTER) {
    return Sign::alone;
  }
  const auto type = static_cast<UCharCategory>(u_charType(c));
  const bool joins = type == U_NON_SPACING_MARK || type == U_COMBINING_SPACING_MARK || type == U_ENCLOSING_MARK ||
                     type == U_FORMAT_CHAR || c == '\'' || c == 0x2019;
  return u_isalnum(c) || joins ? Sign::letter : Sign::alone;
}

std::vector<HtmlWord> divided(std::string_view text) {
  std::vector<HtmlWord> words;
  const auto* const bytes = reinterpret_cast<const uint8_t*>(text.data());
  Sign previous = Sign::alone;
  for (int32_t at = 0; at < static_cast<int32_t>(text.size());) {
    const auto begin = static_cast<size_t>(at);
    UChar32 c = 0;
    U8_NEXT(bytes, at, static_cast<int32_t>(text.size()), c);
    const auto end = static_cast<size_t>(at);
    const Sign sign = sign_of(c);
    if (sign != Sign::alone && sign == previous) {
      words.back().span.end = end;
    } else {
      words.push_back({.span = {begin, end}, .is_blank = sign == Sign::blank});
    }
    previous = sign;
  }
  return words;
}

void align(std::vector<HtmlWord>& words, const std::vector<AlignedSpans>& alignment, size_t source_size) {
  for (const AlignedSpans& pair : alignment) {
    const TextSpan source{std::min(pair.source.begin, source_size), std::min(pair.source.end, source_size)};
    if (source.begin >= source.end || pair.target.begin >= pair.target.end) {
      continue;
    }
    auto word =
        std::ranges::upper_bound(words, pair.target.begin, {}, [](const HtmlWord& one) { return one.span.end; });
    for (; word != words.end() && word->span.begin < pair.target.end; ++word) {
      if (!word->is_blank) {
        word->sources.push_back(source);
      }
    }
  }
}

// As if each word stood where its middle is, without the white space of both texts.
void align_in_proportion(std::vector<HtmlWord>& words, std::string_view source) {
  std::vector<size_t> visible;
  for (size_t at = 0; at < source.size(); ++at) {
    if (source[at] != ' ') {
      visible.push_back(at);
    }
  }
  size_t all = 0, done = 0;
  for (const HtmlWord& word : words) {
    all += word.is_blank ? 0 : word.span.size();
  }
  for (HtmlWord& word : words) {
    if (word.is_blank || visible.empty()) {
      continue;
    }
    const double middle =
        (static_cast<double>(done) + static_cast<double>(word.span.size()) / 2) / static_cast<double>(all);
    const size_t at =
        visible[std::min(static_cast<size_t>(middle * static_cast<double>(visible.size())), visible.size() - 1)];
    word.sources.push_back({at, at + 1});
    done += word.span.size();
  }
}

}  // namespace

std::vector<HtmlWord> html_words(std::string_view source, const TranslatedText& translation) {
  std::vector<HtmlWord> words = divided(translation.text);
  if (translation.alignment.empty()) {
    align_in_proportion(words, source);
  } else {
    align(words, translation.alignment, source.size());
  }
  return words;
}

}  // namespace heed
