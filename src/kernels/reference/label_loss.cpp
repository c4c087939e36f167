// Losses of labels that do not exclude each other, and of numbers.
#include <algorithm>
#include <cmath>

#include "kernels/reference/reference_backend.h"
#include "kernels/reference/values.h"

namespace heed {

using reference::Values;

void ReferenceBackend::label_loss(const LabelLoss& call) {
  const Values z(call.logits), t(call.targets);
  Values losses(z.rows(), 2), d_logits(z.rows(), z.columns());
  for (int64_t r = 0; r < z.rows(); ++r) {
    for (int64_t c = 0; c < z.columns(); ++c) {
      const double x = z(r, c), difference = x - t(r, c);
      if (call.kind == LabelLossKind::squared) {
        losses(r, 0) += difference * difference / 2.0;
        d_logits(r, c) = difference;
      } else {
        losses(r, 0) += std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))) - t(r, c) * x;
        d_logits(r, c) = 1.0 / (1.0 + std::exp(-x)) - t(r, c);
      }
    }
    losses(r, 1) = losses(r, 0);
  }
  reference::write(losses, call.losses);
  reference::write(d_logits, call.d_logits);
}

}  // namespace heed
