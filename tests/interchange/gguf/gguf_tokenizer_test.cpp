#include "interchange/gguf/gguf_tokenizer.h"

#include <sentencepiece_trainer.h>

#include <algorithm>
#include <unordered_map>

#include "text/lines/multiline.h"
#include "text/sentencepiece_corpus.h"
#include "text/tokenizer_testing.h"

namespace heed {
namespace {

using test::expect_error;

std::unique_ptr<Tokenizer> trained_with(TokenizerTraining training) {
  return train_tokenizer(training, test::lines_of(test::corpus()));
}

// As other programs train it.
std::unique_ptr<Tokenizer> tokenizer_from_elsewhere(std::unordered_map<std::string, std::string> options) {
  options.merge(std::unordered_map<std::string, std::string>{
      {"vocab_size", "380"}, {"model_type", "bpe"}, {"byte_fallback", "true"}, {"minloglevel", "4"}});
  test::CorpusLines lines;
  std::string model;
  const auto status = sentencepiece::SentencePieceTrainer::Train(options, &lines, &model);
  EXPECT_TRUE(status.ok()) << status.ToString();
  return parse_tokenizer(model, "x.model");
}

template <class T>
T value_of(const std::vector<GgufEntry>& entries, const std::string& key) {
  const auto it = std::ranges::find(entries, "tokenizer.ggml." + key, &GgufEntry::key);
  EXPECT_NE(it, entries.end()) << key;
  return std::get<T>(it->value);
}

TEST(GgufTokenizer, ABpeTokenizerIsWrittenPieceByPiece) {
  const Tokenizer& tokenizer = test::trained(TokenizerKind::bpe);
  const std::vector<GgufEntry> entries = tokenizer_entries(tokenizer, Documents::files, "model");
  const auto texts = value_of<std::vector<std::string>>(entries, "tokens");
  const auto types = value_of<std::vector<int32_t>>(entries, "token_type");
  const auto scores = value_of<std::vector<float>>(entries, "scores");
  ASSERT_EQ(texts.size(), static_cast<size_t>(tokenizer.vocabulary_size()));
  ASSERT_EQ(types.size(), texts.size());
  ASSERT_EQ(scores.size(), texts.size());
  const std::vector<int32_t> first(types.begin(), types.begin() + 6);
  EXPECT_EQ(first, (std::vector<int32_t>{3, 2, 3, 3, 3, 6}));  // pad, unk, bos, eos, sep and the first byte
  const auto line_break = static_cast<size_t>(line_break_token(tokenizer)->value);
  for (size_t i = 0; i < texts.size(); ++i) {
    EXPECT_EQ(texts[i], i == line_break ? "\n" : tokenizer.piece(TokenId(static_cast<int32_t>(i)))) << i;
    EXPECT_EQ(types[i] == 4, i == line_break) << i;
  }
  EXPECT_GT(scores[300], scores[301]);  // the order of merges
  EXPECT_EQ(value_of<uint32_t>(entries, "bos_token_id"), 2U);
  EXPECT_EQ(value_of<uint32_t>(entries, "eos_token_id"), 3U);
  EXPECT_TRUE(value_of<bool>(entries, "add_bos_token"));
  EXPECT_TRUE(value_of<bool>(entries, "add_space_prefix"));
  EXPECT_FALSE(value_of<bool>(tokenizer_entries(tokenizer, Documents::none, "model"), "add_bos_token"));
}

TEST(GgufTokenizer, OtherKindsAreRefused) {
  for (const TokenizerKind kind : test::kAllKinds) {
    if (kind != TokenizerKind::bpe) {
      expect_error<ConfigError>([&] { tokenizer_entries(test::trained(kind), Documents::none, "model"); },
                                {"model: ", std::string(name_of(kind)), "kind bpe alone"});
    }
  }
}

TEST(GgufTokenizer, NormalizationIsRefusedUnlessItIsNfc) {
  const auto entries_with = [](Normalization normalization) {
    return tokenizer_entries(
        *trained_with({.kind = TokenizerKind::bpe, .vocabulary = 400, .normalization = normalization}), Documents::none,
        "model");
  };
  EXPECT_FALSE(entries_with({NormalForm::none, LetterCase::kept}).empty());
  expect_error<ConfigError>([&] { entries_with({NormalForm::nfkc, LetterCase::kept}); }, {"normalizes text (nfkc)"});
  expect_error<ConfigError>([&] { entries_with({NormalForm::nfc, LetterCase::lower}); }, {"(nfc lowercase)"});
}

TEST(GgufTokenizer, WhatLlamaCppWouldCutDifferentlyIsRefused) {
  TokenizerTraining training{.kind = TokenizerKind::bpe, .vocabulary = 400};
  training.user_symbols = {"<2de>"};
  expect_error<ConfigError>([&] { tokenizer_entries(*trained_with(training), Documents::none, "model"); },
                            {"user symbol '<2de>'"});
  training.user_symbols = {};
  training.special.eos = "qz";  // both are characters, which llama.cpp would join
  expect_error<ConfigError>([&] { tokenizer_entries(*trained_with(training), Documents::none, "model"); },
                            {"never makes 'qz' of a text", "'q' and 'z'"});
}

TEST(GgufTokenizer, AModelFromElsewhereIsWrittenIfItLeavesTextUnchanged) {
  const auto entries_with = [](std::unordered_map<std::string, std::string> options) {
    options.insert({{"normalization_rule_name", "identity"}, {"remove_extra_whitespaces", "false"}});
    return tokenizer_entries(*tokenizer_from_elsewhere(std::move(options)), Documents::none, "model");
  };
  const std::vector<GgufEntry> entries = entries_with({{"add_dummy_prefix", "false"}});
  EXPECT_FALSE(value_of<bool>(entries, "add_space_prefix"));
  EXPECT_EQ(value_of<uint32_t>(entries, "unknown_token_id"), 0U);
  EXPECT_EQ(value_of<uint32_t>(entries, "bos_token_id"), 1U);
  EXPECT_EQ(value_of<uint32_t>(entries, "eos_token_id"), 2U);
  const auto refused = [&](const std::unordered_map<std::string, std::string>& options, const std::string& reason) {
    expect_error<ConfigError>([&] { entries_with(options); }, {"model: ", reason});
  };
  refused({{"normalization_rule_name", "nmt_nfkc"}}, "normalizes text (SentencePiece's nmt_nfkc)");
  refused({{"remove_extra_whitespaces", "true"}}, "removes extra spaces");
  refused({{"treat_whitespace_as_suffix", "true"}}, "does not mark spaces at the beginning");
  refused({{"byte_fallback", "false"}, {"vocab_size", "120"}}, "cannot spell unknown characters in bytes");
  refused({{"user_defined_symbols", "<x>"}}, "user symbol '<x>'");
}

}  // namespace
}  // namespace heed
