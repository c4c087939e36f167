// A rung as a table in plain text.
#pragma once

#include <string>
#include <vector>

#include "tune/tuning_state.h"

namespace heed {

struct ShownRung {
  double share = 1.0;
  std::vector<size_t> trials, kept;
};

// The best trial first.
std::vector<std::string> tuning_table(const TuningState& state, const ShownRung& rung);

// A warning where trials of one form did much differing numbers of updates in the same time; empty where they did not.
std::string busy_warning(const TuningState& state, const ShownRung& rung);

// "bleu" or "loss": what whole runs are compared by, as the recipe says; and the score that is shown beside the loss,
// "loss" where there is none.
std::string compared_by(const TuningState& state);
std::string shown_score(const TuningState& state);

// The leg that ended at this share; nullptr if there is none.
const Leg* leg_at(const Trial& trial, double share);

}  // namespace heed
