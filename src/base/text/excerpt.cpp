#include "base/text/excerpt.h"

#include <algorithm>

namespace heed {

std::string shown(std::string_view text) {
  constexpr size_t kMaxBytes = 80;
  std::string begin(text.substr(0, kMaxBytes));
  std::ranges::replace_if(
      begin, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, '?');
  if (text.size() > kMaxBytes) {
    while (!begin.empty() && (static_cast<unsigned char>(text[begin.size()]) & 0xc0U) == 0x80U) {
      begin.pop_back();  // not in the middle of a character
    }
    begin += "...";
  }
  return begin;
}

}  // namespace heed
