// The log of a training run: metrics.jsonl, one JSON object per line.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "heed/types/train.h"

namespace heed {

// A number that is missing from a line is NaN.
struct TrainPoint {
  static constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

  int64_t update = 0;
  double epoch = kNone, loss = kNone, nll = kNone, learning_rate = kNone, gradient_norm = kNone;
  double target_tokens_per_second = kNone, seconds = kNone;
  double kl = kNone;  // of the smoothed targets from the model
  double peak_memory_bytes = kNone;
};

struct ValidationPoint {
  int64_t update = 0;
  double loss = TrainPoint::kNone;
  std::vector<NamedScore> scores;  // of known_metrics(), those that the line has
  double seconds = TrainPoint::kNone;
  bool best = false;
  std::vector<Sample> samples;       // texts that the model wrote
  std::vector<LabelFigures> labels;  // of classification

  double score(std::string_view name) const;  // NaN if it is missing
};

struct RunMetrics {
  int64_t parameters = 0, trained_parameters = 0, threads = 0;  // 0: unknown, here and below
  int64_t train_sentences = 0, validation_sentences = 0, train_texts = 0, train_tokens = 0;
  double started = 0.0;  // seconds since 1970, of update 0
  std::string precision;
  std::string layout;            // of several ranks
  std::vector<int64_t> resumes;  // updates from which the run was resumed
  std::vector<TrainPoint> train;
  std::vector<ValidationPoint> validation;
  std::string end_reason;  // empty: the log has no end
  double seconds = 0.0;    // of training
  bool truncated = false;  // the last line was cut off, and is ignored

  int64_t updates() const;
  // The last validation that the run marked as its best, or else the one with the lowest loss; nullptr if there is
  // none.
  const ValidationPoint* best() const;
  // nullptr if no validation has a loss.
  const ValidationPoint* with_lowest_loss() const;
};

// Drops what a run did after the update from which it was later resumed. Skips unknown events and keys; FormatError,
// with `name` and the line, for anything else that the trainer does not write.
RunMetrics parse_metrics(std::string_view text, std::string_view name);

// At most `max_points` points: means of neighbours, each at the update of the last of them.
std::vector<TrainPoint> thinned(const std::vector<TrainPoint>& points, size_t max_points);

}  // namespace heed
