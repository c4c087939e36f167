#include "text/unicode/text_origins.h"

#include <algorithm>

namespace heed {
namespace {

bool begins_character(char byte) { return (static_cast<unsigned char>(byte) & 0xc0U) != 0x80U; }

}  // namespace

TextOrigins::TextOrigins(size_t bytes) {
  spans_.reserve(bytes);
  for (size_t i = 0; i < bytes; ++i) {
    spans_.push_back({i, i + 1});
  }
}

TextSpan TextOrigins::of(const TextSpan& part) const {
  if (part.empty()) {
    const size_t at = part.begin < spans_.size() ? spans_[part.begin].begin : spans_.empty() ? 0 : spans_.back().end;
    return {at, at};
  }
  return {spans_[part.begin].begin, spans_[part.end - 1].end};
}

void TextOrigins::Change::keep(size_t bytes) {
  const auto first = origins_.spans_.begin() + static_cast<std::ptrdiff_t>(at_);
  changed_.insert(changed_.end(), first, first + static_cast<std::ptrdiff_t>(bytes));
  at_ += bytes;
}

void TextOrigins::Change::replace(size_t bytes, size_t by) {
  changed_.insert(changed_.end(), by, origins_.of({at_, at_ + bytes}));
  at_ += bytes;
}

std::vector<TokenOffsets> characters_of(std::string_view text, const std::vector<TextSpan>& parts) {
  std::vector<int64_t> begun(text.size() + 1, 0);  // characters that begin before each byte
  for (size_t i = 0; i < text.size(); ++i) {
    begun[i + 1] = begun[i] + (begins_character(text[i]) ? 1 : 0);
  }
  std::vector<TokenOffsets> ranges;
  ranges.reserve(parts.size());
  for (const TextSpan& part : parts) {
    const bool is_inside = part.begin < text.size() && !begins_character(text[part.begin]);
    const int64_t first = begun[part.begin] - (is_inside ? 1 : 0);
    ranges.push_back({first, std::max(first, part.empty() ? first : begun[part.end])});
  }
  return ranges;
}

}  // namespace heed
