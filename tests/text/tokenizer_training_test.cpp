#include "text/tokenizer_training.h"

#include <algorithm>
#include <cmath>

#include "text/unicode/normalization.h"
#include "text/vocabulary/wordpiece_training.h"
#include "tokenizer_testing.h"

namespace heed::test {
namespace {

using Kind = TokenizerKind;

std::vector<std::string> pieces_of(const Tokenizer& tokenizer) {
  std::vector<std::string> pieces;
  for (int32_t id = 5; id < tokenizer.vocabulary_size(); ++id) {
    pieces.emplace_back(tokenizer.piece(TokenId(id)));
  }
  return pieces;
}

TEST(SentencePieceSample, LearnsFromTheRequestedNumberOfLines) {
  std::vector<std::string> many(3000, "abababab");
  many.resize(6000, "cdcdcdcd");
  const auto pieces = [&](int64_t lines) {
    return train_tokenizer({.kind = TokenizerKind::bpe, .vocabulary = 280, .sample_lines = lines}, lines_of(many));
  };
  // One line has either the letters a and b or c and d; two hundred have both.
  EXPECT_NE(pieces(1)->find("ab").has_value(), pieces(1)->find("cd").has_value());
  EXPECT_TRUE(pieces(200)->find("ab") && pieces(200)->find("cd"));
  EXPECT_EQ(pieces(200)->serialize(), pieces(200)->serialize());
}

TEST(Normalization, DoesWhatItsNameSays) {
  EXPECT_EQ(normalize("e\u0301 ﬁ É", {NormalForm::none}), "e\u0301 ﬁ É");
  EXPECT_EQ(normalize("e\u0301 ﬁ É", {NormalForm::nfc}), "é ﬁ É");
  EXPECT_EQ(normalize("e\u0301 ﬁ É", {NormalForm::nfkc}), "é fi É");
  EXPECT_EQ(normalize("e\u0301 ﬁ É", {NormalForm::nfkc, LetterCase::lower}), "é fi é");
  EXPECT_EQ(normalize("E\u0301 ΣΑΣ", {NormalForm::none, LetterCase::lower}), "e\u0301 σας");
  EXPECT_EQ(normalize("", {}), "");
  expect_error<FormatError>([] { normalize("ab\xc3", {}); }, {"byte 2"});
}

TEST(Normalization, OfNormalTextChangesNothing) {
  const std::string text = "İI ǅ ẞ ŉ ʼN ﷺ ① ｱﾞ \u1e9b\u0323 q\u0307\u0323 Å \u212b Ⅷ ͅα ϓ\u0301 K";
  for (const char* name : {"none", "nfc", "nfkc", "none lowercase", "nfc lowercase", "nfkc lowercase"}) {
    const Normalization normalization = parse_normalization(name);
    EXPECT_EQ(name_of(normalization), name);
    const std::string once = normalize(text, normalization);
    EXPECT_EQ(normalize(once, normalization), once) << name;
  }
  expect_error<ConfigError>([] { parse_normalization("nfck"); }, {"'nfck'", "none, nfc, nfkc", "did you mean 'nf"});
}

class EachTraining : public testing::TestWithParam<Kind> {};

TEST_P(EachTraining, OnTheSameLinesGivesTheSameBytes) {
  const auto train = [] { return train_tokenizer(training_of(GetParam()), lines_of(corpus()))->serialize(); };
  EXPECT_EQ(train(), train());
}

TEST_P(EachTraining, KeepsToTheVocabularySize) {
  for (const int64_t size : {310, 350}) {
    TokenizerTraining training = training_of(GetParam());
    training.vocabulary = GetParam() == Kind::byte ? 261 : size;
    EXPECT_LE(train_tokenizer(training, lines_of(corpus()))->vocabulary_size(), training.vocabulary);
  }
}

TEST_P(EachTraining, GivesASmallerVocabularyForASmallText) {
  TokenizerTraining training = training_of(GetParam());
  training.vocabulary = GetParam() == Kind::byte ? 0 : 5000;
  const auto tokenizer = train_tokenizer(training, lines_of(corpus()));
  EXPECT_LT(tokenizer->vocabulary_size(), 2000);
  EXPECT_EQ(tokenizer->decode(tokenizer->encode("A man")), "A man");
}

TEST_P(EachTraining, RefusesALineThatIsNotUtf8) {
  if (GetParam() != Kind::byte) {
    expect_error<FormatError>(
        [&] {
          train_tokenizer(training_of(GetParam()), lines_of({"good", "also good", "b\xff\x64"}));
        },
        {"line 3: byte 1 is not UTF-8"});
  }
}

TEST_P(EachTraining, RefusesEmptyText) {
  if (GetParam() != Kind::byte) {
    expect_error<ConfigError>([&] { train_tokenizer(training_of(GetParam()), lines_of({})); }, {"no text"});
  }
  if (GetParam() != Kind::byte && GetParam() != Kind::character) {
    expect_error<ConfigError>([&] { train_tokenizer(training_of(GetParam()), lines_of({"", ""})); }, {"no text"});
  }
}

TEST_P(EachTraining, RefusesImpossibleOptions) {
  const auto refuse = [](auto&& change, const std::vector<std::string>& parts) {
    TokenizerTraining training = training_of(GetParam());
    change(training);
    expect_error<ConfigError>([&] { train_tokenizer(training, lines_of(corpus())); }, parts);
  };
  refuse([](auto& t) { t.vocabulary = 5; }, {"vocabulary", "5"});
  refuse([](auto& t) { t.vocabulary = -1; }, {"vocabulary", "-1"});
  refuse([](auto& t) { t.vocabulary = int64_t{1} << 40; }, {"vocabulary", "1099511627776"});
  refuse([](auto& t) { t.coverage = 1.5; }, {"coverage", "1.5"});
  refuse([](auto& t) { t.coverage = std::nan(""); }, {"coverage", "nan"});
  refuse([](auto& t) { t.minimum_count = -2; }, {"minimum count", "-2"});
  refuse([](auto& t) { t.special.pad = ""; }, {"special token pad: the text is empty"});
  refuse([](auto& t) { t.special.sep = "<unk>"; },
         {"special token sep: '<unk>' occurs twice, first as special token unk"});
  refuse([](auto& t) { t.special.bos = "_"; }, {"'_'", "two characters"});
  refuse([](auto& t) { t.special.bos = "a b"; }, {"white space"});
  refuse([](auto& t) { t.special.eos = "\xff\xff"; }, {"not UTF-8"});
  refuse([](auto& t) { t.user_symbols = {"x", "x"}; }, {"'x' occurs twice"});
  refuse([](auto& t) { t.user_symbols = {""}; }, {"user symbol", "empty"});
  refuse([](auto& t) { t.user_symbols = {"</s>"}; }, {"user symbol: '</s>' occurs twice, first as special token eos"});
  refuse([](auto& t) { t.user_symbols = {"<0x41>"}; }, {"'<0x41>'", "bytes"});
  refuse([](auto& t) { t.special.sep = "<U+000A>"; }, {"'<U+000A>'", "invisible"});
  refuse([](auto& t) { t.user_symbols = {"<X>"}, t.normalization.letter_case = LetterCase::lower; },
         {"'<X>'", "nfc lowercase", "'<x>'"});
  if (GetParam() != Kind::bpe && GetParam() != Kind::unigram) {
    refuse([](auto& t) { t.sample_lines = 3; }, {"sample lines", std::string(name_of(GetParam())), "all lines"});
  }
  if (GetParam() == Kind::bpe || GetParam() == Kind::unigram || GetParam() == Kind::byte) {
    refuse([](auto& t) { t.minimum_count = 3; }, {"minimum count", std::string(name_of(GetParam()))});
  }
  if (GetParam() == Kind::word || GetParam() == Kind::byte) {
    refuse([](auto& t) { t.coverage = 0.9; }, {"coverage", std::string(name_of(GetParam()))});
  } else if (GetParam() != Kind::character) {
    refuse([](auto& t) { t.vocabulary = 0; }, {"vocabulary", "0"});
  }
  if (GetParam() == Kind::bpe || GetParam() == Kind::unigram) {
    refuse([](auto& t) { t.user_symbols = {"a b"}; }, {"user symbol", "space"});
    refuse([](auto& t) { t.vocabulary = 200; }, {"training of", "200 tokens are too few", "Raise the vocabulary"});
  }
}

TEST_P(EachTraining, LearnsNoSpecialTokenFromText) {
  std::vector<std::string> lines(200, "</s> <pad> <0x41> <unk> ##a <s>");
  TokenizerTraining training = training_of(GetParam());
  training.vocabulary = GetParam() == Kind::byte ? 0 : 330;
  const auto tokenizer = train_tokenizer(training, lines_of(lines));
  for (const TokenId token : tokenizer->encode(lines[0])) {
    EXPECT_TRUE(token.value > 4) << tokenizer->piece(token);
  }
}

INSTANTIATE_TEST_SUITE_P(Training, EachTraining, testing::ValuesIn(kAllKinds),
                         [](const auto& kind) { return std::string(name_of(kind.param)); });

TEST(WordTraining, TakesTheMostFrequentWordsAndCountsThem) {
  const std::vector<std::string> lines{"b a b, c", "a b d"};
  EXPECT_EQ(pieces_of(*train_tokenizer({.kind = Kind::word}, lines_of(lines))), (std::vector<std::string>{"b", "a"}));
  EXPECT_EQ(pieces_of(*train_tokenizer({.kind = Kind::word, .minimum_count = 1}, lines_of(lines))),
            (std::vector<std::string>{"b", "a", ",", "c", "d"}))
      << "equally frequent words in the order of their characters";
  EXPECT_EQ(pieces_of(*train_tokenizer({.kind = Kind::word, .vocabulary = 6}, lines_of(lines))),
            (std::vector<std::string>{"b"}));
}

TEST(CharacterTraining, IncludesTheLineBreak) {
  EXPECT_EQ(pieces_of(*train_tokenizer({.kind = Kind::character}, lines_of({"aé a", "a"}))),
            (std::vector<std::string>{"a", "<U+000A>", "\u2581", "é"}));
  EXPECT_EQ(pieces_of(*train_tokenizer({.kind = Kind::character, .coverage = 0.8}, lines_of({"aaaaaaab"}))),
            (std::vector<std::string>{"a", "<U+000A>"}));
  EXPECT_EQ(pieces_of(*train_tokenizer({.kind = Kind::character, .minimum_count = 2}, lines_of({"aab", "c"}))),
            (std::vector<std::string>{"<U+000A>", "a"}));
}

// The definition, computed anew at every step.
std::vector<std::string> plain_wordpiece(const std::vector<WordCount>& words, const WordPieceTraining& training,
                                         size_t alphabet) {
  std::vector<std::string> result = train_wordpiece(words, {alphabet, 2, 1.0});
  std::vector<std::vector<std::string>> split;
  double total = 0.0;
  for (const auto& entry : words) {
    auto& pieces = split.emplace_back();
    for (const char c : entry.word) {
      pieces.push_back((pieces.empty() ? "" : "##") + std::string(1, c));
    }
    total += static_cast<double>(entry.count) * static_cast<double>(pieces.size());
  }
  while (result.size() < training.pieces) {
    std::map<std::string, double> single;
    std::map<std::pair<std::string, std::string>, double> pairs;
    for (size_t w = 0; w < words.size(); ++w) {
      for (size_t i = 0; i < split[w].size(); ++i) {
        single[split[w][i]] += static_cast<double>(words[w].count);
        if (i > 0) {
          pairs[{split[w][i - 1], split[w][i]}] += static_cast<double>(words[w].count);
        }
      }
    }
    double best = -1e30;
    std::pair<std::string, std::string> chosen;
    for (const auto& [pair, count] : pairs) {
      const double gain = count * std::log(total * count / (single[pair.first] * single[pair.second]));
      if (count >= static_cast<double>(training.minimum_count) && gain > best) {
        best = gain;
        chosen = pair;
      }
    }
    if (best == -1e30) {
      break;
    }
    const std::string joined = chosen.first + chosen.second.substr(2);
    if (std::ranges::find(result, joined) == result.end()) {
      result.push_back(joined);
    }
    for (auto& pieces : split) {
      for (size_t i = 1; i < pieces.size(); ++i) {
        if (pieces[i - 1] == chosen.first && pieces[i] == chosen.second) {
          pieces[i - 1] = joined;
          pieces.erase(pieces.begin() + static_cast<std::ptrdiff_t>(i));
        }
      }
    }
  }
  return result;
}

TEST(WordPieceTraining, WithRunningCountsIsThatOfItsDefinition) {
  const std::vector<WordCount> words{{"banana", 1013}, {"bandana", 509}, {"anna", 251}, {"hannah", 127}, {"aaaaa", 61},
                                     {"aaab", 31},     {"cabana", 17},   {"nab", 7},    {"abba", 3},     {"cc", 1}};
  const size_t alphabet = train_wordpiece(words, {1000, 1'000'000, 1.0}).size();
  EXPECT_EQ(alphabet, 11U) << "six initial characters and five more; only 'c' of \"cc\" is both";
  // Later on, pieces of one word alone gain the same.
  for (const size_t size : {size_t{14}, size_t{17}, size_t{21}}) {
    EXPECT_EQ(train_wordpiece(words, {size, 2, 1.0}), plain_wordpiece(words, {size, 2, 1.0}, alphabet));
  }
}

TEST(WordPieceTraining, JoinsWhatOccursTogetherMoreThanByChance) {
  // "q" is always before "u"; "e" and "t" are frequent everywhere.
  const std::vector<WordCount> words{{"qu", 100}, {"et", 60}, {"te", 55}, {"ee", 58}, {"tt", 53}};
  const std::vector<std::string> pieces = train_wordpiece(words, {7, 2, 1.0});
  EXPECT_EQ(pieces.back(), "qu");
}

TEST(WordPiece, TakesTheLongestPieceThenTheLongestContinuation) {
  const auto tokenizer = train_tokenizer({.kind = Kind::wordpiece, .vocabulary = 300}, lines_of(corpus()));
  std::string spelled;
  for (const TokenId token : tokenizer->encode("walkstand")) {
    spelled += std::string(tokenizer->piece(token)) + " ";
  }
  EXPECT_THAT(spelled, testing::MatchesRegex("[a-z]+ (##[a-z]+ )+"));
  EXPECT_EQ(tokenizer->decode(tokenizer->encode("walkstand")), "walkstand");
  const auto unk = std::vector<TokenId>{TokenId(1)};
  EXPECT_EQ(tokenizer->encode(std::string(101, 'a')), unk) << "a word of more than 100 characters";
  EXPECT_NE(tokenizer->encode(std::string(100, 'a')), unk);
  EXPECT_EQ(tokenizer->encode("wal☃king").size(), 3U) << "a symbol is a word";
  EXPECT_EQ(tokenizer->encode("walЖing"), unk) << "a word with an unknown character";
}

TEST(Multi30k, BpeKnowsEveryWordAndWordIsShorter) {
  const auto train = data_lines("multi30k/train.en");
  const auto test = data_lines("multi30k/test2016.en");
  if (!train || !test) {
    GTEST_SKIP() << "multi30k is not there";
  }
  const std::vector<std::string> some(train->begin(), train->begin() + 5000);
  const auto bpe = train_tokenizer({.kind = Kind::bpe, .vocabulary = 4000}, lines_of(some));
  const auto word = train_tokenizer({.kind = Kind::word}, lines_of(some));
  size_t pieces = 0, words = 0;
  std::ptrdiff_t unknown = 0;
  for (const std::string& line : *test) {
    const auto bpe_tokens = bpe->encode(line);
    const auto word_tokens = word->encode(line);
    ASSERT_EQ(bpe->decode(bpe_tokens), bpe->normalize(line));
    pieces += bpe_tokens.size();
    words += word_tokens.size();
    unknown += std::ranges::count(word_tokens, word->special().unk);
  }
  EXPECT_GT(pieces, words);
  EXPECT_LT(static_cast<double>(pieces), 1.4 * static_cast<double>(words));
  EXPECT_GT(unknown, 0);
  EXPECT_LT(static_cast<double>(unknown), 0.06 * static_cast<double>(words));
}

}  // namespace
}  // namespace heed::test
