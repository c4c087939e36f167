// Sets of code points.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "text/huggingface/characters/character_data.h"
#include "text/huggingface/characters/characters.h"

namespace heed::huggingface {

class CodePoints {
 public:
  struct Range {
    char32_t first, last;
  };

  CodePoints() = default;
  static CodePoints of(char32_t first, char32_t last);
  static CodePoints in(Categories categories);

  // All code points whose record passes the test.
  template <class Test>
  static CodePoints where(Test&& test);

  void add(const CodePoints& other);
  CodePoints inverted() const;
  CodePoints common_with(const CodePoints& other) const;
  // With the other cases of its letters (by ICU's version of Unicode).
  CodePoints in_any_case() const;

  bool contains(char32_t c) const { return c < 128 ? (ascii_[c >> 6U] >> (c & 63U) & 1U) != 0 : contains_above(c); }
  const std::vector<Range>& ranges() const { return ranges_; }

 private:
  explicit CodePoints(std::vector<Range> ranges);  // in any order
  bool contains_above(char32_t c) const;

  std::vector<Range> ranges_;  // in order, with gaps between them
  std::array<uint64_t, 2> ascii_{};
};

template <class Test>
CodePoints CodePoints::where(Test&& test) {
  std::vector<Range> ranges;
  const auto runs = character_runs();
  char32_t first = 0;
  for (size_t i = 0; i < runs.size(); i += 2) {
    if (test(CharacterRecord(character_records()[runs[i + 1]]))) {
      ranges.push_back({first, first + runs[i] - 1});
    }
    first += runs[i];
  }
  return CodePoints(std::move(ranges));
}

// A property as in \p{...}, by the names that Oniguruma knows: general categories, POSIX classes, a few binary
// properties, scripts (these by ICU's version of Unicode).
std::optional<CodePoints> code_points_with(std::string_view property);

// \w and \s of Oniguruma.
CodePoints word_code_points();
CodePoints space_code_points();

}  // namespace heed::huggingface
