// The loss over a vocabulary whose logits are divided among ranks.
//   lse(z) = m + log(sum over k of sum_k e^(max_k - m))    loss = lse(z) - q.z    d_logits = softmax(z) - q
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/reference/reference_backend.h"
#include "kernels/reference/values.h"

namespace heed {

using reference::Values;

void ReferenceBackend::logit_sums(const LogitSums& call) {
  const Values z(call.logits);
  Values sums(z.rows(), 4);
  for (int64_t r = 0; r < z.rows(); ++r) {
    sums(r, 0) = -std::numeric_limits<double>::infinity();
    for (int64_t c = 0; c < z.columns(); ++c) {
      sums(r, 0) = std::max(sums(r, 0), z(r, c));
      sums(r, 2) += z(r, c);
    }
    for (int64_t c = 0; c < z.columns(); ++c) {
      sums(r, 1) += std::exp(z(r, c) - sums(r, 0));
    }
    const int64_t target = host<int32_t>(call.targets)(0, r);
    sums(r, 3) = target < 0 ? 0.0 : z(r, target);
  }
  reference::write(sums, call.sums);
}

void ReferenceBackend::divided_loss(const DividedLoss& call) {
  const Values z(call.logits);
  const std::vector<Values> parts(call.sums.begin(), call.sums.end());
  const double spread = call.smoothing / static_cast<double>(call.vocabulary);
  Values losses(z.rows(), 2), d_logits(z.rows(), z.columns());
  for (int64_t r = 0; r < z.rows(); ++r) {
    double largest = -std::numeric_limits<double>::infinity(), total = 0.0, sum = 0.0, at_target = 0.0;
    for (const Values& part : parts) {
      largest = std::max(largest, part(r, 0));
    }
    for (const Values& part : parts) {
      total += part(r, 1) * std::exp(part(r, 0) - largest);
      sum += part(r, 2);
      at_target += part(r, 3);
    }
    const double lse = largest + std::log(total);
    losses(r, 0) = lse - (1.0 - call.smoothing) * at_target - spread * sum;
    losses(r, 1) = lse - at_target;
    for (int64_t c = 0; c < z.columns(); ++c) {
      const double q = (c == host<int32_t>(call.targets)(0, r) ? 1.0 - call.smoothing : 0.0) + spread;
      const double slope = call.cap > 0.0 ? 1.0 - (z(r, c) / call.cap) * (z(r, c) / call.cap) : 1.0;
      d_logits(r, c) = (std::exp(z(r, c) - lse) - q) * slope;
    }
  }
  reference::write(losses, call.losses);
  reference::write(d_logits, call.d_logits);
}

}  // namespace heed
