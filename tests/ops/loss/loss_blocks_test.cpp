// The loss in blocks of rows: a vocabulary so large that 64 MiB hold few rows, over a tiny model.
#include "kernels/cpu/cpu_backend.h"
#include "ops/op_testing.h"

namespace heed::test {
namespace {

constexpr int64_t kVocabulary = 400'000, kModel = 4, kRows = 150;
constexpr int64_t kBlockRows =
    38;  // 41 rows in f32 would fit into 64 MiB; blocks of 48 are the shortest, and all alike
constexpr double kScale = 0.01;

struct Gradients {
  std::vector<double> losses, d_x, d_weight, d_bias;
  int64_t peak_bytes = 0;
};

class LossInBlocks : public ::testing::Test {
 protected:
  LossInBlocks() {
    weight_.borrow(values_.view(), &trainable_weight_);
    bias_.borrow(bias_values_.view(), &trainable_bias_);
    for (int64_t r = 0; r < kRows; ++r) {
      targets_.push_back(static_cast<int32_t>(r * 2'661));
    }
  }

  // The loss of rows [first, first + count), added to the weights' gradients, unless they are the first.
  Gradients of_rows(int64_t first, int64_t count) {
    const auto backend = make_cpu_backend(2);
    Gradients found;
    {
      const Var x = make_var(*backend, x_.view().row_range(first, count));
      Tape tape(kScale);
      Pass pass = Pass::train(*backend, DType::f32, tape, RandomKey{1});
      const Targets targets({targets_.begin() + first, targets_.begin() + first + count});
      const TokenLosses losses = output_loss(pass, Hidden(x), {&weight_, &bias_}, targets, Smoothing{0.1F});
      tape.backward(*backend);
      for (int64_t r = 0; r < count; ++r) {
        found.losses.push_back(losses.smoothed(r));
      }
      found.d_x = x.gradient().empty() ? std::vector<double>() : values_of(x.gradient());
    }
    found.d_weight = values_of(d_weight_.view());
    found.d_bias = values_of(d_bias_.view());
    found.peak_bytes = backend->arena().peak_bytes();
    return found;
  }
  Gradients of_all_at_once() {
    begin_update();
    return of_rows(0, kRows);
  }
  Gradients of_one_block_after_the_other() {
    begin_update();
    Gradients all;
    for (int64_t first = 0; first < kRows; first += kBlockRows) {
      const Gradients block = of_rows(first, std::min(kBlockRows, kRows - first));
      all.losses.insert(all.losses.end(), block.losses.begin(), block.losses.end());
      all.d_x.insert(all.d_x.end(), block.d_x.begin(), block.d_x.end());
      all.d_weight = block.d_weight;
      all.d_bias = block.d_bias;
    }
    return all;
  }
  void begin_update() {
    trainable_weight_.begin_gradient(d_weight_.view());
    trainable_bias_.begin_gradient(d_bias_.view());
  }

  std::vector<int32_t> targets_;

 private:
  Tensor x_ = random_tensor({kRows, kModel}, 1, 1.0, DType::f32);
  Tensor values_ = random_tensor({kVocabulary, kModel}, 2, 0.5, DType::f32);
  Tensor bias_values_ = random_tensor({kVocabulary}, 3, 0.5, DType::f32);
  Tensor d_weight_{{kVocabulary, kModel}, DType::f32}, d_bias_{{kVocabulary}, DType::f32};
  Weight weight_{"weight", {kVocabulary, kModel}, WeightUse::product};
  Weight bias_{"bias", {kVocabulary}, WeightUse::vector};
  Trainable trainable_weight_{values_.view(), d_weight_.view()}, trainable_bias_{bias_values_.view(), d_bias_.view()};
};

TEST_F(LossInBlocks, HasAtMostOneBlocksLogitsInMemory) {
  const int64_t one_block = kBlockRows * kVocabulary * 4, all = kRows * kVocabulary * 4;
  const int64_t peak = of_all_at_once().peak_bytes;
  EXPECT_GE(peak, one_block);
  EXPECT_LT(peak, one_block + all / 100);
}

TEST_F(LossInBlocks, IsTheSameBitsAsTheBlocksOneAfterTheOther) {
  const Gradients whole = of_all_at_once(), blocks = of_one_block_after_the_other();
  EXPECT_TRUE(same_bits(whole.losses, blocks.losses));
  EXPECT_TRUE(same_bits(whole.d_x, blocks.d_x));
  EXPECT_TRUE(same_bits(whole.d_weight, blocks.d_weight));
  EXPECT_TRUE(same_bits(whole.d_bias, blocks.d_bias));
}

TEST_F(LossInBlocks, IgnoredRowsTakeNoMemory) {
  std::fill(targets_.begin() + 1, targets_.end(), Targets::kIgnored);
  EXPECT_LT(of_all_at_once().peak_bytes, 2 * kVocabulary * 4);
}

TEST_F(LossInBlocks, WithAllRowsIgnoredTakesNoMemoryAndHasNoGradient) {
  std::ranges::fill(targets_, Targets::kIgnored);
  const Gradients none = of_all_at_once();
  EXPECT_LT(none.peak_bytes, kVocabulary);
  EXPECT_EQ(none.losses, std::vector<double>(kRows, 0.0));
  EXPECT_TRUE(none.d_x.empty());
}

// x's gradient for a weight that the input gradient's product takes in two parts.
TEST(LossInParts, GivesTheGradientOfTheLossOfAllLogits) {
  constexpr int64_t kLarge = 300'000, kColumns = 64, kFew = 3;  // 64 MiB hold 262,144 rows of the weight
  Tensor values({kLarge, kColumns}, DType::f32), d_weight({kLarge, kColumns}, DType::f32);
  for (int64_t i = 0; i < values.elements(); ++i) {
    values.data<float>()[i] = 0.001F * static_cast<float>(i * 7'919 % 1'009 - 504);
  }
  const Tensor x = random_tensor({kFew, kColumns}, 1, 1.0, DType::f32);
  const Targets targets({5, 270'000, 131'072});
  Weight weight("weight", {kLarge, kColumns}, WeightUse::product);
  Trainable trainable(values.view(), d_weight.view());
  weight.borrow(values.view(), &trainable);
  const auto backend = make_cpu_backend(2);
  const auto gradient = [&](auto&& loss) {
    trainable.begin_gradient(d_weight.view());
    const Var input = make_var(*backend, x.view());
    Tape tape(kScale);
    Pass pass = Pass::train(*backend, DType::f32, tape, RandomKey{1});
    loss(pass, input);
    tape.backward(*backend);
    return values_of(input.gradient());
  };
  const auto parts = gradient([&](Pass& pass, const Var& input) {
    output_loss(pass, Hidden(input), {&weight, nullptr}, targets, Smoothing{0.1F});
  });
  const auto whole = gradient([&](Pass& pass, const Var& input) {
    cross_entropy(pass, Logits(linear(pass, input, {&weight, nullptr})), targets, Smoothing{0.1F});
  });
  ASSERT_EQ(parts.size(), whole.size());
  for (size_t i = 0; i < parts.size(); ++i) {
    EXPECT_NEAR(parts[i], whole[i], 1e-5) << i;  // of some 2e-3: sums of 300,000 in f32
  }
}

}  // namespace
}  // namespace heed::test
