#include "decode/texts/translation/translation_stream.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "decode/translator_testing.h"
#include "text/huggingface/huggingface_tokenizer.h"
#include "text/token_ids.h"

namespace heed::test {
namespace {

std::vector<std::string> pieces_of(const Tokenizer& tokenizer, std::span<const int32_t> tokens) {
  TranslationStream stream(tokenizer);
  std::vector<std::string> pieces;
  for (size_t count = 1; count <= tokens.size(); ++count) {
    pieces.push_back(stream.add(tokens.first(count)));
  }
  pieces.push_back(stream.finish(translation_text(tokenizer, tokens)));
  return pieces;
}

// Tokens at random: no text, but what a model may write.
void expect_pieces_to_be_the_text(const Tokenizer& tokenizer) {
  int64_t pieces_with_text = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    std::vector<int32_t> tokens;
    for (uint64_t i = 0; i < 12; ++i) {
      const double draw = uniform_draw(RandomKey{seed}, i);
      tokens.push_back(static_cast<int32_t>(draw * static_cast<double>(tokenizer.vocabulary_size())));
    }
    std::string text;
    for (const std::string& piece : pieces_of(tokenizer, tokens)) {
      pieces_with_text += piece.empty() ? 0 : 1;
      text += piece;
    }
    EXPECT_EQ(text, translation_text(tokenizer, tokens));
  }
  EXPECT_GT(pieces_with_text, 400);
}

std::unique_ptr<Tokenizer> trained(TokenizerKind kind, int64_t vocabulary, double coverage = 0.0) {
  size_t next = 0;
  const bool counts = kind == TokenizerKind::word || kind == TokenizerKind::wordpiece;
  return train_tokenizer({.kind = kind,
                          .vocabulary = vocabulary,
                          .user_symbols = {},
                          .minimum_count = counts ? 1 : 0,
                          .coverage = coverage},
                         [&](std::string& line) { return next < corpus().size() && (line = corpus()[next++], true); });
}

TEST(TranslationStream, PiecesAreTheTextWhateverTheTokenizer) {
  expect_pieces_to_be_the_text(*characters());
  expect_pieces_to_be_the_text(*trained(TokenizerKind::word, 0));
  expect_pieces_to_be_the_text(*trained(TokenizerKind::wordpiece, 60));
  expect_pieces_to_be_the_text(*trained(TokenizerKind::bpe, 300, 0.98));
  expect_pieces_to_be_the_text(*trained(TokenizerKind::unigram, 300, 0.98));
}

// Where bytes are tokens, most random texts are not UTF-8.
TEST(TranslationStream, BytesThatAreNoTextAreHeldBack) {
  const auto bytes = trained(TokenizerKind::byte, 0);
  const std::vector<int32_t> tokens = ids_of(bytes->encode("läuft €"));
  const std::vector<std::string> pieces = pieces_of(*bytes, tokens);
  EXPECT_EQ(pieces[1], "");
  EXPECT_EQ(pieces[2], "ä");
  std::string text;
  for (const std::string& piece : pieces) {
    text += piece;
  }
  EXPECT_EQ(text, "läuft €");
  // A run that turns out not to be UTF-8 becomes a U+FFFD for each of its bytes, even if it began with a letter.
  const auto fallback = parse_huggingface_tokenizer(
      R"({"model": {"type": "BPE", "byte_fallback": true, "vocab": {"<0x3E>": 0, "<0xB5>": 1, "a": 2, "b": 3},
          "merges": []},
          "decoder": {"type": "Sequence", "decoders": [{"type": "ByteFallback"}, {"type": "Fuse"}]}})",
      "tokenizer.json");
  expect_pieces_to_be_the_text(*fallback);
}

// A space before a mark or an apostrophe is taken back.
TEST(TranslationStream, WordsThatPunctuationChangesAreHeldBack) {
  const auto tokenizer = parse_huggingface_tokenizer(
      R"({"model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
          "max_input_chars_per_word": 100, "vocab": {"[UNK]": 0, "do": 1, "n": 2, "'": 3, "t": 4, ".": 5, "##s": 6,
          "not": 7, "n't": 8, "'s": 9}},
          "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": true}})",
      "tokenizer.json");
  expect_pieces_to_be_the_text(*tokenizer);
}

TEST(TranslationStream, LineBreaksAreSpaces) {
  const auto tokenizer = characters();
  const int32_t newline = tokenizer->find("<U+000A>").value_or(TokenId(-1)).value;
  const int32_t a = tokenizer->encode("a").front().value;
  EXPECT_EQ(pieces_of(*tokenizer, std::vector<int32_t>{a, newline, a}), (std::vector<std::string>{"a", " ", "a", ""}));
}

}  // namespace
}  // namespace heed::test
