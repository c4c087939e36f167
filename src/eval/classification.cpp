#include "eval/classification.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/errors.h"

namespace heed {
namespace {

double ratio(double part, double whole) { return whole == 0.0 ? 0.0 : part / whole; }

double mean_of(const std::vector<double>& values) {
  return ratio(std::accumulate(values.begin(), values.end(), 0.0), static_cast<double>(values.size()));
}

std::vector<double> ranks_of(const std::vector<double>& values) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, {}, [&](size_t i) { return values[i]; });
  std::vector<double> ranks(values.size());
  for (size_t begin = 0; begin < order.size();) {
    size_t end = begin;
    while (end < order.size() && values[order[end]] == values[order[begin]]) {
      ++end;
    }
    for (size_t i = begin; i < end; ++i) {
      ranks[order[i]] = static_cast<double>(begin + end - 1) / 2.0;
    }
    begin = end;
  }
  return ranks;
}

}  // namespace

double LabelCounts::precision() const { return ratio(static_cast<double>(right), static_cast<double>(predicted)); }
double LabelCounts::recall() const { return ratio(static_cast<double>(right), static_cast<double>(expected)); }
double LabelCounts::f1() const {
  return ratio(2.0 * static_cast<double>(right), static_cast<double>(predicted + expected));
}

double macro_f1(std::span<const LabelCounts> labels) {
  std::vector<double> scores;
  for (const LabelCounts& label : labels) {
    if (label.predicted + label.expected > 0) {
      scores.push_back(label.f1());
    }
  }
  return mean_of(scores);
}

double micro_f1(std::span<const LabelCounts> labels) {
  LabelCounts all;
  for (const LabelCounts& label : labels) {
    all.right += label.right;
    all.predicted += label.predicted;
    all.expected += label.expected;
  }
  return all.f1();
}

ConfusionMatrix::ConfusionMatrix(int64_t labels) : labels_(labels), counts_(static_cast<size_t>(labels * labels)) {}

void ConfusionMatrix::add(int64_t expected, int64_t predicted) {
  require(expected >= 0 && expected < labels_ && predicted >= 0 && predicted < labels_, "confusion matrix",
          "labels {} and {} of {}", expected, predicted, labels_);
  ++counts_[static_cast<size_t>(expected * labels_ + predicted)];
}

std::vector<LabelCounts> ConfusionMatrix::by_label() const {
  std::vector<LabelCounts> counts(static_cast<size_t>(labels_));
  for (int64_t e = 0; e < labels_; ++e) {
    for (int64_t p = 0; p < labels_; ++p) {
      counts[static_cast<size_t>(e)].expected += at(e, p);
      counts[static_cast<size_t>(p)].predicted += at(e, p);
      counts[static_cast<size_t>(e)].right += e == p ? at(e, p) : 0;
    }
  }
  return counts;
}

double ConfusionMatrix::accuracy() const {
  const int64_t all = std::accumulate(counts_.begin(), counts_.end(), int64_t{0});
  int64_t right = 0;
  for (int64_t k = 0; k < labels_; ++k) {
    right += at(k, k);
  }
  return ratio(static_cast<double>(right), static_cast<double>(all));
}

double ConfusionMatrix::matthews() const {
  double all = 0.0, right = 0.0, products = 0.0, expected_squares = 0.0, predicted_squares = 0.0;
  for (const LabelCounts& label : by_label()) {
    const auto expected = static_cast<double>(label.expected), predicted = static_cast<double>(label.predicted);
    all += expected;
    right += static_cast<double>(label.right);
    products += expected * predicted;
    expected_squares += expected * expected;
    predicted_squares += predicted * predicted;
  }
  return ratio(right * all - products, std::sqrt((all * all - predicted_squares) * (all * all - expected_squares)));
}

double pearson(const NumberPairs& pairs) {
  const std::vector<double>&x = pairs.expected, &y = pairs.predicted;
  require(x.size() == y.size(), "pearson", "{} and {} numbers", x.size(), y.size());
  const double mean_x = mean_of(x), mean_y = mean_of(y);
  double xy = 0.0, xx = 0.0, yy = 0.0;
  for (size_t i = 0; i < x.size(); ++i) {
    xy += (x[i] - mean_x) * (y[i] - mean_y);
    xx += (x[i] - mean_x) * (x[i] - mean_x);
    yy += (y[i] - mean_y) * (y[i] - mean_y);
  }
  return ratio(xy, std::sqrt(xx * yy));
}

double spearman(const NumberPairs& pairs) { return pearson({ranks_of(pairs.expected), ranks_of(pairs.predicted)}); }

}  // namespace heed
