#include "eval/bootstrap.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/random.h"

namespace heed {

std::vector<uint32_t> BootstrapSamples::sample(int64_t index) const {
  const RandomKey key = RandomKey{seed}.derive("bootstrap").derive(static_cast<uint64_t>(index));
  std::vector<uint32_t> chosen(sentences);
  for (size_t i = 0; i < sentences; ++i) {
    chosen[i] = static_cast<uint32_t>(uniform_draw(key, i) * static_cast<double>(sentences));
  }
  return chosen;
}

Interval interval_of(std::vector<double> scores) {
  require(!scores.empty(), "paired bootstrap", "no samples");
  std::ranges::sort(scores);
  const size_t cut = scores.size() / 40;  // 2.5% at each end
  return {.mean = std::accumulate(scores.begin(), scores.end(), 0.0) / static_cast<double>(scores.size()),
          .low = scores[cut],
          .high = scores[scores.size() - 1 - cut]};
}

double PairedScores::p_value() const {
  require(samples_a.size() == samples_b.size() && !samples_a.empty(), "paired bootstrap", "{} and {} samples",
          samples_a.size(), samples_b.size());
  if (a == b) {
    return 1.0;  // every sample differs by at least 0
  }
  std::vector<double> differences(samples_a.size());
  std::ranges::transform(samples_a, samples_b, differences.begin(), [](double x, double y) { return std::abs(x - y); });
  const double count = static_cast<double>(differences.size());
  const double mean = std::accumulate(differences.begin(), differences.end(), 0.0) / count;
  const auto exceeds = [&](double difference) { return difference - mean > std::abs(a - b); };
  return (static_cast<double>(std::ranges::count_if(differences, exceeds)) + 1.0) / (count + 1.0);
}

}  // namespace heed
