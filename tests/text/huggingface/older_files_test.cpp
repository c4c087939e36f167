#include "text/huggingface/older/older_files.h"

#include <gtest/gtest.h>
#include <sentencepiece_trainer.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <unordered_map>
#include <vector>

#include "heed/errors.h"
#include "text/huggingface/huggingface_tokenizer.h"
#include "text/sentencepiece/sentencepiece_tokenizer.h"
#include "text/sentencepiece_corpus.h"

namespace heed::test {
namespace {

using huggingface::BertFile;
using huggingface::ByteLevelFiles;
using huggingface::Frame;
using huggingface::SentencePieceFile;
using huggingface::TextFrame;

const std::vector<std::string> kOlderTexts{
    "A man is walking.",      "Zwei Hunde  spielen im Park", "ﬁne ① ＡＢＣ", "x\u0301 Mädchen", "",
    "unbekannt: \u6771\u4eac"};

std::string trained_model(const std::string& type) {
  CorpusLines lines;
  std::string model;
  const auto status = sentencepiece::SentencePieceTrainer::Train(
      std::unordered_map<std::string, std::string>{{"vocab_size", "70"},
                                                   {"model_type", type},
                                                   {"minloglevel", "4"},
                                                   {"pad_id", "-1"},
                                                   {"normalization_rule_name", "nmt_nfkc"}},
      &lines, &model);
  EXPECT_TRUE(status.ok()) << status.ToString();
  return model;
}

template <class File>
std::unique_ptr<HuggingFaceTokenizer> converted(const File& file) {
  return parse_huggingface_tokenizer(huggingface::tokenizer_json_of(file, "older"), "older");
}

std::vector<int32_t> bare_ids(const HuggingFaceTokenizer& tokenizer, const std::string& text) {
  std::vector<int32_t> ids;
  for (const TokenId token : tokenizer.encode_text(text, {.frame = Frame::bare}).ids) {
    ids.push_back(token.value);
  }
  return ids;
}

std::vector<int32_t> sentencepiece_ids(const Tokenizer& tokenizer, const std::string& text, int32_t offset) {
  std::vector<int32_t> ids;
  for (const TokenId token : tokenizer.encode(text)) {
    ids.push_back(token.value + offset);
  }
  return ids;
}

TEST(OlderTokenizerFiles, SentencePieceModelsGiveSentencePiecesIds) {
  for (const std::string type : {"unigram", "bpe"}) {
    SCOPED_TRACE(type);
    const std::string model = trained_model(type);
    const auto original = parse_sentencepiece_tokenizer(model, "model");
    const auto tokenizer = converted(SentencePieceFile{.model = model});
    for (const std::string& text : kOlderTexts) {
      EXPECT_EQ(bare_ids(*tokenizer, text), sentencepiece_ids(*original, text, 0)) << text;
      const auto tokens = tokenizer->encode(text);
      EXPECT_EQ(tokenizer->decode(tokens).find("\u2581"), std::string::npos);
    }
  }
}

TEST(OlderTokenizerFiles, FairseqsIdsAreOneMore) {
  const std::string model = trained_model("unigram");
  const auto original = parse_sentencepiece_tokenizer(model, "model");
  const auto tokenizer = converted(SentencePieceFile{
      .model = model, .numbers = SentencePieceFile::Numbers::fairseq, .frame = TextFrame::roberta, .more = {"<mask>"}});
  const std::string text = "Zwei Hunde spielen";
  std::vector<int32_t> expected = sentencepiece_ids(*original, text, 1);
  std::ranges::replace(expected, 1, 3);  // the unknown token is 0 in the model, and 3 here
  EXPECT_EQ(bare_ids(*tokenizer, text), expected);
  const auto framed = tokenizer->encode_pair("a", "b", {}).ids;
  EXPECT_EQ(framed.front(), TokenId(0));
  EXPECT_EQ(framed.back(), TokenId(2));
  EXPECT_EQ(tokenizer->frame(2).size(), 6U);
  EXPECT_EQ(tokenizer->special().pad, TokenId(1));
  EXPECT_EQ(tokenizer->special().unk, TokenId(3));
  EXPECT_EQ(tokenizer->mask(), TokenId(static_cast<int32_t>(original->vocabulary_size()) + 1));
}

TEST(OlderTokenizerFiles, LanguagesStandAroundTexts) {
  const std::string model = trained_model("unigram");
  for (const TextFrame frame : {TextFrame::language_end, TextFrame::language}) {
    const auto tokenizer = converted(SentencePieceFile{.model = model,
                                                       .numbers = SentencePieceFile::Numbers::fairseq,
                                                       .frame = frame,
                                                       .language = "en_XX",
                                                       .more = {"de_DE", "en_XX"}});
    const TokenId code = tokenizer->token_of("en_XX").value();
    const auto ids = tokenizer->encode_text("Hunde", {}).ids;
    EXPECT_EQ(frame == TextFrame::language ? ids.front() : ids.back(), code);
    EXPECT_EQ(frame == TextFrame::language ? ids.back() : ids[ids.size() - 2], TokenId(2));
  }
  const SentencePieceFile missing{.model = model, .frame = TextFrame::language, .language = "xx_XX"};
  EXPECT_THROW(huggingface::tokenizer_json_of(missing, "older"), FormatError);
}

// Marian looks pieces up in a vocabulary of its own, which has others too and lacks some.
TEST(OlderTokenizerFiles, ListedIdsComeFromTheVocabulary) {
  const std::string model = trained_model("unigram");
  const auto original = parse_sentencepiece_tokenizer(model, "model");
  const std::string text = "Zwei Hunde spielen";
  const std::vector<int32_t> pieces = sentencepiece_ids(*original, text, 0);
  nlohmann::json vocabulary{{"</s>", 0}, {"<unk>", 1}, {"only-target", 2}, {"<pad>", 500}};
  std::vector<int32_t> expected;
  for (const int32_t piece : pieces) {
    const bool lacks = piece == pieces.front() || piece == 0;  // 0 is unknown to the model too
    const int32_t id = 400 - piece;
    expected.push_back(lacks ? 1 : id);
    if (!lacks) {
      vocabulary[std::string(original->piece(TokenId(piece)))] = id;
    }
  }
  const std::string listed = vocabulary.dump();
  const auto tokenizer = converted(SentencePieceFile{
      .model = model, .vocabulary = listed, .numbers = SentencePieceFile::Numbers::listed, .frame = TextFrame::end});
  EXPECT_EQ(bare_ids(*tokenizer, text), expected);
  EXPECT_EQ(tokenizer->encode_text(text, {}).ids.back(), TokenId(0));
  EXPECT_EQ(tokenizer->token_text(TokenId(2)), "only-target");
  EXPECT_EQ(tokenizer->vocabulary_size(), 501);
  EXPECT_EQ(tokenizer->special().pad, TokenId(500));
}

TEST(OlderTokenizerFiles, VocabularyLinesLoseTheWhiteSpaceBehindThem) {
  const auto tokenizer = converted(BertFile{.vocabulary = "[PAD]\n[UNK] \n[CLS]\r\n[SEP]\nhund\u3000\n##e\nHund\n"});
  EXPECT_EQ(bare_ids(*tokenizer, "Hunde HUND hunds"), (std::vector<int32_t>{4, 5, 4, 1}));
  const auto cased =
      converted(BertFile{.vocabulary = "[PAD]\n[UNK]\n[CLS]\n[SEP]\nhund\n##e\nHund\n", .lower_case = false});
  EXPECT_EQ(bare_ids(*cased, "Hunde"), (std::vector<int32_t>{6, 5}));
  EXPECT_THROW(huggingface::tokenizer_json_of(BertFile{.vocabulary = "a\n\xff\n"}, "vocab.txt"), FormatError);
  EXPECT_THROW(huggingface::tokenizer_json_of(BertFile{.vocabulary = "a\nb\n"}, "vocab.txt"), FormatError)
      << "no [CLS]";
}

TEST(OlderTokenizerFiles, MergesComeFromTheirOwnFile) {
  const ByteLevelFiles files{.vocabulary = R"({"<s>": 0, "</s>": 1, "a": 2, "b": 3, "ab": 4, "Ġ": 5, "Ġab": 6})",
                             .merges = "#version: 0.2\na b\nĠ ab\n",
                             .frame = TextFrame::roberta,
                             .names = {.bos = "<s>", .eos = "</s>"}};
  const auto tokenizer = converted(files);
  EXPECT_EQ(bare_ids(*tokenizer, "ab ab"), (std::vector<int32_t>{4, 6}));
  EXPECT_EQ(tokenizer->encode_pair("a", "b", {}).ids,
            (std::vector<TokenId>{TokenId(0), TokenId(2), TokenId(1), TokenId(1), TokenId(3), TokenId(1)}));
  EXPECT_EQ(tokenizer->decode(tokenizer->encode("ab ab")), "ab ab");
}

TEST(OlderTokenizerFiles, BrokenOnesAreRefused) {
  EXPECT_THROW(huggingface::tokenizer_json_of(SentencePieceFile{.model = "no model"}, "x"), FormatError);
  EXPECT_THROW(huggingface::tokenizer_json_of(ByteLevelFiles{.vocabulary = "[1]", .merges = ""}, "x"), FormatError);
  EXPECT_THROW(huggingface::tokenizer_json_of(ByteLevelFiles{.vocabulary = R"({"a": -1})", .merges = ""}, "x"),
               FormatError);
  EXPECT_THROW(converted(ByteLevelFiles{.vocabulary = R"({"a": 1})", .merges = "a b c\n"}), FormatError);
  EXPECT_THROW(huggingface::tokenizer_json_of(BertFile{.vocabulary = ""}, "x"), FormatError);
}

}  // namespace
}  // namespace heed::test
