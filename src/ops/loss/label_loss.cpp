// sigmoid: loss = sum over labels of log(1 + e^z) - t z    d_z = sigmoid(z) - t
// squared: loss = sum over columns of (z - t)^2 / 2        d_z = z - t
// Saves d_z.
#include "ops/loss/label_loss.h"

#include "kernels/host_copy.h"
#include "ops/tape.h"

namespace heed {

TokenLosses label_loss(Pass& pass, const Logits& logits, const LabelTargets& targets, LabelLossKind kind) {
  const Var& z = logits.var();
  require(targets.labels == z.columns() && static_cast<int64_t>(targets.values.size()) == z.rows() * z.columns(),
          "label_loss", "{} targets of {} labels for {}", targets.values.size(), targets.labels, z.value());
  Backend& backend = pass.backend();
  const Tensor wanted = pass.allocate_master({z.rows(), z.columns()});
  HostRoom room(backend, wanted.view());
  for (int64_t r = 0; r < z.rows(); ++r) {
    for (int64_t c = 0; c < z.columns(); ++c) {
      const double value = targets.values[static_cast<size_t>(r * z.columns() + c)];
      if (wanted.type() == DType::f64) {
        host<double>(room.view())(r, c) = value;
      } else {
        host<float>(room.view())(r, c) = static_cast<float>(value);
      }
    }
  }
  room.put();
  auto losses = std::make_shared<Tensor>(pass.allocate_master({z.rows(), 2}));
  Tensor d_logits;
  if (pass.recording()) {
    d_logits = pass.allocate({z.rows(), z.columns()});
  }
  backend.label_loss({.kind = kind,
                      .logits = z.value(),
                      .targets = wanted.view(),
                      .losses = losses->view(),
                      .d_logits = d_logits.view()});
  if (pass.recording()) {
    pass.tape().record(LabelLossOp{z, std::move(d_logits), pass.tape().loss_scale()});
  }
  return {backend, std::move(losses), z.rows(), z.columns(), Smoothing(0.0F)};
}

void LabelLossOp::backward(Backend& backend) {
  backend.scale(d_logits.view(), scale);
  logits.set_gradient(std::move(d_logits));
}

}  // namespace heed
