// The forms of Llama's kin: golden files are written again as they were, and what llama.cpp would compute in another
// way is refused by its setting.
#include "interchange/forms/kin_forms.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "base/errors.h"
#include "interchange/exported_weights.h"
#include "interchange/foreign_source.h"
#include "models/any_model.h"
#include "source_root.h"
#include "test_folder.h"

namespace heed {
namespace {

using testing::AllOf;
using testing::HasSubstr;

ForeignModel golden_kin(const std::string& name) {
  const std::filesystem::path golden = test::source_root() / "tests/interchange/golden";
  const bool is_file = std::filesystem::exists(golden / "gguf" / name);
  return read_foreign_model(is_file ? golden / "gguf" / name / "model.gguf" : golden / "decoders" / name);
}

// Any vocabulary of the right size.
std::vector<GgufEntry> some_tokens(int64_t count) {
  std::vector<std::string> tokens;
  for (int64_t i = 0; i < count; ++i) {
    tokens.push_back(fmt::format("t{}", i));
  }
  return {{"tokenizer.ggml.model", std::string("gpt2")},
          {"tokenizer.ggml.pre", std::string("gpt-2")},
          {"tokenizer.ggml.merges", std::vector<std::string>{}},
          {"tokenizer.ggml.tokens", std::move(tokens)}};
}

// The model in a file, without its tokenizer.
ForeignModel written_again(const ForeignModel& model, GgufType type, const std::filesystem::path& path) {
  const KinForm form = kin_form_of(model.config).value();
  require_kin_form(form, model.config, "golden");
  std::vector<GgufEntry> entries{{"general.architecture", std::string(name_of(form))}};
  for (const auto& more : {kin_entries(form, model.config), some_tokens(model.config.target_vocabulary)}) {
    entries.insert(entries.end(), more.begin(), more.end());
  }
  const auto stored = open_foreign_weights(model);
  Weights weights;
  const AnyModel shapes(Scope(weights), model.config);
  write_gguf(path, entries, exported_weights(kin_names(form), model.config, weights, {*stored}, type));
  return read_foreign_model(path);
}

std::vector<std::byte> bytes_of_tensor(const ForeignWeights& weights, const StoredTensor& tensor) {
  std::vector<std::byte> buffer;
  const auto bytes = weights.rows(tensor, {0, tensor.rows()}, buffer);
  return {bytes.begin(), bytes.end()};
}

class KinFormsOf : public testing::TestWithParam<const char*> {};

TEST_P(KinFormsOf, AreWrittenAsTheyWereRead) {
  const std::filesystem::path path = test::folder_of_test();
  const ForeignModel before = golden_kin(GetParam()), after = written_again(before, GgufType::bf16, path);
  EXPECT_EQ(describe(after.config), describe(before.config));
  const auto from = open_foreign_weights(before), to = open_foreign_weights(after);
  ASSERT_EQ(to->tensors().size(), from->tensors().size());
  for (const StoredTensor& tensor : from->tensors()) {
    EXPECT_EQ(to->at(tensor.name).text(), tensor.text());
    EXPECT_TRUE(bytes_of_tensor(*to, to->at(tensor.name)) == bytes_of_tensor(*from, tensor)) << tensor.name;
  }
  std::filesystem::remove(path);
}

INSTANTIATE_TEST_SUITE_P(Golden, KinFormsOf, testing::Values("qwen2", "qwen3", "gemma", "gemma-2", "gemma-3"));

TEST(KinForms, GemmasGainsAreWrittenWithOneAdded) {
  const std::filesystem::path path = test::folder_of_test();
  const ForeignModel before = read_foreign_model(test::source_root() / "tests/interchange/golden/decoders/gemma");
  ASSERT_EQ(before.config.norm_gain, NormGain::plus_one);
  const ForeignModel after = written_again(before, GgufType::bf16, path);
  EXPECT_EQ(after.config.norm_gain, NormGain::plain);
  const auto from = open_foreign_weights(before), to = open_foreign_weights(after);
  for (const char* const name : {"decoder.norm.gain", "decoder.layers.1.feed_forward.norm.gain"}) {
    const std::vector<std::byte> stored = bytes_of_tensor(*from, from->at(name)),
                                 written = bytes_of_tensor(*to, to->at(name));
    ASSERT_EQ(stored.size(), written.size());
    for (size_t i = 0; i < stored.size() / sizeof(float); ++i) {
      EXPECT_EQ(reinterpret_cast<const float*>(written.data())[i],
                reinterpret_cast<const float*>(stored.data())[i] + 1.0F);
    }
  }
  std::filesystem::remove(path);
}

TEST(KinForms, OtherSettingsAreRefusedByName) {
  const auto refused = [](const char* golden, const std::function<void(ModelConfig&)>& change,
                          const std::string& part) {
    ModelConfig config = golden_kin(golden).config;
    change(config);
    config.validate();
    try {
      require_kin_form(kin_form_of(config).value(), config, "config.json");
      ADD_FAILURE() << part << " is taken";
    } catch (const ConfigError& error) {
      EXPECT_THAT(error.what(), AllOf(HasSubstr("config.json: " + part), HasSubstr("needs ")));
    }
  };
  refused(
      "qwen2", [](ModelConfig& c) { c.window = 8; }, "window = 8, but the Qwen 2 form");
  refused(
      "qwen3", [](ModelConfig& c) { c.norm_gain = NormGain::plus_one; }, "norm_gain = ");
  refused(
      "qwen3", [](ModelConfig& c) { c.feed_forward_bias = PartBias::all; }, "feed_forward_bias = ");
  refused(
      "gemma", [](ModelConfig& c) { c.embedding_scale = EmbeddingScale::none; }, "embedding_scale = ");
  refused(
      "gemma-2",
      [](ModelConfig& c) {
        c.attention = {layer_pattern("a", "local:5"), layer_pattern("a", "local:5")};
      },
      "attention = ");
  refused(
      "gemma-2", [](ModelConfig& c) { c.attention_scale = 0.3; }, "attention_scale = ");
  refused(
      "gemma-2", [](ModelConfig& c) { c.logit_cap = 0.0; }, "logit_cap = ");
  refused(
      "gemma-3", [](ModelConfig& c) { c.logit_cap = 5.0; }, "logit_cap = ");
  refused(
      "gemma-3", [](ModelConfig& c) { c.rotary_base = 1e6; }, "rotary_base = ");
  refused(
      "gemma-3", [](ModelConfig& c) { c.rotary_factor = 2.5; }, "rotary_factor = ");
}

}  // namespace
}  // namespace heed
