// Turns the tokens of a translation into text as they arrive.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "text/tokenizer.h"

namespace heed {

// The text of a translation: line breaks written by the model are spaces in it, so that a line stays one line.
std::string translation_text(const Tokenizer& target, std::span<const int32_t> tokens);

// Returns translation_text() piece by piece. It holds back what further tokens may still change: an incomplete
// character, a run of byte tokens, and the last word where white space depends on what follows.
class TranslationStream {
 public:
  explicit TranslationStream(const Tokenizer& target) : target_(target) {}

  // What has become certain, where these are all tokens so far.
  std::string add(std::span<const int32_t> tokens);
  // What is left of the whole text.
  std::string finish(const std::string& text);

 private:
  std::string certain(std::span<const int32_t> tokens) const;

  const Tokenizer& target_;
  std::string given_;
};

}  // namespace heed
