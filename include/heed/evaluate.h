// How good translations are, by comparison with those that people made.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace heed {

enum class Letters : uint8_t { as_they_are, lower_case };

struct TranslationScoreOptions {
  std::vector<std::string> references;  // files, a sentence a line
  Letters letters = Letters::as_they_are;
  std::string baseline;  // a file: another system's translations, to compare with; none when empty
  int64_t samples = 1000;
  uint64_t seed = 12345;
};

// A metric's score of a corpus, 0 to 100, and what a reader must know to compare it with another.
struct MetricScore {
  double score = 0.0;
  std::string signature;  // as sacreBLEU writes it
};

// One system's scores over the samples: their mean, and between which two 95% of them lie.
struct SampledScore {
  double score = 0.0, mean = 0.0, low = 0.0, high = 0.0;
};

struct PairedComparison {
  std::string metric;  // "BLEU", "chrF2", "chrF2++"
  SampledScore system, baseline;
  double p_value = 1.0;
};

struct TranslationScores {
  MetricScore bleu, chrf2, chrf2pp;
  std::array<double, 4> precisions{};  // of BLEU's orders, in percent
  double brevity_penalty = 1.0;
  int64_t hypothesis_length = 0, reference_length = 0;  // words
  int64_t sentences = 0;
  std::vector<PairedComparison> comparisons;  // with a baseline, one for each metric
};

// BLEU, chrF2 and chrF2++ of sentences, equal to sacreBLEU's. Throws when files cannot be read, are not UTF-8 (with the
// line) or do not have as many lines as there are hypotheses.
TranslationScores score_translations(std::vector<std::string> hypotheses, const TranslationScoreOptions& options);

// Likewise, of what has been read already; the options' files are left aside.
struct TranslationTexts {
  std::vector<std::string> hypotheses;
  std::vector<std::vector<std::string>> references;  // all sentences of each
  std::vector<std::string> baseline;                 // none when empty
};
TranslationScores score_translations(const TranslationTexts& texts, const TranslationScoreOptions& options);

}  // namespace heed
