#include "text/tokenizer.h"

#include <ctime>
#include <regex>

#include "base/system/files.h"
#include "test_folder.h"
#include "text/unicode/unicode.h"
#include "text/unicode/words.h"
#include "tokenizer_testing.h"

namespace heed::test {
namespace {

using Kind = TokenizerKind;

const std::vector<std::string> kAwkward{
    "",
    " ",
    "hello  world ",
    "  two spaces first",
    "tab\there\tand\t",
    "line\nbreak\n",
    "emoji 😀👩‍👩‍👧 and 🇩🇪🇫🇷",
    "unseen ሰላም Привет 你好 日本語",
    "</s> <pad> <unk> <0x41> ##x ⁇",
    "a\u0308 combining e\u0301",
    "A\u00a0no-break\u2003space",
    "\u2581already\u2581there",
    "control \x01\x7f and a zero width\u200bspace",
    std::string("a zero\0byte", 11),
    std::string(5000, 'x'),
    "\ufeffmark \ufffd replaced",
};

class EachKind : public testing::TestWithParam<Kind> {
 protected:
  const Tokenizer& tokenizer() const { return trained(GetParam()); }
};

TEST_P(EachKind, DecodingRestoresTheNormalizedTextAsFarAsDocumented) {
  std::vector<std::string> texts = corpus();
  texts.insert(texts.end(), kAwkward.begin(), kAwkward.end());
  for (const std::string& text : texts) {
    const std::vector<TokenId> tokens = tokenizer().encode(text);
    const bool known = std::ranges::find(tokens, tokenizer().special().unk) == tokens.end();
    const std::string normal = tokenizer().normalize(text);
    const std::string decoded = tokenizer().decode(tokens);
    if (GetParam() == Kind::word || GetParam() == Kind::wordpiece) {
      EXPECT_TRUE(!known || without_spaces(decoded) == without_spaces(normal)) << text << "\n" << decoded;
    } else {
      EXPECT_TRUE(!known || decoded == normal) << text << "\n" << decoded;
    }
    if (GetParam() != Kind::word && GetParam() != Kind::wordpiece && GetParam() != Kind::character) {
      EXPECT_TRUE(known) << text;
    }
  }
}

TEST_P(EachKind, TheTrainingTextHasNoUnknownTokensAndIsRestored) {
  for (const std::string& line : corpus()) {
    std::string expected = line;
    if (GetParam() == Kind::word || GetParam() == Kind::wordpiece) {
      // Which side a straight quote belongs to can't be told.
      expected = std::regex_replace(expected, std::regex("\"again\""), "\" again \"");
    }
    EXPECT_EQ(tokenizer().decode(tokenizer().encode(line)), expected);
  }
}

TEST_P(EachKind, TokensAreInsideTheVocabularyAndNeverSpecial) {
  for (const std::string& text : kAwkward) {
    for (const TokenId token : tokenizer().encode(text)) {
      ASSERT_GE(token.value, 0);
      ASSERT_LT(token.value, tokenizer().vocabulary_size());
      ASSERT_TRUE(token.value > 4 || token == tokenizer().special().unk) << text;
    }
  }
}

TEST_P(EachKind, SpecialTokensHaveTheirFixedIdsAndAreSkipped) {
  EXPECT_EQ(tokenizer().special(), SpecialTokens{});
  const std::vector<std::string> texts{"<pad>", "<unk>", "<s>", "</s>", "<sep>"};
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(tokenizer().piece(TokenId(i)), texts[static_cast<size_t>(i)]);
  }
  std::vector<TokenId> tokens = tokenizer().encode("A man is walking");
  tokens.insert(tokens.begin(), {TokenId(2), TokenId(0)});
  tokens.insert(tokens.end(), {TokenId(4), TokenId(3), TokenId(0), TokenId(0)});
  EXPECT_EQ(tokenizer().decode(tokens), "A man is walking");
  EXPECT_EQ(tokenizer().decode({}), "");
}

TEST_P(EachKind, PiecesAreFoundByTheirTextAndContainNoWhiteSpace) {
  for (int32_t id = 0; id < tokenizer().vocabulary_size(); ++id) {
    const std::string_view piece = tokenizer().piece(TokenId(id));
    EXPECT_EQ(tokenizer().find(piece), TokenId(id)) << piece;
    EXPECT_EQ(piece.find_first_of(" \t\n"), std::string_view::npos);
  }
  EXPECT_EQ(tokenizer().find("no such piece"), std::nullopt);
}

TEST_P(EachKind, IdsOutsideTheVocabularyAreRefusedNamingIdAndSize) {
  const auto size = static_cast<int32_t>(tokenizer().vocabulary_size());
  for (const int32_t id : {-1, size, size + 1000}) {
    const std::vector<TokenId> tokens{TokenId(id)};
    const std::vector<std::string> parts{std::to_string(id), std::to_string(size)};
    expect_error<ShapeError>([&] { (void)tokenizer().decode(tokens); }, parts);
    expect_error<ShapeError>([&] { (void)tokenizer().piece(TokenId(id)); }, parts);
  }
}

TEST_P(EachKind, TextThatIsNotUtf8IsRefused) {
  expect_error<FormatError>([&] { (void)tokenizer().encode("abc\xff"); }, {"byte 3 is not UTF-8"});
  expect_error<FormatError>([&] { (void)tokenizer().encode("\xed\xa0\x80"); }, {"byte 0 is not UTF-8"});
}

TEST_P(EachKind, AnySequenceOfTokensDecodesToUtf8) {
  uint32_t state = 1;
  for (int round = 0; round < 200; ++round) {
    std::vector<TokenId> tokens;
    for (int i = 0; i < 30; ++i) {
      state = state * 1664525U + 1013904223U;
      tokens.emplace_back(static_cast<int32_t>((state >> 8) % static_cast<uint32_t>(tokenizer().vocabulary_size())));
    }
    EXPECT_EQ(find_invalid_utf8(tokenizer().decode(tokens)), std::nullopt);
  }
}

TEST_P(EachKind, IsTheSameAfterSavingAndLoading) {
  const std::filesystem::path path = test::folder_of_test();
  save_tokenizer(tokenizer(), path);
  const std::unique_ptr<Tokenizer> again = load_tokenizer(path);
  EXPECT_EQ(again->kind(), GetParam());
  EXPECT_EQ(again->vocabulary_size(), tokenizer().vocabulary_size());
  EXPECT_EQ(again->normalization(), tokenizer().normalization());
  EXPECT_EQ(again->serialize(), tokenizer().serialize());
  EXPECT_EQ(again->serialize(), read_file(path));
  for (const std::string& text : kAwkward) {
    EXPECT_EQ(again->encode(text), tokenizer().encode(text));
  }
  std::filesystem::remove(path);
}

TEST_P(EachKind, NormalizesAsItWasTrained) {
  TokenizerTraining training = training_of(GetParam());
  training.normalization = {NormalForm::nfkc, LetterCase::lower};
  const std::unique_ptr<Tokenizer> lower = train_tokenizer(training, lines_of(corpus()));
  const std::unique_ptr<Tokenizer> loaded = parse_tokenizer(lower->serialize(), "lower");
  EXPECT_EQ(loaded->normalization(), "nfkc lowercase");
  EXPECT_EQ(loaded->encode("Ａ MAN is wa\u029fking"), loaded->encode("a man is wa\u029fking"));
  EXPECT_EQ(loaded->decode(loaded->encode("Ａ MAN IS WALKING")), "a man is walking");
}

TEST_P(EachKind, UserSymbolsAreOneTokenEachWhereverTheyStand) {
  TokenizerTraining training = training_of(GetParam());
  training.user_symbols = {"<2de>", "<2de-x>", "<,\">", "\n"};
  const std::unique_ptr<Tokenizer> tokenizer = train_tokenizer(training, lines_of(corpus()));
  const auto count = [&](const std::string& text, int32_t id) {
    return std::ranges::count(tokenizer->encode(text), TokenId(id));
  };
  EXPECT_EQ(tokenizer->piece(TokenId(5)), "<2de>");
  EXPECT_EQ(tokenizer->piece(TokenId(8)), "<U+000A>");
  EXPECT_EQ(count("<2de>A man<2de>is", 5), 2);
  EXPECT_EQ(count("a <2de-x> b", 6), 1) << "of two symbols at one place, the longer";
  EXPECT_EQ(count("a <2de-x> b", 5), 0);
  EXPECT_EQ(count("<,\">", 7), 1);
  EXPECT_EQ(count("A man\nis", 8), 1);
  const std::string text = "<2de> A man is walking";
  EXPECT_EQ(without_spaces(tokenizer->decode(tokenizer->encode(text))), without_spaces(text));
}

TEST_P(EachKind, SpecialTextsCanBeChosen) {
  TokenizerTraining training = training_of(GetParam());
  training.special = {.pad = "[PAD]", .unk = "[UNK]", .bos = "[CLS]", .eos = "[END]", .sep = "[SEP]"};
  const std::unique_ptr<Tokenizer> tokenizer = train_tokenizer(training, lines_of(corpus()));
  EXPECT_EQ(tokenizer->piece(TokenId(0)), "[PAD]");
  EXPECT_EQ(tokenizer->piece(TokenId(4)), "[SEP]");
  EXPECT_EQ(parse_tokenizer(tokenizer->serialize(), "x")->piece(TokenId(2)), "[CLS]");
  for (const TokenId token : tokenizer->encode("[CLS] A man [SEP] is [PAD]")) {
    EXPECT_TRUE(token.value > 4 || token.value == 1);
  }
}

TEST_P(EachKind, LongTextsTakeNoMoreThanLinearTime) {
  const auto seconds = [&](size_t size) {
    const std::string text(size, 'a');
    const std::clock_t begin = std::clock();
    EXPECT_FALSE(tokenizer().encode(text).empty());
    return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  };
  EXPECT_LT(seconds(300'000), 10.0) << "a quadratic search takes minutes";
}

INSTANTIATE_TEST_SUITE_P(Tokenizer, EachKind, testing::ValuesIn(kAllKinds),
                         [](const auto& kind) { return std::string(name_of(kind.param)); });

TEST(Tokenizer, KindsAreParsedByName) {
  for (const Kind kind : kAllKinds) {
    EXPECT_EQ(parse_tokenizer_kind(name_of(kind)), kind);
  }
  expect_error<ConfigError>([] { parse_tokenizer_kind("wordpeice"); },
                            {"'wordpeice'", "bpe, unigram, wordpiece, word, char, byte", "did you mean 'wordpiece'?"});
  try {
    parse_tokenizer_kind("xylophone");
    ADD_FAILURE();
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), testing::Not(testing::HasSubstr("did you mean")));
  }
}

TEST(Tokenizer, ATooLongSequenceIsDroppedTruncatedOrRefused) {
  const std::vector<TokenId> tokens{TokenId(7), TokenId(8), TokenId(9)};
  EXPECT_EQ(limit_length(tokens, {.max_length = 3}, "f:1"), tokens);
  EXPECT_EQ(limit_length(tokens, {.max_length = 2, .too_long = TooLong::drop}, "f:1"), std::nullopt);
  EXPECT_EQ(limit_length(tokens, {.max_length = 2, .too_long = TooLong::truncate}, "f:1"),
            (std::vector<TokenId>{TokenId(7), TokenId(8)}));
  expect_error<FormatError>([&] { limit_length(tokens, {.max_length = 2}, "f:1"); },
                            {"f:1: ", "3 tokens", "at most 2"});
  expect_error<ConfigError>([&] { limit_length(tokens, {.max_length = -1}, "f:1"); }, {"-1"});
}

TEST(Words, AreSplitAtUnicodesBoundaries) {
  using Words = std::vector<std::string_view>;
  EXPECT_EQ(split_words("Don't stop, it's 3.14 (really)!"),
            (Words{"Don't", "stop", ",", "it's", "3.14", "(", "really", ")", "!"}));
  EXPECT_EQ(split_words("T-Shirt \u00a0 Straße\t\nx"), (Words{"T", "-", "Shirt", "Straße", "x"}));
  EXPECT_EQ(split_words("我喜欢北京。"), (Words{"我", "喜欢", "北京", "。"}));
  EXPECT_EQ(split_words(" \t\n"), Words{});
  EXPECT_EQ(split_words("👩‍👩‍👧👍"), (Words{"👩‍👩‍👧", "👍"})) << "a joined emoji is one word";
}

TEST(Words, AreJoinedAsPunctuationAndScriptAskFor) {
  const auto join = [](const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) {
      append_word(text, word);
    }
    return text;
  };
  EXPECT_EQ(join({"A", "man", "(", "old", ")", ",", "really", "!"}), "A man (old), really!");
  EXPECT_EQ(join({"我", "喜欢", "北京", "。", "你", "呢", "？"}), "我喜欢北京。你呢？");
  EXPECT_EQ(join({"서울", "에서"}), "서울 에서") << "Korean has spaces";
  EXPECT_EQ(join({"50", "%", "of", "$", "9"}), "50% of $ 9");
}

}  // namespace
}  // namespace heed::test
