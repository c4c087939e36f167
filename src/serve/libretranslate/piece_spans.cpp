#include "serve/libretranslate/piece_spans.h"

#include <array>

namespace heed::serve {
namespace {

// How tokenizers show that a word begins, or goes on.
constexpr std::array<std::string_view, 4> kSigns{"\u2581", "\u0120", "##", "</w>"};

std::string without_signs(std::string piece) {
  for (const std::string_view sign : kSigns) {
    for (size_t at = piece.find(sign); at != std::string::npos; at = piece.find(sign)) {
      piece.erase(at, sign.size());
    }
  }
  return piece;
}

}  // namespace

std::vector<TextSpan> piece_spans(std::span<const std::string> pieces, std::string_view text) {
  std::vector<TextSpan> spans;
  spans.reserve(pieces.size());
  size_t next = 0;
  for (const std::string& piece : pieces) {
    const std::string shown = without_signs(piece);
    const size_t found = shown.empty() ? std::string_view::npos : text.find(shown, next);
    if (found == std::string_view::npos) {
      spans.push_back({next, next});
    } else {
      spans.push_back({found, found + shown.size()});
      next = found + shown.size();
    }
  }
  return spans;
}

}  // namespace heed::serve
