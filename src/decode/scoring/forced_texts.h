// Texts that must be written, as the phrases that a search is made to contain.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "decode/rules/forced_phrases.h"
#include "heed/types/writing/writing_rules.h"
#include "text/tokenizer.h"

namespace heed {

// How a text becomes tokens.
struct TextEncoding {
  const Tokenizer& tokenizer;
  std::function<std::vector<TokenId>(const std::string& text)> encode;
};

// ConfigError for a text that has no tokens, or that the rules forbid; FormatError for one that is not UTF-8.
ForcedPhrases phrases_of_texts(std::span<const std::string> texts, const TextEncoding& encoding,
                               const WritingRules& rules);

// ConfigError unless the beam is larger than the number of the phrases' tokens.
void require_beam(const ForcedPhrases& forced, int64_t beam);

}  // namespace heed
