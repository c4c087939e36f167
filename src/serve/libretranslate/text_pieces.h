// Long texts: their sentences are translated, and put back in their places.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "heed/translator.h"
#include "serve/libretranslate/language_pairs.h"

namespace heed::serve {

enum class TextFormat : uint8_t { text, html };

struct LongTextOptions {
  TextFormat format = TextFormat::text;
  int64_t alternatives = 0;  // more translations of each text, if there are any
  TranslationOptions search;
  int64_t most_sequences;  // sentences times the beam: more are refused as the field "q"
};

struct TranslatedLongText {
  std::string text;
  std::vector<std::string> alternatives;  // others, each once
};

struct LongTranslations {
  std::vector<TranslatedLongText> texts;
  int64_t read = 0, written = 0;                                     // tokens
  std::optional<std::chrono::steady_clock::time_point> first_token;  // of all sentences; none: they are blank
};

// The sentences of all texts go through the model together. `source` is the language's code, for where sentences end.
LongTranslations translate_long_texts(const Translator& translator, const std::string& source,
                                      const std::vector<std::string>& texts, const LongTextOptions& options);

}  // namespace heed::serve
