#include "text/huggingface/writing/written_tokenizer.h"

#include <gtest/gtest.h>

#include "base/errors.h"
#include "text/huggingface/writing/written_pieces.h"
#include "text/sentencepiece/sentencepiece_model.h"
#include "text/sentencepiece/sentencepiece_tokenizer.h"
#include "text/sentencepiece/sentencepiece_writing.h"
#include "text/tokenizer_training.h"

namespace heed::test {
namespace {

const std::vector<std::string> kWrittenTraining{"The man's dog saw 3.14 cats, and two (small) birds at noon@home.",
                                                "der Mann, die Straße und das Haus: 1,000 Jahre später",
                                                "don't walk over the bridge in the snow_storm 42a"};

std::unique_ptr<Tokenizer> trained_to_write(TokenizerKind kind, const std::vector<std::string>& symbols = {},
                                            Normalization normalization = {},
                                            std::vector<std::string> texts = kWrittenTraining) {
  const bool counts = kind == TokenizerKind::bpe || kind == TokenizerKind::unigram || kind == TokenizerKind::wordpiece;
  size_t next = 0;
  return train_tokenizer({.kind = kind,
                          .vocabulary = counts ? 400 : 0,
                          .normalization = normalization,
                          .user_symbols = symbols,
                          .minimum_count = kind == TokenizerKind::word ? 1 : 0},
                         [&](std::string& line) {
                           line = next < texts.size() ? texts[next] : "";
                           return next++ < texts.size();
                         });
}

std::unique_ptr<HuggingFaceTokenizer> written_and_read(const Tokenizer& tokenizer) {
  const WrittenTokenizer written = write_huggingface_tokenizer(tokenizer, {}, "model");
  return parse_huggingface_tokenizer(written.document, "tokenizer.json", {written.names, 0});
}

constexpr std::array kWrittenTexts{
    "The man's dog saw the cats.",
    "  two  spaces, and a trailing one ",
    "don't 'quote' it's 'S",
    "1,050.5 3.14. 2,a b.c d..e 42a a_b_ _",
    "x@y.z @ u:v a:b \xc2\xb7",
    "e\xcc\x81t\xc3\xa9 \xcc\x81 a\xe2\x80\x8d"
    "b",
    "\xe2\x96\x81 \xe2\x96\x81x \xf0\x9f\x98\x80\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x92\xbb !",
    "\xf0\x9f\x87\xa9\xf0\x9f\x87\xaa\xf0\x9f\x87\xab\xf0\x9f\x87\xb7 (small) [x] {y}",
    ""};

class WrittenTokenizers : public testing::TestWithParam<TokenizerKind> {};

TEST_P(WrittenTokenizers, GiveTheSameTokens) {
  for (const Normalization normalization : {Normalization{}, Normalization{NormalForm::nfkc, LetterCase::lower}}) {
    const auto own = trained_to_write(GetParam(), {}, normalization);
    const auto read = written_and_read(*own);
    EXPECT_EQ(read->vocabulary_size(), own->vocabulary_size());
    EXPECT_EQ(read->special(), own->special());
    for (const char* const text : kWrittenTexts) {
      EXPECT_EQ(read->encode(text), own->encode(text)) << text;
    }
  }
}

TEST_P(WrittenTokenizers, KeepTheLineBreakAsOneToken) {
  if (GetParam() == TokenizerKind::byte || GetParam() == TokenizerKind::character) {
    return;
  }
  const auto own = trained_to_write(GetParam(), {"\n"});
  const auto read = written_and_read(*own);
  std::vector<TokenId> expected = own->encode("The man");
  const std::vector<TokenId> more = own->encode("\n"), second = own->encode("saw cats");
  expected.push_back(more.back());
  expected.insert(expected.end(), second.begin(), second.end());
  EXPECT_EQ(read->encode("The man\nsaw cats"), expected);
}

INSTANTIATE_TEST_SUITE_P(Kinds, WrittenTokenizers,
                         testing::Values(TokenizerKind::bpe, TokenizerKind::unigram, TokenizerKind::wordpiece,
                                         TokenizerKind::word, TokenizerKind::character, TokenizerKind::byte));

TEST(WrittenTokenizer, DecodesWhatItEncoded) {
  for (const TokenizerKind kind : {TokenizerKind::bpe, TokenizerKind::unigram, TokenizerKind::byte}) {
    const auto read = written_and_read(*trained_to_write(kind));
    const std::string text = "The  man \xc3\xa9 saw\xe6\xbc\xa2 it.";
    EXPECT_EQ(read->decode(read->encode(text)), text) << name_of(kind);
  }
}

TEST(WrittenTokenizer, KeepsTheFrameAroundTexts) {
  const auto own = trained_to_write(TokenizerKind::wordpiece);
  const SpecialTokens special = own->special();
  const TextFrames frames{{{.token = special.bos}, {.text = 0}, {.token = special.eos}},
                          {{.token = special.bos}, {.text = 0}, {.token = special.sep}, {.text = 1, .type = 1}}};
  const auto read = parse_huggingface_tokenizer(write_huggingface_tokenizer(*own, frames, "model").document, "file");
  EXPECT_EQ(std::vector(read->frame(1).begin(), read->frame(1).end()), frames.single);
  EXPECT_EQ(std::vector(read->frame(2).begin(), read->frame(2).end()), frames.pair);
}

void expect_not_written(const Tokenizer& tokenizer, const std::string& mention) {
  try {
    write_huggingface_tokenizer(tokenizer, {}, "model");
    ADD_FAILURE() << "is not refused: " << mention;
  } catch (const ConfigError& error) {
    EXPECT_NE(std::string(error.what()).find(mention), std::string::npos) << error.what();
  }
}

TEST(WrittenTokenizer, RefusesWhatTheFormatCannotExpress) {
  expect_not_written(*trained_to_write(TokenizerKind::bpe, {"<tag>"}), "user symbol '<tag>'");
  expect_not_written(*trained_to_write(TokenizerKind::word, {"<tag>"}), "user symbol '<tag>'");
  expect_not_written(*trained_to_write(TokenizerKind::word, {}, {}, {"\xe6\xbc\xa2\xe5\xad\x97 word"}),
                     "only heed's own word");
}

TEST(WrittenPieces, AreReadBackAsTheSameModel) {
  for (const TokenizerKind kind : {TokenizerKind::bpe, TokenizerKind::unigram}) {
    const auto own = trained_to_write(kind, {}, {NormalForm::none, LetterCase::kept});
    const SentencePieceModel model = read_sentencepiece_model(own->serialize(), "model");
    // As another program's: without heed's note, and read as a tokenizer.json made of it.
    const std::string bytes = write_sentencepiece_model(model);
    const auto from_elsewhere = parse_sentencepiece_tokenizer(bytes, "written");
    const auto document = written_and_read(*from_elsewhere);
    const auto again = parse_sentencepiece_tokenizer(write_pieces(*document, "model").model, "again");
    for (const char* const text : {"The man's dog saw 3.14 cats",
                                   "Stra\xc3\x9f"
                                   "e \xe6\xbc\xa2 x",
                                   "don't  walk"}) {
      EXPECT_EQ(from_elsewhere->encode(text), own->encode(text)) << text;
      EXPECT_EQ(again->encode(text), from_elsewhere->encode(text)) << text;
    }
  }
}

TEST(WrittenPieces, RefuseOtherTokenizers) {
  EXPECT_THROW(write_pieces(*trained_to_write(TokenizerKind::word), "model"), ConfigError);
  EXPECT_THROW(write_pieces(*trained_to_write(TokenizerKind::bpe, {}, {NormalForm::nfkc, LetterCase::lower}), "model"),
               ConfigError);
  EXPECT_FALSE(is_made_of_pieces(*trained_to_write(TokenizerKind::wordpiece)));
  EXPECT_TRUE(is_made_of_pieces(*trained_to_write(TokenizerKind::bpe)));
}

}  // namespace
}  // namespace heed::test
