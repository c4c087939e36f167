// A part of a text, in bytes.
#pragma once

#include <cstddef>
#include <string_view>

namespace heed {

struct TextSpan {
  size_t begin = 0, end = 0;

  size_t size() const { return end - begin; }
  bool empty() const { return begin == end; }
  std::string_view in(std::string_view text) const { return text.substr(begin, end - begin); }
  bool operator==(const TextSpan&) const = default;
};

}  // namespace heed
