// A regular expression as a tree.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace heed {

constexpr char32_t kLastCodePoint = 0x10FFFF;

struct CodePoints {
  char32_t first, last;
};
using CodePointSet = std::vector<CodePoints>;

// A part of an expression: its parts one after the other, one of them, one of them again and again, or a character.
struct RegexExpression {
  enum class Kind : uint8_t { sequence, choice, repeat, set };
  Kind kind = Kind::sequence;
  std::vector<RegexExpression> parts;  // of a repeat: one
  CodePointSet set;                    // sorted
  int64_t least = 0, most = 0;         // repeats
  static constexpr int64_t kAny = -1;  // no limit
};

// ConfigError, naming the character, for what is not a regular expression. docs/decoding.md says what it may contain.
RegexExpression parse_regex(std::string_view expression);

}  // namespace heed
