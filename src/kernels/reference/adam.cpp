// The gradients' squared norm, and the sweep that clips, updates and copies.
#include <algorithm>
#include <cmath>

#include "kernels/reference/reference_backend.h"
#include "kernels/reference/values.h"

namespace heed {

using reference::Values;

void ReferenceBackend::squared_norms(ConstView x, std::span<const ElementRange> ranges, View norms) {
  const Values values(x);
  for (size_t i = 0; i < ranges.size(); ++i) {
    double sum = 0.0;
    for (int64_t c = ranges[i].first; c < ranges[i].first + ranges[i].count; ++c) {
      sum += values(0, c) * values(0, c);
    }
    reference::set(norms, 0, static_cast<int64_t>(i), sum);
  }
}

void ReferenceBackend::sum(ConstView x, View total) {
  const Values values(x);
  double sum = 0.0;
  for (int64_t c = 0; c < values.columns(); ++c) {
    sum += values(0, c);
  }
  reference::set(total, 0, 0, sum);
}

void ReferenceBackend::adam(const AdamSweep& call) {
  const double norm = std::sqrt(reference::get(call.squared_norm, 0, 0));
  if (!std::isfinite(norm)) {
    return;
  }
  const double clip = call.max_norm > 0.0 ? std::min(1.0, call.max_norm / (norm + 1e-6)) : 1.0;
  const double step = reference::get(call.applied, 0, 0) + 1.0;
  reference::set(call.applied, 0, 0, step);
  const double correction1 = 1.0 - std::pow(call.beta1, step);
  const double correction2 = 1.0 - std::pow(call.beta2, step);
  const Values gradients(call.gradients);
  Values weights(call.weights), first(call.first_moments), second(call.second_moments);
  for (int64_t i = 0; i < weights.columns(); ++i) {
    const auto range =
        std::ranges::find_if(call.ranges, [&](const ElementRange& r) { return i >= r.first && i < r.first + r.count; });
    if (range == call.ranges.end()) {
      continue;
    }
    const double decay = range->decays == Decays::yes ? call.weight_decay : 0.0;
    double& w = weights(0, i);
    double& m = first(0, i);
    double& v = second(0, i);
    double g = clip * gradients(0, i);
    if (call.decay_kind == WeightDecay::coupled) {
      g += decay * w;
    }
    m = call.beta1 * m + (1.0 - call.beta1) * g;
    if (call.decay_kind == WeightDecay::decoupled || (call.decay_kind == WeightDecay::cautious && m * w >= 0.0)) {
      w -= call.learning_rate * decay * w;
    }
    v = call.beta2 * v + (1.0 - call.beta2) * g * g;
    w -= call.learning_rate * (m / correction1) / (std::sqrt(v / correction2) + call.epsilon);
  }
  reference::write(weights, call.weights);
  reference::write(first, call.first_moments);
  reference::write(second, call.second_moments);
  reference::write(Values(call.weights), call.copy);
}

}  // namespace heed
