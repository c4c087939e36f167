#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "checkpoint/adapter.h"
#include "checkpoint/stored_model.h"
#include "checkpoint/weights.h"
#include "train/training_testing.h"

namespace heed::test {
namespace {

using nlohmann::json;
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
  // The message when adapter.json has another value for a key.
  std::string error_with(const std::string& key, const json& value) {
    const std::filesystem::path path = folder_ / "adapter" / "adapter.json";
    const std::string before = read_file(path);
    json edited = json::parse(before);
    edited[key] = value;
    write_file(path, edited.dump());
    const std::string error = error_of([&] { loss_of("adapter"); });
    write_file(path, before);
    return error;
  }
  void edit_heads(const std::string& run) {
    const std::filesystem::path path = folder_ / run / "config.json";
    json edited = json::parse(read_file(path));
    edited["model"]["heads"] = 4;
    write_file(path, edited.dump());
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
  EXPECT_EQ(
      std::ranges::count_if(listening_.messages, [](const std::string& m) { return m.starts_with("training text"); }),
      1)
      << "of the first run alone";
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

TEST_F(Adapting, AMatrixThatTheBaseLacksKeepsWhatItsAdapterAdds) {
  Recipe recipe = adapting();
  recipe.model.encoder_layers = 2;
  recipe.training.precision = Precision::f32;
  recipe.checkpoints.final_weights = FinalWeights::last;
  train(recipe, "adapter");
  EXPECT_NEAR(loss_of("adapter"), listening_.validations.back().scores.loss, 1e-4);
}

TEST_F(Adapting, RefusesADescriptionThatWouldGiveOtherWeights) {
  train(adapting(), "adapter");
  EXPECT_THAT(error_with("matrices", json::array()), HasSubstr("adapter.json: \"matrices\" names no matrix"));
  EXPECT_THAT(error_with("alpha", -300), HasSubstr("adapter.json: \"alpha\" is -300, expected above 0"));
  EXPECT_THAT(error_with("alpha", 0), HasSubstr("adapter.json: \"alpha\" is 0, expected above 0"));
  EXPECT_THAT(error_with("rank", 4.7), HasSubstr("adapter.json: \"rank\" is 4.7, expected an integer"));
  EXPECT_THAT(error_with("rank", 3), HasSubstr("but the model has ["));
  EXPECT_THAT(error_with("rank", 33), HasSubstr("adapter.json: \"rank\" is 33, but '"));
  json matrices = load_adapter({folder_ / "adapter"}).matrices;
  const std::string last = matrices.back();
  matrices.back() = "encoder.layers.7.attention.output.weight";
  EXPECT_THAT(error_with("matrices", matrices),
              HasSubstr("adapter.json: \"matrices\" names 'encoder.layers.7.attention.output.weight', which is not a "
                        "weight of the model"));
  matrices.back() = "source.tokens";
  EXPECT_THAT(error_with("matrices", matrices), HasSubstr("names 'source.tokens', which is not a matrix of a hidden"));
  matrices.back() = matrices.front();
  EXPECT_THAT(error_with("matrices", matrices), HasSubstr("twice"));
  matrices.erase(matrices.size() - 1);
  EXPECT_THAT(error_with("matrices", matrices),
              testing::AllOf(HasSubstr("adapter.safetensors: " + adapter_names(last).a),
                             HasSubstr("belongs to no weight that adapter.json names")));
  EXPECT_THAT(error_with("whole", {"nothing"}), HasSubstr("\"whole\" names 'nothing', which is not a weight of the"));
  EXPECT_THAT(error_with("whole", {"output.bias"}), HasSubstr("adapter.safetensors: "));
  std::filesystem::copy(folder_ / "base" / "model.safetensors", folder_ / "adapter" / "model.safetensors");
  EXPECT_THAT(error_of([&] { loss_of("adapter"); }), HasSubstr("adapter: holds both an adapter (adapter.json) and a "
                                                               "plain model (model.safetensors): remove one of them"));
}

TEST_F(Adapting, RefusesAnotherConfigurationThanTheAdaptersOwn) {
  train(adapting(), "adapter");
  edit_heads("adapter");
  EXPECT_THAT(error_of([&] { loss_of("adapter"); }), HasSubstr("config.json: its model is not the one whose weights"));
  EXPECT_THAT(error_of([&] { merge("adapter", "", "merged"); }), HasSubstr("config.json: its model is not the one"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "merged"));
  EXPECT_THAT(error_of([&] { merge("nowhere", "", "merged"); }),
              HasSubstr("nowhere: there is no such model directory"));
}

TEST_F(Adapting, SaysThatAnUnfinishedRunIsToBeResumed) {
  listening_.stop_after = 11;
  EXPECT_EQ(train(adapting(), "adapter"), EndReason::stopped);
  std::filesystem::remove(folder_ / "adapter" / "adapter.safetensors");  // as if it had been killed
  EXPECT_THAT(
      error_of([&] { loss_of("adapter"); }),
      HasSubstr("adapter: has no adapter.safetensors: the run that trains the adapter has not finished; resume"));
}

TEST_F(Adapting, FindsItsBaseThroughLinks) {
  namespace fs = std::filesystem;
  fs::create_directories(folder_ / "disk" / "deep" / "er");
  fs::create_directory_symlink(folder_ / "disk" / "deep" / "er", folder_ / "runs");
  train(adapting(), "runs/adapter");
  const double loss = loss_of("runs/adapter");
  EXPECT_DOUBLE_EQ(loss_of("disk/deep/er/adapter"), loss);
  fs::create_directory_symlink(folder_ / "disk" / "deep" / "er" / "adapter", folder_ / "linked");
  EXPECT_DOUBLE_EQ(loss_of("linked"), loss);
  EXPECT_EQ(load_adapter({folder_ / "linked"}).base, "../../../../base");
  fs::create_directory_symlink(folder_ / "base", folder_ / "disk" / "newest");
  Recipe recipe = adapting();
  recipe.training.from = file("disk/newest");
  train(recipe, "second");
  EXPECT_DOUBLE_EQ(loss_of("second"), loss);
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
  listening_.messages.clear();
  EXPECT_THAT(train_error(recipe), HasSubstr("'*atention*' matches no matrix of a hidden layer; the nearest is '"));
  EXPECT_TRUE(listening_.messages.empty()) << "before the text is read";
  recipe = adapting();
  recipe.adapter.rank = 0;
  EXPECT_THAT(train_error(recipe), HasSubstr("[adapter] has settings, but adapter.rank is 0"));
  recipe = adapting();
  recipe.adapter.rank = 33;
  EXPECT_THAT(train_error(recipe), HasSubstr("adapter.rank is 33, but "));
  EXPECT_TRUE(listening_.messages.empty()) << "before the text is read";
  recipe = adapting();
  recipe.training.from = "";
  EXPECT_THAT(train_error(recipe), HasSubstr("there is no model to adapt: set training.from"));
  recipe = adapting();
  recipe.optimizer.kind = OptimizerKind::muon;
  EXPECT_THAT(train_error(recipe), HasSubstr("optimizer.kind is \"muon\", which makes the step of a whole matrix"));
  recipe = adapting();
  recipe.training.from = file("adapter");
  EXPECT_THAT(train_error(recipe), HasSubstr("holds an adapter, and training.from needs a whole model"));
}

}  // namespace
}  // namespace heed::test
