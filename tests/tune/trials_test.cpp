#include "tune/trials.h"

#include <gtest/gtest.h>

#include <set>

#include "base/errors.h"
#include "train/tasks/tasks.h"

namespace heed {
namespace {

std::vector<std::string> described(const std::vector<Changes>& all) {
  std::vector<std::string> texts;
  texts.reserve(all.size());
  for (const Changes& changes : all) {
    texts.push_back(describe(changes));
  }
  return texts;
}

bool has(const std::vector<Changes>& all, const std::string& key) {
  return std::ranges::any_of(
      all, [&](const Changes& changes) { return std::ranges::count(changes, key, &Change::key) > 0; });
}

TEST(Trials, ValuesArePartedByCommasOutsideOfBracketsAndQuotes) {
  const VariedSetting varied = parse_varied("model.attention=[\"full\",\"local:8\"],[\"full\"],'a,b'");
  EXPECT_EQ(varied.key, "model.attention");
  EXPECT_EQ(varied.values, (std::vector<std::string>{"[\"full\",\"local:8\"]", "[\"full\"]", "'a,b'"}));
}

TEST(Trials, WhatRunsAreComparedByIsNotVaried) {
  for (const char* const bad :
       {"schedule.peak", "peak=1", "schedule.peak=", "schedule.peak=1,,2", "training.seed=1,2", "training.updates=5,6",
        "training.minutes=1,2", "validation.beam=1,2", "data.validation_share=0.1,0.2", "=1"}) {
    EXPECT_THROW(parse_varied(bad), ConfigError) << bad;
  }
}

TEST(Trials, SettingsMakeAllCombinations) {
  const std::vector<VariedSetting> varied{{"a.x", {"1", "2"}}, {"b.y", {"3", "4"}}};
  EXPECT_EQ(described(combinations(varied)),
            (std::vector<std::string>{"a.x=1 b.y=3", "a.x=1 b.y=4", "a.x=2 b.y=3", "a.x=2 b.y=4"}));
  const std::vector<VariedSetting> many(5, {"a.x", std::vector<std::string>(10, "1")});
  EXPECT_THROW(combinations(many), ConfigError);
}

TEST(Trials, RatesBeyondTheRangeAreNotTried) {
  Recipe recipe = default_recipe(task_named("translation"));
  recipe.schedule.peak = 0.001;
  const auto all = described(usual_changes(recipe, {.lowest = 0.0016, .highest = 0.0018, .suggested = 0.00045}));
  EXPECT_EQ(all.front(), "schedule.peak=0.00045");
  EXPECT_EQ(std::ranges::count(all, "schedule.peak=0.002"), 0);
  EXPECT_EQ(std::ranges::count(all, "schedule.peak=0.0005"), 0) << "nearly the same as the suggestion";
  const auto without = described(usual_changes(recipe, {}));
  EXPECT_EQ(std::ranges::count(without, "schedule.peak=0.002"), 1);
}

TEST(Trials, SizesAreTriedOnlyWhereTheClockEndsRuns) {
  Recipe recipe = default_recipe(task_named("translation"));
  recipe.training.updates = 100;
  EXPECT_FALSE(has(usual_changes(recipe, {}), "model.model"));
  recipe.training.minutes = 10.0;
  EXPECT_TRUE(has(usual_changes(recipe, {}), "model.model"));
  recipe.training.from = "other";
  EXPECT_FALSE(has(usual_changes(recipe, {}), "model.model")) << "a model that is fine-tuned keeps its form";
}

TEST(Trials, AFewAreSpreadOverAll) {
  std::vector<Changes> all;
  for (int i = 0; i < 100; ++i) {
    all.push_back({{"a.x", std::to_string(i)}});
  }
  const auto chosen = described(spread(all, 10));
  EXPECT_EQ(std::set<std::string>(chosen.begin(), chosen.end()).size(), 10U);
  EXPECT_NE(chosen.back(), "a.x=9");
  EXPECT_EQ(chosen, described(spread(all, 10))) << "and always the same";
  EXPECT_EQ(spread(all, 200).size(), 100U);
}

}  // namespace
}  // namespace heed
