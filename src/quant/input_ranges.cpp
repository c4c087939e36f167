#include "quant/input_ranges.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace heed {
namespace {

constexpr size_t kBins = 2048, kLevels = 128;  // magnitudes as int8 tells them apart: 0 to 127
constexpr double kSmoothed = 1e-6;             // of a bin's probability, so that its logarithm exists

// Magnitudes of a sample, from zero to `largest`.
class Histogram {
 public:
  Histogram(std::span<const float> sample, float largest) : width_(static_cast<double>(largest) / kBins) {
    for (const float x : sample) {
      counts_[std::min(kBins - 1, static_cast<size_t>(static_cast<double>(std::abs(x)) / width_))] += 1.0;
    }
    total_ = static_cast<double>(sample.size());
  }

  // The upper end of the bin below which all but this share of the magnitudes lies.
  float without(double share) const {
    double beyond = 0.0;
    size_t end = kBins;
    while (end > 1 && beyond + counts_[end - 1] <= share * total_) {
      beyond += counts_[--end];
    }
    return upper_end(end);
  }

  // Each bin's magnitudes are taken as its middle.
  float with_least_squared_error() const {
    return least(kBins / 8, [&](size_t end) {
      const double scale = static_cast<double>(upper_end(end)) / 127.0;
      double error = 0.0;
      for (size_t bin = 0; bin < kBins; ++bin) {
        const double x = (static_cast<double>(bin) + 0.5) * width_;
        error += counts_[bin] * std::pow(x - scale * std::min(127.0, std::nearbyint(x / scale)), 2);
      }
      return error;
    });
  }

  float with_least_divergence() const {
    return least(kLevels, [&](size_t end) { return divergence(end); });
  }

 private:
  float upper_end(size_t bins) const { return static_cast<float>(static_cast<double>(bins) * width_); }

  template <class Cost>
  float least(size_t first, Cost cost) const {
    constexpr size_t kStep = 16;
    size_t best = kBins;
    double lowest = std::numeric_limits<double>::infinity();
    for (size_t end = first; end <= kBins; end += kStep) {
      if (const double found = cost(end); found < lowest) {
        lowest = found;
        best = end;
      }
    }
    return upper_end(best);
  }

  // How far the first `end` bins, with what is cut off in the last, diverge from the same in kLevels levels: the bins
  // of a level share its count evenly, as far as they are not empty.
  double divergence(size_t end) const {
    std::vector<double> clipped(counts_.begin(), counts_.begin() + static_cast<int64_t>(end)), levelled(end, 0.0);
    for (size_t level = 0; level < kLevels; ++level) {
      const size_t first = level * end / kLevels, last = (level + 1) * end / kLevels;
      double count = 0.0, filled = 0.0;
      for (size_t bin = first; bin < last; ++bin) {
        count += counts_[bin];
        filled += counts_[bin] > 0.0 ? 1.0 : 0.0;
      }
      for (size_t bin = first; bin < last; ++bin) {
        levelled[bin] = counts_[bin] > 0.0 ? count / filled : 0.0;
      }
    }
    double kept = 0.0;
    for (const double count : clipped) {
      kept += count;
    }
    clipped.back() += total_ - kept;
    double sum = 0.0;
    for (size_t bin = 0; bin < end; ++bin) {
      const double p = clipped[bin] / total_ + kSmoothed, q = levelled[bin] / std::max(1.0, kept) + kSmoothed;
      sum += p * std::log(p / q);
    }
    return sum;
  }

  double width_, total_ = 0.0;
  std::vector<double> counts_ = std::vector<double>(kBins, 0.0);
};

}  // namespace

std::vector<InputRange> candidate_ranges(std::span<const float> sample, float largest) {
  if (largest < std::numeric_limits<float>::min() * 127.0F) {
    return {};
  }
  const Histogram histogram(sample, largest);
  return {{RangeRule::least, largest},
          {RangeRule::percentile, histogram.without(1e-4)},
          {RangeRule::percentile, histogram.without(1e-3)},
          {RangeRule::squared_error, histogram.with_least_squared_error()},
          {RangeRule::entropy, histogram.with_least_divergence()}};
}

}  // namespace heed
