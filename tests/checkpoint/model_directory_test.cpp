#include "checkpoint/stored_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/system/files.h"
#include "checkpoint/weights.h"
#include "kernels/cpu/cpu_backend.h"
#include "test_folder.h"
#include "text/tokenizer_training.h"

namespace heed {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

std::unique_ptr<Tokenizer> characters_of(std::string text) {
  return train_tokenizer({.kind = TokenizerKind::character, .user_symbols = {}},
                         [&](std::string& line) { return !text.empty() && (line = std::exchange(text, ""), true); });
}

// A complete directory.
class ModelDirectory : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::remove_all(folder_.path);
    std::filesystem::create_directories(folder_.path);
    const std::shared_ptr<const Tokenizer> source = characters_of("abcdef"), target = characters_of("uvwxyz");
    tokenizers_ = {source, target};
    config_ = {.model = 8,
               .inner = 12,
               .heads = 2,
               .encoder_layers = 1,
               .decoder_layers = 2,
               .source_vocabulary = source->vocabulary_size(),
               .target_vocabulary = target->vocabulary_size(),
               .max_length = 16};
    save_description(folder_, config_, tokenizers_);
    Weights weights;
    const AnyModel model(Scope(weights), config_);
    Trainables trainables(*backend_, weights, DType::f32, Trainables::Gradients::none);
    trainables.initialize(*backend_, 1);
    save_weights(folder_.weights(), trainables, mark_of(config_));
  }

  void TearDown() override { std::filesystem::remove_all(folder_.path); }

  // Changes config.json and says how it is then refused.
  std::string refusal_after(const std::function<void(json&)>& change) {
    save_description(folder_, config_, tokenizers_);
    json root = json::parse(read_file(folder_.config()));
    change(root);
    write_file(folder_.config(), root.dump());
    return refusal();
  }

  std::string refusal() {
    try {
      const StoredModel stored(folder_, *backend_, DType::f32);
    } catch (const Error& error) {
      return error.what();
    }
    return "nothing was thrown";
  }

  ModelFolder folder_{test::folder_of_test()};
  ModelConfig config_;
  Tokenizers tokenizers_;
  std::unique_ptr<Backend> backend_ = make_cpu_backend(1);
};

TEST_F(ModelDirectory, IsLoadedAsItWasSaved) {
  for (const DType storage : {DType::f32, DType::bf16}) {
    const StoredModel stored(folder_, *backend_, storage);
    EXPECT_EQ(describe(stored.config()), describe(config_));
    EXPECT_EQ(stored.source().encode("abc").size(), 3U);
    EXPECT_EQ(stored.target().vocabulary_size(), config_.target_vocabulary);
    EXPECT_GT(stored.parameters(), 0);
  }
}

TEST_F(ModelDirectory, EveryKindOfValueIsRestored) {
  ModelConfig& config = config_;
  config.activation = Activation::silu;
  config.gating = Gating::gated;
  config.positions = Positions::rotary;
  config.norm = NormKind::rms;
  config.epsilon = 1e-6;
  config.bias = Bias::none;
  config.tying = Tying::output;
  config.inner_dropout = Probability(0.25F);
  config.inner = {12, 8};
  config.rotary_base = {1e4, 0.0};
  config.encoder_attention = {{HeadPattern{HeadPattern::Kind::local, 4}}};
  save_description(folder_, config_, tokenizers_);
  EXPECT_EQ(describe(load_description(folder_).config), describe(config));
  EXPECT_THAT(refusal_after([](json& root) {
                root["model"]["inner"] = json::array({12, "8"});
              }),
              HasSubstr("model.inner is [12,\"8\"], expected an integer or a list of integers"));
}

TEST_F(ModelDirectory, OfALanguageModelNamesItsKindOfDocuments) {
  EXPECT_THAT(refusal_after([](json& root) { root["documents"] = "line"; }), HasSubstr("it has no key 'documents'"));
  config_.architecture = Architecture::causal_lm;
  tokenizers_.pop_back();
  for (const auto& [name, documents] : kDocumentNames) {
    save_description(folder_, config_, tokenizers_, documents);
    EXPECT_EQ(load_description(folder_).documents, documents);
    EXPECT_EQ(json::parse(read_file(folder_.config())).at("documents"), name);
  }
  json older = json::parse(read_file(folder_.config()));
  older.erase("documents");
  write_file(folder_.config(), older.dump());
  EXPECT_EQ(load_description(folder_).documents, std::nullopt);
  EXPECT_THAT(refusal_after([](json& root) { root["documents"] = "verse"; }),
              HasSubstr("\"documents\" is \"verse\", expected \"none\""));
}

TEST_F(ModelDirectory, OfAnEncoderSaysWhetherItReadsPairs) {
  EXPECT_THAT(refusal_after([](json& root) { root["pairs"] = true; }), HasSubstr("it has no key 'pairs'"));
  config_.architecture = Architecture::encoder;
  tokenizers_.pop_back();
  for (const TextColumns columns : {TextColumns::one, TextColumns::pair}) {
    save_description(folder_, config_, tokenizers_, Documents::none, columns);
    EXPECT_EQ(load_description(folder_).columns, columns);
    EXPECT_EQ(json::parse(read_file(folder_.config())).at("pairs"), columns == TextColumns::pair);
  }
  json older = json::parse(read_file(folder_.config()));
  older.erase("pairs");
  write_file(folder_.config(), older.dump());
  EXPECT_EQ(load_description(folder_).columns, std::nullopt);
  EXPECT_THAT(refusal_after([](json& root) { root["pairs"] = "yes"; }), HasSubstr("expected \"pairs\", boolean"));
}

TEST_F(ModelDirectory, KeepsTheModelsPrompts) {
  EXPECT_EQ(load_description(folder_).prompts, TextPrompts{});
  const TextPrompts prompts{
      .all = {{"document", ""}, {"query", "query: "}}, .chosen = "query", .pooled = PooledPrompt::no};
  save_description(folder_, {config_, {}, {}, {}, {}, prompts, {}}, tokenizers_);
  EXPECT_EQ(load_description(folder_).prompts, prompts);
  const json stored = json::parse(read_file(folder_.config())).at("prompts");
  const auto refusal_with = [&](const char* key, const json& value) {
    return refusal_after([&](json& root) {
      root["prompts"] = stored;
      root["prompts"][key] = value;
    });
  };
  EXPECT_THAT(refusal_with("chosen", "q"), HasSubstr("prompts.chosen is \"q\", which is not among the prompts"));
  EXPECT_THAT(refusal_with("texts", {{"query", 1}}), HasSubstr("prompts.texts.query is 1, expected a string"));
  EXPECT_THAT(refusal_with("more", 1), HasSubstr("prompts has no key 'more'"));
  EXPECT_THAT(refusal_with("pooled", 1), HasSubstr("expected \"pooled\""));
}

TEST_F(ModelDirectory, OfATranslatorThatAnEarlierVersionImportedIsRead) {
  json root = json::parse(read_file(folder_.config()));
  root["marks"] = {{"target_start", {2, 5}}, {"language_form", "{}"}};
  write_file(folder_.config(), root.dump());
  const ModelMarks marks = load_description(folder_).marks;
  EXPECT_EQ(marks.target_start, (std::vector<int32_t>{2, 5}));
  EXPECT_EQ(marks.language_form, "{}");
  EXPECT_TRUE(marks.ends.empty());
  EXPECT_THAT(refusal_after([&](json& other) {
                other["marks"] = root["marks"];
                other["marks"]["ends"] = 3;
              }),
              HasSubstr("expected \"ends\", array"));
}

TEST_F(ModelDirectory, OtherWeightsOfTheSameModelCanBeLoaded) {
  const auto other = folder_.path / "other.safetensors";
  std::filesystem::rename(folder_.weights(), other);
  EXPECT_THAT(refusal(), HasSubstr("model.safetensors"));
  EXPECT_NO_THROW(StoredModel(folder_, *backend_, DType::f32, other));
}

TEST_F(ModelDirectory, MissingFilesAreNamed) {
  for (const char* const name : {"config.json", "source.tokenizer", "target.tokenizer", "model.safetensors"}) {
    SetUp();
    std::filesystem::remove(folder_.path / name);
    EXPECT_THAT(refusal(), HasSubstr(name));
  }
  std::filesystem::remove_all(folder_.path);
  EXPECT_THAT(refusal(), AllOf(HasSubstr(folder_.path.string()), HasSubstr("no such model directory")));
  write_file(folder_.path, "");
  EXPECT_THAT(refusal(), HasSubstr("expected a model directory"));
  std::filesystem::remove(folder_.path);
}

// Printing or destroying such a value recurses once for every level of it.
TEST_F(ModelDirectory, AConfigOfAMillionLevelsIsRefused) {
  const std::string deep = std::string(1'000'000, '[') + std::string(1'000'000, ']');
  write_file(folder_.config(), "{\"format\": \"heed-model\", \"version\": " + deep + "}");
  EXPECT_THAT(refusal(), AllOf(HasSubstr("config.json"), HasSubstr("nested deeper than 64 levels")));
}

TEST_F(ModelDirectory, AnEditedConfigIsRefusedWithItsKey) {
  const auto set = [](const char* key, json value) { return [key, value](json& root) { root["model"][key] = value; }; };
  EXPECT_THAT(refusal_after(set("heads", "2")),
              AllOf(HasSubstr("config.json"), HasSubstr("heads is \"2\", expected an integer")));
  EXPECT_THAT(refusal_after(set("heads", 2.5)), HasSubstr("expected an integer"));
  EXPECT_THAT(refusal_after(set("bias", 1)), HasSubstr("expected true or false"));
  EXPECT_THAT(refusal_after(set("epsilon", nullptr)), HasSubstr("expected a number"));
  EXPECT_THAT(refusal_after(set("norm", 4)), HasSubstr("expected a text"));
  EXPECT_THAT(refusal_after(set("norm", "layr")), HasSubstr("'layer'"));
  EXPECT_THAT(refusal_after(set("heads", 3)), AllOf(HasSubstr("config.json"), HasSubstr("does not divide")));
  EXPECT_THAT(refusal_after(set("modle", 8)), AllOf(HasSubstr("'modle'"), HasSubstr("'model'")));
  EXPECT_THAT(refusal_after([](json& root) { root["model"].erase("inner"); }), HasSubstr("model.inner is missing"));
  EXPECT_THAT(refusal_after([](json& root) { root["extra"] = 1; }), HasSubstr("'extra'"));
  EXPECT_THAT(refusal_after([](json& root) { root["tokenizers"]["pivot"] = "x"; }), HasSubstr("'pivot'"));
  EXPECT_THAT(refusal_after([](json& root) { root["tokenizers"]["source"] = "/etc/passwd"; }),
              HasSubstr("same folder"));
  EXPECT_THAT(refusal_after([](json& root) { root["version"] = 9; }), HasSubstr("version 9"));
  EXPECT_THAT(refusal_after(set("architecture", "causal-lm")),
              AllOf(HasSubstr("names no \"text\" tokenizer"), HasSubstr("decoder-only")));
}

TEST_F(ModelDirectory, AnotherModelOfTheSameShapesIsRefused) {
  EXPECT_THAT(refusal_after([](json& root) { root["model"]["heads"] = 4; }),
              AllOf(HasSubstr("config.json"), HasSubstr("is not the one whose weights")));
}

TEST_F(ModelDirectory, AbsurdSizesAreRefusedBeforeMemoryIsAllocated) {
  for (const auto& [key, value] : std::vector<std::pair<const char*, int64_t>>{{"model", 1 << 24},
                                                                               {"inner", 1 << 24},
                                                                               {"encoder_layers", 1024},
                                                                               {"decoder_layers", 1024},
                                                                               {"heads", 1 << 30}}) {
    EXPECT_THAT(refusal_after([&, key = key, value = value](json& root) { root["model"][key] = value; }),
                HasSubstr(folder_.path.string()))
        << key;
  }
}

TEST_F(ModelDirectory, TokenizersMustBeTheModelsOwn) {
  save_tokenizer(*characters_of("abcdefg"), folder_.path / "source.tokenizer");
  EXPECT_THAT(refusal(), AllOf(HasSubstr("source.tokenizer"), HasSubstr("source vocabulary")));
  SetUp();
  std::filesystem::copy_file(folder_.path / "source.tokenizer", folder_.path / "target.tokenizer",
                             std::filesystem::copy_options::overwrite_existing);
  EXPECT_THAT(refusal(), AllOf(HasSubstr("target.tokenizer"), HasSubstr("checksum")));
}

TEST_F(ModelDirectory, ADescriptionWithoutChecksumsIsAccepted) {
  EXPECT_EQ(refusal_after([](json& root) {
              root["tokenizers"].erase("source_checksum");
              root["tokenizers"].erase("target_checksum");
            }),
            "nothing was thrown");
}

}  // namespace
}  // namespace heed
