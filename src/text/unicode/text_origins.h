// Where each byte of a changed text came from.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "heed/types/tokenizer.h"
#include "text/sentences/text_span.h"

namespace heed {

class TextOrigins {
 public:
  explicit TextOrigins(size_t bytes);  // of a text that was not changed yet

  // The bytes of the original that a part of the changed text came from.
  TextSpan of(const TextSpan& part) const;

  // Follows one change of the whole text, from its beginning to its end: parts that stay, and parts that become others.
  class Change {
   public:
    explicit Change(TextOrigins& origins) : origins_(origins) {}
    void keep(size_t bytes);
    void replace(size_t bytes, size_t by);
    void finish() { origins_.spans_ = std::move(changed_); }

   private:
    TextOrigins& origins_;
    size_t at_ = 0;
    std::vector<TextSpan> changed_;
  };

 private:
  std::vector<TextSpan> spans_;  // one for each byte
};

// A normalized text, as normalize() makes it.
struct TracedText {
  std::string text;
  TextOrigins origins;
};

// The characters of well-formed UTF-8 that hold a part of it: from those with its first byte to that with its last.
std::vector<TokenOffsets> characters_of(std::string_view text, const std::vector<TextSpan>& parts);

}  // namespace heed
