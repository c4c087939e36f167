#include "text/huggingface/writing/word_pattern.h"

#include <fmt/format.h>
#include <unicode/uchar.h>

#include <algorithm>

#include "text/unicode/unicode.h"

namespace heed::huggingface {
namespace {

// Values of the property Word_Break in Unicode 15, by general categories and what differs from them, for scripts without
// a dictionary. As ICU has it, a colon joins no letters, and @ is one.
constexpr const char
    *kWordLetters = R"([@\p{L}\p{Nl}\x{2c2}-\x{2c5}\x{2d2}-\x{2d7}\x{2de}\x{2df}\x{2e5}-\x{2eb}\x{2ed}\x{2ef}-\x{2ff})"
                    R"(\x{55a}-\x{55c}\x{55e}\x{58a}\x{5f3}\x{24b6}-\x{24e9}\x{a708}-\x{a716}\x{a720}\x{a721}\x{a789})"
                    R"(\x{a78a}\x{ab5b}\x{1f130}-\x{1f149}\x{1f150}-\x{1f169}\x{1f170}-\x{1f189}])",
    *kWordNumbers = R"([\p{Nd}\x{66b}])", *kConnectors = R"([\p{Pc}\x{202f}])",
    *kMidLetters = R"([.'\x{b7}\x{387}\x{55f}\x{5f4}\x{2018}\x{2019}\x{2024}\x{2027}\x{fe13}\x{fe52})"
                   R"(\x{ff07}\x{ff0e}])",
    *kMidNumbers = R"([.',;\x{37e}\x{589}\x{60c}\x{60d}\x{66c}\x{7f8}\x{2018}\x{2019}\x{2024}\x{2044})"
                   R"(\x{fe10}\x{fe14}\x{fe50}\x{fe52}\x{fe54}\x{ff07}\x{ff0c}\x{ff0e}\x{ff1b}])",
    *kMark = R"((?:(?!\x{200b})[\p{M}\p{Cf}\x{ff9e}\x{ff9f}\x{1f3fb}-\x{1f3ff}]))",
    *kPictographs = R"([\x{2600}-\x{27bf}\x{1f000}-\x{1f1e5}\x{1f200}-\x{1faff}])",
    *kIndicator = R"([\x{1f1e6}-\x{1f1ff}])", *kSpace = R"([\x{9}-\x{d}\x{85}\p{Z}])";

}  // namespace

// By the rules of Unicode's annex 29, where rest is what belongs to the character before it: marks, and a pictograph
// behind a joiner.
//   letter := a letter rest (mid rest (?=a letter))?      number := the same with numbers and their mids
//   word   := (letter | number | connector rest)+ | indicator rest indicator rest | no space, no mark: rest | mark rest
std::string word_pattern() {
  const std::string rest = fmt::format(R"((?:{0}*\x{{200d}}{1})*{0}*)", kMark, kPictographs);
  const auto joined = [&](const char* one, const char* mid) {
    return fmt::format("{0}{1}(?:{2}{1}(?={0}))?", one, rest, mid);
  };
  return fmt::format("(?:{}|{}|{}{})+|{}{}{}{}|(?!{})(?!{})[^\\r\\n]{}|{}{}", joined(kWordLetters, kMidLetters),
                     joined(kWordNumbers, kMidNumbers), kConnectors, rest, kIndicator, rest, kIndicator, rest, kSpace,
                     kMark, rest, kMark, rest);
}

bool needs_dictionary(std::string_view text) {
  return std::ranges::any_of(to_code_points(text), [](char32_t code_point) {
    const auto c = static_cast<UChar32>(code_point);
    const auto word_break = u_getIntPropertyValue(c, UCHAR_WORD_BREAK);
    const bool is_letter = (U_GET_GC_MASK(c) & (U_GC_L_MASK | U_GC_NL_MASK)) != 0;
    return word_break == U_WB_HEBREW_LETTER || (is_letter && word_break != U_WB_ALETTER);
  });
}

}  // namespace heed::huggingface
