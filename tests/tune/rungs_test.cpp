#include "tune/rungs.h"

#include <gtest/gtest.h>

#include <cmath>

namespace heed {
namespace {

std::vector<std::pair<double, int64_t>> rungs(int64_t trials) {
  std::vector<std::pair<double, int64_t>> found;
  for (const Rung& rung : rungs_of(trials)) {
    found.emplace_back(rung.share, rung.trials);
  }
  return found;
}

using Expected = std::vector<std::pair<double, int64_t>>;

TEST(Rungs, EachTakesHalfAsManyTwiceAsFar) {
  EXPECT_EQ(rungs(8), (Expected{{0.125, 8}, {0.25, 4}, {0.5, 2}, {1.0, 1}}));
  EXPECT_EQ(rungs(4), (Expected{{0.25, 4}, {0.5, 2}, {1.0, 1}}));
  EXPECT_EQ(rungs(2), (Expected{{0.5, 2}, {1.0, 1}}));
  EXPECT_EQ(rungs(16), (Expected{{0.125, 16}, {0.25, 8}, {0.5, 4}, {1.0, 2}})) << "no rung is below an eighth";
  EXPECT_EQ(rungs(33), (Expected{{0.125, 33}, {0.25, 17}, {0.5, 9}, {1.0, 2}}));
}

TEST(Rungs, TheRecipeItselfIsNeverStopped) {
  const std::vector<double> values{0.1, 0.5, 0.9, 0.7};
  const std::vector<size_t> all{0, 1, 2, 3};
  EXPECT_EQ(trials_that_go_on(values, all, 2), (std::vector<size_t>{0, 2, 3}));
  EXPECT_EQ(trials_that_go_on(values, all, 4), all);
}

TEST(Rungs, ATrialThatFailedIsTheWorst) {
  const std::vector<double> values{0.1, NAN, -3.0, INFINITY};
  EXPECT_EQ(trials_that_go_on(values, std::vector<size_t>{0, 1, 2, 3}, 2), (std::vector<size_t>{0, 2}));
}

TEST(Rungs, CostCountsTheSecondSeedAndTheRecipeItself) {
  // Two to the half, the better one and the recipe to the end, and a second seed.
  EXPECT_DOUBLE_EQ(cost_of(rungs_of(2)), 2 * 0.5 + 2 * 0.5 + 1.0);
  EXPECT_DOUBLE_EQ(cost_of(rungs_of(4)), 4 * 0.25 + 3 * 0.25 + 2 * 0.5 + 1.0);
}

TEST(Rungs, AsManyTrialsBeginAsThereIsTimeFor) {
  EXPECT_EQ(affordable_trials(12, 100.0), 12);
  EXPECT_EQ(affordable_trials(12, 3.0), 2);
  EXPECT_EQ(affordable_trials(12, 2.9), 0);
  for (const double runs : {3.5, 4.0, 5.0, 6.0}) {
    const int64_t trials = affordable_trials(64, runs);
    EXPECT_LE(cost_of(rungs_of(trials)), runs);
    EXPECT_GT(cost_of(rungs_of(trials + 1)), runs);
  }
}

}  // namespace
}  // namespace heed
