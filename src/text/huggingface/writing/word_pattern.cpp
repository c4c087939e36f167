#include "text/huggingface/writing/word_pattern.h"

#include <fmt/format.h>
#include <unicode/uchar.h>
#include <unicode/uniset.h>

#include <algorithm>
#include <initializer_list>

#include "base/errors.h"
#include "text/unicode/unicode.h"

namespace heed::huggingface {
namespace {

void add_value(icu::UnicodeSet& set, UProperty property, int32_t value) {
  UErrorCode status = U_ZERO_ERROR;
  icu::UnicodeSet of_value;
  of_value.applyIntPropertyValue(property, value, status);
  ensure(U_SUCCESS(status), "text", "characters of a property: {}", u_errorName(status));
  set.addAll(of_value);
}

icu::UnicodeSet with_word_break(std::initializer_list<UWordBreakValues> values) {
  icu::UnicodeSet set;
  for (const UWordBreakValues value : values) {
    add_value(set, UCHAR_WORD_BREAK, value);
  }
  return set;
}

// "[\x{41}-\x{5a}...]"
std::string class_of(const icu::UnicodeSet& set) {
  std::string text = "[";
  for (int32_t i = 0; i < set.getRangeCount(); ++i) {
    const UChar32 first = set.getRangeStart(i), last = set.getRangeEnd(i);
    text += first == last ? fmt::format("\\x{{{:x}}}", first) : fmt::format("\\x{{{:x}}}-\\x{{{:x}}}", first, last);
  }
  return text + "]";
}

}  // namespace

// By the rules of Unicode's annex 29, as ICU has them: a colon joins no letters.
//   letter := letter rest (mid rest (?=letter))?      number := the same with other mids
//   word   := (letter | number | connector rest)+  |  two regional indicators  |  any other character rest  |  rest
// where rest is what belongs to the character before it: marks, and a pictograph behind a joiner.
std::string word_pattern() {
  const icu::UnicodeSet marks = with_word_break({U_WB_EXTEND, U_WB_FORMAT, U_WB_ZWJ});
  icu::UnicodeSet pictographs, spaces;
  add_value(pictographs, UCHAR_EXTENDED_PICTOGRAPHIC, 1);
  add_value(spaces, UCHAR_WHITE_SPACE, 1);
  icu::UnicodeSet mid_letters = with_word_break({U_WB_MIDLETTER, U_WB_MIDNUMLET, U_WB_SINGLE_QUOTE});
  mid_letters.remove(U':').remove(0xfe55).remove(0xff1a);
  const std::string mark = class_of(marks), letter = class_of(with_word_break({U_WB_ALETTER, U_WB_HEBREW_LETTER})),
                    number = class_of(with_word_break({U_WB_NUMERIC})),
                    connector = class_of(with_word_break({U_WB_EXTENDNUMLET})),
                    mid_number = class_of(with_word_break({U_WB_MIDNUM, U_WB_MIDNUMLET, U_WB_SINGLE_QUOTE})),
                    indicator = class_of(with_word_break({U_WB_REGIONAL_INDICATOR}));
  const std::string rest = fmt::format("(?:{}*\\x{{200d}}{})*{}*", mark, class_of(pictographs), mark);
  const auto joined = [&](const std::string& one, const std::string& mid) {
    return fmt::format("{}{}(?:{}{}(?={}))?", one, rest, mid, rest, one);
  };
  icu::UnicodeSet other(0, 0x10ffff);
  other.removeAll(spaces).removeAll(marks);
  return fmt::format("(?:{}|{}|{}{})+|{}{}{}{}|{}{}|{}{}", joined(letter, class_of(mid_letters)),
                     joined(number, mid_number), connector, rest, indicator, rest, indicator, rest, class_of(other),
                     rest, mark, rest);
}

bool needs_dictionary(std::string_view text) {
  return std::ranges::any_of(to_code_points(text), [](char32_t code_point) {
    const auto c = static_cast<UChar32>(code_point);
    const auto script = u_getIntPropertyValue(c, UCHAR_SCRIPT);
    return u_getIntPropertyValue(c, UCHAR_LINE_BREAK) == U_LB_COMPLEX_CONTEXT || script == USCRIPT_HAN ||
           script == USCRIPT_HIRAGANA || script == USCRIPT_KATAKANA || script == USCRIPT_HEBREW;
  });
}

}  // namespace heed::huggingface
