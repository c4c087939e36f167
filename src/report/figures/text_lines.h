// Text in drawings, which nothing wraps by itself.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace heed {

// Sizes are those of web/report/report.css; a character's width is an estimate for sans-serif fonts.
struct Font {
  double size;
  double character;  // of an average character, as a share of the size
};
inline constexpr Font kSmallFont{11.0, 0.56}, kTitleFont{13.0, 0.6};

// The text is escaped: "&#215;" is one character.
double estimated_width(std::string_view html, const Font& font);

// Facts one after the other, "a, b, c", in lines of at most this width. They break between words and after "+", and
// inside a word that is wider than a line.
std::vector<std::string> lines_of(const std::vector<std::string>& facts, const Font& font, double width);

}  // namespace heed
