// Making a smaller model of a trained one, for inference.
#pragma once

#include "heed/types/quantize.h"

namespace heed {

// Writes a model directory like any other, which translate, generate, score, evaluate and the encoders' commands read.
// Embeddings and the output projection are matrices too; biases and gains stay in f32. ConfigError and FormatError say
// what is wrong.
QuantizedWeights quantize(const QuantizeOptions& options);

}  // namespace heed
