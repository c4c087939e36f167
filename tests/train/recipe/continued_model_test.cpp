#include "train/recipe/continued_model.h"

#include <gmock/gmock.h>

#include "base/errors.h"
#include "base/system/files.h"
#include "models/config_keys.h"
#include "source_root.h"
#include "test_folder.h"
#include "train/recipe/recipe.h"
#include "train/tasks/tasks.h"

namespace heed::test {
namespace {

using testing::HasSubstr;

const std::filesystem::path kGoldenModels = source_root() / "tests/interchange/golden";

ModelConfig config_of_task(std::string_view task) { return default_recipe(task_named(task)).model; }

std::string shown(ModelConfig config) {
  std::string text;
  for (const Setting& setting : model_settings(config).settings) {
    text += fmt::format("{} = {}\n", setting.name, setting.show());
  }
  return text;
}

std::filesystem::path recipe_of_test() { return folder_of_test().string() + ".toml"; }

Recipe recipe_from(const std::filesystem::path& from, const std::string& model = {}, const std::string& task = {}) {
  const std::filesystem::path file = recipe_of_test();
  const std::string named = task.empty() ? "" : fmt::format("task = \"{}\"\n", task);
  write_file(file, fmt::format("{}\n[training]\n{}from = \"{}\"\n", model, named, from.string()));
  return read_recipe(file.string(), {});
}

class ContinuedModel : public testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(recipe_of_test()); }
};

TEST_F(ContinuedModel, HasTheOtherModelsSettingsButNotItsVocabularies) {
  ModelConfig other{.model = 24, .heads = 3, .source_vocabulary = 50, .target_vocabulary = 50, .tying = Tying::all};
  const ModelConfig continued = continued_model(other, config_of_task("translation"));
  other.source_vocabulary = other.target_vocabulary = 0;
  EXPECT_EQ(shown(continued), shown(other));
}

TEST_F(ContinuedModel, HasTheHeadOfItsTaskWhereTheOtherModelHasAnother) {
  ModelConfig other = config_of_task("masked-lm");
  other.tying = Tying::output;
  other.head_layer = Activation::gelu;
  other.head_layer_norm = HeadLayerNorm::present;
  other.token_types = 2;
  const ModelConfig continued = continued_model(other, config_of_task("classify"));
  EXPECT_EQ(continued.head, Head::one_label);
  EXPECT_EQ(continued.tying, Tying::none);
  EXPECT_EQ(continued.head_layer, std::nullopt);
  EXPECT_EQ(continued.token_types, 2);
  ModelConfig scores = config_of_task("classify");
  scores.head = Head::number;
  scores.head_layer = Activation::tanh;
  scores.pooling = Pooling::mean;
  EXPECT_EQ(shown(continued_model(scores, config_of_task("classify"))), shown(scores));
  scores.labels = {"a", "b"};
  EXPECT_TRUE(continued_model(scores, config_of_task("classify")).labels.empty());
}

TEST_F(ContinuedModel, OfAnotherArchitectureHasTheStackThatBothHave) {
  ModelConfig other{.model = 24, .encoder_layers = 2, .decoder_layers = 3, .tying = Tying::all};
  other.encoder_attention = {layer_pattern("test", "local:4")};
  other.autoregression = Autoregression::ssru;
  ModelConfig encoder = continued_model(other, config_of_task("masked-lm"));
  encoder.source_vocabulary = 20;
  EXPECT_EQ(encoder.encoder_layers, 2);
  EXPECT_EQ(to_text(encoder.attention.front()), "local:4");
  EXPECT_TRUE(encoder.encoder_attention.empty());
  EXPECT_EQ(encoder.tying, Tying::output);
  EXPECT_EQ(encoder.autoregression, Autoregression::attention);
  EXPECT_NO_THROW(encoder.validate());
  const ModelConfig decoder = continued_model(other, config_of_task("language-model"));
  EXPECT_EQ(decoder.decoder_layers, 3);
  EXPECT_EQ(to_text(decoder.attention.front()), "full");
}

TEST_F(ContinuedModel, CanBeTrainedFromEveryOtherProgramsModel) {
  int64_t models = 0;
  for (const auto& [group, tasks] :
       {std::pair{"encoder_decoders", std::vector<std::string>{"translation"}},
        std::pair{"decoders", std::vector<std::string>{"language-model", "chat", "preference"}},
        std::pair{"encoders", std::vector<std::string>{"masked-lm", "classify", "tag"}}}) {
    for (const auto& entry : std::filesystem::directory_iterator(kGoldenModels / group)) {
      const std::string name = entry.path().filename();
      for (const std::string& task : tasks) {
        SCOPED_TRACE(entry.path().string() + " " + task);
        const Recipe recipe = recipe_from(entry.path(), {}, task);
        EXPECT_NO_THROW({
          model_of_any_text(recipe).validate();
          refuse_settings_without_effect(recipe.model);
        });
        ++models;
      }
    }
  }
  EXPECT_GT(models, 50);
}

TEST_F(ContinuedModel, DecidesTheTaskWhereTheRecipeDoesNot) {
  EXPECT_EQ(recipe_from(kGoldenModels / "decoders/llama").training.task, "language-model");
  EXPECT_EQ(recipe_from(kGoldenModels / "encoder_decoders/t5").training.task, "translation");
  EXPECT_EQ(recipe_from(kGoldenModels / "encoders/bert-masked").training.task, "masked-lm");
  EXPECT_EQ(recipe_from(kGoldenModels / "encoders/bert-sequence").training.task, "classify");
  EXPECT_EQ(recipe_from(kGoldenModels / "encoders/bert-token").training.task, "tag");
}

TEST_F(ContinuedModel, RefusesAnotherFormOfAnotherProgramsModel) {
  const auto error = [](const std::string& model) {
    try {
      recipe_from(kGoldenModels / "decoders/llama", model);
    } catch (const ConfigError& refusal) {
      return std::string(refusal.what());
    }
    return std::string();
  };
  EXPECT_THAT(error("[model]\nheads = 2"), HasSubstr(".toml: model.heads is 2, but the model in "));
  EXPECT_THAT(error("[model]\nheads = 2"), HasSubstr("/llama has 4 (training.from): leave the key out"));
  EXPECT_THAT(error("[model]\nactivation = \"relu\""), HasSubstr("model.activation is \"relu\""));
  EXPECT_EQ(error("[model]\nheads = 4\ninner_dropout = 0.3\nrecompute_layers = true\ninit = \"xavier\""), "");
  EXPECT_EQ(recipe_from(kGoldenModels / "decoders/llama", "[model]\ninner_dropout = 0.3").model.inner_dropout.value,
            0.3F);
}

}  // namespace
}  // namespace heed::test
