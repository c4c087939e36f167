#include "interchange/forms/llama_form.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "base/errors.h"
#include "interchange/gguf/gguf_rotary.h"

namespace heed {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

ModelConfig llama() {
  return {.architecture = Architecture::causal_lm,
          .model = 32,
          .inner = 64,
          .heads = 4,
          .key_value_heads = 2,
          .encoder_layers = 0,
          .decoder_layers = 2,
          .target_vocabulary = 300,
          .max_length = 64,
          .activation = Activation::silu,
          .gating = Gating::gated,
          .positions = Positions::rotary,
          .norm = NormKind::rms,
          .bias = Bias::none,
          .output_bias = Bias::none};
}

std::string refusal_of(const ModelConfig& config) {
  config.validate();
  try {
    require_llama_form(config, "config.json");
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(LlamaForm, IsTakenWithSharedHeadsTyingAndAnyScale) {
  EXPECT_EQ(refusal_of(llama()), "");
  ModelConfig tied = llama();
  tied.tying = Tying::output;
  tied.embedding_scale = EmbeddingScale::none;
  EXPECT_EQ(refusal_of(tied), "");
}

TEST(LlamaForm, EveryOtherSettingIsRefusedByName) {
  const auto refused = [](const std::function<void(ModelConfig&)>& change, const std::string& setting) {
    ModelConfig config = llama();
    change(config);
    EXPECT_THAT(refusal_of(config),
                AllOf(StartsWith("config.json: " + setting + ", but the Llama form"), HasSubstr("needs ")));
  };
  refused([](ModelConfig& c) { c.norm = NormKind::layer; }, R"(norm = "layer")");
  refused([](ModelConfig& c) { c.placement = NormPlacement::post; }, R"(norm_placement = "post")");
  refused([](ModelConfig& c) { c.final_norm = FinalNorm::none; }, "final_norm = false");
  refused([](ModelConfig& c) { c.embedding_norm = EmbeddingNorm::present; }, "embedding_norm = true");
  refused([](ModelConfig& c) { c.head_norm = HeadNorm::each_head; }, R"(qk_norm = "head")");
  refused([](ModelConfig& c) { c.branches = Branches::parallel; }, R"(branches = "parallel")");
  refused([](ModelConfig& c) { c.positions = Positions::learned; }, R"(positions = "learned")");
  refused([](ModelConfig& c) { c.rotary_width = 4; }, "rotary_width = 4");
  refused([](ModelConfig& c) { c.rotary_magnitude = 2.0; }, "rotary_magnitude = 2.0");
  refused([](ModelConfig& c) { c.window = 8; }, "window = 8");
  refused(
      [](ModelConfig& c) {
        c.attention = {layer_pattern("a", "full"), layer_pattern("a", "local:8")};
      },
      R"(attention = ["full", "local:8"])");
  refused([](ModelConfig& c) { c.inner = {16, 8}; }, "inner = [16, 8]");
  refused([](ModelConfig& c) { c.key_value_heads = {1, 2}; }, "key_value_heads = [1, 2]");
  refused([](ModelConfig& c) { c.rotary_base = {1e4, 0.0}; }, "rotary_base = [10000.0, 0.0]");
  refused([](ModelConfig& c) { c.branches = Branches::parallel_own_norms; }, R"(branches = "parallel-own-norms")");
  refused([](ModelConfig& c) { c.value_width = 4; }, "value_width = 4");
  refused([](ModelConfig& c) { c.activation = Activation::gelu; }, R"(activation = "gelu")");
  refused([](ModelConfig& c) { c.gating = Gating::plain; }, "gated = false");
  refused([](ModelConfig& c) { c.bias = Bias::present; }, "bias = true");
  refused([](ModelConfig& c) { c.attention_bias = AttentionBias::inputs; }, R"(attention_bias = "inputs")");
  refused([](ModelConfig& c) { c.feed_forward_bias = PartBias::all; }, R"(feed_forward_bias = "all")");
  refused([](ModelConfig& c) { c.output_bias = Bias::present; }, "output_bias = true");
  refused([](ModelConfig& c) { c.value_embeddings = {1, 0}; }, "value_embeddings = [1, 0]");
  refused([](ModelConfig& c) { c.skips = Skips::mirrored; }, "skips = true");
  refused([](ModelConfig& c) { c.activation = Activation::relu_squared; }, R"(activation = "relu-squared")");
  refused([](ModelConfig& c) { c.logit_cap = 30.0; }, "logit_cap = 30.0");
  refused([](ModelConfig& c) { c.attention_cap = 50.0; }, "attention_cap = 50.0");
}

// Biases that are taken back part by part leave the Llama form.
TEST(LlamaForm, AModelWithoutAnyBiasIsAcceptedWhateverBiasSays) {
  ModelConfig config = llama();
  config.bias = Bias::present;
  config.attention_bias = AttentionBias::none;
  config.feed_forward_bias = PartBias::none;
  EXPECT_EQ(refusal_of(config), "");
}

float number(const ModelConfig& config, const std::string& key) {
  for (const GgufEntry& entry : llama_entries(config)) {
    if (entry.key == key) {
      return std::get<float>(entry.value);
    }
  }
  ADD_FAILURE() << key;
  return 0.0F;
}

// (8.0 to the power of 8 / 6) = 16: heads of 8 columns.
TEST(LlamaForm, ScaledPositionsBecomeAFactorOrAnotherBase) {
  ModelConfig config = llama();
  config.rotary_factor = 8.0;
  config.rotary_scaling = RotaryScaling::linear;
  EXPECT_EQ(number(config, "llama.rope.freq_base"), 10000.0F);
  EXPECT_EQ(number(config, "llama.rope.scaling.factor"), 8.0F);
  config.rotary_scaling = RotaryScaling::ntk;
  EXPECT_NEAR(number(config, "llama.rope.freq_base"), 160000.0F, 0.1F);
}

TEST(LlamaForm, ScalingsByTurnsAreEntriesOrDivisors) {
  ModelConfig config = llama();
  config.rotary_factor = 4.0;
  config.rotary_scaling = RotaryScaling::yarn;
  config.rotary_trained_length = 64;
  config.rotary_fast_turns = 16.0;
  EXPECT_EQ(refusal_of(config), "");
  EXPECT_EQ(number(config, "llama.rope.scaling.factor"), 4.0F);
  EXPECT_EQ(number(config, "llama.rope.scaling.yarn_beta_fast"), 16.0F);
  EXPECT_FALSE(gguf_rotary_divisors(config));
  config.rotary_magnitude = 2.0 * (0.1 * std::log(4.0) + 1.0);
  EXPECT_EQ(refusal_of(config), "");
  EXPECT_FLOAT_EQ(number(config, "llama.rope.scaling.attn_factor"), 2.0F);
  config.rotary_magnitude = 0.0;
  config.rotary_scaling = RotaryScaling::llama3;
  config.rotary_slow_turns = 1.0;
  config.rotary_fast_turns = 4.0;
  EXPECT_EQ(refusal_of(config), "");
  const std::optional<GgufTensor> divisors = gguf_rotary_divisors(config);
  ASSERT_TRUE(divisors);
  EXPECT_EQ(divisors->shape, std::vector<int64_t>{4});
  // What turns more than four times in 64 tokens stays, what turns less than once is divided by the factor.
  const std::vector<float> values = divisors->values();
  EXPECT_EQ(values.front(), 1.0F);
  EXPECT_EQ(values.back(), 4.0F);
  for (const GgufEntry& entry : llama_entries(config)) {
    EXPECT_FALSE(entry.key.starts_with("llama.rope.scaling")) << entry.key;
  }
}

}  // namespace
}  // namespace heed
