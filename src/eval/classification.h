// How well labels and numbers are predicted.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace heed {

// Counts of one label. A ratio whose denominator is 0 is 0.
struct LabelCounts {
  int64_t right = 0, predicted = 0, expected = 0;

  double precision() const;  // right / predicted
  double recall() const;     // right / expected
  double f1() const;         // 2 right / (predicted + expected)
};

// The mean of the labels' F1 (of those that are expected or predicted at all), and the F1 of their counts together.
double macro_f1(std::span<const LabelCounts> labels);
double micro_f1(std::span<const LabelCounts> labels);

// counts[expected][predicted].
class ConfusionMatrix {
 public:
  explicit ConfusionMatrix(int64_t labels);

  void add(int64_t expected, int64_t predicted);

  int64_t labels() const { return labels_; }
  int64_t at(int64_t expected, int64_t predicted) const {
    return counts_[static_cast<size_t>(expected * labels_ + predicted)];
  }
  std::vector<LabelCounts> by_label() const;
  double accuracy() const;
  // Matthews' correlation for several classes (Gorodkin, 2004): with t_k expected, p_k predicted, c right of s,
  //   (c s - sum p_k t_k) / sqrt((s^2 - sum p_k^2) (s^2 - sum t_k^2)), 0 where that is 0 / 0.
  double matthews() const;

 private:
  int64_t labels_;
  std::vector<int64_t> counts_;
};

// Pearson's correlation, and Spearman's: that of the ranks, where equal values share the mean of theirs. 0 where one
// side does not vary.
struct NumberPairs {
  std::vector<double> expected, predicted;
};
double pearson(const NumberPairs& pairs);
double spearman(const NumberPairs& pairs);

}  // namespace heed
