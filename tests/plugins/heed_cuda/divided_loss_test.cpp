#include "plugins/heed_cuda/cuda_testing.h"

namespace heed::test {
namespace {

// The loss of all columns of the logits, of which there are parts that begin at `firsts`.
struct DividedLossCase {
  Guarded logits;
  std::vector<int64_t> targets, firsts;
  double cap = 0.0;

  struct Result {
    Guarded losses;
    std::vector<Guarded> sums, d_logits;
  };
  Result run(Backend& backend, Types types) const {
    Result result{Guarded(types.master, logits.rows(), 2), {}, {}};
    std::vector<Guarded> parts, own_targets;
    std::vector<ConstView> sums;
    for (size_t k = 0; k < firsts.size(); ++k) {
      const int64_t end = k + 1 < firsts.size() ? firsts[k + 1] : logits.columns();
      const Guarded part(types.master, logits.rows(), end - firsts[k]);
      std::vector<int64_t> own;
      for (int64_t r = 0; r < part.rows(); ++r) {
        for (int64_t c = 0; c < part.columns(); ++c) {
          part.set(r, c, logits.get(r, firsts[k] + c));
        }
        const int64_t target = targets[static_cast<size_t>(r)];
        own.push_back(target >= firsts[k] && target < end ? target - firsts[k] : -1);
      }
      parts.push_back(part);
      own_targets.push_back(integers(own));
      result.sums.emplace_back(types.master, part.rows(), 4);
      backend.logit_sums({part.view(), own_targets.back().view(), result.sums.back().view()});
      sums.push_back(result.sums.back().view());
    }
    for (size_t k = 0; k < parts.size(); ++k) {
      result.d_logits.emplace_back(types.storage, logits.rows(), parts[k].columns());
      backend.divided_loss({.logits = parts[k].view(),
                            .targets = own_targets[k].view(),
                            .sums = sums,
                            .vocabulary = logits.columns(),
                            .smoothing = 0.1,
                            .cap = cap,
                            .losses = result.losses.view(),
                            .d_logits = result.d_logits.back().view()});
    }
    return result;
  }
};

class CudaDividedLoss : public CudaTest {};
HEED_ON_CUDA(CudaDividedLoss);

TEST_P(CudaDividedLoss, MatchesTheReference) {
  with_each_layout([&] {
    for (const int64_t vocabulary : {3, 17, 64, 301, 2600}) {
      for (const double cap : {0.0, 3.0}) {
        SCOPED_TRACE(fmt::format("{} tokens, cap {}", vocabulary, cap));
        const DividedLossCase c{random(DType::f32, 7, vocabulary, 5, cap > 0.0 ? 0.9 : 3.0),
                                {0, 1, vocabulary / 2, vocabulary / 3, vocabulary - 1, vocabulary - 2, 2},
                                {0, vocabulary / 3, 1 + vocabulary / 2},
                                cap};
        const auto actual = c.run(cuda(), types()), expected = c.run(reference(), kReferenceTypes);
        EXPECT_TRUE(close(actual.losses, expected.losses, kF32));
        for (size_t k = 0; k < c.firsts.size(); ++k) {
          EXPECT_TRUE(close(actual.sums[k], expected.sums[k], kF32));
          EXPECT_TRUE(close(actual.d_logits[k], expected.d_logits[k], stored()));
        }
      }
    }
  });
}

TEST_P(CudaDividedLoss, OfOnePartIsThatOfTheWhole) {
  const DividedLossCase c{random(DType::f32, 5, 100, 6, 3.0), {3, 99, 50, 49, 0}, {0}};
  const LossCase whole{.x = c.logits, .targets = integers(c.targets)};
  EXPECT_TRUE(close(c.run(cuda(), types()).losses, whole.of_logits(cuda(), {DType::f32, DType::f32}).losses, kF32));
}

TEST_P(CudaDividedLoss, TheGradientMayOverwriteTheLogits) {
  const Guarded logits = random(DType::f32, 4, 33, 7, 2.0), targets = integers({32, -1, 0, 16});
  const Guarded sums(DType::f32, 4, 4), losses(DType::f32, 4, 2), apart(DType::f32, 4, 33), found(DType::f32, 4, 33);
  const Tensor shared = cuda().keep({4, 33}, DType::f32);
  cuda().copy(logits.view(), shared.view());
  cuda().logit_sums({logits.view(), targets.view(), sums.view()});
  const std::vector<ConstView> all{sums.view()};
  for (const View& d_logits : {apart.view(), shared.view()}) {
    cuda().divided_loss({.logits = shared.view(),
                         .targets = targets.view(),
                         .sums = all,
                         .vocabulary = 33,
                         .smoothing = 0.1,
                         .losses = losses.view(),
                         .d_logits = d_logits});
  }
  cuda().copy(shared.view(), found.view());
  EXPECT_TRUE(same_bits(found, apart));
}

}  // namespace
}  // namespace heed::test
