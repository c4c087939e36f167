// What is done to translations when their search has ended.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "decode/texts/translation/text_translation.h"

namespace heed {

// The tokens of lines, and what their translations begin with.
struct SearchedLines {
  std::vector<std::vector<int32_t>> sources, first;
};

using TranslatedLines = std::vector<std::vector<TranslatedLine>>;

// Adds what the options ask for to the translations of lines: the coverage penalty, which may change their order, the
// source's words in place of unknown ones, and alignments.
void finish_lines(const TextTranslator& translator, const SearchedLines& searched, std::span<const std::string> lines,
                  const TranslationOptions& options, const SearchRules& rules, TranslatedLines& translated);

}  // namespace heed
