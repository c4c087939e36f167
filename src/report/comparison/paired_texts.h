// What models make of the same texts, text by text, so that a difference can be told from chance.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/stored_model.h"
#include "data/lines/text_source.h"
#include "eval/bleu.h"
#include "report/run/samples.h"
#include "train/recipe/recipe.h"

namespace heed {

// A text's part in a score that is a ratio: nats and bytes, or labels that are right and all.
struct TextShare {
  double part = 0.0, whole = 0.0;

  TextShare& operator+=(const TextShare& other) {
    part += other.part;
    whole += other.whole;
    return *this;
  }
};

// What one model scored. Either list is empty.
struct TextScores {
  std::vector<BleuStatistics> translations;
  std::vector<TextShare> shares;
  std::vector<int64_t> tokens;  // of the shares' texts: where two models divide text otherwise, they do not pair
};

struct PairedResult {
  double first = 0.0, other = 0.0;
  double p_value = 1.0;
};

// Nothing where the two did not read the same texts.
std::optional<PairedResult> paired(const TextScores& first, const TextScores& other);

// Translations of the lines, with the statistics of those that have a reference.
struct ScoredTranslations {
  std::vector<std::string> texts;
  TextScores scores;
};
ScoredTranslations scored_translations(const StoredModel& stored, Backend& backend,
                                       const std::vector<SampleLine>& lines, const TranslationOptions& search,
                                       LetterCase letters);

// The validation text of a language model in windows of equal length, at most `count` spread over it.
TextScores scored_windows(const StoredModel& stored, Backend& backend, const TextRules& text, int64_t count);

// A classifier's or tagger's labels, right and all; nothing for heads of several labels or a number.
TextScores scored_labels(const StoredModel& stored, Backend& backend, const Recipe& recipe, int64_t count);

}  // namespace heed
