// The page about what quantizing a model changed.
#pragma once

#include <string>

#include "heed/types/quantize.h"
#include "models/config.h"

namespace heed {

struct QuantizationContent {
  std::string name;  // of the new model
  ModelConfig model;
  WeightType type = WeightType::int8;
  QuantizedWeights weights;
};

// One page that refers to nothing outside itself. All text is escaped.
std::string quantization_page(const QuantizationContent& content);

}  // namespace heed
