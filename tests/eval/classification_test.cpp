#include "eval/classification.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/errors.h"

namespace heed {
namespace {

// Three classes, counted by hand: expected 0: 4 right, 1 taken for 1; expected 1: 2 right, 1 for 0, 1 for 2; expected
// 2: 3 right.
ConfusionMatrix example() {
  ConfusionMatrix matrix(3);
  for (const auto& [expected, predicted, times] :
       {std::array{0, 0, 4}, {0, 1, 1}, {1, 0, 1}, {1, 1, 2}, {1, 2, 1}, {2, 2, 3}}) {
    for (int i = 0; i < times; ++i) {
      matrix.add(expected, predicted);
    }
  }
  return matrix;
}

TEST(Classification, CountsByLabel) {
  const std::vector<LabelCounts> counts = example().by_label();
  EXPECT_NEAR(example().accuracy(), 9.0 / 12.0, 1e-12);
  EXPECT_NEAR(counts[0].precision(), 4.0 / 5.0, 1e-12);
  EXPECT_NEAR(counts[0].recall(), 4.0 / 5.0, 1e-12);
  EXPECT_NEAR(counts[1].precision(), 2.0 / 3.0, 1e-12);
  EXPECT_NEAR(counts[1].recall(), 2.0 / 4.0, 1e-12);
  EXPECT_NEAR(counts[1].f1(), 4.0 / 7.0, 1e-12);
  EXPECT_NEAR(counts[2].f1(), 6.0 / 7.0, 1e-12);
  EXPECT_NEAR(macro_f1(counts), (0.8 + 4.0 / 7.0 + 6.0 / 7.0) / 3.0, 1e-12);
  EXPECT_NEAR(micro_f1(counts), 9.0 / 12.0, 1e-12) << "of one label each it is the accuracy";
}

// With c = 9, s = 12, t = (5, 4, 3), p = (5, 3, 4): (108 - 49) / sqrt((144 - 50) (144 - 50)).
TEST(Classification, MatthewsOfSeveralClasses) { EXPECT_NEAR(example().matthews(), 59.0 / 94.0, 1e-12); }

// For two classes it is (tp tn - fp fn) / sqrt((tp + fp) (tp + fn) (tn + fp) (tn + fn)).
TEST(Classification, MatthewsOfTwoClasses) {
  ConfusionMatrix matrix(2);
  for (const auto& [expected, predicted, times] : {std::array{1, 1, 6}, {0, 0, 3}, {0, 1, 1}, {1, 0, 2}}) {
    for (int i = 0; i < times; ++i) {
      matrix.add(expected, predicted);
    }
  }
  EXPECT_NEAR(matrix.matthews(), (6.0 * 3.0 - 1.0 * 2.0) / std::sqrt(7.0 * 8.0 * 4.0 * 5.0), 1e-12);
}

TEST(Classification, ScoresOfNothingAreZero) {
  EXPECT_EQ(ConfusionMatrix(2).accuracy(), 0.0);
  EXPECT_EQ(ConfusionMatrix(2).matthews(), 0.0);
  EXPECT_EQ(LabelCounts{}.f1(), 0.0);
  EXPECT_EQ(macro_f1({}), 0.0);
  EXPECT_EQ(pearson({{1, 1}, {2, 3}}), 0.0);
  EXPECT_THROW(ConfusionMatrix(2).add(2, 0), ShapeError);
}

TEST(Classification, MacroLeavesOutLabelsThatNeverOccur) {
  const std::vector<LabelCounts> counts{{1, 1, 1}, {0, 0, 0}, {0, 1, 1}};
  EXPECT_NEAR(macro_f1(counts), 0.5, 1e-12);
}

TEST(Classification, CorrelatesNumbersAndRanks) {
  EXPECT_NEAR(pearson({{1, 2, 3, 4}, {1, 2, 3, 5}}), 6.5 / std::sqrt(5.0 * 8.75), 1e-12);
  EXPECT_NEAR(spearman({{1, 2, 3, 4}, {1, 4, 9, 16}}), 1.0, 1e-12);
  EXPECT_NEAR(spearman({{1, 2, 3, 4}, {2, 1, 4, 3}}), 1.0 - 6.0 * 4.0 / (4.0 * 15.0), 1e-12);
  // Equal values share a rank: (0, 1.5, 1.5, 3) against (0, 1, 2, 3).
  EXPECT_NEAR(spearman({{1, 2, 2, 3}, {1, 2, 3, 4}}), 4.5 / std::sqrt(4.5 * 5.0), 1e-12);
}

}  // namespace
}  // namespace heed
