// How the metrics split text into words. All text is well-formed UTF-8.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "heed/types/letter_case.h"

namespace heed {

// The text, converted to that case. FormatError when it is not UTF-8.
std::string in_case(std::string_view text, LetterCase letters);

// Splits at Unicode white space, like Python's str.split(): its set of characters includes the separators U+001C to
// U+001F, but not U+200B and U+FEFF.
std::vector<std::string_view> split_at_white_space(std::string_view text);

// mteval-v13a's tokenization, that of BLEU in WMT and sacreBLEU: `<skipped>` is removed, a hyphen at the end of a line
// joins the lines, four entities become characters, and ASCII punctuation is separated, except periods and commas
// between digits, apostrophes, and hyphens that do not follow a digit. split_at_white_space() of the result gives the
// words.
std::string tokenize_13a(std::string_view text);

// chrF++'s words: one punctuation character is split off each word, the last or else the first.
std::vector<std::string_view> split_punctuation(std::string_view text);

}  // namespace heed
