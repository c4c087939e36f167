// Weights of whole numbers: their sums have one answer, so results are compared bit by bit with the oracle's.
#include <cmath>

#include "kernels/cpu/cpu_testing.h"
#include "kernels/integer_rows.h"

namespace heed::test {
namespace {

// The columns of weights: around the widths of panels.
constexpr int64_t kOutputs[] = {1, 15, 16, 17, 32, 33, 100, 300};
constexpr int64_t kInputs[] = {1, 3, 4, 5, 31, 64, 67, 520};

class CpuInt8 : public CpuTest {
 protected:
  // Whole numbers over the whole range, of which every row has both ends, and scales of different sizes.
  void make(int64_t out, int64_t in) {
    values_ = Guarded(DType::i8, out, in, kTight);
    scales_ = random(DType::f32, 1, out, 5);
    for (int64_t r = 0; r < out; ++r) {
      scales_.set(0, r, std::abs(scales_.get(0, r)));
      for (int64_t c = 0; c < in; ++c) {
        values_.set(r, c, static_cast<double>((r * 37 + c * 101) % 255 - 127));
      }
    }
    packed_ = cpu().pack(matrix());
    expected_ = oracle().pack(matrix());
  }
  Int8Matrix matrix() const {
    return {{values_.rows(), values_.columns()},
            [this](int64_t first, int64_t count) { return values_.view().row_range(first, count); },
            scales_.view()};
  }
  LinearCase linear_case(int64_t rows) {
    LinearCase c = LinearCase::make(types(), rows, values_.columns(), values_.rows());
    c.bias = Guarded();
    c.packed = packed_.get();
    return c;
  }

  Guarded values_, scales_;
  std::unique_ptr<PackedWeight> packed_, expected_;
};

TEST_P(CpuInt8, AProductHasTheBitsOfTheOracle) {
  for (const int64_t out : kOutputs) {
    for (const int64_t in : kInputs) {
      make(out, in);
      for (const int64_t rows : {1, 2, 3, 5, 6, 12, 13, 40}) {
        LinearCase c = linear_case(rows);
        const Guarded y = c.forward(cpu(), types()).y;
        c.packed = expected_.get();
        EXPECT_TRUE(same_bits(y, c.forward(oracle(), types()).y)) << rows << " rows, " << in << " to " << out;
        EXPECT_TRUE(y.untouched());
      }
    }
  }
}

TEST_P(CpuInt8, ARowOfZerosGivesTheBias) {
  make(33, 20);
  LinearCase c = linear_case(2);
  c.bias = random(DType::f32, 1, 33, 3);
  c.x = Guarded(storage(), 2, 20);
  for (int64_t k = 0; k < 40; ++k) {
    c.x.set(k / 20, k % 20, 0.0);
  }
  const Guarded y = c.forward(cpu(), types()).y;
  for (int64_t column = 0; column < 33; ++column) {
    EXPECT_EQ(y.get(0, column), converted(c.bias, storage()).get(0, column));
  }
}

// With many values, all tasks share rows that were quantized once; with few, each task quantizes its own.
TEST_P(CpuInt8, ARowHasTheSameBitsInAnyBatchAndOnAnyThreads) {
  make(150, 96);
  LinearCase c = linear_case(300);
  c.activation = Activation::gelu;
  expect_same_rows(c, 300, [&](const LinearCase& part) { return part.forward(cpu(), types()).y; });
  const auto alone = CpuTest::make(1);
  EXPECT_TRUE(same_bits(c.forward(*alone, types()).y, c.forward(cpu(), types()).y));
}

TEST_P(CpuInt8, ATableGivesRowsTimesTheirScales) {
  make(70, 37);
  EmbeddingCase c = EmbeddingCase::make(types(), 100, 70, 37);
  c.packed = packed_.get();
  const Guarded y = c.forward(cpu(), types());
  c.packed = expected_.get();
  EXPECT_TRUE(close(y, c.forward(oracle(), kOracleTypes), stored()));
}

TEST_P(CpuInt8, TheOutputLossIsTheOracles) {
  make(600, 96);
  LossCase c = LossCase::make(types(), 60, 96, 600);
  c.packed = packed_.get();
  const auto losses = c.forward(cpu(), types()).losses;
  c.packed = expected_.get();
  EXPECT_TRUE(close(losses, c.forward(oracle(), {storage(), DType::f32}).losses, tolerance_of(DType::f32)));
}

class CpuInt4 : public CpuTest {
 protected:
  void make(int64_t out, int64_t in) {
    values_ = Guarded(DType::i8, out, in, kTight);
    scales_ = Guarded(DType::f32, out, in / kInt4Group, kTight);
    for (int64_t r = 0; r < out; ++r) {
      for (int64_t c = 0; c < in; ++c) {
        values_.set(r, c, static_cast<double>((r * 37 + c * 101) % 16 - 8));
      }
      for (int64_t g = 0; g < in / kInt4Group; ++g) {
        scales_.set(r, g,
                    static_cast<double>(static_cast<float>(bf16(0.01F * static_cast<float>((r + 3 * g) % 13 - 5)))));
      }
    }
    packed_ = cpu().pack(matrix());
    expected_ = oracle().pack(matrix());
  }
  Int4Matrix matrix() const {
    return {{values_.rows(), values_.columns()},
            [this](int64_t first, int64_t count) { return values_.view().row_range(first, count); },
            scales_.view()};
  }
  LinearCase linear_case(int64_t rows) {
    LinearCase c = LinearCase::make(types(), rows, values_.columns(), values_.rows());
    c.bias = Guarded();
    c.packed = packed_.get();
    return c;
  }

  Guarded values_, scales_;
  std::unique_ptr<PackedWeight> packed_, expected_;
};

TEST_P(CpuInt4, AProductHasTheBitsOfTheOracle) {
  for (const int64_t out : {1, 8, 15, 16, 17, 32, 33, 100}) {
    for (const int64_t in : {32, 64, 96, 288}) {
      make(out, in);
      for (const int64_t rows : {1, 2, 5, 6, 7, 12, 13, 25}) {
        LinearCase c = linear_case(rows);
        const Guarded y = c.forward(cpu(), types()).y;
        c.packed = expected_.get();
        EXPECT_TRUE(same_bits(y, c.forward(oracle(), types()).y)) << rows << " rows, " << in << " to " << out;
        EXPECT_TRUE(y.untouched());
      }
    }
  }
}

TEST_P(CpuInt4, ARowHasTheSameBitsInAnyBatchAndOnAnyThreads) {
  make(150, 96);
  LinearCase c = linear_case(300);
  c.activation = Activation::gelu;
  expect_same_rows(c, 300, [&](const LinearCase& part) { return part.forward(cpu(), types()).y; });
  const auto alone = CpuTest::make(1);
  EXPECT_TRUE(same_bits(c.forward(*alone, types()).y, c.forward(cpu(), types()).y));
}

TEST_P(CpuInt4, ATableGivesRowsTimesTheirScales) {
  make(70, 64);
  EmbeddingCase c = EmbeddingCase::make(types(), 100, 70, 64);
  c.packed = packed_.get();
  const Guarded y = c.forward(cpu(), types());
  c.packed = expected_.get();
  EXPECT_TRUE(close(y, c.forward(oracle(), kOracleTypes), stored()));
}

TEST_P(CpuInt4, TakesFourAndAHalfBitsForAValue) {
  make(64, 256);
  EXPECT_EQ(packed_->bytes(), 64 * 256 / 2 + 64 * 256 / kInt4Group * 2);
}

HEED_ON_EVERY_INSTRUCTION_SET(CpuInt8);
HEED_ON_EVERY_INSTRUCTION_SET(CpuInt4);

}  // namespace
}  // namespace heed::test
