#include "text/sentences/long_sentences.h"

#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include <algorithm>
#include <array>

#include "text/sentences/break_iterator.h"

namespace heed {
namespace {

// How good a place is to split at: the first that applies to the character before it.
enum class Place : uint8_t { character, word, comma, semicolon };

bool ends_with_one_of(std::string_view text, std::initializer_list<std::string_view> signs) {
  return std::ranges::any_of(signs, [&](std::string_view sign) { return text.ends_with(sign); });
}

Place place_after(std::string_view before) {
  while (!before.empty() && (before.back() == ' ' || before.back() == '\t')) {
    before.remove_suffix(1);
  }
  return ends_with_one_of(before, {";", ":", "；", "：", "؛", "。", "！", "？", ".", "!", "?", "؟"}) ? Place::semicolon
         : ends_with_one_of(before, {",", "，", "、", "،", ")", "]", "–", "—", "”", "»"})            ? Place::comma
                                                                                                     : Place::word;
}

struct Candidate {
  size_t at;
  Place place;
};

class LongSentence {
 public:
  LongSentence(std::string_view text, const SentenceLimit& limit, std::vector<Candidate> candidates)
      : text_(text), limit_(limit), candidates_(std::move(candidates)) {}

  // Where the part from `begin` ends: at the best candidate of the longest part's second half.
  size_t end_of_part(size_t begin) const {
    const auto first = std::ranges::upper_bound(candidates_, begin, {}, &Candidate::at) - candidates_.begin();
    const auto last = static_cast<std::ptrdiff_t>(candidates_.size()) - 1;
    // Steps that double find a part that does not fit, without counting all that follows.
    std::ptrdiff_t fits = first, step = 8, limit = last + 1;
    while (fits < last) {
      const std::ptrdiff_t next = std::min(fits + step, last);
      if (!fits_until(begin, next)) {
        limit = next;
        break;
      }
      fits = next;
      step *= 2;
    }
    while (fits + 1 < limit) {
      const std::ptrdiff_t middle = fits + (limit - fits) / 2;
      (fits_until(begin, middle) ? fits : limit) = middle;
    }
    if (fits == last) {
      return candidates_.back().at;
    }
    for (const Place place : {Place::semicolon, Place::comma, Place::word}) {
      for (std::ptrdiff_t i = fits; i >= first && candidates_[static_cast<size_t>(i)].at - begin >= half(begin, fits);
           --i) {
        if (candidates_[static_cast<size_t>(i)].place == place && fits_until(begin, i)) {
          return candidates_[static_cast<size_t>(i)].at;
        }
      }
    }
    return candidates_[static_cast<size_t>(fits)].at;
  }

 private:
  bool fits_until(size_t begin, std::ptrdiff_t candidate) const {
    const TextSpan part = trimmed(text_, {begin, candidates_[static_cast<size_t>(candidate)].at});
    return limit_.tokens(part.in(text_)) <= limit_.most;
  }
  size_t half(size_t begin, std::ptrdiff_t fits) const {
    return (candidates_[static_cast<size_t>(fits)].at - begin + 1) / 2;
  }

  std::string_view text_;
  const SentenceLimit& limit_;
  std::vector<Candidate> candidates_;  // in order; the last one is the sentence's end
};

}  // namespace

TextSpan trimmed(std::string_view text, TextSpan span) {
  const auto* const bytes = reinterpret_cast<const uint8_t*>(text.data());
  while (!span.empty()) {
    auto next = static_cast<int32_t>(span.begin);
    UChar32 c = 0;
    U8_NEXT(bytes, next, static_cast<int32_t>(span.end), c);
    if (!u_isUWhiteSpace(c)) {
      break;
    }
    span.begin = static_cast<size_t>(next);
  }
  while (!span.empty()) {
    auto previous = static_cast<int32_t>(span.end);
    UChar32 c = 0;
    U8_PREV(bytes, static_cast<int32_t>(span.begin), previous, c);
    if (!u_isUWhiteSpace(c)) {
      break;
    }
    span.end = static_cast<size_t>(previous);
  }
  return span;
}

std::vector<TextSpan> split_long(std::string_view text, TextSpan sentence, const SentenceLimit& limit,
                                 const icu::BreakIterator& lines, const icu::BreakIterator& characters) {
  const std::string_view own = sentence.in(text);
  const std::vector<size_t> line_breaks = breaks_of(lines, own);
  std::vector<Candidate> candidates;
  for (const size_t at : breaks_of(characters, own)) {
    const bool is_line_break = std::ranges::binary_search(line_breaks, at);
    candidates.push_back({at, is_line_break ? place_after(own.substr(0, at)) : Place::character});
  }
  const LongSentence parts(own, limit, std::move(candidates));
  std::vector<TextSpan> spans;
  for (size_t begin = 0; begin < own.size();) {
    const size_t end = parts.end_of_part(begin);
    const TextSpan part = trimmed(own, {begin, end});
    if (!part.empty()) {
      spans.push_back({sentence.begin + part.begin, sentence.begin + part.end});
    }
    begin = end;
  }
  return spans;
}

}  // namespace heed
