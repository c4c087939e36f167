#include "eval/bleu.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/errors.h"

namespace heed {
namespace {

using Text = std::vector<std::string>;

// The example of sacreBLEU's README; its test/test_bleu.py has more digits.
const Text kHypotheses{"The dog bit the man.", "It wasn't surprising.", "The man had just bitten him."};
const std::vector<Text> kReferences{
    {"The dog bit the man.", "It was not unexpected.", "The man bit him first."},
    {"The dog had bit the man.", "No one was surprised.", "The man had bitten the dog."}};

BleuStatistics statistics(std::string_view hypothesis, const Text& references) {
  return bleu_statistics(hypothesis, references, LetterCase::kept);
}

TEST(Bleu, EqualsPublishedFigures) {
  const BleuScore score = bleu(kHypotheses, kReferences, LetterCase::kept);
  EXPECT_NEAR(score.score, 48.530827, 1e-6);
  EXPECT_NEAR(score.brevity_penalty, std::exp(1.0 - 18.0 / 17.0), 1e-12);
  EXPECT_EQ(score.hypothesis_length, 17);
  EXPECT_EQ(score.reference_length, 18);
  const std::array<double, 4> precisions{1400.0 / 17, 700.0 / 14, 500.0 / 11, 300.0 / 8};  // 82.4/50.0/45.5/37.5
  for (size_t n = 0; n < 4; ++n) {
    EXPECT_NEAR(score.precisions[n], precisions[n], 1e-12);
  }
  // test_scoring of the same file.
  EXPECT_NEAR(bleu(BleuStatistics{11, 11, {9, 7, 5, 3}, {10, 8, 6, 4}}).score, 83.75922397, 1e-8);
}

TEST(Bleu, CountsANGramAtMostAsOftenAsAReferenceHasIt) {
  const BleuStatistics one = statistics("the the the the", {"the cat is on the mat", "the cat"});
  EXPECT_EQ(one.matches, (std::array<int64_t, 4>{2, 0, 0, 0}));
  EXPECT_EQ(one.totals, (std::array<int64_t, 4>{4, 3, 2, 1}));
  const BleuStatistics two = statistics("a b c", {"a b", "b c"});
  EXPECT_EQ(two.matches, (std::array<int64_t, 4>{3, 2, 0, 0})) << "each n-gram has its own best reference";
}

TEST(Bleu, TakesTheClosestReferenceLengthAndTheShorterInATie) {
  EXPECT_EQ(statistics("a b c", {"a b c d e f", "a b"}).reference_length, 2);
  EXPECT_EQ(statistics("a b c", {"a b c d", "a b"}).reference_length, 2);
  EXPECT_EQ(statistics("a b c", {"a b", "a b c d"}).reference_length, 2);
  EXPECT_EQ(statistics("a b c", {"a b c d", "a"}).reference_length, 4);
}

TEST(Bleu, HalvesThePrecisionOfEachFurtherOrderWithoutMatches) {
  const BleuScore score = bleu(statistics("a b x c d", {"a c b e d"}));
  EXPECT_DOUBLE_EQ(score.precisions[0], 80.0);
  EXPECT_DOUBLE_EQ(score.precisions[1], 100.0 / (2 * 4));
  EXPECT_DOUBLE_EQ(score.precisions[2], 100.0 / (4 * 3));
  EXPECT_DOUBLE_EQ(score.precisions[3], 100.0 / (8 * 2));
  EXPECT_NEAR(score.score, std::pow(80.0 * 12.5 * (100.0 / 12) * 6.25, 0.25), 1e-12);
}

TEST(Bleu, IsZeroWithoutAMatchOrWithoutFourWords) {
  EXPECT_EQ(bleu(statistics("x y z w v", {"a b c d e"})).score, 0.0);
  EXPECT_EQ(bleu(statistics("", {"a b c d e"})).score, 0.0);
  EXPECT_EQ(bleu(statistics("", {"a b c d e"})).brevity_penalty, 0.0);
  EXPECT_EQ(bleu(statistics("", {""})).score, 0.0);
  EXPECT_EQ(bleu(statistics("a b c", {"a b c"})).score, 0.0);
  EXPECT_NEAR(bleu(statistics("a b c d", {"a b c d"})).score, 100.0, 1e-12);
}

TEST(Bleu, OfACorpusAddsUpItsSentences) {
  const std::vector<BleuStatistics> each = bleu_statistics(kHypotheses, kReferences, LetterCase::kept);
  ASSERT_EQ(each.size(), 3U);
  EXPECT_EQ(each[1], statistics(kHypotheses[1], {kReferences[0][1], kReferences[1][1]}));
  BleuStatistics sum = each[2];
  sum += each[0];
  sum += each[1];
  EXPECT_EQ(sum, sum_of(each));
  EXPECT_EQ(bleu(sum).score, bleu(kHypotheses, kReferences, LetterCase::kept).score);
}

TEST(Bleu, LowercasesBothSides) {
  const Text reference{"the DOG bit a man"};
  EXPECT_LT(bleu(bleu_statistics("The dog Bit a man", reference, LetterCase::kept)).score, 50.0);
  EXPECT_NEAR(bleu(bleu_statistics("The dog Bit a man", reference, LetterCase::lower)).score, 100.0, 1e-12);
}

TEST(Bleu, IgnoresBlankReferencesIfThereAreOthers) {
  const std::vector<Text> references{{"", " "}, {"a b c d", "\t"}};
  const std::vector<BleuStatistics> each = bleu_statistics(Text{"x", "x"}, references, LetterCase::kept);
  EXPECT_EQ(each[0].reference_length, 4) << "and not the closer 0";
  EXPECT_EQ(each[1].reference_length, 0);
  EXPECT_EQ(each[1].hypothesis_length, 1);
}

TEST(Bleu, RefusesInvalidInput) {
  EXPECT_THROW(bleu(kHypotheses, {}, LetterCase::kept), ShapeError);
  EXPECT_THROW(bleu_statistics("a", Text{}, LetterCase::kept), ShapeError);
  EXPECT_THROW(statistics("\xff", {"a"}), FormatError);
  EXPECT_THROW(statistics("a", {"\xff"}), FormatError);
  try {
    bleu(kHypotheses, std::vector<Text>{kReferences[0], {"one"}}, LetterCase::kept);
    FAIL();
  } catch (const ShapeError& error) {
    EXPECT_STREQ(error.what(), "bleu: 3 lines of hypotheses, but 1 of reference 2");
  }
}

}  // namespace
}  // namespace heed
