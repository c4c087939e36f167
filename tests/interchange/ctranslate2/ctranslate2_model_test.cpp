#include "interchange/ctranslate2/ctranslate2_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

#include "base/errors.h"
#include "base/system/files.h"
#include "ctranslate2_bytes.h"
#include "interchange/foreign_weights.h"
#include "source_root.h"
#include "test_folder.h"

namespace heed {
namespace {

using test::Bytes;
using test::CTranslate2Bytes;
using test::CTranslate2Variable;
using testing::ElementsAre;
using testing::HasSubstr;

// One layer in each stack, of width 2, with one head; three tokens in the source, two in the target.
class CTranslate2Transformer : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(folder_);
    write_file(folder_ / "config.json", R"({"decoder_start_token":"x","add_source_eos":true})");
    write_file(folder_ / "source_vocabulary.txt", "<unk>\na\nb\n");
    write_file(folder_ / "target_vocabulary.txt", "<unk>\nx\n");
    add("encoder/embeddings_0/weight", {3, 2});
    add("decoder/embeddings/weight", {2, 2});
    add("decoder/projection/weight", {2, 2});
    add("decoder/projection/bias", {2});
    add_norm("encoder/layer_norm");
    add_norm("decoder/layer_norm");
    add_attention("encoder/layer_0/self_attention", {6, 2});
    add_attention("decoder/layer_0/self_attention", {6, 2});
    add_attention("decoder/layer_0/attention", {2, 4, 2});
    for (const std::string stack : {"encoder", "decoder"}) {
      add_linear(stack + "/layer_0/ffn/linear_0", 3, 2);
      add_linear(stack + "/layer_0/ffn/linear_1", 2, 3);
      add_norm(stack + "/layer_0/ffn/layer_norm");
      add_number(stack + "/num_heads", 1);
      add_number(stack + "/activation", 2);
    }
    add_number("encoder/embeddings_merge", 0);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // Each variable's values count on from the last one's.
  void add(const std::string& name, std::vector<uint32_t> shape) {
    size_t count = 1;
    for (const uint32_t extent : shape) {
      count *= extent;
    }
    Bytes bytes;
    for (size_t i = 0; i < count; ++i) {
      bytes.add(next_++);
    }
    variables_[name] = {name, std::move(shape), 0, bytes.text};
  }
  void add_number(const std::string& name, int8_t value) { variables_[name] = {name, {}, 1, Bytes().add(value).text}; }
  void add_norm(const std::string& name) {
    add(name + "/gamma", {2});
    add(name + "/beta", {2});
  }
  void add_linear(const std::string& name, uint32_t outputs, uint32_t inputs) {
    add(name + "/weight", {outputs, inputs});
    add(name + "/bias", {outputs});
  }
  void add_attention(const std::string& name, const std::vector<uint32_t>& outputs) {
    for (size_t i = 0; i < outputs.size(); ++i) {
      add_linear(fmt::format("{}/linear_{}", name, i), outputs[i], 2);
    }
    add_norm(name + "/layer_norm");
  }

  CTranslate2Model read() const {
    CTranslate2Bytes file{.aliases = aliases_};
    for (const auto& [name, variable] : variables_) {
      file.variables.push_back(variable);
    }
    write_file(folder_ / "model.bin", file.all());
    return read_ctranslate2_model(folder_);
  }
  std::string refusal() const {
    try {
      read();
    } catch (const FormatError& error) {
      return error.what();
    }
    return "";
  }
  std::map<std::string, CTranslate2Variable> variables_;
  std::vector<std::pair<std::string, std::string>> aliases_;
  float next_ = 1.0F;
  std::filesystem::path folder_ = test::folder_of_test();
};

TEST_F(CTranslate2Transformer, SettingsFollowFromTheVariables) {
  const CTranslate2Model read = this->read();
  const ModelConfig& config = read.model.config;
  EXPECT_EQ(config.model, 2);
  EXPECT_EQ(config.inner.of(0), 3);
  EXPECT_EQ(config.heads, 1);
  EXPECT_EQ(config.source_vocabulary, 3);
  EXPECT_EQ(config.target_vocabulary, 2);
  EXPECT_EQ(config.placement, NormPlacement::pre);
  EXPECT_EQ(config.final_norm, FinalNorm::present);
  EXPECT_EQ(config.activation, Activation::silu);
  EXPECT_EQ(config.sinusoid, SinusoidLayout::halves_inclusive);
  EXPECT_EQ(config.position_offset, 1);
  EXPECT_EQ(config.embedding_scale, EmbeddingScale::sqrt_model);
  EXPECT_EQ(config.tying, Tying::none);
  EXPECT_EQ(config.epsilon, 1e-5);
  EXPECT_EQ(read.config.decoder_start, "x");
  EXPECT_THAT(read.model.marks.target_start, ElementsAre(1));
  EXPECT_EQ(read.zero_token, std::nullopt);
  config.validate();
  const ForeignWeights weights(read.model.archive, read.model.names, config);  // every variable has a place
}

TEST_F(CTranslate2Transformer, EveryParticularIsFollowed) {
  add_number("encoder/pre_norm", 0);
  add_number("decoder/pre_norm", 0);
  add_number("encoder/scale_embeddings", 0);
  add_number("decoder/scale_embeddings", 0);
  variables_.erase("encoder/layer_norm/gamma");
  variables_.erase("encoder/layer_norm/beta");
  variables_.erase("decoder/layer_norm/gamma");
  variables_.erase("decoder/layer_norm/beta");
  for (const std::string stack : {"encoder", "decoder"}) {
    add_norm(stack + "/layernorm_embedding");
    add_linear(stack + "/layer_0/ffn/linear_0_noact", 3, 2);
    add(stack + "/position_encodings/encodings", {7, 2});
  }
  variables_.erase("decoder/projection/weight");
  aliases_ = {{"decoder/projection/weight", "decoder/embeddings/weight"}};
  const CTranslate2Model read = this->read();
  const ModelConfig& config = read.model.config;
  EXPECT_EQ(config.placement, NormPlacement::post);
  EXPECT_EQ(config.final_norm, FinalNorm::none);
  EXPECT_EQ(config.embedding_norm, EmbeddingNorm::present);
  EXPECT_EQ(config.embedding_scale, EmbeddingScale::none);
  EXPECT_EQ(config.gating, Gating::gated);
  EXPECT_EQ(config.positions, Positions::learned);
  EXPECT_EQ(config.max_length, 7);
  EXPECT_EQ(config.tying, Tying::output);
  config.validate();
  const ForeignWeights weights(read.model.archive, read.model.names, config);
}

TEST_F(CTranslate2Transformer, AStartFromZerosIsATokenOfItsOwn) {
  add_number("decoder/start_from_zero_embedding", 1);
  const CTranslate2Model read = this->read();
  EXPECT_EQ(read.zero_token, 2);
  EXPECT_THAT(read.model.marks.target_start, ElementsAre(2));
  EXPECT_EQ(read.model.config.target_vocabulary, 3);
  EXPECT_THAT(read_floats(read.model.archive->at("decoder/embeddings/weight")),
              ElementsAre(testing::_, testing::_, testing::_, testing::_, 0, 0));
  EXPECT_EQ(read_floats(read.model.archive->at("decoder/projection/bias"))[2], -1e9F);
  EXPECT_THAT(read.model.archive->at("decoder/projection/weight").shape, ElementsAre(3, 2));
  const ForeignWeights weights(read.model.archive, read.model.names, read.model.config);
}

TEST_F(CTranslate2Transformer, WhatHeedLacksIsNamed) {
  EXPECT_EQ(refusal(), "");
  add_number("encoder/activation", 4);
  add_number("decoder/activation", 4);
  EXPECT_THAT(refusal(), HasSubstr("'activation' is 4, x sigmoid(1.702 x), which heed lacks"));
  add_number("decoder/activation", 0);
  EXPECT_THAT(refusal(), HasSubstr("'activation' is 4 in the encoder and 0 in the decoder"));
  add_number("encoder/activation", 0);
  add("encoder/embeddings_1/weight", {3, 2});
  EXPECT_THAT(refusal(), HasSubstr("sources of several parts"));
  variables_.erase("encoder/embeddings_1/weight");
  add_number("decoder/alibi", 1);
  EXPECT_THAT(refusal(), HasSubstr("'decoder/alibi'"));
  add_number("decoder/alibi", 0);
  add("encoder/layer_0/self_attention/relative_position_keys", {3, 2});
  EXPECT_THAT(refusal(), HasSubstr("relative_position_keys', which heed's form lacks"));
}

TEST_F(CTranslate2Transformer, AStartThatIsNoTokenIsNamed) {
  write_file(folder_ / "config.json", R"({"decoder_start_token":"</s>"})");
  EXPECT_THAT(refusal(), HasSubstr("target_vocabulary.txt: there is no '</s>', which the decoder begins with"));
}

TEST_F(CTranslate2Transformer, SettingsThatAreMissingOrCutOffAreNamed) {
  write_file(folder_ / "config.json", R"({"decoder_start_token":)");
  EXPECT_THAT(refusal(), HasSubstr("config.json: "));
  std::filesystem::remove(folder_ / "config.json");
  EXPECT_THAT(refusal(), HasSubstr("there is no config.json"));
}

TEST_F(CTranslate2Transformer, AVocabularyOfAnotherSizeIsNamed) {
  write_file(folder_ / "target_vocabulary.txt", "<unk>\nx\ny\n");
  EXPECT_THAT(refusal(), HasSubstr("target_vocabulary.txt: has 3 tokens, but the table of embeddings 2 rows"));
}

TEST(CTranslate2Published, TheTransliterationModelIsAModelOfHeeds) {
  const char* const set = std::getenv("HEED_DATA");
  const std::filesystem::path data =
      set != nullptr ? std::filesystem::path(set) : test::source_root() / "../shared/data";
  const std::filesystem::path folder = data / "ct2-transliteration";
  if (!std::filesystem::exists(folder)) {
    GTEST_SKIP() << "there is no " << folder;
  }
  const CTranslate2Model read = read_ctranslate2_model(folder);
  const ModelConfig& config = read.model.config;
  EXPECT_EQ(config.model, 32);
  EXPECT_EQ(config.inner.of(0), 128);
  EXPECT_EQ(config.heads, 8);
  EXPECT_EQ(config.encoder_layers, 6);
  EXPECT_EQ(config.decoder_layers, 6);
  EXPECT_EQ(config.source_vocabulary, 51);
  EXPECT_EQ(config.target_vocabulary, 43);
  EXPECT_EQ(config.placement, NormPlacement::pre);
  EXPECT_EQ(config.activation, Activation::relu);
  EXPECT_EQ(read.config.decoder_start, "<s>");
  EXPECT_FALSE(read.config.adds_source_end);
  config.validate();
  const ForeignWeights weights(read.model.archive, read.model.names, config);
}

}  // namespace
}  // namespace heed
