// Scoring translations: what is compared, and the scores.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "heed/types/interruption.h"
#include "heed/types/letter_case.h"

namespace heed {

// Sentences. references[k] holds the k-th reference of each; baseline holds another system's translations, or nothing.
struct TranslationTexts {
  std::vector<std::string> hypotheses;
  std::vector<std::vector<std::string>> references;
  std::vector<std::string> baseline;
};

struct TranslationScoreOptions {
  LetterCase letters = LetterCase::kept;
  int64_t samples = 1000;  // for the comparison with a baseline
  uint64_t seed = 12345;
  Interruption interruption = {};  // when it comes before all lines are read, InterruptedError
};

inline constexpr size_t kBleuOrder = 4;

struct BleuScore {
  double score = 0.0;                           // 0 to 100
  std::array<double, kBleuOrder> precisions{};  // of each order, in percent, smoothed
  double brevity_penalty = 1.0;
  int64_t hypothesis_length = 0, reference_length = 0;  // words
};

// 95% of a score's samples lie between low and high.
struct Interval {
  double mean = 0.0, low = 0.0, high = 0.0;
};

struct SampledScore {
  double score = 0.0;  // of the corpus
  Interval samples;
};

// Is one system better than the other, or is it luck in the choice of sentences?
struct PairedComparison {
  std::string metric;  // "BLEU", "chrF2", "chrF2++"
  SampledScore system, baseline;
  double p_value = 1.0;
};

// 0 to 100 each. A signature says how a score was computed, in sacreBLEU's format; only scores with the same one
// compare.
struct TranslationScores {
  BleuScore bleu;
  double chrf2 = 0.0, chrf2pp = 0.0;
  std::string bleu_signature, chrf2_signature, chrf2pp_signature;
  int64_t sentences = 0;
  std::vector<PairedComparison> comparisons;  // with a baseline, one for each metric
};

}  // namespace heed
