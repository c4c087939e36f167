// Is one system better than the other, or is it luck in the choice of sentences? Paired bootstrap resampling (Koehn,
// 2004), with sacreBLEU's p-value.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/errors.h"
#include "heed/types/evaluation.h"

namespace heed {

// The sentences of each sample: as many as the corpus has, drawn with replacement. Depends only on these three numbers.
struct BootstrapSamples {
  size_t sentences = 0;
  int64_t samples = 1000;
  uint64_t seed = 12345;

  std::vector<uint32_t> sample(int64_t index) const;
};

// The interval that a system's scores lie in over the samples.
Interval interval_of(std::vector<double> scores);

// The probability that samples differ as much as the scores of the whole corpus if the systems are equally good:
//   p = (1 + #{ |a_s - b_s| - mean over s of |a_s - b_s| > |a - b| }) / (1 + samples)
struct PairedScores {
  double a = 0.0, b = 0.0;  // of the corpus
  std::vector<double> samples_a, samples_b;

  double p_value() const;
};

// Scores both systems on the corpus and on every sample, by summing statistics; the text is not read again.
template <class Statistics, class Score>
PairedScores paired_bootstrap(std::span<const Statistics> a, std::span<const Statistics> b,
                              const BootstrapSamples& samples, Score score) {
  require(a.size() == b.size() && a.size() == samples.sentences, "paired bootstrap", "{} and {} sentences for {}",
          a.size(), b.size(), samples.sentences);
  const auto score_of = [&](std::span<const Statistics> system, const std::vector<uint32_t>& chosen) {
    Statistics sum{};
    for (const uint32_t sentence : chosen) {
      sum += system[sentence];
    }
    return score(sum);
  };
  PairedScores scores;
  std::vector<uint32_t> all(a.size());
  for (size_t i = 0; i < all.size(); ++i) {
    all[i] = static_cast<uint32_t>(i);
  }
  scores.a = score_of(a, all);
  scores.b = score_of(b, all);
  for (int64_t s = 0; s < samples.samples; ++s) {
    const std::vector<uint32_t> chosen = samples.sample(s);
    scores.samples_a.push_back(score_of(a, chosen));
    scores.samples_b.push_back(score_of(b, chosen));
  }
  return scores;
}

}  // namespace heed
