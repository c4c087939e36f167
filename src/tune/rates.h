// A learning-rate range test: a short run whose rate rises shows from where on a model no longer learns.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "heed/types/train.h"
#include "kernels/kernels.h"
#include "train/recipe/recipe.h"

namespace heed {

struct RatePoint {
  double rate = 0.0, loss = 0.0;  // of an update
};

struct RateRange {
  double lowest = 0.0;     // the rate at which the smoothed loss was lowest
  double highest = 0.0;    // from which on it rose again, or the last
  double suggested = 0.0;  // a peak: where the loss fell most steeply; 0: the test says nothing
};

// `points` in the order of their updates.
RateRange judge_rates(const std::vector<RatePoint>& points);

struct RangeTest {
  std::vector<RatePoint> points;
  double seconds_per_update = 0.0, epochs_per_update = 0.0;
};

// Rates from a thirtieth of the recipe's peak to a hundred times it. A loss that is not finite ends the test, as it does a
// run. The folder is one for a run, and is removed.
RangeTest test_rates(Backend& backend, Recipe recipe, const std::filesystem::path& folder, TrainListener& listener);

}  // namespace heed
