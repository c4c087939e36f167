// The events of a run in metrics.jsonl (docs/models/formats.md).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "heed/types/train.h"

namespace heed {

struct TrainingStart {
  int64_t update = 0;  // more than 0 when the run is resumed
  int64_t parameters = 0, trained_parameters = 0;
  std::string_view precision;
  int threads = 0;
  std::string layout;  // of several ranks; empty if there is one
  std::string_view task;
  std::vector<std::pair<std::string, int64_t>> sizes;  // of the text, by name
};

struct TrainingEnd {
  int64_t update = 0;
  EndReason reason = EndReason::updates;
  double seconds = 0.0;
};

// As lines of metrics.jsonl, without their ends.
std::string to_json(const TrainingStart& start);
std::string to_json(const TrainStatus& status);
std::string to_json(const ValidationStatus& status);
std::string to_json(const TrainingEnd& end);

}  // namespace heed
