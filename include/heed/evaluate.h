// Scoring translations against references.
#pragma once

#include <string>
#include <vector>

#include "heed/types/evaluation.h"

namespace heed {

// Files in UTF-8, one sentence per line.
struct TranslationFiles {
  std::vector<std::string> references;
  std::string baseline;  // none when empty
};

// Throws when a file cannot be read, is not UTF-8 (naming the line) or does not have one line for each hypothesis.
TranslationTexts read_translation_texts(std::vector<std::string> hypotheses, const TranslationFiles& files);

// BLEU, chrF2 and chrF2++, equal to sacreBLEU's.
TranslationScores score_translations(const TranslationTexts& texts, const TranslationScoreOptions& options = {});

}  // namespace heed
