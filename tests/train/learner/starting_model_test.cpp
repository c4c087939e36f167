#include "train/learner/starting_model.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "checkpoint/adapter.h"
#include "train/recipe/labeled_recipe.h"
#include "train/recipe/language_model_recipe.h"
#include "train/training_testing.h"

namespace heed::test {
namespace {

using nlohmann::json;
using testing::Contains;
using testing::FloatNear;
using testing::HasSubstr;
using testing::Pointwise;

class Starting : public TrainingTest {
 protected:
  void SetUp() override {
    TrainingTest::SetUp();
    train(small_recipe(), "first");
    listening_.messages.clear();
  }

  // A run that changes no weight.
  Recipe still() const {
    Recipe recipe = small_recipe();
    recipe.training.from = file("first");
    recipe.training.updates = 1;
    recipe.validation.every = 1;
    recipe.schedule = {.kind = ScheduleKind::constant, .peak = 1e-30, .warmup = 0};
    recipe.optimizer.weight_decay = 0.0;
    return recipe;
  }
  // A language model over a file's characters, with a table of bigrams.
  Recipe pairing(const std::string& text) const {
    Recipe recipe = default_recipe(task_named("language-model"));
    recipe.model.model = 32;
    recipe.model.inner = 64;
    recipe.model.heads = 2;
    recipe.model.decoder_layers = 1;
    recipe.model.max_length = 16;
    recipe.model.bigrams = 40;
    auto& own = recipe.of<LanguageModelRecipe>();
    own.data.train = own.data.validation = {file(text)};
    own.data.batches = {.context = 16, .sequences = 2};
    own.tokenizer.learned.kind = TokenizerKind::character;
    own.tokenizer.learned.vocabulary = 0;
    recipe.training.updates = 4;
    recipe.validation.every = 4;
    recipe.schedule = {.kind = ScheduleKind::constant, .peak = 0.01, .warmup = 0};
    return recipe;
  }
  // A classifier of words, with the labels in this order.
  Recipe classifying(const std::vector<std::string>& labels) const {
    std::string lines;
    for (size_t i = 0; i < 24; ++i) {
      lines += fmt::format("ab cd ef\t{}\n", labels[i % labels.size()]);
    }
    write_file(folder_ / "labeled", lines);
    Recipe recipe = default_recipe(task_named("classify"));
    recipe.model.model = 32;
    recipe.model.inner = 64;
    recipe.model.heads = 2;
    recipe.model.encoder_layers = 1;
    recipe.model.max_length = 16;
    recipe.model.labels = labels;
    auto& own = recipe.of<ClassifyRecipe>();
    own.data.train = own.data.validation = {file("labeled")};
    own.tokenizer.learned.kind = TokenizerKind::word;
    own.tokenizer.learned.vocabulary = 0;
    recipe.training.updates = 4;
    recipe.validation.every = 4;
    return recipe;
  }
  std::vector<float> values(const std::string& run, std::string_view weight) const {
    const SafeTensors model(folder_ / run / "model.safetensors");
    const StoredTensor& tensor = model.at(weight);
    std::vector<float> found(static_cast<size_t>(tensor.elements()));
    std::memcpy(found.data(), tensor.bytes.data(), tensor.bytes.size());
    return found;
  }
  json from_event(const std::string& run) const {
    std::istringstream lines(read_file(folder_ / run / "metrics.jsonl"));
    for (std::string line; std::getline(lines, line);) {
      json event = json::parse(line);
      if (event.at("event") == "from") {
        return event;
      }
    }
    return {};
  }
  std::string error_of(const Recipe& recipe) {
    try {
      train(recipe, "refused");
    } catch (const Error& error) {
      return error.what();
    }
    return "nothing was thrown";
  }
  std::unique_ptr<Tokenizer> tokenizer(const std::string& run) const {
    return load_tokenizer(folder_ / run / "shared.tokenizer");
  }
};

TEST_F(Starting, TakesAllWeightsOfAnEqualModelAndItsTokenizers) {
  Recipe recipe = still();
  task(recipe).tokenizer.learned.kind = TokenizerKind::character;  // not used
  train(recipe, "second");
  EXPECT_EQ(weights("second"), weights("first"));
  EXPECT_EQ(tokenizer("second")->serialize(), tokenizer("first")->serialize());
  const json event = from_event("second");
  EXPECT_EQ(event.at("whole").size(), SafeTensors(folder_ / "first" / "model.safetensors").tensors().size());
  EXPECT_TRUE(event.at("fresh").empty() && event.at("unused").empty() && event.at("settings").empty()) << event;
  EXPECT_THAT(listening_.messages, Contains(HasSubstr("weights taken from " + file("first"))));
}

TEST_F(Starting, TakesWhatFitsAndNamesTheRestAndTheSettingsThatDiffer) {
  Recipe recipe = still();
  recipe.model.inner = 48;
  recipe.model.encoder_layers = 2;
  train(recipe, "second");
  EXPECT_EQ(values("second", "encoder.layers.0.attention.projection.weight"),
            values("first", "encoder.layers.0.attention.projection.weight"));
  const json event = from_event("second");
  std::map<std::string, std::string> fresh;
  for (const json& one : event.at("fresh")) {
    fresh[one.at("name")] = one.at("why");
  }
  EXPECT_EQ(fresh.at("encoder.layers.0.feed_forward.inner.weight"),
            "encoder.layers.0.feed_forward.inner.weight F32[64, 32] there, F32[48, 32] here");
  EXPECT_EQ(fresh.at("encoder.layers.1.attention.projection.weight"), "the other model has no such weight");
  EXPECT_EQ(event.at("settings"), json::parse(R"([{"key": "model.inner", "there": "64", "here": "48"},
                                                  {"key": "model.encoder_layers", "there": "1", "here": "2"}])"));
  EXPECT_THAT(listening_.messages, Contains(HasSubstr("model.inner was 64, is 48")));
}

TEST_F(Starting, CopiesRowsByTheTextOfTheirTokens) {
  Recipe recipe = still();
  recipe.training.from_tokenizers = false;
  task(recipe).tokenizer.learned.vocabulary = 20;  // the most frequent words, in another order
  task(recipe).tokenizer.learned.user_symbols = {"@new@"};
  train(recipe, "second");
  const auto before = tokenizer("first"), after = tokenizer("second");
  ASSERT_NE(before->serialize(), after->serialize());
  const auto old_rows = values("first", "source.tokens"), new_rows = values("second", "source.tokens");
  const auto old_bias = values("first", "output.bias"), new_bias = values("second", "output.bias");
  int64_t same = 0, moved = 0;
  for (int32_t id = 0; id < after->vocabulary_size(); ++id) {
    const auto there = before->find(after->piece(TokenId(id)));
    if (!there) {
      EXPECT_NEAR(new_bias[static_cast<size_t>(id)], 0.0F, 1e-20) << "a fresh bias";
      continue;
    }
    ++same;
    moved += there->value != id ? 1 : 0;
    EXPECT_EQ(new_bias[static_cast<size_t>(id)], old_bias[static_cast<size_t>(there->value)]);
    for (size_t c = 0; c < 32; ++c) {
      ASSERT_EQ(new_rows[static_cast<size_t>(id) * 32 + c], old_rows[static_cast<size_t>(there->value) * 32 + c]);
    }
  }
  EXPECT_GT(moved, 0);
  EXPECT_LT(same, after->vocabulary_size());
  const json part = from_event("second").at("by_text").front();
  EXPECT_EQ(part.at("name"), "source.tokens");
  EXPECT_EQ(part.at("rows"), same);
  EXPECT_EQ(part.at("of"), after->vocabulary_size());
}

TEST_F(Starting, PairsOfAnotherVocabularyBeginAnew) {
  write_file(folder_ / "abc", "abacabadabacabaabacabadabacaba");
  write_file(folder_ / "xyz", "abcxyzabcxyzabcxyzabcxyzabcxyz");
  train(pairing("abc"), "pairs");
  const std::vector<float> learned = values("pairs", "embedding.bigrams");
  const auto largest = [](const std::vector<float>& rows) {
    return std::ranges::max(rows, {}, [](float x) { return std::abs(x); });
  };
  EXPECT_GT(std::abs(largest(learned)), 1e-3F);

  Recipe recipe = pairing("xyz");
  recipe.training.from = file("pairs");
  recipe.training.updates = 1;
  recipe.schedule.peak = 1e-30;
  train(recipe, "same tokens");
  EXPECT_THAT(values("same tokens", "embedding.bigrams"), Pointwise(FloatNear(1e-20F), learned));
  recipe.training.from_tokenizers = false;
  train(recipe, "other tokens");
  EXPECT_LT(std::abs(largest(values("other tokens", "embedding.bigrams"))), 1e-20F);
  const json event = from_event("other tokens");
  EXPECT_THAT(event.at("fresh").dump(), HasSubstr("its rows are pairs of another vocabulary's tokens"));
}

TEST_F(Starting, TakesATableUnderTheNameThatTyingGivesIt) {
  Recipe recipe = still();
  recipe.model.tying = Tying::none;
  train(recipe, "untied");
  EXPECT_EQ(values("untied", "target.tokens"), values("first", "source.tokens"));
  EXPECT_EQ(values("untied", "output.weight"), values("first", "source.tokens"));
  const json event = from_event("untied");
  EXPECT_EQ(event.at("renamed"), json::parse(R"([{"name": "target.tokens", "there": "source.tokens"},
                                                 {"name": "output.weight", "there": "source.tokens"}])"));
  EXPECT_TRUE(event.at("fresh").empty()) << event;
  EXPECT_THAT(
      listening_.messages,
      Contains(HasSubstr("2 of them under another name (target.tokens from source.tokens, output.weight from")));
  recipe.model.tying = Tying::output;
  train(recipe, "output");
  recipe.model.tying = Tying::none;
  recipe.training.from = file("output");
  train(recipe, "untied again");
  EXPECT_EQ(values("untied again", "output.weight"), values("output", "target.tokens"));
}

TEST_F(Starting, AnAdaptersBaseMayHaveATableUnderAnotherName) {
  Recipe recipe = small_recipe();
  recipe.training.from = file("first");
  recipe.model.tying = Tying::none;
  recipe.adapter.rank = 2;
  recipe.training.precision = Precision::f32;
  recipe.checkpoints.final_weights = FinalWeights::last;
  train(recipe, "unbroken");
  const AdapterDescription description = load_adapter({folder_ / "unbroken"});
  EXPECT_TRUE(description.whole.empty());
  EXPECT_EQ(name_there(description.renamed, "output.weight"), "source.tokens");
  listening_.asked = 0;
  listening_.stop_after = 11;
  EXPECT_EQ(train(recipe, "stopped"), EndReason::stopped);
  listening_.stop_after = -1;
  train(recipe, "stopped", TrainStart::resume);
  EXPECT_EQ(SafeTensors(folder_ / "stopped" / "adapter.safetensors").metadata().at("heed_checksum"),
            SafeTensors(folder_ / "unbroken" / "adapter.safetensors").metadata().at("heed_checksum"));
  merge_adapter({folder_ / "unbroken"}, {}, {folder_ / "merged"});
  EXPECT_EQ(values("merged", "output.weight"), values("first", "source.tokens"));
}

TEST_F(Starting, SaysThatFrozenRowsStayRandom) {
  Recipe recipe = still();
  recipe.training.from_tokenizers = false;
  recipe.training.freeze = {"source.tokens"};
  task(recipe).tokenizer.learned.user_symbols = {"@new@"};
  train(recipe, "second");
  EXPECT_THAT(listening_.messages,
              Contains(testing::ContainsRegex("training.freeze keeps random values that .* lacks: 1 of [0-9]+ rows of "
                                              "source.tokens")));
  listening_.messages.clear();
  recipe.training.from_tokenizers = true;
  train(recipe, "third");
  EXPECT_THAT(listening_.messages, testing::Not(Contains(HasSubstr("training.freeze"))));
  EXPECT_THAT(listening_.messages, Contains("tokenizer: that of " + file("first") +
                                            ", instead of what [tokenizer] says (training.from_tokenizers)"));
}

TEST_F(Starting, ALanguageModelTakesTheDecodersWeightsAndTheTargetsTokenizer) {
  Recipe recipe = default_recipe(task_named("language-model"));
  recipe.model = small_recipe().model;
  recipe.model.architecture = Architecture::causal_lm;
  recipe.model.tying = Tying::none;
  recipe.of<LanguageModelRecipe>().data.train = {file("train.en")};
  recipe.of<LanguageModelRecipe>().data.documents = Documents::lines;
  recipe.of<LanguageModelRecipe>().data.batches = {.context = 16, .sequences = 4};
  recipe.training = still().training;
  recipe.training.task = "language-model";
  recipe.checkpoints.final_weights = FinalWeights::last;
  recipe.schedule = still().schedule;
  recipe.optimizer.weight_decay = 0.0;
  train(recipe, "second");
  EXPECT_EQ(values("second", "decoder.layers.0.feed_forward.inner.weight"),
            values("first", "decoder.layers.0.feed_forward.inner.weight"));
  EXPECT_EQ(load_tokenizer(folder_ / "second" / "text.tokenizer")->serialize(), tokenizer("first")->serialize());
  EXPECT_EQ(values("second", "embedding.tokens"), values("first", "source.tokens"));
  EXPECT_EQ(values("second", "output.weight"), values("first", "source.tokens"));
  const json settings = from_event("second").at("settings");
  for (const json& one : settings) {
    EXPECT_NE(one.at("key"), "model.encoder_layers");
  }
  recipe.model.encoder_layers = 6;
  train(recipe, "third");
  EXPECT_EQ(from_event("third").at("settings"), settings);

  Recipe back = still();
  back.training.from = file("second");
  train(back, "back");
  EXPECT_EQ(values("back", "source.tokens"), values("second", "embedding.tokens"));
}

TEST_F(Starting, RowsOfAHeadFollowTheTextOfTheirLabels) {
  train(classifying({"en", "de", "fr"}), "labels");
  Recipe recipe = classifying({"de", "nl", "en"});
  const Recipe unmoved = still();
  recipe.training.from = file("labels");
  recipe.schedule = unmoved.schedule;
  recipe.optimizer.weight_decay = 0.0;
  train(recipe, "others");
  const auto before = values("labels", "head.weight"), after = values("others", "head.weight");
  const auto row = [](const std::vector<float>& head, size_t i) {
    return std::vector<float>(head.begin() + static_cast<int64_t>(i) * 32,
                              head.begin() + static_cast<int64_t>(i + 1) * 32);
  };
  EXPECT_EQ(row(after, 0), row(before, 1));
  EXPECT_EQ(row(after, 2), row(before, 0));
  EXPECT_NE(row(after, 1), row(before, 1));
  EXPECT_NE(row(after, 1), row(before, 2));
  EXPECT_EQ(values("others", "head.bias")[0], values("labels", "head.bias")[1]);
  const json event = from_event("others");
  EXPECT_EQ(event.at("by_text").front(), json::parse(R"({"name": "head.weight", "rows": 2, "of": 3})"));
  EXPECT_THAT(listening_.messages,
              Contains(HasSubstr("2 of them by the text of their tokens or labels (4 of 6 rows)")));

  recipe = classifying({"de", "en"});
  recipe.training.from = file("labels");
  recipe.adapter.rank = 2;
  train(recipe, "adapter");
  EXPECT_THAT(load_adapter({folder_ / "adapter"}).whole, testing::ElementsAre("head.weight", "head.bias"));
  recipe = classifying({"it", "nl", "es"});
  recipe.training.from = file("labels");
  train(recipe, "strangers");
  EXPECT_EQ(from_event("strangers").at("fresh").front(),
            json::parse(R"({"name": "head.weight", "why": "the heads have no label in common"})"));
}

TEST_F(Starting, AResumedRunDoesNotNeedTheOtherModelAnyMore) {
  Recipe recipe = small_recipe();
  recipe.training.from = file("first");
  train(recipe, "unbroken");
  EXPECT_NE(weights("unbroken"), weights("first"));
  listening_.asked = 0;
  listening_.stop_after = 11;
  EXPECT_EQ(train(recipe, "stopped"), EndReason::stopped);
  listening_.stop_after = -1;
  std::filesystem::rename(folder_ / "first", folder_ / "moved");
  train(recipe, "stopped", TrainStart::resume);
  EXPECT_EQ(weights("stopped"), weights("unbroken"));
  EXPECT_EQ(from_event("stopped"), from_event("unbroken"));
}

TEST_F(Starting, RefusesADirectoryWithNothingThatFitsAndAnEditedConfiguration) {
  Recipe recipe = still();
  recipe.model.model = 16;
  recipe.model.inner = 32;
  recipe.model.output_bias = Bias::none;
  EXPECT_THAT(error_of(recipe), HasSubstr("first: none of its weights fits the new model (training.from); "
                                          "source.tokens: "));
  recipe = still();
  write_file(folder_ / "first" / "config.json", [&] {
    json edited = json::parse(read_file(folder_ / "first" / "config.json"));
    edited["model"]["heads"] = 4;
    return edited.dump();
  }());
  EXPECT_THAT(error_of(recipe), HasSubstr("config.json: its model is not the one whose weights "));
  recipe.training.from = file("nowhere");
  EXPECT_THAT(error_of(recipe), HasSubstr("nowhere: there is no such model directory"));
}

}  // namespace
}  // namespace heed::test
