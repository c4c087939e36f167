#include "kernels/cpu/cpu_testing.h"

namespace heed::test {
namespace {

struct RotationCase {
  Guarded x, positions;
  int64_t heads, dims;
  Turn turn = Turn::forward;
  RotaryScale scale = {};

  RotationCase rows(int64_t first, int64_t count) const {
    return {x.rows(first, count), column_range(positions, first, count), heads, dims, turn, scale};
  }
  Guarded run(Backend& backend, DType type) const {
    Guarded y = converted(x, type);
    backend.rotate(
        {.x = y.view(), .position_rows = positions.view(), .heads = heads, .dims = dims, .turn = turn, .scale = scale});
    return y;
  }
};

class CpuRotation : public CpuTest {};

TEST_P(CpuRotation, MatchesTheReference) {
  for (const auto& [head_width, dims] : std::vector<std::pair<int64_t, int64_t>>{
           {2, 2}, {8, 8}, {15, 6}, {16, 16}, {33, 32}, {64, 34}, {64, 64}, {66, 66}, {128, 128}}) {
    for (const Turn turn : {Turn::forward, Turn::backward}) {
      SCOPED_TRACE(fmt::format("{} of {}, turn {}", dims, head_width, static_cast<int>(turn)));
      const RotationCase c{random(storage(), 11, 3 * head_width, 41), random_integers(11, 100, 42), 3, dims, turn};
      EXPECT_TRUE(close(c.run(cpu(), storage()), c.run(reference(), DType::f64), stored()));
    }
  }
}

// One after the other, of the same width: none may get another's cosines.
TEST_P(CpuRotation, EachScalingMatchesTheReference) {
  for (const auto& [name, scaling] : kRotaryScalingNames) {
    for (const double factor : {2.0, 8.0}) {
      SCOPED_TRACE(name);
      const RotationCase c{random(storage(), 11, 160, 41), random_integers(11, 900, 42), 2, 64, Turn::backward,
                           {scaling, factor, 256.0}};
      EXPECT_TRUE(close(c.run(cpu(), storage()), c.run(reference(), DType::f64), stored()));
    }
  }
}

TEST_P(CpuRotation, LargePositionsMatchTheReference) {
  const RotationCase c{random(storage(), 11, 128, 43), random_integers(11, 100000, 44), 2, 64};
  EXPECT_TRUE(close(c.run(cpu(), storage()), c.run(reference(), DType::f64), stored()));
}

TEST_P(CpuRotation, ARowIsTheSameBitsAloneAndAmongOthers) {
  const RotationCase c{random(storage(), 300, 99, 45), random_integers(300, 200, 46), 3, 22};
  expect_same_rows(c, 300, [&](const RotationCase& part) { return part.run(cpu(), storage()); });
}

HEED_ON_EVERY_INSTRUCTION_SET(CpuRotation);

}  // namespace
}  // namespace heed::test
