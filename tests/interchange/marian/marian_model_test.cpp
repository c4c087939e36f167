#include "interchange/marian/marian_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "base/errors.h"
#include "base/system/files.h"
#include "interchange/foreign_weights.h"
#include "marian_bytes.h"
#include "test_folder.h"

namespace heed {
namespace {

using test::Bytes;
using test::MarianBytes;
using test::MarianItem;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr uint64_t kFloatItem = 0x404, kIntegerItem = 0x4101, kCharacterItem = 0x101;

// One layer in each stack, of width 2, with one head; three tokens.
class MarianTransformer : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(folder_);
    settings_ = {{"type", "transformer"},
                 {"dim-emb", "2"},
                 {"enc-depth", "1"},
                 {"dec-depth", "1"},
                 {"transformer-heads", "1"},
                 {"transformer-dim-ffn", "4"},
                 {"tied-embeddings-all", "true"},
                 {"transformer-ffn-activation", "relu"}};
    add("Wemb", {3, 2});
    add("decoder_ff_logit_out_b", {1, 3});
    add_sublayer("encoder_l1_self", {"q", "k", "v", "o"}, "_Wo");
    add_sublayer("decoder_l1_self", {"q", "k", "v", "o"}, "_Wo");
    add_sublayer("decoder_l1_context", {"q", "k", "v", "o"}, "_Wo");
    for (const std::string stack : {"encoder", "decoder"}) {
      add(stack + "_l1_ffn_W1", {2, 4});
      add(stack + "_l1_ffn_b1", {1, 4});
      add(stack + "_l1_ffn_W2", {4, 2});
      add(stack + "_l1_ffn_b2", {1, 2});
      add_sublayer(stack + "_l1_ffn", {}, "_ffn");
    }
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // Each tensor's values count on from the last one's; they fit in eight bits.
  void add(const std::string& name, std::vector<int32_t> shape) {
    Bytes bytes;
    for (int32_t i = 0; i < shape[0] * shape[1]; ++i) {
      bytes.add(next_);
      next_ = next_ < 100.0F ? next_ + 1.0F : 1.0F;
    }
    items_[name] = {name, kFloatItem, std::move(shape), bytes.text};
  }
  void add_sublayer(const std::string& name, const std::vector<std::string>& matrices, const std::string& norm) {
    for (const std::string& matrix : matrices) {
      add(name + "_W" + matrix, {2, 2});
      add(name + "_b" + matrix, {1, 2});
    }
    add(name + norm + "_ln_scale", {1, 2});
    add(name + norm + "_ln_bias", {1, 2});
  }
  void rename(const std::string& from, const std::string& to) {
    MarianItem item = items_.extract(from).mapped();
    item.name = to;
    items_[to] = item;
  }

  MarianModel read() const {
    std::string yaml;
    for (const auto& [key, value] : settings_) {
      yaml += key + ": " + value + "\n";
    }
    MarianBytes file;
    for (const auto& [name, item] : items_) {
      file.items.push_back(item);
    }
    yaml += '\0';
    file.items.push_back({"special:model.yml", kCharacterItem, {static_cast<int32_t>(yaml.size())}, yaml});
    write_file(folder_ / "model.bin", file.all());
    return read_marian_model(folder_ / "model.bin");
  }
  std::string refusal() const {
    try {
      read();
    } catch (const FormatError& error) {
      return error.what();
    }
    return "";
  }
  std::string refusal_with(const std::string& key, const std::string& value) {
    const auto before = settings_;
    settings_[key] = value;
    const std::string message = refusal();
    settings_ = before;
    return message;
  }
  static std::vector<float> rows_of(const ForeignWeights& weights, const std::string& name) {
    const StoredTensor& tensor = weights.at(name);
    std::vector<std::byte> buffer;
    const std::span<const std::byte> bytes = weights.rows(tensor, {0, tensor.rows()}, buffer);
    std::vector<float> values(bytes.size() / sizeof(float));
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }
  std::map<std::string, std::string> settings_;
  std::map<std::string, MarianItem> items_;
  float next_ = 1.0F;
  std::filesystem::path folder_ = test::folder_of_test();
};

TEST_F(MarianTransformer, SettingsFollowFromItsOwn) {
  const MarianModel read = this->read();
  const ModelConfig& config = read.model.config;
  EXPECT_EQ(config.model, 2);
  EXPECT_EQ(config.inner.of(0), 4);
  EXPECT_EQ(config.placement, NormPlacement::post);
  EXPECT_EQ(config.final_norm, FinalNorm::none);
  EXPECT_EQ(config.sinusoid, SinusoidLayout::halves_inclusive);
  EXPECT_EQ(config.position_offset, 0);
  EXPECT_EQ(config.embedding_scale, EmbeddingScale::sqrt_model);
  EXPECT_EQ(config.epsilon, 1e-6);
  EXPECT_EQ(config.tying, Tying::all);
  EXPECT_EQ(config.activation, Activation::relu);
  EXPECT_EQ(read.zero_token, 3);
  EXPECT_THAT(read.model.marks.target_start, ElementsAre(3));
  EXPECT_EQ(config.target_vocabulary, 4);
  EXPECT_EQ(config.source_vocabulary, 4);
  config.validate();
  const ForeignWeights weights(read.model.archive, read.model.names, config);
  const std::vector<float> bias = read_floats(read.model.archive->at("decoder_ff_logit_out_b"));
  EXPECT_EQ(bias.back(), -1e9F);
  EXPECT_THAT(read.model.unread, ElementsAre());
}

// Marian multiplies x W, heed W x.
TEST_F(MarianTransformer, MatricesAreTurnedOverUnlessTheyAreIntegers) {
  const MarianModel floats = read();
  const ForeignWeights of_floats(floats.model.archive, floats.model.names, floats.model.config);
  for (auto& [name, item] : items_) {
    const bool is_matrix = name.find("_W") != std::string::npos && name.find("_ln_") == std::string::npos;
    if (is_matrix) {
      std::vector<float> values(item.data.size() / sizeof(float));
      std::memcpy(values.data(), item.data.data(), item.data.size());
      const auto rows = static_cast<size_t>(item.shape[0]), columns = static_cast<size_t>(item.shape[1]);
      Bytes turned;
      for (size_t i = 0; i < values.size(); ++i) {
        turned.add(static_cast<int8_t>(values[i % rows * columns + i / rows]));
      }
      item = {name, kIntegerItem, item.shape, turned.add(1.0F).text};
    }
  }
  const MarianModel integers = read();
  const ForeignWeights of_integers(integers.model.archive, integers.model.names, integers.model.config);
  for (const StoredTensor& tensor : of_floats.tensors()) {
    EXPECT_EQ(rows_of(of_floats, tensor.name), rows_of(of_integers, tensor.name)) << tensor.name;
  }
}

TEST_F(MarianTransformer, EveryParticularIsFollowed) {
  settings_["transformer-preprocess"] = "n";
  settings_["transformer-postprocess"] = "da";
  settings_["transformer-postprocess-top"] = "n";
  settings_["transformer-postprocess-emb"] = "nd";
  settings_["transformer-train-positions"] = "true";
  settings_["transformer-ffn-activation"] = "swish";
  settings_["tied-embeddings-all"] = "false";
  for (const std::string norm : {"encoder_l1_self_Wo", "encoder_l1_ffn_ffn", "decoder_l1_self_Wo",
                                 "decoder_l1_context_Wo", "decoder_l1_ffn_ffn"}) {
    rename(norm + "_ln_scale", norm + "_ln_scale_pre");
    rename(norm + "_ln_bias", norm + "_ln_bias_pre");
  }
  for (const std::string stack : {"encoder", "decoder"}) {
    add(stack + "_emb_ln_scale_pre", {1, 2});
    add(stack + "_emb_ln_bias_pre", {1, 2});
    add(stack + "_top_ln_scale", {1, 2});
    add(stack + "_top_ln_bias", {1, 2});
  }
  rename("Wemb", "decoder_Wemb");
  add("encoder_Wemb", {5, 2});
  add("decoder_ff_logit_out_W", {2, 3});
  add("Wpos", {9, 2});
  const MarianModel read = this->read();
  const ModelConfig& config = read.model.config;
  EXPECT_EQ(config.placement, NormPlacement::pre);
  EXPECT_EQ(config.final_norm, FinalNorm::present);
  EXPECT_EQ(config.embedding_norm, EmbeddingNorm::present);
  EXPECT_EQ(config.positions, Positions::learned);
  EXPECT_EQ(config.embedding_scale, EmbeddingScale::none);
  EXPECT_EQ(config.max_length, 9);
  EXPECT_EQ(config.tying, Tying::none);
  EXPECT_EQ(config.source_vocabulary, 5);
  EXPECT_EQ(config.target_vocabulary, 4);
  config.validate();
  const ForeignWeights weights(read.model.archive, read.model.names, config);
}

// The small fast students.
TEST_F(MarianTransformer, ARecurrentDecoderHasMatricesOfItsOwn) {
  settings_["transformer-decoder-autoreg"] = "rnn";
  settings_["dec-cell"] = "ssru";
  std::erase_if(items_, [](const auto& item) { return item.first.starts_with("decoder_l1_self"); });
  add("decoder_l1_rnn_W", {2, 2});
  add("decoder_l1_rnn_Wf", {2, 2});
  add("decoder_l1_rnn_bf", {1, 2});
  add("decoder_l1_rnn_ffn_ln_scale", {1, 2});
  add("decoder_l1_rnn_ffn_ln_bias", {1, 2});
  const MarianModel read = this->read();
  EXPECT_TRUE(read.model.config.is_recurrent());
  read.model.config.validate();
  const ForeignWeights weights(read.model.archive, read.model.names, read.model.config);
  settings_["transformer-rnn-projection"] = "true";
  EXPECT_THAT(refusal(), HasSubstr("'transformer-rnn-projection' is true"));
}

TEST_F(MarianTransformer, WhatHeedLacksIsNamed) {
  EXPECT_EQ(refusal(), "");
  EXPECT_THAT(refusal_with("type", "s2s"), HasSubstr("'type' is 's2s', expected 'transformer'"));
  EXPECT_THAT(refusal_with("transformer-decoder-autoreg", "rnn"),
              HasSubstr("'dec-cell' is 'gru', but heed's recurrent"));
  EXPECT_THAT(refusal_with("transformer-decoder-autoreg", "average-attention"), HasSubstr("'average-attention'"));
  EXPECT_THAT(refusal_with("transformer-tied-layers", "[1, 1]"), HasSubstr("'transformer-tied-layers' is not empty"));
  EXPECT_THAT(refusal_with("lemma-dim-emb", "8"), HasSubstr("'lemma-dim-emb' is 8"));
  EXPECT_THAT(refusal_with("vocabs", "[a.fsv, b.fsv]"), HasSubstr("'vocabs' has factors, a.fsv"));
  EXPECT_THAT(refusal_with("transformer-no-projection", "true"), HasSubstr("'transformer-no-projection' is true"));
  EXPECT_THAT(refusal_with("transformer-postprocess", "dhn"), HasSubstr("'transformer-postprocess' 'hn'"));
  EXPECT_THAT(refusal_with("transformer-ffn-activation", "gelu"), HasSubstr("'gelu', x sigmoid(1.702 x) there"));
  EXPECT_THAT(refusal_with("transformer-ffn-depth", "3"), HasSubstr("'transformer-ffn-depth' is 3"));
  EXPECT_THAT(refusal_with("transformer-decoder-dim-ffn", "8"), HasSubstr("one width for both stacks"));
  EXPECT_THAT(refusal_with("dim-emb", "4"), HasSubstr("Wemb F32[3, 2], but 'dim-emb' is 4"));
  EXPECT_THAT(refusal_with("dim-emb", "x"), HasSubstr("'dim-emb' is 'x', expected an integer"));
}

TEST_F(MarianTransformer, DecoderYmlNamesFilesInItsFolder) {
  for (const char* const name : {"m.npz", "s.spm", "t.spm", "lex.txt"}) {
    write_file(folder_ / name, "");
  }
  const auto decoder_of = [&](const std::string& text) {
    write_file(folder_ / "decoder.yml", text);
    return read_marian_decoder(folder_);
  };
  const MarianDecoder decoder = decoder_of(
      "relative-paths: true\nmodels:\n  - /train/m.npz\nvocabs:\n  - s.spm\n  - t.spm\nbeam-size: 6\nnormalize: 0.6\n"
      "shortlist:\n  - lex.txt\n  - 50\n  - 40\n");
  EXPECT_TRUE(is_marian(folder_));
  EXPECT_EQ(decoder.weights, folder_ / "m.npz");
  EXPECT_THAT(decoder.vocabularies, ElementsAre(folder_ / "s.spm", folder_ / "t.spm"));
  EXPECT_EQ(decoder.beam, 6);
  EXPECT_EQ(decoder.length_penalty, 0.6);
  EXPECT_EQ(decoder.shortlist->sizes.frequent, 50);
  EXPECT_EQ(decoder.shortlist->sizes.best, 40);
  const auto refusal_of = [&](const std::string& text) -> std::string {
    try {
      decoder_of(text);
    } catch (const FormatError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(refusal_of("models: [a.npz]\n"), HasSubstr("decoder.yml: 'models': a.npz is not in the folder"));
  EXPECT_THAT(refusal_of("models: [../../etc/passwd]\n"), HasSubstr("is not in the folder"));
  EXPECT_THAT(refusal_of("models: ['..']\n"), HasSubstr("is not in the folder"));
  EXPECT_THAT(refusal_of("models: [m.npz, m.npz]\n"), HasSubstr("'models' has 2 entries, expected one"));
  EXPECT_THAT(refusal_of("models: [m.npz]\nvocabs: [s.spm]\n"), HasSubstr("'vocabs' has 1 entries"));
  EXPECT_THAT(refusal_of("models: [m.npz]\nbeam-size: x\n"), HasSubstr("'beam-size' is 'x'"));
}

}  // namespace
}  // namespace heed
