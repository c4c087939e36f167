#include "eval/chrf.h"

#include <gtest/gtest.h>

#include "base/errors.h"

namespace heed {
namespace {

using Text = std::vector<std::string>;

double score(const Text& hypotheses, const Text& reference, WordOrder words = WordOrder::none) {
  return chrf(hypotheses, std::vector<Text>{reference}, words, LetterCase::kept);
}

TEST(Chrf, EqualsPublishedFigures) {
  // sacreBLEU's README.
  const Text hypotheses{"The dog bit the man.", "It wasn't surprising.", "The man had just bitten him."};
  const std::vector<Text> references{
      {"The dog bit the man.", "It was not unexpected.", "The man bit him first."},
      {"The dog had bit the man.", "No one was surprised.", "The man had bitten the dog."}};
  EXPECT_NEAR(chrf(hypotheses, references, WordOrder::none, LetterCase::kept), 59.73, 0.005);
  // Those of test/test_chrf.py that do not depend on beta.
  EXPECT_DOUBLE_EQ(score({"a"}, {"a"}), 100.0);
  EXPECT_DOUBLE_EQ(score({"a b c"}, {"abc"}), 100.0);
  EXPECT_DOUBLE_EQ(score({"a", "b"}, {"a", "c"}), 50.0);
  EXPECT_DOUBLE_EQ(score({"aa"}, {"ab"}), 25.0);
  EXPECT_EQ(score({"abcdefg"}, {"hijklmnop"}), 0.0);
  EXPECT_EQ(score({""}, {"reference"}), 0.0);
  EXPECT_EQ(score({"x"}, {""}), 0.0);
}

TEST(Chrf, WeighsRecallFourTimes) {
  // Order 1: 1 of 1 and 1 of 2. Higher orders: the hypothesis has none.
  EXPECT_NEAR(score({"a"}, {"ab"}), 100.0 * 5 * 1.0 * 0.5 / (4 * 1.0 + 0.5), 1e-12);
}

TEST(Chrf, CountsCharactersNotBytes) {
  const Text reference{"äöü"};
  const ChrfStatistics statistics = chrf_statistics("äö", reference, WordOrder::none, LetterCase::kept);
  EXPECT_EQ(statistics.orders[0], (ChrfStatistics::Order{2, 3, 2}));
  EXPECT_EQ(statistics.orders[1], (ChrfStatistics::Order{1, 2, 1}));
  EXPECT_EQ(statistics.orders[2], (ChrfStatistics::Order{0, 1, 0}));
  EXPECT_EQ(statistics.orders[3], (ChrfStatistics::Order{0, 0, 0}));
}

TEST(Chrf, IgnoresOrdersThatTheReferenceLacks) {
  const ChrfStatistics statistics = chrf_statistics("abc", Text{"a"}, WordOrder::none, LetterCase::kept);
  EXPECT_EQ(statistics.orders[1], (ChrfStatistics::Order{0, 0, 0}));
}

TEST(ChrfPlusPlus, AddsWordsAndTheirPairs) {
  const ChrfStatistics statistics = chrf_statistics("the dog.", Text{"the dog ."}, WordOrder::two, LetterCase::kept);
  EXPECT_EQ(statistics.orders[6], (ChrfStatistics::Order{3, 3, 3}));
  EXPECT_EQ(statistics.orders[7], (ChrfStatistics::Order{2, 2, 2}));
  EXPECT_DOUBLE_EQ(score({"the dog."}, {"the dog ."}, WordOrder::two), 100.0);
  EXPECT_DOUBLE_EQ(score({"do gs"}, {"dogs"}), 100.0);
  EXPECT_LT(score({"do gs"}, {"dogs"}, WordOrder::two), 100.0);
}

TEST(Chrf, TakesTheBestReferenceOfEachSentence) {
  const Text references{"nothing alike", "the cat sat", "the cats sat"};
  const ChrfStatistics best = chrf_statistics("the cats sat", references, WordOrder::two, LetterCase::kept);
  EXPECT_EQ(best, chrf_statistics("the cats sat", Text{references[2]}, WordOrder::two, LetterCase::kept));
}

TEST(Chrf, LowercasesBothSides) {
  EXPECT_LT(chrf(chrf_statistics("ÄB", Text{"äB"}, WordOrder::two, LetterCase::kept)), 100.0);
  EXPECT_DOUBLE_EQ(chrf(chrf_statistics("ÄB", Text{"äB"}, WordOrder::two, LetterCase::lower)), 100.0);
}

TEST(Chrf, OfACorpusAddsUpItsSentences) {
  const Text hypotheses{"the dog", "a cat."};
  const std::vector<Text> references{{"a dog", "the cat."}};
  const auto each = chrf_statistics(hypotheses, references, WordOrder::two, LetterCase::kept);
  ASSERT_EQ(each.size(), 2U);
  EXPECT_EQ(each[1], chrf_statistics(hypotheses[1], Text{"the cat."}, WordOrder::two, LetterCase::kept));
  ChrfStatistics sum = each[1];
  sum += each[0];
  EXPECT_EQ(chrf(sum), chrf(hypotheses, references, WordOrder::two, LetterCase::kept));
}

TEST(Chrf, RefusesInvalidInput) {
  EXPECT_THROW(chrf_statistics("a", Text{}, WordOrder::none, LetterCase::kept), ShapeError);
  EXPECT_THROW(chrf(Text{"a"}, {}, WordOrder::none, LetterCase::kept), ShapeError);
  EXPECT_THROW(score({"a", "b"}, {"a"}), ShapeError);
  EXPECT_THROW(score({"\xff"}, {"a"}), FormatError);
}

}  // namespace
}  // namespace heed
