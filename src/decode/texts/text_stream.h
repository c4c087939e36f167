// Turns tokens into text as they arrive, up to a stop text.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer.h"

namespace heed {

// Returns the text after a prompt piece by piece. It holds back what further tokens may still change: an incomplete
// character, and what may be the first part of a stop text.
class TextStream {
 public:
  // `stops`, none of them empty, must outlive it.
  TextStream(const Tokenizer& tokenizer, std::span<const TokenId> prompt, std::span<const std::string> stops);

  // The text that has become certain with this token.
  std::string add(TokenId token);
  // Where the text of the next token begins: the bytes of all complete characters so far, also of what is held back.
  size_t length() const { return length_; }
  // A stop text has appeared: the text ended before it, and no more tokens should be added.
  bool stopped() const { return stopped_; }
  // What was held back. To be called at the end, unless a stop text has appeared.
  std::string finish();

 private:
  std::string decode(size_t first, size_t last) const;
  std::string release(const std::string& decoded);

  const Tokenizer& tokenizer_;
  std::span<const std::string> stops_;
  // The next piece is found by decoding the tokens from first_ on; the text of those before known_ has been returned.
  std::vector<TokenId> tokens_;
  size_t first_ = 0, known_ = 0;
  size_t length_ = 0;
  std::string pending_;  // decoded, but perhaps the first part of a stop text
  bool stopped_ = false;
};

// ConfigError when the tokenizer can't write one of the texts, which would then never appear.
void require_writable(const Tokenizer& tokenizer, std::span<const std::string> stops);

}  // namespace heed
