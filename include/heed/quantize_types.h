// Options and results of quantization.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "heed/weight_type.h"

namespace heed {

// Matrices whose names match the pattern (* stands for any characters) get another type. The first pattern that matches
// counts.
struct KeptWeights {
  std::string pattern;
  WeightType type = WeightType::f32;
};

struct QuantizeOptions {
  std::string model;   // a model directory, not an adapter
  std::string output;  // the model directory to write
  WeightType type = WeightType::int8;
  std::vector<KeptWeights> keep;
};

struct QuantizedWeights {
  int64_t matrices = 0;
  int64_t bytes_before = 0, bytes_after = 0;  // of all weights
  double signal_to_noise = 0.0;               // of all matrices, in decibels; infinite where nothing was rounded
};

}  // namespace heed
