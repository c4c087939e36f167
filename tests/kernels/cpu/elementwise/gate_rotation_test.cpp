#include "kernels/cpu/cpu_testing.h"

namespace heed::test {
namespace {

class CpuGate : public CpuTest {
 protected:
  void expect_same(const GateCase& c) {
    EXPECT_TRUE(close(c.forward(cpu(), types()), c.forward(reference(), kReferenceTypes), stored()));
    EXPECT_TRUE(close(c.backward(cpu(), types()), c.backward(reference(), kReferenceTypes), stored()));
  }
};

TEST_P(CpuGate, MatchesTheReference) {
  for (const Activation activation : kActivations) {
    for (const float p : {0.0F, 0.25F}) {
      SCOPED_TRACE(fmt::format("activation {}, dropout {}", static_cast<int>(activation), p));
      GateCase c = GateCase::make(types(), activation, 6, 37);
      c.dropout = dropout_of(p);
      expect_same(c);
    }
  }
  for (const int64_t columns : kColumns) {
    SCOPED_TRACE(columns);
    expect_same(GateCase::make(types(), Activation::silu, 5, columns));
  }
  for (const int64_t rows : kRows) {
    SCOPED_TRACE(rows);
    expect_same(GateCase::make(types(), Activation::gelu_tanh, rows, 33));
  }
}

TEST_P(CpuGate, ARowIsTheSameBitsAloneAndAmongOthers) {
  GateCase c = GateCase::make(types(), Activation::silu, 300, 65);
  c.dropout = dropout_of(0.25F);
  expect_same_rows(c, 300, [&](const GateCase& part) { return part.forward(cpu(), types()); });
  expect_same_rows(c, 300, [&](const GateCase& part) { return part.backward(cpu(), types()); });
}

HEED_ON_EVERY_INSTRUCTION_SET(CpuGate);

class CpuDropout : public CpuTest {};

TEST_P(CpuDropout, DropsExactlyTheValuesThatTheCounterSelects) {
  // So many values that some of their draws are the threshold itself, and its neighbours.
  const int64_t rows = 700, columns = 1001;
  const Dropout dropout = dropout_of(0.3F);
  const Guarded ones(storage(), rows, columns), factors(storage(), rows, columns);
  cpu().fill(ones.view(), 1.0);
  cpu().activation_backward(
      {.activation = Activation::none, .dropout = dropout, .d_y = ones.view(), .d_before = factors.view()});
  int64_t wrong = 0;
  for (int64_t r = 0; r < rows; ++r) {
    const RowRandom row = dropout.row(r);
    for (int64_t c = 0; c < columns; ++c) {
      const bool kept = row.draw16(static_cast<uint32_t>(c)) >= dropout.threshold;
      wrong += kept == (factors.get(r, c) != 0.0) ? 0 : 1;
    }
  }
  EXPECT_EQ(wrong, 0);
}

TEST_P(CpuDropout, AloneInPlaceDropsWhatOtherOpsDrop) {
  const Dropout dropout = dropout_of(0.3F);
  const Guarded x = random(storage(), 9, 65, 22), factors(storage(), 9, 65);
  const Guarded y = clone(x);
  cpu().drop({y.view(), dropout});
  cpu().activation_backward(
      {.activation = Activation::none, .dropout = dropout, .d_y = x.view(), .d_before = factors.view()});
  EXPECT_TRUE(same_bits(y, factors));
  EXPECT_TRUE(y.untouched());
}

HEED_ON_EVERY_INSTRUCTION_SET(CpuDropout);

class CpuSoftCap : public CpuTest {};

TEST_P(CpuSoftCap, MatchesTheReference) {
  for (const int64_t columns : kColumns) {
    for (const double cap : {0.5, 30.0}) {
      SCOPED_TRACE(fmt::format("{} columns, cap {}", columns, cap));
      const Guarded x = random(storage(), 5, columns, 23, 20.0), d_y = random(storage(), 5, columns, 24);
      const auto run = [&](Backend& backend, DType type) {
        const Guarded y = converted(x, type);
        backend.soft_cap({y.view(), cap});
        return y;
      };
      const Guarded y = run(cpu(), storage());
      EXPECT_TRUE(close(y, run(reference(), DType::f64), stored()));
      const Guarded d_x = clone(d_y), expected = converted(d_y, DType::f64);
      cpu().soft_cap_backward({y.view(), d_x.view(), cap});
      reference().soft_cap_backward({y.view(), expected.view(), cap});
      EXPECT_TRUE(close(d_x, expected, stored()));
    }
  }
}

TEST_P(CpuSoftCap, KeepsWhatIsNotANumber) {
  const Guarded x = random(storage(), 1, 20, 25);
  x.set(0, 3, std::nan(""));
  cpu().soft_cap({x.view(), 30.0});
  EXPECT_TRUE(std::isnan(x.get(0, 3)));
  EXPECT_FALSE(std::isnan(x.get(0, 4)));
}

HEED_ON_EVERY_INSTRUCTION_SET(CpuSoftCap);

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
