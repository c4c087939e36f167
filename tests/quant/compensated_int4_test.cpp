#include "quant/compensated_int4.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "kernels/integer_rows.h"

namespace heed::test {
namespace {

constexpr int64_t kRows = 13, kColumns = 128, kInputs = 400;  // rows that no number of lanes divides

std::vector<float> drawn_values(std::string_view name, int64_t count) {
  std::vector<float> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(normal_draw(RandomKey{5}.derive(name), i));
  }
  return values;
}

// Neighbouring columns have much in common.
std::vector<float> correlated_inputs() {
  std::vector<float> inputs = drawn_values("inputs", kInputs * kColumns);
  for (size_t i = 1; i < inputs.size(); ++i) {
    inputs[i] = i % kColumns == 0 ? inputs[i] : 0.9F * inputs[i - 1] + 0.4F * inputs[i];
  }
  return inputs;
}

Tensor squares_of(const std::vector<float>& inputs) {
  Tensor squares({kColumns, kColumns}, DType::f32);
  for (int64_t i = 0; i < kColumns * kColumns; ++i) {
    double sum = 0.0;
    for (size_t row = 0; row < inputs.size(); row += kColumns) {
      sum += static_cast<double>(inputs[row + static_cast<size_t>(i / kColumns)]) *
             static_cast<double>(inputs[row + static_cast<size_t>(i % kColumns)]);
    }
    squares.data<float>()[i] = static_cast<float>(sum);
  }
  return squares;
}

// The sum over inputs and rows of ((W - Q) x)^2.
double error_of_product(const std::vector<float>& values, const IntegerMatrix& rounded,
                        const std::vector<float>& inputs) {
  double error = 0.0;
  for (size_t input = 0; input < inputs.size(); input += kColumns) {
    for (size_t row = 0; row < values.size(); row += kColumns) {
      double difference = 0.0;
      for (size_t k = 0; k < kColumns; ++k) {
        difference +=
            static_cast<double>(values[row + k] - rounded.value(row + k)) * static_cast<double>(inputs[input + k]);
      }
      error += difference * difference;
    }
  }
  return error;
}

class CompensatedInt4 : public testing::TestWithParam<int64_t> {
 protected:
  IntegerMatrix compensated(const Tensor& squares, int threads = 1) const {
    ThreadPool pool(threads);
    return to_compensated_int4(pool, values_, shape_, GetParam(), squares);
  }

  Shape shape_{kRows, kColumns};
  std::vector<float> values_ = drawn_values("weight", kRows* kColumns);
};

TEST_P(CompensatedInt4, HalvesTheErrorOfAProductWithCorrelatedInputs) {
  const std::vector<float> inputs = correlated_inputs();
  const IntegerMatrix plain = to_int4(values_, shape_, GetParam()), found = compensated(squares_of(inputs));
  EXPECT_LT(error_of_product(values_, found, inputs), 0.5 * error_of_product(values_, plain, inputs));
  EXPECT_EQ(found.group(), GetParam());
  for (const float scale : found.scales) {
    EXPECT_EQ(scale, static_cast<float>(bf16(scale)));
  }
}

// Columns that have nothing in common cannot make up for each other.
TEST_P(CompensatedInt4, IsPlainRoundingWhereColumnsHaveNothingInCommon) {
  Tensor squares({kColumns, kColumns}, DType::f32);
  std::fill_n(squares.data<float>(), squares.elements(), 0.0F);
  const IntegerMatrix plain = to_int4(values_, shape_, GetParam());
  EXPECT_EQ(compensated(squares).values, plain.values);
  for (int64_t k = 0; k < kColumns; ++k) {
    squares.data<float>()[k * kColumns + k] = static_cast<float>(k);
  }
  EXPECT_EQ(compensated(squares).values, plain.values);
  EXPECT_EQ(compensated(squares).scales, plain.scales);
}

TEST_P(CompensatedInt4, IsTheSameOnAnyThreads) {
  const Tensor squares = squares_of(correlated_inputs());
  EXPECT_EQ(compensated(squares, 1).values, compensated(squares, 3).values);
}

INSTANTIATE_TEST_SUITE_P(Groups, CompensatedInt4, testing::Values(kInt4Group, kLargeInt4Group));

}  // namespace
}  // namespace heed::test
