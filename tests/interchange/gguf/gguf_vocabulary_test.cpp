// Tokenizers into GGUF files and out again: the same tokens for every text.
#include "interchange/gguf/gguf_vocabulary.h"

#include <gtest/gtest.h>

#include "base/errors.h"
#include "interchange/gguf/gguf_file.h"
#include "interchange/gguf/gguf_merged_tokenizer.h"
#include "interchange/gguf/gguf_tokenizer.h"
#include "source_root.h"
#include "test_folder.h"
#include "text/tokenizer_testing.h"

namespace heed {
namespace {

using test::expect_error;

std::shared_ptr<const HuggingFaceTokenizer> read_back(const std::vector<GgufEntry>& entries, int64_t rows) {
  const std::filesystem::path path = test::folder_of_test();
  write_gguf(path, entries, {});
  const heed::GgufFile file = open_gguf(path);
  auto tokenizer = std::dynamic_pointer_cast<const HuggingFaceTokenizer>(GgufVocabulary(file.metadata).tokenizer(rows));
  std::filesystem::remove(path);
  return tokenizer;
}

heed::GgufFile golden_gguf(const std::string& name) {
  return open_gguf(test::source_root() / "tests/interchange/golden/gguf" / name / "model.gguf");
}

// Lines with what is hard to cut; behind a line break a line begins anew, as heed's own tokenizers cut it.
std::vector<std::string> hard_texts() {
  std::vector<std::string> texts = test::corpus();
  texts.insert(texts.end(), {"", "  two  spaces ", "\u00e9 \u65e5\u672c \U0001f600", "</s> <unk>", "a\tb", "\u2581x"});
  return texts;
}

TEST(GgufVocabulary, HeedsOwnTokenizersAreReadAsTheyWere) {
  const Tokenizer& own = test::trained(TokenizerKind::bpe);
  const int64_t rows = own.vocabulary_size();
  for (const Documents documents : {Documents::none, Documents::files}) {
    const auto read = read_back(tokenizer_entries(own, documents, "model"), rows);
    EXPECT_EQ(read->frame(1).size(), documents == Documents::none ? 1U : 2U);
    EXPECT_EQ(read->special().eos, own.special().eos);
    EXPECT_EQ(read->special().bos, own.special().bos);
    for (const std::string& text : hard_texts()) {
      if (!text.empty()) {
        EXPECT_EQ(read->encode(text), own.encode(text)) << text;
        EXPECT_EQ(read->decode(read->encode(text)), own.decode(own.encode(text))) << text;
      }
    }
  }
}

TEST(GgufVocabulary, PiecesByScoresAreWrittenAsTheyWereRead) {
  const Tokenizer& own = test::trained(TokenizerKind::bpe);
  const int64_t rows = own.vocabulary_size() + 3;
  const auto once = read_back(tokenizer_entries(own, Documents::files, "model"), rows);
  const auto twice = read_back(merged_tokenizer_entries(*once, rows, "model"), rows);
  EXPECT_EQ(twice->special(), once->special());
  EXPECT_EQ(twice->frame(1).size(), once->frame(1).size());
  EXPECT_EQ(twice->vocabulary_size(), rows);
  for (const std::string& text : hard_texts()) {
    const std::string lines = text + "\n" + text;
    EXPECT_EQ(twice->encode(lines), once->encode(lines)) << text;
  }
}

class MergedTokenizersOf : public testing::TestWithParam<const char*> {};

TEST_P(MergedTokenizersOf, AreWrittenAsTheyWereRead) {
  const heed::GgufFile file = golden_gguf(GetParam());
  const std::vector<std::string> tokens = file.metadata.texts("tokenizer.ggml.tokens");
  const auto tokenizer = std::dynamic_pointer_cast<const HuggingFaceTokenizer>(
      GgufVocabulary(file.metadata).tokenizer(std::ssize(tokens)));
  const std::filesystem::path path = test::folder_of_test();
  write_gguf(path, merged_tokenizer_entries(*tokenizer, std::ssize(tokens), "model"), {});
  const heed::GgufFile again = open_gguf(path);
  for (const char* const key : {"model", "pre", "bos_token_id", "eos_token_id"}) {
    const std::string name = std::string("tokenizer.ggml.") + key;
    if (file.metadata.has(name)) {
      EXPECT_EQ(again.metadata.shown_value(name), file.metadata.shown_value(name)) << name;
    }
  }
  EXPECT_EQ(again.metadata.texts("tokenizer.ggml.tokens"), tokens);
  EXPECT_EQ(again.metadata.texts("tokenizer.ggml.merges"), file.metadata.texts("tokenizer.ggml.merges"));
  EXPECT_EQ(again.metadata.integers("tokenizer.ggml.token_type"), file.metadata.integers("tokenizer.ggml.token_type"));
  std::filesystem::remove(path);
}

INSTANTIATE_TEST_SUITE_P(Golden, MergedTokenizersOf, testing::Values("llama", "gpt2", "qwen2"));

TEST(GgufVocabulary, WhatLlamaCppLacksIsRefused) {
  const auto refused = [](const std::string& document, const std::string& reason) {
    const auto tokenizer = parse_huggingface_tokenizer(document, "tokenizer.json");
    expect_error<ConfigError>([&] { merged_tokenizer_entries(*tokenizer, tokenizer->vocabulary_size(), "model"); },
                              {"model: its tokenizer ", reason});
  };
  const std::string start = R"({"added_tokens": [{"id": 0, "content": "<e>", "special": true)",
                    model = R"("model": {"type": "BPE", "vocab": {"<e>": 0, "a": 1}, "merges": []}})",
                    bytes = R"({"type": "ByteLevel", "add_prefix_space": false})";
  refused(start + R"(, "lstrip": true}], "pre_tokenizer": )" + bytes + ", " + model, "lstrip");
  refused(start + R"(}], "pre_tokenizer": null, )" + model, "is not of bytes");
  refused(start + R"(}], "pre_tokenizer": {"type": "Whitespace"}, )" + model, "cuts texts by Whitespace");
  refused(start + R"(}], "normalizer": {"type": "Lowercase"}, "pre_tokenizer": )" + bytes + ", " + model,
          "normalizes texts by Lowercase");
  refused(start + R"(}], "model": {"type": "WordLevel", "unk_token": "a", "vocab": {"<e>": 0, "a": 1}}})",
          "is not a plain byte-pair encoding");
  const heed::GgufFile file = golden_gguf("gemma");
  const auto tokenizer =
      std::dynamic_pointer_cast<const HuggingFaceTokenizer>(GgufVocabulary(file.metadata).tokenizer(54));
  expect_error<ConfigError>([&] { merged_tokenizer_entries(*tokenizer, 54, "model"); },
                            {"cannot spell unknown characters in bytes"});
}

}  // namespace
}  // namespace heed
