#include "backends/backend_test.h"

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

class BackendRotation : public BackendTest {
 protected:
  void expect_same(const RotationCase& c) {
    with_each_layout(
        [&] { EXPECT_TRUE(close(c.run(backend(), storage()), c.run(reference(), DType::f64), stored())); });
  }
};

TEST_P(BackendRotation, MatchesTheReference) {
  for (const auto& [head_width, dims] : std::vector<std::pair<int64_t, int64_t>>{
           {2, 2}, {8, 8}, {15, 6}, {16, 16}, {33, 32}, {64, 32}, {64, 34}, {64, 64}, {66, 66}, {128, 128}}) {
    for (const Turn turn : {Turn::forward, Turn::backward}) {
      SCOPED_TRACE(fmt::format("{} of {} columns", dims, head_width));
      expect_same({random(storage(), 11, 3 * head_width, 41), random_integers(11, 100, 42), 3, dims, turn});
      expect_same({random(storage(), 3, 9 * head_width, 43), random_integers(3, 100, 42), 9, dims, turn});
    }
  }
}

// One after the other, of the same width: none may get another's angles.
TEST_P(BackendRotation, EachScalingMatchesTheReference) {
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

TEST_P(BackendRotation, LargePositionsMatchTheReference) {
  expect_same({random(storage(), 11, 128, 43), random_integers(11, 100000, 44), 2, 64});
}

TEST_P(BackendRotation, ARowIsTheSameBitsAloneAndAmongOthers) {
  const int64_t rows = here(300, 44);
  const RotationCase c{random(storage(), rows, 99, 45), random_integers(rows, 200, 46), 3, 22};
  expect_same_rows(c, rows, [&](const RotationCase& part) { return part.run(backend(), storage()); });
}

HEED_IN_EACH_SETTING(BackendRotation, any_call);

}  // namespace
}  // namespace heed::test
