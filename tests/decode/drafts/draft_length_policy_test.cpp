#include "decode/drafts/draft_length_policy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/random.h"

namespace heed::test {
namespace {

struct Costs {
  double row, draft, read = 0.0;  // of a step without drafts; of each token that the drafter has missed, up to 32
};

// How much faster than without drafts a text of this many tokens is written, of which each is drafted rightly with this
// probability, when it takes a drafter's step to draft a token.
double simulated_gain(const Costs& costs, double right, int64_t tokens) {
  DraftLengthPolicy policy(0);
  double seconds = 0.0;
  int64_t written = 0, missed = 0;
  for (uint64_t draw = 0; written < tokens;) {
    DraftedStep step{.texts = 1, .written = 1};
    const int64_t most = policy.next_most(1);
    double chance = 1.0;
    bool all_right = true;
    for (int64_t k = 0; k < most; ++k) {
      ++step.drafter_steps;
      chance *= policy.chance(Guess::by_model, 0.8);
      if (!policy.worth_checking(chance)) {
        break;
      }
      ++step.drafted;
      if (all_right) {
        all_right = uniform_draw(RandomKey{4}, draw++) < right;
        policy.learn(Guess::by_model, 0.8,
                     all_right ? DraftLengthPolicy::Checked::right : DraftLengthPolicy::Checked::wrong);
        step.accepted += all_right ? 1 : 0;
      }
      if (!policy.worth_another(chance)) {
        break;
      }
    }
    step.written += step.accepted;
    step.seconds = 1.0 + costs.row * static_cast<double>(step.drafted);
    step.draft_seconds = costs.draft * static_cast<double>(step.drafter_steps);
    missed += step.drafter_steps == 0 ? 1 : 0;
    if (step.drafter_steps > 0) {
      step.drafting = 1;
      step.caught_up = std::min<int64_t>(32, std::exchange(missed, 0));
      step.draft_seconds += costs.read * static_cast<double>(step.caught_up);
    }
    seconds += step.seconds + step.draft_seconds;
    written += step.written;
    policy.add(step);
  }
  return static_cast<double>(written) / seconds;
}

TEST(DraftLengthPolicy, DraftsThatDoNotPayCostLittle) {
  for (const Costs& costs : {Costs{0.05, 0.02}, Costs{0.2, 0.1}, Costs{0.3, 0.3, 0.1}, Costs{0.9, 0.9, 0.9}}) {
    for (const double right : {0.0, 0.1, 0.3, 0.5}) {
      EXPECT_GT(simulated_gain(costs, right, 2000), 0.95) << costs.row << " " << costs.draft << " " << right;
    }
  }
}

TEST(DraftLengthPolicy, PausesGrowAsLongAsNothingIsRight) {
  DraftLengthPolicy policy(0);
  std::vector<int64_t> trials;  // the steps at which drafts began again
  for (int64_t step = 0, last = -100; step < 4000; ++step) {
    const int64_t most = policy.next_most(1);
    if (most > 0 && step - last > 50) {
      trials.push_back(step);
    }
    last = most > 0 ? step : last;
    policy.add({.texts = 1,
                .written = 1,
                .drafted = most > 0 ? 2 : 0,
                .drafter_steps = most > 0 ? 2 : 0,
                .drafting = most > 0 ? 1 : 0,
                .draft_seconds = most > 0 ? 0.4 : 0.0,
                .seconds = most > 0 ? 1.4 : 1.0});
  }
  ASSERT_GE(trials.size(), 4U);
  EXPECT_LT(trials.size(), 9U) << "every 100 steps there would be 40";
  EXPECT_GT(trials[3] - trials[2], 1.5 * static_cast<double>(trials[2] - trials[1]));
}

TEST(DraftLengthPolicy, DraftsThatPayAreUsed) {
  // The best lengths would give 2.9, 2.0 and 5.6.
  EXPECT_GT(simulated_gain({0.05, 0.02}, 0.8, 2000), 2.4);
  EXPECT_GT(simulated_gain({0.15, 0.05}, 0.8, 2000), 1.6);
  EXPECT_GT(simulated_gain({0.1, 0.02}, 1.0, 2000), 4.5);
}

TEST(DraftLengthPolicy, ADrafterAsLargeAsTheModelIsNotTriedForAShortText) {
  const auto steps_to_first_draft = [](double share) {
    DraftLengthPolicy policy(0, share);
    for (int64_t steps = 0;; ++steps) {
      if (policy.next_most(1) > 0) {
        return steps;
      }
      policy.add({.texts = 1, .written = 1, .seconds = 1.0});
    }
  };
  EXPECT_LT(steps_to_first_draft(0.1), 6);
  EXPECT_GT(steps_to_first_draft(1.0), 200);
  EXPECT_LT(steps_to_first_draft(1.0), 400);
}

TEST(DraftLengthPolicy, WholeTextsAreReadOnceDraftsHaveSavedTheTime) {
  DraftLengthPolicy policy(0);
  EXPECT_TRUE(policy.can_afford_reading(48));
  EXPECT_FALSE(policy.can_afford_reading(400));
  EXPECT_TRUE(DraftLengthPolicy(3).can_afford_reading(400)) << "a given number is drafted whatever it costs";
  const auto write = [&](int64_t caught_up, int64_t afforded) {
    policy.next_most(1);
    policy.add({.texts = 1,
                .written = 5,
                .drafted = 4,
                .accepted = 4,
                .drafter_steps = 4,
                .drafting = 1,
                .caught_up = caught_up,
                .afforded = afforded,
                .draft_seconds = 0.4 + 0.01 * static_cast<double>(caught_up),
                .seconds = 1.4});
  };
  for (int i = 0; i < 5; ++i) {
    policy.next_most(1);
    policy.add({.texts = 1, .written = 1, .seconds = 1.0});
  }
  write(32, 0);
  EXPECT_FALSE(policy.can_afford_reading(400)) << "they take twice what one draft brings";
  for (int i = 0; i < 5; ++i) {
    write(1, 0);
  }
  EXPECT_TRUE(policy.can_afford_reading(400));
  write(1900, 1900);
  EXPECT_FALSE(policy.can_afford_reading(400)) << "it is spent";
  EXPECT_GT(policy.next_most(1), 0) << "which is no reason to stop";
}

TEST(DraftLengthPolicy, AGivenNumberIsDraftedWhateverItCosts) {
  DraftLengthPolicy policy(7);
  EXPECT_EQ(policy.next_most(2), 0) << "shows what a step takes";
  policy.add({.texts = 2, .written = 2, .seconds = 1.0});
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(policy.next_most(2), 7);
    EXPECT_TRUE(policy.worth_checking(0.0) && policy.worth_another(0.0));
    policy.add({.texts = 2, .written = 2, .drafted = 14, .drafter_steps = 7, .draft_seconds = 9.0, .seconds = 9.0});
  }
  EXPECT_EQ(policy.report().drafted, 1400);
  EXPECT_NEAR(policy.report().gain(), 1.0 / 18.0, 0.01);
}

}  // namespace
}  // namespace heed::test
