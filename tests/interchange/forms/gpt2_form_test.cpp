#include "interchange/forms/gpt2_form.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "base/errors.h"

namespace heed {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

ModelConfig gpt2() {
  return {.architecture = Architecture::causal_lm,
          .model = 32,
          .inner = 64,
          .heads = 4,
          .encoder_layers = 0,
          .decoder_layers = 2,
          .target_vocabulary = 300,
          .max_length = 64,
          .activation = Activation::gelu_tanh,
          .positions = Positions::learned,
          .output_bias = Bias::none};
}

std::string refusal_of_gpt2(const ModelConfig& config) {
  config.validate();
  try {
    require_gpt2_form(config, "config.json");
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(Gpt2Form, IsTakenWithTyingAndAnyScale) {
  EXPECT_EQ(refusal_of_gpt2(gpt2()), "");
  ModelConfig tied = gpt2();
  tied.tying = Tying::output;
  tied.embedding_scale = EmbeddingScale::none;
  EXPECT_EQ(refusal_of_gpt2(tied), "");
}

TEST(Gpt2Form, EveryOtherSettingIsRefusedByName) {
  const auto refused = [](const std::function<void(ModelConfig&)>& change, const std::string& setting) {
    ModelConfig config = gpt2();
    change(config);
    EXPECT_THAT(refusal_of_gpt2(config),
                AllOf(StartsWith("config.json: " + setting + ", but the GPT-2 form"), HasSubstr("needs ")));
  };
  refused([](ModelConfig& c) { c.norm = NormKind::rms; }, R"(norm = "rms")");
  refused([](ModelConfig& c) { c.positions = Positions::sinusoidal; }, R"(positions = "sinusoidal")");
  refused([](ModelConfig& c) { c.activation = Activation::gelu; }, R"(activation = "gelu")");
  refused([](ModelConfig& c) { c.gating = Gating::gated; }, "gated = true");
  refused([](ModelConfig& c) { c.key_value_heads = 2; }, "key_value_heads = 2");
  refused([](ModelConfig& c) { c.inner = {16, 8}; }, "inner = [16, 8]");
  refused([](ModelConfig& c) { c.head_width = 16; }, "head_width = 16");
  refused([](ModelConfig& c) { c.attention_bias = AttentionBias::inputs; }, R"(attention_bias = "inputs")");
  refused([](ModelConfig& c) { c.feed_forward_bias = PartBias::none; }, R"(feed_forward_bias = "none")");
  refused([](ModelConfig& c) { c.norm_bias = PartBias::none; }, R"(norm_bias = "none")");
  refused([](ModelConfig& c) { c.placement = NormPlacement::post; }, R"(norm_placement = "post")");
  refused([](ModelConfig& c) { c.output_bias = Bias::present; }, "output_bias = true");
  refused([](ModelConfig& c) { c.window = 8; }, "window = 8");
}

}  // namespace
}  // namespace heed
