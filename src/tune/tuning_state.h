// What a tuning has done so far: all that is needed to go on after an interruption.
#pragma once

#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "heed/types/train.h"
#include "tune/trials.h"

namespace heed {

// A validation, such as where a trial was compared.
struct Leg {
  double share = 1.0;  // of the run, where it was compared
  int64_t update = 0;
  double value = 0.0;  // higher is better; what the recipe compares checkpoints by
  double loss = 0.0;
  std::vector<NamedScore> others;
};

struct Trial {
  Changes changes;
  int64_t seed = 1;
  std::vector<Leg> legs;    // in order
  Leg validated;            // the last validation: a run that was killed where it paused does not repeat it
  double best = -INFINITY;  // of all validations
  std::string failure;      // why it could not go on; empty: it could
  double seconds = 0.0;     // of training and validation, those that an interruption made void included
  int64_t updates = 0;      // likewise
  bool is_second_seed = false;

  double reached() const { return legs.empty() ? 0.0 : legs.back().share; }
};

struct TuningState {
  std::string recipe;               // as TOML, before changes
  std::vector<std::string> varied;  // as the user gave them
  double minutes = 0.0;
  double run_seconds = 0.0;  // of a whole run, as estimated
  RateRange rates;
  std::vector<RatePoint> points;  // of the range test
  double other_seconds = 0.0;     // reading the text, starting, the range test
  std::vector<Trial> trials;      // the first one is the recipe itself
  std::vector<std::string> notes;

  double seconds() const;
  int64_t updates() const;
};

std::string to_json(const TuningState& state);
// FormatError, with `name`, for anything that to_json() does not write.
TuningState parse_tuning(std::string_view text, std::string_view name);

}  // namespace heed
