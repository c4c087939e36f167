// The layers that weights belong to.
#pragma once

#include <string>

#include "ops/weight.h"

namespace heed {

// "encoder.layers.0" of "encoder.layers.0.attention.norm.gain", "source" of "source.tokens": what a sum over a layer's
// parameters is called.
std::string layer_of_weight(const Weight& weight);

}  // namespace heed
