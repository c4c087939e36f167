#include "plan/muon_cost.h"

#include <algorithm>

#include "models/any_model.h"

namespace heed {

MuonCost muon_cost(const ModelConfig& config, const MuonRun& run) {
  if (run.optimizer.kind != OptimizerKind::muon) {
    return {};
  }
  Weights weights;
  const AnyModel model(Scope(weights), config);
  MuonCost cost;
  int64_t largest_square = 0, largest = 0;  // elements
  int64_t matrices = 0;
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
    cost.flops += static_cast<double>(parts * run.optimizer.orthogonalization) * products;
    matrices += parts;
    largest_square = std::max(largest_square, square);
    largest = std::max(largest, rows * columns);
  }
  // The direction and what comes after it; the product and its square; the product before it is rounded.
  const int64_t of_thread =
      2 * (largest + largest_square) * size_of(run.storage) + largest_square * size_of(DType::f32);
  cost.scratch_bytes = of_thread * (matrices < run.threads ? 1 : run.threads);
  return cost;
}

}  // namespace heed
