// int8-static: scales of inputs that a calibration text fixes.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "quant/input_ranges.h"
#include "quant/normed_products.h"
#include "quant/product_inputs.h"

namespace heed {

// A product's range, and how far its outputs on the sample are from exact ones.
struct StaticInputs {
  InputRange range;
  Noise noise;
};

// Factors of columns, by the name of a weight: a norm's gain and bias are divided by them, the matrices that read it
// multiplied, which changes no result but what rounding does to it. Of a gain w that is stored as what it has above 1,
// 1 + w is divided.
struct ColumnFactors {
  std::map<std::string, std::vector<float>> divided, divided_above_one, multiplied;

  void apply(const std::string& weight, std::vector<float>& values) const;
};

struct StaticPlan {
  std::map<std::string, StaticInputs> inputs;  // by the matrix; without those whose inputs are all zeros
  ColumnFactors smoothing;
};

// A matrix to be stored as int8-static.
struct StaticMatrix {
  const Weight& weight;
  std::vector<float> values;
  const ProductInputs& inputs;
};

// For each matrix the range with the least error of its product among those of candidate_ranges(). Where a norm's
// products are all among the matrices, the norm and they are smoothed with
//   factor[k] = (max |x[:, k]|)^a / (max |W[:, k]|)^(1 - a),   a one of 1/4, 1/2 and 3/4,
// if that makes the sum of their relative errors smaller.
StaticPlan plan_static(Backend& backend, const std::vector<StaticMatrix>& matrices,
                       const std::vector<NormedProducts>& norms);

}  // namespace heed
