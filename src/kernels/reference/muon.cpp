#include <algorithm>
#include <cmath>

#include "kernels/reference/reference_backend.h"
#include "kernels/reference/values.h"

namespace heed {

using reference::Values;

void ReferenceBackend::muon_direction(const MuonDirection& call) {
  const double norm = std::sqrt(reference::get(call.squared_norm, 0, 0));
  const Values gradients(call.gradients);
  Values moments(call.moments), direction(call.direction);
  const double clip = call.max_norm > 0.0 ? std::min(1.0, call.max_norm / (norm + 1e-6)) : 1.0;
  double squares = 0.0;
  for (int64_t r = 0; r < moments.rows(); ++r) {
    for (int64_t c = 0; c < moments.columns(); ++c) {
      direction(r, c) = 0.0;
      if (std::isfinite(norm)) {
        const double g = clip * gradients(r, c);
        moments(r, c) = call.momentum * moments(r, c) + g;
        direction(r, c) = g + call.momentum * moments(r, c);
        squares += direction(r, c) * direction(r, c);
      }
    }
  }
  for (int64_t r = 0; r < moments.rows(); ++r) {
    for (int64_t c = 0; c < moments.columns(); ++c) {
      direction(r, c) = squares > 0.0 ? direction(r, c) / std::sqrt(squares) : 0.0;
    }
  }
  reference::write(moments, call.moments);
  reference::write(direction, call.direction);
}

void ReferenceBackend::muon_rows(const MuonRows& call) {
  const bool runs = std::isfinite(reference::get(call.squared_norm, 0, 0));
  const Values direction(call.direction);
  Values moments(call.moments), factors(call.factors);
  double before = 0.0, after = 0.0;
  for (int64_t r = 0; r < direction.rows(); ++r) {
    double squares = 0.0;
    for (int64_t c = 0; c < direction.columns(); ++c) {
      squares += direction(r, c) * direction(r, c);
    }
    if (runs) {
      const double mean = squares / static_cast<double>(direction.columns());
      moments(0, r) = call.kept * moments(0, r) + (1.0 - call.kept) * mean;
    }
    factors(0, r) = 1.0 / (std::sqrt(moments(0, r)) + kMuonRowEpsilon);
    before += squares;
    after += squares * factors(0, r) * factors(0, r);
  }
  for (int64_t r = 0; r < direction.rows(); ++r) {
    factors(0, r) *= after > 0.0 ? std::sqrt(before / after) : 0.0;
  }
  reference::write(moments, call.moments);
  reference::write(factors, call.factors);
}

void ReferenceBackend::muon_step(const MuonStep& call) {
  if (!std::isfinite(reference::get(call.squared_norm, 0, 0))) {
    return;
  }
  const Values direction(call.direction);
  Values weights(call.weights);
  for (int64_t r = 0; r < weights.rows(); ++r) {
    for (int64_t c = 0; c < weights.columns(); ++c) {
      double& w = weights(r, c);
      const bool decays = call.decay_kind != WeightDecay::cautious || direction(r, c) * w >= 0.0;
      const double factor = call.row_factors.empty() ? 1.0 : reference::get(call.row_factors, 0, r);
      w -= call.learning_rate * (call.scale * factor * direction(r, c) + (decays ? call.weight_decay * w : 0.0));
    }
  }
  reference::write(weights, call.weights);
  reference::write(Values(call.weights), call.copy);
}

}  // namespace heed
