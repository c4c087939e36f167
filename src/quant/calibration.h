// Running a model over a text, to see what its products read.
#pragma once

#include "quant/calibration_text.h"
#include "quant/product_inputs.h"

namespace heed {

// In f32. There is no entry for weights whose products read no inputs: tables that are only looked up, and relative
// positions.
InputsByWeight calibrate(const ModelFolder& folder, const CalibrationFiles& files, Squares squares, Backend& backend);

}  // namespace heed
