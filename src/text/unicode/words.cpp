#include "text/unicode/words.h"

#include <unicode/brkiter.h>
#include <unicode/utext.h>
#include <unicode/utf8.h>

#include <algorithm>
#include <array>
#include <memory>

#include "base/errors.h"

namespace heed {
namespace {

std::unique_ptr<icu::BreakIterator> new_word_iterator() {
  UErrorCode status = U_ZERO_ERROR;
  std::unique_ptr<icu::BreakIterator> iterator(icu::BreakIterator::createWordInstance(icu::Locale::getRoot(), status));
  ensure(U_SUCCESS(status), "text", "word boundaries: {}", u_errorName(status));
  return iterator;
}

// A break iterator is expensive to create and must not be shared between threads, so each has a copy of one. As that is
// a static, the thread sanitizer sees that it is complete before it is copied.
icu::BreakIterator& thread_word_iterator() {
  static const std::unique_ptr<icu::BreakIterator> kOriginal = new_word_iterator();
  thread_local std::unique_ptr<icu::BreakIterator> iterator(kOriginal->clone());
  return *iterator;
}

UChar32 first_code_point(std::string_view text) {
  UChar32 code_point = 0;
  size_t at = 0;
  U8_NEXT(reinterpret_cast<const uint8_t*>(text.data()), at, text.size(), code_point);
  return code_point;
}

UChar32 last_code_point(std::string_view text) {
  text = text.substr(text.size() - std::min<size_t>(text.size(), U8_MAX_LENGTH));
  UChar32 code_point = 0;
  auto at = static_cast<int32_t>(text.size());
  U8_PREV(reinterpret_cast<const uint8_t*>(text.data()), 0, at, code_point);
  return code_point;
}

size_t white_space_prefix(std::string_view text) {
  size_t end = 0;
  while (end < text.size()) {
    size_t next = end;
    UChar32 code_point = 0;
    U8_NEXT(reinterpret_cast<const uint8_t*>(text.data()), next, text.size(), code_point);
    if (!u_isUWhiteSpace(code_point)) {
      break;
    }
    end = next;
  }
  return end;
}

template <size_t kCount>
bool is_one_of(int value, const std::array<ULineBreak, kCount>& classes) {
  return std::ranges::find(classes, static_cast<ULineBreak>(value)) != classes.end();
}

bool space_belongs_between(UChar32 left, UChar32 right) {
  static constexpr std::array kClosing{U_LB_CLOSE_PUNCTUATION, U_LB_CLOSE_PARENTHESIS, U_LB_EXCLAMATION,
                                       U_LB_INFIX_NUMERIC,     U_LB_INSEPARABLE,       U_LB_POSTFIX_NUMERIC};
  static constexpr std::array kUnspaced{U_LB_IDEOGRAPHIC, U_LB_NONSTARTER, U_LB_CONDITIONAL_JAPANESE_STARTER,
                                        U_LB_COMPLEX_CONTEXT};
  const int left_class = u_getIntPropertyValue(left, UCHAR_LINE_BREAK);
  const int right_class = u_getIntPropertyValue(right, UCHAR_LINE_BREAK);
  if (left_class == U_LB_OPEN_PUNCTUATION || is_one_of(right_class, kClosing)) {
    return false;
  }
  const int left_width = u_getIntPropertyValue(left, UCHAR_EAST_ASIAN_WIDTH);
  const bool wide_mark = is_one_of(left_class, kClosing) && (left_width == U_EA_WIDE || left_width == U_EA_FULLWIDTH);
  return !((is_one_of(left_class, kUnspaced) || wide_mark) && is_one_of(right_class, kUnspaced));
}

}  // namespace

std::vector<std::string_view> split_words(std::string_view text) {
  std::vector<std::string_view> words;
  UErrorCode status = U_ZERO_ERROR;
  UText view = UTEXT_INITIALIZER;
  utext_openUTF8(&view, text.data(), static_cast<int64_t>(text.size()), &status);
  icu::BreakIterator& iterator = thread_word_iterator();
  iterator.setText(&view, status);
  ensure(U_SUCCESS(status), "text", "word boundaries: {}", u_errorName(status));
  auto start = static_cast<size_t>(iterator.first());
  for (int32_t next = iterator.next(); next != icu::BreakIterator::DONE; next = iterator.next()) {
    const auto end = static_cast<size_t>(next);
    std::string_view word = text.substr(start, end - start);
    word.remove_prefix(white_space_prefix(word));
    if (!word.empty()) {
      words.push_back(word);
    }
    start = end;
  }
  utext_close(&view);
  return words;
}

void append_word(std::string& text, std::string_view word) {
  if (!text.empty() && !word.empty() && space_belongs_between(last_code_point(text), first_code_point(word))) {
    text += ' ';
  }
  text += word;
}

}  // namespace heed
