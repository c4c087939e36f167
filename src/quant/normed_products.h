// Norms, and the products that read them.
#pragma once

#include <vector>

#include "models/config.h"
#include "nn/weights/weights.h"

namespace heed {

// A norm whose output nothing reads but these products, so that a column's factor can move from one to the others.
struct NormedProducts {
  std::vector<const Weight*> norm;  // its gain and, if it has one, its bias
  std::vector<const Weight*> products;
  NormGain gain_form = NormGain::plain;
};

// For a model with the norms before its sublayers. After them (post-norm) the residual connection reads what a norm
// writes.
std::vector<NormedProducts> normed_products(const ModelConfig& config, const Weights& weights);

}  // namespace heed
