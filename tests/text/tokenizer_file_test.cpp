// Malformed files, and models from elsewhere.
#include <sentencepiece_trainer.h>

#include <algorithm>
#include <random>
#include <unordered_map>

#include "base/system/files.h"
#include "text/sentencepiece/sentencepiece_model.h"
#include "text/sentencepiece_corpus.h"
#include "text/unicode/character_map.h"
#include "text/unicode/text_origins.h"
#include "text/unicode/unicode.h"
#include "text/vocabulary/vocabulary.h"
#include "tokenizer_testing.h"

namespace heed::test {
namespace {

using Kind = TokenizerKind;
using Options = std::unordered_map<std::string, std::string>;

// A model as other programs write it.
std::string foreign_model(Options options) {
  options.merge(Options{{"vocab_size", "70"}, {"model_type", "unigram"}, {"minloglevel", "4"}});
  CorpusLines lines;
  std::string model;
  const auto status = sentencepiece::SentencePieceTrainer::Train(options, &lines, &model);
  EXPECT_TRUE(status.ok()) << status.ToString();
  return model;
}

std::string replaced(std::string content, const std::string& from, const std::string& to) {
  const size_t at = content.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return content.replace(at, from.size(), to);
}

// An edited vocabulary with a valid checksum.
std::string sealed(std::string content) {
  constexpr std::string_view kTail = ",\n \"checksum\": \"0123456789abcdef\"\n}\n";
  content.resize(content.size() - kTail.size());
  return content + ",\n \"checksum\": \"" + checksum_of(content) + "\"\n}\n";
}

void expect_refused(const std::string& content, std::vector<std::string> parts) {
  parts.insert(parts.begin(), "dir/x.tok: ");
  expect_error<FormatError>([&] { parse_tokenizer(content, "dir/x.tok"); }, parts);
}

class EachFile : public testing::TestWithParam<Kind> {
 protected:
  std::string file() const { return trained(GetParam()).serialize(); }
};

TEST_P(EachFile, CutOffAnywhereIsRefused) {
  const std::string whole = file();
  const size_t step = std::max<size_t>(1, whole.size() / 400);
  for (size_t size = 0; size < whole.size(); size += size < 200 || size + 200 > whole.size() ? 1 : step) {
    expect_refused(whole.substr(0, size), {});
  }
}

TEST_P(EachFile, WithAnyByteChangedIsRefused) {
  const std::string whole = file();
  std::mt19937 random(7);
  for (int round = 0; round < 500; ++round) {
    std::string edited = whole;
    edited[random() % edited.size()] ^= static_cast<char>(1 + random() % 255);
    expect_refused(edited, {});
  }
}

TEST_P(EachFile, WithTrailingBytesIsRefused) {
  for (const std::string more : {"x", "\n", " ", "{}", "\x0a\x01\x61"}) {
    expect_refused(file() + more, {});
  }
}

INSTANTIATE_TEST_SUITE_P(TokenizerFile, EachFile, testing::ValuesIn(kAllKinds),
                         [](const auto& kind) { return std::string(name_of(kind.param)); });

TEST(TokenizerFile, OfAnotherFormatIsNamedAsSuch) {
  expect_refused("", {"empty"});
  expect_refused("{\"model\": 3}", {"not a tokenizer", "format"});
  expect_refused("{\"format\": \"heed-tokenizer\"}", {"version"});
  expect_refused("{\"format\": \"heed-tokenizer\", \"version\": 2}", {"version is 2, expected 1"});
  expect_refused("{\"format\": ", {"is not JSON"});
  expect_refused("[model]\nmodel = 512\n", {"SentencePiece model"});
  expect_refused(std::string("\x7f\x45\x4c\x46\x02\x01\x01\0\0", 9), {"SentencePiece model"});
  expect_refused(std::string(1000, '\0'), {"SentencePiece model"});
  expect_refused(std::string(100'000, '{'), {"nested deeper than 64 levels"});
  expect_refused("{\"version\":" + std::string(100'000, '[') + std::string(100'000, ']') + "}", {"nested deeper"});
  expect_error<IoError>([] { load_tokenizer("/nowhere/x.tok"); }, {"/nowhere/x.tok", "No such file"});
}

TEST(TokenizerFile, WithAValidChecksumButWrongVocabularyIsRefusedWithTheReason) {
  const std::string word = trained(Kind::word).serialize();
  expect_refused(replaced(word, "\"in\"", "\"on\""), {"checksum", "edited"});
  expect_refused(sealed(replaced(word, "\"in\"", "\"is\"")), {"'is' occurs twice"});
  expect_refused(sealed(replaced(word, "\"in\"", "\"</s>\"")), {"'</s>' occurs twice"});
  expect_refused(sealed(replaced(word, "\"in\"", "\"\"")), {"not a word"});
  expect_refused(sealed(replaced(word, "\"in\"", "\"in it\"")), {"not a word"});
  expect_refused(sealed(replaced(word, "\"in\"", "7")), {"pieces[", "must be a string"});
  expect_refused(sealed(replaced(word, "\"in\"", "[]")), {"must be a string, found array"});
  expect_refused(sealed(replaced(word, "\"unk\": \"<unk>\"", "\"unknown\": \"<unk>\"")), {"'unk' is missing"});
  expect_refused(sealed(replaced(word, "\"unk\": \"<unk>\"", "\"unk\": \"<pad>\"")), {"'<pad>' occurs twice"});
  expect_refused(sealed(replaced(word, "\"unk\": \"<unk>\"", "\"unk\": \"u\"")), {"'u' must have two characters"});
  expect_refused(sealed(replaced(word, "\"unk\": \"<unk>\"", "\"unk\": 1")), {"unk must be a string"});
  expect_refused(sealed(replaced(word, "\"nfc\"", "\"nfd\"")), {"'nfd'", "none, nfc, nfkc"});
  expect_refused(sealed(replaced(word, "\"word\"", "\"words\"")), {"'words'", "did you mean 'word'?"});
  expect_refused(sealed(replaced(word, "\"word\"", "\"bpe\"")), {"bpe", "SentencePiece model, not JSON"});
  expect_refused(sealed(replaced(word, "\"word\"", "\"byte\"")), {"lists no pieces"});
  expect_refused(sealed(replaced(word, "\"word\"", "\"char\"")), {"is not one character"});
  expect_refused(sealed(replaced(word, "\"user_symbols\": []", "\"user_symbols\": {}")), {"must be an array"});
  expect_refused(sealed(replaced(word, "\"user_symbols\": []", "\"user_symbols\": [\"is\"]")), {"'is' occurs twice"});
  expect_refused(sealed(replaced(word, "\"user_symbols\": []", "\"user_symbols\": [\"\"]")), {"empty"});
  expect_refused(sealed(replaced(word, "\"user_symbols\"", "\"user_symbol\"")), {"'user_symbols' is missing"});
}

TEST(TokenizerFile, WithAValidChecksumAndRandomBytesIsRefusedOrWorks) {
  std::mt19937 random(11);
  for (const Kind kind : {Kind::wordpiece, Kind::word, Kind::character, Kind::byte}) {
    const std::string whole = trained(kind).serialize();
    int loaded = 0;
    for (int round = 0; round < 1000; ++round) {
      std::string edited = whole;
      edited[random() % (edited.size() - 40)] = static_cast<char>(random());
      try {
        const auto tokenizer = parse_tokenizer(sealed(edited), "x");
        (void)tokenizer->decode(tokenizer->encode("A man is walking, 42 (é)!"));
        ++loaded;
      } catch (const FormatError&) {
      }
    }
    EXPECT_GT(loaded, kind == Kind::byte ? 0 : 20) << "nearly all were refused, so little was tried";
  }
}

TEST(ForeignModel, KeepsItsIdsAndItsNormalization) {
  const std::string bytes = foreign_model({});
  const auto tokenizer = parse_tokenizer(bytes, "x");
  EXPECT_EQ(tokenizer->kind(), Kind::unigram);
  EXPECT_EQ(tokenizer->serialize(), bytes);
  EXPECT_EQ(tokenizer->vocabulary_size(), 70);
  EXPECT_EQ(
      tokenizer->special(),
      (SpecialTokens{.pad = TokenId(2), .unk = TokenId(0), .bos = TokenId(1), .eos = TokenId(2), .sep = kNoToken}))
      << "it has no pad, so pad is eos";
  EXPECT_EQ(tokenizer->normalization(), "SentencePiece's nmt_nfkc");
  EXPECT_EQ(tokenizer->decode(tokenizer->encode("  A  ｍan ")), "A man");
  EXPECT_EQ(tokenizer->decode(tokenizer->encode("A☃")), "A \u2047 ") << "unk as SentencePiece shows it";
}

TEST(ForeignModel, AgreesWithSentencePieceTokenByToken) {
  const std::string bytes = foreign_model({{"model_type", "bpe"}, {"byte_fallback", "true"}, {"vocab_size", "380"}});
  const auto tokenizer = parse_tokenizer(bytes, "x");
  EXPECT_EQ(tokenizer->kind(), Kind::bpe);
  sentencepiece::SentencePieceProcessor processor;
  ASSERT_TRUE(processor.LoadFromSerializedProto(bytes).ok());
  for (const std::string& line : corpus()) {
    std::vector<int> expected;
    ASSERT_TRUE(processor.Encode(line + " 😀", &expected).ok());
    std::vector<int> found;
    for (const TokenId token : tokenizer->encode(line + " 😀")) {
      found.push_back(token.value);
    }
    ASSERT_EQ(found, expected);
  }
}

// The library's own normalization makes one space of several, letters of a ligature, and drops spaces at the ends.
TEST(ForeignModel, TellsWhatEachTokenCameFrom) {
  const std::string text = "  A  man\tin \ufb01 日 ";
  const auto tokenizer =
      parse_tokenizer(foreign_model({{"model_type", "bpe"}, {"byte_fallback", "true"}, {"vocab_size", "380"}}), "x");
  const std::vector<TokenOffsets> ranges = characters_of(text, tokenizer->origins(text));
  std::string shown;
  for (const TokenOffsets& range : ranges) {
    shown += fmt::format("{}-{} ", range.begin, range.end);
  }
  EXPECT_EQ(shown, "2-3 3-8 8-11 11-12 12-13 12-13 13-14 14-15 14-15 14-15 ");
  EXPECT_EQ(ranges.size(), tokenizer->encode(text).size());
}

TEST(ForeignModel, FindsItsPadAndSep) {
  const auto tokenizer = parse_tokenizer(
      foreign_model({{"pad_id", "3"}, {"bos_id", "-1"}, {"control_symbols", "<sep>"}, {"vocab_size", "70"}}), "x");
  EXPECT_EQ(
      tokenizer->special(),
      (SpecialTokens{.pad = TokenId(3), .unk = TokenId(0), .bos = kNoToken, .eos = TokenId(2), .sep = TokenId(1)}));
}

TEST(ForeignModel, OfAnotherTypeIsRefused) {
  for (const std::string type : {"word", "char"}) {
    expect_refused(foreign_model({{"model_type", type}, {"vocab_size", "40"}, {"hard_vocab_limit", "false"}}),
                   {"type " + type, "expected bpe or unigram"});
  }
}

TEST(ForeignModel, WithRandomBytesIsRefusedOrWorks) {
  std::mt19937 random(3);
  for (const Options& options : {Options{}, Options{{"normalization_rule_name", "identity"}},
                                 Options{{"normalization_rule_name", "identity"},
                                         {"model_type", "bpe"},
                                         {"byte_fallback", "true"},
                                         {"user_defined_symbols", "<a>,<b>"},
                                         {"vocab_size", "380"}}}) {
    const std::string whole = foreign_model(options);
    int loaded = 0;
    const int rounds = whole.size() > 100'000 ? 150 : 2000;
    for (int round = 0; round < rounds; ++round) {
      std::string edited = whole;
      for (uint32_t i = 0; i <= random() % 3; ++i) {
        // Mostly near the beginning, where there are pieces and not the character map.
        edited[random() % (random() % 4 == 0 ? edited.size() : std::min<size_t>(edited.size(), 4000))] =
            static_cast<char>(random());
      }
      try {
        const auto tokenizer = parse_tokenizer(edited, "x");
        EXPECT_EQ(find_invalid_utf8(tokenizer->decode(tokenizer->encode("A man is walking, 42 (é) ｱﾞ <a>!"))),
                  std::nullopt);
        ++loaded;
      } catch (const FormatError&) {
      }
    }
    EXPECT_GT(loaded, rounds / 10);
  }
}

TEST(ForeignModel, ErrorsCountBytesFromTheStartOfTheFile) {
  std::string model = foreign_model({});
  // The first piece is a field of 14 bytes: 0a 0e, its text 0a 05 "<unk>", and so on.
  ASSERT_EQ(model.substr(0, 4), "\x0a\x0e\x0a\x05");
  model[3] = '\x70';
  expect_refused(model, {"at byte 4 "});
}

TEST(ForeignModel, WithADuplicatePieceIsRefusedWithoutPrinting) {
  const std::string model = foreign_model({});
  testing::internal::CaptureStderr();
  expect_refused("\x0a\x03\x0a\x01\x61" + std::string("\x0a\x03\x0a\x01\x61") + model, {"SentencePiece refuses"});
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(ForeignModel, CutOffBetweenFieldsIsRefused) {
  const std::string own = trained(Kind::bpe).serialize();
  const SentencePieceModel model = read_sentencepiece_model(own, "x");
  expect_refused(own.substr(0, model.note_begin), {"note", "cut off"});
}

TEST(OwnModel, LoadsInSentencePieceItself) {
  sentencepiece::SentencePieceProcessor processor;
  const std::string bytes = trained(Kind::bpe).serialize();
  ASSERT_TRUE(processor.LoadFromSerializedProto(bytes).ok());
  EXPECT_EQ(processor.GetPieceSize(), trained(Kind::bpe).vocabulary_size());
  std::vector<int> ids;
  ASSERT_TRUE(processor.Encode("A man is walking in the park.", &ids).ok());
  std::vector<TokenId> tokens(ids.begin(), ids.end());
  EXPECT_EQ(tokens, trained(Kind::bpe).encode("A man is walking in the park."));
  EXPECT_NE(processor.serialized_model_proto().find("heed 1; nfc; "), std::string::npos)
      << "SentencePiece keeps the note";
}

TEST(OwnModel, WithANoteOfAnotherVersionOrNormalizationIsRefused) {
  const std::string own = trained(Kind::unigram).serialize();
  const std::string bare = own.substr(0, read_sentencepiece_model(own, "x").note_begin);
  const auto with_note = [&](const std::string& note) { return bare + note_field(note); };
  EXPECT_NO_THROW(parse_tokenizer(with_note("heed 1; nfc; " + checksum_of(bare)), "x"));
  expect_refused(with_note("heed 2; nfc; " + checksum_of(bare)), {"heed", "2;", "nfc", "version 1"});
  expect_refused(with_note("heed 1; nfd; " + checksum_of(bare)), {"'nfd'"});
  expect_refused(with_note("heed 1; nfc; 0123456789abcdef"), {"checksum"});
  expect_refused(with_note("heed 1; "), {"version 1"});
  expect_refused(with_note(""), {"version 1"});
  // The right note on a model whose special tokens are elsewhere.
  const std::string foreign = foreign_model({});
  expect_refused(foreign + note_field("heed 1; nfc; " + checksum_of(foreign)), {"special tokens"});
}

std::string map_of(const std::vector<uint32_t>& units, std::string_view pool) {
  std::string map;
  const auto add = [&](uint32_t number) {
    for (int shift = 0; shift < 32; shift += 8) {
      map += static_cast<char>(number >> shift);
    }
  };
  add(static_cast<uint32_t>(units.size() * 4));
  std::ranges::for_each(units, add);
  return map.append(pool);
}

TEST(CharacterMap, ThatStaysInsideItselfIsAccepted) {
  EXPECT_NO_THROW(check_character_map("", "x"));
  std::vector<uint32_t> units(512, 0);
  units[0] = 256U << 10;                       // root: its children are units 256 ^ byte
  units[256 ^ 'a'] = 'a' | 256U | (1U << 10);  // "a": a value at unit (256 ^ 'a') ^ 1
  units[256 ^ 'a' ^ 1] = 0x80000000U | 2;
  EXPECT_NO_THROW(check_character_map(map_of(units, std::string_view("x\0y\0", 4)), "x"));
}

TEST(CharacterMap, ThatPointsOutsideOfItselfIsRefused) {
  const std::string_view pool("x\0y\0", 4);
  const auto refuse = [](const std::string& map, const std::string& part) {
    expect_error<FormatError>([&] { check_character_map(map, "m"); }, {"m: ", part});
  };
  std::vector<uint32_t> units(512, 0);
  units[0] = 256U << 10;
  refuse(map_of(units, "no end"), "cut off");
  refuse(map_of(units, ""), "cut off");
  refuse(map_of(std::vector<uint32_t>(8, 0), pool), "cut off");
  refuse("abc", "cut off");
  units[256 ^ 'a'] = 'a' | (100'000U << 10);
  refuse(map_of(units, pool), "outside of itself");
  units[256 ^ 'a'] = 'a' | 256U | (1U << 10);
  units[256 ^ 'a' ^ 1] = 0x80000000U | 4;
  refuse(map_of(units, pool), "outside of its texts");
  // The child of "a" for another "a" is itself: (256 ^ 'a') ^ offset ^ 'a' with the offset 'a'.
  units[256 ^ 'a'] = 'a' | (static_cast<uint32_t>('a') << 10);
  refuse(map_of(units, pool), "a cycle");
}

}  // namespace
}  // namespace heed::test
