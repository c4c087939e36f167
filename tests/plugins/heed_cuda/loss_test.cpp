#include "plugins/heed_cuda/cuda_testing.h"
#include "plugins/heed_cuda/layouts.h"

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
    const LossCase c = logits_case(60, vocabulary);
    expect_same_rows_on_cuda(c, 60, [&](const LossCase& part) { return part.of_logits(cuda(), types()).losses; });
    expect_same_rows_on_cuda(c, 60, [&](const LossCase& part) { return part.of_logits(cuda(), types()).d_logits; });
  }
}

}  // namespace
}  // namespace heed::test
