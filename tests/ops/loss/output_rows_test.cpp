#include "ops/loss/output_rows.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/cpu/cpu_backend.h"
#include "ops/loss/loss.h"
#include "ops/tape.h"

namespace heed::test {
namespace {

class OutputRowsOf : public testing::Test {
 protected:
  OutputRowsOf() {
    fill(matrix_, 0.3F);
    fill(bias_values_, 1.0F);
    fill(hidden_, 1.0F);
    weight_.borrow(matrix_.view(), nullptr);
    bias_.borrow(bias_values_.view(), nullptr);
  }
  static void fill(Tensor& tensor, float scale) {
    for (int64_t i = 0; i < tensor.elements(); ++i) {
      tensor.data<float>()[i] = scale * std::sin(static_cast<float>(i * i % 101));
    }
  }
  // In the packed form that inference has.
  void pack() {
    weight_ = Weight("output.weight", {50, 12}, WeightUse::product);
    weight_.store(*backend_, {DType::f32, DType::f32},
                  [this](int64_t first, int64_t count) { return matrix_.view().row_range(first, count); });
  }
  Hidden hidden() {
    Tensor copy({5, 12}, DType::f32);
    backend_->copy(hidden_.view(), copy.view());
    return Hidden(Var(std::move(copy), 0));
  }
  void expect_columns_of_all(SoftCapAt cap) {
    const std::vector<int32_t> rows{7, 49, 0, 7, 33};
    const Hidden x = hidden();
    const OutputRows chosen(pass_, {&weight_, &bias_}, rows);
    const Logits all = output_logits(pass_, x, {&weight_, &bias_}, cap);
    const Logits some = output_logits(pass_, x.var().value(), chosen, cap);
    const HostView<float> of_all = host<float>(all.var().value()), of_some = host<float>(some.var().value());
    ASSERT_EQ(of_some.columns, 5);
    for (int64_t r = 0; r < 5; ++r) {
      for (int64_t i = 0; i < 5; ++i) {
        EXPECT_EQ(of_some(r, i), of_all(r, rows[static_cast<size_t>(i)]));
      }
    }
  }

  std::unique_ptr<Backend> backend_ = make_cpu_backend(1);
  Pass pass_ = Pass::infer(*backend_, DType::f32);
  Tensor matrix_{{50, 12}, DType::f32}, bias_values_{{50}, DType::f32}, hidden_{{5, 12}, DType::f32};
  Weight weight_{"output.weight", {50, 12}, WeightUse::product}, bias_{"output.bias", {50}, WeightUse::vector};
};

TEST_F(OutputRowsOf, GiveTheColumnsOfTheWholeProjection) {
  for (const SoftCapAt cap : {SoftCapAt{}, SoftCapAt{2.0}}) {
    expect_columns_of_all(cap);
  }
  pack();
  for (const SoftCapAt cap : {SoftCapAt{}, SoftCapAt{2.0}}) {
    expect_columns_of_all(cap);
  }
}

TEST_F(OutputRowsOf, LogSoftmaxIsOverEachRowsCandidates) {
  const std::vector<int32_t> rows{1, 2, 3, 4};
  const OutputRows chosen(pass_, {&weight_, nullptr}, rows);
  const Logits z = output_logits(pass_, hidden_.view(), chosen);
  const Tensor columns = pass_.indices(std::vector<int32_t>{0, 1, 2, 3, 1, 3});
  const std::vector<int32_t> begins{0, 4, 0, 4, 5}, ends{4, 6, 4, 6, 6};
  const Tensor log_probs = pass_.allocate_master({5, 4});
  log_softmax(pass_, z, {columns.view(), begins, ends}, log_probs.view());
  const HostView<float> found = host<float>(log_probs.view());
  for (int64_t r = 0; r < 5; ++r) {
    float sum = 0.0F;
    const int32_t count = ends[static_cast<size_t>(r)] - begins[static_cast<size_t>(r)];
    for (int64_t i = 0; i < count; ++i) {
      sum += std::exp(found(r, i));
    }
    EXPECT_NEAR(sum, 1.0F, 1e-5F);
    for (int64_t i = count; i < 4; ++i) {
      EXPECT_EQ(found(r, i), -std::numeric_limits<float>::infinity());
    }
  }
  const HostView<float> logits = host<float>(z.var().value());
  EXPECT_NEAR(found(1, 1) - found(1, 0), logits(1, 3) - logits(1, 1), 1e-5F);
}

TEST_F(OutputRowsOf, RefusesRowsAndCandidatesThatAreNotThere) {
  const auto choose = [&](const std::vector<int32_t>& rows) { OutputRows(pass_, {&weight_, &bias_}, rows); };
  EXPECT_THROW(choose({}), ShapeError);
  EXPECT_THROW(choose({0, 50}), ShapeError);
  EXPECT_THROW(choose({-1}), ShapeError);
  const OutputRows chosen(pass_, {&weight_, nullptr}, std::vector<int32_t>{1, 2});
  const Logits z = output_logits(pass_, hidden_.view(), chosen);
  const Tensor columns = pass_.indices(std::vector<int32_t>{0, 1}), log_probs = pass_.allocate_master({5, 3});
  const View enough = log_probs.view();
  const auto take = [&](const std::vector<int32_t>& begins, const std::vector<int32_t>& ends, const View& to) {
    log_softmax(pass_, z, {columns.view(), begins, ends}, to);
  };
  EXPECT_THROW(take({0, 0, 0, 0}, {1, 1, 1, 1}, enough), ShapeError);
  EXPECT_THROW(take({0, 0, 0, 0, 1}, {1, 1, 1, 1, 1}, enough), InternalError);
  EXPECT_THROW(take({0, 0, 0, 0, 0}, {1, 1, 1, 1}, enough), ShapeError);
  EXPECT_THROW(take({0, 0, 0, 0, 0}, {1, 1, 1, 1, 1}, enough.row_range(0, 4)), ShapeError);
  EXPECT_THROW(take({-1, 0, 0, 0, 0}, {1, 1, 1, 1, 1}, enough), InternalError);
  EXPECT_THROW(take({0, 0, 0, 0, 1}, {1, 1, 1, 1, 3}, enough), InternalError);
  EXPECT_THROW(take({0, 0, 0, 0, 0}, {1, 1, 1, 1, 2}, pass_.allocate_master({5, 1}).view()), InternalError);
}

TEST_F(OutputRowsOf, AreNotForTraining) {
  const std::vector<int32_t> rows{1, 2};
  Tape tape;
  const Pass training = Pass::train(*backend_, DType::f32, tape, RandomKey{1});
  EXPECT_THROW(OutputRows(training, {&weight_, &bias_}, rows), InternalError);
  weight_.add_low_rank(std::make_shared<LowRank>());
  EXPECT_THROW(OutputRows(pass_, {&weight_, &bias_}, rows), InternalError);
}

}  // namespace
}  // namespace heed::test
