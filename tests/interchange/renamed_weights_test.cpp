#include "interchange/renamed_weights.h"

#include <gtest/gtest.h>

#include "base/errors.h"
#include "interchange/archive/safetensors_archive.h"
#include "interchange/config_differences.h"
#include "interchange/foreign_weights.h"
#include "interchange/forms/llama_form.h"
#include "interchange/huggingface/huggingface_form.h"
#include "models/any_model.h"
#include "tensor_files/safetensors.h"
#include "tensor_files/tensor_values.h"
#include "test_folder.h"

namespace heed::test {
namespace {

ModelConfig renamed_model() {
  ModelConfig config{.architecture = Architecture::causal_lm,
                     .model = 16,
                     .inner = 24,
                     .heads = 2,
                     .key_value_heads = 1,
                     .encoder_layers = 0,
                     .decoder_layers = 2,
                     .target_vocabulary = 13,
                     .max_length = 32};
  config.activation = Activation::silu;
  config.gating = Gating::gated;
  config.positions = Positions::rotary;
  config.norm = NormKind::rms;
  config.bias = config.output_bias = Bias::none;
  config.embedding_scale = EmbeddingScale::none;
  return config;
}

// All weights, with multiples of a sixteenth as values; vectors have `gain` added.
void write_numbered(const std::filesystem::path& path, const ModelConfig& config, StoredType matrices, float gain) {
  Weights weights;
  const AnyModel model(Scope(weights), config);
  std::vector<TensorSource> sources;
  float next = 0.0F;
  for (const Weight& weight : weights.all()) {
    const bool is_vector = weight.use() == WeightUse::vector;
    std::vector<float> values(static_cast<size_t>(weight.shape().elements()));
    for (float& value : values) {
      next = next > 7.0F ? -7.0F : next + 0.0625F;
      value = next + (is_vector ? gain : 0.0F);
    }
    std::vector<int64_t> shape;
    for (int axis = 0; axis < weight.shape().rank(); ++axis) {
      shape.push_back(weight.shape()[axis]);
    }
    const StoredType type = is_vector ? StoredType::f32 : matrices;
    sources.push_back(
        {weight.name(), type, shape, [values, type](const ByteSink& sink) { sink(bytes_as(type, values, "test")); }});
  }
  write_safetensors(path, sources, {});
}

void write_renamed(const std::filesystem::path& path, const std::vector<RenamedTensor>& tensors) {
  std::vector<TensorSource> sources;
  for (const RenamedTensor& tensor : tensors) {
    sources.push_back(
        {tensor.name, tensor.type, tensor.shape, [&tensor](const ByteSink& sink) { sink(tensor.bytes()); }});
  }
  write_safetensors(path, sources, {});
}

class RenamedWeightsOf : public testing::TestWithParam<ForeignForm> {};

// What is written by a table of names is read by the same table, also where rows have another order or place.
TEST_P(RenamedWeightsOf, AreReadBackTheSame) {
  const std::filesystem::path folder = folder_of_test();
  std::filesystem::create_directories(folder);
  const ModelConfig config = renamed_model();
  write_numbered(folder / "own.safetensors", config, StoredType::bf16, 0.0F);
  const SafeTensors own(folder / "own.safetensors");
  ForeignNames names = llama_names();
  for (ForeignTensor& tensor : names.tensors) {
    const bool turned = tensor.roles.front() == WeightRole::query || tensor.roles.front() == WeightRole::key;
    if (GetParam() == ForeignForm::rotated_pairs ? turned : tensor.roles.front() == WeightRole::up) {
      tensor.form = GetParam();
    } else if (tensor.form == ForeignForm::rotated_pairs) {
      tensor.form = ForeignForm::same;
    }
  }
  write_renamed(folder / "renamed.safetensors", renamed_weights(names, config, own, {}, "model"));
  const auto archive = std::make_shared<const TensorArchive>(open_safetensors_archive(folder / "renamed.safetensors"));
  const ForeignWeights read(archive, names, config);
  for (const StoredTensor& tensor : own.tensors()) {
    EXPECT_EQ(read_floats(read, read.at(tensor.name)), read_floats(own, tensor)) << tensor.name;
  }
  std::filesystem::remove_all(folder);
}

INSTANTIATE_TEST_SUITE_P(Forms, RenamedWeightsOf,
                         testing::Values(ForeignForm::same, ForeignForm::transposed, ForeignForm::rotated_pairs));

// 1.001 is not a bf16 number.
TEST(RenamedWeights, KeepVectorsInF32WhereTheMatricesTypeWouldRoundThem) {
  const std::filesystem::path folder = folder_of_test();
  std::filesystem::create_directories(folder);
  for (const float gain : {1.0F, 1.001F}) {
    write_numbered(folder / "own.safetensors", renamed_model(), StoredType::bf16, gain);
    const SafeTensors own(folder / "own.safetensors");
    for (const RenamedTensor& tensor : renamed_weights(llama_names(), renamed_model(), own, {}, "model")) {
      const bool is_exact = tensor.shape.size() == 2 || gain == 1.0F;
      EXPECT_EQ(tensor.type, is_exact ? StoredType::bf16 : StoredType::f32) << tensor.name;
    }
    for (const RenamedTensor& tensor : renamed_weights(llama_names(), renamed_model(), own, StoredType::f16, "model")) {
      EXPECT_EQ(tensor.type, StoredType::f16) << tensor.name;
    }
  }
  std::filesystem::remove_all(folder);
}

TEST(RenamedWeights, RefuseValuesBeyondF16) {
  EXPECT_THROW(bytes_as(StoredType::f16, std::array{70000.0F}, "test"), FormatError);
  EXPECT_EQ(bytes_as(StoredType::f16, std::array{65504.0F}, "test").size(), 2U);
}

std::vector<std::string> settings_that_differ(const ModelConfig& a, const ModelConfig& b) {
  std::vector<std::string> found;
  for (const SettingDifference& difference : config_differences(a, b)) {
    found.push_back(difference.setting + " / " + difference.other);
  }
  return found;
}

TEST(ConfigDifferences, AreOnlySettingsThatMakeDifferentModels) {
  const ModelConfig a = renamed_model();
  ModelConfig b = a;
  b.head_width = 8;
  b.attention_bias = AttentionBias::none;
  b.sinusoid = SinusoidLayout::halves;
  b.embedding_dropout = Probability(0.5F);
  b.attention = {{{}}, {{}}};
  EXPECT_EQ(settings_that_differ(a, b), std::vector<std::string>());
  b.rotary_base = 500.0;
  b.window = 4;
  EXPECT_EQ(settings_that_differ(a, b),
            (std::vector<std::string>{"rotary_base = 10000.0 / 500.0",
                                      R"(attention = ["full", "full"] / ["local:4", "local:4"])"}));
}

TEST(HuggingFaceForm, IsThatOfTheFamilyThatTheModelCameFrom) {
  ModelConfig config = renamed_model();
  EXPECT_EQ(huggingface_form_of(config, {}, "model").type, "llama");
  EXPECT_EQ(huggingface_form_of(config, {.family = "mistral"}, "model").type, "mistral");
  config.window = 8;
  EXPECT_EQ(huggingface_form_of(config, {}, "model").type, "mistral");
  EXPECT_THROW(huggingface_form_of(config, {.family = "llama"}, "model"), ConfigError);
  config.logit_cap = 3.0;
  EXPECT_THROW(huggingface_form_of(config, {}, "model"), ConfigError);
}

}  // namespace
}  // namespace heed::test
