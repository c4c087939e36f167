#include "tune/tuning_state.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/errors.h"

namespace heed {
namespace {

TuningState state() {
  TuningState made{.recipe = "[model]\n", .varied = {"a.b=1,2"}, .minutes = 3.0, .run_seconds = 7.5};
  made.rates = {.lowest = 0.02, .highest = 0.1, .suggested = 0.005};
  made.points = {{0.1, 3.0}, {0.2, NAN}};
  made.other_seconds = 2.0;
  made.trials = {{.changes = {}, .seed = 1, .seconds = 4.0, .updates = 10},
                 {.changes = {{"a.b", "2"}}, .seed = 1, .failure = "no", .seconds = 5.0, .updates = 20}};
  made.trials[0].legs = {{.share = 0.5, .update = 9, .value = 20.5, .loss = 2.0, .others = {{"bleu", 20.5}}}};
  made.trials[0].validated = {.update = 12, .value = 21.0, .loss = 1.5};
  made.trials[0].best = 21.0;
  made.notes = {"a note"};
  return made;
}

TEST(TuningState, WhatWasWrittenIsReadBack) {
  const std::string text = to_json(state());
  EXPECT_EQ(to_json(parse_tuning(text, "tuning.json")), text);
}

TEST(TuningState, EverythingThatWasDoneIsCounted) {
  EXPECT_EQ(state().seconds(), 2.0 + 4.0 + 5.0);
  EXPECT_EQ(state().updates(), 2 + 10 + 20);
}

TEST(TuningState, WhatIsDamagedIsRefused) {
  const std::string text = to_json(state());
  for (const std::string& bad :
       {std::string(), std::string("{}"), std::string("[1]"), text.substr(0, text.size() / 2)}) {
    EXPECT_THROW(parse_tuning(bad, "tuning.json"), FormatError);
  }
  TuningState without = state();
  without.trials.erase(without.trials.begin());
  EXPECT_THROW(parse_tuning(to_json(without), "tuning.json"), FormatError) << "the recipe itself is missing";
}

}  // namespace
}  // namespace heed
