#include "plan/muon_cost.h"

#include <algorithm>

#include "models/any_model.h"
#include "optim/optimizer.h"

namespace heed {

MuonCost muon_cost(const ModelConfig& config, DType storage) {
  Weights weights;
  const AnyModel model(Scope(weights), config);
  MuonCost cost;
  int64_t largest_square = 0, largest = 0;  // elements
  for (size_t i = 0; i < weights.all().size(); ++i) {
    const Weight& weight = weights.all()[i];
    if (!is_hidden_matrix(weight)) {
      continue;
    }
    const int64_t parts = weights.initialization(i).parts;
    const int64_t rows = weight.shape()[0] / parts, columns = weight.shape()[1];
    const int64_t square = std::min(rows, columns) * std::min(rows, columns);
    const double products =
        2.0 * static_cast<double>(square) * static_cast<double>(2 * std::max(rows, columns) + std::min(rows, columns));
    cost.flops += static_cast<double>(parts * NewtonSchulz::kSteps) * products;
    largest_square = std::max(largest_square, square);
    largest = std::max(largest, rows * columns);
  }
  // The direction and what comes after it; the product and its square; the product before it is rounded.
  cost.scratch_bytes = 2 * (largest + largest_square) * size_of(storage) + largest_square * size_of(DType::f32);
  return cost;
}

}  // namespace heed
