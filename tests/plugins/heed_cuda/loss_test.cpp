#include "plugins/heed_cuda/cuda_testing.h"

namespace heed::test {
namespace {

class CudaLoss : public CudaTest {};
HEED_ON_CUDA(CudaLoss);

TEST_P(CudaLoss, OfLogitsMayBeWhereTheyWere) {
  for (const int64_t vocabulary : {70, 1300}) {
    LossCase c = LossCase::make(types(), 9, 1, vocabulary);
    c.x = random(storage(), 9, vocabulary, 47, 3.0);
    const Tensor logits = cuda().keep({9, vocabulary}, storage());
    cuda().copy(c.x.view(), logits.view());
    const Guarded losses(DType::f32, 9, 2), d_logits(storage(), 9, vocabulary);
    cuda().cross_entropy({.logits = logits.view(),
                          .targets = c.targets.view(),
                          .smoothing = c.smoothing,
                          .losses = losses.view(),
                          .d_logits = logits.view()});
    cuda().copy(logits.view(), d_logits.view());
    const auto expected = c.of_logits(cuda(), types());
    EXPECT_TRUE(same_bits(losses, expected.losses));
    EXPECT_TRUE(same_bits(d_logits, expected.d_logits));
  }
}

// In f32, the logits are where the gradients will be.
TEST_P(CudaLoss, OnTheDeviceTheLossAndItsGradientAreTheSameBits) {
  const LossCase c = LossCase::make(types(), 20, 33, 300);
  const Tensor d_logits = cuda().keep({20, 300}, storage());
  const Guarded losses(DType::f32, 20, 2), found(storage(), 20, 300);
  cuda().output_loss({.x = c.x.view(),
                      .weight = {c.weight.view()},
                      .bias = c.bias.view(),
                      .targets = c.targets.view(),
                      .smoothing = c.smoothing,
                      .losses = losses.view(),
                      .d_logits = d_logits.view()});
  cuda().copy(d_logits.view(), found.view());
  const auto expected = c.forward(cuda(), types());
  EXPECT_TRUE(same_bits(losses, expected.losses));
  EXPECT_TRUE(same_bits(found, expected.d_logits));
}

}  // namespace
}  // namespace heed::test
