#include "text/huggingface/huggingface_tokenizer.h"

#include <gtest/gtest.h>

#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "heed/errors.h"
#include "text/huggingface/older/older_files.h"
#include "text/lines/multiline.h"
#include "text/unicode/unicode.h"

namespace heed::test {
namespace {

using DocumentJson = nlohmann::json;
using huggingface::FrameSlot;
using huggingface::SpecialText;

DocumentJson bert_document() {
  const huggingface::BertFile file{.vocabulary = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nhe\n##llo\nworld\n!\n"};
  return DocumentJson::parse(huggingface::tokenizer_json_of(file, "vocab.txt"));
}

std::unique_ptr<HuggingFaceTokenizer> parsed(const DocumentJson& json, const SpecialNames& names = {}) {
  return parse_huggingface_tokenizer(json.dump(), "t.json", {.names = names});
}

std::vector<int32_t> numbers_of(const std::vector<TokenId>& tokens) {
  std::vector<int32_t> ids;
  for (const TokenId token : tokens) {
    ids.push_back(token.value);
  }
  return ids;
}

void expect_refusal(const DocumentJson& json, const std::vector<std::string>& parts) {
  try {
    parsed(json);
    ADD_FAILURE() << "accepted";
  } catch (const FormatError& error) {
    for (const std::string& part : parts) {
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what() << " lacks " << part;
    }
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
  }
}

TEST(HuggingFaceTokenizer, IsRecognizedByItsBytes) {
  const auto tokenizer = parse_tokenizer(bert_document().dump(1), "t.json");
  EXPECT_EQ(tokenizer->kind(), TokenizerKind::wordpiece);
  EXPECT_EQ(numbers_of(tokenizer->encode("Hello World!")), (std::vector<int32_t>{5, 6, 7, 8}));
  EXPECT_EQ(tokenizer->vocabulary_size(), 9);
}

TEST(HuggingFaceTokenizer, AFileThatIsNotAnObjectIsRefusedByItsName) {
  for (const char* const text : {"[]", "null", "5"}) {
    try {
      parse_huggingface_tokenizer(text, "t.json", {.rows = 8});
      ADD_FAILURE() << "accepted";
    } catch (const FormatError& error) {
      EXPECT_TRUE(std::string_view(error.what()).starts_with("t.json: expected an object, found ")) << error.what();
    }
  }
}

TEST(HuggingFaceTokenizer, EncodesSpecialTokensOfTextOnlyWhenAskedTo) {
  const auto tokenizer = parsed(bert_document());
  EXPECT_EQ(numbers_of(tokenizer->encode("[MASK]")), (std::vector<int32_t>{1, 1, 1}));
  EXPECT_EQ(numbers_of(tokenizer->encode_text("[MASK]", {.frame = huggingface::Frame::bare}).ids),
            (std::vector<int32_t>{4}));
  EXPECT_EQ(numbers_of(tokenizer->encode_text("[MASK]", {.special = SpecialText::literal}).ids),
            (std::vector<int32_t>{2, 1, 1, 1, 3}));
}

TEST(HuggingFaceTokenizer, FindsMasksAndNoOtherSpecialTokenInAMaskedText) {
  const auto tokenizer = parsed(bert_document());
  EXPECT_EQ(numbers_of(tokenizer->encode_masked("[MASK] world[MASK]", tokenizer->mask())),
            (std::vector<int32_t>{4, 7, 4}));
  EXPECT_EQ(numbers_of(tokenizer->encode_masked("[SEP]", tokenizer->mask())), (std::vector<int32_t>{1, 1, 1}));
}

// The vocabulary of a unigram model holds its special tokens, with a score that beats every text.
TEST(HuggingFaceTokenizer, LiteralTextNeverBecomesASpecialTokenOfAUnigramModel) {
  const DocumentJson json = DocumentJson::parse(
      R"({"added_tokens": [{"id": 1, "content": "</s>", "special": true}], "model": {"type": "Unigram", "unk_id": 0,
          "vocab": [["<unk>", 0], ["</s>", 0], ["<", -2], ["/", -2], ["s", -2], [">", -2]]}})");
  const auto tokenizer = parsed(json);
  EXPECT_EQ(numbers_of(tokenizer->encode("</s>")), (std::vector<int32_t>{2, 3, 4, 5}));
  EXPECT_EQ(numbers_of(tokenizer->encode_text("</s>", {}).ids), (std::vector<int32_t>{1}));
  EXPECT_EQ(numbers_of(tokenizer->encode("</s>")), (std::vector<int32_t>{2, 3, 4, 5})) << "a second time";
}

TEST(HuggingFaceTokenizer, KnowsWhatStandsAroundTexts) {
  const auto tokenizer = parsed(bert_document());
  const std::span<const FrameSlot> one = tokenizer->frame(1), pair = tokenizer->frame(2);
  EXPECT_EQ(std::vector(one.begin(), one.end()),
            (std::vector<FrameSlot>{{.token = TokenId(2)}, {.text = 0}, {.token = TokenId(3)}}));
  EXPECT_EQ(std::vector(pair.begin(), pair.end()), (std::vector<FrameSlot>{{.token = TokenId(2)},
                                                                           {.text = 0},
                                                                           {.token = TokenId(3)},
                                                                           {.text = 1, .type = 1},
                                                                           {.token = TokenId(3), .type = 1}}));
}

TEST(HuggingFaceTokenizer, DerivesSpecialTokensFromTheFrameAndFromNames) {
  const auto tokenizer = parsed(bert_document());
  EXPECT_EQ(
      tokenizer->special(),
      (SpecialTokens{.pad = TokenId(0), .unk = TokenId(1), .bos = TokenId(2), .eos = TokenId(3), .sep = TokenId(3)}));
  EXPECT_EQ(tokenizer->mask(), TokenId(4));
  SpecialNames names;
  read_special_names(R"({"eos_token": {"content": "world"}, "pad_token": "!", "bos_token": null})", "config", names);
  EXPECT_EQ(parsed(bert_document(), names)->special().eos, TokenId(7));
  EXPECT_EQ(parsed(bert_document(), names)->special().pad, TokenId(8));
  EXPECT_EQ(parsed(bert_document(), names)->special().bos, TokenId(2));
}

TEST(HuggingFaceTokenizer, GivesItsFileBack) {
  const DocumentJson document = bert_document();
  EXPECT_EQ(DocumentJson::parse(parsed(document)->serialize()), document);
}

TEST(HuggingFaceTokenizer, KeepsWhatTheModelSaysAboutIt) {
  const TokenizerUse use{.names = {.eos = "world"}, .rows = 12};
  const auto first = parse_huggingface_tokenizer(bert_document().dump(), "t.json", use);
  const auto second = parse_huggingface_tokenizer(first->serialize(), "copy.json");
  EXPECT_EQ(second->special().eos, TokenId(7));
  EXPECT_EQ(second->vocabulary_size(), 12);
  EXPECT_EQ(second->piece(TokenId(11)), "<no token 11>");
}

TEST(HuggingFaceTokenizer, RefusesMoreTokensThanRows) {
  EXPECT_THROW(parse_huggingface_tokenizer(bert_document().dump(), "t.json", {.rows = 8}), FormatError);
}

TEST(HuggingFaceTokenizer, ReadsTokensThatAreOnlyStepsOfMergingAsUnknown) {
  const TokenizerUse use{.rows = 7, .has_merge_steps = true};
  const auto whole = parsed(bert_document());
  const std::vector<TokenId> tokens = whole->encode("hello world");
  ASSERT_TRUE(std::ranges::any_of(tokens, [](TokenId token) { return token.value >= 7; }));
  const auto first = parse_huggingface_tokenizer(bert_document().dump(), "t.json", use);
  const auto second = parse_huggingface_tokenizer(first->serialize(), "copy.json");
  for (const auto* const tokenizer : {first.get(), second.get()}) {
    EXPECT_TRUE(tokenizer->has_merge_steps());
    EXPECT_EQ(tokenizer->vocabulary_size(), 7);
    std::vector<TokenId> expected = tokens;
    std::ranges::replace_if(
        expected, [](TokenId token) { return token.value >= 7; }, whole->special().unk);
    EXPECT_EQ(tokenizer->encode("hello world"), expected);
  }
}

TEST(HuggingFaceTokenizer, RefusesStepsOfMergingWithoutRowsOrAsMarks) {
  EXPECT_THROW(parse_huggingface_tokenizer(bert_document().dump(), "t.json", {.has_merge_steps = true}), FormatError);
  EXPECT_THROW(parse_huggingface_tokenizer(bert_document().dump(), "t.json", {.rows = 2, .has_merge_steps = true}),
               FormatError);
}

TEST(HuggingFaceTokenizer, SaysWhatItDoesNotApply) {
  DocumentJson document = bert_document();
  EXPECT_TRUE(parsed(document)->notes().empty());
  document["truncation"] = {{"max_length", 2}};
  document["added_tokens"][4]["id"] = 99;
  const auto tokenizer = parsed(document);
  ASSERT_EQ(tokenizer->notes().size(), 2U);
  EXPECT_EQ(tokenizer->notes()[0], "the file's truncation is not applied");
  EXPECT_EQ(tokenizer->notes()[1], "the added token '[MASK]' says that its id is 99, but it is 4");
  EXPECT_EQ(tokenizer->encode("hello world ! !").size(), 5U);
}

TEST(HuggingFaceTokenizer, IdsMayHaveHoles) {
  DocumentJson document = bert_document();
  document["model"]["vocab"]["late"] = 20;
  const auto tokenizer = parsed(document);
  EXPECT_EQ(tokenizer->vocabulary_size(), 21);
  EXPECT_EQ(tokenizer->piece(TokenId(12)), "<no token 12>");
  EXPECT_EQ(tokenizer->decode(std::array{TokenId(7), TokenId(12), TokenId(20)}), "world late");
}

TEST(HuggingFaceTokenizer, ShowsByteLevelPiecesAsTheTextThatTheyStandFor) {
  const DocumentJson json = DocumentJson::parse(
      R"({"decoder": {"type": "ByteLevel"}, "model": {"type": "BPE", "merges": [], "vocab": {"Ġ": 0, "Ċ": 1, "Ã": 2, "a": 3}}})");
  const auto tokenizer = parsed(json);
  EXPECT_EQ(tokenizer->piece(TokenId(0)), "\u2581");
  EXPECT_EQ(tokenizer->piece(TokenId(1)), "<U+000A>");
  EXPECT_EQ(tokenizer->piece(TokenId(2)), "<0xC3>");
  EXPECT_EQ(tokenizer->bytes_of(TokenId(2)), "\xc3");
  EXPECT_EQ(tokenizer->token_text(TokenId(0)), "Ġ");
}

TEST(HuggingFaceTokenizer, TakesTextsOfSeveralLinesAsTheyAre) {
  const DocumentJson json = DocumentJson::parse(
      R"({"decoder": {"type": "ByteLevel"}, "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false},
          "model": {"type": "BPE", "merges": ["Ċ Ċ"], "vocab": {"Ċ": 0, "ĊĊ": 1, "a": 2}}})");
  const auto tokenizer = parsed(json);
  EXPECT_EQ(numbers_of(encode_text(*tokenizer, "a\n\n")), (std::vector<int32_t>{2, 1}));
  EXPECT_EQ(decode_text(*tokenizer, std::array{TokenId(2), TokenId(1)}), "a\n\n");
  EXPECT_EQ(tokenizer->special().unk, tokenizer->special().pad);
}

TEST(HuggingFaceTokenizer, RefusesWhatItDoesNotKnowByFileAndKey) {
  DocumentJson document = bert_document();
  const auto with = [&](const char* pointer, const DocumentJson& value) {
    DocumentJson changed = document;
    changed[DocumentJson::json_pointer(pointer)] = value;
    return changed;
  };
  expect_refusal(with("/model/type", "Magic"), {"t.json.model", "the model 'Magic' is unknown"});
  expect_refusal(with("/normalizer/type", "X"), {"t.json.normalizer", "the normalizer 'X' is unknown"});
  expect_refusal(with("/pre_tokenizer/type", "X"), {"t.json.pre_tokenizer", "the pre-tokenizer 'X' is unknown"});
  expect_refusal(with("/decoder/type", "X"), {"t.json.decoder", "the decoder 'X' is unknown"});
  expect_refusal(with("/post_processor/type", "X"), {"t.json.post_processor", "the post-processor 'X' is unknown"});
  expect_refusal(with("/version", "2.0"), {"t.json", "version '2.0'"});
  expect_refusal(with("/model/vocab/he", -1), {"t.json.model.vocab.he", "expected 0 to"});
  expect_refusal(with("/model/vocab/he", 1e9), {"t.json.model.vocab.he"});
  expect_refusal(with("/model/vocab/he", 1000000), {"t.json", "ids up to 1000000, but only"});
  expect_refusal(with("/model/vocab", 3), {"t.json.model.vocab", "expected an object"});
  expect_refusal(with("/added_tokens/0/content", 3), {"t.json.added_tokens[0].content", "expected a string"});
  expect_refusal(with("/post_processor/single/0/SpecialToken/id", "Z"), {"single[0].SpecialToken.id", "'Z'"});
  document["model"].erase("unk_token");
  expect_refusal(document, {"t.json.model", "the key 'unk_token' is missing"});
}

TEST(HuggingFaceTokenizer, RefusesDropoutAndBrokenMerges) {
  const auto bpe = [](const DocumentJson& merges, const DocumentJson& dropout) {
    return DocumentJson{
        {"model", {{"type", "BPE"}, {"vocab", {{"a", 0}, {"b", 1}}}, {"merges", merges}, {"dropout", dropout}}}};
  };
  expect_refusal(bpe(DocumentJson::array(), 0.1), {"t.json.model.dropout", "set it to null"});
  expect_refusal(bpe({"a b"}, nullptr), {"t.json.model.merges[0]", "'ab' is not in the vocabulary"});
  expect_refusal(bpe({"a"}, nullptr), {"t.json.model.merges[0]", "two tokens"});
  EXPECT_EQ(parsed(bpe(DocumentJson::array(), 0.0))->encode("ab").size(), 2U);
}

TEST(HuggingFaceTokenizer, RefusesTextThatIsNotUtf8) {
  const auto tokenizer = parsed(bert_document());
  EXPECT_THROW(tokenizer->encode("\xff"), FormatError);
  EXPECT_THROW(tokenizer->encode_text("\xed\xa0\x80", {}), FormatError) << "half of a surrogate pair";
}

TEST(HuggingFaceTokenizer, RefusesNormalizersThatBlowTextUp) {
  DocumentJson document = bert_document();
  DocumentJson normalizers = DocumentJson::array();
  for (int i = 0; i < 60; ++i) {
    normalizers.push_back({{"type", "Replace"}, {"pattern", {{"String", "a"}}}, {"content", "aa"}});
  }
  document["normalizer"] = {{"type", "Sequence"}, {"normalizers", normalizers}};
  EXPECT_THROW(parsed(document)->encode("a"), FormatError);
  EXPECT_EQ(parsed(document)->encode("he").size(), 1U);
}

// Alone, and between other characters.
TEST(HuggingFaceTokenizer, ShowsEveryCharacterAsShowPieceDoes) {
  DocumentJson vocabulary = DocumentJson::object();
  std::vector<std::string> texts;
  for (char32_t c = 1; c < 0x20000; ++c) {
    if (c < 0xd800 || c > 0xdfff) {
      const std::string one = to_utf8({&c, 1});
      texts.push_back(c % 2 == 0 ? one : "a" + one + "b");
      vocabulary[texts.back()] = texts.size() - 1;
    }
  }
  const DocumentJson document{{"version", "1.0"},
                              {"model", {{"type", "WordLevel"}, {"vocab", vocabulary}, {"unk_token", "!"}}}};
  const auto tokenizer = parsed(document);
  for (size_t id = 0; id < texts.size(); ++id) {
    ASSERT_EQ(tokenizer->piece(TokenId(static_cast<int32_t>(id))), show_piece(texts[id])) << id;
  }
}

// As it was read, with the names that were given.
TEST(HuggingFaceTokenizer, IsWrittenWithWhatItsUseAdds) {
  DocumentJson document = bert_document();
  const auto tokenizer = parse_huggingface_tokenizer(document.dump(1), "t.json", {{.bos = "[CLS]"}, 12});
  document["heed"] = {{"bos_token", "[CLS]"}, {"rows", 12}};
  EXPECT_EQ(tokenizer->serialize(), document.dump());
  EXPECT_EQ(parse_huggingface_tokenizer(document.dump(1), "t.json", {})->serialize(), document.dump(1));
}

TEST(HuggingFaceTokenizer, CutsLongTextsLikeShortOnes) {
  DocumentJson document = bert_document();
  const auto tokenizer = parsed(document);
  std::string text;
  for (int i = 0; i < 20'000; ++i) {
    text += "hello World! ";
  }
  EXPECT_EQ(tokenizer->encode(text).size(), 80'000U);
}

}  // namespace
}  // namespace heed::test
