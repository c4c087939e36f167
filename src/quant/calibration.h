// Running a model over a text, to see what its products read.
#pragma once

#include "base/interruption.h"
#include "quant/calibration_text.h"
#include "quant/product_inputs.h"

namespace heed {

struct Calibration {
  const CalibrationFiles& files;
  Squares squares;
  const Interruption& interruption;  // InterruptedError when it comes before the last batch
};

// In f32. There is no entry for weights whose products read no inputs: tables that are only looked up, and relative
// positions.
InputsByWeight calibrate(const ModelFolder& folder, const Calibration& wanted, Backend& backend);

}  // namespace heed
