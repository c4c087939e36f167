// A model's position embeddings, as a table to look at.
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
  std::vector<int64_t> columns;  // the shown ones, of the model's; with rotary positions, of the pairs of a head
  double limit = 1.0;            // values are within +-limit
  std::string values;            // one byte each, row by row: 0 is -limit, 255 is limit
};

// The first positions, in some of the columns: evenly spread, two neighbours at a time. Learned positions are read from
// `weights`. nullopt for a model without positions, or when the weights are missing.
// The first layer that turns queries and keys, of a model with rotary positions: the one that is shown.
int64_t first_rotary_layer(const ModelConfig& config);
std::optional<PositionMap> position_map(const ModelConfig& config, const std::filesystem::path& weights);

}  // namespace heed
