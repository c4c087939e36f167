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
  // A text, plain or compressed with gzip, that shows what the products' inputs are: sentences to translate, or text of
  // the kind that a language model or an encoder reads. Needed for int8-static.
  std::string calibration;
  std::string calibration_target;  // the sentences' translations; empty: the model translates them itself
  int threads = 0;                 // to calibrate with; 0: one per processor
};

// Whether a norm's gain was divided, and the matrix's columns multiplied, to make outliers smaller.
enum class Smoothed : uint8_t { no, yes };

struct QuantizedMatrix {
  std::string name;
  WeightType type = WeightType::f32;
  int64_t bytes = 0;
  double signal_to_noise = 0.0;  // of its values
  // Of int8-static: how its inputs' range was chosen (least, percentile, squared error or entropy; empty: each input has
  // its own), and the signal to noise of its product on the calibration text.
  std::string range;
  double product_signal_to_noise = 0.0;
  Smoothed smoothed = Smoothed::no;
};

struct QuantizedWeights {
  std::vector<QuantizedMatrix> matrices;
  int64_t bytes_before = 0, bytes_after = 0;  // of all weights
  double signal_to_noise = 0.0;               // of all matrices, in decibels; infinite where nothing was rounded
};

}  // namespace heed
