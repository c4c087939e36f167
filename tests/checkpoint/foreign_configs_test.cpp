// Settings of config.json as published models have them, and which are refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "base/errors.h"
#include "base/system/files.h"
#include "checkpoint/imported_model.h"
#include "checkpoint/model_directory.h"
#include "checkpoint/stored_model.h"
#include "interchange/huggingface/huggingface_model.h"
#include "source_root.h"
#include "test_folder.h"

namespace heed::test {
namespace {

using nlohmann::json;

// A golden model's directory with some files changed.
class ChangedFolder {
 public:
  ChangedFolder(const std::string& golden, const std::map<std::string, json>& files) : folder_(folder_of_test()) {
    const std::filesystem::path original = source_root() / "tests/interchange/golden" / golden;
    std::filesystem::remove_all(folder_);
    std::filesystem::copy(original, folder_, std::filesystem::copy_options::recursive);
    for (const auto& [name, changes] : files) {
      json content = json::parse(read_file(original / name));
      content.merge_patch(changes);
      std::ofstream(folder_ / name) << content;
    }
  }
  ~ChangedFolder() { std::filesystem::remove_all(folder_); }
  ChangedFolder(const ChangedFolder&) = delete;
  ChangedFolder& operator=(const ChangedFolder&) = delete;

  const std::filesystem::path& path() const { return folder_; }
  ModelConfig config() const { return read_huggingface_model(folder_).config; }
  // The message without the folder; empty where the model is read.
  std::string refusal() const {
    return refusal_of([&] { read_huggingface_model(folder_); });
  }
  std::string refusal_of_tokenizers() const {
    return refusal_of([&] { load_tokenizers({folder_}, load_description({folder_})); });
  }

 private:
  template <class Read>
  std::string refusal_of(Read read) const {
    try {
      read();
    } catch (const FormatError& error) {
      const std::string text = error.what(), folder = folder_.string();
      return text.starts_with(folder) ? text.substr(text.find_first_not_of("/: ", folder.size())) : text;
    }
    return "";
  }

  std::filesystem::path folder_;
};

ModelConfig config_with(const std::string& golden, const json& changes) {
  return ChangedFolder(golden, {{"config.json", changes}}).config();
}
std::string refusal_of(const std::string& golden, const json& changes) {
  return ChangedFolder(golden, {{"config.json", changes}}).refusal();
}

TEST(ForeignConfigs, PythiasOwnNameForTheRotaryBaseIsRead) {
  const json published{{"rope_theta", nullptr}, {"partial_rotary_factor", nullptr}, {"rotary_emb_base", 5000}};
  const ModelConfig config = config_with("decoders/gpt-neox", published);
  EXPECT_EQ(config.rotary_base, PerLayer<double>(5000.0));
  EXPECT_EQ(config.rotary_width, config_with("decoders/gpt-neox", json::object()).rotary_width);
}

TEST(ForeignConfigs, OldFilesWithoutARotaryBaseMeanTenThousand) {
  EXPECT_EQ(config_with("decoders/llama", {{"rope_theta", nullptr}}).rotary_base, PerLayer<double>(10000.0));
}

TEST(ForeignConfigs, AMistralWithoutAWordOfItsWindowHasOneOf4096) {
  EXPECT_EQ(config_with("decoders/mistral", {{"sliding_window", 5}}).window, 5);
  json silent = json::parse(read_file(source_root() / "tests/interchange/golden/decoders/mistral/config.json"));
  silent["sliding_window"] = nullptr;
  ChangedFolder folder("decoders/mistral", {});
  std::ofstream(folder.path() / "config.json") << silent;
  EXPECT_EQ(folder.config().window, 0);
  silent.erase("sliding_window");
  std::ofstream(folder.path() / "config.json") << silent;
  EXPECT_EQ(folder.config().window, 4096);
}

TEST(ForeignConfigs, ThePartOfAHeadThatIsRotatedIsAlsoReadFromNewerFiles) {
  const json newer{
      {"rope_theta", nullptr},
      {"rope_parameters", {{"rope_theta", 20000.0}, {"rope_type", "default"}, {"partial_rotary_factor", 0.7}}}};
  const ModelConfig config = config_with("decoders/phi-3", newer);
  EXPECT_EQ(config.width_of_head(), 6);
  EXPECT_EQ(config.rotary_width, 4);
  EXPECT_EQ(refusal_of("decoders/phi-3", {{"partial_rotary_factor", 0}}),
            "config.json: \"partial_rotary_factor\" is 0, expected above 0 and at most 1");
}

TEST(ForeignConfigs, ModelsWithLayersWithoutPositionsAreRefused) {
  EXPECT_THAT(refusal_of("decoders/llama", {{"model_type", "smollm4"}}),
              testing::StartsWith("config.json: \"model_type\" is \"smollm4\", which heed does not read"));
  EXPECT_THAT(refusal_of("decoders/llama", {{"model_type", "smollm3"}, {"no_rope_layers", {1, 0, 1}}}),
              testing::HasSubstr("\"no_rope_layers\" has 3 entries for 2 layers"));
}

TEST(ForeignConfigs, WindowsAndTheirPeriodsMustBeAtLeastOne) {
  const json no_types{{"layer_types", nullptr}, {"sliding_window_pattern", 0}};
  EXPECT_EQ(refusal_of("decoders/gemma-3", no_types),
            "config.json: \"sliding_window_pattern\" is 0, expected at least 1");
  for (const char* const model : {"decoders/gemma-2", "decoders/mistral"}) {
    EXPECT_EQ(refusal_of(model, {{"sliding_window", 0}}), "config.json: \"sliding_window\" is 0, expected above 0");
  }
}

TEST(ForeignConfigs, TheTokenThatBeginsTranslationsMustBeInTheVocabulary) {
  for (const int64_t token : {int64_t{-1}, int64_t{54}, (int64_t{1} << 32) + 1}) {
    const ChangedFolder folder("encoder_decoders/marian",
                               {{"generation_config.json", {{"decoder_start_token_id", token}}}});
    EXPECT_EQ(folder.refusal(), fmt::format("generation_config.json: \"decoder_start_token_id\" is {}, but the "
                                            "vocabulary has the tokens 0 to 53",
                                            token));
  }
}

TEST(ForeignConfigs, ATokenizerWithoutEosIsRefusedForTranslation) {
  const json without{{"eos_token", nullptr}};
  const ChangedFolder folder("encoder_decoders/t5",
                             {{"tokenizer.json", {{"added_tokens", json::array()}, {"post_processor", nullptr}}},
                              {"tokenizer_config.json", without},
                              {"special_tokens_map.json", without}});
  EXPECT_EQ(folder.refusal_of_tokenizers(),
            "has no bos or no eos, which translation needs: learn the tokenizer with both");
}

TEST(ForeignConfigs, ModulesMustLieInTheModelsFolder) {
  for (const char* const path : {"..", ".", "../2_Dense", "/tmp"}) {
    json modules =
        json::parse(read_file(source_root() / "tests/interchange/golden/encoders/sentence-dense/modules.json"));
    modules.at(2)["path"] = path;
    const ChangedFolder folder("encoders/sentence-dense", {{"modules.json", modules}});
    EXPECT_EQ(folder.refusal(),
              fmt::format("modules.json: \"path\" is \"{}\", expected the name of a folder in the same folder", path));
  }
}

TEST(ForeignConfigs, PyTorchsWeightsMayHaveOtherUsualNames) {
  for (const char* const name : {"pytorch_model.pt", "model.pt", "model.pth"}) {
    const ChangedFolder folder("decoders/gpt2-pickled", {});
    std::filesystem::rename(folder.path() / "pytorch_model.bin", folder.path() / name);
    EXPECT_EQ(folder.refusal(), "") << name;
    std::filesystem::rename(folder.path() / name, folder.path() / "weights.pt");
    EXPECT_EQ(folder.refusal(), "has neither model.safetensors nor pytorch_model.bin, with or without an index");
  }
}

TEST(ForeignConfigs, WhatModulesSayIsListedWithTheirFiles) {
  const ChangedFolder folder("encoders/sentence-dense", {{"2_Dense/config.json", {{"unheard_of", 1}}}});
  const ForeignModel model = read_huggingface_model(folder.path());
  const auto has = [&](const char* file, const char* key) {
    return std::ranges::any_of(model.origins,
                               [&](const SettingOrigin& origin) { return origin.file == file && origin.key == key; });
  };
  EXPECT_TRUE(has("1_Pooling/config.json", "pooling_mode_mean_tokens"));
  EXPECT_TRUE(has("2_Dense/config.json", "out_features"));
  EXPECT_TRUE(has("sentence_bert_config.json", "max_seq_length"));
  EXPECT_THAT(model.unread, testing::Contains("2_Dense/config.json unheard_of"));
}

TEST(ForeignConfigs, TextsArePutIntoLowerCaseWhereTheEncoderSaysSo) {
  const auto ids = [](bool lowers, std::string_view text) {
    const ChangedFolder folder("encoders/sentence-dense", {{"sentence_bert_config.json", {{"do_lower_case", lowers}}},
                                                           {"tokenizer.json", {{"normalizer", nullptr}}}});
    return load_tokenizers({folder.path()}, load_description({folder.path()})).front()->encode(text);
  };
  const std::string text = "Two Dogs PLAY", lower = "two dogs play";
  EXPECT_NE(ids(false, text), ids(false, lower));
  EXPECT_EQ(ids(true, text), ids(false, lower));
}

TEST(ForeignConfigs, PromptsMustBeTextsByName) {
  const char* const file = "config_sentence_transformers.json";
  const auto refusal_with = [&](const json& changes) {
    return ChangedFolder("encoders/sentence-cls", {{file, changes}}).refusal();
  };
  EXPECT_EQ(refusal_with({{"default_prompt_name", "query"}}), "");
  for (const auto& [changes, refusal] :
       {std::pair{json{{"prompts", {"a"}}}, "\"prompts\" is not an object"},
        std::pair{json{{"prompts", {{"a", 1}}}}, "the prompt \"a\" is not a string"},
        std::pair{json{{"default_prompt_name", 1}}, "\"default_prompt_name\" is not a string"},
        std::pair{json{{"default_prompt_name", "a"}},
                  "\"default_prompt_name\" is \"a\", which is not among the prompts"}}) {
    EXPECT_EQ(refusal_with(changes), fmt::format("{}: {}", file, refusal));
  }
}

// RoBERTa's head, and so MPNet's and ELECTRA's, has its own activation; BERT's and DistilBERT's have the encoder's.
TEST(ForeignConfigs, HeadsOfMaskedLanguageModelsHaveTheirFamilysActivation) {
  const auto of_head = [](const std::string& golden, const char* key) {
    return config_with("encoders/" + golden + "-masked", {{key, "relu"}}).head_layer;
  };
  EXPECT_EQ(of_head("roberta", "hidden_act"), Activation::gelu);
  EXPECT_EQ(of_head("electra", "hidden_act"), Activation::gelu);
  EXPECT_EQ(of_head("bert", "hidden_act"), Activation::relu);
  EXPECT_EQ(of_head("distilbert", "activation"), Activation::relu);
}

TEST(ForeignConfigs, ALanguageModelWithoutItsOutputLayerOnlyEmbedsTexts) {
  const auto refusal = [](const ModelFolder& model) {
    try {
      require_architecture(model, Architecture::causal_lm);
    } catch (const FormatError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  for (const bool tied : {true, false}) {
    const ChangedFolder folder("decoders/qwen3", {{"config.json", {{"tie_word_embeddings", tied}}}});
    std::ofstream(folder.path() / "modules.json") << R"([{"type": "a.Transformer", "path": ""}])";
    const ModelFolder imported{folder.path().string() + "-imported"};
    write_imported_model(folder.path(), imported);
    for (const ModelFolder& model : {ModelFolder{folder.path()}, imported}) {
      EXPECT_EQ(load_description(model).config.tying, Tying::output);
      EXPECT_EQ(refusal(model).find("saved without the layer that writes") != std::string::npos, !tied);
    }
    std::filesystem::remove_all(imported.path);
  }
}

TEST(ForeignConfigs, ADenseModuleIsRefusedForOtherModelsThanEncoders) {
  const ChangedFolder folder("decoders/qwen3", {});
  std::ofstream(folder.path() / "modules.json")
      << R"([{"type": "a.Transformer", "path": ""}, {"type": "a.Dense", "path": "1_Dense"}])";
  EXPECT_EQ(folder.refusal(), "modules.json: has Dense behind a model that is not an encoder, which heed lacks");
}

}  // namespace
}  // namespace heed::test
