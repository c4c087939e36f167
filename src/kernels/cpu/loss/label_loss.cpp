#include "kernels/cpu/loss/label_loss.h"

#include <algorithm>
#include <cmath>

namespace heed::cpu {
namespace {

template <class T>
void label_loss_of(const LabelLoss& call) {
  const auto logits = host<T>(call.logits);
  const auto targets = host<float>(call.targets);
  for (int64_t r = 0; r < call.logits.rows(); ++r) {
    double loss = 0.0;
    for (int64_t c = 0; c < call.logits.columns(); ++c) {
      const double z = static_cast<double>(static_cast<float>(logits(r, c))), t = static_cast<double>(targets(r, c));
      double d_z = z - t;
      if (call.kind == LabelLossKind::squared) {
        loss += d_z * d_z / 2.0;
      } else {
        loss += std::max(z, 0.0) + std::log1p(std::exp(-std::abs(z))) - t * z;
        d_z = 1.0 / (1.0 + std::exp(-z)) - t;
      }
      if (!call.d_logits.empty()) {
        host<T>(call.d_logits)(r, c) = T(static_cast<float>(d_z));
      }
    }
    host<float>(call.losses)(r, 0) = host<float>(call.losses)(r, 1) = static_cast<float>(loss);
  }
}

}  // namespace

void label_loss(const LabelLoss& call) {
  call.logits.type() == DType::bf16 ? label_loss_of<bf16>(call) : label_loss_of<float>(call);
}

}  // namespace heed::cpu
