#include "plugins/heed_cuda/cuda_testing.h"

namespace heed::test {
namespace {

class CudaLoss : public CudaTest {
 protected:
  LossCase logits_case(int64_t rows, int64_t vocabulary, double scale = 3.0) {
    LossCase c = LossCase::make(types(), rows, 1, vocabulary);
    c.x = random(storage(), rows, vocabulary, 47, scale);
    return c;
  }
  void expect_same_of_logits(const LossCase& c) {
    const auto actual = c.of_logits(cuda(), types()), expected = c.of_logits(reference(), kReferenceTypes);
    EXPECT_TRUE(close(actual.losses, expected.losses, kF32));
    EXPECT_TRUE(close(actual.d_logits, expected.d_logits, stored()));
  }
};
HEED_ON_CUDA(CudaLoss);

TEST_P(CudaLoss, OfLogitsMatchesTheReference) {
  with_each_layout([&] {
    for (const int64_t vocabulary : {2, 3, 8, 9, 31, 32, 33, 257, 1000, 1025, 2051, 16390}) {
      SCOPED_TRACE(vocabulary);
      expect_same_of_logits(logits_case(6, vocabulary));
    }
    for (const int64_t rows : {1, 8, 9, 100}) {
      SCOPED_TRACE(rows);
      expect_same_of_logits(logits_case(rows, 70));
    }
    expect_same_of_logits(logits_case(9, 300, 500.0));  // far apart
  });
}

TEST_P(CudaLoss, OfLogitsMatchesTheReferenceWithEveryOption) {
  for (const double smoothing : {0.0, 0.1, 1.0}) {
    LossCase c = logits_case(9, 300);
    c.smoothing = smoothing;
    expect_same_of_logits(c);
  }
  LossCase ignored = logits_case(9, 1300);
  ignored.targets = integers(std::vector<int64_t>(9, -1));
  expect_same_of_logits(ignored);
  EXPECT_EQ(ignored.of_logits(cuda(), types()).losses.get(4, 0), 0.0);
}

TEST_P(CudaLoss, OfLogitsMayBeWhereTheyWere) {
  for (const int64_t vocabulary : {70, 1300}) {
    const LossCase c = logits_case(9, vocabulary);
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

// A run that diverges must be noticed.
TEST_P(CudaLoss, OfLogitsThatAreNotNumbersIsNotANumber) {
  for (const int64_t vocabulary : {70, 1300}) {
    LossCase c = logits_case(4, vocabulary);
    c.x.set(1, 5, std::nan(""));
    const Guarded losses = c.of_logits(cuda(), types()).losses;
    EXPECT_TRUE(std::isnan(losses.get(1, 0)));
    EXPECT_FALSE(std::isnan(losses.get(0, 0)));
  }
}

TEST_P(CudaLoss, ARowOfLogitsGivesTheSameBitsAloneAndAmongOthers) {
  for (const int64_t vocabulary : {300, 1300}) {
    const LossCase c = logits_case(44, vocabulary);
    expect_same_rows(c, 44, [&](const LossCase& part) { return part.of_logits(cuda(), types()).losses; });
    expect_same_rows(c, 44, [&](const LossCase& part) { return part.of_logits(cuda(), types()).d_logits; });
  }
}

class CudaOutputLoss : public CudaTest {
 protected:
  void expect_same(const LossCase& c) {
    const auto actual = c.forward(cuda(), types()), expected = c.forward(reference(), kReferenceTypes);
    EXPECT_TRUE(close(actual.losses, expected.losses, kF32));
    EXPECT_TRUE(close(actual.d_logits, expected.d_logits, stored()));
  }
};
HEED_ON_CUDA(CudaOutputLoss);

TEST_P(CudaOutputLoss, MatchesTheReference) {
  with_each_layout([&] {
    for (const int64_t vocabulary : {2, 17, 33, 257, 1030}) {
      SCOPED_TRACE(vocabulary);
      expect_same(LossCase::make(types(), 6, 33, vocabulary));
    }
  });
  expect_same(LossCase::make(types(), 70, 20, 70));
}

TEST_P(CudaOutputLoss, MatchesTheReferenceWithEveryOption) {
  for (const double smoothing : {0.0, 0.1, 1.0}) {
    LossCase c = LossCase::make(types(), 9, 33, 300);
    c.smoothing = smoothing;
    expect_same(c);
    c.bias = {};
    expect_same(c);
  }
  for (const double cap : {0.5, 3.0, 50.0}) {
    LossCase c = LossCase::make(types(), 9, 33, 300);
    c.cap = cap;
    expect_same(c);
    c.x.set(1, 5, std::nan(""));
    EXPECT_TRUE(std::isnan(c.forward(cuda(), types()).losses.get(1, 0)));
  }
}

TEST_P(CudaOutputLoss, WithoutGradientsTheLossIsTheSameBits) {
  const LossCase c = LossCase::make(types(), 20, 33, 300);
  const Guarded losses(DType::f32, 20, 2);
  cuda().output_loss({.x = c.x.view(),
                      .weight = {c.weight.view()},
                      .bias = c.bias.view(),
                      .targets = c.targets.view(),
                      .smoothing = c.smoothing,
                      .losses = losses.view()});
  EXPECT_TRUE(same_bits(losses, c.forward(cuda(), types()).losses));
  EXPECT_TRUE(losses.untouched());
}

// In f32, the logits are where the gradients will be.
TEST_P(CudaOutputLoss, OnTheDeviceTheLossAndItsGradientAreTheSameBits) {
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
