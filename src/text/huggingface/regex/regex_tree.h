// A regular expression of Oniguruma's syntax as a tree.
#pragma once

#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "text/huggingface/regex/code_points.h"

namespace heed::huggingface {

struct RegexNode {
  enum class Kind : uint8_t {
    sequence,       // its parts one after the other
    choice,         // the first of its parts that leads to a match
    repeat,         // its one part, `least` to `most` times
    set,            // one character
    look,           // its one part must (or, negated, must not) match here, or end here (behind)
    atomic,         // its one part, of which only the first match counts
    text_begin,     // \A
    text_end,       // \z
    text_end_line,  // \Z, also before a last line break
    line_begin,     // ^
    line_end,       // $
    word_border,    // \b; negated: \B
    last_end,       // \G
  };
  enum class Greed : uint8_t { greedy, lazy, possessive };
  static constexpr uint32_t kAny = std::numeric_limits<uint32_t>::max();

  Kind kind = Kind::sequence;
  std::vector<RegexNode> parts;
  CodePoints set;
  uint32_t least = 0, most = 0;
  Greed greed = Greed::greedy;
  bool negated = false, behind = false;
};

// FormatError names `where` and the position for what is not such an expression, or uses what heed does not have:
// back references, absent operators, conditions, calls.
RegexNode parse_regex_tree(std::string_view expression, std::string_view where);

}  // namespace heed::huggingface
