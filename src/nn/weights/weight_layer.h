// The layers that weights belong to, by their names.
#pragma once

#include <string>

namespace heed {

// "encoder.layers.0" of "encoder.layers.0.attention.norm.gain", "source" of "source.tokens": what a sum over a layer's
// parameters is called.
std::string layer_of_weight(const std::string& name);

}  // namespace heed
