// What a model tells its tokens about their positions, as a table to look at.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "models/config.h"

namespace heed {

struct PositionMap {
  std::string kind;              // "sinusoidal", "learned", "rotary"
  int64_t positions = 0;         // rows
  std::vector<int64_t> columns;  // shown, of the model's; of rotary positions, the pairs of a head's
  double limit = 1.0;            // values lie within +-limit
  std::string values;            // a byte each, row by row: 0 is -limit, 255 is limit
};

// The first positions in a choice of columns, evenly spread, two neighbours at a time. Learned positions are read from
// `weights`. Nothing for a model without positions, or where the weights are missing.
std::optional<PositionMap> position_map(const ModelConfig& config, const std::filesystem::path& weights);

}  // namespace heed
