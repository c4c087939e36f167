#include <gmock/gmock.h>

#include <array>
#include <nlohmann/json.hpp>
#include <span>

#include "checkpoint/adapter.h"
#include "checkpoint/stored_model.h"
#include "checkpoint/weights.h"
#include "checkpoint/widened_groups.h"
#include "nn/weights/integer_matrix.h"
#include "tensor/float16.h"
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
  // Whether products round what integers multiply to integers, too.
  enum class Products : uint8_t { of_inference, of_training };
  // The loss of a stored model on the validation text.
  double loss_of(const std::string& run, Products products = Products::of_inference) {
    Recipe recipe = small_recipe();
    const auto backend = make_cpu_backend(2);
    StoredModel model({folder_ / run}, *backend, DType::f32);
    if (products == Products::of_training) {
      model.unpack_for_products();
    }
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

// How the base's matrices are stored, row by row.
enum class Integers : uint8_t { int8, int8_groups, int4 };
constexpr std::array kAllIntegers{Integers::int8, Integers::int8_groups, Integers::int4};

class AdaptingIntegers : public Adapting {
 protected:
  static IntegerMatrix rounded(Integers integers, const std::vector<float>& values, const Shape& shape) {
    switch (integers) {
      case Integers::int8:
        return to_int8(values, shape);
      case Integers::int8_groups:
        return to_int8_groups(values, shape);
      case Integers::int4:
        break;
    }
    return to_int4(values, shape, kInt4Group);
  }
  template <class T>
  static std::vector<std::byte> bytes(const std::vector<T>& values) {
    const auto all = std::as_bytes(std::span(values));
    return {all.begin(), all.end()};
  }

  struct Stored {
    std::string name;
    StoredType type;
    std::vector<int64_t> shape;
    std::vector<std::byte> content;
  };
  static void add_integers(Integers integers, const std::string& name, const IntegerMatrix& matrix,
                           std::vector<Stored>& to) {
    const int64_t rows = matrix.shape.rows(), columns = matrix.shape.columns();
    if (integers == Integers::int4) {
      std::vector<uint8_t> pairs;
      for (size_t i = 0; i < matrix.values.size(); i += 2) {
        pairs.push_back(static_cast<uint8_t>(matrix.values[i] + 8 + 16 * (matrix.values[i + 1] + 8)));
      }
      to.push_back({name, StoredType::u8, {rows, columns / 2}, bytes(pairs)});
      const std::vector<bf16> scales(matrix.scales.begin(), matrix.scales.end());
      to.push_back({scales_of(name), StoredType::bf16, {rows, matrix.groups()}, bytes(scales)});
      return;
    }
    to.push_back({name, StoredType::i8, {rows, columns}, bytes(matrix.values)});
    if (integers == Integers::int8) {
      to.push_back({scales_of(name), StoredType::f32, {rows}, bytes(matrix.scales)});
      return;
    }
    std::vector<uint16_t> halves(matrix.scales.size());
    std::ranges::transform(matrix.scales, halves.begin(), narrowed_half);
    to.push_back({scales_of(name), StoredType::f16, {rows, matrix.groups()}, bytes(halves)});
  }

  void write_model(const std::string& name, const std::vector<Stored>& tensors) {
    std::filesystem::copy(folder_ / "base", folder_ / name, std::filesystem::copy_options::recursive);
    std::vector<TensorSource> sources;
    for (const Stored& one : tensors) {
      sources.push_back(tensor_source(one.name, one.type, one.shape, one.content));
    }
    Metadata metadata = SafeTensors(folder_ / "base" / "model.safetensors").metadata();
    metadata.erase("heed_checksum");
    write_checked_safetensors(folder_ / name / "model.safetensors", sources, metadata);
  }

  // The base twice: "integers", and "floats" with the values that they stand for.
  void write_quantized(Integers integers) {
    std::vector<Stored> quantized, widened;
    const SafeTensors base(folder_ / "base" / "model.safetensors");
    for (const StoredTensor& tensor : base.tensors()) {
      std::vector<float> values = read_weight(base, tensor);
      if (tensor.shape.size() != 2) {
        quantized.push_back({tensor.name, StoredType::f32, tensor.shape, bytes(values)});
        widened.push_back(quantized.back());
        continue;
      }
      const IntegerMatrix matrix = rounded(integers, values, {tensor.shape[0], tensor.shape[1]});
      for (size_t i = 0; i < values.size(); ++i) {
        values[i] = matrix.value(i);
      }
      add_integers(integers, tensor.name, matrix, quantized);
      widened.push_back({tensor.name, StoredType::f32, tensor.shape, bytes(values)});
    }
    for (const std::string name : {"integers", "floats"}) {
      std::filesystem::remove_all(folder_ / name);
    }
    write_model("integers", quantized);
    write_model("floats", widened);
  }
  Recipe adapting_from(const std::string& base) const {
    Recipe recipe = adapting();
    recipe.training.from = file(base);
    recipe.training.precision = Precision::f32;
    recipe.checkpoints.final_weights = FinalWeights::last;
    return recipe;
  }
  std::string adapter_of(const std::string& run) const {
    return SafeTensors(folder_ / run / "adapter.safetensors").metadata().at("heed_checksum");
  }
};

// In f32 the integers times their scales are what the floats are, so that all is the same to the bit.
TEST_F(AdaptingIntegers, TrainsWhatTheFloatsThatTheyStandForTrain) {
  for (const Integers integers : kAllIntegers) {
    SCOPED_TRACE(static_cast<int>(integers));
    write_quantized(integers);
    const std::string number = std::to_string(static_cast<int>(integers));
    train(adapting_from("floats"), "of-floats" + number);
    const double loss = listening_.validations.back().scores.loss;
    train(adapting_from("integers"), "of-integers" + number);
    EXPECT_EQ(listening_.validations.back().scores.loss, loss);
    EXPECT_EQ(adapter_of("of-integers" + number), adapter_of("of-floats" + number));
    EXPECT_EQ(load_adapter({folder_ / ("of-integers" + number)}).whole, std::vector<std::string>());
    EXPECT_LT(loss, loss_of("floats") - 0.01);

    merge("of-integers" + number, "", "merged" + number);
    EXPECT_DOUBLE_EQ(loss_of("merged" + number), loss_of("of-floats" + number));
    EXPECT_NEAR(loss_of("merged" + number), loss, 1e-4);
  }
}

// With the products of training the loss is that of training, to the bit. Those of inference round what integers
// multiply to integers, too, by at most 1/254 of a row's largest value: no bound on the loss follows from that.
TEST_F(AdaptingIntegers, RunsWithAdaptersBesideTheIntegers) {
  for (const Integers integers : kAllIntegers) {
    SCOPED_TRACE(static_cast<int>(integers));
    write_quantized(integers);
    const std::string run = "adapter" + std::to_string(static_cast<int>(integers));
    train(adapting_from("integers"), run);
    const double loss = listening_.validations.back().scores.loss;
    merge(run, "", "merged-" + run);
    EXPECT_EQ(loss_of(run, Products::of_training), loss);
    EXPECT_NE(loss_of(run), loss);
    EXPECT_NE(loss_of(run), loss_of("merged-" + run));
    const auto backend = make_cpu_backend(1);
    const StoredModel beside({folder_ / run}, *backend, DType::f32),
        merged({folder_ / ("merged-" + run)}, *backend, DType::f32);
    EXPECT_LT(beside.step_bytes(), merged.step_bytes());  // of so small a model the adapters are half
  }
}

TEST_F(AdaptingIntegers, ResumesToTheSameBitsAndWithTheSameBaseAlone) {
  write_quantized(Integers::int4);
  for (const Precision precision : {Precision::f32, Precision::bf16}) {
    Recipe recipe = adapting_from("integers");
    recipe.training.precision = precision;
    recipe.training.accumulate = 2;
    const std::string name(name_of(precision));
    train(recipe, name);
    listening_.stop_after = 11;
    listening_.asked = 0;
    EXPECT_EQ(train(recipe, name + "-stopped"), EndReason::stopped);
    listening_.stop_after = -1;
    std::filesystem::rename(folder_ / "integers", folder_ / "away");
    std::filesystem::copy(folder_ / "floats", folder_ / "integers", std::filesystem::copy_options::recursive);
    EXPECT_THAT(error_of([&] { train(recipe, name + "-stopped", TrainStart::resume); }),
                HasSubstr("belongs to another model"));
    std::filesystem::remove_all(folder_ / "integers");
    std::filesystem::rename(folder_ / "away", folder_ / "integers");
    train(recipe, name + "-stopped", TrainStart::resume);
    EXPECT_EQ(adapter_of(name + "-stopped"), adapter_of(name));
  }
}

TEST_F(AdaptingIntegers, RecomputedActivationsChangeNothing) {
  write_quantized(Integers::int8);
  train(adapting_from("integers"), "kept");
  Recipe recipe = adapting_from("integers");
  recipe.model.recompute = Recompute::layers;
  train(recipe, "recomputed");
  EXPECT_EQ(adapter_of("recomputed"), adapter_of("kept"));
}

// Tables of tokens have other rows then: those are floats, and trained.
TEST_F(AdaptingIntegers, AnotherVocabularyTakesTheRowsThatBothHave) {
  write_quantized(Integers::int8);
  Recipe recipe = adapting_from("integers");
  recipe.training.from_tokenizers = false;
  task(recipe).data.train_source = {file("valid.de")};
  task(recipe).data.train_target = {file("valid.en")};
  train(recipe, "adapter");
  EXPECT_THAT(load_adapter({folder_ / "adapter"}).whole, Contains("source.tokens"));
  EXPECT_THAT(listening_.messages, Contains(HasSubstr("by the text of their tokens or labels")));
  merge("adapter", "", "merged");
  EXPECT_NEAR(loss_of("merged"), listening_.validations.back().scores.loss, 1e-4);
}

// Older versions recorded the checksum of these floats.
TEST_F(AdaptingIntegers, AreAlsoKnownByTheFloatsOfTheirGroups) {
  write_quantized(Integers::int8_groups);
  train(adapting_from("integers"), "adapter");
  const auto floats =
      with_widened_groups(std::make_shared<const SafeTensors>(folder_ / "integers" / "model.safetensors"));
  EXPECT_EQ(error_with("base_checksum", checksum_of_tensors(*floats)), "nothing was thrown");
  EXPECT_THAT(error_with("base_checksum", "0"), HasSubstr("belongs to another model"));
}

TEST_F(AdaptingIntegers, WithoutAnAdapterAreRefused) {
  write_quantized(Integers::int8);
  Recipe recipe = small_recipe();
  recipe.training.from = file("integers");
  EXPECT_THAT(train_error(recipe), testing::AllOf(HasSubstr("holds quantized weights ("),
                                                  HasSubstr("name the model that they were made from"),
                                                  HasSubstr("or train an adapter on top of them ([adapter])")));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "refused"));
}

TEST_F(AdaptingIntegers, ABaseThatLacksAScaleIsRefused) {
  write_quantized(Integers::int8);
  const SafeTensors whole(folder_ / "integers" / "model.safetensors");
  std::vector<Stored> tensors;
  for (const StoredTensor& tensor : whole.tensors()) {
    if (tensor.name != "source.tokens.scales") {
      tensors.push_back({tensor.name, tensor.type, tensor.shape, {tensor.bytes.begin(), tensor.bytes.end()}});
    }
  }
  write_model("lacking", tensors);
  EXPECT_THAT(train_error(adapting_from("lacking")), HasSubstr("there is no tensor 'source.tokens.scales'"));
}

}  // namespace
}  // namespace heed::test
