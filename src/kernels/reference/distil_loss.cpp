// The loss against a teacher's distribution.
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/reference/reference_backend.h"
#include "kernels/reference/values.h"

namespace heed {

using reference::Values;

namespace {

// log softmax(x / temperature) of a row.
std::vector<double> log_probabilities(const Values& x, int64_t row, double temperature) {
  std::vector<double> logs(static_cast<size_t>(x.columns()));
  double largest = -std::numeric_limits<double>::infinity(), total = 0.0;
  for (int64_t c = 0; c < x.columns(); ++c) {
    logs[static_cast<size_t>(c)] = x(row, c) / temperature;
    largest = std::max(largest, x(row, c) / temperature);
  }
  for (const double one : logs) {
    total += std::exp(one - largest);
  }
  for (double& one : logs) {
    one -= largest + std::log(total);
  }
  return logs;
}

}  // namespace

void ReferenceBackend::distil_loss(const DistilLoss& call) {
  const Values z(call.logits), t(call.teacher);
  const auto targets = host<int32_t>(call.targets);
  Values losses(z.rows(), 2), d_logits(z.rows(), z.columns());
  const double temperature = call.temperature, spread = call.smoothing / static_cast<double>(z.columns());
  for (int64_t r = 0; r < z.rows(); ++r) {
    const int32_t target = targets(0, r);
    if (target < 0) {
      continue;
    }
    const std::vector<double> plain = log_probabilities(z, r, 1.0), student = log_probabilities(z, r, temperature),
                              teacher = log_probabilities(t, r, temperature);
    for (int64_t c = 0; c < z.columns(); ++c) {
      const auto i = static_cast<size_t>(c);
      const double g = spread + (c == target ? 1.0 - call.smoothing : 0.0);
      const double p = std::exp(teacher[i]), slope = call.cap > 0.0 ? 1.0 - std::pow(z(r, c) / call.cap, 2) : 1.0;
      losses(r, 0) +=
          call.weight * temperature * temperature * p * (teacher[i] - student[i]) - (1.0 - call.weight) * g * plain[i];
      d_logits(r, c) = slope * (call.weight * temperature * (std::exp(student[i]) - p) +
                                (1.0 - call.weight) * (std::exp(plain[i]) - g));
    }
    losses(r, 1) = -plain[static_cast<size_t>(target)];
  }
  reference::write(losses, call.losses);
  reference::write(d_logits, call.d_logits);
}

}  // namespace heed
