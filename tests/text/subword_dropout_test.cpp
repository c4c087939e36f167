#include "text/subword_dropout.h"

#include "text/tokenizer_testing.h"

namespace heed {
namespace {

using testing::ElementsAreArray;

std::vector<int32_t> ids_of(const Tokenizer& tokenizer, std::string_view text) {
  std::vector<int32_t> ids;
  for (const TokenId token : tokenizer.encode(text)) {
    ids.push_back(token.value);
  }
  return ids;
}

std::string text_of(const Tokenizer& tokenizer, const std::vector<int32_t>& ids) {
  std::vector<TokenId> tokens;
  for (const int32_t id : ids) {
    tokens.emplace_back(id);
  }
  return tokenizer.decode(tokens);
}

class SubwordDropoutTest : public testing::Test {
 protected:
  const Tokenizer& bpe_ = test::trained(TokenizerKind::bpe);
  const SubwordDropout dropout_{bpe_};
  const std::vector<std::string> lines_ = test::corpus();
};

// SentencePiece's own encoding is the oracle: training text, other words, characters that only bytes can spell.
TEST_F(SubwordDropoutTest, WithProbabilityZeroChangesNothing) {
  std::vector<std::string> lines = lines_;
  lines.insert(lines.end(), {"", " ", "  two  spaces ", "aaaaaaaaaaaaaaaa", "Straßenmädchenhut",
                             "wholly unseen, words?", "漢字 and 🙂 in the park.", "ins\tdas"});
  for (const std::string& line : lines) {
    const std::vector<int32_t> ids = ids_of(bpe_, line);
    EXPECT_THAT(dropout_.recut(ids, Probability(0.0F), RandomKey{1}), ElementsAreArray(ids)) << line;
  }
}

// In a tie the leftmost merge comes first: aaa is aa and a.
TEST(SubwordDropout, MergesFromTheLeftInATie) {
  TokenizerTraining training = test::training_of(TokenizerKind::bpe);
  training.vocabulary = 5 + 256 + 2 + 1;  // special tokens, bytes, two characters, one merge
  const auto tokenizer = train_tokenizer(training, test::lines_of(std::vector<std::string>(50, "aaa aaa")));
  const std::vector<int32_t> ids = ids_of(*tokenizer, "aaa aaaaa");
  ASSERT_THAT(ids, testing::Contains(tokenizer->find("aa")->value));
  EXPECT_THAT(SubwordDropout(*tokenizer).recut(ids, Probability(0.0F), RandomKey{1}), ElementsAreArray(ids));
}

TEST_F(SubwordDropoutTest, KeepsTheText) {
  for (const float share : {0.1F, 0.5F, 0.9F}) {
    for (size_t i = 0; i < lines_.size(); ++i) {
      const std::vector<int32_t> cut = dropout_.recut(ids_of(bpe_, lines_[i]), Probability(share), RandomKey{i});
      EXPECT_EQ(text_of(bpe_, cut), lines_[i]);
    }
  }
}

TEST_F(SubwordDropoutTest, WithoutMergesLeavesCharacters) {
  const std::vector<int32_t> cut = dropout_.recut(ids_of(bpe_, "Mädchen is"), Probability(1.0F), RandomKey{1});
  std::vector<std::string> pieces;
  for (const int32_t id : cut) {
    pieces.emplace_back(bpe_.piece(TokenId(id)));
  }
  EXPECT_THAT(pieces, testing::ElementsAre("▁", "M", "ä", "d", "c", "h", "e", "n", "▁", "i", "s"));
}

// Only the text matters, not how it was split before.
TEST_F(SubwordDropoutTest, DrawsDependOnlyOnTheKey) {
  const std::vector<int32_t> ids = ids_of(bpe_, lines_[7]);
  const Probability share(0.3F);
  const std::vector<int32_t> cut = dropout_.recut(ids, share, RandomKey{5});
  EXPECT_EQ(dropout_.recut(ids, share, RandomKey{5}), cut);
  EXPECT_EQ(dropout_.recut(cut, share, RandomKey{5}), cut);
  EXPECT_NE(dropout_.recut(ids, share, RandomKey{6}), cut);
}

// Skipping a tenth of the merges gives about a tenth more tokens; the more are skipped, the more tokens.
TEST_F(SubwordDropoutTest, SkipsTheGivenShareOfMerges) {
  std::vector<size_t> sizes;
  for (const float share : {0.0F, 0.1F, 0.3F, 0.6F}) {
    size_t& size = sizes.emplace_back();
    for (size_t i = 0; i < lines_.size(); ++i) {
      size += dropout_.recut(ids_of(bpe_, lines_[i]), Probability(share), RandomKey{i}).size();
    }
  }
  EXPECT_GT(sizes[1], sizes[0] + sizes[0] / 20);
  EXPECT_GT(sizes[2], sizes[1] + sizes[1] / 20);
  EXPECT_GT(sizes[3], sizes[2] + sizes[2] / 20);
}

// The share of one merge: "ab" from a and b.
TEST(SubwordDropout, SkipsAMergeWithItsProbability) {
  TokenizerTraining training = test::training_of(TokenizerKind::bpe);
  training.vocabulary = 5 + 256 + 3 + 1;  // special tokens, bytes, three characters, one merge
  const auto tokenizer = train_tokenizer(training, test::lines_of(std::vector<std::string>(50, "ab ab")));
  const SubwordDropout dropout(*tokenizer);
  const std::vector<int32_t> ids = ids_of(*tokenizer, "ab");
  ASSERT_EQ(ids.size(), 2U) << "a space and ab, or a space with a and b";
  int left_out = 0;
  constexpr int kTries = 10'000;
  for (uint64_t i = 0; i < kTries; ++i) {
    left_out += dropout.recut(ids, Probability(0.25F), RandomKey{i}).size() == 3 ? 1 : 0;
  }
  EXPECT_NEAR(left_out, kTries / 4, 200);  // 4.6 standard deviations
}

TEST_F(SubwordDropoutTest, UserSymbolsAndSpecialTokensStay) {
  TokenizerTraining training = test::training_of(TokenizerKind::bpe);
  training.user_symbols = {"<walking>", "park"};
  const auto tokenizer = train_tokenizer(training, test::lines_of(lines_));
  const SubwordDropout dropout(*tokenizer);
  std::vector<int32_t> ids = ids_of(*tokenizer, "is <walking> in parks");
  EXPECT_THAT(dropout.recut(ids, Probability(0.0F), RandomKey{1}), ElementsAreArray(ids));
  ids.push_back(tokenizer->special().eos.value);
  const std::vector<int32_t> cut = dropout.recut(ids, Probability(1.0F), RandomKey{1});
  EXPECT_THAT(cut, testing::Contains(tokenizer->find("<walking>")->value));
  EXPECT_THAT(cut, testing::Contains(tokenizer->find("park")->value));
  EXPECT_EQ(cut.back(), tokenizer->special().eos.value);
  EXPECT_EQ(text_of(*tokenizer, cut), "is <walking> in parks");
}

TEST(SubwordDropout, IsOnlyForBpe) {
  for (const TokenizerKind kind : test::kAllKinds) {
    if (kind != TokenizerKind::bpe) {
      EXPECT_THROW(SubwordDropout{test::trained(kind)}, ConfigError) << name_of(kind);
    }
  }
}

}  // namespace
}  // namespace heed
