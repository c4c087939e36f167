#include "plugins/heed_cuda/cuda_testing.h"

namespace heed::test {
namespace {

struct CudaRotationCase {
  Guarded x, positions;
  int64_t heads, dims;
  Turn turn = Turn::forward;
  RotaryScale scale = {};

  CudaRotationCase rows(int64_t first, int64_t count) const {
    return {x.rows(first, count), column_range(positions, first, count), heads, dims, turn, scale};
  }
  Guarded run(Backend& backend, DType type) const {
    Guarded y = converted(x, type);
    backend.rotate(
        {.x = y.view(), .position_rows = positions.view(), .heads = heads, .dims = dims, .turn = turn, .scale = scale});
    return y;
  }
};

class CudaRotation : public CudaTest {
 protected:
  void expect_same(const CudaRotationCase& c) {
    with_each_layout([&] { EXPECT_TRUE(close(c.run(cuda(), storage()), c.run(reference(), DType::f64), stored())); });
  }
};
HEED_ON_CUDA(CudaRotation);

TEST_P(CudaRotation, MatchesTheReference) {
  for (const auto& [head_width, dims] :
       std::vector<std::pair<int64_t, int64_t>>{{2, 2}, {15, 6}, {16, 16}, {64, 32}, {64, 34}, {64, 64}, {128, 128}}) {
    for (const Turn turn : {Turn::forward, Turn::backward}) {
      SCOPED_TRACE(fmt::format("{} of {}, turn {}", dims, head_width, static_cast<int>(turn)));
      expect_same({random(storage(), 11, 3 * head_width, 41), random_integers(11, 100, 42), 3, dims, turn});
      expect_same({random(storage(), 3, 9 * head_width, 43), random_integers(3, 100, 42), 9, dims, turn});
    }
  }
}

// One after the other, of the same width: none may get another's angles.
TEST_P(CudaRotation, EachScalingMatchesTheReference) {
  for (const auto& [name, scaling] : kRotaryScalingNames) {
    for (const double factor : {2.0, 8.0}) {
      SCOPED_TRACE(name);
      expect_same({random(storage(), 11, 160, 41),
                   random_integers(11, 900, 42),
                   2,
                   64,
                   Turn::backward,
                   {scaling, factor, 256.0}});
    }
  }
}

TEST_P(CudaRotation, LargePositionsMatchTheReference) {
  expect_same({random(storage(), 11, 128, 43), random_integers(11, 100000, 44), 2, 64});
}

TEST_P(CudaRotation, ARowIsTheSameBitsAloneAndAmongOthers) {
  const CudaRotationCase c{random(storage(), 44, 99, 45), random_integers(44, 200, 46), 3, 22};
  expect_same_rows(c, 44, [&](const CudaRotationCase& part) { return part.run(cuda(), storage()); });
}

}  // namespace
}  // namespace heed::test
