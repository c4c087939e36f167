#include <gmock/gmock.h>

#include "checkpoint/adapter.h"
#include "checkpoint/stored_model.h"
#include "checkpoint/weights.h"
#include "train/training_testing.h"

namespace heed::test {
namespace {

using testing::Contains;
using testing::HasSubstr;

class Adapting : public TrainingTest {
 protected:
  void SetUp() override {
    TrainingTest::SetUp();
    train(small_recipe(), "base");
    listening_ = Listening();
  }

  Recipe adapting() const {
    Recipe recipe = small_recipe();
    recipe.training.from = file("base");
    recipe.adapter = {.rank = 4, .alpha = 8.0, .dropout = 0.1, .matrices = {"*attention*", "*.inner.weight"}};
    recipe.schedule.peak = 1e-2;
    return recipe;
  }
  std::vector<float> values(const std::filesystem::path& path, std::string_view weight) const {
    const SafeTensors file(folder_ / path);
    return read_weight(file, file.at(weight));
  }
  std::string error_of(const std::function<void()>& action) {
    try {
      action();
    } catch (const std::exception& error) {
      return error.what();
    }
    return "nothing was thrown";
  }
  std::string train_error(const Recipe& recipe) {
    return error_of([&] { train(recipe, "refused"); });
  }
  // The loss of a stored model on the validation text.
  double loss_of(const std::string& run) {
    Recipe recipe = small_recipe();
    const auto backend = make_cpu_backend(2);
    const StoredModel model({folder_ / run}, *backend, DType::f32);
    const ModelFolder folder{folder_ / run};
    const Tokenizers tokenizers = load_tokenizers(folder, load_description(folder));
    TranslationTask validating(recipe, {.tokenizers = &tokenizers});
    return validating.validate({model.model(), *backend, DType::f32}).loss;
  }
  void merge(const std::string& adapter, const std::string& base, const std::string& to) {
    merge_adapter({folder_ / adapter}, base.empty() ? std::filesystem::path() : folder_ / base, {folder_ / to});
  }
};

TEST_F(Adapting, FrozenWeightsKeepTheirValuesAndTheOthersAreTrained) {
  Recipe recipe = small_recipe();
  recipe.training.from = file("base");
  recipe.training.freeze = {"encoder.*", "source.tokens"};
  recipe.optimizer.weight_decay = 0.5;
  recipe.checkpoints.moving_average = 0.9;
  train(recipe, "run");
  const SafeTensors before(folder_ / "base" / "model.safetensors"), after(folder_ / "run" / "model.safetensors");
  int64_t frozen = 0;
  for (const StoredTensor& tensor : before.tensors()) {
    const bool keeps = tensor.name.starts_with("encoder.") || tensor.name == "source.tokens";
    frozen += keeps ? 1 : 0;
    EXPECT_EQ(read_weight(before, tensor) == read_weight(after, after.at(tensor.name)), keeps) << tensor.name;
  }
  EXPECT_GT(frozen, 3);
  recipe.training.freeze = {"decoder.*", "encodr.*"};
  EXPECT_THAT(train_error(recipe),
              HasSubstr("training.freeze: 'encodr.*' matches no weight; the nearest is 'encoder."));
  recipe.training.freeze = {"*"};
  EXPECT_THAT(train_error(recipe), HasSubstr("training.freeze leaves no weight to train"));
}

TEST_F(Adapting, ResumesToTheSameBitsWithFrozenWeights) {
  Recipe recipe = small_recipe();
  recipe.training.from = file("base");
  recipe.training.freeze = {"encoder.*", "*.bias"};
  recipe.training.accumulate = 2;
  train(recipe, "unbroken");
  listening_.stop_after = 11;
  listening_.asked = 0;
  EXPECT_EQ(train(recipe, "stopped"), EndReason::stopped);
  listening_.stop_after = -1;
  std::filesystem::remove_all(folder_ / "base");
  train(recipe, "stopped", TrainStart::resume);
  EXPECT_EQ(weights("stopped"), weights("unbroken"));
}

TEST_F(Adapting, TrainsTheAdaptersAloneAndResumesToTheSameBits) {
  for (const Precision precision : {Precision::f32, Precision::bf16}) {
    Recipe recipe = adapting();
    recipe.training.precision = precision;
    const std::string name(name_of(precision));
    train(recipe, name);
    const SafeTensors adapter(folder_ / name / "adapter.safetensors");
    EXPECT_FALSE(std::filesystem::exists(folder_ / name / "model.safetensors"));
    for (const StoredTensor& tensor : adapter.tensors()) {
      EXPECT_THAT(tensor.name, testing::ContainsRegex("adapter_[ab]$"));
      EXPECT_FALSE(std::ranges::all_of(read_weight(adapter, tensor), [](float x) { return x == 0.0F; })) << tensor.name;
    }
    listening_.stop_after = 11;
    listening_.asked = 0;
    EXPECT_EQ(train(recipe, name + "-stopped"), EndReason::stopped);
    listening_.stop_after = -1;
    train(recipe, name + "-stopped", TrainStart::resume);
    EXPECT_EQ(SafeTensors(folder_ / (name + "-stopped") / "adapter.safetensors").metadata().at("heed_checksum"),
              adapter.metadata().at("heed_checksum"));
  }
}

TEST_F(Adapting, AMergedModelGivesTheSameResultsAsTheAdapterAndTheRunItself) {
  Recipe recipe = adapting();
  recipe.training.precision = Precision::f32;
  recipe.checkpoints.final_weights = FinalWeights::best;
  train(recipe, "adapter");
  const double trained =
      std::ranges::min_element(listening_.validations, {}, [](const auto& v) { return v.scores.loss; })->scores.loss;
  EXPECT_LT(trained, loss_of("base") - 0.01);
  // "best" is by BLEU, so compare with the validation of that update.
  const auto best = std::ranges::find_if(listening_.validations.rbegin(), listening_.validations.rend(),
                                         [](const auto& v) { return v.best; });
  EXPECT_NEAR(loss_of("adapter"), best->scores.loss, 1e-4);
  merge("adapter", "", "merged");
  EXPECT_DOUBLE_EQ(loss_of("merged"), loss_of("adapter"));
  EXPECT_EQ(values("merged/model.safetensors", "output.bias"), values("base/model.safetensors", "output.bias"));
  EXPECT_NE(values("merged/model.safetensors", "encoder.layers.0.attention.output.weight"),
            values("base/model.safetensors", "encoder.layers.0.attention.output.weight"));
}

TEST_F(Adapting, WhatTheBaseLacksIsTrainedAsAWholeAndSavedWithTheAdapter) {
  Recipe recipe = adapting();
  recipe.model.encoder_layers = 2;
  train(recipe, "adapter");
  const AdapterDescription description = load_adapter({folder_ / "adapter"});
  EXPECT_THAT(description.whole, Contains("encoder.layers.1.feed_forward.output.weight"));
  EXPECT_THAT(description.matrices, Contains("encoder.layers.1.attention.projection.weight"));
  merge("adapter", "base", "merged");
  EXPECT_DOUBLE_EQ(loss_of("merged"), loss_of("adapter"));
}

TEST_F(Adapting, RefusesAnotherBaseAndBadSettings) {
  train(adapting(), "adapter");
  Recipe other = small_recipe();
  other.training.seed = 2;
  train(other, "other");
  EXPECT_THAT(error_of([&] { merge("adapter", "other", "merged"); }),
              testing::AllOf(HasSubstr("belongs to another model"), HasSubstr(weights("other"))));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "merged"));
  std::filesystem::rename(folder_ / "base", folder_ / "away");
  EXPECT_THAT(error_of([&] { loss_of("adapter"); }), HasSubstr("is an adapter, and its base is not in"));
  std::filesystem::rename(folder_ / "other", folder_ / "base");
  EXPECT_THAT(error_of([&] { loss_of("adapter"); }), HasSubstr("belongs to another model"));

  Recipe recipe = adapting();
  recipe.adapter.matrices = {"*atention*"};
  EXPECT_THAT(train_error(recipe), HasSubstr("'*atention*' matches no matrix of a hidden layer; the nearest is '"));
  recipe = adapting();
  recipe.adapter.rank = 0;
  EXPECT_THAT(train_error(recipe), HasSubstr("[adapter] has settings, but adapter.rank is 0"));
  recipe = adapting();
  recipe.adapter.rank = 33;
  EXPECT_THAT(train_error(recipe), HasSubstr("adapter.rank is 33, but "));
  recipe = adapting();
  recipe.training.from = "";
  EXPECT_THAT(train_error(recipe), HasSubstr("there is no model to adapt: set training.from"));
  recipe = adapting();
  recipe.training.from = file("adapter");
  EXPECT_THAT(train_error(recipe), HasSubstr("holds an adapter, and training.from needs a whole model"));
}

}  // namespace
}  // namespace heed::test
