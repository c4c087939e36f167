// Quantizing a model directory.
#pragma once

#include "checkpoint/model_directory.h"
#include "heed/quantize_types.h"

namespace heed {

// The matrices' types: the first pattern that matches a name, or `type`.
struct TypePlan {
  WeightType type = WeightType::int8;
  std::vector<KeptWeights> keep;

  WeightType of(const std::string& weight) const;
};

QuantizedWeights quantize_directory(const ModelFolder& from, const ModelFolder& to, const TypePlan& plan);

}  // namespace heed
