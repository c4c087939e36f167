// Quantizing a model directory.
#pragma once

#include <memory>

#include "base/interruption.h"
#include "base/system/new_folder.h"
#include "checkpoint/model_directory.h"
#include "heed/types/quantize.h"
#include "quant/calibration_text.h"

namespace heed {

// The matrices' types: the first pattern that matches a name, or `type`.
struct TypePlan {
  WeightType type = WeightType::int8;
  std::vector<KeptWeights> keep;

  WeightType of(const std::string& weight) const;
};

// What a calibration text is for: types that need it or gain by it, or also to see what the inputs are.
enum class CalibrationUse : uint8_t { types, inputs };

struct QuantizationPlan {
  TypePlan types;
  CalibrationUse use = CalibrationUse::types;
  int64_t group = 32;  // values of int4 that share a scale
  CalibrationFiles calibration;
  int threads = 1;  // to calibrate with
  Interruption interruption = {};
};

// A model directory that is removed again unless `folder` is kept.
struct QuantizedModel {
  QuantizedWeights weights;
  std::unique_ptr<NewFolder> folder;
};

// InterruptedError when the plan's interruption comes first.
QuantizedModel quantize_directory(const ModelFolder& from, const ModelFolder& to, const QuantizationPlan& plan);

}  // namespace heed
