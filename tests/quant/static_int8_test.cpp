#include "quant/static_int8.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"
#include "kernels/cpu/cpu_backend.h"
#include "models/any_model.h"

namespace heed::test {
namespace {

std::vector<float> drawn(std::string_view name, int64_t count) {
  std::vector<float> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(normal_draw(RandomKey{3}.derive(name), i));
  }
  return values;
}

View view_of(std::vector<float>& rows, int64_t columns) {
  return {rows.data(), DType::f32, static_cast<int64_t>(rows.size()) / columns, columns, columns};
}

TEST(ProductInputs, KeepEvenlySpacedRowsAndTheSquaresOfTheOthers) {
  const auto backend = make_cpu_backend(1);
  constexpr int64_t kSeen = 5000, kWide = 3;
  std::vector<float> rows = drawn("rows", kSeen * kWide);
  for (int64_t r = 0; r < kSeen; ++r) {
    rows[static_cast<size_t>(r * kWide)] = static_cast<float>(r);
  }
  rows[4000] = -7e4F;
  ProductInputs inputs(kWide, Squares::wanted);
  for (int64_t first = 0; first < kSeen; first += 100) {
    inputs.see(*backend, view_of(rows, kWide).row_range(first, 100));
  }
  const InputRows sample = inputs.sample();
  EXPECT_EQ(sample.rows(), 625);  // of 1,250, when 1,024 were reached
  for (int64_t i = 0; i < sample.rows(); ++i) {
    EXPECT_EQ(sample.values[static_cast<size_t>(i * kWide)], static_cast<float>(8 * i));
  }
  EXPECT_EQ(inputs.largest()[1], 7e4F);
  double square = 0.0;
  for (size_t r = 0; r < kSeen; ++r) {
    square += r % 4 == 0 ? 0.0 : std::pow(static_cast<double>(rows[r * kWide + 2]), 2);
  }
  EXPECT_NEAR(inputs.squares().data<float>()[8], square, 1e-3 * square);
}

class StaticInt8 : public testing::Test {
 protected:
  static constexpr int64_t kWidth = 32;

  StaticInt8() {
    norm_ = &weights_.add("layer.norm.gain", {kWidth}, WeightUse::vector, Initialization::ones());
    product_ = &weights_.add("layer.projection.weight", {16, kWidth}, WeightUse::product, Initialization::zeros());
    values_ = drawn("weight", 16 * kWidth);
  }
  StaticPlan plan(const std::vector<NormedProducts>& norms) {
    inputs_.see(*backend_, view_of(rows_, kWidth));
    return plan_static(*backend_, {{*product_, values_, inputs_}}, norms);
  }

  std::unique_ptr<Backend> backend_ = make_cpu_backend(1);
  Weights weights_;
  const Weight *norm_, *product_;
  std::vector<float> values_, rows_ = drawn("inputs", 400 * kWidth);
  ProductInputs inputs_{kWidth, Squares::none};
};

// Whatever is chosen, it is no worse than a range that cuts nothing off.
TEST_F(StaticInt8, ChoosesTheRangeWithTheLeastErrorOfItsProduct) {
  rows_[40] = 60.0F;
  const StaticPlan found = plan({});
  const StaticInputs& chosen = found.inputs.at("layer.projection.weight");
  const auto exact = packed_f32(*backend_, values_, product_->shape());
  const IntegerMatrix integers = to_int8(values_, product_->shape());
  const auto rounded = backend_->pack(integers.as_int8(60.0F / 127.0F));
  EXPECT_LT(chosen.noise.noise, 0.5 * product_noise(*backend_, inputs_.sample(), *exact, *rounded).noise);
  EXPECT_TRUE(found.smoothing.multiplied.empty());
}

TEST_F(StaticInt8, InputsThatAreAllZerosHaveNoRange) {
  std::ranges::fill(rows_, 0.0F);
  EXPECT_TRUE(plan({}).inputs.empty());
}

// One column is fifty times as large as the others: the norm's gain takes that over from the inputs.
TEST_F(StaticInt8, SmoothsAColumnOfOutliers) {
  for (size_t i = 5; i < rows_.size(); i += kWidth) {
    rows_[i] *= 50.0F;
  }
  const double before = plan({}).inputs.at("layer.projection.weight").noise.decibels();
  const StaticPlan found = plan({{{norm_}, {product_}}});
  EXPECT_GT(found.inputs.at("layer.projection.weight").noise.decibels(), before + 6.0);

  std::vector<float> gain(kWidth, 1.0F), scaled = values_;
  found.smoothing.apply("layer.norm.gain", gain);
  found.smoothing.apply("layer.projection.weight", scaled);
  EXPECT_LT(gain[5], 0.2F * gain[6]);
  for (size_t i = 0; i < scaled.size(); ++i) {
    ASSERT_NEAR(scaled[i] * gain[i % kWidth], values_[i], 1e-5F * std::abs(values_[i]));
  }
}

// A gain that is stored as 0 stands for 1.
TEST_F(StaticInt8, SmoothsGainsThatAreStoredAsWhatTheyHaveAboveOne) {
  for (size_t i = 5; i < rows_.size(); i += kWidth) {
    rows_[i] *= 50.0F;
  }
  const StaticPlan found = plan({{{norm_}, {product_}, NormGain::plus_one}});
  std::vector<float> gain(kWidth, 0.0F), scaled = values_;
  found.smoothing.apply("layer.norm.gain", gain);
  found.smoothing.apply("layer.projection.weight", scaled);
  for (size_t i = 0; i < scaled.size(); ++i) {
    ASSERT_NEAR(scaled[i] * (1.0F + gain[i % kWidth]), values_[i], 1e-4F * std::abs(values_[i]));
  }
}

TEST_F(StaticInt8, DoesNotSmoothWhatSomethingElseReadsToo) {
  const Weight& other = weights_.add("other", {16, kWidth}, WeightUse::product, Initialization::zeros());
  EXPECT_TRUE(plan({{{norm_}, {product_, &other}}}).smoothing.divided.empty());
}

std::vector<std::string> readers_of(const ModelConfig& config, const std::string& norm) {
  Weights weights;
  const AnyModel model(Scope(weights), config);
  std::vector<std::string> names;
  for (const NormedProducts& one : normed_products(config, weights)) {
    for (const Weight* const product : one.products) {
      if (one.norm.front()->name() == norm + ".gain") {
        names.push_back(product->name());
      }
    }
  }
  return names;
}

ModelConfig small_model(Architecture architecture) {
  ModelConfig config{.architecture = architecture, .model = 8, .inner = 16, .heads = 2, .encoder_layers = 2};
  config.decoder_layers = 2;
  config.source_vocabulary = config.target_vocabulary = 10;
  return config;
}

using Names = std::vector<std::string>;

TEST(NormedProducts, AreThoseThatAloneReadANorm) {
  ModelConfig config = small_model(Architecture::seq2seq);
  EXPECT_EQ(readers_of(config, "encoder.layers.1.attention.norm"),
            Names{"encoder.layers.1.attention.projection.weight"});
  EXPECT_EQ(readers_of(config, "decoder.layers.0.cross_attention.norm"),
            Names{"decoder.layers.0.cross_attention.query.weight"});
  EXPECT_EQ(readers_of(config, "decoder.layers.0.feed_forward.norm"),
            Names{"decoder.layers.0.feed_forward.inner.weight"});
  EXPECT_EQ(readers_of(config, "encoder.norm"), (Names{"decoder.layers.0.cross_attention.key_value.weight",
                                                       "decoder.layers.1.cross_attention.key_value.weight"}));
  EXPECT_EQ(readers_of(config, "decoder.norm"), Names{"output.weight"});
  config.tying = Tying::output;  // the table is looked up, too
  EXPECT_EQ(readers_of(config, "decoder.norm"), Names{});
  config.placement = NormPlacement::post;  // the residual connection reads the norm, too
  EXPECT_EQ(readers_of(config, "encoder.layers.1.attention.norm"), Names{});
}

TEST(NormedProducts, OfParallelBranchesAreBoth) {
  ModelConfig config = small_model(Architecture::causal_lm);
  config.branches = Branches::parallel;
  EXPECT_EQ(readers_of(config, "decoder.layers.0.attention.norm"),
            (Names{"decoder.layers.0.attention.projection.weight", "decoder.layers.0.feed_forward.inner.weight"}));
}

// Its rows are embeddings.
TEST(NormedProducts, AnEncodersLastNormHasNone) {
  EXPECT_EQ(readers_of(small_model(Architecture::encoder), "encoder.norm"), Names{});
}

}  // namespace
}  // namespace heed::test
